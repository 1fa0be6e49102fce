"""A workspace: what the analyst chose, kept in the store so that a reload finds it again."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import sqlalchemy as sa

from imop_app import access
from imop_app.database import database, note, objects
from imop_app.database.tables import (
    CHECKPOINTS,
    DAMAGED,
    INPUTS,
    RUN_FILES,
    RUNS,
    SHARES,
    UNDER_WAY,
    WORKSPACES,
)
from imop_app.files import FileBox
from imop_app.home import is_safe, new_id, sealed, unsealed
from imop_app.settings import (
    InvestorSettings,
    LearnSettings,
    MarketSettings,
    Settings,
    from_plain,
    to_plain,
)
from imop_engine.errors import CannotWrite

T = TypeVar("T")

WHAT: Final = "what was chosen"  # as it is called where it is damaged
UNNAMED: Final = "Untitled"
VERSION: Final = 2  # 1 had no digest


@dataclass(frozen=True)
class Before:
    """What was chosen, and which run was shown, before an old run took their places."""

    opened: str  # the name of that run
    settings: Settings
    run: str | None = None


@dataclass
class Workspace:
    """Everything an analyst has chosen so far; None where nothing was chosen yet."""

    id: str
    name: str = UNNAMED
    market: MarketSettings | None = None
    investors: InvestorSettings | None = None
    learn: LearnSettings | None = None
    run: str | None = None  # the run that Frontier, Preferences and Report show
    title: str = ""  # of the report
    notes: str = ""
    before: Before | None = None  # what was chosen before an old run was opened
    groups: str | None = None  # what groups are compared by, on the page and in the report
    accepted: tuple[str, ...] = ()  # findings of reading that the analyst leaves as they are
    deleted: float | None = None  # when it was deleted, in seconds since the epoch; None: it is not
    owner: str = ""  # the address of whoever logged in; "" on a computer without login
    # What it was when it was last read or written here: another tab may have changed it since.
    _known: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not is_safe(self.id):
            raise ValueError(f"{self.id!r} cannot name a workspace")

    @property
    def box(self) -> FileBox:
        """The files the analyst gave."""
        return FileBox(self.id, self.owner)

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
        access.require(self.owner)
        store = database()
        chosen = sa.select(WORKSPACES.c.owner, WORKSPACES.c.content)
        with store.writing(self.id) as connection:
            row = connection.execute(chosen.where(WORKSPACES.c.id == self.id)).first()
            if row is not None and row.owner != self.owner:
                raise CannotWrite("This workspace belongs to somebody else; open one of your own.")
            mine, there = self._parts(), {} if row is None else _plain(row.content)
            kept = {
                name: there[name] if name in there and self._known.get(name, ...) == part else part
                for name, part in mine.items()
            }
            values = {
                "owner": self.owner,
                "changed": time.time(),
                "content": sealed({"version": VERSION, **kept}),
            }
            if row is None:
                connection.execute(sa.insert(WORKSPACES).values(id=self.id, **values))
            else:
                changed = sa.update(WORKSPACES).where(WORKSPACES.c.id == self.id)
                connection.execute(changed.values(**values))
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
            "accepted": list(self.accepted),
            "deleted": self.deleted,
        }

    def plain(self) -> dict[str, Any]:
        """What was chosen, as plain values that `restored` reads."""
        return self._parts()


@dataclass(frozen=True)
class Entry:
    """A workspace in the list of those there are."""

    id: str
    name: str
    changed: float  # seconds since the epoch
    deleted: float | None = None  # the same of its deletion

    @property
    def when(self) -> str:
        """When it was last changed."""
        return time.strftime("%d %b %Y, %H:%M", time.localtime(self.changed))


def new_workspace(owner: str = "") -> Workspace:
    """An empty workspace that is in no store yet.

    Args:
        owner: Whose it is; "" on a computer without login.
    """
    return Workspace(new_id("w"), owner=owner)


def open_workspace(identifier: str, owner: str = "") -> Workspace:
    """The workspace of that id; an empty one where there is none, or what was kept is damaged.

    What is damaged is kept aside, never overwritten. Somebody else's is as if there were none:
    whoever logged in gets one with an id of its own, whether there is another of that id or not.

    Args:
        identifier: Its id.
        owner: Who asks; "" on a computer without login.
    """
    access.require(owner)
    workspace = Workspace(identifier, owner=owner)
    chosen = sa.select(WORKSPACES.c.owner, WORKSPACES.c.content)
    with database().reading() as connection:
        row = connection.execute(chosen.where(WORKSPACES.c.id == identifier)).first()
    if row is None or row.owner != owner:
        return workspace if row is None and not owner else new_workspace(owner)
    try:
        return _read(identifier, owner, unsealed(row.content, WHAT, undigested=1))
    except (ValueError, TypeError, KeyError):
        _set_aside(identifier, row.content)
        return workspace


def _set_aside(identifier: str, content: str) -> None:
    with database().writing(identifier) as connection:
        row = {"at": time.time(), "about": identifier, "content": content}
        connection.execute(sa.insert(DAMAGED).values(row))
        connection.execute(sa.delete(WORKSPACES).where(WORKSPACES.c.id == identifier))


def _plain(content: str) -> dict[str, Any]:
    """What is written there; nothing where there is nothing that can be read."""
    try:
        return unsealed(content, WHAT, undigested=1)
    except ValueError:
        return {}


def _read(identifier: str, owner: str, plain: dict[str, object]) -> Workspace:
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
        accepted=from_plain(tuple[str, ...], plain.get("accepted", [])),
        deleted=_optional(float, plain.get("deleted")),
        owner=owner,
    )
    read._known = read._parts()
    return read


def _optional(kind: type[T], plain: object) -> T | None:
    return None if plain is None else from_plain(kind, plain)


def restored(identifier: str, plain: dict[str, Any], owner: str = "") -> Workspace:
    """A workspace that was handed out as plain values; ValueError where they are none.

    Args:
        identifier: What it is called from now on.
        plain: What `Workspace.plain` returned, here or elsewhere.
        owner: Whose it becomes; "" on a computer without login.
    """
    try:
        read = _read(identifier, owner, plain)
    except (TypeError, KeyError) as error:
        raise ValueError(f"these are not the values of a workspace ({error})") from None
    read._known = {}  # nothing of it was written here
    return read


def recent_workspaces(owner: str = "", limit: int = 12) -> list[Entry]:
    """Somebody's workspaces, the last changed first; not those that were deleted.

    Args:
        owner: Whose; "" on a computer without login.
        limit: How many.
    """
    return [entry for entry in _all(owner) if entry.deleted is None][:limit]


def deleted_workspaces(owner: str = "") -> list[Entry]:
    """Those that somebody deleted and can bring back, the last first.

    Args:
        owner: Whose; "" on a computer without login.
    """
    found = [entry for entry in _all(owner) if entry.deleted is not None]
    return sorted(found, key=lambda entry: -(entry.deleted or 0.0))


def remove_workspace(identifier: str, owner: str = "") -> None:
    """Remove somebody's workspace with its files and runs for good, in one step.

    Args:
        identifier: Its id.
        owner: Whose; "" on a computer without login. Somebody else's stays.
    """
    access.require(owner)
    with database().writing(objects.TURN) as connection:
        known = connection.execute(
            sa.select(WORKSPACES.c.owner).where(WORKSPACES.c.id == identifier)
        ).scalar()
        if known is not None and known != owner:
            return
        kept = sa.select(RUNS.c.id).where(RUNS.c.workspace == identifier)
        files = RUN_FILES.c.run.in_(kept)
        given = INPUTS.c.workspace == identifier
        chosen = sa.select(RUN_FILES.c.digest).where(files)
        digests = connection.execute(chosen.union(sa.select(INPUTS.c.digest).where(given)))
        unused = list(digests.scalars())
        connection.execute(sa.delete(SHARES).where(SHARES.c.run.in_(kept)))
        connection.execute(sa.delete(RUN_FILES).where(files))
        for table in (RUNS, INPUTS, UNDER_WAY, CHECKPOINTS):
            connection.execute(sa.delete(table).where(table.c.workspace == identifier))
        connection.execute(sa.delete(WORKSPACES).where(WORKSPACES.c.id == identifier))
        objects.drop_unused(connection, unused)
        note(connection, owner, "workspace removed", identifier)


def _all(owner: str) -> list[Entry]:
    access.require(owner)
    chosen = sa.select(WORKSPACES).where(WORKSPACES.c.owner == owner)
    with database().reading() as connection:
        rows = connection.execute(chosen.order_by(WORKSPACES.c.changed.desc())).all()
    found = []
    for row in rows:
        plain = _plain(row.content)
        if plain and is_safe(row.id):
            deleted = plain.get("deleted")
            gone = float(deleted) if isinstance(deleted, int | float) else None
            found.append(Entry(row.id, str(plain.get("name", UNNAMED)), row.changed, gone))
    return found
