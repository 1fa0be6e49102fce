"""Charts of three objectives: the triangle of weights, frontiers by score, what a score costs."""

from __future__ import annotations

from typing import Any, Final

import altair as alt
import pandas as pd

from imop_engine.report.frames_score import ANY_SCORE, CORNERS, LEAST_COST, OBJECTIVES
from imop_engine.report.style import (
    AMBER,
    BAR,
    BLUE,
    GREEN,
    GREY,
    HEIGHT,
    MAUVE,
    SKY,
    VERMILLION,
    VIOLET,
    legend,
    number,
    percent,
    return_axis,
    risk_axis,
    rows_height,
    text,
    titled,
)

COLOURS: Final = {"return": BLUE, "risk": VERMILLION, "score": GREEN}
LEVEL_COLOURS: Final = (GREEN, AMBER, VERMILLION, MAUVE, VIOLET, SKY)
LEVEL_DASHES: Final = ([1, 0], [9, 3], [5, 3], [2, 2], [9, 3, 2, 3], [12, 2])
COST_AXIS: Final = "return given up for the score (% per year)"
DIGITS: Final = ".3~%"  # hundredths of a per cent matter; zeros at the end do not
CORNER_NAMES: Final = ("return", "less risk", "score")
# The triangle keeps its shape in a chart of any width: one unit has as many pixels across as up.
MIDDLE: Final = (float(CORNERS[:, 0].mean()), 0.45)
UNIT: Final = "max(1.16 / height, 1.3 / width)"


def _side(pixels: str, middle: float) -> dict[str, Any]:
    """The ends of an axis, as expressions of the chart's own size."""
    return {
        "domainMin": alt.ExprRef(expr=f"{middle} - {pixels} * {UNIT} / 2"),
        "domainMax": alt.ExprRef(expr=f"{middle} + {pixels} * {UNIT} / 2"),
        "zero": False,
        "nice": False,
    }


def ternary_chart(cells: pd.DataFrame, points: pd.DataFrame, grid: pd.DataFrame) -> alt.LayerChart:
    """Investors on the triangle of weights: the nearer to a corner, the more it counts.

    `cells` has cell, x, y, y2, count, share, return, risk and score; `points` has investor, x, y,
    return, risk and score; `grid` has objective, weight, x, y, x2 and y2.

    Args:
        cells: How many investors are where, as `frames_score.triangle_density` makes it.
        points: The investors.
        grid: Lines of equal weight.
    """
    shown = "weights on return, risk and score"
    x = alt.X("x:Q", title=shown, axis=None).scale(**_side("width", MIDDLE[0]))
    y = alt.Y("y:Q", title=shown, axis=None).scale(**_side("height", MIDDLE[1]))
    weights = [percent(name, f"weight on {name}", 0) for name in OBJECTIVES]
    lines = alt.Chart(grid).mark_rule(color=GREY, strokeWidth=0.6, opacity=0.7)
    density = alt.Chart(cells).mark_area(color=BLUE, interpolate="linear", line=False)
    dots = alt.Chart(points).mark_circle(size=9, color=AMBER, opacity=0.6)
    return titled(
        [
            lines.encode(
                x=x, y=y, x2="x2:Q", y2="y2:Q",
                tooltip=[text("objective", "weight on"), percent("weight", "of", 0)],
            ),
            density.encode(
                x=x,
                y=y,
                y2="y2:Q",
                detail="cell:N",
                fillOpacity=alt.FillOpacity("count:Q", title="investors")
                .scale(type="sqrt", domainMin=0, range=[0.08, 0.9])
                .legend(None),
                tooltip=[
                    number("count", "investors"),
                    percent("share", "share of all", 1),
                    *weights,
                ],
            ),
            dots.encode(x=x, y=y, tooltip=[text("investor", "investor"), *weights]),
            *_ticks(grid, x, y),
            *_corner_names(x, y),
        ],
        "Weights (% on return, risk and score)",
        "At a corner only that objective counts; darker: more investors",
        HEIGHT,
    )  # fmt: skip


def _ticks(grid: pd.DataFrame, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """The weight that each line of the grid stands for, on the side where it ends."""
    ends = {"return": ("x2", "y2", -17, 0), "risk": ("x", "y", 0, 11), "score": ("x2", "y2", 17, 0)}
    found = []
    for objective, (across, up, dx, dy) in ends.items():
        rows = grid[(grid["objective"] == objective) & (grid["weight"] > 0.0)]
        table = pd.DataFrame(
            {"objective": objective, "weight": rows["weight"], "x": rows[across], "y": rows[up]}
        )
        found.append(
            alt.Chart(table)
            .mark_text(fontSize=10, color=COLOURS[objective], dx=dx, dy=dy)
            .encode(
                x=x,
                y=y,
                text=alt.Text("weight:Q", format=".0%"),
                tooltip=[text("objective", "weight on"), percent("weight", "of", 0)],
            )
        )
    return found


def _corner_names(x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """The objective at each corner, beside it."""
    table = pd.DataFrame({"corner": CORNER_NAMES, "x": CORNERS[:, 0], "y": CORNERS[:, 1]})
    places = zip(range(3), (16, 16, -12), COLOURS.values(), strict=True)
    return [
        alt.Chart(table.iloc[[at]])
        .mark_text(fontSize=13, fontWeight="bold", color=colour, dy=dy)
        .encode(x=x, y=y, text="corner:N", tooltip=[text("corner", "all weight on")])
        for at, dy, colour in places
    ]


def objective_weights_chart(bins: pd.DataFrame, medians: pd.DataFrame) -> alt.LayerChart:
    """How the weights on each objective are spread over the investors, a row for each.

    `bins` has objective, low, high, count, share, base and top; `medians` has objective, median,
    base and top.

    Args:
        bins: As `frames_score.weight_distribution` makes it.
        medians: As `frames_score.weight_medians` makes it.
    """
    named = "datum.value == 0 ? 'score' : datum.value == 1 ? 'risk' : 'return'"
    y = (
        alt.Y("base:Q", title=None)
        .scale(domain=[0, 3], nice=False)
        .axis(values=[0, 1, 2], labelExpr=named, labelBaseline="bottom", tickCount=3)
    )
    colour = (
        alt.Color("objective:N", title=None)
        .scale(domain=list(OBJECTIVES), range=[COLOURS[name] for name in OBJECTIVES])
        .legend(None)
    )
    bars = alt.Chart(bins).mark_rect(opacity=0.8, stroke="white", strokeWidth=0.3)
    rules = alt.Chart(medians).mark_rule(color=GREY, strokeDash=[4, 3], strokeWidth=2)
    return titled(
        [
            bars.encode(
                x=alt.X("low:Q", title="weight (%)")
                .scale(domain=[0, 1], nice=False)
                .axis(format="%", tickCount=5),
                x2="high:Q",
                y=y,
                y2="top:Q",
                color=colour,
                tooltip=[
                    text("objective", "weight on"),
                    percent("low", "from", 1),
                    percent("high", "to", 1),
                    number("count", "investors"),
                    percent("share", "share of all", 1),
                ],
            ),
            rules.encode(
                x=alt.X("median:Q", title="weight (%)"),
                y=y,
                y2="top:Q",
                tooltip=[text("objective", "weight on"), percent("median", "median", 1)],
            ),
        ],
        "Weights by objective (investors)",
        "Each row fills its own height; dashed: median",
    )


def level_frontier_chart(
    lines: pd.DataFrame, cloud: pd.DataFrame, *, period: str = "per year"
) -> alt.LayerChart:
    """Frontiers of return against risk at levels of the score, and where any score will do.

    `lines` has series, level, risk and return; `cloud` has investor, risk, return and score.

    Args:
        lines: As `frames_score.level_frontiers` makes it.
        cloud: What investors hold.
        period: What one period is called in titles.
    """
    series = list(dict.fromkeys(lines["series"]))
    levels = [one for one in series if one != ANY_SCORE]
    colours = [BLUE, *(LEVEL_COLOURS[at % len(LEVEL_COLOURS)] for at in range(len(levels)))]
    dashes = [[1, 0], *(LEVEL_DASHES[at % len(LEVEL_DASHES)] for at in range(len(levels)))]
    domain = [ANY_SCORE, *levels]
    x, y = risk_axis(period), return_axis(period)
    held = [percent("risk", "risk"), percent("return", "return")]
    dots = alt.Chart(cloud).mark_circle(size=22, opacity=0.25, color=GREY)
    drawn = alt.Chart(lines.drop(columns="level")).mark_line(strokeWidth=2.4)
    return titled(
        [
            dots.encode(
                x=x,
                y=y,
                tooltip=[text("investor", "investor"), *held, number("score", "score", ".3~g")],
            ),
            drawn.encode(
                x=x,
                y=y,
                order="risk:Q",
                color=alt.Color("series:N", title=None)
                .scale(domain=domain, range=colours)
                .legend(legend()),
                strokeDash=alt.StrokeDash("series:N", title=None)
                .scale(domain=domain, range=dashes)
                .legend(None),
                tooltip=[text("series", "portfolios with"), *held],
            ),
        ],
        f"Frontier by level of the score (% {period})",
        "Most return where the portfolio's score is at least this; dots: investors",
    )


def cost_chart(bins: pd.DataFrame, middle: float) -> alt.LayerChart:
    """What investors pay in return for the score.

    `bins` has low, high, count and share.

    Args:
        bins: As `frames_score.cost_histogram` makes it.
        middle: The median, a fraction a year.
    """
    bars = alt.Chart(bins).mark_rect(color=GREEN, stroke="white", strokeWidth=0.4)
    rule = alt.Chart(pd.DataFrame({"at": [middle]})).mark_rule(
        color=VERMILLION, strokeDash=[5, 4], strokeWidth=2
    )
    return titled(
        [
            bars.encode(
                x=alt.X("low:Q", title=COST_AXIS).axis(format=DIGITS, tickCount=6),
                x2="high:Q",
                y=alt.Y("count:Q", title="investors").axis(format=",d"),
                y2=alt.Y2(datum=0),
                tooltip=[
                    number("low", "from", DIGITS),
                    number("high", "to", DIGITS),
                    number("count", "investors"),
                    percent("share", "share of all", 1),
                ],
            ),
            rule.encode(
                x=alt.X("at:Q", title=COST_AXIS),
                tooltip=[number("at", "median", DIGITS)],
            ),
        ],
        "What the score costs (% per year)",
        "Return below the best portfolio of the same risk; dashed: median",
    )


def cost_segment_chart(segments: pd.DataFrame, attribute: str) -> alt.LayerChart:
    """What each group pays for the score: the mean as a bar, the median as a tick.

    `segments` has segment, investors, mean_cost, median_cost and median_price.

    Args:
        segments: One row for each group, fractions a year.
        attribute: What the groups are made by.
    """
    order = list(segments["segment"])
    base = alt.Chart(segments).encode(
        y=alt.Y("segment:N", title=None, sort=order).axis(labelLimit=130),
        tooltip=[
            text("segment", attribute),
            number("investors", "investors"),
            percent("mean_cost", "mean", 3),
            percent("median_cost", "median", 3),
            percent("median_price", "median price of a unit", 3),
        ],
    )
    return titled(
        [
            base.mark_bar(color=GREEN, opacity=0.8, size=BAR).encode(
                x=alt.X("mean_cost:Q", title=COST_AXIS)
                .axis(format=DIGITS, tickCount=6)
                .scale(
                    domain=[
                        0.0,
                        max(
                            LEAST_COST,
                            float(segments["mean_cost"].max()),
                            float(segments["median_cost"].max()),
                        ),
                    ]
                )
            ),
            base.mark_tick(color=VERMILLION, thickness=3, size=16).encode(
                x=alt.X("median_cost:Q", title=COST_AXIS)
            ),
        ],
        f"What the score costs by {attribute} (% per year)",
        "Bar: mean; tick: median",
        rows_height(len(segments)),
    )
