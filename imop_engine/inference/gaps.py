"""What investors leave on the table under the estimated returns: one by one, together, in groups.

The gap itself is `efficiency_gap.measure`; here is what an analyst reads of it. Gaps are returns a
year, as fractions (0.0001 is one basis point), and like all returns they are on the scale that the
anchors fix.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.efficiency_gap.kept import MATTERS, Kept, keeping_all
from imop_engine.efficiency_gap.measure import efficiency
from imop_engine.frontier import Frontier
from imop_engine.inference.attribute_groups import attribute_groups
from imop_engine.inference.fit import labels_of_rows, outlier_threshold, some_decisions
from imop_engine.sentences.investors import gaps_sentence, kept_sentence

# A gap grows with the square of what is held differently, so its root is judged as a distance is.
# Nobody is an outlier for less than this share of what the whole frontier has to offer, from its
# least return to its greatest: data without noise have gaps of rounding alone.
OUTLIER_FLOOR: Final = 0.02


@dataclass(frozen=True, eq=False)
class Gaps:
    """Return left on the table by each of many investors, under one set of beliefs.

    Attributes:
        investors: one row each: `gap`, return a year as a fraction, and `gap_outlier`. A gap that
            cannot be said is not a number.
        twins: the efficient portfolio at each investor's own risk, one row each.
        threshold: the gap beyond which an investor is an outlier, return a year.
        unsure: for whom an asset matters whose return is not known.
        kept: by row, those of them who are judged by the rest, with that asset kept as it is. What
            they leave on the table is at least their gap.
    """

    investors: pd.DataFrame
    twins: Matrix
    threshold: float
    unsure: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    kept: Mapping[int, Kept] = field(default_factory=dict)

    @property
    def mean(self) -> float:
        """Return a year that a unit of wealth leaves on the table where all are equally rich."""
        return float(self.investors["gap"].mean())

    @property
    def median(self) -> float:
        """Of the investor in the middle."""
        return float(self.investors["gap"].median())

    @property
    def total(self) -> float:
        """The sum over investors, each with one unit of wealth."""
        return float(self.investors["gap"].sum())

    @property
    def outliers(self) -> int:
        """How many investors leave far more on the table than the others."""
        return int(self.investors["gap_outlier"].sum())

    def sentence(self) -> str:
        """The same for an analyst to read."""
        untold = int(self.investors["gap"].isna().sum())
        said = kept_sentence(len(self.kept), untold, len(self.investors))
        if untold == len(self.investors):
            return said
        left = gaps_sentence(self.mean, self.median, self.outliers, self.threshold)
        return f"{left} {said}".rstrip()


def measure_gaps(frontier: Frontier, decisions: Any, known: Any = None) -> Gaps:
    """What each investor leaves on the table if the returns behind a frontier are right.

    Where an asset matters (half a per cent of the holdings, or of the efficient portfolio) whose
    return is not known, it stays as it is held, and the rest is judged: see `efficiency_gap.kept`.

    Outliers are investors whose gap has a root beyond median + 6 * 1.4826 * MAD of all roots, the
    rule that `measure_fit` has for distances, and a gap of 2% of the frontier's range of returns
    at least. On clean simulated portfolios (8 and 20 assets, errors of 0.0003 to 0.02 in a holding)
    it called 0.1% of investors outliers on average and 3% at most; without the root 0.3% and
    4%.

    Args:
        frontier: the efficient frontier of a portfolio problem at the estimated returns.
        decisions: one row for each investor: holdings, fractions of wealth that add up to 1.
        known: for each asset, whether its return is known; None: all are.

    Returns:
        Gaps, efficient portfolios at the same risk, and who is an outlier.

    >>> from imop_engine import efficient_frontier, portfolio_problem
    >>> problem = portfolio_problem([[0.04, 0.0], [0.0, 0.04]])
    >>> frontier = efficient_frontier(problem, [0.02, 0.06])
    >>> found = measure_gaps(frontier, [[0.75, 0.25], [0.25, 0.75]])
    >>> found.investors["gap"].round(6).tolist(), round(found.mean, 6)
    ([0.02, 0.0], 0.01)
    """
    Y = some_decisions(frontier.problem, decisions)
    found = efficiency(frontier.problem, frontier.theta, Y)
    unknown = np.zeros(Y.shape[1], dtype=bool) if known is None else ~np.asarray(known, dtype=bool)
    held = np.maximum(Y, 0.0)
    held /= held.sum(axis=1, keepdims=True)
    unsure = np.any(np.maximum(held, found.portfolios)[:, unknown] >= MATTERS, axis=1)
    kept = keeping_all(frontier.problem, frontier.theta, held, unknown, np.flatnonzero(unsure))
    left, twins = np.where(unsure, np.nan, found.gaps), found.portfolios.copy()
    for row, rest in kept.items():
        left[row], twins[row] = rest.gap, rest.twin
    threshold = gap_threshold(frontier, left)
    table = pd.DataFrame(
        {"gap": left, "gap_outlier": left > threshold}, index=labels_of_rows(decisions, len(Y))
    )
    return Gaps(table, twins, threshold, unsure, kept)


def gap_threshold(frontier: Frontier, gaps: Vector) -> float:
    """The gap beyond which an investor is called an outlier; the rule is in `measure_gaps`."""
    offered = float(np.ptp(frontier.portfolios @ frontier.theta))
    gaps = gaps[np.isfinite(gaps)]
    if not len(gaps):
        return OUTLIER_FLOOR * offered
    return max(outlier_threshold(np.sqrt(gaps), 0.0) ** 2, OUTLIER_FLOOR * offered)


def gap_segments(gaps: Gaps, attribute: Any) -> pd.DataFrame:
    """What is left on the table by group of investors: one row for each value of an attribute.

    Args:
        gaps: what `measure_gaps` found.
        attribute: one value for each investor, as in `preference_segments`.

    Returns:
        segment, investors, share (of all investors), mean_gap, median_gap, total_gap, share_of_gap
        (of the total of all) and gap_outliers.
    """
    table = gaps.investors
    groups = attribute_groups(table.index, attribute)
    whole = max(gaps.total, np.finfo(float).tiny)
    rows = [
        {
            "segment": name,
            "investors": len(part),
            "share": len(part) / len(table),
            "mean_gap": float(part["gap"].mean()),
            "median_gap": float(part["gap"].median()),
            "total_gap": float(part["gap"].sum()),
            "share_of_gap": float(part["gap"].sum()) / whole,
            "gap_outliers": int(part["gap_outlier"].sum()),
        }
        for name, part in table.groupby(groups, sort=True, observed=True)
    ]
    return pd.DataFrame(rows)
