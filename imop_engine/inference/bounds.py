"""What is known of assets that nobody holds, or that everybody holds at the cap: a bound.

Whoever does not hold asset i believes r_i <= rho_i, the price at which holding it would begin
(prices.py); at the cap it is the other way round. No single investor is believed: a small holding
may be lost among errors, and of many whose lam is measured with errors the one who seems to leave
the asset out at the least price is an extreme. So a return is held against all of them.
At a return r above rho_i an investor would hold lam (r - rho_i) / v of the asset, v being the
variance of the asset less that of what it replaces. The bound is the greatest return at which those
who would hold it do not hold too little, all together, for errors in holdings and in lam. It is
moved outwards, besides, by as much as the returns of the assets that are held are not known, by all
their sources, and by the error of rho_i itself where the covariance comes from a history.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from imop_engine import kernels
from imop_engine.arguments import Matrix, Vector
from imop_engine.inference.bias_simulation import UNSURE_OF_BIAS
from imop_engine.inference.fit import outlier_threshold
from imop_engine.inference.information import ScoreInformation
from imop_engine.inference.prices import Prices
from imop_engine.inference.sources import Sources

# Of an asset's variance that others always leave: with less, a price would say all of two assets
# that are the same but for rounding.
LEAST_OWN_VARIANCE: Final = 1e-6


@dataclass(frozen=True, eq=False)
class Bounds:
    """The bounds that investors give, infinite where there are none, and how many give one."""

    low: Vector
    high: Vector
    investors: Vector


def return_bounds(
    info: ScoreInformation,
    decisions: Sequence[Matrix],
    sources: Sources,
    noise_sd: float,
    level: float,
    rows_of_one: float = 1.0,
) -> Bounds:
    """Bounds on the return of each asset from the investors in whose portfolio it sits at a bound.

    Outliers give no bounds.

    Args:
        info: What the portfolios say at one estimate.
        decisions: One row for each investor: holdings, fractions of wealth that add up to 1. Where
            tilts were taken off, or what is hidden was added, by the estimate itself, both these
            and the reported ones: what says most against a bound counts.
        sources: How far the estimated returns are known, and the covariance.
        noise_sd: Standard deviation of the error in a single holding, in fractions of wealth.
        level: Confidence of each bound, between 0 and 1.
        rows_of_one: Rows of the same investor, on average, which err together.

    Returns:
        The least and the greatest yearly return of each asset, and how many investors say so.
    """
    frontier = info.frontier
    n = frontier.problem.n
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    investors = np.zeros(n)
    distances = info.projection.distances
    usual = distances <= outlier_threshold(distances)
    sure = float(ndtri(level))
    told: dict[tuple[int, bool], list[_Told]] = defaultdict(list)
    for place in info.places:
        rows = place.rows[usual[place.rows] & (info.lams[place.rows] > 0)]
        state = frontier.states[place.segment]
        if rows.size == 0 or not np.any(place.direction):
            continue
        prices, others = Prices.of(info, place), np.setdiff1d(np.arange(n), place.free)
        for i in others[state[others] != kernels.FREE]:
            capped = bool(state[i] == kernels.UPPER)
            held = [Y[rows, i] for Y in decisions]
            told[int(i), capped].append(
                _told(prices, int(i), rows, held, sources.periods, noise_sd)
            )
    for (i, capped), parts in told.items():
        investors[i] += sum(len(part.rho) for part in parts)
        end = _greatest_return(parts, sources, noise_sd, sure, rows_of_one)
        if capped:
            low[i] = -end
        else:
            high[i] = end
    return Bounds(low, high, investors)


@dataclass(frozen=True, eq=False)
class _Told:
    """What the investors at one place say of one asset that they do not hold.

    Of one at its cap everything is turned round: returns are those lost, holdings what is missing.
    """

    rho: Vector  # each investor's price
    gain: Vector  # how much of it would be held for each unit of return above that
    held: Vector  # what is held, errors among it
    own: Vector  # how far lam moves what would be held: its standard error
    history: Vector  # standard error of each price from the covariance, common to all
    pull: Vector  # how far each price follows lam
    weights: Vector  # of the returns in every price, lam staying where it is
    answer: Vector  # how lam answers to the returns

    def slope(self, share: Vector) -> Vector:
        """How the mean price moves with the returns.

        Args:
            share: of each investor in that mean.
        """
        result: Vector = share.sum() * self.weights + float(share @ self.pull) * self.answer
        return result


def _told(
    prices: Prices,
    i: int,
    rows: NDArray[np.int64],
    held: Sequence[Vector],
    periods: float | None,
    noise_sd: float,
) -> _Told:
    """What the investors at one place say of an asset that sits at a bound.

    Args:
        prices: Of this place.
        i: The asset's number.
        rows: Of the investors.
        held: What they hold of it, by each account of it.
        periods: How many the covariance was estimated from; None: it is exact.
        noise_sd: Standard deviation of the error in a single holding, in fractions of wealth.
    """
    info, place = prices.info, prices.place
    problem, free, lam = info.frontier.problem, place.free, info.lams[rows]
    Q = problem.covariance
    rho, c, constant = prices.of_asset(i, lam)
    spare = float(Q[i, i] - 2.0 * (Q[free, i] @ c) + c @ Q[np.ix_(free, free)] @ c)
    spare = max(spare, LEAST_OWN_VARIANCE * float(Q[i, i]))
    own = np.sqrt(prices.lam_variance(noise_sd)) * abs(constant) / (lam * spare)
    history = np.zeros(len(rows))
    if periods is not None:
        # k is a covariance: of the asset less what it replaces, and of what is held
        x = info.projection.points[rows]
        variance = np.einsum("ti,ij,tj->t", x, Q, x)
        history = np.sqrt((spare * variance + constant**2) / max(1.0, periods - 1.0)) / lam
    capped = info.frontier.states[place.segment, i] == kernels.UPPER
    sign, bound = (-1.0, problem.upper[i]) if capped else (1.0, problem.lower[i])
    beyond = np.max([sign * (one - bound) for one in held], axis=0)
    weights, answer = np.zeros(problem.n), np.zeros(problem.n)
    weights[free], answer[free] = sign * c, sign * prices.lam_answer()
    return _Told(
        sign * rho, lam / spare, np.maximum(beyond, 0.0), own, history, constant / lam, weights,
        answer,
    )  # fmt: skip


def _greatest_return(
    parts: Sequence[_Told], sources: Sources, noise_sd: float, sure: float, rows_of_one: float
) -> float:
    """The greatest return that the holdings of all who would hold the asset do not rule out.

    Args:
        parts: What the investors at each place say of it.
        sources: How far the estimated returns are known, and the covariance.
        noise_sd: Standard deviation of the error in a single holding, in fractions of wealth.
        sure: How many standard errors the bound is moved by.
        rows_of_one: Rows of the same investor, on average.
    """
    rho, gain, held, own, history = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("rho", "gain", "held", "own", "history")
    )
    order = np.argsort(rho, kind="stable")
    # who holds it for other reasons makes all the others less sure, too
    size = max(noise_sd**2, float(np.mean(held**2)))
    squares = gain**2
    both = squares * (size + own**2) * rows_of_one
    weight, priced, found, spread = (
        np.cumsum(one[order]) for one in (squares, squares * rho, gain * held, both)
    )
    # by those who would hold it at a return just above each price: what they do not rule out
    ends = (priced + found + sure * np.sqrt(spread)) / weight
    last = int(np.flatnonzero(ends >= rho[order])[-1:].max(initial=0))
    after = rho[order][last + 1] if last + 1 < len(rho) else np.inf
    end = float(min(ends[last], after))
    share = np.zeros(len(rho))
    counted = order[: last + 1]
    share[counted] = squares[counted] / weight[last]
    places = np.split(share, np.cumsum([len(part.rho) for part in parts])[:-1])
    slope = np.sum([part.slope(of) for part, of in zip(parts, places, strict=True)], axis=0)
    bias = float(slope @ sources.bias)
    variance = float(slope @ sources.given_anchors @ slope) + float(share @ history) ** 2
    return end - bias + sure * float(np.sqrt(max(variance, 0.0) + (UNSURE_OF_BIAS * bias) ** 2))
