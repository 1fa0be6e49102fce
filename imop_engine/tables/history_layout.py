"""What a return history's columns mean: wide or long, which column is the date, which the values.

Every decision is a guess with its reason, and gives way to what the caller says.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow.compute as pc

from imop_engine.errors import InvalidInput, UnreadableFile
from imop_engine.tables import words
from imop_engine.tables.cells import CellColumn, CellTable
from imop_engine.tables.dates import Dates, read_dates
from imop_engine.tables.numbers import Numbers, find_decimal_marks, read_numbers
from imop_engine.tables.reading_report import KEPT, REFUSED, Guess, Notes

WIDE: Final = "wide"
LONG: Final = "long"
TRANSPOSED: Final = "transposed"
LAYOUTS: Final = (WIDE, LONG, TRANSPOSED)
ROLES: Final = ("date", "asset", "value", "ignore")

# A column counts as dates or numbers when this share of its filled cells can be read so.
MOSTLY: Final = 0.7
# A column that is called a date is one even with many bad cells; they are reported.
NAMED_MOSTLY: Final = 0.3
# Cells looked at before a whole column is read as dates.
SAMPLE: Final = 200
# What a column without a name is called by us and by pandas.
UNNAMED_COLUMNS: Final = ("column 1", "index", "Unnamed: 0")


def choose(value: str, allowed: tuple[str, ...], what: str) -> str:
    """Check an argument that names one of a few choices, or "auto".

    Args:
        value: What was given.
        allowed: The choices.
        what: What the argument is called.

    Returns:
        The value.
    """
    if value not in ("auto", *allowed):
        raise InvalidInput(
            f"{what} is {value!r}; choose auto, {', '.join(allowed[:-1])} or {allowed[-1]}."
        )
    return value


def find_date_column(
    table: CellTable,
    numbers: dict[str, Numbers],
    roles: dict[str, str],
    order: str,
    guessed: dict[str, Guess],
    notes: Notes,
) -> tuple[str | None, Dates | None]:
    """Return the column of dates: the one named, else the first whose cells are dates.

    Args:
        table: The file's cells by column.
        numbers: Each column read as numbers, by name.
        roles: What single columns are, by their names.
        order: Whether the day or the month comes first in dates: auto, day first or month first.
        guessed: Collects what was detected and why, by the argument that overrides it.
        notes: Collects what was noticed, changed or refused.

    Returns:
        Its name and its days; None and None where there is no such column.
    """
    chosen = [name for name, role in roles.items() if role == "date"]
    if chosen:
        guessed["date column"] = Guess(chosen[0], "as asked for")
        return chosen[0], read_dates(table[chosen[0]], order)
    free = [column for column in table.columns if column.name not in roles]
    for column in sorted(free, key=lambda one: not words.says(one.name, words.DATE)):
        named = words.says(column.name, words.DATE)
        if not column.filled.any() or not (named or _may_be_dates(table, column, numbers)):
            continue
        if read_dates(_first_cells(column), order).share < NAMED_MOSTLY:
            if named and not _is_change(column, numbers):
                notes.add(
                    "the column is called a date but its cells are none; it is not used as one",
                    KEPT,
                    "write dates as 2020-01-31",
                    columns=column.name,
                )
            continue
        dates = read_dates(column, order)
        if dates.share >= (NAMED_MOSTLY if named else MOSTLY):
            why = "its name and its cells say so" if named else "its cells are dates"
            guessed["date column"] = Guess(column.name, why)
            return column.name, dates
    return None, None


def _is_change(column: CellColumn, numbers: dict[str, Numbers]) -> bool:
    """Whether a column named with a word for time holds amounts all the same: Day Change $."""
    amounts = words.PAST | words.PRICE | words.AMOUNT | words.RETURN
    return numbers[column.name].share >= MOSTLY and words.says(column.name, amounts)


def _may_be_dates(table: CellTable, column: CellColumn, numbers: dict[str, Numbers]) -> bool:
    """Whether a column not called a date could be one: typed, or text that is no number."""
    if column.times is not None:
        return True
    unnamed_first = column.name in UNNAMED_COLUMNS and column is table.columns[0]
    return unnamed_first or (column.text is not None and numbers[column.name].share < MOSTLY)


def _first_cells(column: CellColumn) -> CellColumn:
    return column.take(np.flatnonzero(column.filled)[:SAMPLE])


def note_open_dates(notes: Notes, name: str, dates: Dates) -> None:
    """Say so where nothing told which number is the day.

    Args:
        notes: Collects what was noticed, changed or refused.
        name: Of the column.
        dates: The days read from it.
    """
    if dates.open_order:
        notes.add(
            f"nothing tells whether the day or the month comes first; read {dates.guess.value}",
            KEPT,
            "say which comes first, or write dates as 2020-01-31",
            columns=name,
        )


def read_all_numbers(
    columns: tuple[CellColumn, ...],
    decimal: str,
    separator: str,
    guessed: dict[str, Guess],
    notes: Notes,
) -> dict[str, Numbers]:
    """Read every column as numbers in its own decimal style.

    Args:
        columns: All columns of the file.
        decimal: Auto, point or comma.
        separator: What parts the columns of a text file.
        guessed: Collects what was detected and why, by the argument that overrides it.
        notes: Collects what was noticed, changed or refused.

    Returns:
        The numbers by the column's name.
    """
    marks = find_decimal_marks(columns, decimal, separator)
    if marks.guess is not None:
        guessed["decimal mark"] = marks.guess
    if marks.open_columns:
        notes.add(
            f"nothing tells whether a comma parts decimals or thousands; {marks.example}",
            KEPT,
            "say whether decimals are parted by a comma or a point",
            rows=[0] * len(marks.open_columns),
            columns=marks.open_columns,
        )
    return {column.name: read_numbers(column, marks.marks[column.name]) for column in columns}


def separator_of(table: CellTable) -> str:
    """Return the name of the separator of a text file, or "" for other files."""
    guess = table.guessed.get("separator")
    return str(guess.value) if guess else ""


def check_roles(
    table: CellTable, roles: dict[str, str] | None, allowed: tuple[str, ...]
) -> dict[str, str]:
    """Check that given roles name columns of the file and roles that exist.

    Args:
        table: The file's cells by column.
        roles: What single columns are, by their names.
        allowed: The roles that exist.

    Returns:
        The roles; empty where none were given.
    """
    given = dict(roles or {})
    for name, role in given.items():
        if name not in table.names:
            raise InvalidInput(f"{table.file} has no column {name}; it has {_listed(table.names)}.")
        if role not in allowed:
            raise InvalidInput(
                f"{role!r} is no role for column {name}; choose one of {', '.join(allowed)}."
            )
    return given


def _listed(names: tuple[str, ...], most: int = 12) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def guess_layout(
    table: CellTable,
    date_name: str | None,
    numbers: dict[str, Numbers],
    roles: dict[str, str],
    asked: str,
    guessed: dict[str, Guess],
) -> tuple[str, str | None]:
    """Return wide or long, and the column with the assets' names if long.

    Args:
        table: The file's cells by column.
        date_name: The column of dates; None where there is none.
        numbers: Each column read as numbers, by name.
        roles: What single columns are, by their names.
        asked: What the analyst asked for, or auto.
        guessed: Collects what was detected and why, by the argument that overrides it.
    """
    asset = next((name for name, role in roles.items() if role == "asset"), None)
    asset = asset or _asset_column(table, date_name, numbers)
    if asked == LONG or (asked == "auto" and asset is not None):
        if asset is None:
            raise UnreadableFile(
                f"{table.file} has no column with the assets' names, which a long table needs; "
                "name it with roles, or read the file as wide."
            )
        reason = "as asked for" if asked == LONG else f"column {asset} names the assets"
        guessed["layout"] = Guess(LONG, reason)
        guessed["asset column"] = Guess(asset, "its name or its repeated texts say so")
        return LONG, asset
    reason = "as asked for" if asked == WIDE else "no column names the assets, row by row"
    guessed["layout"] = Guess(WIDE, reason)
    return WIDE, None


def _asset_column(
    table: CellTable, date_name: str | None, numbers: dict[str, Numbers]
) -> str | None:
    texts = [
        column
        for column in table.columns
        if column.name != date_name and column.filled.any() and numbers[column.name].share < MOSTLY
    ]
    if not texts or len(table) < 2:
        return None
    dates_repeat = date_name is not None and repeats(table[date_name])
    texts.sort(key=lambda column: not words.says(column.name, words.ASSET))
    first = texts[0]
    different = pc.count_distinct(first.strings).as_py()
    if words.says(first.name, words.ASSET) or (dates_repeat and different <= len(table) / 2):
        return first.name
    return None


def repeats(column: CellColumn) -> bool:
    """Whether some cell of the column is there more than once."""
    return bool(pc.count_distinct(column.strings).as_py() < column.filled.sum())


def note_bad_dates(notes: Notes, table: CellTable, name: str, dates: Dates) -> np.ndarray:
    """Refuse rows without a readable date; return which rows stay.

    Args:
        notes: Collects what was noticed, changed or refused.
        table: The file's cells by column.
        name: Of the column.
        dates: The days read from it.
    """
    column = table[name]
    empty = ~column.filled
    footer = np.zeros(len(table), bool)
    for i in np.flatnonzero(dates.bad):
        footer[i] = words.says(column.show([int(i)])[0], words.SUMMARY)
    for mask, what, remedy in (
        (
            footer,
            "the row is a total or an average, not an observation",
            "nothing needs to be done",
        ),
        (dates.bad & ~footer, "this is not a date", "correct the date, for example 2020-01-31"),
        (empty, "the date is missing", "fill in the date"),
    ):
        where = np.flatnonzero(mask)
        if len(where):
            notes.add(
                what,
                REFUSED,
                remedy,
                rows=table.rows[where],
                columns=name,
                values=column.show(where) if mask is not empty else "",
            )
    return ~(dates.bad | empty)
