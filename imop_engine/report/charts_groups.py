"""Charts of what groups of investors believe: dots with intervals side by side, lines over time."""

from __future__ import annotations

import altair as alt
import pandas as pd

from imop_engine.report.style import (
    ASSET_COLOURS,
    GREY,
    HEIGHT,
    legend,
    number,
    percent,
    text,
    titled,
)

SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down", "stroke", "wedge")
ROW = 13  # pixels for each group within an asset
AXIS = "expected return (% per year)"


def group_chart(dots: pd.DataFrame, by: str) -> alt.LayerChart:
    """What each group expects of each asset, with its interval; a grey tick is the common return.

    `dots` has group, investors, asset, estimate, low, high, difference and common.

    Args:
        dots: One row for each group and asset, fractions per year.
        by: What the groups are made by.
    """
    groups, assets = list(dict.fromkeys(dots["group"])), list(dict.fromkeys(dots["asset"]))
    y = alt.Y("asset:N", title=None, sort=assets).axis(labelOverlap=False, labelLimit=130)
    offset = alt.YOffset("group:N", sort=groups)
    colour = (
        alt.Color("group:N", title=None, sort=groups)
        .scale(domain=groups, range=list(ASSET_COLOURS[: len(groups)]))
        .legend(legend(columns=2, label_limit=135))
    )
    shape = alt.Shape("group:N", title=None, sort=groups).scale(
        domain=groups, range=list(SHAPES[: len(groups)])
    )
    tooltip = [
        text("group", by),
        number("investors", "investors"),
        text("asset", "asset"),
        percent("estimate", "expected"),
        percent("low", "at least"),
        percent("high", "at most"),
        percent("difference", "less what all expect"),
    ]
    base = alt.Chart(dots).encode(y=y, tooltip=tooltip)
    spread = base.encode(yOffset=offset, color=colour)
    common = base.mark_tick(color=GREY, thickness=2, size=ROW * (len(groups) + 1)).encode(
        x=alt.X("common:Q", title=AXIS)
    )
    layers = [
        common,
        spread.mark_rule(strokeWidth=2, opacity=0.8).encode(
            x=alt.X("low:Q", title=AXIS).axis(format="%").scale(zero=False), x2="high:Q"
        ),
        spread.mark_point(filled=True, size=55, opacity=1.0).encode(
            x=alt.X("estimate:Q", title=AXIS), shape=shape
        ),
    ]
    height = max(HEIGHT // 2, 110 + ROW * (len(groups) + 1) * len(assets))
    return titled(
        layers,
        f"What groups by {by} expect (% per year)",
        "Dot and line: group with interval; grey: all",
        height,
    )


def group_time_chart(lines: pd.DataFrame, by: str) -> alt.LayerChart:
    """How beliefs moved: a line for each asset, with intervals.

    `lines` has period, asset, estimate, low, high and investors.

    Args:
        lines: One row for each period and asset, fractions per year, in order of time.
        by: Year or quarter.
    """
    periods, assets = sorted(set(lines["period"])), list(dict.fromkeys(lines["asset"]))
    colour = (
        alt.Color("asset:N", title=None, sort=assets)
        .scale(domain=assets, range=list(ASSET_COLOURS[: len(assets)]))
        .legend(legend())
    )
    shape = alt.Shape("asset:N", title=None, sort=assets).scale(
        domain=assets, range=list(SHAPES[: len(assets)])
    )
    base = alt.Chart(lines).encode(
        x=alt.X("period:O", title=by, sort=periods).axis(labelAngle=0, labelOverlap=True),
        color=colour,
        tooltip=[
            text("period", by),
            number("investors", "investors"),
            text("asset", "asset"),
            percent("estimate", "expected"),
            percent("low", "at least"),
            percent("high", "at most"),
        ],
    )
    y = alt.Y("estimate:Q", title=AXIS).axis(format="%").scale(zero=False)
    return titled(
        [
            base.mark_rule(opacity=0.45).encode(y=alt.Y("low:Q", title=AXIS), y2="high:Q"),
            base.mark_line(strokeWidth=2).encode(y=y),
            base.mark_point(filled=True, size=50, opacity=1.0).encode(y=y, shape=shape),
        ],
        f"How beliefs moved by {by} (% per year)",
        "Line: expected return; bar: its interval",
    )
