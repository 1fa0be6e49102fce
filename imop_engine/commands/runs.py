"""`imop runs`: what the app keeps, from the shell. The store is that of the app: IMOP_STORE, or the
file in the data folder.

What it does is in the app's package, which is found by name: the engine imports nothing of the app.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from imop_engine.commands import common
from imop_engine.commands.options import Json
from imop_engine.errors import InvalidInput

runs = typer.Typer(
    rich_markup_mode=None, no_args_is_help=True, help="What the app keeps: list, take out, take in."
)
Run = Annotated[str, typer.Argument(help="Id of a run, as `imop runs list` shows it.")]
WorkspaceId = Annotated[str, typer.Argument(help="Id of a workspace.")]
Owner = Annotated[
    str, typer.Option("--owner", help="Address of whose it becomes, where the app has a login.")
]


def _kept() -> Any:
    return import_module("imop_app.kept")


@runs.command("list")
def list_runs(as_json: Json = False) -> None:
    """Show workspaces and their runs."""
    kept = _kept()
    found = kept.listed()
    if as_json:
        common.say_json({"store": kept.place(), "workspaces": found})
        return
    typer.echo(kept.place())
    for one in found:
        whose = f" · {one['owner']}" if one["owner"] else ""
        typer.echo(f"{one['workspace']}  {one['name']}{whose} · changed {one['changed']}")
        for run in one["runs"]:
            typer.echo(f"  {run['run']}  {run['name']} · {run['made']}")


@runs.command("export")
def export(
    run: Run,
    out: Annotated[Path, typer.Option("--out", help="Folder for its files.", file_okay=False)],
    as_json: Json = False,
) -> None:
    """Write a run into a folder, as `imop learn --out` would have."""
    _kept().export(run, out)
    _say(as_json, {"run": run, "folder": str(out)}, f"{run} is in {out}")


@runs.command("add")
def add(
    folder: Annotated[Path, typer.Argument(help="What `imop learn --out` wrote.", exists=True)],
    workspace: Annotated[
        str | None, typer.Option("--workspace", help="Its id; without it a new one is made.")
    ] = None,
    owner: Owner = "",
    as_json: Json = False,
) -> None:
    """Keep a study of a folder, so that the app shows it."""
    made, run = _kept().add(folder, workspace, owner)
    said = f"{run} is kept in workspace {made}: open the app with ?workspace={made}"
    _say(as_json, {"workspace": made, "run": run}, said)


@runs.command("import")
def take_in(
    home: Annotated[Path, typer.Argument(help="A data folder of before the store.", exists=True)],
    owner: Owner = "",
    as_json: Json = False,
) -> None:
    """Take in the workspaces that an older app kept in folders."""
    count = _kept().take_in(home, owner)
    _say(
        as_json, {"workspaces": count}, f"{count} workspaces were taken in; their folders lie aside"
    )


@runs.command("give")
def give(
    workspace: WorkspaceId,
    owner: Annotated[str, typer.Argument(help="Address of whose it becomes.")],
    as_json: Json = False,
) -> None:
    """Make a workspace with its runs somebody's."""
    _kept().give(workspace, owner.strip().lower())
    _say(as_json, {"workspace": workspace, "owner": owner}, f"{workspace} belongs to {owner} now")


@runs.command("remove")
def remove(
    workspace: WorkspaceId,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Json = False,
) -> None:
    """Delete a workspace with its runs and files, for good."""
    if not yes:
        _ask(workspace)
    _kept().remove(workspace)
    _say(as_json, {"workspace": workspace}, f"{workspace} is gone")


def _ask(workspace: str) -> None:
    """Ask whether a workspace is to be deleted; where nobody can answer, say so."""
    try:
        typer.confirm(f"Delete {workspace} with all its runs and files?", abort=True, err=True)
    except typer.Abort:
        if sys.stdin.isatty():
            raise
        typer.echo(err=True)
        raise InvalidInput(
            f"{workspace} was not deleted: nobody said yes. Where nobody can be asked, say --yes."
        ) from None


def _say(as_json: bool, document: dict[str, Any], sentence: str) -> None:
    if as_json:
        common.say_json(document)
    else:
        typer.echo(sentence)
