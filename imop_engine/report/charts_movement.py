"""Beliefs over time: the returns of each stretch of portfolios, and where they moved."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from imop_engine.inference.movement import Movement
from imop_engine.report.frames_movement import movement_frame
from imop_engine.report.style import asset_colour


def movement_chart(found: Movement, level: float = 0.95) -> Any:
    """The returns of each stretch with their intervals; a line where beliefs moved.

    Args:
        found: beliefs over time.
        level: confidence of the intervals.
    """
    frame = movement_frame(found, level)
    places = {name: place for place, name in enumerate(found.problem.names)}
    frame["place"] = frame["asset"].map(places)
    colour = asset_colour(frame, [name for name in places if name in set(frame["asset"])])
    x = alt.X("middle:Q", title="portfolios, in the order in which they came")
    base = alt.Chart(frame).encode(x=x, color=colour)
    tips = ["asset", "first", "last"] + [
        alt.Tooltip(name, format=".2%") for name in ("estimate", "low", "high")
    ]
    lines = base.mark_line(point=True).encode(
        y=alt.Y("estimate:Q", title="return a year", axis=alt.Axis(format=".1%"),
                scale=alt.Scale(zero=False)),
        tooltip=tips,
    )  # fmt: skip
    bars = base.mark_rule(opacity=0.5).encode(y="low:Q", y2="high:Q")
    layers = [bars, lines]
    if found.moved:
        at = pd.DataFrame({"at": [found.at]})
        layers.append(alt.Chart(at).mark_rule(strokeDash=[6, 4], size=2).encode(x="at:Q"))
    return alt.layer(*layers).properties(height=320)
