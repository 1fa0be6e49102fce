"""Programs written in cvxpy: native where they can be, and right where they cannot."""

from __future__ import annotations

import pickle
import subprocess
import sys

import cvxpy as cp
import numpy as np
import pytest

import imop_engine as imop
import reference
from imop_engine.errors import ImopError, Infeasible, InvalidInput, SolverUnavailable

Q, TRUE = reference.SECURITIES_COVARIANCE, reference.SECURITIES_RETURN
RNG = np.random.default_rng(3)
SCENARIOS = RNG.multivariate_normal(TRUE, 4.0 * Q, size=40)


def written(native: bool = True, covariance=Q, **options):
    """The paper's portfolio problem, as somebody would write it in cvxpy."""
    n = len(covariance)
    x, r = cp.Variable(n), cp.Parameter(n)
    objectives = [-r @ x, cp.quad_form(x, cp.psd_wrap(covariance))]
    rules = [cp.sum(x) == 1, x >= 0]
    options = {"bounds": (0.0, 1.0)} | options
    return imop.convex_problem(objectives, rules, x, r, native=native, **options)


def tailed(**options):
    """Return against the average of the worst quarter of the scenarios: no quadratic program."""
    n = len(TRUE)
    x, r = cp.Variable(n, nonneg=True), cp.Parameter(n)
    z, level = cp.Variable(len(SCENARIOS)), cp.Variable()
    tail = level + cp.sum(z) / (0.25 * len(SCENARIOS))
    rules = [cp.sum(x) == 1, z >= 0, z >= -SCENARIOS @ x - level]
    options = {"bounds": (0.0, 1.0)} | options
    return imop.convex_problem([-r @ x, tail], rules, x, r, **options)


def drawn_case(seed: int):
    """A quadratic problem in both languages, a theta, weights and noisy decisions."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(2, 5)), int(rng.integers(2, 4))
    roots = rng.normal(size=(p, n, n))
    matrices = [root @ root.T + 0.3 * np.eye(n) for root in roots]
    rows, right = -rng.uniform(0.1, 1.0, (2, n)), -rng.uniform(1.0, 2.0, 2)
    learn_b = seed % 5 == 0
    costs = rng.normal(size=(p, n))
    low, high = (-3.0, 0.5) if learn_b else (-4.0, 4.0)
    native = imop.quadratic_problem(
        matrices, costs, rows, right, "b" if learn_b else "c", (low, high)
    )
    x = cp.Variable(n)
    theta = cp.Parameter(2 if learn_b else p * n)
    linear = costs if learn_b else [theta[i * n : (i + 1) * n] for i in range(p)]
    objectives = [
        0.5 * cp.quad_form(x, cp.psd_wrap(M)) + c @ x for M, c in zip(matrices, linear, strict=True)
    ]
    rules = [x >= 0, rows @ x >= (theta if learn_b else right)]
    true = right if learn_b else costs.ravel()
    weights = rng.dirichlet(np.ones(p), 6)
    Y = np.array([imop.solve(native, true, w) for w in weights])
    Y += 0.02 * rng.normal(size=Y.shape)
    start = np.clip(true + 0.3 * rng.normal(size=true.size), low, high)

    def stated(native: bool):
        return imop.convex_problem(objectives, rules, x, theta, (low, high), native=native)

    return native, stated, start, weights, Y


@pytest.mark.parametrize("seed", range(50))
def test_a_quadratic_program_gives_the_native_answers(seed):
    native, stated, start, weights, Y = drawn_case(seed)
    converted, own = stated(True), stated(False)
    assert converted.program is None
    assert own.program is not None
    for w in weights[:3]:
        x = imop.solve(native, start, w)
        np.testing.assert_allclose(imop.solve(converted, start, w), x, atol=1e-9)
        np.testing.assert_allclose(imop.solve(own, start, w), x, atol=1e-6)
    grid = np.vstack([weights, np.full(native.p, 1.0 / native.p)])  # inside: a grid's ends differ
    learned = [
        imop.OnlineLearner(one, grid, theta0=start, rate=0.5).partial_fit(Y).theta_
        for one in (native, converted)
    ]
    np.testing.assert_allclose(learned[1], learned[0], atol=1e-4)
    if seed % 5:  # the convex loss takes either problem, and goes the same way
        ends = []
        for one in (native, own):
            theta = start
            for y, w in zip(Y[:3], weights, strict=False):
                theta = imop.suboptimality_update(one, theta, y, w, 0.5).theta
            ends.append(theta)
        np.testing.assert_allclose(ends[1], ends[0], atol=1e-4)


def test_the_papers_portfolio_problem_is_recognised_with_its_exact_frontier():
    found = written(anchors={0: TRUE[0]}, names=list("ABCDEFGH"))
    native = imop.portfolio_problem(Q, anchors={0: TRUE[0]}, names=list("ABCDEFGH"))
    assert found.capabilities == native.capabilities
    assert found.names == native.names
    np.testing.assert_allclose(found.covariance, Q, atol=1e-12)
    assert imop.efficient_frontier(found, TRUE).portfolios.shape == (
        imop.efficient_frontier(native, TRUE).portfolios.shape
    )


def test_what_is_no_quadratic_program_keeps_its_own():
    assert tailed().program is not None
    x, r = cp.Variable(3), cp.Parameter(3, nonneg=True)
    curved = imop.convex_problem(
        [cp.sum_squares(x) + r @ cp.square(x), -cp.sum(x)], [x >= 0, x <= 1], x, r, (0.0, 1.0)
    )
    assert curved.program is not None  # theta is in the curvature
    assert imop.capabilities.Capability.SUBOPTIMALITY in curved.capabilities
    moved = cp.Parameter(1)
    constrained = imop.convex_problem(
        [cp.sum_squares(x), cp.norm1(x - 1.0)], [cp.norm(x) <= moved[0]], x, moved, (0.1, 2.0)
    )
    assert imop.capabilities.Capability.SUBOPTIMALITY not in constrained.capabilities


def test_a_tails_frontier_is_a_polyline_that_other_solvers_confirm():
    problem = tailed()
    frontier = imop.efficient_frontier(problem, TRUE)
    assert len(frontier.weights) < 60
    other = tailed(solver="HIGHS")
    for w in (0.2, 0.5, 0.8):
        mine, theirs = (imop.solve(one, TRUE, w) for one in (problem, other))
        np.testing.assert_allclose(mine, theirs, atol=1e-6)
    # a mixture of neighbours is efficient, so nothing is farther from the polyline than rounding
    mixed = 0.3 * frontier.portfolios[:-1] + 0.7 * frontier.portfolios[1:]
    assert frontier.project(mixed).distances.max() < 1e-7
    assert np.all(np.diff(frontier.values[:, 1]) > -1e-9)


def test_slopes_are_those_of_differences():
    problem = written(False)
    w, h = np.array([0.3, 0.7]), 1e-6
    x, slope = problem.program.slope(TRUE, w)
    np.testing.assert_allclose(x, imop.solve(problem, TRUE, 0.3), atol=1e-9)
    for i in range(8):
        step = h * np.eye(8)[i]
        moved = [imop.solve(problem, TRUE + sign * step, 0.3) for sign in (1, -1)]
        np.testing.assert_allclose(slope[:, i], (moved[0] - moved[1]) / (2 * h), atol=1e-3)


def test_slopes_through_second_order_and_exponential_cones():
    x, r = cp.Variable(4), cp.Parameter(4)
    root = np.linalg.cholesky(np.cov(SCENARIOS[:, :4].T)).T
    rules = [cp.sum(x) == 1, x >= 0]
    conic = imop.convex_problem([-r @ x, cp.norm(root @ x)], rules, x, r)
    entropic = imop.convex_problem(
        [-r @ x, cp.log_sum_exp(-5.0 * SCENARIOS[:, :4] @ x)], rules, x, r
    )
    assert conic.program.forward.cones.differentiable
    assert not entropic.program.forward.cones.differentiable
    theta, w, h = np.array([0.1, 0.11, 0.1, 0.12]), 0.4, 1e-3
    for problem in (conic, entropic):
        _, slope = problem.program.slope(theta, np.array([w, 1 - w]))
        for i in range(4):
            step = h * np.eye(4)[i]
            moved = [imop.solve(problem, theta + sign * step, w) for sign in (1, -1)]
            difference = (moved[0] - moved[1]) / (2 * h)
            np.testing.assert_allclose(slope[:, i], difference, atol=5e-3 * np.abs(slope).max())


def test_differences_for_a_slope_stay_within_the_bounds_of_theta():
    x, t, steep = cp.Variable(2), cp.Variable(2), cp.Parameter(2, nonneg=True)
    low = 1e-3  # as far from zero, where nothing has a least value, as a step of the difference
    rules = [cp.sum(x) == 1, x >= 0, cp.exp(-cp.multiply(steep, x)) <= 1 + cp.multiply(steep, t)]
    problem = imop.convex_problem([t[0], t[1]], rules, x, steep, (low, 2.0))
    w = np.array([0.8, 0.2])  # exp(-theta_1 x_1) w_1 = exp(-theta_2 x_2) w_2
    found, slope = problem.program.slope(np.array([2.0, low]), w)
    first = (low + np.log(4.0)) / (2.0 + low)
    np.testing.assert_allclose(found[0], first, atol=1e-5)
    expected = np.array([-first, 1.0 - first]) / (2.0 + low)
    np.testing.assert_allclose(slope[0], expected, atol=0.01)  # 1e-5 of the decision over a step


def test_a_convex_update_is_proven_and_nothing_near_is_better():
    problem = tailed()
    y = np.full(8, 0.125)
    start = np.full(8, 0.1)
    update = imop.suboptimality_update(problem, start, y, 0.5, 2.0)
    assert update.certified
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = np.clip(update.theta + 0.02 * rng.normal(size=8), 0.0, 1.0)
        loss = imop.suboptimality(problem, other, y, 0.5)
        assert 0.5 * np.sum((other - start) ** 2) + 2.0 * loss >= update.bound - 1e-9


def test_a_local_update_says_that_it_proves_nothing_and_is_not_far_from_the_best():
    rng = np.random.default_rng(1)
    native, own = written(), written(False)
    for _ in range(5):
        y = imop.solve(native, TRUE, rng.uniform(0.2, 0.8)) + 0.02 * rng.normal(size=8)
        start = np.clip(TRUE + 0.02 * rng.normal(size=8), 0, 1)
        local = imop.implicit_update(own, start, y, 0.4, 5.0)
        proven = imop.implicit_update(native, start, y, 0.4, 5.0)
        assert not local.certified
        assert local.bound == 0.0
        assert local.objective >= proven.objective - 1e-8
        assert local.objective <= 1.1 * proven.objective


def test_decisions_at_once_move_theta_like_the_native_ones():
    rng = np.random.default_rng(2)
    native, own = (written(flag, anchors={0: TRUE[0], 6: TRUE[6]}) for flag in (True, False))
    Y = np.array([imop.solve(native, TRUE, w) for w in rng.uniform(0.1, 0.9, 30)])
    start = np.clip(TRUE + 0.01 * rng.normal(size=8), 0, 1)
    fits = [imop.fit_batch(one, Y, 41, theta0=start) for one in (native, own)]
    assert fits[1].loss == pytest.approx(fits[0].loss, rel=1e-3)
    joint = imop.batch_update(own, start, Y[:3], [0.3, 0.4, 0.5], 5.0)
    assert not joint.certified
    assert joint.objective < 5.0 / 3 * sum(
        np.sum((y - imop.solve(own, start, w)) ** 2)
        for y, w in zip(Y[:3], (0.3, 0.4, 0.5), strict=True)
    )


def test_what_decisions_cannot_tell_is_said():
    for native in (True, False):
        found = imop.local_identification(written(native, Q[:4, :4]), TRUE[:4], 9)
        assert found.size - found.rank == 2
        assert "adding one number" in found.sentences[0]
        assert "multiplying theta" in found.sentences[1]
        anchored = written(native, Q[:4, :4], anchors={0: TRUE[0], 2: TRUE[2]})
        assert imop.local_identification(anchored, TRUE[:4], 9).sentences == ()


def test_a_program_is_sent_to_another_process_without_cvxpy(tmp_path):
    problem = tailed()
    imop.solve(problem, TRUE, 0.4)  # hot, which does not pickle
    (tmp_path / "problem.pickle").write_bytes(pickle.dumps(problem))
    code = (
        "import pickle, sys, numpy as np, imop_engine as imop;"
        f"problem = pickle.load(open({str(tmp_path / 'problem.pickle')!r}, 'rb'));"
        f"x = imop.solve(problem, {TRUE.tolist()}, 0.4);"
        "print('cvxpy' in sys.modules, *x)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded, *x = done.stdout.split()
    assert loaded == "False"
    np.testing.assert_allclose(np.array(x, float), imop.solve(problem, TRUE, 0.4), atol=1e-9)


# -- what is refused


def wrong(what: str):
    n = 3
    x, r, s = cp.Variable(n), cp.Parameter(n), cp.Parameter(n)
    budget = [cp.sum(x) == 1, x >= 0]
    risk = cp.sum_squares(x)
    calls = {
        "one objective": lambda: imop.convex_problem([risk], budget, x, r),
        "not convex": lambda: imop.convex_problem([-r @ x, -risk], budget, x, r),
        "no DPP": lambda: imop.convex_problem([-cp.multiply(r, s) @ x, risk], budget, x, [r, s]),
        "no convex set": lambda: imop.convex_problem([-r @ x, risk], [risk >= 1], x, r),
        "theta nowhere": lambda: imop.convex_problem([-cp.sum(x), risk], budget, x, r),
        "no value": lambda: imop.convex_problem([-r @ x, risk + s @ x], budget, x, r),
        "solver": lambda: imop.convex_problem([-r @ x, risk], budget, x, r, solver="magic"),
        "no constraint": lambda: imop.convex_problem([-r @ x, risk], [True], x, r),
        "a matrix": lambda: imop.convex_problem([-r @ x, risk], budget, cp.Variable((2, 2)), r),
        "infeasible": lambda: imop.solve(
            imop.convex_problem([-r @ x, cp.norm(x)], [*budget, x >= 0.5], x, r), [1, 2, 3], 0.5
        ),
        "unbounded": lambda: imop.solve(
            imop.convex_problem([-r @ x, cp.norm1(x)], [cp.sum(x) == 1], x, r), [1, 2, 9], 0.9
        ),
    }
    return calls[what]


@pytest.mark.parametrize(
    ("what", "kind", "words"),
    [
        ("one objective", InvalidInput, ["1 objective", "at least two"]),
        ("not convex", InvalidInput, ["objective 2", "concave", "-r @ x"]),
        ("no DPP", InvalidInput, ["objective 1", "DPP", "arrays"]),
        ("no convex set", InvalidInput, ["constraint 1", "convex set"]),
        ("theta nowhere", InvalidInput, ["appears in no objective"]),
        ("no value", InvalidInput, ["without a value", ".value"]),
        ("solver", SolverUnavailable, ["MAGIC", "CLARABEL"]),
        ("no constraint", InvalidInput, ["constraint 1", "cvxpy"]),
        ("a matrix", InvalidInput, ["vector variable"]),
        ("infeasible", Infeasible, ["no decision", "Loosen"]),
        ("unbounded", InvalidInput, ["no least value", "Add bounds"]),
    ],
)
def test_errors_say_what_happened_and_the_remedy(what, kind, words):
    with pytest.raises(kind) as caught:
        wrong(what)()
    for word in words:
        assert word in str(caught.value)


def test_what_needs_arrays_or_a_convex_loss_is_refused_with_a_sentence():
    problem = tailed()
    for call in (
        lambda: imop.constants(problem),
        lambda: imop.OnlineLearner(problem, 5, backend="gurobi").partial_fit(np.eye(8)[:1]),
        lambda: imop.OnlineLearner(problem, "exact", algorithm="newton"),
        lambda: imop.OnlineLearner(problem, 5, algorithm="full", loss="suboptimality"),
    ):
        with pytest.raises(ImopError):
            call()
    moved = imop.quadratic_problem([np.eye(2)] * 2, [[-1.0, -2.0]] * 2, np.eye(2), [0, 0], "b")
    with pytest.raises(InvalidInput, match="affine in theta"):
        imop.OnlineLearner(moved, 5, loss="suboptimality")
