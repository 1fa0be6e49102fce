"""The data sets that come with the package, so that everything can be tried at once.

Where each comes from, under which licence and with which checksum is in data/SOURCES.md.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import as_file, files
from typing import Final

import pandas as pd

from imop_engine import gate
from imop_engine.asset_groups import AssetGroups
from imop_engine.errors import InvalidInput
from imop_engine.market import Market

MONTHS_PER_YEAR: Final = 12


def market_names() -> tuple[str, ...]:
    """Return the names that `market` knows.

    >>> market_names()
    ('paper8', 'us20')
    """
    return tuple(_MARKETS)


@gate.public("imop_engine.bundled")
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


@gate.public("imop_engine.bundled")
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


def us20_groups() -> pd.DataFrame:
    """Return what each of the 20 US stocks is: asset, company, sector, cycle.

    >>> us20_groups().query("asset == 'KO'")["sector"].item()
    'Consumer Staples'
    """
    return _read("us20_groups.csv")


def _read(
    file_name: str, index: str | None = None, parse_dates: list[str] | bool = False
) -> pd.DataFrame:
    with as_file(files("imop_data") / file_name) as path:
        return pd.read_csv(path, index_col=index, parse_dates=parse_dates)


def _paper8() -> Market:
    return Market.of(
        _read("paper8_returns.csv", index="asset")["expected_return"],
        _read("paper8_covariance.csv", index="asset"),
        name="paper8",
        title="Eight securities (paper)",
        description="The eight securities of the paper, with the moments of its appendix.",
    )


def _us20() -> Market:
    history = _read("us20_monthly_returns.csv", index="date", parse_dates=True)
    return Market.of(
        history.mean() * MONTHS_PER_YEAR,
        history.cov() * MONTHS_PER_YEAR,
        history=history,
        periods_per_year=MONTHS_PER_YEAR,
        name="us20",
        title="20 large US stocks",
        description="20 large US stocks, monthly total returns from February 1990 to December "
        "2022.",
        groups=_us20_sectors(),
    )


def _us20_sectors() -> AssetGroups:
    table = us20_groups().set_index("asset")
    return AssetGroups.of({column: dict(table[column]) for column in ("sector", "cycle")})


_MARKETS: Final[dict[str, Callable[[], Market]]] = {"paper8": _paper8, "us20": _us20}
