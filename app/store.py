"""Runs that are kept: the one narrow seam between the app and where results live.

`RunStore` is all the app knows. Today there is `FolderStore`, one folder a run in the user's data
folder, with the same files that `imop learn --out` writes. A team's database is another class with
these seven methods.

Writing a run takes longer than showing it, so it comes in two parts: `announce` makes it visible,
`keep` writes it. What a stopped server left half written is never listed.
"""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol

from imop_app.home import is_safe, new_id, write_json
from imop_app.settings import Settings, from_plain, to_plain

FILE: Final = "studio.json"
WHOLE: Final = "run.json"  # written last, so it tells a whole study from half of one
WRITE_SECONDS: Final = 60.0  # longer than a hundred thousand investors take
NAME_LENGTH: Final = 80
# Runs that this server is writing; changed by one thread at a time for each.
_WRITING: Final[set[str]] = set()


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

    def announce(self, record: RunRecord) -> RunRecord:
        """List a run that is about to be kept; the record comes back with its id."""

    def keep(self, study: Any, run: str) -> None:
        """Write the study of an announced run."""

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
        """All runs whose record can be read, the newest first; those being written too."""
        found = [_read_record(path) for path in self.folder.glob(f"*/{FILE}") if _is_run(path)]
        return sorted((one for one in found if one), key=lambda record: -record.created)

    def announce(self, record: RunRecord) -> RunRecord:
        """Write the record of a run whose study follows."""
        named = replace(record, id=new_id("run"))
        _WRITING.add(named.id)
        _write_record(self.folder / named.id, named)
        return named

    def keep(self, study: Any, run: str) -> None:
        """Write the study beside its record."""
        from imop_engine.storage import save_study

        try:
            save_study(study, self.folder / run)
        finally:
            _WRITING.discard(run)

    def open(self, run: str) -> Any:
        """Read the study back."""
        from imop_engine.storage import load_study

        return load_study(self._folder(run))

    def rename(self, run: str, name: str) -> None:
        """Change the name in the record."""
        folder = self._folder(run)
        record = _read_record(folder / FILE)
        if record is not None:
            _write_record(folder, replace(record, name=name.strip()[:NAME_LENGTH] or record.name))

    def delete(self, run: str) -> None:
        """Remove the folder. The record goes first, so that no half of a run is ever listed."""
        folder = self._folder(run)
        deadline = time.monotonic() + WRITE_SECONDS
        while run in _WRITING and time.monotonic() < deadline:
            time.sleep(0.05)
        (folder / FILE).unlink()
        shutil.rmtree(folder)

    def location(self, run: str) -> str:
        """The folder."""
        return str(self._folder(run))

    def _folder(self, run: str) -> Path:
        folder = self.folder / run
        if not is_safe(run) or not (folder / FILE).is_file():
            raise FileNotFoundError(f"there is no run {run!r} any more")
        return folder


def _is_run(record: Path) -> bool:
    return record.parent.name in _WRITING or record.with_name(WHOLE).is_file()


def _write_record(folder: Path, record: RunRecord) -> None:
    plain = {**asdict(record), "settings": to_plain(record.settings)}
    write_json(folder / FILE, plain)


def _read_record(path: Path) -> RunRecord | None:
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        settings = plain.pop("settings")
        read = None if settings is None else from_plain(Settings, settings)
        return RunRecord(**{**plain, "id": path.parent.name}, settings=read)
    except (OSError, ValueError, TypeError, KeyError):
        return None
