"""A run's estimate under other choices, computed beside the pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from imop_app.services import alternatives
from imop_app.services.beside import Beside, LastAnswers
from imop_app.services.opened import OPENED


@dataclass(frozen=True, eq=False)
class Alternatives:
    """The estimate under other choices.

    Args:
        table: choice, alternative, asset, estimate, study and difference.
        summary: choice, alternative, largest, asset, rank_correlation, explained and reason.
        said: What each kind of choice changes, in words.
    """

    table: pd.DataFrame
    summary: pd.DataFrame
    said: tuple[str, ...]


class Comparing(Beside[Alternatives]):
    """One comparison under way or ended."""

    doing = "compares choices"

    def request(self) -> dict[str, Any]:
        """What the process of its own is asked."""
        return {"what": "sensitivity"}

    def here(self) -> Alternatives:
        """The same, computed in this process."""
        from imop_engine.storage import load_study

        study = OPENED.get(self.location) or load_study(self.location)
        return Alternatives(**alternatives.of_study(study, self.note))

    def answer(self, found: dict[str, Any]) -> Alternatives:
        """What the process answered."""
        return Alternatives(found["table"], found["summary"], tuple(found["said"]))


_BOOK: Final = LastAnswers[Comparing]()


def of_run(location: str) -> Comparing | None:
    """What was compared, or is being compared, for a run; None before anybody asked."""
    return _BOOK.get(location)


def begin(location: str) -> Comparing:
    """Compare choices for a run in the background; one at a time for each run."""
    return _BOOK.begin(Comparing(location))
