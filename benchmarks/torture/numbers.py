"""Numbers that break arithmetic: every answer is compared with what it must be, or refused.

Markets of all sizes from 1e-12 to 1e12, covariances that hardly have an inverse or have none,
assets that are the same, that do not vary, or that are alone, returns that tie, numbers so small
that a processor keeps fewer digits of them, and very many portfolios. An answer is right where it
keeps the limits and no other portfolio that is tried does better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import imop_engine as imop
from imop_engine.arguments import Matrix, Vector

from .fuzz import judged
from .verdicts import Trial

RELATIVE: Final = 1e-6  # of the largest number in what is compared
TRIED: Final = 200  # portfolios that must not do better
MANY: Final = 200_000
WEIGHTS: Final = (0.001, 0.2, 0.5, 0.8, 0.999)


class Wrong(Exception):
    """An answer that is none."""


@dataclass(frozen=True, eq=False)
class Market:
    """Returns and covariance, and what is nasty about them."""

    what: str
    returns: Vector
    covariance: Matrix


def markets(count: int, seed: int) -> Iterator[Market]:
    """Nasty markets, in turns of every kind.

    Args:
        count: How many.
        seed: Of the draws.
    """
    kinds = list(KINDS.items())
    for number in range(count):
        name, make = kinds[number % len(kinds)]
        rng = np.random.default_rng([seed, number])
        assets = int(rng.integers(2, 13))
        returns, covariance = make(rng, assets)
        yield Market(f"{name}, {len(returns)} assets, draw {number}", returns, covariance)


def _usual(rng: np.random.Generator, assets: int) -> tuple[Vector, Matrix]:
    factors = rng.normal(size=(assets, 2 * assets))
    return rng.normal(0.06, 0.04, assets), 0.04 * factors @ factors.T / (2 * assets)


def _scaled(low: float, high: float) -> Callable[..., tuple[Vector, Matrix]]:
    def make(rng: np.random.Generator, assets: int) -> tuple[Vector, Matrix]:
        returns, covariance = _usual(rng, assets)
        return returns * 10.0 ** rng.uniform(low, high), covariance * 10.0 ** rng.uniform(low, high)

    return make


def _hardly_invertible(rng: np.random.Generator, assets: int) -> tuple[Vector, Matrix]:
    basis, _ = np.linalg.qr(rng.normal(size=(assets, assets)))
    spread = np.logspace(0.0, -rng.uniform(8.0, 16.0), assets)
    covariance = 0.04 * (basis * spread) @ basis.T
    return rng.normal(0.06, 0.04, assets), 0.5 * (covariance + covariance.T)


def _without_rank(rng: np.random.Generator, assets: int) -> tuple[Vector, Matrix]:
    factors = 0.2 * rng.normal(size=(assets, max(1, assets // 2)))
    return rng.normal(0.06, 0.04, assets), factors @ factors.T


def _ties(rng: np.random.Generator, assets: int) -> tuple[Vector, Matrix]:
    returns, covariance = _usual(rng, assets)
    return np.round(returns, 1), covariance


def _all_the_same(rng: np.random.Generator, assets: int) -> tuple[Vector, Matrix]:
    return np.full(assets, 0.05), 0.04 * np.eye(assets)


def _duplicates(rng: np.random.Generator, assets: int) -> tuple[Vector, Matrix]:
    returns, covariance = _usual(rng, assets)
    twice = np.concatenate([np.arange(assets), rng.integers(0, assets, 2)])
    return returns[twice], covariance[np.ix_(twice, twice)]


def _single(rng: np.random.Generator, assets: int) -> tuple[Vector, Matrix]:
    returns, covariance = _usual(rng, 1)
    return returns, covariance


def _still(rng: np.random.Generator, assets: int) -> tuple[Vector, Matrix]:
    returns, covariance = _usual(rng, assets)
    covariance[0], covariance[:, 0] = 0.0, 0.0
    return returns, covariance


def _nothing_varies(rng: np.random.Generator, assets: int) -> tuple[Vector, Matrix]:
    return rng.normal(0.06, 0.04, assets), np.zeros((assets, assets))


def _denormal(rng: np.random.Generator, assets: int) -> tuple[Vector, Matrix]:
    returns, covariance = _usual(rng, assets)
    tiny = 10.0 ** rng.uniform(-323.0, -290.0)
    return (returns * tiny, covariance) if rng.random() < 0.5 else (returns, covariance * tiny)


def _uneven(rng: np.random.Generator, assets: int) -> tuple[Vector, Matrix]:
    returns, covariance = _usual(rng, assets)
    sizes = 10.0 ** rng.uniform(-6.0, 6.0, assets)
    return returns * sizes, covariance * np.outer(sizes, sizes)


KINDS: Final[dict[str, Callable[[np.random.Generator, int], tuple[Vector, Matrix]]]] = {
    "usual": _usual,
    "tiny": _scaled(-12.0, -4.0),
    "huge": _scaled(4.0, 12.0),
    "of all sizes": _scaled(-12.0, 12.0),
    "hardly invertible": _hardly_invertible,
    "without rank": _without_rank,
    "ties": _ties,
    "all the same": _all_the_same,
    "duplicates": _duplicates,
    "a single asset": _single,
    "an asset that stands still": _still,
    "nothing varies": _nothing_varies,
    "denormal": _denormal,
    "uneven": _uneven,
}


# -- what an answer must be ----------------------------------------------------------------------
def _feasible(portfolios: Any) -> Matrix:
    held = np.atleast_2d(np.asarray(portfolios, dtype=float))
    if not np.isfinite(held).all():
        raise Wrong("holdings that are no numbers")
    if held.size and (np.abs(held.sum(axis=1) - 1.0).max() > RELATIVE or held.min() < -RELATIVE):
        raise Wrong(f"holdings from {held.min()} that sum to {held.sum(axis=1)}")
    return held


def _value(market: Market, weight: float, portfolios: Matrix) -> Vector:
    risk = np.einsum("ti,ij,tj->t", portfolios, market.covariance, portfolios)
    value: Vector = -weight * portfolios @ market.returns + (1.0 - weight) * risk
    return value


def solved(market: Market, rng: np.random.Generator) -> None:
    """Portfolios of several weights, beside others that must not be better."""
    assets = len(market.returns)
    problem = imop.portfolio_problem(market.covariance)
    others = np.vstack([np.eye(assets), rng.dirichlet(np.full(assets, 0.3), TRIED)])
    size = np.abs(market.returns).max() + np.abs(market.covariance).max()
    for weight in WEIGHTS:
        found = _feasible(imop.solve(problem, market.returns, weight))
        worse = _value(market, weight, found)[0] - _value(market, weight, others).min()
        if worse > RELATIVE * size:
            raise Wrong(f"at weight {weight} another portfolio is better by {worse / size:.1e}")


def traced(market: Market, rng: np.random.Generator) -> None:
    """The frontier, whose return and risk rise together, and the nearest point of portfolios."""
    assets = len(market.returns)
    problem = imop.portfolio_problem(market.covariance)
    frontier = imop.efficient_frontier(problem, market.returns)
    points = _feasible(frontier.portfolios)
    variances = np.einsum("ti,ij,tj->t", points, market.covariance, points)
    earned = points @ market.returns
    for rising, given in ((variances, market.covariance), (earned, market.returns)):
        if (np.diff(rising) < -RELATIVE * np.abs(given).max()).any():
            raise Wrong(f"a frontier that goes back: {rising}")
    people = rng.dirichlet(np.full(assets, 0.5), 30)
    near = frontier.project(people)
    if not (np.isfinite(near.weights).all() and np.isfinite(near.distances).all()):
        raise Wrong("weights or distances that are no numbers")
    there = _feasible(near.points)
    if np.abs(np.linalg.norm(people - there, axis=1) - near.distances).max() > RELATIVE:
        raise Wrong("distances that are not those of the points")
    # turning points at weights that investors can have are on the frontier: none may be nearer
    among = points[(frontier.weights >= WEIGHTS[0]) & (frontier.weights <= WEIGHTS[-1])]
    turning = np.linalg.norm(people[:, None] - among[None], axis=2).min(axis=1, initial=np.inf)
    if (near.distances > turning + RELATIVE).any():
        raise Wrong("a turning point that is nearer than the nearest")


def updated(market: Market, rng: np.random.Generator) -> None:
    """One implicit update: its bound below its objective; certified, no worse than not to move."""
    assets = len(market.returns)
    problem = imop.portfolio_problem(market.covariance, bounds=(-1.0, 1.0))
    start = rng.uniform(-0.1, 0.1, assets)
    decision = rng.dirichlet(np.full(assets, 0.5))
    found = imop.implicit_update(problem, start, decision, 0.5, 1.0)
    _feasible(found.x)
    if not (np.isfinite(found.theta).all() and np.isfinite(found.objective)):
        raise Wrong("returns that are no numbers")
    stays = float(np.sum((decision - imop.solve(problem, start, 0.5)) ** 2))
    if found.certified and found.objective > stays + RELATIVE:
        raise Wrong(f"an update to {found.objective} where staying costs {stays}")
    if found.bound > found.objective + RELATIVE:
        raise Wrong(f"a bound of {found.bound} above {found.objective}")


def fitted(market: Market, rng: np.random.Generator) -> None:
    """The convex fit of portfolios on the market's own frontier, and what they leave."""
    assets = len(market.returns)
    returns = market.returns / max(np.abs(market.returns).max(), 1e-300) * 0.1
    known = {0: float(returns[0]), assets - 1: float(returns[-1])}
    problem = imop.portfolio_problem(market.covariance, bounds=(-1.0, 1.0), anchors=known)
    weights = rng.uniform(0.1, 0.9, 40)
    people = _feasible([imop.solve(problem, returns, float(one)) for one in weights])
    found = imop.fit_efficiency(problem, people)
    if not (np.isfinite(found.theta).all() and np.isfinite(found.value)):
        raise Wrong("returns that are no numbers")
    gaps = imop.efficiency(problem, found.theta, people).gaps
    if not np.isfinite(gaps).all() or gaps.min() < -RELATIVE * np.abs(found.theta).max():
        raise Wrong(f"portfolios that earn {-gaps.min()} more than can be earned")


def very_many(seed: int) -> None:
    """A stream of very many portfolios, fitted at once in blocks and as a whole."""
    rng = np.random.default_rng(seed)
    returns, covariance = _usual(rng, 5)
    known = {0: float(returns[0]), 1: float(returns[1])}
    problem = imop.portfolio_problem(covariance, bounds=(-1.0, 1.0), anchors=known)
    frontier = imop.efficient_frontier(problem, returns)
    near = frontier.project(rng.dirichlet(np.full(5, 0.5), MANY))
    people = _feasible(near.points)
    whole = imop.fit_efficiency(problem, people)
    parts = imop.fit_efficiency(problem, np.array_split(people, 7))
    if abs(whole.value - parts.value) > RELATIVE * MANY * np.abs(whole.theta).max():
        raise Wrong(f"blocks that leave {parts.value} where the whole leaves {whole.value}")


PARTS: Final = {"solve": solved, "frontier": traced, "update": updated, "fit": fitted}


def numerical(count: int, seed: int) -> Iterator[Trial]:
    """So many trials: one part of the engine each, on a nasty market each.

    Args:
        count: How many.
        seed: Of the draws.
    """
    parts = list(PARTS.items())
    yield _told("very many portfolios", lambda: very_many(seed))
    drawn = markets(-(-(count - 1) // len(parts)), seed)
    left = count - 1
    for number, market in enumerate(drawn):
        for place, (name, part) in enumerate(parts):
            if left == 0:
                return
            left -= 1
            rng = np.random.default_rng([seed, number, place])
            yield _told(f"{name}: {market.what}", lambda: part(market, rng))  # noqa: B023


def _told(what: str, call: Callable[[], None]) -> Trial:
    trial = judged(what, call)
    if trial.said.startswith(f"{Wrong.__name__}:"):
        return Trial(what, "wrong", trial.said)
    return trial
