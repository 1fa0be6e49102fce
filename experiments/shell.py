"""What `imop reproduce` shows in the terminal: progress while it runs, verdicts at the end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from imop_experiments import markdown, page, runner

COLOURS = {"reproduced": "green", "better": "blue", "differs": "yellow", "beyond": "magenta"}


def run(
    names: Sequence[str],
    out: Path,
    *,
    quick: bool,
    fresh: bool,
    workers: int | None,
    cluster: str | None = None,
) -> dict[str, Any]:
    """Run with one progress bar for each experiment, on standard error.

    Args:
        names: Of the experiments; "all" is every one.
        out: The folder of the results.
        quick: Whether fewer repetitions and shorter streams are run than in the paper.
        fresh: Whether to run parts again that were kept.
        workers: How many processes share the work; None takes all processors.
        cluster: A Dask cluster for the parts that measure no time; None: processes here.
    """
    runner.choose(names)  # a wrong name ends before anything is drawn
    columns = (
        TextColumn("{task.description:<18}"), BarColumn(), MofNCompleteColumn(),
        TextColumn("parts"), TimeElapsedColumn(),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True)) as progress:
        tasks: dict[str, Any] = {}

        def tell(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = progress.add_task(name, total=total)
            progress.update(tasks[name], completed=done)

        return runner.reproduce(
            names, out, quick=quick, fresh=fresh, workers=workers, cluster=cluster, tell=tell
        )


def keep(results: dict[str, Any], target: Path | None, record: Path | None) -> None:
    """Write the Markdown page and the results it was made from, where they are wanted.

    What is kept names no place on this machine: neither the page nor the raw files.

    Args:
        results: What results.json holds.
        target: The Markdown page; None writes none.
        record: Where the results are kept; None keeps none.
    """
    results = {name: value for name, value in results.items() if name != "page"}
    results["experiments"] = [
        {name: value for name, value in one.items() if name != "raw"}
        for one in results["experiments"]
    ]
    if target is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(markdown.page(results))
    if record is not None:
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")


def show(results: dict[str, Any]) -> None:
    """Verdicts in a table, and where the page is."""
    console = Console()
    table = Table(show_lines=False)
    for heading in ("experiment", "verdict", "this run"):
        table.add_column(heading, overflow="fold")
    for one in results["experiments"]:
        for i, finding in enumerate(one["findings"]):
            verdict = f"[{COLOURS[finding['verdict']]}]{page.WORDS[finding['verdict']]}[/]"
            table.add_row("" if i else one["name"], verdict, finding["ours"])
    console.print(table)
    console.print(
        f"{results['seconds']:g} s, {results['parts_run']} of {results['parts']} parts computed.\n"
        f"Page: {results['page']}",
        highlight=False,
        soft_wrap=True,
    )
