"""The settings in three steps: Market, Investors, Learn."""

from __future__ import annotations

from typing import TypeVar

import streamlit as st

from imop_app import services
from imop_app.settings import (
    GRIDS,
    Grid,
    InvestorSettings,
    LearnSettings,
    Noise,
    Settings,
    Start,
    WeightFamily,
)

T = TypeVar("T")

FAMILIES: dict[WeightFamily, str] = {
    "normal": "Bell-shaped (normal, cut to 0–1)",
    "uniform": "Even (uniform)",
    "beta": "Skewed (beta)",
}
NOISES: dict[Noise, str] = {
    "round": "Rounded",
    "gaussian": "Gaussian errors",
    "uniform": "Uniform errors",
    "none": "Exact",
}
STARTS: dict[Start, str] = {
    "anchors": "Average of the known returns",
    "zero": "Zero (as in the paper)",
}
ROUND_STEPS = (0.01, 0.005, 0.001, 0.0001)


def settings_sidebar(chosen: Settings) -> Settings:
    """Draw the three steps and return what the analyst has chosen."""
    with st.sidebar:
        st.subheader("1 · Market", anchor=False)
        market = _market(chosen.market)
        st.subheader("2 · Investors", anchor=False)
        investors = _investors(chosen.investors)
        st.subheader("3 · Learn", anchor=False)
        learn = _learn(market, chosen.learn)
    return Settings(market, investors, learn)


def _remember(key: str, value: T) -> str:
    """Give a widget its first value; from then on the widget itself keeps what was chosen."""
    if key not in st.session_state:
        st.session_state[key] = value
    return key


def _market(chosen: str) -> str:
    titles = services.market_titles()
    name = st.selectbox(
        "Assets",
        list(titles),
        format_func=titles.__getitem__,
        key=_remember("market", chosen),
        help="The assets the investors choose from, with the returns they are made to believe in.",
    )
    st.caption(services.load_market(name).description + ".")
    return name


def _investors(chosen: InvestorSettings) -> InvestorSettings:
    count = st.number_input(
        "Number of investors",
        min_value=1,
        max_value=20_000,
        step=100,
        key=_remember("count", chosen.count),
        help="How many portfolios the learner sees, one after another.",
    )
    family = st.selectbox(
        "Weights between return and risk",
        list(FAMILIES),
        format_func=FAMILIES.__getitem__,
        key=_remember("weights", chosen.weights),
        help="How the investors differ: weight 0 wants the least risk, weight 1 the most return.",
    )
    mean, sd = chosen.mean, chosen.sd
    if family != "uniform":
        mean = st.slider(
            "Mean weight",
            min_value=0.05,
            max_value=0.95,
            step=0.05,
            key=_remember("mean", chosen.mean),
            help="The typical weight: higher means more appetite for risk.",
        )
        sd = st.slider(
            "Spread of the weights",
            min_value=0.05,
            max_value=0.40,
            step=0.05,
            key=_remember("sd", chosen.sd),
            help="Standard deviation of the weights: how much the investors differ.",
        )
    noise = st.selectbox(
        "How portfolios are observed",
        list(NOISES),
        format_func=NOISES.__getitem__,
        key=_remember("noise", chosen.noise),
        help="Real holdings are rounded or reported with errors; this decides how much.",
    )
    level = _noise_level(noise, chosen)
    seed = st.number_input(
        "Seed",
        min_value=0,
        max_value=1_000_000,
        step=1,
        key=_remember("seed", chosen.seed),
        help="The same seed draws the same investors again.",
    )
    return InvestorSettings(count, family, mean, sd, noise, level, seed)


def _noise_level(noise: Noise, chosen: InvestorSettings) -> float:
    if noise == "round":
        return st.selectbox(
            "Rounded to",
            ROUND_STEPS,
            format_func=lambda step: f"{step:.2%} of wealth",
            key=_remember("round_step", chosen.noise_level),
            help="Every holding is a multiple of this, and each portfolio still sums to one.",
        )
    if noise == "none":
        return chosen.noise_level
    return st.number_input(
        "Size of the errors",
        min_value=0.0005,
        max_value=0.1,
        step=0.0005,
        format="%.4f",
        key=_remember("noise_size", 0.005),
        help="Standard deviation (Gaussian) or largest error (uniform), as a share of wealth.",
    )


def _learn(market: str, chosen: LearnSettings) -> LearnSettings:
    anchors = _anchors(market)
    grid: Grid = st.selectbox(
        "Weights tried for each investor",
        GRIDS,
        format_func=lambda grid: "Exact, every weight" if grid == "exact" else f"{grid}",
        key=_remember("grid", chosen.grid),
        help="A finer grid explains each portfolio better; exact uses the whole frontier.",
    )
    with st.expander("Advanced"):
        start = st.selectbox(
            "First guess of the unknown returns",
            list(STARTS),
            format_func=STARTS.__getitem__,
            key=_remember("start", chosen.start),
            help="Where learning begins. From zero an asset can look so poor that its holders are "
            "never understood, and its estimate stays there.",
        )
        rate = st.number_input(
            "Learning rate",
            min_value=0.1,
            max_value=50.0,
            step=0.5,
            format="%.1f",
            key=_remember("rate", chosen.rate),
            help="How far one investor may move the estimate; it shrinks as more are seen.",
        )
    return LearnSettings(anchors, grid, start, rate)


def _anchors(market: str) -> tuple[str, ...]:
    names = services.load_market(market).names
    anchors = st.multiselect(
        "Two known returns",
        names,
        max_selections=2,
        key=_remember(f"anchors_{market}", list(services.default_anchors(market))),
        help="Choose assets that many investors hold: they tie the others to what is known.",
    )
    st.caption(
        "Portfolios tell returns only up to a shift and a scale; two known returns fix both."
    )
    if len(anchors) < 2:
        st.caption(
            ":orange[With fewer than two, only the aligned error says how good the estimate is.]"
        )
    return tuple(anchors)
