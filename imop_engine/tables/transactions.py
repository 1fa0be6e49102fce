"""Lists of what was bought and sold: no holdings, and nothing says what is left of them."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow.compute as pc

from imop_engine.errors import UnreadableFile
from imop_engine.sentences.numbers import some
from imop_engine.tables import words
from imop_engine.tables.cells import CellColumn, CellTable
from imop_engine.tables.dates import Dates
from imop_engine.tables.portfolio_roles import ATTRIBUTE, IGNORE, INVESTOR, Roles

# So many of the cells of a column say what was done.
MOSTLY: Final = 0.9
# Different words in it; a column of comments has more.
MOST_WORDS: Final = 30
NAMED: Final = 3  # kinds of transactions in a sentence


def refuse_transactions(table: CellTable, found: Roles, dates: Dates | None) -> None:
    """Raise where rows are transactions: purchases and sales by date, dividends, fees.

    Purchases and sales without dates are left to be added up.

    Args:
        table: The file's cells by column.
        found: What single columns are.
        dates: The day of each row; None where the file has none.
    """
    for name in (*found.all(ATTRIBUTE), *found.all(IGNORE)):
        said = _said(table[name])
        if said is None:
            continue
        trades, others = said
        if not trades or not (others or _come_again(table, found, dates)):
            continue
        kinds = [*trades, *others]
        raise UnreadableFile(
            f"{table.file} looks like a list of transactions, not of holdings: column {name} says "
            f"{some(kinds, NAMED)}. Give what each investor holds at a date; if the rows are "
            f"holdings all the same, give column {name} another name."
        )


def _said(column: CellColumn) -> tuple[list[str], list[str]] | None:
    """The words for purchases and sales in a column, and those for other transactions."""
    if column.text is None or not column.filled.any():
        return None
    counts = pc.value_counts(column.text).to_pylist()
    counts = [one for one in counts if one["values"]]
    if len(counts) > MOST_WORDS:
        return None
    cells = {str(one["values"]): int(one["counts"]) for one in counts}
    trades = [cell for cell in cells if words.says(cell, words.TRADE)]
    others = [cell for cell in cells if cell not in trades and words.says(cell, words.CASH_FLOW)]
    share = sum(cells[cell] for cell in (*trades, *others)) / sum(cells.values())
    return (trades, others) if share >= MOSTLY else None


def _come_again(table: CellTable, found: Roles, dates: Dates | None) -> bool:
    """Whether an investor, or the one of the file, has rows at several dates."""
    if dates is None:
        return False
    investor = found.first(INVESTOR)
    owners = np.array(
        [""] * len(table) if investor is None else table[investor].strings.to_pylist(), dtype=object
    )
    there = ~np.isnat(dates.values)
    pairs = {(who, day) for who, day in zip(owners[there], dates.values[there], strict=True)}
    return len(pairs) > len(set(owners[there]))
