"""Charts of limits: the frontier with and without them, where each binds, what each costs."""

from __future__ import annotations

from typing import Any, Final

import altair as alt
import pandas as pd

from imop_engine.report.frames_limits import WITH, WITHOUT
from imop_engine.report.style import (
    AMBER,
    ASSET_COLOURS,
    BAR,
    BLUE,
    GREY,
    legend,
    number,
    percent,
    return_axis,
    risk_axis,
    rows_height,
    text,
    titled,
)

LOOKS: Final[dict[str, dict[str, Any]]] = {
    WITHOUT: {"strokeWidth": 2.5, "strokeDash": [7, 4]},
    WITH: {"strokeWidth": 3.5},
}
COLOURS: Final = {WITH: BLUE, WITHOUT: AMBER}
PRICE: Final = "return lost (basis points per year)"
NAME_WIDTH: Final = 230  # pixels of a limit in words


def limit_frontier_chart(
    curves: pd.DataFrame, investors: pd.DataFrame | None = None, *, period: str = "per year"
) -> alt.LayerChart:
    """The frontier with and without limits.

    `curves` has series, weight, risk and return; `investors` has investor, risk and return.

    Args:
        curves: Both frontiers, fractions per period.
        investors: Portfolios, drawn faintly; None draws none.
        period: What one period is called in titles.
    """
    layers: list[alt.Chart] = []
    tooltip = [percent("risk", "risk"), percent("return", "return")]
    x, y = risk_axis(period), return_axis(period)
    if investors is not None:
        layers.append(
            alt.Chart(investors)
            .mark_circle(size=60, opacity=0.15, color=GREY)
            .encode(x=x, y=y, tooltip=[text("investor", "investor"), *tooltip])
        )
    order = [WITH, WITHOUT]
    colour = (
        alt.Color("series:N", title=None)
        .scale(domain=order, range=[COLOURS[name] for name in order])
        .legend(legend(2, 120))
    )
    layers += [
        alt.Chart(curves[curves["series"] == series])
        .mark_line(**look)
        .encode(
            x=x,
            y=y,
            order="weight:Q",
            color=colour,
            tooltip=[
                text("series", "frontier"),
                number("weight", "weight on return", ".3f"),
                *tooltip,
            ],
        )
        for series, look in LOOKS.items()
    ]
    return titled(
        layers,
        f"With and without limits (% {period})",
        "Between the lines: return that the limits cost at the same risk",
    )


def limit_price_chart(lines: pd.DataFrame, *, period: str = "per year") -> alt.LayerChart:
    """What each limit costs along the frontier, if it alone were dropped.

    `lines` has limit, order, risk, price and points.

    Args:
        lines: One row for each limit and point of the frontier.
        period: What one period is called in titles.
    """
    limits = list(dict.fromkeys(lines["limit"]))
    colours = [ASSET_COLOURS[i % len(ASSET_COLOURS)] for i in range(len(limits))]
    colour = (
        alt.Color("limit:N", title=None)
        .scale(domain=limits, range=colours)
        .legend(legend(1, 2 * NAME_WIDTH))
    )
    dash = alt.StrokeDash("limit:N", title=None, legend=None).scale(
        domain=limits, range=[[1, 0], [7, 4], [2, 3], [8, 3, 2, 3], [4, 2], [1, 2], [10, 4], [3, 6]]
    )
    base = alt.Chart(lines).encode(
        x=risk_axis(period),
        y=alt.Y("points:Q", title=PRICE).scale(zero=True),
        color=colour,
        strokeDash=dash,
        tooltip=[
            text("limit", "limit"),
            percent("risk", "risk"),
            number("points", "basis points", ".1f"),
            percent("price", "return lost", 3),
        ],
    )
    return titled(
        [base.mark_line(strokeWidth=2.5)],
        "Price of the limits (basis points per year)",
        "Return to be had at the same risk without that limit alone",
    )


def limit_binding_chart(stretches: pd.DataFrame, *, period: str = "per year") -> alt.LayerChart:
    """Where along the frontier each limit binds.

    `stretches` has limit, risk_from, risk_to, weight_from and weight_to.

    Args:
        stretches: One row for each stretch at which a limit binds.
        period: What one period is called in titles.
    """
    order = list(dict.fromkeys(stretches["limit"]))
    base = alt.Chart(stretches).encode(
        x=alt.X("risk_from:Q", title=f"risk: standard deviation (% {period})")
        .axis(format="%")
        .scale(zero=False),
        y=alt.Y("limit:N", title=None, sort=order).axis(labelLimit=NAME_WIDTH, labelOverlap=False),
        tooltip=[
            text("limit", "limit"),
            percent("risk_from", "binds from risk"),
            percent("risk_to", "to risk"),
            number("weight_from", "from weight on return", ".3f"),
            number("weight_to", "to weight on return", ".3f"),
        ],
    )
    return titled(
        [
            base.mark_bar(color=BLUE, size=BAR, opacity=0.8).encode(x2="risk_to:Q"),
            base.mark_tick(color=BLUE, thickness=3, size=BAR),  # a stretch may be a single point
        ],
        f"Where limits bind (risk, % {period})",
        "Bar: there the efficient portfolio is at the limit",
        rows_height(len(order)),
    )
