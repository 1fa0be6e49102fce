"""Learn: the few settings that matter, the run while it works, and what came out."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from imop_app.components import frame, learn_settings, result_panels, show, status
from imop_app.jobs import Job
from imop_app.services import learning, results
from imop_app.services.errors import AppError
from imop_app.services.preparing import PREPARATION
from imop_app.state import AppState, current
from imop_app.store import RunStore
from imop_app.workspace import Workspace
from imop_engine.report import charts, charts_learn


def page() -> None:
    """Draw the page."""
    state = current()
    show.head(
        "Learn",
        "Investors hold portfolios on one frontier, each at a balance of return and risk of their "
        "own. From the portfolios, one after another, we learn the expected returns behind them.",
    )
    if state.settings is None:
        _not_ready(state)
        return
    try:
        learn_settings.choose(state)
        _buttons(state)
        _left_behind(state)
        job = state.job
        if job is not None and job.status in ("running", "stopped"):
            _watch(state, job)
        else:
            _result(state)
    except AppError as error:
        show.problem(error)


def _not_ready(state: AppState) -> None:
    missing = "market" if state.workspace.market is None else "investors"
    with show.empty(
        "Nothing to learn from yet",
        "Learning needs a market and investors. With both in place this page has one button.",
    ):
        frame.link(state, missing, f"Choose {'a market' if missing == 'market' else 'investors'}")


def _buttons(state: AppState) -> None:
    job, workspace = state.job, state.workspace
    running = job is not None and job.status == "running"
    record = results.record_of(state.store, workspace.run)
    with st.container(horizontal=True, vertical_alignment="center", key="learn_buttons"):
        asked = st.button(
            "Learn again" if record else "Learn",
            icon=":material/school:",
            type="primary",
            disabled=running,
            key="learn_start",
            shortcut="Ctrl+Enter",
            help="Starts a new run with these settings. It goes on while you look at other pages.",
        )
        if learning.can_resume(workspace):
            if st.button(
                "Write it again" if job is not None and job.unsaved else "Resume",
                icon=":material/play_arrow:",
                key="learn_resume",
                help="Goes on with the next investor; the result is the same as without a stop.",
            ):
                _begin(state, learning.resume)
        elif learning.can_continue(workspace, record) and st.button(
            "Continue with the new portfolios",
            icon=":material/playlist_add:",
            key="learn_continue",
            disabled=running,
            help="Learns only from the portfolios that came after the shown run.",
        ):
            _begin(state, learning.continue_run)
        if asked:
            _begin(state, learning.start)


def _left_behind(state: AppState) -> None:
    """What a server that died left of a run."""
    said = learning.interrupted(state.workspace)
    if said is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="interrupted"):
        st.info(said, icon=":material/history_toggle_off:")
        if st.button("Forget it", key="learn_forget", help="Removes what was left of that run."):
            learning.discard(state.workspace)
            st.rerun()


def _begin(state: AppState, how: Callable[[Workspace, RunStore], Job]) -> None:
    if how is not learning.resume:
        state.workspace.learn = learn_settings.chosen(state)
        state.save()
    job = how(state.workspace, state.store)
    learning.wait_briefly(job, status.BRIEF_SECONDS)
    st.rerun()


def _watch(state: AppState, job: Job) -> None:
    if job.status == "stopped":
        seen = f"after {job.done:,} of {job.total:,} investors" if job.total else "before it began"
        st.info(f"Stopped {seen}. Resume goes on from here.", icon=":material/pause_circle:")
        _live(state, job)
    elif PREPARATION.ready:
        st.fragment(_live, run_every=status.LOOK_SECONDS * 2)(state, job)
    else:
        _live(state, job)


def _live(state: AppState, job: Job) -> None:
    seen = learning.live(state.workspace, job)
    if seen is None:
        st.caption("Waiting for the first step …")
        return
    left, right = st.columns(2)
    with left:
        show.chart(charts_learn.live_frontier_chart(seen.curves, seen.cloud), "live_frontier")
    with right:
        show.chart(charts_learn.settling_chart(seen.estimates), "live_estimates")
    show.chart(charts.loss_chart(seen.losses, job.settings.learn.loss), "live_losses")


def _result(state: AppState) -> None:
    study = results.open_run(state.store, state.workspace.run)
    if study is None:
        with show.empty(
            "Ready to learn",
            "Press **Learn**. A bar says how far it is and how long it will take; it goes on while "
            "you look at other pages.",
        ):
            pass
        return
    st.header("What came out", anchor=False)
    result_panels.verdict(study)
    result_panels.key_figures(study)
    result_panels.overview(study)
    result_panels.learning_history(study)
    with st.container(horizontal=True):
        frame.link(state, "frontier", "Read the frontier")
        frame.link(state, "preferences", "See the preferences")
        frame.link(state, "report", "Get the report")
