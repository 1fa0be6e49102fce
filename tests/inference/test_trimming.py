"""Who takes part: nobody is set aside without reason, strangers are, and never everyone."""

import numpy as np
import pytest

import imop_engine as imop
import reference
from imop_engine.inference.trimming import cut_loss, far_limit, stray_limit, trim

Q, R = reference.SECURITIES_COVARIANCE, reference.SECURITIES_RETURN
PROBLEM = imop.portfolio_problem(Q)
COUNT = 150


def clean(seed, noise=0.002):
    """Efficient portfolios of the paper's securities with small errors in what is held."""
    rng = np.random.default_rng(seed)
    exact = imop.efficient_frontier(PROBLEM, R).at(rng.uniform(0.05, 0.95, COUNT))
    held = np.maximum(exact + np.where(exact > 0, rng.normal(0.0, noise, exact.shape), 0.0), 0.0)
    return held / held.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("seed", range(4))
def test_nobody_is_set_aside_on_clean_portfolios(seed):
    found = trim(PROBLEM, clean(seed), 0.0, 5)
    assert found.kept.all()
    assert found.distances.max() <= found.limit < np.inf


@pytest.mark.parametrize("seed", range(2))
def test_three_in_ten_that_hold_the_same_of_everything_are_all_found(seed):
    held = clean(seed)
    strange = np.random.default_rng(seed).permutation(COUNT) < 0.3 * COUNT
    held[strange] = 1 / 8
    found = trim(PROBLEM, held, 0.0, 5)
    np.testing.assert_array_equal(found.kept, ~strange)
    assert imop.aligned_error(found.theta, R) < 0.01


def test_where_there_is_no_core_everyone_counts():
    held = np.random.default_rng(0).dirichlet(np.full(8, 0.3), COUNT)
    found = trim(PROBLEM, held, 0.0, 5)
    assert found.kept.all()
    assert found.limit == np.inf


def test_strays_are_measured_where_nobody_wants_the_asset():
    assert stray_limit(PROBLEM, clean(0), 5) == 0.0
    rng = np.random.default_rng(1)
    exact = imop.efficient_frontier(PROBLEM, R).at(rng.uniform(0.05, 0.95, COUNT))
    held = np.maximum(exact + rng.normal(0.0, 0.003, exact.shape), 0.0)
    held /= held.sum(axis=1, keepdims=True)
    assert 0.004 < stray_limit(PROBLEM, held, 5) < 0.02


def test_the_limit_is_three_times_where_the_core_ends():
    distances = np.linspace(0.0, 0.1, 101)
    assert far_limit(distances) == pytest.approx(0.18)
    assert cut_loss(np.array([0.1, 0.5]), 0.2) == pytest.approx(0.01 + 0.04)
