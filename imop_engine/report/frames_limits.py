"""The tables behind charts of limits: frontiers with and without, where each binds, its price."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from imop_engine.frontier import Frontier, risk_of
from imop_engine.limit_prices import LimitPrices
from imop_engine.sentences.limits import ALL_LIMITS

WITH: Final = "with limits"
WITHOUT: Final = "without limits"
CURVE_POINTS: Final = 200
POINTS: Final = 1e4  # basis points in a return of 1
# A price below this is rounding: a hundredth of a basis point.
LEAST_PRICE: Final = 1e-6
# Limits in one picture; the dearest of them.
LIMITS_SHOWN: Final = 5


def limit_curves(prices: LimitPrices) -> pd.DataFrame:
    """Both frontiers: series, weight, risk and return."""
    return pd.concat(
        [_curve(prices.frontier, WITH), _curve(prices.free, WITHOUT)], ignore_index=True
    )


def price_lines(prices: LimitPrices, most: int = LIMITS_SHOWN) -> pd.DataFrame:
    """The price of the dearest limits along the frontier.

    Args:
        prices: What limits cost.
        most: How many limits at most; all together come on top where there are several.

    Returns:
        limit, risk, price and points (the price in basis points), the dearest limit first.
    """
    along = prices.along()
    greatest = along.groupby("limit", sort=False)["price"].max()
    if len(greatest) <= 2:  # a single limit costs what all together do
        greatest = greatest.drop(ALL_LIMITS)
    dearest = greatest[greatest > LEAST_PRICE].sort_values(ascending=False, kind="stable")
    shown = list(dearest.index[: most + 1])
    found = along[along["limit"].isin(shown)].copy()
    found["order"] = found["limit"].map({limit: place for place, limit in enumerate(shown)})
    found["points"] = POINTS * found["price"]
    return found.sort_values(["order", "risk"], kind="stable").reset_index(drop=True)


def binding_stretches(prices: LimitPrices) -> pd.DataFrame:
    """Where along the frontier each limit binds: one row for each stretch of it.

    Returns:
        limit, risk_from, risk_to, weight_from and weight_to; limits that bind nowhere have no row.
    """
    rows = []
    risks = prices.risks
    for one in prices.limits:
        edges = np.flatnonzero(np.diff(np.concatenate([[0], one.binds.astype(np.int8), [0]])))
        for first, beyond in zip(edges[::2], edges[1::2], strict=True):
            rows.append(
                {
                    "limit": one.sentence,
                    "risk_from": float(risks[first]),
                    "risk_to": float(risks[beyond - 1]),
                    "weight_from": float(prices.weights[first]),
                    "weight_to": float(prices.weights[beyond - 1]),
                }
            )
    columns = ["limit", "risk_from", "risk_to", "weight_from", "weight_to"]
    return pd.DataFrame(rows, columns=columns)


def _curve(frontier: Frontier, series: str) -> pd.DataFrame:
    weights, portfolios = frontier.sample(CURVE_POINTS)
    return pd.DataFrame(
        {
            "series": series,
            "weight": weights,
            "risk": risk_of(frontier.problem, portfolios),
            "return": portfolios @ frontier.theta,
        }
    )
