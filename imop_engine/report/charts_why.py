"""Charts of why an asset has its return: who holds it along the frontier, what its risk adds."""

from __future__ import annotations

import altair as alt
import pandas as pd

from imop_engine.report.style import (
    AMBER,
    BAR,
    BLUE,
    VERMILLION,
    number,
    percent,
    rows_height,
    text,
    titled,
)


def holders_chart(
    holders: pd.DataFrame, efficient: pd.DataFrame, asset: str, *, period: str = "per year"
) -> alt.LayerChart:
    """Who holds an asset from careful to bold, beside what efficient portfolios have of it.

    Args:
        holders: step, risk, held_by and share, a row for each tenth of the investors.
        efficient: risk and share along the frontier.
        asset: Its name.
        period: What one period is called in titles.
    """
    x = alt.X("risk:Q", title=f"risk: standard deviation (% {period})")
    x = x.axis(format="%").scale(zero=False)
    y = alt.Y("share:Q", title="share (%)").axis(format="%").scale(domain=[0, 1])
    line = (
        alt.Chart(efficient)
        .mark_line(color=BLUE, strokeWidth=2.5, strokeDash=[7, 4])
        .encode(x=x, y=y, tooltip=[percent("risk", "risk"), percent("share", "efficient share", 1)])
    )
    tooltip = [
        number("step", "tenth of the investors"),
        percent("risk", "their risk"),
        percent("share", "their average share", 1),
        percent("held_by", "of them hold it", 1),
    ]
    base = alt.Chart(holders).encode(x=x, tooltip=tooltip)
    return titled(
        [
            line,
            base.mark_circle(size=90, color=VERMILLION, opacity=1.0).encode(y=y),
            base.mark_tick(color=AMBER, thickness=3, size=16).encode(
                y=alt.Y("held_by:Q", title="share (%)")
            ),
        ],
        f"{asset[:26]} along the frontier (%)",
        "Dot: held; tick: who hold any; dashed: efficient",
    )


def covariance_chart(parts: pd.DataFrame, asset: str) -> alt.LayerChart:
    """What each holding of the average portfolio adds to an asset's covariance with it.

    Args:
        parts: asset and part, a share of the whole; below zero it lessens the risk.
        asset: Whose covariance it is.
    """
    bars = (
        alt.Chart(parts)
        .mark_bar(size=BAR, opacity=0.9)
        .encode(
            x=alt.X("part:Q", title="share of the risk it adds (%)").axis(format="%"),
            y=alt.Y("asset:N", title=None, sort=list(parts["asset"])).axis(
                labelOverlap=False, labelLimit=130
            ),
            color=alt.condition("datum.part < 0", alt.value(VERMILLION), alt.value(BLUE)),
            tooltip=[text("asset", "holding"), percent("part", "adds", 1)],
        )
    )
    return titled(
        [bars],
        f"Risk that {asset[:20]} adds (%)",
        "By the holdings of the average portfolio it moves with",
        rows_height(len(parts)),
    )
