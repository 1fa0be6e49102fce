"""Tables in HTML and in Excel's XML of 2003, which many a bank's export calls .xls.

Read as text: rows and cells by their tags, nothing is run, fetched or looked up. The table with the
most cells is the one that is meant.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any, Final

from imop_engine.errors import UnreadableFile
from imop_engine.tables.cells import CellTable
from imop_engine.tables.reading_limits import ReadingLimits
from imop_engine.tables.reading_report import Guess
from imop_engine.tables.rows import Cells, build_table
from imop_engine.tables.text import TextPacking, find_codec

TABLES: Final = ("table",)
ROWS: Final = ("tr", "row", "ss:row")
CELLS: Final = ("td", "th", "cell", "ss:cell")
# Tags and what stands between them; each part can end in one place only, so that no text is read
# again and again.
TOKEN: Final = re.compile(r"<(/?)([a-zA-Z][\w:.-]{0,40}+)([^<>]*+)>|[^<]++|<")
ATTRIBUTE: Final = re.compile(r"""([a-zA-Z:]{1,40}+)\s?=\s?["']?(\d{1,6})""")
SILENT: Final = re.compile(r"<!--|<(?P<word>script|style)\b[^<>]*+>", re.IGNORECASE)
# Tables within tables lay out pages, a few deep.
MOST_NESTED: Final = 50
# A few bytes of the file say "a thousand cells": so many are believed.
MOST_EMPTY: Final = 1_000_000
# A cell may stand for several columns, but not for more than a sheet has.
MOST_SPANNED: Final = 1_000


class _Tables:
    """Collects the rows of each table; a cell that spans columns leaves the others empty."""

    def __init__(self, file: str, limits: ReadingLimits) -> None:
        self.file, self.limits = file, limits
        self.tables: list[list[list[str]]] = []
        self.open: list[list[list[str]]] = []
        self.cell: list[str] | None = None
        self.spanned = 0
        self.count = 0
        self.empty = 0

    def read(self, text: str) -> list[list[list[str]]]:
        """All tables of a text, those that are never closed too."""
        for token in TOKEN.finditer(text):
            closing, tag, about = token.groups()
            if tag is None:
                if self.cell is not None:
                    self.cell.append(token[0])
            elif closing:
                self._end(tag.lower())
            else:
                self._begin(tag.lower(), about)
        self._end_cell()
        return [*self.tables, *self.open]

    def _begin(self, tag: str, about: str) -> None:
        """Begin a table, a row or a cell."""
        if tag in TABLES:
            self._end_cell()
            self.open.append([])
            if len(self.open) > MOST_NESTED:
                raise UnreadableFile(
                    f"{self.file} has tables within tables, more than {MOST_NESTED} deep; save the "
                    "table alone, as CSV."
                )
        elif tag in ROWS and self.open:
            self._end_cell()
            self.open[-1].append([])
        elif tag in CELLS and self.open:
            self._end_cell()
            if not self.open[-1]:
                self.open[-1].append([])
            said = {name.lower(): value for name, value in ATTRIBUTE.findall(about)}
            row = self.open[-1][-1]
            self._leave_empty(row, _whole(said.get("ss:index")) - 1 - len(row))
            across = _whole(said.get("ss:mergeacross"))
            self.spanned = max(_whole(said.get("colspan")) - 1, across, 0)
            self.cell = []
        elif tag == "br" and self.cell is not None:
            self.cell.append(" ")

    def _end(self, tag: str) -> None:
        """End a table or a cell."""
        if tag in CELLS or tag in ROWS:
            self._end_cell()
        elif tag in TABLES and self.open:
            self._end_cell()
            self.tables.append(self.open.pop())

    def _end_cell(self) -> None:
        if self.cell is None or not self.open or not self.open[-1]:
            self.cell = None
            return
        row = self.open[-1][-1]
        row.append(" ".join(html.unescape("".join(self.cell)).split()))
        self._leave_empty(row, self.spanned)
        self.count += 1
        self.cell, self.spanned = None, 0
        if self.count > self.limits.cells:
            raise UnreadableFile(
                f"{self.file} has more than {self.limits.cells:,} cells; split it, or save it as "
                "CSV."
            )

    def _leave_empty(self, row: list[str], cells: int) -> None:
        """Cells that another one spans, or that are jumped over."""
        self.empty += max(0, cells)
        if self.empty > MOST_EMPTY:
            raise UnreadableFile(
                f"{self.file} has cells that span more than {MOST_EMPTY:,} others; save the table "
                "alone, as CSV."
            )
        row.extend([""] * cells)


def without_silent(text: str) -> str:
    """The text without comments, scripts and styles; what is never closed ends with the text.

    >>> without_silent("a<!-- b -->c<script>d</script>e<STYLE>f")
    'ace'
    """
    kept, place = [], 0
    for begin in SILENT.finditer(text):
        if begin.start() < place:
            continue
        kept.append(text[place : begin.start()])
        word = begin["word"]
        closing = re.compile("-->" if word is None else rf"</{word}\s*>", re.IGNORECASE)
        end = closing.search(text, begin.end())
        place = len(text) if end is None else end.end()
    kept.append(text[place:])
    return "".join(kept)


def _whole(text: str | None) -> int:
    """A count that an attribute gives; 0 where it gives none."""
    number = int(text) if text and text.isascii() and text.isdigit() and len(text) < 6 else 0
    return min(number, MOST_SPANNED)


def read_markup(file: str, content: bytes, limits: ReadingLimits) -> CellTable:
    """Read the largest table of a web page or of Excel's XML.

    Args:
        file: What the file is called in sentences.
        content: The file's bytes.
        limits: What a file may hold at most.
    """
    guessed: dict[str, Guess] = {}
    codec, _ = find_codec(file, content, guessed)
    tables = _Tables(file, limits).read(without_silent(content.decode(codec, "replace")))
    largest = max(tables, key=_size, default=[])
    if len(largest) < 2 or max(map(len, largest), default=0) < 2:
        raise UnreadableFile(
            f"{file} is a web page or XML without a table; download the data themselves "
            "(often the link needs a login)."
        )
    others = len([one for one in tables if _size(one) > 1]) - 1
    which = f"the largest of {others + 1}" if others > 0 else "the only one"
    guessed["table"] = Guess("a table of a web page", which)
    return build_table(file, _records(largest), TextPacking(), limits, guessed)


def _size(table: list[list[str]]) -> int:
    return sum(sum(map(bool, row)) for row in table)


def _records(table: list[list[str]]) -> Iterator[Cells]:
    width = max(map(len, table))
    for row in table:
        cells: list[Any] = [*row, *[""] * (width - len(row))]
        yield cells
