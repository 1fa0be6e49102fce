"""`imop learn`: from an analyst's files to a folder with the results, in one command.

Imports of the engine are inside the functions: a module of commands is loaded for every
`imop --help`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from imop_engine.commands import common, following, learning, limiting, mandating, population
from imop_engine.commands.following import FollowOptions
from imop_engine.commands.options import (
    CashOptions,
    HistoryFileOptions,
    Json,
    LimitOptions,
    Loss,
    MarketFiles,
    Seed,
    YahooOptions,
    grouped,
)
from imop_engine.commands.population import ScaleOptions
from imop_engine.errors import InvalidInput

if TYPE_CHECKING:
    from imop_engine.loading import PortfolioOptions
    from imop_engine.market import Market
    from imop_engine.study import StudySettings

EXAMPLE_RATE: Final = "USD=0.92"
ALSO: Final = ("xlsx", "json", "csv", "parquet")


@dataclass(frozen=True)
class PortfolioFile:
    """The portfolios, how they are read, and what happens to those that do not fit."""

    portfolios: Annotated[
        Path, typer.Option("--portfolios", help="Portfolios: CSV, Excel, Parquet or JSON.")
    ]
    portfolio_units: Annotated[
        str, typer.Option(help="Units of holdings: auto, fraction, percent, amounts.")
    ] = "auto"
    portfolio_layout: Annotated[
        str, typer.Option(help="Layout of the portfolios: auto, wide, long.")
    ] = "auto"
    portfolio_sheet: Annotated[str | None, typer.Option(help="Sheet of the portfolios.")] = None
    role: Annotated[
        list[str] | None,
        typer.Option("--role", help="What a column of the portfolios is: COLUMN=investor."),
    ] = None
    sums: Annotated[str, typer.Option(help="Portfolios that miss 1: rescale, cash or refuse.")] = (
        "rescale"
    )
    unknown: Annotated[str, typer.Option(help="Assets without a history: drop or refuse.")] = "drop"
    min_coverage: Annotated[
        float,
        typer.Option(
            help="Least share of a portfolio's value that needs a return history; those with less "
            "are set aside."
        ),
    ] = 0.8
    negative: Annotated[str, typer.Option(help="Negative holdings: refuse, zero or keep.")] = (
        "refuse"
    )
    duplicates: Annotated[
        str, typer.Option(help="Investors that come twice: first, last or keep.")
    ] = "first"
    snapshots: Annotated[
        str,
        typer.Option(
            help="Investors that come at several dates: latest, panel, 'by date', or a date."
        ),
    ] = "latest"
    drift: Annotated[
        str, typer.Option(help="Portfolios that only drifted with prices: keep or drop.")
    ] = "keep"
    currency_rate: Annotated[
        list[str] | None,
        typer.Option(
            "--currency-rate", help="What one unit of a currency is worth, as USD=0.92; repeatable."
        ),
    ] = None

    def reading(self, strict: bool) -> PortfolioOptions:
        """The same for the loader."""
        from imop_engine.loading import PortfolioOptions

        return PortfolioOptions(
            units=self.portfolio_units,
            layout=self.portfolio_layout,
            sheet=self.portfolio_sheet,
            roles=learning.roles(self.role),
            sums=self.sums,
            unknown=self.unknown,
            coverage=_share(self.min_coverage, "--min-coverage"),
            negative=self.negative,
            duplicates=self.duplicates,
            snapshots=self.snapshots,
            drift=self.drift,
            rates=tuple(
                common.assignments(self.currency_rate, "--currency-rate", EXAMPLE_RATE).items()
            ),
            strict=strict,
        )


@dataclass(frozen=True)
class KnownReturns:
    """What is known of the returns beforehand."""

    anchor: Annotated[
        list[str] | None,
        typer.Option(
            "--anchor",
            help="A known return, as ASSET=3%, or with its standard error as ASSET=3%±1% "
            "(or +-); repeatable.",
        ),
    ] = None
    anchor_portfolio: Annotated[
        list[str] | None,
        typer.Option(
            "--anchor-portfolio",
            help="A portfolio whose return is known, as FILE=0.06; repeatable.",
        ),
    ] = None
    truth: Annotated[
        Path | None, typer.Option("--truth", help="True returns (asset, true), to compare with.")
    ] = None
    bounds: Annotated[
        tuple[float, float] | None, typer.Option(help="Least and greatest return believed in.")
    ] = None
    months: Annotated[
        int | None,
        typer.Option(
            "--months",
            min=2,
            max=100_000,
            help="Months that --expected and --covariance come from; then they count as estimates.",
        ),
    ] = None


@dataclass(frozen=True)
class LearningOptions:
    """How to learn."""

    weights: Annotated[
        str, typer.Option(help="Weights to try for each investor: 'exact', or a number K.")
    ] = "exact"
    algorithm: Annotated[str, typer.Option(help="accelerated, full or newton.")] = "accelerated"
    rate: Annotated[float, typer.Option(help="Learning rate: rate / sqrt(round).")] = 5.0
    forgetting: Annotated[
        float, typer.Option(help="What newton keeps each round; 0.99 follows changing beliefs.")
    ] = 1.0
    loss: Loss = "distance"
    start: Annotated[
        str, typer.Option(help="Where to start: efficiency, search, history or zero.")
    ] = "efficiency"
    refine: Annotated[
        bool, typer.Option("--refine/--no-refine", help="Fit all portfolios together at the end.")
    ] = True
    trim: Annotated[
        bool,
        typer.Option(
            "--trim/--no-trim", help="Set investors aside whom no common frontier explains."
        ),
    ] = True
    errors: Annotated[
        str,
        typer.Option(
            help="What keeps investors from the frontier: holdings (errors in them), beliefs (of "
            "their own), or auto, by what the portfolios show."
        ),
    ] = "auto"
    risks: Annotated[
        str,
        typer.Option(
            help="Which covariance the estimate is under: fitted (together with the returns, where "
            "that explains other investors better) or history (the history's own)."
        ),
    ] = "fitted"
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            help="Compare what groups believe: a column of the portfolios, or year or quarter.",
        ),
    ] = None
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse files that would have to be changed.")
    ] = False
    seed: Seed = 0


@dataclass(frozen=True)
class ResultOptions:
    """Where the results go, and what they say besides the numbers."""

    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the results.", file_okay=False)
    ] = None
    title: Annotated[str, typer.Option(help="Title of the report.")] = ""
    notes: Annotated[str, typer.Option(help="Notes for the report.")] = ""
    also: Annotated[
        list[str] | None,
        typer.Option("--also", help=f"Also one file as {', '.join(ALSO)}; repeatable."),
    ] = None
    mandate: Annotated[
        str | None,
        typer.Option(
            "--mandate",
            help="Investors under different limits: COLUMN=FILE, where COLUMN of the portfolios "
            "names each one's mandate and FILE has columns mandate and limit.",
        ),
    ] = None
    own_caps: Annotated[
        str | None,
        typer.Option(
            "--own-caps",
            help="A column of the portfolios with each investor's own cap on every holding (40% or "
            "0.4; empty: none).",
        ),
    ] = None
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on where a stopped run in --out has come to."),
    ] = False
    as_json: Json = False

    def check(self) -> None:
        """Refuse what does not go together, before any work is done."""
        strange = [ending for ending in self.also or () if ending not in ALSO]
        if strange:
            raise InvalidInput(f"--also is {strange[0]!r}; choose among {', '.join(ALSO)}.")
        if self.also and self.out is None:
            raise InvalidInput("--also writes into the folder of the results; name it with --out.")
        several = "--mandate" if self.mandate else "--own-caps" if self.own_caps else ""
        if several and (self.resume or self.also):
            raise InvalidInput(
                f"{several} learns a study of each mandate; --resume and --also are for one study."
            )
        if self.mandate and self.own_caps:
            raise InvalidInput(
                "--mandate and --own-caps both say who is under which limits; give one of them."
            )
        if self.resume and self.out is None:
            raise InvalidInput("--resume goes on with the run in a folder; name it with --out.")


@grouped
def learn(
    context: typer.Context,
    people: PortfolioFile,
    files: MarketFiles,
    yahoo: YahooOptions,
    history: HistoryFileOptions,
    cash: CashOptions,
    known: KnownReturns,
    limits: LimitOptions,
    learner: LearningOptions,
    scale: ScaleOptions,
    arrivals: FollowOptions,
    results: ResultOptions,
) -> None:
    """Learn what investors believe from a return history and their portfolios.

    Writes returns.csv, investors.csv, frontier.csv, distribution.csv, checks.csv, sources.csv,
    differences.csv, run.json and report.html; with --by also groups.csv. With --mandate it writes
    returns.csv, investors.csv and frontier.csv of all, and a folder like that for each mandate. A
    folder or a pattern of Parquet or CSV files, and --cluster, learn from portfolios that need not
    fit into memory. Where investors also care for a score of their assets, take `imop score`.
    """
    results.check()
    arrivals.check()
    market = common.load_market(files, history.reading(learner.strict), yahoo, cash, limits)
    market = learning.resting_on(market, known.months)
    reading = people.reading(learner.strict)
    if arrivals.follow:
        place = _plain_folder(people, known, results, "--follow")
        chosen = _settings(known, limits, learner, results, market)
        line = common.command_line(context)
        following.follow(market, people.portfolios, chosen, arrivals, place, results.as_json, line)
        return
    if scale.wanted(people.portfolios):
        _learn_parts(context, people, market, known, limits, learner, scale, results)
        return
    data = learning.read(market, people.portfolios, reading, known.truth, files.asset_map)
    settings = _settings(known, limits, learner, results, market)
    out = results.out
    if out is not None:
        common.make_folder(out)
    command = common.command_line(context)
    if results.mandate or results.own_caps:
        if results.mandate:
            mandates = mandating.read(results.mandate, limits, market)
        else:
            data, mandates = mandating.own_caps(data, str(results.own_caps))
        found = mandating.learn(data, mandates, settings, out, command)
        mandating.say(found, out, results.as_json)
        return
    study = learning.run(data, settings, out, results.resume)
    if out is not None:
        learning.write(study, out, results.also or (), command)
    if results.as_json:
        from imop_engine.storage import run_document

        document = run_document(study, command)
        common.say_json({"folder": None if out is None else str(out), **document})
    else:
        learning.show(study, out)


def _learn_parts(
    context: typer.Context,
    people: PortfolioFile,
    market: Market,
    known: KnownReturns,
    limits: LimitOptions,
    learner: LearningOptions,
    scale: ScaleOptions,
    results: ResultOptions,
) -> None:
    """The same from portfolios in parts, which are clean tables already."""
    out = _plain_folder(people, known, results, "--cluster")
    settings = _settings(known, limits, learner, results, market)
    command = common.command_line(context)
    roles = learning.roles(people.role)
    found = population.learn_parts(market, people.portfolios, settings, scale, roles, out, command)
    if results.as_json:
        from imop_engine.scale.saving import population_document

        common.say_json({"folder": str(out), **population_document(found, command)})
    else:
        population.show(found, out)


def _plain_folder(
    people: PortfolioFile, known: KnownReturns, results: ResultOptions, option: str
) -> Path:
    """The folder of the results, where nothing was asked for that only a whole file can give."""
    plain = PortfolioFile(people.portfolios, role=people.role)
    odd = [
        one.name for one in fields(people) if getattr(people, one.name) != getattr(plain, one.name)
    ]
    odd += ["truth"] * (known.truth is not None) + ["also"] * bool(results.also)
    odd += ["resume"] * results.resume + ["mandate"] * bool(results.mandate)
    odd += ["own-caps"] * bool(results.own_caps)
    if odd:
        raise InvalidInput(
            f"--{odd[0].replace('_', '-')} is for a file that is read whole; with {option} tables "
            "are clean: a column for each asset, fractions of wealth. Leave one of the two out."
        )
    out = results.out
    if out is None:
        raise InvalidInput(
            f"what {option} learns is written as it goes on; name a folder for it with --out."
        )
    common.make_folder(out)
    return out


def _share(value: float, option: str) -> float:
    """A share from 0 to 1; percent are what is most often written instead."""
    if not 0 <= value <= 1:
        raise InvalidInput(f"{option} is {value:g}; give a share from 0 to 1, for example 0.8.")
    return value


def _settings(
    known: KnownReturns,
    limits: LimitOptions,
    learner: LearningOptions,
    results: ResultOptions,
    market: Market,
) -> StudySettings:
    from imop_engine.study import StudySettings

    names = market.names
    weights = common.parse_weights(learner.weights)
    anchors = learning.anchors(known.anchor, known.anchor_portfolio, names)
    given = limiting.read_limits(limits, market)
    # every asset by its name where one has a cap of its own: a study's mapping leaves the others
    # without a cap
    upper = (
        dict(zip(names, given.upper_of(names).tolist(), strict=True)) if given.caps else given.upper
    )
    return StudySettings(
        weights=weights,
        algorithm=learner.algorithm,
        rate=learner.rate,
        forgetting=learner.forgetting,
        anchors=anchors,
        upper=upper,
        bounds=known.bounds,
        lower=dict(given.floors) if given.floors else given.lower,
        limits=given.linear,
        loss=learner.loss,
        start=learner.start,
        refine=learner.refine,
        trim=learner.trim,
        errors=learner.errors,
        risks=learner.risks,
        by=learner.by,
        level=learner.level,
        seed=learner.seed,
        strict=learner.strict,
        title=results.title,
        notes=results.notes,
    )
