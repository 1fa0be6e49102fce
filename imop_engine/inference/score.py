"""A third objective: what investors believe when they also care for a score of their assets.

Sustainability, liquidity, yield: any number for each asset. An investor weighs return, variance and
score, and so chooses

    x(a, b) = argmin 1/2 x'Qx - (a r + b s)'x,   a = w_1 / (2 w_2),   b = w_3 / (2 w_2) >= 0

over portfolios, as if the expected returns were r + (b / a) s. The price of the score is b / a, the
return a year that the investor gives for a unit of it. All investors are fitted at once, each with
an a and a b.

What portfolios leave open is one direction more than with two objectives: r + c s with all prices
less by c gives the same portfolios. So three anchors are needed: for level, scale, and price
(`score_anchors.py` says what is taken where fewer are known).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from imop_engine.arguments import Anchors, Matrix, Vector, broadcast, psd, vector
from imop_engine.errors import InvalidInput
from imop_engine.frontier import efficient_frontier, risk_of
from imop_engine.inference.score_bias import noise_in, simulated_bias
from imop_engine.inference.score_least_squares import (
    Prices,
    ScoreState,
    at_returns,
    least_squares,
    open_axes,
    weights_of,
)
from imop_engine.inference.score_starts import (
    best_start,
    explained_of_others,
    shuffled,
    starts,
    without_score,
)
from imop_engine.problem import Problem, affine_problem, portfolio_problem
from imop_engine.sentences import score as say

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

    Where the fit explains investors it was not fitted to no better than two objectives, or than
    their average portfolio, it is no result: numbers are NaN, and the sentences say why.

    Attributes:
        returns: asset, estimate, low, high (95 %) of the expected return a year; NaN where open.
        investors: weight of return, risk and score (they add up to one), price of the score
            (return a year for a unit), what the score costs (return a year less than the best
            portfolio of the same risk), distance of the holdings to the explained ones. NaN where
            they follow returns that stay open; weights and cost also where prices are relative.
        price: the median price; NaN where returns and prices stay open.
        price_low, price_high: a 95 % interval of it: over investors, at the estimated returns.
        explained: share of the variation in holdings.
        explained_of_others: the same of investors whom the returns were not fitted to.
        without_score: that share with two objectives, fitted to the same; NaN where there is no
            such fit.
        open: combinations of returns that portfolios and anchors leave open.
        certain: whether the fit ended because nothing improved any more.
        noise_sd: error in a single holding, fractions of wealth.
        bias: what such errors had added to each return, a year; it is taken off.
        relative: whether prices are counted from the average investor's.
        others_as_good: how many of nine scores dealt to the assets at random explain other
            investors at least as well as this one; None where that was not tried.
        shown: whether it is a result.
    """

    returns: pd.DataFrame
    investors: pd.DataFrame
    price: float
    price_low: float
    price_high: float
    explained: float
    explained_of_others: float
    without_score: float
    open: int
    certain: bool
    noise_sd: float
    bias: Vector
    relative: bool
    others_as_good: int | None
    shown: bool

    def sentences(self) -> tuple[str, ...]:
        """What is to be said of it."""
        return say.score_sentences(self)


def fit_score(
    problem: Problem,
    decisions: Any,
    theta0: ArrayLike | None = None,
    *,
    relative: bool = False,
    anchor_covariance: ArrayLike | None = None,
) -> ScoreFit:
    """Fit returns and each investor's weights on return, risk and score.

    Args:
        problem: As `score_problem` makes it.
        decisions: One row for each investor, holdings as fractions of wealth.
        theta0: Where to begin; None begins where marginal risks of the portfolios point, at the
            returns under which the average portfolio is best, and at those that explain the
            portfolios without a score; what explains most is taken.
        relative: Whether a price may be below zero, because it is counted from the average
            investor's; see `score_anchors`.
        anchor_covariance: Of the anchors' values, a row and a column for each in their order;
            None takes them as exact.

    Returns:
        Returns with intervals, investors, the price of the score.
    """
    if problem.p != 3 or problem.program is not None or np.any(problem.linear[1:]):
        raise InvalidInput("fit_score takes a problem of score_problem.")
    Y = problem.check_decisions(decisions)
    if len(Y) < 3:
        raise InvalidInput(f"{len(Y)} investors are too few; give at least three.")
    prices: Prices = "relative" if relative else "from zero"
    baseline = without_score(problem, Y)
    start = (
        best_start(problem, Y, starts(problem, Y, baseline), prices)
        if theta0 is None
        else problem.theta.nearest(problem.check_theta(theta0, "theta0"))
    )
    state, certain = least_squares(problem, Y, ScoreState.first(problem, start, Y, prices))
    noise_sd = noise_in(problem, Y, state)
    known = _Known.of(problem, Y, state)
    bias = np.where(known.fixed, simulated_bias(problem, Y, state, noise_sd), 0.0)
    others = explained_of_others(problem, Y, state.theta, prices)
    alone, as_good = np.nan, None
    if baseline is not None:
        alone = explained_of_others(baseline.problem, Y, baseline.theta, "none")
        own, dealt = shuffled(problem, Y, baseline)
        as_good = int(np.sum(dealt >= own))
    shown = others > max(0.0, alone) if np.isfinite(alone) else others > 0.0
    corrected = problem.theta.nearest(state.theta - bias) if bias.any() else state.theta
    final = at_returns(problem, corrected, Y, prices) if bias.any() else state
    errors = known.errors + bias**2 + _by_anchors(problem, final.theta, anchor_covariance, relative)
    return _told(problem, Y, final, known, np.sqrt(errors), shown, {
        "explained": _explained(state, Y), "explained_of_others": others, "without_score": alone,
        "certain": certain, "noise_sd": noise_sd, "bias": bias, "relative": relative,
        "others_as_good": as_good, "shown": shown,
    })  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Known:
    """Which returns portfolios and anchors fix, with the variance of each over investors."""

    fixed: NDArray[np.bool_]
    errors: Vector
    open: int

    @classmethod
    def of(cls, problem: Problem, Y: Matrix, state: ScoreState) -> _Known:
        information, scores, _ = state.normal_equations(problem, Y, bounded=False)
        axes = open_axes(problem)
        values, vectors = np.linalg.eigh(axes.T @ information @ axes)
        seen = values > FIXED**2 * max(float(values.max(initial=0.0)), 1e-300)
        basis = axes @ vectors[:, seen]
        bread = basis @ np.diag(1.0 / values[seen]) @ basis.T
        unseen = axes @ vectors[:, ~seen]
        fixed = np.abs(unseen).max(axis=1, initial=0.0) < 1e-3
        # from the scores' own spread: it assumes nothing of the errors
        errors = np.maximum(np.diag(bread @ (scores.T @ scores) @ bread), 0.0)
        return cls(fixed, errors, int((~seen).sum()))


def _by_anchors(
    problem: Problem, theta: Vector, covariance: ArrayLike | None, relative: bool
) -> Vector:
    """Variance that the anchors' errors give each return: level, scale and price follow them."""
    if covariance is None:
        return np.zeros(problem.n)
    given = np.asarray(covariance, dtype=float)
    # where prices are relative, the third anchor is where they are counted from, and no estimate
    parts = [theta, np.ones(problem.n)] + ([] if relative else [-problem.linear0[2]])
    basis = np.column_stack(parts)
    rows = problem.theta.equalities[:2] if relative else problem.theta.equalities
    if given.shape != (len(rows), len(rows)):
        raise InvalidInput(
            f"anchor_covariance has the shape {given.shape}; give a row and a column for each of "
            f"the {len(rows)} anchors."
        )
    follows = basis @ np.linalg.pinv(rows @ basis, rcond=1e-8)
    result: Vector = np.einsum("ij,jk,ik->i", follows, given, follows)
    return result


def _explained(state: ScoreState, Y: Matrix) -> float:
    spread = float(np.sum((Y - Y.mean(axis=0)) ** 2))
    return 1.0 - state.loss / spread if spread > 0 else 1.0


def _told(
    problem: Problem,
    Y: Matrix,
    state: ScoreState,
    known: _Known,
    errors: Vector,
    shown: bool,
    about: dict[str, Any],
) -> ScoreFit:
    r = state.theta
    there = known.fixed & shown
    returns = pd.DataFrame(
        {
            "asset": list(problem.theta_names),
            "estimate": np.where(there, r, np.nan),
            "low": np.where(there, r - CONFIDENT * errors, np.nan),
            "high": np.where(there, r + CONFIDENT * errors, np.nan),
        }
    )
    prices = state.scales[:, 1] / state.scales[:, 0]
    investors = pd.DataFrame(weights_of(state.scales), columns=["return", "risk", "score"])
    investors["price"] = prices
    investors["cost"] = _cost(problem, r, state.X)
    investors["distance"] = np.linalg.norm(Y - state.X, axis=1)
    # where something is open, prices follow the start; where the fit is none, so does all of it
    if known.open or not shown:
        investors[["return", "risk", "score", "price", "cost"]] = np.nan
    elif about["relative"]:
        investors[["return", "risk", "score", "cost"]] = np.nan
    middle = float(investors["price"].median())
    half = CONFIDENT * 1.2533 * float(prices.std(ddof=1)) / np.sqrt(len(prices))
    low = middle - half if about["relative"] else max(0.0, middle - half)
    return ScoreFit(
        returns, investors, middle, low if np.isfinite(middle) else np.nan, middle + half,
        open=known.open, **about,
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
