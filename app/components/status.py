"""The strip on top of every page: what is loaded, what is under way, and what to do next."""

from __future__ import annotations

import html

import streamlit as st

from imop_app.components import frame, workspaces
from imop_app.components.show import escape
from imop_app.jobs import FITTING, Job
from imop_app.services.errors import AppError
from imop_app.services.light import Light, Press
from imop_app.services.preparing import PREPARATION
from imop_app.state import AppState, current

# How often a page looks at a run under way: lively, and cheap beside the work itself.
LOOK_SECONDS = 0.5
# And at the compiling, which needs every core itself.
LOOK_SECONDS_PREPARING = 1.0
# Where a reader goes who has read a page of results; from everywhere else to the first of them.
AFTER = {
    "frontier": ("preferences", "See the preferences"),
    "preferences": ("report", "Get the report"),
}
# A light is marked by its shape too (assets/style.css), so that nobody has to rely on colour.
MARKED = ("good", "caution", "poor")
# The colour of a reason's first word.
COLOURS = {"good": "green", "caution": "orange", "poor": "red"}
# A short run ends within this time; then its result is there without a picture in between.
BRIEF_SECONDS = 1.2
MINUTE = 90.0  # seconds; from here on time is said in minutes
STAGES = {
    "queued": "Waiting for its turn",
    "preparing": "Learning begins when the numerical code is ready",
    "starting": "Starting",
    "learning": "Learning",
    "refining": "Fitting all portfolios together",
    "describing": "Computing intervals and tables",
    "done": "Saving",
}


def strip(state: AppState) -> None:
    """Say where we are and offer the next step; while a run is under way, follow it."""
    finished = state.adopt()
    shown = _lights(state)
    with st.container(border=True, key="status"):
        left, right = st.columns([7, 2], vertical_alignment="center")
        # One line of text wraps where it must; three boxes would each take a row of their own.
        left.html(f'<div class="lights">{"".join(_mark(light) for light in shown)}</div>')
        with right.container(horizontal=True, horizontal_alignment="right", key="next_step"):
            _next(state)
        for light in shown:
            if light.reason:
                _reason(state, light)
    if finished and state.page != "learn":  # that page shows the result itself
        st.success("The run is finished.", icon=":material/check_circle:")
    workspaces.was_deleted(state)
    _under_way(state)


def _under_way(state: AppState) -> None:
    """What keeps the workspace or the run from going on, and how far the run is."""
    if state.trouble:
        st.error(escape(state.trouble), icon=":material/error:")
    job = state.job
    if job is not None and job.status == "finished" and not job.adopted:
        st.rerun()  # it ended while this strip was drawn, and nothing else would look again
    if job is not None and job.status == "running" and job.trouble:
        st.warning(escape(job.trouble), icon=":material/warning:")
    if job is not None and job.status in ("running", "finished") and job.notice:
        st.info(escape(job.notice), icon=":material/restart_alt:")
    running = job if job is not None and job.status == "running" else None
    if not PREPARATION.ready:
        st.fragment(_preparing, run_every=LOOK_SECONDS_PREPARING)(running)
    elif running is not None:
        st.fragment(_progress, run_every=LOOK_SECONDS)(running)
    elif job is not None and job.status == "failed" and job.settings == state.settings:
        st.error(escape(job.error or ""), icon=":material/error:")


def _lights(state: AppState) -> tuple[Light, ...]:
    if state.workspace.market is None:  # nothing has to be loaded to say so
        return Light("market", "none"), Light("investors", "none"), Light("result", "none")
    from imop_app.services import lights

    return lights.all_three(state.workspace, state.store, state.job)


def _mark(light: Light) -> str:
    """One light: a shape, its name, what is loaded; the colour in a word for those who listen."""
    label, colour = light.part.capitalize(), light.colour if light.colour in MARKED else "none"
    word = {"none": "not yet", "unknown": "not known"}.get(light.colour, light.colour)
    mark = f'<span class="mark {colour}" aria-hidden="true"></span>'
    said = f'<b>{label}</b><span class="spoken"> ({word})</span> {html.escape(light.said)}'
    return f'<span class="light {colour}">{mark}{said}</span>'


def _reason(state: AppState, light: Light) -> None:
    """Why a light is not green, and the button that cures it."""
    with st.container(
        horizontal=True, vertical_alignment="center", key=f"light_{light.part}", gap="small"
    ):
        named = f"**{light.part.capitalize()}:**"
        if light.colour in COLOURS:
            named = f":{COLOURS[light.colour]}[{named}]"
        said = f"{named} {escape(light.reason)}"
        st.markdown(said, help=escape(light.about) or None, width="stretch")
        running = state.job is not None and state.job.status == "running"
        for number, press in enumerate(light.presses):
            if st.button(
                escape(press.label),
                key=f"cure_{light.part}" + (f"_{number}" if number else ""),
                disabled=running and press.learns,
                help="Changes this and learns again." if press.learns else None,
            ):
                _do(state, press)


def _do(state: AppState, press: Press) -> None:
    """Do what a button beside a light says."""
    from imop_app.services import learning, lights

    workspace = state.workspace
    if press.action == "page":
        frame.go(state, press.change)
    elif press.action == "groups":
        state.compare_groups(press.change)
        frame.go(state, "preferences")
    elif press.action == "accept":
        state.accept(press.change)
    elif press.action == "market" and workspace.market is not None:
        learn = workspace.learn
        state.choose_market(lights.market_after(workspace.market, press))
        if press.learns and learn is not None:
            state.choose_learning(learn)
    elif press.action == "investors" and workspace.investors is not None:
        state.choose_investors(lights.investors_after(workspace.investors, press))
    elif press.action == "without_outliers":
        fewer = lights.without_outliers(workspace, state.store)
        if fewer is not None:
            state.choose_investors(fewer)
    elif press.action == "learn":
        state.choose_learning(press.change)
    state.forget_widgets()
    state.examples += 1  # fields start again from what was chosen
    if press.learns:
        try:
            learning.wait_briefly(learning.start(workspace, state.store), BRIEF_SECONDS)
        except AppError as error:
            state.trouble = str(error)
    st.rerun()


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
        if state.page == "learn":
            _learn(state, "Next: learn")
        else:
            frame.link(state, "learn", "Next: learn")
    else:
        from imop_app.services import summary

        changed = summary.changes(workspace, state.store)
        if changed:
            about = f"Changed since the shown run: {', '.join(changed)}."
            if state.page == "learn":
                _learn(state, "Changed: learn again", about)
            else:
                frame.link(state, "learn", "Changed: learn again", about)
        else:
            frame.link(state, *AFTER.get(state.page, ("frontier", "Read the frontier")))


def _learn(state: AppState, label: str, about: str | None = None) -> None:
    """The next step on the page where it is taken: a button, not a link to where one is."""
    from imop_app.components import learn_settings

    if st.button(label, key="next_learn", icon=":material/school:", type="tertiary", help=about):
        state.choose_learning(learn_settings.chosen(state))
        _do(state, Press(label, "again", learns=True))


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
            on_click=_stop,
            help="Stops within moments, also in the middle of a fit; you can resume later.",
        )


def _stop() -> None:
    job = current().job
    if job is not None:
        job.stop()


def progress_text(job: Job) -> str:
    """What the progress bar says."""
    stage = STAGES.get(job.stage, job.stage)
    if job.waiting:
        return job.waiting
    if job.stage == "learning" and job.total:
        return f"{stage}: {job.done:,} of {job.total:,} investors{_left(job)}"
    if job.stage in FITTING and job.part:
        return f"{stage}: {job.part:.0%}{_left(job)}"
    return f"{stage} …"


def _left(job: Job) -> str:
    seconds = job.left
    if seconds is None:
        return ""
    return (
        f", about {seconds:.0f} s left"
        if seconds < MINUTE
        else f", about {seconds / 60:.0f} min left"
    )
