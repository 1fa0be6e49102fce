"""Excel: one sheet of a workbook, checked before it is unpacked.

An .xlsx file is a zip of XML. A few kilobytes can claim to be gigabytes, so the claimed sizes are
checked first, part by part; and a document type, by which XML can be made to explode, has no place
in one.
"""

from __future__ import annotations

import html
import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np

from imop_engine.errors import UnreadableFile
from imop_engine.tables.cells import CellColumn, CellTable, mixed_column
from imop_engine.tables.dates import read_dates
from imop_engine.tables.reading_limits import (
    MEGABYTE,
    SHEET_MEGABYTES,
    SHEET_TIMES,
    STRINGS_MEGABYTES,
    STRINGS_TIMES,
    UNPACKED_TIMES_LIMIT,
    ReadingLimits,
)
from imop_engine.tables.reading_report import KEPT, Cure, Guess, Notes
from imop_engine.tables.rows import HEAD_ROWS, Cells, build_table, find_header, one_line
from imop_engine.tables.sheet_choice import ANY_TABLE, SHEETS_NAMED, Wanted, likeness
from imop_engine.tables.sheet_rows import SheetReader

WORKBOOK_PART: Final = "xl/workbook.xml"
LONGEST_LIST: Final = 1_000_000  # the list of the sheets of any honest workbook is far shorter
SHEET_TAG: Final = re.compile(r"(?:\w+:)?sheet\s")
SHEET_NAME: Final = re.compile(r"\sname=\"([^\"]*)\"")
SHEET_PARTS: Final = "xl/worksheets/"
DOCUMENT_TYPE: Final = b"<!DOCTYPE"
PROLOGUE_BYTES: Final = 2048
# Sheets that are looked at to choose one; nobody keeps the table behind so many others.
SHEETS_LOOKED_AT: Final = 40


@dataclass(frozen=True)
class Sheet:
    """One sheet: its name, the part it is in, and whether a person sees it."""

    title: str
    part: str
    visible: bool


@dataclass(frozen=True, eq=False)
class OpenWorkbook:
    """An open workbook: its package, its sheets, and what their cells refer to."""

    package: zipfile.ZipFile
    sheets: tuple[Sheet, ...]
    strings: Sequence[str]
    dates: frozenset[int]
    durations: frozenset[int]
    epoch: Any


def read_workbook(
    file: str,
    content: bytes,
    sheet: str | int | None,
    limits: ReadingLimits,
    wanted: Wanted = ANY_TABLE,
) -> CellTable:
    """Read one sheet: the named one, or the one that looks most like the table that is wanted.

    Args:
        file: What the file is called in sentences.
        content: The file's bytes.
        sheet: Name or number of a workbook's sheet; None chooses by what the sheets hold.
        limits: What a file may hold at most.
        wanted: What the table should be like.
    """
    _check_package(file, content, limits)
    with _open(file, content) as book:
        chosen, reason, alike = _choose(file, book, sheet, limits, wanted)
        guessed = {"sheet": Guess(chosen.title, reason)}
        with _sheet_rows(file, book, chosen, limits) as rows:
            table = build_table(file, rows, CellPacking(), limits, guessed)
        names = [one.title for one in book.sheets]
    return _noting_other_sheets(table, names, chosen.title, sheet, alike)


def sheet_names(source: bytes | str | Path, *, name: str | None = None) -> list[str]:
    """The names of the sheets in their order; none where the file is no Excel workbook.

    Only the list is unpacked, and no more of it than a list is long: the file comes from outside.

    Args:
        source: The file's bytes, or where it is.
        name: What the file is called in sentences; there are none here.
    """
    try:
        content = source if isinstance(source, bytes) else Path(source).read_bytes()
        with zipfile.ZipFile(io.BytesIO(content)) as package, package.open(WORKBOOK_PART) as part:
            text = part.read(LONGEST_LIST).decode("utf-8", "replace")
    except (zipfile.BadZipFile, KeyError, OSError, ValueError, RuntimeError, NotImplementedError):
        return []  # reading the file says what is wrong with it
    # Tag by tag, so that a tag that never ends is looked at once and not from every place in it.
    tags = (piece.partition(">")[0] for piece in text.split("<"))
    found = (SHEET_NAME.search(tag) for tag in tags if SHEET_TAG.match(tag))
    return [html.unescape(name.group(1)) for name in found if name]


def _check_package(file: str, content: bytes, limits: ReadingLimits) -> None:
    """Refuse what is no workbook, or would explode."""
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
    _check_sizes(file, parts, len(content), limits)
    try:
        for part in parts:
            if part.filename.endswith((".xml", ".rels")):
                with package.open(part) as stream:
                    if DOCUMENT_TYPE in stream.read(PROLOGUE_BYTES):
                        raise UnreadableFile(
                            f"{file} carries an XML document type, which no spreadsheet writes; "
                            "open it and save it again."
                        )
    except UnreadableFile:
        raise
    except Exception as error:  # unpacking a hostile part may end in zlib, lzma, struct or memory
        raise damaged from error


def _check_sizes(
    file: str, parts: list[zipfile.ZipInfo], packed: int, limits: ReadingLimits
) -> None:
    """Refuse a package that would unpack to too much, or one part of which would."""
    unpacked = sum(part.file_size for part in parts)
    most = UNPACKED_TIMES_LIMIT * limits.size
    if unpacked > most:
        raise UnreadableFile(
            f"{file} would unpack to {unpacked / MEGABYTE:,.0f} MB and at most "
            f"{most / MEGABYTE:,.0f} MB are unpacked; save the sheet as CSV or Parquet."
        )
    for part in parts:
        if not part.filename.endswith((".xml", ".rels")):
            continue
        is_sheet = part.filename.startswith(SHEET_PARTS)
        room = (SHEET_TIMES, SHEET_MEGABYTES) if is_sheet else (STRINGS_TIMES, STRINGS_MEGABYTES)
        most = limits.unpacked(packed, *room)
        if part.file_size > most:
            raise UnreadableFile(
                f"{file}, part {part.filename}: it would unpack to "
                f"{part.file_size / MEGABYTE:,.0f} MB, and at most {most / MEGABYTE:,.0f} MB are "
                f"unpacked of a file of {packed / MEGABYTE:,.1f} MB; save the sheet as CSV or "
                "Parquet."
            )


@contextmanager
def _open(file: str, content: bytes) -> Iterator[OpenWorkbook]:
    try:
        book = _book(content)
    except MemoryError:
        raise
    except Exception as error:
        # openpyxl has no error type of its own: a broken part may raise almost anything.
        raise UnreadableFile(
            f"{file} is a damaged Excel file; open it and save it again."
        ) from error
    try:
        yield book
    finally:
        book.package.close()


def _book(content: bytes) -> OpenWorkbook:
    """What openpyxl knows of a workbook, without its sheets: it would read each to measure it."""
    import warnings

    from openpyxl.reader.excel import ExcelReader
    from openpyxl.styles.stylesheet import apply_stylesheet

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl warns of styles, which do not concern us
        reader = ExcelReader(io.BytesIO(content), read_only=True, keep_links=False)
        reader.read_manifest()
        reader.read_strings()
        reader.read_workbook()
        apply_stylesheet(reader.archive, reader.wb)
        sheets = tuple(
            Sheet(sheet.name, part.target, sheet.state in (None, "visible"))
            for sheet, part in reader.parser.find_sheets()
            if part.target in reader.valid_files and "chartsheet" not in part.Type
        )
    about = reader.wb
    return OpenWorkbook(
        reader.archive,
        sheets,
        reader.shared_strings,
        frozenset(about._date_formats),
        frozenset(about._timedelta_formats),
        about.epoch,
    )


def _choose(
    file: str, book: OpenWorkbook, sheet: str | int | None, limits: ReadingLimits, wanted: Wanted
) -> tuple[Sheet, str, tuple[str, ...]]:
    """The sheet to read, why, and which others have the same columns."""
    sheets = book.sheets
    names = [one.title for one in sheets]
    if isinstance(sheet, str):
        if sheet not in names:
            cures = tuple(Cure("sheet", name, f"Read {name}") for name in names[:SHEETS_NAMED])
            raise UnreadableFile(
                f"{file} has no sheet {sheet!r}; choose one of {_listed(names)}.", cures
            )
        return sheets[names.index(sheet)], "chosen by name", ()
    if sheet is not None:
        if not 1 <= sheet <= len(sheets):
            raise UnreadableFile(
                f"{file} has no sheet number {sheet}; choose 1 to {len(sheets)}: {_listed(names)}."
            )
        return sheets[sheet - 1], "chosen by position", ()
    visible = [one for one in sheets if one.visible][:SHEETS_LOOKED_AT]
    heads = ((one, _head(file, book, one, limits)) for one in visible)
    filled = [(one, head) for one, head in heads if any(map(any, head))]
    if not filled:
        raise UnreadableFile(f"{file} is empty; choose a file with a header and rows below it.")
    if len(filled) == 1:
        return filled[0][0], "the only visible sheet with cells in it", ()
    scores = [likeness(head, wanted) for _, head in filled]
    best = scores.index(max(scores))
    if scores[best] <= 0:
        why = "the first visible sheet with cells in it; none looks like a table"
        return filled[0][0], why, ()
    columns = _columns(filled[best][1])
    alike = tuple(
        one.title
        for place, (one, head) in enumerate(filled)
        if place != best and columns and scores[place] > 0 and _columns(head) == columns
    )
    same = [filled[best][0], *(one for one in visible if one.title in alike)]
    days = read_dates(mixed_column("sheet", [one.title for one in same])).values
    if alike and not np.isnat(days).any():
        latest = same[int(np.argmax(days))]
        others = tuple(one.title for one in same if one is not latest)
        return latest, "the latest date among sheets with the same columns", others
    return filled[best][0], f"of {len(filled)} sheets it looks most like {wanted.what}", alike


def _columns(head: list[Cells]) -> list[str]:
    """The names of a sheet's columns; none where it has no header."""
    header = find_header(head)
    return [] if header is None else [str(cell) for cell in head[header] if cell is not None]


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:SHEETS_NAMED]) or "no sheets"
    return shown + (f" and {len(names) - SHEETS_NAMED:,} more" if names[SHEETS_NAMED:] else "")


def _head(file: str, book: OpenWorkbook, sheet: Sheet, limits: ReadingLimits) -> list[Cells]:
    """The first rows of a sheet; none where it cannot be read, which is for reading it to say."""
    try:
        with _sheet_rows(file, book, sheet, limits) as rows:
            head: list[Cells] = []
            # empty rows at the top of a sheet are no reason to call it empty
            for row in rows:
                if head or row:
                    head.append(row)
                if len(head) == HEAD_ROWS:
                    break
            return head
    except UnreadableFile:
        return [["unreadable"]]


@contextmanager
def _sheet_rows(
    file: str, book: OpenWorkbook, sheet: Sheet, limits: ReadingLimits
) -> Iterator[Iterator[Cells]]:
    """The rows of a sheet; its part is closed at the end."""
    reader = SheetReader(
        file, sheet.title, book.strings, book.dates, book.durations, book.epoch, limits
    )
    try:
        stream = book.package.open(sheet.part)
    except Exception as error:  # a part that is not there, or packed in a way nobody knows
        raise UnreadableFile(
            f"{file}, sheet {sheet.title}: the cells are damaged; open it and save it again."
        ) from error
    try:
        yield reader.rows(stream)
    finally:
        stream.close()


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


def _noting_other_sheets(
    table: CellTable,
    names: list[str],
    chosen: str,
    asked: str | int | None,
    alike: tuple[str, ...],
) -> CellTable:
    table = replace(table, sheets=tuple(names))
    others = [name for name in names if name != chosen]
    if asked is not None or not others:
        return table
    notes = Notes(table.file)
    if alike:
        also = f"{_listed(list(alike))} {'has' if len(alike) == 1 else 'have'} the same columns"
        notes.add(
            f"only the sheet {chosen} is read, though {also}",
            KEPT,
            "choose the sheet, or put the rows of all into one with a column of dates",
            needs=True,
            cures=[Cure("sheet", name, f"Read {name}") for name in (chosen, *alike)[:SHEETS_NAMED]],
        )
        return replace(table, findings=(*table.findings, *notes.findings))
    notes.add(
        f"only the sheet {chosen} is read, not {_listed(others)}",
        KEPT,
        "name another sheet to read that one instead",
        needs=False,
        cures=[Cure("sheet", name, f"Read {name}") for name in others[:SHEETS_NAMED]],
    )
    return replace(table, findings=(*table.findings, *notes.findings))
