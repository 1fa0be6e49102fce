"""The market: assets, what they returned, how they move together, and what limits them."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import streamlit as st

from imop_app.home import FileBox
from imop_app.services.errors import AppError, sentences
from imop_app.services.preparing import compiled
from imop_app.settings import Limit, MarketSettings
from imop_engine.bundled import market as bundled_market
from imop_engine.bundled import market_names

if TYPE_CHECKING:
    from imop_engine.problem import Problem

TITLES: Final = {"paper8": "Eight securities (paper)", "us20": "20 large US stocks"}
DAYS_PER_YEAR: Final = 365.25
DOWNLOAD_SECONDS: Final = 25.0  # longer than Yahoo ever takes for a page of tickers
# Where an analyst sets no bounds of her own, a believed return lies in here; a market whose own
# returns go further widens it.
WIDEST: Final = (-1.0, 1.0)


@dataclass(frozen=True, eq=False)
class MarketData:
    """A market that was read: moments per year, and the history behind them where there is one."""

    title: str
    description: str
    names: tuple[str, ...]
    expected_returns: pd.Series
    covariance: pd.DataFrame
    history: pd.DataFrame | None = None
    periods_per_year: float = 1.0
    notes: tuple[str, ...] = ()
    guessed: tuple[tuple[str, str], ...] = ()
    reading: Any = None  # the reader's report, where a file was read
    clean: bool = True  # whether nothing in it needs the analyst's attention

    @property
    def size(self) -> int:
        """Number of assets."""
        return len(self.names)


@dataclass(frozen=True, eq=False)
class MarketPicture:
    """The tables behind the charts of a market."""

    assets: pd.DataFrame
    correlations: pd.DataFrame
    growth: pd.DataFrame | None


def bundled_titles() -> dict[str, str]:
    """The bundled markets by name, each with the title that the analyst reads."""
    return {name: TITLES.get(name, name) for name in market_names()}


@sentences
def load(settings: MarketSettings, box: FileBox) -> MarketData:
    """The market that these settings describe; read once for each content."""
    return _load(settings.data, box)


@st.cache_resource(show_spinner=False, max_entries=32)
def _load(settings: MarketSettings, _box: FileBox) -> MarketData:
    if settings.source == "bundled":
        return _bundled(settings.bundled)
    data = _moments(settings, _box) if settings.source == "moments" else _history(settings, _box)
    if data.size < 2:
        raise AppError(
            f"{data.title} has one asset ({data.names[0]}); a choice needs at least two: add the "
            "histories of the others, one column each."
        )
    return data


def _bundled(name: str) -> MarketData:
    chosen = bundled_market(name)
    assets = pd.Index(chosen.names, name="asset")
    return MarketData(
        title=TITLES.get(name, name),
        description=chosen.description + ".",
        names=chosen.names,
        expected_returns=pd.Series(chosen.expected_returns, index=assets),
        covariance=pd.DataFrame(chosen.covariance, index=assets, columns=list(assets)),
        history=chosen.history,
        periods_per_year=chosen.periods_per_year,
    )


def _history(settings: MarketSettings, box: FileBox) -> MarketData:
    from imop_engine.moments import estimate_moments
    from imop_engine.tables import read_returns

    if settings.file is None:
        raise AppError("Choose a file with returns or prices first.")
    history = read_returns(
        box.get(settings.file),
        name=settings.file.name,
        kind=settings.kind,
        units=settings.units,
        layout=settings.layout,
        sheet=settings.sheet,
    )
    moments = estimate_moments(
        history.returns,
        mean=settings.mean,
        covariance=settings.covariance,
        periods_per_year=history.periods_per_year,
    )
    dates = history.returns.index
    title = ", ".join(settings.tickers) if settings.source == "tickers" else settings.file.name
    return MarketData(
        title=title,
        description=f"{len(history.returns):,} periods from {_day(dates[0])} to {_day(dates[-1])}, "
        f"{history.periods_per_year:g} to the year.",
        names=tuple(map(str, history.returns.columns)),
        expected_returns=moments.expected_returns,
        covariance=moments.covariance,
        history=history.returns,
        periods_per_year=history.periods_per_year,
        notes=(*settings.told, *map(str, moments.notes)),
        guessed=_told(history.guessed),
        reading=history.report,
        clean=not (
            settings.told
            or history.report.sentences()
            or moments.repaired
            or history.returns.isna().any(axis=None)
        ),
    )


def _moments(settings: MarketSettings, box: FileBox) -> MarketData:
    from imop_engine.tables import read_moments

    if settings.file is None or settings.second is None:
        raise AppError("Give two tables: expected returns by asset, and their covariance.")
    moments = read_moments(
        box.get(settings.file),
        box.get(settings.second),
        names=(settings.file.name, settings.second.name),
    )
    return MarketData(
        title=settings.file.name,
        description="Expected returns and covariance as given, per year; no history behind them.",
        names=tuple(map(str, moments.covariance.columns)),
        expected_returns=moments.expected_returns,
        covariance=moments.covariance,
        notes=tuple(map(str, moments.notes)),
        clean=not moments.notes,
    )


@sentences
def download(tickers: tuple[str, ...], years: int, box: FileBox) -> MarketSettings:
    """Fetch prices by ticker and keep them as a file, so that a reload needs no network."""
    from imop_engine.tables.yahoo import read_yahoo

    start = dt.date.today() - dt.timedelta(days=round(DAYS_PER_YEAR * years))
    found = read_yahoo(tickers, start, deadline=DOWNLOAD_SECONDS)
    if found.prices is None or found.prices.shape[1] < 2:
        raise AppError("Fewer than two of these tickers have prices; name at least two that do.")
    stored = box.put("yahoo.csv", found.prices.to_csv().encode())
    kept = tuple(map(str, found.prices.columns))
    told = tuple(str(line) for line in found.report.sentences())
    settings = MarketSettings(source="tickers", file=stored, tickers=kept, kind="prices", told=told)
    _load(settings, box)
    return settings


@sentences
def picture(settings: MarketSettings, box: FileBox) -> MarketPicture:
    """The tables behind the charts of a market."""
    return _picture(settings, box)


@st.cache_resource(show_spinner=False, max_entries=32)
def _picture(settings: MarketSettings, _box: FileBox) -> MarketPicture:
    from imop_engine.report import frames_market

    data = load(settings, _box)
    names = list(data.names)
    return MarketPicture(
        assets=frames_market.assets_table(names, data.expected_returns, data.covariance),
        correlations=frames_market.correlations(names, data.covariance),
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
    returns = data.expected_returns.to_numpy()
    return frames.curve(problem(data, settings), returns, style.HISTORY)


def problem(data: MarketData, settings: MarketSettings) -> Problem:
    """The portfolio problem of a market under its limits, nothing anchored."""
    from imop_engine.problem import portfolio_problem

    return portfolio_problem(
        data.covariance,
        names=data.names,
        upper=caps(data, settings),
        bounds=settings.bounds or widest(data),
    )


def caps(data: MarketData, settings: MarketSettings) -> np.ndarray:
    """The cap of each asset; 1 where none was set."""
    given = {limit.asset: limit.cap for limit in settings.limits}
    return np.array([given.get(name, 1.0) for name in data.names])


def widest(data: MarketData) -> tuple[float, float]:
    """Where believed returns lie when nobody says."""
    returns = data.expected_returns.to_numpy(dtype=float)
    low, high = WIDEST
    return min(low, 2.0 * float(returns.min())), max(high, 2.0 * float(returns.max()))


def limits_table(data: MarketData, settings: MarketSettings) -> pd.DataFrame:
    """asset, expected return, risk and cap in percent, for editing."""
    return pd.DataFrame(
        {
            "asset": list(data.names),
            "return": 100.0 * data.expected_returns.to_numpy(dtype=float),
            "risk": 100.0 * np.sqrt(np.diag(data.covariance.to_numpy(dtype=float))),
            "cap": 100.0 * caps(data, settings),
        }
    )


@sentences
def with_limits(
    settings: MarketSettings,
    data: MarketData,
    table: pd.DataFrame,
    low: float | None = None,
    high: float | None = None,
) -> MarketSettings:
    """The settings with the caps of an edited table and with bounds, or why they cannot be.

    Caps and bounds are in percent; a bound that is None is as wide as nobody cares.
    """
    # A cap that was deleted is no number, and not below 100.
    shares = table["cap"].astype(float).tolist()
    limits = [
        Limit(str(asset), cap / 100.0)
        for asset, cap in zip(table["asset"], shares, strict=True)
        if cap < 100.0
    ]
    outer = widest(data)
    bounds = None
    if low is not None or high is not None:
        bounds = (
            outer[0] if low is None else low / 100.0,
            outer[1] if high is None else high / 100.0,
        )
        if not bounds[0] < bounds[1]:
            raise AppError("The least return must be below the greatest; change one of the two.")
    chosen = replace(settings, limits=tuple(limits), bounds=bounds)
    total = float(caps(data, chosen).sum())
    if total < 1.0:
        raise AppError(
            f"The caps add up to {total:.0%}, so nobody could invest all her wealth; raise them "
            "until they add up to at least 100%."
        )
    problem(data, chosen)  # raises where no portfolio is left
    return chosen


def bounds_percent(settings: MarketSettings, data: MarketData) -> tuple[float | None, float | None]:
    """The bounds that were set, in percent; None where nobody set one."""
    if settings.bounds is None:
        return None, None
    outer = widest(data)
    low, high = settings.bounds
    return (
        None if low == outer[0] else 100.0 * low,
        None if high == outer[1] else 100.0 * high,
    )


def quality(data: MarketData) -> list[str]:
    """What was noted while the data were read and turned into moments."""
    said = [str(line) for line in data.reading.sentences()] if data.reading is not None else []
    return [*said, *data.notes]


def guessed_said(data: MarketData) -> str:
    """What was detected in the file, and by what, in one line."""
    return "Detected: " + "; ".join(f"{label}: {value}" for label, value in data.guessed) + "."


def _told(guessed: Any) -> tuple[tuple[str, str], ...]:
    return tuple((str(key), str(value)) for key, value in dict(guessed or {}).items())


def _day(moment: Any) -> str:
    return moment.strftime("%d %b %Y") if hasattr(moment, "strftime") else str(moment)
