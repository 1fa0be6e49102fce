"""The one object kept between two runs of the page, under the one key we use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import streamlit as st

from imop_app.services import Learning
from imop_app.settings import Settings

KEY = "imop"

Request = Literal["none", "start", "resume", "stop"]


@dataclass
class AppState:
    """What the analyst chose, and the learning under way or done."""

    settings: Settings = field(default_factory=Settings)
    learning: Learning | None = None
    running: bool = False
    request: Request = "none"

    def ask(self, request: Request) -> None:
        """Note what a button asked for; the page answers once it has read all the settings."""
        self.request = request

    def take_request(self) -> Request:
        """Return what was asked for, once."""
        taken, self.request = self.request, "none"
        return taken


def current() -> AppState:
    """Return this session's state, made on first use."""
    if KEY not in st.session_state:
        st.session_state[KEY] = AppState()
    state: AppState = st.session_state[KEY]
    return state
