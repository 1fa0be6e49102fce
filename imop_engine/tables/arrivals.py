"""Portfolios as they arrive: rows added to a CSV file, or files put into a folder.

A place remembers how far each file was read, so that after a stop, or a kill, reading goes on with
the row that comes next: none twice, none left out. A line without its end waits until it has one,
and so does a Parquet file without its last bytes. A file that is shorter than it was, or another
than it was, ends the reading with a sentence: nobody can say which of its rows are new.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from imop_engine.errors import InvalidInput, UnreadableFile
from imop_engine.tables.chunks import CHUNK_ROWS, PARQUET, check_columns, numbers
from imop_engine.tables.parts import ENDINGS, checked_rows

Matrix = NDArray[np.float64]

BLOCK: Final = 1 << 22  # bytes of a CSV file that are read at once
HEAD: Final = 4096  # bytes by whose digest a file is known again
AGAIN: Final = (
    "give a file that only grows, or put new files into a folder; or begin anew in another --out."
)


@dataclass(frozen=True)
class Seen:
    """How far one file was read.

    Args:
        at: bytes of a CSV file, rows of a Parquet file.
        head: bytes at its beginning that its digest is of.
        digest: of these.
    """

    at: int = 0
    head: int = 0
    digest: str = ""


@dataclass(frozen=True)
class Position:
    """How far everything was read: the rows so far, and each file by its name."""

    rows: int = 0
    files: dict[str, Seen] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, to save."""
        return {"rows": self.rows, "files": {name: vars(one) for name, one in self.files.items()}}

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Position:
        """The inverse of `to_dict`."""
        files = {str(name): Seen(**one) for name, one in found["files"].items()}
        return cls(int(found["rows"]), files)


@dataclass(frozen=True, eq=False)
class Arrived:
    """Rows that came: the portfolios among them, and where reading goes on after them.

    Args:
        holdings: fractions of wealth, one row for each portfolio.
        rows: numbers of these rows among all, from 0.
        refused: rows that are no portfolios, as (number from 1, reason).
        file: where they came from.
        after: how far everything was read with them.
    """

    holdings: Matrix
    rows: NDArray[np.int64]
    refused: tuple[tuple[int, str], ...]
    file: str
    after: Position


class Arrivals:
    """A CSV file that grows, or a folder into which CSV and Parquet files come.

    Args:
        where: the file or the folder.
        assets: the columns of holdings.
    """

    def __init__(self, where: str | Path, assets: Sequence[str]) -> None:
        self.where, self.assets = Path(where), list(assets)
        if not self.where.exists():
            raise UnreadableFile(
                f"There is no file or folder {self.where}; make it first, a CSV file with its line "
                "of columns, or an empty folder."
            )
        if self.where.is_file() and self.where.suffix.lower() == ".parquet":
            raise InvalidInput(
                f"{self.where.name} is a Parquet file, which cannot grow; follow the folder that "
                "new ones come into."
            )

    def new(self, position: Position) -> Iterator[Arrived]:
        """What has come since a position, a chunk at a time; ends where nothing more is there.

        Args:
            position: how far everything was read.
        """
        for file in self._files(position):
            known = position.files.get(file.name, Seen())
            read = _parquet_rows if file.suffix.lower() == ".parquet" else _csv_rows
            for table, seen in read(file, known, self.assets):
                first = position.rows
                position = Position(first + len(table), {**position.files, file.name: seen})
                yield self._arrived(file.name, first, table, position)

    def _files(self, position: Position) -> list[Path]:
        if self.where.is_file():
            return [self.where]
        try:
            there = {
                one.name: one
                for one in self.where.iterdir()
                if one.suffix.lower() in ENDINGS and not one.name.startswith((".", "_"))
            }
        except OSError as error:
            raise UnreadableFile(
                f"The folder {self.where} cannot be read ({error.strerror}); put it back and go on."
            ) from error
        # those that were begun may be gone: what was read of them is learned
        return [there[name] for name in sorted(there)]

    def _arrived(self, name: str, first: int, table: Matrix, after: Position) -> Arrived:
        rows = checked_rows(first, table, {})
        reasons = rows.reasons(self.assets) if not rows.good.all() else []
        refused = tuple((first + int(i) + 1, reasons[i]) for i in np.flatnonzero(~rows.good))
        numbers_of = first + np.flatnonzero(rows.good)
        return Arrived(rows.portfolios, numbers_of, refused, name, after)


def _csv_rows(file: Path, seen: Seen, assets: list[str]) -> Iterator[tuple[Matrix, Seen]]:
    """Whole lines of a CSV file from where it was read to."""
    try:
        with file.open("rb") as source:
            size = source.seek(0, io.SEEK_END)
            source.seek(0)
            head = source.read(HEAD)
            _require_same(file, seen, size, head)
            source.seek(0)
            first = source.readline()
            if not first.endswith(b"\n"):
                return
            columns = _columns(file, first)
            check_columns(file, assets, columns)
            source.seek(max(seen.at, len(first)))
            left = b""
            while block := source.read(BLOCK):
                block = left + block
                whole = block.rfind(b"\n") + 1
                left = block[whole:]
                if not whole:
                    continue
                at = source.tell() - len(left)
                known = min(at, len(head))
                digest = hashlib.sha256(head[:known]).hexdigest()
                table = _parsed(file, block[:whole], columns, assets)
                if len(table):
                    yield table, Seen(at, known, digest)
    except FileNotFoundError:
        if seen.at:
            return  # it was moved away: what was read of it is learned
        raise UnreadableFile(f"There is no file {file} any more; put it back.") from None


def _require_same(file: Path, seen: Seen, size: int, head: bytes) -> None:
    if size < seen.at:
        raise InvalidInput(
            f"{file.name} has {size:,} bytes and was read up to byte {seen.at:,}: it was shortened "
            f"or replaced, and nobody can say which rows are new. What was learned is kept; {AGAIN}"
        )
    if seen.head and hashlib.sha256(head[: seen.head]).hexdigest() != seen.digest:
        raise InvalidInput(
            f"{file.name} begins otherwise than when it was first read: it was replaced (rotated) "
            f"or rewritten. What was learned is kept; {AGAIN}"
        )


def _columns(file: Path, line: bytes) -> list[str]:
    try:
        table = pcsv.read_csv(io.BytesIO(line))
    except pa.ArrowException as error:
        raise UnreadableFile(
            f"{file.name}: the line of columns cannot be read ({error})."
        ) from None
    return [str(name) for name in table.column_names]


def _parsed(file: Path, lines: bytes, columns: list[str], assets: list[str]) -> Matrix:
    types: dict[str, Any] = {name: pa.string() for name in columns}
    types |= {name: pa.float64() for name in assets}
    try:
        table = pcsv.read_csv(
            io.BytesIO(lines),
            pcsv.ReadOptions(column_names=columns, use_threads=False),
            convert_options=pcsv.ConvertOptions(include_columns=assets, column_types=types),
        )
    except pa.ArrowException as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise UnreadableFile(
            f"{file.name} cannot be read on ({reason}); a followed file has a column for each "
            "asset, fractions of wealth, and the same columns in every line."
        ) from error
    found: Matrix = np.empty((table.num_rows, len(assets)))
    for j, name in enumerate(assets):
        found[:, j] = table.column(name).to_numpy()
    return found


def _parquet_rows(file: Path, seen: Seen, assets: list[str]) -> Iterator[tuple[Matrix, Seen]]:
    """Rows of a Parquet file that is whole."""
    try:
        with file.open("rb") as source:
            size = source.seek(0, io.SEEK_END)
            source.seek(max(0, size - len(PARQUET)))
            if source.read() != PARQUET or size <= 2 * len(PARQUET):
                return  # still being written
        with pq.ParquetFile(file, pre_buffer=False) as table:
            check_columns(file, assets, table.schema_arrow.names)
            rows, done = table.metadata.num_rows, 0
            if rows < seen.at:
                raise InvalidInput(
                    f"{file.name} has {rows:,} rows and {seen.at:,} of it were read: it was "
                    f"replaced. What was learned is kept; {AGAIN}"
                )
            for batch in table.iter_batches(CHUNK_ROWS, columns=assets, use_threads=False):
                low = max(0, seen.at - done)
                done += batch.num_rows
                if low < batch.num_rows:
                    yield numbers(file, batch, assets)[low:], replace(seen, at=done)
    except FileNotFoundError:
        return
    except pa.ArrowException as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise UnreadableFile(f"{file.name} cannot be read ({reason}).") from error
