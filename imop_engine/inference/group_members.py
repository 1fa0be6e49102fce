"""Who speaks for a group: whom the common frontier explains, and whole groups that have their own.

The common estimate sets aside whoever is far from one frontier for all. A group that believes
something else is far as a whole, and to leave it out here would hide the very difference that is
looked for. So a group that lost much of itself is searched for a frontier by itself. It speaks with
those whom that explains only where they are most of those it lost: strangers who happen to be in a
group, and a frontier that takes in one more of them, are no belief of the group.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Matrix
from imop_engine.errors import ImopError
from imop_engine.inference.estimating_equations import least_investors
from imop_engine.inference.group_labels import LEAST_INVESTORS, MUCH_ASIDE
from imop_engine.inference.trimming import trim
from imop_engine.problem import Problem

MOST: Final = 0.5  # of a group's investors set aside, whom its own frontier has to explain


def alike_within(
    problem: Problem,
    Y: Matrix,
    kept: NDArray[np.bool_],
    codes: NDArray[np.int64],
    clusters: NDArray[np.int64],
    tiny: float,
) -> NDArray[np.bool_]:
    """Who is alike within a group of which the common estimate set much aside.

    Args:
        problem: a portfolio problem.
        Y: one row for each portfolio, fractions of wealth.
        kept: which of them the common estimate counts.
        codes: the group of each, from 0.
        clusters: a number for each; equal numbers are one investor.
        tiny: holdings up to this are errors.

    Returns:
        Which portfolios a frontier of their group explains; of other groups none.
    """
    alike = np.zeros(len(Y), dtype=bool)
    for code in np.unique(codes[~kept]):
        rows = np.flatnonzero(codes == code)
        lost = ~kept[rows]
        few = _investors(clusters[rows]) < LEAST_INVESTORS
        if few or np.count_nonzero(lost) <= MUCH_ASIDE * len(rows):
            continue
        with suppress(ImopError, np.linalg.LinAlgError):  # too few who hold the same
            own = trim(problem, Y[rows], tiny, least_investors(len(rows)))
            found = _investors(clusters[rows[own.kept & lost]])
            if np.isfinite(own.limit) and found > MOST * _investors(clusters[rows[lost]]):
                alike[rows[own.kept]] = True
    return alike


def _investors(clusters: NDArray[np.int64]) -> int:
    """How many different investors there are."""
    return len(np.unique(clusters))
