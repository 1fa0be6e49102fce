"""Charts of investors: where they stand, what they hold, what they want."""

from __future__ import annotations

import math

import altair as alt
import pandas as pd

from imop_engine.report.charts import frontier_lines
from imop_engine.report.style import (
    AMBER,
    BAR,
    BLUE,
    GREEN,
    GREY,
    HEIGHT,
    SKY,
    VERMILLION,
    first_rows,
    number,
    percent,
    return_axis,
    risk_axis,
    rows_height,
    text,
    titled,
)

# Names of the selections that a page reads back.
PICK = "pick"
BRUSH = "brush"
# A bar is chosen if its middle is: its left edge, which the brush itself compares, is its
# neighbour's right one.
MIDDLE = "(datum.low + datum.high) / 2"
INSIDE = f"!{BRUSH}.low || ({MIDDLE} >= {BRUSH}.low[0] && {MIDDLE} <= {BRUSH}.low[1])"


def cloud_chart(
    points: pd.DataFrame,
    curves: pd.DataFrame | None = None,
    *,
    period: str = "per year",
    pick: bool = True,
) -> alt.LayerChart:
    """Investors on the risk-return plane, one dot each; with `pick` a click chooses one.

    `points` has investor, risk and return, and may have chosen (bool): those stand out.

    Args:
        points: One row for each investor, fractions per period.
        curves: Frontiers with series, weight, risk and return; None draws none.
        period: What one period is called in titles.
        pick: Whether a click chooses an investor.
    """
    chosen = points.get("chosen", pd.Series(False, index=points.index))
    table = points.assign(chosen=chosen.to_numpy())
    some = bool(table["chosen"].any())
    base = alt.Chart(table).encode(
        x=risk_axis(period),
        y=return_axis(period),
        tooltip=[
            text("investor", "investor"),
            percent("risk", "risk"),
            percent("return", "return"),
        ],
    )
    colour = alt.Color("chosen:N", legend=None).scale(domain=[False, True], range=[GREY, BLUE])
    faint = 0.12 if some else 0.3
    strength = alt.Opacity("chosen:N", legend=None).scale(domain=[False, True], range=[faint, 0.75])
    layers: list[alt.Chart] = [*([] if curves is None else frontier_lines(curves, period))]
    if pick:
        click = alt.selection_point(name=PICK, fields=["investor"], empty=False)
        layers.append(
            base.mark_circle(size=60)
            .encode(
                color=alt.condition(click, alt.value(VERMILLION), colour),
                opacity=alt.condition(click, alt.value(1.0), strength),
                size=alt.condition(click, alt.value(160), alt.value(60)),
            )
            .add_params(click)
        )
    else:
        layers.append(base.mark_circle(size=60).encode(color=colour, opacity=strength))
    chart = titled(
        layers,
        f"Investors by risk and return (% {period})",
        "One dot an investor; click one to see what is held"
        if pick
        else "One dot an investor; blue: those chosen",
    )
    # The dots have colours of their own, which must not mix with the lines' legend.
    result: alt.LayerChart = chart.resolve_scale(color="independent")
    return result


def density_chart(
    cells: pd.DataFrame, curves: pd.DataFrame | None = None, *, period: str = "per year"
) -> alt.LayerChart:
    """Many investors on the risk-return plane, counted in cells.

    `cells` has risk, risk_to, return, return_to and count.

    Args:
        cells: One row for each cell that is not empty, fractions per period.
        curves: Frontiers with series, weight, risk and return; None draws none.
        period: What one period is called in titles.
    """
    squares = (
        alt.Chart(cells)
        .mark_rect()
        .encode(
            x=risk_axis(period).bin("binned"),
            x2="risk_to:Q",
            y=return_axis(period).bin("binned"),
            y2="return_to:Q",
            color=alt.Color("count:Q", title="investors")
            .scale(type="log", range=["#CFE3F2", BLUE, "#08306B"])
            .legend(orient="top", gradientLength=160, padding=0, offset=4, format=",d"),
            tooltip=[
                number("count", "investors"),
                percent("risk", "risk from"),
                percent("return", "return from"),
            ],
        )
    )
    layers: list[alt.Chart] = [squares, *([] if curves is None else frontier_lines(curves, period))]
    chart = titled(
        layers,
        f"Investors by risk and return (% {period})",
        "Darker: more investors in that place",
    )
    result: alt.LayerChart = chart.resolve_scale(color="independent")
    return result


def holdings_chart(average: pd.DataFrame) -> alt.LayerChart:
    """How much of each asset investors hold on average, and how many hold it at all.

    `average` has asset, share (mean of portfolios) and held_by (share of investors).
    """
    average, left_out = first_rows(average, average["share"])
    y = alt.Y("asset:N", title=None, sort=list(average["asset"])).axis(labelLimit=130)
    tooltip = [
        text("asset", "asset"),
        percent("share", "average share", 1),
        percent("held_by", "held by", 1),
    ]
    bars = (
        alt.Chart(average)
        .mark_bar(color=BLUE, opacity=0.85, size=BAR)
        .encode(
            x=alt.X("share:Q", title="share (%)").axis(format="%").scale(domain=[0, 1]),
            y=y,
            tooltip=tooltip,
        )
    )
    ticks = (
        alt.Chart(average)
        .mark_tick(color=VERMILLION, thickness=3, size=14)
        .encode(x=alt.X("held_by:Q", title="share (%)"), y=y, tooltip=tooltip)
    )
    return titled(
        [bars, ticks],
        "What investors hold (% of the portfolio)",
        left_out or "Bar: average; tick: share who hold any",
        rows_height(len(average)),
    )


def composition_chart(holdings: pd.DataFrame, investor: str) -> alt.LayerChart:
    """One investor's portfolio, beside the nearest efficient one where it is known.

    `holdings` has asset and held, and may have explained.
    """
    holdings, left_out = first_rows(holdings, holdings["held"])
    order = list(holdings["asset"])
    y = alt.Y("asset:N", title=None, sort=order).axis(labelLimit=130, labelOverlap=False)
    known = "explained" in holdings.columns
    tooltip = [text("asset", "asset"), percent("held", "held", 1)]
    if known:
        tooltip.append(percent("explained", "nearest efficient", 1))
    bars = (
        alt.Chart(holdings)
        .mark_bar(color=BLUE, opacity=0.8, size=BAR)
        .encode(
            x=alt.X("held:Q", title="share of the portfolio (%)")
            .axis(format="%")
            .scale(domain=[0, _most_share(holdings)]),
            y=y,
            tooltip=tooltip,
        )
    )
    layers = [bars]
    if known:
        layers.append(
            alt.Chart(holdings)
            .mark_tick(color=VERMILLION, thickness=3, size=16)
            .encode(
                x=alt.X("explained:Q", title="share of the portfolio (%)"), y=y, tooltip=tooltip
            )
        )
    return titled(
        layers,
        f"Portfolio of {investor} (% of the portfolio)",
        left_out
        or ("Bar: held; tick: nearest efficient portfolio" if known else "What the investor holds"),
        rows_height(len(order)),
    )


def _most_share(holdings: pd.DataFrame) -> float:
    """Where an axis of shares ends: a tenth beyond the largest, and never beyond all there is."""
    columns = [name for name in ("held", "explained") if name in holdings.columns]
    largest = float(holdings[columns].max().max())
    return min(1.0, math.ceil(10.0 * largest + 0.5) / 10.0)


def preference_chart(
    bins: pd.DataFrame,
    fitted: pd.DataFrame | None = None,
    *,
    scale: str = "weight",
    brush: bool = True,
) -> alt.LayerChart:
    """How investors weigh return against risk; drag over the bars to choose some of them.

    `bins` has low, high, count and share; `fitted` has value and share (per bin, at that value).
    `scale` is "weight" or "risk aversion" (then the values are on a logarithmic axis). Without
    `brush` nothing can be chosen, as on paper.
    """
    drag = alt.selection_interval(name=BRUSH, encodings=["x"])
    by_weight = scale == "weight"
    title = (
        "weight on return (0: least risk, 1: most return)"
        if by_weight
        else "risk aversion (log scale; larger: more careful)"
    )
    axis = alt.X("low:Q", title=title)
    if by_weight:
        axis = axis.scale(domain=[0, 1], nice=False).axis(format=".1f")
        values = alt.X("value:Q", title=title).scale(domain=[0, 1], nice=False)
    else:
        axis = axis.scale(type="log", nice=False).axis(format="~g")
        values = alt.X("value:Q", title=title).scale(type="log", nice=False)
    bars = (
        alt.Chart(bins)
        .mark_rect(stroke="white", strokeWidth=0.5)
        .encode(
            x=axis,
            x2="high:Q",
            y=alt.Y("share:Q", title="share of investors (%)").axis(format="%").scale(zero=True),
            y2=alt.Y2(datum=0),
            color=alt.condition(INSIDE, alt.value(BLUE), alt.value(SKY))
            if brush
            else alt.value(BLUE),
            opacity=alt.condition(INSIDE, alt.value(0.85), alt.value(0.35))
            if brush
            else alt.value(0.8),
            tooltip=[
                number("low", "from", ".3g"),
                number("high", "to", ".3g"),
                number("count", "investors"),
                percent("share", "share", 1),
            ],
        )
    )
    if brush:
        bars = bars.add_params(drag)
    layers = [bars]
    if fitted is not None:
        layers.append(
            alt.Chart(fitted)
            .mark_line(color=AMBER, strokeWidth=3)
            .encode(
                x=values,
                y=alt.Y("share:Q", title="share of investors (%)").axis(format="%"),
                tooltip=[number("value", scale, ".3g"), percent("share", "fitted share", 1)],
            )
        )
    return titled(
        layers,
        "Weight on return (% of investors)" if by_weight else "Risk aversion (% of investors)",
        (
            "Drag over the bars to choose investors"
            if brush
            else "Further right: bolder"
            if by_weight
            else "Further right: more careful"
        )
        + ("; line: fitted" if fitted is not None else ""),
    )


def segment_chart(segments: pd.DataFrame, attribute: str) -> alt.LayerChart:
    """The mean weight of each group with its interval.

    `segments` has segment, investors, mean_weight, mean_low and mean_high.
    """
    y = alt.Y("segment:N", title=None, sort=list(segments["segment"])).axis(labelLimit=130)
    base = alt.Chart(segments).encode(
        y=y,
        tooltip=[
            text("segment", attribute),
            number("investors", "investors"),
            number("mean_weight", "mean weight", ".3f"),
            number("mean_low", "from", ".3f"),
            number("mean_high", "to", ".3f"),
        ],
    )
    title = "mean weight on return"
    return titled(
        [
            base.mark_rule(color=BLUE, strokeWidth=5, opacity=0.4).encode(
                x=alt.X("mean_low:Q", title=title).scale(zero=False), x2="mean_high:Q"
            ),
            base.mark_point(color=BLUE, filled=True, size=90, opacity=1.0).encode(
                x=alt.X("mean_weight:Q", title=title).scale(zero=False)
            ),
        ],
        f"Mean weight by {attribute} (0 to 1)",
        "Bar: interval of the mean; 0: least risk, 1: most return",
        rows_height(len(segments)),
    )


def distance_chart(bins: pd.DataFrame, threshold: float) -> alt.LayerChart:
    """How far portfolios lie from the frontier, and from where on one is an outlier.

    `bins` has low, high, count and outlier.
    """
    return tail_chart(
        bins,
        threshold,
        axis="distance from the frontier (% of wealth)",
        form=".3~%",
        title="Distance to the frontier (investors)",
    )


def tail_chart(
    bins: pd.DataFrame, threshold: float, *, axis: str, form: str, title: str
) -> alt.LayerChart:
    """A histogram with many investors near zero and a few far out, who are outliers.

    `bins` has low, high, count and outlier.

    Args:
        bins: Investors counted by what is on the axis.
        threshold: Where outliers begin, in its unit.
        axis: What it shows, with the unit.
        form: How its numbers are written, in d3's notation.
        title: Of the chart.
    """
    x = alt.X("low:Q", title=axis)
    tooltip = [
        number("low", "from", form),
        number("high", "to", form),
        number("count", "investors"),
    ]
    bars = (
        alt.Chart(bins)
        .mark_rect(stroke="white", strokeWidth=0.4)
        .encode(
            x=x.axis(format=form),
            x2="high:Q",
            y=alt.Y("count:Q", title="investors (log scale)")
            .scale(type="symlog", zero=True)
            .axis(format=",d", values=[1, 10, 100, 1000, 10000, 100000]),
            y2=alt.Y2(datum=0),
            color=alt.condition("datum.outlier", alt.value(VERMILLION), alt.value(GREEN)),
            tooltip=tooltip,
        )
    )
    rule = (
        alt.Chart(pd.DataFrame({"at": [threshold]}))
        .mark_rule(color=GREY, strokeDash=[5, 4], strokeWidth=2)
        .encode(
            x=alt.X("at:Q", title=axis),
            tooltip=[number("at", "outliers begin at", form)],
        )
    )
    return titled(
        [bars, rule],
        title,
        "Right of the dashed line: outliers",
        HEIGHT - 80,
    )
