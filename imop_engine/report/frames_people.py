"""The tables behind the charts of investors: counted where they are many, paged where listed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from imop_engine.arguments import Vector
from imop_engine.frontier import Frontier, risk_of
from imop_engine.inference.attribute_groups import numbers_of
from imop_engine.problem import Problem
from imop_engine.report.frames import HELD_FROM, weight_edges
from imop_engine.sentences import investors as say
from imop_engine.study.outcome import OUTLIERS

Flags = NDArray[np.bool_]

# Cells of the risk-return plane along each side: fine enough to show the shape of a cloud.
CELLS: Final = 48
# An attribute with more values than this is no filter but a name.
MOST_VALUES: Final = 30
# Bins of a histogram that is not on a weight grid.
BINS: Final = 30
# Infinite risk aversion (weight 0) is drawn at this value, beyond anything observed in practice.
MOST_AVERSION: Final = 1000.0
LEAST_AVERSION: Final = 0.01


def points(problem: Problem, theta: ArrayLike, portfolios: pd.DataFrame) -> pd.DataFrame:
    """investor, risk and return of each portfolio under beliefs theta.

    Args:
        problem: What is decided, and which theta are possible.
        theta: The unknown parameters; of a portfolio problem the yearly expected return of each
            asset.
        portfolios: Holdings of each investor in a row, fractions of wealth; the index names her.
    """
    held = portfolios.to_numpy(dtype=float)
    return pd.DataFrame(
        {
            "investor": portfolios.index.astype(str),
            "risk": risk_of(problem, held),
            "return": held @ problem.check_theta(theta),
        }
    )


def projections(frontier: Frontier, portfolios: pd.DataFrame, most: int) -> pd.DataFrame:
    """investor, risk, return of some portfolios; risk_to, return_to of the nearest efficient.

    Args:
        frontier: The estimated one.
        portfolios: Holdings of each investor in a row, fractions of wealth; the index names her.
        most: How many rows at most, evenly chosen.
    """
    some = thinned(portfolios, most)
    nearest = frontier.project(some).points
    table = points(frontier.problem, frontier.theta, some)
    return table.assign(
        risk_to=risk_of(frontier.problem, nearest), return_to=nearest @ frontier.theta
    )


def cells(problem: Problem, theta: ArrayLike, portfolios: pd.DataFrame) -> pd.DataFrame:
    """Investors counted in cells of the risk-return plane, empty cells left out.

    Args:
        problem: What is decided, and which theta are possible.
        theta: The unknown parameters; of a portfolio problem the yearly expected return of each
            asset.
        portfolios: Holdings of each investor in a row, fractions of wealth.

    Returns:
        risk, risk_to, return, return_to and count of each cell.
    """
    held = portfolios.to_numpy(dtype=float)
    risk, gain = risk_of(problem, held), held @ problem.check_theta(theta)
    count, x, y = np.histogram2d(risk, gain, bins=CELLS)
    i, j = np.nonzero(count)
    return pd.DataFrame(
        {
            "risk": x[i],
            "risk_to": x[i + 1],
            "return": y[j],
            "return_to": y[j + 1],
            "count": count[i, j].astype(int),
        }
    )


def average_holdings(portfolios: pd.DataFrame) -> pd.DataFrame:
    """asset, share of the average portfolio, and share of investors who hold it."""
    held = portfolios.to_numpy(dtype=float)
    return pd.DataFrame(
        {
            "asset": [str(name) for name in portfolios.columns],
            "share": held.mean(axis=0),
            "held_by": (held >= HELD_FROM).mean(axis=0),
        }
    )


def composition(
    portfolios: pd.DataFrame, investor: str, explained: Vector | None = None
) -> pd.DataFrame | None:
    """asset and held (and explained) of one investor, the largest first; None: no such investor.

    Args:
        portfolios: Holdings of each investor in a row, fractions of wealth; the index names her.
        investor: Her name.
        explained: The nearest efficient portfolio; None leaves that column out.
    """
    found = np.flatnonzero(portfolios.index.astype(str) == investor)
    if not len(found):
        return None
    held = portfolios.iloc[int(found[-1])].to_numpy(dtype=float)
    table = pd.DataFrame({"asset": [str(name) for name in portfolios.columns], "held": held})
    if explained is not None:
        table["explained"] = explained
    return table.sort_values("held", ascending=False, kind="stable", ignore_index=True)


def categories(attributes: pd.DataFrame) -> dict[str, list[str]]:
    """The columns with few values, and those values as text."""
    out: dict[str, list[str]] = {}
    for name in attributes.columns:
        values = attributes[name].dropna().unique()
        if 1 < len(values) <= MOST_VALUES:
            # a date without its midnight, as `passing` compares it
            out[str(name)] = sorted(pd.Series(values).astype(str))
    return out


def passing(attributes: pd.DataFrame, chosen: Mapping[str, Sequence[str]]) -> Flags:
    """Which investors have one of the chosen values in every chosen attribute."""
    keep = np.ones(len(attributes), dtype=bool)
    for name, values in chosen.items():
        if values and name in attributes.columns:
            keep &= attributes[name].astype(str).isin(list(values)).to_numpy()
    return keep


def search(
    attributes: pd.DataFrame, names: pd.Index[Any], chosen: Mapping[str, Sequence[str]], part: str
) -> NDArray[np.int64]:
    """Positions of the investors that pass the filter and whose name contains `part`.

    Args:
        attributes: One row for each investor.
        names: Of the investors, in the same order.
        chosen: The values that pass, by attribute; an attribute without any passes all.
        part: What the name must contain, in upper or lower case; "" passes all.

    Returns:
        Row numbers from 0.
    """
    keep = passing(attributes, chosen)
    if part.strip():
        found = pd.Series(names.astype(str)).str.contains(part.strip(), case=False, regex=False)
        keep &= found.to_numpy(dtype=bool)
    return np.flatnonzero(keep)


def page(
    portfolios: pd.DataFrame,
    attributes: pd.DataFrame,
    rows: NDArray[np.int64],
    number: int,
    size: int,
) -> pd.DataFrame:
    """One page of portfolios with their attributes; holdings in percent.

    Args:
        portfolios: Holdings of each investor in a row, fractions of wealth.
        attributes: One row for each investor, in the same order.
        rows: The row numbers that are listed, from 0.
        number: Which page of them, from 0.
        size: How many rows a page has.
    """
    part = rows[number * size : (number + 1) * size]
    table = 100.0 * portfolios.iloc[part]
    known = attributes.iloc[part]
    for at, name in enumerate(known.columns):
        label = str(name) if str(name) not in table.columns else f"{name} (attribute)"
        table.insert(at, label, known[name].to_numpy())
    table.insert(0, "investor", portfolios.index[part].astype(str))
    return table.reset_index(drop=True)


def weight_histogram(weights: ArrayLike, grid: int | None = None) -> pd.DataFrame:
    """low, high, count and share of investors by weight."""
    return _histogram(np.asarray(weights, dtype=float), weight_edges(grid))


def aversion_histogram(aversion: ArrayLike) -> pd.DataFrame:
    """low, high, count and share of investors by risk aversion, in bins of equal ratio."""
    values = np.clip(np.asarray(aversion, dtype=float), LEAST_AVERSION, MOST_AVERSION)
    low, high = float(values.min()), float(values.max())
    edges = np.geomspace(low * 0.999, max(high, low * 1.01) * 1.001, BINS + 1)
    return _histogram(values, edges)


def _histogram(values: Vector, edges: Vector) -> pd.DataFrame:
    count, _ = np.histogram(values, bins=edges)
    return pd.DataFrame(
        {
            "low": edges[:-1],
            "high": edges[1:],
            "count": count,
            "share": count / max(1, int(count.sum())),
        }
    )


def fitted_curve(bins: pd.DataFrame, cdf: Any) -> pd.DataFrame:
    """value and share: what a fitted family expects in a bin around each value."""
    width = float((bins["high"] - bins["low"]).median())
    value = np.linspace(0.0, 1.0, 121)
    low, high = np.clip(value - width / 2, 0, 1), np.clip(value + width / 2, 0, 1)
    # Towards the ends only part of the bin lies inside; scaled as if all of it did.
    share = (cdf(high) - cdf(low)) * width / np.maximum(high - low, 1e-12)
    return pd.DataFrame({"value": value, "share": share})


def distance_histogram(distances: ArrayLike, threshold: float) -> pd.DataFrame:
    """low, high, count and outlier: distances from the frontier, with an edge at the threshold."""
    values = np.asarray(distances, dtype=float)
    top = max(float(values.max(initial=0.0)), threshold) * 1.0001
    step = threshold / max(1, round(BINS * threshold / top))
    edges = np.arange(0.0, top + step, step)
    table = _histogram(values, edges).drop(columns="share")
    return table.assign(outlier=table["low"] >= threshold - step / 1000)


def between(values: ArrayLike, low: float, high: float) -> Flags:
    """Which values lie in an interval that somebody brushed.

    Args:
        values: Any numbers.
        low: The least that is inside.
        high: The greatest that is inside.
    """
    array = np.asarray(values, dtype=float)
    return (array >= low) & (array <= high)


def brushed(bins: pd.DataFrame, low: float, high: float) -> tuple[float, float] | None:
    """The ends of the bars whose middle was brushed; None where no bar's is.

    Args:
        bins: With low and high, in order.
        low: Where the brush begins.
        high: Where it ends.
    """
    middle = (bins["low"] + bins["high"]) / 2
    inside = bins[(middle >= low) & (middle <= high)]
    if inside.empty:
        return None
    return float(inside["low"].iloc[0]), float(inside["high"].iloc[-1])


def with_outside(bins: pd.DataFrame, bars: tuple[float, float]) -> tuple[float, float]:
    """The same ends without a limit where the outermost bar is among them.

    Args:
        bins: With low and high, in order; what lies beyond is counted in the outermost.
        bars: The ends of those that were chosen.
    """
    low = -np.inf if bars[0] <= float(bins["low"].iloc[0]) else bars[0]
    high = np.inf if bars[1] >= float(bins["high"].iloc[-1]) else bars[1]
    return low, high


def thinned(table: pd.DataFrame, most: int, first: Flags | None = None) -> pd.DataFrame:
    """At most `most` rows, evenly spread; up to half of them are those flagged.

    Args:
        table: Any rows.
        most: How many to keep at most.
        first: Which rows to prefer; None prefers none.

    Returns:
        The chosen rows in their order.
    """
    if len(table) <= most:
        return table
    if first is None:
        keep = np.unique(np.linspace(0, len(table) - 1, most).astype(int))
        return table.iloc[keep]
    flagged, rest = np.flatnonzero(first), np.flatnonzero(~first)
    half = most // 2
    a = flagged[np.unique(np.linspace(0, len(flagged) - 1, min(len(flagged), half)).astype(int))]
    room = most - len(a)
    b = rest[np.unique(np.linspace(0, len(rest) - 1, min(len(rest), room)).astype(int))]
    return table.iloc[np.sort(np.concatenate([a, b]))]


def segment_names(attributes: pd.DataFrame) -> tuple[str, ...]:
    """The attributes by which groups can be compared: few values, or numbers to be cut."""
    few = categories(attributes)
    return tuple(
        str(name)
        for name in attributes.columns
        if str(name) in few
        or (
            pd.api.types.is_numeric_dtype(numbers_of(attributes[name]))
            and attributes[name].nunique() > 1
        )
    )


def chosen_said(investors: pd.DataFrame, flags: Flags) -> str:
    """How many investors were chosen and what is typical of them, in a sentence."""
    count = int(flags.sum())
    if count == 0:
        return say.everybody(len(investors))
    part = investors[flags]
    weight, aversion = (float(part[name].median()) for name in ("weight", "risk_aversion"))
    return say.chosen_investors(count, len(investors), weight, aversion)


def investor_said(row: pd.Series[Any]) -> str:
    """One investor's preference in a sentence."""
    low, high = row.get("weight_low", np.nan), row.get("weight_high", np.nan)
    known = np.isfinite(low) and np.isfinite(high)
    return say.investor_sentence(
        float(row["weight"]),
        (float(low), float(high)) if known else None,
        float(row["risk_aversion"]),
        float(row["distance"]),
        row["status"] in OUTLIERS,
    )
