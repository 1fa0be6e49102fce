"""Holdings whose return is not known are kept as they are, and the rest is judged.

What a client could earn more at the same risk without touching them does not depend on their
returns, as the holdings and the portfolio compared hold equally much of them. With them it can
only be more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Vector
from imop_engine.efficiency_gap.measure import efficiency
from imop_engine.errors import ImopError
from imop_engine.problem import Problem, portfolio_problem

# Each client is a problem of its own, of a millisecond or two; more make a table too slow.
MOST_KEPT: Final = 2_000


@dataclass(frozen=True, eq=False)
class Kept:
    """One client's choice without the holdings that are kept.

    Attributes:
        problem: whose portfolios all hold what is kept.
        twin: the best of them at the client's own risk.
        gap: what it returns more a year.
    """

    problem: Problem
    twin: Vector
    gap: float


def keeping(problem: Problem, theta: Vector, held: Vector, kept: NDArray[np.bool_]) -> Kept | None:
    """What a client can do while some assets are neither bought nor sold.

    Args:
        problem: the study's.
        theta: expected returns, a year; those of the kept assets play no part.
        held: shares of wealth.
        kept: which assets stay as they are.

    Returns:
        None where the limits leave no such portfolio.

    >>> problem = portfolio_problem(np.diag([0.04, 0.04, 0.04]))
    >>> held, third = np.array([0.6, 0.3, 0.1]), np.array([False, False, True])
    >>> found = keeping(problem, np.array([0.02, 0.06, 9.0]), held, third)
    >>> found.twin.round(6).tolist(), round(found.gap, 6)
    ([0.3, 0.6, 0.1], 0.012)
    """
    bounds = (float(theta.min()) - 1.0, float(theta.max()) + 1.0)
    try:
        rest = portfolio_problem(
            problem.covariance,
            lower=np.where(kept, held, problem.lower),
            upper=np.where(kept, held, problem.upper),
            bounds=bounds,
            names=problem.names,
            limits=problem.limits,
        )
        found = efficiency(rest, theta, held[None])
    except ImopError:
        return None
    return Kept(rest, found.portfolios[0], float(found.gaps[0]))
