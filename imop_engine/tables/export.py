"""Results out: CSV, Excel, Parquet, JSON; safe in a spreadsheet, and exact to the last bit.

Text that a spreadsheet would run as a formula gets an apostrophe in front in CSV, which reading
takes off again (formula_text); in a workbook the cell is marked as text. Numbers stay numbers,
negative ones too.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from imop_engine import disk
from imop_engine.errors import InvalidInput
from imop_engine.tables.formula_text import FORMULA_STARTS, plain_text, safe_text

FORMATS: Final = (".csv", ".xlsx", ".parquet", ".json")
SHEET_NAME: Final = 31  # characters, Excel's limit
SHEET_ROWS: Final = 1_048_576  # Excel's limit, heading included
WIDEST_COLUMN: Final = 60
SAMPLED_ROWS: Final = 200  # rows looked at to choose the width of a column
# An asset may be called NA or None; only an empty cell is nothing.
_NOTHING: Final[dict[str, Any]] = {"keep_default_na": False, "na_values": [""]}
# From version 3 on pandas reads every digit unasked, and warns who asks.
_EXACT: Final[dict[str, Any]] = (
    {} if int(pd.__version__.partition(".")[0]) >= 3 else {"float_precision": "round_trip"}
)
# The archive's date is fixed, so that the same tables make the same bytes.
ARCHIVE_DATE: Final = (1980, 1, 1, 0, 0, 0)


def csv_text(table: pd.DataFrame) -> str:
    """The table as CSV. Text cells and headings are made safe; numbers keep every digit."""
    safe = table.rename(columns=lambda name: safe_text(str(name)))
    for at in range(safe.shape[1]):
        if _is_text(safe.iloc[:, at]):
            cells = safe.iloc[:, at].map(
                lambda one: safe_text(one) if isinstance(one, str) else one
            )
            safe.isetitem(at, cells.to_numpy())
    return str(safe.to_csv(index=False, lineterminator="\n"))


def read_csv_text(text: str) -> pd.DataFrame:
    """Read back what `csv_text` wrote: every digit, and texts as they were."""
    read: pd.DataFrame = pd.read_csv(io.StringIO(text), **_NOTHING, **_EXACT)
    table: pd.DataFrame = read.rename(columns=lambda name: plain_text(str(name)))
    for at in range(table.shape[1]):
        if _is_text(table.iloc[:, at]):
            cells = table.iloc[:, at].map(
                lambda one: plain_text(one) if isinstance(one, str) else one
            )
            table.isetitem(at, cells.to_numpy())
    return table


def json_text(tables: Mapping[str, pd.DataFrame], about: Mapping[str, Any] | None = None) -> str:
    """Tables as one JSON document: {name: [row, ...]}; what is no number is null."""
    document: dict[str, Any] = dict(about or {})
    document |= {name: records(table) for name, table in tables.items()}
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)


def read_table(path: Path | str) -> pd.DataFrame:
    """Read back a table that `write_table` wrote, with every digit and texts as they were."""
    source = Path(path)
    ending = _ending(source)
    if not source.is_file():
        raise InvalidInput(f"{source}: there is no such file; check the path.")
    try:
        if ending == ".csv":
            return read_csv_text(source.read_text(encoding="utf-8-sig"))
        if ending == ".json":
            return read_json_table(source)
        if ending == ".parquet":
            return pd.read_parquet(source)
        read: pd.DataFrame = pd.read_excel(source, **_NOTHING)
        return read
    except InvalidInput:
        raise
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise InvalidInput(
            f"{source.name} cannot be read as {ending.removeprefix('.')}: "
            f"{' '.join(str(error).split())}."
        ) from None


def read_json_table(path: Path) -> pd.DataFrame:
    """A table from a JSON list of rows, as `write_table` writes it."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InvalidInput(f"{path.name} is not JSON: {error}.") from None
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise InvalidInput(
            f"{path.name} is not a table; give a list of rows, "
            '[{"investor": "A1", "BONDS": 0.4, "STOCKS": 0.6}] say.'
        )
    return pd.DataFrame(rows)


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows as plain values: JSON has no infinity and no NaN, so those are null."""
    columns = [str(name) for name in table.columns]
    values = [[plain(cell) for cell in table.iloc[:, at]] for at in range(len(columns))]
    return [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]


def plain(cell: Any) -> Any:
    """A cell as JSON takes it."""
    if isinstance(cell, (np.generic,)):
        cell = cell.item()
    if cell is None or cell is pd.NaT or (isinstance(cell, float) and not math.isfinite(cell)):
        return None
    if isinstance(cell, (bool, int, float, str)):
        return cell
    if isinstance(cell, Mapping):
        return {str(key): plain(value) for key, value in cell.items()}
    if isinstance(cell, (list, tuple, np.ndarray)):
        return [plain(value) for value in cell]
    return date_text(cell) if hasattr(cell, "isoformat") else str(cell)


def date_text(moment: Any) -> str:
    """A date without a time of day as 2024-03-31, any other moment in full."""
    text = str(moment.isoformat())
    return text.removesuffix("T00:00:00")


def write_table(table: pd.DataFrame, path: Path | str) -> Path:
    """Write one table in the format of the file's ending."""
    target = Path(path)
    ending = _ending(target)
    if ending == ".csv":
        content = csv_text(table).encode()
    elif ending == ".xlsx":
        content = workbook({target.stem: table})
    elif ending == ".parquet":
        content = parquet(table)
    else:
        content = (json.dumps(records(table), indent=1, ensure_ascii=False) + "\n").encode()
    disk.replace_file(target, content)
    return target


def write_tables(tables: Mapping[str, pd.DataFrame], path: Path | str) -> Path:
    """Write several tables into one file: a workbook with a sheet each, or one JSON document.

    CSV and Parquet hold one table a file, so several go into an archive: `study.csv` and
    `study.csv.zip` both make the file `study.csv.zip`. The path written is returned.
    """
    target = Path(path)
    inner = Path(target.stem) if target.suffix.lower() == ".zip" else target
    if target.suffix.lower() == ".zip" and inner.suffix == "":
        inner = inner.with_suffix(".csv")
    ending = _ending(inner)
    if ending == ".xlsx":
        content = workbook(tables)
    elif ending == ".json":
        content = (json_text(tables) + "\n").encode()
    else:
        if target.suffix.lower() != ".zip":
            target = target.with_name(target.name + ".zip")
        content = archive(tables, ending)
    disk.replace_file(target, content)
    return target


def archive(tables: Mapping[str, pd.DataFrame], ending: str = ".csv") -> bytes:
    """Tables as files of one zip archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as out:
        for name, table in tables.items():
            content = parquet(table) if ending == ".parquet" else csv_text(table).encode()
            entry = zipfile.ZipInfo(f"{name}{ending}", ARCHIVE_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(entry, content)
    return buffer.getvalue()


def parquet(table: pd.DataFrame) -> bytes:
    """One table as Parquet; a column of mixed values becomes text."""
    flat = table.rename(columns=str)
    for at in range(flat.shape[1]):
        column = flat.iloc[:, at]
        if column.dtype == object and not column.map(lambda one: isinstance(one, str)).all():
            cells = column.map(lambda one: None if _is_missing(one) else str(one))
            flat.isetitem(at, cells.to_numpy())
    buffer = io.BytesIO()
    flat.to_parquet(buffer, index=False)
    return buffer.getvalue()


def workbook(tables: Mapping[str, pd.DataFrame]) -> bytes:
    """Tables as an Excel workbook: a formatted sheet each."""
    from openpyxl import Workbook

    book = Workbook()
    book.remove(book.worksheets[0])
    for name, table in tables.items():
        if len(table) + 1 > SHEET_ROWS:
            raise InvalidInput(
                f"the table {name} has {len(table):,} rows and an Excel sheet holds "
                f"{SHEET_ROWS - 1:,}; write CSV or Parquet instead."
            )
        _fill(book.create_sheet(_sheet_name(name, book.sheetnames)), table)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def _fill(sheet: Any, table: pd.DataFrame) -> None:
    from openpyxl.styles import Alignment, Border, Font, PatternFill, Side
    from openpyxl.utils import get_column_letter

    bold = Font(bold=True, color="1F2933")
    tint = PatternFill("solid", fgColor="E8EEF4")
    line = Border(bottom=Side(style="thin", color="9AA5B1"))
    for at, name in enumerate(table.columns, start=1):
        cell = sheet.cell(1, at)
        _put(cell, str(name))
        cell.font, cell.fill, cell.border = bold, tint, line
        text = _is_text(table.iloc[:, at - 1])
        cell.alignment = Alignment(horizontal="left" if text else "right", vertical="center")
        look = _look(str(name), table.iloc[:, at - 1])
        widest = len(str(name))
        for row, value in enumerate(table.iloc[:, at - 1], start=2):
            cell = sheet.cell(row, at)
            _put(cell, value)
            if look is not None:
                cell.number_format = look
            if row <= SAMPLED_ROWS and isinstance(value, str):
                widest = max(widest, len(value))
        sheet.column_dimensions[get_column_letter(at)].width = min(
            max(10, widest + 2), WIDEST_COLUMN
        )
    sheet.freeze_panes = "B2"
    if len(table):
        sheet.auto_filter.ref = sheet.dimensions


def _put(cell: Any, value: Any) -> None:
    """Put a value into a cell so that text is never run."""
    import re

    value = plain(value) if not hasattr(value, "isoformat") or value is pd.NaT else value
    if isinstance(value, pd.Timestamp):
        value = value.to_pydatetime()
    if isinstance(value, str):
        # what XML cannot carry cannot be in a workbook either
        cell.value = re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", "", value)
        cell.data_type = "s"
        if value.startswith(FORMULA_STARTS):
            cell.quotePrefix = True
    elif isinstance(value, float) and float(f"{value:.16g}") != value:
        # openpyxl writes 16 digits; some numbers need 17. As text marked as a number all arrive.
        cell.value = repr(value)
        cell.data_type = "n"
    else:
        cell.value = value


def _look(name: str, column: pd.Series[Any]) -> str | None:
    """How a spreadsheet shows a column; the value itself keeps every digit."""
    if pd.api.types.is_bool_dtype(column) or _is_text(column):
        return None
    if pd.api.types.is_datetime64_any_dtype(column):
        return "yyyy-mm-dd"
    if pd.api.types.is_integer_dtype(column):
        return "#,##0"
    if name in ("estimate", "low", "high", "history", "true", "error", "risk", "return", "share"):
        return "0.00%"
    if name == "gap":  # a return left on the table is often some basis points
        return "0.0000%"
    return "0.0000" if pd.api.types.is_float_dtype(column) else None


def _sheet_name(name: str, taken: list[str]) -> str:
    clean = "".join("-" if one in r"[]:*?/\'" else one for one in name)[:SHEET_NAME] or "table"
    number = 2
    while clean in taken:
        clean = f"{clean[: SHEET_NAME - 3]} {number}"
        number += 1
    return clean


def _is_text(column: pd.Series[Any]) -> bool:
    return not (
        pd.api.types.is_numeric_dtype(column) or pd.api.types.is_datetime64_any_dtype(column)
    )


def _is_missing(cell: Any) -> bool:
    return cell is None or cell is pd.NaT or (isinstance(cell, float) and math.isnan(cell))


def _ending(path: Path) -> str:
    ending = path.suffix.lower()
    if ending not in FORMATS:
        raise InvalidInput(
            f"{path.name} has no ending we can write; use {', '.join(FORMATS[:-1])} or "
            f"{FORMATS[-1]}."
        )
    return ending
