"""`imop frontier`: the efficient frontier of a study, or of a return history."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from imop_engine.commands import common
from imop_engine.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

    from imop_engine.frontier import Frontier

ROWS_SHOWN: Final = 12
HOLDINGS_SHOWN: Final = 4
LEAST_HOLDING: Final = 0.005  # smaller ones are not worth a place in a line
FIXED_COLUMNS: Final = 4  # weight, risk aversion, risk, return; then the assets


def frontier(
    study: Annotated[
        Path | None,
        typer.Option("--study", help="Folder of a study: the frontier that was estimated."),
    ] = None,
    returns: common.ReturnsFile = None,
    expected: common.ExpectedFile = None,
    covariance: common.CovarianceFile = None,
    market: common.BundledMarket = None,
    tickers: common.Tickers = None,
    history_from: common.HistoryFrom = "2000-01-01",
    history_to: common.HistoryTo = None,
    frequency: common.Frequency = "monthly",
    offline: common.Offline = False,
    kind: common.Kind = "auto",
    units: common.Units = "auto",
    layout: common.Layout = "auto",
    sheet: common.Sheet = None,
    periods_per_year: common.Periods = None,
    mean_estimator: common.MeanEstimator = "arithmetic",
    covariance_estimator: common.CovarianceEstimator = "sample",
    repair: common.Repair = False,
    upper: common.Upper = 1.0,
    cap: common.Caps = None,
    points: Annotated[
        int, typer.Option(min=2, help="Points along the curve; turning points come on top.")
    ] = 60,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="File to write: .csv, .xlsx, .parquet or .json."),
    ] = None,
    as_json: common.Json = False,
) -> None:
    """Print an efficient frontier, and write it to a file.

    With --study the one that was learned from portfolios; otherwise that of the history.
    """
    from imop_engine.study.outcome import frontier_frame
    from imop_engine.tables.export import records, write_table

    if study is not None:
        if any(one is not None for one in (returns, expected, covariance, market, tickers)):
            raise InvalidInput("--study brings its own returns; leave the other sources out.")
        curve, source = _estimated(study), "estimated"
    else:
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
            ),
            common.Yahoo(tickers, history_from, history_to, frequency, offline),
        )
        curve, source = _historical(chosen, upper, cap), "historical"
    table = frontier_frame(curve, points)
    written = None if out is None else str(write_table(table, out))
    if as_json:
        common.say_json(
            {
                "source": source,
                "turning_points": len(curve.weights),
                "file": written,
                "frontier": records(table),
            }
        )
        return
    _show(table, source, len(curve.weights))
    if written is not None:
        typer.echo(f"{len(table)} points written to {written}.")


def _estimated(folder: Path) -> Frontier:
    from imop_engine.storage import load_study

    return load_study(folder).frontier


def _historical(chosen: common.Market, upper: float, cap: list[str] | None) -> Frontier:
    import imop_engine as imop

    names = [str(name) for name in chosen.expected_returns.index]
    caps = common.caps_of(upper, common.assignments(cap, "--cap", "AAPL=0.3"), names)
    problem = imop.portfolio_problem(
        chosen.covariance,
        names=names,
        upper=caps if isinstance(caps, float) else [caps[name] for name in names],
    )
    return imop.efficient_frontier(problem, chosen.expected_returns.to_numpy(dtype=float))


def _show(table: pd.DataFrame, source: str, turning_points: int) -> None:
    import numpy as np
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    shown = np.unique(np.linspace(0, len(table) - 1, min(len(table), ROWS_SHOWN)).astype(int))
    view = Table(title=f"Efficient frontier, {source} returns per year", title_justify="left")
    for heading in ("weight", "risk aversion", "risk", "return"):
        view.add_column(heading, justify="right")
    view.add_column("largest holdings")
    for _, row in table.iloc[shown].iterrows():
        held = row.iloc[FIXED_COLUMNS:].astype(float).sort_values(ascending=False)
        held = held[held >= LEAST_HOLDING].head(HOLDINGS_SHOWN)
        names = ", ".join(f"{name} {share:.0%}" for name, share in held.items())
        view.add_row(
            f"{row.iloc[0]:.3f}",
            f"{row.iloc[1]:.2f}",
            f"{row.iloc[2]:.2%}",
            f"{row.iloc[3]:.2%}",
            escape(names),
        )
    console = Console()
    console.print(view)
    console.print(f"{turning_points} turning points; between two of them holdings are linear.")
