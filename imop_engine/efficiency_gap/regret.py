"""How much a stream of implicit updates can lose against the best fixed beliefs, at most.

For any u in Theta the update of round t satisfies

    eta_t (gap_t(r_t) - gap_t(u)) <= (||u - r_t||^2 - ||u - r_{t+1}||^2 + eta_t^2 G^2) / 2

as gaps are convex with gradients x - y no longer than G = sqrt(2). Summed up over rounds that end
at e, wherever in Theta they began, with eta_t = c / sqrt(t) and D the diameter of Theta, the first
two terms come to D^2 sqrt(e) / (2 c) at most. A stream goes to the fit of everybody so far at
rounds that double, and begins anew there; sqrt(T) + sqrt(T) + sqrt(T/2) + sqrt(T/4) + ... is
(3 + sqrt(2)) sqrt(T). So the regret is at most ((3 + sqrt(2)) D^2 / (2 c) + 2 c) sqrt(T), which is
4.21 D sqrt(T) at the best c, 1.05 D. Nothing is assumed of the decisions, nor of the fits.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from imop_engine.efficiency_gap.seen import GROWTH
from imop_engine.problem import ParameterSet, Problem

EPOCHS: Final = float(1.0 + 1.0 / (1.0 - GROWTH**-0.5))  # summed roots of their ends, over sqrt(T)


def diameter(theta_set: ParameterSet) -> float:
    """An upper bound on the distance of two returns within Theta: the box of those left open."""
    open_ = np.diag(theta_set.projector) > 0.0
    return float(np.linalg.norm((theta_set.upper - theta_set.lower)[open_]))


def best_first_rate(problem: Problem) -> float:
    """c of eta_t = c / sqrt(t) for which the bound is least, in the returns' own unit."""
    return 0.5 * float(np.sqrt(EPOCHS)) * diameter(problem.theta)


def regret_bound(problem: Problem, rounds: int, first_rate: float | None = None) -> float:
    """What `OnlineLearner(loss="efficiency")` loses at most: returns a year, summed up.

    Args:
        problem: a portfolio problem whose box is finite.
        rounds: T.
        first_rate: c of eta_t = c / sqrt(t), in the returns' own unit (`rate` times its unit); None
            is the one for which the bound is least.
    """
    c = best_first_rate(problem) if first_rate is None else first_rate
    return float((EPOCHS * diameter(problem.theta) ** 2 / (2.0 * c) + 2.0 * c) * np.sqrt(rounds))
