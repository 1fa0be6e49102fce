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

from imop_engine import gate
from imop_engine.errors import InvalidInput, UnreadableFile

CHUNK_ROWS: Final = 16_384  # 4 MB at 30 assets, of which four copies live at once
BUFFER: Final = 1 << 20  # bytes of a column that are read ahead
CSV_BLOCK: Final = 1 << 23  # bytes of text at a time
TOLERANCE: Final = 0.02  # how far holdings may be from adding up to one, as in `read_portfolios`
PARQUET: Final = b"PAR1"
INSTEAD: Final = "read_portfolios understands other tables, and says what it changed"


@gate.public("imop_engine.tables")
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
        for batch in batches(file, wanted, rows):
            if batch.num_rows:
                yield pd.DataFrame(_holdings(file, batch, wanted, done), columns=wanted)
            done += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise UnreadableFile(f"{file.name} cannot be read ({reason}); {INSTEAD}.") from error


def is_parquet(file: Path) -> bool:
    """Whether a file is Parquet, by how it begins; anything else is taken for CSV."""
    try:
        with file.open("rb") as head:
            return head.read(len(PARQUET)) == PARQUET
    except FileNotFoundError as error:
        raise UnreadableFile(
            f"There is no file {file}; check its name and the folder it is in."
        ) from error


def batches(
    file: Path,
    assets: list[str],
    rows: int,
    also: Sequence[str] = (),
    groups: range | None = None,
) -> Iterator[Any]:
    """The columns of assets, and others beside them, a few rows at a time.

    Args:
        file: Parquet or CSV.
        assets: The columns of numbers.
        rows: The most rows of a batch of a Parquet file.
        also: Other columns, which come after those of the assets.
        groups: The row groups of a Parquet file that are read; None reads all.

    Yields:
        Batches of Arrow; a cell without a number is null.
    """
    wanted = [*assets, *also]
    if is_parquet(file):
        source = pq.ParquetFile(file, buffer_size=BUFFER, pre_buffer=False)
        check_columns(file, wanted, source.schema_arrow.names)
        chosen = None if groups is None else list(groups)
        yield from source.iter_batches(rows, chosen, columns=wanted, use_threads=False)
        return
    with pcsv.open_csv(file, pcsv.ReadOptions(block_size=1 << 14)) as peek:
        check_columns(file, wanted, peek.schema.names)
    types = {name: pa.float64() for name in assets} | {name: pa.string() for name in also}
    convert = pcsv.ConvertOptions(include_columns=wanted, column_types=types)
    options = pcsv.ReadOptions(block_size=CSV_BLOCK, use_threads=False)
    with pcsv.open_csv(file, options, convert_options=convert) as text:
        yield from text


def check_columns(file: Path, wanted: Sequence[str], there: Sequence[str]) -> None:
    """Refuse a file without one of the columns.

    Args:
        file: Which.
        wanted: The columns that are needed.
        there: Those that it has.
    """
    missing = [name for name in wanted if name not in there]
    if missing:
        raise UnreadableFile(
            f"{file.name} has no column {missing[0]!r}; it has {', '.join(there[:5])}"
            f"{', …' if len(there) > 5 else ''}. Chunks need a column for each asset; {INSTEAD}."
        )


def _holdings(file: Path, batch: Any, wanted: list[str], done: int) -> Any:
    """The numbers of one chunk, each row adding up to one."""
    table = numbers(file, batch, wanted)
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


def numbers(file: Path, batch: Any, assets: Sequence[str]) -> Any:
    """The numbers of one batch; NaN where there is none.

    Args:
        file: Where it comes from, for errors.
        batch: Of Arrow.
        assets: The columns.

    Returns:
        One row for each portfolio, one column for each asset.
    """
    table = np.empty((batch.num_rows, len(assets)))
    for j, name in enumerate(assets):
        cells = batch.column(batch.schema.get_field_index(name))
        kind = cells.type
        if not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
            raise UnreadableFile(
                f"{file.name}, column {name}: the cells hold {kind}, not numbers; {INSTEAD}."
            )
        table[:, j] = cells.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return table
