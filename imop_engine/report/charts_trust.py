"""Charts of what the numbers of a study rest on."""

from __future__ import annotations

import altair as alt
import pandas as pd

from imop_engine.report.style import (
    AMBER,
    BAR,
    BLUE,
    ESTIMATED,
    GREEN,
    GREY,
    MAUVE,
    MOST_ROWS,
    SKY,
    VERMILLION,
    first_rows,
    legend,
    percent,
    rows_height,
    text,
    titled,
)

EVERYONE = "with everyone"
NOW, THEN = "now", "with these"
COLOURS = (BLUE, SKY, AMBER, MAUVE, GREEN)  # of the sources, in their order


def sources_chart(shares: pd.DataFrame) -> alt.LayerChart:
    """A bar for each return: where the width of its interval comes from.

    `shares` has asset, source, share (of the variance, a fraction) and order.
    """
    assets = list(dict.fromkeys(shares["asset"]))
    left_out = ""
    if len(assets) > MOST_ROWS:
        left_out = f"{MOST_ROWS} of {len(assets)}; the table has all"
        assets = assets[:MOST_ROWS]
        shares = shares[shares["asset"].isin(assets)]
    known = shares.drop_duplicates("source").sort_values("order")
    colour = (
        alt.Color("source:N", title=None)
        .scale(
            domain=known["source"].tolist(),
            range=[COLOURS[int(order) % len(COLOURS)] for order in known["order"]],
        )
        .legend(legend())
    )
    bars = (
        alt.Chart(shares)
        .mark_bar(opacity=0.9, size=BAR)
        .encode(
            x=alt.X("share:Q", title="share of the interval's variance (%)")
            .axis(format="%")
            .stack("zero")
            .scale(domain=[0, 1]),
            y=alt.Y("asset:N", title=None, sort=assets).axis(labelOverlap=False, labelLimit=130),
            color=colour,
            order=alt.Order("order:Q"),
            tooltip=[
                text("asset", "asset"),
                text("source", "source"),
                percent("share", "share", 1),
            ],
        )
    )
    return titled(
        [bars],
        "Where each interval comes from (%)",
        left_out or "The longest part is what to know better first",
        rows_height(len(assets)),
    )


def with_and_without_chart(both: pd.DataFrame, *, period: str = "per year") -> alt.LayerChart:
    """Each return as estimated, and with those who were set aside.

    `both` has asset, estimate and with_everyone.
    """
    both, left_out = first_rows(both, (both["with_everyone"] - both["estimate"]).abs())
    assets = list(both["asset"])
    y = alt.Y("asset:N", title=None, sort=assets).axis(labelOverlap=False, labelLimit=130)
    title = f"expected return (% {period})"
    tooltip = [
        text("asset", "asset"),
        percent("estimate", "estimated"),
        percent("with_everyone", EVERYONE),
    ]
    colour = (
        alt.Color("series:N", title=None)
        .scale(domain=[ESTIMATED, EVERYONE], range=[BLUE, VERMILLION])
        .legend(legend())
    )
    lines = (
        alt.Chart(both)
        .mark_rule(strokeWidth=2, color=GREY)
        .encode(
            x=alt.X("estimate:Q", title=title).axis(format="%").scale(zero=False),
            x2="with_everyone:Q",
            y=y,
            tooltip=tooltip,
        )
    )
    points = [
        alt.Chart(both.assign(series=series, value=both[column]))
        .mark_point(shape=shape, filled=shape == "circle", size=80, strokeWidth=2.2, opacity=1.0)
        .encode(
            x=alt.X("value:Q", title=title).axis(format="%").scale(zero=False),
            y=y,
            color=colour,
            tooltip=tooltip,
        )
        for series, column, shape in (
            (EVERYONE, "with_everyone", "diamond"),
            (ESTIMATED, "estimate", "circle"),
        )
    ]
    return titled(
        [lines, *points],
        f"With and without those set aside (% {period})",
        left_out or "A long line: a few investors would move this return",
        rows_height(len(assets)),
    )


def levels_chart(levels: pd.DataFrame, *, period: str = "per year") -> alt.LayerChart:
    """Each return as it is now and at the level of other known returns.

    `levels` has asset, now (not a number where there is no run yet) and chosen.
    """
    levels, left_out = first_rows(levels, levels["chosen"])
    y = alt.Y("asset:N", title=None, sort=list(levels["asset"])).axis(
        labelOverlap=False, labelLimit=130
    )
    title = f"expected return (% {period})"
    x = alt.X("value:Q", title=title).axis(format="%").scale(zero=False)
    tooltip = [text("asset", "asset"), percent("now", NOW), percent("chosen", THEN)]
    both = levels.dropna(subset="now")
    series = [(THEN, "chosen", "circle", levels)]
    layers: list[alt.Chart] = []
    if not both.empty:
        series.append((NOW, "now", "diamond", both))
        layers.append(
            alt.Chart(both)
            .mark_rule(strokeWidth=2, color=GREY)
            .encode(
                x=alt.X("now:Q", title=title).axis(format="%").scale(zero=False),
                x2="chosen:Q",
                y=y,
                tooltip=tooltip,
            )
        )
    colour = (
        alt.Color("series:N", title=None)
        .scale(domain=[THEN, NOW], range=[BLUE, VERMILLION])
        .legend(legend())
    )
    layers += [
        alt.Chart(table.assign(series=name, value=table[column]))
        .mark_point(shape=shape, filled=shape == "circle", size=80, strokeWidth=2.2, opacity=1.0)
        .encode(x=x, y=y, color=colour, tooltip=tooltip)
        for name, column, shape, table in series
    ]
    return titled(
        layers,
        f"Returns at these known returns (% {period})",
        left_out or "Only the level and the distances change, never the order",
        rows_height(len(levels)),
    )
