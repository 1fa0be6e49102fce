"""The tables behind the charts: small, aggregated where the data are many, free of any drawing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from imop_engine.frontier import efficient_frontier, risk_of
from imop_engine.problem import Problem

FloatArray = NDArray[np.float64]

# Between two turning points a frontier is a piece of a hyperbola on the risk-return plane;
# this many points in all draw it without visible corners.
CURVE_POINTS: Final = 160
# More dots than this on one plane say nothing more and slow a browser down.
CLOUD_POINTS: Final = 1500
LOSS_POINTS: Final = 120
BIN_WIDTH: Final = 0.05
# Less than half a percent of wealth may be rounding or an error of observation, not a choice.
HELD_FROM: Final = 0.005


def curve(problem: Problem, theta: ArrayLike, series: str) -> pd.DataFrame:
    """One frontier as a table series, weight, risk, return, from least risk to most return.

    Args:
        problem: What is decided, and which theta are possible.
        theta: The unknown parameters; of a portfolio problem the yearly expected return of each
            asset.
        series: What the frontier is called in the legend.
    """
    weights, portfolios = efficient_frontier(problem, theta).sample(CURVE_POINTS)
    return pd.DataFrame(
        {
            "series": series,
            "weight": weights,
            "risk": risk_of(problem, portfolios),
            "return": portfolios @ problem.check_theta(theta),
        }
    )


def cloud(problem: Problem, theta: ArrayLike, portfolios: ArrayLike) -> pd.DataFrame:
    """The investors on the risk-return plane (investor, risk, return), evenly thinned when many.

    Args:
        problem: What is decided, and which theta are possible.
        theta: The unknown parameters; of a portfolio problem the yearly expected return of each
            asset.
        portfolios: Holdings of each investor in a row, fractions of wealth.
    """
    held = np.asarray(portfolios, dtype=np.float64)
    shown = np.unique(np.linspace(0, len(held) - 1, min(len(held), CLOUD_POINTS)).astype(int))
    return pd.DataFrame(
        {
            "investor": shown + 1,
            "risk": risk_of(problem, held[shown]),
            "return": held[shown] @ problem.check_theta(theta),
        }
    )


def weight_edges(grid: int | None) -> FloatArray:
    """Edges of histogram bins on [0, 1], about BIN_WIDTH wide.

    A learner with a grid of K weights can only answer with those, so the edges fall half-way
    between neighbours: an edge on a grid weight would split one answer at random over two bins.
    """
    if grid is None or grid < 2:
        return np.linspace(0.0, 1.0, round(1.0 / BIN_WIDTH) + 1)
    spacing = 1.0 / (grid - 1)
    per_bin = max(1, round(BIN_WIDTH / spacing))
    inner = np.arange(-0.5, grid, per_bin) * spacing
    return np.concatenate([[0.0], inner[(inner > 0.0) & (inner < 1.0)], [1.0]])


def weight_bins(weights: Mapping[str, ArrayLike], edges: ArrayLike) -> pd.DataFrame:
    """Share of investors in each bin (series, low, high, share), for each named set of weights."""
    limits = np.asarray(edges, dtype=np.float64)
    parts = []
    for series, values in weights.items():
        counts, _ = np.histogram(np.asarray(values, dtype=np.float64), bins=limits)
        parts.append(
            pd.DataFrame(
                {
                    "series": series,
                    "low": limits[:-1],
                    "high": limits[1:],
                    "share": counts / max(1, counts.sum()),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def loss_blocks(losses: ArrayLike) -> pd.DataFrame:
    """Mean loss over consecutive blocks of investors (first, last, loss), at most LOSS_POINTS."""
    values = np.asarray(losses, dtype=np.float64)
    if len(values) == 0:
        return pd.DataFrame({"first": [], "last": [], "loss": []}, dtype=np.float64)
    size = -(-len(values) // LOSS_POINTS)
    starts = np.arange(0, len(values), size)
    ends = np.minimum(starts + size, len(values))
    means = np.add.reduceat(values, starts) / (ends - starts)
    return pd.DataFrame({"first": starts + 1, "last": ends, "loss": means})
