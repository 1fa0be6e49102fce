"""Portfolios that came later: the end of the stream, with which a run can continue."""

from __future__ import annotations

import streamlit as st

from imop_app.components.market_source import ENDINGS
from imop_app.components.show import escape
from imop_app.services import file_choices
from imop_app.services import people as crowd
from imop_app.settings import InvestorBatch, InvestorSettings
from imop_app.state import AppState


def add(state: AppState, chosen: InvestorSettings) -> None:
    """Offer to append a batch, or to take the last one back."""
    count = len(chosen.batches)
    title = "Portfolios that came later" + (f" ({count - 1})" if count > 1 else "")
    with st.expander(title, icon=":material/playlist_add:"):
        st.caption(
            "Add them to the end of the stream. Learn then offers to *continue*: it goes on from "
            "the run you have, and comes to exactly the result of one run over all portfolios."
        )
        if chosen.first.source == "simulate":
            st.button(
                f"Simulate {chosen.first.simulation.count:,} more",
                icon=":material/add:",
                key="more_simulated",
                on_click=_append,
                args=(state, crowd.more_simulated(chosen.first, count)),
            )
        given = st.file_uploader(
            "File with more portfolios",
            type=ENDINGS,
            key=f"more_file_{count}",
            help="Read like the first file; what does not fit is in the reading report.",
        )
        if given is not None:
            stored = state.workspace.box.put(given.name, given.getvalue())
            batch = InvestorBatch("upload", file=stored)
            workspace = state.workspace
            _append(state, file_choices.more(workspace.chosen_market, chosen, batch, workspace.box))
            st.rerun()
        for number, batch in enumerate(chosen.batches[1:], start=2):
            st.markdown(f"Batch {number}: {escape(_named(batch))}")
        if count > 1:
            st.button(
                "Take the last one back",
                icon=":material/undo:",
                key="less_portfolios",
                on_click=state.choose_investors,
                args=(InvestorSettings(chosen.batches[:-1]),),
            )


def _append(state: AppState, batch: InvestorBatch) -> None:
    if state.workspace.investors is not None:
        state.choose_investors(state.workspace.investors.plus(batch))


def _named(batch: InvestorBatch) -> str:
    if batch.file is not None:
        return batch.file.name
    return f"{batch.simulation.count:,} simulated with seed {batch.simulation.seed}"
