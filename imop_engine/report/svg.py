"""Charts as SVG inside a page: drawn here, so that the page needs no script and no network."""

from __future__ import annotations

import re
from typing import Any, Final

from markupsafe import Markup

WIDTH: Final = 640
FONT: Final = "Inter, 'Segoe UI', 'Helvetica Neue', Helvetica, Arial, sans-serif"
CONFIG: Final[dict[str, Any]] = {
    "font": FONT,
    "background": "transparent",
    "view": {"stroke": None},
    "axis": {
        "labelColor": "#52606D",
        "titleColor": "#52606D",
        "titleFontWeight": "normal",
        "gridColor": "#E4E7EB",
        "domainColor": "#9AA5B1",
        "tickColor": "#9AA5B1",
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titlePadding": 10,
    },
    "axisX": {"tickCount": 10},
    "title": {"color": "#1F2933", "fontSize": 14, "fontWeight": 600},
    "legend": {"labelColor": "#3E4C59", "labelFontSize": 12},
}
_ID: Final = re.compile(r'(\bid="|url\(#|xlink:href="#|href="#)([\w-]+)')


def svg(chart: Any, name: str, label: str, width: int = WIDTH) -> Markup:
    """The chart as an SVG element that scales with the page.

    Args:
        chart: An Altair chart.
        name: Put before the drawing's inner names: two drawings in one page must not share a clip
            path.
        label: What is drawn, in words, for those who cannot see it.
        width: Width of the chart's inner part, in pixels.

    Returns:
        The element, marked as HTML that a template must not escape again.
    """
    import vl_convert

    from imop_engine.report.style import plain_spec

    plain = plain_spec(chart.properties(width=width))
    plain["config"] = {**plain.get("config", {}), **CONFIG}
    drawn = str(vl_convert.vegalite_to_svg(plain))
    drawn = _ID.sub(lambda found: f"{found[1]}{name}-{found[2]}", drawn)
    opening, rest = drawn[drawn.index("<svg") :].split(">", 1)
    opening = re.sub(r'\s(?:width|height)="[^"]*"', "", opening, count=2)
    described = Markup(' role="img" aria-label="{}">').format(label)
    # Trusted: vl-convert draws it and escapes the names that come from the analyst's files.
    return Markup(opening) + described + Markup(rest)
