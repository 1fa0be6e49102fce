"""The words by which people name their columns, and how a name is compared with another."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

DATE: Final = frozenset(
    [
        "date",
        "dates",
        "day",
        "datum",
        "fecha",
        "month",
        "quarter",
        "year",
        "time",
        "timestamp",
        "datetime",
        "period",
        "asof",
        "snapshot",
        "stichtag",
        "monat",
        "jahr",
    ]
)
ASSET: Final = frozenset(
    [
        "asset",
        "assets",
        "ticker",
        "tickers",
        "symbol",
        "security",
        "securities",
        "isin",
        "cusip",
        "sedol",
        "instrument",
        "fund",
        "stock",
        "wertpapier",
        "holding",
        "position",
        "name",
        "ric",
        "product",
    ]
)
INVESTOR: Final = frozenset(
    [
        "investor",
        "client",
        "customer",
        "account",
        "person",
        "household",
        "kunde",
        "depot",
        "portfolio",
        "holder",
        "member",
        "user",
        "owner",
        "id",
    ]
)
PRICE: Final = frozenset(
    ["price", "prices", "close", "px", "nav", "kurs", "last", "quote", "index", "level", "preis"]
)
RETURN: Final = frozenset(["return", "returns", "ret", "rets", "rendite", "performance", "perf"])
WEIGHT: Final = frozenset(
    [
        "weight",
        "weights",
        "share",
        "allocation",
        "pct",
        "percent",
        "percentage",
        "fraction",
        "proportion",
        "gewicht",
        "anteil",
        "w",
    ]
)
AMOUNT: Final = frozenset(
    [
        "amount",
        "amounts",
        "value",
        "balance",
        "exposure",
        "notional",
        "mv",
        "worth",
        "betrag",
        "wert",
        "marketvalue",
        "invested",
    ]
)
SHARES: Final = frozenset(
    [
        "shares",
        "units",
        "quantity",
        "qty",
        "number",
        "count",
        "pieces",
        "stück",
        "stueck",
        "nominal",
    ]
)
TOTAL: Final = frozenset(["total", "sum", "totals", "gesamt", "summe", "subtotal"])
FOOTER: Final = TOTAL | frozenset(["average", "mean", "median", "grand", "avg"])
CASH: Final = frozenset(["cash", "liquidity", "liquid", "money"])
PERCENT: Final = frozenset(["pct", "percent", "percentage"])
# One stock's daily quotes: what each column is, best price first.
QUOTES: Final = ("adj close", "adjusted close", "adjclose", "close", "last", "price", "nav")
QUOTE_COLUMNS: Final = frozenset(
    ["open", "high", "low", "volume", "close", "dividends", "stock", "splits", "adj"]
)

# Numbers about a person that are no holdings.
PERSONAL: Final = frozenset(
    [
        "age",
        "income",
        "salary",
        "score",
        "tenure",
        "phone",
        "zip",
        "postcode",
        "postal",
        "children",
        "horizon",
        "rating",
        "grade",
        "birth",
        "aum",
        "wealth",
        "networth",
        "risk",
        "profile",
        "level",
        "class",
    ]
)

# What may stand beside "total" in the name of a total.
TOTAL_COMPANY: Final = frozenset(["all", "assets", "holdings", "market", "of", "portfolio", "row"])

_WORD = re.compile(r"[^\W\d_]+")
_CAMEL = re.compile(r"(?<=[a-zäöü])(?=[A-ZÄÖÜ])")


def words_of(name: str) -> frozenset[str]:
    """Split a column's name into lower-case words.

    >>> sorted(words_of("AsOf_Date (UTC)"))
    ['as', 'date', 'of', 'utc']
    """
    spaced = _CAMEL.sub(" ", name)
    return frozenset(word.casefold() for word in _WORD.findall(spaced.replace("_", " ")))


def says(name: str, words: Iterable[str]) -> bool:
    """Whether a column's name has one of these words in it.

    >>> says("Ticker symbol", ASSET), says("Region", ASSET)
    (True, False)
    """
    return bool(words_of(name) & frozenset(words))


def key(name: str) -> str:
    """Return what two spellings of the same name share: letters and digits, case aside.

    >>> key(" Brk.B ") == key("BRK-B")
    True
    """
    return "".join(character for character in name.casefold() if character.isalnum())


def is_total(name: str) -> bool:
    """Whether a name says "total" and nothing else that could be an asset's or a person's.

    >>> is_total("Total weight"), is_total("Grand total"), is_total("TotalEnergies")
    (True, True, False)
    """
    found = words_of(name)
    return bool(found & FOOTER) and found <= FOOTER | WEIGHT | AMOUNT | TOTAL_COMPANY


def common_hint(names: Sequence[str], *others: str) -> str:
    """Join the words that at least half of the names share, and all words of the others.

    One asset called "3% bond" does not make a table of percentages.

    >>> common_hint(["AAPL ret %", "MSFT ret %", "3% bond"], "monthly")
    '% ret monthly'
    """
    counts = Counter(word for name in names for word in words_of(name))
    counts["%"] = sum("%" in name for name in names)
    shared = sorted(word for word, count in counts.items() if 2 * count >= len(names) and count)
    return " ".join([*shared, *others])
