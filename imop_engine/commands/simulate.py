"""`imop simulate`: a clientele whose beliefs are known, as files that `imop learn` reads.

Imports of the engine are inside the functions: a module of commands is loaded for every
`imop --help`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from imop_engine.commands import common, limiting
from imop_engine.commands.options import Json, Kind, LimitOptions, MarketFiles, Seed, grouped
from imop_engine.errors import InvalidInput
from imop_engine.weight_families import DRAWN

if TYPE_CHECKING:
    import numpy as np

    from imop_engine.arguments import Vector
    from imop_engine.market import Market
    from imop_engine.population import BeliefChange, Population, Segment, WeightLaw
    from imop_engine.problem import Problem

FORMATS: Final = ("csv", "xlsx", "parquet", "json")
LAYOUTS: Final = ("wide", "long")
SEGMENT: Final = "young=0.4,normal,0.7,0.1"
PART: Final = "0.5,0.3,0.1"
CHANGE: Final = "2022-06-30:AAPL=0.12"
# A market that was published without a history gets one of this many months.
MONTHS: Final = 120


@dataclass(frozen=True)
class WeightOptions:
    """How many investors, and how their weights on return are distributed."""

    investors: Annotated[
        int, typer.Option("--investors", min=1, max=10_000_000, help="How many.")
    ] = 1000
    weights: Annotated[
        str, typer.Option(help=f"Weights on return: {', '.join(DRAWN[:-1])} or {DRAWN[-1]}.")
    ] = "normal"
    mean: Annotated[float, typer.Option(help="Mean weight; uniform and mixture need none.")] = 0.5
    sd: Annotated[
        float, typer.Option(help="Spread of the weights; uniform and mixture need none.")
    ] = 0.15
    part: Annotated[
        list[str] | None,
        typer.Option("--part", help=f"Part of a mixture: SHARE,MEAN,SD as {PART}; repeatable."),
    ] = None
    segment: Annotated[
        list[str] | None,
        typer.Option(
            "--segment", help=f"A group: NAME=SHARE,FAMILY,MEAN,SD as {SEGMENT}; repeatable."
        ),
    ] = None

    def laws(self) -> WeightLaw | list[Segment]:
        """One law of weights for all, or the groups."""
        from imop_engine.population import WeightLaw

        if self.segment:
            return [_segment(text) for text in self.segment]
        parts = tuple(_part(text) for text in self.part or ())
        return WeightLaw(self.weights, self.mean, self.sd, parts)


@dataclass(frozen=True)
class ObservationOptions:
    """What investors believe, when, and how well their portfolios are seen."""

    noise: Annotated[
        str,
        typer.Option(help="round, uniform, gaussian, dirichlet, epsilon (near-optimal) or none."),
    ] = "round"
    noise_level: Annotated[float, typer.Option(help="Size of the noise.")] = 0.001
    disagreement: Annotated[
        float, typer.Option(min=0.0, help="Sd by which beliefs differ from the history.")
    ] = 0.0
    first_day: Annotated[str | None, typer.Option("--from", help="First day.")] = None
    last_day: Annotated[str | None, typer.Option("--to", help="Last day.")] = None
    change: Annotated[
        list[str] | None,
        typer.Option("--change", help=f"New belief from a day on: {CHANGE}; repeatable."),
    ] = None


@dataclass(frozen=True)
class SampleFiles:
    """The files that are written."""

    out: Annotated[Path, typer.Option("--out", help="Folder for the files.", file_okay=False)]
    layout: Annotated[str, typer.Option(help="Portfolios wide or long.")] = "wide"
    file_format: Annotated[str, typer.Option("--format", help=f"One of {', '.join(FORMATS)}.")] = (
        "csv"
    )


@grouped
def simulate(
    context: typer.Context,
    written: SampleFiles,
    files: MarketFiles,
    people: WeightOptions,
    seen: ObservationOptions,
    limits: LimitOptions,
    kind: Kind = "auto",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Simulate investors and write returns, portfolios and the truth as files.

    Without --returns, --expected or --market the bundled 20 US stocks are used.
    """
    import numpy as np

    from imop_engine.loading import HistoryOptions

    _require(written.file_format, FORMATS, "--format")
    _require(written.layout, LAYOUTS, "--layout")
    source = MarketFiles(bundled="us20") if files.nothing else files
    market = common.load_market(source, HistoryOptions(kind=kind), limits=limits)
    rng = np.random.default_rng(seed)
    problem = _problem(market, limits)
    beliefs = market.expected_returns + seen.disagreement * rng.standard_normal(market.size)
    common.make_folder(written.out)
    drawn = _draw(problem, beliefs, people, seen, rng)
    paths = _write(written, market, drawn, rng)
    document = {
        "folder": str(written.out),
        "files": paths,
        "investors": len(drawn),
        "assets": list(market.names),
        "true": drawn.beliefs[0],
        "seed": seed,
        "command": common.command_line(context),
    }
    if as_json:
        common.say_json(document)
    else:
        _say(written.out, paths, document)


def _problem(market: Market, given: LimitOptions) -> Problem:
    from imop_engine.limit_prices import limited_problem

    limits = limiting.read_limits(given, market)
    return limited_problem(market.covariance, limits, market.names)


def _draw(
    problem: Problem,
    beliefs: Vector,
    people: WeightOptions,
    seen: ObservationOptions,
    rng: np.random.Generator,
) -> Population:
    from imop_engine.population import simulate_population

    common.prepare()
    return simulate_population(
        problem,
        beliefs,
        people.investors,
        segments=people.laws(),
        noise=seen.noise,
        noise_level=seen.noise_level,
        dates=_dates(seen.first_day, seen.last_day),
        changes=[_change(text) for text in seen.change or ()],
        rng=rng,
    )


def _write(
    written: SampleFiles, market: Market, drawn: Population, rng: np.random.Generator
) -> dict[str, str]:
    from imop_engine.population import matching_history
    from imop_engine.tables.export import write_table

    history = market.history
    if history is None:
        history = matching_history(
            market.expected_returns,
            market.covariance,
            market.names,
            periods=max(MONTHS, 2 * market.size),
            rng=rng,
        )
    tables = {
        "returns": history.rename_axis("date").reset_index(),
        "portfolios": drawn.wide() if written.layout == "wide" else drawn.long(),
        "truth": drawn.true_returns(),
        "truth_investors": drawn.true_investors(),
    }
    return {
        name: str(write_table(table, written.out / f"{name}.{written.file_format}"))
        for name, table in tables.items()
    }


def _say(out: Path, files: dict[str, str], document: dict[str, Any]) -> None:
    typer.echo(
        f"{document['investors']:,} investors on {len(document['assets'])} assets, seed "
        f"{document['seed']}, in {out}:"
    )
    contents = {
        "returns": "the return history",
        "portfolios": "what an observer sees",
        "truth": "the returns they believe in",
        "truth_investors": "their weights on return",
    }
    for name, path in files.items():
        typer.echo(f"  {Path(path).name:24}{contents[name]}")
    typer.echo(
        f"\nNext: imop learn --returns {files['returns']} --portfolios {files['portfolios']} "
        f"--truth {files['truth']} --out results"
    )


def _segment(text: str) -> Segment:
    from imop_engine.population import USUAL, Segment, WeightLaw

    name, sign, rest = text.partition("=")
    fields = [field.strip() for field in rest.split(",")]
    try:
        share = float(fields[0])
        family = fields[1] if len(fields) > 1 else "normal"
        mean = float(fields[2]) if len(fields) > 2 else USUAL.mean
        sd = float(fields[3]) if len(fields) > 3 else USUAL.sd
    except ValueError:
        fields = []
    if not sign or not name.strip() or not 1 <= len(fields) <= 4:
        raise InvalidInput(f"--segment is {text!r}; write it as {SEGMENT}.")
    return Segment(name.strip(), share, WeightLaw(family, mean, sd))


def _part(text: str) -> tuple[float, float, float]:
    try:
        share, mean, sd = (float(field) for field in text.split(","))
    except ValueError:
        raise InvalidInput(f"--part is {text!r}; write it as {PART}.") from None
    return share, mean, sd


def _change(text: str) -> BeliefChange:
    import pandas as pd

    from imop_engine.population import BeliefChange

    day, colon, rest = text.partition(":")
    name, value = common.assignment(rest, "--change", CHANGE) if colon else ("", 0.0)
    try:
        moment = pd.Timestamp(day)
    except ValueError:
        colon, moment = "", pd.Timestamp(0)
    if not colon:
        raise InvalidInput(f"--change is {text!r}; write it as {CHANGE}.")
    return BeliefChange(moment, {name: value})


def _dates(first: str | None, last: str | None) -> tuple[str, str] | None:
    if first is None and last is None:
        return None
    if first is None or last is None:
        raise InvalidInput("--from and --to belong together: one of them is missing.")
    return first, last


def _require(value: str, allowed: tuple[str, ...], option: str) -> None:
    if value not in allowed:
        raise InvalidInput(f"{option} is {value!r}; choose one of {', '.join(allowed)}.")
