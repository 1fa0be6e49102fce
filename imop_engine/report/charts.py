"""Charts of a run as pure functions: tables in, an Altair chart out.

The same functions serve the app and a written report, so they know nothing of either: no
background, no font, no page width. Colours and titles are in style.py.
"""

from __future__ import annotations

import math

import altair as alt
import pandas as pd

from imop_engine.report.style import (
    BLUE,
    COLOURS,
    ESTIMATED,
    GREEN,
    GREY,
    HEIGHT,
    HISTORY,
    IMPLIED,
    LINES,
    TRUE,
    VERMILLION,
    number,
    percent,
    return_axis,
    risk_axis,
    rows_height,
    series_colour,
    text,
    titled,
)

__all__ = [
    "BLUE",
    "COLOURS",
    "ESTIMATED",
    "GREEN",
    "GREY",
    "HEIGHT",
    "HISTORY",
    "IMPLIED",
    "TRUE",
    "VERMILLION",
    "frontier_chart",
    "frontier_lines",
    "loss_chart",
    "returns_height",
]


BAND_ROOM = 0.25  # of the height that frontiers and portfolios take, above and below


def frontier_chart(
    curves: pd.DataFrame,
    investors: pd.DataFrame | None = None,
    *,
    period: str = "per year",
    band: pd.DataFrame | None = None,
    projections: pd.DataFrame | None = None,
) -> alt.LayerChart:
    """Return against risk along each frontier, with the investors' portfolios behind.

    `curves` has series, weight, risk and return; `investors` has investor, risk and return;
    `band` has risk, low and high: where the estimated frontier lies at the level of the run;
    `projections` has investor, risk, return, risk_to and return_to: each portfolio and the nearest
    efficient one.

    Args:
        curves: The frontiers, yearly fractions.
        investors: Their portfolios; None draws none.
        period: What one period is called in titles.
        band: The interval of the estimated frontier; None draws none.
        projections: Lines from portfolios to the frontier; None draws none.
    """
    x, y = risk_axis(period), return_axis(period)
    layers: list[alt.Chart] = []
    if band is not None:
        layers.append(
            alt.Chart(_within(band, curves, investors))
            .mark_area(color=BLUE, opacity=0.14)
            .encode(
                x=x,
                y=alt.Y("from:Q", title=f"expected return (% {period})").axis(format="%"),
                y2="to:Q",
                tooltip=[
                    percent("risk", "risk"),
                    percent("low", "at least"),
                    percent("high", "at most"),
                ],
            )
        )
    if investors is not None:
        layers.append(
            alt.Chart(investors)
            .mark_circle(size=70, opacity=0.15, color=GREY)
            .encode(
                x=x,
                y=y,
                tooltip=[
                    text("investor", "investor"),
                    percent("risk", "risk"),
                    percent("return", "return"),
                ],
            )
        )
    if projections is not None:
        layers.append(
            alt.Chart(projections)
            .mark_rule(color=GREY, strokeWidth=1, opacity=0.6)
            .encode(
                x=x,
                y=y,
                x2="risk_to:Q",
                y2="return_to:Q",
                tooltip=[
                    text("investor", "investor"),
                    percent("risk", "risk"),
                    percent("risk_to", "risk of the nearest efficient"),
                ],
            )
        )
    layers += frontier_lines(curves, period)
    subtitle = "The best return at each level of risk"
    if investors is not None:
        subtitle = "Best return at each risk; dots: portfolios seen"
    if band is not None:
        subtitle = "Dots: portfolios seen; shaded: interval, anchors as given"
    if projections is not None:
        subtitle = "Each dot leads to the nearest efficient portfolio"
    return titled(layers, f"Efficient frontier (% {period})", subtitle)


def _within(
    band: pd.DataFrame, curves: pd.DataFrame, investors: pd.DataFrame | None
) -> pd.DataFrame:
    """The band cut where the chart would end without it: frontiers and portfolios set the axis."""
    shown = [curves["return"], *([] if investors is None else [investors["return"]])]
    values = pd.concat(shown)
    room = BAND_ROOM * max(float(values.max() - values.min()), 1e-4)
    low, high = float(values.min()) - room, float(values.max()) + room
    return band.assign(**{"from": band["low"].clip(low, high), "to": band["high"].clip(low, high)})


def frontier_lines(curves: pd.DataFrame, period: str = "per year") -> list[alt.Chart]:
    """One line for each series of `curves`, each in its colour and dash."""
    tooltip = [
        text("series", "frontier"),
        number("weight", "weight on return", ".3f"),
        percent("risk", "risk"),
        percent("return", "return"),
    ]
    return [
        alt.Chart(curves[curves["series"] == series])
        .mark_line(**look)
        .encode(
            x=risk_axis(period),
            y=return_axis(period),
            order="weight:Q",
            color=series_colour(curves["series"]),
            tooltip=tooltip,
        )
        for series, look in LINES.items()
        if (curves["series"] == series).any()
    ]


def returns_height(assets: int) -> int:
    """Height at which that many assets have a line each and every name is readable."""
    return rows_height(assets)


# Zeros are hard to count: what is small is written as a power of ten.
SMALL = "datum.value < 0.0001 ? format(100 * datum.value, '~e') + '%' : format(datum.value, '~%')"


def _decades(values: pd.Series) -> list[float]:
    """The powers of ten around these values; an axis left alone marks odd places between them."""
    positive = values[values > 0]
    if positive.empty:
        return [1.0]
    low, high = math.floor(math.log10(positive.min())), math.ceil(math.log10(positive.max()))
    return [10.0**power for power in range(low, high + 1)]


# What a loss is called: on the axis and in tooltips, in the title, below it.
LOSS_WORDS = {
    "distance": (
        "typical distance, % of wealth",
        "Misfit of new portfolios (% of wealth)",
        "From each new portfolio to the frontier so far",
    ),
    "efficiency": (
        "mean return left on the table",
        "Misfit of new portfolios (% per year)",
        "By each new portfolio, under the returns so far",
    ),
}


def loss_chart(losses: pd.DataFrame, loss: str = "distance") -> alt.LayerChart:
    """How badly each investor's portfolio was explained by the estimate when it came in.

    `losses` has first, last and loss: the mean over those investors.

    Args:
        losses: One row for each block of investors.
        loss: What is averaged: squared "distance" to the frontier, or ("efficiency") the return
            left on the table, per year.
    """
    what, title, subtitle = LOSS_WORDS[loss]
    if loss == "distance":  # shown as what it is the square of: a share of wealth
        losses = losses.assign(loss=losses["loss"] ** 0.5)
    base = alt.Chart(losses[losses["loss"] > 0]).encode(
        x=alt.X("last:Q", title="investors seen").axis(format=",d"),
        y=alt.Y("loss:Q", title=f"{what} (log scale)")
        .scale(type="log")
        .axis(labelExpr=SMALL, values=_decades(losses["loss"])),
        tooltip=[
            alt.Tooltip("first:Q", title="from investor", format=",d"),
            alt.Tooltip("last:Q", title="to investor", format=",d"),
            alt.Tooltip("loss:Q", title=what, format=".3~%"),
        ],
    )
    return titled(
        [base.mark_line(strokeWidth=2, color=BLUE), base.mark_circle(size=24, color=BLUE)],
        title,
        subtitle,
    )
