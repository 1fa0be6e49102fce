"""Runs that are kept: the one narrow seam between the app and where results live.

`RunStore` is all the app knows. `DatabaseStore` keeps the files that `imop learn --out` writes as
contents of the store, each under its digest, and beside them what a list shows of the run.

A run is written whole or not at all, with its record: one transaction. Whoever opens it opens a
copy in a folder of the data folder, whose list of digests is compared as that of any study.
"""

from __future__ import annotations

import builtins
import os
import re
import shutil
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Protocol

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from imop_app import access, login
from imop_app.database import database, note, objects
from imop_app.database.tables import RUN_FILES, RUNS, SHARES
from imop_app.home import is_safe, new_id
from imop_app.run_record import RunRecord, read_record, written_record
from imop_engine import disk
from imop_engine.errors import CannotRead, ImopError, InvalidInput

FILE: Final = "studio.json"  # the record of a run that is handed out
WHOLE: Final = "run.json"
# A file of a run, or one in a folder of it; nothing that leads out of it, nothing hidden.
NAME_IN_RUN: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)?")
NAME_LENGTH: Final = 80


class RunStore(Protocol):
    """Where runs are kept."""

    def list(self) -> list[RunRecord]:
        """All runs, the newest first."""

    def shared(self) -> builtins.list[RunRecord]:
        """Runs of others that they share with whoever asks, the newest first."""

    def sharers(self, run: str) -> builtins.list[str]:
        """With whom a run is shared."""

    def share(self, run: str, address: str) -> None:
        """Let somebody else open a run."""

    def unshare(self, run: str, address: str) -> None:
        """Let somebody open a run no more."""

    def keep(self, study: Any, record: RunRecord) -> RunRecord:
        """Write a study; when this returns it is on the disk. A record without id gets one."""

    def has(self, run: str) -> bool:
        """Whether there is such a run."""

    def open(self, run: str) -> Any:
        """The study of a run; FileNotFoundError where it is gone."""

    def opened_by(self, run: str, load: Callable[[str], Any]) -> Any:
        """What somebody makes of the files of a run, given their folder."""

    def rename(self, run: str, name: str) -> None:
        """Give a run another name."""

    def delete(self, run: str) -> None:
        """Remove a run for good."""

    def location(self, run: str) -> str:
        """A folder on this computer with the files of a run."""

    def contents(self, run: str) -> dict[str, bytes]:
        """The files of a run by their names, for `take_in`."""

    def take_in(self, contents: Mapping[str, bytes]) -> RunRecord:
        """Keep a run that another store handed out, under a new id; ValueError if it is none."""


class DatabaseStore:
    """The runs of one workspace.

    Args:
        workspace: Its id.
        owner: Whose it is; "" on a computer without login. Runs of others are as if they were not.
    """

    def __init__(self, workspace: str, owner: str = "") -> None:
        self.workspace, self.owner = workspace, owner

    def list(self) -> list[RunRecord]:
        """All runs whose record can be read, the newest first."""
        return self._listed(sa.select(RUNS.c.id, RUNS.c.content).where(self._mine()))

    def shared(self) -> builtins.list[RunRecord]:
        """Runs of others that they share with the owner, the newest first."""
        return self._listed(sa.select(RUNS.c.id, RUNS.c.content).where(self._shared()))

    def _listed(self, chosen: sa.Select[Any]) -> builtins.list[RunRecord]:
        access.require(self.owner)
        with database().reading() as connection:
            rows = connection.execute(chosen).all()
        found = [read_record(row.id, row.content) for row in rows]
        return sorted((one for one in found if one), key=lambda record: -record.created)

    def sharers(self, run: str) -> builtins.list[str]:
        """With whom a run of the workspace is shared."""
        chosen = sa.select(SHARES.c.address).where(SHARES.c.run == run).order_by(SHARES.c.address)
        with database().reading() as connection:
            self._require_mine(connection, run)
            return builtins.list(connection.execute(chosen).scalars())

    def share(self, run: str, address: str) -> None:
        """Let somebody else open a run of the workspace.

        Args:
            run: Its id.
            address: Of who logs in with it.
        """
        given = address.strip().lower()
        if given.count("@") != 1 or given == self.owner or len(given) > login.LONGEST_ADDRESS:
            raise InvalidInput(
                f"{given[:60]!r} is not the address of somebody else; the one of a login."
            )
        with database().writing(run) as connection:
            self._require_mine(connection, run)
            known = sa.select(SHARES.c.at).filter_by(run=run, address=given)
            if connection.execute(known).first() is None:
                connection.execute(sa.insert(SHARES).values(run=run, address=given, at=time.time()))
                note(connection, self.owner, "run shared", run, f"with {given}")

    def unshare(self, run: str, address: str) -> None:
        """Let somebody open a run no more.

        Args:
            run: Its id.
            address: Of who could.
        """
        with database().writing(run) as connection:
            self._require_mine(connection, run)
            connection.execute(sa.delete(SHARES).filter_by(run=run, address=address))
            note(connection, self.owner, "run shared no more", run, f"with {address}")

    def keep(self, study: Any, record: RunRecord) -> RunRecord:
        """Write the study and its record in one transaction.

        Its report is not among them: it takes longest, and the page makes it when it is asked for.
        """
        from imop_engine.storage import save_study

        named = record if record.id else replace(record, id=new_id("run"))
        folder = self._copy(named.id)
        save_study(study, folder, report=False)
        files = {
            path.relative_to(folder).as_posix(): path
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
        keep_files(self.workspace, self.owner, named, {
            name: path.read_bytes for name, path in files.items()
        })  # fmt: skip
        return named

    def has(self, run: str) -> bool:
        """Whether the workspace has it, or it is shared with its owner."""
        with database().reading() as connection:
            return self._row(connection, run) is not None

    def open(self, run: str) -> Any:
        """Read the study back."""
        from imop_engine.errors import OldStudy
        from imop_engine.storage import load_study

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OldStudy)  # pages show the study's remarks
            return self.opened_by(run, load_study)

    def opened_by(self, run: str, load: Callable[[str], Any]) -> Any:
        """What somebody makes of the files of a run; tried again with fresh ones where he fails.

        Args:
            run: Its id.
            load: Given the folder.
        """
        try:
            return load(self.location(run))
        except FileNotFoundError:
            raise
        except ImopError:
            return load(self.renew(run))

    def rename(self, run: str, name: str) -> None:
        """Change the name in the record."""
        with database().writing(self.workspace) as connection:
            row = self._require_mine(connection, run)
            record = read_record(run, row.content)
            if record is not None:
                named = replace(record, name=name.strip()[:NAME_LENGTH] or record.name)
                changed = sa.update(RUNS).where(RUNS.c.id == run)
                connection.execute(changed.values(content=written_record(named)))

    def delete(self, run: str) -> None:
        """Remove it in one step, and its copy here."""
        with database().writing(objects.TURN) as connection:
            self._require_mine(connection, run)
            connection.execute(sa.delete(SHARES).where(SHARES.c.run == run))
            mine = RUN_FILES.c.run == run
            digests = connection.execute(sa.select(RUN_FILES.c.digest).where(mine)).scalars().all()
            connection.execute(sa.delete(RUN_FILES).where(mine))
            connection.execute(sa.delete(RUNS).where(RUNS.c.id == run))
            objects.drop_unused(connection, digests)
            note(connection, self.owner, "run deleted", run)
        shutil.rmtree(self._copy(run), ignore_errors=True)

    def location(self, run: str) -> str:
        """A folder on this computer with its files, made where there is none."""
        with database().reading() as connection:
            self._require(connection, run)
        folder = self._copy(run)
        if not folder.is_dir():
            return self.renew(run)
        with suppress(OSError):
            os.utime(folder)  # it is in use; see copies.py
        return str(folder)

    def renew(self, run: str) -> str:
        """The same, with files taken from the store anew."""
        files, folder = self.files(run), self._copy(run)
        with disk.new_folder(folder, lambda _: True) as stage:
            for name, content in files.items():
                disk.own_folder((stage / name).parent)
                (stage / name).write_bytes(content)
        return str(folder)

    def files(self, run: str) -> dict[str, bytes]:
        """The content of each of its files, by its path in the folder of a study."""
        with database().reading() as connection:
            self._require(connection, run)
            return _files(connection, run)

    def contents(self, run: str) -> dict[str, bytes]:
        """The same, and its record."""
        with database().reading() as connection:
            row = self._require(connection, run)
            return {**_files(connection, run), FILE: row.content.encode()}

    def take_in(self, contents: Mapping[str, bytes]) -> RunRecord:
        """Keep the files in one step, and the record with a new id.

        Args:
            contents: What `contents` returned, here or elsewhere.
        """
        if not {FILE, WHOLE} <= set(contents):
            raise ValueError(f"a run has the files {FILE} and {WHOLE}")
        if not all(NAME_IN_RUN.fullmatch(name) for name in contents):
            raise ValueError("a run has no files of such names")
        record = read_record(new_id("run"), contents[FILE].decode())
        if record is None:
            raise ValueError(f"{FILE} is not what was written")
        files = {name: content for name, content in contents.items() if name != FILE}
        keep_files(self.workspace, self.owner, record, files)
        return record

    def _mine(self) -> sa.ColumnElement[bool]:
        return (RUNS.c.workspace == self.workspace) & (RUNS.c.owner == self.owner)

    def _shared(self) -> sa.ColumnElement[bool]:
        given = sa.select(SHARES.c.run).where(SHARES.c.address == self.owner)
        return RUNS.c.id.in_(given)

    def _row(self, connection: Connection, run: str, mine: bool = False) -> Any:
        access.require(self.owner)
        if not is_safe(run):
            return None
        open_to = self._mine() if mine else self._mine() | self._shared()
        chosen = sa.select(RUNS.c.content).where(open_to, RUNS.c.id == run)
        return connection.execute(chosen).first()

    def _require_mine(self, connection: Connection, run: str) -> Any:
        row = self._row(connection, run, mine=True)
        if row is None:
            raise FileNotFoundError(f"there is no run {run!r} any more")
        return row

    def _require(self, connection: Connection, run: str) -> Any:
        row = self._row(connection, run)
        if row is None:
            raise FileNotFoundError(f"there is no run {run!r} any more")
        return row

    @staticmethod
    def _copy(run: str) -> Path:
        return database().place.copies / "runs" / run


def keep_files(
    workspace: str,
    owner: str,
    record: RunRecord,
    files: Mapping[str, bytes | Callable[[], bytes]],
) -> None:
    """Write a run into the store: all of it or nothing.

    Args:
        workspace: Whose run it is.
        owner: Of the workspace.
        record: What a list shows of it.
        files: The content of each of its files, or what makes it, by its path in the folder of a
            study.
    """
    with database().writing(objects.TURN) as connection:
        kept, size = {}, 0
        for name, read in files.items():
            content = read() if callable(read) else read
            kept[name], size = objects.put(connection, content), size + len(content)
        # a run whose keeping was heard to fail may be there all the same
        for table in (RUN_FILES, SHARES):
            connection.execute(sa.delete(table).where(table.c.run == record.id))
        connection.execute(sa.delete(RUNS).where(RUNS.c.id == record.id))
        row = {"workspace": workspace, "owner": owner, "bytes": size}
        values = {"id": record.id, **row, "content": written_record(record)}
        connection.execute(sa.insert(RUNS).values(values))
        for name, digest in kept.items():
            connection.execute(sa.insert(RUN_FILES).values(run=record.id, path=name, digest=digest))
        note(connection, owner, "run kept", record.id, record.name)


def _files(connection: Connection, run: str) -> dict[str, bytes]:
    chosen = sa.select(RUN_FILES.c.path, RUN_FILES.c.digest).where(RUN_FILES.c.run == run)
    found = {}
    for row in connection.execute(chosen).all():
        if ".." in row.path.split("/") or row.path.startswith("/"):
            continue  # the store is not believed where it names other folders
        try:
            found[row.path] = objects.get(connection, row.digest)
        except objects.Changed:
            raise CannotRead(
                f"Run {run} cannot be opened: the store does not hold {row.path} as it was saved. "
                "Put a copy of the store back, or run the study again."
            ) from None
    return found
