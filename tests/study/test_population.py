"""Simulated clienteles: who they are, what they hold, and what is known of them."""

import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
from imop_engine.bundled import market
from imop_engine.errors import InvalidInput
from imop_engine.population import (
    BeliefChange,
    Segment,
    WeightLaw,
    matching_history,
    simulate_population,
)
from imop_engine.simulate import simulate_investors

PAPER = market("paper8")
PROBLEM = imop.portfolio_problem(PAPER.covariance, names=PAPER.names)
CAPPED = imop.portfolio_problem(PAPER.covariance, names=PAPER.names, upper=0.3)


def draw(count=400, seed=0, problem=PROBLEM, **options):
    rng = np.random.default_rng(seed)
    return simulate_population(problem, PAPER.expected_returns, count, rng=rng, **options)


def objective(weights, portfolios):
    risk = np.einsum("ti,ij,tj->t", portfolios, PAPER.covariance, portfolios)
    return weights * (portfolios @ PAPER.expected_returns) - (1.0 - weights) * risk


@pytest.mark.parametrize("problem", [PROBLEM, CAPPED])
@pytest.mark.parametrize("epsilon", [1e-6, 1e-4, 1e-2])
def test_bounded_rationality_is_within_epsilon_of_the_best(problem, epsilon):
    drawn = draw(problem=problem, noise="epsilon", noise_level=epsilon)
    best = imop.efficient_frontier(problem, PAPER.expected_returns).at(drawn.weights)
    lost = objective(drawn.weights, best) - objective(drawn.weights, drawn.portfolios)
    assert lost.min() >= -1e-12
    assert lost.max() <= epsilon + 1e-12
    # the choice uses its freedom: losses spread over the whole interval, unless a step to the
    # other portfolio costs less than that
    assert lost.max() > 0.9 * epsilon
    assert np.all(drawn.portfolios <= problem.upper + 1e-12)
    assert np.all(drawn.portfolios >= 0.0)
    np.testing.assert_allclose(drawn.portfolios.sum(axis=1), 1.0, atol=1e-12)


def test_dirichlet_noise_has_its_level_and_keeps_what_is_not_held():
    rng = np.random.default_rng(1)
    two = imop.portfolio_problem([[0.04, 0.0], [0.0, 0.04]])
    drawn = simulate_investors(
        two, [0.05, 0.05], 20_000, weights=np.zeros(20_000), noise="dirichlet",
        noise_level=0.03, rng=rng,
    )  # fmt: skip
    assert drawn.portfolios[:, 0].std() == pytest.approx(0.03, rel=0.03)
    assert drawn.portfolios[:, 0].mean() == pytest.approx(0.5, abs=0.001)
    seen, best = draw(noise="dirichlet", noise_level=0.02), draw(noise="none")
    assert np.all(seen.portfolios[best.portfolios == 0.0] == 0.0)


def test_a_mixture_has_the_spread_of_its_parts():
    law = WeightLaw("mixture", parts=((0.3, 0.2, 0.03), (0.7, 0.8, 0.03)))
    weights = law.draw(20_000, np.random.default_rng(2))
    assert np.mean(weights < 0.5) == pytest.approx(0.3, abs=0.01)
    assert weights[weights < 0.5].mean() == pytest.approx(0.2, abs=0.002)
    assert weights[weights > 0.5].std() == pytest.approx(0.03, abs=0.002)


def test_segments_have_their_shares_and_their_own_weights():
    groups = [
        Segment("careful", 0.25, WeightLaw("normal", 0.2, 0.02)),
        Segment("bold", 0.75, WeightLaw("uniform")),
    ]
    drawn = draw(8_000, segments=groups)
    names = np.array(drawn.segments)
    assert np.mean(names == "careful") == pytest.approx(0.25, abs=0.02)
    assert drawn.weights[names == "careful"].mean() == pytest.approx(0.2, abs=0.005)
    assert drawn.weights[names == "bold"].max() > 0.95
    assert list(drawn.wide().columns[:2]) == ["investor", "segment"]


def test_beliefs_change_on_their_date_and_only_for_the_named_assets():
    change = BeliefChange(pd.Timestamp("2022-01-01"), {"Security 3": 0.25})
    drawn = draw(dates=("2020-01-01", "2023-12-31"), changes=[change], noise="none")
    assert drawn.dates.is_monotonic_increasing
    after = np.asarray(drawn.dates >= change.date)
    np.testing.assert_array_equal(drawn.regimes, after.astype(int))
    assert 0 < after.sum() < len(after)
    assert drawn.beliefs[1][2] == 0.25
    np.testing.assert_array_equal(np.delete(drawn.beliefs, 2, axis=1)[0],
                                  np.delete(drawn.beliefs, 2, axis=1)[1])  # fmt: skip
    for regime, rows in ((0, ~after), (1, after)):
        frontier = imop.efficient_frontier(PROBLEM, drawn.beliefs[regime])
        assert frontier.project(drawn.portfolios[rows]).distances.max() < 1e-9
    assert list(drawn.true_returns().columns) == ["asset", "true", "true from change 1"]


def test_wide_and_long_say_the_same():
    drawn = draw(50, dates=("2020-01-01", "2020-12-31"))
    wide = drawn.wide().set_index("investor")[list(PAPER.names)]
    back = drawn.long().pivot_table(index="investor", columns="asset", values="weight").fillna(0.0)
    np.testing.assert_array_equal(back[list(PAPER.names)].to_numpy(), wide.to_numpy())


def test_the_same_seed_gives_the_same_clientele():
    one, same, other = draw(seed=5), draw(seed=5), draw(seed=6)
    np.testing.assert_array_equal(one.portfolios, same.portfolios)
    assert not np.array_equal(one.portfolios, other.portfolios)


def test_a_matching_history_has_the_moments_it_was_asked_for():
    history = matching_history(
        PAPER.expected_returns, PAPER.covariance, PAPER.names, periods=60,
        rng=np.random.default_rng(3),
    )  # fmt: skip
    np.testing.assert_allclose(history.mean() * 12, PAPER.expected_returns, atol=1e-14)
    np.testing.assert_allclose(history.cov() * 12, PAPER.covariance, atol=1e-14)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: WeightLaw("gamma"), "no weight distribution 'gamma'"),
        (lambda: WeightLaw("mixture"), "A mixture needs parts"),
        (lambda: WeightLaw("normal", parts=((1.0, 0.5, 0.1),)), "only a mixture"),
        (lambda: WeightLaw("mixture", parts=((0.5, 0.5, 0.1),)), "add up to 1"),
        (lambda: draw(0), "number of investors is 0"),
        (lambda: draw(segments=[]), "no segments"),
        (lambda: draw(segments=[Segment("a", 0.4), Segment("b", 0.4)]), "add up to 1"),
        (lambda: draw(dates=("2024-01-01", "2020-01-01")), "is after the last"),
        (lambda: draw(dates=("soon", "later")), "cannot be read"),
        (lambda: draw(changes=[BeliefChange(pd.Timestamp("2022-01-01"), {})]), "on a date"),
        (lambda: draw(noise="dirichlet", noise_level=0.5), "smaller one"),
    ],
)
def test_errors_say_what_is_wrong(make, words):
    with pytest.raises(InvalidInput, match=words):
        make()
