"""What the strip says of market, investors and result, in a few words each."""

from __future__ import annotations

from imop_app.services import learning, results
from imop_app.services import market as markets
from imop_app.services import people as crowd
from imop_app.services.errors import AppError
from imop_app.services.preparing import Preparing
from imop_app.store import RunStore
from imop_app.workspace import Workspace


def market(workspace: Workspace) -> str:
    """The market's title and size, or that it cannot be read."""
    try:
        data = markets.load(workspace.chosen_market, workspace.box)
    except AppError:
        return "cannot be read"
    return data.title


def investors(workspace: Workspace) -> str:
    """How many investors, and from where; or that they cannot be read."""
    try:
        people = crowd.load(workspace.chosen_market, workspace.chosen_investors, workspace.box)
    except Preparing:
        return "drawn when the numerical code is ready"
    except AppError:
        return "cannot be read"
    return crowd.title(people)


def result(workspace: Workspace, store: RunStore) -> str | None:
    """What the shown run explains, and the verdict on it; None where it is gone."""
    record = results.record_of(store, workspace.run)
    if record is None:
        return None
    judged = f", {record.verdict}" if record.verdict else ""
    return f"{results.explained_said(record.explained)} explained{judged}"


def verdict(workspace: Workspace, store: RunStore) -> str:
    """The verdict on the shown run: "good", "caution" or "poor"; "" where there is none."""
    record = results.record_of(store, workspace.run)
    return "" if record is None else record.verdict


def changes(workspace: Workspace, store: RunStore) -> tuple[str, ...]:
    """What was changed since the shown run, by the page where it was; empty where nothing was."""
    record = results.record_of(store, workspace.run)
    settings = workspace.settings
    if record is None or record.settings is None or settings is None:
        return () if settings is None else ("the run",)
    learn = workspace.learn or learning.defaults(settings.market, settings.investors.first)
    before = record.settings
    pairs = {
        "market": (before.market, settings.market),
        "investors": (before.investors, settings.investors),
        "learning": (before.learn.used, learn.used),
    }
    return tuple(name for name, (then, now) in pairs.items() if then != now)
