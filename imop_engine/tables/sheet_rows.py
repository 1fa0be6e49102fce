"""The rows of one sheet, straight from its XML.

openpyxl knows workbooks well but takes its time over cells. A sheet of numbers is simple: this
reads it once, cell by cell as openpyxl would, and counts what it reads, so that a sheet cannot grow
beyond its limits while it is unpacked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, Final
from xml.etree.ElementTree import Element, ParseError, iterparse

from imop_engine.errors import UnreadableFile
from imop_engine.tables.reading_limits import ReadingLimits

NAMESPACE: Final = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
ROW, CELL, VALUE, FORMULA = (f"{NAMESPACE}{tag}" for tag in ("row", "c", "v", "f"))
INLINE, TEXT, RUN = (f"{NAMESPACE}{tag}" for tag in ("is", "t", "r"))
DIGITS: Final = "0123456789"
# The last row and column of any spreadsheet: a cell that claims a later one would have us count
# to it.
LAST_ROW: Final = 1_048_576
LAST_COLUMN: Final = 16_384
# What Excel shows where a number cannot be a date.
NO_DATE: Final = "#VALUE!"


@dataclass(eq=False)
class SheetReader:
    """Reads the rows of one sheet.

    Args:
        file: What the file is called in sentences.
        title: The sheet's name.
        strings: The workbook's shared strings.
        dates: The styles in which a number is a date.
        durations: The styles in which a number is a time span.
        epoch: The day from which the workbook counts days.
        limits: What a file may hold at most.
    """

    file: str
    title: str
    strings: Sequence[str]
    dates: frozenset[int]
    durations: frozenset[int]
    epoch: Any
    limits: ReadingLimits
    _columns: dict[str, int] = field(default_factory=dict)
    _cells: int = 0
    _number: int = 0

    def rows(self, stream: IO[bytes]) -> Iterator[list[Any]]:
        """Yield the cells of each row from the first on, the empty ones at its end left out."""
        try:
            for _, element in iterparse(stream):
                if element.tag == ROW:
                    yield from self._skipped(element)
                    yield self._row(element)
                    element.clear()
                elif element.tag == CELL:
                    self._cells += 1
                    if self._cells > self.limits.cells:
                        raise self._too_many()
        except ParseError as error:
            raise self._damaged() from error
        except (ValueError, IndexError, KeyError, TypeError, ArithmeticError) as error:
            if isinstance(error, UnreadableFile):
                raise
            raise self._damaged() from error

    def _skipped(self, element: Element) -> Iterator[list[Any]]:
        """Yield the rows between the last one and this."""
        given = element.get("r")
        number = int(given) if given else self._number + 1
        if number > LAST_ROW:
            raise UnreadableFile(
                f"{self._place}: a cell claims a row beyond {LAST_ROW:,}, the last that a "
                "spreadsheet has; open it and save it again."
            )
        for _ in range(self._number + 1, number):
            yield []
        self._number = max(number, self._number + 1)

    def _row(self, element: Element) -> list[Any]:
        cells: list[Any] = []
        column = 0
        for cell in element:
            if cell.tag != CELL:
                continue
            place = cell.get("r")
            column = self._column(place.rstrip(DIGITS)) if place else column + 1
            value = self._value(cell, column)
            if value is None:
                continue
            missing = column - len(cells) - 1
            if missing < 0:
                cells[column - 1] = value
                continue
            if missing:
                self._pad(cells, missing)
            cells.append(value)
        return cells

    def _pad(self, cells: list[Any], missing: int) -> None:
        """Put empty cells before one that stands further right, and count them too."""
        self._cells += missing
        if self._cells > self.limits.cells:
            raise self._too_many()
        cells.extend([None] * missing)

    def _column(self, letters: str) -> int:
        known = self._columns.get(letters)
        if known is not None:
            return known
        number = 0
        for letter in letters if len(letters) <= 3 else "":
            number = 26 * number + (ord(letter) & 31)
        if not letters.isascii() or not letters.isalpha() or not 0 < number <= LAST_COLUMN:
            raise UnreadableFile(
                f"{self._place}: a cell claims a column that no spreadsheet has; open it and save "
                "it again."
            )
        if number > self.limits.columns:
            raise UnreadableFile(
                f"{self.file} has {number:,} columns and at most {self.limits.columns:,} are read; "
                "split it, or turn it into a long table with one row per value."
            )
        self._columns[letters] = number
        return number

    def _value(self, cell: Element, column: int) -> Any:
        kind = cell.get("t")
        if kind == "inlineStr":
            return _inline(cell)
        text = None
        for child in cell:
            if child.tag == VALUE:
                text = child.text
        if not text:
            if len(cell) and kind != "str" and cell.find(FORMULA) is not None:
                raise self._not_calculated(column)
            return None
        if kind is None or kind == "n":
            value = float(text) if "." in text or "e" in text or "E" in text else int(text)
            style = cell.get("s")
            return value if style is None else self._styled(value, int(style))
        if kind == "s":
            return self.strings[int(text)]
        if kind == "b":
            return bool(int(text))
        if kind == "d":
            from openpyxl.utils.datetime import from_ISO8601

            return from_ISO8601(text)
        return text

    def _styled(self, value: float, style: int) -> Any:
        if style not in self.dates:
            return value
        from openpyxl.utils.datetime import from_excel

        try:
            return from_excel(value, self.epoch, timedelta=style in self.durations)
        except (OverflowError, ValueError):
            return NO_DATE

    @property
    def _place(self) -> str:
        return f"{self.file}, sheet {self.title}"

    def _damaged(self) -> UnreadableFile:
        return UnreadableFile(f"{self._place}: the cells are damaged; open it and save it again.")

    def _too_many(self) -> UnreadableFile:
        return UnreadableFile(
            f"{self._place}: there are more than {self.limits.cells:,} cells, empty ones included; "
            "remove empty rows and columns, or save the sheet as CSV or Parquet."
        )

    def _not_calculated(self, column: int) -> UnreadableFile:
        from openpyxl.utils import get_column_letter

        return UnreadableFile(
            f"{self._place}, cell {get_column_letter(column)}{self._number}: the formula was never "
            "calculated; open the file in a spreadsheet and save it again."
        )


def _inline(cell: Element) -> str | None:
    """The text that stands in the cell itself, runs of different style joined."""
    inline = cell.find(INLINE)
    if inline is None:
        return None
    parts = [
        part.text or ""
        for child in inline
        for part in ((child,) if child.tag == TEXT else child.iterfind(TEXT))
        if child.tag in (TEXT, RUN)
    ]
    return "".join(parts)
