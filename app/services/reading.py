"""Files are read in a process of their own: no file can freeze the pages of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx


def read(reader: str, sources: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Call a reader of the engine in its own process, and give up when the analyst has left.

    Args:
        reader: Its name, as the engine knows it.
        sources: The files.
        options: The reader's named arguments.
    """
    from imop_engine.tables.apart import read_apart

    return read_apart(reader, sources, options, has_left)


def has_left() -> bool:
    """Never true by itself: where the analyst left or chose anew, Streamlit ends the script here.

    It does so wherever a script touches its state.
    """
    if get_script_run_ctx(suppress_warning=True) is not None:
        st.session_state.get("anything")
    return False
