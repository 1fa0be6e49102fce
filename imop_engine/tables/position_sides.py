"""Positions whose side stands in a column of its own: long or short, bought or sold.

The amount then has no sign, and a short position would count as a holding.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imop_engine.tables import words
from imop_engine.tables.cells import BoolArray, CellColumn, CellTable
from imop_engine.tables.portfolio_roles import ATTRIBUTE, Roles
from imop_engine.tables.reading_report import CHANGED, NOTHING, Notes

FloatArray = NDArray[np.float64]


def with_sides(
    table: CellTable, roles: Roles, held: FloatArray, keep: BoolArray, notes: Notes
) -> FloatArray:
    """Return what each row holds, below zero where another column says short or sold.

    Args:
        table: The file's cells by column.
        roles: What single columns are.
        held: What each row holds, as its own column says.
        keep: Which rows take part.
        notes: Collects what was noticed, changed or refused.
    """
    for name in roles.all(ATTRIBUTE):
        short = _short(table[name])
        if short is None or (held[keep & short] < 0).any():
            continue
        turned = keep & short & (held > 0)
        if turned.any():
            notes.add(
                "the position is short or was sold, so its amount counts as negative",
                CHANGED,
                NOTHING,
                rows=table.rows[turned],
                columns=name,
                values=table[name].show(np.flatnonzero(turned)),
            )
        return np.where(short, -held, held)
    return held


def _short(column: CellColumn) -> BoolArray | None:
    """Which rows are short, where all cells of the column say a side; else None."""
    if column.text is None or not column.filled.any():
        return None
    coded = column.text.dictionary_encode()
    said = [words.words_of(str(cell)) for cell in coded.dictionary.to_pylist()]
    long = [bool(one) and one <= words.LONG_SIDE for one in said]
    short = [bool(one) and one <= words.SHORT_SIDE for one in said]
    sides = zip(said, long, short, strict=True)
    if not any(short) or not all(a or b or not one for one, a, b in sides):
        return None
    letters = all(len(word) == 1 for one in said for word in one)
    if (letters or not any(long)) and not words.says(column.name, words.SIDE):
        return None  # small and large, or a class called S
    mask = pa.array(short).take(coded.indices)
    return np.asarray(mask.to_numpy(zero_copy_only=False), dtype=bool)
