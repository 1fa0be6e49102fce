"""A year in each row and a month in each column, as fact sheets show a fund's returns.

Turned into one row for each month, so that January is no asset.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from imop_engine.errors import UnreadableFile
from imop_engine.tables.cells import CellColumn, CellTable, text_column
from imop_engine.tables.dates import MONTHS
from imop_engine.tables.history_layout import MOSTLY, repeats
from imop_engine.tables.numbers import read_numbers
from imop_engine.tables.reading_report import KEPT, NOTHING, Guess, Notes

# So many months make a calendar; assets may be called May or April, but not all of them.
FEWEST_MONTHS: Final = 11
YEARS: Final = (1850, 2150)


def with_months_in_rows(
    table: CellTable, roles: dict[str, str], guessed: dict[str, Guess], notes: Notes
) -> CellTable:
    """Return a table with a row for each month, where it has a column for each; else as it is.

    Args:
        table: The file's cells by column.
        roles: What single columns are, by their names.
        guessed: Collects what was detected and why, by the argument that overrides it.
        notes: Collects what was noticed, changed or refused.
    """
    months = {
        month: column
        for column in table.columns
        if (month := MONTHS.get(column.name.casefold().rstrip("."))) is not None
    }
    if roles or len(months) < FEWEST_MONTHS or not len(table):
        return table
    others = [column for column in table.columns if column not in months.values()]
    years = next((column for column in others if _are_years(column)), None)
    if years is None:
        raise UnreadableFile(
            f"{table.file} has a column for each month but none of years; add a column Year, or "
            "give a row for each month."
        )
    asset = next((one for one in others if one is not years and _names_assets(one)), None)
    if asset is None and repeats(years):
        raise UnreadableFile(
            f"{table.file}, column {years.name}: a year comes twice and no column names the asset; "
            "add a column Fund, or keep one asset in the file."
        )
    guessed["layout"] = Guess("a year in each row", f"{len(months)} columns are called by months")
    unused = [one.name for one in others if one is not years and one is not asset]
    if unused:
        notes.add(
            "the column is no month and is not used",
            KEPT,
            NOTHING,
            rows=[0] * len(unused),
            columns=unused,
        )
    return _turned(table, years, asset, [months[month] for month in sorted(months)], sorted(months))


def _are_years(column: CellColumn) -> bool:
    values = read_numbers(column).values[column.filled]
    if not len(values):
        return False
    low, high = YEARS
    whole = np.isfinite(values) & (values == np.round(values)) & (values > low) & (values < high)
    return bool(whole.mean() >= MOSTLY)


def _names_assets(column: CellColumn) -> bool:
    worded = column.text is not None and read_numbers(column).share < MOSTLY
    return worded and bool(column.filled.all())


def _turned(
    table: CellTable,
    years: CellColumn,
    asset: CellColumn | None,
    months: list[CellColumn],
    numbers: list[int],
) -> CellTable:
    known = read_numbers(years).values
    cells = [month.strings.to_pylist() for month in months]
    owner = [""] * len(table) if asset is None else asset.strings.to_pylist()
    lines = [
        (f"{int(known[row])}-{number:02d}", owner[row], cells[place][row], row)
        for row in np.flatnonzero(np.isfinite(known)).tolist()
        for place, number in enumerate(numbers)
    ]
    lines.sort(key=lambda line: line[:2])
    # months before the first number and after the last are not missing: they are not there
    said = [place for place, line in enumerate(lines) if line[2]]
    lines = lines[said[0] : said[-1] + 1] if said else lines
    dates, owners, values, rows = zip(*lines, strict=True)
    columns = [text_column("date", pa.array(dates, pa.string()))]
    if asset is not None:
        columns.append(text_column(asset.name, pa.array(owners, pa.string())))
    name = "value" if asset is not None else Path(table.file).stem
    columns.append(text_column(name, pa.array(values, pa.string())))
    return replace(table, columns=tuple(columns), rows=table.rows[list(rows)], rows_read=len(lines))
