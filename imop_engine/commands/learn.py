"""`imop learn`: from an analyst's files to a folder with the results, in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from imop_engine.commands import common, learning
from imop_engine.errors import InvalidInput

ALSO: Final = ("xlsx", "json", "csv", "parquet")


def learn(
    context: typer.Context,
    portfolios: Annotated[
        Path, typer.Option("--portfolios", help="Portfolios: CSV, Excel, Parquet or JSON.")
    ],
    returns: common.ReturnsFile = None,
    expected: common.ExpectedFile = None,
    covariance: common.CovarianceFile = None,
    market: common.BundledMarket = None,
    tickers: common.Tickers = None,
    history_from: common.HistoryFrom = "2000-01-01",
    history_to: common.HistoryTo = None,
    frequency: common.Frequency = "monthly",
    offline: common.Offline = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the results.", file_okay=False)
    ] = None,
    kind: common.Kind = "auto",
    units: common.Units = "auto",
    layout: common.Layout = "auto",
    sheet: common.Sheet = None,
    periods_per_year: common.Periods = None,
    mean_estimator: common.MeanEstimator = "arithmetic",
    covariance_estimator: common.CovarianceEstimator = "sample",
    repair: common.Repair = False,
    portfolio_units: Annotated[
        str, typer.Option(help="Units of holdings: auto, fraction, percent, amounts.")
    ] = "auto",
    portfolio_layout: Annotated[
        str, typer.Option(help="Layout of the portfolios: auto, wide, long.")
    ] = "auto",
    portfolio_sheet: Annotated[str | None, typer.Option(help="Sheet of the portfolios.")] = None,
    role: Annotated[
        list[str] | None,
        typer.Option("--role", help="What a column of the portfolios is: COLUMN=investor."),
    ] = None,
    sums: Annotated[
        str, typer.Option(help="Portfolios that miss 1: rescale, cash or refuse.")
    ] = "rescale",
    unknown: Annotated[
        str, typer.Option(help="Assets without a history: drop or refuse.")
    ] = "drop",
    negative: Annotated[
        str, typer.Option(help="Negative holdings: refuse, zero or keep.")
    ] = "refuse",
    duplicates: Annotated[
        str, typer.Option(help="Investors that come twice: first, last or keep.")
    ] = "first",
    anchor: Annotated[
        list[str] | None,
        typer.Option("--anchor", help="A known return, as ASSET=0.03; repeatable."),
    ] = None,
    anchor_portfolio: Annotated[
        list[str] | None,
        typer.Option(
            "--anchor-portfolio",
            help="A portfolio whose return is known, as FILE=0.06; repeatable.",
        ),
    ] = None,
    truth: Annotated[
        Path | None, typer.Option("--truth", help="True returns (asset, true), to compare with.")
    ] = None,
    upper: common.Upper = 1.0,
    cap: common.Caps = None,
    bounds: Annotated[
        tuple[float, float] | None, typer.Option(help="Least and greatest return believed in.")
    ] = None,
    weights: Annotated[
        str, typer.Option(help="Weights to try for each investor: 'exact', or a number K.")
    ] = "exact",
    algorithm: Annotated[str, typer.Option(help="accelerated, full or newton.")] = "accelerated",
    rate: Annotated[float, typer.Option(help="Learning rate: rate / sqrt(round).")] = 5.0,
    forgetting: Annotated[
        float, typer.Option(help="What newton keeps each round; 0.99 follows changing beliefs.")
    ] = 1.0,
    start: Annotated[str, typer.Option(help="Where to start: search, history or zero.")] = "search",
    refine: Annotated[
        bool, typer.Option("--refine/--no-refine", help="Fit all portfolios together at the end.")
    ] = True,
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse files that would have to be changed.")
    ] = False,
    title: Annotated[str, typer.Option(help="Title of the report.")] = "",
    notes: Annotated[str, typer.Option(help="Notes for the report.")] = "",
    also: Annotated[
        list[str] | None,
        typer.Option("--also", help=f"Also one file as {', '.join(ALSO)}; repeatable."),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on where a stopped run in --out has come to."),
    ] = False,
    seed: common.Seed = 0,
    as_json: common.Json = False,
) -> None:
    """Learn what investors believe from a return history and their portfolios.

    Writes returns.csv, investors.csv, frontier.csv, distribution.csv, run.json and report.html.
    """
    strange = [ending for ending in also or () if ending not in ALSO]
    if strange:
        raise InvalidInput(f"--also is {strange[0]!r}; choose among {', '.join(ALSO)}.")
    if also and out is None:
        raise InvalidInput("--also writes into the folder of the results; name it with --out.")
    if resume and out is None:
        raise InvalidInput("--resume goes on with the run in a folder; name it with --out.")
    chosen = common.load_market(
        returns,
        expected,
        covariance,
        market,
        common.HistoryChoices(
            kind,
            units,
            layout,
            sheet,
            periods_per_year,
            mean_estimator,
            covariance_estimator,
            repair,
            strict,
        ),
        common.Yahoo(tickers, history_from, history_to, frequency, offline),
    )
    names = [str(name) for name in chosen.expected_returns.index]
    reading = {
        "units": portfolio_units,
        "layout": portfolio_layout,
        "sheet": portfolio_sheet,
        "roles": learning.roles(role),
        "sums": sums,
        "unknown": unknown,
        "negative": negative,
        "duplicates": duplicates,
        "strict": strict,
    }
    data = learning.read(chosen, portfolios, reading, truth)
    from imop_engine.study import StudySettings

    settings = StudySettings(
        weights=common.parse_weights(weights),
        algorithm=algorithm,
        rate=rate,
        forgetting=forgetting,
        anchors=learning.anchors(anchor, anchor_portfolio, names),
        upper=common.caps_of(upper, common.assignments(cap, "--cap", "AAPL=0.3"), names),
        bounds=bounds,
        start=start,
        refine=refine,
        level=level,
        seed=seed,
        strict=strict,
        title=title,
        notes=notes,
    )
    if out is not None:
        common.make_folder(out)
    study = learning.run(data, settings, out, resume)
    command = common.command_line(context)
    if out is not None:
        learning.write(study, out, also or (), command)
    if as_json:
        from imop_engine.storage import run_document

        document = run_document(study, command)
        common.say_json({"folder": None if out is None else str(out), **document})
    else:
        learning.show(study, out)
