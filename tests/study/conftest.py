"""One study on real returns that several tests read, run once."""

import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
from imop_engine.bundled import market
from imop_engine.population import Segment, WeightLaw, simulate_population

COUNT = 300


@pytest.fixture(scope="session")
def us20():
    return market("us20")


@pytest.fixture(scope="session")
def moments(us20):
    names = list(us20.names)
    return (
        pd.Series(us20.expected_returns, index=names),
        pd.DataFrame(us20.covariance, index=names, columns=names),
    )


@pytest.fixture(scope="session")
def truth(us20):
    return us20.expected_returns + np.random.default_rng(1).normal(0.0, 0.02, len(us20.names))


@pytest.fixture(scope="session")
def people(us20, truth):
    problem = imop.portfolio_problem(us20.covariance, names=us20.names, bounds=(-1.0, 1.0))
    groups = [
        Segment("careful", 0.5, WeightLaw("normal", 0.3, 0.1)),
        Segment("bold", 0.5, WeightLaw("normal", 0.7, 0.1)),
    ]
    return simulate_population(
        problem, truth, COUNT, segments=groups, dates=("2022-01-31", "2023-12-31"),
        rng=np.random.default_rng(2),
    )  # fmt: skip


@pytest.fixture(scope="session")
def portfolios(people, us20):
    return pd.DataFrame(people.portfolios, index=list(people.ids), columns=list(us20.names))


@pytest.fixture(scope="session")
def attributes(people, portfolios):
    return pd.DataFrame({"segment": list(people.segments)}, index=portfolios.index)


@pytest.fixture(scope="session")
def study(moments, portfolios, attributes, people, truth):
    return imop.run_study(
        *moments, portfolios, attributes=attributes, dates=people.dates, truth=truth
    )
