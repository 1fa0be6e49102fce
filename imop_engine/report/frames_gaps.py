"""The tables behind the charts of what investors leave on the table."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd

from imop_engine.frontier import Frontier, risk_of
from imop_engine.inference.gaps import Gaps
from imop_engine.report.frames import HELD_FROM
from imop_engine.report.frames_people import Flags, distance_histogram

POINTS: Final = 1e4  # basis points in a return of 1
# Arrows in one picture; more would be a fence.
ARROWS: Final = 12
# Gaps below this are rounding: a histogram needs an edge above zero.
LEAST_GAP: Final = 1e-9


def gap_arrows(
    frontier: Frontier, portfolios: pd.DataFrame, gaps: Gaps, rows: Any = None
) -> pd.DataFrame:
    """From each portfolio up to the efficient one at the same risk.

    Args:
        frontier: The estimated one.
        portfolios: Holdings of each investor in a row, fractions of wealth; the index names her.
        gaps: What these investors leave on the table.
        rows: Positions of the investors to show; None: those with the largest gaps. Who has no
            gap that can be said is left out.

    Returns:
        investor, risk, return, risk_to, return_to, gap and points (the gap in basis points), the
        largest gap first.
    """
    left = gaps.investors["gap"].to_numpy(dtype=float)
    chosen = np.argsort(-left, kind="stable")[:ARROWS] if rows is None else np.atleast_1d(rows)
    chosen = chosen[np.isfinite(left[chosen])]
    held, twins = portfolios.to_numpy(dtype=float)[chosen], gaps.twins[chosen]
    earned = held @ frontier.theta
    return pd.DataFrame(
        {
            "investor": portfolios.index.astype(str)[chosen],
            "risk": risk_of(frontier.problem, held),
            "return": earned,
            "risk_to": risk_of(frontier.problem, twins),
            "return_to": earned + left[chosen],
            "gap": left[chosen],
            "points": POINTS * left[chosen],
        }
    )


def gap_histogram(gaps: Gaps) -> pd.DataFrame:
    """low, high, count and outlier: gaps, with an edge at the threshold of outliers."""
    values = gaps.investors["gap"].dropna().to_numpy(dtype=float)
    return distance_histogram(values, max(gaps.threshold, LEAST_GAP))


def with_points(table: pd.DataFrame) -> pd.DataFrame:
    """The table with a column gap_points after gap: the same in basis points a year."""
    place = list(table.columns).index("gap") + 1
    result = table.copy()
    result.insert(place, "gap_points", POINTS * table["gap"])
    return result


def gap_outliers(portfolios: pd.DataFrame, gaps: Gaps, most: int) -> pd.DataFrame:
    """Investors who leave far more on the table than the others, the largest gap first.

    Args:
        portfolios: Holdings of each investor in a row, fractions of wealth, a column an asset.
        gaps: What these investors leave on the table.
        most: How many rows at most.

    Returns:
        investor, gap, gap_points, and the holding that her efficient twin has most less (`sell`)
        and most more of (`buy`), "–" where they hardly differ.
    """
    flags: Flags = gaps.investors["gap_outlier"].to_numpy(dtype=bool)
    rows = np.flatnonzero(flags)
    rows = rows[np.argsort(-gaps.investors["gap"].to_numpy()[rows], kind="stable")][:most]
    change = gaps.twins[rows] - portfolios.to_numpy(dtype=float)[rows]
    names = np.array(portfolios.columns, dtype=object)
    table = pd.DataFrame(
        {
            "investor": portfolios.index.astype(str)[rows],
            "gap": gaps.investors["gap"].to_numpy()[rows],
            "sell": _named(names, change.argmin(axis=1), -change.min(axis=1, initial=0.0)),
            "buy": _named(names, change.argmax(axis=1), change.max(axis=1, initial=0.0)),
        }
    )
    return with_points(table)


def _named(names: Any, which: Any, by: Any) -> list[str]:
    """The asset and by how much, in percentage points of wealth."""
    return [
        f"{names[i]} ({share:.0%})" if share >= HELD_FROM else "–"
        for i, share in zip(which, by, strict=True)
    ]
