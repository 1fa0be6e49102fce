"""Charts of what investors leave on the table: a dot, the frontier above it, the arrow between."""

from __future__ import annotations

import altair as alt
import pandas as pd

from imop_engine.report.charts import frontier_lines
from imop_engine.report.charts_people import tail_chart
from imop_engine.report.style import (
    BAR,
    BLUE,
    GREY,
    HEIGHT,
    VERMILLION,
    number,
    percent,
    return_axis,
    risk_axis,
    rows_height,
    text,
    titled,
)

AXIS = "return left on the table (% per year)"
# Hundredths of a per cent matter here; zeros at the end do not.
DIGITS = ".3~%"
LEAST_POINTS = 0.05  # fewer basis points would read as 0.0


def gap_label(points: float) -> str:
    """What stands beside an arrow, short enough for a phone.

    Args:
        points: The gap, in basis points a year.

    >>> gap_label(26.2), gap_label(0.0084)
    ('+26.2 bp', 'next to nothing')
    """
    return f"+{points:,.1f} bp" if points >= LEAST_POINTS else "next to nothing"


def gap_chart(
    curves: pd.DataFrame,
    arrows: pd.DataFrame,
    investors: pd.DataFrame | None = None,
    *,
    period: str = "per year",
) -> alt.LayerChart:
    """The gap in one look: a portfolio, the frontier above it, and the arrow between.

    `curves` has series, weight, risk and return; `arrows` has investor, risk, return, risk_to,
    return_to, gap and points (in basis points); `investors` has investor, risk and return.

    Args:
        curves: The estimated frontier, fractions per period.
        arrows: One row for each investor with an arrow; the first one is labelled with its size.
        investors: The other portfolios, drawn faintly; None draws none.
        period: What one period is called in titles.
    """
    x, y = risk_axis(period), return_axis(period)
    risk, gain = f"risk: standard deviation (% {period})", f"expected return (% {period})"
    tooltip = [
        text("investor", "investor"),
        percent("risk", "risk"),
        percent("return", "return"),
        percent("return_to", "return at the same risk"),
        percent("gap", "left on the table", 3),
        number("points", "in basis points", ".1f"),
    ]
    layers: list[alt.Chart] = []
    if investors is not None:
        faint = alt.Chart(investors).mark_circle(size=40, opacity=0.15, color=GREY)
        layers.append(
            faint.encode(
                x=x,
                y=y,
                tooltip=[
                    text("investor", "investor"),
                    percent("risk", "risk"),
                    percent("return", "return"),
                ],
            )
        )
    layers += frontier_lines(curves, period)
    base = alt.Chart(arrows).encode(tooltip=tooltip)
    end = {
        "x": alt.X("risk_to:Q", title=risk).scale(zero=False),
        "y": alt.Y("return_to:Q", title=gain).scale(zero=False),
    }
    layers += [
        base.mark_rule(color=VERMILLION, strokeWidth=2).encode(
            x=x, y=y, x2="risk_to:Q", y2="return_to:Q"
        ),
        base.mark_point(
            shape="triangle-up", filled=True, size=45, color=VERMILLION, opacity=1.0, yOffset=4
        ).encode(**end),
        base.mark_circle(size=40, color=VERMILLION, opacity=1.0).encode(x=x, y=y),
    ]
    first = arrows.head(1)
    label = first.assign(
        middle=(first["return"] + first["return_to"]) / 2,
        said=[gap_label(float(points)) for points in first["points"].to_numpy()],
    )
    layers.append(
        alt.Chart(label)
        .mark_text(align="left", dx=9, color=VERMILLION, fontSize=13, fontWeight="bold")
        .encode(x=x, y=alt.Y("middle:Q", title=gain), text="said:N", tooltip=tooltip)
    )
    return titled(
        layers,
        f"Return left on the table (% {period})",
        "Arrow: more return at the same risk",
    )


def gap_histogram_chart(bins: pd.DataFrame, threshold: float) -> alt.LayerChart:
    """How much investors leave on the table, and from where on one is an outlier.

    `bins` has low, high, count and outlier.

    Args:
        bins: Investors counted by gap, fractions per year.
        threshold: The gap beyond which one is an outlier, a fraction per year.
    """
    chart: alt.LayerChart = tail_chart(
        bins,
        threshold,
        axis=AXIS,
        form=DIGITS,
        title="Return left on the table (investors)",
    ).properties(height=HEIGHT)
    return chart


def gap_segment_chart(segments: pd.DataFrame, attribute: str) -> alt.LayerChart:
    """What each group leaves on the table: the mean as a bar, the median as a tick.

    `segments` has segment, investors, mean_gap, median_gap and share_of_gap.

    Args:
        segments: One row for each group, gaps as fractions per year.
        attribute: What the groups are made by.
    """
    order = list(segments["segment"])
    base = alt.Chart(segments.assign(points=1e4 * segments["mean_gap"])).encode(
        y=alt.Y("segment:N", title=None, sort=order).axis(labelLimit=130),
        tooltip=[
            text("segment", attribute),
            number("investors", "investors"),
            percent("mean_gap", "mean", 3),
            number("points", "mean, basis points", ".1f"),
            percent("median_gap", "median", 3),
            percent("share_of_gap", "share of what all leave", 1),
        ],
    )
    return titled(
        [
            base.mark_bar(color=BLUE, opacity=0.8, size=BAR).encode(
                x=alt.X("mean_gap:Q", title=AXIS).axis(format=DIGITS).scale(zero=True)
            ),
            base.mark_tick(color=VERMILLION, thickness=3, size=16).encode(
                x=alt.X("median_gap:Q", title=AXIS)
            ),
        ],
        f"Left on the table by {attribute} (% per year)",
        "Bar: mean; tick: median",
        rows_height(len(segments)),
    )
