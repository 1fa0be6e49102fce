"""Adjusted prices from Yahoo by ticker: `read_yahoo`. The only file that imports yfinance.

yfinance answers an absent network with an empty table and may wait for minutes on a silent one,
so each ticker is asked for in its own thread, with retries, under a deadline that is ours.
"""

from __future__ import annotations

import datetime as dt
import logging
import queue
import re
import threading
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pandas as pd

from imop_engine import gate
from imop_engine.errors import DownloadFailed, InvalidInput
from imop_engine.tables import yahoo_cache
from imop_engine.tables.reading_report import CHANGED, KEPT, Guess, Notes, ReadingReport
from imop_engine.tables.returns import ReturnHistory, read_returns
from imop_engine.tables.yahoo_cache import Request, Stored

FREQUENCIES: Final = {"daily": "1d", "weekly": "1wk", "monthly": "1mo"}
PERIODS: Final = {"daily": 252, "weekly": 52, "monthly": 12}
TICKER: Final = re.compile(r"^[A-Z0-9^][A-Z0-9.\-=^]{0,19}$")
MOST_TICKERS: Final = 500
SOURCE: Final = "Yahoo"

# Yahoo answers one ticker in well under a second; more at once and it starts to refuse.
WORKERS: Final = 4
# The wait before the second try; it doubles with each further one.
FIRST_PAUSE: Final = 0.5
# Yahoo's own words for a ticker it does not know: asking again would not help. ("Possibly delisted"
# is yfinance's guess, which it also makes when Yahoo is out of order.)
FINAL_ANSWER: Final = "no data found"


@dataclass(frozen=True)
class Failure:
    """Why a ticker has no prices."""

    ticker: str
    reason: str


@gate.public("imop_engine.tables")
def read_yahoo(
    tickers: Sequence[str] | str,
    start: str | dt.date = "2000-01-01",
    end: str | dt.date | None = None,
    frequency: str = "monthly",
    *,
    folder: Path | str | None = None,
    max_age_hours: float = 24.0,
    offline: bool = False,
    retries: int = 2,
    deadline: float = 60.0,
    strict: bool = False,
) -> ReturnHistory:
    """Fetch adjusted prices and return them as a history, with a line for every ticker that failed.

    Prices younger than `max_age_hours` come from the cache in `folder` (default: the user's cache
    folder, or $IMOP_CACHE). `offline=True` asks nobody and takes cached prices of any age.
    `deadline` is the number of seconds after which tickers without an answer count as failed.

    Args:
        tickers: Yahoo's names of the assets, as a list or in one text with commas or spaces
            between.
        start: First day.
        end: Last day; None is today.
        frequency: Daily, weekly or monthly.
        folder: Of the cache.
        max_age_hours: How old cached prices may be.
        offline: Whether to ask nobody.
        retries: How often a failed ticker is asked for again.
        deadline: In seconds, for all tickers together.
        strict: Whether anything that would be changed or refused is an error.

    Returns:
        Returns per period in fractions, with a report.
    """
    names = check_tickers(tickers)
    first, last = check_range(start, end)
    if frequency not in FREQUENCIES:
        raise InvalidInput(f"frequency is {frequency!r}; choose daily, weekly or monthly.")
    place = Path(folder) if folder is not None else yahoo_cache.cache_folder()
    requests = {
        name: Request(name, first.isoformat(), last.isoformat() if end else "", frequency)
        for name in names
    }
    stored = {name: yahoo_cache.load(requests[name], place) for name in names}
    now = dt.datetime.now(dt.UTC)
    oldest = now - dt.timedelta(hours=max_age_hours)
    fresh = {
        name: one for name, one in stored.items() if one and (offline or one.fetched >= oldest)
    }
    wanted = [] if offline else [name for name in names if name not in fresh]
    fetched, failures = _fetch(wanted, first, last, frequency, retries, deadline)
    for name, prices in fetched.items():
        yahoo_cache.store(requests[name], prices, place, now)
    failures += [Failure(n, "it is not in the cache") for n in names if offline and n not in fresh]
    known = {**{name: one.prices for name, one in fresh.items()}, **fetched}
    if not known:
        raise DownloadFailed(_nothing(names, failures, stored, offline))
    history = _history([known[name] for name in names if name in known], frequency, strict)
    return _with_failures(history, fresh, failures, stored, strict)


def check_tickers(tickers: Sequence[str] | str) -> list[str]:
    """Return tickers as Yahoo writes them, each once.

    >>> check_tickers("aapl, msft brk-b")
    ['AAPL', 'MSFT', 'BRK-B']
    """
    given = re.split(r"[\s,;]+", tickers) if isinstance(tickers, str) else list(tickers)
    names = list(dict.fromkeys(str(one).strip().upper() for one in given if str(one).strip()))
    if not names:
        raise InvalidInput("No ticker is given; name at least one, for example AAPL.")
    for name in names:
        if not TICKER.match(name):
            raise InvalidInput(f"{name!r} is no ticker; write it as Yahoo does, for example BRK-B.")
    if len(names) > MOST_TICKERS:
        raise InvalidInput(f"{len(names):,} tickers are too many; ask for {MOST_TICKERS} at most.")
    return names


def check_range(start: str | dt.date, end: str | dt.date | None) -> tuple[dt.date, dt.date]:
    """Return the first and the last day, both included."""
    first = _day(start, "start")
    last = _day(end, "end") if end else dt.datetime.now(dt.UTC).date()
    if not first < last:
        raise InvalidInput(f"The range from {first} to {last} is empty; start before it ends.")
    return first, last


def _day(value: str | dt.date, what: str) -> dt.date:
    if isinstance(value, dt.datetime):
        return value.date()
    if isinstance(value, dt.date):
        return value
    try:
        return dt.date.fromisoformat(str(value))
    except ValueError as error:
        raise InvalidInput(f"{what} is {value!r}; write a date as 2020-01-31.") from error


def ask_yahoo(ticker: str, start: str, end: str, interval: str, timeout: float) -> pd.DataFrame:
    """Ask Yahoo for one ticker. A failure is an exception with Yahoo's own words.

    Args:
        ticker: Yahoo's name of the asset.
        start: First day, as 2020-01-31.
        end: The day after the last, as 2020-01-31.
        interval: In Yahoo's words, as 1mo.
        timeout: In seconds.

    Returns:
        Yahoo's table of prices.
    """
    import yfinance

    # Its deprecation warnings are about its own code.
    warnings.filterwarnings("ignore", module=r"yfinance(\..*)?$")
    # Or it answers a broken network with an empty table.
    yfinance.config.debug.hide_exceptions = False
    heard = _Listener(threading.get_ident())
    logger = logging.getLogger("yfinance")
    logger.addFilter(heard)
    words = "Yahoo sent no prices"
    frame = None
    try:
        # One ticker at a time and not `download`, which hides why a ticker failed.
        frame = yfinance.Ticker(ticker).history(
            start=start,
            end=end,
            interval=interval,
            auto_adjust=True,
            actions=False,
            timeout=timeout,
        )
    except Exception as error:  # yfinance may raise anything, and so may curl below it
        words = f"{type(error).__name__} {error}"
    finally:
        logger.removeFilter(heard)
    if frame is None or frame.empty:
        _forget_replies(yfinance)
        raise DownloadFailed(f"{words} {heard.said()}".strip())
    return pd.DataFrame(frame)


def _forget_replies(package: Any) -> None:
    """Make yfinance ask again: it keeps even a failed reply for the life of the process."""
    forget = getattr(package.data.YfData.cache_get, "cache_clear", None)
    if forget is not None:
        forget()


class _Listener(logging.Filter):
    """Keeps what yfinance logs in one thread, instead of letting it into the user's terminal."""

    def __init__(self, thread: int) -> None:
        super().__init__()
        self.thread = thread
        self.words: list[str] = []

    def filter(self, record: logging.LogRecord) -> bool:
        """Swallow the record if it is ours."""
        if record.thread != self.thread:
            return True
        if record.levelno >= logging.WARNING:
            self.words.append(record.getMessage())
        return False

    def said(self) -> str:
        """Return everything said: the first line often tells more than the last."""
        return " ".join(" ".join(self.words).split())


def _fetch(
    names: list[str], first: dt.date, last: dt.date, frequency: str, retries: int, deadline: float
) -> tuple[dict[str, pd.Series[Any]], list[Failure]]:
    """Ask for all tickers at once, a few at a time, and stop waiting at the deadline."""
    if not names:
        return {}, []
    until = time.monotonic() + deadline
    todo: queue.SimpleQueue[str] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[str, pd.Series[Any] | str]] = queue.SimpleQueue()
    for name in names:
        todo.put(name)
    # Yahoo's end is exclusive; ours is not.
    span = (first.isoformat(), (last + dt.timedelta(days=1)).isoformat())

    def work() -> None:
        while time.monotonic() < until:
            try:
                name = todo.get_nowait()
            except queue.Empty:
                return
            done.put((name, _persist(name, span, frequency, last, retries, until)))

    for _ in range(min(WORKERS, len(names))):
        # Daemons: a thread that hangs on a silent network must not keep the program alive.
        threading.Thread(target=work, daemon=True, name="imop-yahoo").start()
    answers = _collect(done, len(names), until)
    prices = {name: answer for name, answer in answers.items() if not isinstance(answer, str)}
    failures = [
        Failure(name, str(answers.get(name, f"no answer within {deadline:g} seconds")))
        for name in names
        if name not in prices
    ]
    return prices, failures


def _collect(done: queue.SimpleQueue[tuple[str, Any]], count: int, until: float) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    while len(answers) < count:
        try:
            name, answer = done.get(timeout=max(until - time.monotonic(), 0.001))
        except queue.Empty:
            break
        answers[name] = answer
    return answers


def _persist(
    name: str, span: tuple[str, str], frequency: str, last: dt.date, retries: int, until: float
) -> pd.Series[Any] | str:
    """Ask until an answer comes, tries run out or time is up; return the prices or why not."""
    reason = words = "no answer"
    pause = FIRST_PAUSE
    for attempt in range(retries + 1):
        left = until - time.monotonic()
        if left <= 0:
            break
        try:
            frame = ask_yahoo(name, *span, FREQUENCIES[frequency], left)
            return adjusted_close(frame, name, frequency, last)
        except DownloadFailed as error:
            words = str(error)
            reason = _plain(words)
        if FINAL_ANSWER in words.lower() or attempt == retries or time.monotonic() + pause > until:
            break
        time.sleep(pause)
        pause *= 2
    return reason


def _plain(words: str) -> str:
    """Turn Yahoo's and curl's words into something short that a person can read."""
    low = words.lower()
    if "resolve host" in low or "dns" in low:
        return "Yahoo's server cannot be found; there is no network"
    if "too many requests" in low or "rate limit" in low or "429" in low:
        return "Yahoo refuses more requests for now"
    if "keyerror" in low or "typeerror" in low or "json" in low or "attributeerror" in low:
        return "Yahoo's answer cannot be understood"
    if "timed out" in low or "connect" in low or "timeout" in low:
        return "Yahoo's server does not answer"
    if any(word in low for word in ("delisted", "no timezone", "not found", "no price")):
        return "Yahoo has none: not found, delisted, not traded then, or Yahoo is out of order"
    return " ".join(words.split())[:160]


def adjusted_close(
    frame: pd.DataFrame, ticker: str, frequency: str, last: dt.date
) -> pd.Series[Any]:
    """Take the adjusted closing prices out of Yahoo's table of one ticker.

    Args:
        frame: Yahoo's table.
        ticker: Yahoo's name of the asset.
        frequency: Daily, weekly or monthly.
        last: The last day that was asked for.

    Returns:
        Prices by date.
    """
    if "Close" not in frame.columns:
        raise DownloadFailed("Yahoo's answer has no closing prices")
    prices = pd.to_numeric(frame["Close"], errors="coerce").astype(float)
    index = pd.DatetimeIndex(frame.index)
    days = (index.tz_localize(None) if index.tz is not None else index).normalize()
    if frequency == "monthly":
        # Yahoo dates a month by its first day; the price is that of the last.
        days = days + pd.offsets.MonthEnd(0)
    elif frequency == "weekly":
        days = days + pd.Timedelta(days=4)
    prices = pd.Series(prices.to_numpy(), index=days, name=ticker).dropna()
    # A period that has not ended yet has no closing price.
    prices = prices[prices.index <= pd.Timestamp(last)]
    prices = prices[~prices.index.duplicated(keep="last")]
    if not len(prices):
        raise DownloadFailed("Yahoo sent no prices for a whole period")
    prices.index.name = "date"
    return prices


def _history(series: list[pd.Series[Any]], frequency: str, strict: bool) -> ReturnHistory:
    table = pd.concat(series, axis=1).sort_index()
    history = read_returns(
        table,
        name=SOURCE,
        kind="prices",
        layout="wide",
        periods_per_year=PERIODS[frequency],
        roles={"date": "date"},
        strict=strict,
    )
    guessed = {
        "source": Guess(SOURCE, "closing prices adjusted for splits and dividends"),
        **history.guessed,
        "kind": Guess("prices", "Yahoo sends prices"),
        "periods per year": Guess(PERIODS[frequency], f"{frequency} prices were asked for"),
    }
    return replace(history, guessed=guessed)


def _with_failures(
    history: ReturnHistory,
    fresh: dict[str, Stored],
    failures: list[Failure],
    stored: dict[str, Stored | None],
    strict: bool,
) -> ReturnHistory:
    notes = Notes(SOURCE)
    for failure in failures:
        old = stored.get(failure.ticker)
        notes.add(
            f"there are no prices: {failure.reason}",
            CHANGED,
            f"read offline to use the prices cached on {old.fetched.date()}"
            if old
            else "check the ticker, or try again later",
            columns=failure.ticker,
        )
    if fresh:
        when = min(one.fetched for one in fresh.values()).date()
        notes.add(
            f"prices come from the cache, the oldest fetched on {when}",
            KEPT,
            "nothing needs to be done",
            rows=[0] * len(fresh),
            columns=list(fresh),
        )
    notes.extend(history.report.findings)
    report: ReadingReport = notes.close(history.report.rows_read, strict=strict)
    return replace(history, report=report)


def _nothing(
    names: list[str], failures: list[Failure], stored: dict[str, Stored | None], offline: bool
) -> str:
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    reasons = list(dict.fromkeys(failure.reason for failure in failures))
    why = "; ".join(reasons[:3])
    cached = [one for one in stored.values() if one]
    if cached and not offline:
        when = min(one.fetched for one in cached).date()
        remedy = (
            f"Prices of {len(cached)} of the {len(names)} tickers were cached on {when}: "
            "read offline to use them, or use the bundled set us20"
        )
    else:
        remedy = (
            "None of them is in the cache; try again with a network, "
            "read a file, or use the bundled set us20"
        )
    return f"No prices came from Yahoo for {shown} ({why}). {remedy}."
