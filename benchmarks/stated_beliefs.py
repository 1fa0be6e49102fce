"""Claim: what is inferred from holdings agrees with what investors say they expect, or it does not.

`python -m imop_benchmarks.stated_beliefs RETURNS PORTFOLIOS --stated COLUMN` runs a study with
default settings, takes each portfolio's expected return under the estimate and under the historical
means, and correlates either with the investors' own statement by ranks, within each date, so that
times of high and low expectations do not count. The files are the analyst's; none come with it.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from imop_engine.arguments import Vector
from imop_engine.loading import (
    MarketSource,
    PortfolioOptions,
    TableFile,
    load_investors,
    load_market,
)
from imop_engine.market import Market
from imop_engine.study import StudySettings
from imop_engine.study.data import StudyData
from imop_engine.study.steps import steps_of

DRAWS: Final = 500
FEWEST: Final = 5  # investors at a date
LEVEL: Final = (2.5, 97.5)


def rank_correlation(inferred: Vector, stated: Vector, dates: pd.Series) -> float:
    """Spearman's, within dates, pooled: ranks less the mean of their date.

    Args:
        inferred: A number for each portfolio.
        stated: The same by the investor's own word.
        dates: When.

    >>> days = pd.Series([1] * 5 + [2] * 5)
    >>> round(rank_correlation(np.arange(10.0), np.tile(np.arange(5.0), 2), days), 6)
    1.0
    """
    first: list[Vector] = []
    second: list[Vector] = []
    for rows in dates.groupby(dates.to_numpy()).indices.values():
        if len(rows) < FEWEST:
            continue
        for values, ranks in ((inferred, first), (stated, second)):
            own = rankdata(values[rows])
            ranks.append((own - own.mean()) / len(rows))
    if not first:
        return float("nan")
    a, b = np.concatenate(first), np.concatenate(second)
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size > 0 else float("nan")


def intervals(
    inferred: dict[str, Vector], stated: Vector, dates: pd.Series, who: pd.Series, seed: int = 0
) -> pd.DataFrame:
    """Each correlation with a 95 % interval from whole investors drawn again, and the difference
    of the first two.

    Args:
        inferred: By name, a number for each portfolio.
        stated: The investor's own word.
        dates: When.
        who: Whose it is.
        seed: Of the draws.
    """
    rng = np.random.default_rng(seed)
    rows_of = list(who.groupby(who.to_numpy()).indices.values())
    drawn = []
    for _ in range(DRAWS):
        picks = rng.integers(len(rows_of), size=len(rows_of))
        rows = np.concatenate([rows_of[i] for i in picks])
        days = dates.iloc[rows].reset_index(drop=True)
        drawn.append([rank_correlation(v[rows], stated[rows], days) for v in inferred.values()])
    table = np.array(drawn)
    found = [rank_correlation(v, stated, dates) for v in inferred.values()]
    names = list(inferred)
    low, high = np.nanpercentile(table, LEVEL, axis=0)
    apart = table[:, 0] - table[:, 1]
    names.append(f"{names[0]} less {names[1]}")
    return pd.DataFrame(
        {
            "beliefs": names,
            "correlation": [*found, found[0] - found[1]],
            "low": [*low, np.nanpercentile(apart, LEVEL[0])],
            "high": [*high, np.nanpercentile(apart, LEVEL[1])],
        }
    )


def default_estimate(market: Market, portfolios: Path) -> Vector:
    """The returns of a study with default settings.

    Args:
        market: Of the history.
        portfolios: The file.
    """
    people = load_investors(
        TableFile.at(portfolios), market.names, PortfolioOptions(), history=market.history
    )
    *_, last = steps_of(StudyData.on(market, people), StudySettings())
    assert last.study is not None  # the last step carries it
    return last.study.theta


def main(arguments: list[str] | None = None) -> None:
    """Run the study and print the table."""
    parser = argparse.ArgumentParser(prog="python -m imop_benchmarks.stated_beliefs")
    parser.add_argument("returns", type=Path)
    parser.add_argument("portfolios", type=Path)
    parser.add_argument("--stated", required=True, help="the column with investors' own word")
    chosen = parser.parse_args(arguments)
    market = load_market(MarketSource(history=TableFile.at(chosen.returns)))
    people = load_investors(
        TableFile.at(chosen.portfolios), market.names, PortfolioOptions(snapshots="panel"),
        history=market.history,
    )  # fmt: skip
    if chosen.stated not in people.attributes:
        parser.error(f"there is no column {chosen.stated!r} beside the holdings.")
    stated = pd.to_numeric(people.attributes[chosen.stated], errors="coerce").to_numpy(float)
    known = np.isfinite(stated) & people.good
    Y = people.portfolios[known]
    dates = pd.Series(np.asarray(people.dates))[known].reset_index(drop=True)
    who = pd.Series(np.asarray(people.ids, dtype=object))[known].reset_index(drop=True)
    beliefs = {
        "inferred": default_estimate(market, chosen.portfolios),
        "historical means": np.asarray(market.expected_returns, dtype=float),
    }
    table = intervals({n: Y @ r for n, r in beliefs.items()}, stated[known], dates, who)
    print(f"{known.sum():,} portfolios of {who.nunique():,} investors at {dates.nunique()} dates")
    print(table.round(3).to_string(index=False))


if __name__ == "__main__":
    main()
