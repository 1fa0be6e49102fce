"""Files made to harm: small on the disk, large in the memory or endless to read.

Each is written in a moment. What a person then sees is in test_hostile.py, case by case.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from tables.bad_files import archive, parts_of, workbook

PLAIN_BOOK: Final = [["investor", "A", "B"], ["Ann", 0.5, 0.5], ["Bob", 0.2, 0.8]]
SHEET: Final = "xl/worksheets/sheet1.xml"
STRINGS: Final = "xl/sharedStrings.xml"
SPREADSHEET: Final = b'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
STRINGS_TYPE: Final = (
    b'<Override PartName="/xl/sharedStrings.xml" ContentType="application/vnd.openxmlformats-'
    b'officedocument.spreadsheetml.sharedStrings+xml"/>'
)


def book_with(part: str, head: bytes, unit: bytes, times: int, tail: bytes) -> bytes:
    """A workbook in which one part repeats the same few bytes; packed, it is next to nothing."""
    parts = {name: text for name, text in parts_of(workbook(PLAIN_BOOK)).items() if name != part}
    if part == STRINGS:
        types = parts["[Content_Types].xml"]
        parts["[Content_Types].xml"] = types.replace(b"</Types>", STRINGS_TYPE + b"</Types>")
    file = io.BytesIO(archive(parts))
    block = unit * 10_000
    with (
        zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as package,
        package.open(part, "w", force_zip64=True) as stream,
    ):
        stream.write(head)
        for _ in range(times // 10_000):
            stream.write(block)
        stream.write(tail)
    return file.getvalue()


def sheet_of(row: bytes, times: int) -> bytes:
    """A workbook whose sheet is the same row again and again."""
    head = b"<worksheet " + SPREADSHEET + b"><sheetData>"
    return book_with(SHEET, head, row, times, b"</sheetData></worksheet>")


def long_number() -> bytes:
    """A cell of fourteen thousand digits and a letter, where a header might stand."""
    return b"investor,A,B\n" + b"1" * 14_000 + b"x,0.5,0.5\n"


def shared_strings() -> bytes:
    """Ten million different strings that no cell uses."""
    head = b"<sst " + SPREADSHEET + b">"
    return book_with(STRINGS, head, b"<si><t>a</t></si>", 10_000_000, b"</sst>")


def styles() -> bytes:
    """Millions of styles."""
    head = b"<styleSheet " + SPREADSHEET + b'><cellXfs count="9">'
    unit = b'<xf numFmtId="0" fontId="0"/>'
    return book_with("xl/styles.xml", head, unit, 5_000_000, b"</cellXfs></styleSheet>")


def empty_cells() -> bytes:
    """Cells by the million, with nothing in them."""
    return sheet_of(b"<row><c/><c/><c/><c/><c/><c/><c/><c/></row>", 4_000_000)


def far_cells() -> bytes:
    """Rows of one cell each, in the last column that a spreadsheet has."""
    return sheet_of(b'<row><c r="XFD1"><v>1</v></c></row>', 600_000)


def unclosed_sheets() -> bytes:
    """A list of sheets in which no tag ends."""
    parts = parts_of(workbook(PLAIN_BOOK))
    return archive({**parts, "xl/workbook.xml": b"<workbook>" + b"<sheet a " * 110_000})


def parquet(columns: dict[str, pa.Array]) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file, compression="zstd")
    return file.getvalue()


def repeated_text() -> bytes:
    """Two strings of a kilobyte, three million times: written once, unpacked to gigabytes."""
    count = 3_000_000
    codes = pa.array([0, 1] * (count // 2), pa.int8())
    names = pa.DictionaryArray.from_arrays(codes, pa.array(["x" * 1000, "y" * 1000]))
    return parquet({"investor": names, "A": pa.array([0.5] * count)})


def repeated_numbers() -> bytes:
    """Twenty columns of the same number, a million times each."""
    same = pa.array([0.05] * 1_000_000)
    return parquet({f"A{j}": same for j in range(20)})


def empty_lines() -> bytes:
    """Nothing but ends of lines, then a table."""
    return b"\n" * 6_000_000 + b"investor,A,B\nAnn,0.5,0.5\n"


def nobody_twice() -> bytes:
    """A long table in which every investor and every asset comes once."""
    rows = (f"i{k},a{k},1" for k in range(150_000))
    return ("investor,asset,weight\n" + "\n".join(rows) + "\n").encode()


def many_columns() -> bytes:
    """As many columns as are read, none of them an asset's."""
    names = ",".join(f"c{j}" for j in range(19_999))
    return f"investor,{names}\nAnn{',0.5' * 19_999}\n".encode()


def spanning_page() -> bytes:
    """A page whose cells each claim a thousand columns."""
    return b"<html><table>" + b"<tr><td colspan=1000>Ann<td ss:index=1000>1" * 30_000


def unclosed_page() -> bytes:
    """A page in which no tag, no comment and no name ends."""
    return b"<html><table>" + b"<td <!-- &lt" * 200_000 + b"a" * 1_000_000


PORTFOLIOS: dict[str, Callable[[], bytes]] = {
    "long number": long_number,
    "shared strings": shared_strings,
    "styles": styles,
    "empty cells": empty_cells,
    "far cells": far_cells,
    "unclosed sheets": unclosed_sheets,
    "repeated text": repeated_text,
    "repeated numbers": repeated_numbers,
    "empty lines": empty_lines,
    "nobody twice": nobody_twice,
    "many columns": many_columns,
    "spanning page": spanning_page,
    "unclosed page": unclosed_page,
}
