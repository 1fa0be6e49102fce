"""Statements of the paper that no other test covers, each checked on numbers.

docs/method.md says where every equation is computed and tested.
"""

from math import comb, e, sqrt

import numpy as np
import pytest
from scipy.optimize import minimize, nnls

import imop_engine as imop
from imop_engine.weights import lattice
from imop_experiments import appendix, approximation, fig1d, paper

NO_LIMIT = 3600.0  # seconds: however busy the machine is, the program is solved to its end
# The search ends when a step improves f_1 (about 17 here) by less: at 1e-12 rounding decides, which
# differs between processors, and some report a failed line search at the solution itself.
SETTLED = 1e-8
B, R = sqrt(18.0), sqrt(2 * 3.5**2)  # the MQP's polygon, and decisions up to (3.5, 3.5)


def objectives(X: np.ndarray) -> np.ndarray:
    """f_1 and f_2 of the MQP at each row."""
    Q = paper.mqp("c").quadratic
    c = paper.MQP_TRUTH["c"].reshape(2, 2)
    return np.column_stack(
        [0.5 * np.einsum("ti,ij,tj->t", X, Q[k], X) + X @ c[k] for k in range(2)]
    )


def gradient(x: np.ndarray, k: int) -> np.ndarray:
    """The gradient of f_k at x."""
    return paper.mqp("c").quadratic[k] @ x + paper.MQP_TRUTH["c"].reshape(2, 2)[k]


def feasible(count: int, rng: np.random.Generator) -> np.ndarray:
    X = rng.uniform(0.0, 3.0, (4 * count, 2))
    return X[3.0 * X[:, 0] - X[:, 1] <= 6.0][:count]


@pytest.mark.parametrize("w", [0.01, 0.2, 0.5, 0.8, 0.99])
def test_proposition_1_a_positive_weight_gives_an_efficient_decision(w):
    others = objectives(feasible(20_000, np.random.default_rng(0)))
    chosen = objectives(imop.solve(paper.mqp("c"), paper.MQP_TRUTH["c"], w)[None])[0]
    dominating = np.all(others <= chosen, axis=1) & np.any(others < chosen - 1e-12, axis=1)
    assert not dominating.any()


@pytest.mark.parametrize("share", [0.1, 0.4, 0.7, 0.95])
def test_proposition_2_every_efficient_decision_has_a_weight(share):
    """An efficient decision found without weights: min f_1 while f_2 stays below a limit."""
    problem, theta = paper.mqp("c"), paper.MQP_TRUTH["c"]
    ends = objectives(np.array([imop.solve(problem, theta, w) for w in (0.0, 1.0)]))[:, 1]
    limit = ends[0] + share * (ends[1] - ends[0])
    rows = [
        {
            "type": "ineq",
            "fun": lambda x: limit - objectives(x[None])[0, 1],
            "jac": lambda x: -gradient(x, 1),
        },
        {
            "type": "ineq",
            "fun": lambda x: 6.0 - 3.0 * x[0] + x[1],
            "jac": lambda x: np.array([-3.0, 1.0]),
        },
    ]
    found = minimize(
        lambda x: objectives(x[None])[0, 0], [2.0, 2.0], jac=lambda x: gradient(x, 0),
        bounds=[(0, 3), (0, 3)], constraints=rows, method="SLSQP", options={"ftol": SETTLED},
    )  # fmt: skip
    assert found.success
    near = imop.efficient_frontier(problem, theta).project(found.x)
    assert near.distances[0] < 1e-5
    assert 0.0 <= near.weights[0] <= 1.0


def test_the_surrogate_loss_in_its_three_forms():
    """min_k ‖y − x_k‖², with binaries z, and the appendix's sum − (K − 1)‖y‖²."""
    problem, rng = paper.mqp("c"), np.random.default_rng(1)
    learner = imop.OnlineLearner(problem, weights=11)
    X = np.array([imop.solve(problem, learner.theta_, w) for w in learner.weights_])
    for y in rng.uniform(-0.5, 3.5, (20, 2)):
        plain = min(np.sum((y - x) ** 2) for x in X)
        chosen = [np.sum((y - np.eye(11)[k] @ X) ** 2) for k in range(11)]
        sums = [
            sum(np.sum((y - (j == k) * X[j]) ** 2) for j in range(11)) - 10 * np.sum(y**2)
            for k in range(11)
        ]
        assert min(chosen) == pytest.approx(plain, abs=1e-12)
        assert min(sums) == pytest.approx(plain, abs=1e-10)
        assert learner.assign(y).distances[0] ** 2 == pytest.approx(plain, abs=1e-12)


@pytest.mark.parametrize(("y", "side"), [(9.0, 1), (1.0, 0)])
def test_the_ideal_update_in_closed_form(y, side):
    """X_E = [θ_1, θ_2]: only the end next to y moves, to (θ + 2ηy)/(1 + 2η)."""
    problem = appendix.problem(1, ([2.0, 5.0], [5.0, 8.0]))
    start, eta = np.array([3.0, 6.0]), 0.3
    wanted = start.copy()
    wanted[side] = (start[side] + 2 * eta * y) / (1 + 2 * eta)
    learner = imop.OnlineLearner(
        problem, weights=21, algorithm="full", rate=lambda t: eta, theta0=start
    )
    learner.partial_fit([[y]])
    assert learner.theta_ == pytest.approx(np.clip(wanted, [2, 5], [5, 8]), abs=1e-8)


def test_a_weighted_sum_is_as_strongly_convex_as_the_weakest_objective():
    problem = approximation.three()
    least = min(np.linalg.eigvalsh(Q)[0] for Q in problem.quadratic)
    for w in lattice(3, 66):
        assert np.linalg.eigvalsh(np.einsum("k,kij->ij", w, problem.quadratic))[0] >= least - 1e-12


@pytest.mark.slow
def test_lemma_lipschitz_of_decisions_and_of_the_loss():
    """‖S(w, θ_1) − S(w, θ_2)‖ ≤ 2κ/λ ‖θ_1 − θ_2‖ and |l(y, θ_1) − l(y, θ_2)| ≤ 4(B + R)κ/λ …"""
    problem, rng = paper.mqp("c"), np.random.default_rng(2)
    constants = imop.constants(problem, radius=R)
    assert pytest.approx(B) == constants.B
    ratio = constants.kappa / constants.lam
    for _ in range(40):
        one = rng.uniform(problem.theta.lower, problem.theta.upper)
        two = np.clip(one + rng.normal(0, 0.3, 4), problem.theta.lower, problem.theta.upper)
        apart, w = float(np.linalg.norm(one - two)), float(rng.uniform())
        moved = imop.solve(problem, one, w) - imop.solve(problem, two, w)
        assert np.linalg.norm(moved) <= 2 * ratio * apart + 1e-12
        y = rng.uniform(-0.5, 3.5, (1, 2))
        losses = [
            imop.efficient_frontier(problem, t).project(y).distances[0] ** 2 for t in (one, two)
        ]
        assert abs(losses[0] - losses[1]) <= 4 * (constants.B + constants.R) * ratio * apart + 1e-9


@pytest.mark.parametrize(("p", "steps"), [(2, 5), (3, 4), (3, 9), (4, 5)])
def test_the_lattice_covers_the_simplex_as_the_appendix_says(p, steps):
    """K = C(Λ + p − 2, p − 1); every weight is within √2/(Λ − 1) of a sampled one."""
    spaces = steps  # Λ − 1
    K = comb(spaces + 1 + p - 2, p - 1)
    grid = lattice(p, K)
    drawn = np.random.default_rng(3).dirichlet(np.ones(p), 4000)
    nearest = np.sqrt(((drawn[:, None] - grid[None]) ** 2).sum(axis=2)).min(axis=1)
    assert len(grid) == K
    assert nearest.max() <= sqrt(2) / spaces + 1e-12


@pytest.mark.parametrize("p", [2, 3, 4, 5])
def test_the_second_form_of_the_approximation_bound_is_weaker_than_the_first(p):
    """e/K^(1/(p−1)) > (p − 1)/(Λ + p − 2) ≥ p/(4(Λ − 1)) for Λ ≥ p.

    The proof writes > twice; for p = Λ = 2 the second is an equality, which is enough.
    """
    for points in range(p, 60):
        K = comb(points + p - 2, p - 1)
        assert e / K ** (1 / (p - 1)) > (p - 1) / (points + p - 2) >= p / (4 * (points - 1))


@pytest.mark.parametrize("n", [1, 2])
def test_the_examples_loss_is_the_distance_to_the_engines_frontier(n):
    problem, rng = appendix.problem(n), np.random.default_rng(n)
    for _ in range(5):
        theta, y = rng.uniform(0, 10, 2 * n), rng.uniform(0, 10, n)
        found = imop.efficient_frontier(problem, theta).project(y[None])
        assert found.distances[0] ** 2 == pytest.approx(appendix.loss(theta, y), abs=1e-6)


def test_the_search_for_the_ideal_loss_of_three_objectives_is_exact_where_it_can_be_known():
    """Equal Q: X_E is the triangle of the three minima, and projecting on it is a small program."""
    corners = np.array([[1.0, 2.0, 0.5], [3.0, 0.5, 1.0], [0.5, 1.0, 3.0]])
    problem = imop.quadratic_problem([np.eye(3)] * 3, list(-corners), bounds=(-6.0, 0.0), upper=6.0)
    Y = np.random.default_rng(4).uniform(0.0, 4.0, (4, 3))
    found = approximation._ideal_search(problem, -corners.ravel(), Y)
    heavy = 1e5  # makes "the weights add up to one" hold to about 1e-10
    for y, value in zip(Y, found, strict=True):
        w, _ = nnls(np.vstack([corners.T, heavy * np.ones(3)]), np.append(y, heavy))
        assert value == pytest.approx(float(np.sum((y - w @ corners) ** 2)), abs=1e-6)


@pytest.mark.slow
def test_the_batch_program_is_below_every_local_answer():
    pytest.importorskip("gurobipy")
    problem, rng = paper.mqp("c"), np.random.default_rng(5)
    Y, _ = paper.mqp_decisions(3, rng)
    least, proven = fig1d.batch_program(Y, np.linspace(0.0, 1.0, 5), limit=NO_LIMIT)
    starts = rng.uniform(problem.theta.lower, problem.theta.upper, (40, 4))
    local = [imop.fit_batch(problem, Y, weights=5, theta0=start).loss for start in starts]
    assert proven
    assert least <= min(local) + 1e-5
    assert min(local) <= least + 0.05
