"""Charts as files: SVG for documents, PNG for everything else; drawn without browser or network."""

from __future__ import annotations

from typing import Any, Final

from imop_engine.errors import InvalidInput

WIDTH: Final = 760  # pixels; half a page of a report at the usual density
SCALE: Final = 2.0  # of a PNG: sharp on paper and on dense screens
CONFIG: Final[dict[str, Any]] = {
    "background": "white",
    "padding": 12,
    "view": {"stroke": None},
    "axis": {"gridColor": "#E4E7EB", "domainColor": "#9AA5B1", "titleFontWeight": "normal"},
    "title": {"fontSize": 15, "fontWeight": 600},
}


def render(chart: Any, ending: str) -> bytes:
    """The chart as a picture; `ending` is "svg" or "png"."""
    import vl_convert

    from imop_engine.report.style import plain_spec

    plain = plain_spec(chart.properties(width=WIDTH))
    plain["config"] = {**plain.get("config", {}), **CONFIG}
    if ending == "svg":
        return str(vl_convert.vegalite_to_svg(plain)).encode()
    if ending == "png":
        return bytes(vl_convert.vegalite_to_png(plain, scale=SCALE))
    raise InvalidInput(f"a picture cannot be written as {ending!r}; choose svg or png.")
