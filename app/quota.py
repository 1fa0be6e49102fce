"""How much room kept runs, and files that were given, may take; nothing is ever deleted for it.

Of all workspaces together. Where it is spent no new run begins and no file is kept, and the page
says what can be done.
"""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa

from imop_app.database import database
from imop_app.database.tables import INPUTS, OBJECTS, RUNS
from imop_app.environment import chosen_number

VARIABLE: Final = "IMOP_RUNS_QUOTA"  # megabytes
USUAL: Final = 20_000
FILES_VARIABLE: Final = "IMOP_FILES_QUOTA"  # megabytes
FILES_USUAL: Final = 5_000
MEGABYTE: Final = 1_000_000


def quota() -> int:
    """Megabytes that kept runs may take."""
    return chosen_number(VARIABLE, USUAL, least=1)


def used() -> float:
    """Megabytes that they take."""
    return _megabytes(sa.select(sa.func.sum(RUNS.c.bytes)))


def _used_by_files() -> float:
    given = sa.select(INPUTS.c.digest)
    return _megabytes(sa.select(sa.func.sum(OBJECTS.c.bytes)).where(OBJECTS.c.digest.in_(given)))


def _megabytes(chosen: sa.Select[Any]) -> float:
    with database().reading() as connection:
        return float(connection.execute(chosen).scalar() or 0) / MEGABYTE


def refusal() -> str | None:
    """Why no new run may begin; None where one may."""
    most, now = quota(), used()
    if now < most:
        return None
    return (
        f"The kept runs of all workspaces take {now:,.0f} MB, and {most:,} MB are set aside for "
        "them here. Nothing is deleted by itself: delete runs that you no longer need on the Runs "
        f"page, or start the app with a larger {VARIABLE}."
    )


def no_room_for(size: int) -> str | None:
    """Why a file that was given is not kept; None where it is.

    Args:
        size: Of the file, in bytes.
    """
    most, now = chosen_number(FILES_VARIABLE, FILES_USUAL, least=1), _used_by_files()
    if now + size / MEGABYTE <= most:
        return None
    return (
        f"This file has {size / MEGABYTE:,.1f} MB. The files of all workspaces take {now:,.0f} MB, "
        f"and {most:,} MB are set aside for them here. Nothing is deleted by itself: remove "
        "workspaces that nobody needs (`imop runs remove`), or start the app with a larger "
        f"{FILES_VARIABLE}."
    )


def said() -> str:
    """What the Runs page says of it."""
    return f"The kept runs of all workspaces take {used():,.0f} of {quota():,} MB."
