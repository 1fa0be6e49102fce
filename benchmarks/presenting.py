"""Telling what was measured: on the screen and as a page of the docs."""

from __future__ import annotations

from typing import Any

from imop_engine.versions import NUMBERED


def shown(value: object) -> str:
    """A number as a table shows it: three digits that matter; a bar for what was not measured."""
    if value is None:
        return "–"
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1e}" if abs(value) < 1e-3 else f"{value:.3g}"


def page(report: dict[str, Any]) -> str:
    """The report as the Markdown page docs/benchmarks.md."""
    on, made = report["machine"], report["versions"]
    lines = [
        "# Benchmarks",
        "",
        f"Written by `imop bench` from one run, `benchmarks/results/{report['name']}.json`.",
        "",
        f"{on['cpu']}, {on['cores']} cores, {on['system']}; load average before the run "
        f"{on['load_before']:.2f}. "
        + ", ".join(f"{name} {number}" for name, number in made.items())
        + f". Every solver on one thread. {NUMBERED}",
    ]
    for section in report["sections"]:
        lines += ["", f"## {section['title']}", "", section["how"], ""]
        if not section["rows"]:
            continue
        heads = list(section["rows"][0])
        lines.append("| " + " | ".join(head.replace("_", " ") for head in heads) + " |")
        lines.append("|" + "---:|" * len(heads))
        lines += [
            "| " + " | ".join(shown(row[head]) for head in heads) + " |" for row in section["rows"]
        ]
    return "\n".join(lines) + "\n"


def show(report: dict[str, Any]) -> None:
    """Print the report as tables."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for section in report["sections"]:
        console.print(f"\n[bold]{section['title']}[/bold]", highlight=False)
        if section["rows"]:
            table = Table()
            for head, first in section["rows"][0].items():
                text = isinstance(first, str)
                table.add_column(
                    head.replace("_", " "), justify="left" if text else "right", no_wrap=text
                )
            for row in section["rows"]:
                table.add_row(*(shown(value) for value in row.values()))
            console.print(table)
        console.print(section["how"], highlight=False, markup=False)
