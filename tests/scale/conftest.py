"""One population in files and in memory, and two workers of a cluster that several tests share."""

import numpy as np
import pandas as pd
import pytest

from imop_engine.bundled import market
from imop_engine.frontier import efficient_frontier
from imop_engine.problem import portfolio_problem
from imop_engine.workers import open_workers

COUNT, FILES = 6000, 4
STRANGERS = 50  # every so many-th holds something else altogether


@pytest.fixture(scope="session")
def paper8():
    return market("paper8")


def draw(eight, count, seed=0):
    """Investors of a market, with errors, some of them strangers to it."""
    rng = np.random.default_rng(seed)
    problem = portfolio_problem(eight.covariance_by_asset, names=eight.names)
    frontier = efficient_frontier(problem, eight.expected_returns)
    held = frontier.at(np.clip(rng.normal(0.5, 0.15, count), 0.01, 0.99))
    held = np.maximum(held + rng.normal(0.0, 0.005, held.shape), 0.0)
    held[::STRANGERS] = rng.dirichlet(np.ones(8), len(held[::STRANGERS]))
    return held / held.sum(axis=1, keepdims=True)


@pytest.fixture(scope="session")
def crowd(paper8):
    return draw(paper8, COUNT)


@pytest.fixture(scope="session")
def folder(tmp_path_factory, crowd, paper8):
    """The same investors as three Parquet files of small row groups and a CSV file."""
    place = tmp_path_factory.mktemp("population")
    for number, rows in enumerate(np.array_split(np.arange(COUNT), FILES)):
        table = pd.DataFrame(crowd[rows], columns=list(paper8.names))
        table.insert(0, "client", [f"c{row}" for row in rows])
        if number == FILES - 1:
            table.to_csv(place / f"clients-{number}.csv", index=False)
        else:
            table.to_parquet(place / f"clients-{number}.parquet", row_group_size=400)
    return place


@pytest.fixture(scope="module")
def two_workers():
    """A Dask cluster of two workers in processes of their own."""
    with open_workers("local", 2, "2GB") as workers:
        yield workers
