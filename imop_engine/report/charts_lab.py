"""Charts of the laboratory: the efficient set of a small problem while it is being learned."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from imop_engine.report.style import (
    BLUE,
    ESTIMATED,
    GREY,
    LINES,
    TRUE,
    number,
    series_colour,
    text,
    titled,
)


def efficient_set_chart(
    sets: pd.DataFrame, region: pd.DataFrame, decisions: pd.DataFrame | None = None
) -> alt.LayerChart:
    """The decisions that are efficient under the truth and under the estimate.

    `sets` has series, weight, x1 and x2; `region` has series, order, x1 and x2: the corners of what
    is allowed; `decisions` has round, x1 and x2: what was observed.
    """
    # One range for all rounds, so that the picture holds still while the set moves.
    corners = pd.concat([region[["x1", "x2"]], sets[["x1", "x2"]]])
    margin = 0.6  # observations scatter by half a unit around the set
    x = _axis(alt.X, "x1", "first variable, x₁ (units)", corners["x1"], margin)
    y = _axis(alt.Y, "x2", "second variable, x₂ (units)", corners["x2"], margin)
    point = [number("x1", "x₁", ".2f"), number("x2", "x₂", ".2f")]
    layers: list[alt.Chart] = []
    looks: dict[str, dict[str, Any]] = {TRUE: {}, ESTIMATED: {"strokeDash": [4, 4]}}
    for series, look in looks.items():
        part = region[region["series"] == series]
        if len(part):
            layers.append(
                alt.Chart(part)
                .mark_line(color=GREY, strokeWidth=1.5, **look)
                .encode(x=x, y=y, order="order:Q", tooltip=[text("series", "allowed"), *point])
            )
    if decisions is not None and len(decisions):
        layers.append(
            alt.Chart(decisions)
            .mark_circle(size=26, opacity=0.25, color=GREY)
            .encode(x=x, y=y, tooltip=[number("round", "round"), *point])
        )
    layers += [
        alt.Chart(sets[sets["series"] == series])
        .mark_line(**LINES[series])
        .encode(
            x=x,
            y=y,
            order="weight:Q",
            color=series_colour(sets["series"]),
            tooltip=[
                text("series", "efficient set"),
                number("weight", "weight on the first objective", ".2f"),
                *point,
            ],
        )
        for series in (TRUE, ESTIMATED)
    ]
    return titled(
        layers,
        "Efficient decisions (units)",
        "Grey: what is allowed; dots: decisions seen",
        460,
    )


def _axis(kind: Any, field: str, title: str, values: pd.Series[float], margin: float) -> Any:
    domain = [float(values.min()) - margin, float(values.max()) + margin]
    return kind(f"{field}:Q", title=title).scale(domain=domain, nice=False)


def convergence_chart(trail: pd.DataFrame) -> alt.LayerChart:
    """Distance of the estimated parameters from the true ones, round by round.

    `trail` has round and error.
    """
    line = (
        alt.Chart(trail)
        .mark_line(color=BLUE, strokeWidth=2.5)
        .encode(
            x=alt.X("round:Q", title="decisions seen").axis(format=",d").scale(domainMin=0),
            y=alt.Y("error:Q", title="distance from the true parameters").scale(zero=True),
            tooltip=[number("round", "decisions seen"), number("error", "distance", ".3f")],
        )
    )
    return titled(
        [line],
        "Error (units of the parameters)",
        "Distance between estimated and true parameters",
        300,
    )
