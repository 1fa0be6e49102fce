"""Report: everything a run says, to take away."""

from __future__ import annotations

from functools import partial
from typing import Final

import streamlit as st

from imop_app.components import frame, group_panels, show
from imop_app.components.client_panels import PAPERS
from imop_app.run_record import RunRecord
from imop_app.services import groups, making, reports, results
from imop_app.services.errors import AppError
from imop_app.services.making import Shown
from imop_app.state import AppState, current
from imop_engine.study import Study

TABLES: Final = {
    "returns": "Returns",
    "investors": "Investors",
    "frontier": "Frontier",
    "distribution": "Distribution",
}
GROUPS: Final = {"groups": "Groups"}  # where they are compared
SHEET: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


def page() -> None:
    """Draw the page."""
    state = current()
    show.head("Report", "One report to read, tables to work with, and pictures, to download.")
    try:
        study = results.open_run(state.store, state.workspace.run)
        record = results.record_of(state.store, state.workspace.run)
        if study is None or record is None:
            with show.empty(
                "Nothing to report yet",
                "After a run this page has one report with your title and notes, every table as "
                "CSV, Excel and JSON, and every picture as SVG and PNG.",
            ):
                frame.link(state, "learn", "Go and learn")
            return
        shown = _report(state, study, record)
        left, right = st.columns(2)
        with left:
            _tables(shown)
        with right:
            _pictures(shown)
    except AppError as error:
        show.problem(error)


def _report(state: AppState, study: Study, record: RunRecord) -> Shown:
    """Offer the report; returns the run with the groups that are chosen here."""
    with st.container(border=True):
        st.header("The report", anchor=False)
        title = st.text_input(
            "Title",
            value=state.workspace.title,
            key="report_title",
            placeholder="What these investors believe",
            help="Stands on top of the report.",
        )
        notes = st.text_area(
            "Notes",
            value=state.workspace.notes,
            key="report_notes",
            placeholder="What the reader should know: where the data come from, what was decided.",
            help="Printed below the title, as you write it.",
        )
        state.describe(title=title, notes=notes)
        location = state.store.location(record.id)
        study = groups.grouped(study, group_panels.choose(state, study))
        shown = Shown(study, location, reports.stem(record))
        making.start()
        command = reports.command_line(record, location, study)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            show.download(
                "Report (HTML)",
                partial(making.html, shown, title, notes, command),
                f"{shown.stem}_report.html",
                "text/html",
                "One file: method, data, estimate, what is and is not identified, charts.",
                main=True,
            )
            if reports.can_print():
                paper = st.selectbox(
                    "Paper",
                    list(PAPERS),
                    format_func=PAPERS.__getitem__,
                    key="report_paper",
                    width=120,
                    help="What the PDF is laid out for.",
                )
                show.download(
                    "Report (PDF)",
                    partial(making.pdf, shown, title, notes, command, paper),
                    f"{shown.stem}_report.pdf",
                    "application/pdf",
                    "The same, printed by the browser on this machine; takes a few seconds.",
                )
            else:
                st.caption(
                    "For a PDF open the HTML report and print it; with Chromium on this machine "
                    "there is a button here."
                )
        if st.toggle("Preview", key="report_preview", help="Shows the report below."):
            page = making.html(shown, title, notes, command)
            st.iframe(reports.framed(page), height=900, alt="The report as it will be saved")
    return shown


def _tables(shown: Shown) -> None:
    with st.container(border=True):
        st.header("Tables", anchor=False)
        st.caption("Every row and every digit. Text that a spreadsheet would run is made safe.")
        with st.container(horizontal=True):
            offered = TABLES if shown.study.groups is None else {**TABLES, **GROUPS}
            for name, title in offered.items():
                show.download(
                    f"{title} (CSV)",
                    partial(making.table_csv, shown, name),
                    f"{shown.stem}_{name}.csv",
                    "text/csv",
                    f"The table of {title.lower()} alone.",
                )
        with st.container(horizontal=True):
            show.download(
                "All tables (Excel)",
                partial(making.workbook, shown),
                f"{shown.stem}_tables.xlsx",
                SHEET,
                "One sheet for each table.",
            )
            show.download(
                "All tables (JSON)",
                partial(making.json_document, shown),
                f"{shown.stem}_tables.json",
                "application/json",
                "One document, for programs.",
            )


def _pictures(shown: Shown) -> None:
    with st.container(border=True):
        st.header("Pictures", anchor=False)
        st.caption("SVG for documents, PNG for everything else.")
        for name, title in reports.picture_names(shown.study).items():
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(title, width="stretch")
                for ending in ("svg", "png"):
                    show.download(
                        ending.upper(),
                        partial(making.picture, shown, name, ending),
                        f"{shown.stem}_{name}.{ending}",
                        "image/svg+xml" if ending == "svg" else "image/png",
                        f"{title} as {ending.upper()}.",
                    )
