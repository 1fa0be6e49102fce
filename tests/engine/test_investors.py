"""One noun for investors: read, simulated or given, each portfolio is checked once."""

import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
from imop_engine.bundled import market
from imop_engine.errors import InvalidInput
from imop_engine.investors import Investors, joined
from imop_engine.population import Population, Segment, simulate_population
from imop_engine.simulate import simulate_investors
from imop_engine.study import StudyData

PAPER = market("paper8")
PROBLEM = imop.portfolio_problem(PAPER.covariance, names=PAPER.names)
NAMES = ("A", "B", "C")
HELD = pd.DataFrame({"B": [0.5, 0.2], "A": [0.5, 0.8]}, index=["ann", "bob"])


def test_columns_come_to_the_order_of_the_assets_and_missing_ones_are_not_held():
    people = Investors.of(HELD, NAMES)
    assert people.names == NAMES
    assert people.ids == ("ann", "bob")
    np.testing.assert_array_equal(people.portfolios, [[0.5, 0.5, 0.0], [0.8, 0.2, 0.0]])
    assert "no column for C" in people.notes[0]
    assert people.holdings.loc["bob", "A"] == 0.8


def test_a_bad_portfolio_has_a_reason_and_takes_no_part():
    people = Investors.of([[0.5, 0.5, 0.0], [0.5, 0.2, 0.0], [np.nan, 0.5, 0.5]], NAMES)
    assert people.reasons == ("", "adds up to 0.7 instead of 1", "has no number for A")
    assert people.good.tolist() == [True, False, False]
    assert people.decisions.shape == (1, 3)
    with pytest.raises(InvalidInput, match=r"portfolio 2 \(2\) adds up to 0.7"):
        people.require_all()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"attributes": pd.DataFrame({"age": [1]})}, "attributes of 1 investors and 2 portfolios"),
        ({"truth": [0.1, 0.2]}, "the true returns have 2 numbers for 3 assets"),
    ],
)
def test_what_does_not_belong_together_is_refused(options, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        Investors.of(HELD, NAMES, **options)


def test_simulated_investors_carry_what_an_observer_does_not_see():
    drawn = simulate_investors(PROBLEM, PAPER.expected_returns, 20, rng=np.random.default_rng(1))
    assert drawn.names == PAPER.names
    assert drawn.weights.shape == (20,)
    np.testing.assert_array_equal(drawn.truth, PAPER.expected_returns)
    assert drawn.good.all()
    crowd = simulate_population(
        PROBLEM, PAPER.expected_returns, 20, segments=[Segment("all", 1.0)],
        rng=np.random.default_rng(1),
    )  # fmt: skip
    assert isinstance(crowd, Population)
    assert isinstance(crowd, Investors)
    assert crowd.attributes["segment"].tolist() == ["all"] * 20


def test_lots_join_to_one_stream_and_keep_only_what_all_have():
    one = Investors.of(HELD, NAMES, truth=[0.1, 0.2, 0.3], dates=pd.to_datetime(["2020", "2021"]))
    two = Investors.of(HELD, NAMES, truth=[0.1, 0.2, 0.3])
    both = joined((one, two), "in 2 batches")
    assert both.ids == ("ann", "bob", "ann", "bob")
    assert both.dates is None
    np.testing.assert_array_equal(both.truth, one.truth)
    assert both.notes == one.notes
    other = Investors.of(HELD, NAMES, truth=[0.1, 0.2, 0.4])
    assert joined((one, other)).truth is None


def test_study_data_is_a_market_and_investors():
    people = Investors.of(
        np.eye(8),
        PAPER.names,
        dates=pd.date_range("2020-01-01", periods=8),
        truth=PAPER.expected_returns,
    )
    data = StudyData.on(PAPER, people)
    assert data.names == PAPER.names
    assert list(data.attributes.columns) == ["date"]
    assert data.portfolios.index.name == "id"
    np.testing.assert_array_equal(data.truth, PAPER.expected_returns)
    more = data.joined(StudyData.on(PAPER, Investors.of(np.eye(8)[:2], PAPER.names)))
    assert len(more.decisions) == 10
    assert more.attributes["date"].isna().sum() == 2
