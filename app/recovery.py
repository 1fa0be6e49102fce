"""What a crash leaves of a run, and how the workspace finds it again.

While a run is under way the store says so: the id the run will have, and what it was started with.
Beside it lies a checkpoint that is never older than two seconds. Whoever opens the workspace later
finds the finished run by that id, or goes on from the checkpoint.

Of two servers with one store the other one must not take a run for dead that is at work: the
process that follows a run says every few seconds that it still does.
"""

from __future__ import annotations

import logging
import os
import platform
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from imop_app.database import Database, database
from imop_app.database.tables import CHECKPOINTS, UNDER_WAY
from imop_app.home import sealed, unsealed
from imop_app.settings import Settings, from_plain, to_plain
from imop_engine.errors import CannotWrite, ImopError

LOG = logging.getLogger("imop")
VERSION: Final = 1
# A process that follows a run says so this often, and is taken for dead after so long a silence.
BEAT_SECONDS: Final = 5.0
SILENT_SECONDS: Final = 30.0
AT_WORK: Final = (
    "A run of this workspace is at work on another server. Its result appears here when it has "
    "ended; stop it where it was started."
)


@dataclass(frozen=True)
class UnderWay:
    """A run that has begun."""

    run: str  # the id it is kept under once it is finished
    settings: Settings
    started: float  # seconds since the epoch


def begin(workspace: str, run: UnderWay, *, anew: bool) -> None:
    """Write down that a run has begun; CannotWrite where another server is at work on one.

    Args:
        workspace: Its id.
        run: What has begun.
        anew: Whether it starts from the beginning: then what an earlier one came to is forgotten.
    """
    store = database()
    content = sealed({"version": VERSION, **to_plain(run)})
    with store.writing(workspace) as connection:
        if _is_at_work_elsewhere(store, connection, workspace):
            raise CannotWrite(AT_WORK)
        connection.execute(sa.delete(UNDER_WAY).where(UNDER_WAY.c.workspace == workspace))
        before = CHECKPOINTS.c.workspace == workspace
        if anew:
            connection.execute(sa.delete(CHECKPOINTS).where(before))
        else:
            connection.execute(sa.update(CHECKPOINTS).where(before).values(run=run.run))
        row = {"workspace": workspace, "run": run.run, "content": content}
        now = store.now(connection)
        connection.execute(sa.insert(UNDER_WAY).values(**row, server=_this_server(), seen=now))


def under_way(workspace: str) -> UnderWay | None:
    """The run that was begun and not ended; None where there is none."""
    chosen = sa.select(UNDER_WAY.c.content).where(UNDER_WAY.c.workspace == workspace)
    with database().reading() as connection:
        content = connection.execute(chosen).scalar()
    try:
        if content is None:
            return None
        plain = unsealed(content, "what is said of a run")
        plain.pop("version")
        return from_plain(UnderWay, plain)
    except (ValueError, TypeError, KeyError):
        return None


def forget(workspace: str, run: str | None = None) -> None:
    """The run has ended, or nobody wants it: forget that it was under way, and its checkpoint.

    Args:
        workspace: Its id.
        run: Forget only if this is the one; None forgets whatever was under way.
    """
    with suppress(CannotWrite), database().writing(workspace) as connection:
        for table in (UNDER_WAY, CHECKPOINTS):
            chosen = sa.delete(table).where(table.c.workspace == workspace)
            connection.execute(chosen if run is None else chosen.where(table.c.run == run))


def keep_checkpoint(workspace: str, run: str, content: bytes) -> None:
    """Keep how far a run came; a run that is not the workspace's any more keeps nothing.

    Args:
        workspace: Its id.
        run: Of the run.
        content: A packed state.
    """
    with database().writing(workspace) as connection:
        now = sa.select(UNDER_WAY.c.run).where(UNDER_WAY.c.workspace == workspace)
        if connection.execute(now).scalar() != run:
            return
        connection.execute(sa.delete(CHECKPOINTS).where(CHECKPOINTS.c.workspace == workspace))
        row = {"workspace": workspace, "run": run, "saved": time.time(), "content": content}
        connection.execute(sa.insert(CHECKPOINTS).values(row))


def checkpoint(workspace: str) -> bytes | None:
    """How far the run that was under way came; None where there is no checkpoint."""
    chosen = sa.select(CHECKPOINTS.c.content).where(CHECKPOINTS.c.workspace == workspace)
    with database().reading() as connection:
        content = connection.execute(chosen).scalar()
    return None if content is None else bytes(content)


def can_go_on(workspace: str) -> bool:
    """Whether there is a checkpoint to go on from."""
    chosen = sa.select(CHECKPOINTS.c.saved).where(CHECKPOINTS.c.workspace == workspace)
    with database().reading() as connection:
        return connection.execute(chosen).first() is not None


def is_at_work_elsewhere(workspace: str) -> bool:
    """Whether another server says that it follows a run of the workspace."""
    store = database()
    with store.reading() as connection:
        return _is_at_work_elsewhere(store, connection, workspace)


def interrupted(workspace: str) -> str | None:
    """What is said of a run that ended with its server; None where none did."""
    run = under_way(workspace)
    if run is None:
        return None
    if is_at_work_elsewhere(workspace):
        return AT_WORK
    when = time.strftime("%d %b %Y, %H:%M:%S", time.localtime(run.started))
    if can_go_on(workspace):
        return (
            f"The run that began on {when} was interrupted. Resume goes on from its last "
            "checkpoint, with the data and settings it was started with."
        )
    return f"The run that began on {when} was interrupted before its first checkpoint; learn again."


# -- who follows a run ---------------------------------------------------------------------------
_NAMES: Final[dict[int, str]] = {}


def _this_server() -> str:
    """This process: the computer, its number there, and a word that no later one has."""
    process = os.getpid()
    if process not in _NAMES:
        _NAMES[process] = f"{platform.node()}/{process}/{secrets.token_hex(8)}"
    return _NAMES[process]


def _is_at_work_elsewhere(store: Database, connection: Connection, workspace: str) -> bool:
    chosen = sa.select(UNDER_WAY.c.server, UNDER_WAY.c.seen)
    row = connection.execute(chosen.where(UNDER_WAY.c.workspace == workspace)).first()
    if row is None or row.server == _this_server():
        return False
    computer, process, _ = row.server.rsplit("/", 2)
    if computer == platform.node() and not _is_alive(int(process)):
        return False
    return bool(store.now(connection) - row.seen < SILENT_SECONDS)


def _is_alive(process: int) -> bool:
    if process == os.getpid():
        return False  # another word: it had this number before us
    if os.name == "nt":  # where asking would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


@dataclass(frozen=True)
class _Followed:
    """A run that this process follows."""

    workspace: str
    run: str
    is_alive: Callable[[], bool]


class _Beats:
    """Says of the runs that this process follows that it still does."""

    def __init__(self) -> None:
        self._runs: list[_Followed] = []
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def follow(self, followed: _Followed) -> None:
        """Say so from now on, until the run has ended."""
        with self._lock:
            self._runs.append(followed)
            if self._thread is None:
                self._thread = threading.Thread(target=self._beat, name="beat", daemon=True)
                self._thread.start()

    def _beat(self) -> None:
        while True:
            time.sleep(BEAT_SECONDS)
            with self._lock:
                followed = list(self._runs)
            ended = [one for one in followed if not self._say(one)]
            with self._lock:
                self._runs = [one for one in self._runs if one not in ended]
                if not self._runs:
                    self._thread = None
                    return

    @staticmethod
    def _say(one: _Followed) -> bool:
        """Say it once; False where it need not be said any more."""
        alive, store = one.is_alive(), database()
        mine = (UNDER_WAY.c.workspace == one.workspace) & (UNDER_WAY.c.run == one.run)
        try:
            with store.writing() as connection:
                now = store.now(connection) if alive else 0.0  # the next one need not wait
                connection.execute(sa.update(UNDER_WAY).where(mine).values(seen=now))
        except ImopError as error:  # the next beat tries again
            LOG.debug("%s", error)
        return alive


_BEATS: Final = _Beats()


def follow(workspace: str, run: str, is_alive: Callable[[], bool]) -> None:
    """Let other servers know that this process follows a run, until it has ended.

    Args:
        workspace: Its id.
        run: Of the run.
        is_alive: Whether it still works.
    """
    _BEATS.follow(_Followed(workspace, run, is_alive))
