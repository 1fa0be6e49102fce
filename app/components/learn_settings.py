"""The settings of a run: two that matter up front, the rest under "advanced"."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import streamlit as st

from imop_app.components import anchor_settings
from imop_app.services import learning
from imop_app.settings import GRIDS, Algorithm, Errors, Grid, LearnSettings, Loss, Risks, Start
from imop_app.state import AppState, place
from imop_engine.sentences.words import word

LOSSES: Final[dict[Loss, str]] = {
    "distance": "Distance to the frontier",
    "efficiency": "Return left on the table",
}
LOSS_SAID: Final[dict[Loss, str]] = {
    "distance": "Beliefs move until each portfolio lies nearer to the frontier, in shares of "
    "wealth: the paper's way.",
    "efficiency": "Beliefs move until each portfolio leaves less return on the table at its own "
    "risk, in per cent a year: it learns from any first guess and needs no weights.",
}
ALGORITHMS: Final[dict[Algorithm, str]] = {
    "accelerated": "Accelerated",
    "full": "Full",
    "newton": "Newton",
}
STARTS: Final[dict[Start, str]] = {
    "efficiency": "Where the first portfolios leave least on the table",
    "search": "Searched among the first portfolios",
    "history": "The history",
    "zero": "Zero (as in the paper)",
}
ERRORS: Final[dict[Errors, str]] = {
    "auto": "By what they show",
    "holdings": "Errors in holdings",
    "beliefs": "Beliefs of their own",
}
RISKS: Final[dict[Risks, str]] = {
    "fitted": "Fitted with the returns",
    "history": "As the history has them",
}
RISKS_HELP = "A covariance from a history is an estimate. Fitted: portfolios and history tell it "
RISKS_HELP += "together, where that explains other investors better. As the history has them: the "
RISKS_HELP += "history's own, and its error makes the intervals wider."
ERRORS_HELP = "Errors in holdings: all believe the same, and what is held is a little off. Beliefs "
ERRORS_HELP += "of their own: each believes in returns around the common ones."
LEVELS: Final = (0.8, 0.9, 0.95, 0.99)
USUAL_GRID: Final = 41


def chosen(state: AppState) -> LearnSettings:
    """What the workspace has chosen, or where it starts."""
    settings = state.settings
    if settings is None:
        return LearnSettings()
    return state.workspace.learn or learning.defaults(settings.market, settings.investors.first)


def choose(state: AppState) -> LearnSettings:
    """Draw the settings; what is chosen goes into the workspace."""
    before = chosen(state)
    with st.container(border=True, key="learn_settings"):
        left, right = st.columns(2)
        with left:
            known = anchor_settings.choose(state, before)
        with right:
            loss, algorithm, grid = _method(before)
        with st.expander("Advanced", icon=":material/settings:"):
            start, rate, level, refine = _advanced(before)
            trim, errors, risks = _departures(before)
    after = replace(
        known,
        algorithm=algorithm,
        grid=grid,
        start=start,
        rate=rate,
        level=level,
        refine=refine,
        loss=loss,
        trim=trim,
        errors=errors,
        risks=risks,
    )
    if after != before:
        state.choose_learning(after)
        st.rerun()
    return after


def _method(before: LearnSettings) -> tuple[Loss, Algorithm, Grid]:
    loss = st.segmented_control(
        "How misfit is measured",
        list(LOSSES),
        format_func=LOSSES.__getitem__,
        default=before.loss,
        key="learn_loss",
        required=True,
        wrap=True,
        help=word("loss"),
    )
    st.caption(LOSS_SAID[loss])
    if loss == "efficiency":  # it has one exact update, and no weights to try
        return loss, "accelerated", before.grid
    algorithm = st.segmented_control(
        "Algorithm",
        [name for name in ALGORITHMS if name in learning.algorithms()],
        format_func=ALGORITHMS.__getitem__,
        default=before.algorithm,
        key="learn_algorithm",
        required=True,
        wrap=True,
        help=word("algorithm"),
    )
    # The full algorithm compares weights one by one, so there is no "every weight" for it.
    grids = [one for one in GRIDS if algorithm != "full" or one != "exact"]
    grid = st.selectbox(
        "Weights tried for each investor",
        grids,
        format_func=lambda one: "Exact: every weight" if one == "exact" else f"A grid of {one}",
        index=place(grids, before.grid if before.grid in grids else USUAL_GRID),
        key=f"learn_grid_{'numbers' if algorithm == 'full' else 'all'}",
        help=word("exact"),
    )
    return loss, algorithm, grid


def _advanced(before: LearnSettings) -> tuple[Start, float, float, bool]:
    left, middle, right = st.columns(3)
    start = left.selectbox(
        "First guess of the returns",
        list(STARTS),
        format_func=STARTS.__getitem__,
        index=place(list(STARTS), before.start),
        key="learn_first_guess",
        help="Where learning begins. Investors simulated on the market's own returns are learned "
        "from zero: starting at the answer would prove nothing.",
    )
    rate = middle.number_input(
        "Learning rate",
        min_value=0.1,
        max_value=50.0,
        step=0.5,
        format="%.1f",
        value=before.rate,
        key="learn_rate",
        help=word("learning rate"),
    )
    level = right.selectbox(
        "Confidence of the intervals",
        LEVELS,
        format_func=lambda one: f"{one:.0%}",
        index=place(LEVELS, before.level),
        key="learn_level",
        help=word("interval"),
    )
    refine = st.checkbox(
        "At the end, fit all portfolios together",
        value=before.refine,
        key="learn_refine",
        help="One portfolio at a time leaves a little to gain; this takes it and makes the "
        "intervals tighter. It needs about as long again.",
    )
    return start, rate, level, refine


def _departures(before: LearnSettings) -> tuple[bool, Errors, Risks]:
    """What the fit of all portfolios makes of those who are not on the frontier, and of risks."""
    errors = st.segmented_control(
        "What keeps investors from the frontier",
        list(ERRORS),
        format_func=ERRORS.__getitem__,
        default=before.errors,
        key="learn_errors",
        required=True,
        wrap=True,
        help=ERRORS_HELP,
    )
    trim = st.checkbox(
        "Set outliers aside",
        value=before.trim,
        key="learn_trim",
        help="Investors whom no common frontier explains take no part in the fit of all "
        "portfolios together; the result says who they are and what they would change.",
    )
    risks = st.segmented_control(
        "Risks",
        list(RISKS),
        format_func=RISKS.__getitem__,
        default=before.risks,
        key="learn_risks",
        required=True,
        wrap=True,
        help=RISKS_HELP,
    )
    return trim, errors, risks
