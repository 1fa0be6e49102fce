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
from imop_engine.tables.rows import ReadingLimits

# The name pandas gives an index that has none.
PANDAS_INDEX = "__index_level_0__"


def read_parquet(file: str, content: bytes, limits: ReadingLimits) -> CellTable:
    """Read a Parquet file.

    Args:
        file: What the file is called in sentences.
        content: The file's bytes.
        limits: What a file may hold at most.
    """
    try:
        source = pq.ParquetFile(pa.BufferReader(content))
        meta = source.metadata
        rows, width = meta.num_rows, len(source.schema_arrow)
        _check_size(file, rows, width, limits)
        table = source.read(use_threads=False)
    except (pa.ArrowException, OSError, ValueError, MemoryError, OverflowError) as error:
        if isinstance(error, UnreadableFile):
            raise
        raise UnreadableFile(
            f"{file} is a damaged Parquet file; write it again or save it as CSV."
        ) from error
    if not width:
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
