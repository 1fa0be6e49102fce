"""The page of results: claim, our figure, verdict. One file, no network, nothing computed here.

Everything on it is read from results.json and the SVG files beside it.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from html import escape
from importlib.resources import files
from math import log10
from pathlib import Path
from typing import Any

WORDS = {
    "reproduced": "reproduced",
    "better": "better than the paper",
    "differs": "differs",
    "beyond": "beyond the paper",
}
PAPER = "Learning Multiobjective Program Through Online Learning"


def write(target: Path, results: Path, out: Path) -> None:
    """Write the page for a results.json; pictures and tables lie in folders under `out`."""
    told = json.loads(results.read_text())
    target.write_text(html(told, out, Path(os.path.relpath(out, target.parent))))


def html(results: dict[str, Any], out: Path, back: Path) -> str:
    """The page as text; `back` leads from the page's folder to `out`."""
    style = (files("imop_experiments") / "page.css").read_text()
    body = "\n".join(
        [
            _head(results),
            _contents(results["experiments"]),
            *_sections(results["experiments"], out, back),
            _foot(results),
        ]
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Reproduction: {escape(PAPER)}</title>\n<style>\n{style}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _head(results: dict[str, Any]) -> str:
    counts = Counter(f["verdict"] for one in results["experiments"] for f in one["findings"])
    chips = " ".join(
        f'<span class="chip {name}"><b>{counts[name]}</b> {escape(words)}</span>'
        for name, words in WORDS.items()
        if counts[name]
    )
    quick = (
        '<p class="notice">A quick run: fewer repetitions and shorter streams than the paper. '
        "Run without <code>--quick</code> for the full version.</p>"
        if results["quick"]
        else ""
    )
    return (
        f"<header>\n<p class='kicker'>IMOP Studio · reproduction</p>\n<h1>{escape(PAPER)}</h1>\n"
        "<p class='lead'>Every figure and table of the paper's experiments, its theory checked by "
        "experiment, and what it could not do: each claim beside what this run measured.</p>\n"
        f"<p class='chips'>{chips}</p>\n{quick}\n{_run_line(results)}\n</header>"
    )


def _run_line(results: dict[str, Any]) -> str:
    machine = results["machine"]
    minutes = results["seconds"] / 60.0
    took = f"{minutes:.1f} minutes" if minutes >= 2 else f"{results['seconds']:.0f} seconds"
    again = results["parts"] - results["parts_run"]
    kept = f" ({again} of {results['parts']} parts were kept from earlier runs)" if again else ""
    return (
        f"<p class='run'>Run of {escape(results['when'])}, {took}{kept}, on {machine['cores']} "
        f"cores of {escape(machine['cpu'])}; load before the run {machine['load_before']:g}. "
        f"imop {escape(results['version'])}, engine {escape(results['engine'])}.</p>"
    )


def _contents(experiments: list[dict[str, Any]]) -> str:
    rows = []
    section = None
    for one in experiments:
        if one["section"] != section:
            section = one["section"]
            rows.append(f"<tr class='group'><th colspan='2'>{escape(section)}</th></tr>")
        chips = " ".join(
            f"<span class='chip small {f['verdict']}'>{escape(WORDS[f['verdict']])}</span>"
            for f in one["findings"]
        )
        link = f"<a href='#{one['name']}'>{escape(one['title'])}</a>"
        rows.append(f"<tr><td>{link}</td><td>{chips}</td></tr>")
    return f"<nav>\n<table class='contents'>{''.join(rows)}</table>\n</nav>"


def _sections(experiments: list[dict[str, Any]], out: Path, back: Path) -> list[str]:
    parts, section = [], None
    for one in experiments:
        if one["section"] != section:
            section = one["section"]
            parts.append(f"<h2>{escape(section)}</h2>")
        parts.append(_experiment(one, out, back))
    return parts


def _experiment(one: dict[str, Any], out: Path, back: Path) -> str:
    folder = out / one["name"]
    pieces = [
        f"<article id='{one['name']}'>",
        f"<h3>{escape(one['title'])}</h3>",
        f"<p class='source'>{escape(one['paper'])}</p>",
        *(_finding(finding) for finding in one["findings"]),
    ]
    for figure in one["figures"]:
        svg = inline(folder / f"{figure['name']}.svg", f"{one['name']}-{figure['name']}-")
        caption = escape(figure["caption"])
        pieces.append(f"<figure>{svg}<figcaption>{caption}</figcaption></figure>")
    pieces += [_table(table) for table in one["tables"]]
    if one["chosen"]:
        items = "".join(f"<li>{escape(text)}</li>" for text in one["chosen"])
        pieces.append(
            "<aside><h4>Where the paper is silent or contradicts itself</h4>"
            f"<ul>{items}</ul></aside>"
        )
    pieces += [_files(one, back), "</article>"]
    return "\n".join(pieces)


def _finding(finding: dict[str, str]) -> str:
    why = f"<p class='why'>{escape(finding['why'])}</p>" if finding["why"] else ""
    return (
        f"<div class='finding {finding['verdict']}'><div class='claim'>"
        f"<span class='label'>Claim</span><p>{escape(finding['claim'])}</p></div>"
        f"<div class='ours'><span class='label'>This run</span><p>{escape(finding['ours'])}</p>"
        f"{why}</div><div class='verdict'><span class='chip {finding['verdict']}'>"
        f"{escape(WORDS[finding['verdict']])}</span></div></div>"
    )


def _table(table: dict[str, Any]) -> str:
    names = [re.sub(r"(?<=[a-z]{2})_(?=[a-z])", " ", str(name)) for name in table["columns"]]
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td class='{'text' if isinstance(cell, str) else 'number'}'>"
            f"{escape(shown(cell, table['digits']))}</td>"
            for cell in row
        )
        + "</tr>"
        for row in table["rows"]
    )
    return (
        f"<div class='scroll'><table class='data'><caption>{escape(table['caption'])}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


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


def _files(one: dict[str, Any], back: Path) -> str:
    names = [f"{figure['name']}.{kind}" for figure in one["figures"] for kind in ("svg", "png")]
    names += [f"{table['name']}.csv" for table in one["tables"]]
    names += [f"{name}.csv" for name in one["data"]]
    links = " · ".join(
        f"<a href='{(back / one['name'] / name).as_posix()}'>{escape(name)}</a>"
        for name in [*names, "result.json"]
    )
    return (
        f"<footer class='files'><p>{escape(one['setup'])} {one['seconds']:g} s of computing in "
        f"{len(one['raw'])} part{'s' if len(one['raw']) > 1 else ''}. Again: "
        f"<code>imop reproduce {one['name']}</code>.</p>"
        f"<p>{links}</p></footer>"
    )


def _foot(results: dict[str, Any]) -> str:
    packages = ", ".join(f"{name} {number}" for name, number in results["versions"].items())
    return (
        "<footer class='page'><p>Every number on this page was read from files that "
        "<code>imop reproduce</code> wrote; verdicts are computed from them. Parts that measure "
        "time ran one after another in one process. A part is kept under its settings and the "
        "code that ran it, so nothing here can come from other code.</p>"
        f"<p>{escape(packages)}.</p></footer>"
    )


def inline(path: Path, prefix: str) -> str:
    """An SVG for use inside a page: names are made unique, so that two pictures cannot clash."""
    svg = path.read_text()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    return re.sub(r"url\(#", f"url(#{prefix}", svg).replace('href="#', f'href="#{prefix}')
