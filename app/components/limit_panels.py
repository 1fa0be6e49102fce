"""Limits on groups: an editor, the files behind it, and pictures of what the limits cost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import streamlit as st

from imop_app.components import examples, show
from imop_app.components.market_source import ENDINGS
from imop_app.services import limits as limited
from imop_app.services import market as markets
from imop_app.services.errors import AppError
from imop_app.services.preparing import Preparing
from imop_app.settings import MarketSettings
from imop_app.state import AppState
from imop_engine.sentences.words import word

if TYPE_CHECKING:
    from imop_engine.study import Study

GROUPS_NAMED: Final = 12


def edit(state: AppState, chosen: MarketSettings, data: markets.Market) -> None:
    """Limits on groups and sums, edited in place; groups from a file; what all of it costs.

    Args:
        state: What this browser session has chosen.
        chosen: The market's settings.
        data: The market itself.
    """
    st.subheader("Limits on groups", anchor=False, help=word("limit"))
    left, right = st.columns([3, 2])
    with left:
        _table(state, chosen, data)
    with right:
        _text(state, chosen, data)
        _file(state, chosen, data)
    try:
        found = limited.picture(chosen, state.workspace.box)
    except Preparing as waits:
        show.problem(waits)
        return
    if found is not None:
        st.caption("Under the returns of the history; the page Frontier has the learned ones.")
        pictures(found, "market")


def of_study(study: Study) -> None:
    """What the limits of a run cost under the learned returns; nothing where it had none."""
    found = limited.of_study(study)
    if found is not None:
        st.subheader("Limits", anchor=False, help=word("price of a limit"))
        pictures(found, "run")


def pictures(found: limited.LimitPicture, place: str) -> None:
    """The frontier with and without limits, where each binds, and what each costs.

    Args:
        found: The tables behind them.
        place: Tells the pictures of two pages apart.
    """
    from imop_engine.report import charts_limits

    left, right = st.columns(2)
    with left:
        show.chart(charts_limits.limit_frontier_chart(found.curves), f"limit_frontier_{place}")
    with right:
        if found.lines.empty:
            st.caption("No limit costs any return: nowhere would there be more without one.")
        else:
            show.chart(charts_limits.limit_price_chart(found.lines), f"limit_prices_{place}")
    left, right = st.columns(2)
    with left:
        if found.stretches.empty:
            st.caption("No limit binds anywhere along the frontier.")
        else:
            drawn = charts_limits.limit_binding_chart(found.stretches)
            show.chart(drawn, f"limit_binding_{place}")
    with right:
        show.table(
            found.table,
            f"limit_prices_{place}",
            {
                "limit": show.text("Limit"),
                "binding": show.text("Binds at risk", "binding limit"),
                "mean_points": show.number("Mean (bp)", "price of a limit", "%.1f"),
                "greatest_points": show.number("Most (bp)", "price of a limit", "%.1f"),
            },
            alternative="Where each limit binds and what it costs at the same risk",
        )


def _table(state: AppState, chosen: MarketSettings, data: markets.Market) -> None:
    key = state.fresh(f"sums_{'-'.join(data.names)[:40]}_{len(data.groups.written)}")
    # The editor keeps the edits on top of the table it was first given; see the page Market.
    if key not in st.session_state:
        state.drafts[key] = limited.table(chosen)
    edited = st.data_editor(
        state.drafts[key],
        hide_index=True,
        num_rows="dynamic",
        key=key,
        column_config={
            "what": st.column_config.SelectboxColumn(
                "Group or asset", options=limited.choices(data, chosen), width=250
            ),
            "relation": st.column_config.SelectboxColumn("is", options=list(limited.SIGNS)),
            "share": st.column_config.NumberColumn(
                "of the portfolio (%)", min_value=-100.0, max_value=200.0, format="%.4g"
            ),
        },
    )
    try:
        after = limited.with_table(chosen, data, edited)
    except AppError as error:
        show.problem(error)
        return
    for lost in markets.linear_of(chosen, data)[1]:
        st.caption(f":material/info: Does not count here: {show.escape(lost)}")
    if after != chosen:
        state.choose_market(after)
        st.rerun()


def _text(state: AppState, chosen: MarketSettings, data: markets.Market) -> None:
    with st.form("limit_text_form", border=False, clear_on_submit=True):
        text = st.text_input(
            "Or write one",
            key="limit_text",
            placeholder=f"{data.names[0]} + {data.names[1]} <= 30%",
            help="Sums and differences, a group as column:name, 'each sector <= 40%', "
            "'between 5% and 10%', '|A - B| <= 5%'.",
        )
        if not st.form_submit_button("Add", icon=":material/add:"):
            return
    try:
        after = limited.with_text(chosen, data, text)
    except AppError as error:
        show.problem(error)
        return
    _begin_again(state, after)


def _file(state: AppState, chosen: MarketSettings, data: markets.Market) -> None:
    columns = data.groups.columns
    if columns:
        said = "; ".join(
            f"{column}: {', '.join(data.groups.of_column(column)[:GROUPS_NAMED])}"
            for column in columns
        )
        st.caption(f"Groups by {show.escape(said)}.")
    given = st.file_uploader(
        "Groups of assets (optional)",
        type=ENDINGS,
        key=state.fresh("groups_file"),
        help="A row for each asset: a column that names it, others for sector, class, region or "
        "whatever groups them. The history's own file works where it says so.",
    )
    examples.offer(("groups",), data.names, samples=False)
    if given is None:
        return
    stored = state.workspace.box.put(given.name, given.getvalue())
    if stored == chosen.groups:
        return
    after = replace(chosen, groups=stored)
    try:
        markets.load(after, state.workspace.box)  # a file that cannot be read changes nothing
    except AppError as error:
        show.problem(error)
        return
    _begin_again(state, after)


def _begin_again(state: AppState, after: MarketSettings) -> None:
    """Choose it, and let the editor start from what is chosen now."""
    state.choose_market(after)
    state.forget_widgets()
    state.examples += 1
    st.rerun()
