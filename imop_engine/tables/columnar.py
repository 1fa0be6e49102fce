"""Parquet: typed columns, checked for size before anything is unpacked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from imop_engine.errors import UnreadableFile
from imop_engine.tables.cells import (
    EXACT_WHOLE,
    CellColumn,
    CellTable,
    check_names,
    mixed_column,
    text_column,
)
from imop_engine.tables.reading_limits import (
    MEGABYTE,
    PARQUET_MEGABYTES,
    PARQUET_TIMES,
    ReadingLimits,
)

# The name pandas gives an index that has none.
PANDAS_INDEX = "__index_level_0__"
# Rows unpacked at a time, between two looks at the size.
BATCH_ROWS = 65_536


def read_parquet(file: str, content: bytes, limits: ReadingLimits) -> CellTable:
    """Read a Parquet file.

    Args:
        file: What the file is called in sentences.
        content: The file's bytes.
        limits: What a file may hold at most.
    """
    try:
        table = _unpacked(file, content, limits)
    except (pa.ArrowMemoryError, MemoryError):
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        if isinstance(error, UnreadableFile):
            raise
        raise UnreadableFile(
            f"{file} is a damaged Parquet file; write it again or save it as CSV."
        ) from error
    if not table.num_columns:
        raise UnreadableFile(f"{file} has no columns; choose a file with a table in it.")
    words = ["index" if name == PANDAS_INDEX else name.strip() for name in table.column_names]
    names = check_names(file, words, 1)
    columns = tuple(_column(file, name, table.column(i)) for i, name in enumerate(names))
    return CellTable(
        file=file,
        columns=columns,
        rows=np.arange(2, table.num_rows + 2, dtype=np.int64),
        rows_read=table.num_rows,
        header_row=1,
        findings=(),
        guessed={},
    )


def _unpacked(file: str, content: bytes, limits: ReadingLimits) -> pa.Table:
    """Unpack the table; its size is checked as it is claimed, and again as it grows.

    A text that repeats is written once and pointed at. It is kept so while the table is unpacked,
    and its length is added up place by place before it is written out.
    """
    most = limits.unpacked(len(content), PARQUET_TIMES, PARQUET_MEGABYTES)
    source = pq.ParquetFile(pa.BufferReader(content))
    meta, schema = source.metadata, source.schema_arrow
    _check_size(file, meta.num_rows, len(schema), limits)
    claimed = sum(meta.row_group(i).total_byte_size for i in range(meta.num_row_groups))
    if claimed > most:
        raise _too_much(file, claimed, most, len(content))
    texts = [one.name for one in schema if pa.types.is_string(one.type)]
    source = pq.ParquetFile(pa.BufferReader(content), read_dictionary=texts)
    batches: list[pa.RecordBatch] = []
    size = 0
    for batch in source.iter_batches(batch_size=BATCH_ROWS, use_threads=False):
        size += sum(_bytes_of(column) for column in batch.columns)
        if size > most:
            raise _too_much(file, size, most, len(content))
        batches.append(batch)
    return pa.Table.from_batches(batches, batches[0].schema if batches else schema)


def _bytes_of(column: pa.Array) -> int:
    """What a column takes once every text is written out."""
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    try:
        lengths = pc.binary_length(column.dictionary)
    except pa.ArrowNotImplementedError:
        return int(column.nbytes)  # the values are numbers: as long as what points at them, or so
    return int(pc.sum(pc.take(lengths, column.indices)).as_py() or 0) + 4 * len(column)


def _too_much(file: str, size: int, most: int, packed: int) -> UnreadableFile:
    return UnreadableFile(
        f"{file} unpacks to {size / MEGABYTE:,.0f} MB or more, and at most {most / MEGABYTE:,.0f} "
        f"MB are unpacked of a file of {packed / MEGABYTE:,.1f} MB; split it, or save it as CSV."
    )


def _check_size(file: str, rows: int, width: int, limits: ReadingLimits) -> None:
    if rows > limits.rows or width > limits.columns or rows * width > limits.cells:
        raise UnreadableFile(
            f"{file} has {rows:,} rows and {width:,} columns; at most {limits.rows:,} rows, "
            f"{limits.columns:,} columns and {limits.cells:,} cells are read."
        )


def _column(file: str, name: str, cells: pa.ChunkedArray) -> CellColumn:
    kind = cells.type
    try:
        if pa.types.is_dictionary(kind):
            cells = cells.cast(kind.value_type)
            kind = cells.type
        if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            raise UnreadableFile(
                f"{file}, column {name}: the cells hold {kind}, not numbers, dates or text; "
                "leave the column out."
            )
        return _plain(name, cells, kind)
    except (pa.ArrowException, ValueError) as error:
        if isinstance(error, UnreadableFile):
            raise
        raise UnreadableFile(
            f"{file}, column {name}: the cells of type {kind} cannot be read; save it as CSV."
        ) from error


def _beyond_floats(cells: pa.ChunkedArray) -> bool:
    """Whether whole numbers are too long for floats, as account numbers may be."""
    ends = pc.min_max(cells).as_py()
    return ends["max"] is not None and max(-ends["min"], ends["max"]) > EXACT_WHOLE


def _plain(name: str, cells: pa.ChunkedArray, kind: Any) -> CellColumn:
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return text_column(name, cells.cast(pa.string()))
    if pa.types.is_integer(kind) and _beyond_floats(cells):
        return text_column(name, cells.cast(pa.string()))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        numbers = cells.cast(pa.float64(), safe=False).to_numpy().astype(np.float64)
        if np.isinf(numbers).any():
            return mixed_column(name, numbers.tolist())
        return CellColumn(name, numbers=numbers)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        moments = pc.cast(cells, pa.timestamp("us"), safe=False)
        return CellColumn(name, times=moments.to_numpy().astype("datetime64[us]"))
    return mixed_column(name, cells.to_pylist())
