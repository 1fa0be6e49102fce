"""What investors leave on the table: one by one, in groups, and who leaves far more."""

import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
from imop_engine.bundled import market
from imop_engine.errors import InvalidInput
from imop_engine.inference.gaps import OUTLIER_FLOOR
from imop_engine.population import simulate_population

EIGHT = market("paper8")
PROBLEM = imop.portfolio_problem(EIGHT.covariance, names=EIGHT.names)
TRUTH = EIGHT.expected_returns
FRONTIER = imop.efficient_frontier(PROBLEM, TRUTH)


def people(noise: float, count: int = 400, seed: int = 11) -> pd.DataFrame:
    drawn = simulate_population(
        PROBLEM, TRUTH, count, noise="gaussian", noise_level=noise, rng=np.random.default_rng(seed)
    )
    return pd.DataFrame(drawn.portfolios, index=list(drawn.ids), columns=list(EIGHT.names))


def test_gaps_are_the_height_of_the_frontier_above_each_portfolio():
    held = people(0.005, 40)
    found = imop.measure_gaps(FRONTIER, held)
    assert list(found.investors.index) == list(held.index)
    np.testing.assert_array_equal(
        found.investors["gap"], imop.efficiency(PROBLEM, TRUTH, held).gaps
    )
    earned = (found.twins - held.to_numpy()) @ TRUTH
    np.testing.assert_allclose(found.investors["gap"], np.maximum(earned, 0.0), atol=1e-12)
    assert found.total == pytest.approx(40 * found.mean)
    assert found.median == pytest.approx(float(np.median(found.investors["gap"])))


@pytest.mark.parametrize("noise", [0.0003, 0.001, 0.005, 0.02])
def test_clean_investors_are_hardly_ever_outliers(noise):
    found = imop.measure_gaps(FRONTIER, people(noise, 1000))
    assert found.outliers <= 0.01 * 1000


@pytest.mark.parametrize("noise", [0.001, 0.005])
def test_who_holds_what_no_efficient_portfolio_holds_is_an_outlier(noise):
    held = people(noise)
    held.iloc[7] = 1 / 8
    held.iloc[200] = 0.0
    held.iloc[200, int(np.argmin(TRUTH))] = 1.0
    found = imop.measure_gaps(FRONTIER, held)
    assert found.investors["gap_outlier"].iloc[[7, 200]].all()
    assert found.outliers <= 6


def test_nobody_is_an_outlier_for_rounding():
    exact = FRONTIER.at(np.linspace(0.1, 0.9, 50))
    found = imop.measure_gaps(FRONTIER, exact)
    assert found.outliers == 0
    assert found.mean < 1e-9
    offered = np.ptp(FRONTIER.portfolios @ TRUTH)
    assert found.threshold == pytest.approx(OUTLIER_FLOOR * offered)


def test_a_sentence_has_per_cent_and_basis_points():
    held = people(0.005)
    held.iloc[7] = 1 / 8
    found = imop.measure_gaps(FRONTIER, held)
    said = found.sentence()
    assert f"({1e4 * found.mean:.1f} basis points) a year more on average" in said
    assert "leave" in said


def test_segments_add_up_to_all():
    held = people(0.005)
    groups = np.where(np.arange(400) % 3 == 0, "young", "old")
    found = imop.measure_gaps(FRONTIER, held)
    table = imop.gap_segments(found, groups).set_index("segment")
    assert table["investors"].sum() == 400
    assert table["total_gap"].sum() == pytest.approx(found.total)
    assert table["share_of_gap"].sum() == pytest.approx(1.0)
    gaps = found.investors["gap"].to_numpy()
    assert table.loc["young", "mean_gap"] == pytest.approx(gaps[groups == "young"].mean())
    assert table.loc["old", "median_gap"] == pytest.approx(np.median(gaps[groups == "old"]))


def test_segments_of_gaps_and_of_weights_are_the_same_groups():
    held = people(0.005)
    ages = np.random.default_rng(3).integers(20, 90, 400)
    gaps = imop.gap_segments(imop.measure_gaps(FRONTIER, held), ages)
    weights = imop.preference_segments(imop.investor_preferences(FRONTIER, held), ages)
    assert list(gaps["segment"]) == list(weights["segment"])
    assert list(gaps["investors"]) == list(weights["investors"])


def test_an_attribute_that_does_not_match_is_refused():
    found = imop.measure_gaps(FRONTIER, people(0.005, 40))
    with pytest.raises(InvalidInput, match="does not match the 40 investors"):
        imop.gap_segments(found, ["a"] * 39)


def test_nothing_is_left_where_all_returns_are_alike():
    found = imop.measure_gaps(imop.efficient_frontier(PROBLEM, np.full(8, 0.05)), people(0.01, 30))
    assert found.total == pytest.approx(0.0, abs=1e-12)
    assert found.outliers == 0
    table = imop.gap_segments(found, ["a"] * 30)
    assert np.isfinite(table["share_of_gap"]).all()
