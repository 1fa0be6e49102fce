"""`imop template`: files to fill in, and samples that `imop learn` reads as they are.

Imports of the engine are inside the functions: a module of commands is loaded for every
`imop --help`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from imop_engine.commands import common
from imop_engine.commands.options import Json
from imop_engine.errors import InvalidInput

FORMATS: Final = ("csv", "xlsx", "parquet", "json")
ALL: Final = "all"


def template(
    forms: Annotated[
        list[str] | None,
        typer.Argument(
            help="returns, portfolios, holdings, expected, covariance, mandates, groups, or all."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", help="Folder for the files.", file_okay=False)
    ] = Path("templates"),
    sample: Annotated[
        bool, typer.Option("--sample", help="Whole tables to try instead of templates to fill in.")
    ] = False,
    asset: Annotated[
        list[str] | None, typer.Option("--asset", help="An asset to name in them; repeatable.")
    ] = None,
    ending: Annotated[
        str, typer.Option("--format", help=f"Of the files: {', '.join(FORMATS)}.")
    ] = "csv",
    as_json: Json = False,
) -> None:
    """Write templates of the files that are read, or samples of them."""
    from imop_engine import templates
    from imop_engine.tables.export import write_table

    if ending not in FORMATS:
        raise InvalidInput(f"--format is {ending!r}; choose {', '.join(FORMATS)}.")
    if sample and asset:
        raise InvalidInput("--sample brings its own assets; leave --asset out, or --sample.")
    chosen = list(templates.FORMS) if not forms or ALL in forms else list(dict.fromkeys(forms))
    tables = {
        form: templates.sample(form)
        if sample
        else templates.template(form, asset or templates.ASSETS)
        for form in chosen
    }
    folder = common.make_folder(out)
    files = {form: folder / f"{form}.{ending}" for form in chosen}
    for form, table in tables.items():
        write_table(table, files[form])
    if as_json:
        common.say_json({"folder": str(out), "files": {one: str(at) for one, at in files.items()}})
        return
    for form, path in files.items():
        typer.echo(f"{path}: {templates.FORMS[form]}")
