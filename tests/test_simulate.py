"""Simulated investors: portfolios that sum to one, weights as asked for, draws that repeat."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import imop_engine as imop
from imop_engine.bundled import market
from imop_engine.errors import InvalidInput
from imop_engine.simulate import NOISES, round_portfolios, simulate_investors
from imop_engine.weight_families import drawn_by_mean_and_sd

PAPER = market("paper8")
PROBLEM = imop.portfolio_problem(PAPER.covariance, names=PAPER.names)


def draw(count=200, seed=1, **options):
    rng = np.random.default_rng(seed)
    return simulate_investors(PROBLEM, PAPER.expected_returns, count, rng=rng, **options)


@pytest.mark.parametrize("weights", drawn_by_mean_and_sd())
@pytest.mark.parametrize("noise", NOISES)
def test_portfolios_are_portfolios(weights, noise):
    drawn = draw(weights=weights, noise=noise)
    assert drawn.portfolios.shape == (200, 8)
    assert len(drawn) == 200
    assert np.all(drawn.portfolios >= 0)
    np.testing.assert_allclose(drawn.portfolios.sum(axis=1), 1.0, atol=1e-12)
    assert np.all((drawn.weights >= 0) & (drawn.weights <= 1))


def test_without_noise_each_portfolio_is_the_investors_optimum():
    drawn = draw(20, noise="none")
    for weight, held in zip(drawn.weights, drawn.portfolios, strict=True):
        best = imop.solve(PROBLEM, PAPER.expected_returns, weight)
        np.testing.assert_allclose(held, best, atol=1e-10)


def test_rounding_is_to_whole_steps_and_close_by():
    exact, rounded = draw(noise="none"), draw(noise="round", noise_level=0.001)
    np.testing.assert_array_equal(exact.weights, rounded.weights)
    steps = rounded.portfolios / 0.001
    np.testing.assert_allclose(steps, np.rint(steps), atol=1e-9)
    assert np.abs(exact.portfolios - rounded.portfolios).max() < 0.001


@given(
    rows=st.lists(
        st.lists(st.floats(0, 1), min_size=4, max_size=4).filter(lambda row: sum(row) > 1e-6),
        min_size=1,
        max_size=5,
    ),
    step=st.sampled_from([1.0, 0.5, 0.1, 0.01, 0.001, 0.0001]),
)
def test_any_portfolio_rounds_to_one_within_a_step(rows, step):
    held = np.array(rows)
    held /= held.sum(axis=1, keepdims=True)
    rounded = round_portfolios(held, step)
    np.testing.assert_allclose(rounded.sum(axis=1), 1.0, atol=1e-12)
    assert np.all(rounded >= 0)
    assert np.abs(rounded - held).max() < step * (1 + 1e-9)


def test_the_same_generator_draws_the_same_investors_and_another_does_not():
    one, same, other = draw(seed=3), draw(seed=3), draw(seed=4)
    np.testing.assert_array_equal(one.portfolios, same.portfolios)
    np.testing.assert_array_equal(one.weights, same.weights)
    assert not np.array_equal(one.weights, other.weights)


def test_a_narrow_normal_has_its_mean_and_spread():
    weights = draw(20_000, mean=0.4, sd=0.05).weights
    assert weights.mean() == pytest.approx(0.4, abs=0.002)
    assert weights.std() == pytest.approx(0.05, abs=0.002)


def test_a_wide_normal_is_cut_not_piled_up_at_the_ends():
    weights = draw(5_000, mean=0.9, sd=0.5).weights
    assert weights.min() >= 0
    assert weights.max() <= 1
    # Clipping instead of cutting would put two fifths of the investors exactly on one.
    assert np.mean(weights == 1) == 0


@pytest.mark.parametrize("name", ["beta", "kumaraswamy"])
def test_a_skewed_distribution_has_its_mean_and_spread(name):
    weights = draw(20_000, weights=name, mean=0.3, sd=0.2).weights
    assert weights.mean() == pytest.approx(0.3, abs=0.01)
    assert weights.std() == pytest.approx(0.2, abs=0.01)


def test_given_weights_are_used_as_they_are():
    given_weights = np.array([0.0, 0.25, 1.0])
    drawn = draw(3, weights=given_weights, noise="none")
    np.testing.assert_array_equal(drawn.weights, given_weights)
    given_weights[0] = 0.9
    assert drawn.weights[0] == 0.0


def test_gaussian_errors_have_about_the_size_asked_for():
    inside = {"weights": np.full(4_000, 0.4), "noise_level": 0.002}
    error = draw(4_000, noise="gaussian", **inside).portfolios - (
        draw(4_000, noise="none", **inside).portfolios
    )
    held = draw(1, weights=[0.4], noise="none").portfolios[0] > 0.05
    assert error[:, held].std() == pytest.approx(0.002, rel=0.2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"count": 0}, "number of investors is 0"),
        ({"count": 2.5}, "number of investors is 2.5"),
        ({"weights": "gamma"}, "no weight distribution 'gamma'"),
        ({"weights": [0.1, 0.2]}, r"shape \(2,\); 200 investors"),
        ({"weights": np.r_[np.zeros(199), 1.5]}, "investor 200 is 1.5"),
        ({"weights": np.r_[np.zeros(199), np.nan]}, "investor 200 is nan"),
        ({"mean": 1.2}, "mean weight is 1.2"),
        ({"sd": 0.0}, "standard deviation of the weights is 0"),
        ({"weights": "beta", "mean": 0.5, "sd": 0.5}, "must be below 0.5"),
        ({"noise": "pink"}, "no noise 'pink'"),
        ({"noise_level": -1.0}, "noise level is -1"),
        ({"noise": "round", "noise_level": 0.3}, "steps of 0.3"),
        ({"noise": "round", "noise_level": 2.0}, "steps of 2"),
        ({"rng": 7}, "rng is 7; give a generator of numpy"),
    ],
)
def test_errors_say_what_is_wrong(options, words):
    arguments = {"count": 200, "rng": np.random.default_rng(0), **options}
    with pytest.raises(InvalidInput, match=words):
        simulate_investors(PROBLEM, PAPER.expected_returns, **arguments)
