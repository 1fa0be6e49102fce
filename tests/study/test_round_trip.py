"""Simulate, write, read, learn: the same estimate to the last digit, whatever the format."""

import json

import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
from imop_engine.bundled import market
from imop_engine.cli import main
from imop_engine.loading import MarketSource, TableFile, load_investors, load_market
from imop_engine.moments import estimate_moments
from imop_engine.population import WeightLaw, simulate_population
from imop_engine.tables.export import FORMATS, write_table

COUNT = 120


@pytest.fixture(scope="module")
def clientele():
    us20 = market("us20")
    problem = imop.portfolio_problem(us20.covariance, names=us20.names)
    return simulate_population(
        problem, us20.expected_returns, COUNT, segments=WeightLaw("beta", 0.5, 0.2),
        noise="gaussian", noise_level=0.002, dates=("2021-01-01", "2022-12-31"),
        rng=np.random.default_rng(11),
    )  # fmt: skip


@pytest.fixture(scope="module")
def in_memory(clientele):
    """Learned without any file in between."""
    history = market("us20").history
    moments = estimate_moments(history, periods_per_year=12)
    table = pd.DataFrame(clientele.portfolios, columns=list(clientele.names))
    return imop.run_study(moments.expected_returns, moments.covariance, table)


@pytest.mark.parametrize("layout", ["wide", "long"])
@pytest.mark.parametrize("ending", FORMATS)
def test_files_keep_every_digit(ending, layout, clientele, in_memory, tmp_path):
    history = market("us20").history.rename_axis("date").reset_index()
    returns = write_table(history, tmp_path / f"returns{ending}")
    people = clientele.wide() if layout == "wide" else clientele.long()
    portfolios = write_table(people, tmp_path / f"portfolios{ending}")

    read = load_market(MarketSource(history=TableFile.at(returns)))
    held = load_investors(TableFile.at(portfolios), read.names)
    study = imop.run_study(
        read.returns_by_asset, read.covariance_by_asset, held.holdings, attributes=held.attributes,
        dates=held.dates,
    )  # fmt: skip
    np.testing.assert_array_equal(held.portfolios, clientele.portfolios)
    np.testing.assert_array_equal(study.theta, in_memory.theta)
    assert list(study.data.portfolios.index) == list(clientele.ids)
    dates = pd.to_datetime(study.frame_investors["date"])
    np.testing.assert_array_equal(dates.to_numpy(), clientele.dates.to_numpy())


@pytest.mark.slow
def test_the_two_commands_give_the_same_digits_in_every_format(tmp_path, capsys):
    def run(*arguments: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        out, err = capsys.readouterr()
        assert not ended.value.code, err
        return out

    estimates = {}
    for ending in FORMATS:
        folder = tmp_path / ending[1:]
        run(
            "simulate", "--market", "paper8", "--investors", "60", "--noise", "gaussian",
            "--noise-level", "0.004", "--format", ending[1:], "--out", str(folder),
        )  # fmt: skip
        done = run(
            "learn", "--returns", str(folder / f"returns{ending}"),
            "--portfolios", str(folder / f"portfolios{ending}"), "--json",
        )  # fmt: skip
        estimates[ending] = json.loads(done)["estimate"]
    assert len(estimates) == 4
    first = estimates[".csv"]
    assert all(one == first for one in estimates.values())
