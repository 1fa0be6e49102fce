"""The frame around every page: the rail with the pages, and the workspace that is open."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

import streamlit as st

from imop_app.components import workspaces
from imop_app.state import AppState
from imop_engine.sentences.words import WORDS

# name: title, icon, and what the page answers
PAGES: Final[dict[str, tuple[str, str, str]]] = {
    "market": ("Market", ":material/candlestick_chart:", "Which assets, and what they returned."),
    "investors": ("Investors", ":material/groups:", "Whose portfolios we learn from."),
    "learn": ("Learn", ":material/school:", "Estimate the returns behind the portfolios."),
    "frontier": ("Frontier", ":material/show_chart:", "What was learned about the assets."),
    "preferences": ("Preferences", ":material/tune:", "What was learned about the investors."),
    "score": ("Score", ":material/eco:", "A third objective: what investors give for it."),
    "clients": ("Clients", ":material/person_search:", "One client at a time; choose and act."),
    "report": ("Report", ":material/description:", "Reports, tables and pictures to download."),
    "runs": ("Runs", ":material/history:", "Everything learned so far; compare two."),
    "lab": ("Lab", ":material/science:", "The paper's small problems, step by step."),
}


def navigation(state: AppState) -> Any:
    """The rail; returns the page to run."""
    state.pages = {
        name: st.Page(
            _runner(name),
            title=title,
            icon=icon,
            url_path=None if name == "market" else name,
            default=name == "market",
        )
        for name, (title, icon, _) in PAGES.items()
    }
    opened = st.navigation(list(state.pages.values()), expanded=True)
    state.page = opened.url_path or "market"
    return opened


def _runner(name: str) -> Callable[[], None]:
    # Pages load when they are opened: the first one must not wait for the other seven.
    def run() -> None:
        import_module(f"imop_app.views.{name}").page()

    run.__name__ = name
    return run


def link(state: AppState, name: str, label: str | None = None, about: str | None = None) -> None:
    """A link to a page that keeps the workspace.

    Args:
        state: What this browser session has chosen.
        name: Of the page.
        label: What the link says; None takes the page's title.
        about: The explanation in its tooltip; None takes the page's own.
    """
    title, icon, usual = PAGES[name]
    st.page_link(
        state.pages[name],
        label=label or title,
        icon=icon,
        help=about or usual,
        query_params={"workspace": state.workspace.id},
    )


def go(state: AppState, name: str) -> None:
    """Open a page and keep the workspace."""
    st.switch_page(state.pages[name], query_params={"workspace": state.workspace.id})


def workspace_box(state: AppState) -> None:
    """Below the rail: which workspace is open, others, and the list of words."""
    with st.sidebar:
        workspaces.box(state)
        with st.popover("Words", icon=":material/menu_book:", width="stretch"):
            for name, meaning in sorted(WORDS.items()):
                st.markdown(f"**{name}** · {meaning}")
