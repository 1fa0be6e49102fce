"""Lab: the paper's small problems, learned step by step before your eyes."""

from __future__ import annotations

from typing import Final

import streamlit as st

from imop_app.components import show
from imop_app.services import lab, reports
from imop_app.services.errors import AppError
from imop_app.state import AppState, current, place
from imop_engine.report import charts_lab
from imop_engine.sentences.words import word

UNKNOWNS: Final[dict[lab.Unknown, str]] = {"c": "The objectives (c)", "b": "The constraints (b)"}
ALGORITHMS: Final = {"accelerated": "Accelerated", "full": "Full"}
GRIDS: Final = (6, 11, 21, 41, 81)
PLAY_SECONDS: Final = 0.4
PLAY_STEP: Final = 10


def page() -> None:
    """Draw the page."""
    state = current()
    show.head(
        "Lab",
        "The paper's quadratic program with two objectives. Somebody decides, again and again, "
        "each time with another weight; we see the decisions through noise and learn what is "
        "unknown. Watch the estimated efficient set close in on the true one.",
    )
    try:
        settings = _settings()
        experiment = state.drafts.get("lab")
        if experiment is None or experiment.settings != settings:
            experiment = state.drafts["lab"] = lab.begin(settings)
            state.playing = False
        _controls(state, experiment)
        every = PLAY_SECONDS if state.playing else None
        st.fragment(_picture, run_every=every)(state, experiment)
    except AppError as error:
        show.problem(error)
    _reproduced()


def _settings() -> lab.LabSettings:
    with st.container(border=True):
        columns = st.columns(4)
        unknown = columns[0].selectbox(
            "What is unknown",
            list(UNKNOWNS),
            format_func=UNKNOWNS.__getitem__,
            index=place(list(UNKNOWNS), "c"),
            key="lab_unknown",
            help="c: what the decision maker wants. b: what is allowed.",
        )
        noise = columns[1].slider(
            "Noise",
            min_value=0.0,
            max_value=1.0,
            step=0.1,
            value=0.5,
            key="lab_noise",
            help="Each coordinate of a decision is off by up to this much; the paper uses 0.5.",
        )
        grid = columns[2].selectbox(
            "Weights tried (K)",
            GRIDS,
            index=place(GRIDS, 41),
            key="lab_grid",
            help="How many weights are compared for each decision; the paper uses up to 41.",
        )
        algorithm = columns[3].selectbox(
            "Algorithm",
            list(ALGORITHMS),
            format_func=ALGORITHMS.__getitem__,
            index=place(list(ALGORITHMS), "accelerated"),
            key="lab_algorithm",
            help=word("algorithm"),
        )
    return lab.LabSettings(unknown, noise, grid, algorithm)


def _controls(state: AppState, experiment: lab.LabExperiment) -> None:
    done = experiment.finished
    with st.container(horizontal=True, vertical_alignment="center"):
        for count, label in ((1, "One decision"), (10, "Ten"), (100, "A hundred")):
            st.button(
                label,
                key=f"lab_step_{count}",
                on_click=lab.advance,
                args=(experiment, count),
                disabled=done or state.playing,
                icon=":material/skip_next:",
            )
        st.button(
            "Pause" if state.playing else "Play",
            key="lab_play",
            icon=":material/pause:" if state.playing else ":material/play_arrow:",
            type="primary",
            on_click=_toggle,
            args=(state,),
            disabled=done,
        )
        st.button(
            "Start over",
            key="lab_again",
            icon=":material/restart_alt:",
            on_click=_again,
            args=(state,),
        )


def _toggle(state: AppState) -> None:
    state.playing = not state.playing


def _again(state: AppState) -> None:
    state.playing = False
    state.drafts.pop("lab", None)


def _picture(state: AppState, experiment: lab.LabExperiment) -> None:
    if state.playing:
        lab.advance(experiment, PLAY_STEP)
        if experiment.finished:
            state.playing = False
            st.rerun()
    picture = lab.picture(experiment)
    st.progress(
        experiment.seen / len(experiment.decisions),
        f"{experiment.seen:,} of {len(experiment.decisions):,} decisions seen",
    )
    left, right = st.columns([3, 2])
    with left:
        show.chart(
            charts_lab.efficient_set_chart(picture.sets, picture.region, picture.decisions),
            "lab_sets",
        )
    with right:
        show.chart(charts_lab.convergence_chart(picture.trail), "lab_trail")
        show.table(
            picture.parameters,
            "lab_parameters",
            {
                "parameter": show.text("Parameter"),
                "true": show.number("True", form="%.3f"),
                "estimate": show.number("Estimated", form="%.3f"),
                "error": show.number("Error", form="%+.3f"),
            },
            alternative="True and estimated parameters of the quadratic program",
        )


def _reproduced() -> None:
    """The paper's figures and table, if they were made on this machine."""
    found = reports.reproduction()
    with st.expander("The paper's figures and table", icon=":material/menu_book:"):
        if found is None:
            st.markdown(
                "`imop reproduce all --quick` makes every figure and table of the paper again in a "
                "few minutes and writes a page with the paper's claims beside ours. Once it is "
                "there, it can be opened here."
            )
            return
        st.caption(f"Made by `imop reproduce`: {show.escape(str(found))}")
        if st.toggle("Show the page here", key="lab_reproduction"):
            page = reports.framed(found.read_text(encoding="utf-8"))
            st.iframe(page, height=900, alt="The paper's figures and table beside ours")
        show.download(
            "The page",
            found.read_bytes(),
            "reproduce.html",
            "text/html",
            "The paper's figures and table beside ours, in one file.",
        )
