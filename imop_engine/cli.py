"""The shell: which commands there are, and how each ends. Each has a module in commands/.

Two promises hold for every command. Whatever goes wrong for a reason we can name ends in one
sentence on standard error and exit code 2; and with `--json` standard output carries one JSON
document and nothing else.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from importlib.metadata import version as installed_version
from typing import Annotated, Final

import typer

from imop_engine.commands.bench import bench
from imop_engine.commands.client import client
from imop_engine.commands.common import with_cures
from imop_engine.commands.demo import demo
from imop_engine.commands.frontier import frontier
from imop_engine.commands.learn import learn
from imop_engine.commands.learning import PORTFOLIO_CURES
from imop_engine.commands.reproduce import reproduce
from imop_engine.commands.resample import resample
from imop_engine.commands.risks import risks
from imop_engine.commands.runs import runs
from imop_engine.commands.score import score
from imop_engine.commands.sensitivity import sensitivity
from imop_engine.commands.serve import serve
from imop_engine.commands.simulate import simulate
from imop_engine.commands.template import template
from imop_engine.errors import ImopError

EXIT_USAGE: Final = 2
EXIT_INTERRUPTED: Final = 130

app = typer.Typer(
    name="imop",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Learn what investors believe from the portfolios they hold.",
)
for one in (learn, client, template, simulate, frontier, sensitivity, resample, risks, score):
    app.command()(one)
for one in (demo, bench, reproduce):
    app.command()(one)
app.command("app")(serve)
app.add_typer(runs, name="runs")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; this is the console entry."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(message)s")
    command = typer.main.get_command(app)
    try:
        given = list(sys.argv[1:] if arguments is None else arguments)
        # the arguments go along, for commands that say how to repeat them
        code = command.main(args=list(given), prog_name="imop", standalone_mode=False, obj=given)
    except typer.TyperException as error:
        sys.exit(_complain(error.format_message(), error.exit_code))
    except ImopError as error:
        sys.exit(_complain(_with_cures(error), EXIT_USAGE))
    except OSError as error:
        sys.exit(_complain(_about_file(error), EXIT_USAGE))
    except (OverflowError, MemoryError) as error:
        sys.exit(_complain(_too_large(error), EXIT_USAGE))
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(EXIT_INTERRUPTED)
    sys.exit(code if isinstance(code, int) else 0)


def _with_cures(error: ImopError) -> str:
    """The error, with the option that helps where the reader of a file knows one."""
    cures = getattr(error, "cures", ())
    said = str(error)
    if any(one.option == "sheet" for one in cures):
        said += " Name it with --sheet for the history, with --portfolio-sheet for portfolios."
    others = [one for one in cures if one.option != "sheet"]
    return with_cures(said, others, PORTFOLIO_CURES)


def _about_file(error: OSError) -> str:
    """Say which file could not be read or written, why, and what to look at."""
    what = error.filename or "a file"
    reason = (error.strerror or str(error)).lower()
    return (
        f"{what} cannot be read or written ({reason}); check the path, whether you may write there "
        "and the room on the disk"
    )


def _too_large(error: BaseException) -> str:
    """Say that a number, or what it asks for, is larger than this computer can handle."""
    reason = str(error) or "out of memory"
    return (
        f"a number that was given, or what it asks for, is too large for this computer ({reason}); "
        "give smaller ones, or fewer portfolios"
    )


def _complain(sentence: str, code: int) -> int:
    text = " ".join(sentence.split()).rstrip(".")
    print(f"imop: {text}.", file=sys.stderr)
    return code


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"imop {installed_version('imop')}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


if __name__ == "__main__":
    main()
