"""Rows that only head others: the client above her holdings, the asset class above its funds.

A custodian's report repeats nobody's name: "Client: Ann Lee" stands alone in a row, and what she
holds below it. Such a row is no holding. It names the investor where it says so, or where the same
asset comes under several of them; else it parts the assets into classes, and is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imop_engine.tables import words
from imop_engine.tables.cells import BoolArray, CellColumn, CellTable, text_column
from imop_engine.tables.portfolio_roles import INVESTOR, AssetNames
from imop_engine.tables.reading_report import KEPT, NOTHING, REFUSED, Notes

# What the column of those who head the rows is called.
HEADED: Final = "investor"
# A report with more rows than this is a database's, which repeats names.
MOST_ROWS: Final = 200_000


def with_headed_investors(
    table: CellTable, assets: Sequence[str] | None, given: dict[str, str], notes: Notes
) -> CellTable:
    """Return the table with a column of investors in the place of rows that name them.

    Args:
        table: The file's cells by column.
        assets: Those of the history; None where it is not known.
        given: The roles that the analyst gave, by column.
        notes: Collects what was noticed, changed or refused.
    """
    stated = INVESTOR in given.values() or HEADED in table.names
    if stated or not 2 < len(table) <= MOST_ROWS or not _is_long(table, assets):
        return table
    filled = np.column_stack([column.filled for column in table.columns])
    alone = filled.sum(axis=1) == 1
    if not alone.any():
        return table
    place = int(np.bincount(filled[alone].argmax(axis=1)).argmax())
    column = table.columns[place]
    heads = alone & filled[:, place]
    cells = np.array(column.strings.to_pylist(), dtype=object)
    known = AssetNames(assets)
    for row in np.flatnonzero(heads):
        heads[row] = not words.is_total(cells[row]) and known.spelling(cells[row]) is None
    # what heads nothing is a note or an empty position
    heads &= np.append(~alone[1:], False)
    if not heads.any():
        return table
    return _headed(table, column, cells, heads, notes)


def _is_long(table: CellTable, assets: Sequence[str] | None) -> bool:
    """Whether columns are called as those of a table with a row for each holding."""
    known = AssetNames(assets)
    valued = any(
        words.is_weight(name) or words.says(name, words.AMOUNT | words.SHARES)
        for name in table.names
    )
    return valued and all(known.spelling(name) is None for name in table.names if assets)


def _headed(
    table: CellTable,
    column: CellColumn,
    cells: NDArray[np.object_],
    heads: BoolArray,
    notes: Notes,
) -> CellTable:
    above = np.maximum.accumulate(np.where(heads, np.arange(len(cells)), -1))
    totals = _totals(cells, heads)
    rows = ~heads & ~totals
    if totals.any():
        notes.add(
            "the row is a total or an average, not a portfolio",
            REFUSED,
            NOTHING,
            rows=table.rows[totals],
            columns=column.name,
            values=list(cells[totals]),
        )
    owners = _name_owners(table, cells, heads, above, rows)
    named = [str(cell) for cell in cells[heads]]
    notes.add(
        "the row names the investor of the rows below it"
        if owners
        else "the row heads the rows below it and holds nothing",
        KEPT if owners else REFUSED,
        NOTHING,
        rows=table.rows[heads],
        columns=column.name,
        values=named,
    )
    places = np.flatnonzero(rows)
    columns = tuple(one.take(places) for one in table.columns)
    if owners:
        who = [_name(str(cells[above[row]])) if above[row] >= 0 else "" for row in places]
        columns = (text_column(HEADED, pa.array(who, pa.string())), *columns)
    return replace(table, columns=columns, rows=table.rows[places])


def _totals(cells: NDArray[np.object_], heads: BoolArray) -> BoolArray:
    """Rows such as "Total Ann Lee" or "Total equities": a word for total beside a heading's."""
    said = frozenset().union(*(words.words_of(str(cell)) for cell in cells[heads]))
    found = np.zeros(len(cells), bool)
    for row in np.flatnonzero(~heads):
        of_row = words.words_of(str(cells[row]))
        found[row] = bool(of_row & words.TOTAL) and of_row <= words.TOTAL | said | words.INVESTOR
    return found


def _name_owners(
    table: CellTable,
    cells: NDArray[np.object_],
    heads: BoolArray,
    above: NDArray[np.intp],
    rows: BoolArray,
) -> bool:
    """Whether headings are investors: by their words, or as an asset comes under several."""
    if any(words.says(name, words.INVESTOR) for name in table.names):
        return False
    if (above[rows] < 0).any():
        return False  # what stands above the first heading would be nobody's
    headings = [str(cell) for cell in cells[heads]]
    if 2 * sum(words.says(one, words.INVESTOR) for one in headings) >= len(headings):
        return True
    under: dict[str, int] = {}
    places = np.flatnonzero(rows & (above >= 0))
    return any(under.setdefault(str(cells[row]), int(above[row])) != above[row] for row in places)


def _name(heading: str) -> str:
    """Who a heading names: what follows "Client:", or all of it."""
    before, colon, after = heading.partition(":")
    return (
        after.strip() if colon and after.strip() and words.says(before, words.INVESTOR) else heading
    )
