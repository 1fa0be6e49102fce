"""Who speaks for a group: whom the common frontier explains, and whole groups that have their own.

The common estimate sets aside whoever is far from one frontier for all. A group that believes
something else is far as a whole, and to leave it out here would hide the very difference that is
looked for. So a group that lost much of itself is searched for a frontier by itself.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Matrix
from imop_engine.errors import ImopError
from imop_engine.inference.estimating_equations import least_investors
from imop_engine.inference.group_labels import LEAST_INVESTORS, MUCH_ASIDE
from imop_engine.inference.trimming import trim
from imop_engine.problem import Problem


def alike_within(
    problem: Problem, Y: Matrix, kept: NDArray[np.bool_], codes: NDArray[np.int64], tiny: float
) -> NDArray[np.bool_]:
    """Who is alike within a group of which the common estimate set much aside.

    Args:
        problem: a portfolio problem.
        Y: one row for each portfolio, fractions of wealth.
        kept: which of them the common estimate counts.
        codes: the group of each, from 0.
        tiny: holdings up to this are errors.

    Returns:
        Which portfolios a frontier of their group explains; of other groups none.
    """
    alike = np.zeros(len(Y), dtype=bool)
    for code in np.unique(codes[~kept]):
        rows = np.flatnonzero(codes == code)
        aside = np.count_nonzero(~kept[rows])
        if len(rows) < LEAST_INVESTORS or aside <= MUCH_ASIDE * len(rows):
            continue
        with suppress(ImopError, np.linalg.LinAlgError):  # too few who hold the same
            own = trim(problem, Y[rows], tiny, least_investors(len(rows)))
            if np.isfinite(own.limit) and own.kept.sum() > len(rows) - aside:
                alike[rows[own.kept]] = True
    return alike
