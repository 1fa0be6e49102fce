"""The studio: settings on the left; on the right what the investors' portfolios tell."""

from __future__ import annotations

import time

import streamlit as st

from imop_app import services
from imop_app.components import panels
from imop_app.components.sidebar import settings_sidebar
from imop_app.components.status import progress_text, status_strip
from imop_app.services import AppError, Learning
from imop_app.state import AppState, current

# Redrawing a chart costs the browser more than a step of learning; this is still lively.
CHART_SECONDS = 0.4


def page() -> None:
    """Draw the page; while a run is under way, also drive it."""
    state = current()
    state.settings = settings_sidebar(state.settings)
    st.title("What do your investors believe?", anchor=False)
    st.markdown(
        "Each investor holds a portfolio on the same efficient frontier, at her own balance of "
        "return and risk. From the portfolios alone we learn the expected returns behind them."
    )
    try:
        _answer(state)
        status_strip(state)
        if state.running and state.learning is not None:
            _run(state, state.learning)
        elif state.learning is not None and state.learning.seen:
            picture = services.picture_of(state.learning)
            panels.key_figures(state.learning, picture)
            panels.results(picture)
        else:
            panels.preview(services.picture_before(state.settings))
    except AppError as error:
        state.running = False
        st.error(str(error), icon=":material/error:")


def _answer(state: AppState) -> None:
    request = state.take_request()
    if request == "start":
        state.learning = services.start_learning(state.settings)
    if request != "none":
        state.running = request != "stop"


def _run(state: AppState, run: Learning) -> None:
    bar = st.progress(0.0, progress_text(run))
    live = st.empty()
    drawn = 0.0
    while not run.finished:
        services.advance(run)
        bar.progress(run.progress, progress_text(run))
        if time.monotonic() - drawn > CHART_SECONDS:
            drawn = time.monotonic()
            with live.container():
                panels.live_errors(run)
    state.running = False
    st.rerun()
