"""Charts of a market before anyone invests: growth, risk and return of each asset, correlation."""

from __future__ import annotations

import altair as alt
import pandas as pd

from imop_engine.report.frames_market import AVERAGE
from imop_engine.report.style import (
    AMBER,
    BAR,
    BLUE,
    GREY,
    HISTORY,
    LINES,
    VERMILLION,
    first_rows,
    percent,
    return_axis,
    risk_axis,
    rows_height,
    series_colour,
    text,
    titled,
)

# Numbers fit into the cells of a heat map up to this many assets.
NUMBERED_ASSETS = 12
# With more the map would be taller than a screen; names that find no room are in the tooltips.
TALL_ASSETS = 40
# A longer name would push the chart out of its frame; the tooltip has all of it.
LABEL_PIXELS = 80


def asset_chart(
    assets: pd.DataFrame, curve: pd.DataFrame | None = None, *, period: str = "per year"
) -> alt.LayerChart:
    """Each asset by its risk and return, below the frontier that they make together.

    `assets` has asset, risk, return and label (empty where names would cover one another);
    `curve` has series, weight, risk and return.

    Args:
        assets: One row for each asset, fractions per period.
        curve: The frontier; None draws none.
        period: What one period is called in titles.
    """
    points = alt.Chart(assets).encode(
        x=risk_axis(period),
        y=return_axis(period),
        tooltip=[text("asset", "asset"), percent("risk", "risk"), percent("return", "return")],
    )
    layers: list[alt.Chart] = []
    if curve is not None:
        layers.append(
            alt.Chart(curve)
            .mark_line(**LINES[HISTORY])
            .encode(
                x=risk_axis(period),
                y=return_axis(period),
                order="weight:Q",
                color=series_colour([HISTORY]),
                tooltip=[
                    text("series", "frontier"),
                    percent("risk", "risk"),
                    percent("return", "return"),
                ],
            )
        )
    layers += [
        points.mark_circle(size=90, color=BLUE, opacity=0.9),
        points.mark_text(
            align="left", dx=8, dy=1, fontSize=11, color=GREY, limit=LABEL_PIXELS
        ).encode(text="label:N"),
    ]
    return titled(
        layers,
        f"Risk and return (% {period})",
        "Dotted: the best mixes, the frontier of history"
        if curve is not None
        else "Further up earns more; further right swings more",
    )


def correlation_chart(pairs: pd.DataFrame) -> alt.LayerChart:
    """How the assets move together, from −1 (opposite) through 0 (unrelated) to 1 (alike).

    `pairs` has asset, other and correlation, one row for each ordered pair.
    """
    order = list(dict.fromkeys(pairs["asset"]))
    crowded = len(order) > TALL_ASSETS
    base = alt.Chart(pairs).encode(
        x=alt.X("asset:N", title="asset", sort=order).axis(
            labelAngle=-45, labelLimit=90, labelOverlap=crowded
        ),
        y=alt.Y("other:N", title=None, sort=order).axis(labelLimit=110, labelOverlap=crowded),
        tooltip=[
            text("asset", "asset"),
            text("other", "with"),
            alt.Tooltip("correlation:Q", title="correlation", format="+.2f"),
        ],
    )
    cells = base.mark_rect().encode(
        color=alt.Color("correlation:Q", title=None)
        .scale(domain=[-1, 0, 1], range=[BLUE, "#F4F1EA", VERMILLION])
        .legend(orient="top", format="+.1f", gradientLength=180, padding=0, offset=4)
    )
    layers = [cells]
    if len(order) <= NUMBERED_ASSETS:
        layers.append(
            base.mark_text(fontSize=11, color="#1B2733").encode(
                text=alt.Text("correlation:Q", format=".2f")
            )
        )
    return titled(
        layers,
        "Correlation of the assets (−1 to 1)",
        "1: they move together; 0: unrelated; −1: opposite",
        rows_height(min(len(order), TALL_ASSETS)),
    )


def correlation_counts_chart(bins: pd.DataFrame) -> alt.LayerChart:
    """How many pairs of assets move together how closely, for markets with many assets.

    `bins` has low, high, count and share (of the pairs).
    """
    bars = (
        alt.Chart(bins)
        .mark_rect(color=BLUE, opacity=0.85, stroke="white", strokeWidth=0.5)
        .encode(
            x=alt.X("low:Q", title="correlation of two assets")
            .scale(domain=[-1, 1], nice=False)
            .axis(format="+.1f"),
            x2="high:Q",
            y=alt.Y("share:Q", title="share of all pairs (%)").axis(format="%"),
            y2=alt.Y2(datum=0),
            tooltip=[
                alt.Tooltip("low:Q", title="from", format="+.2f"),
                alt.Tooltip("high:Q", title="to", format="+.2f"),
                alt.Tooltip("count:Q", title="pairs", format=",d"),
                percent("share", "share of all pairs", 1),
            ],
        )
    )
    return titled(
        [bars],
        "Correlation of the assets (−1 to 1)",
        "How many pairs move together how closely; the closest are in the table",
    )


def growth_chart(growth: pd.DataFrame) -> alt.LayerChart:
    """What one unit of money became in each asset, and in all of them equally.

    `growth` has date, asset and value; the asset called AVERAGE stands out.
    """
    tooltip = [
        text("asset", "asset"),
        alt.Tooltip("date:T", title="date", format="%b %Y"),
        alt.Tooltip("value:Q", title="worth", format=",.2f"),
    ]
    hover = alt.selection_point(
        name="asset_hover", fields=["asset"], on="pointerover", empty=False, clear="pointerout"
    )
    x = alt.X("date:T", title="date")
    y = alt.Y("value:Q", title="worth of 1 invested at the start (log scale)")
    y = y.scale(type="log", nice=False).axis(format="~g", tickCount=6)
    lines = (
        alt.Chart(growth[growth["asset"] != AVERAGE])
        .mark_line(interpolate="linear")
        .encode(
            x=x,
            y=y,
            detail="asset:N",
            color=alt.condition(hover, alt.value(AMBER), alt.value(GREY)),
            strokeWidth=alt.condition(hover, alt.value(3), alt.value(1)),
            opacity=alt.condition(hover, alt.value(1.0), alt.value(0.55)),
            tooltip=tooltip,
        )
        .add_params(hover)
    )
    average = (
        alt.Chart(growth[growth["asset"] == AVERAGE])
        .mark_line(strokeWidth=3, color=BLUE)
        .encode(x=x, y=y, tooltip=tooltip)
    )
    return titled(
        [lines, average],
        "Growth (worth of 1 invested)",
        "Grey: one asset each; blue: all equally",
    )


def moments_chart(assets: pd.DataFrame, *, period: str = "per year") -> alt.LayerChart:
    """Expected return of each asset as a bar, for markets that come without a history.

    `assets` has asset, risk and return.
    """
    assets, left_out = first_rows(assets, assets["return"])
    bars = (
        alt.Chart(assets)
        .mark_bar(color=BLUE, opacity=0.85, size=BAR)
        .encode(
            x=alt.X("return:Q", title=f"expected return (% {period})").axis(format="%"),
            y=alt.Y("asset:N", title=None, sort=list(assets["asset"])),
            tooltip=[text("asset", "asset"), percent("return", "return"), percent("risk", "risk")],
        )
    )
    return titled(
        [bars],
        f"Expected returns (% {period})",
        left_out or "As given; there is no history behind these numbers",
        rows_height(len(assets)),
    )
