"""`imop score`: what investors believe who also care for a score of their assets.

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
    YahooOptions,
    grouped,
)
from imop_engine.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

    from imop_engine.inference.score import ScoreFit


@grouped
def score(
    files: MarketFiles,
    yahoo: YahooOptions,
    history: HistoryFileOptions,
    limits: CapOptions,
    portfolios: Annotated[
        Path, typer.Option("--portfolios", help="Holdings, a row for each investor.")
    ],
    scores: Annotated[
        Path,
        typer.Option(
            "--score", help="A table of two columns: asset, and its score; more is better."
        ),
    ],
    anchor: Annotated[
        list[str] | None,
        typer.Option(
            "--anchor",
            help="A known return a year, as AAPL=0.08; three fix level, scale and price.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for returns.csv and investors.csv.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Fit returns, and what each investor gives in return for the score."""
    import numpy as np

    from imop_engine.inference.score import fit_score, score_problem
    from imop_engine.loading import TableFile, load_investors
    from imop_engine.tables.export import records, write_table

    market = common.load_market(files, history.reading(), yahoo)
    investors = load_investors(TableFile.at(portfolios), market.names, history=market.history)
    caps = limiting.read_caps(limits, market.names).upper_of(market.names)
    known = common.assignments(anchor, "--anchor", common.EXAMPLE_ANCHOR)
    strange = [name for name in known if name not in market.names]
    if strange:
        raise InvalidInput(
            f"--anchor names {strange[0]}, which is none of the assets; they are "
            f"{', '.join(market.names)}."
        )
    problem = score_problem(
        _frame(market), read_scores(scores, market.names), caps, (-1.0, 1.0), known or None
    )
    common.prepare()
    found = fit_score(problem, investors.portfolios[investors.good])
    people = found.investors.copy()
    people.insert(0, "id", [str(one) for one in np.array(investors.ids)[investors.good]])
    written = []
    if out is not None:
        folder = common.make_folder(out)
        for table, name in ((found.returns, "returns.csv"), (people, "investors.csv")):
            written.append(str(write_table(table, folder / name)))
    if as_json:
        common.say_json(
            {
                "sentences": found.sentences(),
                "price": found.price,
                "price_low": found.price_low,
                "price_high": found.price_high,
                "explained": found.explained,
                "open": found.open,
                "returns": records(found.returns),
                "investors": records(people),
                "files": written,
            }
        )
        return
    _show(found)
    for file in written:
        typer.echo(f"written: {file}")


def _frame(market: Any) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(market.covariance, index=market.names, columns=market.names)


def read_scores(path: Path, names: tuple[str, ...]) -> list[float]:
    """The score of each asset from a table of two columns, in the order of the market.

    Args:
        path: a CSV file; its first column names assets, its last one has numbers.
        names: of the market's assets.
    """
    import csv

    found: dict[str, float] = {}
    with path.open(newline="", encoding="utf-8-sig") as file:
        for row in csv.reader(file):
            if len(row) < 2 or row[0].strip() not in names:
                continue
            try:
                found[row[0].strip()] = float(row[-1])
            except ValueError:
                raise InvalidInput(
                    f"{path.name}: the score of {row[0]} is {row[-1]!r}; write a number."
                ) from None
    missing = [name for name in names if name not in found]
    if missing:
        raise InvalidInput(
            f"{path.name} has no score for {', '.join(missing[:5])}; it needs a row for each of "
            f"the {len(names)} assets: its name, then its score."
        )
    return [found[name] for name in names]


def _show(found: ScoreFit) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from imop_engine.sentences.numbers import percent_cell

    view = Table(title="Expected returns a year, with the score as third objective",
                 title_justify="left")  # fmt: skip
    view.add_column("asset")
    for heading in ("estimate", "low", "high"):
        view.add_column(heading, justify="right")
    row: dict[Any, Any]
    for row in found.returns.to_dict("records"):
        view.add_row(
            escape(str(row["asset"])),
            *(percent_cell(row[name]) for name in ("estimate", "low", "high")),
        )
    console = Console()
    console.print(view)
    for sentence in found.sentences():
        console.print(escape(sentence))
