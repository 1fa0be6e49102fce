"""Charts of one client: holdings side by side, the place below the frontier, the risk score."""

from __future__ import annotations

from typing import Final

import altair as alt
import pandas as pd

from imop_engine.report.charts import frontier_lines
from imop_engine.report.frames_client import AFTER, BENCHMARK, EDITED, EFFICIENT, HELD, KINDS
from imop_engine.report.style import (
    AMBER,
    BLUE,
    GREEN,
    GREY,
    MAUVE,
    legend,
    number,
    percent,
    return_axis,
    risk_axis,
    text,
    titled,
)

KIND_COLOURS: Final = {
    HELD: BLUE, AFTER: AMBER, EDITED: AMBER, BENCHMARK: MAUVE, EFFICIENT: GREEN,
}  # fmt: skip
SHAPES: Final = {
    HELD: "circle", AFTER: "square", EDITED: "square", BENCHMARK: "diamond",
    EFFICIENT: "triangle-up",
}  # fmt: skip
BAR: Final = 9  # pixels of one bar
STRIP: Final = 130  # height of the score


def holdings_chart(bars: pd.DataFrame) -> alt.LayerChart:
    """What is held beside the efficient portfolio at the same risk.

    `bars` has asset, kind and share, as `frames_client.holdings_bars` makes it.
    """
    assets = list(dict.fromkeys(bars["asset"]))
    kinds = [kind for kind in KINDS if (bars["kind"] == kind).any()]
    drawn = (
        alt.Chart(bars)
        .mark_bar(opacity=0.9)
        .encode(
            x=alt.X("share:Q", title="share of the portfolio (%)").axis(format="%"),
            y=alt.Y("asset:N", title=None, sort=assets).axis(labelLimit=150, labelOverlap=False),
            yOffset=alt.YOffset("kind:N", sort=kinds),
            color=_kind_colour(kinds),
            tooltip=[text("asset", "asset"), text("kind", "portfolio"), percent("share", "share")],
        )
    )
    return titled(
        [drawn],
        "Holdings (% of the portfolio)",
        f"{', '.join(kinds)}",
        90 + (BAR * len(kinds) + 6) * len(assets),
    )


def position_chart(curves: pd.DataFrame, places: pd.DataFrame) -> alt.LayerChart:
    """The client's portfolios below the frontier, before and after.

    `curves` has series, weight, risk and return; `places` has kind, risk and return.

    Args:
        curves: The estimated frontier, fractions per year.
        places: What is held, after trades, efficient.
    """
    kinds = [kind for kind in KINDS if (places["kind"] == kind).any()]
    points = (
        alt.Chart(places)
        .mark_point(filled=True, size=130, opacity=1.0)
        .encode(
            x=risk_axis("per year"),
            y=return_axis("per year"),
            color=_kind_colour(kinds),
            shape=alt.Shape("kind:N", legend=None).scale(
                domain=kinds, range=[SHAPES[kind] for kind in kinds]
            ),
            tooltip=[
                text("kind", "portfolio"),
                percent("risk", "risk"),
                percent("return", "return"),
            ],
        )
    )
    line = alt.LayerChart(layer=frontier_lines(curves))
    both = titled(
        [line, points],
        "Risk and expected return (% per year)",
        "Line: the estimated frontier",
        280,
    )
    resolved: alt.LayerChart = both.resolve_scale(color="independent")
    return resolved


def score_chart(bands: pd.DataFrame, marks: pd.DataFrame, height: int = STRIP) -> alt.LayerChart:
    """The risk score on its scale: seven classes, the stated one, what is held and preferred.

    `bands` has label, low, high and stated; `marks` has what, score, low and high.

    Args:
        bands: Classes of volatility, and the stated class where there is one.
        marks: Scores with their intervals.
        height: In pixels.
    """
    x = alt.X("low:Q", title="risk score, 1 to 99").scale(domain=[1, 99], nice=False)
    x = x.axis(values=[1, 15, 29, 43, 57, 71, 85, 99], grid=False)
    classes = bands[~bands["stated"]]
    places = [*marks["what"], *(["stated"] if bands["stated"].any() else [])]
    y = alt.Y("what:N", title=None, sort=places)
    base = alt.Chart(classes).encode(x=x, x2="high:Q")
    layers: list[alt.Chart] = [
        base.mark_rect(stroke="white", strokeWidth=1, color=BLUE).encode(
            opacity=alt.Opacity("low:Q", legend=None).scale(range=[0.06, 0.3]),
            tooltip=[text("label", "class of volatility")],
        )
    ]
    stated = bands[bands["stated"]].assign(what="stated")
    if len(stated):
        layers.append(
            alt.Chart(stated)
            .mark_bar(color=GREY, height=10, opacity=0.8)
            .encode(x=x, x2="high:Q", y=y, tooltip=[text("label", "class")])
        )
    tooltip = [
        text("what", "of"),
        number("score", "score", ".0f"),
        number("low", "at least", ".0f"),
        number("high", "at most", ".0f"),
    ]
    dots = alt.Chart(marks).encode(y=y, tooltip=tooltip)
    score = alt.X("score:Q", title="risk score, 1 to 99")
    layers += [
        dots.mark_rule(strokeWidth=3, color=BLUE).encode(x=x, x2="high:Q"),
        dots.mark_point(filled=True, size=110, color=BLUE, opacity=1.0).encode(x=score),
        dots.mark_text(dy=-11, fontWeight="bold", color=BLUE).encode(
            x=score, text=alt.Text("score:Q", format=".0f")
        ),
    ]
    return titled(layers, "Risk score", "Shades: classes 1 to 7 of volatility", height)


def _kind_colour(kinds: list[str]) -> alt.Color:
    return (
        alt.Color("kind:N", title=None)
        .scale(domain=kinds, range=[KIND_COLOURS[kind] for kind in kinds])
        .legend(legend())
    )
