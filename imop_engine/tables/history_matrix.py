"""A history as one matrix, dates by assets, in which every cell still knows its place in the file.

Wide, long and transposed files all become this; what follows need not know which it was.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from imop_engine.errors import UnreadableFile
from imop_engine.tables.cells import CellTable
from imop_engine.tables.dates import Dates
from imop_engine.tables.numbers import Numbers
from imop_engine.tables.reading_report import CHANGED, KEPT, REFUSED, Notes

FloatArray = NDArray[np.float64]
Positions = NDArray[np.intp]

# When this share of a column carries a percent sign, a cell without one is in doubt.
PERCENT_SHARE: Final = 0.5

MISFIT: Final = "the number is not written with the decimal mark of its column"


@dataclass(frozen=True, eq=False)
class Matrix:
    """Values by date and asset, NaN where there is none.

    `rows[t, j]` is the row of the file the cell came from (0: no cell), `labels` the columns:
    one per asset in a wide file, one for all in a long one, one per date in a transposed one.
    """

    dates: NDArray[np.datetime64] | None
    assets: tuple[str, ...]
    values: FloatArray
    rows: NDArray[np.int64]
    labels: tuple[str, ...]
    by_date: bool = False

    def place(self, t: Positions, j: Positions) -> tuple[NDArray[np.int64], list[str]]:
        """Return the file's rows and columns of these cells."""
        if len(self.labels) == 1:
            names = [self.labels[0]] * len(t)
        else:
            names = [self.labels[i] for i in (t if self.by_date else j)]
        return self.rows[t, j], names

    def without(self, drop: NDArray[np.bool_]) -> Matrix:
        """Return the matrix with these cells empty."""
        return replace(self, values=np.where(drop, np.nan, self.values))

    def only(self, keep: NDArray[np.bool_]) -> Matrix:
        """Return the matrix with only these assets."""
        chosen = np.flatnonzero(keep)
        each = len(self.labels) == len(self.assets) and not self.by_date
        labels = tuple(self.labels[j] for j in chosen) if each else self.labels
        return replace(
            self,
            assets=tuple(self.assets[j] for j in chosen),
            values=self.values[:, chosen],
            rows=self.rows[:, chosen],
            labels=labels,
        )


def runs_of(matrix: Matrix, mask: NDArray[np.bool_]) -> tuple[list[int], list[str], list[str]]:
    """Rows, assets and sizes of the runs of marked cells, asset by asset."""
    rows, columns, values = [], [], []
    for j in np.flatnonzero(mask.any(axis=0)):
        edges = np.flatnonzero(np.diff(np.r_[False, mask[:, j], False]))
        for first, end in zip(edges[::2], edges[1::2], strict=True):
            rows.append(int(matrix.rows[first, j]) or int(matrix.rows[first].max()))
            columns.append(matrix.assets[j])
            values.append(_span(matrix, int(first), int(end)))
    return rows, columns, values


def _span(matrix: Matrix, first: int, end: int) -> str:
    count = f"{end - first} period{'s' if end - first > 1 else ''}"
    if matrix.dates is None:
        return count
    start, stop = (str(matrix.dates[i])[:10] for i in (first, end - 1))
    return f"{count}, {start}" if end - first == 1 else f"{count}, {start} to {stop}"


def note_cells(
    table: CellTable, name: str, numbers: Numbers, keep: NDArray[np.bool_], notes: Notes
) -> None:
    """Say which cells of a column are no numbers; they count as missing.

    Args:
        table: The file's cells by column.
        name: Of the column.
        numbers: The column read as numbers.
        keep: Which rows take part.
        notes: Collects what was noticed, changed or refused.
    """
    column = table[name]
    for mask, what, remedy in (
        (
            numbers.bad & ~numbers.misfit,
            "this is not a number and is taken as missing",
            "correct the cell",
        ),
        (numbers.misfit, MISFIT + " and is taken as missing", "write all decimals alike"),
        (
            numbers.missing | numbers.dash,
            "the cell says that there is no value",
            "nothing needs to be done",
        ),
    ):
        where = np.flatnonzero(mask & keep)
        if len(where):
            action = CHANGED if numbers.bad[where].any() else KEPT
            notes.add(
                what,
                action,
                remedy,
                rows=table.rows[where],
                columns=name,
                values=column.show(where),
            )


def percent_checked(table: CellTable, name: str, numbers: Numbers, notes: Notes) -> Numbers:
    """Take as missing what lacks the percent sign that the rest of its column has.

    Args:
        table: The file's cells by column.
        name: Of the column.
        numbers: The column read as numbers.
        notes: Collects what was noticed, changed or refused.

    Returns:
        The numbers, some of them missing.
    """
    numeric = np.isfinite(numbers.values) & (numbers.values != 0)
    bare = numeric & ~numbers.percent
    if not numbers.percent.any() or not bare.any():
        return numbers
    signed = int((numeric & numbers.percent).sum())
    odd = bare if signed >= PERCENT_SHARE * numeric.sum() else numeric & numbers.percent
    where = np.flatnonzero(odd)
    lacks = odd is bare
    notes.add(
        "the cell lacks the percent sign that the others in its column have, and is left out"
        if lacks
        else "the cell has a percent sign that the others in its column lack, and is left out",
        CHANGED,
        "write the whole column with percent signs or without",
        rows=table.rows[where],
        columns=name,
        values=table[name].show(where),
    )
    return replace(
        numbers, values=np.where(odd, np.nan, numbers.values), percent=numbers.percent & ~odd
    )


def wide_matrix(
    table: CellTable,
    assets: tuple[str, ...],
    numbers: dict[str, Numbers],
    dates: Dates | None,
    keep: NDArray[np.bool_],
    notes: Notes,
) -> Matrix:
    """One row per date, one column per asset.

    Args:
        table: The file's cells by column.
        assets: The columns that hold values.
        numbers: Each column read as numbers, by name.
        dates: The day of each row; None where the file has none.
        keep: Which rows take part.
        notes: Collects what was noticed, changed or refused.
    """
    for name in assets:
        note_cells(table, name, numbers[name], keep, notes)
    clean = [percent_checked(table, name, numbers[name], notes) for name in assets]
    where = np.flatnonzero(keep)
    values = np.column_stack([one.values for one in clean])[where]
    rows = table.rows[where]
    moments = None if dates is None else dates.values[where]
    if moments is not None:
        where, moments = _in_order(moments, rows, values, notes)
        values, rows = values[where], rows[where]
    return Matrix(moments, assets, values, np.repeat(rows[:, None], len(assets), axis=1), assets)


def _in_order(
    moments: NDArray[np.datetime64], rows: NDArray[np.int64], values: FloatArray, notes: Notes
) -> tuple[Positions, NDArray[np.datetime64]]:
    """Sort by date and keep one row per date: the last one in the file."""
    order = np.argsort(moments, kind="stable")
    _note_order(moments, rows, notes)
    sorted_moments = moments[order]
    last = np.r_[sorted_moments[1:] != sorted_moments[:-1], True]
    following = order[np.r_[np.arange(1, len(order)), len(order) - 1]] if len(order) else order
    same = np.zeros(len(order), bool)
    for i in np.flatnonzero(~last):
        same[i] = np.array_equal(values[order[i]], values[following[i]], equal_nan=True)
    _note_repeats(rows[order], sorted_moments, ~last & same, ~last & ~same, notes)
    return order[last], sorted_moments[last]


def _note_order(moments: NDArray[np.datetime64], rows: NDArray[np.int64], notes: Notes) -> None:
    steps = np.diff(moments)
    zero = np.timedelta64(0, "us")
    if not (steps < zero).any():
        return
    if (steps <= zero).all():
        what = "the newest date comes first; the rows are read from the bottom up"
    else:
        what = "the dates are not in order; the rows are sorted by date"
    notes.add(
        what, KEPT, "nothing needs to be done", rows=rows[np.flatnonzero(steps < zero)[0] + 1]
    )


def _note_repeats(
    rows: NDArray[np.int64],
    moments: NDArray[np.datetime64],
    same: NDArray[np.bool_],
    other: NDArray[np.bool_],
    notes: Notes,
) -> None:
    for mask, what, remedy in (
        (same, "the date is there twice with the same values; one is enough", "remove the row"),
        (
            other,
            "the date is there twice with different values; the later row is taken",
            "remove the wrong row",
        ),
    ):
        if mask.any():
            shown = [str(moment)[:10] for moment in moments[mask]]
            notes.add(what, REFUSED, remedy, rows=rows[mask], values=shown)


def long_matrix(
    table: CellTable,
    asset_name: str,
    value_name: str,
    numbers: Numbers,
    dates: Dates,
    keep: NDArray[np.bool_],
    notes: Notes,
) -> Matrix:
    """One row per date and asset.

    Args:
        table: The file's cells by column.
        asset_name: The column with the assets' names.
        value_name: The column with the values.
        numbers: That column read as numbers.
        dates: The day of each row.
        keep: Which rows take part.
        notes: Collects what was noticed, changed or refused.
    """
    column = table[asset_name]
    nameless = np.flatnonzero(keep & ~column.filled)
    if len(nameless):
        notes.add(
            "the asset's name is missing",
            REFUSED,
            "fill in the name",
            rows=table.rows[nameless],
            columns=asset_name,
        )
    keep = keep & column.filled
    note_cells(table, value_name, numbers, keep, notes)
    numbers = percent_checked(table, value_name, numbers, notes)
    where = np.flatnonzero(keep)
    if not len(where):
        raise UnreadableFile(f"{table.file} has no row with a date, an asset and a value.")
    codes, names = pd.factorize(pd.Series(column.strings.to_pandas())[where])
    moments, t = np.unique(dates.values[where], return_inverse=True)
    where = _last_of_each(table, t * len(names) + codes, where, numbers.values, notes)
    kept = np.isin(np.flatnonzero(keep), where)
    shape = (len(moments), len(names))
    values, rows = np.full(shape, np.nan), np.zeros(shape, np.int64)
    values[t[kept], codes[kept]] = numbers.values[where]
    rows[t[kept], codes[kept]] = table.rows[where]
    return Matrix(moments, tuple(map(str, names)), values, rows, (value_name,))


def _last_of_each(
    table: CellTable, cell: Positions, where: Positions, values: FloatArray, notes: Notes
) -> Positions:
    """Keep one row per date and asset, the last in the file; note the others."""
    repeated = pd.Series(cell).duplicated(keep="last").to_numpy()
    if not repeated.any():
        return where
    last = pd.Series(where[~repeated], index=cell[~repeated])
    final = last.reindex(cell[repeated]).to_numpy()
    earlier = where[repeated]
    a, b = values[earlier], values[final]
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    for mask, what, remedy in (
        (
            same,
            "asset and date are there twice with the same value; one is enough",
            "remove the row",
        ),
        (
            ~same,
            "asset and date are there twice with different values; the later row is taken",
            "remove the wrong row",
        ),
    ):
        if mask.any():
            notes.add(what, REFUSED, remedy, rows=table.rows[earlier[mask]])
    return np.sort(where[~repeated])


def transposed_matrix(
    table: CellTable,
    name_column: str,
    headers: tuple[str, ...],
    moments: NDArray[np.datetime64],
    numbers: dict[str, Numbers],
    notes: Notes,
) -> Matrix:
    """One row per asset, one column per date.

    Args:
        table: The file's cells by column.
        name_column: The column with the assets' names.
        headers: The columns that are dates.
        moments: The day of each of them.
        numbers: Each column read as numbers, by name.
        notes: Collects what was noticed, changed or refused.
    """
    column = table[name_column]
    keep = column.filled
    if not keep.all():
        notes.add(
            "the asset's name is missing",
            REFUSED,
            "fill in the name",
            rows=table.rows[~keep],
            columns=name_column,
        )
    for name in headers:
        note_cells(table, name, numbers[name], keep, notes)
    numbers = {name: percent_checked(table, name, numbers[name], notes) for name in headers}
    order = np.argsort(moments, kind="stable")
    if (np.diff(moments[order]) == np.timedelta64(0)).any():
        raise UnreadableFile(f"{table.file}: two columns stand for the same date; remove one.")
    names = [str(word) for word in column.strings.filter(keep).to_pylist()]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UnreadableFile(f"{table.file}: two rows are called {twice}; rename one of them.")
    values = np.vstack([numbers[headers[i]].values[keep] for i in order])
    rows = np.repeat(table.rows[keep][None, :], len(order), axis=0)
    labels = tuple(headers[i] for i in order)
    return Matrix(moments[order], tuple(names), values, rows, labels, by_date=True)
