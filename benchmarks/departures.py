"""What simulated investors hold and what the file shows of it, one function for each departure.

Each takes a `Scene` and gives a `Sample`. Errors in holdings are independent, normal, of standard
deviation 0.005, cut at zero and rescaled, except where the departure is another kind of error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from imop_engine import efficient_frontier, portfolio_problem
from imop_engine.arguments import Matrix, Vector
from imop_engine.simulate import observe, round_portfolios
from imop_engine.weights import lam_of

from .drawn_markets import TrueMarket

ERROR: Final = 0.005

CASH: Final = "Cash"
CASH_VOLATILITY: Final = 0.005
CASH_RETURN: Final = 0.02
LEAST_SEEN: Final = 0.05  # an investor with less than this outside cash is in nobody's file

CHANGE_OF_WEIGHT: Final = 0.05  # sd, from one date to another


@dataclass(frozen=True, eq=False)
class Scene:
    """A market, the weights of its investors, and where random numbers come from."""

    market: TrueMarket
    weights: Vector
    rng: np.random.Generator

    @property
    def count(self) -> int:
        """How many investors there are."""
        return len(self.weights)


@dataclass(frozen=True, eq=False)
class Sample:
    """What investors hold in truth and what is seen of it, a row each.

    `efficient` is what each would hold on the true frontier at her weight, `holdings` what the file
    shows, `contaminated` who takes no part in the model at all, `investor` whose row it is and
    `date` the number of its date where there are several. `mandates` are limits that the analyst
    knows, and `labels` whose are which; the one label "" means everybody's.
    """

    market: TrueMarket
    weights: Vector
    efficient: Matrix
    holdings: Matrix
    contaminated: NDArray[np.bool_]
    investor: NDArray[np.int64]
    date: NDArray[np.int64] | None = field(default=None)
    mandates: Mapping[str, dict[str, Any]] | None = None
    labels: NDArray[np.str_] | None = None


Departure = Callable[[Scene], Sample]
Draw = Callable[[Scene, int], Matrix]  # that many portfolios


def _sample(
    scene: Scene, holdings: Matrix, contaminated: NDArray[np.bool_] | None = None
) -> Sample:
    nobody = np.zeros(scene.count, dtype=bool)
    return Sample(
        scene.market,
        scene.weights,
        scene.market.frontier.at(scene.weights),
        holdings,
        nobody if contaminated is None else contaminated,
        np.arange(scene.count),
    )


def rescaled(holdings: Matrix) -> Matrix:
    """Each portfolio divided by its sum.

    Args:
        holdings: One portfolio in each row.
    """
    result: Matrix = holdings / holdings.sum(axis=1, keepdims=True)
    return result


def with_errors(holdings: Matrix, rng: np.random.Generator, sd: float = ERROR) -> Matrix:
    """Independent normal errors, cut at zero and rescaled.

    Args:
        holdings: One portfolio in each row.
        rng: Where random numbers come from.
        sd: Of the error in one holding.
    """
    return rescaled(np.maximum(holdings + rng.normal(0.0, sd, holdings.shape), 0.0))


def clean(scene: Scene) -> Sample:
    """Everybody on the frontier."""
    return _sample(scene, with_errors(scene.market.frontier.at(scene.weights), scene.rng))


def own_beliefs(scene: Scene, sd: float) -> Sample:
    """Each investor believes in returns of her own, the truth plus a normal error."""
    market = scene.market
    beliefs = market.returns + scene.rng.normal(0.0, sd, (scene.count, market.returns.size))
    held = [
        efficient_frontier(market.problem, r).at(w)
        for r, w in zip(beliefs, scene.weights, strict=True)
    ]
    return _sample(scene, with_errors(np.array(held), scene.rng))


def own_covariance(scene: Scene, months: int) -> Sample:
    """Each investor uses the covariance of a history of her own."""
    market, rng = scene.market, scene.rng
    root = np.linalg.cholesky(market.covariance)
    held = []
    for weight in scene.weights:
        shocks = rng.standard_normal((months, market.returns.size)) @ root.T
        own = portfolio_problem(np.cov(shocks, rowvar=False))
        held.append(efficient_frontier(own, market.returns).at(weight))
    return _sample(scene, with_errors(np.array(held), rng))


def strangers(scene: Scene, share: float, draw: Draw) -> Sample:
    """A share of the investors holds something else, whatever they prefer."""
    who = scene.rng.permutation(scene.count) < round(share * scene.count)
    held = np.array(scene.market.frontier.at(scene.weights))
    held[who] = draw(scene, int(who.sum()))
    return _sample(scene, with_errors(held, scene.rng), who)


def random_portfolios(scene: Scene, count: int) -> Matrix:
    """Each uniform on the simplex."""
    return scene.rng.dirichlet(np.ones(scene.market.returns.size), count)


def even_portfolios(scene: Scene, count: int) -> Matrix:
    """1/n in each asset."""
    n = scene.market.returns.size
    return np.full((count, n), 1.0 / n)


def index_portfolios(scene: Scene, count: int) -> Matrix:
    """One portfolio for all, with log-normal shares as those of capitalisations."""
    sizes = np.exp(scene.rng.standard_normal(scene.market.returns.size))
    return np.tile(sizes / sizes.sum(), (count, 1))


def lognormal_errors(scene: Scene, sd: float) -> Sample:
    """Holdings are multiplied by log-normal errors and rescaled; what is not held stays so."""
    held = scene.market.frontier.at(scene.weights)
    return _sample(scene, rescaled(held * np.exp(scene.rng.normal(0.0, sd, held.shape))))


def dirichlet_errors(scene: Scene, sd: float) -> Sample:
    """Holdings are drawn around the efficient ones; one of a half has that standard deviation."""
    market, w = scene.market, scene.weights
    held = market.frontier.at(w)
    seen = observe(market.problem, market.returns, w, held, "dirichlet", sd, scene.rng)
    return _sample(scene, seen)


def rounded(scene: Scene, step: float) -> Sample:
    """Holdings are reported in steps."""
    seen = clean(scene)
    return _sample(scene, round_portfolios(seen.holdings, step))


def small_dropped(scene: Scene, least: float) -> Sample:
    """Holdings below some size are left out and the others rescaled."""
    held = clean(scene).holdings
    return _sample(scene, rescaled(np.where(held < least, 0.0, held)))


def largest_only(scene: Scene, count: int) -> Sample:
    """Only the largest holdings of each investor are reported, rescaled."""
    held = clean(scene).holdings
    order = np.argsort(-held, axis=1, kind="stable")
    kept = np.zeros_like(held)
    np.put_along_axis(kept, order[:, :count], 1.0, axis=1)
    return _sample(scene, rescaled(held * kept))


def caps_differ(scene: Scene, low: float, high: float) -> Sample:
    """Each investor has a cap of her own on every holding."""
    return _capped(scene, scene.rng.uniform(low, high, scene.count))


def half_capped(scene: Scene, cap: float) -> Sample:
    """Half of the investors have a cap on every holding."""
    half = scene.rng.permutation(scene.count) < scene.count // 2
    return _capped(scene, np.where(half, cap, 1.0))


def _capped(scene: Scene, caps: Vector) -> Sample:
    market = scene.market
    held = np.array(market.frontier.at(scene.weights))
    for i in np.flatnonzero(held.max(axis=1) > caps):
        own = portfolio_problem(market.covariance, upper=float(caps[i]))
        held[i] = efficient_frontier(own, market.returns).at(scene.weights[i])
    return _sample(scene, with_errors(held, scene.rng))


def cash_unseen(scene: Scene) -> Sample:
    """Investors choose among the assets and cash; the file leaves the cash out and rescales.

    Cash earns what makes it attractive to half of them, the cautious ones: their assets are then
    all one portfolio, and differ by how much of it they hold.
    """
    market, rng = scene.market, scene.rng
    middle = float(np.median(scene.weights))
    held = market.frontier.at(middle)
    first = int(np.argmax(held))
    rate = market.returns[first] - market.covariance[first] @ held / float(lam_of(middle))
    both = with_cash(market, rate)
    seen = with_errors(both.frontier.at(scene.weights), rng)
    outside = seen[:, :-1].sum(axis=1)
    kept = outside >= LEAST_SEEN
    there = Scene(market, scene.weights[kept], rng)
    return _sample(there, rescaled(seen[kept, :-1]))


def cash_sleeve(scene: Scene, most: float) -> Sample:
    """Investors keep up to a share in cash whatever they prefer; the file shows it as an asset."""
    market, rng = scene.market, scene.rng
    sleeve = rng.uniform(0.0, most, scene.count)[:, None]
    held = np.hstack([(1.0 - sleeve) * market.frontier.at(scene.weights), sleeve])
    there = Scene(with_cash(market, CASH_RETURN), scene.weights, rng)
    return _sample(there, with_errors(held, rng))


def with_cash(market: TrueMarket, rate: float) -> TrueMarket:
    """The market with cash as its last asset, of little risk and no correlation.

    Args:
        market: The other assets.
        rate: What cash earns in a year.
    """
    n = market.returns.size
    covariance = np.zeros((n + 1, n + 1))
    covariance[:n, :n] = market.covariance
    covariance[n, n] = CASH_VOLATILITY**2
    return TrueMarket(
        market.name, (*market.names, CASH), np.append(market.returns, rate), covariance
    )


def home_tilt(scene: Scene, share: float) -> Sample:
    """Everybody shifts a share of wealth into the same asset."""
    held = (1.0 - share) * scene.market.frontier.at(scene.weights)
    held[:, scene.rng.integers(held.shape[1])] += share
    return _sample(scene, with_errors(held, scene.rng))


def tilt_over_dates(scene: Scene, sd: float, dates: int) -> Sample:
    """Each investor has a tilt of her own in every asset, the same at each date."""
    market, rng = scene.market, scene.rng
    n = market.returns.size
    tilt = np.repeat(rng.normal(0.0, sd, (scene.count, n)), dates, axis=0)
    moved = np.repeat(scene.weights, dates) + rng.normal(0.0, CHANGE_OF_WEIGHT, len(tilt))
    weights = np.clip(moved, 0.0, 1.0)
    efficient = market.frontier.at(weights)
    investor = np.repeat(np.arange(scene.count), dates)
    seen = with_errors(np.maximum(efficient + tilt, 0.0), rng)
    nobody = np.zeros(len(tilt), dtype=bool)
    date = np.tile(np.arange(dates), scene.count)
    return Sample(market, weights, efficient, seen, nobody, investor, date)
