"""Make the sample portfolios in data/: 1,000 simulated investors on the paper's eight securities.

Each investor's weight on return is drawn from N(0.5, 0.15) cut to [0, 1]; her
portfolio is the exact one on the true frontier, reported in steps of 0.001 that
still sum to one (rounded down, the steps left over to the largest remainders).
The wide file has one row per investor; the long file has the same portfolios
with one row per holding, five investors to a business day.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from imop_engine import portfolio_problem
from imop_engine.bundled import market
from imop_engine.simulate import simulate_investors

TARGET = Path(__file__).resolve().parents[1] / "data"
SEED = 2023
COUNT = 1000
STEP = 0.001
FIRST_DAY = "2023-01-02"
INVESTORS_PER_DAY = 5


def wide_form() -> pd.DataFrame:
    """Return one row per investor, one column per asset."""
    paper = market("paper8")
    problem = portfolio_problem(paper.covariance, names=paper.names)
    investors = simulate_investors(
        problem,
        paper.expected_returns,
        COUNT,
        weights="normal",
        mean=0.5,
        sd=0.15,
        noise="round",
        noise_level=STEP,
        rng=np.random.default_rng(SEED),
    )
    wide = pd.DataFrame(investors.portfolios, columns=list(paper.names))
    wide.insert(0, "investor", [f"I{number:04d}" for number in range(1, COUNT + 1)])
    return wide


def long_form(wide: pd.DataFrame) -> pd.DataFrame:
    """Return one row per holding, in the order in which the investors were seen."""
    days = pd.bdate_range(FIRST_DAY, periods=-(-len(wide) // INVESTORS_PER_DAY))
    dated = wide.assign(date=days.repeat(INVESTORS_PER_DAY)[: len(wide)].strftime("%Y-%m-%d"))
    held = (
        dated.set_index(["investor", "date"])
        .rename_axis(columns="asset")
        .stack()
        .rename("weight")
        .reset_index()
    )
    return held[held["weight"] > 0]


def main(target: Path = TARGET) -> None:
    """Write both files."""
    wide = wide_form()
    for name, table in (("wide", wide), ("long", long_form(wide))):
        path = target / f"sample_portfolios_{name}.csv"
        table.to_csv(path, index=False, float_format="%.3f", lineterminator="\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
