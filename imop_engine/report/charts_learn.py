"""Charts of learning and of what was learned: settling estimates, intervals, composition."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import pandas as pd

from imop_engine.report.style import (
    BAR,
    BLUE,
    ESTIMATED,
    GREY,
    HISTORY,
    IMPLIED,
    TRUE,
    VERMILLION,
    asset_colour,
    first_rows,
    number,
    percent,
    rows_height,
    series_colour,
    text,
    titled,
)

SURE = ("identified", "anchored", "relative")  # statuses with an interval
ENDS = ("estimate", "low", "high")
# Shapes of the marks in the chart of intervals, so that nobody has to rely on colour.
SHAPES = {TRUE: "diamond", ESTIMATED: "circle", HISTORY: "square", IMPLIED: "triangle-up"}


def settling_chart(trail: pd.DataFrame, *, period: str = "per year") -> alt.LayerChart:
    """The estimated return of each asset while portfolios come in.

    `trail` has seen (portfolios so far), asset and estimate.
    """
    assets = list(dict.fromkeys(trail["asset"]))
    lines = (
        alt.Chart(trail)
        .mark_line(strokeWidth=2)
        .encode(
            # Most happens at the start, so the start gets the room.
            x=alt.X("seen:Q", title="portfolios seen (log scale)")
            .axis(format="~s", tickCount=5)
            .scale(type="log", nice=False),
            y=alt.Y("estimate:Q", title=f"expected return (% {period})")
            .axis(format="%")
            .scale(zero=False),
            color=asset_colour(trail, assets),
            detail="asset:N",
            tooltip=[
                text("asset", "asset"),
                number("seen", "portfolios seen"),
                percent("estimate", "estimate"),
            ],
        )
    )
    ends = (
        alt.Chart(trail.drop_duplicates("asset", keep="last"))
        .mark_point(filled=True, size=70, opacity=1.0)
        .encode(
            x=alt.X("seen:Q", title="portfolios seen (log scale)"),
            y=alt.Y("estimate:Q", title=f"expected return (% {period})"),
            color=asset_colour(trail, assets),
            tooltip=[text("asset", "asset"), percent("estimate", "estimate at the end")],
        )
    )
    return titled(
        [lines, ends],
        f"Estimates settling (% {period})",
        "Dot: where it ended, as in the table of returns",
    )


def interval_chart(returns: pd.DataFrame, *, period: str = "per year") -> alt.LayerChart:
    """Each asset's estimate with its interval, beside what history or the truth says.

    `returns` has asset, estimate, low, high and status, and any of true, history and implied. An
    interval that has no end on one side reaches to the edge of the chart there.
    """
    known, seen = returns["status"].isin(SURE), returns.get("investors", returns["asset"].map(len))
    returns, left_out = first_rows(returns, known, seen)
    order = list(returns["asset"])
    y = alt.Y("asset:N", title=None, sort=order).axis(labelOverlap=False, labelLimit=130)
    title = f"expected return (% {period})"
    others = [name for name in (TRUE, HISTORY, IMPLIED) if name in returns.columns]
    tooltip = [
        text("asset", "asset"),
        text("estimate_said", "estimated"),
        text("low_said", "at least"),
        text("high_said", "at most"),
        text("status", "status"),
        *(percent(name, name) for name in others),
    ]
    returns = _with_words(returns)
    closed = _closed(returns, others)
    sure = closed["status"].isin(SURE)
    x = alt.X("from:Q", title=title).axis(format="%").scale(zero=False)
    bars = (
        alt.Chart(closed[sure])
        .mark_rule(strokeWidth=6, opacity=0.35, strokeCap="round", color=BLUE)
        .encode(x=x, x2="to:Q", y=y, tooltip=tooltip)
    )
    # What is only bounded is no interval: a thin dashed line up to an end stop, and no bar.
    reach = (
        alt.Chart(closed[~sure])
        .mark_rule(strokeWidth=1, strokeDash=[2, 3], color=GREY)
        .encode(x=x, x2="to:Q", y=y, tooltip=tooltip)
    )
    stops = [
        alt.Chart(closed[~sure & closed[end].notna()])
        .mark_tick(thickness=2, size=BAR, color=GREY)
        .encode(x=alt.X(f"{column}:Q", title=title), y=y, tooltip=tooltip)
        for end, column in (("low", "from"), ("high", "to"))
    ]
    layers = [bars, reach, *stops]
    shown = [ESTIMATED, *others]
    for series in [*reversed(others), ESTIMATED]:
        column = "estimate" if series == ESTIMATED else series
        filled = series == ESTIMATED
        layers.append(
            alt.Chart(returns.assign(series=series, value=returns[column]))
            .mark_point(
                shape=SHAPES[series],
                filled=filled,
                size=75 if filled else 110,
                strokeWidth=2.2,
                opacity=1.0,
            )
            .encode(
                x=alt.X("value:Q", title=title).axis(format="%").scale(zero=False),
                y=y,
                color=series_colour(shown),
                tooltip=tooltip,
            )
        )
    return titled(
        layers,
        f"Returns and their intervals (% {period})",
        left_out or "Bar: interval; dashed: only known up to the stop",
        rows_height(len(order)),
    )


def _with_words(returns: pd.DataFrame) -> pd.DataFrame:
    """The table with its numbers as text, because a chart calls a missing one "null"."""

    def said(value: float) -> str:
        return f"{value:.2%}" if math.isfinite(value) else "not fixed"

    return returns.assign(
        **{f"{name}_said": returns[name].astype(float).map(said) for name in ENDS}
    )


def _closed(returns: pd.DataFrame, others: list[str]) -> pd.DataFrame:
    """Bars that fit the chart: an end far beyond everything else is cut at the edge.

    What is only bounded reaches to the edge of what anybody may believe, and would leave a corner
    of the chart for the numbers that are known.
    """
    sure = returns["status"].isin(SURE)
    ends = returns.loc[sure, ["low", "high"]].to_numpy(dtype=float)
    points = returns[["estimate", *others]].to_numpy(dtype=float)
    known = pd.Series([*points.ravel(), *ends.ravel()]).replace(
        [float("inf"), -float("inf")], float("nan")
    )
    lowest, highest = float(known.min()), float(known.max())
    room = 0.15 * max(highest - lowest, 1e-4)
    low = returns["low"].fillna(lowest - room).clip(lowest - room, highest + room)
    high = returns["high"].fillna(highest + room).clip(lowest - room, highest + room)
    return returns.assign(**{"from": low, "to": high})


def transition_chart(composition: pd.DataFrame, *, period: str = "per year") -> alt.LayerChart:
    """What efficient portfolios are made of, from least risk on the left to most on the right.

    `composition` has risk, weight, asset, share and order (assets of one risk stack by it).
    """
    assets = list(dict.fromkeys(composition.sort_values("order")["asset"]))
    areas = (
        alt.Chart(composition)
        .mark_area(strokeWidth=0.6, stroke="white", opacity=0.9)
        .encode(
            x=alt.X("risk:Q", title=f"risk: standard deviation (% {period})")
            .axis(format="%")
            .scale(zero=False, nice=False),
            y=alt.Y("share:Q", title="share of the portfolio (%)")
            .axis(format="%")
            .stack("zero")
            .scale(domain=[0, 1]),
            color=asset_colour(composition, assets),
            order=alt.Order("order:Q"),
            tooltip=[
                text("asset", "asset"),
                percent("share", "share", 1),
                percent("risk", "risk"),
                number("weight", "weight on return", ".3f"),
            ],
        )
    )
    return titled(
        [areas],
        "What the frontier is made of (%)",
        "Left: the least risk; right: the most return",
    )


def live_frontier_chart(
    curves: pd.DataFrame, investors: pd.DataFrame | None = None, *, period: str = "per year"
) -> alt.LayerChart:
    """The frontier as it moves: faint where it was, bold where it is.

    `curves` has step (1 is the newest), weight, risk and return; `investors` risk and return.

    Args:
        curves: The frontiers of the last steps.
        investors: The portfolios seen so far; None draws none.
        period: What one period is called in titles.
    """
    x = alt.X("risk:Q", title=f"risk: standard deviation (% {period})")
    y = alt.Y("return:Q", title=f"expected return (% {period})")
    x, y = x.axis(format="%").scale(zero=False), y.axis(format="%").scale(zero=False)
    tooltip = [
        number("seen", "portfolios seen"),
        percent("risk", "risk"),
        percent("return", "return"),
    ]
    layers = []
    if investors is not None:
        layers.append(
            alt.Chart(investors)
            .mark_circle(size=40, opacity=0.12, color=GREY)
            .encode(
                x=x,
                y=y,
                tooltip=[percent("risk", "risk"), percent("return", "return")],
            )
        )
    old, new = curves[curves["step"] > 1], curves[curves["step"] == 1]
    layers.append(
        alt.Chart(old)
        .mark_line(strokeWidth=1.2, color=BLUE)
        .encode(
            x=x,
            y=y,
            detail="step:N",
            order="weight:Q",
            opacity=alt.Opacity("step:Q", legend=None).scale(range=[0.5, 0.1]),
            tooltip=tooltip,
        )
    )
    layers.append(
        alt.Chart(new)
        .mark_line(strokeWidth=3, color=BLUE)
        .encode(x=x, y=y, order="weight:Q", tooltip=tooltip)
    )
    return titled(
        layers,
        f"The frontier as it moves (% {period})",
        "Bold: now; faint: a few steps ago",
    )


def compared_returns_chart(both: pd.DataFrame, *, period: str = "per year") -> alt.LayerChart:
    """The returns two runs estimate for the same assets.

    `both` has asset, run ("A" or "B"), estimate, low and high.
    """
    order = list(dict.fromkeys(both["asset"]))
    x = alt.X("estimate:Q", title=f"expected return (% {period})")
    base = alt.Chart(both).encode(
        # Named here, because an asset that no portfolio fixes has nothing to draw.
        y=alt.Y("asset:N", title=None).scale(domain=order).axis(labelOverlap=False, labelLimit=130),
        yOffset=alt.YOffset("run:N", scale=alt.Scale(domain=["A", "B"])),
        color=run_colour(),
        tooltip=[
            text("run", "run"),
            text("asset", "asset"),
            percent("estimate", "estimated"),
            percent("low", "at least"),
            percent("high", "at most"),
        ],
    )
    return titled(
        [
            base.mark_rule(strokeWidth=4, opacity=0.35).encode(
                x=alt.X("low:Q", title=f"expected return (% {period})")
                .axis(format="%")
                .scale(zero=False),
                x2="high:Q",
            ),
            base.mark_point(filled=True, size=70, opacity=1.0).encode(
                x=x.axis(format="%").scale(zero=False), shape=run_shape()
            ),
        ],
        f"Returns of two runs (% {period})",
        "Bars: the intervals, where they have two ends",
        rows_height(round(1.4 * len(order))),
    )


def compared_frontiers_chart(curves: pd.DataFrame, *, period: str = "per year") -> alt.LayerChart:
    """The frontiers of two runs. `curves` has run, weight, risk and return."""
    line = (
        alt.Chart(curves)
        .mark_line(strokeWidth=3)
        .encode(
            x=alt.X("risk:Q", title=f"risk: standard deviation (% {period})")
            .axis(format="%")
            .scale(zero=False),
            y=alt.Y("return:Q", title=f"expected return (% {period})")
            .axis(format="%")
            .scale(zero=False),
            order="weight:Q",
            color=run_colour(),
            strokeDash=alt.StrokeDash("run:N", legend=None).scale(
                domain=["A", "B"], range=[[1, 0], [7, 4]]
            ),
            tooltip=[text("run", "run"), percent("risk", "risk"), percent("return", "return")],
        )
    )
    return titled([line], f"Frontiers of two runs (% {period})", "Solid: A; dashed: B")


def compared_weights_chart(bins: pd.DataFrame) -> alt.LayerChart:
    """How the weights of two runs are distributed. `bins` has run, low, high and share."""
    x = alt.X("low:Q", title="weight on return (0: least risk, 1: most return)")
    x = x.scale(domain=[0, 1], nice=False).bin("binned").axis(format=".1f")
    y = alt.Y("share:Q", title="share of investors (%)").axis(format="%").stack(None)
    tooltip = [
        text("run", "run"),
        number("low", "from", ".2f"),
        number("high", "to", ".2f"),
        percent("share", "share", 1),
    ]
    looks: dict[str, dict[str, Any]] = {
        "A": {"opacity": 0.45},
        "B": {"filled": False, "strokeWidth": 2.5},
    }
    layers = [
        alt.Chart(bins[bins["run"] == run])
        .mark_bar(**look)
        .encode(x=x, x2="high:Q", y=y, color=run_colour(), tooltip=tooltip)
        for run, look in looks.items()
    ]
    return titled(layers, "Weights of two runs (% of investors)", "Filled: A; outlined: B")


def run_colour() -> alt.Color:
    """A is blue, B is vermillion."""
    return (
        alt.Color("run:N", title=None)
        .scale(domain=["A", "B"], range=[BLUE, VERMILLION])
        .legend(orient="top", padding=0, offset=4)
    )


def run_shape() -> alt.Shape:
    """A is a circle, B is a diamond."""
    return alt.Shape("run:N", legend=None).scale(domain=["A", "B"], range=["circle", "diamond"])
