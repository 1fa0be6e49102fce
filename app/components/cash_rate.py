"""Cash without a history: a rate makes it an asset of the market."""

from __future__ import annotations

from typing import Final

import streamlit as st

from imop_app.components.show import escape
from imop_app.services import file_choices
from imop_app.services import people as crowd
from imop_app.state import AppState

CASH_RATE: Final = 2.0  # percent a year, to begin with


def fields(state: AppState, people: crowd.Investors) -> None:
    """Fields for cash without a history, which becomes an asset of the market by a rate.

    Args:
        state: What this browser session has chosen.
        people: The investors as they were read.
    """
    market = state.workspace.chosen_market
    for number, (name, rate) in enumerate(file_choices.cash_names(people, market).items()):
        field(state, number, name, rate)


def field(state: AppState, number: int, name: str, rate: float | None) -> None:
    """One field with its buttons.

    Args:
        state: What this browser session has chosen.
        number: Which field on the page.
        name: What cash is called in the portfolios.
        rate: What it earns in a year, a fraction; None where it has no rate yet.
    """
    with st.container(horizontal=True, vertical_alignment="bottom", key=f"cash_{number}"):
        given = st.number_input(
            f"Rate of {escape(name)} (% a year)",
            min_value=-10.0,
            max_value=50.0,
            step=0.25,
            value=CASH_RATE if rate is None else 100 * rate,
            key=state.fresh(f"cash_rate_{number}"),
            help="Cash has no return history of its own: with a rate it is an asset of the "
            "market, with hardly any risk and unrelated to the others.",
            width=260,
        )
        st.button(
            f"Give {escape(name)} this rate" if rate is None else "Change the rate",
            key=f"give_cash_{number}",
            on_click=_give_cash,
            args=(state, name, given / 100),
        )
        if rate is not None:
            st.button(
                f"Take {escape(name)} out of the market",
                key=f"drop_cash_{number}",
                on_click=_give_cash,
                args=(state, name, None),
            )


def _give_cash(state: AppState, name: str, rate: float | None) -> None:
    state.choose_market(file_choices.with_cash(state.workspace.chosen_market, name, rate))
    state.examples += 1  # the fields start again from what was chosen
