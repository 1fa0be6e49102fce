"""Beliefs read off the first-order conditions, for investors who do not quite agree.

Someone who holds x at the price of risk lam satisfies (Qx)_j = lam r_j - nu where she holds j,
>= where she does not, <= where she is at the cap. Write a = 1 / lam and b = nu / lam: then
u_j = a (Qx)_j + b is the return that she believes in for whatever she holds, and a bound on it for
the rest. Let her beliefs be r_j plus an error of her own with standard deviation tau. Measured in
units of tau, the log-likelihood of all investors,

    sum over held   log a_i - (u_ij - r_j)^2 / 2
  + sum over unheld log Phi(u_ij - r_j)
  + sum over capped log Phi(r_j - u_ij),

is concave in all a_i, b_i and r together (Olsen's form of the censored regression): one maximum,
no start, no weights to assign and no frontier to trace. Shift is open in it, and the scale is that
of the disagreement; anchors turn both into returns a year, and the disagreement into a result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import ImopError
from imop_engine.problem import Problem

MOST_STEPS: Final = 100
SETTLED: Final = 1e-10  # of the likelihood, relative: the last Newton step changes no digit
# Keeps a_i finite for an investor whose few holdings are explained at any price of risk; a
# holding that informs moves the likelihood by a thousand times as much.
RIDGE: Final = 1e-4
LARGEST_CUT: Final = 0.9  # of an investor's a in one step
AT_CAP: Final = 5e-4  # of wealth: files are rounded, and a rounded cap is one
LEAST_HELD: Final = 2  # who holds one asset is explained by any beliefs in which it is good
ROOT_TWO_PI: Final = float(np.sqrt(2.0 * np.pi))
UNHELD_QUANTILE: Final = 0.05  # of what those who do not hold an asset would have to believe


@dataclass(frozen=True, eq=False)
class Positions:
    """Holdings as the first-order conditions see them.

    Args:
        portfolios: one row for each investor, fractions of wealth; tiny holdings are zero.
        held: strictly between zero and the cap.
        capped: at the cap, or in a limit from above that holds.
    """

    portfolios: Matrix
    held: NDArray[np.bool_]
    capped: NDArray[np.bool_]

    @classmethod
    def of(cls, problem: Problem, portfolios: Matrix, tiny: float) -> Positions:
        """Take holdings below `tiny` for errors and give their money to the others.

        Args:
            problem: a portfolio problem; its caps count.
            portfolios: one row for each investor, fractions of wealth.
            tiny: holdings up to this are none, and within this of a cap they are at it.
        """
        kept = np.where(portfolios > tiny, portfolios, 0.0)
        total = kept.sum(axis=1, keepdims=True)
        rescaled = np.where(total > 0.5, kept / np.where(total > 0, total, 1.0), portfolios)
        capped = rescaled >= np.minimum(problem.upper, 1.0) - max(tiny, AT_CAP)
        capped &= (problem.upper < 1.0)[None, :]
        held = (rescaled > problem.lower + (problem.lower > 0.0) * max(tiny, 1e-9)) & ~capped
        for row, level in zip(problem.rows, problem.rhs0, strict=True):
            # a row that holds leaves of each of its assets only which side its belief is on
            holds = rescaled @ row <= level + max(tiny, 1e-9) * np.abs(row).sum()
            pushed = held & holds[:, None] & (row != 0.0)[None, :]
            capped |= pushed & (row < 0.0)[None, :]
            held &= ~pushed
        return cls(rescaled, held, capped)


@dataclass(frozen=True, eq=False)
class BeliefFit:
    """The maximum of the likelihood, in units of the disagreement.

    Args:
        beliefs: the common returns, mean zero, in units of the disagreement.
        prices: a_i, one over the price of risk of each investor, in the same units.
        levels: b_i.
        information: of the beliefs, investors' own numbers profiled out; n x n.
        scores: one row for each investor, zero where she takes no part.
        informed: assets that enough investors hold.
        used: investors who take part.
        converged: whether the maximum was reached.
    """

    beliefs: Vector
    prices: Vector
    levels: Vector
    information: Matrix
    scores: Matrix
    informed: NDArray[np.bool_]
    used: NDArray[np.bool_]
    converged: bool


@dataclass(frozen=True, eq=False)
class AnchoredBeliefs:
    """The same at the shift and scale that the anchors ask for.

    Args:
        theta: yearly expected returns.
        dispersion: standard deviation of beliefs between investors, return a year; negative where
            the anchors have the returns the wrong way round.
        response: how theta moves with the beliefs in units of the disagreement, n x n.
        to_anchors: how theta moves with the anchors' values, n x anchors.
    """

    theta: Vector
    dispersion: float
    response: Matrix
    to_anchors: Matrix


def fit_beliefs(
    problem: Problem,
    positions: Positions,
    counts: Vector | None = None,
    least_holders: int = 1,
    start: BeliefFit | None = None,
) -> BeliefFit:
    """The beliefs that make the holdings most likely.

    Args:
        problem: a portfolio problem.
        positions: what investors hold, do not hold, and hold at the cap.
        counts: how often each investor counts; None: once.
        least_holders: an asset with fewer holders below its cap takes no part; its return is then
            what the most demanding twentieth of those who do not hold it would have to believe at
            least, or of those at the cap at most.
        start: a fit of the same investors under other numbers, to start from; None: none needed.

    Returns:
        The fit; its `beliefs` have mean zero.

    Raises:
        ImopError: fewer than two assets or no investor can take part.
    """
    times = np.ones(len(positions.portfolios)) if counts is None else counts
    informed = (positions.held & (times > 0)[:, None]).sum(axis=0) >= max(1, least_holders)
    used = (positions.held[:, informed].sum(axis=1) >= LEAST_HELD) & (times > 0)
    # at the cap of an asset that hardly anybody holds below it: that says nothing of the others
    used &= ~np.any(positions.held[:, ~informed], axis=1) | (informed.sum() == len(informed))
    told = positions.held[np.ix_(used, informed)].any(axis=0)
    if informed.sum() < 2 or not told.all():
        raise ImopError(
            "no investor holds two assets that others hold too, so nothing can be said of beliefs; "
            "give more portfolios, or portfolios of more than one asset."
        )
    Z = positions.portfolios @ problem.covariance
    Z -= Z[:, informed].mean(axis=1, keepdims=True)
    some = Likelihood(
        Z[np.ix_(used, informed)], positions.held[np.ix_(used, informed)],
        positions.capped[np.ix_(used, informed)], times[used],
    )  # fmt: skip
    found = some.maximum(None if start is None else start.beliefs[informed])
    if not (np.all(np.isfinite(found.r)) and np.all(np.isfinite(found.a))):
        raise ImopError(
            "the first-order conditions of these portfolios have no solution in numbers; give more "
            "portfolios."
        )
    return _completed(found, Z, positions, informed, used, times)


def anchored(problem: Problem, beliefs: Vector) -> AnchoredBeliefs:
    """Beliefs at the shift and scale of the problem's anchors.

    Args:
        problem: a portfolio problem with anchors.
        beliefs: returns up to shift and scale.
    """
    G, values = problem.theta.equalities, problem.theta.values
    design = np.column_stack([G @ beliefs, G.sum(axis=1)])
    solve = np.asarray(np.linalg.pinv(design), dtype=np.float64)
    scale, shift = solve @ values
    basis = np.column_stack([beliefs, np.ones(len(beliefs))])
    response = scale * (np.eye(len(beliefs)) - basis @ solve @ G)
    return AnchoredBeliefs(scale * beliefs + shift, float(scale), response, basis @ solve)


def belief_covariance(fit: BeliefFit, clusters: NDArray[np.int64] | None = None) -> Matrix:
    """Covariance of `fit.beliefs`: the sandwich of information and squared scores.

    Args:
        fit: the maximum.
        clusters: a number for each investor; rows with the same number err together.
    """
    rows = fit.scores
    if clusters is not None:
        sums = np.zeros((int(clusters.max()) + 1, rows.shape[1]))
        np.add.at(sums, clusters, rows)
        rows = sums
    moving = np.any(rows != 0.0, axis=1)
    count = int(moving.sum())
    inflate = count / max(1, count - int(fit.informed.sum()))
    inverse = pseudo_inverse(fit.information, fit.informed)
    result: Matrix = inflate * (inverse @ (rows.T @ rows) @ inverse)
    return result


def pseudo_inverse(information: Matrix, informed: NDArray[np.bool_]) -> Matrix:
    """Inverse of the information among informed assets; shifts, which it knows nothing of, are 0.

    Args:
        information: n x n, zero outside the informed assets.
        informed: which assets count.
    """
    at = np.ix_(informed, informed)
    result = np.zeros_like(information)
    size = float(np.trace(information[at])) / max(1, int(informed.sum()))
    m = int(informed.sum())
    lifted = information[at] + size * (np.ones((m, m)) / m + 1e-12 * np.eye(m))
    result[at] = np.linalg.inv(lifted)
    return result


@dataclass(frozen=True, eq=False)
class _Terms:
    """First and second derivatives at one point, per investor and asset."""

    slope: Matrix  # d log-likelihood / d u
    bend: Matrix  # minus the second derivative


class Likelihood:
    """The concave problem itself, over the investors and assets that take part.

    Args:
        Z: what each holding adds to the risk of its portfolio, by investor and asset.
        held: strictly between zero and the cap.
        capped: at the cap.
        times: how often each investor counts.
        size: the unit of prices; None: the size of Z.
    """

    def __init__(
        self,
        Z: Matrix,
        held: NDArray[np.bool_],
        capped: NDArray[np.bool_],
        times: Vector,
        size: float | None = None,
    ) -> None:
        self.size = (float(np.sqrt(np.mean(Z**2))) or 1.0) if size is None else size
        self.Z = Z / self.size
        self.held, self.times = held, times
        self.sign = np.where(capped, -1.0, 1.0)
        self.count = held.sum(axis=1).astype(float)
        self.last: tuple[tuple[Vector, Vector, Vector], Matrix, Matrix] | None = None

    def _logarithms(self, a: Vector, b: Vector, r: Vector) -> tuple[Matrix, Matrix]:
        """u - r, and the logarithm of Phi of it; kept, as both the value and its slopes ask."""
        at = (a, b, r)
        if self.last is None or any(x is not y for x, y in zip(at, self.last[0], strict=True)):
            U = a[:, None] * self.Z + b[:, None] - r
            self.last = at, U, log_ndtr(self.sign * U)
        return self.last[1], self.last[2]

    def _each(self, a: Vector, b: Vector, r: Vector) -> Vector:
        U, logs = self._logarithms(a, b, r)
        each: Vector = np.where(self.held, -0.5 * U**2, logs).sum(axis=1)
        each += self.count * np.log(a) - 0.5 * RIDGE * a**2
        return each

    def value(self, a: Vector, b: Vector, r: Vector) -> float:
        """Logarithm of the likelihood.

        Args:
            a: of each investor, one over her price of risk.
            b: of each investor, her level.
            r: the common beliefs.
        """
        return float(self.times @ self._each(a, b, r))

    def terms(self, a: Vector, b: Vector, r: Vector) -> _Terms:
        """Its derivatives by what each investor believes of each asset.

        Args:
            a: of each investor, one over her price of risk.
            b: of each investor, her level.
            r: the common beliefs.
        """
        U, logs = self._logarithms(a, b, r)
        V = self.sign * U
        mills = np.exp(-0.5 * V**2 - logs) / ROOT_TWO_PI
        return _Terms(
            np.where(self.held, -U, self.sign * mills),
            np.where(self.held, 1.0, np.maximum(mills * (mills + V), 0.0)),
        )

    def newton(self, a: Vector, b: Vector, terms: _Terms) -> tuple[Matrix, Vector, Any4]:
        """Profile information and gradient of r, and what turns a step of r into one of a, b.

        Args:
            a: of each investor, one over her price of risk.
            b: of each investor, her level.
            terms: the derivatives there.
        """
        g, h, Z, times = terms.slope, terms.bend, self.Z, self.times
        hz = h * Z
        haa = (hz * Z).sum(axis=1) + self.count / a**2 + RIDGE
        hab, hbb = hz.sum(axis=1), h.sum(axis=1)
        det = haa * hbb - hab**2
        ga = (g * Z).sum(axis=1) + self.count / a - RIDGE * a
        gb = g.sum(axis=1)
        # rows of B^-1 C with C the cross derivatives -h z and -h
        xa = (hab / det)[:, None] * h - (hbb / det)[:, None] * hz
        xb = (hab / det)[:, None] * hz - (haa / det)[:, None] * h
        S = np.diag(times @ h) + hz.T @ (times[:, None] * xa) + h.T @ (times[:, None] * xb)
        va, vb = (hbb * ga - hab * gb) / det, (haa * gb - hab * ga) / det
        gradient = -(times @ g) + hz.T @ (times * va) + h.T @ (times * vb)
        return S, gradient, (va, vb, xa, xb)

    def profiled(self, a: Vector, b: Vector, r: Vector) -> tuple[Vector, Vector]:
        """The best a and b of each investor at given beliefs: a concave problem in two numbers.

        Args:
            a: of each investor, one over her price of risk, to begin from.
            b: of each investor, her level.
            r: the common beliefs.
        """
        each = self._each(a, b, r)
        for _ in range(MOST_STEPS):
            _, _, (da, db, _, _) = self.newton(a, b, self.terms(a, b, r))
            da = np.maximum(da, -LARGEST_CUT * a)
            share = np.ones_like(a)
            for _ in range(30):
                new = self._each(a + share * da, b + share * db, r)
                worse = new < each
                if not worse.any():
                    break
                share = np.where(worse, 0.5 * share, share)
            share = np.where(new < each, 0.0, share)  # rounding
            a, b, gained = a + share * da, b + share * db, np.maximum(new - each, 0.0)
            each = np.maximum(new, each)
            if np.all(gained <= SETTLED * (1.0 + np.abs(each))):
                break
        return a, b

    def maximum(self, start: Vector | None) -> _Maximum:
        """The maximum over all three together.

        Args:
            start: beliefs to begin from; None: from what the holdings look like.
        """
        T, m = self.Z.shape
        weights = self.times[:, None] * self.held
        r = (self.Z * weights).sum(axis=0) / weights.sum(axis=0) if start is None else start
        r = r - r.mean()
        r = 3.0 * r / (float(np.std(r)) or 1.0)
        a, b = np.full(T, 3.0), np.zeros(T)
        value, converged, still = self.value(a, b, r), False, 0
        for _ in range(MOST_STEPS):
            S, gradient, (va, vb, xa, xb) = self.newton(a, b, self.terms(a, b, r))
            size = float(np.trace(S)) / m
            dr = np.linalg.solve(S + size * (np.ones((m, m)) / m + 1e-12 * np.eye(m)), gradient)
            da, db = va - xa @ dr, vb - xb @ dr
            da = np.maximum(da, -LARGEST_CUT * a)  # each a stays positive; the next step goes on
            share = 1.0
            while share > 1e-9:
                trial = a + share * da, b + share * db, r + share * dr
                new = self.value(*trial)
                if new >= value:
                    break
                share *= 0.5
            else:
                converged = True  # rounding: nothing is to be gained any more
                break
            a, b, r = trial
            still = still + 1 if new - value <= SETTLED * (1.0 + abs(new)) else 0
            value = new
            if still == 2:  # once may be a short step
                converged = True
                break
        terms = self.terms(a, b, r)
        S, _, _ = self.newton(a, b, terms)
        return _Maximum(a / self.size, b, r, S, -self.times[:, None] * terms.slope, converged)


@dataclass(frozen=True, eq=False)
class _Maximum:
    a: Vector
    b: Vector
    r: Vector
    information: Matrix
    scores: Matrix
    converged: bool


Any4 = tuple[Vector, Vector, Matrix, Matrix]


def _completed(
    found: _Maximum,
    Z: Matrix,
    positions: Positions,
    informed: NDArray[np.bool_],
    used: NDArray[np.bool_],
    times: Vector,
) -> BeliefFit:
    """Over all assets and investors: zeros where they took no part, bounds for unheld assets."""
    T, n = Z.shape
    beliefs = np.zeros(n)
    beliefs[informed] = found.r
    U = found.a[:, None] * Z[used] + found.b[:, None]
    for j in np.flatnonzero(~informed):
        capped = positions.capped[used, j]
        without = ~(positions.held[used, j] | capped)
        if capped.sum() > without.sum():
            beliefs[j] = float(np.quantile(U[capped, j], 1.0 - UNHELD_QUANTILE))
        elif without.any():
            beliefs[j] = float(np.quantile(U[without, j], UNHELD_QUANTILE))
    middle = float(found.r.mean())
    prices, levels, scores = np.full(T, np.nan), np.full(T, np.nan), np.zeros((T, n))
    prices[used], levels[used] = found.a, found.b - middle
    scores[np.ix_(used, informed)] = found.scores
    information = np.zeros((n, n))
    information[np.ix_(informed, informed)] = found.information
    return BeliefFit(
        beliefs - middle, prices, levels, information, scores, informed, used, found.converged
    )


@dataclass(frozen=True, eq=False)
class ProfileScores:
    """What portfolios say of given beliefs, each investor's own numbers adapted to them.

    Args:
        scores: one row for each investor, zero where she takes no part.
        information: sum over investors by lot, lots x n x n.
        prices, levels: a_i and b_i at these beliefs.
    """

    scores: Matrix
    information: NDArray[np.float64]
    prices: Vector
    levels: Vector


def profile_scores(
    problem: Problem,
    positions: Positions,
    fit: BeliefFit,
    beliefs: Vector,
    lots: NDArray[np.int64],
    number: int,
) -> ProfileScores:
    """Scores and information of some investors at beliefs other than the most likely ones.

    Args:
        problem: a portfolio problem.
        positions: what these investors hold; all of them took part in the fit.
        fit: the maximum, cut to these investors: its prices and levels are where theirs begin.
        beliefs: in units of the disagreement.
        lots: a number for each of these investors, from 0.
        number: how many lots there are.
    """
    at, n = fit.informed, problem.n
    Z = positions.portfolios @ problem.covariance
    Z -= Z[:, at].mean(axis=1, keepdims=True)
    count = len(Z)
    some = Likelihood(Z[:, at], positions.held[:, at], positions.capped[:, at], np.ones(count))
    a, b = some.profiled(some.size * fit.prices, fit.levels, beliefs[at])
    terms = some.terms(a, b, beliefs[at])
    scores, total = np.zeros((count, n)), np.zeros((number, n, n))
    scores[:, at] = -terms.slope
    for lot in range(number):
        some.times = (lots == lot).astype(float)
        total[lot][np.ix_(at, at)] = some.newton(a, b, terms)[0]
    return ProfileScores(scores, total, a / some.size, b)
