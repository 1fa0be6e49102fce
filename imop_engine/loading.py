"""From what an analyst has to what the engine works on: one loader for the shell and the app.

A market comes from a history, from two tables of moments, from Yahoo or from a bundled set;
investors come from a file of portfolios. The two places differ in where the bytes lie and in what
their errors call things, and in nothing else.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from imop_engine.arguments import NOT_PSD
from imop_engine.asset_groups import AssetGroups
from imop_engine.bundled import market as bundled_market
from imop_engine.errors import InvalidInput, UnreadableFile
from imop_engine.investors import Investors
from imop_engine.market import Market
from imop_engine.moments import Moments, estimate_moments
from imop_engine.sentences.market import PYTHON, HistoryWords
from imop_engine.tables import AssetMap, Cure, ReturnHistory, read_yahoo
from imop_engine.tables.coverage import EXAMPLE_RATE
from imop_engine.tables.export import read_json_table
from imop_engine.tables.open_table import Source
from imop_engine.tables.readers import Reading, read_here


@dataclass(frozen=True, eq=False)
class TableFile:
    """A table to read: its content as a reader takes it, and its name for people."""

    name: str
    content: Source

    @classmethod
    def at(cls, path: Path) -> TableFile:
        """The table at a path."""
        return cls(path.name, path)

    @property
    def source(self) -> Source:
        """What a reader takes: the content, or for JSON (a list of rows) the table itself."""
        path = self.content
        is_json = isinstance(path, Path) and path.suffix.lower() == ".json"
        return read_json_table(Path(str(path))) if is_json else path


@dataclass(frozen=True)
class YahooPrices:
    """Which prices to fetch, and how long to wait for them."""

    tickers: str | Sequence[str]
    start: str | dt.date = "2000-01-01"
    end: str | dt.date | None = None
    frequency: str = "monthly"
    offline: bool = False
    deadline: float = 60.0  # seconds


@dataclass(frozen=True)
class HistoryOptions:
    """How a history is read and what is estimated from it; see `read_returns` and `moments`."""

    kind: str = "auto"
    units: str = "auto"
    layout: str = "auto"
    sheet: str | None = None
    periods_per_year: int | None = None
    mean: str = "arithmetic"
    covariance: str = "sample"
    gaps: str = "likelihood"
    repair: bool = False
    strict: bool = False


@dataclass(frozen=True)
class PortfolioOptions:
    """How portfolios are read, and what happens to those that do not fit; see `read_portfolios`."""

    units: str = "auto"
    layout: str = "auto"
    sheet: str | None = None
    roles: tuple[tuple[str, str], ...] = ()  # (column, role) pairs
    sums: str = "rescale"
    unknown: str = "drop"
    coverage: float = 0.8  # the least share of a portfolio's value that needs a return history
    negative: str = "refuse"
    duplicates: str = "first"
    snapshots: str = "latest"
    drift: str = "keep"
    rates: tuple[tuple[str, float], ...] = ()  # (currency, worth of a unit) pairs
    strict: bool = False


@dataclass(frozen=True, eq=False)
class MarketSource:
    """Where a market comes from: exactly one of a history, two tables, Yahoo, or a bundled set.

    `asset_map` says what else its assets are called, `groups` which of them belong together (the
    asset map may say that, too), `cash` what assets without a history earn in a year, as (name,
    fraction) pairs; see `Market.with_cash`.
    """

    history: TableFile | None = None
    expected: TableFile | None = None
    covariance: TableFile | None = None
    yahoo: YahooPrices | None = None
    bundled: str | None = None
    asset_map: TableFile | None = None
    groups: TableFile | None = None
    cash: tuple[tuple[str, float], ...] = ()

    @property
    def nothing(self) -> bool:
        """Whether no source was named at all."""
        return not self._named()

    def _named(self) -> int:
        tables = self.expected is not None or self.covariance is not None
        named = (self.history is not None, tables, self.yahoo is not None, bool(self.bundled))
        return sum(named)


@dataclass(frozen=True)
class SourceWords:
    """What a place calls things: sentences about an incomplete source, choices about a history."""

    not_one_source: str
    table_missing: str
    history: HistoryWords = PYTHON


ARGUMENTS = SourceWords(
    "give exactly one source of a market: a history, expected returns with a covariance, Yahoo's "
    "prices or a bundled set.",
    "expected returns and covariance belong together: one is missing.",
)


def load_market(
    source: MarketSource,
    options: HistoryOptions | None = None,
    words: SourceWords = ARGUMENTS,
    read: Reading = read_here,
) -> Market:
    """Read a market.

    Args:
        source: where it comes from.
        options: how a history is read; the defaults detect what they can.
        words: what errors and notes call things in the place where they are read.
        read: how files are read: in this process, within limits, or in another process.

    Returns:
        The market, with yearly moments, its history where there is one, and what reading noticed.
    """
    if source._named() != 1:
        raise InvalidInput(words.not_one_source)
    found = _load(source, options or HistoryOptions(), words, read)
    for name, rate in source.cash:
        found = found.with_cash(name, rate)
    groups = load_groups(source, found.names, read)
    return replace(found, groups=found.groups.with_columns(groups)) if groups.columns else found


def _load(
    source: MarketSource, chosen: HistoryOptions, words: SourceWords, read: Reading
) -> Market:
    if source.history is not None:
        history = _read_history(source.history, chosen, read, words.history)
        called = _relabelled(history, load_asset_map(source, read))
        return market_of_history(called, chosen, words.history)
    if source.yahoo is not None:
        fetched = fetch_history(source.yahoo, strict=chosen.strict)
        return market_of_history(fetched, chosen, words.history)
    if source.bundled:
        return bundled_market(source.bundled)
    if source.expected is None or source.covariance is None:
        raise InvalidInput(words.table_missing)
    return _market_of_tables(source.expected, source.covariance, chosen.repair, read, words.history)


def fetch_history(prices: YahooPrices, *, strict: bool = False) -> ReturnHistory:
    """Prices from Yahoo, or from the cache where they are young enough or nobody may be asked."""
    return read_yahoo(
        prices.tickers,
        prices.start,
        prices.end,
        prices.frequency,
        offline=prices.offline,
        deadline=prices.deadline,
        strict=strict,
    )


def market_of_history(
    history: ReturnHistory, options: HistoryOptions, words: HistoryWords = PYTHON
) -> Market:
    """The market whose moments are estimated from a history.

    Args:
        history: as it was read.
        options: what is estimated from it.
        words: what the choices are called where errors and notes are read.
    """
    moments = estimate_moments(
        history.returns,
        mean=options.mean,
        covariance=options.covariance,
        periods_per_year=history.periods_per_year,
        gaps=options.gaps,
        repair=options.repair,
        words=words,
    )
    _require_usable(moments, history.name)
    dates = history.returns.index
    gaps = bool(history.returns.isna().any(axis=None))
    return Market.of(
        moments.expected_returns,
        moments.covariance,
        mean_covariance=moments.mean_covariance,
        history=history.returns,
        periods_per_year=history.periods_per_year,
        name=history.name,
        title=history.name,
        description=f"{len(history.returns):,} periods from {_day(dates[0])} to {_day(dates[-1])}, "
        f"{history.periods_per_year:g} to the year.",
        notes=tuple(map(str, moments.notes)),
        guessed=tuple((str(key), str(value)) for key, value in history.guessed.items()),
        reading=(history.report,),
        clean=not (history.report.sentences() or moments.repaired or gaps),
    )


def load_investors(
    file: TableFile,
    assets: tuple[str, ...],
    options: PortfolioOptions | None = None,
    truth: Any = None,
    read: Reading = read_here,
    history: pd.DataFrame | None = None,
    asset_map: AssetMap | None = None,
    *,
    words: HistoryWords = PYTHON,
) -> Investors:
    """Read portfolios on the assets of a market.

    Args:
        file: the table.
        assets: the market's assets, in its order.
        options: how it is read; the defaults detect what they can.
        truth: the returns that these investors believe in, by asset, where they are known.
        read: how the file is read: in this process, within limits, or in another process.
        history: returns of the assets per period, by date, to tell drift from choice.
        asset_map: what else the assets are called.
        words: what other places are called where errors are read.

    Returns:
        The investors in stream order, with the reader's report.
    """
    chosen = options or PortfolioOptions()
    named = {
        "assets": list(assets),
        "name": file.name,
        "roles": dict(chosen.roles) or None,
        "sums": chosen.sums,
        "unknown": chosen.unknown,
        "coverage": chosen.coverage,
        "negative": chosen.negative,
        "duplicates": chosen.duplicates,
        "snapshots": chosen.snapshots,
        "drift": chosen.drift,
        "returns": history,
        "rates": dict(chosen.rates) or None,
        "asset_map": asset_map,
        "units": chosen.units,
        "layout": chosen.layout,
        "sheet": chosen.sheet,
        "strict": chosen.strict,
        "words": words,
    }
    people = read("portfolios", (file.source,), named)
    strange = [name for name in people.weights if name not in assets]
    if strange:  # what was missing to one became cash, of which the market knows nothing
        raise UnreadableFile(
            f"{file.name}: what is missing to one is taken as {strange[0]}, which has no return "
            f"history; give it a rate with {words.cash}, or choose to rescale.",
            (
                Cure("cash", f"{strange[0]}={EXAMPLE_RATE}", f"Give {strange[0]} a rate"),
                Cure("sums", "rescale", "Scale to 100%"),
            ),
        )
    return Investors.of(
        people.weights,
        assets,
        attributes=people.attributes,
        dates=people.dates,
        truth=truth,
        roles=tuple((str(column), str(role)) for column, role in people.roles.items()),
        reading=(people.report,),
        origin=f"from {file.name}",
        set_aside=people.set_aside,
    )


def load_asset_map(source: MarketSource, read: Reading = read_here) -> AssetMap | None:
    """What else the assets of a market are called; None where nobody said.

    Args:
        source: where the market comes from.
        read: how files are read.
    """
    file = source.asset_map
    if file is None:
        return None
    found: AssetMap = read("asset map", (file.source,), {"name": file.name})
    return found


def load_groups(
    source: MarketSource, assets: Sequence[str], read: Reading = read_here
) -> AssetGroups:
    """Which assets of a market belong together, by the files that say so.

    Args:
        source: where the market comes from.
        assets: the market's.
        read: how files are read.
    """
    found = AssetGroups()
    for file, needed in ((source.asset_map, False), (source.groups, True)):
        if file is None:
            continue
        try:
            options = {"names": tuple(assets), "name": file.name}
            groups: AssetGroups = read("asset groups", (file.source,), options)
        except UnreadableFile:
            if needed:
                raise
        else:
            found = found.with_columns(groups)
    return found


def _relabelled(history: ReturnHistory, known: AssetMap | None) -> ReturnHistory:
    """The history with its assets called by their labels."""
    if known is None:
        return history
    labels = {name: known.label(str(name)) for name in history.returns.columns}
    if len(set(labels.values())) < len(labels):
        twice = next(one for one in labels.values() if list(labels.values()).count(one) > 1)
        raise InvalidInput(
            f"{known.file} calls two assets of {history.name} {twice}; give each a name of its own."
        )
    prices = None if history.prices is None else history.prices.rename(columns=labels)
    return replace(history, returns=history.returns.rename(columns=labels), prices=prices)


def _read_history(
    file: TableFile, options: HistoryOptions, read: Reading, words: HistoryWords
) -> ReturnHistory:
    named = {
        "name": file.name,
        "kind": options.kind,
        "units": options.units,
        "layout": options.layout,
        "sheet": options.sheet,
        "strict": options.strict,
        "periods_per_year": options.periods_per_year,
        "words": words,
    }
    history: ReturnHistory = read("returns", (file.source,), named)
    return history


def _market_of_tables(
    expected: TableFile,
    covariance: TableFile,
    repair: bool,
    read: Reading,
    words: HistoryWords,
) -> Market:
    moments: Moments = read(
        "moments",
        (expected.source, covariance.source),
        {"names": (expected.name, covariance.name), "repair": repair, "words": words},
    )
    _require_usable(moments, covariance.name)
    return Market.of(
        moments.expected_returns,
        moments.covariance,
        name=expected.name,
        title=expected.name,
        description="Expected returns and covariance as given, per year; no history behind them.",
        notes=tuple(map(str, moments.notes)),
        clean=not moments.notes,
    )


def _require_usable(moments: Moments, file: str) -> None:
    """Refuse a covariance under which a portfolio has a negative variance, with what helps."""
    values = np.linalg.eigvalsh(moments.covariance.to_numpy())
    if values[0] < -NOT_PSD * max(float(values[-1]), 0.0):
        raise InvalidInput(f"{file}: {moments.notes[-1]}")


def _day(moment: Any) -> str:
    return moment.strftime("%d %b %Y") if hasattr(moment, "strftime") else str(moment)
