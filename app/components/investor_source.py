"""Where investors come from: simulated, the bundled sample, or a file with its roles."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import pandas as pd
import streamlit as st

from imop_app.components import cash_rate, examples
from imop_app.components.market_source import ENDINGS, choose_sheet
from imop_app.components.show import escape, problem
from imop_app.services import file_choices
from imop_app.services import people as crowd
from imop_app.services.errors import AppError
from imop_app.services.preparing import Preparing
from imop_app.settings import (
    InvestorBatch,
    InvestorSettings,
    InvestorSource,
    Noise,
    Simulation,
    StoredFile,
)
from imop_app.state import AppState, place
from imop_engine.sentences.words import word

SOURCES: Final[dict[InvestorSource, str]] = {
    "simulate": "Simulate",
    "sample": "Sample file",
    "upload": "Upload portfolios",
}
NOISES: Final[dict[Noise, str]] = {
    "round": "Rounded",
    "gaussian": "Gaussian errors",
    "uniform": "Uniform errors",
    "none": "Exact",
}
ROUND_STEPS: Final = (0.01, 0.005, 0.001, 0.0001)
VIEWS: Final = {0.0: "The market's own returns", 0.02: "Their own, near them", 0.05: "Their own"}
ROLES: Final = {
    "investor": "Investor",
    "date": "Date",
    "asset": "Asset name",
    "holding": "Holding (wide)",
    "weight": "Weight",
    "amount": "Amount",
    "shares": "Number of shares",
    "price": "Price",
    "attribute": "Attribute",
    "total": "Total",
    "ignore": "Ignore",
}
SUMS: Final = {"rescale": "Scale to 100%", "cash": "Rest is cash", "refuse": "Refuse"}
UNKNOWN: Final = {"drop": "Leave the asset out", "refuse": "Refuse the portfolio"}
NEGATIVE: Final = {"refuse": "Refuse", "zero": "Count as zero"}
UNITS: Final = {
    "auto": "Detect",
    "fraction": "Fractions (0.25)",
    "percent": "Percent (25)",
    "amounts": "Amounts of money",
}
DUPLICATES: Final = {"first": "Take the first", "last": "Take the last", "keep": "Keep all"}
SNAPSHOTS: Final = {
    "latest": "The latest of each",
    "panel": "All, as a panel",
    "by date": "All, by date",
}
DATES_OFFERED: Final = 6
DRIFT: Final = {"keep": "Use them too", "drop": "Leave them out"}


def choose(state: AppState) -> None:
    """Draw the choice; what is chosen goes into the workspace at once."""
    workspace = state.workspace
    before = workspace.investors.first if workspace.investors else None
    sources = list(SOURCES)
    if not crowd.offers_sample(workspace.chosen_market, workspace.box):
        sources.remove("sample")
    shown = before.source if before and before.source in sources else None
    source = st.segmented_control(
        "Where the investors come from",
        sources,
        format_func=SOURCES.__getitem__,
        default=shown,
        key=state.fresh("investor_source"),
        wrap=True,
        help="Simulated investors let you check the method; a file tells you about your clients.",
    )
    try:
        if source == "simulate":
            _take(state, InvestorBatch("simulate", _simulation(before)))
        elif source == "sample":
            _take(state, InvestorBatch("sample"))
        elif source == "upload":
            _upload(state, before)
    except AppError as error:
        problem(error)


def _take(state: AppState, batch: InvestorBatch) -> None:
    now = state.workspace.investors
    after = InvestorSettings((batch,)) if now is None else now.with_first(batch)
    if after != now:
        # Simulated investors are drawn when the numerical code is ready; there is no file to check.
        with suppress(Preparing):
            crowd.check(state.workspace.chosen_market, batch, state.workspace.box)
        state.choose_investors(after)
        st.rerun()


def _simulation(before: InvestorBatch | None) -> Simulation:
    chosen = before.simulation if before else Simulation()
    with st.container(border=True):
        left, middle, right = st.columns(3)
        count = left.number_input(
            "Number of investors",
            min_value=1,
            max_value=100_000,
            step=100,
            value=chosen.count,
            key="count",
            help="How many portfolios the learner sees, one after another.",
        )
        family = middle.selectbox(
            "Weights between return and risk",
            list(crowd.FAMILIES),
            format_func=crowd.FAMILIES.__getitem__,
            index=place(list(crowd.FAMILIES), chosen.weights),
            key="weights",
            help="How the investors differ. " + word("weight"),
        )
        noise = right.selectbox(
            "How portfolios are observed",
            list(NOISES),
            format_func=NOISES.__getitem__,
            index=place(list(NOISES), chosen.noise),
            key="noise",
            help="Real holdings are rounded or reported with errors; this decides how much.",
        )
        with st.expander("More", icon=":material/settings:"):
            mean, sd = _shape(family, chosen)
            views, level, seed = _rest(noise, chosen)
    return Simulation(int(count), family, mean, sd, noise, level, views, int(seed))


def _shape(family: str, chosen: Simulation) -> tuple[float, float]:
    left, right = st.columns(2)
    mean = left.slider(
        "Mean weight",
        min_value=0.05,
        max_value=0.95,
        step=0.05,
        value=chosen.mean,
        key="mean",
        disabled=not crowd.has_mean(family),
        help="The typical weight: higher means more appetite for risk.",
    )
    sd = right.slider(
        "Spread of the weights",
        min_value=0.05,
        max_value=0.40,
        step=0.05,
        value=chosen.sd,
        key="sd",
        disabled=not crowd.has_spread(family),
        help="Standard deviation of the weights: how much the investors differ.",
    )
    return mean, sd


def _rest(noise: Noise, chosen: Simulation) -> tuple[float, float, int]:
    left, middle, right = st.columns(3)
    views = left.selectbox(
        "What they believe in",
        list(VIEWS),
        format_func=VIEWS.__getitem__,
        index=place(list(VIEWS), chosen.views),
        key="views",
        help="Views of their own differ from the market's returns by this seed's draw, with a "
        "standard deviation of 2 or 5 percentage points.",
    )
    with middle:
        level = _noise_level(noise, chosen)
    seed = right.number_input(
        "Seed",
        min_value=0,
        max_value=1_000_000,
        step=1,
        value=chosen.seed,
        key="seed",
        help=word("seed"),
    )
    return views, level, seed


def _noise_level(noise: Noise, chosen: Simulation) -> float:
    if noise == "round":
        first = chosen.noise_level if chosen.noise_level in ROUND_STEPS else 0.001
        return st.selectbox(
            "Rounded to",
            ROUND_STEPS,
            format_func=lambda step: f"{step:.2%} of wealth",
            index=place(ROUND_STEPS, first),
            key="round_step",
            help="Every holding is a multiple of this, and each portfolio still sums to one.",
        )
    first = chosen.noise_level if chosen.noise == noise else 0.005
    return st.number_input(
        "Size of the errors",
        min_value=0.0005,
        max_value=0.1,
        step=0.0005,
        format="%.4f",
        value=first,
        key="noise_size",
        disabled=noise == "none",
        help="Standard deviation (Gaussian) or largest error (uniform), as a share of wealth.",
    )


def _upload(state: AppState, before: InvestorBatch | None) -> None:
    given = st.file_uploader(
        "File with portfolios",
        type=ENDINGS,
        key="investor_file",
        help="One row per investor and one column per asset, or one row per holding. Columns may "
        "be in any order and called anything: what each is is detected, and you can correct it.",
    )
    workspace = state.workspace
    fits = crowd.offers_sample(workspace.chosen_market, workspace.box)
    names = crowd.asset_names(workspace.chosen_market, workspace.box)
    examples.offer(("portfolios", "holdings"), names, samples=fits)
    kept = before if before is not None and before.source == "upload" else None
    stored = kept.file if kept else None
    if given is not None:
        stored = state.workspace.box.put(given.name, given.getvalue())
    if stored is None:
        return
    known = kept if kept and kept.file == stored else None
    sheet = choose_sheet(state, stored, known.sheet if known else None, "investor_sheet")
    if known is None or known.sheet != sheet:
        fresh = InvestorBatch("upload", file=stored, sheet=sheet)
        try:
            with st.spinner(f"Reading {escape(stored.name)} …"):
                if kept is not None:
                    fresh = file_choices.remembered(
                        workspace.chosen_market, kept, fresh, workspace.box
                    )
                _take(state, fresh)
        except AppError as error:
            problem(error)
            _offer(state, fresh, error)
    else:
        try:
            _how_read(state, known, stored)
        except AppError as error:
            problem(error)
            _offer(state, known, error)


def _offer(state: AppState, batch: InvestorBatch, error: AppError) -> None:
    """Choices that may help with a file that could not be read as it is."""
    for number, cure in enumerate(error.cures):
        if cure.option == "rates":
            rates = file_choices.rates_of(_rates_field("", "offer_rates"))
            if rates:
                _take(state, replace(batch, rates=rates))
        elif cure.option == "cash":
            cash_rate.field(state, number, cure.value.rpartition("=")[0], None)
        elif cure.option != "sheet" and st.button(cure.label, key=f"offer_{number}"):
            _take(state, file_choices.cured(batch, cure.option, cure.value))


def _how_read(state: AppState, before: InvestorBatch, file: StoredFile) -> None:
    people = crowd.check(state.workspace.chosen_market, before, state.workspace.box)
    with st.expander(f"How {escape(file.name)} is read", icon=":material/settings:"):
        left, right = st.columns([3, 2])
        with left:
            roles = _roles(state, people, before, file)
        with right:
            chosen = _rules(state, before, people)
    _take(state, replace(chosen, roles=roles))


def _rules(state: AppState, before: InvestorBatch, people: crowd.Investors) -> InvestorBatch:
    """What happens to portfolios that do not fit; dates and currencies only where there are any."""
    asked: list[tuple[str, str, dict[str, str]]] = [
        ("units", "Holdings are", UNITS),
        ("sums", "Sums other than 100%", SUMS),
        ("unknown", "Assets without a history", UNKNOWN),
        ("negative", "Negative holdings", NEGATIVE),
    ]
    if people.dates is None:
        asked.append(("duplicates", "Investors that come twice", DUPLICATES))
    else:
        asked.append(("snapshots", "Investors at several dates", _snapshots(before, people)))
        asked.append(("drift", "Portfolios that only drifted with prices", DRIFT))
    chosen: dict[str, Any] = {
        name: _rule(label, choices, state.fresh(f"rule_{name}"), getattr(before, name))
        for name, label, choices in asked
    }
    coverage = _coverage(state, before)
    return replace(before, **chosen, coverage=coverage, rates=_rates(state, before, people))


def _snapshots(before: InvestorBatch, people: crowd.Investors) -> dict[str, str]:
    """The ways to use several dates: those that need no date, the latest dates, and the chosen."""
    days = sorted({str(day)[:10] for day in pd.Series(people.dates).dropna()})[-DATES_OFFERED:]
    chosen = [] if before.snapshots in SNAPSHOTS else [before.snapshots]
    offered = sorted({*days, *chosen}, reverse=True)
    return {**SNAPSHOTS, **{day: f"Only those of {day}" for day in offered}}


def _coverage(state: AppState, before: InvestorBatch) -> float:
    share = st.number_input(
        "Least share with a history (%)",
        min_value=0,
        max_value=100,
        step=5,
        value=round(100 * before.coverage),
        key=state.fresh("rule_coverage"),
        help="A portfolio of which less than this share of its value has a return history is set "
        "aside; of the others, the part with a history counts as the whole.",
    )
    return int(share) / 100


def _rates(
    state: AppState, before: InvestorBatch, people: crowd.Investors
) -> tuple[tuple[str, float], ...]:
    """Exchange rates, asked for where amounts are in several currencies."""
    findings = [finding for one in people.reading for finding in one.findings]
    asked = any(cure.option == "rates" for finding in findings for cure in finding.cures)
    if not asked and not before.rates:
        return before.rates
    written = " ".join(f"{name}={rate:g}" for name, rate in before.rates)
    return file_choices.rates_of(_rates_field(written, state.fresh("rule_rates")))


def _rates_field(written: str, key: str) -> str:
    return st.text_input(
        "Exchange rates",
        value=written,
        key=key,
        placeholder="EUR=1 USD=0.92",
        help="What one unit of each currency is worth in one of them.",
    )


def _rule(label: str, choices: dict[str, str], key: str, first: str) -> str:
    return st.selectbox(
        label,
        list(choices),
        format_func=choices.__getitem__,
        index=place(list(choices), first),
        key=key,
        help="What happens to such portfolios; the reading report lists every one.",
    )


def _roles(
    state: AppState, people: crowd.Investors, before: InvestorBatch, file: StoredFile
) -> tuple[tuple[str, str], ...]:
    """The role of each column, correctable; only what differs from the guess is kept."""
    key = f"roles_{file.digest[:12]}_{before.sheet or ''}"
    if key not in st.session_state:
        state.drafts[key] = pd.DataFrame(people.roles, columns=["column", "role"])
    start = state.drafts[key]
    edited = st.data_editor(
        start,
        hide_index=True,
        disabled=["column"],
        key=key,
        height=min(320, 40 + 35 * len(start)),
        column_config={
            "column": st.column_config.TextColumn("Column of the file"),
            "role": st.column_config.SelectboxColumn(
                "What it is", options=list(ROLES), required=True, help=word("role")
            ),
        },
    )
    changed = dict(before.roles)
    pairs = zip(start.itertuples(index=False), edited.itertuples(index=False), strict=True)
    changed |= {new.column: new.role for old, new in pairs if old.role != new.role}
    return tuple(sorted(changed.items()))
