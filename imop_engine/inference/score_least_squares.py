"""Least squares of returns and of each investor's weights, where a score is the third objective.

What `score.py` fits, seen from inside: a state is returns with each investor's a and b, and a
Gauss-Newton step moves all of them at once. The same steps fit two objectives (b is zero for
everybody), and find each investor's a and b where the returns are given.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from imop_engine import kernels
from imop_engine.arguments import Matrix, Vector
from imop_engine.conditions import FLAT, forward_solution
from imop_engine.errors import Infeasible
from imop_engine.problem import Problem

SCALES: Final = 24  # a and prices among which each investor's first place is looked for
PRICES: Final = 13
ITERATIONS: Final = 60
TURNS: Final = 6
STOP: Final = 1e-9
LEAST_A: Final = 1e-6
REMEMBERED: Final = 512  # sets of free assets whose response is not computed again

# What a price of the score may be: zero for everybody (two objectives), zero or more, or anything,
# where it is counted from the average investor's.
Prices = Literal["none", "from zero", "relative"]


@dataclass(frozen=True, eq=False)
class ScoreState:
    """Returns, a and b of each investor, and what they explain."""

    theta: Vector
    scales: Matrix  # a and b, one row for each investor
    X: Matrix
    slopes: Matrix  # d x / d (cost vector), one n x n slice for each investor
    loss: float
    prices: Prices

    @classmethod
    def at(
        cls, problem: Problem, theta: Vector, scales: Matrix, Y: Matrix, prices: Prices
    ) -> ScoreState:
        """The portfolios of given returns, a and b.

        Args:
            problem: What is decided.
            theta: Returns a year.
            scales: a and b of each investor, a row each.
            Y: The portfolios, fractions of wealth.
            prices: What a price of the score may be.
        """
        found = forward_solution(_forward(problem, weights_of(scales)), problem, theta)
        if found is None:
            raise Infeasible("no portfolio satisfies the constraints; check caps and budget.")
        free, which = np.unique(found.sides[:, : problem.n] == 0, axis=0, return_inverse=True)
        Q = (problem.quadratic[1] / 2.0).tobytes()
        slopes = np.array([_response(Q, one.tobytes()) for one in free])[which.ravel()]
        X = np.clip(found.X, problem.lower, problem.upper)
        return cls(theta, scales, X, slopes, float(np.sum((Y - X) ** 2)), prices)

    @classmethod
    def first(cls, problem: Problem, theta: Vector, Y: Matrix, prices: Prices) -> ScoreState:
        """Each investor at the nearest of many a and b.

        Args:
            problem: What is decided.
            theta: Returns a year.
            Y: The portfolios, fractions of wealth.
            prices: What a price of the score may be.
        """
        grid, X = _menu(problem, theta, Y, prices)
        return cls.at(problem, theta, grid[_nearest(X, Y)], Y, prices)

    def placed(self, problem: Problem, Y: Matrix) -> ScoreState:
        """The same, with investors moved whom another a and b explain better."""
        grid, X = _menu(problem, self.theta, Y, self.prices)
        best = _nearest(X, Y)
        better = np.sum((Y - X[best]) ** 2, axis=1) < np.sum((Y - self.X) ** 2, axis=1)
        scales = np.where(better[:, None], grid[best], self.scales)
        return ScoreState.at(problem, self.theta, scales, Y, self.prices)

    def parts(self, problem: Problem, Y: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        """Errors, slopes by the returns, and those by a and b (a column each) of each investor."""
        s = -problem.linear0[2]
        nuisance = np.stack([self.slopes @ self.theta, self.slopes @ s], axis=2)
        if self.prices == "none":
            nuisance[:, :, 1] = 0.0
        return Y - self.X, self.scales[:, :1, None] * self.slopes, nuisance

    def normal_equations(
        self, problem: Problem, Y: Matrix, bounded: bool = True
    ) -> tuple[Matrix, Matrix, Matrix]:
        """Information, each investor's score, and the inverses that give a and b.

        Args:
            problem: What is decided.
            Y: The portfolios.
            bounded: Whether a price that would fall below zero stays there. That bounds the returns
                from one side and determines nothing, so it is no part of what is known.
        """
        errors, J, nuisance = self.parts(problem, Y)
        if bounded and self.prices == "from zero":
            # nobody gives less than nothing for the score: b stays at zero
            asks = np.einsum("tn,tn->t", nuisance[:, :, 1], errors)
            nuisance[(self.scales[:, 1] <= 0.0) & (asks <= 0), :, 1] = 0.0
        inverse = np.linalg.pinv(nuisance, rcond=1e-8)
        left: Matrix = J - nuisance @ (inverse @ J)
        scores = np.einsum("tnk,tn->tk", left, errors)
        information: Matrix = np.einsum("tnk,tnl->kl", left, J)
        return information, np.asarray(scores), np.asarray(inverse)

    def step(self, problem: Problem, Y: Matrix, damping: float, axes: Matrix) -> ScoreState:
        """A damped Gauss-Newton step of returns, a and b together.

        Args:
            problem: What is decided.
            Y: The portfolios, fractions of wealth.
            damping: How much shorter than its model the step is; 0 takes all of it.
            axes: Directions in which the returns may move, a column each; none keeps them.
        """
        information, scores, inverse = self.normal_equations(problem, Y)
        theta = self.theta
        if axes.size:
            inner = axes.T @ information @ axes
            size = float(np.trace(inner)) / len(inner) or 1.0
            ridge = (damping + 1e-12) * size * np.eye(len(inner))
            move = axes @ np.linalg.solve(inner + ridge, axes.T @ scores.sum(axis=0))
            theta = problem.theta.nearest(self.theta + move)
        errors, J, _ = self.parts(problem, Y)
        rest = errors - J @ (theta - self.theta)
        scales = self.scales + np.einsum("tkn,tn->tk", inverse, rest) / (1.0 + damping)
        scales[:, 0] = np.clip(scales[:, 0], 0.3 * self.scales[:, 0], 3.0 * self.scales[:, 0])
        scales = _allowed(scales, self.prices)
        moved = ScoreState.at(problem, theta, scales, Y, self.prices)
        # an investor whose own step leads away stays, under the new returns
        stayed = ScoreState.at(problem, theta, self.scales, Y, self.prices)
        worse = np.sum((Y - moved.X) ** 2, axis=1) > np.sum((Y - stayed.X) ** 2, axis=1)
        scales = np.where(worse[:, None], self.scales, scales)
        return ScoreState.at(problem, theta, scales, Y, self.prices) if worse.any() else moved


def least_squares(problem: Problem, Y: Matrix, state: ScoreState) -> tuple[ScoreState, bool]:
    """Gauss-Newton steps until nothing improves, looking anew for each investor's place between.

    Args:
        problem: What is decided.
        Y: The portfolios, fractions of wealth.
        state: Where to begin.

    Returns:
        The state with the least squares found, and whether it ended by itself.
    """
    certain = False
    axes = open_axes(problem)
    for _ in range(TURNS):
        before = state.loss
        state, certain = _settled(problem, Y, state, axes)
        state = state.placed(problem, Y)
        if state.loss >= before * (1.0 - 1e-3):
            break
    return _settled(problem, Y, state, axes)[0], certain


def at_returns(problem: Problem, theta: Vector, Y: Matrix, prices: Prices) -> ScoreState:
    """The least squares over a and b alone, under given returns.

    Args:
        problem: What is decided.
        theta: Returns a year.
        Y: The portfolios, fractions of wealth.
        prices: What a price of the score may be.
    """
    none = np.zeros((problem.n, 0))
    return _settled(problem, Y, ScoreState.first(problem, theta, Y, prices), none)[0]


def _settled(
    problem: Problem, Y: Matrix, state: ScoreState, axes: Matrix
) -> tuple[ScoreState, bool]:
    damping = 1e-6
    for _ in range(ITERATIONS):
        better = None
        while damping < 1e8:
            trial = state.step(problem, Y, damping, axes)
            if trial.loss < state.loss * (1.0 - STOP):
                better = trial
                break
            damping *= 10.0
        if better is None:
            return state, True
        slow = better.loss >= state.loss * (1.0 - 1e-4)
        state, damping = better, max(damping / 100.0, 1e-10)
        if slow:
            return state, True
    return state, False


def weights_of(scales: Matrix) -> Matrix:
    """Points of the simplex for a and b, a row each; a price below zero has a weight below zero.

    >>> weights_of(np.array([[0.5, 0.25]])).tolist()
    [[0.4, 0.4, 0.2]]
    """
    raw = np.column_stack([2.0 * scales[:, 0], np.ones(len(scales)), 2.0 * scales[:, 1]])
    result: Matrix = raw / np.abs(raw).sum(axis=1, keepdims=True)
    return result


def open_axes(problem: Problem) -> Matrix:
    """Unit directions in which the anchors let returns move, a column each."""
    left, sizes, _ = np.linalg.svd(problem.theta.projector)
    found: Matrix = left[:, sizes > 0.5]
    return found


def _allowed(scales: Matrix, prices: Prices) -> Matrix:
    scales = np.maximum(scales, [[LEAST_A, -np.inf if prices == "relative" else 0.0]])
    return scales if prices != "none" else scales * [[1.0, 0.0]]


def _menu(problem: Problem, theta: Vector, Y: Matrix, prices: Prices) -> tuple[Matrix, Matrix]:
    """Many a and b of the size that these returns ask for, and their portfolios."""
    Q, s = problem.quadratic[1] / 2.0, -problem.linear0[2]
    spread = max(float(np.std(theta)), 1e-9 * (1.0 + float(np.abs(theta).max())))
    usual = max(float(np.std(Y @ Q, axis=1).mean()), 1e-12) / spread
    a = usual * np.geomspace(0.02, 50.0, SCALES)
    price = np.linspace(0.0, 3.0, PRICES) * spread / float(np.std(s))
    if prices == "none":
        price = np.zeros(1)
    elif prices == "relative":
        price = np.concatenate([-price[:0:-1], price])
    grid = np.array([(one, one * other) for one in a for other in price])
    found = forward_solution(_forward(problem, weights_of(grid)), problem, theta)
    if found is None:
        raise Infeasible("no portfolio satisfies the constraints; check caps and budget.")
    return grid, found.X


def _nearest(X: Matrix, Y: Matrix) -> NDArray[np.int64]:
    squares = np.sum(X**2, axis=1) - 2.0 * Y @ X.T
    return np.asarray(squares.argmin(axis=1))


@lru_cache(maxsize=REMEMBERED)
def _response(covariance: bytes, kept: bytes) -> Matrix:
    """How free holdings follow a cost vector, the budget kept."""
    free = np.frombuffer(kept, dtype=bool)
    Q = np.frombuffer(covariance).reshape(free.size, free.size)
    found = np.zeros_like(Q)
    if free.sum() > 1:
        inverse = np.linalg.inv(Q[np.ix_(free, free)])
        ones = inverse.sum(axis=0)
        found[np.ix_(free, free)] = inverse - np.outer(ones, ones) / ones.sum()
    return found


def _forward(problem: Problem, weights: Matrix) -> kernels.Forward:
    """The programs of `forward_arrays`, faster: only one objective curves, so that all of them
    have one inverse but for a factor."""
    Q = problem.quadratic[1]
    values, vectors = np.linalg.eigh(Q)
    inverse = (vectors / np.maximum(values, FLAT * values[-1])) @ vectors.T
    rows = np.vstack([np.eye(problem.n), problem.rows, problem.equal_rows])
    gram = rows @ inverse @ rows.T
    factor = 1.0 / weights[:, 1, None, None]
    return kernels.Forward(
        factor * ((gram + gram.T) / 2), -factor * (rows @ inverse), weights @ problem.linear0,
        np.einsum("kl,lij->kij", weights, problem.linear),
    )  # fmt: skip
