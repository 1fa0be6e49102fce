"""`imop risks`: which measure of risk explains the investors best.

Imports of the engine are inside the functions: a module of commands is loaded for every
`imop --help`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from imop_engine.commands import common, limiting
from imop_engine.commands.options import (
    CapOptions,
    HistoryFileOptions,
    Json,
    MarketFiles,
    Seed,
    YahooOptions,
    grouped,
)
from imop_engine.errors import InvalidInput

if TYPE_CHECKING:
    from imop_engine.inference.risk_comparison import RiskComparison


@grouped
def risks(
    files: MarketFiles,
    yahoo: YahooOptions,
    history: HistoryFileOptions,
    limits: CapOptions,
    portfolios: Annotated[
        Path, typer.Option("--portfolios", help="Holdings, a row for each investor.")
    ],
    risk: Annotated[
        list[str] | None,
        typer.Option(
            "--risk",
            help="A measure to compare: variance, cvar (or cvar:0.9), semivariance, mad, entropic; "
            "repeatable. All five where none is named.",
        ),
    ] = None,
    folds: Annotated[
        int, typer.Option(min=2, max=20, help="Parts; each is predicted from the others.")
    ] = 3,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Compare measures of risk by what they explain of investors outside the fit."""
    from imop_engine.inference.risk_comparison import ALL, compare_risks
    from imop_engine.loading import TableFile, load_investors
    from imop_engine.tables.export import records

    market = common.load_market(files, history.reading(), yahoo)
    if market.history is None:
        raise InvalidInput(
            "these measures of risk are read off a history of returns, and the market has moments "
            "alone; give --returns, --tickers or --market us20."
        )
    investors = load_investors(TableFile.at(portfolios), market.names, history=market.history)
    caps = limiting.read_caps(limits, market.names).upper_of(market.names)
    found = compare_risks(
        market.history[list(market.names)].dropna(),
        investors.portfolios[investors.good],
        tuple(risk) if risk else ALL,
        caps,
        folds,
        seed,
    )
    if as_json:
        common.say_json(
            {
                "sentences": found.sentences(),
                "risks": records(found.table),
                "returns": records(found.returns.rename_axis("asset").reset_index()),
                "investors": found.investors,
                "folds": found.folds,
            }
        )
        return
    _show(found)


def _show(found: RiskComparison) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    view = Table(title="Holdings explained outside the fit", title_justify="left")
    for heading in ("risk", "explained", "less than the best", "95% interval", ""):
        view.add_column(heading, justify="left" if heading in ("risk", "") else "right")
    row: dict[Any, Any]
    for row in found.table.to_dict("records"):
        between = f"{row['low']:.1%} to {row['high']:.1%}" if row["verdict"] != "best" else ""
        less = f"{row['less']:.1%}" if row["verdict"] != "best" else ""
        view.add_row(escape(row["risk"]), f"{row['explained']:.1%}", less, between, row["verdict"])
    console = Console()
    console.print(view)
    for sentence in found.sentences():
        console.print(escape(sentence))
