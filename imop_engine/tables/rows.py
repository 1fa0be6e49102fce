"""From rows of cells to a table: find the header, number the rows, note the odd ones.

CSV and Excel come here alike, as rows of cells; what differs is only how a column is packed.
"""

from __future__ import annotations

import datetime as dt
import re
from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from imop_engine.errors import UnreadableFile
from imop_engine.tables import words as vocabulary
from imop_engine.tables.cells import CellColumn, CellTable, check_names
from imop_engine.tables.column_units import scale_of
from imop_engine.tables.numbers import DASHES, MISSING_WORDS
from imop_engine.tables.reading_limits import ReadingLimits
from imop_engine.tables.reading_report import KEPT, REFUSED, Guess, Notes
from imop_engine.tables.remarks import refuse_second_table, without_remarks

# Rows looked at to tell a header from a title above it and from the data below.
HEAD_ROWS: Final = 60
# A header may lack a name or two, but a row with fewer cells than this share is a title.
HEADER_SHARE: Final = 0.6
# Rows turned into arrays at a time: enough to be fast, few enough that text is soon let go.
CHUNK_ROWS: Final = 20_000

# Every part of it can end in one place only: a long cell is read once, not again and again.
NUMBER: Final = re.compile(r"^[-+(]?[€$£]?\s?[.,]*\d[\d.,]*\s?%?\)?([eE][-+]?\d+)?$")
# Years, months and days that may head a column.
DATE_LIKE: Final = re.compile(
    r"^((19|20)\d\d([-/.]?\d\d?([-/.]?\d\d?)?)?|\d\d?[-/.]\d\d?[-/.](\d\d){1,2})([T ].*)?$"
)

# What a second row of a header says, beside units and currencies: prices, the kind of each number.
HEADINGS: Final = (
    vocabulary.DATE | vocabulary.INVESTOR | vocabulary.ASSET | vocabulary.CURRENCY
    | vocabulary.PRICE | vocabulary.RETURN | vocabulary.WEIGHT | vocabulary.AMOUNT
    | vocabulary.SHARES | vocabulary.GROUPING | frozenset(vocabulary.QUOTE_COLUMNS)
)  # fmt: skip
CODE: Final = re.compile(r"^[A-Z]{3}$")  # of a currency

Cells = Sequence[Any]


class Packing(Protocol):
    """How one kind of file turns cells into columns: chunk by chunk, then all together."""

    def heading(self, cell: Any) -> str:
        """Spell a column's name, without white space around it."""

    def pack(self, cells: tuple[Any, ...]) -> Any:
        """Pack one chunk of a column."""

    def join(self, name: str, chunks: list[Any]) -> CellColumn:
        """Make the column of its chunks."""


def build_table(
    file: str,
    rows: Iterator[Cells],
    packing: Packing,
    limits: ReadingLimits,
    guessed: dict[str, Guess],
) -> CellTable:
    """Assemble a table from all rows of a file, the first of which is row 1.

    Args:
        file: What the file is called in sentences.
        rows: The cells of each row.
        packing: How cells become columns.
        limits: What a file may hold at most.
        guessed: Collects what was detected and why, by the argument that overrides it.
    """
    blank, head = _first_rows(file, rows, limits)
    header = find_header(head)
    notes = Notes(file)
    start, names = _names(file, head, header, packing, notes, blank)
    _check_width(file, len(names), limits)
    gather = _Gather(file, len(names), limits, packing)
    gather.take(chain(head[start:], rows), blank + start + 1)
    columns = tuple(
        packing.join(name, [chunk[i] for chunk in gather.chunks]) for i, name in enumerate(names)
    )
    columns = tuple(c for c in columns if c.filled.any() or not c.name.startswith("column "))
    columns, numbers = without_remarks(columns, gather.row_numbers, notes)
    refuse_second_table(file, columns, numbers)
    gather.note(notes, set(gather.row_numbers) - set(numbers) if gather.short else ())
    return CellTable(
        file=file,
        columns=columns,
        rows=numbers,
        rows_read=gather.rows_read,
        header_row=0 if header is None else blank + header + 1,
        findings=notes.findings,
        guessed=guessed,
    )


def _first_rows(file: str, rows: Iterator[Cells], limits: ReadingLimits) -> tuple[int, list[Cells]]:
    """The rows in which the header is looked for, and how many empty ones stand above them."""
    for blank, row in enumerate(rows):
        if _filled(row):
            return blank, [row, *islice(rows, HEAD_ROWS - 1)]
        if blank >= limits.rows:
            raise _too_many_blank(file, limits)
    raise UnreadableFile(f"{file} is empty; choose a file with a header and rows below it.")


def _too_many_blank(file: str, limits: ReadingLimits) -> UnreadableFile:
    return UnreadableFile(
        f"{file} has more than {limits.rows:,} empty rows; remove them, or save the table alone."
    )


def _check_width(file: str, width: int, limits: ReadingLimits) -> None:
    if width > limits.columns:
        raise UnreadableFile(
            f"{file} has {width:,} columns and at most {limits.columns:,} are read; "
            "split it, or turn it into a long table with one row per value."
        )


def _filled(row: Cells) -> int:
    """How many cells of a row are not empty."""
    return sum(1 for cell in row if cell is not None and str(cell).strip())


def cell_kind(cell: Any) -> str:
    """Tell what a cell could be in a header: "", "word", "date" or "number"."""
    if cell is None:
        return ""
    word = str(cell).strip()
    if not word or word.casefold() in MISSING_WORDS or word in DASHES:
        return ""
    if not isinstance(cell, str):
        is_date = isinstance(cell, dt.date) or DATE_LIKE.match(word.removesuffix(".0"))
        return "date" if is_date else "number"
    if DATE_LIKE.match(word):
        return "date"
    return "number" if NUMBER.match(word) else "word"


def find_header(head: Sequence[Cells]) -> int | None:
    """Return the position of the header, or None where the data begin without one."""
    counts = Counter(count for row in head if (count := _filled(row)))
    if not counts:
        return None
    often = max(counts.values())
    usual = max(count for count, times in counts.items() if times == often)
    for i, row in enumerate(head):
        # A header often has no name over the first column; a title has its words there.
        nameless = bool(row) and not _filled(row[:1]) and _filled(row) >= max(usual - 1, 1)
        if nameless or _filled(row) >= HEADER_SHARE * usual:
            full = None if nameless else _fuller_header(head, i, usual)
            return full if full is not None else i if _is_header(row, head[i + 1 :]) else None
    return None


def _fuller_header(head: Sequence[Cells], first: int, usual: int) -> int | None:
    """Find the header below lines such as "Currency: | USD", which are too few cells for one.

    It has more cells, as many as the rows usually have or one less, and they are words alone.
    """
    enough = max(_filled(head[first]) + 1, usual - 1)
    for i in range(first + 1, len(head)):
        if _filled(head[i]) >= enough:
            # Groups over names are one header of two rows, not a line above the header.
            grouped = i == first + 1 and not _filled(head[i][:1])
            only_words = {cell_kind(cell) for cell in head[i]} <= {"", "word"}
            found = only_words and not grouped and _is_header(head[i], head[i + 1 :])
            return i if found else None
    return None


def _is_header(row: Cells, below: Sequence[Cells]) -> bool:
    """Whether a row names columns: by its words, or by words over cells that are none."""
    kinds = [cell_kind(cell) for cell in row]
    counts = Counter(kind for kind in kinds if kind)
    words, filled = counts["word"], sum(counts.values())
    if words > filled / 2 or (words and words + counts["date"] == filled):
        return True
    return any(kind == "word" and _over_values(below, j) for j, kind in enumerate(kinds))


def _names(
    file: str,
    head: Sequence[Cells],
    header: int | None,
    packing: Packing,
    notes: Notes,
    blank: int,
) -> tuple[int, tuple[str, ...]]:
    """Where the data begin, and the columns' names; `blank` rows stand above the first of these."""
    if header is None:
        start = next(i for i, row in enumerate(head) if _filled(row))
        width = max(_width(row) for row in head)
        notes.add(
            "there is no header; the columns are numbered from the left",
            KEPT,
            "add a first row with the columns' names",
            rows=blank + start + 1,
        )
        return start, check_names(file, [""] * width, blank + start + 1)
    stacked = _stacked_names(head, header)
    second = _second_header(head, header, packing)
    words = _headings(head[header], _width(head[header]), packing)
    groups = header > 0 and stacked is None and second is None and len(set(words)) < len(words)
    groups = groups and _filled(head[header - 1]) > 0
    above = [blank + i + 1 for i in range(header - groups) if _filled(head[i])]
    row = blank + header + 1
    if above:
        notes.add(
            f"text above the header in row {row} is not part of the table",
            KEPT,
            "nothing needs to be done",
            rows=above,
        )
    if stacked is not None:
        return header + 3, check_names(file, stacked, row)
    if second is not None:
        _note_joined(row + 1, second, notes)
        return header + 2, check_names(file, second, row)
    if groups:
        words = _grouped(_headings(head[header - 1], len(words), packing), words)
        _note_joined(row - 1, words, notes)
    return header + 1, check_names(file, words, row)


def _note_joined(row: int, names: list[str], notes: Notes) -> None:
    shown = f"{', '.join(names[1:4])}{' …' if len(names) > 4 else ''}"
    notes.add(
        f"the row belongs to the header; the columns are called {shown}",
        KEPT,
        "nothing needs to be done",
        rows=row,
    )


def _headings(row: Cells, width: int, packing: Packing) -> list[str]:
    words = ["" if cell is None else packing.heading(cell) for cell in row[:width]]
    return words + [""] * (width - len(words))


def _grouped(upper: list[str], lower: list[str]) -> list[str]:
    """Put the group that stands above them before names; a merged cell has its word on the left.

    Names that are told apart without their groups stay as they are: a market knows them so.
    """
    alone = [name or group for name, group in zip(lower, upper, strict=True)]
    if all(alone[1:]) and len(set(alone)) == len(alone):
        return [lower[0] or upper[0], *alone[1:]]
    for j in range(2, len(upper)):
        upper[j] = upper[j] or upper[j - 1]
    pairs = zip(upper[1:], lower[1:], strict=True)
    return [lower[0] or upper[0], *(f"{group} {name}".strip() for group, name in pairs)]


def _stacked_names(head: Sequence[Cells], header: int) -> list[str] | None:
    """Join the header that yfinance writes over three rows: Price / Ticker / Date."""
    rows = [
        [one_line(cell) if cell is not None else "" for cell in row] for row in head[header:][:3]
    ]
    if len(rows) < 3 or not all(rows):
        return None
    if {rows[0][0], rows[1][0]} != {"Price", "Ticker"} or any(rows[2][1:]):
        return None
    fields, tickers = rows[:2] if rows[0][0] == "Price" else rows[1::-1]
    pairs = zip(fields[1:], tickers[1:], strict=False)
    return [rows[2][0] or "Date", *(f"{field} {ticker}".strip() for field, ticker in pairs)]


def _second_header(head: Sequence[Cells], header: int, packing: Packing) -> list[str] | None:
    """Join a header of two rows, as vendors write it: groups over names, or names over fields.

    The second row is one if it has words alone, over cells that mostly are none.
    """
    if header + 1 >= len(head):
        return None
    width = max(_width(head[header]), _width(head[header + 1]))
    upper, lower = (_headings(row, width, packing) for row in head[header : header + 2])
    kinds = [cell_kind(cell) for cell in head[header + 1]]
    over = [j for j in range(1, len(kinds)) if kinds[j] == "word"]
    if not {*kinds} <= {"", "word"} or len(over) < max(2, HEADER_SHARE * (width - 1)):
        return None
    if not all(_over_values(head[header + 2 :], j) for j in over):
        return None
    if all(upper[1:]) and len(set(upper)) == len(upper):
        if _is_one_client(lower):
            return None
        return [upper[0] or lower[0], *_with_units(upper[1:], lower[1:])]
    return _grouped(upper, lower)


def _is_one_client(row: list[str]) -> bool:
    """Whether a row below a whole header is a client's of whom all cells say the same: pending."""
    name, said = row[0], set(row[1:])
    if not name or len(said) != 1 or vocabulary.says(name, HEADINGS):
        return False
    word = said.pop()
    unit = scale_of(word) or CODE.fullmatch(word) or "%" in word
    return not unit and not vocabulary.says(word, HEADINGS)


def _with_units(names: list[str], units: list[str]) -> list[str]:
    """Names with what each column is counted in, where a row below says so and columns differ."""
    if len({unit for unit in units if scale_of(unit)}) < 2:
        return names
    pairs = zip(names, units, strict=True)
    return [f"{name} ({unit})" if scale_of(unit) else name for name, unit in pairs]


def _over_values(below: Sequence[Cells], j: int) -> bool:
    """Whether what stands in this column is mostly no words."""
    kinds = [kind for row in below if j < len(row) and (kind := cell_kind(row[j]))]
    return bool(kinds) and sum(kind != "word" for kind in kinds) >= HEADER_SHARE * len(kinds)


def one_line(cell: Any) -> str:
    """Write a cell out on one line, as the name of a column."""
    return " ".join(str(cell).removesuffix(" 00:00:00").split())


def _width(row: Cells) -> int:
    for i in range(len(row), 0, -1):
        if row[i - 1] is not None and str(row[i - 1]).strip():
            return i
    return 0


class _Gather:
    """Packs rows chunk by chunk, so that the text of a large file is soon let go."""

    def __init__(self, file: str, width: int, limits: ReadingLimits, packing: Packing) -> None:
        self.file, self.width, self.packing, self.limits = file, width, packing, limits
        self.most = min(limits.rows, limits.cells // max(width, 1))
        self.chunks: list[list[Any]] = []
        self.numbers: list[NDArray[np.int64]] = []
        self.blank = array("q")  # there may be millions, of a byte each in the file
        self.short: list[int] = []
        self.long: list[int] = []
        self.count = 0
        self.last = 0

    def take(self, rows: Iterator[Cells], first: int) -> None:
        """Pack all rows; `first` is the number of the first of them."""
        while chunk := list(islice(rows, CHUNK_ROWS)):
            even = set(map(len, chunk)) == {self.width} and all(map(any, chunk))
            if even:
                numbers = np.arange(first, first + len(chunk), dtype=np.int64)
            else:
                chunk, numbers = self._evened(chunk, first)
            first += CHUNK_ROWS
            if len(chunk):
                self.chunks.append([self.packing.pack(cells) for cells in zip(*chunk, strict=True)])
                self.numbers.append(numbers)
                self.count += len(chunk)
                self.last = max(self.last, int(numbers[-1]))
            if self.count > self.most:
                raise UnreadableFile(
                    f"{self.file} has more than {self.most:,} rows of {self.width:,} columns; "
                    "split it, or pass larger limits."
                )

    def _evened(self, chunk: list[Cells], first: int) -> tuple[list[Cells], NDArray[np.int64]]:
        """Bring every row to the header's width, and remember which were odd."""
        even: list[Cells] = []
        numbers: list[int] = []
        for number, row in enumerate(chunk, start=first):
            filled = _width(row)
            if not filled:
                self.blank.append(number)
                if len(self.blank) > self.limits.rows:
                    raise _too_many_blank(self.file, self.limits)
                continue
            self.last = number
            if filled > self.width:
                self.long.append(number)
                continue
            if len(row) < self.width:
                self.short.append(number)
            even.append([*row[: self.width], *[None] * (self.width - len(row))])
            numbers.append(number)
        return even, np.asarray(numbers, dtype=np.int64)

    @property
    def row_numbers(self) -> NDArray[np.int64]:
        return np.concatenate(self.numbers) if self.numbers else np.empty(0, np.int64)

    @property
    def rows_read(self) -> int:
        # Empty rows after the last one with something in it are not rows of the table.
        return self.count + len(self.long) + sum(number < self.last for number in self.blank)

    def note(self, notes: Notes, remarks: Collection[int] = ()) -> None:
        """Write down the odd rows, remarks around the table aside."""
        if len(self.long) > self.count:
            raise UnreadableFile(
                f"{self.file}, row {self.long[0]}: most rows have more than the header's "
                f"{self.width:,} cells; keep one table in the file, put quotes around numbers "
                "with a decimal comma, or save the file with semicolons."
            )
        for rows, what, action, remedy in (
            (
                [number for number in self.blank if number < self.last],
                "the row is empty",
                REFUSED,
                "nothing needs to be done",
            ),
            (
                [number for number in self.short if number not in remarks],
                f"the row has fewer than the header's {self.width:,} cells; the others are empty",
                KEPT,
                "check that the row is complete",
            ),
            (
                self.long,
                f"the row has more than the header's {self.width:,} cells",
                REFUSED,
                "put quotes around cells that contain the separator",
            ),
        ):
            if rows:
                notes.add(what, action, remedy, rows=rows)
