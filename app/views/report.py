"""Report: everything a run says, to take away."""

from __future__ import annotations

from functools import partial
from typing import Final

import streamlit as st

from imop_app.components import frame, group_panels, show
from imop_app.services import groups, reports, results
from imop_app.services.errors import AppError
from imop_app.state import AppState, current
from imop_app.store import RunRecord
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
    show.head("Report", "Take the results away: one report to read, tables to work with, pictures.")
    try:
        study = results.open_run(state.store, state.workspace.run)
        record = results.record_of(state.store, state.workspace.run)
        if study is None or record is None:
            with show.empty(
                ":material/description:",
                "Nothing to report yet",
                "After a run this page has one report with your title and notes, every table as "
                "CSV, Excel and JSON, and every picture as SVG and PNG.",
            ):
                frame.link(state, "learn", "Go and learn")
            return
        study = _report(state, study, record)
        left, right = st.columns(2)
        with left:
            _tables(study)
        with right:
            _pictures(study)
    except AppError as error:
        show.problem(error)


def _report(state: AppState, study: Study, record: RunRecord) -> Study:
    """Offer the report; returns the run with the groups that are chosen here."""
    with st.container(border=True):
        st.subheader("The report", anchor=False)
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
        study = groups.grouped(study, group_panels.choose(state, study))
        command = reports.command_line(record, state.store.location(record.id), study)
        with st.container(horizontal=True):
            show.download(
                "Report (HTML)",
                partial(reports.html, study, title, notes, command),
                "report.html",
                "text/html",
                "One file: method, data, estimate, what is and is not identified, charts.",
                main=True,
            )
            if reports.can_print():
                show.download(
                    "Report (PDF)",
                    lambda: reports.pdf(reports.html(study, title, notes, command)),
                    "report.pdf",
                    "application/pdf",
                    "The same, printed by the browser on this machine; takes a few seconds.",
                )
            else:
                st.caption(
                    "For a PDF open the HTML report and print it; with Chromium on this machine "
                    "there is a button here."
                )
        if st.toggle("Preview", key="report_preview", help="Shows the report below."):
            page = reports.html(study, title, notes, command)
            st.iframe(reports.framed(page), height=900, alt="The report as it will be saved")
    return study


def _tables(study: Study) -> None:
    with st.container(border=True):
        st.subheader("Tables", anchor=False)
        st.caption("Every row and every digit. Text that a spreadsheet would run is made safe.")
        with st.container(horizontal=True):
            offered = TABLES if study.groups is None else {**TABLES, **GROUPS}
            for name, title in offered.items():
                show.download(
                    f"{title} (CSV)",
                    partial(reports.table_csv, study, name),
                    f"{name}.csv",
                    "text/csv",
                    f"The table of {title.lower()} alone.",
                )
        with st.container(horizontal=True):
            show.download(
                "All tables (Excel)",
                partial(reports.workbook, study),
                "study.xlsx",
                SHEET,
                "One sheet for each table.",
            )
            show.download(
                "All tables (JSON)",
                partial(reports.json_document, study),
                "study.json",
                "application/json",
                "One document, for programs.",
            )


def _pictures(study: Study) -> None:
    with st.container(border=True):
        st.subheader("Pictures", anchor=False)
        st.caption("SVG for documents, PNG for everything else.")
        for name, title in reports.picture_names(study).items():
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(title, width="stretch")
                for ending in ("svg", "png"):
                    show.download(
                        ending.upper(),
                        partial(reports.picture, study, name, ending),
                        f"{name}.{ending}",
                        "image/svg+xml" if ending == "svg" else "image/png",
                        f"{title} as {ending.upper()}.",
                    )
