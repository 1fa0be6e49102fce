"""Bounds on the least value from gradients, and the last steps into a corner of it."""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.optimize import linprog, nnls

from imop_engine.arguments import Matrix, Vector
from imop_engine.efficiency_gap.measure import FURTHEST, furthest
from imop_engine.efficiency_gap.sample import Sample
from imop_engine.efficiency_gap.value import Value
from imop_engine.problem import ParameterSet, Problem

MOST_CUTS: Final = 300  # tried where smoothing alone leaves value and bound apart
PATIENCE: Final = 40  # cuts without a tenth less between value and bound
CUTS_KEPT: Final = 200
MOST_MIXED: Final = 120  # the nearest to the value, of which a bound is mixed
NEARBY: Final = 1e-6  # of the spread of returns
SURROUNDED: Final = 50  # directions, two cuts each
SHRINK: Final = 0.25  # of the radius around the best point, where cuts mislead
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
        anchored = found.eqlin.marginals * size if len(A) else np.zeros(0)
        self._renew(np.maximum(-found.ineqlin.marginals, 0.0), anchored)
        return np.asarray(centre + radius * found.x[:n])

    def prove(self, point: Value) -> None:
        """Renew the bound by the mixture of cuts that comes nearest to proving a point the best.

        Such a mixture is level along the plane of the anchors, but for returns on the sides of
        their box, and as high as the value: nonnegative least squares, good to the last digits.
        """
        box, G = self.theta_set, np.array(self._gradients)
        basis = plane_basis(box.projector)
        width = np.where(np.isfinite(box.upper - box.lower), box.upper - box.lower, 1.0).max()
        below = np.maximum(point.gaps - G @ point.theta, 0.0)
        near = np.argsort(below, kind="stable")[:MOST_MIXED]
        sides = np.flatnonzero((point.theta <= box.lower) | (point.theta >= box.upper))
        pull = np.where(point.theta[sides] <= box.lower[sides], -1.0, 1.0)
        size = max(float(np.abs(G[near]).max()), 1e-300)
        rows = np.zeros((basis.shape[1] + 2, len(near) + len(sides)))
        rows[:-2, : len(near)] = width * (basis.T @ G[near].T) / size
        rows[:-2, len(near) :] = width * basis.T[:, sides] * pull
        rows[-2, : len(near)] = below[near] / size
        rows[-1, : len(near)] = width
        try:
            mixed = nnls(rows, np.append(np.zeros(len(rows) - 1), width))[0][: len(near)]
        except RuntimeError:  # it gave up: the bound stays what it was
            return
        mixture = np.zeros(len(G))
        mixture[near] = mixed
        A = box.equalities
        gradient = mixture @ G / max(mixture.sum(), 1e-300)
        self._renew(mixture, np.linalg.lstsq(A.T, gradient)[0] if len(A) else np.zeros(0))

    def _renew(self, mixture: Vector, anchored: Vector) -> None:
        """The bound that a mixture of cuts and multipliers of the anchors prove, if it is higher.

        Args:
            mixture: of the cuts, not negative.
            anchored: multipliers of the anchors.
        """
        if mixture.sum() <= 0.0:
            return
        box = self.theta_set
        gradient = mixture / mixture.sum() @ np.array(self._gradients)
        rest = gradient - box.equalities.T @ anchored
        with np.errstate(invalid="ignore"):
            least = np.where(rest == 0.0, 0.0, np.minimum(rest * box.lower, rest * box.upper))
        self.bound = max(self.bound, float(anchored @ box.values + least.sum()))


def cut_corners(problem: Problem, sample: Sample, best: Value, cuts: Cuts) -> Value:
    """Go where all cuts together are lowest, within a radius that shrinks where that fails.

    Args:
        problem: the portfolio problem.
        sample: the investors.
        best: the best point so far.
        cuts: what bounds the value; grows.
    """
    spread = float(np.ptp(best.theta))
    _surround(problem, sample, best, cuts)
    radius, open_, patience = 0.1 * spread, np.inf, PATIENCE
    for _ in range(MOST_CUTS):
        cuts.prove(best)
        if cuts.proven(best, sample) or patience == 0 or radius < 1e-14 * spread:
            break
        wish = cuts.lowest(best, radius)
        if wish is None:
            break
        point = cuts.exact(problem, sample, problem.theta.nearest(wish))
        if point.gaps < best.gaps:
            best = point
        else:
            radius *= SHRINK
        closer = best.gaps - cuts.bound < 0.9 * open_
        open_ = min(open_, best.gaps - cuts.bound)
        patience = PATIENCE if closer else patience - 1
    return best


def _surround(problem: Problem, sample: Sample, best: Value, cuts: Cuts) -> None:
    """Cuts next to a point on all sides.

    Where mixtures of assets have next to no risk the gradient turns within the last digits of the
    returns: it is zero at no number that there is, and is mixed from those on either side.
    """
    basis = plane_basis(problem.theta.projector)
    near = NEARBY * float(np.ptp(best.theta))
    for direction in basis.T if basis.shape[1] <= SURROUNDED else ():
        for side in (near, -near):
            cuts.exact(problem, sample, problem.theta.nearest(best.theta + side * direction))


def plane_basis(projector: Matrix) -> Matrix:
    """An orthonormal basis of the plane that a projector projects on."""
    values, vectors = np.linalg.eigh(projector)
    result: Matrix = vectors[:, values > 0.5]
    return result
