"""What a stream of gaps knows of each direction: the metric of the second-order learner.

Investors enter the curvature of their summed gaps only by their variances. So it can be evaluated
at today's beliefs for everybody who was ever seen, and nothing is left in it of beliefs that were
wrong. A step is then

    min  1/2 ||r - theta||^2 + share/2 ||r - theta||_C^2 * rate + rate * gap(y, r)

with C that curvature: long where nobody has said anything, short where many have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.efficiency_gap.cuts import plane_basis
from imop_engine.efficiency_gap.measure import Course, furthest
from imop_engine.kernels.twins import add_up, curvature
from imop_engine.problem import Problem

OPENING: Final = 20  # rounds of plain updates: until then too little is known
GROWTH: Final = (
    1.15  # the curvature is evaluated anew whenever the investors are so many times more
)
# Half of the curvature counts: beliefs are then an average over, roughly, the second half of the
# investors, and what the first ones were told at wrong beliefs is forgotten.
SHARE: Final = 0.5
# Rates are counted in so many spreads of returns, far more than those of plain updates: the
# curvature shortens steps where it should, and an asset that few hold is found by the first.
BOLD_UNIT: Final = 1120.0
MOST_KEPT: Final = 4096  # variances, evenly spaced over the rounds
AT_MOST: Final = (
    100.0  # investors whose price of risk is below 1 / this of the usual one tell nothing
)


@dataclass(frozen=True, eq=False)
class GapCurvature:
    """The metric of a stream's updates, and what it is made of.

    Attributes:
        matrix: the metric, over the assets.
        inverse: of it, on the plane of the anchors.
        variances: of the investors seen, of every stride-th one.
        stride: one number.
    """

    matrix: Matrix
    inverse: Matrix
    variances: Vector
    stride: NDArray[np.int64]

    @classmethod
    def begin(cls, problem: Problem) -> GapCurvature:
        """Before the first round: all directions count alike."""
        matrix, inverse = plain(problem)
        return cls(matrix, inverse, np.empty(0), np.ones(1, np.int64))

    def copy(self) -> GapCurvature:
        """The same, apart."""
        return GapCurvature(
            self.matrix.copy(), self.inverse.copy(), self.variances.copy(), self.stride.copy()
        )

    def with_investors(self, variances: Vector, done: int) -> GapCurvature:
        """More investors seen.

        Args:
            variances: theirs.
            done: how many came before them.
        """
        stride = int(self.stride[0])
        kept = np.concatenate([self.variances, variances[-done % stride :: stride]])
        while kept.size > MOST_KEPT:
            kept, stride = kept[::2].copy(), 2 * stride
        return GapCurvature(self.matrix, self.inverse, kept, np.array([stride]))

    def at(self, problem: Problem, theta: Vector, rate: float, investors: float) -> GapCurvature:
        """With the metric evaluated anew.

        Args:
            problem: the portfolio problem.
            theta: expected returns, a year: where it is evaluated.
            rate: of the next round.
            investors: how many they count as.
        """
        most = furthest(problem, theta, AT_MOST)
        if not np.isfinite(most):  # returns that are all alike: nobody leaves anything
            return self
        course = Course.of(problem, theta, most)
        sums = np.zeros((5, course.count))
        s = np.sort(self.variances)
        add_up(course.count, course.stretches, course.most, s, np.ones(1), sums)
        sums[3] = 0.0  # those beyond: the price of risk that stopped them is not theirs
        C = np.empty((problem.n, problem.n))
        rows = problem.portfolio.rows
        curvature(problem.covariance, rows, theta, course.count, course.stretches, sums, C)
        weight = SHARE * rate * investors / self.variances.size
        matrix = np.eye(problem.n) + weight * (C + C.T) / 2
        basis = plane_basis(problem.theta.projector)
        inverse = basis @ np.linalg.solve(basis.T @ matrix @ basis, basis.T)
        return GapCurvature(matrix, (inverse + inverse.T) / 2, self.variances, self.stride)


def plain(problem: Problem) -> tuple[Matrix, Matrix]:
    """The metric in which all directions count alike, and its inverse on the anchors' plane."""
    return np.eye(problem.n), np.ascontiguousarray(problem.theta.projector)


def pieces(done: int, count: int) -> Iterator[tuple[int, int, bool]]:
    """Rounds with one metric each: (first, last, whether it is evaluated anew before them).

    Args:
        done: rounds that came before.
        count: rounds to come.

    >>> list(pieces(0, 30))
    [(0, 20, False), (20, 23, True), (23, 26, True), (26, 29, True), (29, 30, True)]
    >>> list(pieces(25, 6))
    [(25, 26, False), (26, 29, True), (29, 31, True)]
    """
    first, anew, end = 0, OPENING, done + count
    while first < end:
        begin, last = max(first, done), min(anew, end)
        if begin < last:
            yield begin, last, begin == first and first > 0
        first, anew = anew, max(anew + 1, int(GROWTH * anew))
