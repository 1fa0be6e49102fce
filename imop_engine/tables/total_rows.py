"""Rows that are headed "Total" or the like, and are no holding and no portfolio."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow.compute as pc

from imop_engine.tables import words
from imop_engine.tables.cells import BoolArray, CellTable, as_bool
from imop_engine.tables.portfolio_roles import AssetNames
from imop_engine.tables.reading_report import NOTHING, REFUSED, Notes

FOOTER_WORD: Final = f"(?i)({'|'.join(sorted(words.FOOTER))})"


def _beside(word: str) -> frozenset[str]:
    """What stands beside the word for a total in a heading."""
    return words.words_of(word) - words.TOTAL - words.TOTAL_COMPANY - words.INVESTOR


def note_totals(
    table: CellTable,
    name: str | None,
    keep: BoolArray,
    notes: Notes,
    known: Sequence[str] = (),
    owner: str | None = None,
    nameless: bool = False,
) -> BoolArray:
    """Refuse rows that are headed "Total" or the like, unless that is the name of an asset.

    Args:
        table: The file's cells by column.
        name: The column that may say so; None where there is none.
        keep: Which rows take part.
        notes: Collects what was noticed, changed or refused.
        known: The assets of the history, which are never taken for totals.
        owner: The column of investors, whose name may stand beside the word: "Total Ann Lee".
        nameless: Whether these rows name no asset: then "Total equities" is a total, too.

    Returns:
        Which rows are totals.
    """
    found = np.zeros(len(table), bool)
    if name is None or table[name].text is None:
        return found
    column = table[name]
    distinct = column.strings.dictionary_encode()
    worded = as_bool(pc.match_substring_regex(distinct.dictionary, FOOTER_WORD))
    if not worded.any():
        return found
    history = AssetNames(known)
    others = {
        words.words_of(distinct.dictionary[int(i)].as_py())
        for i in np.flatnonzero(~worded)
        if owner == name
    }
    codes = distinct.indices.to_numpy(zero_copy_only=False)
    for i in np.flatnonzero(worded):
        word = distinct.dictionary[int(i)].as_py()
        if history.spelling(word) is not None:
            continue
        if words.is_total(word) or (nameless and words.says(word, words.TOTAL)):
            found |= codes == i
        elif owner is not None and (rest := _beside(word)):
            rows = np.flatnonzero(codes == i)
            if owner == name:  # a pivot table: Ann Lee, and below her rows Ann Lee Total
                found[rows] = rest in others
            else:
                cells = table[owner].show(rows)
                found[rows] = [rest <= words.words_of(cell) for cell in cells]
    found &= keep
    where = np.flatnonzero(found)
    if len(where):
        notes.add(
            "the row is a total or an average, not a portfolio",
            REFUSED,
            NOTHING,
            rows=table.rows[where],
            columns=name,
            values=column.show(where),
        )
    return found
