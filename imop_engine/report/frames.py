"""The tables behind the charts: small, aggregated where the data are many, free of any drawing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from imop_engine.frontier import efficient_frontier
from imop_engine.problem import Problem

FloatArray = NDArray[np.float64]

# Between two turning points a frontier is a piece of a hyperbola on the risk-return plane;
# this many points in all draw it without visible corners.
CURVE_POINTS: Final = 160
# More dots than this on one plane say nothing more and slow a browser down.
CLOUD_POINTS: Final = 1500
LOSS_POINTS: Final = 120
BIN_WIDTH: Final = 0.05


def curve(problem: Problem, theta: ArrayLike, series: str) -> pd.DataFrame:
    """One frontier as a table series, weight, risk, return, from least risk to most return."""
    frontier = efficient_frontier(problem, theta)
    weights = np.unique(np.concatenate([frontier.weights, np.linspace(0.0, 1.0, CURVE_POINTS)]))
    portfolios = frontier.at(weights)
    risk, earned = risk_and_return(problem, theta, portfolios)
    table = pd.DataFrame({"series": series, "weight": weights, "risk": risk, "return": earned})
    # A wide range of weights ends at the same corner portfolio; one point there is enough.
    return table[~table.duplicated(["risk", "return"])].reset_index(drop=True)


def cloud(problem: Problem, theta: ArrayLike, portfolios: ArrayLike) -> pd.DataFrame:
    """The investors on the risk-return plane (investor, risk, return), evenly thinned when many."""
    held = np.asarray(portfolios, dtype=np.float64)
    shown = np.unique(np.linspace(0, len(held) - 1, min(len(held), CLOUD_POINTS)).astype(int))
    risk, earned = risk_and_return(problem, theta, held[shown])
    return pd.DataFrame({"investor": shown + 1, "risk": risk, "return": earned})


def risk_and_return(
    problem: Problem, theta: ArrayLike, portfolios: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Standard deviation and expected return of each portfolio (one per row)."""
    held = np.asarray(portfolios, dtype=np.float64)
    variance = np.einsum("ij,jk,ik->i", held, problem.covariance, held)
    return np.sqrt(np.maximum(variance, 0.0)), held @ np.asarray(theta, dtype=np.float64)


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
