"""A score of the assets as third objective: what is given, what is computed of it beside the page.

The score is entered on the page and not kept with the run: it belongs to the question, and the
answer is quick to compute again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
import streamlit as st

from imop_app.files import FileBox
from imop_app.services import results, scored
from imop_app.services.beside import Beside, LastAnswers
from imop_app.services.errors import AppError, sentences
from imop_app.services.opened import OPENED
from imop_app.services.reading import read
from imop_app.settings import StoredFile
from imop_engine.inference.anchor_choice import AnchorChoice
from imop_engine.report import frames_people, frames_score
from imop_engine.sentences import third_objective as say
from imop_engine.sentences.numbers import percent_cell
from imop_engine.study import Study
from imop_engine.study.scoring import (
    example_scores,
    score_candidates,
    suggested_anchors,
)

DOWNLOADS: Final = {"returns": "Returns", "investors": "Investors", "surface": "Surface"}


@dataclass(frozen=True, eq=False)
class Scored:
    """What came out.

    Args:
        tables: By name: returns always; investors, cells, points, weights, medians, frontiers,
            cloud, costs and surface where no return stays open.
        said: Sentences, the most important first.
        price: The median price of a unit of the score and its interval, a year; NaN where open.
        cost: What the median investor pays for the score, a year; NaN where open.
        explained: Share of the variation in holdings with the score.
        without: The same of the run, with return and risk alone.
        scores: Of each asset, as they were when this was computed.
        anchors: The known returns, as they were then.
    """

    tables: dict[str, pd.DataFrame]
    said: tuple[str, ...]
    price: tuple[float, float, float]
    cost: float
    explained: float
    without: float
    scores: tuple[float, ...]
    anchors: dict[str, float]

    @property
    def drawn(self) -> bool:
        """Whether there are pictures."""
        return "investors" in self.tables


class Scoring(Beside[Scored]):
    """One fit with a score under way or ended.

    Args:
        location: Where the run is kept.
        scores: Of each asset, in the market's order.
        anchors: What is known of the returns, a year.
    """

    doing = "fits the score"

    def __init__(
        self, location: str, scores: Sequence[float], anchors: Mapping[str, float]
    ) -> None:
        super().__init__(location)
        self.scores, self.anchors = [float(one) for one in scores], dict(anchors)

    def request(self) -> dict[str, Any]:
        """What the process of its own is asked."""
        return {"what": "score", "scores": self.scores, "anchors": self.anchors}

    def here(self) -> Scored:
        """The same, computed in this process."""
        from imop_engine.storage import load_study

        study = OPENED.get(self.location) or load_study(self.location)
        return self.answer(scored.of_study(study, self.scores, self.anchors, self.note))

    def answer(self, found: dict[str, Any]) -> Scored:
        """What was computed, in whatever process."""
        values = dict(found)
        return Scored(
            tables=values.pop("tables"),
            said=tuple(values.pop("said")),
            price=tuple(values.pop("price")),
            scores=tuple(values.pop("scores")),
            **values,
        )


_BOOK: Final = LastAnswers[Scoring]()


def of_run(location: str) -> Scoring | None:
    """What was computed, or is being computed, for a run; None before anybody asked."""
    return _BOOK.get(location)


def begin(location: str, scores: Sequence[float], anchors: Mapping[str, float]) -> Scoring:
    """Fit the score to a run's portfolios in the background; one at a time for each run.

    Args:
        location: Where the run is kept.
        scores: Of each asset, in the market's order.
        anchors: What is known of the returns, a year.
    """
    return _BOOK.begin(Scoring(location, scores, anchors))


def given_last(study: Study, location: str) -> tuple[dict[str, float], dict[str, float]] | None:
    """The scores and the known returns that were fitted last for a run; None where none were.

    Args:
        study: The run.
        location: Where it is kept.
    """
    now = of_run(location)
    if now is None:
        return None
    return dict(zip(study.problem.names, now.scores, strict=True)), dict(now.anchors)


def table(study: Study, scores: Mapping[str, float]) -> pd.DataFrame:
    """asset and score, for editing; nothing where a score is missing."""
    names = list(study.problem.names)
    return pd.DataFrame({"asset": names, "score": [scores.get(one, np.nan) for one in names]})


@sentences
def from_file(stored: StoredFile, study: Study, box: FileBox) -> dict[str, float]:
    """The scores of a file.

    Args:
        stored: The file.
        study: The run whose assets are scored.
        box: The files of the workspace.
    """
    names = tuple(study.problem.names)
    found = read("scores", (box.path(stored),), {"names": names, "name": stored.name})
    return dict(zip(names, found, strict=True))


def example(study: Study) -> tuple[dict[str, float], str]:
    """A score to try this with, and what it is."""
    found, what = example_scores(study)
    return {str(asset): float(value) for asset, value in found.items()}, say.example(what)


def complete(edited: pd.DataFrame) -> list[float]:
    """The scores of an edited table, in its order.

    Args:
        edited: asset and score.
    """
    values = pd.to_numeric(edited["score"], errors="coerce").to_numpy(dtype=float)
    missing = edited["asset"][~np.isfinite(values)].astype(str).tolist()
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise AppError(
            f"{', '.join(missing[:3])}{more} have no score yet; write a number for each asset."
            if len(missing) > 1
            else f"{missing[0]} has no score yet; write a number for each asset."
        )
    if float(np.ptp(values)) == 0.0:
        raise AppError(
            f"All assets have the score {values[0]:g}, so nobody can choose by it; write different "
            "numbers."
        )
    return [float(one) for one in values]


def candidates(study: Study) -> AnchorChoice:
    """Assets and portfolios whose returns might be taken as known. Kept with the study."""
    return _candidates(results.key_of(study), study)


@st.cache_resource(show_spinner=False, max_entries=16)
def _candidates(key: str, _study: Study) -> AnchorChoice:
    return score_candidates(_study)


def suggested(study: Study, edited: pd.DataFrame) -> dict[str, float]:
    """Three known returns from the history; none while scores are missing.

    Args:
        study: The run.
        edited: asset and score.
    """
    values = pd.to_numeric(edited["score"], errors="coerce").to_numpy(dtype=float)
    return suggested_anchors(study, values.tolist(), candidates(study))


def figures(found: Scored) -> list[tuple[str, str, str]]:
    """Key figures: label, value, and the word that explains it."""
    price, low, high = found.price
    shown = [
        ("Median price of a unit", percent_cell(price), "price of the score"),
        ("95% interval", f"{percent_cell(low)} to {percent_cell(high)}", "interval"),
        ("Median cost a year", percent_cell(found.cost), "cost of the score"),
        ("Explained", f"{max(0.0, found.explained):.1%}", "explained"),
        ("Without the score", f"{max(0.0, found.without):.1%}", "explained"),
    ]
    return shown if found.drawn else shown[3:]


def grid() -> pd.DataFrame:
    """The lines of the triangle."""
    return frames_score.triangle_grid()


def attributes(found: Scored) -> tuple[str, ...]:
    """What groups can be made by."""
    return frames_people.segment_names(_attributes(found))


def _attributes(found: Scored) -> pd.DataFrame:
    people = found.tables["investors"]
    first = list(people.columns).index("share_score") + 1
    return people.iloc[:, first:]


@sentences
def segments(found: Scored, attribute: str) -> pd.DataFrame:
    """What groups of investors pay for the score.

    Args:
        found: What came out.
        attribute: The column that makes the groups.
    """
    people = found.tables["investors"]
    return frames_score.cost_segments(people, people[attribute].tolist())


def csv(found: Scored, name: str) -> bytes:
    """One table as CSV, safe to open in a spreadsheet."""
    from imop_engine.tables.export import csv_text

    return csv_text(found.tables[name]).encode()


def workbook(found: Scored) -> bytes:
    """The tables as one Excel workbook."""
    from imop_engine.tables.export import workbook as write

    names = {name: found.tables[name] for name in (*DOWNLOADS, "frontiers") if name in found.tables}
    known = pd.DataFrame({"known": list(found.anchors), "return": list(found.anchors.values())})
    return write({**names, "known returns": known})


def offered(found: Scored) -> list[str]:
    """Which tables can be downloaded."""
    return [name for name in DOWNLOADS if name in found.tables]
