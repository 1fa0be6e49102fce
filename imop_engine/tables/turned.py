"""Portfolios side by side: a row for each asset, a column for each client or model portfolio.

Turned, so that each portfolio is a row. It is told by what the columns add up to, or by what they
are called; a column called weight or amount is one of a table with a row for each holding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa

from imop_engine.tables import words
from imop_engine.tables.cells import CellColumn, CellTable, text_column
from imop_engine.tables.dated_columns import dated
from imop_engine.tables.extra_holdings import ADDING_SHARE, ADDS_UP
from imop_engine.tables.history_layout import MOSTLY, read_all_numbers, separator_of
from imop_engine.tables.numbers import Numbers
from imop_engine.tables.portfolio_roles import AssetNames
from imop_engine.tables.reading_report import KEPT, NOTHING, Guess, Notes

# A market has fewer assets than this; a longer table has a row for each holding.
MOST_ASSETS: Final = 2_000
FEWEST_PORTFOLIOS: Final = 2
TURNED: Final = "investor"
# What a column of another table is called: one with a row for each holding.
VALUES: Final = (
    words.WEIGHT
    | words.AMOUNT
    | words.SHARES
    | words.PRICE
    | words.RETURN
    | words.PAST
    | words.DOUBTFUL_AMOUNT
    | words.CODE
    | words.DATE
)
# Beside the words for investors, what portfolios are called that nobody holds yet.
MODELS: Final = frozenset(["model", "strategy", "mandate", "profile", "strategie", "profil"])


def with_portfolios_in_rows(
    table: CellTable,
    assets: Sequence[str] | None,
    decimal: str,
    guessed: dict[str, Guess],
    notes: Notes,
) -> CellTable:
    """Return the table turned, where its portfolios stand in columns; else as it is.

    Args:
        table: The file's cells by column.
        assets: Those of the history; None where it is not known.
        decimal: Auto, point or comma.
        guessed: Collects what was detected and why, by the argument that overrides it.
        notes: Collects what was noticed, changed or refused.
    """
    if not assets or not 2 <= len(table) <= MOST_ASSETS or len(table.columns) <= FEWEST_PORTFOLIOS:
        return table
    names = _asset_names(table, AssetNames(assets))
    if names is None:
        return table
    numbers = read_all_numbers(table.columns, decimal, separator_of(table), {}, Notes(table.file))
    held = [
        column
        for column in table.columns
        if column is not names and numbers[column.name].share >= MOSTLY
    ]
    held = [column for column in held if not words.is_total(column.name)]
    if not _are_portfolios(names, held, numbers):
        return table
    guessed["layout"] = Guess("assets in rows", f"column {names.name} names each asset once")
    others = [one.name for one in table.columns if one is not names and one not in held]
    unused = f"; {', '.join(others)} {'is' if len(others) == 1 else 'are'} not used"
    notes.add(
        "the portfolios stand in columns, a row for each asset; where a row is named below, that "
        f"is the number of the column{unused if others else ''}",
        KEPT,
        NOTHING,
    )
    return _turned(table, names, held)


def _asset_names(table: CellTable, known: AssetNames) -> CellColumn | None:
    """The column that names each asset once, most of them the market's."""
    for column in table.columns:
        cells = [cell for cell in column.strings.to_pylist() if cell]
        if column.text is None or len(set(cells)) < len(cells):
            continue
        hits = sum(known.spelling(cell) is not None for cell in cells)
        if hits >= max(2, len(cells) / 2):
            return column
    return None


def _are_portfolios(
    names: CellColumn, held: Sequence[CellColumn], numbers: dict[str, Numbers]
) -> bool:
    if len(held) < FEWEST_PORTFOLIOS or dated([column.name for column in held]):
        return False
    labels = [column.name for column in held]
    if any(words.is_weight(one) or words.says(one, VALUES) for one in labels):
        return False
    if all(words.says(one, words.INVESTOR | MODELS) for one in labels):
        return True
    totals = np.array([words.is_total(cell) for cell in names.strings.to_pylist()])
    sums = np.array([np.nansum(numbers[one].values[~totals]) for one in labels])
    return any(np.mean(np.abs(sums / whole - 1) <= ADDS_UP) >= ADDING_SHARE for whole in (1, 100))


def _turned(table: CellTable, names: CellColumn, held: Sequence[CellColumn]) -> CellTable:
    cells = [column.strings.to_pylist() for column in held]
    places = [place for place, name in enumerate(names.strings.to_pylist()) if name]
    columns = [text_column(TURNED, pa.array([column.name for column in held], pa.string()))]
    columns += [
        text_column(names.show([place])[0], pa.array([row[place] for row in cells], pa.string()))
        for place in places
    ]
    position = {column.name: number for number, column in enumerate(table.columns, start=1)}
    rows = np.array([position[column.name] for column in held], dtype=np.int64)
    return replace(table, columns=tuple(columns), rows=rows, rows_read=len(rows))
