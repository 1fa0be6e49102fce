"""`imop frontier`: the efficient frontier of a study, or of a return history.

Imports of the engine are inside the functions: a module of commands is loaded for every
`imop --help`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from imop_engine.commands import common, limiting
from imop_engine.commands.options import (
    CashOptions,
    HistoryFileOptions,
    Json,
    LimitOptions,
    MarketFiles,
    YahooOptions,
    grouped,
)
from imop_engine.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

    from imop_engine.limit_prices import LimitPrices
    from imop_engine.market import Market

ROWS_SHOWN: Final = 12
HOLDINGS_SHOWN: Final = 4
LEAST_HOLDING: Final = 0.005  # smaller ones are not worth a place in a line
FIXED_COLUMNS: Final = 4  # weight, risk aversion, risk, return; then the assets


@grouped
def frontier(
    files: MarketFiles,
    yahoo: YahooOptions,
    history: HistoryFileOptions,
    cash: CashOptions,
    limits: LimitOptions,
    study: Annotated[
        Path | None,
        typer.Option("--study", help="Folder of a study: the frontier that was estimated."),
    ] = None,
    points: Annotated[
        int,
        typer.Option(
            min=2, max=1_000_000, help="Points along the curve; turning points come on top."
        ),
    ] = 60,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="File to write: .csv, .xlsx, .parquet or .json."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print an efficient frontier, and write it to a file.

    With --study the one that was learned from portfolios; otherwise that of the history. Under
    limits it says which of them bind where, and what each costs at the same risk.
    """
    from imop_engine.study.outcome import frontier_frame
    from imop_engine.tables.export import records, write_table

    prices = None
    if study is not None:
        if not files.nothing or yahoo.tickers is not None or cash.cash:
            raise InvalidInput("--study brings its own returns; leave the other sources out.")
        if not limits.nothing:
            raise InvalidInput(
                "--study brings the limits that it was learned under; leave the others out."
            )
        curve, source = common.opened_study(study).frontier, "estimated"
    else:
        market = common.load_market(files, history.reading(), yahoo, cash, limits)
        prices = _historical(market, limits)
        curve, source = prices.frontier, "historical"
    table = frontier_frame(curve, points)
    written = None if out is None else str(write_table(table, out))
    if as_json:
        common.say_json(
            {
                "source": source,
                "turning_points": len(curve.weights),
                "file": written,
                "frontier": records(table),
                "limits": [] if prices is None else records(prices.table()),
            }
        )
        return
    _show(table, source, len(curve.weights))
    if prices is not None and prices.limits:
        limiting.show(prices)
    if written is not None:
        typer.echo(f"{len(table)} points written to {written}.")


def _historical(market: Market, given: LimitOptions) -> LimitPrices:
    from imop_engine.limit_prices import limit_prices

    limits = limiting.read_limits(given, market)
    common.prepare()
    return limit_prices(market.covariance, market.expected_returns, limits, market.names)


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
