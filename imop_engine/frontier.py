"""(2) Forward: what someone with given beliefs and a given weight decides.

For portfolios the efficient frontier is known exactly: with lam = w / (2 (1 - w)) the portfolio is
piecewise linear in lam (critical line method). So the paper's ideal loss, the distance of a
decision to the whole efficient set, is computed and not approximated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from imop_engine import gate, kernels
from imop_engine.adaptive import adaptive_curve
from imop_engine.arguments import Matrix, Vector
from imop_engine.capabilities import Capability
from imop_engine.curve import Curve, decisions
from imop_engine.errors import ImopError, InvalidInput
from imop_engine.problem import Problem
from imop_engine.weights import check_weight, lam_of, weight_of


@dataclass(frozen=True, eq=False)
class Projection:
    """The points of a frontier nearest to some decisions."""

    weights: Vector
    points: Matrix
    distances: Vector


# Beyond it the weight has too few digits left to say where one is: what turns there is chosen by
# nobody whose weight can be written down.
LARGEST_LAM: Final = 1e12


@dataclass(frozen=True, eq=False)
class Frontier:
    """The efficient portfolios of a problem, lowest risk first.

    `weights` and `portfolios` are the turning points: between two of them the portfolio is linear
    in lam = w / (2 (1 - w)), and beyond the last one it does not change.
    """

    problem: Problem
    theta: Vector
    weights: Vector
    portfolios: Matrix
    directions: Matrix  # d portfolio / d lam after each turning point
    states: NDArray[np.int8]
    tight: NDArray[np.int8]  # whether each row of the problem's arrays holds, the budget first

    @cached_property
    def lams(self) -> Vector:
        """The turning points on the lam scale."""
        return np.ascontiguousarray(lam_of(self.weights))

    @property
    def path(self) -> kernels.Trace:
        """The frontier as the kernels want it."""
        return kernels.Trace(self.lams, self.portfolios, self.directions, self.states, self.tight)

    @property
    def returns(self) -> Vector:
        """Expected return of each turning point, under the frontier's own beliefs."""
        result: Vector = self.portfolios @ self.theta
        return result

    @property
    def risks(self) -> Vector:
        """Standard deviation of each turning point."""
        return risk_of(self.problem, self.portfolios)

    @gate.method
    def at(self, weight: ArrayLike) -> Matrix:
        """Portfolio at one weight (a vector) or at many (a row each)."""
        w = np.asarray(weight, dtype=float)
        if np.any(~np.isfinite(w)) or np.any(w < 0) or np.any(w > 1):
            raise InvalidInput(f"a weight lies between 0 and 1; got {weight!r}.")
        lam = np.minimum(lam_of(w), max(float(self.lams[-1]), 0.0) + 1.0)
        at = np.searchsorted(self.lams, lam, side="right") - 1
        step = np.asarray(lam - self.lams[at])[..., None]
        raw = self.portfolios[at] + step * self.directions[at]
        result: Matrix = np.clip(raw, self.problem.lower, self.problem.upper)
        return result

    @gate.method
    def project(self, decisions: Any) -> Projection:
        """Nearest efficient portfolio of each decision, and the weight that explains it."""
        Y = self.problem.check_decisions(decisions)
        lam, distance = np.empty(len(Y)), np.empty(len(Y))
        points = np.empty_like(Y)
        high = float(self.lams[-1]) + 1.0
        kernels.project_many(self.path, Y, 1e-12, high, lam, points, distance)
        return Projection(weight_of(lam), points, distance)

    @gate.method
    def sample(self, count: int = 200) -> tuple[Vector, Matrix]:
        """Weights and portfolios spread evenly along the curve, turning points included."""
        steps = np.linalg.norm(np.diff(self.portfolios, axis=0), axis=1)
        length = np.concatenate([[0.0], np.cumsum(steps)])
        if length[-1] == 0.0:
            return self.weights[:1], self.portfolios[:1]
        wanted = np.union1d(np.linspace(0.0, length[-1], count), length)
        lam = np.interp(wanted, length, self.lams)
        weights = weight_of(lam)
        return weights, self.at(weights)


@dataclass(frozen=True, eq=False)
class CurvedFrontier(Frontier):
    """The efficient decisions of two quadratic objectives: a curve, not a polyline.

    `weights` and `portfolios` are an even sample of it and its corners; `at` solves at any weight,
    and `project` finds nearest points by the formulas between the corners (curve.py).
    """

    curve: Curve

    def at(self, weight: ArrayLike) -> Matrix:
        """Decision at one weight (a vector) or at many (a row each)."""
        w = np.asarray(weight, dtype=float)
        rows = np.array([check_weight(self.problem, one) for one in np.atleast_1d(w)])
        found = decisions(self.problem, self.theta, rows)
        result: Matrix = found if w.ndim else found[0]
        return result

    def project(self, decisions: Any) -> Projection:
        """Nearest efficient decision of each decision, and the weight that explains it."""
        return Projection(*self.curve.nearest(self.problem.check_decisions(decisions)))

    def sample(self, count: int = 200) -> tuple[Vector, Matrix]:
        """Weights and decisions along the curve."""
        weights = np.linspace(self.weights[0], self.weights[-1], count)
        return weights, self.at(weights)


@dataclass(frozen=True, eq=False)
class SampledFrontier(Frontier):
    """The efficient decisions of two convex objectives, by weights that are chosen where needed.

    Between two neighbouring weights decisions are mixed; the mixture's objectives lie above what
    can be had by at most a hundred-thousandth of their range (adaptive.py), and on it where the
    frontier is straight, as that of a tail's average is. `values` are the two objectives.
    """

    values: Matrix

    def at(self, weight: ArrayLike) -> Matrix:
        """Decision at one weight (a vector) or at many (a row each), solved there."""
        w = np.asarray(weight, dtype=float)
        rows = np.array([check_weight(self.problem, one) for one in np.atleast_1d(w)])
        found = decisions(self.problem, self.theta, rows)
        result: Matrix = found if w.ndim else found[0]
        return result

    def project(self, decisions: Any) -> Projection:
        """Nearest decision of each on the polyline, and the weight that explains it."""
        Y = self.problem.check_decisions(decisions)
        weights, points = np.empty(len(Y)), np.empty_like(Y)
        least = np.full(len(Y), np.inf)
        pieces = zip(self.weights, self.weights[1:], self.portfolios, self.portfolios[1:],
                     strict=False)  # fmt: skip
        for a, b, first, last in pieces:
            step = last - first
            square = float(step @ step)
            share = np.clip((Y - first) @ step / square, 0.0, 1.0) if square else np.zeros(len(Y))
            found = first + share[:, None] * step
            squares = np.sum((Y - found) ** 2, axis=1)
            nearer = squares < least
            least[nearer], points[nearer] = squares[nearer], found[nearer]
            weights[nearer] = a + share[nearer] * (b - a)
        return Projection(weights, points, np.sqrt(least))

    def sample(self, count: int = 200) -> tuple[Vector, Matrix]:
        """The weights that were chosen, and their decisions."""
        return self.weights, self.portfolios


def _curve(problem: Problem, theta: Vector) -> Frontier:
    problem.require(
        Capability.FRONTIER_CURVE,
        sentence=f"{problem.p} objectives have no frontier curve; use solve() at the weights you "
        "need.",
    )
    if problem.program is not None:
        weights, X, values = adaptive_curve(problem, theta)
        none = np.empty((len(weights), 0), np.int8)
        return SampledFrontier(problem, theta, weights, X, np.zeros_like(X), none, none, values)
    curve = Curve.of(problem, theta)
    states = np.empty((len(curve.weights), 0), np.int8)
    return CurvedFrontier(
        problem, theta, curve.weights, curve.X, np.zeros_like(curve.X), states, states, curve
    )


def risk_of(problem: Problem, portfolios: ArrayLike) -> Vector:
    """Standard deviation of each portfolio."""
    X = np.atleast_2d(np.asarray(portfolios, dtype=float))
    result: Vector = np.sqrt(np.maximum(0.0, np.einsum("ti,ij,tj->t", X, problem.covariance, X)))
    return result


def efficient_frontier(problem: Problem, theta: ArrayLike) -> Frontier:
    """The exact efficient frontier of a portfolio problem under expected returns theta.

    For two quadratic objectives, the curve of efficient decisions (`CurvedFrontier`); for two of
    any other form, a polyline within a hundred-thousandth of it (`SampledFrontier`).

    >>> from imop_engine import portfolio_problem
    >>> problem = portfolio_problem([[0.04, 0.0], [0.0, 0.09]])
    >>> efficient_frontier(problem, [0.05, 0.10]).portfolios.round(4)
    array([[0.6923, 0.3077],
           [0.    , 1.    ]])
    """
    r = problem.check_theta(theta)
    if not problem.can(Capability.PIECEWISE_LINEAR_FRONTIER):
        return _curve(problem, r)
    path, count = traced(problem, r, np.inf)
    if path.lams[count - 1] > LARGEST_LAM:
        count = max(1, int(np.searchsorted(path.lams[:count], LARGEST_LAM, side="right")))
    # the last stretch has no event left: nothing moves there any more
    path.ds[count - 1] = 0.0
    return Frontier(
        problem, r, weight_of(path.lams[:count]), path.xs[:count].copy(), path.ds[:count].copy(),
        path.states[:count].copy(), path.tight[:count].copy(),
    )  # fmt: skip


def traced(problem: Problem, r: Vector, most: float) -> tuple[kernels.Trace, int]:
    """The frontier's pieces up to lam = most, in arrays that may be longer, and their number.

    Args:
        problem: a portfolio problem.
        r: expected returns, a year.
        most: the largest lam.

    Raises:
        ImopError: rounding stopped the trace.
    """
    n = problem.n
    size = 8 * n + 16
    while True:
        path, count = trace_within(problem, r, most, size)
        if count > 0:
            return path, count
        if size > 1000 * (n + 1):
            raise ImopError(
                "the frontier could not be traced: the covariance is too ill-conditioned."
            )
        size *= 4


def trace_within(problem: Problem, r: Vector, most: float, size: int) -> tuple[kernels.Trace, int]:
    """The frontier's pieces up to lam = most, and their number; negative where room is missing.

    Args:
        problem: a portfolio problem.
        r: expected returns, a year.
        most: the largest lam.
        size: how many pieces there is room for.
    """
    arrays, n = problem.portfolio, problem.n
    path = kernels.empty_trace(size, n, arrays.levels.size)
    if arrays.limited:
        return path, int(kernels.trace_frontier(arrays, r, most, path))
    # a small frontier is traced in less time than it takes to hand over what limits need
    start = kernels.Start(arrays.least_variance, arrays.least_variance_state)
    cost = np.zeros(n)
    count = kernels.trace(arrays.covariance, arrays.caps, cost, r, start, most, path)
    return path, int(count)


def solve(problem: Problem, theta: ArrayLike, weight: ArrayLike) -> Vector:
    """The decision of someone who believes theta and weighs the objectives by `weight`.

    Args:
        problem: What is decided, and which theta are possible.
        theta: The unknown parameters; of a portfolio problem the yearly expected return of each
            asset.
        weight: On return (0 to 1) where there are two objectives, or a point of the simplex.

    Returns:
        The decision; of a portfolio problem holdings, fractions of wealth.

    >>> from imop_engine import portfolio_problem
    >>> solve(portfolio_problem([[0.04, 0.0], [0.0, 0.09]]), [0.05, 0.10], 0.0).round(4)
    array([0.6923, 0.3077])
    """
    w = check_weight(problem, weight)
    if problem.can(Capability.PIECEWISE_LINEAR_FRONTIER):
        return efficient_frontier(problem, theta).at(w[0])
    chosen: Vector = decisions(problem, problem.check_theta(theta), w[None])[0]
    return chosen
