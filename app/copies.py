"""Copies of runs and files in the data folder, for whoever reads files; the store has them.

They are made when somebody opens a run and swept when nobody has for a week.
"""

from __future__ import annotations

import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from imop_app.database import database
from imop_app.database.tables import RUNS
from imop_engine import disk

KEPT_SECONDS: Final = 7 * 24 * 3600.0
# A run is written here first and stands in the store a moment later.
YOUNG_SECONDS: Final = 3600.0


def sweep() -> None:
    """Remove copies that nobody has used for long, and of runs that are gone."""
    store = database()
    with store.reading() as connection:
        known = set(connection.execute(sa.select(RUNS.c.id)).scalars())
    with suppress(OSError):
        disk.sweep(store.place.copies / "runs")
        for path in (store.place.copies / "runs").glob("[!.]*"):
            if _age(path) > (KEPT_SECONDS if path.name in known else YOUNG_SECONDS):
                shutil.rmtree(path, ignore_errors=True)
        for path in (store.place.copies / "files").glob("*"):
            if _age(path) > KEPT_SECONDS:
                path.unlink(missing_ok=True)


def _age(path: Path) -> float:
    return time.time() - path.stat().st_mtime
