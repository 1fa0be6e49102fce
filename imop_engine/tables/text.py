"""Delimited text: which encoding, which separator, which rows.

Everything is decided from the bytes and shown, so that a file from any spreadsheet in any country
opens as it was meant.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from imop_engine.errors import UnreadableFile
from imop_engine.tables.cells import CellColumn, CellTable, clean, text_column
from imop_engine.tables.formula_text import MARKED, plain_text
from imop_engine.tables.old_codecs import find_old_codec
from imop_engine.tables.reading_limits import ReadingLimits
from imop_engine.tables.reading_report import Guess
from imop_engine.tables.rows import Cells, build_table, one_line

BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig", "UTF-8"),
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)
# A few bytes have no meaning in Windows-1252; they become a mark instead of an error.
CODEC_ERRORS: Final = {"cp1252": "replace"}
# In order of preference: a comma is often part of a number, a tab never is.
SEPARATORS: Final = {"\t": "tab", ";": "semicolon", "|": "bar", ",": "comma"}
SNIFFED_CHARACTERS: Final = 100_000
SNIFFED_ROWS: Final = 50
# The share of rows that must have as many cells as the header for a separator to be right.
AGREEMENT: Final = 0.8
# Characters of a file looked at for zero bytes, which UTF-16 has in every other place.
PROBE_BYTES: Final = 4096
ZERO_SHARE: Final = 0.3
# One cell longer than this is a quote that was never closed, or no table at all.
LONGEST_CELL: Final = 100_000

SEPARATOR_LINE: Final = re.compile(r'\A"?sep=(.)"?\r?\n', re.IGNORECASE)
CONTROL: Final = tuple(chr(code) for code in (*range(0x09), *range(0x0E, 0x20)))


def read_text(file: str, content: bytes, limits: ReadingLimits) -> CellTable:
    """Read a delimited text file.

    Args:
        file: What the file is called in sentences.
        content: The file's bytes.
        limits: What a file may hold at most.
    """
    guessed: dict[str, Guess] = {}
    codec, beginning = find_codec(file, content, guessed)
    stated = SEPARATOR_LINE.match(beginning)
    if stated:
        separator, reason = stated.group(1), "the file's first line says so"
    else:
        separator, reason = find_separator(beginning)
    guessed["separator"] = Guess(SEPARATORS.get(separator, separator), reason)
    # Decoded piece by piece: a large file as one text would take several times its size.
    lines = io.TextIOWrapper(io.BytesIO(content), codec, CODEC_ERRORS.get(codec), newline="")
    if stated:
        # A spreadsheet obeys this line and does not show it, so it has no row number.
        lines.readline()
    return build_table(file, _records(file, lines, separator), TextPacking(), limits, guessed)


class TextPacking:
    """Cells of text, as arrow arrays."""

    def heading(self, cell: Any) -> str:
        """Spell a column's name as it was before an apostrophe made it safe."""
        return one_line(plain_text(str(cell).strip()))

    def pack(self, cells: tuple[Any, ...]) -> pa.Array:
        """Pack one chunk; what UTF-8 cannot carry (a lone surrogate) is replaced."""
        try:
            return pa.array(cells, pa.string())
        except UnicodeEncodeError:
            return pa.array([cell and clean(cell) for cell in cells], pa.string())

    def join(self, name: str, chunks: list[pa.Array]) -> CellColumn:
        """Make the column of its chunks; text that was made safe is again what it was."""
        column = text_column(name, pa.chunked_array(chunks, pa.string()))
        cells: Any = column.text
        if not any(pc.any(pc.starts_with(cells, mark)).as_py() for mark in ("'", "=")):
            return column
        marked = pc.match_substring_regex(cells, MARKED)
        if not pc.any(marked).as_py():
            return column
        as_written = [plain_text(cell) for cell in cells.filter(marked).to_pylist()]
        return text_column(name, pc.replace_with_mask(cells, marked, pa.array(as_written)))


def find_codec(file: str, content: bytes, guessed: dict[str, Guess]) -> tuple[str, str]:
    """Tell the encoding, by the byte-order mark or else by what fits; return also the beginning.

    Args:
        file: What the file is called in sentences.
        content: The file's bytes.
        guessed: Collects what was detected and why, by the argument that overrides it.
    """
    for mark, codec, shown in BYTE_ORDER_MARKS:
        if content.startswith(mark):
            guessed["encoding"] = Guess(shown, "the file starts with its byte-order mark")
            return codec, _checked(file, content, codec, shown)
    probe = content[:PROBE_BYTES]
    if b"\0" in probe:
        odd, even = probe[1::2].count(0), probe[0::2].count(0)
        if max(odd, even) < ZERO_SHARE * len(probe) / 2:
            raise UnreadableFile(
                f"{file} is not a text file; choose a CSV, Excel (.xlsx) or Parquet file."
            )
        codec = "utf-16-le" if odd > even else "utf-16-be"
        guessed["encoding"] = Guess("UTF-16", "every other byte is zero")
        return codec, _checked(file, content, codec, "UTF-16")
    try:
        content.decode("utf-8")
        guessed["encoding"] = Guess("UTF-8", "every byte fits")
        codec = "utf-8"
    except UnicodeDecodeError:
        codec, guessed["encoding"] = find_old_codec(content)
    return codec, _checked(file, content, codec, codec)


def _checked(file: str, content: bytes, codec: str, shown: str) -> str:
    """Decode everything once, to be sure of it; return the beginning."""
    try:
        text = content.decode(codec, CODEC_ERRORS.get(codec, "strict"))
    except UnicodeDecodeError as error:
        raise UnreadableFile(
            f"{file} starts like {shown} but byte {error.start:,} does not fit; "
            "save it again as CSV UTF-8."
        ) from error
    places = [place for mark in CONTROL if (place := text.find(mark)) >= 0]
    if places:
        row = text.count("\n", 0, min(places)) + 1
        raise UnreadableFile(
            f"{file}, row {row}: there is a control character, so this is not a text table; "
            "save it again as CSV UTF-8."
        )
    return text[: SNIFFED_CHARACTERS + 1]


def find_separator(text: str) -> tuple[str, str]:
    """Return the separator that splits the first rows most evenly, and why."""
    sample = text[:SNIFFED_CHARACTERS]
    if len(text) > len(sample):
        sample = sample[: sample.rfind("\n") + 1] or sample
    fits = {separator: _even_count(sample, separator) for separator in SEPARATORS}
    # One that fits every row is right even where another fits most: names may hold a bar.
    for least in (1.0, AGREEMENT):
        for separator, (count, share) in fits.items():
            if count > 1 and share >= least:
                return separator, f"it splits the first rows into {count} cells each"
    # A short table between a title and notes: only rows that have the separator are asked.
    for separator in SEPARATORS:
        count, share = _even_count(sample, separator, only_split=True)
        if count > 1 and share >= AGREEMENT:
            return separator, f"it splits most of the first rows into {count} cells each"
    return ",", "no other separator is found"


def _even_count(sample: str, separator: str, only_split: bool = False) -> tuple[int, float]:
    """Return how many cells most rows have, and the share of rows that have as many.

    Args:
        sample: The beginning of the file.
        separator: What may part its cells.
        only_split: Ask only the rows that it splits, where these are at least half of all.
    """
    counts: list[int] = []
    try:
        for row in csv.reader(io.StringIO(sample, newline=""), delimiter=separator):
            if any(cell.strip() for cell in row):
                counts.append(len(row))
            if len(counts) == SNIFFED_ROWS:
                break
    except csv.Error:
        return 1, 0.0
    split = [count for count in counts if count > 1]
    if only_split:
        counts = split if 2 * len(split) >= len(counts) else []
    if not counts:
        return 1, 0.0
    usual, times = Counter(counts).most_common(1)[0]
    return usual, times / len(counts)


def _records(file: str, lines: Iterable[str], separator: str) -> Iterator[Cells]:
    csv.field_size_limit(LONGEST_CELL)
    reader = csv.reader(lines, delimiter=separator, strict=True)
    number = 0
    try:
        for number, row in enumerate(reader, start=1):  # noqa: B007 (the error below needs it)
            yield row
    except csv.Error as error:
        raise UnreadableFile(f"{file}, row {number + 1}: {_csv_reason(error)}.") from error


def _csv_reason(error: csv.Error) -> str:
    said = str(error)
    if "field larger" in said:
        return (
            f"a cell has more than {LONGEST_CELL:,} characters: a long text, or a quote that is "
            "opened and never closed; shorten the text, or close the quotes"
        )
    close = "close the quotes, or double the quotes that belong to the text"
    if "unexpected end" in said:
        return f"a quote is opened and never closed; {close}"
    if "expected after" in said:
        return f"text follows a closing quote; {close}"
    return f"the row cannot be split into cells ({said}); {close}"
