"""Bounds on the least value from gradients, and the last steps into a corner of it."""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.optimize import linprog

from imop_engine.arguments import Vector
from imop_engine.efficiency_gap.measure import FURTHEST, furthest
from imop_engine.efficiency_gap.sample import Sample
from imop_engine.efficiency_gap.value import Value
from imop_engine.problem import ParameterSet, Problem

MOST_CUTS: Final = 300  # tried where smoothing alone leaves value and bound apart
CUTS_KEPT: Final = 200
CERTIFIED_RELATIVE: Final = 1e-7  # of the value may stay unproven
CERTIFIED_ABSOLUTE: Final = 1e-11  # ... or this much of the spread of returns, per investor


class Cuts:
    """Linear functions that the value never falls below, and the bound they prove together.

    The value is at least gradient'r for every r and every gradient, and so for every mixture of
    gradients: each is what portfolios within the investors' risks hold beyond what they hold.
    """

    def __init__(self, theta_set: ParameterSet) -> None:
        self.theta_set = theta_set
        self.bound = -np.inf
        self._gradients: list[Vector] = []

    def add(self, point: Value) -> None:
        """One more."""
        self._gradients = [*self._gradients[1 - CUTS_KEPT :], point.gradient]

    def exact(self, problem: Problem, sample: Sample, theta: Vector) -> Value:
        """The value at theta without smoothing; it gives one more cut.

        Args:
            problem: the portfolio problem.
            sample: the investors.
            theta: expected returns, a year.
        """
        point = Value.at(problem, sample, theta, furthest(problem, theta, FURTHEST))
        self.add(point)
        return point

    def proven(self, point: Value, sample: Sample) -> bool:
        """Whether a value agrees with the bound."""
        slack = CERTIFIED_ABSOLUTE * float(np.ptp(point.theta)) * sample.count
        return bool(point.gaps - self.bound <= CERTIFIED_RELATIVE * point.gaps + slack)

    def lowest(self, around: Value, radius: float) -> Vector | None:
        """Where the highest cut is lowest, no return further than `radius` from a point.

        Renews the bound: the multipliers found here prove one over all of Theta, whatever the
        solver's rounding.
        """
        centre, G, A = around.theta, np.array(self._gradients), self.theta_set.equalities
        size = float(np.abs(G).max()) or 1.0
        low, high = self.theta_set.lower, self.theta_set.upper
        n = centre.size
        found = linprog(
            np.append(np.zeros(n), 1.0),
            A_ub=np.column_stack([G / size, -np.ones(len(G))]),
            b_ub=(around.gaps - G @ centre) / (size * radius),
            A_eq=np.column_stack([A, np.zeros(len(A))]) if len(A) else None,
            b_eq=np.zeros(len(A)) if len(A) else None,
            bounds=np.column_stack(
                [
                    np.append(np.maximum((low - centre) / radius, -1.0), -np.inf),
                    np.append(np.minimum((high - centre) / radius, 1.0), np.inf),
                ]
            ),
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if not found.success:
            return None
        mixture = np.maximum(-found.ineqlin.marginals, 0.0)
        if mixture.sum() > 0:
            gradient = mixture / mixture.sum() @ G
            anchored = found.eqlin.marginals * size if len(A) else np.zeros(0)
            rest = gradient - A.T @ anchored
            with np.errstate(invalid="ignore"):
                least = np.where(rest == 0.0, 0.0, np.minimum(rest * low, rest * high))
            self.bound = max(self.bound, float(anchored @ self.theta_set.values + least.sum()))
        return np.asarray(centre + radius * found.x[:n])


def cut_corners(problem: Problem, sample: Sample, best: Value, cuts: Cuts) -> Value:
    """Go where all cuts together are lowest, within a radius that shrinks where that fails.

    Args:
        problem: the portfolio problem.
        sample: the investors.
        best: the best point so far.
        cuts: what bounds the value; grows.
    """
    spread = float(np.ptp(best.theta))
    radius = 0.1 * spread
    for _ in range(MOST_CUTS):
        wish = cuts.lowest(best, radius)
        if wish is None or cuts.proven(best, sample) or radius < 1e-14 * spread:
            break
        point = cuts.exact(problem, sample, problem.theta.nearest(wish))
        if point.gaps < best.gaps:
            best = point
        else:
            radius *= 0.5
    return best
