"""Prices from Yahoo: real yfinance against a local server with Yahoo's replies, and offline."""

import datetime as dt
import json
import threading
import time

import numpy as np
import pandas as pd
import pytest

from imop_engine.errors import DownloadFailed, ImopError, InvalidInput, RefusedRows
from imop_engine.tables import read_yahoo, yahoo, yahoo_cache
from tables.yahoo_server import UNKNOWN, YahooServer, chart, month_starts

MONTHS = 30
STAMPS = month_starts("2018-01", MONTHS)
RNG = np.random.default_rng(7)
CLOSES = {
    ticker: (100 * np.cumprod(1 + RNG.normal(0.01, 0.05, MONTHS))).round(6).tolist()
    for ticker in ("AAPL", "MSFT", "BRK-B")
}
ADJUSTED = {
    ticker: (np.array(closes) * np.linspace(0.9, 1, MONTHS)).round(6).tolist()
    for ticker, closes in CLOSES.items()
}
DEADLINE = 600.0  # seconds; no answer that comes at all takes so long
RANGE = {"start": "2018-01-01", "end": "2020-06-30"}


@pytest.fixture
def server(monkeypatch):
    from yfinance.cache import _TzCacheDummy
    from yfinance.data import YfData

    one = YahooServer()
    for ticker in CLOSES:
        one.replies[ticker] = (200, chart(ticker, STAMPS, CLOSES[ticker], ADJUSTED[ticker]))
    # The address is all that differs from the real thing.
    monkeypatch.setattr("yfinance.base._BASE_URL_", one.address)
    monkeypatch.setattr("yfinance.scrapers.history._BASE_URL_", one.address)
    monkeypatch.setattr(YfData, "_get_cookie_and_crumb", lambda *_a, **_k: (None, "basic"))
    # Without a time zone yfinance asks a second server, twice in the life of a process.
    monkeypatch.setattr("yfinance.base._tz_info_fetch_ctr", 2)
    monkeypatch.setattr(yahoo, "FIRST_PAUSE", 0.01)
    # yfinance remembers zones in one file per process, chosen by whoever asks first, and replies in
    # memory: a test that counts requests must meet neither an earlier run's nor a neighbour's.
    monkeypatch.setattr("yfinance.cache._TzCacheManager._tz_cache", _TzCacheDummy())
    YfData.cache_get.cache_clear()
    yield one
    one.close()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "prices"


def test_adjusted_prices_become_returns(server, folder):
    history = read_yahoo(["AAPL", "msft"], **RANGE, folder=folder)
    assert list(history.returns.columns) == ["AAPL", "MSFT"]
    assert history.periods_per_year == 12
    expected = np.array(ADJUSTED["AAPL"])
    np.testing.assert_allclose(history.prices["AAPL"], expected, rtol=1e-9)
    np.testing.assert_allclose(history.returns["AAPL"], expected[1:] / expected[:-1] - 1, rtol=1e-9)
    # Yahoo dates a month by its first day; a price belongs to the last.
    assert history.prices.index[0] == pd.Timestamp("2018-01-31")
    assert history.guessed["source"].value == "Yahoo"
    assert history.report.rows_refused == 0


def test_a_ticker_that_fails_is_reported_and_the_others_are_used(server, folder):
    history = read_yahoo(["AAPL", "NOPE"], **RANGE, folder=folder)
    assert list(history.returns.columns) == ["AAPL"]
    assert (
        "Yahoo, column NOPE: there are no prices: Yahoo has none: not found, delisted, not traded "
        "then, or Yahoo is out of order; check the ticker, or try again later."
    ) in history.report.sentences()
    with pytest.raises(RefusedRows):
        read_yahoo(["AAPL", "NOPE"], **RANGE, folder=folder, strict=True)


def test_a_ticker_that_yahoo_does_not_know_is_not_asked_for_again(server, folder):
    known = chart("GONE", STAMPS, CLOSES["AAPL"], ADJUSTED["AAPL"])
    server.replies["GONE"] = [(200, known), (404, UNKNOWN)]
    with pytest.raises(DownloadFailed, match="GONE"):
        read_yahoo("GONE", **RANGE, folder=folder, retries=5)
    # One reply tells the time zone; the other is asked for twice by yfinance, with other cookies.
    assert len(server.asked) <= 3


def test_a_server_in_trouble_is_asked_again(server, folder):
    good = server.replies["AAPL"]
    server.replies["AAPL"] = [(500, {}), (500, {}), (500, {}), good]
    history = read_yahoo("AAPL", **RANGE, folder=folder, retries=4)
    assert len(history.prices) == MONTHS


def test_too_many_requests_are_named(server, folder):
    server.replies["AAPL"] = (429, {})
    with pytest.raises(DownloadFailed, match="Yahoo refuses more requests for now"):
        read_yahoo("AAPL", **RANGE, folder=folder, retries=1)


class Clock:
    """Time as the one who waits for answers sees it: over as soon as the first answer is there."""

    sleep = staticmethod(time.sleep)

    def __init__(self) -> None:
        self.waiting = threading.get_ident()
        self.looks = 0

    def monotonic(self) -> float:
        if threading.get_ident() == self.waiting:
            self.looks += 1  # when the wait begins, before the first answer, before the second
        return time.monotonic() + (DEADLINE if self.looks > 2 else 0.0)


def test_a_silent_network_ends_at_our_deadline(server, folder, monkeypatch):
    server.silent.add("MSFT")
    monkeypatch.setattr(yahoo, "time", Clock())
    history = read_yahoo(["AAPL", "MSFT"], **RANGE, folder=folder, deadline=DEADLINE, retries=0)
    assert list(history.returns.columns) == ["AAPL"]
    (line,) = [one for one in history.report.sentences() if "MSFT" in one]
    assert "there are no prices: no answer within 600 seconds" in line


def test_the_cache_answers_without_a_network_and_expires(server, folder):
    days = {dt.datetime.now(dt.UTC).date()}
    first = read_yahoo("AAPL", **RANGE, folder=folder)
    days.add(dt.datetime.now(dt.UTC).date())  # another one at midnight
    asked = len(server.asked)
    again = read_yahoo("AAPL", **RANGE, folder=folder)
    assert len(server.asked) == asked
    pd.testing.assert_frame_equal(first.returns, again.returns)
    assert any(
        f"Yahoo, column AAPL: prices come from the cache, the oldest fetched on {day}; "
        "nothing needs to be done." in again.report.sentences()
        for day in days
    )
    read_yahoo("AAPL", **RANGE, folder=folder, max_age_hours=0)
    assert len(server.asked) > asked


def test_an_expired_cache_is_offered_and_used_when_asked(server, folder):
    read_yahoo("AAPL", **RANGE, folder=folder)
    server.replies["AAPL"] = (500, {})
    today = dt.datetime.now(dt.UTC).date()
    with pytest.raises(DownloadFailed) as caught:
        read_yahoo(["AAPL", "NOPE"], **RANGE, folder=folder, max_age_hours=0, retries=0)
    assert (
        f"Prices of 1 of the 2 tickers were cached on {today}: "
        "read offline to use them, or use the bundled set us20." in str(caught.value)
    )
    history = read_yahoo("AAPL", **RANGE, folder=folder, offline=True)
    assert len(history.prices) == MONTHS


def test_an_empty_reply_is_never_cached(server, folder):
    server.replies["AAPL"] = (200, chart("AAPL", [], [], []))
    with pytest.raises(DownloadFailed):
        read_yahoo("AAPL", **RANGE, folder=folder, retries=0)
    assert not folder.exists() or not list(folder.iterdir())


def test_a_broken_cache_file_counts_as_absent(server, folder):
    read_yahoo("AAPL", **RANGE, folder=folder)
    (file,) = folder.iterdir()
    for broken in ("", "{", "[]", '{"ticker": "AAPL"}', json.dumps({"prices": "x"})):
        file.write_text(broken)
        assert len(read_yahoo("AAPL", **RANGE, folder=folder).prices) == MONTHS


def test_a_reply_that_is_not_yahoos_ends_in_our_error(server, folder):
    for document in ({}, {"chart": None}, {"chart": {"result": [{}], "error": None}}, [1], UNKNOWN):
        server.replies["AAPL"] = (200, document)
        with pytest.raises(DownloadFailed):
            read_yahoo("AAPL", **RANGE, folder=folder, retries=0)


def test_a_month_that_has_not_ended_has_no_price(server, folder):
    history = read_yahoo("AAPL", start="2018-01-01", end="2020-06-15", folder=folder)
    assert history.prices.index[-1] == pd.Timestamp("2020-05-31")


def test_offline_without_a_cache_says_what_can_be_done(folder):
    with pytest.raises(DownloadFailed) as caught:
        read_yahoo(["AAPL", "MSFT"], **RANGE, folder=folder, offline=True)
    assert str(caught.value) == (
        "No prices came from Yahoo for AAPL, MSFT (it is not in the cache). None of them is in the "
        "cache; try again with a network, read a file, or use the bundled set us20."
    )


def test_no_network_at_all_is_one_sentence(monkeypatch, folder):
    # A name that no resolver knows: the failure is curl's own, whatever the machine's network.
    monkeypatch.setattr("yfinance.base._BASE_URL_", "http://yahoo.invalid")
    monkeypatch.setattr("yfinance.scrapers.history._BASE_URL_", "http://yahoo.invalid")
    from yfinance.data import YfData

    monkeypatch.setattr(YfData, "_get_cookie_and_crumb", lambda *_a, **_k: (None, "basic"))
    with pytest.raises(DownloadFailed) as caught:
        read_yahoo("AAPL", **RANGE, folder=folder, retries=0, deadline=DEADLINE)
    assert str(caught.value) == (
        "No prices came from Yahoo for AAPL (Yahoo's server cannot be found; there is no network). "
        "None of them is in the cache; try again with a network, read a file, or use the bundled "
        "set us20."
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([],), "No ticker is given; name at least one, for example AAPL."),
        ((["A B"],), "'A B' is no ticker; write it as Yahoo does, for example BRK-B."),
        ((["../x"],), "'../X' is no ticker; write it as Yahoo does, for example BRK-B."),
        (("AAPL", "soon"), "start is 'soon'; write a date as 2020-01-31."),
        (
            ("AAPL", "2020-02-01", "2020-01-01"),
            "The range from 2020-02-01 to 2020-01-01 is empty; start before it ends.",
        ),
        (
            ("AAPL", "2020-01-01", None, "hourly"),
            "frequency is 'hourly'; choose daily, weekly or monthly.",
        ),
    ],
)
def test_wrong_questions_are_refused_before_anybody_is_asked(arguments, sentence):
    with pytest.raises(InvalidInput) as caught:
        read_yahoo(*arguments)
    assert str(caught.value) == sentence
    assert isinstance(caught.value, ImopError)


def test_the_cache_folder_can_be_moved(monkeypatch, tmp_path):
    monkeypatch.setenv("IMOP_CACHE", str(tmp_path))
    assert yahoo_cache.cache_folder() == tmp_path / "yahoo"
    monkeypatch.delenv("IMOP_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr("sys.platform", "linux")
    assert yahoo_cache.cache_folder() == tmp_path / "xdg" / "imop" / "yahoo"


def test_a_cache_that_cannot_be_written_does_not_end_the_study(server, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert len(read_yahoo("AAPL", **RANGE, folder=blocked).prices) == MONTHS
