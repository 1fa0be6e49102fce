"""Excel: one sheet of a workbook, checked before it is unpacked.

An .xlsx file is a zip of XML. A few kilobytes can claim to be gigabytes, so the claimed sizes are
added up first; and a document type, by which XML can be made to explode, has no place in one.
"""

from __future__ import annotations

import html
import io
import re
import zipfile
from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

from imop_engine.errors import UnreadableFile
from imop_engine.tables.cells import CellColumn, CellTable, mixed_column
from imop_engine.tables.reading_report import KEPT, Guess, Notes
from imop_engine.tables.rows import Cells, ReadingLimits, build_table, one_line

# Unpacked XML is about ten times the numbers in it.
UNPACKED_TIMES_LIMIT: Final = 4
WORKBOOK_PART: Final = "xl/workbook.xml"
LONGEST_LIST: Final = 1_000_000  # the list of the sheets of any honest workbook is far shorter
SHEET_NAME: Final = re.compile(r"<(?:\w+:)?sheet\b[^>]*?\bname=\"([^\"]*)\"")
DOCUMENT_TYPE: Final = b"<!DOCTYPE"
PROLOGUE_BYTES: Final = 2048
# The last row of any spreadsheet. A cell that claims a later one would have us count to it.
LAST_ROW: Final = 1_048_576


def read_workbook(
    file: str, content: bytes, sheet: str | int | None, limits: ReadingLimits
) -> CellTable:
    """Read one sheet: the named one, or the first that has anything in it.

    Args:
        file: What the file is called in sentences.
        content: The file's bytes.
        sheet: Name or number of a workbook's sheet; None takes the first that has anything in it.
        limits: What a file may hold at most.
    """
    with_formulas = _check_package(file, content, limits)
    book = _open(file, content)
    try:
        chosen, reason = _choose(file, book, sheet)
        guessed = {"sheet": Guess(chosen.title, reason)}
        table = build_table(file, _rows(file, chosen, limits), CellPacking(), limits, guessed)
    finally:
        book.close()
    if with_formulas:
        _check_formulas(file, content, chosen.title, limits)
    return _noting_other_sheets(table, book.sheetnames, chosen.title, sheet)


def sheet_names(content: bytes) -> list[str]:
    """The names of the sheets in their order; none where the file is no Excel workbook.

    Only the list is unpacked, and no more of it than a list is long: the file comes from outside.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as package, package.open(WORKBOOK_PART) as part:
            text = part.read(LONGEST_LIST).decode("utf-8", "replace")
    except (zipfile.BadZipFile, KeyError, OSError, ValueError, RuntimeError, NotImplementedError):
        return []  # reading the file says what is wrong with it
    return [html.unescape(name) for name in SHEET_NAME.findall(text)]


def _check_package(file: str, content: bytes, limits: ReadingLimits) -> bool:
    """Refuse what is no workbook or would explode; return whether there may be formulas."""
    damaged = UnreadableFile(f"{file} is a damaged Excel file; open it and save it again.")
    try:
        package = zipfile.ZipFile(io.BytesIO(content))
        parts = package.infolist()
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise damaged from error
    names = {part.filename for part in parts}
    if WORKBOOK_PART not in names:
        raise UnreadableFile(
            f"{file} is a zip archive without an Excel workbook in it; "
            "unpack it, or save the table as .xlsx or CSV."
        )
    unpacked = sum(part.file_size for part in parts)
    most = UNPACKED_TIMES_LIMIT * limits.megabytes * 1_000_000
    if unpacked > most:
        raise UnreadableFile(
            f"{file} would unpack to {unpacked / 1e6:,.0f} MB and at most {most / 1e6:,.0f} MB "
            "are unpacked; save the sheet as CSV or Parquet."
        )
    formulas = False
    try:
        for part in parts:
            if part.filename.endswith((".xml", ".rels")):
                with package.open(part) as stream:
                    if DOCUMENT_TYPE in stream.read(PROLOGUE_BYTES):
                        raise UnreadableFile(
                            f"{file} carries an XML document type, which no spreadsheet writes; "
                            "open it and save it again."
                        )
            if part.filename.startswith("xl/worksheets/") and not formulas:
                formulas = _has_formulas(package, part)
    except UnreadableFile:
        raise
    except Exception as error:  # unpacking a hostile part may end in zlib, lzma, struct or memory
        raise damaged from error
    return formulas


def _has_formulas(package: zipfile.ZipFile, part: zipfile.ZipInfo) -> bool:
    with package.open(part) as stream:
        tail = b""
        while block := stream.read(1 << 20):
            if b"<f>" in tail + block or b"<f " in tail + block:
                return True
            tail = block[-4:]
    return False


def _open(file: str, content: bytes, *, values: bool = True) -> Any:
    import warnings

    from openpyxl import load_workbook

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # openpyxl warns of styles, which do not concern us
            return load_workbook(io.BytesIO(content), read_only=True, data_only=values)
    except Exception as error:
        # openpyxl has no error type of its own: a broken part may raise almost anything.
        raise UnreadableFile(
            f"{file} is a damaged Excel file; open it and save it again."
        ) from error


def _choose(file: str, book: Any, sheet: str | int | None) -> tuple[Any, str]:
    sheets = list(book.worksheets)
    names = [one.title for one in sheets]
    if isinstance(sheet, str):
        if sheet not in names:
            raise UnreadableFile(
                f"{file} has no sheet {sheet!r}; it has {', '.join(names) or 'no sheets'}."
            )
        return sheets[names.index(sheet)], "chosen by name"
    if sheet is not None:
        if not 1 <= sheet <= len(sheets):
            raise UnreadableFile(
                f"{file} has no sheet number {sheet}; it has {len(sheets)}: {', '.join(names)}."
            )
        return sheets[sheet - 1], "chosen by position"
    for one in sheets:
        if one.sheet_state == "visible" and _has_cells(file, one):
            return one, "the first visible sheet with cells in it"
    raise UnreadableFile(f"{file} is empty; choose a file with a header and rows below it.")


def _has_cells(file: str, sheet: Any) -> bool:
    return any(cell is not None for row in _guarded(file, sheet) for cell in row)


def _guarded(file: str, sheet: Any, values: bool = True) -> Iterator[tuple[Any, ...]]:
    """Yield rows, of values or of cells; a broken part of the XML ends in our own error."""
    try:
        # The size a sheet claims for itself may be wrong either way; read what is there.
        sheet.reset_dimensions()
        for number, row in enumerate(sheet.iter_rows(values_only=values), start=1):
            if number > LAST_ROW:
                raise UnreadableFile(
                    f"{file}, sheet {sheet.title}: a cell claims a row beyond {LAST_ROW:,}, the "
                    "last that a spreadsheet has; open it and save it again."
                )
            yield row
    except UnreadableFile:
        raise
    except Exception as error:  # as above: openpyxl raises whatever a broken part leads to
        raise UnreadableFile(
            f"{file}, sheet {sheet.title}: the cells are damaged; open it and save it again."
        ) from error


def _rows(file: str, sheet: Any, limits: ReadingLimits) -> Iterator[Cells]:
    for row in _guarded(file, sheet):
        if len(row) > limits.columns:
            raise UnreadableFile(
                f"{file} has {len(row):,} columns and at most {limits.columns:,} are read; "
                "split it, or turn it into a long table with one row per value."
            )
        yield row


class CellPacking:
    """Cells that each have their own type."""

    def heading(self, cell: Any) -> str:
        """Spell a column's name."""
        return one_line(cell)

    def pack(self, cells: tuple[Any, ...]) -> tuple[Any, ...]:
        """Pack one chunk."""
        return cells

    def join(self, name: str, chunks: list[tuple[Any, ...]]) -> CellColumn:
        """Make the column of its chunks."""
        return mixed_column(name, list(chain.from_iterable(chunks)))


def _check_formulas(file: str, content: bytes, title: str, limits: ReadingLimits) -> None:
    """Refuse formulas that nobody has calculated: they would read as empty cells."""
    values, written = _open(file, content), _open(file, content, values=False)
    try:
        # Two views of one sheet; the first that ends ends both.
        pairs = zip(
            _guarded(file, values[title], values=False),
            _rows(file, written[title], limits),
            strict=False,
        )
        for number, (shown, typed) in enumerate(pairs, start=1):
            for i, cell in enumerate(typed):
                # A formula whose result is the empty text was calculated: its cell says "text".
                calculated = shown[i].value is not None or shown[i].data_type == "str"
                if not calculated and _is_formula(cell):
                    from openpyxl.utils import get_column_letter

                    raise UnreadableFile(
                        f"{file}, cell {get_column_letter(i + 1)}{number}: the formula was never "
                        "calculated; open the file in a spreadsheet and save it again."
                    )
    finally:
        values.close()
        written.close()


def _is_formula(cell: Any) -> bool:
    """Whether a cell holds a formula: text, or one of the objects for those that fill a range."""
    from openpyxl.worksheet.formula import ArrayFormula, DataTableFormula

    if isinstance(cell, ArrayFormula | DataTableFormula):
        return True
    return isinstance(cell, str) and cell.startswith("=")


def _noting_other_sheets(
    table: CellTable, names: list[str], chosen: str, asked: str | int | None
) -> CellTable:
    others = [name for name in names if name != chosen]
    if asked is not None or not others:
        return table
    from dataclasses import replace

    notes = Notes(table.file)
    notes.add(
        f"only the sheet {chosen} is read, not {', '.join(others)}",
        KEPT,
        "name another sheet to read that one instead",
    )
    return replace(table, findings=(*table.findings, *notes.findings))
