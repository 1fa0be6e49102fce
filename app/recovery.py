"""What a crash leaves of a run, and how the workspace finds it again.

While a run is under way its workspace says so in a file: the id the run will have, and what it was
started with. Beside it lies a checkpoint that is never older than two seconds. Whoever opens the
workspace later finds the finished run by that id, or goes on from the checkpoint.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from imop_app.home import read_json, write_json
from imop_app.settings import Settings, from_plain, to_plain

FILE: Final = "under_way.json"
CHECKPOINT: Final = "stopped.npz"
VERSION: Final = 1
LEFT: Final = ".new-*"  # files that a dead server was writing
LEFT_SECONDS: Final = 3600.0  # no file takes so long to write


@dataclass(frozen=True)
class UnderWay:
    """A run that has begun."""

    run: str  # the id it is kept under once it is finished
    settings: Settings
    started: float  # seconds since the epoch


def begin(folder: Path, run: UnderWay) -> None:
    """Write down that a run has begun."""
    write_json(folder / FILE, {"version": VERSION, **to_plain(run)})


def under_way(folder: Path) -> UnderWay | None:
    """The run that was begun and not ended; None where there is none."""
    try:
        plain = read_json(folder / FILE, undigested=0)
        plain.pop("version")
        return from_plain(UnderWay, plain)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def forget(folder: Path) -> None:
    """The run has ended, or nobody wants it: forget that it was under way, and its checkpoint."""
    with suppress(OSError):
        (folder / FILE).unlink(missing_ok=True)
        (folder / CHECKPOINT).unlink(missing_ok=True)


def can_go_on(folder: Path) -> bool:
    """Whether there is a checkpoint to go on from."""
    return (folder / CHECKPOINT).is_file()


def interrupted(folder: Path) -> str | None:
    """What is said of a run that ended with its server; None where none did."""
    run = under_way(folder)
    if run is None:
        return None
    when = time.strftime("%d %b %Y, %H:%M:%S", time.localtime(run.started))
    if can_go_on(folder):
        return (
            f"The run that began on {when} was interrupted. Resume goes on from its last "
            "checkpoint, with the data and settings it was started with."
        )
    return f"The run that began on {when} was interrupted before its first checkpoint; learn again."


def sweep(folder: Path) -> None:
    """Remove files that a dead server was writing."""
    with suppress(OSError):
        for path in folder.glob(LEFT):
            if path.is_file() and time.time() - path.stat().st_mtime > LEFT_SECONDS:
                path.unlink(missing_ok=True)
