"""Investors with a cap of their own each: who is free of it, and who shares one.

A cap that an investor does not reach changes nothing: the portfolio is optimal without it too. So
all whom their cap does not bind share one frontier, whatever their caps are. Those whom it binds
have the frontier of that cap; enough of them with the same cap are a mandate, the others take no
part, with the reason.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from imop_engine.arguments import Vector
from imop_engine.errors import InvalidInput
from imop_engine.investors import Investors
from imop_engine.sentences import mandates as said
from imop_engine.study.data import StudyData

FREE: Final = "cap not reached"
# A largest holding this many standard deviations of its errors below the cap does not reach it.
CLEAR: Final = 4.0
# Holdings beyond their caps are errors; where there are too few to measure them by, and where they
# are small, holdings are taken to be right to a per cent, as reports that round them are.
SMALLEST_MARGIN: Final = 0.01
FEWEST_BEYOND: Final = 10
HALF_NORMAL_MEDIAN: Final = 0.6745
LEAST_IN_A_MANDATE: Final = 30  # investors at the same cap who are learned from by themselves
DIGITS: Final = 4  # of a cap; 33.33% and 33.333% are the same one


def by_own_caps(data: StudyData, column: str) -> tuple[StudyData, str, dict[str, dict[str, Any]]]:
    """Sort investors who have a cap of their own each into mandates.

    Args:
        data: moments and portfolios, with `column` among the investors' attributes.
        column: each investor's cap on every holding, as a fraction (0.4) or with a sign (40%);
            empty where there is none.

    Returns:
        The same with a column of mandates, that column's name, and the limits of each mandate, as
        `run_mandates` takes them. Investors at a cap that fewer than 30 share take no part; the
        reason stands with them.

    Raises:
        InvalidInput: the column is not there or has no caps, or nobody is left to learn from.
    """
    caps = _caps(data, column)
    label = f"{column} (as mandate)"
    good = data.good
    bound = good & (caps < 1.0) & (_largest(data) >= caps - _margin(data, caps))
    labels = np.where(bound, [said.at_cap(cap) for cap in caps], FREE)
    names, counts = np.unique(labels[bound], return_counts=True)
    rare = bound & np.isin(labels, names[counts < LEAST_IN_A_MANDATE])
    if not (good & ~rare).any():
        raise InvalidInput(said.all_at_rare_caps(column, int(rare.sum()), LEAST_IN_A_MANDATE))
    mandates: dict[str, dict[str, Any]] = {FREE: {}} if (good & ~bound).any() else {}
    for row in np.flatnonzero(bound & ~rare):
        mandates.setdefault(str(labels[row]), {"upper": float(caps[row])})
    people = _with_mandates(data.investors, label, labels, rare)
    return StudyData.on(data.market, people), label, mandates


def _caps(data: StudyData, column: str) -> Vector:
    """Each investor's cap, a fraction of wealth; 1 where there is none."""
    if column not in data.attributes.columns:
        raise InvalidInput(said.no_column(column, [str(name) for name in data.attributes.columns]))
    written = data.attributes[column]
    texts = written.astype("string").str.strip().fillna("")
    signed = texts.str.endswith("%")
    numbers = pd.to_numeric(texts.str.rstrip("% ").replace("", "1"), errors="coerce")
    caps = np.where(signed, numbers / 100.0, numbers).astype(float)
    odd = ~(np.isfinite(caps) & (caps > 0.0) & (caps <= 1.0))
    if odd.any():
        place = int(np.flatnonzero(odd)[0])
        raise InvalidInput(
            said.no_cap(column, str(data.investors.ids[place]), str(texts.iloc[place]))
        )
    return np.round(caps, DIGITS)


def _largest(data: StudyData) -> Vector:
    return np.asarray(np.nan_to_num(data.investors.portfolios).max(axis=1), dtype=float)


def _margin(data: StudyData, caps: Vector) -> float:
    """How far below its cap a largest holding must be not to be at it, a fraction of wealth."""
    beyond = (_largest(data) - caps)[data.good & (_largest(data) > caps)]
    if len(beyond) < FEWEST_BEYOND:
        return SMALLEST_MARGIN
    return max(SMALLEST_MARGIN, CLEAR * float(np.median(beyond)) / HALF_NORMAL_MEDIAN)


def _with_mandates(
    people: Investors, label: str, labels: NDArray[Any], rare: NDArray[np.bool_]
) -> Investors:
    reasons = list(people.reasons or ("",) * len(people))
    for row in np.flatnonzero(rare):
        reasons[row] = said.rare_cap(str(labels[row]), LEAST_IN_A_MANDATE)
    attributes = people.attributes.copy()
    attributes[label] = labels
    return replace(people, reasons=tuple(reasons), attributes=attributes)
