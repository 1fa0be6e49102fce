"""The tables behind the charts of a market."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from imop_engine.arguments import Matrix, Vector

AVERAGE: Final = "all assets equally"
# Points per line: a browser draws 20 lines of this many at once, and no eye sees more.
GROWTH_POINTS: Final = 120
# Lines in one chart; beyond this they are a cloud.
GROWTH_ASSETS: Final = 30
CORRELATION_BINS: Final = 40

# Room that labels take, as shares of the chart's width and height on half a laptop's screen.
LETTER, LONGEST, DOT, LINE = 0.03, 0.3, 0.04, 0.05


def assets_table(names: list[str], returns: ArrayLike, covariance: ArrayLike) -> pd.DataFrame:
    """asset, risk and return of each asset on its own, and the label that it has room for.

    Args:
        names: The assets.
        returns: Yearly expected return of each.
        covariance: Of the yearly returns.
    """
    spread: Vector = np.sqrt(np.diag(np.asarray(covariance, dtype=float)))
    table = pd.DataFrame({"asset": names, "risk": spread, "return": np.asarray(returns)})
    return table.assign(label=_labels(names, spread, table["return"].to_numpy(dtype=float)))


def _labels(names: list[str], across: Vector, up: Vector) -> list[str]:
    """The names of dots in a plane, empty where a name would cover another name or a dot."""
    x, y = _unit(across), _unit(up)
    width = np.array([min(LETTER * len(name), LONGEST) + DOT for name in names])
    shown: list[str] = []
    for i, name in enumerate(names):
        beside = (x > x[i]) & (x < x[i] + width[i]) & (np.abs(y - y[i]) < LINE)
        said = np.array([bool(label) for label in shown], dtype=bool)
        before = np.arange(i)[said]
        overlap = (x[before] < x[i] + width[i]) & (x[i] < x[before] + width[before])
        covers = overlap & (np.abs(y[before] - y[i]) < LINE)
        shown.append("" if beside.any() or covers.any() else name)
    return shown


def _unit(values: Vector) -> Vector:
    low, high = float(values.min()), float(values.max())
    return (values - low) / (high - low) if high > low else np.zeros_like(values)


def correlations(names: list[str], covariance: ArrayLike) -> pd.DataFrame:
    """asset, other, correlation: one row for each ordered pair."""
    Q: Matrix = np.asarray(covariance, dtype=float)
    spread = np.sqrt(np.diag(Q))
    scale = np.outer(spread, spread)
    table = np.divide(Q, scale, out=np.zeros_like(Q), where=scale > 0)
    n = len(names)
    return pd.DataFrame(
        {
            "asset": np.repeat(names, n),
            "other": np.tile(names, n),
            "correlation": np.clip(table, -1.0, 1.0).ravel(),
        }
    )


def growth(history: pd.DataFrame) -> pd.DataFrame:
    """date, asset, value: what 1 became, thinned to GROWTH_POINTS dates and GROWTH_ASSETS assets.

    Gaps count as no change. The mean over all assets, rebalanced each period, is AVERAGE.
    """
    filled = history.fillna(0.0)
    shown = filled.iloc[:, :GROWTH_ASSETS].copy()
    shown[AVERAGE] = filled.mean(axis=1)
    value = (1.0 + shown).cumprod()
    keep = np.unique(np.linspace(0, len(value) - 1, min(len(value), GROWTH_POINTS)).astype(int))
    value = value.iloc[keep]
    dates = value.index.to_timestamp() if isinstance(value.index, pd.PeriodIndex) else value.index
    value = value.set_axis(pd.DatetimeIndex(dates, name="date"), axis=0)
    long = value.reset_index().melt("date", var_name="asset", value_name="value")
    # A logarithm has no zero: an asset that lost everything ends there.
    return long[long["value"] > 0].reset_index(drop=True)


def correlation_counts(pairs: pd.DataFrame) -> pd.DataFrame:
    """low, high, count, share: pairs of different assets by their correlation."""
    values = _each_once(pairs)["correlation"].to_numpy(dtype=float)
    count, edges = np.histogram(values, bins=np.linspace(-1.0, 1.0, CORRELATION_BINS + 1))
    share = count / max(1, int(count.sum()))
    return pd.DataFrame({"low": edges[:-1], "high": edges[1:], "count": count, "share": share})


def closest_pairs(pairs: pd.DataFrame, most: int = 50) -> pd.DataFrame:
    """asset, other, correlation: the pairs that move together most, each once.

    Args:
        pairs: As `correlations` makes them.
        most: How many.
    """
    once = _each_once(pairs)
    order = (-once["correlation"].abs()).argsort(kind="stable")
    return once.iloc[order[:most]].reset_index(drop=True)


def _each_once(pairs: pd.DataFrame) -> pd.DataFrame:
    n = round(len(pairs) ** 0.5)
    first, second = np.divmod(np.arange(len(pairs)), n)
    return pairs[first < second].reset_index(drop=True)
