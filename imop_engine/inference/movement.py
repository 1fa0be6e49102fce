"""Whether beliefs moved while portfolios came, and when: by the order of the scores.

At the common estimate the scores of all portfolios add up to nothing. Where nobody changed her
mind they do so in any order: added up one after another, in units of their own spread, they are a
Brownian bridge, whose greatest height has a known law (Kolmogorov's). Beliefs that moved make them
run away to one side first and back later, and the bridge is highest where they moved. This is the
double maximum test of Zeileis and Hornik's family of fluctuation tests, with one bridge for each
direction that the portfolios see, each tested at its share of the level.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import kolmogorov, ndtri

from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import InvalidInput
from imop_engine.frontier import efficient_frontier
from imop_engine.identified_subspace import IdentifiedSubspace
from imop_engine.inference.information import ScoreInformation, information
from imop_engine.problem import Problem
from imop_engine.sentences import movement as say

LEVEL: Final = 0.05  # below it beliefs are said to have moved
FEWEST: Final = 60  # portfolios; the law holds for many
IN_A_STRETCH: Final = 30  # portfolios at least
STRETCHES: Final = 12  # of the picture
EDGE: Final = 0.1  # a move nearer to an end than this share of the portfolios is not placed
SEEN: Final = 1e-9  # of the largest eigenvalue of the squared scores; below it nothing is seen


@dataclass(frozen=True, eq=False)
class Movement:
    """Beliefs over time.

    Args:
        problem: the problem that the returns solve.
        theta: the common estimate, yearly.
        statistic: the greatest height of a bridge.
        p_value: how often as great a one comes where beliefs did not move.
        directions: how many bridges there were.
        at: after how many portfolios they moved most likely.
        count: portfolios in all.
        change: of each return from before to after, yearly.
        change_error: standard errors of these.
        edges: portfolios at which the stretches of the picture begin and end.
        returns: of each stretch, yearly, one in each row.
        errors: standard errors of these.
    """

    problem: Problem
    theta: Vector
    statistic: float
    p_value: float
    directions: int
    at: int
    count: int
    change: Vector
    change_error: Vector
    edges: NDArray[np.int64]
    returns: Matrix
    errors: Matrix

    @property
    def moved(self) -> bool:
        """Whether beliefs moved, at the level of 5 %."""
        return self.p_value < LEVEL

    @property
    def largest(self) -> int:
        """The asset whose return changed most, in standard errors."""
        known = self.change_error > 0
        size = np.where(known, np.abs(self.change) / np.where(known, self.change_error, 1.0), 0.0)
        return int(size.argmax())


def measure_movement(problem: Problem, theta: Vector, portfolios: Matrix) -> Movement:
    """Whether beliefs moved over portfolios in the order in which they came.

    Args:
        problem: a portfolio problem with anchors; one of the held assets alone is best.
        theta: where the estimating equations of all these portfolios are solved, yearly returns.
        portfolios: one row for each, in their order, fractions of wealth.

    Returns:
        The test, when beliefs moved if they did, and the beliefs of each stretch of time.
    """
    count = len(portfolios)
    if count < FEWEST:
        raise InvalidInput(
            f"there are {count} portfolios; whether beliefs moved can be said from {FEWEST} on."
        )
    info = information(efficient_frontier(problem, theta), portfolios)
    subspace = IdentifiedSubspace.of(problem.theta, info.hessian)
    # scores of the directions that the anchors leave free
    scores = info.scores @ problem.theta.projector
    values, vectors = np.linalg.eigh(scores.T @ scores)
    seen = values > SEEN * max(float(values.max(initial=0.0)), 0.0)
    if not seen.any():
        raise InvalidInput(
            "the portfolios say nothing of the returns at this estimate, so nothing can be said of "
            "when they moved; give portfolios of more than one asset, and of different risk."
        )
    steps = (scores @ vectors[:, seen]) / np.sqrt(values[seen])
    steps -= steps.mean(axis=0)  # zero already, but for rounding and jumps
    bridges = np.cumsum(steps, axis=0)
    heights = np.abs(bridges).max(axis=0)
    statistic = float(heights.max())
    alone = float(kolmogorov(statistic))
    p_value = -np.expm1(seen.sum() * np.log1p(-min(alone, 1.0 - 1e-16)))
    at = _where(bridges)
    before, after = _stretch(info, subspace, 0, at), _stretch(info, subspace, at, count)
    number = int(np.clip(count // IN_A_STRETCH, 2, STRETCHES))
    edges = np.linspace(0, count, number + 1).astype(np.int64)
    found = [_stretch(info, subspace, int(low), int(high)) for low, high in pairwise(edges)]
    return Movement(
        problem, theta, statistic, float(min(p_value, 1.0)), int(seen.sum()), at, count,
        after[0] - before[0], np.sqrt(before[1] ** 2 + after[1] ** 2), edges,
        theta + np.array([one[0] for one in found]), np.array([one[1] for one in found]),
    )  # fmt: skip


def _where(bridges: Matrix) -> int:
    """After how many portfolios the bridges are highest together, for what they may be there."""
    count = len(bridges)
    share = np.arange(1, count + 1) / count
    inside = (share >= EDGE) & (share <= 1.0 - EDGE)
    room = np.where(inside, share * (1.0 - share), 1.0)
    height = np.where(inside, (bridges**2).sum(axis=1) / room, -1.0)
    return int(height.argmax()) + 1


def _stretch(
    info: ScoreInformation, subspace: IdentifiedSubspace, low: int, high: int
) -> tuple[Vector, Vector]:
    """What portfolios of a stretch would move the returns by, and the standard error of that.

    Their own information is taken for that of all, by their number: one step, to first order.
    """
    scores = info.scores[low:high]
    share = (high - low) / len(info.scores)
    inverse = subspace.inverse / max(share, 1e-300)
    step: Vector = inverse @ scores.sum(axis=0)
    apart = scores - scores.mean(axis=0)
    covariance = inverse @ (apart.T @ apart) @ inverse.T
    return step, np.sqrt(np.maximum(np.diag(covariance), 0.0))


def interval(movement: Movement, level: float) -> tuple[Matrix, Matrix]:
    """Low and high ends of the returns of each stretch, yearly.

    Args:
        movement: the beliefs over time.
        level: confidence.
    """
    z = float(ndtri(0.5 + level / 2))
    return movement.returns - z * movement.errors, movement.returns + z * movement.errors


def movement_sentence(found: Movement) -> str:
    """Whether beliefs moved, and when, for a person.

    Args:
        found: beliefs over time.
    """
    if not found.moved:
        return say.still(found.count, found.p_value)
    j = found.largest
    return say.moved(
        found.at, found.count, found.p_value, found.problem.names[j], float(found.change[j]),
        float(found.change_error[j]),
    )  # fmt: skip
