"""The most likely beliefs of investors of whom only some are at hand at a time.

Each investor's own two numbers, price and level, concern nobody else: given the common beliefs they
are hers to choose. So the likelihood at some beliefs, its slope and its information are sums over
investors, and Newton's method on these sums ends where the one over all of them together does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.inference.first_order import LEAST_HELD, Likelihood, Positions
from imop_engine.problem import Problem

MOST_STEPS: Final = 30
HALVED: Final = 20  # times that a step may be
FIRST_PRICE: Final = 3.0  # where the search for an investor's own begins, as in `fit_beliefs`


@dataclass(frozen=True, eq=False)
class BeliefSums:
    """What some investors say at given beliefs; those of several lots add up.

    Args:
        value: logarithm of the likelihood, each investor's own numbers at their best.
        slope: of it, among the informed assets.
        information: minus its second derivative.
        outer: sum of squared scores.
        used: investors who take part.
    """

    value: float
    slope: Vector
    information: Matrix
    outer: Matrix
    used: float

    def __add__(self, other: BeliefSums) -> BeliefSums:
        return BeliefSums(
            self.value + other.value, self.slope + other.slope,
            self.information + other.information, self.outer + other.outer, self.used + other.used,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class MostLikely:
    """Where the likelihood of everybody has its maximum."""

    beliefs: Vector  # of the informed assets, mean zero
    sums: BeliefSums
    steps: int
    converged: bool


def size_of(problem: Problem, positions: Positions, informed: NDArray[np.bool_]) -> float:
    """The unit in which prices are searched: one for all chunks, so that they add up.

    Args:
        problem: a portfolio problem.
        positions: of a sample of the investors.
        informed: assets that enough investors hold.
    """
    Z = positions.portfolios @ problem.covariance
    Z -= Z[:, informed].mean(axis=1, keepdims=True)
    return float(np.sqrt(np.mean(Z[:, informed] ** 2))) or 1.0


def belief_sums(
    problem: Problem,
    positions: Positions,
    informed: NDArray[np.bool_],
    beliefs: Vector,
    size: float,
) -> BeliefSums:
    """What some investors say at given beliefs.

    Args:
        problem: a portfolio problem.
        positions: what they hold.
        informed: assets that enough investors hold.
        beliefs: of the informed assets, in units of the disagreement.
        size: as `size_of` gives it.
    """
    inside = positions.held | positions.capped
    used = positions.held[:, informed].sum(axis=1) >= LEAST_HELD
    used &= ~np.any(inside[:, ~informed], axis=1)
    count, m = int(used.sum()), int(informed.sum())
    if not count:
        return BeliefSums(0.0, np.zeros(m), np.zeros((m, m)), np.zeros((m, m)), 0.0)
    Z = positions.portfolios[used] @ problem.covariance
    Z -= Z[:, informed].mean(axis=1, keepdims=True)
    some = Likelihood(
        Z[:, informed], positions.held[np.ix_(used, informed)],
        positions.capped[np.ix_(used, informed)], np.ones(count), size,
    )  # fmt: skip
    a, b = some.profiled(np.full(count, FIRST_PRICE), np.zeros(count), beliefs)
    terms = some.terms(a, b, beliefs)
    information, slope, _ = some.newton(a, b, terms)
    outer = terms.slope.T @ terms.slope
    return BeliefSums(some.value(a, b, beliefs), slope, information, outer, float(count))


def most_likely(beliefs: Vector, at: Callable[[Vector], BeliefSums], enough: float) -> MostLikely:
    """Newton's method on sums over everybody.

    Args:
        beliefs: where to begin, of the informed assets, in units of the disagreement.
        at: the sums at some beliefs.
        enough: the step, in standard errors, below which the search ends.
    """
    r, m = beliefs - beliefs.mean(), beliefs.size
    sums = at(r)
    for done in range(MOST_STEPS):
        S = sums.information
        lift = float(np.trace(S)) / m * (np.ones((m, m)) / m + 1e-12 * np.eye(m))
        step = np.linalg.solve(S + lift, sums.slope)
        if float(sums.slope @ step) <= enough**2:
            return MostLikely(r, sums, done, True)
        share = 1.0
        for _ in range(HALVED):
            there = at(r + share * step)
            if there.value >= sums.value:
                break
            share *= 0.5
        else:
            return MostLikely(r, sums, done, True)  # rounding: nothing is to be gained any more
        r, sums = r + share * step, there
    return MostLikely(r, sums, MOST_STEPS, False)
