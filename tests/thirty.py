"""Thirty stocks with gaps, made here: monthly returns, two of them listed later than the others."""

import numpy as np
import pandas as pd

NAMES = [
    *("AXP", "BA", "CAT", "CSCO", "CVX", "DD", "DIS", "GE", "GS", "HD"),
    *("IBM", "INTC", "JNJ", "JPM", "KO", "MCD", "MMM", "MRK", "MSFT", "NKE"),
    *("PFE", "PG", "T", "TRV", "UNH", "UTX", "V", "VZ", "WMT", "XOM"),
]
MONTHS = 180
LISTED_LATER = {"GS": 5, "V": 111}  # months without a return at the beginning


def thirty_stocks() -> pd.DataFrame:
    """One factor moves them all, as a market does; the rest is each stock's own."""
    rng = np.random.default_rng(30)
    market = rng.normal(0.006, 0.045, MONTHS)
    sensitivity, own = rng.uniform(0.5, 1.5, 30), rng.uniform(0.04, 0.09, 30)
    returns = np.outer(market, sensitivity) + rng.normal(0.002, own, (MONTHS, 30))
    dates = pd.date_range("1999-01-29", periods=MONTHS, freq="BME", name="date")
    table = pd.DataFrame(returns.round(8), index=dates, columns=NAMES)
    for name, months in LISTED_LATER.items():
        table.iloc[:months, NAMES.index(name)] = np.nan
    return table
