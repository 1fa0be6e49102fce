"""From a table of cells to a history's matrix, whatever the file's layout.

Wide, long and transposed tables, one asset's quotes, and quotes of several assets side by side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from imop_engine.errors import UnreadableFile
from imop_engine.tables import history_layout as layouts
from imop_engine.tables import words
from imop_engine.tables.cells import BoolArray, CellColumn, CellTable, as_bool, mixed_column
from imop_engine.tables.dated_columns import without_date
from imop_engine.tables.dates import Dates, read_dates
from imop_engine.tables.history_matrix import (
    Matrix,
    long_matrix,
    transposed_matrix,
    wide_matrix,
)
from imop_engine.tables.numbers import Numbers
from imop_engine.tables.reading_report import CHANGED, KEPT, Guess, Notes

# A column that counts so many rows is no coincidence.
FEWEST_COUNTED: Final = 6
# Digits with a decimal or thousands mark between a few other characters.
NUMBER_LIKE: Final = r"^\D{0,5}\d[\d\s.,']*[.,]\d+\D{0,5}$"


def read_matrix(
    table: CellTable,
    roles: dict[str, str],
    layout: str,
    decimal: str,
    order: str,
    guessed: dict[str, Guess],
    notes: Notes,
) -> tuple[Matrix, bool, str]:
    """Return the values by date and asset, whether they had percent signs, and the names' hints.

    Args:
        table: The file's cells by column.
        roles: What single columns are, by their names.
        layout: Auto, wide, long or transposed.
        decimal: Auto, point or comma.
        order: Whether the day or the month comes first in dates: auto, day first or month first.
        guessed: Collects what was detected and why, by the argument that overrides it.
        notes: Collects what was noticed, changed or refused.
    """
    if not len(table):
        raise UnreadableFile(
            f"{table.file} has a header but no rows; a history needs one row per date."
        )
    separator = layouts.separator_of(table)
    numbers = layouts.read_all_numbers(table.columns, decimal, separator, guessed, notes)
    headers = _dated_headers(table, roles, layout, order)
    if headers is not None:
        return _transposed(table, headers, numbers, guessed, notes)
    date_name, dates = layouts.find_date_column(table, numbers, roles, order, guessed, notes)
    shape, asset_name = layouts.guess_layout(table, date_name, numbers, roles, layout, guessed)
    keep = np.ones(len(table), bool)
    if date_name is not None and dates is not None:
        guessed["dates"] = dates.guess
        layouts.note_open_dates(notes, date_name, dates)
        keep = layouts.note_bad_dates(notes, table, date_name, dates)
        if not keep.any():
            raise UnreadableFile(
                f"{table.file}, column {date_name}: no cell is a date; write dates as 2020-01-31."
            )
    taken = {date_name, asset_name}
    numeric = _numeric(table, roles, numbers, taken, notes)
    if shape == layouts.LONG and asset_name is not None:
        if dates is None:
            raise UnreadableFile(
                f"{table.file} is a long table without a date column; "
                "name the column of dates with roles."
            )
        value = _value_column(table, roles, numeric, guessed, notes)
        matrix = long_matrix(table, asset_name, value, numbers[value], dates, keep, notes)
        return matrix, bool(numbers[value].percent.any()), value
    return _wide(table, numeric, numbers, dates, keep, guessed, notes)


def _dated_headers(
    table: CellTable, roles: dict[str, str], layout: str, order: str
) -> tuple[tuple[str, ...], Dates] | None:
    """Return the columns that are dates, where the file has its assets in rows."""
    if layout not in ("auto", layouts.TRANSPOSED) or roles:
        return None
    names = table.names[1:]
    read = read_dates(mixed_column("header", _bare_dates(table, names)), order) if names else None
    if read is None or read.share < layouts.MOSTLY:
        if layout == layouts.TRANSPOSED:
            raise UnreadableFile(
                f"{table.file}, row {table.header_row}: the columns are not headed by dates; "
                "read the file as wide or long."
            )
        return None
    return names, read


def _bare_dates(table: CellTable, names: Sequence[str]) -> Sequence[str]:
    """Names without the word that all dates have beside them: Return 2020-01, Return 2020-02.

    Where the first column has dates, columns so called are assets: Return 2025, a fund of a year.
    """
    found = [without_date(name) for name in names]
    rests = Counter(one[0] for one in found if one)
    usual, times = max(rests.items(), key=lambda one: one[1], default=("", 0))
    beside = words.says(usual, words.RETURN | words.PRICE) and times >= layouts.MOSTLY * len(names)
    first = table.columns[0]
    if not beside or words.says(first.name, words.DATE) or read_dates(first).share > 0:
        return names
    return [
        one[1] if one and one[0] == usual else name for one, name in zip(found, names, strict=True)
    ]


def _transposed(
    table: CellTable,
    headers: tuple[tuple[str, ...], Dates],
    numbers: dict[str, Numbers],
    guessed: dict[str, Guess],
    notes: Notes,
) -> tuple[Matrix, bool, str]:
    names, dates = headers
    guessed["layout"] = Guess(layouts.TRANSPOSED, "the columns are headed by dates")
    guessed["dates"] = dates.guess
    good = np.flatnonzero(~np.isnat(dates.values))
    ignored = [name for i, name in enumerate(names) if i not in set(good.tolist())]
    first = _naming_column(table, ignored)
    ignored = [name for name in (table.names[0], *ignored) if name != first]
    if ignored:
        notes.add(
            "the column is not headed by a date and is not used",
            KEPT,
            "nothing needs to be done",
            rows=[0] * len(ignored),
            columns=ignored,
        )
    chosen = tuple(names[i] for i in good)
    matrix = transposed_matrix(table, first, chosen, dates.values[good], numbers, notes)
    return matrix, any(numbers[name].percent.any() for name in chosen), first


def _naming_column(table: CellTable, others: Sequence[str]) -> str:
    """The column that names the assets of a table with dates above: called so, else the first."""
    named = (
        name
        for name in (table.names[0], *others)
        if words.says(name, words.ASSET) and not words.says(name, words.GROUPING)
    )
    return next(named, table.names[0])


def _numeric(
    table: CellTable,
    roles: dict[str, str],
    numbers: dict[str, Numbers],
    taken: set[str | None],
    notes: Notes,
) -> tuple[str, ...]:
    """Return the columns of numbers; the others are named in the report."""
    chosen, ignored, unread, counters = [], [], [], []
    for column in table.columns:
        role = roles.get(column.name)
        if column.name in taken or role in ("date", "asset"):
            continue
        said = words.words_of(column.name)
        if role is None and said and said <= words.DATE:
            ignored.append(column.name)
        elif role is None and _counts_rows(numbers[column.name]):
            counters.append(column.name)
        elif role == "value" or (role is None and numbers[column.name].share >= layouts.MOSTLY):
            chosen.append(column.name)
        elif role is None and _is_unread(column):
            unread.append(column.name)
        elif column.filled.any() or role is None:
            ignored.append(column.name)
    if unread:
        notes.add(
            "the column looks like numbers that cannot be read and is left out",
            CHANGED,
            "write the numbers without words and signs, or give the column the role ignore",
            rows=[0] * len(unread),
            columns=unread,
            values=[table[name].show(np.flatnonzero(table[name].filled)[:1])[0] for name in unread],
        )
    if ignored:
        notes.add(
            "the column is not used, as it holds no numbers or is to be ignored",
            KEPT,
            "nothing needs to be done",
            rows=[0] * len(ignored),
            columns=ignored,
        )
    if counters:
        notes.add(
            "the column counts the rows and is not used",
            KEPT,
            "nothing needs to be done",
            rows=[0] * len(counters),
            columns=counters,
        )
    if not chosen:
        raise UnreadableFile(
            f"{table.file} has no column of numbers; "
            "a history needs at least one column of prices or returns."
        )
    return tuple(chosen)


def _counts_rows(numbers: Numbers) -> bool:
    """Whether a column goes 1, 2, 3 or the other way round, as no price and no return does."""
    return len(numbers.values) >= FEWEST_COUNTED and numbers.count_rows


def _is_unread(column: CellColumn) -> bool:
    """Whether most cells are amounts in a notation we do not know, 12.50 zł say, and not dates."""
    if column.text is None or words.words_of(column.name) <= words.QUOTE_COLUMNS:
        return False
    cells = column.text.filter(pa.array(column.filled))
    like = as_bool(pc.match_substring_regex(cells, NUMBER_LIKE)) if len(cells) else np.zeros(1)
    return bool(like.mean() >= layouts.MOSTLY and read_dates(column).share < layouts.NAMED_MOSTLY)


def _value_column(
    table: CellTable,
    roles: dict[str, str],
    numeric: tuple[str, ...],
    guessed: dict[str, Guess],
    notes: Notes,
) -> str:
    chosen = [name for name, role in roles.items() if role == "value"]
    if chosen:
        guessed["value column"] = Guess(chosen[0], "as asked for")
        return chosen[0]
    value, reason = _likely_value(numeric)
    guessed["value column"] = Guess(value, reason)
    others = [name for name in numeric if name != value]
    if others:
        notes.add(
            f"the column is not used; the values are those of {value}",
            KEPT,
            "name another value column with roles if this is the wrong one",
            rows=[0] * len(others),
            columns=others,
        )
    return value


def _likely_value(numeric: tuple[str, ...]) -> tuple[str, str]:
    """Choose the column of prices or returns among the columns of numbers, and say why."""
    if len(numeric) == 1:
        return numeric[0], "it is the only column of numbers"
    quoted = [
        (words.QUOTES.index(quote), name) for name in numeric if (quote := words.quote_of(name))
    ]
    if quoted:
        return min(quoted, key=lambda one: one[0])[1], "its name says so"
    for vocabulary in (words.RETURN | words.PRICE, words.AMOUNT):
        named = [name for name in numeric if words.says(name, vocabulary)]
        if named:
            return named[0], "its name says so"
    measures = [name for name in numeric if not words.says(name, words.CODE)]
    return (measures or numeric)[0], "it is the first column of numbers"


def _wide(
    table: CellTable,
    numeric: tuple[str, ...],
    numbers: dict[str, Numbers],
    dates: Dates | None,
    keep: BoolArray,
    guessed: dict[str, Guess],
    notes: Notes,
) -> tuple[Matrix, bool, str]:
    numeric = _without_volumes(numeric, notes)
    hint = words.common_hint(numeric, Path(table.file).stem)
    quoted = _quotes_by_asset(numeric)
    if quoted is not None:
        return _wide_quotes(table, quoted, numeric, numbers, dates, keep, guessed, notes)
    if words.are_quotes(numeric):
        value = _value_column(table, {}, numeric, guessed, notes)
        guessed["assets"] = Guess(Path(table.file).stem, "the columns are one asset's quotes")
        numeric, hint = (value,), value
    _check_percent_signs(table, numeric, numbers)
    matrix = wide_matrix(table, numeric, numbers, dates, keep, notes)
    if "assets" in guessed:
        matrix = Matrix(
            matrix.dates, (str(guessed["assets"].value),), matrix.values, matrix.rows, numeric
        )
    return matrix, any(numbers[name].percent.any() for name in numeric), hint


def _without_volumes(numeric: tuple[str, ...], notes: Notes) -> tuple[str, ...]:
    """Leave out what was traded of an asset, where a column has the asset's name and that word."""
    keys = {words.key(name) for name in numeric}
    volumes = [
        name
        for name in numeric
        if words.says(name, words.BESIDE_PRICE)
        and words.key(
            " ".join(one for one in name.split() if not words.says(one, words.BESIDE_PRICE))
        )
        in keys
    ]
    if volumes:
        notes.add(
            "the column is what was traded and not a price; it is not used",
            KEPT,
            "nothing needs to be done",
            rows=[0] * len(volumes),
            columns=volumes,
        )
    return tuple(name for name in numeric if name not in volumes)


def _check_percent_signs(
    table: CellTable, numeric: tuple[str, ...], numbers: dict[str, Numbers]
) -> None:
    """Refuse a table in which some columns have percent signs and others have none.

    What 1.2 means beside 1.2% is anybody's guess, and wrong by a factor of a hundred.
    """
    held = {name: numbers[name] for name in numeric if np.nan_to_num(numbers[name].values).any()}
    signed = [name for name, one in held.items() if one.percent.any()]
    bare = [name for name in held if name not in signed]
    if signed and bare:
        raise UnreadableFile(
            f"{table.file}: column {signed[0]} has percent signs and column {bare[0]} has none, so "
            "they cannot be read as one kind; write all columns alike, or give those that are no "
            "history the role ignore."
        )


def _quotes_by_asset(numeric: tuple[str, ...]) -> tuple[str, dict[str, str]] | None:
    """Read columns such as "Close AAPL", "Volume AAPL": which to take, and of which asset."""
    fields = (*words.QUOTES, "open", "high", "low", "volume", "dividends", "stock splits")
    found: dict[str, dict[str, str]] = {}
    for name in numeric:
        low = name.casefold()
        field = next((one for one in fields if low.startswith(one + " ")), None)
        if field is None:
            return None
        found.setdefault(field, {})[name] = name[len(field) + 1 :]
    best = next((quote for quote in words.QUOTES if quote in found), None)
    return (best, found[best]) if best and len(numeric) > 1 else None


def _wide_quotes(
    table: CellTable,
    quoted: tuple[str, dict[str, str]],
    numeric: tuple[str, ...],
    numbers: dict[str, Numbers],
    dates: Dates | None,
    keep: BoolArray,
    guessed: dict[str, Guess],
    notes: Notes,
) -> tuple[Matrix, bool, str]:
    best, assets = quoted
    guessed["value column"] = Guess(best, "the columns are quotes of several assets")
    others = [name for name in numeric if name not in assets]
    if others:
        notes.add(
            f"the column is not used; the values are those of {best}",
            KEPT,
            "nothing needs to be done",
            rows=[0] * len(others),
            columns=others,
        )
    matrix = wide_matrix(table, tuple(assets), numbers, dates, keep, notes)
    return replace(matrix, assets=tuple(assets.values())), False, best
