"""What limits cost: where along the frontier each of them binds, and the return lost to it.

The price of a limit at a portfolio is the return a year that would be had at the same risk if that
limit alone were dropped; the price of all is what would be had with none of them. Prices of single
limits need not add up to that of all: one that is dropped may leave its work to another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from imop_engine import gate
from imop_engine.arguments import Matrix, Vector
from imop_engine.efficiency_gap.measure import efficiency
from imop_engine.frontier import Frontier, efficient_frontier, risk_of
from imop_engine.limits import Limits, LinearLimit
from imop_engine.problem import Problem, portfolio_problem
from imop_engine.sentences import limits as said

POINTS: Final = 60  # along the frontier, turning points besides
# A portfolio this near to a limit is at it: turning points are exact to about 1e-12.
AT_LIMIT: Final = 1e-8


@dataclass(frozen=True, eq=False)
class LimitPrice:
    """One limit along the frontier.

    Args:
        sentence: The limit in words.
        binds: At which points of the frontier it holds with equality.
        prices: Return a year that would be had at the same risk without it, at each point.
    """

    sentence: str
    binds: NDArray[np.bool_]
    prices: Vector


@dataclass(frozen=True, eq=False)
class LimitPrices:
    """What the limits of a problem cost along its frontier.

    Args:
        frontier: With all limits.
        free: Without any.
        weights: Points along the frontier with all limits, by weight on return.
        portfolios: The portfolios there.
        total: Return a year that would be had at the same risk without any limit.
        limits: Each limit by itself.
    """

    frontier: Frontier
    free: Frontier
    weights: Vector
    portfolios: Matrix
    total: Vector
    limits: tuple[LimitPrice, ...]

    @property
    def risks(self) -> Vector:
        """Standard deviation a year at each point."""
        return risk_of(self.frontier.problem, self.portfolios)

    @property
    def returns(self) -> Vector:
        """Expected return a year at each point."""
        earned: Vector = self.portfolios @ self.frontier.theta
        return earned

    def table(self) -> pd.DataFrame:
        """One row for each limit and one for all together, the dearest first.

        Returns:
            limit, binds (whether anywhere), risk_from and risk_to (between which it binds),
            mean_price (over the risks of the frontier) and greatest_price a year, and
            risk_at_greatest.
        """
        risks = self.risks
        rows = [
            _row(one.sentence, one.binds, one.prices, risks)
            for one in sorted(self.limits, key=lambda one: -float(one.prices.max()))
        ]
        together = _row(said.ALL_LIMITS, self._any_binds(), self.total, risks)
        return pd.DataFrame([together, *rows])

    def along(self) -> pd.DataFrame:
        """Every limit at every point: limit, weight, risk, price, binds."""
        every = [
            (said.ALL_LIMITS, self._any_binds(), self.total),
            *((one.sentence, one.binds, one.prices) for one in self.limits),
        ]
        return pd.concat(
            pd.DataFrame(
                {
                    "limit": sentence,
                    "weight": self.weights,
                    "risk": self.risks,
                    "price": prices,
                    "binds": binds,
                }
            )
            for sentence, binds, prices in every
        ).reset_index(drop=True)

    def _any_binds(self) -> NDArray[np.bool_]:
        anywhere = np.zeros(len(self.weights), dtype=bool)
        for one in self.limits:
            anywhere |= one.binds
        return anywhere


@gate.public("imop_engine.limit_prices")
def limit_prices(
    covariance: Matrix, theta: ArrayLike, limits: Limits, names: Sequence[str], points: int = POINTS
) -> LimitPrices:
    """What limits cost if `theta` are the expected returns.

    Args:
        covariance: Yearly covariance of the assets.
        theta: Expected returns a year.
        limits: Caps, floors and limits on what is held together.
        names: The assets.
        points: Along the frontier; turning points come on top.
    """
    labels = tuple(names)
    held = limited_problem(covariance, limits, labels)
    frontier = efficient_frontier(held, theta)
    weights, portfolios = frontier.sample(points)
    free = limited_problem(covariance, Limits(lower=min(limits.lower, 0.0)), labels)
    found = [
        LimitPrice(
            sentence,
            _binds(portfolios, dropped, limits, labels)
            if limit is None
            else np.abs(limit.excess(portfolios, labels)) <= AT_LIMIT,
            efficiency(limited_problem(covariance, dropped, labels), theta, portfolios).gaps,
        )
        for sentence, limit, dropped in _dropped(limits, labels)
    ]
    return LimitPrices(
        frontier,
        efficient_frontier(free, theta),
        weights,
        portfolios,
        efficiency(free, theta, portfolios).gaps,
        tuple(found),
    )


def limited_problem(covariance: Matrix, limits: Limits, names: tuple[str, ...]) -> Problem:
    """The problem of some limits, with expected returns anywhere.

    Args:
        covariance: Yearly covariance of the assets.
        limits: Caps, floors and limits on what is held together.
        names: The assets.
    """
    return portfolio_problem(
        covariance,
        upper=limits.upper_of(names),
        lower=limits.lower_of(names),
        limits=limits.linear,
        names=names,
    )


def _dropped(
    limits: Limits, names: tuple[str, ...]
) -> Iterator[tuple[str, LinearLimit | None, Limits]]:
    """Each limit in words and, where it is no cap or floor, as it is; and all the others.

    Caps of one size are one limit, and floors too.
    """
    for place, limit in enumerate(limits.linear):
        rest = (*limits.linear[:place], *limits.linear[place + 1 :])
        yield limit.sentence, limit, replace(limits, linear=rest)
    if limits.upper < 1.0:
        sentence = said.limit_sentence(said.EVERY_HOLDING, "<=", limits.upper)
        yield sentence, None, replace(limits, upper=1.0)
    if limits.lower > 0.0:
        sentence = said.limit_sentence(said.EVERY_HOLDING, ">=", limits.lower)
        yield sentence, None, replace(limits, lower=0.0)
    for cap, capped in _alike(limits.caps).items():
        rest_of_caps = tuple(one for one in limits.caps if one[1] != cap)
        if cap < 1.0:
            sentence = said.limit_sentence(_whom(capped, names), "<=", cap)
            yield sentence, None, replace(limits, caps=rest_of_caps)
    for floor, floored in _alike(limits.floors).items():
        rest_of_floors = tuple(one for one in limits.floors if one[1] != floor)
        if floor > limits.lower:
            sentence = said.limit_sentence(_whom(floored, names), ">=", floor)
            yield sentence, None, replace(limits, floors=rest_of_floors)


def _alike(bounds: tuple[tuple[str, float], ...]) -> dict[float, list[str]]:
    """The assets of each bound."""
    found: dict[float, list[str]] = {}
    for name, value in bounds:
        found.setdefault(value, []).append(name)
    return found


def _whom(assets: list[str], names: tuple[str, ...]) -> str:
    return said.EVERY_HOLDING if len(assets) == len(names) > 1 else said.each(assets)


def _binds(
    portfolios: Matrix, dropped: Limits, limits: Limits, names: tuple[str, ...]
) -> NDArray[np.bool_]:
    """At which portfolios the bounds that were dropped hold with equality."""
    cap, floor = limits.upper_of(names), limits.lower_of(names)
    capped = (np.abs(portfolios - cap) <= AT_LIMIT) & (cap < dropped.upper_of(names))
    floored = (np.abs(portfolios - floor) <= AT_LIMIT) & (floor > dropped.lower_of(names))
    return np.asarray((capped | floored).any(axis=1), dtype=bool)


def _row(
    sentence: str, binds: NDArray[np.bool_], prices: Vector, risks: Vector
) -> dict[str, object]:
    worst = int(prices.argmax())
    width = float(risks[-1] - risks[0])
    mean = float(np.trapezoid(prices, risks)) / width if width > 0 else float(prices.mean())
    return {
        "limit": sentence,
        "binds": bool(binds.any()),
        "risk_from": float(risks[binds].min()) if binds.any() else np.nan,
        "risk_to": float(risks[binds].max()) if binds.any() else np.nan,
        "mean_price": mean,
        "greatest_price": float(prices[worst]),
        "risk_at_greatest": float(risks[worst]),
    }
