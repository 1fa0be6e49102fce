"""The whole class: more objectives, equalities, bounds, shared parameters, a cut Θ, node limits."""

from math import comb
from typing import Any

import numpy as np
import pytest
from checks import ABSOLUTE, IN_THETA, RELATIVE, SAME_DECISION, assert_certificate, assert_least
from draws import caps, covariance, returns

import imop_engine as imop
import reference
import reference_batch

KINDS = ("plain", "equations", "boxes", "shared", "both", "cut", "everything")


def general(seed: int, kind: str, p: int = 3, n: int = 3, m: int = 2):
    """Arguments of `affine_problem`, a point θ in Θ, a decision and a rate."""
    rng = np.random.default_rng([seed, KINDS.index(kind), p])
    everything = kind == "everything"
    k = 2 if kind in ("shared", "both") or everything else p * n
    roots = rng.normal(size=(p, n, n))
    linear = np.eye(p * n).reshape(p, n, p * n)
    if k < p * n:
        linear = rng.normal(size=(p, n, k))
    inside = rng.uniform(0.3, 0.7, n)
    A = rng.normal(size=(m, n))
    rhs = rng.normal(size=(m, k)) * 0.3 if kind == "both" or everything else np.zeros((m, k))
    truth = rng.uniform(-1, 1, k)
    width = rng.uniform(0.2, 1.5, k)
    spec: dict[str, Any] = {
        "Q": [root @ root.T + 0.3 * np.eye(n) for root in roots],
        "linear0": rng.uniform(-3, 1, (p, n)),
        "linear": linear,
        "A": A,
        "rhs0": A @ inside - rhs @ truth - rng.uniform(0.1, 0.6, m),
        "rhs": rhs,
        "bounds": (truth - width, truth + width),
    }
    if kind == "equations" or everything:
        spec["E"] = rng.normal(size=(1, n))
        spec["d"] = spec["E"] @ inside
    if kind == "boxes" or everything:
        spec["lower"] = np.where(rng.random(n) < 0.3, -np.inf, rng.uniform(-0.5, 0.2, n))
        spec["upper"] = np.where(rng.random(n) < 0.3, np.inf, rng.uniform(0.8, 1.2, n))
    if kind == "cut" or everything:
        row = rng.normal(size=k)
        spec["equalities"] = [(row, float(row @ truth))]
    start = rng.uniform(*spec["bounds"])
    twin = reference_batch.affine(spec, np.full(p, 1 / p))
    start = reference.project_on_theta(twin, start)
    y = inside + rng.choice([0.05, 0.5, 2.0]) * rng.normal(size=n)
    return spec, start, y, float(rng.choice([0.05, 1.0, 20.0])), rng.dirichlet(np.ones(p))


def check(update: Any, twin: reference.Weighted, start: np.ndarray, y: np.ndarray, eta: float):
    """Certificate, feasibility and the enumerated optimum."""
    assert_certificate(update)
    assert np.all(update.theta >= twin.low - IN_THETA)
    assert np.all(update.theta <= twin.high + IN_THETA)
    assert np.allclose(twin.C @ update.theta, twin.e, atol=IN_THETA, rtol=0)
    decided = reference.forward(twin, update.theta)
    assert np.allclose(update.x, decided, atol=SAME_DECISION, rtol=0)
    pair = reference.objective(start, y, eta, update.theta, update.x)
    assert update.objective == pytest.approx(pair, rel=1e-9, abs=1e-12)
    assert_least(update, reference.update_enumerated(twin, start, y, eta).objective)


@pytest.mark.parametrize("p", [2, 3, 4])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_the_update_is_the_enumerated_optimum(seed, kind, p):
    spec, start, y, eta, weight = general(seed, kind, p)
    problem = imop.affine_problem(**spec)
    assert (problem.p, problem.theta_size) == (p, len(start))
    update = imop.implicit_update(problem, start, y, weight, eta)
    check(update, reference_batch.affine(spec, weight), start, y, eta)


@pytest.mark.parametrize("kind", KINDS)
def test_the_forward_decision_is_proved_at_every_corner_of_the_simplex(kind):
    for seed in range(4):
        spec, start, _, _, weight = general(seed, kind)
        problem = imop.affine_problem(**spec)
        for w in [weight, *np.eye(3)]:
            x = imop.solve(problem, start, w)
            assert reference.kkt_residual(reference_batch.affine(spec, w), start, x) <= 1e-8


@pytest.mark.parametrize("learn", ["c", "b"])
@pytest.mark.parametrize("seed", range(8))
def test_quadratic_problems_take_equations_and_bounds(learn, seed):
    rng = np.random.default_rng(seed)
    spec, _, y, eta, weight = general(seed, "equations")
    c, b = spec["linear0"], spec["rhs0"]
    truth = c.ravel() if learn == "c" else b
    bounds = (truth - rng.uniform(0, 1, truth.size), truth + rng.uniform(0, 0.1, truth.size))
    options = {"E": spec["E"], "d": spec["d"], "lower": -0.2, "upper": 0.9}
    problem = imop.quadratic_problem(
        spec["Q"], c, spec["A"], b, learn=learn, bounds=bounds, **options
    )
    size = truth.size
    eye, none = np.eye(9).reshape(3, 3, 9), np.zeros((3, 3, size))
    same = (
        spec
        | options
        | {
            "linear0": np.zeros((3, 3)) if learn == "c" else c,
            "linear": eye if learn == "c" else none,
            "rhs0": b if learn == "c" else np.zeros(2),
            "rhs": np.zeros((2, size)) if learn == "c" else np.eye(2),
            "bounds": bounds,
        }
    )
    start = rng.uniform(*bounds)
    update = imop.implicit_update(problem, start, y, weight, eta)
    assert np.allclose(spec["E"] @ update.x, spec["d"], atol=1e-9)
    assert np.all((update.x >= -0.2 - 1e-12) & (update.x <= 0.9 + 1e-12))
    check(update, reference_batch.affine(same, weight), start, y, eta)


# -- lattices --------------------------------------------------------------------------------


@pytest.mark.parametrize(("p", "steps"), [(3, 1), (3, 2), (3, 5), (4, 3), (5, 2)])
def test_the_lattice_is_even(p, steps):
    """Λ = steps + 1 values a coordinate: K = C(Λ + p − 2, p − 1) weights."""
    K = comb(steps + 1 + p - 2, p - 1)
    problem = imop.quadratic_problem([np.eye(2)] * p, np.zeros((p, 2)), bounds=(-1.0, 1.0))
    W = imop.OnlineLearner(problem, weights=K).weights_
    assert W.shape == (K, p)
    assert np.allclose(W.sum(axis=1), 1.0, atol=1e-15)
    assert np.allclose(W * steps, np.round(W * steps), atol=1e-12)
    assert np.all(W >= 0)
    assert len(np.unique(np.round(W * steps), axis=0)) == K


@pytest.mark.parametrize(("K", "near"), [(7, "6 or 10"), (11, "10 or 15"), (100, "91 or 105")])
def test_a_number_that_is_no_lattice_names_its_neighbours(K, near):
    problem = imop.quadratic_problem([np.eye(2)] * 3, np.zeros((3, 2)), bounds=(-1.0, 1.0))
    with pytest.raises(imop.errors.InvalidInput, match=f"has {near} weights, not {K}"):
        imop.OnlineLearner(problem, weights=K)


def test_a_linear_objective_keeps_the_lattice_inside():
    problem = imop.quadratic_problem(
        [np.zeros((2, 2)), np.eye(2), np.eye(2)], np.zeros((3, 2)), bounds=(-1.0, 1.0), upper=1.0
    )
    W = imop.OnlineLearner(problem, weights=6).weights_
    assert W.shape == (6, 3)
    assert 9e-4 < W.min() < 1.1e-3
    assert np.allclose(W.sum(axis=1), 1.0, atol=1e-15)


# -- learners --------------------------------------------------------------------------------


def at_weight(spec: dict[str, Any]):
    return lambda w: reference_batch.affine(spec, w)


def stream(spec: dict[str, Any], seed: int, count: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    twin = at_weight(spec)
    theta = reference.project_on_theta(twin(np.full(3, 1 / 3)), rng.uniform(*spec["bounds"]))
    held = [reference.forward(twin(rng.dirichlet(np.ones(3))), theta) for _ in range(count)]
    return np.array(held) + 0.1 * rng.normal(size=(count, 3))


@pytest.mark.parametrize("kind", ["plain", "boxes", "cut", "equations"])
def test_three_objectives_accelerated_is_algorithm_2(kind):
    spec, start, *_ = general(1, kind)
    Y = stream(spec, 2, 6)
    learner = imop.OnlineLearner(imop.affine_problem(**spec), weights=6, rate=2.0, theta0=start)
    for t, y in enumerate(Y, start=1):
        before = learner.theta_.copy()
        learner.partial_fit(y[None])
        loss, squares = reference.surrogate_loss(at_weight(spec), learner.weights_, before, y)
        assert learner.losses_[-1] == pytest.approx(loss, rel=1e-6, abs=1e-12)
        twin = at_weight(spec)(learner.weights_[int(np.argmin(squares))])
        best = reference.update_enumerated(twin, before, y, 2.0 / np.sqrt(t))
        assert np.allclose(learner.theta_, best.theta, atol=1e-6, rtol=0)
    assert learner.certified_ == 1.0
    assert learner.updates_ == 6


@pytest.mark.parametrize("kind", ["plain", "shared", "everything"])
def test_three_objectives_full_is_algorithm_1(kind):
    spec, start, *_ = general(1, kind)
    Y = stream(spec, 3, 3)
    learner = imop.OnlineLearner(
        imop.affine_problem(**spec), weights=6, rate=2.0, theta0=start, algorithm="full"
    ).partial_fit(Y)
    thetas, losses = reference.full(at_weight(spec), learner.weights_, Y, start, 2.0)
    assert np.allclose(learner.losses_, losses, rtol=1e-6, atol=1e-10)
    assert np.allclose(learner.theta_, thetas[-1], atol=1e-6, rtol=0)


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 4, 5])
@pytest.mark.parametrize("seed", range(3))
def test_full_skips_no_weight_that_could_win_on_portfolios(n, seed):
    rng = np.random.default_rng([n, seed])
    Q, upper = covariance(rng, n, "factor"), caps(rng, n, ["none", "mixed", "fill"][seed])
    truth = returns(rng, n, "plain")
    rows = [(np.eye(n)[0], float(truth[0]))]
    problem = imop.portfolio_problem(Q, upper=upper, anchors=rows)

    def twin(w: float) -> reference.Weighted:
        return reference.portfolio(Q, w, upper, anchors=rows)

    start = problem.theta.nearest(returns(rng, n, "plain"))
    Y = np.array([reference.forward(twin(w), truth) for w in rng.uniform(0.05, 0.9, 3)])
    Y = Y + [0.005, 0.05, 0.3][seed] * rng.normal(size=Y.shape)
    grid = [0.05, 0.2, 0.4, 0.6, 0.9]
    learner = imop.OnlineLearner(problem, grid, "full", rate=2.0, theta0=start).partial_fit(Y)
    thetas, losses = reference.full(twin, grid, Y, start, 2.0)
    assert np.allclose(learner.losses_, losses, rtol=1e-6, atol=1e-10)
    assert np.allclose(learner.theta_, thetas[-1], atol=1e-6, rtol=0)


@pytest.mark.parametrize("learn", ["c", "b"])
@pytest.mark.parametrize("seed", range(3))
def test_full_skips_no_weight_that_could_win_on_the_mqp(learn, seed):
    box = (np.repeat([1.0, -6.0], 2), np.repeat([6.0, -1.0], 2)) if learn == "c" else (-8.0, -1.0)
    data = reference.MQP_Q, reference.MQP_C, reference.MQP_A, reference.MQP_B
    problem = imop.quadratic_problem(*data, learn=learn, bounds=box)
    rng = np.random.default_rng(seed)
    Y = np.array([reference.mqp_decision(w) for w in rng.uniform(size=5)])
    Y = Y + rng.uniform(-1, 1, Y.shape)
    start = rng.uniform(problem.theta.lower, problem.theta.upper)
    grid = [0.05, 0.3, 0.5, 0.7, 0.95]
    learner = imop.OnlineLearner(problem, grid, "full", rate=2.0, theta0=start).partial_fit(Y)
    thetas, losses = reference.full(
        lambda w: reference.quadratic(*data, [w, 1 - w], learn, *box), grid, Y, start, 2.0
    )
    assert np.allclose(learner.losses_, losses, rtol=1e-6, atol=1e-10)
    assert np.allclose(learner.theta_, thetas[-1], atol=1e-6, rtol=0)


# -- node limits -----------------------------------------------------------------------------


def hard_portfolio(seed: int):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 13))
    problem = imop.portfolio_problem(covariance(rng, n, "factor"), upper=0.6)
    y = rng.dirichlet(np.ones(n)) + 0.5 * rng.normal(size=n)
    return problem, returns(rng, n, "plain"), y, 0.5


def hard_quadratic(seed: int):
    spec, start, _, _, weight = general(seed, "boxes", n=8, m=4)
    y = np.random.default_rng(seed).normal(0, 3, 8)
    return imop.affine_problem(**spec), start, y, weight


@pytest.mark.parametrize("make", [hard_portfolio, hard_quadratic])
def test_a_node_limit_leaves_an_honest_gap(make):
    unproven = 0
    for seed in range(30):
        problem, start, y, weight = make(seed)
        short = imop.implicit_update(problem, start, y, weight, 20.0, node_limit=3)
        best = imop.implicit_update(problem, start, y, weight, 20.0, node_limit=100_000)
        assert best.certified
        allowed = RELATIVE * best.objective + ABSOLUTE
        assert short.bound <= best.objective + allowed
        assert best.objective <= short.objective + allowed
        assert problem.theta.contains(short.theta)
        assert short.certified == (short.gap <= RELATIVE * short.objective + ABSOLUTE)
        unproven += not short.certified
    assert unproven >= 5
