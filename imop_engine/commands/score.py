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

    from imop_engine.arguments import Matrix
    from imop_engine.inference.score import ScoreFit
    from imop_engine.inference.score_anchors import ScoreAnchors
    from imop_engine.market import Market


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
            "--score", help="A table with an asset and its score in each row; more is better."
        ),
    ],
    score_column: Annotated[
        str | None,
        typer.Option(
            "--score-column", help="Which column of it has the scores, where several might."
        ),
    ] = None,
    anchor: Annotated[
        list[str] | None,
        typer.Option(
            "--anchor",
            help="A known return a year, as AAPL=0.08 or AAPL=0.08±0.01; three fix level, scale "
            "and price. With two or none what is missing is taken from the history and from a fit "
            "without the score.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for returns.csv and investors.csv.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Fit returns, and what each investor gives in return for the score."""
    import numpy as np

    from imop_engine.inference.score import fit_score
    from imop_engine.loading import TableFile, load_investors
    from imop_engine.tables.export import records, write_table

    market = common.load_market(files, history.reading(), yahoo)
    investors = load_investors(TableFile.at(portfolios), market.names, history=market.history)
    common.prepare()
    held = investors.portfolios[investors.good]
    given = _anchored(market, limits, _scores(scores, market, score_column), anchor, held)
    found = fit_score(
        given.problem, held, relative=given.relative, anchor_covariance=given.covariance
    )
    sentences = (*given.sentences, *found.sentences())
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
                "sentences": sentences,
                "price": found.price,
                "price_low": found.price_low,
                "price_high": found.price_high,
                "explained": found.explained,
                "explained_of_others": found.explained_of_others,
                "without_score": found.without_score,
                "others_as_good": found.others_as_good,
                "relative": found.relative,
                "shown": found.shown,
                "open": found.open,
                "returns": records(found.returns),
                "investors": records(people),
                "files": written,
            }
        )
        return
    _show(found, sentences)
    for file in written:
        typer.echo(f"written: {file}")


def _scores(path: Path, market: Market, column: str | None) -> tuple[float, ...]:
    from imop_engine.loading import TableFile
    from imop_engine.tables.readers import read_within_budget

    file = TableFile.at(path)
    options = {"names": market.names, "column": column, "name": file.name}
    found: tuple[float, ...] = read_within_budget("scores", (file.source,), options)
    return found


def _anchored(
    market: Market,
    limits: CapOptions,
    scores: tuple[float, ...],
    anchor: list[str] | None,
    held: Matrix,
) -> ScoreAnchors:
    """The problem with three anchors: those that were named, and what is missing."""
    from imop_engine.commands import learning
    from imop_engine.inference.score import score_problem
    from imop_engine.inference.score_anchors import score_anchors

    known = learning.anchors(anchor, None, market.names) or []
    strange = [name for name, *_ in known if name not in market.names]
    if strange:
        raise InvalidInput(
            f"--anchor names {strange[0]}, which is none of the assets; they are "
            f"{', '.join(market.names)}."
        )
    caps = limiting.read_caps(limits, market.names).upper_of(market.names)
    values = {name: value for name, value, _ in known}
    problem = score_problem(_frame(market), scores, caps, (-1.0, 1.0), values or None)
    return score_anchors(
        problem, held, market.expected_returns, market.mean_covariance,
        [error for *_, error in known] or None,
    )  # fmt: skip


def _frame(market: Any) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(market.covariance, index=market.names, columns=market.names)


def _show(found: ScoreFit, sentences: tuple[str, ...]) -> None:
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
    for sentence in sentences:
        console.print(escape(sentence))
