"""Which sheets a workbook has, so that the analyst can say which one is meant."""

from __future__ import annotations

import html
import io
import re
import zipfile
from typing import Final

import streamlit as st

from imop_app.home import FileBox
from imop_app.settings import StoredFile

LIST: Final = "xl/workbook.xml"
# The list of the sheets of any honest workbook is far shorter.
LONGEST: Final = 1_000_000
SHEET: Final = re.compile(r"<(?:\w+:)?sheet\b[^>]*?\bname=\"([^\"]*)\"")


def of_file(file: StoredFile, box: FileBox) -> list[str]:
    """The sheets of a kept file; none where it is no workbook, or gone."""
    try:
        return _of_file(file, box)
    except FileNotFoundError:
        return []  # reading it says so, in a sentence


@st.cache_data(show_spinner=False, max_entries=64)
def _of_file(file: StoredFile, _box: FileBox) -> list[str]:
    return sheet_names(_box.get(file))


def sheet_names(content: bytes) -> list[str]:
    """The names of the sheets in their order; none where the file is no Excel workbook.

    Only the list is unpacked, and no more of it than a list is long: the file comes from outside.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as package, package.open(LIST) as part:
            text = part.read(LONGEST).decode("utf-8", "replace")
    except (zipfile.BadZipFile, KeyError, OSError, ValueError, RuntimeError, NotImplementedError):
        return []
    return [html.unescape(name) for name in SHEET.findall(text)]
