"""Dates whose parts stand in columns of their own: Year and Month, perhaps Day, or a Quarter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import pyarrow as pa

from imop_engine.tables import words
from imop_engine.tables.cells import CellColumn, CellTable, text_column
from imop_engine.tables.dates import EARLIEST, LATEST, MONTHS, read_dates
from imop_engine.tables.reading_report import KEPT, NOTHING, Notes

# What the column is called that is put together.
DATE: Final = "date"
MOSTLY: Final = 0.7


def with_joined_dates(table: CellTable, roles: Mapping[str, str], notes: Notes) -> CellTable:
    """Return the table with one column of dates in the place of those with their parts.

    Args:
        table: The file's cells by column.
        roles: What single columns are, by their names.
        notes: Collects what was noticed, changed or refused.
    """
    year = _part(table, words.YEAR_PART, roles, EARLIEST, LATEST)
    month = _part(table, words.MONTH_PART, roles, 1, 12)
    quarter = None if month else _part(table, words.QUARTER_PART, roles, 1, 4)
    if year is None or (month or quarter) is None or DATE in table.names:
        return table
    day = _part(table, words.DAY_PART, roles, 1, 31) if month else None
    parts = {name: one for one in (year, month, quarter, day) if one for name in one}
    if _has_dates(table, parts):
        return table
    years, moments, days = (
        next(iter(one.values())) if one else [None] * len(table)
        for one in (year, month or quarter, day)
    )
    quarters = quarter is not None
    cells = [_written(y, m, d, quarters) for y, m, d in zip(years, moments, days, strict=True)]
    column = text_column(DATE, pa.array(cells, pa.string()))
    notes.add(
        "the date is put together from several columns",
        KEPT,
        NOTHING,
        rows=[0] * len(parts),
        columns=list(parts),
    )
    first = next(iter(year))
    columns = [column if one.name == first else one for one in table.columns]
    kept = tuple(one for one in columns if one is column or one.name not in parts)
    return replace(table, columns=kept)


def _part(
    table: CellTable,
    vocabulary: frozenset[str],
    roles: Mapping[str, str],
    low: int,
    high: int,
) -> dict[str, list[int | None]] | None:
    """The column that holds this part of a date, with its numbers; None where there is none."""
    for column in table.columns:
        said = words.words_of(column.name)
        if column.name in roles or not said or not said <= vocabulary:
            continue
        numbers = [_number(cell, low, high) for cell in column.strings.to_pylist()]
        filled = int(column.filled.sum())
        if filled and sum(one is not None for one in numbers) >= MOSTLY * filled:
            return {column.name: numbers}
    return None


def _number(cell: str, low: int, high: int) -> int | None:
    text = cell.strip().rstrip(".").casefold()
    number = MONTHS.get(text) if high == 12 else None
    bare = text.lstrip("qt").removesuffix(".0") if high in (4, 12) or low > 31 else text
    if number is None and bare.isascii() and bare.isdigit() and len(bare) <= 4:
        number = int(bare)
    return number if number is not None and low <= number <= high else None


def _written(year: int | None, part: int | None, day: int | None, quarters: bool) -> str:
    if year is None or part is None:
        return ""
    if quarters:
        return f"{year}-Q{part}"
    return f"{year}-{part:02d}" if day is None else f"{year}-{part:02d}-{day:02d}"


def _has_dates(table: CellTable, parts: Mapping[str, object]) -> bool:
    """Whether another column has whole dates."""
    return any(_are_dates(one) for one in table.columns if one.name not in parts)


def _are_dates(column: CellColumn) -> bool:
    if not words.says(column.name, words.DATE) and column.times is None:
        return False
    return read_dates(column).share >= MOSTLY
