"""The strip on top of every page: what is loaded, what is under way, and what to do next."""

from __future__ import annotations

import streamlit as st

from imop_app.components import frame
from imop_app.components.show import escape
from imop_app.jobs import Job
from imop_app.services.preparing import PREPARATION
from imop_app.state import AppState

# How often a page looks at a run under way: lively, and cheap beside the work itself.
LOOK_SECONDS = 0.5
# And at the compiling, which needs every core itself.
LOOK_SECONDS_PREPARING = 1.0
# Where a reader goes who has read a page of results; from everywhere else to the first of them.
AFTER = {
    "frontier": ("preferences", "See the preferences"),
    "preferences": ("report", "Take it away"),
}
DONE = ":green[:material/check_circle:]"
# How a verdict is marked; a run of before there were verdicts has none, and is not called good.
VERDICT_MARKS = {
    "good": DONE,
    "caution": ":orange[:material/warning:]",
    "poor": ":red[:material/error:]",
    "": ":gray[:material/help:]",
}
# Longer than this, a name may break over two lines.
SHORT = 26
STAGES = {
    "preparing": "Learning begins when the numerical code is ready",
    "starting": "Starting",
    "learning": "Learning",
    "refining": "Fitting all portfolios together",
    "describing": "Computing intervals and tables",
    "done": "Saving",
}


def strip(state: AppState) -> None:
    """Say where we are and offer the next step; while a run is under way, follow it."""
    if state.adopt():
        st.toast("The run is finished.", icon=":material/check_circle:")
    with st.container(border=True, key="status"):
        left, right = st.columns([7, 2], vertical_alignment="center")
        # One line of text wraps where it must; three boxes would each take a row of their own.
        left.markdown(" &emsp; ".join(_loaded(state)))
        with right.container(horizontal=True, horizontal_alignment="right"):
            _next(state)
    if state.trouble:
        st.error(escape(state.trouble), icon=":material/error:")
    job = state.job
    if job is not None and job.status == "running" and job.trouble:
        st.warning(escape(job.trouble), icon=":material/warning:")
    running = job if job is not None and job.status == "running" else None
    if not PREPARATION.ready:
        st.fragment(_preparing, run_every=LOOK_SECONDS_PREPARING)(running)
    elif running is not None:
        st.fragment(_progress, run_every=LOOK_SECONDS)(running)
    elif job is not None and job.status == "failed" and job.settings == state.settings:
        st.error(escape(job.error or ""), icon=":material/error:")


def _loaded(state: AppState) -> list[str]:
    return [
        _mark("Market", _market(state)),
        _mark("Investors", _investors(state)),
        _mark("Result", _result(state), _verdict(state)),
    ]


def _mark(label: str, content: str | None, look: str = DONE) -> str:
    if content is None:
        return f":gray[:material/radio_button_unchecked:\u00a0{label}]"
    # Words that belong together stay on one line.
    kept = escape(content).replace(" ", "\u00a0") if len(content) < SHORT else escape(content)
    return f"{look}\u00a0**{label}**\u00a0{kept}"


def _market(state: AppState) -> str | None:
    if state.workspace.market is None:
        return None
    from imop_app.services import summary

    return summary.market(state.workspace)


def _investors(state: AppState) -> str | None:
    if state.workspace.investors is None or state.workspace.market is None:
        return None
    from imop_app.services import summary

    return summary.investors(state.workspace)


def _result(state: AppState) -> str | None:
    if state.workspace.run is None:
        return None
    from imop_app.services import summary

    return summary.result(state.workspace, state.store)


def _verdict(state: AppState) -> str:
    if state.workspace.run is None:
        return VERDICT_MARKS[""]
    from imop_app.services import summary

    return VERDICT_MARKS[summary.verdict(state.workspace, state.store)]


def _next(state: AppState) -> None:
    """The one thing to do next."""
    workspace = state.workspace
    job = state.job
    if workspace.market is None:
        frame.link(state, "market", "Next: choose a market")
    elif workspace.investors is None:
        frame.link(state, "investors", "Next: add investors")
    elif job is not None and job.status == "running":
        frame.link(state, "learn", "Watch the run")
    elif _resumable(state):
        frame.link(state, "learn", "Stopped: resume")
    elif workspace.run is None:
        frame.link(state, "learn", "Next: learn")
    else:
        from imop_app.services import summary

        changed = summary.changes(workspace, state.store)
        if changed:
            about = f"Changed since the shown run: {', '.join(changed)}."
            frame.link(state, "learn", "Changed: learn again", about)
        else:
            frame.link(state, *AFTER.get(state.page, ("frontier", "Read the frontier")))


def _resumable(state: AppState) -> bool:
    from imop_app.services import learning

    return learning.can_resume(state.workspace)


def _preparing(job: Job | None) -> None:
    """Follow the compiling; once it is ready the page draws what has waited for it."""
    now = PREPARATION.progress()
    if now.state == "ready":
        st.rerun()
    with st.container(key="preparing"):
        if now.state == "preparing":
            st.progress(now.share, now.sentence(), width="stretch")
        else:
            st.error(escape(now.reason), icon=":material/error:")
            st.button(
                "Try again",
                icon=":material/restart_alt:",
                key="prepare_again",
                on_click=PREPARATION.again,
                help="Compiles once more; what was finished before is kept.",
            )
        if job is not None:
            _progress(job)


def _progress(job: Job) -> None:
    if job.status != "running":
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", key="progress"):
        st.progress(job.share, progress_text(job), width="stretch")
        st.button(
            "Stop",
            icon=":material/stop:",
            key="stop_run",
            on_click=job.stop,
            help="Stops after the step it is in; you can resume later.",
        )


def progress_text(job: Job) -> str:
    """What the progress bar says."""
    stage = STAGES.get(job.stage, job.stage)
    if job.stage == "learning" and job.total:
        return f"{stage}: {job.done:,} of {job.total:,} investors"
    return f"{stage} …"
