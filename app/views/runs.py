"""Runs: everything learned in this workspace, to open, compare, make again or delete."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import streamlit as st

from imop_app import quota
from imop_app.components import frame, run_settings, show
from imop_app.run_record import RunRecord
from imop_app.services import reports, results, summary
from imop_app.services.errors import AppError
from imop_app.state import AppState, current, place
from imop_engine.report import charts_learn


def page() -> None:
    """Draw the page."""
    state = current()
    show.head(
        "Runs",
        "Everything learned in this workspace, kept in files on this machine. Open one, compare "
        "two, or make one again from a shell or from Python.",
    )
    records = state.store.list()
    _undo(state)
    _shared_with_me(state)
    if not records:
        with show.empty(
            "No runs yet",
            "Each time you press *Learn*, the result is kept here with its data and settings, and "
            "is still there after a restart.",
        ):
            frame.link(state, "learn", "Go and learn")
        return
    try:
        chosen = _list(state, records)
        st.caption(quota.said())
        if chosen is not None:
            _one(state, chosen)
        _compare(state, records)
    except AppError as error:
        show.problem(error)


def _list(state: AppState, records: list[RunRecord]) -> RunRecord | None:
    table = pd.DataFrame(
        {
            "shown": [record.id == state.workspace.run for record in records],
            "name": [record.name for record in records],
            "when": [record.when for record in records],
            "rounds": [record.rounds for record in records],
            "explained": [results.explained_said(record.explained) for record in records],
            "verdict": [record.verdict for record in records],
            "seconds": [record.seconds for record in records],
        }
    )
    picked = show.table(
        table,
        "runs",
        {
            "shown": st.column_config.CheckboxColumn("Shown", help="The run the pages show."),
            "name": show.text("Name", width="medium"),
            "when": show.text("When"),
            "rounds": show.number("Investors", form="%d"),
            "explained": show.text("Explained", "explained"),
            "verdict": show.text("Verdict", "verdict"),
            "seconds": show.number("Seconds", form="%.1f"),
        },
        alternative="The runs of this workspace, the newest first",
        on_select="rerun",
        selection_mode="single-row",
    )
    rows: list[int] = picked.selection.rows
    if not rows:
        st.caption("Click a row to open, rename, repeat or delete that run.")
        return None
    return records[rows[0]]


def _one(state: AppState, record: RunRecord) -> None:
    with st.container(border=True):
        name = st.text_input(
            "Name",
            value=record.name,
            key=f"run_name_{record.id}",
            max_chars=80,
            help="For you to recognise it.",
        )
        if name.strip() and name != record.name:
            state.store.rename(record.id, name)
            st.rerun()
        with st.container(horizontal=True):
            if st.button(
                "Open",
                icon=":material/open_in_new:",
                type="primary",
                key="run_open",
                help="Shows this run on all pages; asks before your choices are replaced.",
            ):
                _open(state, record)
            if st.button("Delete", icon=":material/delete:", key="run_delete"):
                _confirm(state, record)
        if state.workspace.owner:
            _sharing(state, record)
        location = state.store.location(record.id)
        study = results.open_run(state.store, record.id)
        if study is not None:
            reports.write_shell_inputs(study, location)
        shell, python = st.tabs(["From a shell", "From Python"])
        shell.code(reports.command_line(record, location, study), language="sh", wrap_lines=True)
        python.code(reports.python_code(location), language="python")


def _sharing(state: AppState, record: RunRecord) -> None:
    """With whom a run is shared: nobody, until somebody is named."""
    with st.popover("Share", icon=":material/group_add:", key="run_share"):
        address = st.text_input(
            "Address",
            key=f"share_address_{record.id}",
            help="Of somebody who logs in here, and who may then open this run and change nothing.",
        )
        if st.button("Share", key="share_add", disabled=not address.strip()):
            state.store.share(record.id, address)
            st.rerun()
        for number, one in enumerate(state.store.sharers(record.id)):
            st.button(
                f"Stop sharing with {show.escape(one)}",
                key=f"share_stop_{number}",
                on_click=state.store.unshare,
                args=(record.id, one),
                type="tertiary",
            )


def _shared_with_me(state: AppState) -> None:
    """Runs of others that they share with whoever is logged in."""
    found = state.store.shared() if state.workspace.owner else []
    if not found:
        return
    with st.container(border=True, key="shared_with_me"):
        st.markdown("**Shared with you**")
        for record in found:
            if st.button(show.escape(record.label), key=f"shared_{record.id}", type="tertiary"):
                _show(state, record, inputs=False)


def _open(state: AppState, record: RunRecord) -> None:
    now = state.workspace.settings
    if record.settings is None or now is None or _same(record, state):
        _show(state, record, inputs=True)
    else:
        _ask(state, record)


def _same(record: RunRecord, state: AppState) -> bool:
    return not summary.changes(replace(state.workspace, run=record.id), state.store)


def _show(state: AppState, record: RunRecord, inputs: bool) -> None:
    state.open_run(record, inputs)
    state.forget_widgets()
    frame.go(state, "frontier")


@st.dialog("Bring back its data and settings too?")
def _ask(state: AppState, record: RunRecord) -> None:
    changed = summary.changes(replace(state.workspace, run=record.id), state.store)
    st.markdown(
        f"**{show.escape(record.label)}** was learned from other choices than those of now "
        f"({', '.join(changed)}). Showing the run leaves your choices as they are; bringing them "
        "back replaces them, and can be undone on this page."
    )
    with st.container(horizontal=True):
        if st.button("Only show the run", type="primary", key="run_open_only"):
            _show(state, record, inputs=False)
        if st.button("Replace my choices", key="run_open_all"):
            _show(state, record, inputs=True)
        if st.button("Cancel", key="run_open_no"):
            st.rerun()


def _undo(state: AppState) -> None:
    """Offer what was chosen before an old run was opened."""
    before = state.workspace.before
    if before is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="undo_open"):
        st.info(
            f"Your choices were replaced when **{show.escape(before.opened)}** was opened.",
            icon=":material/undo:",
        )
        if st.button("Bring mine back", key="run_undo", help="As before you opened that run."):
            state.undo_open()
            state.forget_widgets()
            st.rerun()


@st.dialog("Delete this run?")
def _confirm(state: AppState, record: RunRecord) -> None:
    st.markdown(f"**{show.escape(record.label)}** will be removed for good, with its files.")
    with st.container(horizontal=True):
        if st.button("Delete for good", type="primary", key="run_delete_yes"):
            if state.workspace.run == record.id:
                state.show_run(None)
            state.store.delete(record.id)
            st.rerun()
        if st.button("Keep it", key="run_delete_no"):
            st.rerun()


def _compare(state: AppState, records: list[RunRecord]) -> None:
    if len(records) < 2:
        return
    st.header("Compare two", anchor=False)
    by_id = {record.id: record for record in records}
    left, right = st.columns(2)
    first = left.selectbox(
        "A",
        list(by_id),
        format_func=lambda one: by_id[one].label,
        index=place(list(by_id), records[1].id),
        key="compare_a",
        help="The run that is drawn solid.",
    )
    second = right.selectbox(
        "B",
        list(by_id),
        format_func=lambda one: by_id[one].label,
        index=place(list(by_id), records[0].id),
        key="compare_b",
        help="The run that is drawn dashed.",
    )
    a, b = results.open_run(state.store, first), results.open_run(state.store, second)
    if a is None or b is None:
        return
    run_settings.compared(by_id[first], by_id[second])
    both = results.compare(a, b)
    left, right = st.columns(2)
    with left:
        show.chart(charts_learn.compared_frontiers_chart(both.curves), "compare_frontiers")
        show.chart(charts_learn.compared_weights_chart(both.weights), "compare_weights")
    with right:
        show.chart(charts_learn.compared_returns_chart(both.returns), "compare_returns")
        show.table(
            both.figures,
            "compare_figures",
            {"figure": show.text("Figure"), "A": show.text("A"), "B": show.text("B")},
            alternative="Key figures of the two runs",
        )
    show.table(
        both.table,
        "compare_returns",
        {
            "asset": show.text("Asset"),
            "A": show.percent("A", "expected return"),
            "B": show.percent("B", "expected return"),
            "difference": show.percent("B − A"),
            "status A": show.text("Status in A"),
            "status B": show.text("Status in B"),
        },
        alternative="Estimated returns of the two runs and their difference",
    )
