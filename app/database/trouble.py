"""What a database says against something, as a sentence: what happened, and what to do."""

from __future__ import annotations

import errno
import sqlite3
from typing import Any, Final

from sqlalchemy.exc import DBAPIError

from imop_app.database.place import Place
from imop_engine import disk

FULL: Final = ("SQLITE_FULL", "53100")
REFUSED: Final = ("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH", "42501", "25006")
GONE: Final = ("SQLITE_CANTOPEN",)
DAMAGED: Final = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "XX001", "XX002")
BUSY: Final = ("SQLITE_BUSY", "SQLITE_LOCKED", "55P03", "40P01", "40001")
LOGIN: Final = ("28P01", "28000", "3D000")
LONGEST: Final = 160  # characters of what a database says that a sentence repeats


def sentence(error: DBAPIError | sqlite3.Error, place: Place, *, writes: bool) -> str:
    """What is said of an error of the database; it never holds a password.

    Args:
        error: What was raised.
        place: The store.
        writes: Whether something was being written.
    """
    raised: Any = error.orig if isinstance(error, DBAPIError) else error
    code = _code(raised)
    where = place.said
    kept = " Nothing that was there is lost." if writes else ""
    if code.startswith(FULL):
        system = OSError(errno.ENOSPC, "full")
        if place.file is not None:
            return disk.why_not(system, place.file)
        return f"{where} was not written: the disk of the database is full.{kept} Make room there."
    if code.startswith(REFUSED):
        return (
            f"{where} may not be written: it is read-only or belongs to somebody else.{kept} Ask "
            "for the right to write."
        )
    if code.startswith(GONE):
        return f"{where} cannot be opened: it is gone, or may not be read.{kept} Put it back."
    if code.startswith(DAMAGED):
        return (
            f"{where} is damaged: the database cannot read what it wrote. Stop the app and put a "
            "copy of the store back; what was damaged stays as it is until then."
        )
    if code.startswith(BUSY):
        return f"{where} was busy for too long.{kept} Try again."
    if code.startswith(LOGIN):
        return (
            f"{where} lets nobody in as IMOP_STORE says: name, password or database are wrong. "
            "Correct the address."
        )
    if place.file is None and (not code or code.startswith(("08", "57P"))):
        return f"{where} does not answer.{kept} Start the database, or correct IMOP_STORE."
    said = " ".join(str(raised).split())[:LONGEST] or type(raised).__name__
    return (
        f"{where} refused what was asked ({said}).{kept} Try again; please report it if it stays."
    )


def _code(raised: Any) -> str:
    """The database's own name of an error; "" where it has none, as of a connection that failed."""
    name = getattr(raised, "sqlite_errorname", None)
    return str(name or getattr(raised, "sqlstate", None) or "")
