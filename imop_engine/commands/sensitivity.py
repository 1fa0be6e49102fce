"""`imop sensitivity`: how far a study's estimate depends on what was chosen.

Imports of the engine are inside the functions: a module of commands is loaded for every
`imop --help`.
"""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from imop_engine.commands import common
from imop_engine.commands.options import Json

if TYPE_CHECKING:
    from imop_engine.study.sensitivity import Sensitivity


def sensitivity(
    study: Annotated[Path, typer.Argument(help="Folder of a study, as `imop learn` wrote it.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="File for all returns: .csv, .xlsx, .parquet or .json."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Estimate again with other anchors, covariances, methods and investors, and compare."""
    from imop_engine.study.sensitivity import sensitivity as sensitivity_of
    from imop_engine.tables.export import records, write_table

    found = sensitivity_of(common.opened_study(study))
    written = None if out is None else str(write_table(found.table, out))
    if as_json:
        common.say_json(
            {
                "sentences": found.sentences(),
                "explained": found.explained,
                "alternatives": records(found.summary),
                "returns": records(found.table),
                "file": written,
            }
        )
        return
    _show(found)
    if written is not None:
        typer.echo(f"{len(found.table)} returns written to {written}.")


def _show(found: Sensitivity) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from imop_engine.sentences.numbers import MISSING, percent_cell

    view = Table(title="The estimate under other choices", title_justify="left")
    for heading in ("choice", "alternative"):
        view.add_column(heading)
    for heading in ("largest change a year", "order (1: the same)", "explained"):
        view.add_column(heading, justify="right")
    row: dict[Any, Any]
    for row in found.summary.to_dict("records"):
        rank = row["rank_correlation"]
        view.add_row(
            row["choice"],
            escape(row["alternative"]),
            f"{percent_cell(row['largest'])} {escape(row['asset'])}",
            f"{rank:.2f}" if isfinite(rank) else MISSING,
            percent_cell(row["explained"]),
        )
    console = Console()
    console.print(view)
    for sentence in found.sentences():
        console.print(escape(sentence))
