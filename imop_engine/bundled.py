"""The data sets that come with the package, so that everything can be tried at once.

Where each comes from, under which licence and with which checksum is in data/SOURCES.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from imop_engine.errors import InvalidInput

FloatArray = NDArray[np.float64]

MONTHS_PER_YEAR: Final = 12


@dataclass(frozen=True, eq=False)
class Market:
    """A set of assets: yearly expected returns and covariance, and the history behind them.

    `history` holds one row of returns per period, `periods_per_year` periods to the year. Where
    the moments were published without a history it is None, and `periods_per_year` is 1.
    """

    name: str
    names: tuple[str, ...]
    expected_returns: FloatArray
    covariance: FloatArray
    history: pd.DataFrame | None
    periods_per_year: int
    description: str


def market_names() -> tuple[str, ...]:
    """Return the names that `market` knows.

    >>> market_names()
    ('paper8', 'us20')
    """
    return tuple(_MARKETS)


def market(name: str) -> Market:
    """Return a bundled market.

    "paper8" is the eight securities of the paper's appendix, with the moments printed there.
    "us20" is 20 large US stocks; its expected returns are the arithmetic means of the monthly
    returns times 12, its covariance their sample covariance times 12.

    >>> paper = market("paper8")
    >>> paper.names[0], float(paper.expected_returns[0])
    ('Security 1', 0.1791)
    """
    if name not in _MARKETS:
        raise InvalidInput(
            f"There is no bundled market {name!r}; choose one of {', '.join(market_names())}."
        )
    return _MARKETS[name]()


def sample_portfolios(form: str = "wide") -> pd.DataFrame:
    """Return the portfolios of 1,000 simulated investors on the paper's eight securities.

    "wide" has one row per investor and one column per asset; "long" has one row per holding
    (investor, date, asset, weight) and leaves out what is not held.

    >>> sample_portfolios().shape
    (1000, 9)
    """
    if form == "wide":
        return _read("sample_portfolios_wide.csv")
    if form == "long":
        return _read("sample_portfolios_long.csv", parse_dates=["date"])
    raise InvalidInput(f"There is no form {form!r} of the sample portfolios; choose wide or long.")


def _read(
    file_name: str, index: str | None = None, parse_dates: list[str] | bool = False
) -> pd.DataFrame:
    with as_file(files("imop_data") / file_name) as path:
        return pd.read_csv(path, index_col=index, parse_dates=parse_dates)


def _paper8() -> Market:
    returns = _read("paper8_returns.csv", index="asset")["expected_return"]
    covariance = _read("paper8_covariance.csv", index="asset")
    return Market(
        name="paper8",
        names=tuple(returns.index),
        expected_returns=_frozen(returns),
        covariance=_frozen(covariance),
        history=None,
        periods_per_year=1,
        description="The eight securities of the paper, with the moments of its appendix",
    )


def _us20() -> Market:
    history = _read("us20_monthly_returns.csv", index="date", parse_dates=True)
    return Market(
        name="us20",
        names=tuple(history.columns),
        expected_returns=_frozen(history.mean() * MONTHS_PER_YEAR),
        covariance=_frozen(history.cov() * MONTHS_PER_YEAR),
        history=history,
        periods_per_year=MONTHS_PER_YEAR,
        description="20 large US stocks, monthly total returns from February 1990 to December 2022",
    )


def _frozen(values: pd.Series | pd.DataFrame) -> FloatArray:
    array = values.to_numpy(dtype=np.float64, copy=True)
    array.setflags(write=False)
    return array


_MARKETS: Final[dict[str, Callable[[], Market]]] = {"paper8": _paper8, "us20": _us20}
