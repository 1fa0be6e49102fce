"""The list of clients with what can be done with them, and the sheet of one."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from imop_app.components import frame, group_panels, show
from imop_app.services import clients, results
from imop_app.settings import Selection
from imop_app.state import AppState
from imop_engine.report import charts_client, printing
from imop_engine.sentences.words import word

ROWS = 100
SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
SCORE = 230  # pixels; titles and axes are counted here
PAPERS = {"a4": "A4", "letter": "Letter"}


def listed(found: clients.ClientBook, ids: tuple[str, ...]) -> str | None:
    """The table of chosen clients; returns the one that was clicked."""
    left, right = st.columns([4, 1], vertical_alignment="bottom")
    first = found.classes is not None and left.toggle(
        "Mismatches first",
        key="client_mismatches_first",
        help="Those whose held risk is furthest from the stated class come first.",
    )
    rows = clients.table(found, ids, bool(first))
    with right:
        number = show.pages(len(rows), ROWS, "client_page")
    part = rows.iloc[number * ROWS : (number + 1) * ROWS].reset_index(drop=True)
    part = part.assign(
        mismatch=part["mismatch"].map(clients.MISMATCH_WORDS) if "mismatch" in part else None
    )
    money = [name for name in ("gap_money", "wealth") if name in part]
    part = part.assign(**{name: part[name].round(0) for name in money})  # as on the client's page
    columns = {
        "id": show.text("Client"),
        "score": show.number("Risk score", "risk score", "%.0f"),
        "stated": show.text("Stated", "risk class"),
        "held": show.text("Held", "risk class"),
        "mismatch": show.text("Stated against held", "risk class"),
        "risk": show.percent("Risk a year", "risk"),
        "gap_points": show.number("Left (basis points)", "left on the table", "%.1f"),
        "gap_money": show.number("Left (money a year)", "left on the table", "localized"),
        "wealth": show.number("Wealth", form="localized"),
        "risk_aversion": show.number("Risk aversion", "risk aversion", "%.2f"),
        "status": show.text("Status", "outlier"),
    }
    empty = [name for name in columns if name in part and part[name].isna().all()]
    picked = show.table(
        part.drop(columns=[name for name in empty if name != "id"]),
        "clients",
        columns,
        alternative="The chosen clients: risk score, stated and held risk, return left",
        height=300,
        on_select="rerun",
        selection_mode="single-row",
    )
    at = picked.selection.rows
    return str(part["id"].iloc[at[0]]) if at and at[0] < len(part) else None


def hand_out(
    found: clients.ClientBook, ids: tuple[str, ...], asked: clients.ClientFilter, stem: str
) -> None:
    """Downloads of the chosen clients.

    Args:
        found: The clients of the run.
        ids: What the chosen are called.
        asked: How they were chosen.
        stem: What file names begin with.
    """
    with st.container(horizontal=True, key="client_downloads"):
        show.download(
            "These clients (CSV)",
            partial(clients.table_csv, found, ids),
            f"{stem}_clients.csv",
            "text/csv",
            "One row for each, every digit.",
        )
        show.download(
            "These clients (Excel)",
            partial(clients.workbook, found, ids, asked),
            f"{stem}_clients.xlsx",
            SHEET,
            "The same with anchors, settings, units and classes on sheets of their own.",
        )
        if len(ids) <= clients.MOST_PAGES:
            show.download(
                "One-pagers (ZIP)",
                partial(clients.archive, found, ids),
                f"{stem}_one-pagers.zip",
                "application/zip",
                "A page for each of these clients, and a list; takes a fifth of a second each.",
            )
        else:
            st.caption(
                f"One-pagers for up to {clients.MOST_PAGES} clients at once; choose fewer, or use "
                "`imop client` in a shell."
            )


def act(state: AppState, found: clients.ClientBook, ids: tuple[str, ...], said: str) -> None:
    """Learn again from some; compare with the rest.

    Args:
        state: What this browser session has chosen.
        found: The clients of the run.
        ids: What the chosen are called.
        said: How they were chosen.
    """
    record = results.record_of(state.store, state.workspace.run)
    some = 0 < len(ids) < len(found)
    able = clients.can_learn(state.workspace, record)
    running = state.job is not None and state.job.status == "running"
    with st.container(horizontal=True, key="client_actions"):
        only = st.button(
            "Learn from these only",
            icon=":material/filter_alt:",
            disabled=not (some and able) or running,
            key="client_only",
            help="A new run from the chosen clients. All are back with one button.",
        )
        without = st.button(
            "Set aside and learn again",
            icon=":material/person_remove:",
            disabled=not (some and able) or running,
            key="client_without",
            help="A new run from all others.",
        )
        against = st.toggle(
            "Compare with the rest",
            disabled=not some,
            key="client_compare",
            help="What these hold, want and believe beside all others; needs no new run.",
        )
    if not able:
        st.caption(
            "Data have changed since this run; learn anew before choosing whom to learn from."
        )
    if only or without:
        _learn(state, Selection("only" if only else "without", ids, said))
    if against and some:
        _beside(found, ids)


def _learn(state: AppState, picked: Selection) -> None:
    investors = state.workspace.investors
    if investors is None:
        return
    state.choose_investors(clients.selected(investors, picked))
    clients.learn_from(state.workspace, state.store)
    frame.go(state, "learn")


def everybody_again(state: AppState) -> None:
    """Where only some investors are learned from: says so, and brings the others back."""
    investors = state.workspace.investors
    if investors is None or investors.selection is None:
        return
    chosen = investors.selection
    how = "Only" if chosen.mode == "only" else "All but"
    with st.container(horizontal=True, vertical_alignment="center", key="selection"):
        st.info(
            show.escape(f"{how} {len(chosen.ids):,} investors are learned from: {chosen.said}"),
            icon=":material/filter_alt:",
        )
        if st.button("Use all investors again", key="selection_drop", icon=":material/undo:"):
            state.choose_investors(clients.all_of(investors))
            st.rerun()


def _beside(found: clients.ClientBook, ids: tuple[str, ...]) -> None:
    figures, beliefs = clients.compared(found, ids)
    show.table(
        figures.dropna(axis=1, how="all"),
        "client_compared",
        {
            "who": show.text("Who"),
            "clients": show.number("Clients", form="%d"),
            "wealth": show.number("Wealth together", form="localized"),
            "score": show.number("Mean risk score", "risk score", "%.1f"),
            "risk": show.percent("Mean risk a year", "risk"),
            "risk_aversion": show.number("Median risk aversion", "risk aversion", "%.2f"),
            "gap_points": show.number("Mean left (basis points)", "left on the table", "%.1f"),
            "outliers": show.number("Outliers", "outlier", "%d"),
            "mismatched": show.number("Mismatches", "risk class", "%d"),
        },
        alternative="The chosen clients beside the rest",
    )
    group_panels.shown(beliefs)


def one(found: clients.ClientBook, client: str) -> None:
    """The sheet of one client."""
    picture = clients.sheet(found, client)
    sheet = picture.sheet
    st.header(show.escape(client), anchor=False)
    if sheet.about:
        st.caption(show.escape(" · ".join(f"{name}: {text}" for name, text in sheet.about)))
    for line in sheet.withheld:
        st.warning(show.escape(line), icon=":material/visibility_off:")
    with st.container(horizontal=True, key="client_cards"):
        for figure, words in picture.cards:
            st.metric(words.capitalize(), figure, border=True)
    if sheet.stated is not None:
        draw: Any = {"more": st.warning, "less": st.warning, "agrees": st.success}
        draw.get(sheet.stated.state, st.info)(show.escape(sheet.stated.sentence))
    show.chart(charts_client.score_chart(picture.bands, picture.marks, SCORE), "client_score")
    if sheet.left_said:
        st.markdown(show.escape(sheet.left_said), help=word("left on the table"))
    _plain(picture.figures, "client_figures", "Risk, score and return before and after")
    left, right = st.columns(2)
    with left:
        show.chart(charts_client.holdings_chart(picture.bars), "client_holdings")
    if len(picture.places):
        with right:
            show.chart(charts_client.position_chart(picture.curves, picture.places), "client_place")
    if sheet.trades_said:
        st.markdown(show.escape(sheet.trades_said))
        if not picture.trades.empty:
            _plain(picture.trades, "client_trades", "What to sell and what to buy")
    for line in sheet.notes:
        st.caption(show.escape(line))


def _plain(data: Any, key: str, alternative: str) -> None:
    """A table whose cells are text already."""
    columns = {name: show.text(name.strip() or " ") for name in data.columns}
    show.table(data, key, columns, alternative=alternative, height="content")


def take(found: clients.ClientBook, client: str) -> None:
    """The one-pager to hand out."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="client_take"):
        show.download(
            "One-pager (HTML)",
            partial(clients.page_html, found, client),
            clients.file_name(client, ".html"),
            "text/html",
            "One file that needs no network and prints on A4 and Letter.",
            main=True,
        )
        if printing.can_print():
            paper = st.selectbox(
                "Paper",
                list(PAPERS),
                format_func=PAPERS.__getitem__,
                key="client_paper",
                width=120,
                help="What the PDF is laid out for.",
            )
            show.download(
                "One-pager (PDF)",
                partial(clients.page_pdf, found, client, paper),
                clients.file_name(client, ".pdf"),
                "application/pdf",
                "The same, printed by the browser on this machine; takes a few seconds.",
            )
