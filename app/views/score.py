"""Score: a third objective beside return and risk, and what investors give for it."""

from __future__ import annotations

import streamlit as st

from imop_app.components import frame, score_input, score_panels, show
from imop_app.services import reports, results
from imop_app.services.errors import AppError
from imop_app.state import current


def page() -> None:
    """Draw the page."""
    state = current()
    show.head(
        "Score",
        "A third objective beside return and risk: sustainability, liquidity, yield, any number of "
        "each asset. How much it counts for each investor, and what it costs in return.",
        "asset score",
    )
    try:
        study = results.open_run(state.store, state.workspace.run)
        if study is None:
            with show.empty(
                "No score yet",
                "Learn returns first; then give each asset a number, and see what investors give "
                "up for it.",
            ):
                frame.link(state, "learn", "Go and learn")
            return
        location = state.store.location(str(state.workspace.run))
        score_input.choose(state, study, location)
        stem = reports.stem(results.record_of(state.store, state.workspace.run))
        score_panels.draw(location, stem)
    except AppError as error:
        show.problem(error)
    st.caption("The run's own estimate stays as it is; nothing of this page is kept with it.")
