"""The second-order learner: steps in the metric of what the decisions have told so far.

An investor on a piece of the frontier tells how its portfolios respond to beliefs, less what her
own weight explains (`kernels.inform`). Summed up, that is an information matrix: it scales the
steps, one decision at a time (`algorithm="newton"`) or over all stored ones (`polish`), and its
inverse gives the standard errors. The exact implicit updates come first: they find the right
pieces of the frontier, which no local step does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from imop_engine import kernels
from imop_engine.arguments import Matrix, Vector
from imop_engine.capabilities import Capability
from imop_engine.errors import InvalidInput
from imop_engine.frontier import efficient_frontier
from imop_engine.problem import Problem
from imop_engine.weights import EDGE, lam_of

SEARCH_RATE = 10.0  # the search trusts a decision this much more than Algorithm 2 would
SEARCH_WEIGHTS = 41  # the grid it compares, as fine as the paper's finest
UNSEEN = 1e-8  # directions with less than this share of the largest information are not seen
LOADS = 1e-6  # an asset whose return moves by this much along an unseen direction is not known
MOST_STEPS = 100  # of a polish; it takes about five
SETTLED = 1e-10  # a step this small, as a share of the spread of the returns, is the last


def opening_rates(rate: Callable[[int], float]) -> Vector:
    """The rates of the opening's rounds, by their place in it."""
    count = kernels.SEARCHING + kernels.SETTLING
    raised = [SEARCH_RATE if t <= kernels.SEARCHING else 1.0 for t in range(1, count + 1)]
    return np.array([up * rate(t) for t, up in enumerate(raised, start=1)])


def flat_start(problem: Problem) -> Vector:
    """Returns as alike as the anchors allow, at the lowest anchored one: low returns are raised
    by the first investor who holds the asset, while high ones can hide all others."""
    equalities, values = problem.theta.equalities, problem.theta.values
    sums = equalities.sum(axis=1)
    known = values[sums != 0] / sums[sums != 0]
    lowest = float(known.min()) if known.size else 0.0
    return problem.theta.nearest(np.full(problem.theta_size, lowest))


@dataclass(eq=False)
class Information:
    """What a stream has told so far: all that `kernels.newton_run` carries between calls."""

    metric: Matrix
    recent: Matrix
    sums: Vector = field(repr=False)
    memory: Vector = field(repr=False)

    @classmethod
    def none(cls, size: int) -> Information:
        """Before the first decision."""
        square = np.zeros((size, size))
        return cls(square, square.copy(), np.zeros(size), np.zeros(kernels.LATELY + 1))

    def copy(self) -> Information:
        """The same, apart."""
        return Information(*(a.copy() for a in (self.metric, self.recent, self.sums, self.memory)))

    @property
    def noise(self) -> float:
        """Standard deviation of one holding around the frontier; NaN before there is any."""
        freedom = self.memory[kernels.FREEDOM]
        return float(np.sqrt(self.memory[kernels.LEFT] / freedom)) if freedom > 0 else float("nan")


def covariance_of(problem: Problem, metric: Matrix, noise: float) -> Matrix:
    """Covariance of theta from its information; infinite variance where nothing was seen."""
    projector = problem.theta.projector
    values, vectors = np.linalg.eigh(projector @ metric @ projector)
    inside = np.linalg.norm(projector @ vectors, axis=0) > 0.5  # the others are the anchors' own
    seen = inside & (values > UNSEEN * max(float(values.max()), 0.0))
    known = vectors[:, seen]
    result: Matrix = noise**2 * (known / values[seen]) @ known.T
    unknown = np.linalg.norm(projector - known @ known.T, axis=0) > LOADS
    result[unknown, :] = np.nan
    result[:, unknown] = np.nan
    result[unknown, unknown] = np.inf
    return result


@dataclass(frozen=True, eq=False)
class Polished:
    """The least-squares beliefs of stored decisions, near where the search began."""

    theta: Vector
    loss: float  # squared distances to the frontier, all decisions together
    start_loss: float
    steps: int
    settled: bool  # False: MOST_STEPS were not enough
    noise: float  # standard deviation of one holding around the frontier
    covariance: Matrix

    @property
    def standard_errors(self) -> Vector:
        """Of each return; 0 where it is anchored, infinite where nothing was seen."""
        result: Vector = np.sqrt(np.diag(self.covariance))
        return result


def polish(problem: Problem, decisions: Any, theta: ArrayLike) -> Polished:
    """Gauss-Newton over all decisions at once: the last digits of an estimate that is near.

    Each step is the least-squares one for the pieces of the frontier that the decisions lie on
    now, and is shortened until the squared distances fall. It never wakes an asset that no point
    of the frontier holds: begin from a learner's `theta_`.

    >>> import numpy as np
    >>> from imop_engine import efficient_frontier, portfolio_problem
    >>> problem = portfolio_problem(np.diag([0.04, 0.09, 0.16]), anchors={0: 0.05, 2: 0.15})
    >>> seen = [efficient_frontier(problem, [0.05, 0.1, 0.15]).at(w) for w in (0.1, 0.2, 0.3)]
    >>> polish(problem, seen, [0.05, 0.11, 0.15]).theta.round(6).tolist()
    [0.05, 0.1, 0.15]
    """
    problem.require(
        Capability.BUDGET_AND_CAPS,
        sentence="only portfolio problems can be polished; for others use fit_batch, which "
        "alternates assignment and update.",
    )
    Y = problem.check_decisions(decisions)
    if len(Y) == 0:
        raise InvalidInput("there are no decisions to polish the beliefs with.")
    current = problem.theta.nearest(problem.check_theta(theta))
    told = _told(problem, current, Y)
    start_loss = told.loss
    settled = False
    steps = 0
    while not settled and steps < MOST_STEPS:
        steps += 1
        step = np.empty(current.size)
        low, high = problem.theta.lower, problem.theta.upper
        kernels.metric_step(
            told.metric, problem.theta.projector, told.gradient, current, low, high, step
        )
        settled = True
        while np.linalg.norm(step) > SETTLED * max(float(np.ptp(current)), SETTLED):
            trial = current.copy()
            kernels.move(
                trial, step.copy(), problem.theta.projector, problem.theta.offset, low, high
            )
            there = _told(problem, trial, Y)
            if there.loss < told.loss:
                current, told, settled = trial, there, False
                break
            step *= 0.5
    noise = float(np.sqrt(told.left / max(told.freedom - _unknowns(problem), 1)))
    return Polished(
        current, told.loss, start_loss, steps, settled, noise,
        covariance_of(problem, told.metric, noise),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Told:
    """What all decisions together say at some beliefs."""

    loss: float
    left: float
    freedom: int
    metric: Matrix
    gradient: Vector


def _told(problem: Problem, theta: Vector, Y: Matrix) -> _Told:
    frontier = efficient_frontier(problem, theta)
    low, high = lam_of(np.array([EDGE, 1.0 - EDGE]))
    metric, gradient = np.empty((theta.size, theta.size)), np.empty(theta.size)
    loss, left, freedom = kernels.inform_many(
        problem.covariance, frontier.lams, frontier.portfolios, frontier.directions,
        frontier.states, len(frontier.lams), Y, low, high, metric, gradient,
    )  # fmt: skip
    return _Told(float(loss), float(left), int(freedom), metric, gradient)


def _unknowns(problem: Problem) -> int:
    return round(float(np.trace(problem.theta.projector)))
