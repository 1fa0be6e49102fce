"""The implicit update of the efficiency gap, and streams of them."""

from __future__ import annotations

import numpy as np
import pytest

import imop_engine as imop
import reference
import reference_efficiency as naive
from imop_engine.errors import InvalidInput

Q, TRUE = reference.SECURITIES_COVARIANCE, reference.SECURITIES_RETURN
ANCHORS = {0: TRUE[0], 6: TRUE[6]}


def draw(seed: int):
    """A problem, beliefs, a portfolio and a rate; caps, box sides and holders of one asset."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    factors = rng.normal(size=(n + 2, n))
    covariance = 0.04 * factors.T @ factors / len(factors) + np.diag(rng.uniform(0.002, 0.02, n))
    caps = np.ones(n) if seed % 2 else np.maximum(rng.uniform(0.2, 1.0, n), 1.05 / n)
    returns = rng.uniform(0.0, 0.2, n)
    anchored = rng.permutation(n)[: int(rng.integers(0, 3))]
    problem = imop.portfolio_problem(
        covariance,
        upper=caps,
        bounds=((-1.0, 1.0), (0.0, 0.2))[seed % 3 == 0],
        anchors={int(i): float(returns[i]) for i in anchored},
    )
    theta = problem.theta.nearest(rng.uniform(0.0, 0.2, n))
    y = rng.dirichlet(np.full(n, 0.5))
    if seed % 4 == 1:
        y = np.eye(n)[rng.integers(0, n)]
    y = imop.efficient_frontier(problem, returns).at(0.6) if seed % 4 == 2 else y
    if np.any(y > caps):
        y = imop.efficient_frontier(problem, returns).at(0.9)
    return problem, theta, y, float(rng.choice([0.01, 0.3, 3.0, 30.0]))


@pytest.mark.parametrize("seed", range(60))
def test_an_update_is_what_a_cone_solver_finds_and_proves_it(seed):
    problem, theta, y, rate = draw(seed)
    update = imop.efficiency_update(problem, theta, y, rate)
    best, _ = naive.update(problem, theta, y, rate)
    gap = naive.gap(problem.covariance, problem.upper, update.theta, y)
    reached = 0.5 * np.sum((update.theta - theta) ** 2) + rate * gap
    assert update.certified
    assert problem.theta.contains(update.theta)
    assert reached <= best + 1e-6 * best + 1e-7 * max(1.0, rate)
    assert update.bound <= best + 1e-6 * best + 1e-7 * max(1.0, rate)
    if np.any(update.theta != theta):
        assert update.objective == pytest.approx(reached, rel=1e-5, abs=1e-7 * max(1.0, rate))


def test_an_efficient_portfolio_changes_nothing():
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    y = imop.efficient_frontier(problem, TRUE).at(0.4)
    update = imop.efficiency_update(problem, TRUE, y, 5.0)
    assert update.theta == pytest.approx(TRUE, abs=1e-9)
    assert update.certified


def test_beliefs_that_are_all_alike_are_left_as_they_are():
    problem = imop.portfolio_problem(Q)
    update = imop.efficiency_update(problem, np.full(8, 0.1), np.eye(8)[0], 5.0)
    assert update.theta.tolist() == [0.1] * 8


def test_a_bad_rate_and_several_portfolios_are_refused():
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    with pytest.raises(InvalidInput, match="positive number"):
        imop.efficiency_update(problem, TRUE, np.full(8, 0.125), 0.0)
    with pytest.raises(InvalidInput, match="one portfolio; got 2"):
        imop.efficiency_update(problem, TRUE, np.full((2, 8), 0.125), 1.0)


# -- streams -------------------------------------------------------------------------------------
def seen(count: int, seed: int) -> np.ndarray:
    """The paper's investors with even weights, their portfolios rounded to 0.001."""
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    held = imop.efficient_frontier(problem, TRUE).at(
        np.random.default_rng(seed).uniform(0.0, 1.0, count)
    )
    held = np.round(held, 3)
    return held / held.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("start", ["zero", "constant", "anywhere"])
def test_one_pass_finds_the_returns_from_any_start(start):
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    for seed in range(3):
        theta0 = {
            "zero": np.zeros(8),
            "constant": np.full(8, 0.1),
            "anywhere": np.random.default_rng(50 + seed).uniform(0.0, 1.0, 8),
        }[start]
        learner = imop.OnlineLearner(problem, loss="efficiency", theta0=theta0)
        learner.partial_fit(seen(1000, seed))
        assert np.linalg.norm(learner.theta_ - TRUE) < 5e-4
        assert np.linalg.norm(learner.averaged_ - TRUE) < 5e-4
        assert learner.certified_ == 1.0


def test_losses_are_gaps_before_each_update():
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    held = seen(30, 1)
    learner = imop.OnlineLearner(problem, loss="efficiency", theta0=np.full(8, 0.1))
    for t, y in enumerate(held):
        before = learner.theta_.copy()
        learner.partial_fit(y)
        assert learner.losses_[t] == pytest.approx(
            imop.efficiency(problem, before, y).gaps[0], abs=1e-10
        )


def test_a_round_is_the_update_with_the_rate_in_units_of_the_spread():
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    y = np.full(8, 0.125)
    learner = imop.OnlineLearner(problem, loss="efficiency", theta0=np.full(8, 0.1), rate=2.0)
    start = learner.theta_.copy()
    learner.partial_fit(y)
    rate = 2.0 * 14.0 * abs(TRUE[0] - TRUE[6])
    assert learner.theta_ == pytest.approx(
        imop.efficiency_update(problem, start, y, rate).theta, abs=1e-10
    )


def test_regret_stays_below_its_bound_on_streams_that_change_their_mind():
    # max ||gradient|| <= sqrt(2), so implicit updates at eta_t = d / sqrt(2 t) have regret of at
    # most 1.5 sqrt(2) d sqrt(T) against any fixed returns no further than d apart
    rng = np.random.default_rng(8)
    problem = imop.portfolio_problem(Q, bounds=(0.0, 0.3), anchors=ANCHORS)
    held = np.vstack([seen(150, 3), rng.dirichlet(np.full(8, 0.3), 150)])
    distance = 0.3 * np.sqrt(6)  # the diameter of Theta: six returns are open
    unit = 14.0 * abs(TRUE[0] - TRUE[6])
    learner = imop.OnlineLearner(
        problem, loss="efficiency", rate=distance / (np.sqrt(2.0) * unit)
    ).partial_fit(held)
    best = imop.fit_efficiency(problem, held)
    assert best.certified
    regret = learner.losses_.sum() - best.bound
    assert 0.0 <= regret <= 1.5 * np.sqrt(2.0) * distance * np.sqrt(len(held))


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"loss": "regret"}, "distance, efficiency"),
        ({"loss": "efficiency", "algorithm": "full"}, "one exact update"),
        ({"loss": "efficiency", "batch": 4}, "one exact update"),
        ({"loss": "efficiency", "backend": "gurobi"}, "one exact update"),
    ],
)
def test_impossible_options_are_refused(options, word):
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    with pytest.raises(InvalidInput, match=word):
        imop.OnlineLearner(problem, **options)


def test_other_losses_have_no_average_and_other_problems_no_gap():
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    with pytest.raises(InvalidInput, match="keeps no average"):
        imop.OnlineLearner(problem).averaged_  # noqa: B018
    plain = imop.OnlineLearner(problem).partial_fit(seen(3, 0)).state()
    with pytest.raises(InvalidInput, match="another loss"):
        imop.OnlineLearner(problem, loss="efficiency").restore(plain)
    quadratic = imop.quadratic_problem([np.eye(2), np.eye(2)], [[-1, 0], [0, -1]])
    with pytest.raises(InvalidInput, match="left on the table by portfolios"):
        imop.OnlineLearner(quadratic, loss="efficiency")
