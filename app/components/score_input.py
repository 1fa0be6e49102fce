"""A number for each asset, and three known returns: what the page Score is given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import pandas as pd
import streamlit as st

from imop_app.components import show
from imop_app.components.market_source import ENDINGS
from imop_app.services import score
from imop_app.services.errors import AppError
from imop_app.services.preparing import PREPARATION
from imop_app.state import AppState
from imop_engine.sentences.words import word
from imop_engine.study import Study

SAME: Final = 1e-9  # percent; an untouched number keeps every digit of the history
WAIT_SECONDS: Final = 1.0
TALL: Final = 12  # assets from which the table scrolls


@dataclass
class _Draft:
    """What the editor started from; a file or the example begins another one."""

    scores: dict[str, float] = field(default_factory=dict)
    known: dict[str, float] = field(default_factory=dict)  # none: proposed from the history
    said: str = ""
    file: str = ""  # the digest of the file they came from
    number: int = 0


def choose(state: AppState, study: Study, location: str) -> None:
    """Draw the inputs and the button that starts the fit.

    Args:
        state: What this browser session has chosen.
        study: The shown run.
        location: Where it is kept.
    """
    key = f"score_{location}"
    if key not in state.drafts:  # a reload finds what was fitted last
        last = score.given_last(study, location)
        state.drafts[key] = _Draft(*last) if last else _Draft()
    draft: _Draft = state.drafts[key]
    left, right = st.columns(2)
    with left:
        edited = _scores(state, study, draft, key)
    with right:
        known = _known(study, draft, edited)
        _start(location, edited, known)


def _scores(state: AppState, study: Study, draft: _Draft, key: str) -> pd.DataFrame:
    st.subheader("A score for each asset", anchor=False, help=word("asset score"))
    given = st.file_uploader(
        "File with scores (or type them below)",
        type=ENDINGS,
        key="score_file",
        help="A row for each asset: its name, and a number; more is better. CSV, Excel or Parquet.",
    )
    if given is not None:
        stored = state.workspace.box.put(given.name, given.getvalue())
        if stored.digest != draft.file:
            draft.file = stored.digest  # one that cannot be read says so once, and stays
            draft.scores, draft.said = score.from_file(stored, study, state.workspace.box), ""
            draft.known = {}
            draft.number += 1
    if st.button(
        "Try an example",
        icon=":material/lightbulb:",
        key="score_example",
        help="A score computed from this market's own history. It is no rating of anything.",
    ):
        draft.scores, draft.said = score.example(study)
        draft.known = {}
        draft.number += 1
    if draft.said:
        st.caption(show.escape(draft.said))
    base = f"{key}_{draft.number}"
    # The editor keeps the edits on top of the table it was first given; see the page Market.
    if base not in state.drafts or f"score_table_{draft.number}" not in st.session_state:
        state.drafts[base] = score.table(study, draft.scores)
    edited: pd.DataFrame = st.data_editor(
        state.drafts[base],
        hide_index=True,
        key=f"score_table_{draft.number}",
        disabled=["asset"],
        height=420 if len(study.problem.names) > TALL else "content",
        column_config={
            "asset": st.column_config.TextColumn("Asset"),
            "score": st.column_config.NumberColumn("Score (more is better)", format="%.4g"),
        },
    )
    return edited


def _known(study: Study, draft: _Draft, edited: pd.DataFrame) -> dict[str, float]:
    st.subheader("Three returns you know", anchor=False, help=word("anchor"))
    st.caption(
        "A score leaves one thing more open than two objectives do: level, scale, and price. Three "
        "known returns fix them; to begin with, those of the history that tell them apart best."
    )
    found = score.candidates(study)
    options = [one.name for one in found.candidates]
    known_here = {name: value for name, value in draft.known.items() if name in options}
    first = known_here or score.suggested(study, edited)
    names = st.multiselect(
        "Assets or portfolios",
        options,
        max_selections=3,
        default=list(first),
        key=f"score_known_{draft.number}_{'-'.join(first)[:60]}",
        placeholder="Once every asset has a score, three are proposed" if not first else "Choose",
        help="Three, each with its yearly return below.",
    )
    known = {}
    for name in names:
        one: Any = found.candidate(name)
        value = first.get(name, one.value)
        percent = st.number_input(
            f"Return of {show.escape(name)} (% per year)",
            step=0.1,
            format="%.2f",
            value=100.0 * value,
            key=f"score_return_{draft.number}_{name}",
            help="To begin with what it earned in the history.",
        )
        known[name] = value if abs(percent - 100.0 * value) < SAME else percent / 100.0
    return known


def _start(location: str, edited: pd.DataFrame, known: dict[str, float]) -> None:
    now = score.of_run(location)
    pressed = st.button(
        "Fit the score",
        type="primary",
        icon=":material/play_arrow:",
        key="score_start",
        disabled=not PREPARATION.ready or (now is not None and now.running),
        help="Works in the background; you can look at other pages meanwhile.",
    )
    if not pressed:
        return
    try:
        scores = score.complete(edited)
    except AppError as error:
        show.problem(error)
        return
    score.begin(location, scores, known).wait(WAIT_SECONDS)
    st.rerun()
