"""A table as it stands in a file: named columns of cells, each row with its number in the file.

Nothing is interpreted here. A cell is text, or a number or a date where the file itself says so
(Excel, Parquet, a data frame). Columns are arrays, so that a hundred thousand rows stay cheap.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from imop_engine.errors import UnreadableFile
from imop_engine.tables.reading_report import Finding, Guess

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
RowNumbers = NDArray[np.int64]

# Beyond this many digits a whole number is no longer exact as a float.
EXACT_WHOLE: Final = 2.0**53
# Cells tried before a whole column is cast.
FIRST_CELLS: Final = 100


@dataclass(frozen=True, eq=False)
class CellColumn:
    """One column. `text` is trimmed and "" where the cell is empty or is not text.

    `numbers` (NaN where the cell is none) and `times` (NaT where it is none) are there when the
    file has typed cells; a typed cell has no text.
    """

    name: str
    text: pa.Array | None = None
    numbers: FloatArray | None = None
    times: NDArray[np.datetime64] | None = None

    def __len__(self) -> int:
        for cells in (self.text, self.numbers, self.times):
            if cells is not None:
                return len(cells)
        return 0

    @cached_property
    def filled(self) -> BoolArray:
        """Where the cell is not empty."""
        full = np.zeros(len(self), bool)
        if self.text is not None:
            full |= as_bool(pc.not_equal(self.text, ""))
        if self.numbers is not None:
            full |= ~np.isnan(self.numbers)
        if self.times is not None:
            full |= ~np.isnat(self.times)
        return full

    @cached_property
    def strings(self) -> pa.Array:
        """Every cell as a person sees it, typed ones written out."""
        if self.numbers is None and self.times is None:
            return self.text if self.text is not None else pa.array([""] * len(self))
        shown = np.full(len(self), "", dtype=object)
        if self.text is not None:
            shown[:] = self.text.to_pylist()
        if self.numbers is not None:
            for i in np.flatnonzero(~np.isnan(self.numbers)):
                shown[i] = show_number(float(self.numbers[i]))
        if self.times is not None:
            for i in np.flatnonzero(~np.isnat(self.times)):
                shown[i] = show_time(self.times[i])
        return pa.array(shown, pa.string())

    @cached_property
    def plain_numbers(self) -> FloatArray | None:
        """The cells as numbers where every one is empty or a plain number, else None."""
        if self.text is None:
            return self.numbers
        # A cast that fails is slow, as it words an error for every cell: ask a few cells first.
        few = [self.text.slice(0, FIRST_CELLS)] if len(self) > FIRST_CELLS else []
        for text in (*few, self.text):
            try:
                cast = pc.cast(pc.if_else(pc.equal(text, ""), None, text), pa.float64())
            except pa.ArrowInvalid:
                return None
        values = cast.to_numpy(zero_copy_only=False)
        # Words such as "nan" and "inf" are read as numbers by the cast, but are none.
        return values if np.isfinite(values).sum() == len(values) - cast.null_count else None

    @cached_property
    def comma_numbers(self) -> FloatArray | None:
        """The same where decimals are parted by a comma and thousands by nothing."""
        if self.text is None or pc.any(pc.match_substring(self.text, ".")).as_py():
            return None
        return CellColumn(self.name, pc.replace_substring(self.text, ",", ".")).plain_numbers

    def show(self, positions: Iterable[int]) -> list[str]:
        """Write out the cells at these positions only."""
        return [self._show_one(int(i)) for i in positions]

    def _show_one(self, i: int) -> str:
        if self.numbers is not None and not np.isnan(self.numbers[i]):
            return show_number(float(self.numbers[i]))
        if self.times is not None and not np.isnat(self.times[i]):
            return show_time(self.times[i])
        return self.text[i].as_py() if self.text is not None else ""

    def take(self, positions: NDArray[np.intp]) -> CellColumn:
        """Return the column with only these rows."""
        return CellColumn(
            self.name,
            None if self.text is None else self.text.take(pa.array(positions)),
            None if self.numbers is None else self.numbers[positions],
            None if self.times is None else self.times[positions],
        )

    def renamed(self, name: str) -> CellColumn:
        """Return the same cells under another name."""
        return CellColumn(name, self.text, self.numbers, self.times)


def as_bool(mask: Any) -> BoolArray:
    """Turn an arrow mask into a numpy one."""
    return np.asarray(mask.to_numpy(zero_copy_only=False), dtype=bool)


def show_number(value: float) -> str:
    """Write a number as a spreadsheet would: whole ones without a decimal point."""
    if value.is_integer() and abs(value) < EXACT_WHOLE:
        return str(int(value))
    return repr(value)


def show_time(value: np.datetime64) -> str:
    """Write a date, with the time of day only where there is one."""
    text = str(value.astype("datetime64[s]"))
    return text.removesuffix("T00:00:00")


def text_column(name: str, cells: pa.Array | pa.ChunkedArray) -> CellColumn:
    """Make a column of text; surrounding white space is not content."""
    if isinstance(cells, pa.ChunkedArray):
        cells = cells.combine_chunks()
        cells = pa.concat_arrays(cells.chunks) if isinstance(cells, pa.ChunkedArray) else cells
    return CellColumn(name, text=pc.utf8_trim_whitespace(pc.fill_null(cells, "")))


def mixed_column(name: str, cells: Sequence[Any]) -> CellColumn:
    """Make a column of cells that each have their own type, as in Excel."""
    count = len(cells)
    words: list[str] = [""] * count
    numbers = np.full(count, np.nan)
    times = np.full(count, np.datetime64("NaT"), dtype="datetime64[us]")
    for i, cell in enumerate(cells):
        if cell is None:
            continue
        if isinstance(cell, bool | np.bool_):
            words[i] = "TRUE" if cell else "FALSE"
        elif isinstance(cell, int | np.integer) and abs(int(cell)) > EXACT_WHOLE:
            words[i] = str(int(cell))  # as a float it would be another account number
        elif isinstance(cell, int | float | np.number):
            number = _as_float(cell)
            # An infinite or undefined cell is kept as a word, so that it is reported as one.
            if math.isfinite(number):
                numbers[i] = number
            else:
                words[i] = "" if math.isnan(number) else str(number)
        elif isinstance(cell, dt.datetime | dt.date | np.datetime64):
            times[i] = _as_time(cell)
        else:
            words[i] = str(cell).strip()
    some_numbers, some_times = not np.isnan(numbers).all(), not np.isnat(times).all()
    some_words = any(words) or not (some_numbers or some_times)
    return CellColumn(
        name,
        pa.array([clean(word) for word in words], pa.string()) if some_words else None,
        numbers if some_numbers else None,
        times if some_times else None,
    )


def _as_float(cell: Any) -> float:
    try:
        return float(cell)
    except OverflowError:
        return math.inf


def _as_time(cell: Any) -> np.datetime64:
    if isinstance(cell, dt.datetime):
        return np.datetime64(cell.replace(tzinfo=None), "us")
    return np.datetime64(cell, "us")


def clean(word: str) -> str:
    """Replace what UTF-8 cannot carry (lone surrogates), which arrow refuses."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return word.encode("utf-8", "replace").decode()
    return word


@dataclass(frozen=True, eq=False)
class CellTable:
    """Columns with their rows' numbers in the file, and what was noticed on the way."""

    file: str
    columns: tuple[CellColumn, ...]
    rows: RowNumbers
    rows_read: int
    header_row: int
    findings: tuple[Finding, ...]
    guessed: dict[str, Guess]
    sheets: tuple[str, ...] = ()  # of the workbook, where it is one

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, from left to right."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def _by_name(self) -> dict[str, CellColumn]:
        return {column.name: column for column in self.columns}

    def __getitem__(self, name: str) -> CellColumn:
        return self._by_name[name]


def check_names(file: str, names: Sequence[str], row: int) -> tuple[str, ...]:
    """Give nameless columns a name, and refuse two columns of the same name.

    Args:
        file: What the file is called in sentences.
        names: Of the columns, as they stand in the file.
        row: Where the names stand, from 1.

    Returns:
        The names.
    """
    final = [name or f"column {i}" for i, name in enumerate(names, start=1)]
    first: dict[str, int] = {}
    for i, name in enumerate(final, start=1):
        if name in first:
            raise UnreadableFile(
                f"{file}, row {row}: columns {first[name]} and {i} are both called {name}; "
                "rename one of them."
            )
        first[name] = i
    return tuple(final)
