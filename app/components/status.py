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
    if not run.seen:
        return "**Stopped** before the first investor was seen."
    if not run.finished:
        return f"**Stopped** after {run.seen:,} of {run.total:,} investors; this is what they tell."
    return f"**Learned.** {_loaded(run.settings)}"


def _loaded(settings: Settings) -> str:
    title = market_titles()[settings.market]
    return f"{title}, {settings.investors.count:,} simulated investors."


def _buttons(state: AppState) -> None:
    # Always the same two places: a button that vanished would linger until the run ends, and
    # then move the other one away under the mouse.
    run = state.learning
    stopped = run is not None and not run.finished and run.settings == state.settings
    with st.container(horizontal=True, width="content"):
        if state.running or not stopped:
            _button(state, "Stop", "stop", ":material/stop:", disabled=not state.running)
        else:
            _button(state, "Continue", "resume", ":material/play_arrow:", main=True)
        due = run is None or run.settings != state.settings
        label = "Learn" if run is None else "Learn again"
        icon = ":material/school:"
        _button(state, label, "start", icon, main=due, disabled=state.running)


def _button(
    state: AppState,
    label: str,
    request: Request,
    icon: str,
    *,
    main: bool = False,
    disabled: bool = False,
) -> None:
    st.button(
        label,
        key=f"button_{request}",
        icon=icon,
        type="primary" if main else "secondary",
        disabled=disabled,
        on_click=state.ask,
        args=(request,),
    )


def progress_text(run: Learning) -> str:
    """What the progress bar says."""
    return f"{run.seen:,} of {run.total:,} investors"
