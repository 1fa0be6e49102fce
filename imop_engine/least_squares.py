"""The returns of least squares: those whose frontier lies nearest to all stored portfolios.

Every portfolio counts as it is, wherever it lies on the frontier; `inference.estimating_equations`
solves other equations, which treat small holdings and turning points with more care. The sums over
decisions (`kernels.information_of_all`) are those of the second-order learner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from imop_engine import kernels
from imop_engine.arguments import Matrix, Vector
from imop_engine.capabilities import INFERENCE
from imop_engine.errors import InvalidInput
from imop_engine.frontier import efficient_frontier
from imop_engine.identified_subspace import ZERO_EIGENVALUE_OF_STREAM, IdentifiedSubspace
from imop_engine.problem import Problem
from imop_engine.weights import EDGE, lam_of

MOST_STEPS = 100  # of a polish; it takes about five
LAST_STEP = 1e-10  # a step this small, as a share of the spread of the returns, is the last
LOWEST_LAM, HIGHEST_LAM = lam_of(np.array([EDGE, 1.0 - EDGE]))


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
        *INFERENCE,
        sentence="only portfolio problems can be polished; for others use fit_batch, which "
        "alternates assignment and update.",
    )
    Y = problem.check_decisions(decisions)
    if len(Y) == 0:
        raise InvalidInput("there are no decisions to polish the beliefs with.")
    current = problem.theta.nearest(problem.check_theta(theta))
    here = LeastSquaresInformation.at(problem, current, Y)
    start_loss = here.loss
    settled = False
    steps = 0
    while not settled and steps < MOST_STEPS:
        steps += 1
        step = np.empty(current.size)
        kernels.metric_step(problem.theta.arrays, current, here.metric, here.gradient, step)
        settled = True
        shortest = LAST_STEP * max(float(np.ptp(current)), LAST_STEP)
        while np.sqrt(step @ step) > shortest:
            trial = current.copy()
            kernels.move(problem.theta.arrays, trial, step.copy())
            there = LeastSquaresInformation.at(problem, trial, Y)
            if there.loss < here.loss:
                current, here, settled = trial, there, False
                break
            step *= 0.5
    noise = float(np.sqrt(here.left / max(here.freedom - _unknowns(problem), 1)))
    found = IdentifiedSubspace.of(problem.theta, here.metric, ZERO_EIGENVALUE_OF_STREAM)
    return Polished(current, here.loss, start_loss, steps, settled, noise, found.covariance(noise))


@dataclass(frozen=True, eq=False)
class LeastSquaresInformation:
    """Sums over all decisions at some returns: what a Gauss-Newton step of least squares needs."""

    loss: float  # squared distances to the frontier
    left: float  # the part of them that is noise: held assets only, her own weight taken out
    freedom: int  # degrees of freedom of `left`
    metric: Matrix  # J'J summed, J how the nearest portfolio moves with the returns
    gradient: Vector  # J'e summed, e held minus explained

    @classmethod
    def at(cls, problem: Problem, theta: Vector, Y: Matrix) -> LeastSquaresInformation:
        """For a checked array of decisions.

        Args:
            problem: What is decided, and which theta are possible.
            theta: The unknown parameters; of a portfolio problem the yearly expected return of each
                asset.
            Y: The decisions, one in each row.
        """
        frontier = efficient_frontier(problem, theta)
        metric, gradient = np.empty((theta.size, theta.size)), np.empty(theta.size)
        loss, left, freedom = kernels.information_of_all(
            problem.covariance, problem.portfolio.rows, frontier.path, Y, LOWEST_LAM, HIGHEST_LAM,
            metric, gradient,
        )  # fmt: skip
        # what is left of portfolios on the frontier is a difference that may round below zero
        return cls(float(loss), max(float(left), 0.0), int(freedom), metric, gradient)


def _unknowns(problem: Problem) -> int:
    return round(float(np.trace(problem.theta.projector)))
