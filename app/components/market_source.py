"""Where the market comes from: bundled, a file, tickers, or moments given directly."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from imop_app.components import examples
from imop_app.components.show import escape, problem
from imop_app.services import market as markets
from imop_app.services import sheets
from imop_app.services.errors import AppError
from imop_app.settings import MarketSettings, MarketSource, StoredFile
from imop_app.state import AppState, place
from imop_engine.sentences.words import word

SOURCES: Final[dict[MarketSource, str]] = {
    "bundled": "Bundled",
    "upload": "Upload a history",
    "tickers": "Tickers",
    "moments": "Moments",
}
ENDINGS: Final = ["csv", "tsv", "txt", "xlsx", "xls", "html", "xml", "md", "parquet"]
KINDS: Final = {"auto": "Detect", "returns": "Returns", "prices": "Prices"}
UNITS: Final = {"auto": "Detect", "fraction": "Fractions (0.01)", "percent": "Percent (1.0)"}
MEANS: Final = {
    "arithmetic": "Arithmetic mean",
    "geometric": "Geometric mean",
    "exponential": "Recent years count more",
    "shrunk": "Shrunk (Bayes–Stein)",
}
COVARIANCES: Final = {
    "sample": "Sample",
    "ledoit-wolf": "Shrunk (Ledoit–Wolf)",
    "oas": "Shrunk (OAS)",
    "exponential": "Recent years count more",
    "constant-correlation": "One correlation for all",
}
GAPS: Final = {
    "likelihood": "All returns there are",
    "pairwise": "Two assets at a time",
    "complete": "Complete periods only",
}
REPAIR: Final = "Repair the covariance"
ASSET_MAP: Final = "Identifiers of the assets"
HELP: Final = {
    "Contents": "Prices are turned into returns from one date to the next.",
    "Units": "Whether one percent is written as 0.01 or as 1.0.",
    "Expected returns": word("expected return"),
    "Covariance": word("covariance") + " Shrinking makes it steadier where the history is short.",
    "Missing returns": "All returns there are: means and covariances of the greatest likelihood, "
    "always usable. Two assets at a time, or complete periods only, as other software has it.",
    REPAIR: "Replaces a covariance that is not positive definite by the nearest that is, and says "
    "by how much it moved.",
}


def choose(state: AppState) -> None:
    """Draw the choice; what is chosen goes into the workspace at once."""
    before = state.workspace.market
    source = st.segmented_control(
        "Where the market comes from",
        list(SOURCES),
        format_func=SOURCES.__getitem__,
        default=before.source if before else None,
        key=state.fresh("market_source"),
        wrap=True,
        help="Bundled sets, your own file of prices or returns, prices by ticker, or expected "
        "returns and covariance as two tables.",
    )
    try:
        if source == "bundled":
            _bundled(state)
        elif source == "upload":
            _upload(state)
        elif source == "tickers":
            _tickers(state)
        elif source == "moments":
            _moments(state)
    except AppError as error:
        problem(error)


def _bundled(state: AppState) -> None:
    titles = markets.bundled_titles()
    before = state.workspace.market
    name = st.selectbox(
        "Assets",
        list(titles),
        format_func=titles.__getitem__,
        index=place(list(titles), before.bundled if before else next(iter(titles))),
        key="bundled_market",
        help="Sets that come with the studio, ready to use.",
    )
    if before is None or before.source != "bundled" or before.bundled != name:
        state.choose_market(MarketSettings(source="bundled", bundled=name))
        st.rerun()


def _upload(state: AppState) -> None:
    given = st.file_uploader(
        "File with a return or price history",
        type=ENDINGS,
        key="market_file",
        help="One column per asset and one row per date, or one row per date and asset. CSV, "
        "Excel or Parquet; prices or returns, detected and correctable.",
    )
    examples.offer(("returns",))
    before = state.workspace.market
    kept = before if before is not None and before.source == "upload" else None
    stored = kept.file if kept else None
    if given is not None:
        stored = state.workspace.box.put(given.name, given.getvalue())
    if stored is None:
        return
    known = kept if kept and kept.file == stored else None
    sheet = choose_sheet(state, stored, known.sheet if known else None, "market_sheet")
    before_it = known or _first_look(state, kept, stored)
    chosen = _how_read(state, replace(before_it, sheet=sheet), stored, unread=known is None)
    if chosen != known:
        with st.spinner(f"Reading {escape(stored.name)} …"):
            markets.load(chosen, state.workspace.box)  # a file that cannot be read changes nothing
        state.choose_market(chosen)
        st.rerun()


def _first_look(state: AppState, kept: MarketSettings | None, stored: StoredFile) -> MarketSettings:
    """How a new file is read at first: as the last one, where it has the same assets."""
    key = _key("market_first", stored)
    if key not in state.drafts:
        state.drafts[key] = markets.remembered(kept, stored, state.workspace.box)
    first: MarketSettings = state.drafts[key]
    return first


def choose_sheet(state: AppState, file: StoredFile, before: str | None, key: str) -> str | None:
    """Which sheet of a workbook is meant; None, and no question, where there is no choice.

    Args:
        state: What this browser session has chosen.
        file: The uploaded workbook.
        before: The sheet that was chosen last; None where none was.
        key: What Streamlit remembers the element by.

    Returns:
        The sheet's name.
    """
    names = sheets.of_file(file, state.workspace.box)
    if len(names) < 2:
        return None
    return st.selectbox(
        "Sheet",
        [None, *names],
        format_func=lambda name: "The one that fits best" if name is None else name,
        index=place([None, *names], before),
        key=f"{key}_{file.digest[:12]}",
        help="The workbook has several; choose the one with the table.",
    )


def _how_read(
    state: AppState, before: MarketSettings, file: StoredFile, unread: bool
) -> MarketSettings:
    """The settings as the controls have them; open for a file that could not be read yet."""
    with st.expander("How the file is read", unread, icon=":material/settings:"):
        columns = st.columns(4)
        kind = _choice(columns[0], "Contents", KINDS, before.kind, ("market_kind", file))
        units = _choice(columns[1], "Units", UNITS, before.units, ("market_units", file))
        mean = _choice(columns[2], "Expected returns", MEANS, before.mean, ("market_mean", file))
        covariance = _choice(
            columns[3], "Covariance", COVARIANCES, before.covariance, ("market_covariance", file)
        )
        left, right = st.columns(2)
        gaps = _choice(left, "Missing returns", GAPS, before.gaps, ("market_gaps", file))
        repair = right.checkbox(
            REPAIR, before.repair, key=_key("market_repair", file), help=HELP[REPAIR]
        )
        known = _asset_map(state, before, file)
    return replace(
        before,
        kind=kind,
        units=units,
        mean=mean,
        covariance=covariance,
        gaps=gaps,
        repair=repair,
        asset_map=known,
    )


def _asset_map(state: AppState, before: MarketSettings, file: StoredFile) -> StoredFile | None:
    """A table of what else the assets are called, so that portfolios may name them otherwise."""
    given = st.file_uploader(
        f"{ASSET_MAP} (optional)",
        type=ENDINGS,
        key=_key("market_asset_map", file),
        help="A row for each asset and a column for each way to name it: ISIN, ticker, name. "
        "Assets are then shown by their name, and portfolios may use any of these.",
    )
    if given is None:
        return before.asset_map
    return state.workspace.box.put(given.name, given.getvalue())


def _choice(
    column: DeltaGenerator,
    label: str,
    choices: dict[str, str],
    before: str,
    key: tuple[str, StoredFile],
) -> str:
    return column.selectbox(
        label,
        list(choices),
        format_func=choices.__getitem__,
        index=place(list(choices), before),
        key=_key(*key),
        help=HELP[label],
    )


def _key(name: str, file: StoredFile) -> str:
    """Another file begins with its own choices."""
    return f"{name}_{file.digest[:12]}"


def _tickers(state: AppState) -> None:
    before = state.workspace.market
    listed = ", ".join(before.tickers) if before else ""
    with st.form("tickers_form", border=False):
        left, right = st.columns([3, 1])
        text = left.text_input(
            "Ticker symbols",
            value=listed,
            key="ticker_text",
            placeholder="AAPL, MSFT, JNJ, XOM",
            help="As on Yahoo Finance, separated by commas or spaces. This is the only thing in "
            "the studio that uses the internet.",
        )
        years = right.number_input(
            "Years",
            min_value=1,
            max_value=30,
            value=10,
            key="ticker_years",
            help="How far the history goes back.",
        )
        asked = st.form_submit_button("Download", icon=":material/cloud_download:")
    if asked:
        symbols = tuple(dict.fromkeys(text.upper().replace(",", " ").split()))
        if not symbols:
            raise AppError("Name at least two ticker symbols, for example AAPL and MSFT.")
        with st.spinner("Asking Yahoo Finance …"):
            found = markets.download(symbols, int(years), state.workspace.box)
        state.choose_market(found)
        st.rerun()


def _moments(state: AppState) -> None:
    left, right = st.columns(2)
    returns = left.file_uploader(
        "Expected returns",
        type=ENDINGS,
        key="moments_returns",
        help="Two columns: asset and expected return per year.",
    )
    covariance = right.file_uploader(
        "Covariance",
        type=ENDINGS,
        key="moments_covariance",
        help="A square table with the assets' names on both sides, per year.",
    )
    examples.offer(("expected", "covariance"))
    if returns is None or covariance is None:
        if state.workspace.market is None or state.workspace.market.source != "moments":
            st.caption("Two tables are needed; names of assets must be the same in both.")
        return
    box = state.workspace.box
    repair = st.checkbox(REPAIR, key="moments_repair", help=HELP[REPAIR])
    fresh = MarketSettings(
        source="moments",
        repair=repair,
        file=box.put(returns.name, returns.getvalue()),
        second=box.put(covariance.name, covariance.getvalue()),
    )
    before = state.workspace.market
    if before is not None and before.file == fresh.file and before.second == fresh.second:
        fresh = replace(fresh, cash=before.cash)
    if before is None or before.data != fresh:
        markets.load(fresh, box)
        state.choose_market(fresh)
        st.rerun()
