"""`imop bench`: the engine's speed, measured by the package of benchmarks.

That package is imported by name and inside the function: it builds on the engine, which imports
nothing of it, and it loads every solver it compares with.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from imop_engine.commands import options
from imop_engine.errors import InvalidInput


def bench(
    quick: Annotated[
        bool, typer.Option("--quick", help="A small version, under a minute.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results as JSON.", file_okay=False)
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="Markdown page to write from the results.", dir_okay=False)
    ] = None,
    again: Annotated[
        list[str] | None,
        typer.Option(help="Only this measurement, put among those of --out; repeat for more."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Measure the engine against Gurobi and others, and how its cost grows."""
    measurements: Any = import_module("imop_benchmarks")

    def say(what: str) -> None:
        typer.echo(f"measuring: {what}", err=True)

    if again and (quick or out is None):
        raise InvalidInput("--again puts a measurement among those of --out; give that folder.")
    report = measurements.again(again, out, say) if again else measurements.run(quick, out, say)
    if page is not None:
        page.write_text(measurements.page(report))
    if as_json:
        typer.echo(json.dumps(report, indent=1))
    else:
        measurements.show(report)
