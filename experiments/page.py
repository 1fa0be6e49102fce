"""The page of results: claim, our figure, verdict. One file, no network, nothing computed here.

Everything on it is read from results.json and the SVG files beside it; how it looks is in
templates/page.html.j2, which escapes whatever is put into it.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from math import log10
from pathlib import Path
from typing import Any

from markupsafe import Markup

from imop_engine.report.pages import render

WORDS = {
    "reproduced": "reproduced",
    "better": "better than the paper",
    "differs": "differs",
    "beyond": "beyond the paper",
}
PAPER = "Learning Multiobjective Program Through Online Learning"


def write(target: Path, results: Path, out: Path) -> None:
    """Write the page of a run.

    Args:
        target: The file to write.
        results: The run's results.json.
        out: The folder under which each experiment's pictures and tables lie.
    """
    content = json.loads(results.read_text())
    target.write_text(html(content, out, Path(os.path.relpath(out, target.parent))))


def html(results: dict[str, Any], out: Path, back: Path) -> str:
    """The page as text.

    Args:
        results: What results.json holds.
        out: The folder under which each experiment's pictures and tables lie.
        back: The way from the page's folder to `out`, for the links to the files.

    Returns:
        The whole page, with its style and pictures inside.
    """

    def drawing(one: dict[str, Any], figure: dict[str, Any]) -> Markup:
        path = out / one["name"] / f"{figure['name']}.svg"
        return inline(path, f"{one['name']}-{figure['name']}-")

    return render(
        "imop_experiments",
        "page.html.j2",
        paper=PAPER,
        words=WORDS,
        results=results,
        counts=Counter(f["verdict"] for one in results["experiments"] for f in one["findings"]),
        run_line=_run_line(results),
        packages=", ".join(f"{name} {number}" for name, number in results["versions"].items()),
        back=back,
        drawing=drawing,
        heading=_heading,
        shown=shown,
        file_names=_file_names,
    )


def _run_line(results: dict[str, Any]) -> str:
    machine = results["machine"]
    minutes = results["seconds"] / 60.0
    took = f"{minutes:.1f} minutes" if minutes >= 2 else f"{results['seconds']:.0f} seconds"
    again = results["parts"] - results["parts_run"]
    kept = f" ({again} of {results['parts']} parts were kept from earlier runs)" if again else ""
    return (
        f"Run of {results['when']}, {took}{kept}, on {machine['cores']} cores of "
        f"{machine['cpu']}; load before the run {machine['load_before']:g}. "
        f"imop {results['version']}, engine {results['engine']}."
    )


def _heading(column: Any) -> str:
    """A column's name as people write it: noise_sd is "noise sd", but x_1 stays."""
    return re.sub(r"(?<=[a-z]{2})_(?=[a-z])", " ", str(column))


def shown(cell: Any, digits: int) -> str:
    """A table's cell as people read it: whole numbers whole, others to so many places.

    >>> shown(1000, 3), shown(0.12345, 3), shown(0.0000123, 3), shown(1234.56789, 3)
    ('1,000', '0.123', '1.2e-05', '1,235')
    >>> shown(None, 3), shown(True, 3)
    ('–', 'yes')
    """
    if cell is None:
        return "–"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int) or (float(cell).is_integer() and abs(cell) < 1e15):
        return f"{int(cell):,}"
    if abs(cell) < 0.5 * 10.0**-digits:
        return f"{cell:.1e}"
    places = max(0, digits - max(0, int(log10(abs(cell)))))  # long numbers need fewer
    return f"{cell:,.{places}f}"


def _file_names(one: dict[str, Any]) -> list[str]:
    """The files that an experiment left in its folder."""
    names = [f"{figure['name']}.{kind}" for figure in one["figures"] for kind in ("svg", "png")]
    names += [f"{table['name']}.csv" for table in one["tables"]]
    names += [f"{name}.csv" for name in one["data"]]
    return [*names, "result.json"]


def inline(path: Path, prefix: str) -> Markup:
    """An SVG for use inside a page: names are made unique, so that two pictures cannot clash.

    It is trusted to be HTML: the experiment drew it, from its own numbers and names.
    """
    svg = path.read_text()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    return Markup(re.sub(r"url\(#", f"url(#{prefix}", svg).replace('href="#', f'href="#{prefix}'))
