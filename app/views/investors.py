"""Investors: whose portfolios we learn from, what they hold, and what reading them noted."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from imop_app.components import cash_rate, frame, investor_source, more_portfolios, reading, show
from imop_app.services import file_choices
from imop_app.services import people as crowd
from imop_app.services.errors import AppError
from imop_app.services.preparing import Preparing
from imop_app.settings import InvestorSettings
from imop_app.state import AppState, current
from imop_engine.report import charts_people

ROWS: Final = 100
Filter = tuple[tuple[str, tuple[str, ...]], ...]


def page() -> None:
    """Draw the page."""
    state = current()
    show.head(
        "Investors",
        "Whose portfolios do we learn from? Only the portfolios are needed: what their owners "
        "believe and want is what we find out.",
    )
    if state.workspace.market is None:
        with show.empty(
            "First a market",
            "Portfolios are shares of assets, so the assets come first. After that, simulate "
            "investors to see how it works, or drop your own file here.",
        ):
            frame.link(state, "market", "Choose a market")
        return
    try:
        if state.workspace.investors is None:
            _welcome(state)
        investor_source.choose(state)
        if state.workspace.investors is not None:
            _loaded(state, state.workspace.investors)
    except AppError as error:
        show.problem(error)


def _welcome(state: AppState) -> None:
    with show.empty(
        "Who holds what?",
        "**Simulate** draws investors on this market, so that you can compare what is learned with "
        "the truth. **Upload** takes a file of holdings: a row for each investor or for each "
        "holding.",
    ):
        st.button(
            "Simulate 1,000 investors",
            icon=":material/play_arrow:",
            type="primary",
            key="simulate_now",
            on_click=_simulate,
            args=(state,),
        )


def _simulate(state: AppState) -> None:
    state.choose_investors(InvestorSettings())
    state.examples += 1


def _loaded(state: AppState, chosen: InvestorSettings) -> None:
    workspace = state.workspace
    people = crowd.load(workspace.chosen_market, chosen, workspace.box)
    st.header(show.escape(crowd.heading(people)), anchor=False)
    _report(state, chosen, people)
    wanted = _filters(people)
    _table(people, wanted, _pictures(state, chosen, wanted))
    _set_aside(people)
    more_portfolios.add(state, chosen)
    frame.link(state, "learn", "Next: learn")


def _pictures(state: AppState, chosen: InvestorSettings, wanted: Filter) -> str | None:
    """Draw the investors and what they hold; returns the one who was picked, if any."""
    workspace = state.workspace
    try:
        picture = crowd.picture(workspace.chosen_market, chosen, workspace.box, wanted)
    except Preparing as waits:
        show.problem(waits)
        return None
    left, right = st.columns(2)
    with left:
        picked = _cloud(picture)
    with right:
        show.chart(charts_people.holdings_chart(picture.holdings), "holdings")
    return picked


def _report(state: AppState, chosen: InvestorSettings, people: crowd.Investors) -> None:
    if not people.reading:
        return
    alone = chosen.first.source == "upload" and len(chosen.batches) == 1
    reading.report(
        people.reading,
        crowd.reports_table(people),
        "reading_people",
        (lambda option, value: _cure(state, option, value)) if alone else None,
    )
    cash_rate.fields(state, people)


def _cure(state: AppState, option: str, value: str) -> None:
    """Read the file again with a choice that settles a finding."""
    now = state.workspace.investors
    if now is not None:
        state.choose_investors(now.with_first(file_choices.cured(now.first, option, value)))
        state.forget_widgets()
        state.examples += 1  # the fields start again from what was chosen


def _filters(people: crowd.Investors) -> Filter:
    choices = crowd.filters(people)
    if not choices:
        return ()
    chosen = []
    with st.container(horizontal=True, key="filters"):
        for name, values in choices.items():
            picked = st.multiselect(
                show.escape(name),
                values,
                default=[],
                key=f"filter_{name}",
                placeholder="All",
                help="Show only investors with one of these values.",
                width=260,
            )
            if picked:
                chosen.append((name, tuple(picked)))
    return tuple(chosen)


def _cloud(picture: crowd.PeoplePicture) -> str | None:
    if picture.points is None:
        if picture.cells is not None:
            show.chart(charts_people.density_chart(picture.cells, picture.curve), "density")
        return None
    picked = show.chart(
        charts_people.cloud_chart(picture.points, picture.curve),
        "cloud",
        on_select="rerun",
        selection_mode=[charts_people.PICK],
    )
    return _name(picked)


def _name(picked: Any) -> str | None:
    selection = getattr(picked, "selection", None) or {}
    found = selection.get(charts_people.PICK) or []
    return str(found[0]["investor"]) if found and "investor" in found[0] else None


def _set_aside(people: crowd.Investors) -> None:
    """Who takes no part, and why; nothing where everybody does."""
    aside = crowd.set_aside(people)
    if aside.empty:
        return
    count = len(aside)
    with st.expander(
        f"Set aside: {count:,} {'portfolio' if count == 1 else 'portfolios'}",
        icon=":material/person_off:",
    ):
        number = show.pages(count, ROWS, "set_aside_page")
        part = aside.iloc[number * ROWS : (number + 1) * ROWS]
        days = set(part.select_dtypes("datetime"))
        show.table(
            part,
            "set_aside",
            {
                name: (show.date if name in days else show.text)(show.short(str(name)))
                for name in part.columns
            },
            alternative="Investors whose portfolio takes no part, with the reason",
        )


def _table(people: crowd.Investors, wanted: Filter, picked: str | None) -> None:
    with st.container(border=True):
        st.markdown("**Portfolios** (% of each; click a row to see it)")
        left, right = st.columns([3, 1])
        search = left.text_input(
            "Find an investor",
            value="",
            key="investor_search",
            placeholder="Part of a name",
            help="Shows only investors whose name contains this.",
        )
        rows = crowd.shown_rows(people, wanted, search)
        with right:
            number = show.pages(len(rows), ROWS, "investor_page")
        part = crowd.page_of(people, rows, number, ROWS)
        assets = list(people.names)
        days = set(part.select_dtypes("datetime"))
        columns = {
            name: show.number(show.short(name), form="%.1f")
            if name in assets
            else show.date(show.short(str(name)))
            if name in days
            else show.text(show.short(str(name)))
            for name in part.columns
        }
        clicked = show.table(
            part,
            "portfolios",
            columns,
            alternative="Portfolios of the investors, one page",
            height=300,
            on_select="rerun",
            selection_mode="single-row",
        )
    chosen = clicked.selection.rows if clicked is not None else []
    investor = str(part.iloc[chosen[0]]["investor"]) if chosen else picked
    if investor is None:
        return
    held = crowd.composition(people, investor)
    if held is not None:
        show.chart(charts_people.composition_chart(held, investor), "composition")
