"""Portfolios of files that are too large for memory, a chunk at a time: `portfolio_chunks`.

For tables that are clean already, as a warehouse writes them: a row for each investor, a column for
each asset, fractions of wealth. `read_portfolios` understands everything else, whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from imop_engine.errors import InvalidInput, UnreadableFile

CHUNK_ROWS: Final = 65_536  # 16 MB at 30 assets
BUFFER: Final = 1 << 20  # bytes of a column that are read ahead
CSV_BLOCK: Final = 1 << 23  # bytes of text at a time
TOLERANCE: Final = 0.02  # how far holdings may be from adding up to one, as in `read_portfolios`
PARQUET: Final = b"PAR1"
INSTEAD: Final = "read_portfolios understands other tables, and says what it changed"


def portfolio_chunks(
    path: str | Path, assets: Sequence[str], rows: int = CHUNK_ROWS
) -> Iterator[pd.DataFrame]:
    """Read a Parquet or comma-separated file of portfolios chunk by chunk; memory stays flat.

    Give it to whatever takes chunks: `fit_efficiency(problem, portfolio_chunks(path, names))`, or
    `learner.partial_fit(chunk)` for each.

    Args:
        path: the file: a row for each investor, a column for each asset; others are left out.
        assets: the columns to read, in the order in which they are wanted.
        rows: the most rows of a chunk of a Parquet file.

    Yields:
        Frames of holdings, fractions of wealth that add up to one in every row.

    Raises:
        UnreadableFile: if there is no such file, a column is missing, or a cell is not a holding.

    >>> from tempfile import TemporaryDirectory
    >>> frame = pd.DataFrame({"client": [1, 2, 3], "A": [0.6, 0.2, 0.5], "B": [0.4, 0.8, 0.5]})
    >>> with TemporaryDirectory() as folder:
    ...     frame.to_parquet(f"{folder}/clients.parquet")
    ...     found = portfolio_chunks(f"{folder}/clients.parquet", ["B", "A"], rows=2)
    ...     [chunk.to_numpy().tolist() for chunk in found]
    [[[0.4, 0.6], [0.8, 0.2]], [[0.5, 0.5]]]
    """
    wanted = [str(name) for name in assets]
    if not wanted or len(set(wanted)) < len(wanted):
        raise InvalidInput("assets must name at least one column, and none of them twice.")
    if rows < 1:
        raise InvalidInput(f"a chunk needs at least one row; got rows={rows}.")
    file = Path(path)
    done = 0
    try:
        for batch in _batches(file, wanted, rows):
            if batch.num_rows:
                yield pd.DataFrame(_holdings(file, batch, wanted, done), columns=wanted)
            done += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise UnreadableFile(f"{file.name} cannot be read ({reason}); {INSTEAD}.") from error


def _batches(file: Path, wanted: list[str], rows: int) -> Iterator[Any]:
    try:
        with file.open("rb") as head:
            is_parquet = head.read(len(PARQUET)) == PARQUET
    except FileNotFoundError as error:
        raise UnreadableFile(
            f"There is no file {file}; check its name and the folder it is in."
        ) from error
    if is_parquet:
        source = pq.ParquetFile(file, buffer_size=BUFFER, pre_buffer=False)
        _check_columns(file, wanted, source.schema_arrow.names)
        yield from source.iter_batches(rows, columns=wanted, use_threads=False)
        return
    with pcsv.open_csv(file, pcsv.ReadOptions(block_size=1 << 14)) as peek:
        _check_columns(file, wanted, peek.schema.names)
    convert = pcsv.ConvertOptions(
        include_columns=wanted, column_types=dict.fromkeys(wanted, pa.float64())
    )
    options = pcsv.ReadOptions(block_size=CSV_BLOCK, use_threads=False)
    with pcsv.open_csv(file, options, convert_options=convert) as text:
        yield from text


def _check_columns(file: Path, wanted: list[str], there: list[str]) -> None:
    missing = [name for name in wanted if name not in there]
    if missing:
        raise UnreadableFile(
            f"{file.name} has no column {missing[0]!r}; it has {', '.join(there[:5])}"
            f"{', …' if len(there) > 5 else ''}. Chunks need a column for each asset; {INSTEAD}."
        )


def _holdings(file: Path, batch: Any, wanted: list[str], done: int) -> Any:
    """The numbers of one chunk, each row adding up to one."""
    table = np.empty((batch.num_rows, len(wanted)))
    for j, name in enumerate(wanted):
        cells = batch.column(batch.schema.get_field_index(name))
        kind = cells.type
        if not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
            raise UnreadableFile(
                f"{file.name}, column {name}: the cells hold {kind}, not numbers; {INSTEAD}."
            )
        table[:, j] = cells.cast(pa.float64()).to_numpy(zero_copy_only=False)
    totals = table.sum(axis=1)
    wrong = np.flatnonzero(~(np.abs(totals - 1.0) <= TOLERANCE))
    if wrong.size:
        row, total = done + int(wrong[0]) + 1, totals[wrong[0]]
        what = "has a cell without a number" if np.isnan(total) else f"adds up to {total:g}"
        raise UnreadableFile(
            f"{file.name}, portfolio {row} {what}, where fractions of wealth add up to one; "
            f"{INSTEAD}."
        )
    table /= totals[:, None]
    return table
