"""Numbers as people write them: 1,234.5 and 1.234,5, 12 %, (3.1), € 7, n/a.

A comma or a point may part decimals or thousands. What one cell leaves open the column decides,
then the file, then a stated rule; a cell that does not fit its column's style is never guessed at.
Everything is done on whole columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from imop_engine.tables.cells import BoolArray, CellColumn, FloatArray, as_bool
from imop_engine.tables.reading_report import Guess

POINT: Final = "point"
COMMA: Final = "comma"
DECIMALS: Final = (POINT, COMMA)
# Cells of a column that are asked for its decimal mark before all of them are.
FIRST_VOTERS: Final = 2_000
# A column of this many cells, of which the first ones come again so often, is read by its words.
MANY_CELLS: Final = 20_000
FEW_DISTINCT: Final = 0.5
OTHER: Final = {POINT: COMMA, COMMA: POINT}

# What people and programs write where there is no number.
MISSING_WORDS: Final = (
    "na",
    "n/a",
    "n.a.",
    "n.a",
    "nan",
    "null",
    "none",
    "nil",
    "missing",
    "#n/a",
    "#na",
    "<na>",
    ".",
    "..",
    "?",
    "#n/a n/a",
    "nat",
    "n/d",
    "nd",
)
# An accountant's zero.
DASHES: Final = ("-", "--", "–", "—", "−")

CURRENCY: Final = (
    r"(?:US\$|R\$|C\$|A\$|HK\$|S\$|[$€£¥₹₩₺₽円元원]|Rs\.?|kr\.?|zł|Kč|Ft|Fr\."
    r"|USD|EUR|GBP|CHF|JPY|CAD|AUD|NZD|CNY|HKD|SGD|INR|KRW|BRL|MXN|ZAR|SEK|NOK|DKK|PLN|CZK|HUF|TRY"
    r"|RMB|TWD|THB|ILS|RUB|RON)"
)
# Digits and signs as wide as the letters of East Asia, and the space between them.
WIDE: Final = r"[\x{ff01}-\x{ff5e}\x{ffe5}\x{3000}]"
# Digits and marks of Arabic and Persian, with what they are in Latin.
EASTERN: Final = "٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹٫٬٪"
LATIN: Final = "01234567890123456789.,%"
SPACES: Final = r"\s\x{00a0}\x{202f}\x{2009}"
LEFT: Final = rf"^[(]?[{SPACES}]*[-+−]?[{SPACES}]*{CURRENCY}?[{SPACES}]*[-+−]?"
# What refers to a note below the table.
FOOTNOTE: Final = rf"[{SPACES}]*[*†‡¹²³]{{0,3}}$"
RIGHT: Final = rf"(?:[eE][-+]?\d+)?[{SPACES}]*{CURRENCY}?[{SPACES}]*%?[{SPACES}]*[)]?-?{FOOTNOTE}"
# What stands for no cents: 100.-, 1'000.–, 1.000,--.
CENTLESS: Final = "[-–—−]{1,2}"
NO_CENTS: Final = rf"(\d[.,]){CENTLESS}([^\d]*)$"
# A note in brackets after a number: 30 % (1).
NOTE_AFTER: Final = r"([\d%][\s\x{00a0}]|%)[(\[]\d[)\]]$"
PLAIN: Final = r"^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$"


def _shape(decimal: str, thousands: str) -> tuple[str, str]:
    """Return the pattern of a number in this style, and of one that fits no other style."""
    groups = rf"\d{{1,3}}(?:[{thousands}'’{SPACES}]\d{{3}})+"
    indian = rf"\d{{1,2}}(?:{thousands}\d{{2}})+{thousands}\d{{3}}"
    body = rf"(?:(?:\d+|{groups}|{indian})(?:{decimal}\d*)?|{decimal}\d+)"
    telling = (
        rf"(?:\d+{decimal}(?:\d{{1,2}}|\d{{4,}})|0?{decimal}\d+|\d{{4,}}{decimal}\d{{3}}"
        rf"|\d{{1,3}}(?:[{thousands}'’{SPACES}]\d{{3}})+{decimal}\d*|\d{{1,3}}(?:{thousands}\d{{3}}){{2,}}"
        rf"|(?:\d+|{groups}){decimal}{CENTLESS})"
    )
    return body, rf"{LEFT}{telling}{RIGHT}"


_POINT_BODY, _POINT_TELLS = _shape(r"\.", ",")
_COMMA_BODY, _COMMA_TELLS = _shape(",", r"\.")
BODY: Final = {POINT: _POINT_BODY, COMMA: _COMMA_BODY}
TELLS: Final = {POINT: _POINT_TELLS, COMMA: _COMMA_TELLS}
OPEN_COMMA: Final = rf"{LEFT}[1-9]\d{{0,2}},\d{{3}}{RIGHT}"


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column as numbers, NaN where there is none, and which cells were special.

    `bad` cells are no numbers; `misfit` those of them that are with the other decimal mark.
    """

    values: FloatArray
    empty: BoolArray
    dash: BoolArray
    missing: BoolArray
    bad: BoolArray
    percent: BoolArray
    misfit: BoolArray

    @cached_property
    def share(self) -> float:
        """How many of the cells that say anything are numbers."""
        said = ~(self.empty | self.missing | self.dash)
        return float(1 - self.bad.sum() / said.sum()) if said.any() else 0.0

    @property
    def count_rows(self) -> bool:
        """Whether the column goes 1, 2, 3 (or 0, 1, 2), or the other way round, to its end."""
        if len(self.values) < 2 or not np.isfinite(self.values).all():
            return False
        steps = np.diff(self.values)
        begins = self.values.min() in (0.0, 1.0)
        return bool(begins and np.abs(steps[0]) == 1 and (steps == steps[0]).all())


@dataclass(frozen=True)
class DecimalMarks:
    """The decimal mark of every column, and how it was found."""

    marks: dict[str, str]
    guess: Guess | None
    open_columns: tuple[str, ...]
    example: str = ""


def find_decimal_marks(columns: Sequence[CellColumn], asked: str, separator: str) -> DecimalMarks:
    """Decide for each column whether a comma or a point parts the decimals.

    Args:
        columns: All columns of the file.
        asked: What the analyst asked for, or auto.
        separator: What parts the columns of a text file.
    """
    if asked in DECIMALS:
        return DecimalMarks({c.name: asked for c in columns}, Guess(asked, "as asked for"), ())
    written = [c for c in columns if c.text is not None]
    texts = [c if c.plain_numbers is not None else narrow(c) for c in written]
    # Where no cell has a comma or two points there is nothing to decide; plain numbers have none.
    unplain = [c for c in texts if c.plain_numbers is None]
    doubtful = any(_has(c, ",") or _has_many_points(c) for c in unplain)
    tells = {c.name: _votes(c) for c in texts} if doubtful else {}
    points, commas = (sum(vote[i] for vote in tells.values()) for i in (0, 1))
    undecided = doubtful and points == commas
    open_columns = tuple(c.name for c in texts if undecided and _is_open(c))
    default = COMMA if separator == "semicolon" and open_columns else POINT
    whole = COMMA if commas > points else POINT if points > commas else default
    marks = {column.name: _column_mark(tells.get(column.name, (0, 0)), whole) for column in columns}
    open_columns = () if points or commas else open_columns
    guess = _guess(points, commas, whole, open_columns, separator)
    return DecimalMarks(marks, guess, open_columns, f"1,234 is read as {_taken(whole)}")


def _guess(
    points: int, commas: int, whole: str, open_columns: tuple[str, ...], separator: str
) -> Guess | None:
    if points or commas:
        votes = (commas, points) if whole == COMMA else (points, commas)
        against = f", {votes[1]:,} only with the other" if votes[1] else ""
        return Guess(whole, f"{votes[0]:,} numbers make sense only with a {whole}{against}")
    if open_columns:
        because = "cells are parted by semicolons" if separator == "semicolon" else "no cell tells"
        return Guess(whole, f"{because}; a number like 1,234 is taken as {_taken(whole)}")
    return None


def _taken(mark: str) -> str:
    return "1.234" if mark == COMMA else "1234"


def _column_mark(vote: tuple[int, int], whole: str) -> str:
    points, commas = vote
    if points == commas:
        return whole
    return POINT if points > commas else COMMA


def _has(column: CellColumn, mark: str) -> bool:
    return bool(pc.any(pc.match_substring(column.text, mark)).as_py())


def _has_many_points(column: CellColumn) -> bool:
    return bool(pc.any(pc.match_like(column.text, "%.%.%")).as_py())


def _is_open(column: CellColumn) -> bool:
    return bool(pc.any(pc.match_substring_regex(column.text, OPEN_COMMA)).as_py())


def _votes(column: CellColumn) -> tuple[int, int]:
    """Count the cells that make sense only with a point, and only with a comma."""
    votes = 0, 0
    # The first cells decide; all are asked only where those are silent.
    for text in (
        (column.text.slice(0, FIRST_VOTERS), column.text) if column.text is not None else ()
    ):
        counts = [
            int(pc.sum(pc.match_substring_regex(text, TELLS[mark])).as_py() or 0)
            for mark in DECIMALS
        ]
        votes = counts[0], counts[1]
        if any(votes):
            break
    return votes


def read_numbers(column: CellColumn, mark: str = POINT) -> Numbers:
    """Read a column as numbers in the given style."""
    count = len(column)
    none = np.zeros(count, bool)
    native = column.numbers if column.numbers is not None else np.full(count, np.nan)
    dated = none if column.times is None else ~np.isnat(column.times)
    if column.text is None:
        return Numbers(native.copy(), ~column.filled, none, none, dated, none, none)
    if column.plain_numbers is None:
        if column.numbers is None and column.times is None and _repeats_often(column.text):
            return _by_distinct(column, mark)
        column = narrow(column)
    plain = _plain(column, mark) if column.numbers is None else None
    if plain is not None:
        return Numbers(plain.copy(), ~column.filled, none, none, dated, none, none)
    return _careful(column, mark, native, dated)


def narrow(column: CellColumn) -> CellColumn:
    """The column with digits and signs of the usual width."""
    text: Any = column.text
    if text is None or pc.all(pc.string_is_ascii(text)).as_py():
        return column
    if pc.any(pc.match_substring_regex(text, f"[{EASTERN}]")).as_py():
        for theirs, ours in zip(EASTERN, LATIN, strict=True):
            text = pc.replace_substring(text, theirs, ours)
    if pc.any(pc.match_substring_regex(text, WIDE)).as_py():
        text = pc.utf8_normalize(text, form="NFKC")
    return column if text is column.text else replace(column, text=text)


def _plain(column: CellColumn, mark: str) -> FloatArray | None:
    """Read a column at once where every cell is a plain number, or give up."""
    if mark == POINT:
        return column.plain_numbers
    return column.comma_numbers


def _repeats_often(text: pa.Array) -> bool:
    """Whether a long column has few different cells, so that it is quicker to read each once."""
    if len(text) < MANY_CELLS:
        return False
    first = text.slice(0, FIRST_VOTERS)
    return bool(pc.count_distinct(first).as_py() < FEW_DISTINCT * len(first))


def _by_distinct(column: CellColumn, mark: str) -> Numbers:
    """Read every different cell once."""
    coded: Any = column.text
    coded = coded.dictionary_encode()
    one = read_numbers(CellColumn(column.name, text=coded.dictionary), mark)
    place = coded.indices.to_numpy(zero_copy_only=False)
    parts = (one.values, one.empty, one.dash, one.missing, one.bad, one.percent, one.misfit)
    return Numbers(*(part[place] for part in parts))


def _careful(column: CellColumn, mark: str, native: FloatArray, dated: BoolArray) -> Numbers:
    text: Any = column.text
    values = native.copy()
    worded = as_bool(pc.not_equal(text, ""))
    lowered = pc.utf8_lower(text)
    missing = as_bool(pc.is_in(lowered, value_set=pa.array(MISSING_WORDS)))
    dash = as_bool(pc.is_in(text, value_set=pa.array(DASHES)))
    plain = as_bool(pc.match_substring_regex(text, PLAIN)) & worded
    if mark == COMMA:
        # A point is a thousands mark in this style: 1.234 is not plain here.
        plain &= ~as_bool(pc.match_substring(text, "."))
    values[plain] = _cast(text, plain)
    rest = worded & ~plain & ~missing & ~dash
    percent = np.zeros(len(column), bool)
    if rest.any():
        read, signed = _written(text.filter(pa.array(rest)), mark)
        values[rest] = read
        percent[rest] = signed
    bad = (worded & ~missing & ~dash & ~np.isfinite(values)) | dated
    values[~np.isfinite(values)] = np.nan
    misfit = np.zeros(len(column), bool)
    if bad.any():
        misfit = bad & as_bool(pc.match_substring_regex(text, TELLS[OTHER[mark]]))
    return Numbers(values, ~column.filled, dash, missing, bad, percent & ~bad, misfit)


def _cast(text: pa.Array, where: BoolArray) -> FloatArray:
    chosen = pc.replace_substring_regex(text.filter(pa.array(where)), r"^\+", "")
    return np.asarray(pc.cast(chosen, pa.float64()).to_numpy(zero_copy_only=False))


def _written(text: pa.Array, mark: str) -> tuple[FloatArray, BoolArray]:
    """Read cells with signs, brackets, units and separators; NaN where a cell is no number."""
    if pc.any(pc.match_substring_regex(text, NO_CENTS)).as_py():
        text = pc.replace_substring_regex(text, NO_CENTS, r"\100\2")
    if pc.any(pc.match_substring_regex(text, NOTE_AFTER)).as_py():
        text = pc.utf8_trim_whitespace(pc.replace_substring_regex(text, NOTE_AFTER, r"\1"))
    fits = as_bool(pc.match_substring_regex(text, rf"{LEFT}{BODY[mark]}{RIGHT}"))
    values, percent = np.full(len(text), np.nan), np.zeros(len(text), bool)
    if fits.any():
        values[fits], percent[fits] = _unwrapped(text.filter(pa.array(fits)), mark)
    return values, percent


def _unwrapped(text: pa.Array, mark: str) -> tuple[FloatArray, BoolArray]:
    text = pc.replace_substring_regex(text, FOOTNOTE, "")
    opened = as_bool(pc.starts_with(text, "("))
    closed = as_bool(pc.match_substring_regex(text, r"[)]-?$"))
    minus = as_bool(pc.match_substring_regex(text, r"^[(]?[^\d]*[-−]|[^eE]-$"))
    two_signs = as_bool(pc.match_substring_regex(text, r"[-+−][^\d]*[-+−]\d|^[^\d]*[-+−].*\d.*-$"))
    percent = as_bool(pc.match_substring(text, "%"))
    bare = pc.replace_substring_regex(text, rf"[{SPACES}'’()%+−]|{CURRENCY}", "")
    bare = pc.replace_substring_regex(bare, "^-|-$", "")
    bare = pc.replace_substring(bare, "," if mark == POINT else ".", "")
    bare = pc.replace_substring(bare, ",", ".") if mark == COMMA else bare
    fits = (opened == closed) & ~two_signs & ~(opened & minus)
    fits &= as_bool(pc.match_substring_regex(bare, PLAIN))
    values = np.full(len(text), np.nan)
    values[fits] = _cast(bare, fits)
    values[opened | minus] *= -1
    values[percent] /= 100
    return values, percent
