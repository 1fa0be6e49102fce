"""How much a stream of implicit updates can lose against the best fixed beliefs, at most.

For any u in Theta the update of round t satisfies

    eta_t (gap_t(r_t) - gap_t(u)) <= (||u - r_t||^2 - ||u - r_{t+1}||^2 + eta_t^2 G^2) / 2

as gaps are convex with gradients x - y no longer than G = sqrt(2). Summed up, with
eta_t = c / sqrt(t) and D the diameter of Theta, the regret is at most (D^2 / (2 c) + 2 c) sqrt(T);
c = D / 2 makes that 2 D sqrt(T). Nothing is assumed of the decisions.
"""

from __future__ import annotations

import numpy as np

from imop_engine.problem import ParameterSet, Problem


def diameter(theta_set: ParameterSet) -> float:
    """An upper bound on the distance of two returns within Theta: the box of those left open."""
    open_ = np.diag(theta_set.projector) > 0.0
    return float(np.linalg.norm((theta_set.upper - theta_set.lower)[open_]))


def regret_bound(problem: Problem, rounds: int, first_rate: float | None = None) -> float:
    """What plain updates (`algorithm="accelerated"`) lose at most: returns a year, summed up.

    Args:
        problem: a portfolio problem whose box is finite.
        rounds: T.
        first_rate: c of eta_t = c / sqrt(t), in the returns' own unit (`rate` times its unit); None
            is half of the diameter, for which the bound is least.
    """
    size = diameter(problem.theta)
    c = 0.5 * size if first_rate is None else first_rate
    return float((size**2 / (2.0 * c) + 2.0 * c) * np.sqrt(rounds))
