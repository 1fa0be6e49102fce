"""Text around a table that is no row of it: notes below it, lines drawn between header and rows."""

from __future__ import annotations

import re
from typing import Final

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from imop_engine.errors import UnreadableFile
from imop_engine.tables.cells import CellColumn, as_bool
from imop_engine.tables.reading_report import NOTHING, REFUSED, Notes

# Rows at the end of a table that may be notes.
LAST_ROWS: Final = 40
# A name has fewer words than this, a sentence more.
MANY_WORDS: Final = 7
# What a note begins with: its mark, a number in brackets, or a word that announces it.
MARK: Final = re.compile(
    r"^(?:[*†‡§¹²³⁴⁵⁶⁷⁸⁹©#]|[(\[]?\d{1,2}[)\]]\s"
    r"|(?:notes?|nota|notas|remarks?|sources?|disclaimer|copyright|quelle|hinweise?|fußnote"
    r"|anmerkung|fuente|fonte|remarque|bron|opmerking|exported|generated|printed|erstellt)\b)",
    re.IGNORECASE,
)
# A table with more rows than this is a database's, which writes one header.
MOST_ROWS: Final = 200_000
# Rows asked whether they are a second header: a file may have any number of empty rows.
MOST_HEADERS: Final = 200
NUMBER: Final = re.compile(r"^[-+(]?[€$£]?\s?[.,]*\d[\d.,']*\s?%?\)?$")
# A line drawn with signs, as in Markdown: ---, :---:, ===.
LINE: Final = re.compile(r"^:?[-=_─━+]{2,}:?$")


def without_remarks(
    columns: tuple[CellColumn, ...], rows: NDArray[np.int64], notes: Notes
) -> tuple[tuple[CellColumn, ...], NDArray[np.int64]]:
    """Leave out the notes below a table, and a line drawn below its header.

    Args:
        columns: The cells as they stand in the file.
        rows: The number of each row in the file.
        notes: Collects what was noticed, changed or refused.

    Returns:
        The columns and row numbers that are left.
    """
    count = len(rows)
    if len(columns) < 2 or count < 2:
        return columns, rows
    keep = np.ones(count, bool)
    keep[0] = not _is_line(columns)
    again = _repeated_headers(columns)
    keep &= ~again
    for row in range(count - 1, max(0, count - LAST_ROWS), -1):
        if not _is_remark(columns, row):
            break
        keep[row] = False
    for mask, what in (
        (again, "the row repeats the header"),
        (~keep & ~again & (np.arange(count) > 0), "text below the table is not part of it"),
        (
            ~keep & ~again & (np.arange(count) == 0),
            "a line below the header is not part of the table",
        ),
    ):
        if mask.any():
            notes.add(what, REFUSED, NOTHING, rows=rows[mask])
    if keep.all():
        return columns, rows
    places = np.flatnonzero(keep)
    return tuple(column.take(places) for column in columns), rows[places]


def refuse_second_table(
    file: str, columns: tuple[CellColumn, ...], rows: NDArray[np.int64]
) -> None:
    """Raise where another header stands in the middle, as what is below it would be misread.

    Such a row has words alone where the rows around it have numbers, and one of the columns' own
    names, or it comes after an empty row.

    Args:
        file: What the file is called.
        columns: The cells as they stand in the file.
        rows: The number of each row in the file.
    """
    if not 2 <= len(rows) <= MOST_ROWS:
        return
    texts = [column for column in columns if column.text is not None]
    named = np.zeros(len(rows), bool)
    for column in texts:
        named |= as_bool(pc.equal(column.text, column.name))
    likely = named | np.r_[False, np.diff(rows) > 1]
    for row in np.flatnonzero(likely[:-1])[:MOST_HEADERS]:
        said = [column.show([row])[0] for column in columns]
        worded = [cell for cell in said if cell]
        below = [column.show([row + 1])[0] for column in columns]
        numbers = sum(NUMBER.match(cell) is not None for cell in below)
        over = sum(
            NUMBER.match(after) is not None and not NUMBER.match(cell) and bool(cell)
            for cell, after in zip(said, below, strict=True)
        )
        if (
            over >= (1 if named[row] else 2)
            and over >= numbers - 1
            and not any(NUMBER.match(cell) for cell in worded)
            and len(worded) >= len([cell for cell in below if cell]) - 1
        ):
            own = {column.name for column in columns}
            which = "the same" if own.issuperset(worded) else "other"
            raise UnreadableFile(
                f"{file}, row {rows[row]}: a second table begins here, with {which} columns "
                f"({', '.join(worded[:4])}); keep one table in the file."
            )


def _cells(columns: tuple[CellColumn, ...], row: int) -> list[str]:
    """What a row says, empty cells aside."""
    return [cell for column in columns if (cell := column.show([row])[0].strip())]


def _is_remark(columns: tuple[CellColumn, ...], row: int) -> bool:
    said = _cells(columns, row)
    if len(said) != 1:
        return False
    return bool(MARK.match(said[0])) or len(said[0].split()) >= MANY_WORDS


def _repeated_headers(columns: tuple[CellColumn, ...]) -> NDArray[np.bool_]:
    """Rows that say the columns' names again, as on the next page of a print-out."""
    same = np.ones(len(columns[0]), bool)
    for column in columns:
        if column.text is None:
            return np.zeros(len(same), bool)
        same &= as_bool(pc.equal(column.text, column.name))
        if not same.any():
            break
    return same


def _is_line(columns: tuple[CellColumn, ...]) -> bool:
    said = _cells(columns, 0)
    return len(said) > 1 and all(LINE.match(cell) for cell in said)
