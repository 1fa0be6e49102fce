"""Fit: the share explained, the noise, who is an outlier, and what simpler beliefs explain."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
from imop_engine.bundled import market
from imop_engine.errors import InvalidInput
from imop_engine.inference.fit import (
    OUTLIER_FLOOR,
    compare_fit,
    estimate_noise,
    implied_returns,
    measure_fit,
    stretches_beside,
    tangents,
)
from imop_engine.simulate import simulate_investors

MARKETS = {name: market(name) for name in ("paper8", "us20")}
PROBLEMS = {
    name: imop.portfolio_problem(m.covariance, names=m.names) for name, m in MARKETS.items()
}
FRONTIERS = {
    name: imop.efficient_frontier(PROBLEMS[name], m.expected_returns) for name, m in MARKETS.items()
}
PAPER, FRONTIER = PROBLEMS["paper8"], FRONTIERS["paper8"]
TRUTH = MARKETS["paper8"].expected_returns


def draw(name="paper8", count=1000, seed=1, weights="uniform", noise="gaussian", level=0.005):
    return simulate_investors(
        PROBLEMS[name], MARKETS[name].expected_returns, count, weights=weights, noise=noise,
        noise_level=level, rng=np.random.default_rng(seed),
    )  # fmt: skip


def test_exact_portfolios_are_explained_whole_and_nobody_is_an_outlier():
    fit = measure_fit(FRONTIER, draw(noise="none").portfolios)
    assert fit.explained == pytest.approx(1.0, abs=1e-12)
    assert fit.threshold == OUTLIER_FLOOR
    assert fit.outliers == 0
    assert "100.0%" in fit.sentence()
    assert "no portfolio lies much further off" in fit.sentence()


def test_the_share_is_that_of_the_definition():
    Y = draw(level=0.05).portfolios
    distances = FRONTIER.project(Y).distances
    share = 1 - np.sum(distances**2) / np.sum((Y - Y.mean(axis=0)) ** 2)
    fit = measure_fit(FRONTIER, Y)
    assert fit.explained == pytest.approx(share, rel=1e-12)
    np.testing.assert_array_equal(fit.investors["distance"], distances)


@pytest.mark.parametrize("name", MARKETS)
@pytest.mark.parametrize("weights", ["uniform", "normal"])
@pytest.mark.parametrize(
    ("noise", "level"),
    [("gaussian", 0.005), ("gaussian", 0.02), ("uniform", 0.01), ("round", 0.01)],
)
def test_on_clean_data_hardly_anyone_is_an_outlier(name, weights, noise, level):
    """Seen over four seeds: 2 of 320,000 investors in the sixteen cases together."""
    Y = draw(name, 5000, 3, weights, noise, level).portfolios
    assert measure_fit(FRONTIERS[name], Y).investors["outlier"].mean() <= 5e-4


@pytest.mark.parametrize("planted", [1, 20, 200])
def test_planted_outliers_are_found_and_named(planted):
    Y = pd.DataFrame(draw(seed=2).portfolios, columns=list(PAPER.names))
    Y.index = [f"client {i}" for i in range(len(Y))]
    Y.iloc[:planted] = 0.0
    Y.iloc[:planted, 2] = 1.0  # all in security 3, of which the frontier never holds 10 %
    fit = measure_fit(FRONTIER, Y)
    assert fit.investors["outlier"].to_numpy()[:planted].all()
    assert not fit.investors["outlier"].to_numpy()[planted:].any()
    assert fit.investors.loc["client 0", "asset"] == PAPER.names[2]
    assert fit.investors.loc["client 0", "gap"] > 0.5
    assert fit.outliers == planted
    assert fit.explained < fit.explained_without_outliers
    assert fit.explained_without_outliers > 0.99


@pytest.mark.parametrize("name", MARKETS)
@pytest.mark.parametrize("weights", ["uniform", "normal"])
@pytest.mark.parametrize("level", [0.002, 0.005, 0.02])
def test_the_noise_is_estimated_within_a_tenth(name, weights, level):
    """Seen: 0.98 to 1.00 of the truth up to 0.005, 0.91 to 0.97 at 0.02, where holdings below
    the noise are cut at zero."""
    Y = draw(name, 3000, 5, weights, "gaussian", level).portfolios
    noise = estimate_noise(FRONTIERS[name], Y, FRONTIERS[name].project(Y))
    assert noise.sd == pytest.approx(level, rel=0.11 if level > 0.01 else 0.05)
    assert noise.degrees > 1000


def test_outliers_do_not_raise_the_noise():
    Y = draw().portfolios.copy()
    clean = estimate_noise(FRONTIER, Y, FRONTIER.project(Y)).sd
    Y[:50] = np.eye(8)[2]
    assert estimate_noise(FRONTIER, Y, FRONTIER.project(Y)).sd == pytest.approx(clean, rel=0.05)


def test_beyond_the_last_turning_point_the_tangent_is_that_of_the_last_stretch_that_moves():
    """There the portfolio stays what it is; an investor there still has a weight of her own."""
    assert not FRONTIER.directions[-1].any()
    inside = (FRONTIER.weights[-2] + FRONTIER.weights[-1]) / 2
    _, stretches = stretches_beside(FRONTIER, np.array([inside, 1.0]))
    last, beyond = tangents(FRONTIER, stretches)
    assert np.linalg.norm(last) > 0
    np.testing.assert_array_equal(beyond, last)


@pytest.mark.parametrize("name", MARKETS)
def test_the_last_bit_of_a_weight_at_a_turning_point_does_not_change_the_noise(name):
    """Who is nearest to a turning point has one of its weights, or its neighbour in floating
    point, by rounding alone."""
    off = 1.0 + 0.1 * np.random.default_rng(3).normal(size=PROBLEMS[name].n)
    frontier = imop.efficient_frontier(PROBLEMS[name], off * MARKETS[name].expected_returns)
    Y = draw(name).portfolios
    found = frontier.project(Y)
    noise = estimate_noise(frontier, Y, found)
    below, above = stretches_beside(frontier, found.weights)
    assert np.sum(below != above) > 20
    for end in (0.0, 1.0):
        moved = replace(found, weights=np.nextafter(found.weights, end))
        assert estimate_noise(frontier, Y, moved) == noise


def test_three_assets_still_give_a_noise_and_two_say_what_to_do():
    three = imop.portfolio_problem(np.diag([0.02, 0.04, 0.09]))
    frontier = imop.efficient_frontier(three, [0.04, 0.06, 0.09])
    Y = simulate_investors(
        three, frontier.theta, 2000, weights="uniform", noise="gaussian", noise_level=0.005,
        rng=np.random.default_rng(2),
    ).portfolios  # fmt: skip
    assert estimate_noise(frontier, Y, frontier.project(Y)).sd == pytest.approx(0.005, rel=0.15)
    two = imop.portfolio_problem(np.diag([0.02, 0.04]))
    frontier = imop.efficient_frontier(two, [0.04, 0.06])
    with pytest.raises(InvalidInput, match=r"noise_sd may say the error in a holding"):
        estimate_noise(frontier, Y[:, :2], frontier.project([[0.5, 0.5]] * len(Y)))


def test_true_beliefs_explain_more_than_history_or_the_average_portfolio():
    """Seen: 0.999 for the truth, 0.006 for the mean of five years, 0.835 for implied returns."""
    Y = draw(seed=4).portfolios
    months = np.random.default_rng(8).multivariate_normal(
        TRUTH / 12, MARKETS["paper8"].covariance / 12, 60
    )
    table = compare_fit(PAPER, TRUTH, Y, history=months).set_index("beliefs")
    assert list(table.index) == ["learned", "historical mean", "implied by the average portfolio"]
    assert table["explained"].idxmax() == "learned"
    assert table.loc["learned", "explained"] > 0.99
    assert (table["explained"].iloc[1:] < 0.95).all()
    assert table["root_mean_square_distance"].idxmin() == "learned"
    means = compare_fit(PAPER, TRUTH, Y, history=months.mean(axis=0)).set_index("beliefs")
    pd.testing.assert_frame_equal(means, table)


def test_without_a_history_there_is_one_baseline_and_an_average_may_be_given():
    Y = draw().portfolios
    table = compare_fit(PAPER, TRUTH, Y[500:], average=Y[:500].mean(axis=0))
    assert len(table) == 2


def test_implied_returns_make_the_portfolio_optimal_whatever_the_risk_aversion():
    average = draw().portfolios.mean(axis=0)
    shares = []
    for delta in (1.0, 2.5, 10.0):
        implied = implied_returns(PAPER, average, delta)
        best = imop.solve(PAPER, implied, 2.0 / (2.0 + delta))
        np.testing.assert_allclose(best, average, atol=1e-8)
        shares.append(imop.efficient_frontier(PAPER, implied).project([average]).distances[0])
    assert max(shares) < 1e-8


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: measure_fit(FRONTIER, np.empty((0, 8))), "give at least one portfolio"),
        (lambda: implied_returns(PAPER, [0.5, 0.5]), "give one holding an asset"),
        (lambda: implied_returns(PAPER, TRUTH, -1.0), "give a positive number"),
        (
            lambda: compare_fit(PAPER, TRUTH, [TRUTH], history=np.empty((0, 8))),
            "give one row of returns a period",
        ),
    ],
)
def test_errors_say_what_to_do(call, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        call()
