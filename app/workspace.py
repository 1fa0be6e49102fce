"""A workspace: what the analyst chose, kept in one JSON file so that a reload finds it again."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from imop_app.home import FileBox, data_folder, is_safe, new_id, read_json, write_json
from imop_app.settings import (
    InvestorSettings,
    LearnSettings,
    MarketSettings,
    Settings,
    from_plain,
    to_plain,
)

T = TypeVar("T")

FILE: Final = "workspace.json"
VERSION: Final = 2  # 1 had no digest


@dataclass(frozen=True)
class Before:
    """What was chosen, and which run was shown, before an old run took their places."""

    opened: str  # the name of that run
    settings: Settings
    run: str | None = None


@dataclass
class Workspace:
    """Everything an analyst has chosen so far; None where she has not come to it yet."""

    id: str
    name: str = "Untitled"
    market: MarketSettings | None = None
    investors: InvestorSettings | None = None
    learn: LearnSettings | None = None
    run: str | None = None  # the run that Frontier, Preferences and Report show
    title: str = ""  # of the report
    notes: str = ""
    before: Before | None = None  # what was chosen before an old run was opened
    groups: str | None = None  # what groups are compared by, on the page and in the report
    # What it was when it was last read or written here: another tab may have changed it since.
    _known: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not is_safe(self.id):
            raise ValueError(f"{self.id!r} cannot name a workspace")

    @property
    def folder(self) -> Path:
        """Where it is kept; made when there is something to keep."""
        return data_folder() / "workspaces" / self.id

    @property
    def box(self) -> FileBox:
        """The files the analyst gave."""
        return FileBox(self.folder / "files")

    @property
    def chosen_market(self) -> MarketSettings:
        """The market, for what comes after its choice."""
        if self.market is None:
            raise ValueError("no market was chosen yet")
        return self.market

    @property
    def chosen_investors(self) -> InvestorSettings:
        """The investors, for what comes after their choice."""
        if self.investors is None:
            raise ValueError("no investors were chosen yet")
        return self.investors

    @property
    def settings(self) -> Settings | None:
        """What a run would be started with, once market and investors are there."""
        if self.market is None or self.investors is None:
            return None
        return Settings(self.market, self.investors, self.learn or LearnSettings())

    def save(self) -> None:
        """Write down what was changed here; the rest stays as another tab may have left it."""
        mine, there = self._parts(), _plain(self.folder / FILE)
        kept = {
            name: there[name] if name in there and self._known.get(name, ...) == part else part
            for name, part in mine.items()
        }
        write_json(self.folder / FILE, {"version": VERSION, **kept})
        self._known = mine

    def _parts(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "market": to_plain(self.market),
            "investors": to_plain(self.investors),
            "learn": to_plain(self.learn),
            "run": self.run,
            "title": self.title,
            "notes": self.notes,
            "before": to_plain(self.before),
            "groups": self.groups,
        }


@dataclass(frozen=True)
class Entry:
    """A workspace in the list of those there are."""

    id: str
    name: str
    changed: float  # seconds since the epoch

    @property
    def when(self) -> str:
        """When it was last changed."""
        return time.strftime("%d %b %Y, %H:%M", time.localtime(self.changed))


def new_workspace() -> Workspace:
    """An empty workspace that is on no disk yet."""
    return Workspace(new_id("w"))


def open_workspace(identifier: str) -> Workspace:
    """The workspace of that id; an empty one where there is none, or its file is damaged.

    A damaged file is kept under another name, never overwritten.
    """
    workspace = Workspace(identifier)
    path = workspace.folder / FILE
    if not path.exists():
        return workspace
    try:
        return _read(identifier, read_json(path, undigested=1))
    except (ValueError, TypeError, KeyError, OSError):
        with suppress(OSError):  # where nothing can be written, it stays where it is
            path.replace(path.with_suffix(f".damaged-{int(time.time())}"))
        return workspace


def _plain(path: Path) -> dict[str, Any]:
    """What is written there; nothing where there is nothing that can be read."""
    try:
        return read_json(path, undigested=1)
    except (ValueError, OSError):
        return {}


def _read(identifier: str, plain: dict[str, object]) -> Workspace:
    read = Workspace(
        id=identifier,
        name=from_plain(str, plain["name"]),
        market=_optional(MarketSettings, plain["market"]),
        investors=_optional(InvestorSettings, plain["investors"]),
        learn=_optional(LearnSettings, plain["learn"]),
        run=_optional(str, plain["run"]),
        title=from_plain(str, plain["title"]),
        notes=from_plain(str, plain["notes"]),
        before=_optional(Before, plain.get("before")),
        groups=_optional(str, plain.get("groups")),
    )
    read._known = read._parts()
    return read


def _optional(kind: type[T], plain: object) -> T | None:
    return None if plain is None else from_plain(kind, plain)


def recent_workspaces(limit: int = 12) -> list[Entry]:
    """The workspaces on this machine, the last changed first."""
    found = []
    for path in (data_folder() / "workspaces").glob(f"*/{FILE}"):
        if not is_safe(path.parent.name):
            continue
        try:
            name = read_json(path, undigested=1).get("name", "Untitled")
            found.append(Entry(path.parent.name, str(name), path.stat().st_mtime))
        except (ValueError, OSError, AttributeError):
            continue
    return sorted(found, key=lambda entry: -entry.changed)[:limit]
