"""The tables behind the pictures of three objectives: the triangle of weights, cuts, costs.

A weight on return, risk or score depends on the units of the score: the same scores in hundredths
have a hundredth of the weight. So pictures show weights times the range of each objective over the
efficient portfolios, divided by their sum, in which units do not matter.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from imop_engine.frontier import efficient_frontier, risk_of
from imop_engine.inference.attribute_groups import attribute_groups
from imop_engine.problem import Problem, portfolio_problem
from imop_engine.report.frames import CURVE_POINTS, curve
from imop_engine.report.frames_people import thinned
from imop_engine.sentences.groups import group_name
from imop_engine.surface import Surface

OBJECTIVES: Final = ("return", "risk", "score")
ANY_SCORE: Final = "any score"
HEIGHT_OF_TRIANGLE: Final = float(np.sqrt(3.0) / 2.0)
# Where each objective alone counts: return left, risk right, score on top.
CORNERS: Final = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, HEIGHT_OF_TRIANGLE]])
STEPS: Final = 16  # small triangles along a side
GRID_STEPS: Final = 5
POINTS: Final = 600  # dots; more would hide the density below them
LEVELS: Final = 4
BINS: Final = 40
FULL_BAR: Final = 0.85  # of the height that an objective has in the picture
COST_BINS: Final = 24
LEAST_COST: Final = 1e-4  # a basis point a year: an axis that ends below has nothing to tell
NARROW: Final = 0.02  # of the surface's range of risk: a shorter cut is a dot and no line


def comparable_weights(investors: pd.DataFrame, surface: Surface) -> pd.DataFrame:
    """Each investor's weights in which the units of the objectives do not matter.

    Args:
        investors: return, risk and score, the weights of a fit; rows without numbers stay so.
        surface: The efficient portfolios, whose objectives' ranges are the common measure.

    Returns:
        return, risk and score, adding up to one in each row.
    """
    ranges = np.ptp(surface.values, axis=0)
    raw = investors[list(OBJECTIVES)].to_numpy(dtype=float) * ranges
    return pd.DataFrame(raw / raw.sum(axis=1, keepdims=True), columns=list(OBJECTIVES))


def triangle_points(weights: pd.DataFrame, names: ArrayLike | None = None) -> pd.DataFrame:
    """investor, return, risk, score, x and y: investors in the triangle, thinned when many.

    Args:
        weights: return, risk and score, adding up to one.
        names: Of the investors; None numbers them.
    """
    rows = weights.reset_index(drop=True)
    known = np.arange(1, len(rows) + 1) if names is None else np.asarray(names)
    rows = rows.assign(investor=known.astype(str))
    rows = rows[np.isfinite(rows["score"])]
    places = rows[list(OBJECTIVES)].to_numpy(dtype=float) @ CORNERS
    return thinned(rows.assign(x=places[:, 0], y=places[:, 1]), POINTS)


def triangle_density(weights: pd.DataFrame, steps: int = STEPS) -> pd.DataFrame:
    """How many investors are in each of the small triangles that the large one is cut into.

    Args:
        weights: return, risk and score, adding up to one.
        steps: Small triangles along a side.

    Returns:
        cell, x, y, y2, count, share, and return, risk and score of its middle: three rows for each
        small triangle that has investors, its outline from left to right.
    """
    W = weights[list(OBJECTIVES)].dropna().to_numpy(dtype=float)
    low = np.minimum((steps * W).astype(int), steps - 1)
    # a weight on the border of two belongs to the lower one; then at most two steps are left over
    over = low.sum(axis=1) >= steps
    low[over, low[over].argmax(axis=1)] -= 1
    cells, counts = np.unique(low, axis=0, return_counts=True)
    rows: list[dict[str, Any]] = []
    for number, (cell, count) in enumerate(zip(cells, counts, strict=True)):
        upward = cell.sum() == steps - 1
        corners = (cell + (np.eye(3) if upward else 1.0 - np.eye(3))) / steps
        middle = corners.mean(axis=0)
        places = corners @ CORNERS
        order = np.argsort(places[:, 0])
        left, between, right = places[order]
        base = float(left[1])
        for x, y in ((left[0], base), (between[0], float(between[1])), (right[0], base)):
            rows.append(
                {
                    "cell": number, "x": float(x), "y": y, "y2": base, "count": int(count),
                    "share": count / len(W), **dict(zip(OBJECTIVES, middle, strict=True)),
                }
            )  # fmt: skip
    columns = ["cell", "x", "y", "y2", "count", "share", *OBJECTIVES]
    return pd.DataFrame(rows, columns=columns)


def triangle_grid(steps: int = GRID_STEPS) -> pd.DataFrame:
    """objective, weight, x, y, x2, y2: lines of equal weight, the sides among them."""
    rows = []
    for at, objective in enumerate(OBJECTIVES):
        others = [one for one in range(3) if one != at]
        for weight in np.arange(steps) / steps:
            ends = np.zeros((2, 3))
            ends[:, at] = weight
            ends[0, others[0]] = ends[1, others[1]] = 1.0 - weight
            (x, y), (x2, y2) = ends @ CORNERS
            rows.append(
                {"objective": objective, "weight": weight, "x": x, "y": y, "x2": x2, "y2": y2}
            )
    return pd.DataFrame(rows)


def weight_distribution(weights: pd.DataFrame) -> pd.DataFrame:
    """How weights on each objective are spread, a row of bars for each objective.

    Args:
        weights: return, risk and score, adding up to one.

    Returns:
        objective, low, high, count, share, and base and top: where its bar begins and ends, one
        unit up for each objective and the highest bar of each filling most of it.
    """
    edges = np.linspace(0.0, 1.0, BINS + 1)
    parts = []
    for place, objective in enumerate(reversed(OBJECTIVES)):
        count, _ = np.histogram(np.clip(weights[objective].dropna(), 0.0, 1.0), bins=edges)
        parts.append(
            pd.DataFrame(
                {
                    "objective": objective,
                    "low": edges[:-1],
                    "high": edges[1:],
                    "count": count,
                    "share": count / max(1, int(count.sum())),
                    "base": float(place),
                    "top": place + FULL_BAR * count / max(1, int(count.max())),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def weight_medians(weights: pd.DataFrame) -> pd.DataFrame:
    """objective, median, base and top: the median weight, beside the bars of its distribution.

    Args:
        weights: return, risk and score, adding up to one.
    """
    order = list(reversed(OBJECTIVES))
    middle = [float(weights[name].median()) for name in order]
    base = np.arange(len(order), dtype=float)
    return pd.DataFrame(
        {"objective": order, "median": middle, "base": base, "top": base + FULL_BAR}
    )


def score_levels(surface: Surface, count: int = LEVELS) -> list[float]:
    """Levels of the score at which to cut: evenly between the least and the most, and round.

    Args:
        surface: The efficient portfolios.
        count: How many.
    """
    low, high = -surface.values[:, 2].max(), -surface.values[:, 2].min()
    even = np.linspace(low, high, count + 2)[1:-1]
    step = (high - low) / (count + 1)
    digits = int(np.ceil(-np.log10(step))) + 1 if step > 0 else 0
    return [float(round(one, digits)) for one in even]


def level_frontiers(surface: Surface, levels: ArrayLike) -> pd.DataFrame:
    """Return against risk where the score is at least a given value, and where any will do.

    The surface is cut at the level, and what lies above the cut belongs to it: there more score is
    had for nothing. What can be had is convex in variance and return, so the line over all these
    points is reached, too.

    Args:
        surface: The efficient portfolios.
        levels: Values of the score; those that the surface hardly reaches are left out.

    Returns:
        series, level (NaN where any score will do), risk and return, in the order of risk.
    """
    scale = float(np.ptp(np.sqrt(np.maximum(surface.values[:, 1], 0.0))))
    two = _without_score(surface.problem)
    free = curve(two, surface.theta, ANY_SCORE)[["series", "risk", "return"]]
    parts = [free.assign(level=np.nan)]
    # the side of the surface where the score has no weight is known exactly
    _, side = efficient_frontier(two, surface.theta).sample(CURVE_POINTS)
    costs = [-side @ surface.theta, risk_of(two, side) ** 2, side @ surface.problem.linear0[2]]
    values = np.vstack([surface.values, np.column_stack(costs)])
    for level in np.asarray(levels, dtype=float):
        above = values[values[:, 2] <= -level]
        points = np.vstack([surface.cut(2, -level).reshape(-1, 3), above])
        if len(points) < 2:
            continue
        variance, earned = _upper_hull(points[:, 1], -points[:, 0])
        fine = np.linspace(np.sqrt(variance[0]), np.sqrt(variance[-1]), CURVE_POINTS)
        if fine[-1] - fine[0] < NARROW * scale:
            continue
        parts.append(
            pd.DataFrame(
                {
                    "series": f"score ≥ {level:g}",
                    "level": level,
                    "risk": fine,
                    "return": np.interp(fine**2, variance, earned),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def _without_score(problem: Problem) -> Problem:
    return portfolio_problem(
        problem.quadratic[1] / 2.0,
        upper=problem.upper,
        bounds=(problem.theta.lower, problem.theta.upper),
        undetermined=True,
    )


def _upper_hull(x: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The concave line over points, from the leftmost to the highest."""
    hull: list[tuple[float, float]] = []
    for point in sorted(zip(x.tolist(), y.tolist(), strict=True)):
        while len(hull) >= 2 and _turns_up(hull[-2], hull[-1], point):
            hull.pop()
        if hull and point[0] == hull[-1][0]:
            hull[-1] = point
        else:
            hull.append(point)
    highest = int(np.argmax([y for _, y in hull]))
    kept = np.array(hull[: highest + 1])
    return kept[:, 0], kept[:, 1]


def _turns_up(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[0] - a[0]) * (c[1] - a[1]) >= (b[1] - a[1]) * (c[0] - a[0])


def score_cloud(surface: Surface, portfolios: pd.DataFrame) -> pd.DataFrame:
    """investor, risk, return and score of what investors hold, thinned when many.

    Args:
        surface: The efficient portfolios, for returns, risks and scores.
        portfolios: Holdings of each investor in a row; the index names the investor.
    """
    held = portfolios.to_numpy(dtype=float)
    table = pd.DataFrame(
        {
            "investor": portfolios.index.astype(str),
            "risk": risk_of(_without_score(surface.problem), held),
            "return": held @ surface.theta,
            "score": held @ -surface.problem.linear0[2],
        }
    )
    return thinned(table, POINTS)


def cost_histogram(costs: ArrayLike) -> pd.DataFrame:
    """low, high, count and share: what investors pay in return for the score, a year.

    Args:
        costs: Fractions a year; what is no number is not counted.
    """
    values = np.asarray(costs, dtype=float)
    values = values[np.isfinite(values)]
    top = max(float(values.max(initial=0.0)) * 1.0001, LEAST_COST)
    count, edges = np.histogram(values, bins=np.linspace(0.0, top, COST_BINS + 1))
    return pd.DataFrame(
        {
            "low": edges[:-1],
            "high": edges[1:],
            "count": count,
            "share": count / max(1, int(count.sum())),
        }
    )


def cost_segments(investors: pd.DataFrame, attribute: Any) -> pd.DataFrame:
    """What groups of investors pay in return for the score, and what they would give for a unit.

    Args:
        investors: price and cost of each investor, a year.
        attribute: A value for each investor; numbers with many values are cut at their quartiles.

    Returns:
        segment, investors, mean_cost, median_cost and median_price.
    """
    table = investors[["price", "cost"]].reset_index(drop=True)
    groups = attribute_groups(table.index, attribute)
    found = table.groupby(groups, sort=True, observed=True).agg(
        investors=("cost", "size"),
        mean_cost=("cost", "mean"),
        median_cost=("cost", "median"),
        median_price=("price", "median"),
    )
    named = found.rename_axis("segment").reset_index()
    return named.assign(segment=[group_name(one) for one in named["segment"]])
