"""Runs that are kept: the one narrow seam between the app and where results live.

`RunStore` is all the app knows. Today there is `FolderStore`, one folder a run in the user's data
folder, with the same files that `imop learn --out` writes. A team's database is another class with
these eight methods.

A run is written whole or not at all, with its record: what a dead server left half written is
never listed, and swept when the workspace is opened again.
"""

from __future__ import annotations

import shutil
import time
import warnings
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol

from imop_app.home import is_safe, new_id, read_json, sealed, write_json
from imop_app.settings import Settings, from_plain, to_plain
from imop_engine import disk

FILE: Final = "studio.json"
VERSION: Final = 2  # of the record; 1 had no digest
WHOLE: Final = "run.json"  # a study of version 0.1.0 that was interrupted has none
GONE: Final = ".gone-"
NAME_LENGTH: Final = 80


@dataclass(frozen=True)
class RunRecord:
    """A kept run in the list: enough to show it without opening it."""

    id: str
    name: str
    created: float  # seconds since the epoch
    market: str
    investors: str
    rounds: int
    explained: float
    seconds: float
    settings: Settings | None
    verdict: str = ""  # "good", "caution" or "poor"; "" of runs that were kept before there was one

    @property
    def when(self) -> str:
        """The moment it was made, in local time."""
        return time.strftime("%d %b %Y, %H:%M:%S", time.localtime(self.created))

    @property
    def label(self) -> str:
        """How it is offered in a list."""
        return f"{self.name} · {self.when}"


class RunStore(Protocol):
    """Where runs are kept."""

    def list(self) -> list[RunRecord]:
        """All runs, the newest first."""

    def keep(self, study: Any, record: RunRecord) -> RunRecord:
        """Write a study; when this returns it is on the disk. A record without id gets one."""

    def has(self, run: str) -> bool:
        """Whether there is such a run."""

    def open(self, run: str) -> Any:
        """The study of a run; FileNotFoundError where it is gone."""

    def rename(self, run: str, name: str) -> None:
        """Give a run another name."""

    def delete(self, run: str) -> None:
        """Remove a run for good."""

    def location(self, run: str) -> str:
        """Where a run is, for a command line."""


class FolderStore:
    """One folder a run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def list(self) -> list[RunRecord]:
        """All runs whose record can be read, the newest first."""
        found = [_read_record(path) for path in self.folder.glob(f"*/{FILE}") if _is_run(path)]
        return sorted((one for one in found if one), key=lambda record: -record.created)

    def keep(self, study: Any, record: RunRecord) -> RunRecord:
        """Write the study and its record in one step.

        Its report is not among them: it takes longest, and the page makes it when it is asked for.
        """
        from imop_engine.storage import save_study

        named = record if record.id else replace(record, id=new_id("run"))
        beside = {FILE: sealed(_plain_record(named))}
        save_study(study, self.folder / named.id, beside=beside, report=False)
        return named

    def has(self, run: str) -> bool:
        """Whether its folder is there."""
        return is_safe(run) and _is_run(self.folder / run / FILE)

    def sweep(self) -> None:
        """Remove what dead servers left: runs that were never whole, runs half deleted."""
        with suppress(OSError):
            disk.sweep(self.folder)
            for gone in self.folder.glob(f"{GONE}*"):
                shutil.rmtree(gone, ignore_errors=True)

    def open(self, run: str) -> Any:
        """Read the study back."""
        from imop_engine.errors import OldStudy
        from imop_engine.storage import load_study

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OldStudy)  # pages show the study's remarks
            return load_study(self._folder(run))

    def rename(self, run: str, name: str) -> None:
        """Change the name in the record."""
        folder = self._folder(run)
        record = _read_record(folder / FILE)
        if record is not None:
            _write_record(folder, replace(record, name=name.strip()[:NAME_LENGTH] or record.name))

    def delete(self, run: str) -> None:
        """Remove the folder. It goes aside in one step, so that no half of a run is listed."""
        folder = self._folder(run)
        gone = folder.with_name(f"{GONE}{run}")
        with disk.writing(folder):
            folder.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)

    def location(self, run: str) -> str:
        """The folder."""
        return str(self._folder(run))

    def _folder(self, run: str) -> Path:
        folder = self.folder / run
        if not is_safe(run) or not (folder / FILE).is_file():
            raise FileNotFoundError(f"there is no run {run!r} any more")
        return folder


def _is_run(record: Path) -> bool:
    return record.is_file() and record.with_name(WHOLE).is_file() and is_safe(record.parent.name)


def _plain_record(record: RunRecord) -> dict[str, Any]:
    return {"version": VERSION, **asdict(record), "settings": to_plain(record.settings)}


def _write_record(folder: Path, record: RunRecord) -> None:
    write_json(folder / FILE, _plain_record(record))


def _read_record(path: Path) -> RunRecord | None:
    try:
        plain = read_json(path, undigested=1)
        plain.pop("version", None)
        settings = plain.pop("settings")
        read = None if settings is None else from_plain(Settings, settings)
        return RunRecord(**{**plain, "id": path.parent.name}, settings=read)
    except (OSError, ValueError, TypeError, KeyError):
        return None
