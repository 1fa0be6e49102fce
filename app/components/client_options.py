"""What the analyst says about clients, and the filters that choose some of them."""

from __future__ import annotations

from typing import Any

import streamlit as st

from imop_app.components import show
from imop_app.services import clients
from imop_app.state import place
from imop_engine.sentences.words import word
from imop_engine.study import Study

STATUSES = {
    "learned": "Learned from",
    "outlier": "Outlier (set aside)",
    "outlier, kept": "Outlier (learned from all the same)",
}
RANGE_WORDS = {
    "score": "Risk score",
    "risk": "Risk a year (fraction)",
    "gap_points": "Left on the table (basis points)",
    "risk_aversion": "Risk aversion",
    "weight": "Weight on return",
    "wealth": "Wealth",
    "distance": "Distance",
}


def choose(study: Study) -> clients.ClientOptions:
    """The fields about money, trades and stated classes."""
    chosen: dict[str, Any] = {}
    with st.expander("Money, trades and stated risk", icon=":material/settings:"):
        left, middle, right = st.columns(3)
        with left:
            chosen["turnover"] = st.number_input(
                "Turnover limit (% of wealth)",
                0.0,
                100.0,
                100.0,
                5.0,
                key="client_turnover",
                help="The most that may be sold; as much is bought. 100: no limit.",
            )
            chosen["least"] = st.number_input(
                "Least trade (% of wealth)",
                0.0,
                20.0,
                0.5,
                0.1,
                key="client_least",
                help="Smaller trades are not made.",
            )
        with middle:
            _money(study, chosen)
        with right:
            _classes(study, chosen)
    return clients.options(chosen)


def _money(study: Study, chosen: dict[str, Any]) -> None:
    columns = (None, *clients.money_columns(study))
    chosen["wealth_column"] = st.selectbox(
        "Wealth from",
        columns,
        index=place(columns, "wealth"),
        format_func=lambda name: "Not known, or the same for all" if name is None else name,
        key="client_wealth_column",
        help="Files with amounts bring a column wealth; any column of numbers will do.",
    )
    if chosen["wealth_column"] is None:
        chosen["wealth"] = st.number_input(
            "Wealth of each client",
            min_value=0.01,
            value=None,
            placeholder="Not known",
            key="client_wealth",
            help="For trades and gaps in money.",
        )
    chosen["currency"] = st.text_input(
        "Currency", key="client_currency", max_chars=8, help="Printed beside amounts, EUR say."
    )


def _classes(study: Study, chosen: dict[str, Any]) -> None:
    columns, usual = clients.risk_columns(study)
    options = (None, *columns)
    chosen["risk_column"] = st.selectbox(
        "Stated risk class",
        options,
        index=place(options, usual),
        format_func=lambda name: clients.NOTHING if name is None else name,
        key="client_risk_column",
        help="A column of your file with ordered classes: numbers, or names from calm to bold.",
    )
    if chosen["risk_column"] is None:
        return
    chosen["order"] = st.text_input(
        "Order of the classes",
        placeholder="As numbers or usual words say",
        key="client_order",
        help="All classes, calmest first, with commas. Needed for names that we do not know.",
    )
    chosen["limits"] = st.text_input(
        "Highest risk of each class (%)",
        placeholder="Equal parts of the score",
        key="client_limits",
        help="Standard deviation a year up to which each class but the last goes: 5, 10, 15.",
    )


def narrow(found: clients.ClientBook) -> clients.ClientFilter:
    """The filters; what is empty lets everybody pass."""
    left, middle, right = st.columns([3, 3, 2], vertical_alignment="bottom")
    text = left.text_input(
        "Search",
        placeholder="Part of a name or of an attribute",
        key="client_search",
        help="Of names and of all attributes, in any case.",
    )
    compared = found.classes is not None
    mismatch = (
        middle.multiselect(
            "Stated against held risk",
            list(clients.MISMATCHES),
            format_func=clients.MISMATCH_WORDS.__getitem__,
            placeholder="Everybody",
            key="client_mismatch",
            help=word("risk class"),
        )
        if compared
        else []
    )
    status = (middle if not compared else right).multiselect(
        "Status",
        list(STATUSES),
        format_func=STATUSES.__getitem__,
        placeholder="Everybody",
        key="client_status",
        help=word("outlier"),
    )
    values, ranged = _more(found)
    return clients.wanted(values, ranged, status, mismatch, text)


def _more(found: clients.ClientBook) -> tuple[dict[str, Any], dict[str, tuple[float, float]]]:
    values: dict[str, Any] = {}
    ranged: dict[str, tuple[float, float]] = {}
    with st.expander("More filters", icon=":material/filter_alt:"):
        left, right = st.columns(2)
        with left:
            for name, known in clients.filters(found).items():
                values[name] = st.multiselect(
                    show.short(name),
                    known,
                    format_func=lambda value: value or "(no value)",
                    placeholder="Any",
                    key=f"client_values_{name}",
                    help="Clients with one of these values; none chosen: everybody.",
                )
        with right:
            for name, (low, high) in clients.ranges(found).items():
                ends = st.slider(
                    RANGE_WORDS.get(name, show.short(name)),
                    low,
                    high,
                    (low, high),
                    key=f"client_range_{name}",
                    help="Clients between the two, ends included; those without it drop out.",
                )
                if ends != (low, high):
                    ranged[name] = ends
    return values, ranged
