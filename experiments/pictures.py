"""How charts look here, and how they become files: SVG for the page, PNG for everyone else."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import altair as alt
import pandas as pd

from imop_experiments.experiment import Chart

# Okabe and Ito's colours, readable with colour-blind eyes; lines also differ in dash or shape.
BLUE: Final = "#0072B2"
ORANGE: Final = "#E69F00"
VERMILLION: Final = "#D55E00"
GREEN: Final = "#009E73"
PURPLE: Final = "#CC79A7"
INK: Final = "#22303C"
GREY: Final = "#8A949E"
COLOURS: Final = {
    "Algorithm 1": BLUE,
    "Algorithm 2": ORANGE,
    "true": ORANGE,
    "estimated": VERMILLION,
    "paper": GREY,
    "bound": GREY,
}
WIDTH: Final = 400
HEIGHT: Final = 280
PNG_SCALE: Final = 2.0  # sharp on paper and on dense screens


def save(chart: Chart, path: Path) -> None:
    """Write `path`.svg and `path`.png."""
    dressed = dress(chart)
    dressed.save(str(path.with_suffix(".svg")), format="svg")
    dressed.save(str(path.with_suffix(".png")), format="png", scale_factor=PNG_SCALE)


def dress(chart: Chart) -> Chart:
    """The same quiet look for every chart."""
    axis: dict[str, Any] = {
        "labelColor": INK, "titleColor": INK, "domainColor": GREY, "tickColor": GREY,
        "gridColor": "#E8ECEF", "labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": 500,
        "titlePadding": 8,
    }  # fmt: skip
    dressed: Any = chart
    dressed = (
        dressed.configure(font="sans-serif", background="white", padding=6)
        .configure_axis(**axis)
        .configure_view(stroke=None)
        .configure_title(fontSize=13, color=INK, anchor="start", fontWeight=600, offset=10)
        .configure_header(labelFontSize=13, labelColor=INK, labelFontWeight=600, title=None)
        .configure_legend(
            labelFontSize=12,
            labelColor=INK,
            labelLimit=420,
            title=None,
            orient="top",
            symbolStrokeWidth=3,
        )
    )
    result: Chart = dressed
    return result


def colour(names: list[str], field: str = "series") -> alt.Color:
    """A colour scale over the named series, in their order."""
    spare = [BLUE, VERMILLION, GREEN, PURPLE, ORANGE, INK]
    used = {COLOURS[name] for name in names if name in COLOURS}
    rest = iter([one for one in spare if one not in used])
    chosen = [COLOURS[name] if name in COLOURS else next(rest) for name in names]
    return alt.Color(f"{field}:N", title=None, sort=names).scale(domain=names, range=chosen)


def log_axis(kind: type[alt.X] | type[alt.Y], field: str, title: str, fmt: str = "~g") -> Any:
    """A logarithmic axis.

    Args:
        kind: Alt.X or alt.Y.
        field: The column of the chart's table.
        title: Of the axis.
        fmt: How numbers are written, in d3's notation.
    """
    return kind(f"{field}:Q", title=title).scale(type="log").axis(format=fmt, tickCount=5)


def lines(
    frame: pd.DataFrame,
    x: Any,
    y: Any,
    series: list[str],
    *,
    dashed: tuple[str, ...] = (),
    points: bool = True,
) -> Any:
    """One line for each series, dashed where it is not a measurement of ours.

    Args:
        frame: A column for x, one for y and one for series.
        x: The horizontal axis.
        y: The vertical axis.
        series: The names of the lines, in the order of their colours.
        dashed: Those that are not ours.
        points: Whether measurements are marked.
    """
    base = alt.Chart(frame).encode(x=x, y=y, color=colour(series))
    mine = base.transform_filter(
        alt.FieldOneOfPredicate("series", [name for name in series if name not in dashed])
    )
    layers = [mine.mark_line(strokeWidth=2.2)]
    if points:
        layers.append(mine.mark_circle(size=38, opacity=1))
    if dashed:
        others = base.transform_filter(alt.FieldOneOfPredicate("series", list(dashed)))
        layers.append(others.mark_line(strokeWidth=1.8, strokeDash=[6, 4]))
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)
