"""Which sheets a workbook has, so that the analyst can say which one is meant."""

from __future__ import annotations

import streamlit as st

from imop_app.home import FileBox
from imop_app.settings import StoredFile
from imop_engine.tables.workbook import sheet_names


def of_file(file: StoredFile, box: FileBox) -> list[str]:
    """The sheets of a kept file; none where it is no workbook, or gone."""
    try:
        return _of_file(file, box)
    except FileNotFoundError:
        return []  # reading it says so, in a sentence


@st.cache_data(show_spinner=False, max_entries=64)
def _of_file(file: StoredFile, _box: FileBox) -> list[str]:
    return sheet_names(_box.get(file))
