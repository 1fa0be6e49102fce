"""`imop reproduce`: the paper's experiments, run by the package of experiments.

That package is imported by name and inside the function: it builds on the engine, which imports
nothing of it.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from imop_engine.commands import options


def reproduce(
    names: Annotated[
        list[str], typer.Argument(help="Experiments by name, or 'all'.", metavar="NAME|all...")
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="A small version, within three minutes.")
    ] = False,
    out: Annotated[
        Path, typer.Option(help="Folder for pictures, tables and the page.", file_okay=False)
    ] = Path("results/reproduce"),
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Compute anew what earlier runs have left there.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes.  [default: one a core]")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(help="Dask for the repetitions: local, or an address as tcp://host:8786."),
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="Markdown page to write from the results.", dir_okay=False)
    ] = None,
    record: Annotated[
        Path | None, typer.Option(help="JSON file to keep beside that page.", dir_okay=False)
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Run the paper's experiments again and show them beside its claims.

    An interrupted run goes on where it stopped.
    """
    shell: Any = import_module("imop_experiments.shell")
    results = shell.run(names, out, quick=quick, fresh=fresh, workers=workers, cluster=cluster)
    shell.keep(results, page, record)
    if as_json:
        typer.echo(json.dumps(results, indent=1))
    else:
        shell.show(results)
