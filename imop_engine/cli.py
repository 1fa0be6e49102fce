"""The shell: every command, and how each ends. The longer ones live in commands/.

Two promises hold for every command. Whatever goes wrong for a reason we can name ends in one
sentence on standard error and exit code 2; and with `--json` standard output carries one JSON
document and nothing else. Heavy imports live inside the commands: `imop --help` stays instant.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from imop_engine.commands.common import parse_weights
from imop_engine.commands.frontier import frontier
from imop_engine.commands.learn import learn
from imop_engine.commands.simulate import simulate
from imop_engine.errors import ImopError, InvalidInput

if TYPE_CHECKING:
    from imop_engine.results import Result

EXIT_USAGE: Final = 2
EXIT_INTERRUPTED: Final = 130

DEFAULT_PORT: Final = 8501
LOOPBACK: Final = "127.0.0.1"

DEFAULT_SEED: Final = 0
# Securities 1 and 7: their true returns are taken as known, which fixes shift and scale.
ANCHORED: Final = (0, 6)
# The paper's Table 1: distance between estimated and true returns after 1000 rounds, K = 41.
PAPER_ERROR: Final = 0.0091
# Large enough that drawing the bar costs nothing beside learning, small enough to look alive.
DEMO_CHUNK: Final = 25
BAR_WIDTH: Final = 40

app = typer.Typer(
    name="imop",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Learn what investors believe from the portfolios they hold.",
)
app.command()(learn)
app.command()(simulate)
app.command()(frontier)


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
        sys.exit(_complain(str(error), EXIT_USAGE))
    except OSError as error:
        sys.exit(_complain(_about_file(error), EXIT_USAGE))
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(EXIT_INTERRUPTED)
    sys.exit(code if isinstance(code, int) else 0)


def _about_file(error: OSError) -> str:
    """Say which file could not be read or written, why, and what to look at."""
    what = error.filename or "a file"
    reason = (error.strerror or str(error)).lower()
    return (
        f"{what} cannot be read or written ({reason}); check the path, whether you may write there "
        "and the room on the disk"
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


@app.command()
def demo(
    investors: Annotated[
        int, typer.Option(min=1, help="How many simulated investors to learn from.")
    ] = 1000,
    weights: Annotated[
        str, typer.Option(help="Weights to try for each investor: a number K, or 'exact'.")
    ] = "41",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulated investors.")] = (
        DEFAULT_SEED
    ),
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document on standard output.")
    ] = False,
) -> None:
    """Learn eight securities' expected returns from simulated investors.

    The returns of securities 1 and 7 are taken as known: portfolios tell returns only up to a
    shift and a scale, and two known returns fix both.
    """
    result, figures = _learn_paper_market(investors, parse_weights(weights), seed)
    if as_json:
        typer.echo(json.dumps(figures, indent=2))
    else:
        _print_demo(result, figures)


def _learn_paper_market(count: int, weights: int | str, seed: int) -> tuple[Result, dict[str, Any]]:
    import numpy as np
    from rich.console import Console
    from rich.progress import track

    import imop_engine as imop
    from imop_engine.bundled import market
    from imop_engine.simulate import simulate_investors

    paper = market("paper8")
    truth = paper.expected_returns
    problem = imop.portfolio_problem(
        paper.covariance,
        names=paper.names,
        anchors={paper.names[i]: float(truth[i]) for i in ANCHORED},
    )
    seen = simulate_investors(problem, truth, count, rng=np.random.default_rng(seed))
    learner = imop.OnlineLearner(problem, weights=weights)
    started = time.perf_counter()
    for first in track(
        range(0, count, DEMO_CHUNK),
        description=f"Learning from {count:,} investors",
        console=Console(stderr=True),
        transient=True,
    ):
        learner.partial_fit(seen.portfolios[first : first + DEMO_CHUNK])
    seconds = time.perf_counter() - started
    result = imop.summarize(learner, seen.portfolios, truth=truth)
    figures = {
        "assets": list(paper.names),
        "true": truth.tolist(),
        "estimate": learner.theta_.tolist(),
        "raw_error": result.raw_error,
        "aligned_error": result.aligned_error,
        "rounds": learner.rounds_,
        "weights": weights,
        "seed": seed,
        "seconds": round(seconds, 3),
        "certified": learner.certified_,
        "version": installed_version("imop"),
    }
    return result, figures


def _print_demo(result: Result, figures: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    from imop_engine.report.frames import weight_bins, weight_edges

    grid = figures["weights"] if isinstance(figures["weights"], int) else None
    console = Console()
    table = Table(title="Expected returns per year", title_justify="left")
    table.add_column("asset")
    for heading in ("true", "estimated", "error"):
        table.add_column(heading, justify="right")
    for asset, true, estimate in zip(
        figures["assets"], figures["true"], figures["estimate"], strict=True
    ):
        table.add_row(asset, f"{true:.4f}", f"{estimate:.4f}", f"{estimate - true:+.4f}")
    console.print(table)
    console.print("\nInvestors by weight on return (0: least risk, 1: most return)")
    inferred = {"estimated": result.investors["weight"].to_numpy()}
    bins = weight_bins(inferred, weight_edges(grid))
    shares = bins["share"].to_numpy()
    per_block = float(shares.max()) / BAR_WIDTH
    for low, high, share in zip(bins["low"], bins["high"], shares, strict=True):
        bar = "█" * round(share / per_block)
        console.print(f"  {low:.2f}–{high:.2f} {share:6.1%} {bar}", highlight=False)
    console.print(
        f"\nError of the estimate: {figures['raw_error']:.4f} raw, "
        f"{figures['aligned_error']:.4f} after the best shift and scale "
        f"(the paper with K = 41: {PAPER_ERROR}).\n"
        f"{figures['rounds']:,} investors in {figures['seconds']:.1f} s; "
        f"{figures['certified']:.1%} of the updates certified optimal; seed {figures['seed']}.",
        highlight=False,
    )


@app.command()
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
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document on standard output.")
    ] = False,
) -> None:
    """Measure the engine against Gurobi and others, and how its cost grows."""
    from imop_engine import bench as measurements

    def say(what: str) -> None:
        typer.echo(f"measuring: {what}", err=True)

    report = measurements.run(quick, out, say)
    if page is not None:
        page.write_text(measurements.page(report))
    if as_json:
        typer.echo(json.dumps(report, indent=1))
    else:
        measurements.show(report)


@app.command()
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
    page: Annotated[
        Path | None, typer.Option(help="Markdown page to write from the results.", dir_okay=False)
    ] = None,
    record: Annotated[
        Path | None, typer.Option(help="JSON file to keep beside that page.", dir_okay=False)
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document on standard output.")
    ] = False,
) -> None:
    """Run the paper's experiments again and show them beside its claims.

    An interrupted run goes on where it stopped.
    """
    from importlib import import_module

    # By name: the engine's modules import nothing of the experiments, which build on them.
    shell: Any = import_module("imop_experiments.shell")
    results = shell.run(names, out, quick=quick, fresh=fresh, workers=workers)
    shell.keep(results, page, record)
    if as_json:
        typer.echo(json.dumps(results, indent=1))
    else:
        shell.show(results)


@app.command("app")
def serve(
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help=f"Port to serve on.  [default: {DEFAULT_PORT}]"),
    ] = None,
    address: Annotated[
        str, typer.Option(help="Address to listen on; the default is this computer only.")
    ] = LOOPBACK,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = False,
) -> None:
    """Start the app and print its address; Ctrl-C ends it."""
    from importlib.resources import as_file, files

    chosen = port or DEFAULT_PORT
    _require_free(address, chosen)
    with as_file(files("imop_app") / "main.py") as page:
        from streamlit.web.cli import main as streamlit

        typer.echo(f"IMOP Studio: http://{_reachable(address)}:{chosen}  (Ctrl-C ends it)")
        sys.stdout.flush()
        options = {
            "server.address": address,
            "server.port": chosen,
            "server.headless": not browser,
            "browser.gatherUsageStats": False,
            "browser.serverAddress": _reachable(address),
            "logger.hideWelcomeMessage": True,
        }
        flags = [f"--{name}={json.dumps(value).strip(chr(34))}" for name, value in options.items()]
        streamlit.main(args=["run", str(page), *flags], standalone_mode=False)


def _reachable(address: str) -> str:
    return "localhost" if address in {"0.0.0.0", "::"} else address


def _require_free(address: str, port: int) -> None:
    import socket

    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # Without this a port that was in use a moment ago would look busy for a minute.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InvalidInput(
                f"Cannot serve on {address}:{port} ({reason.lower()}); "
                f"choose another port with --port, for example --port {_neighbour(port)}."
            ) from error


def _neighbour(port: int) -> int:
    return port + 1 if port < 65535 else DEFAULT_PORT


if __name__ == "__main__":
    main()
