"""What each portfolio leaves on the table under given beliefs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from imop_engine.arguments import Matrix, Vector
from imop_engine.capabilities import Capability
from imop_engine.efficiency_gap.inside import put_inside
from imop_engine.errors import ImopError
from imop_engine.frontier import trace_within
from imop_engine.kernels.twins import Stretches, measure_risk, twins, variances
from imop_engine.problem import Problem
from imop_engine.weights import weight_of

NEEDED: Final = (Capability.EXPECTED_RETURNS, Capability.PIECEWISE_LINEAR_FRONTIER)
NOT_A_PORTFOLIO: Final = (
    "return is left on the table by portfolios; this problem has none. Its decisions are compared "
    "by their distance to the frontier: measure_fit, fit_batch."
)
# Where returns are nearly alike the frontier ends at a price of risk near zero; it is followed to
# this many times (largest variance / spread of returns), and is off by 1e-9 of the spread at most.
FURTHEST: Final = 1e9
NEAREST_END: Final = 1e4  # ... and to this many at least


@dataclass(frozen=True, eq=False)
class Efficiency:
    """What each portfolio leaves on the table under some beliefs.

    Attributes:
        gaps: return a year that the portfolio forgoes at its own risk; never negative.
        portfolios: the efficient portfolio at the same risk, one row each. A portfolio with more
            risk than any efficient one is compared with the frontier's end, one with less than the
            least risk (possible only by rounding) with its beginning.
        weights: weight on return that goes with the efficient portfolio, 0 to 1; 1 beyond the
            frontier's end.
        moved: how far the portfolio lay outside its limits or the budget; 0 where it did not. One
            whose holdings were rounded was compared in proportion to what it holds, another one as
            the nearest portfolio inside (see `put_inside`).
    """

    gaps: Vector
    portfolios: Matrix
    weights: Vector
    moved: Vector


def efficiency(problem: Problem, theta: ArrayLike, decisions: Any) -> Efficiency:
    """What each portfolio leaves on the table if `theta` are the expected returns.

    Args:
        problem: a portfolio problem.
        theta: expected returns, a year.
        decisions: portfolios, one row each; an array or a frame with the assets as columns.

    Returns:
        Gaps, efficient portfolios at the same risk, and their weights.

    >>> from imop_engine import portfolio_problem
    >>> problem = portfolio_problem([[0.04, 0.0], [0.0, 0.04]])
    >>> found = efficiency(problem, [0.02, 0.06], [[0.75, 0.25], [0.25, 0.75]])
    >>> found.gaps.round(6).tolist(), found.portfolios[0].round(6).tolist()
    ([0.02, 0.0], [0.25, 0.75])
    """
    problem.require(*NEEDED, sentence=NOT_A_PORTFOLIO)
    r = problem.check_theta(theta)
    Y, moved = put_inside(problem, problem.check_decisions(decisions))
    course = Course.of(problem, r, furthest(problem, r, FURTHEST))
    lam, X = np.empty(len(Y)), np.empty_like(Y)
    s = variances_of(problem, Y)
    twins(course.count, course.stretches, course.most, s, lam, X)
    gaps = np.maximum((X - Y) @ (r - r.mean()), 0.0)
    return Efficiency(gaps, X, weight_of(lam), moved)


def variances_of(problem: Problem, Y: Matrix) -> Vector:
    """The variance of each portfolio, a year."""
    s = np.empty(len(Y))
    variances(problem.covariance, Y, s)
    return s


def furthest(problem: Problem, r: Vector, times: float) -> float:
    """`times` the lam at which returns and variances weigh the same; inf if returns are alike.

    Args:
        problem: the portfolio problem.
        r: expected returns, a year.
        times: how many times that lam.
    """
    spread = float(np.ptp(r))
    return times * float(np.diag(problem.covariance).max()) / spread if spread > 0 else np.inf


def fixes_scale(problem: Problem) -> bool:
    """Whether returns cannot all be alike; where they can, nobody need leave anything."""
    A, v = problem.theta.equalities, problem.theta.values
    if not len(v):
        return float(problem.theta.lower.max()) > float(problem.theta.upper.min())
    sums = A.sum(axis=1)
    level = float(sums @ v / (sums @ sums)) if sums.any() else 0.0
    return not np.allclose(level * sums, v, rtol=0.0, atol=1e-12 * (1.0 + np.abs(v).max()))


@dataclass(frozen=True, eq=False)
class Course:
    """The frontier of some beliefs, with the variance along it."""

    stretches: Stretches
    count: int
    most: float  # the largest lam that it was followed to

    @classmethod
    def of(cls, problem: Problem, r: Vector, most: float) -> Course:
        """Follow it to lam = most. Where returns differ by next to nothing rounding may stop the
        trace far out, where nothing is left to gain: then it ends earlier.

        Args:
            problem: the portfolio problem.
            r: expected returns, a year.
            most: the largest lam.
        """
        n = problem.n
        size = 8 * n + 16
        while True:
            path, count = trace_within(problem, r, most, size)
            if count > 0:
                break
            if size <= 64 * (n + 2):
                size *= 4
            elif most > furthest(problem, r, NEAREST_END):
                most = 0.1 * most
            else:
                raise ImopError(
                    "the frontier could not be traced: the covariance is too ill-conditioned."
                )
        stretches = Stretches(*path, np.empty(count), np.empty(count), np.empty(count))
        measure_risk(problem.covariance, count, stretches)
        return cls(stretches, count, most)
