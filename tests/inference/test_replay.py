"""The weights' chi-square test replayed: errors are not taken for another family."""

import numpy as np
import pytest
from scipy.stats import chi2

import imop_engine as imop
from imop_engine.bundled import market
from imop_engine.inference.preferences import investor_preferences, weight_distribution
from imop_engine.inference.replay import replayed

EIGHT = market("paper8")
PROBLEM = imop.portfolio_problem(EIGHT.covariance, names=EIGHT.names)
FRONTIER = imop.efficient_frontier(PROBLEM, EIGHT.expected_returns)


def held_by(weights, noise_sd, rng):
    held = np.maximum(FRONTIER.at(weights) + rng.normal(0.0, noise_sd, (len(weights), 8)), 0.0)
    return held / held.sum(axis=1, keepdims=True)


def p_values(weights, noise_sd, rng):
    """Plain and replayed, of the best family."""
    held = held_by(weights, noise_sd, rng)
    known = investor_preferences(FRONTIER, held)
    found = replayed(weight_distribution(known), FRONTIER, held, known.noise.sd, None, 0)
    best = found.best
    assert best.replayed
    assert sum(family.replayed for family in found.families) == 1
    return chi2.sf(best.chi_square, best.degrees), best.p_value


def test_errors_in_holdings_do_not_contradict_the_right_family():
    plain, again = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        weights = np.clip(rng.normal(0.5, 0.15, 700), 0.01, 0.99)
        one = p_values(weights, 0.015, rng)
        plain.append(one[0])
        again.append(one[1])
    assert np.mean(np.array(plain) < 0.05) > 0.4  # what the replay is for
    assert np.mean(np.array(again) < 0.05) < 0.2


def test_a_wrong_family_stays_contradicted():
    rng = np.random.default_rng(3)
    weights = np.concatenate([rng.uniform(0.2, 0.3, 300), rng.uniform(0.5, 0.52, 300),
                              rng.uniform(0.7, 0.8, 300)])  # fmt: skip
    assert p_values(weights, 0.005, rng)[1] < 0.001


def test_more_investors_than_are_drawn_make_the_same_excess_larger():
    rng = np.random.default_rng(5)
    plain, again = p_values(np.clip(rng.normal(0.5, 0.15, 20_000), 0.01, 0.99), 0.015, rng)
    assert plain < 1e-6
    assert again > 1e-3


def test_weights_on_a_grid_are_left_as_they_are():
    rng = np.random.default_rng(1)
    weights = rng.choice(np.linspace(0.1, 0.9, 9), 300)
    plain = weight_distribution(weights)
    assert plain.on_grid
    assert replayed(plain, FRONTIER, FRONTIER.at(weights), 0.0, None, 0) is plain


@pytest.mark.parametrize("noise_sd", [0.0, 0.01])
def test_unsure_returns_are_part_of_the_replay(noise_sd):
    rng = np.random.default_rng(2)
    weights = np.clip(rng.normal(0.5, 0.15, 500), 0.01, 0.99)
    held = held_by(weights, noise_sd, rng)
    known = investor_preferences(FRONTIER, held)
    plain = weight_distribution(known)
    unsure = replayed(plain, FRONTIER, held, known.noise.sd, 0.02**2 * np.eye(8), 0).best
    sure = replayed(plain, FRONTIER, held, known.noise.sd, None, 0).best
    assert unsure.p_value > sure.p_value
