"""Which returns are taken as known: what each choice would fix, and what it does to the levels."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import streamlit as st

from imop_app.components import show
from imop_app.components.show import escape
from imop_app.services import anchors, results, summary
from imop_app.services.errors import AppError
from imop_app.settings import Anchoring, LearnSettings
from imop_app.state import AppState
from imop_engine.report import charts_trust
from imop_engine.sentences.words import word
from imop_engine.study import Study

ANCHORINGS: Final[dict[Anchoring, str]] = {
    "history": "From the history",
    "assets": "Two returns I know",
    "total": "One total return",
    "none": "None",
}
SAID: Final[dict[Anchoring, str]] = {
    "history": "The portfolio of least risk and the average portfolio earn what they earned in "
    "the history. That fixes the level and the scale of all the others.",
    "assets": "Name two assets or portfolios whose returns you are sure of, with their ±; the "
    "table says which fix the most.",
    "total": "As advisers do it: say what the average portfolio is expected to return. How far "
    "returns are apart is taken from the history.",
    "none": "Then only the *order and the proportions* of the returns mean something, not their "
    "level or scale: adding a constant to all, or multiplying all, changes no portfolio.",
}
BOXES: Final = {"good": st.success, "caution": st.warning, "poor": st.error}
SAME: Final = 1e-9  # percent; an untouched number keeps every digit of the history


def choose(state: AppState, before: LearnSettings) -> LearnSettings:
    """Draw the choice of known returns; returns the settings with it.

    Args:
        state: What this browser session has chosen.
        before: The settings so far.
    """
    anchoring = st.segmented_control(
        "Returns you know",
        list(ANCHORINGS),
        format_func=ANCHORINGS.__getitem__,
        default=before.anchoring,
        key="learn_anchoring",
        required=True,
        wrap=True,
        help=word("anchor"),
    )
    st.caption(SAID[anchoring])
    chosen = replace(before, anchoring=anchoring)
    if anchoring not in ("assets", "total"):
        return chosen
    workspace = state.workspace
    study = _study(state)
    found = anchors.choice(
        workspace.chosen_market, workspace.chosen_investors, workspace.box, study
    )
    chosen = _total(found, chosen) if anchoring == "total" else _pair(found, chosen)
    with st.expander("What this does to the levels", icon=":material/straighten:"):
        _effect(found, chosen, study)
    return chosen


def _study(state: AppState) -> Study | None:
    """The shown run, where it was learned from the data that are chosen now."""
    if {"market", "investors"} & set(summary.changes(state.workspace, state.store)):
        return None
    try:
        return results.open_run(state.store, state.workspace.run)
    except AppError:
        return None


def _total(found: anchors.Choice, before: LearnSettings) -> LearnSettings:
    left, right = st.columns(2)
    first = before.total if before.total is not None else anchors.historical_total(found)
    percent = left.number_input(
        "Average portfolio (% per year)",
        step=0.1,
        format="%.2f",
        value=100.0 * first,
        key="total_return",
        help="What the average portfolio of these investors is expected to return, all in all.",
    )
    error = right.number_input(
        "± (% per year)",
        min_value=0.0,
        step=0.1,
        format="%.2f",
        value=100.0 * before.total_error,
        key="total_error",
        help="The standard error of that return; 0 takes it as exact.",
    )
    return replace(
        before, total=_kept(percent, first), total_error=_kept(error, before.total_error)
    )


def _kept(percent: float, first: float) -> float:
    """The number of a field as a fraction; untouched it keeps every digit."""
    return first if abs(percent - 100.0 * first) < SAME else percent / 100.0


def _pair(found: anchors.Choice, before: LearnSettings) -> LearnSettings:
    suggested, unsure = anchors.suggested(found)
    known = before.known or suggested
    errors = dict(before.known_errors) if before.known else unsure
    names = st.multiselect(
        "Assets or portfolios",
        [one.name for one in found.candidates],
        max_selections=2,
        default=[name for name, _ in known if found.candidate(name) is not None],
        key="learn_known",
        help="Two, each with its yearly return below.",
    )
    st.caption(escape(anchors.advice(found)))
    values = dict(known)
    chosen, sure = [], []
    for name, column in zip(names, st.columns(2), strict=False):
        one = found.candidate(name)
        assert one is not None
        first = values.get(name, one.value)
        percent = column.number_input(
            f"Return of {escape(name)} (% per year)",
            step=0.1,
            format="%.2f",
            value=100.0 * first,
            key=f"known_{name}",
            help=word("expected return"),
        )
        chosen.append((name, _kept(percent, first)))
        usual = errors.get(name, 0.0 if name in values else one.error)
        error = column.number_input(
            f"± for {escape(name)} (% per year)",
            min_value=0.0,
            step=0.1,
            format="%.2f",
            value=100.0 * usual,
            key=f"unsure_{name}",
            help="The standard error of that return; 0 takes it as exact.",
        )
        if error > 0.0:
            sure.append((name, _kept(error, usual)))
    return replace(before, known=tuple(chosen), known_errors=tuple(sure))


def _effect(found: anchors.Choice, chosen: LearnSettings, study: Study | None) -> None:
    """Diagnosis, levels at once, and what else could be known."""
    seen = anchors.picture(found, chosen, study)
    if seen.said:
        BOXES[seen.colour](escape(seen.said))
    if seen.levels is not None:
        show.chart(charts_trust.levels_chart(seen.levels), "anchor_levels")
    st.markdown("**What each would fix as a known return**, the most useful first")
    show.table(
        found.table(),
        "anchor_candidates",
        {
            "name": show.text("Asset or portfolio"),
            "value": show.percent("In the history"),
            "error": show.percent("±"),
            "holders": show.percent("Held by"),
            "scale_error": show.percent("Fixes distances to ±"),
            "partner": show.text("together with"),
        },
        alternative="Assets and portfolios ranked by what they would fix as known returns",
        height=280,
    )
