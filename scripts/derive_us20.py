"""Derive data/us20_monthly_returns.csv from the daily prices in the skfolio wheel.

The prices are closes adjusted for splits and dividends, so their ratios are
total returns. A month's return is the last close of the month over the last
close of the month before; the first month (January 1990) has no month before
it and is left out. Each row carries the date of its last close.
"""

import sys
from pathlib import Path

import pandas as pd
from skfolio.datasets import load_sp500_dataset

TARGET = Path(__file__).resolve().parents[1] / "data"


def monthly_returns(prices: pd.DataFrame) -> pd.DataFrame:
    """Return one row of total returns a month, dated by the month's last close."""
    closes = prices.groupby(prices.index.to_period("M")).tail(1)
    return closes.pct_change().iloc[1:].rename_axis(index="date", columns=None)


def main(target: Path = TARGET) -> None:
    """Write the file."""
    returns = monthly_returns(load_sp500_dataset())
    path = target / "us20_monthly_returns.csv"
    returns.to_csv(path, float_format="%.6f", lineterminator="\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
