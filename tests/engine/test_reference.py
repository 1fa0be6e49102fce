"""The naive twins agree with each other: otherwise they could not judge the engine."""

import cvxpy as cp
import numpy as np
import pytest
from draws import Instance, Quadratic, instances, quadratics, tries
from hypothesis import given

import reference

pytestmark = pytest.mark.slow


def close(one: float, two: float) -> bool:
    return abs(one - two) <= 1e-6 * abs(two) + 1e-9


def check_twins(drawn: Instance | Quadratic) -> None:
    weighted = drawn.weighted()
    listed = reference.update_enumerated(weighted, drawn.theta, drawn.y, drawn.eta)
    mixed, bound = reference.update_gurobi(weighted, drawn.theta, drawn.y, drawn.eta)
    assert close(mixed.objective, listed.objective)
    # Gurobi's bound is only as good as its feasibility tolerance, 1e-9 on rows that λ magnifies.
    assert bound <= listed.objective + 1e-5 * (1 + listed.objective)
    assert np.all(listed.theta >= weighted.low - 1e-9)
    assert np.all(listed.theta <= weighted.high + 1e-9)
    assert np.allclose(weighted.C @ listed.theta, weighted.e, atol=1e-9)


@tries(60)
@given(instances(largest=4))
def test_enumeration_and_gurobi_find_the_same_portfolio_update(drawn):
    check_twins(drawn)


@pytest.mark.parametrize("learn", ["c", "b"])
def test_enumeration_and_gurobi_find_the_same_quadratic_update(learn):
    @tries(30)
    @given(quadratics(learn))
    def agree(drawn):
        check_twins(drawn)

    agree()


@tries(20)
@given(instances(largest=6))
def test_forward_agrees_with_an_interior_point_solver(drawn):
    weighted = drawn.weighted()
    x = cp.Variable(weighted.n)
    linear = weighted.g + weighted.G @ drawn.theta
    goal = cp.Minimize(0.5 * cp.quad_form(x, cp.psd_wrap(weighted.H)) + linear @ x)
    rows = weighted.M @ x >= weighted.m + weighted.N @ drawn.theta
    value = cp.Problem(goal, [rows, weighted.E @ x == weighted.d]).solve(solver=cp.CLARABEL)
    mine = reference.forward(weighted, drawn.theta)
    assert 0.5 * mine @ weighted.H @ mine + linear @ mine == pytest.approx(value, abs=1e-7)


@tries(40)
@given(instances(largest=5))
def test_the_enumerated_frontier_is_the_forward_solution_everywhere(drawn):
    pieces = reference.frontier_enumerated(drawn.Q, drawn.theta, drawn.upper)
    assert pieces[0].start == 0
    assert max(piece.stop for piece in pieces) == np.inf
    for w in (0.0, 0.01, 0.3, 0.5, 0.77, 0.9, 0.99):
        x = reference.forward(drawn.weighted(w), drawn.theta)
        assert np.allclose(reference.frontier_at(pieces, w), x, atol=1e-8)


def test_distance_from_the_frontier_is_that_of_a_dense_sample():
    rng = np.random.default_rng(3)
    Q = reference.SECURITIES_COVARIANCE[:5, :5]
    r = reference.SECURITIES_RETURN[:5]
    pieces = reference.frontier_enumerated(Q, r, 0.6)
    sample = [reference.frontier_at(pieces, w) for w in np.linspace(0, 1, 4001)]
    for y in rng.dirichlet(np.ones(5), size=5):
        dense = np.min(np.linalg.norm(y - np.array(sample), axis=1))
        exact = reference.frontier_distance(pieces, y)
        assert exact - 1e-12 <= dense <= exact + 1e-3


@pytest.mark.parametrize("w", np.linspace(0, 1, 21))
def test_the_mqp_in_closed_form(w):
    learn_b = reference.quadratic(
        reference.MQP_Q,
        reference.MQP_C,
        reference.MQP_A,
        reference.MQP_B,
        [w, 1 - w],
        "b",
        -10,
        10,
    )
    x = reference.forward(learn_b, reference.MQP_B)
    assert np.allclose(x, reference.mqp_decision(w), atol=1e-9)


def test_an_update_never_loses_to_staying_or_to_random_trials():
    rng = np.random.default_rng(11)
    Q, theta = reference.SECURITIES_COVARIANCE[:4, :4], np.array([0.1, 0.2, 0.1, 0.0])
    weighted = reference.portfolio(Q, 0.6, upper=0.7)
    y = np.array([0.0, 0.1, 0.2, 0.7])
    best = reference.update_enumerated(weighted, theta, y, 0.5)
    for spread in (0.0, 0.01, 0.05, 0.2):
        for _ in range(20):
            trial = np.clip(best.theta + spread * rng.normal(size=4), 0, 1)
            x = reference.forward(weighted, trial)
            assert reference.objective(theta, y, 0.5, trial, x) >= best.objective - 1e-12


def test_the_full_algorithm_is_never_worse_in_its_first_round():
    Q = reference.SECURITIES_COVARIANCE[:3, :3]
    weights = [0.1, 0.5, 0.9]
    start, y = np.array([0.05, 0.1, 0.1]), np.array([[0.5, 0.1, 0.4]])

    def at_weight(w):
        return reference.portfolio(Q, w)

    values = []
    for algorithm in (reference.full, reference.accelerated):
        thetas, losses = algorithm(at_weight, weights, y, start, 1.0)
        assert losses == [reference.surrogate_loss(at_weight, weights, start, y[0])[0]]
        after, _ = reference.surrogate_loss(at_weight, weights, thetas[1], y[0])
        values.append(0.5 * np.sum((thetas[1] - start) ** 2) + after)
    assert values[0] <= values[1] + 1e-12


def test_aligned_error_forgives_shift_and_scale_but_not_order():
    truth = reference.SECURITIES_RETURN
    assert reference.aligned_error(3 * truth + 0.4, truth) == pytest.approx(0, abs=1e-12)
    flat = np.linalg.norm(truth - truth.mean())
    assert reference.aligned_error(-truth, truth) == pytest.approx(flat)
    assert reference.aligned_error(np.zeros(8), truth) == pytest.approx(flat)
