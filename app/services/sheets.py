"""Which sheets a workbook has, so that the analyst can say which one is meant."""

from __future__ import annotations

import streamlit as st

from imop_app.files import FileBox
from imop_app.services.reading import read
from imop_app.settings import StoredFile

WORKBOOK = b"PK"  # a workbook is a zip archive


def of_file(file: StoredFile, box: FileBox) -> list[str]:
    """The sheets of a kept file; none where it is no workbook, or gone."""
    try:
        return _of_file(file, box)
    except FileNotFoundError:
        return []  # reading it says so, in a sentence


@st.cache_data(show_spinner=False, max_entries=64)
def _of_file(file: StoredFile, _box: FileBox) -> list[str]:
    path = _box.path(file)
    with path.open("rb") as content:
        if content.read(len(WORKBOOK)) != WORKBOOK:
            return []
    found: list[str] = read("sheets", (path,), {"name": file.name})
    return found
