"""A third objective: what investors believe when they also care for a score of their assets.

Sustainability, liquidity, yield: any number for each asset. An investor weighs return, variance and
score, and so chooses

    x(a, b) = argmin 1/2 x'Qx - (a r + b s)'x,   a = w_1 / (2 w_2),   b = w_3 / (2 w_2) >= 0

over portfolios: as if she expected r + (b / a) s. Her price of the score is b / a, the return a
year that she gives for a unit of it. All investors are fitted at once, each with her own a and b.

What portfolios leave open is one direction more than with two objectives: r + c s with all prices
less by c gives the same portfolios. So three anchors are needed: for level, scale, and price.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from imop_engine.arguments import Anchors, Matrix, Vector, broadcast, psd, vector
from imop_engine.conditions import forward_arrays, forward_solution
from imop_engine.errors import Infeasible, InvalidInput
from imop_engine.frontier import efficient_frontier, risk_of
from imop_engine.problem import Problem, affine_problem, portfolio_problem

SCALES: Final = 24  # a and prices among which each investor's first place is looked for
PRICES: Final = 13
ITERATIONS: Final = 60
TURNS: Final = 6
STOP: Final = 1e-9
LEAST_A: Final = 1e-6
FIXED: Final = 1e-6  # singular values below this share of the largest leave a direction open
CONFIDENT: Final = 1.96


def score_problem(
    covariance: Any,
    scores: ArrayLike,
    upper: ArrayLike = 1.0,
    bounds: tuple[ArrayLike, ArrayLike] = (0.0, 1.0),
    anchors: Anchors | None = None,
) -> Problem:
    """Investors who weigh return r'x, risk x'Qx and a score s'x; the returns r are unknown.

    Args:
        covariance: Q, an n x n array or frame (its columns then name the assets).
        scores: s, one number for each asset; more is better.
        upper: Caps on each holding, one number or one for each asset.
        bounds: The box in which each expected return lies.
        anchors: What is known of r: {asset: return}, or a list of (vector over assets, value).
            Three fix level, scale and the price of the score.

    Returns:
        A quadratic problem of three objectives: minus return, variance, minus score.

    >>> problem = score_problem([[0.04, 0.0], [0.0, 0.09]], [1.0, 0.0])
    >>> problem.p, problem.n
    (3, 2)
    """
    names = [str(c) for c in covariance.columns] if hasattr(covariance, "columns") else None
    Q = psd(covariance, "covariance")
    n = len(Q)
    s = vector(scores, "scores")
    if s.size != n or np.ptp(s) == 0.0:
        raise InvalidInput(
            f"scores needs one number for each of the {n} assets, not all the same; got {s.size}."
        )
    # the problem of two objectives checks caps, box and anchors
    two = portfolio_problem(Q, upper, bounds, anchors, names, undetermined=True)
    zeros, none = np.zeros((n, n)), np.zeros(n)
    return affine_problem(
        [zeros, 2.0 * Q, zeros],
        linear0=np.array([none, none, -s]),
        linear=np.array([-np.eye(n), zeros, zeros]),
        A=np.zeros((0, n)),
        rhs0=np.zeros(0),
        rhs=np.zeros((0, n)),
        bounds=(two.theta.lower, two.theta.upper),
        E=np.ones((1, n)),
        d=np.ones(1),
        lower=0.0,
        upper=two.upper,
        equalities=list(zip(two.theta.equalities, two.theta.values.tolist(), strict=True)),
        names=two.names,
        theta_names=two.names,
    )


@dataclass(frozen=True, eq=False)
class ScoreFit:
    """What investors believe and what they give for the score.

    Attributes:
        returns: asset, estimate, low, high (95 %) of the expected return a year; NaN where open.
        investors: weight of return, risk and score (they add up to one), price of the score
            (return a year for a unit), what the score costs (return a year less than the best
            portfolio of the same risk), distance of the holdings to the explained ones.
        price: the median price; NaN where returns and prices stay open.
        price_low, price_high: a 95 % interval of it: over investors, at the estimated returns.
        explained: share of the variation in holdings.
        open: combinations of returns that portfolios and anchors leave open.
        certain: whether the fit ended because nothing improved any more.
    """

    returns: pd.DataFrame
    investors: pd.DataFrame
    price: float
    price_low: float
    price_high: float
    explained: float
    open: int
    certain: bool

    def sentences(self) -> tuple[str, ...]:
        """What is to be said of it."""
        price = (
            f"The median investor gives {self.price:.3%} of return a year for a unit of the score "
            f"({self.price_low:.3%} to {self.price_high:.3%}); choosing by the score costs "
            f"{self.investors['cost'].median():.3%} a year."
        )
        if self.open:
            price = "The price of the score is not determined."
        said = [price, f"One surface explains {self.explained:.1%} of the variation in holdings."]
        if self.open:
            said.append(
                f"{self.open} combination(s) of returns stay open: levels, scale or price of the "
                "score follow the start, not the data. Name three anchors that tell them apart."
            )
        if not self.certain:
            said.append("The fit did not settle; take the numbers as a beginning.")
        return tuple(said)


def fit_score(problem: Problem, decisions: Any, theta0: ArrayLike | None = None) -> ScoreFit:
    """Fit returns and each investor's weights on return, risk and score.

    Args:
        problem: As `score_problem` makes it.
        decisions: One row for each investor, holdings as fractions of wealth.
        theta0: Where to begin; None begins where marginal risks of the portfolios point, and at
            the returns under which the average portfolio is best.

    Returns:
        Returns with intervals, investors, the price of the score.
    """
    if problem.p != 3 or problem.program is not None or np.any(problem.linear[1:]):
        raise InvalidInput("fit_score takes a problem of score_problem.")
    Y = problem.check_decisions(decisions)
    if len(Y) < 3:
        raise InvalidInput(f"{len(Y)} investors are too few; give at least three.")
    starts = _starts(problem, Y) if theta0 is None else [problem.check_theta(theta0, "theta0")]
    fits = [_fitted(problem, Y, problem.theta.nearest(one)) for one in starts]
    state, certain = min(fits, key=lambda one: one[0].loss)
    return _told(problem, state, Y, certain)


def _fitted(problem: Problem, Y: Matrix, start: Vector) -> tuple[_State, bool]:
    """Gauss-Newton steps until nothing improves, looking anew for each investor's place between."""
    state, certain = _State.first(problem, start, Y), False
    for _ in range(TURNS):
        before = state.loss
        state, certain = _settled(problem, Y, state)
        state = state.placed(problem, Y)
        if state.loss >= before * (1.0 - 1e-3):
            break
    return _settled(problem, Y, state)[0], certain


def _settled(problem: Problem, Y: Matrix, state: _State) -> tuple[_State, bool]:
    damping = 1e-6
    for _ in range(ITERATIONS):
        better = None
        while damping < 1e8:
            trial = state.step(problem, Y, damping)
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


def _starts(problem: Problem, Y: Matrix) -> list[Vector]:
    """Where fits begin: the direction in which the marginal risks of portfolios differ, either way,
    and the returns under which the average portfolio is best.

    In the assets she holds, Q y is a combination of 1, r and s; so what is left of all the Q y
    without 1 and s points along r.
    """
    Q, s, n = problem.quadratic[1] / 2.0, -problem.linear0[2], problem.n
    known = np.linalg.qr(np.column_stack([np.ones(n), s]))[0]
    left = Y @ Q
    left = left - left @ known @ known.T
    line = np.linalg.svd(left, full_matrices=False)[2][0]
    basis = np.column_stack([line, np.ones(n), s])
    rows, values = problem.theta.equalities, problem.theta.values
    implied = Q @ Y.mean(axis=0)
    if not len(values):
        return [implied, line * float(np.sign(line @ left.mean(axis=0)) or 1.0)]
    parts = np.linalg.lstsq(rows @ basis, values, rcond=1e-8)[0]
    return [basis @ parts, basis @ (parts * [-1.0, 1.0, 1.0]), implied]


def _weights(scales: Matrix) -> Matrix:
    """Points of the simplex for a and b."""
    raw = np.column_stack([2.0 * scales[:, 0], np.ones(len(scales)), 2.0 * scales[:, 1]])
    result: Matrix = raw / raw.sum(axis=1, keepdims=True)
    return result


@dataclass(frozen=True, eq=False)
class _State:
    """Returns, a and b of each investor, and what they explain."""

    theta: Vector
    scales: Matrix  # a and b, one row for each investor
    X: Matrix
    slopes: Matrix  # d x / d (cost vector), one n x n slice for each investor
    loss: float

    @classmethod
    def at(cls, problem: Problem, theta: Vector, scales: Matrix, Y: Matrix) -> _State:
        found = forward_solution(forward_arrays(problem, _weights(scales)), problem, theta)
        if found is None:
            raise Infeasible("no portfolio satisfies the constraints; check caps and budget.")
        known: dict[bytes, Matrix] = {}
        slopes = np.empty((len(Y), problem.n, problem.n))
        for i, sides in enumerate(found.sides):
            free = sides[: problem.n] == 0
            key = free.tobytes()
            if key not in known:
                known[key] = _response(problem.quadratic[1] / 2.0, free)
            slopes[i] = known[key]
        X = np.clip(found.X, problem.lower, problem.upper)
        return cls(theta, scales, X, slopes, float(np.sum((Y - X) ** 2)))

    @classmethod
    def first(cls, problem: Problem, theta: Vector, Y: Matrix) -> _State:
        """Each investor at the nearest of many a and b."""
        grid, X = _menu(problem, theta, Y)
        return cls.at(problem, theta, grid[_nearest(X, Y)], Y)

    def placed(self, problem: Problem, Y: Matrix) -> _State:
        """The same, with investors moved whom another a and b explain better."""
        grid, X = _menu(problem, self.theta, Y)
        best = _nearest(X, Y)
        better = np.sum((Y - X[best]) ** 2, axis=1) < np.sum((Y - self.X) ** 2, axis=1)
        scales = np.where(better[:, None], grid[best], self.scales)
        return _State.at(problem, self.theta, scales, Y)

    def parts(self, problem: Problem, Y: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        """Errors, slopes by the returns, and those by a and b (a column each) of each investor."""
        s = -problem.linear0[2]
        nuisance = np.stack([self.slopes @ self.theta, self.slopes @ s], axis=2)
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
        # nobody gives less than nothing for the score: where she would, b stays at zero
        held = (self.scales[:, 1] <= 0.0) & (np.einsum("tn,tn->t", nuisance[:, :, 1], errors) <= 0)
        nuisance[held & bounded, :, 1] = 0.0
        inverse = np.linalg.pinv(nuisance, rcond=1e-8)
        left: Matrix = J - nuisance @ (inverse @ J)
        scores = np.einsum("tnk,tn->tk", left, errors)
        information: Matrix = np.einsum("tnk,tnl->kl", left, J)
        return information, np.asarray(scores), np.asarray(inverse)

    def step(self, problem: Problem, Y: Matrix, damping: float) -> _State:
        """A damped Gauss-Newton step of returns, a and b together."""
        information, scores, inverse = self.normal_equations(problem, Y)
        axes = _axes(problem)
        inner = axes.T @ information @ axes
        size = float(np.trace(inner)) / max(1, len(inner)) or 1.0
        move = axes @ np.linalg.solve(
            inner + (damping + 1e-12) * size * np.eye(len(inner)), axes.T @ scores.sum(axis=0)
        )
        theta = problem.theta.nearest(self.theta + move)
        errors, J, _ = self.parts(problem, Y)
        rest = errors - J @ (theta - self.theta)
        scales = self.scales + np.einsum("tkn,tn->tk", inverse, rest) / (1.0 + damping)
        scales[:, 0] = np.clip(scales[:, 0], 0.3 * self.scales[:, 0], 3.0 * self.scales[:, 0])
        scales = np.maximum(scales, [[LEAST_A, 0.0]])
        moved = _State.at(problem, theta, scales, Y)
        # an investor whom her own step takes away stays where she was, under the new returns
        stayed = _State.at(problem, theta, self.scales, Y)
        worse = np.sum((Y - moved.X) ** 2, axis=1) > np.sum((Y - stayed.X) ** 2, axis=1)
        scales = np.where(worse[:, None], self.scales, scales)
        return _State.at(problem, theta, scales, Y) if worse.any() else moved


def _menu(problem: Problem, theta: Vector, Y: Matrix) -> tuple[Matrix, Matrix]:
    """Many a and b of the size that these returns ask for, and their portfolios."""
    Q, s = problem.quadratic[1] / 2.0, -problem.linear0[2]
    spread = max(float(np.std(theta)), 1e-9 * (1.0 + float(np.abs(theta).max())))
    usual = max(float(np.std(Y @ Q, axis=1).mean()), 1e-12) / spread
    a = usual * np.geomspace(0.02, 50.0, SCALES)
    price = np.linspace(0.0, 3.0, PRICES) * spread / float(np.std(s))
    grid = np.array([(one, one * other) for one in a for other in price])
    found = forward_solution(forward_arrays(problem, _weights(grid)), problem, theta)
    if found is None:
        raise Infeasible("no portfolio satisfies the constraints; check caps and budget.")
    return grid, found.X


def _nearest(X: Matrix, Y: Matrix) -> NDArray[np.int64]:
    squares = np.sum(X**2, axis=1) - 2.0 * Y @ X.T
    return np.asarray(squares.argmin(axis=1))


def _axes(problem: Problem) -> Matrix:
    """Unit directions in which the anchors let returns move, a column each."""
    left, sizes, _ = np.linalg.svd(problem.theta.projector)
    found: Matrix = left[:, sizes > 0.5]
    return found


def _response(Q: Matrix, free: Any) -> Matrix:
    """How free holdings follow a cost vector, the budget kept."""
    found = np.zeros_like(Q)
    if free.sum() > 1:
        inverse = np.linalg.inv(Q[np.ix_(free, free)])
        ones = inverse.sum(axis=0)
        found[np.ix_(free, free)] = inverse - np.outer(ones, ones) / ones.sum()
    return found


def _told(problem: Problem, state: _State, Y: Matrix, certain: bool) -> ScoreFit:
    information, scores, _ = state.normal_equations(problem, Y, bounded=False)
    axes = _axes(problem)
    values, vectors = np.linalg.eigh(axes.T @ information @ axes)
    seen = values > FIXED**2 * max(float(values.max(initial=0.0)), 1e-300)
    basis = axes @ vectors[:, seen]
    bread = basis @ np.diag(1.0 / values[seen]) @ basis.T
    # from the scores' own spread: it assumes nothing of the errors
    errors = np.sqrt(np.maximum(np.diag(bread @ (scores.T @ scores) @ bread), 0.0))
    unseen = axes @ vectors[:, ~seen]
    known = np.abs(unseen).max(axis=1, initial=0.0) < 1e-3
    errors = np.where(known, errors, np.nan)
    r = state.theta
    returns = pd.DataFrame(
        {
            "asset": list(problem.theta_names),
            "estimate": np.where(known, r, np.nan),
            "low": r - CONFIDENT * errors,
            "high": r + CONFIDENT * errors,
        }
    )
    prices = state.scales[:, 1] / state.scales[:, 0]
    weights = _weights(state.scales)
    investors = pd.DataFrame(weights, columns=["return", "risk", "score"])
    investors["price"] = prices
    investors["cost"] = _cost(problem, r, state.X)
    investors["distance"] = np.linalg.norm(Y - state.X, axis=1)
    # where something is open, prices follow the start
    middle = float(np.median(prices)) if seen.all() else np.nan
    half = CONFIDENT * 1.2533 * float(prices.std(ddof=1)) / np.sqrt(len(prices))
    spread = float(np.sum((Y - Y.mean(axis=0)) ** 2))
    explained = 1.0 - state.loss / spread if spread > 0 else 1.0
    return ScoreFit(
        returns, investors, middle, middle - half, middle + half, explained,
        int((~seen).sum()), certain,
    )  # fmt: skip


def _cost(problem: Problem, r: Vector, X: Matrix) -> Vector:
    """Return a year less than the best portfolio of the same risk, without regard to the score."""
    two = portfolio_problem(
        problem.quadratic[1] / 2.0, broadcast(problem.upper, problem.n, "upper"), (-10.0, 10.0)
    )
    _, best = efficient_frontier(two, r).sample(400)
    risks, earned = risk_of(two, best), best @ r
    order = np.argsort(risks)
    found: Vector = np.maximum(0.0, np.interp(risk_of(two, X), risks[order], earned[order]) - X @ r)
    return found
