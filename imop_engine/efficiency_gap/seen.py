"""What a stream keeps of everybody it has seen, and the fit of all of them that it goes on from.

Investors enter the sum of their gaps only by their variances and by the sum of what they hold. So a
stream that keeps that sum and a histogram of variances can go to where everybody so far leaves the
least on the table, whatever their number, and forget what it learned at wrong beliefs. It does so
whenever it has twice as many rounds behind it; between two such rounds updates are as ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.efficiency_gap.cuts import Cuts
from imop_engine.efficiency_gap.descent import descend
from imop_engine.efficiency_gap.measure import furthest
from imop_engine.efficiency_gap.sample import Sample
from imop_engine.errors import ImopError
from imop_engine.kernels.twins import variance
from imop_engine.one_thread import one_thread
from imop_engine.problem import Problem

FIRST: Final = 20  # rounds before the first fit: from fewer little is known
GROWTH: Final = 2  # the next one comes when rounds are so many times more
# A step of the fit takes as long as 15 to 40 rounds. One for each eighth round behind it keeps fits
# at a few times the price of the rounds at most; with 8 assets they have converged long before.
ROUNDS_A_STEP: Final = 8
SMOOTH: Final = 1e3  # how far frontiers are followed, as in the first stage of a fit
# Bins are even in the root of the variance above the least one, in which holdings are nearly
# straight lines; the mean variance of a bin stands for it, which is off by its width squared.
BINS: Final = 2048
NAMES: Final = ("counts", "variances", "held")


@dataclass(frozen=True, eq=False)
class SeenInvestors:
    """Everybody seen so far, summed up.

    Attributes:
        counts: investors by their variance, in bins.
        variances: theirs summed up, in the same bins.
        held: the sum of what they hold.
    """

    counts: Vector
    variances: Vector
    held: Vector

    @classmethod
    def nobody(cls, assets: int) -> SeenInvestors:
        """Before the first round."""
        return cls(np.zeros(BINS), np.zeros(BINS), np.zeros(assets))

    def copy(self) -> SeenInvestors:
        """The same, apart."""
        return SeenInvestors(self.counts.copy(), self.variances.copy(), self.held.copy())

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Plain arrays by name, to save."""
        return {f"gap.seen.{name}": getattr(self, name) for name in NAMES}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], assets: int) -> SeenInvestors:
        """The inverse of `to_arrays`; nobody if they have nothing of it."""
        if "gap.seen.held" not in arrays:
            return cls.nobody(assets)
        return cls(*(np.array(arrays[f"gap.seen.{name}"], dtype=float) for name in NAMES))

    def add(self, problem: Problem, Y: Matrix, variances: Vector) -> None:
        """More investors, one after another, so that any chunking gives the same digits.

        Args:
            problem: the portfolio problem.
            Y: their portfolios, one in each row.
            variances: of these.
        """
        Q = problem.covariance
        least = float(variance(Q, problem.portfolio.least_variance))
        room = max(float(np.diag(Q).max()) - least, 1e-300)
        place = np.sqrt(np.clip((variances - least) / room, 0.0, 1.0))
        bins = np.minimum((BINS * place).astype(np.int64), BINS - 1)
        np.add.at(self.counts, bins, 1.0)
        np.add.at(self.variances, bins, variances)
        self.held[:] = np.add.accumulate(np.vstack([self.held, Y]))[-1]

    def sample(self) -> Sample:
        """Them as a fit takes them."""
        some = self.counts > 0
        counts = self.counts[some]
        return Sample(
            self.variances[some] / counts, self.held, int(counts.sum()), 0, (), weights=counts
        )

    def fit(self, problem: Problem, theta: Vector) -> Vector:
        """Towards where they leave the least on the table, by as many steps as they are worth.

        Args:
            problem: a portfolio problem whose anchors fix shift and scale.
            theta: where to begin, expected returns a year.
        """
        sample, most = self.sample(), furthest(problem, theta, SMOOTH)
        steps = sample.count // ROUNDS_A_STEP
        if not np.isfinite(most) or steps == 0:
            return theta
        try:
            with one_thread():
                found, _ = descend(problem, sample, theta, most, Cuts(problem.theta), steps)
        except ImopError:  # no frontier can be followed here; single twins can be found
            return theta
        return found.theta


def epochs(done: int, count: int) -> Iterator[tuple[int, int, bool]]:
    """Rounds between two fits: (first, last, whether a fit follows), each counted from `done`.

    Args:
        done: rounds that came before.
        count: rounds to come.

    >>> list(epochs(0, 50))
    [(0, 20, True), (20, 40, True), (40, 50, False)]
    >>> list(epochs(39, 2))
    [(0, 1, True), (1, 2, False)]
    """
    first, mark = 0, FIRST
    while first < count:
        while mark <= done + first:
            mark *= GROWTH
        last = min(count, mark - done)
        yield first, last, done + last == mark
        first = last
