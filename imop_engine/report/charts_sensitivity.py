"""The chart of an estimate under other choices: a dot for each, beside the study's own return."""

from __future__ import annotations

import altair as alt
import pandas as pd

from imop_engine.report.style import ASSET_COLOURS, GREY, HEIGHT, legend, percent, text, titled

SHAPES = ("circle", "square", "diamond", "triangle-up", "cross")
ROW = 16  # pixels for each kind of choice within an asset
AXIS = "expected return (% per year)"


def sensitivity_chart(dots: pd.DataFrame) -> alt.LayerChart:
    """Every asset's return under other choices; a grey tick is what the study says.

    Args:
        dots: `Sensitivity.table`: choice, alternative, asset, estimate, study and difference.
    """
    choices, assets = list(dict.fromkeys(dots["choice"])), list(dict.fromkeys(dots["asset"]))
    y = alt.Y("asset:N", title=None, sort=assets).axis(labelOverlap=False, labelLimit=130)
    tooltip = [
        text("choice", "choice"),
        text("alternative", "alternative"),
        text("asset", "asset"),
        percent("estimate", "expected then"),
        percent("study", "by the study"),
        percent("difference", "difference"),
    ]
    base = alt.Chart(dots).encode(y=y, tooltip=tooltip)
    own = base.mark_tick(color=GREY, thickness=2, size=ROW * (len(choices) + 1)).encode(
        x=alt.X("study:Q", title=AXIS).axis(format="%").scale(zero=False)
    )
    others = base.mark_point(filled=True, size=45, opacity=0.8).encode(
        x=alt.X("estimate:Q", title=AXIS),
        yOffset=alt.YOffset("choice:N", sort=choices),
        color=alt.Color("choice:N", title=None, sort=choices)
        .scale(domain=choices, range=list(ASSET_COLOURS[: len(choices)]))
        .legend(legend(columns=3, label_limit=135)),
        shape=alt.Shape("choice:N", title=None, sort=choices).scale(
            domain=choices, range=list(SHAPES[: len(choices)])
        ),
    )
    height = max(HEIGHT // 2, 110 + ROW * (len(choices) + 1) * len(assets))
    return titled(
        [own, others],
        "Expected returns under other choices (% per year)",
        "Dot: one thing chosen otherwise; grey: the study",
        height,
    )
