"""The one door for tables: a path, bytes, an open file or a data frame, of any kind we know.

The kind is told by the content, not by the name: an Excel file called .csv opens all the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from imop_engine.errors import UnreadableFile
from imop_engine.tables.cells import EXACT_WHOLE, CellColumn, CellTable, check_names, mixed_column
from imop_engine.tables.reading_limits import DEFAULT_LIMITS, ReadingLimits
from imop_engine.tables.sheet_choice import ANY_TABLE, Wanted

FRAME_NAME: Final = "the table"
UNNAMED: Final = "the file"
# The kinds of file that are read, as sentences call them.
EXCEL, PARQUET, TEXT = "an Excel workbook", "a Parquet file", "text"
PAGE: Final = "a web page"

# What people pick by mistake, told by its first bytes.
FOREIGN: Final = (
    (b"\xd0\xcf\x11\xe0", "an old Excel file (.xls)", "save it as .xlsx or CSV"),
    (b"%PDF", "a PDF document", "save the table behind it as CSV or Excel"),
    (b"\x1f\x8b", "a compressed file (gzip)", "unpack it first"),
    (b"7z\xbc\xaf", "a compressed file (7z)", "unpack it first"),
    (b"Rar!", "a compressed file (RAR)", "unpack it first"),
    (b"\x89PNG", "a picture", "save the table in it as CSV or Excel"),
    (b"\xff\xd8\xff", "a picture", "save the table in it as CSV or Excel"),
    (b"SQLite format 3", "a database", "export the table as CSV"),
)

# How such a file begins, white space and byte-order mark aside.
MARKUP: Final = (
    b"<!doctype html",
    b"<html",
    b"<table",
    b"<?xml",
    b"<workbook",
    b"<meta",
    b"<style",
    b"<div",
    b"<body",
    b"<head",
)

Source = str | Path | bytes | bytearray | pd.DataFrame | Any


def load_table(
    source: Source,
    *,
    name: str | None = None,
    sheet: str | int | None = None,
    limits: ReadingLimits = DEFAULT_LIMITS,
    wanted: Wanted = ANY_TABLE,
) -> CellTable:
    """Read any source into a table of cells; `name` is what sentences call the file.

    Args:
        source: A path, bytes, an open file or a data frame.
        name: What the file is called in sentences.
        sheet: Name or number of a workbook's sheet; None chooses by what the sheets hold.
        limits: What a file may hold at most.
        wanted: What the table should be like, to choose a sheet by.
    """
    if isinstance(source, pd.DataFrame):
        return frame_table(source, name or FRAME_NAME, limits)
    file, content = _content(source, name, limits)
    kind = _kind(file, content)
    if kind == EXCEL:
        from imop_engine.tables.workbook import read_workbook

        return read_workbook(file, content, sheet, limits, wanted)
    if sheet is not None:
        raise UnreadableFile(f"{file} is {kind} and has no sheet {sheet!r}; leave the sheet out.")
    if kind == PARQUET:
        from imop_engine.tables.columnar import read_parquet

        return read_parquet(file, content, limits)
    if kind == PAGE:
        from imop_engine.tables.markup import read_markup

        return read_markup(file, content, limits)
    from imop_engine.tables.text import read_text

    return read_text(file, content, limits)


def _content(source: Source, name: str | None, limits: ReadingLimits) -> tuple[str, bytes]:
    most = limits.size
    if isinstance(source, bytes | bytearray | memoryview):
        file, content = name or UNNAMED, bytes(source)
    elif isinstance(source, str | Path):
        path = Path(source)
        file = name or path.name
        content = _file_content(path, file, most)
    elif hasattr(source, "read"):
        file = name or Path(str(getattr(source, "name", UNNAMED))).name
        read: Any = source.read
        content = read(most + 1)
        if isinstance(content, str):
            content = content.encode()
    else:
        raise UnreadableFile(
            f"A {type(source).__name__} cannot be read as a table; "
            "give a path, the file's bytes, an open file or a pandas DataFrame."
        )
    if len(content) > most:
        raise _too_large(file, len(content), limits.megabytes)
    if not content.strip():
        raise UnreadableFile(f"{file} is empty; choose a file with a header and rows below it.")
    return file, content


def _file_content(path: Path, file: str, most: int) -> bytes:
    try:
        size = path.stat().st_size
        if size > most:
            raise _too_large(file, size, most // 1_000_000)
        return path.read_bytes()
    except UnreadableFile:
        raise
    except FileNotFoundError as error:
        raise UnreadableFile(
            f"There is no file {path}; check its name and the folder it is in."
        ) from error
    except IsADirectoryError as error:
        raise UnreadableFile(f"{path} is a folder; name a file in it.") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableFile(
            f"{file} cannot be opened ({reason.lower()}); check that you may read it."
        ) from error


def _too_large(file: str, size: int, megabytes: int) -> UnreadableFile:
    return UnreadableFile(
        f"{file} has {size / 1e6:,.0f} MB and at most {megabytes:,} MB are read; "
        "split it, or save it as Parquet."
    )


def _kind(file: str, content: bytes) -> str:
    """Tell what the file is, or why it is not read."""
    for magic, kind, remedy in FOREIGN:
        if content.startswith(magic):
            raise UnreadableFile(f"{file} is {kind}, which is not read; {remedy}.")
    if content.startswith(b"PK"):
        return EXCEL
    if content.startswith(b"PAR1"):
        return PARQUET
    if is_markup(content):
        return PAGE
    start = content[:200].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"{", b"[{", b"[[")):
        raise UnreadableFile(f"{file} is JSON, which is not read; save it as CSV or Excel.")
    return TEXT


def is_markup(content: bytes) -> bool:
    """Whether a file begins as a web page or as Excel's XML."""
    start = content[:400].replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n").lower()
    return start.startswith(MARKUP)


def frame_table(frame: pd.DataFrame, file: str, limits: ReadingLimits) -> CellTable:
    """Take a data frame as if it had been saved: a named index is the first column.

    Args:
        frame: The data.
        file: What the file is called in sentences.
        limits: What a file may hold at most.
    """
    plain = frame
    if not _is_default(frame.index):
        plain = frame.reset_index()
    if plain.columns.nlevels > 1:
        plain = plain.set_axis([_joined(label) for label in plain.columns], axis=1)
    if len(plain.columns) > limits.columns or len(plain) > limits.rows:
        raise UnreadableFile(
            f"{file} has {len(plain):,} rows and {len(plain.columns):,} columns; "
            f"at most {limits.rows:,} and {limits.columns:,} are read."
        )
    if not len(plain.columns):
        raise UnreadableFile(f"{file} is empty; give a table with columns and rows.")
    names = check_names(file, [_label(label) for label in plain.columns], 1)
    columns = tuple(series_column(name, plain.iloc[:, i]) for i, name in enumerate(names))
    return CellTable(
        file=file,
        columns=columns,
        rows=np.arange(2, len(plain) + 2, dtype=np.int64),
        rows_read=len(plain),
        header_row=1,
        findings=(),
        guessed={},
    )


def _is_default(index: pd.Index[Any]) -> bool:
    return isinstance(index, pd.RangeIndex) and index.name is None and index.start == 0


def _joined(label: Any) -> str:
    parts = label if isinstance(label, tuple) else (label,)
    return " ".join(str(part) for part in parts if str(part))


def _label(label: Any) -> str:
    if label is None or (isinstance(label, float) and np.isnan(label)):
        return ""
    if isinstance(label, pd.Timestamp):
        return label.isoformat().removesuffix("T00:00:00")
    return " ".join(str(label).split())


def _beyond_floats(smallest: Any, largest: Any) -> bool:
    """Whether whole numbers are too long for floats, as account numbers may be."""
    return bool(not pd.isna(largest) and max(-int(smallest), int(largest)) > EXACT_WHOLE)


def series_column(name: str, series: pd.Series[Any]) -> CellColumn:
    """Pack one column of a data frame, without leaving arrays where it is numeric."""
    kind = series.dtype
    if isinstance(kind, pd.DatetimeTZDtype):
        series, kind = series.dt.tz_localize(None), np.dtype("datetime64[us]")
    if pd.api.types.is_bool_dtype(kind):
        return mixed_column(name, series.tolist())
    if pd.api.types.is_integer_dtype(kind) and _beyond_floats(series.min(), series.max()):
        return mixed_column(name, [None if pd.isna(cell) else int(cell) for cell in series])
    if pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_complex_dtype(kind):
        numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
        if np.isinf(numbers).any():
            return mixed_column(name, numbers.tolist())
        return CellColumn(name, numbers=numbers.copy())
    if pd.api.types.is_datetime64_any_dtype(kind):
        return CellColumn(name, times=series.to_numpy(dtype="datetime64[us]"))
    blank = series.isna().to_numpy()
    cells = [None if empty else cell for cell, empty in zip(series, blank, strict=True)]
    return mixed_column(name, cells)
