"""What every chart has in common: colours that colour-blind eyes tell apart, titles, axes.

The colours are Okabe and Ito's, each with contrast enough on a light and on a dark background.
Series differ in shape too (line or dash, bar or outline, circle or diamond), never in colour alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import altair as alt
import numpy as np
import pandas as pd

from imop_engine.report.frames_learn import OTHERS

BLUE: Final = "#0072B2"
VERMILLION: Final = "#D55E00"
GREEN: Final = "#009E73"
AMBER: Final = "#E69F00"
SKY: Final = "#56B4E9"
MAUVE: Final = "#CC79A7"
VIOLET: Final = "#8C6BB1"
YELLOW: Final = "#D9C72E"
GREY: Final = "#76808A"

TRUE: Final = "true"
ESTIMATED: Final = "estimated"
HISTORY: Final = "history"
IMPLIED: Final = "implied"
COLOURS: Final = {TRUE: VERMILLION, ESTIMATED: BLUE, HISTORY: AMBER, IMPLIED: GREEN}
LINES: Final[dict[str, dict[str, Any]]] = {
    TRUE: {"strokeWidth": 4, "opacity": 0.75},
    ESTIMATED: {"strokeWidth": 2.5, "strokeDash": [7, 4]},
    HISTORY: {"strokeWidth": 2.5, "strokeDash": [2, 3]},
    IMPLIED: {"strokeWidth": 2, "strokeDash": [8, 3, 2, 3]},
}

# Assets that get a colour of their own; what is left shares GREY, because more colours than
# these cannot be told apart.
ASSET_COLOURS: Final = (BLUE, AMBER, GREEN, MAUVE, SKY, VERMILLION, YELLOW, VIOLET)

HEIGHT: Final = 380
ROW_HEIGHT: Final = 24
BAR: Final = 14  # pixels of a bar, whatever the number of rows
AROUND_ROWS: Final = 132  # what title, legend and axis take
LEAST_ROWS: Final = 3
MOST_ROWS: Final = 40  # beyond them a chart is taller than a screen; tables have the rest


def titled(
    layers: Sequence[alt.Chart | alt.LayerChart], title: str, subtitle: str, height: int = HEIGHT
) -> alt.LayerChart:
    """Layers under one title that says what is shown, in which unit, and how to read it.

    Args:
        layers: Charts to lay over one another.
        title: What is shown, with its unit.
        subtitle: How to read it.
        height: In pixels.
    """
    text = alt.TitleParams(
        title,
        subtitle=subtitle,
        anchor="start",
        offset=8,
        subtitlePadding=4,
        subtitleFontSize=12,
        subtitleColor=GREY,
    )
    chart = alt.LayerChart(layer=list(layers))
    return chart.properties(title=text, height=height, width="container")


def risk_axis(period: str) -> alt.X:
    """Risk from left to right."""
    title = f"risk: standard deviation (% {period})"
    return alt.X("risk:Q", title=title).axis(format="%").scale(zero=False)


def return_axis(period: str) -> alt.Y:
    """Expected return from bottom to top."""
    title = f"expected return (% {period})"
    return alt.Y("return:Q", title=title).axis(format="%").scale(zero=False)


def legend(columns: int = 3, label_limit: int = 85) -> alt.Legend:
    """A legend above the chart, where it takes no width.

    Args:
        columns: How many names stand beside each other.
        label_limit: Pixels after which a name is cut; all of them fit on a phone.
    """
    return alt.Legend(
        orient="top",
        symbolStrokeWidth=3,
        padding=0,
        offset=4,
        columns=columns,
        labelLimit=label_limit,
    )


def series_colour(present: Iterable[str]) -> alt.Color:
    """The fixed colour of each series, naming only those that are shown."""
    there = set(present)
    shown = [name for name in COLOURS if name in there]
    return (
        alt.Color("series:N", title=None)
        .scale(domain=shown, range=[COLOURS[name] for name in shown])
        .legend(legend())
    )


def asset_colour(table: pd.DataFrame, assets: Sequence[str]) -> alt.Color:
    """The colour of each asset, the same in every chart; OTHERS is grey.

    Args:
        table: With asset and place, which is the asset's colour; below zero it has none.
        assets: In the order of the legend.
    """
    places = table.drop_duplicates("asset").set_index("asset")["place"]
    colours = {
        name: ASSET_COLOURS[int(place) % len(ASSET_COLOURS)]
        for name, place in places.items()
        if place >= 0 and name != OTHERS
    }
    return (
        alt.Color("asset:N", title=None)
        .scale(domain=list(assets), range=[colours.get(asset, GREY) for asset in assets])
        .legend(legend(columns=2))  # three names of assets were cut off on a phone
    )


def percent(field: str, title: str, digits: int = 2) -> alt.Tooltip:
    """A tooltip line that shows a share or a return in percent.

    Args:
        field: The column of the chart's table, a fraction.
        title: What the line says before the number.
        digits: How many after the point.
    """
    return alt.Tooltip(f"{field}:Q", title=title, format=f".{digits}%")


def number(field: str, title: str, form: str = ",d") -> alt.Tooltip:
    """A tooltip line that shows a number.

    Args:
        field: The column of the chart's table.
        title: What the line says before the number.
        form: How the number is written, in d3's notation.
    """
    return alt.Tooltip(f"{field}:Q", title=title, format=form)


def text(field: str, title: str) -> alt.Tooltip:
    """A tooltip line that shows a name."""
    return alt.Tooltip(f"{field}:N", title=title)


def rows_height(rows: int) -> int:
    """Height at which that many names have a line each, as high in one chart as in another."""
    return AROUND_ROWS + ROW_HEIGHT * max(rows, LEAST_ROWS)


def first_rows(table: pd.DataFrame, *important: pd.Series[Any]) -> tuple[pd.DataFrame, str]:
    """The rows that a chart draws, and what it says of the others.

    Args:
        table: One row for each line of the chart.
        *important: What decides where there are more than MOST_ROWS, larger is drawn first.

    Returns:
        The table in its order, at most MOST_ROWS long; "" where that is all of it.
    """
    if len(table) <= MOST_ROWS:
        return table, ""
    keys = [-one.astype(float).to_numpy() for one in reversed(important)]
    chosen = np.sort(np.lexsort(keys)[:MOST_ROWS])
    return table.iloc[chosen], f"{MOST_ROWS} of {len(table)}; the table has all"


def frame(chart: alt.LayerChart) -> list[pd.DataFrame]:
    """The tables a chart is drawn from."""
    return [layer.data for layer in chart.layer if isinstance(layer.data, pd.DataFrame)]


def plain_spec(chart: alt.LayerChart, *, validate: bool = True) -> dict[str, Any]:
    """The chart as plain Vega-Lite, however many rows its tables have.

    Args:
        chart: Any of ours; those with many rows count or leave out what no eye would see.
        validate: Whether to check it against the schema.
    """
    with alt.data_transformers.enable("default", max_rows=None):
        result: dict[str, Any] = chart.to_dict(validate=validate)
    return result


def stable_spec(chart: alt.LayerChart) -> dict[str, Any]:
    """The chart as Vega-Lite in which the same parts have the same names whatever the data.

    Altair names data sets by their content and views by a running number. A page that redraws a
    chart with new data must find the old names again, or it has to build the chart again.
    """
    # The tests check every chart against the schema; doing so again would double the time.
    plain = plain_spec(chart, validate=False)
    names = {old: f"rows{i}" for i, old in enumerate(plain.get("datasets", {}))}
    views: dict[str, str] = {}

    def renamed(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: renamed(value) for key, value in part.items()}
        if isinstance(part, list):
            return [renamed(value) for value in part]
        if isinstance(part, str) and part.startswith("view_"):
            return views.setdefault(part, f"view_{len(views)}")
        return names.get(part, part) if isinstance(part, str) else part

    rows = {names[old]: table for old, table in plain.pop("datasets", {}).items()}
    result: dict[str, Any] = renamed(plain)
    return {**result, "datasets": rows}
