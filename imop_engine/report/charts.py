"""Charts as pure functions: tables in, an Altair chart out.

The same functions serve the app and a written report, so they know nothing of either: no
background, no font, no page width. The colours are from the Okabe-Ito palette, which stays
readable with colour-blind eyes, and each is strong enough on a light and on a dark background.
Truth and estimate also differ in shape (line or dash, bar or outline), never in colour alone.
"""

from __future__ import annotations

from typing import Any, Final

import altair as alt
import pandas as pd

BLUE: Final = "#0072B2"
VERMILLION: Final = "#D55E00"
GREEN: Final = "#009E73"
GREY: Final = "#76808A"

TRUE: Final = "true"
ESTIMATED: Final = "estimated"
COLOURS: Final = {TRUE: VERMILLION, ESTIMATED: BLUE}

HEIGHT: Final = 380
ROW_HEIGHT: Final = 22


def frontier_chart(
    curves: pd.DataFrame, investors: pd.DataFrame | None = None, *, period: str = "per year"
) -> alt.LayerChart:
    """Return against risk along each frontier, with the investors' portfolios behind.

    `curves` has series, weight, risk and return; `investors` has investor, risk and return.
    """
    layers: list[alt.Chart] = []
    if investors is not None:
        layers.append(
            alt.Chart(investors)
            .mark_circle(size=70, opacity=0.15, color=GREY)
            .encode(
                x=_risk_axis(period),
                y=_return_axis(period),
                tooltip=[
                    alt.Tooltip("investor:Q", title="investor"),
                    alt.Tooltip("risk:Q", title="risk", format=".2%"),
                    alt.Tooltip("return:Q", title="return", format=".2%"),
                ],
            )
        )
    tooltip = [
        alt.Tooltip("series:N", title="frontier"),
        alt.Tooltip("weight:Q", title="weight on return", format=".3f"),
        alt.Tooltip("risk:Q", title="risk", format=".2%"),
        alt.Tooltip("return:Q", title="return", format=".2%"),
    ]
    for series, mark in ((TRUE, {"strokeWidth": 4, "opacity": 0.75}), (ESTIMATED, _DASHED)):
        part = curves[curves["series"] == series]
        if part.empty:
            continue
        layers.append(
            alt.Chart(part)
            .mark_line(**mark)
            .encode(
                x=_risk_axis(period),
                y=_return_axis(period),
                order="weight:Q",
                color=_series_colour(curves["series"]),
                tooltip=tooltip,
            )
        )
    subtitle = "The best return at each level of risk"
    if investors is not None:
        subtitle = "Best return at each risk; dots: portfolios seen"
    return _titled(layers, f"Efficient frontier (% {period})", subtitle)


def weight_chart(bins: pd.DataFrame) -> alt.LayerChart:
    """How the investors' weights are distributed: the true ones as bars, the inferred outlined.

    `bins` has series, low, high and share, as `frames.weight_bins` makes it.
    """
    x = alt.X("low:Q", title="weight on return (0: least risk, 1: most return)")
    x = x.scale(domain=[0, 1], nice=False).bin("binned").axis(format=".1f")
    y = alt.Y("share:Q", title="share of investors (%)").axis(format="%").stack(None)
    tooltip = [
        alt.Tooltip("series:N", title="weights"),
        alt.Tooltip("low:Q", title="from", format=".3f"),
        alt.Tooltip("high:Q", title="to", format=".3f"),
        alt.Tooltip("share:Q", title="share", format=".1%"),
    ]
    looks: dict[str, dict[str, Any]] = {
        TRUE: {"opacity": 0.45},
        ESTIMATED: {"filled": False, "strokeWidth": 2.5},
    }
    layers = [
        alt.Chart(bins[bins["series"] == series])
        .mark_bar(**look)
        .encode(x=x, x2="high:Q", y=y, color=_series_colour(bins["series"]), tooltip=tooltip)
        for series, look in looks.items()
        if (bins["series"] == series).any()
    ]
    return _titled(
        layers,
        "Investors by weight on return (% of investors)",
        "Near 0: little risk wanted; near 1: much return",
    )


def returns_chart(returns: pd.DataFrame, *, period: str = "per year") -> alt.LayerChart:
    """Each asset's estimated return, joined to the true one where it is known.

    `returns` has asset and estimate, and where the truth is known true and error.
    """
    known = "true" in returns.columns
    order = returns["asset"].tolist()
    y = alt.Y("asset:N", title=None, sort=order).axis(labelOverlap=False)
    tooltip = [
        alt.Tooltip("asset:N", title="asset"),
        alt.Tooltip("estimate:Q", title="estimated", format=".2%"),
    ]
    if known:
        tooltip += [
            alt.Tooltip("true:Q", title="true", format=".2%"),
            alt.Tooltip("error:Q", title="error", format="+.2%"),
        ]
    title = f"expected return (% {period})"
    x = alt.X("value:Q", title=title).axis(format="%").scale(zero=False)
    marks = [ESTIMATED] if not known else [TRUE, ESTIMATED]
    column = {ESTIMATED: "estimate", TRUE: "true"}
    layers: list[alt.Chart] = []
    if known:
        layers.append(
            alt.Chart(returns)
            .mark_rule(color=GREY, strokeWidth=2)
            .encode(
                x=alt.X("estimate:Q", title=title).axis(format="%").scale(zero=False),
                x2="true:Q",
                y=y,
                tooltip=tooltip,
            )
        )
    for series in marks:
        part = returns.assign(series=series, value=returns[column[series]])
        look: dict[str, Any] = (
            {"shape": "diamond", "filled": False, "size": 130, "strokeWidth": 2.5}
            if series == TRUE
            else {"shape": "circle", "filled": True, "size": 70}
        )
        layers.append(
            alt.Chart(part)
            .mark_point(opacity=1.0, **look)
            .encode(x=x, y=y, color=_series_colour(pd.Series(marks)), tooltip=tooltip)
        )
    return _titled(
        layers,
        f"Expected returns by asset (% {period})",
        "The grey bar between the two marks is the error" if known else "Estimated from holdings",
    ).properties(height=returns_height(len(returns)))


def returns_height(assets: int) -> int:
    """Height at which that many assets have a line each and every name is readable."""
    return max(HEIGHT, HEIGHT // 3 + ROW_HEIGHT * assets)


def error_chart(trail: pd.DataFrame) -> alt.LayerChart:
    """The error of the estimate while the investors came in, one after another.

    `trail` has round, measure ("raw" or "aligned") and error.
    """
    measures = ["raw", "aligned"]
    # Colour and dash share one legend, so both must describe it in the same words.
    legend = alt.Legend(orient="top", symbolType="stroke", symbolStrokeWidth=3, padding=0, offset=4)
    colour = alt.Color("measure:N", title=None, legend=legend).scale(
        domain=measures, range=[BLUE, GREEN]
    )
    dash = alt.StrokeDash("measure:N", title=None, legend=legend).scale(
        domain=measures, range=[[1, 0], [5, 3]]
    )
    # A logarithm has no zero, so an exact hit is left out.
    base = alt.Chart(trail[trail["error"] > 0]).encode(
        x=alt.X("round:Q", title="investors seen").axis(format=",d"),
        y=alt.Y("error:Q", title="distance from the truth (log scale)")
        .scale(type="log")
        .axis(format="~g"),
        color=colour,
        tooltip=[
            alt.Tooltip("measure:N", title="error"),
            alt.Tooltip("round:Q", title="investors seen", format=",d"),
            alt.Tooltip("error:Q", title="distance", format=".5f"),
        ],
    )
    return _titled(
        [base.mark_line(strokeWidth=2.5).encode(strokeDash=dash), base.mark_circle(size=24)],
        "Error of the estimate (distance in return per year)",
        "Aligned: after the best shift and scale",
    )


def loss_chart(losses: pd.DataFrame) -> alt.LayerChart:
    """How far each investor's portfolio lay from the estimated frontier when it came in.

    `losses` has first, last and loss: the mean squared distance over those investors.
    """
    base = alt.Chart(losses[losses["loss"] > 0]).encode(
        x=alt.X("last:Q", title="investors seen").axis(format=",d"),
        y=alt.Y("loss:Q", title="mean squared distance (log scale)")
        .scale(type="log")
        .axis(format="~g"),
        tooltip=[
            alt.Tooltip("first:Q", title="from investor", format=",d"),
            alt.Tooltip("last:Q", title="to investor", format=",d"),
            alt.Tooltip("loss:Q", title="mean squared distance", format=".3g"),
        ],
    )
    return _titled(
        [base.mark_line(strokeWidth=2, color=BLUE), base.mark_circle(size=24, color=BLUE)],
        "Surprise per investor (squared share of wealth)",
        "From each new portfolio to the frontier so far",
    )


_DASHED: Final[dict[str, Any]] = {"strokeWidth": 2.5, "strokeDash": [7, 4]}


def _risk_axis(period: str) -> alt.X:
    title = f"risk: standard deviation (% {period})"
    return alt.X("risk:Q", title=title).axis(format="%").scale(zero=False)


def _return_axis(period: str) -> alt.Y:
    title = f"expected return (% {period})"
    return alt.Y("return:Q", title=title).axis(format="%").scale(zero=False)


def _series_colour(present: pd.Series[str]) -> alt.Color:
    shown = [name for name in COLOURS if (present == name).any()]
    return (
        alt.Color("series:N", title=None)
        .scale(domain=shown, range=[COLOURS[name] for name in shown])
        .legend(orient="top", symbolStrokeWidth=3, padding=0, offset=4)
    )


def _titled(layers: list[alt.Chart], title: str, subtitle: str) -> alt.LayerChart:
    text = alt.TitleParams(
        title,
        subtitle=subtitle,
        anchor="start",
        offset=8,
        subtitlePadding=4,
        subtitleFontSize=12,
        subtitleColor=GREY,
    )
    return alt.LayerChart(layer=layers).properties(title=text, height=HEIGHT, width="container")
