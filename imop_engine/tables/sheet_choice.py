"""Which sheet of a workbook is meant: the one whose first rows look most like the wanted table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from imop_engine.errors import UnreadableFile
from imop_engine.sentences.numbers import some
from imop_engine.tables import words
from imop_engine.tables.cells import CellTable
from imop_engine.tables.reading_report import Cure
from imop_engine.tables.rows import Cells, cell_kind, find_header

# What a sheet gains by being of the wanted kind, beside one point for every row of numbers: more
# than the rows that are looked at could make up for.
FITS: Final = 1000.0
SHEETS_NAMED: Final = 5
# A column is of numbers, or of dates, when this share of its filled cells is.
MOSTLY: Final = 0.7


@dataclass(frozen=True)
class Wanted:
    """What the table should be like.

    Args:
        what: In words, after "it looks most like".
        dated: Whether its rows are dates.
        assets: Names that it should have, in its header or in its cells.
        headings: Words that a column's name should have.
    """

    what: str
    dated: bool = False
    assets: tuple[str, ...] = ()
    headings: frozenset[str] = frozenset()


ANY_TABLE: Final = Wanted("a table")
A_HISTORY: Final = Wanted("a history", dated=True)


def wanted_portfolios(assets: Sequence[str] | None) -> Wanted:
    """A table of portfolios, on these assets where they are known."""
    return Wanted(
        "a table of portfolios", assets=tuple(assets or ()), headings=words.INVESTOR | words.WEIGHT
    )


@contextmanager
def naming_sheet(table: CellTable) -> Iterator[None]:
    """Let an error about a table say of which sheet it is, and which others there are."""
    try:
        yield
    except UnreadableFile as error:
        sheet = table.guessed.get("sheet")
        if sheet is None:
            raise
        place = f"{table.file}, sheet {sheet.value}"
        said = str(error)
        if said.startswith(table.file) and not said.startswith(place):
            said = place + said.removeprefix(table.file)
        others = [name for name in table.sheets if name != sheet.value]
        if others:
            said += f" The workbook also has {some(others, SHEETS_NAMED)}; choose one of these."
        cures = [Cure("sheet", name, f"Read {name}") for name in others[:SHEETS_NAMED]]
        raise UnreadableFile(said, (*error.cures, *cures)) from error


def likeness(head: Sequence[Cells], wanted: Wanted) -> float:
    """How much the first rows of a sheet look like a table of the wanted kind; 0 is not at all.

    Args:
        head: The first rows.
        wanted: What the table should be like.
    """
    header = find_header(head)
    below = head[0 if header is None else header + 1 :]
    width = max((len(row) for row in below), default=0)
    kinds = [_column_kind(below, j) for j in range(width)]
    numbers = kinds.count("number")
    if not numbers:
        return 0.0
    rows = sum(1 for row in below if any(cell_kind(cell) == "number" for cell in row))
    score = float(rows)
    names = [] if header is None else [str(cell) for cell in head[header] if cell is not None]
    if wanted.dated and "date" in kinds:
        score += FITS
    if wanted.assets:
        score += FITS * _share_named(head, wanted.assets)
    if wanted.headings and any(words.says(name, wanted.headings) for name in names):
        score += FITS / 2
    return score


def _column_kind(below: Sequence[Cells], j: int) -> str:
    kinds = [kind for row in below if j < len(row) and (kind := cell_kind(row[j]))]
    for kind in ("number", "date"):
        if kinds and kinds.count(kind) >= MOSTLY * len(kinds):
            return kind
    return ""


def _share_named(head: Sequence[Cells], assets: Sequence[str]) -> float:
    """The share of the assets that stand in the first rows, or of those rows that name one."""
    known = {words.key(asset) for asset in assets}
    found = {words.key(cell) for row in head for cell in row if isinstance(cell, str)} & known
    naming = sum(1 for row in head if _names_one(row, known))
    return max(len(found) / len(known), naming / max(len(head), 1))


def _names_one(row: Sequence[Any], known: set[str]) -> bool:
    return any(isinstance(cell, str) and words.key(cell) in known for cell in row)
