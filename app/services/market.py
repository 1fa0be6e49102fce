"""The market: assets, what they returned, how they move together, and what limits them."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import pandas as pd
import streamlit as st

from imop_app.files import FileBox
from imop_app.services.errors import AppError, sentences
from imop_app.services.preparing import compiled
from imop_app.services.reading import read
from imop_app.settings import Limit, MarketSettings, StoredFile
from imop_engine.bundled import market as bundled_market
from imop_engine.bundled import market_names
from imop_engine.errors import InvalidInput
from imop_engine.limits import Limits, LinearLimit
from imop_engine.market import Market as Market  # the views name the type by this service

if TYPE_CHECKING:
    from imop_engine.loading import MarketSource, SourceWords
    from imop_engine.problem import Problem
    from imop_engine.tables import AssetMap

DAYS_PER_YEAR: Final = 365.25
DOWNLOAD_SECONDS: Final = 25.0  # longer than Yahoo ever takes for a page of tickers


@dataclass(frozen=True, eq=False)
class MarketPicture:
    """The tables behind the charts of a market."""

    assets: pd.DataFrame
    correlations: pd.DataFrame  # of every two assets; of many assets, counted
    closest: pd.DataFrame | None  # the pairs that move together most, where they are counted
    growth: pd.DataFrame | None


def bundled_titles() -> dict[str, str]:
    """The bundled markets by name, each with the title that the analyst reads."""
    return {name: bundled_market(name).title for name in market_names()}


@sentences
def load(settings: MarketSettings, box: FileBox) -> Market:
    """The market that these settings describe; read once for each content."""
    return _load(settings.data, box)


@st.cache_resource(show_spinner=False, max_entries=32)
def _load(settings: MarketSettings, _box: FileBox) -> Market:
    from imop_engine.loading import HistoryOptions, load_market

    options = HistoryOptions(
        kind=settings.kind,
        units=settings.units,
        layout=settings.layout,
        sheet=settings.sheet,
        mean=settings.mean,
        covariance=settings.covariance,
        gaps=settings.gaps,
        repair=settings.repair,
        periods_per_year=settings.periods_per_year,
    )
    data = load_market(_source(settings, _box), options, _words(settings), read)
    if data.size < 2:
        raise AppError(
            f"{data.title} has one asset ({data.names[0]}); a choice needs at least two: add the "
            "histories of the others, one column each."
        )
    if settings.source != "tickers":
        return data
    notes = (*settings.told, *data.notes)
    title = ", ".join(settings.tickers)
    return replace(data, title=title, notes=notes, clean=data.clean and not settings.told)


def remembered(before: MarketSettings | None, file: StoredFile, box: FileBox) -> MarketSettings:
    """A new history read as the last one was, where it has the same assets; else as it comes.

    Args:
        before: How the last history was read; None where there was none.
        file: The new one.
        box: The files of the workspace.
    """
    fresh = MarketSettings(source="upload", file=file)
    if before is None or before.source != "upload" or before.file is None:
        return fresh
    same = replace(before, file=file, sheet=None)
    try:
        return same if load(same, box).names == load(before, box).names else fresh
    except AppError:
        return fresh


def _source(settings: MarketSettings, box: FileBox) -> MarketSource:
    """The source for the engine's loader; prices by ticker were kept as a file."""
    from imop_engine.loading import MarketSource, TableFile

    def table(stored: StoredFile | None) -> TableFile | None:
        return None if stored is None else TableFile(stored.name, box.path(stored))

    cash, groups = settings.cash, table(settings.groups)
    if settings.source == "bundled":
        return MarketSource(bundled=settings.bundled, groups=groups, cash=cash)
    if settings.source == "moments":
        expected, covariance = table(settings.file), table(settings.second)
        return MarketSource(expected=expected, covariance=covariance, groups=groups, cash=cash)
    known = table(settings.asset_map)
    return MarketSource(history=table(settings.file), asset_map=known, groups=groups, cash=cash)


@sentences
def asset_map(settings: MarketSettings, box: FileBox) -> AssetMap | None:
    """What else the market's assets are called; None where nobody said."""
    from imop_engine.loading import load_asset_map

    return load_asset_map(_source(settings, box), read)


def _words(settings: MarketSettings) -> SourceWords:
    """What the page says where a file is still missing."""
    from imop_engine.loading import SourceWords
    from imop_engine.sentences.market import APP

    two_tables = "Give two tables: expected returns by asset, and their covariance."
    no_file = "Choose a file with returns or prices first."
    return SourceWords(two_tables if settings.source == "moments" else no_file, two_tables, APP)


@sentences
def download(tickers: tuple[str, ...], years: int, box: FileBox) -> MarketSettings:
    """Fetch prices by ticker and keep them as a file, so that a reload needs no network.

    Args:
        tickers: Yahoo's names of the assets.
        years: How long a history to fetch.
        box: The files of the workspace.

    Returns:
        Settings that name the kept file.
    """
    from imop_engine.loading import YahooPrices, fetch_history

    start = dt.date.today() - dt.timedelta(days=round(DAYS_PER_YEAR * years))
    found = fetch_history(YahooPrices(tickers, start, deadline=DOWNLOAD_SECONDS))
    if found.prices is None or found.prices.shape[1] < 2:
        raise AppError("Fewer than two of these tickers have prices; name at least two that do.")
    stored = box.put("yahoo.csv", found.prices.to_csv().encode())
    kept = tuple(map(str, found.prices.columns))
    remarks = tuple(str(line) for line in found.report.sentences())
    settings = MarketSettings(
        source="tickers", file=stored, tickers=kept, kind="prices", told=remarks
    )
    _load(settings, box)
    return settings


@sentences
def picture(settings: MarketSettings, box: FileBox) -> MarketPicture:
    """The tables behind the charts of a market."""
    return _picture(settings, box)


@st.cache_resource(show_spinner=False, max_entries=32)
def _picture(settings: MarketSettings, _box: FileBox) -> MarketPicture:
    from imop_engine.report import frames_market, style

    data = load(settings, _box)
    names = list(data.names)
    pairs = frames_market.correlations(names, data.covariance)
    many = data.size > style.MOST_ROWS
    return MarketPicture(
        assets=frames_market.assets_table(names, data.expected_returns, data.covariance),
        correlations=frames_market.correlation_counts(pairs) if many else pairs,
        closest=frames_market.closest_pairs(pairs) if many else None,
        growth=None if data.history is None else frames_market.growth(data.history),
    )


@compiled
def curve(settings: MarketSettings, box: FileBox) -> pd.DataFrame:
    """The frontier of the market's own expected returns under its limits."""
    return _curve(settings, box)


@st.cache_resource(show_spinner=False, max_entries=32)
def _curve(settings: MarketSettings, _box: FileBox) -> pd.DataFrame:
    from imop_engine.report import frames, style

    data = load(settings, _box)
    return frames.curve(problem(data, settings), data.expected_returns, style.HISTORY)


def problem(data: Market, settings: MarketSettings) -> Problem:
    """The portfolio problem of a market under its limits, nothing anchored."""
    from imop_engine.problem import portfolio_problem

    limits = limits_of(settings, data)
    return portfolio_problem(
        data.covariance,
        names=data.names,
        upper=limits.upper_of(data.names),
        limits=limits.linear,
        bounds=limits.box(data.expected_returns),
    )


def limits_of(settings: MarketSettings, data: Market) -> Limits:
    """Caps, bounds and sums; a limit on what another market had counts no more."""
    caps = tuple((one.asset, one.cap) for one in settings.limits if one.asset in data.names)
    return Limits(caps=caps, bounds=settings.bounds, linear=linear_of(settings, data)[0])


def linear_of(
    settings: MarketSettings, data: Market
) -> tuple[tuple[LinearLimit, ...], tuple[str, ...]]:
    """The limits on sums of holdings, and sentences about those that another market had.

    Args:
        settings: The market's settings.
        data: The market itself.
    """
    from imop_engine.limit_text import parse_limit

    found: list[LinearLimit] = []
    lost: list[str] = []
    for one in settings.sums:
        try:
            text = f"{one.what} {one.relation} {one.share!r}"
            found += parse_limit(text, data.names, data.groups)
        except InvalidInput as error:
            lost.append(str(error))
    return tuple(found), tuple(lost)


def limits_table(data: Market, settings: MarketSettings) -> pd.DataFrame:
    """asset, expected return, risk and cap in percent, for editing."""
    return pd.DataFrame(
        {
            "asset": list(data.names),
            "return": 100.0 * data.expected_returns,
            "risk": 100.0 * data.risks,
            "cap": 100.0 * limits_of(settings, data).upper_of(data.names),
        }
    )


@sentences
def with_limits(
    settings: MarketSettings,
    data: Market,
    table: pd.DataFrame,
    low: float | None = None,
    high: float | None = None,
) -> MarketSettings:
    """The settings with the caps of an edited table and with bounds, or why they cannot be.

    Caps and bounds are in percent; a bound that is None is as wide as nobody cares.

    Args:
        settings: The market's settings before.
        data: The market itself.
        table: Asset and cap, in percent.
        low: The least return anybody may believe in, percent a year.
        high: The greatest, percent a year.
    """
    # A cap that was deleted is no number, and not below 100.
    shares = table["cap"].astype(float).tolist()
    limits = [
        Limit(str(asset), cap / 100.0)
        for asset, cap in zip(table["asset"], shares, strict=True)
        if cap < 100.0
    ]
    outer = Limits().box(data.expected_returns)
    bounds = None
    if low is not None or high is not None:
        bounds = (
            outer[0] if low is None else low / 100.0,
            outer[1] if high is None else high / 100.0,
        )
        if not bounds[0] < bounds[1]:
            raise AppError("The least return must be below the greatest; change one of the two.")
    chosen = replace(settings, limits=tuple(limits), bounds=bounds)
    total = float(limits_of(chosen, data).upper_of(data.names).sum())
    if total < 1.0:
        raise AppError(
            f"The caps add up to {total:.0%}, so nobody could invest everything; raise them "
            "until they add up to at least 100%."
        )
    problem(data, chosen)  # raises where no portfolio is left
    return chosen


def bounds_percent(settings: MarketSettings, data: Market) -> tuple[float | None, float | None]:
    """The bounds that were set, in percent; None where nobody set one."""
    if settings.bounds is None:
        return None, None
    outer = Limits().box(data.expected_returns)
    low, high = settings.bounds
    return (
        None if low == outer[0] else 100.0 * low,
        None if high == outer[1] else 100.0 * high,
    )


def quality(data: Market) -> list[str]:
    """What was noted while the data were read and turned into moments."""
    said = [str(line) for report in data.reading for line in report.sentences()]
    return [*said, *data.notes]


def findings(data: Market) -> pd.DataFrame:
    """Everything that reading noted, changed or refused, a line each."""
    tables = [report.to_frame() for report in data.reading]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def guessed_said(data: Market) -> str:
    """What was detected in the file, and by what, in one line."""
    return "Detected: " + "; ".join(f"{label}: {value}" for label, value in data.guessed) + "."
