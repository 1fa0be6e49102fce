"""Investors under different limits: one study for each mandate, one estimate of what all believe.

Investors of one mandate share limits and so a frontier; all of them share beliefs. Each mandate is
learned from on its own frontier, under the same anchors, and the estimates are put together by what
each of them knows: investors of one mandate are other people than those of another, so sampling
errors are independent, and weights are the inverse variances. What history, anchors and the
simulation of errors leave open is common to all of them and is not averaged down.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy.special import chdtrc, ndtri

from imop_engine.arguments import Vector
from imop_engine.errors import InvalidInput
from imop_engine.inference.anchors import history_anchors
from imop_engine.sentences import mandates as said
from imop_engine.study.data import StudyData
from imop_engine.study.outcome import Study
from imop_engine.study.settings import StudySettings
from imop_engine.study.steps import make_problem, steps_of

KNOWN: Final = ("identified", "anchored")
OWN: Final = ("sample", "model")  # sources of error that each mandate has for itself
COMMON: Final = ("noise", "history", "anchors")
# Differences this improbable by chance are told; with 20 assets in one study of five.
IMPROBABLE: Final = 0.01


@dataclass(frozen=True, eq=False)
class MandateStudies:
    """What investors under different limits believe together.

    Args:
        column: the attribute that names each investor's mandate.
        studies: by mandate; each has its own frontier, investors and report.
    """

    column: str
    studies: Mapping[str, Study]

    @cached_property
    def returns(self) -> pd.DataFrame:
        """asset, estimate, low, high, status, mandates (how many tell it), probability.

        `probability` is that of differences between mandates as large as those seen, by chance; NaN
        where fewer than two tell the return.
        """
        tables = [study.frame_returns for study in self.studies.values()]
        names = tables[0]["asset"]
        places = range(len(names))
        rows = [self._one(place, [table.iloc[place] for table in tables]) for place in places]
        return pd.DataFrame(rows)

    @cached_property
    def investors(self) -> pd.DataFrame:
        """The investors of all mandates, with `mandate` as the first column after their name."""
        parts = []
        for name, study in self.studies.items():
            part = study.frame_investors.copy()
            part = part.drop(columns="mandate", errors="ignore")
            part.insert(1, "mandate", name)
            parts.append(part)
        return pd.concat(parts, ignore_index=True)

    @cached_property
    def frontiers(self) -> pd.DataFrame:
        """The frontiers of all mandates, with `mandate` as the first column."""
        parts = []
        for name, study in self.studies.items():
            part = study.frame_frontier.copy()
            part.insert(0, "mandate", name)
            parts.append(part)
        return pd.concat(parts, ignore_index=True)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What differs between mandates by more than chance gives."""
        table = self.returns
        told = table[table["probability"] < IMPROBABLE]
        return tuple(
            said.disagreeing(str(row["asset"]), float(row["probability"]))
            for _, row in told.iterrows()
        )

    def _one(self, place: int, rows: list[Any]) -> dict[str, Any]:
        """The return of one asset, by all mandates that tell it."""
        found: dict[str, Any] = {"asset": rows[0]["asset"]}
        told = [
            (row, self._variances(study, place))
            for row, study in zip(rows, self.studies.values(), strict=True)
            if row["status"] == "identified"
        ]
        anchored = [row for row in rows if row["status"] == "anchored"]
        if anchored or not told:
            lows = np.array([row["low"] for row in rows], dtype=float)
            highs = np.array([row["high"] for row in rows], dtype=float)
            one = anchored[0] if anchored else rows[0]
            status = "anchored" if anchored else _status(rows)
            low = np.nan if np.isnan(lows).all() else float(np.nanmax(lows))
            high = np.nan if np.isnan(highs).all() else float(np.nanmin(highs))
            estimate = one["estimate"] if anchored else np.nan
            return found | {
                "estimate": estimate, "low": low, "high": high, "status": status,
                "mandates": len(anchored), "probability": np.nan,
            }  # fmt: skip
        values = np.array([row["estimate"] for row, _ in told])
        own, common = np.array([variances for _, variances in told]).T
        share = (1.0 / own) / (1.0 / own).sum()
        estimate = float(share @ values)
        # own errors average out, common ones do not
        variance = 1.0 / (1.0 / own).sum() + float(share @ np.sqrt(common)) ** 2
        reach = float(ndtri(0.5 + 0.5 * self._level)) * np.sqrt(variance)
        apart = float((((values - estimate) ** 2) / (own + common)).sum())
        several = len(told) > 1
        return found | {
            "estimate": estimate, "low": estimate - reach, "high": estimate + reach,
            "status": "identified", "mandates": len(told),
            "probability": float(chdtrc(len(told) - 1, apart)) if several else np.nan,
        }  # fmt: skip

    @property
    def _level(self) -> float:
        return next(iter(self.studies.values())).settings.level

    @staticmethod
    def _variances(study: Study, place: int) -> tuple[float, float]:
        """Of one return in one study: its own, and what it shares with other mandates."""
        parts = study.identification.sources.variances
        own = sum(float(parts[name][place]) for name in OWN)
        return max(own, np.finfo(float).tiny), sum(float(parts[name][place]) for name in COMMON)


def run_mandates(
    data: StudyData,
    column: str,
    mandates: Mapping[str, Mapping[str, Any]],
    settings: StudySettings | None = None,
) -> MandateStudies:
    """Learn what investors believe who are under different limits.

    Args:
        data: moments and portfolios, with `column` among the investors' attributes.
        column: names each investor's mandate.
        mandates: by label the limits of that mandate: any of upper, lower and limits, as in
            `StudySettings`; {} where there are none.
        settings: how to learn; limits in it hold for every mandate that has none of its own.

    Returns:
        A study for each mandate, and the returns by all of them.

    Raises:
        InvalidInput: a label has no mandate, or the column is not there.
    """
    chosen = settings or StudySettings()
    if column not in data.attributes.columns:
        raise InvalidInput(
            f"there is no column {column!r} with the investors' mandates; the columns are "
            f"{', '.join(map(str, data.attributes.columns)) or 'none'}."
        )
    labels = data.attributes[column].astype(str).to_numpy()
    strange = sorted(set(labels[data.good]) - set(mandates))
    if strange:
        raise InvalidInput(said.missing(strange, column))
    if chosen.anchors is None:
        chosen = replace(chosen, anchors=_common_anchors(data, chosen))
    studies = {}
    for name in dict.fromkeys(labels[data.good]):
        people = data.investors.only(labels == name)
        known = replace(chosen, **{"title": chosen.title or f"Mandate {name}", **mandates[name]})
        *_, last = steps_of(StudyData.on(data.market, people), known)
        assert last.study is not None  # the last step carries it
        studies[str(name)] = last.study
    return MandateStudies(column, studies)


def _common_anchors(data: StudyData, settings: StudySettings) -> list[tuple[Any, float, float]]:
    """The default anchors of all investors together, each with its error by the history."""
    free = replace(settings, upper=1.0, lower=0.0, limits=())
    problem = make_problem(data, free)
    error = data.market.mean_covariance
    returns = np.asarray(data.expected_returns, dtype=float)
    found = history_anchors(problem, returns, data.decisions, error)
    anchors: list[tuple[Any, float, float]] = []
    for one in found:
        shares = dict(zip(data.names, one.portfolio.tolist(), strict=True))
        anchors.append((shares, one.value, _error(one.portfolio, error)))
    return anchors


def _error(portfolio: Vector, covariance: Any) -> float:
    return 0.0 if covariance is None else float(np.sqrt(portfolio @ covariance @ portfolio))


def _status(rows: list[Any]) -> str:
    """Bounded where any mandate bounds it, else as the first has it."""
    statuses = [str(row["status"]) for row in rows]
    return "bounded" if "bounded" in statuses else statuses[0]
