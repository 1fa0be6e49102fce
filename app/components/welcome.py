"""The first page of an empty workspace: what was done last, examples to try, files to fill in."""

from __future__ import annotations

from typing import Final

import streamlit as st

from imop_app.components import examples, show, workspaces
from imop_app.services import market as markets
from imop_app.settings import InvestorSettings, MarketSettings
from imop_app.state import AppState
from imop_app.workspace import recent_workspaces

RECENT: Final = 5
FORMS: Final = ("returns", "portfolios", "holdings")


def draw(state: AppState) -> None:
    """Welcome: recent work, examples, templates and samples."""
    buttons = show.empty(
        "Welcome",
        "Investors hold portfolios; from those alone the studio learns the returns they must "
        "believe in. Three steps: **1** choose a *market* here, **2** add *investors*, **3** press "
        "*Learn*. Start with an example and change it later, or bring your own files below.",
    )
    with buttons:
        for name, title in markets.bundled_titles().items():
            st.button(
                f"Example: {title}",
                key=f"example_{name}",
                icon=":material/play_arrow:",
                type="primary" if name == "paper8" else "secondary",
                on_click=_example,
                args=(state, name),
                help="Loads this market and 1,000 simulated investors.",
            )
    left, right = st.columns(2)
    with left:
        _recent(state)
    with right, st.container(border=True, key="welcome_files"):
        st.markdown("**Files to start from**")
        st.caption("Fill in a template, or look at a sample to see how a file may look.")
        examples.offer(FORMS, place="welcome_")


def _recent(state: AppState) -> None:
    """What was worked on last, to go on with."""
    others = [
        entry
        for entry in recent_workspaces(state.workspace.owner)
        if entry.id != state.workspace.id
    ][:RECENT]
    with st.container(border=True, key="welcome_recent"):
        st.markdown("**Recent work**")
        if not others:
            st.caption("What you do is kept by itself; it will be listed here.")
        workspaces.listed(others, "recent")
        workspaces.open_file("welcome")
        workspaces.deleted("welcome", state.workspace.owner)


def _example(state: AppState, name: str) -> None:
    state.choose_market(MarketSettings(source="bundled", bundled=name))
    state.choose_investors(InvestorSettings())
    state.forget_widgets()
    state.examples += 1
