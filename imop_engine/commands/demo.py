"""`imop demo`: the paper's market learned from simulated investors, in one command.

Imports of the engine and of the screen's toolkit are inside the functions: a module of commands is
loaded for every `imop --help`.
"""

from __future__ import annotations

import json
import time
from importlib.metadata import version as installed_version
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from imop_engine.commands import common, options

if TYPE_CHECKING:
    from imop_engine.results import Result

DEFAULT_SEED: Final = 0
# Securities 1 and 7: their true returns are taken as known, which fixes shift and scale.
ANCHORED: Final = (0, 6)
# The paper's Table 1: distance between estimated and true returns after 1000 rounds, K = 41.
PAPER_ERROR: Final = 0.0091
# Large enough that drawing the bar costs nothing beside learning, small enough to look alive.
DEMO_CHUNK: Final = 25
BAR_WIDTH: Final = 40


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
    loss: options.Loss = "distance",
    as_json: options.Json = False,
) -> None:
    """Learn eight securities' expected returns from simulated investors.

    The returns of securities 1 and 7 are taken as known: portfolios tell returns only up to a
    shift and a scale, and two known returns fix both.
    """
    result, figures = _learn_paper_market(investors, common.parse_weights(weights), seed, loss)
    if as_json:
        typer.echo(json.dumps(figures, indent=2))
    else:
        _print_demo(result, figures)


def _learn_paper_market(
    count: int, weights: int | str, seed: int, loss: str
) -> tuple[Result, dict[str, Any]]:
    """Args: how many investors, weights to try for each, the seed, and the loss."""
    import numpy as np
    from rich.console import Console
    from rich.progress import track

    import imop_engine as imop
    from imop_engine.bundled import market
    from imop_engine.simulate import simulate_investors

    common.prepare()
    paper = market("paper8")
    truth = paper.expected_returns
    problem = imop.portfolio_problem(
        paper.covariance,
        names=paper.names,
        anchors={paper.names[i]: float(truth[i]) for i in ANCHORED},
    )
    seen = simulate_investors(problem, truth, count, rng=np.random.default_rng(seed))
    learner = imop.OnlineLearner(problem, weights=weights, loss=loss)
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
        "loss": loss,
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
    from imop_engine.sentences.returns import estimate_error

    gridded = isinstance(figures["weights"], int) and figures["loss"] == "distance"
    grid = figures["weights"] if gridded else None
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
        f"\n{estimate_error(figures['raw_error'], figures['aligned_error'], 4)} "
        f"(the paper with K = 41: {PAPER_ERROR}).\n"
        f"{figures['rounds']:,} investors in {figures['seconds']:.1f} s; "
        f"{figures['certified']:.1%} of the updates certified optimal; seed {figures['seed']}.",
        highlight=False,
    )
