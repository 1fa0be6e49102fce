"""Clients: choose some of them, act on them, and look at one on a page of its own."""

from __future__ import annotations

import streamlit as st

from imop_app.components import client_options, client_panels, frame, show, what_if_panels
from imop_app.services import clients, reports, results
from imop_app.services.errors import AppError
from imop_app.state import AppState, current
from imop_engine.study import Study


def page() -> None:
    """Draw the page."""
    state = current()
    show.head(
        "Clients",
        "One client at a time: holdings beside the efficient portfolio at the same risk, trades, "
        "and stated against held risk. Or choose many, and act on them.",
        "risk score",
    )
    try:
        client_panels.everybody_again(state)
        study = results.open_run(state.store, state.workspace.run)
        if study is None:
            with show.empty(
                "No clients yet",
                "Once a run has learned the returns, every client has a page here that prints on "
                "one sheet of paper.",
            ):
                frame.link(state, "learn", "Go and learn")
            return
        _clients(state, study)
    except AppError as error:
        show.problem(error)


def _clients(state: AppState, study: Study) -> None:
    found = clients.book(study, client_options.choose(study))
    asked = client_options.narrow(found)
    ids = clients.chosen(found, asked)
    st.markdown(f"**{show.escape(clients.said(found, ids, asked))}**")
    if found.classes is not None:
        st.markdown(show.escape(clients.mismatches_said(found)))
    if not ids:
        st.info("Nobody passes these filters.", icon=":material/filter_alt_off:")
        return
    clicked = client_panels.listed(found, ids)
    stem = reports.stem(results.record_of(state.store, state.workspace.run))
    client_panels.hand_out(found, ids, asked, stem)
    client_panels.act(state, found, ids, asked.said())
    what_if_panels.models(found, stem)
    _one(found, ids, clicked)


def _one(found: clients.ClientBook, ids: tuple[str, ...], clicked: str | None) -> None:
    offered = list(ids[: clients.OFFERED])
    client = st.selectbox(
        "Client",
        offered,
        index=None if clicked not in offered else offered.index(clicked),
        placeholder="Click a row above, type a name, or choose one",
        key=f"client_{clicked}",
        help="Shows the sheet of this client below, to print on one page.",
    )
    if client is None:
        return
    client_panels.one(found, client)
    client_panels.take(found, client)
    what_if_panels.editor(found, client)
