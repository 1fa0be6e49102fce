"""The one object kept between two runs of the page, under the one key we use."""

from __future__ import annotations

from dataclasses import dataclass, field

import streamlit as st

from imop_app.services import Learning
from imop_app.settings import Settings

KEY = "imop"


@dataclass
class AppState:
    """What the analyst chose, and the learning under way or done."""

    settings: Settings = field(default_factory=Settings)
    learning: Learning | None = None
    running: bool = False


def current() -> AppState:
    """Return this session's state, made on first use."""
    if KEY not in st.session_state:
        st.session_state[KEY] = AppState()
    state: AppState = st.session_state[KEY]
    return state
