"""What was changed since the shown run."""

from __future__ import annotations

from imop_app.services import learning, results
from imop_app.store import RunStore
from imop_app.workspace import Workspace


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
