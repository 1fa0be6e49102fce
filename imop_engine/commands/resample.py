"""`imop resample`: a study's intervals beside estimates from investors and months drawn anew.

Imports of the engine are inside the functions: a module of commands is loaded for every
`imop --help`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from imop_engine.commands import common
from imop_engine.commands.options import Json

if TYPE_CHECKING:
    from imop_engine.study import Study
    from imop_engine.study.resampling import Resampled


def resample(
    study: Annotated[Path, typer.Argument(help="Folder of a study, as `imop learn` wrote it.")],
    draws: Annotated[int, typer.Option("--draws", help="How often everything is drawn.")] = 100,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the draws.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="File for the table: .csv, .xlsx, .parquet or .json."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Draw investors, months and anchors anew, estimate again, and compare the intervals."""
    from imop_engine.tables.export import records, write_table

    found = _drawn(common.opened_study(study), draws, seed)
    written = None if out is None else str(write_table(found.table, out))
    if as_json:
        common.say_json(
            {
                "sentences": found.sentences(),
                "draws": len(found.draws),
                "failed": len(found.reasons),
                "drawn": list(found.parts),
                "level": found.level,
                "returns": records(found.table),
                "file": written,
            }
        )
        return
    _show(found)
    if written is not None:
        typer.echo(f"{len(found.table)} returns written to {written}.")


def _drawn(study: Study, draws: int, seed: int) -> Resampled:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from imop_engine.study.resampling import resample as resample_of

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Drawing", total=draws)

        def tell(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        return resample_of(study, draws, seed, tell)


def _show(found: Resampled) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from imop_engine.sentences.numbers import between_cell, percent_cell

    view = Table(title="Intervals beside estimates from what was drawn anew", title_justify="left")
    view.add_column("asset")
    for heading in ("estimate", "interval", "drawn anew", "width (1: the same)"):
        view.add_column(heading, justify="right")
    row: dict[Any, Any]
    for row in found.table.to_dict("records"):
        view.add_row(
            escape(str(row["asset"])),
            percent_cell(row["estimate"]),
            between_cell(row["low"], row["high"]),
            between_cell(row["redrawn_low"], row["redrawn_high"]),
            f"{row['width']:.2f}",
        )
    console = Console()
    console.print(view)
    for sentence in found.sentences():
        console.print(escape(sentence), highlight=False)
