"""Market: which assets there are, what they returned, how they move together, what limits them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from imop_app.components import frame, limit_panels, market_source, reading, show, welcome
from imop_app.services import market as markets
from imop_app.services.errors import AppError
from imop_app.services.preparing import Preparing
from imop_app.settings import MarketSettings
from imop_app.state import AppState, current
from imop_engine.sentences.words import word


def page() -> None:
    """Draw the page."""
    state = current()
    show.head(
        "Market",
        "Which assets can investors choose from, what did they return, and how do they move "
        "together?",
    )
    if state.workspace.market is None:
        welcome.draw(state)
    market_source.choose(state)
    chosen = state.workspace.market
    if chosen is None:
        return
    try:
        _loaded(state, chosen)
    except AppError as error:
        show.problem(error)


def _loaded(state: AppState, chosen: MarketSettings) -> None:
    from imop_engine.report import charts_market  # not before there is something to draw

    box = state.workspace.box
    data = markets.load(chosen, box)
    st.header(show.escape(data.title), anchor=False)
    st.caption(show.escape(data.description))
    _quality(state, chosen, data)
    picture = markets.picture(chosen, box)
    left, right = st.columns(2)
    with left:
        try:
            curve = markets.curve(chosen, box)
            show.chart(charts_market.asset_chart(picture.assets, curve), "assets")
        except Preparing as waits:
            show.problem(waits)
    with right:
        if picture.growth is None:
            show.chart(charts_market.moments_chart(picture.assets), "moments")
        else:
            show.chart(charts_market.growth_chart(picture.growth), "growth")
    left, right = st.columns(2)
    with left:
        _correlation(picture)
    with right:
        _limits(state, chosen, data)
    limit_panels.edit(state, chosen, data)
    frame.link(state, "investors", "Next: investors")


def _correlation(picture: markets.MarketPicture) -> None:
    """How the assets move together: a map where it can be read, else counts and a table."""
    from imop_engine.report import charts_market

    if picture.closest is None:
        show.chart(charts_market.correlation_chart(picture.correlations), "correlation")
        return
    show.chart(charts_market.correlation_counts_chart(picture.correlations), "correlation")
    show.table(
        picture.closest,
        "closest_pairs",
        {
            "asset": show.text("Asset"),
            "other": show.text("moves with"),
            "correlation": show.number("Correlation", "correlation", "%+.2f"),
        },
        alternative="The pairs of assets that move together most",
        height=240,
    )


def _quality(state: AppState, chosen: MarketSettings, data: markets.Market) -> None:
    if not data.reading and not markets.quality(data):
        return
    reading.report(
        data.reading,
        markets.findings(data),
        "reading_market",
        (lambda option, value: _cure(state, option, value)) if chosen.source == "upload" else None,
        data.notes,
        markets.guessed_said(data) if data.guessed else "",
        data.clean,
    )


def _cure(state: AppState, option: str, value: str) -> None:
    """Read the history again with a choice that settles a finding."""
    now = state.workspace.market
    if now is not None:
        change: dict[str, Any] = {option: int(value) if option == "periods_per_year" else value}
        state.choose_market(replace(now, **change))
        state.forget_widgets()
        state.examples += 1


def _limits(state: AppState, chosen: MarketSettings, data: markets.Market) -> None:
    """Caps and bounds per asset, in percent, edited in place."""
    key = f"limits_{'-'.join(data.names)[:60]}"
    # The editor keeps the edits on top of the table it was first given. That table must not
    # change under it while the page is open, and must be new when the page is opened again.
    if key not in st.session_state:
        state.drafts[key] = markets.limits_table(data, chosen)
    with st.container(border=True):
        st.markdown(
            "**Caps and bounds** (%, per year)",
            help=f"Click a cap to change it. {word('cap')}",
        )
        edited = st.data_editor(
            state.drafts[key],
            hide_index=True,
            disabled=["asset", "return", "risk"],
            key=key,
            height=min(400, 40 + 35 * data.size),
            column_config={
                "asset": st.column_config.TextColumn("Asset"),
                "return": show.number("Return (%)", "expected return", "%.1f"),
                "risk": show.number("Risk (%)", "risk", "%.1f"),
                "cap": st.column_config.NumberColumn(
                    "Cap (%)", min_value=0.0, max_value=100.0, format="%.0f", help=word("cap")
                ),
            },
        )
        low, high = _bounds(chosen, data)
        try:
            limited = markets.with_limits(chosen, data, edited, low, high)
        except AppError as error:
            show.problem(error)
            return
        if limited != chosen:
            state.choose_market(limited)
            st.rerun()


def _bounds(chosen: MarketSettings, data: markets.Market) -> tuple[float | None, float | None]:
    left, right = st.columns(2)
    before = markets.bounds_percent(chosen, data)
    ends = []
    for column, label, key, first in (
        (left, "No return below (%)", "bound_low", before[0]),
        (right, "No return above (%)", "bound_high", before[1]),
    ):
        ends.append(
            column.number_input(
                label,
                step=1.0,
                format="%.1f",
                placeholder="no bound",
                value=first,
                key=key,
                help="The learner never answers beyond this for any asset.",
            )
        )
    return ends[0], ends[1]
