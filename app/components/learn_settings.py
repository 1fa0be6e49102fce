"""The settings of a run: two that matter up front, the rest under "advanced"."""

from __future__ import annotations

from typing import Final

import streamlit as st

from imop_app.components.show import escape
from imop_app.services import learning
from imop_app.services import market as markets
from imop_app.settings import GRIDS, Algorithm, Anchoring, Errors, Grid, LearnSettings, Loss, Start
from imop_app.state import AppState, place
from imop_engine.sentences.words import word

ANCHORINGS: Final[dict[Anchoring, str]] = {
    "history": "From the history",
    "assets": "Two returns I know",
    "none": "Nothing",
}
ANCHORING_SAID: Final[dict[Anchoring, str]] = {
    "history": "The portfolio of least risk and the average portfolio earn what they earned in "
    "the history. That fixes the level and the scale of all the others.",
    "assets": "Name two assets whose returns you are sure of; choose ones that many investors "
    "hold, because they tie the others to what is known.",
    "none": "Then only the *order and the proportions* of the returns mean something, not their "
    "level or scale: adding a constant to all, or multiplying all, changes no portfolio.",
}
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
ERRORS_HELP = "Errors in holdings: all believe the same, and what is held is a little off. Beliefs "
ERRORS_HELP += "of their own: each believes in returns around the common ones."
LEVELS: Final = (0.8, 0.9, 0.95, 0.99)


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
            anchoring, known, unsure = _anchors(state, before)
        with right:
            loss, algorithm, grid = _method(before)
        with st.expander("Advanced", icon=":material/settings:"):
            start, rate, level, refine = _advanced(before)
            trim, errors = _departures(before)
    after = LearnSettings(
        anchoring, known, algorithm, grid, start, rate, level, refine, loss, trim, errors, unsure
    )
    if after != before:
        state.choose_learning(after)
        st.rerun()
    return after


def _anchors(
    state: AppState, before: LearnSettings
) -> tuple[Anchoring, tuple[tuple[str, float], ...], tuple[tuple[str, float], ...]]:
    anchoring = st.segmented_control(
        "What is taken as known",
        list(ANCHORINGS),
        format_func=ANCHORINGS.__getitem__,
        default=before.anchoring,
        key="learn_anchoring",
        required=True,
        wrap=True,
        help=word("anchor"),
    )
    st.caption(ANCHORING_SAID[anchoring])
    if anchoring != "assets":
        return anchoring, before.known, before.known_errors
    workspace = state.workspace
    data = markets.load(workspace.chosen_market, workspace.box)
    suggested = before.known or learning.known_assets(workspace.chosen_market, workspace.box)
    names = st.multiselect(
        "Assets",
        data.names,
        max_selections=2,
        default=[name for name, _ in suggested],
        key="learn_known",
        help="Two, each with its yearly return below.",
    )
    values = dict(suggested)
    errors = dict(before.known_errors)
    known, unsure = [], []
    for name, column in zip(names, st.columns(2), strict=False):
        first = values.get(name, float(data.returns_by_asset[name]))
        percent = column.number_input(
            f"Return of {escape(name)} (% per year)",
            step=0.1,
            format="%.2f",
            value=100.0 * first,
            key=f"known_{name}",
            help=word("expected return"),
        )
        # An untouched number keeps every digit of the history.
        same = abs(percent - 100.0 * first) < 1e-9
        known.append((name, first if same else percent / 100.0))
        error = column.number_input(
            f"± for {escape(name)} (% per year)",
            min_value=0.0,
            step=0.1,
            format="%.2f",
            value=100.0 * errors.get(name, 0.0),
            key=f"unsure_{name}",
            help="The standard error of that return; 0 takes it as exact.",
        )
        if error > 0.0:
            unsure.append((name, error / 100.0))
    return anchoring, tuple(known), tuple(unsure)


def _method(before: LearnSettings) -> tuple[Loss, Algorithm, Grid]:
    loss = st.segmented_control(
        "What each portfolio makes smaller",
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
    grid = st.selectbox(
        "Weights tried for each investor",
        GRIDS,
        format_func=lambda one: "Exact: every weight" if one == "exact" else f"A grid of {one}",
        index=place(GRIDS, before.grid),
        key="learn_grid",
        help=word("exact"),
    )
    if algorithm == "full" and grid == "exact":
        st.caption(":orange[The full algorithm needs a grid: choose a number of weights.]")
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


def _departures(before: LearnSettings) -> tuple[bool, Errors]:
    """What the fit of all portfolios makes of those who are not on the frontier."""
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
    return trim, errors
