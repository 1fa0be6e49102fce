"""Talking to the store: transactions that are whole or absent, and what goes wrong as sentences."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from imop_app.database import migrations, old_folders
from imop_app.database.place import Place
from imop_app.database.tables import AUDIT
from imop_app.database.trouble import sentence
from imop_engine import disk
from imop_engine.errors import CannotRead, CannotWrite
from imop_engine.locking import alone

# Nobody writes for so long; who waits longer for a turn is told.
BUSY_SECONDS: Final = 60.0
CONNECT_SECONDS: Final = 10
WRITES: Final = "imop writes"
# Numbers by which servers of one PostgreSQL take turns; any would do that nobody else uses there.
MIGRATING, TURNS = 7_170_001, 7_170_002


class Database:
    """One store.

    Args:
        place: Where it is.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self.engine: Engine = _sqlite(place) if place.file is not None else _postgres(place)

    @property
    def shared(self) -> bool:
        """Whether servers on other computers may use it too."""
        return self.place.file is None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that looks: all that it sees is of one moment."""
        with self._sentences(CannotRead), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self, turn: str = "") -> Iterator[Connection]:
        """A transaction: when the block ends all of it is on the disk, and else nothing.

        Args:
            turn: What it changes; of those who name the same, one writes at a time. In SQLite one
                writes at a time whatever it is.
        """
        with self._sentences(CannotWrite), self.engine.connect() as connection:
            chosen = connection.execution_options(**{WRITES: True})
            with chosen.begin():
                if turn and self.shared:
                    chosen.execute(
                        sa.text("SELECT pg_advisory_xact_lock(:kind, hashtext(:turn))"),
                        {"kind": TURNS, "turn": turn},
                    )
                yield chosen

    def now(self, connection: Connection) -> float:
        """The moment, by the clock of the database: servers may disagree.

        Args:
            connection: To this store.
        """
        if not self.shared:
            return time.time()
        asked = sa.text("SELECT extract(epoch FROM clock_timestamp())::float8")
        return float(connection.execute(asked).scalar_one())

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()

    @contextmanager
    def _sentences(self, kind: type[CannotRead] | type[CannotWrite]) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise kind(sentence(error, self.place, writes=kind is CannotWrite)) from error
        except sqlite3.Error as error:
            raise kind(sentence(error, self.place, writes=kind is CannotWrite)) from error


def note(connection: Connection, who: str, what: str, about: str, detail: str = "") -> None:
    """Write down who did what.

    Args:
        connection: In the transaction of what was done.
        who: The address; "" on a computer without login.
        what: In a word or two.
        about: The id of what it was done to.
        detail: More, in words.
    """
    row = {"at": time.time(), "who": who, "what": what, "about": about, "detail": detail}
    connection.execute(sa.insert(AUDIT).values(row))


# -- connections ---------------------------------------------------------------------------------
def _sqlite(place: Place) -> Engine:
    file = place.file
    assert file is not None
    address = f"file:{quote(str(file))}?mode=rw"  # a file that is gone is not made anew in silence

    def connect() -> sqlite3.Connection:
        made = sqlite3.connect(
            address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        made.execute("PRAGMA foreign_keys = ON")
        made.execute("PRAGMA synchronous = FULL")
        return made

    engine = sa.create_engine("sqlite://", creator=connect, poolclass=NullPool)

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get(WRITES)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _postgres(place: Place) -> Engine:
    try:
        return sa.create_engine(
            place.url,
            pool_pre_ping=True,
            pool_size=4,
            max_overflow=16,
            pool_recycle=1800,
            connect_args={"connect_timeout": CONNECT_SECONDS, "application_name": "imop"},
        )
    except ModuleNotFoundError:
        raise CannotRead(
            f"The store is {place.said}, and what speaks to it is not installed: install "
            "imop[team], or psycopg[binary] beside it."
        ) from None
    except (sa.exc.ArgumentError, ValueError):
        raise CannotRead(
            "IMOP_STORE is not the address of a database; give "
            "postgresql://user:password@host/name, with %40 for an @ in the password."
        ) from None


# -- making it, and bringing it up to date -------------------------------------------------------
_OPENED: Final[dict[tuple[int, Place], Database]] = {}
_LOCK: Final = threading.RLock()


def database(place: Place | None = None) -> Database:
    """The store of this process, made or brought up to date if need be.

    A process that was forked gets one of its own and leaves its parent's alone.

    Args:
        place: Where it is; None takes what the environment says.
    """
    place = place or Place.chosen()
    key = (os.getpid(), place)
    there = _OPENED.get(key)
    if there is not None and (place.file is None or place.file.exists()):
        return there
    with _LOCK:
        made = Database(place)
        prepare(made)
        _OPENED[key] = made
    return made


def prepare(store: Database) -> None:
    """Make the tables where there are none, and take the steps that a new version needs.

    Args:
        store: The store.
    """
    file = store.place.file
    if file is None:
        _bring_up_to_date(store)
        return
    with disk.writing(file):
        disk.own_folder(file.parent)
    is_there = file.exists() and file.stat().st_size
    if is_there and not old_folders.there(store.place) and _version(store) == migrations.HEAD:
        return
    lock = file.with_name(f".{file.name}.lock")  # stays: whoever is next may wait for it
    with disk.writing(file):
        os.close(os.open(lock, os.O_WRONLY | os.O_CREAT, disk.OWNER_FILE))
    with alone(lock):
        _make_file(file)
        _bring_up_to_date(store)
        old_folders.bring_in(store)


def _make_file(file: Path) -> None:
    """An empty store of SQLite, its owner's alone; what is there stays."""
    with disk.writing(file):
        handle = os.open(file, os.O_RDWR | os.O_CREAT, disk.OWNER_FILE)
        os.close(handle)
    if file.stat().st_size:
        return
    with closing(sqlite3.connect(file, isolation_level=None)) as made:
        made.execute("PRAGMA auto_vacuum = FULL")  # room that a deleted run took is given back
        made.execute("PRAGMA journal_mode = WAL")  # pages read while a run is written


def _bring_up_to_date(store: Database) -> None:
    version = _version(store)
    if version == migrations.HEAD:
        return
    if version is not None:
        _require_known(store, version)
        _copy(store, version)
    with store.writing() as connection:
        if store.shared:
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:all)"), {"all": MIGRATING})
        if _version_by(connection) != migrations.HEAD:
            migrations.upgrade(connection)


def _require_known(store: Database, version: str) -> None:
    if version not in migrations.known():
        raise CannotRead(
            f"{store.place.said} was written by a newer version (step {version}, this one knows "
            f"steps up to {migrations.HEAD}). Open it with that version, or install the newest one."
        )


def _version(store: Database) -> str | None:
    with store.reading() as connection:
        return _version_by(connection)


def _version_by(connection: Connection) -> str | None:
    if not sa.inspect(connection).has_table(migrations.TABLE):
        return None
    asked = sa.text(f"SELECT version_num FROM {migrations.TABLE}")  # a name of ours
    found: Any = connection.execute(asked).scalar()
    return None if found is None else str(found)


def _copy(store: Database, version: str) -> None:
    """Keep a copy of a store of SQLite as it was before its tables are changed."""
    file = store.place.file
    if file is None:
        return
    target = file.with_name(f"{file.stem}-before-{migrations.HEAD}-from-{version}{file.suffix}")
    half = target.with_name(f"{disk.NEW}{target.name}")
    with disk.writing(target), suppress(FileNotFoundError):
        half.unlink()
    with store._sentences(CannotWrite), closing(sqlite3.connect(file)) as source:
        os.close(os.open(half, os.O_WRONLY | os.O_CREAT, disk.OWNER_FILE))
        with closing(sqlite3.connect(half)) as copy:
            source.backup(copy)
    with disk.writing(target):
        half.replace(target)
