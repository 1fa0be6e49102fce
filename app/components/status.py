"""The strip on top: what is loaded, what happened, and the one thing to do next."""

from __future__ import annotations

import streamlit as st

from imop_app.services import Learning, market_titles
from imop_app.settings import Settings
from imop_app.state import AppState, Request


def status_strip(state: AppState) -> None:
    """Say where we are and offer the next step."""
    with st.container(
        border=True,
        horizontal=True,
        horizontal_alignment="distribute",
        vertical_alignment="center",
        key="status",
    ):
        st.markdown(_sentence(state), width="stretch")
        with st.container(horizontal=True, width="content"):
            _buttons(state)


def _sentence(state: AppState) -> str:
    run = state.learning
    if run is None:
        return f"**Ready.** {_loaded(state.settings)} Press **Learn** to estimate the returns."
    if state.running:
        return f"**Learning.** {_loaded(run.settings)}"
    if run.settings != state.settings:
        return (
            "**The settings have changed** since this result. Learn again to bring it up to date."
        )
    if not run.finished:
        return f"**Stopped** after {run.seen:,} of {run.total:,} investors; this is what they tell."
    return f"**Learned.** {_loaded(run.settings)}"


def _loaded(settings: Settings) -> str:
    title = market_titles()[settings.market]
    return f"{title}, {settings.investors.count:,} simulated investors."


def _buttons(state: AppState) -> None:
    run = state.learning
    if state.running:
        _button(state, "Stop", "stop", icon=":material/stop:", main=False)
        return
    stopped = run is not None and not run.finished and run.settings == state.settings
    if stopped:
        _button(state, "Continue", "resume", icon=":material/play_arrow:", main=True)
    label = "Learn" if run is None else "Start over" if stopped else "Learn again"
    due = run is None or run.settings != state.settings
    _button(state, label, "start", icon=":material/school:", main=due)


def _button(state: AppState, label: str, request: Request, *, icon: str, main: bool) -> None:
    st.button(
        label,
        key=f"button_{request}",
        icon=icon,
        type="primary" if main else "secondary",
        on_click=state.ask,
        args=(request,),
    )


def progress_text(run: Learning) -> str:
    """What the progress bar says."""
    return f"{run.seen:,} of {run.total:,} investors"
