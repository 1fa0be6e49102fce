"""The implicit update of the portfolio problem is the global optimum, and says so."""

import numpy as np
import pytest
from checks import (
    SAME_DECISION,
    assert_certificate,
    assert_consistent,
    assert_least,
    check_update,
    native,
)
from draws import Instance, caps, covariance, instances, tries
from hypothesis import given

import imop_engine as imop
import reference

Q3 = reference.SECURITIES_COVARIANCE[:3, :3]


def instance(Q, theta, y, w, eta, upper=1.0, rows=()) -> Instance:
    """An instance with the default box."""
    n = len(Q)
    return Instance(
        np.asarray(Q, float),
        np.full(n, upper) if np.isscalar(upper) else np.asarray(upper, float),
        np.zeros(n),
        np.ones(n),
        list(rows) or None,
        list(rows),
        np.asarray(theta, float),
        np.asarray(y, float),
        w,
        eta,
    )


@tries(150)
@given(instances(smallest=1, largest=4))
def test_it_is_the_enumerated_optimum(drawn):
    best = reference.update_enumerated(drawn.weighted(), drawn.theta, drawn.y, drawn.eta)
    check_update(drawn, best.objective)


@pytest.mark.slow
@tries(50)
@given(instances(smallest=5, largest=5))
def test_it_is_the_enumerated_optimum_of_five_assets(drawn):
    best = reference.update_enumerated(drawn.weighted(), drawn.theta, drawn.y, drawn.eta)
    check_update(drawn, best.objective)


@tries(40)
@given(instances(smallest=2, largest=8))
def test_its_decision_is_what_the_engine_itself_would_solve(drawn):
    problem = drawn.problem()
    update = native(drawn, problem)
    solved = imop.solve(problem, update.theta, drawn.w)
    assert np.allclose(update.x, solved, atol=SAME_DECISION, rtol=0)


@tries(40)
@given(instances(smallest=2, largest=8))
def test_a_decision_that_the_estimate_already_explains_changes_nothing(drawn):
    problem = drawn.problem()
    y = imop.solve(problem, drawn.theta, drawn.w)
    update = imop.implicit_update(problem, drawn.theta, y, drawn.w, drawn.eta)
    assert update.objective == pytest.approx(0, abs=1e-12)
    assert np.allclose(update.theta, drawn.theta, atol=1e-8, rtol=0)


@tries(40)
@given(instances(smallest=2, largest=8))
def test_it_never_loses_to_staying_where_it_is(drawn):
    stay = reference.forward(drawn.weighted(), drawn.theta)
    update = native(drawn)
    assert update.objective <= drawn.eta * np.sum((drawn.y - stay) ** 2) + 1e-9


def test_the_weight_zero_says_nothing_about_returns():
    theta, y = np.array([0.1, 0.2, 0.3]), np.array([0.1, 0.2, 0.7])
    update = imop.implicit_update(imop.portfolio_problem(Q3), theta, y, 0.0, 2.0)
    safest = reference.forward(reference.portfolio(Q3, 0.0), theta)
    assert np.allclose(update.theta, theta, atol=1e-12)
    assert update.objective == pytest.approx(2 * np.sum((y - safest) ** 2), rel=1e-9)


def test_one_asset_teaches_nothing():
    update = imop.implicit_update(imop.portfolio_problem([[0.04]]), [0.1], [0.7], 0.5, 3.0)
    assert np.allclose(update.theta, [0.1])
    assert np.allclose(update.x, [1.0])
    assert update.objective == pytest.approx(3 * 0.09)
    assert_certificate(update)


def test_it_wakes_an_asset_that_nobody_holds_at_the_estimate():
    # At θ_t the third asset is far from being held, so a local method sees a flat objective.
    theta, y = np.array([0.3, 0.3, 0.0]), np.array([0.1, 0.1, 0.8])
    drawn = instance(Q3, theta, y, 0.7, 1.0)
    assert reference.forward(drawn.weighted(), theta)[2] == pytest.approx(0, abs=1e-12)
    update = native(drawn)
    assert update.x[2] > 0.1
    assert update.theta[2] > 0.1
    best = reference.update_enumerated(drawn.weighted(), theta, y, 1.0)
    assert_least(update, best.objective)


@pytest.mark.parametrize("eta", [1e-6, 1e-2, 1.0, 1e2, 1e4])
def test_symmetric_assets_with_two_equally_good_answers(eta):
    # y prefers neither of two equal assets beyond the estimate's own tie.
    drawn = instance(0.04 * np.eye(4), np.full(4, 0.2), [0.5, 0.5, 0.0, 0.0], 0.6, eta, upper=0.5)
    best = reference.update_enumerated(drawn.weighted(), drawn.theta, drawn.y, eta)
    check_update(drawn, best.objective)


@pytest.mark.parametrize("order", [(2, 0, 1), (1, 0, 2), (2, 1, 0)])
def test_the_order_of_assets_does_not_matter(order):
    theta, y = np.array([0.1, 0.25, 0.2]), np.array([0.6, 0.1, 0.3])
    order = list(order)
    plain = native(instance(Q3, theta, y, 0.8, 2.0))
    turned = native(instance(Q3[np.ix_(order, order)], theta[order], y[order], 0.8, 2.0))
    assert turned.objective == pytest.approx(plain.objective, rel=1e-9)
    assert np.allclose(turned.theta, plain.theta[order], atol=1e-7)


def test_two_anchors_leave_nothing_to_learn_of_two_assets():
    rows = [(np.array([1.0, 0.0]), 0.1), (np.array([0.0, 1.0]), 0.2)]
    drawn = instance(Q3[:2, :2], [0.1, 0.2], [0.9, 0.1], 0.7, 5.0, rows=rows)
    update = native(drawn)
    assert np.allclose(update.theta, [0.1, 0.2], atol=1e-12)
    assert_consistent(drawn, update)


@pytest.mark.parametrize("low", [0.0, [0.1, 0.05, 0.0]])
@pytest.mark.parametrize("high", [0.2, [0.3, 0.15, 0.2]])
def test_the_box_of_theta_binds(low, high):
    theta, y = np.array([0.15, 0.1, 0.1]), np.array([0.0, 1.0, 0.0])
    problem = imop.portfolio_problem(Q3, bounds=(low, high))
    weighted = reference.portfolio(Q3, 0.3, low=low, high=high)
    update = imop.implicit_update(problem, theta, y, 0.3, 50.0)
    assert_certificate(update)
    assert_least(update, reference.update_enumerated(weighted, theta, y, 50.0).objective)
    on_edge = np.isclose(update.theta, weighted.low) | np.isclose(update.theta, weighted.high)
    assert np.all(update.theta >= weighted.low - 1e-9)
    assert np.all(update.theta <= weighted.high + 1e-9)
    assert on_edge.any()


def test_a_weight_vector_is_as_good_as_its_first_part():
    problem = imop.portfolio_problem(Q3)
    theta, y = [0.1, 0.2, 0.3], [0.5, 0.2, 0.3]
    one = imop.implicit_update(problem, theta, y, 0.4, 1.0)
    two = imop.implicit_update(problem, theta, y, [0.4, 0.6], 1.0)
    assert two.objective == pytest.approx(one.objective, rel=1e-9)


def test_same_question_same_answer_and_the_question_is_left_alone():
    rng = np.random.default_rng(5)
    Q = covariance(rng, 7, "dense")
    theta, y = rng.uniform(0, 0.3, 7), rng.dirichlet(np.ones(7))
    kept = theta.copy(), y.copy()
    problem = imop.portfolio_problem(Q, upper=0.4)
    one, two = (imop.implicit_update(problem, theta, y, 0.6, 1.0) for _ in range(2))
    assert np.array_equal(one.theta, two.theta)
    assert one.objective == two.objective
    assert np.array_equal(theta, kept[0])
    assert np.array_equal(y, kept[1])


@pytest.mark.parametrize("seed", range(6))
def test_a_certificate_at_sizes_no_twin_can_enumerate(seed):
    rng = np.random.default_rng(seed)
    n = 30
    Q, truth = covariance(rng, n, "factor"), rng.uniform(0, 0.3, n)
    upper = caps(rng, n, ["none", "tight", "mixed"][seed % 3])
    theta = np.clip(truth + 0.05 * rng.normal(size=n), 0, 1)
    y = reference.forward(reference.portfolio(Q, 0.5, upper), truth) + 0.01 * rng.normal(size=n)
    drawn = instance(Q, theta, y, 0.5, 1.0, upper=upper)
    update = native(drawn)
    assert_certificate(update)
    assert_consistent(drawn, update)
    for spread in (1e-6, 1e-4, 1e-2):
        for centre in (update.theta, theta, truth):
            trial = np.clip(centre + spread * rng.normal(size=n), 0, 1)
            x = reference.forward(drawn.weighted(), trial)
            assert reference.objective(theta, y, 1.0, trial, x) >= update.bound - 1e-9


def test_a_singular_covariance_still_gives_a_consistent_answer():
    Q = Q3.copy()
    Q[2], Q[:, 2] = Q[0], Q[:, 0]
    Q[2, 2] = Q[0, 0]
    theta, y = np.array([0.1, 0.2, 0.1]), np.array([0.1, 0.5, 0.4])
    update = imop.implicit_update(imop.portfolio_problem(Q), theta, y, 0.6, 1.0)
    pair = reference.objective(theta, y, 1.0, update.theta, update.x)
    assert update.objective == pytest.approx(pair, rel=1e-9)
    assert update.bound <= update.objective + 1e-12
    weighted = reference.portfolio(Q, 0.6)
    assert reference.kkt_residual(weighted, update.theta, update.x) <= 1e-8


# -- Θ that the anchors pin to one point


def pinned(n: int, seed: int, w: float, eta: float) -> Instance:
    """Two portfolio anchors that, within the box, a single vector of returns satisfies."""
    rng = np.random.default_rng(seed)
    truth = np.zeros(n)
    truth[-1] = rng.uniform(0, 0.3)
    if n == 2:
        truth = np.full(2, 0.1)
    rows = [(row, float(row @ truth)) for row in rng.dirichlet(np.ones(n), size=2)]
    return instance(0.02 * (np.eye(n) + 1), truth, rng.normal(size=n), w, eta, rows=rows)


@pytest.mark.parametrize(
    ("n", "seed", "w", "eta"),
    [
        (2, 0, 0.5, 1.0),
        (3, 1, 0.95, 100.0),
        (2, 2, 0.999, 1.0),
        (4, 131, 0.5, 1.0),
        (5, 3, 0.5, 100.0),
    ],
)
def test_anchors_may_leave_one_estimate(n, seed, w, eta):
    drawn = pinned(n, seed, w, eta)
    update = native(drawn)
    assert_consistent(drawn, update)
    assert_certificate(update)
    weighted = drawn.weighted()
    best = reference.update_enumerated(weighted, drawn.theta, drawn.y, eta)
    assert_least(update, best.objective)
