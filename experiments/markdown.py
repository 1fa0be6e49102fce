"""The same results as a Markdown page for the documents: findings and tables, no pictures."""

from __future__ import annotations

from typing import Any

from imop_engine.versions import NUMBERED
from imop_experiments.page import WORDS, shown


def page(results: dict[str, Any]) -> str:
    """A Markdown page made of nothing but the results."""
    names = [one["name"] for one in results["experiments"]]
    command = "imop reproduce " + (names[0] if len(names) == 1 else "all")
    title = results["experiments"][0]["title"] if len(names) == 1 else "Reproduction of the paper"
    size = " (a quick run: fewer repetitions than the paper)" if results["quick"] else ""
    machine = results["machine"]
    lines = [
        f"# {title}",
        "",
        (
            f"Made by `{command}`{size}; do not edit. imop {results['version']}, engine "
            f"`{results['engine']}`, {results['seconds']:g} s on {machine['cores']} cores of "
            f"{machine['cpu']}, where the load was {machine['load_before']:g} before it began. "
            f"{NUMBERED}"
        ),
    ]
    for one in results["experiments"]:
        lines += _experiment(one, alone=len(names) == 1)
    return "\n".join(lines) + "\n"


def _experiment(one: dict[str, Any], alone: bool) -> list[str]:
    lines = [] if alone else ["", f"## {one['title']}"]
    lines += ["", f"{one['paper']} {one['setup']}", ""]
    lines += ["| claim | this run | verdict |", "|---|---|---|"]
    for finding in one["findings"]:
        ours = " ".join([finding["ours"], finding["why"]]).strip()
        lines.append(f"| {_cell(finding['claim'])} | {_cell(ours)} | {WORDS[finding['verdict']]} |")
    for table in one["tables"]:
        lines += ["", table["caption"], ""]
        lines.append("| " + " | ".join(_cell(str(name)) for name in table["columns"]) + " |")
        kinds = ["---" if isinstance(cell, str) else "--:" for cell in table["rows"][0]]
        lines.append("|" + "|".join(kinds) + "|")
        for row in table["rows"]:
            cells = [_cell(shown(cell, table["digits"])) for cell in row]
            lines.append("| " + " | ".join(cells) + " |")
    if one["chosen"]:
        lines += ["", "Where the paper is silent or contradicts itself:", ""]
        lines += [f"- {text}" for text in one["chosen"]]
    return lines


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
