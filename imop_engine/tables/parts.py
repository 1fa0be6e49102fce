"""Portfolios of one file or of thousands, cut into parts that are read apart.

A part says where its rows are and holds none of them, so that it costs nothing to send: whoever
gets it reads the rows itself, a chunk at a time. An array in memory can be cut the same way; then
the part holds its rows. A portfolio that is none gets a reason and takes no part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray

from imop_engine.errors import InvalidInput, UnreadableFile
from imop_engine.tables.chunks import (
    CHUNK_ROWS,
    INSTEAD,
    TOLERANCE,
    batches,
    check_columns,
    is_parquet,
    numbers,
)

Matrix = NDArray[np.float64]

PART_ROWS: Final = 250_000  # of a part: seconds of work, so that little is lost with a worker
ENDINGS: Final = (".parquet", ".csv")
SIGNS: Final = "*?["  # of a pattern
NEGATIVE: Final = 1e-9  # below zero by more than rounding


@dataclass(frozen=True, eq=False)
class Part:
    """Some of the portfolios, and where they are.

    Args:
        name: of the file, for a person.
        path: the file; "" where the rows are in memory.
        first: number of the first row among all portfolios, from 0.
        rows: how many there are.
        groups: the row groups of a Parquet file; None: the whole file.
        table: the rows, where they are in memory.
    """

    name: str
    path: str
    first: int
    rows: int
    groups: tuple[int, int] | None = None
    table: Matrix | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class Rows:
    """Portfolios of a part, some at a time.

    Args:
        first: number of the first row among all portfolios, from 0.
        holdings: fractions of wealth that add up to one, where `good`; else as they were found.
        good: which rows are portfolios.
        also: other columns by name, as Arrow arrays.
    """

    first: int
    holdings: Matrix
    good: NDArray[np.bool_]
    also: dict[str, Any]

    @property
    def portfolios(self) -> Matrix:
        """The good rows."""
        return self.holdings if self.good.all() else self.holdings[self.good]

    def reasons(self, assets: Sequence[str]) -> list[str]:
        """Why each row is no portfolio; "" where it is one.

        Args:
            assets: the columns.
        """
        found = [""] * len(self.good)
        for row in np.flatnonzero(~self.good):
            cells = self.holdings[row]
            missing = np.flatnonzero(~np.isfinite(cells))
            if missing.size:
                found[row] = f"has no number for {assets[missing[0]]}"
            elif cells.min() < -NEGATIVE:
                found[row] = f"holds {cells.min():.4g} of {assets[int(cells.argmin())]}"
            else:
                found[row] = f"adds up to {cells.sum():.4g} instead of 1"
        return found


def portfolio_files(where: str | Path) -> list[Path]:
    """The files of a folder or of a pattern, in the order of their names; or the one file.

    Args:
        where: a Parquet or CSV file, a folder of such files, or a pattern as "clients/*.parquet".
    """
    text = str(where)
    place = Path(text)
    if place.is_file():
        return [place]
    if place.is_dir():
        found = [one for one in place.iterdir() if one.suffix.lower() in ENDINGS]
    else:
        found = [one for one in _matching(text) if one.is_file()]
    files = sorted(one for one in found if not one.name.startswith((".", "_")))
    if not files:
        kind = "folder holds" if place.is_dir() else "pattern finds"
        raise UnreadableFile(
            f"There are no portfolios at {text}: the {kind} no file that ends in .parquet or .csv. "
            "Check the name; every worker must see the files under it."
        )
    return files


def _matching(pattern: str) -> Iterator[Path]:
    """What a pattern finds, from its first folder without signs on."""
    place = Path(pattern)
    fixed = next((one for one in place.parents if not any(s in str(one) for s in SIGNS)), Path())
    yield from fixed.glob(str(place.relative_to(fixed)))


def file_parts(file: Path, columns: Sequence[str], most_rows: int = PART_ROWS) -> list[Part]:
    """The parts of one file; of Parquet only the end is read, of CSV a column.

    Args:
        file: Parquet or CSV.
        columns: what it must have.
        most_rows: of a part, as far as row groups allow; a CSV file is one part.

    Returns:
        The parts; their rows are numbered through from the file's first.
    """
    name, path = file.name, str(file.resolve())
    try:
        if not is_parquet(file):
            rows = sum(len(batch) for batch in batches(file, [columns[0]], CHUNK_ROWS))
            return [Part(name, path, 0, rows)]
        with pq.ParquetFile(file) as source:
            check_columns(file, columns, source.schema_arrow.names)
            sizes = [
                source.metadata.row_group(number).num_rows
                for number in range(source.metadata.num_row_groups)
            ]
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise UnreadableFile(f"{name} cannot be read ({reason}); {INSTEAD}.") from error
    found = []
    low = first = 0
    while low < len(sizes):
        high, rows = low + 1, sizes[low]
        while high < len(sizes) and rows + sizes[high] <= most_rows:
            rows, high = rows + sizes[high], high + 1
        found.append(Part(name, path, first, rows, (low, high)))
        low, first = high, first + rows
    return found


def array_parts(portfolios: ArrayLike, most_rows: int = PART_ROWS) -> tuple[Part, ...]:
    """Cut portfolios in memory into parts.

    Args:
        portfolios: one row for each investor, fractions of wealth.
        most_rows: of a part.

    >>> [(part.first, part.rows) for part in array_parts(np.eye(3), most_rows=2)]
    [(0, 2), (2, 1)]
    """
    table = np.asarray(portfolios, dtype=np.float64)
    if table.ndim != 2:
        raise InvalidInput(
            f"portfolios have {table.ndim} dimensions; give a row for each investor and a column "
            "for each asset."
        )
    return tuple(
        Part(
            "portfolios", "", first, len(table[first : first + most_rows]),
            table=table[first : first + most_rows],
        )
        for first in range(0, len(table), most_rows)
    )  # fmt: skip


def read_part(
    part: Part, assets: Sequence[str], also: Sequence[str] = (), rows: int = CHUNK_ROWS
) -> Iterator[Rows]:
    """The rows of a part, a chunk at a time; memory stays flat.

    Args:
        part: which.
        assets: the columns of holdings, in the order in which they are wanted.
        also: other columns to read along; of parts in memory there are none.
        rows: the most rows of a chunk of a Parquet file or of an array.
    """
    if part.table is not None:
        for low in range(0, part.rows, rows):
            yield checked_rows(part.first + low, part.table[low : low + rows].copy(), {})
        return
    file, done = Path(part.path), 0
    groups = None if part.groups is None else range(*part.groups)
    try:
        for batch in batches(file, list(assets), rows, also, groups):
            if not batch.num_rows:
                continue
            beside = {name: batch.column(batch.schema.get_field_index(name)) for name in also}
            yield checked_rows(part.first + done, numbers(file, batch, assets), beside)
            done += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise UnreadableFile(f"{part.name} cannot be read ({reason}); {INSTEAD}.") from error
    if done != part.rows:
        raise UnreadableFile(
            f"{part.name} had {part.rows} rows when it was first looked at and has {done} now; "
            "leave the files alone while they are learned from, or use --follow."
        )


def checked_rows(first: int, table: Matrix, also: dict[str, Any]) -> Rows:
    """Rows with a flag for those that are portfolios, which are made to add up to one.

    Args:
        first: number of the first among all.
        table: as they were read; changed in place.
        also: other columns by name.
    """
    totals = table.sum(axis=1)
    good = (np.abs(totals - 1.0) <= TOLERANCE) & (table.min(axis=1) >= -NEGATIVE)
    np.maximum(table, 0.0, out=table, where=good[:, None])
    table[good] /= table[good].sum(axis=1, keepdims=True)
    return Rows(first, table, good, also)
