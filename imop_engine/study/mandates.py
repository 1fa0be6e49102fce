"""Investors under different limits: one study for each mandate, one estimate of what all believe.

Investors of one mandate share limits and so a frontier; all of them share beliefs. Each mandate is
learned from on its own frontier, under the same anchors, and what each of them knows, differences
between returns included, is put together (inference/combining.py).
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
from imop_engine.inference.combining import (
    IMPROBABLE,
    SMALLEST_ERROR,
    Combined,
    KnownPart,
    combine,
)
from imop_engine.sentences import mandates as said
from imop_engine.study.data import StudyData
from imop_engine.study.outcome import Study
from imop_engine.study.settings import StudySettings
from imop_engine.study.steps import make_problem, steps_of

# Sources of error that can make mandates differ: the anchors are the same for all.
NOT_SHARED: Final = ("sample", "model", "noise", "history")
# Statuses of returns of which a mandate says a bound at most.
ABOVE, BELOW, BETWEEN, NOT_SEEN = OPEN = ("bounded above", "bounded below", "bounded", "not seen")


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
        """asset, estimate, low, high, status, mandates, probability.

        `mandates` is how many tell the return by themselves; 0 where only several together do.
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
        """What differs between mandates by more than chance gives: all together, then by asset."""
        found = self.combined
        if found is None or not found.apart > 0.0:
            return ()
        table = self.returns
        told = table[table["probability"] < IMPROBABLE]
        each = zip(told["asset"].astype(str), told["probability"], strict=True)
        together = said.apart_together(found.probability, found.apart)
        return (together, *(said.disagreeing(asset, float(chance)) for asset, chance in each))

    @cached_property
    def combined(self) -> Combined | None:
        """The returns by all mandates together; None where no study says how sure it is."""
        known = [one.identification for one in self.studies.values()]
        parts = [KnownPart.of(one) for one in known if one is not None]
        if not parts:
            return None
        return combine(self._first.problem.theta.equalities, parts)

    @property
    def _first(self) -> Study:
        return next(iter(self.studies.values()))

    def _one(self, place: int, rows: list[Any]) -> dict[str, Any]:
        """The return of one asset, by all mandates that tell it."""
        found: dict[str, Any] = {"asset": rows[0]["asset"]}
        tells = [study for row, study in self._with_studies(rows) if row["status"] == "identified"]
        anchored = [row for row in rows if row["status"] == "anchored"]
        statuses = {row["status"] for row in rows}
        bounded, together = statuses & {ABOVE, BELOW, BETWEEN}, self.combined
        unknown = together is None or not together.known()[place]
        if bounded and not anchored and (unknown or statuses <= set(OPEN)):
            low, high, status = _bounds_of_most(rows)
            return found | {
                "estimate": np.nan, "low": low, "high": high, "status": status, "mandates": 0,
                "probability": np.nan,
            }  # fmt: skip
        if anchored or together is None or unknown:
            low, high = _within(rows)
            one = anchored[0] if anchored else rows[0]
            relative = not anchored and "relative" in statuses
            return found | {
                "estimate": one["estimate"] if anchored else np.nan, "low": low, "high": high,
                "status": "relative" if relative else one["status"],
                "mandates": len(anchored), "probability": np.nan,
            }  # fmt: skip
        estimate, shift = float(together.theta[place]), float(together.shift[place])
        level = self._first.settings.level
        reach = float(ndtri(0.5 + 0.5 * level)) * float(np.sqrt(together.covariance[place, place]))
        box = self._first.problem.theta
        return found | {
            "estimate": estimate,
            "low": max(estimate + min(shift, 0.0) - reach, float(box.lower[place])),
            "high": min(estimate + max(shift, 0.0) + reach, float(box.upper[place])),
            "status": "identified", "mandates": len(tells),
            "probability": _chance([self._value(study, place) for study in tells]),
        }  # fmt: skip

    def _with_studies(self, rows: list[Any]) -> list[tuple[Any, Study]]:
        return list(zip(rows, self.studies.values(), strict=True))

    @staticmethod
    def _value(study: Study, place: int) -> tuple[float, float]:
        """One return in one study, and its variance but for the anchors, which all share."""
        known = study.identification
        assert known is not None  # an asset that is identified in it
        parts = known.sources.variances
        variance = sum(float(parts[name][place]) for name in NOT_SHARED)
        return float(known.estimate[place]), max(variance, SMALLEST_ERROR**2)


def _chance(values: list[tuple[float, float]]) -> float:
    """The probability of differences between these values as large as they are; NaN for one."""
    if len(values) < 2:
        return np.nan
    numbers, variances = np.array(values).T
    middle = (numbers / variances).sum() / (1.0 / variances).sum()
    return float(chdtrc(len(numbers) - 1, ((numbers - middle) ** 2 / variances).sum()))


def _within(rows: list[Any]) -> tuple[float, float]:
    """Where one return lies by the intervals of all mandates: in each, or, where they contradict
    one another, in any."""
    lows = np.array([row["low"] for row in rows], dtype=float)
    highs = np.array([row["high"] for row in rows], dtype=float)
    # an empty end is open
    least, most = np.where(np.isnan(lows), -np.inf, lows), np.where(np.isnan(highs), np.inf, highs)
    inside = float(least.max()), float(most.min())
    low, high = inside if inside[0] <= inside[1] else (float(least.min()), float(most.max()))
    return low if np.isfinite(low) else np.nan, high if np.isfinite(high) else np.nan


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


def _bounds_of_most(rows: list[Any]) -> tuple[float, float, str]:
    """Either bound by the mandate in which most investors give one.

    Each is right with the study's confidence. The tightest of several would be right less often,
    and which one it is depends on errors; how many investors there are does not.

    Args:
        rows: of one return, by mandates none of which says more than a bound.
    """
    most: dict[str, Any] = {}
    for end, status in (("low", BELOW), ("high", ABOVE)):
        bounding = [row for row in rows if row["status"] in (status, BETWEEN)]
        if bounding:
            most[end] = max(bounding, key=lambda row: int(row["investors"]))
    if len(most) == 1:
        (one,) = most.values()
        return float(one["low"]), float(one["high"]), str(one["status"])
    low, high = float(most["low"]["low"]), float(most["high"]["high"])
    # what contradicts itself says nothing
    return (low, high, BETWEEN) if low <= high else (np.nan, np.nan, NOT_SEEN)
