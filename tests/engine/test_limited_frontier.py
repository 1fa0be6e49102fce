"""Frontiers where limits bind sums of holdings: against enumeration, two solvers, and where they
degenerate."""

from __future__ import annotations

import daqp
import numpy as np
import pytest
from cvxcla import CLA

import imop_engine as imop
from imop_engine.capabilities import Capability
from imop_engine.limits import LinearLimit
from imop_engine.weights import lam_of
from reference_limits import best_portfolio

RELATIONS = ("<=", ">=", "=")


def drawn(rng, n, count, short=False, repeated=False):
    """A covariance, returns and limits that at least one portfolio keeps."""
    root = rng.normal(size=(n, n + 3))
    Q = 0.04 * root @ root.T / n + 0.002 * np.eye(n)
    inside, limits = rng.dirichlet(np.ones(n)), []
    for _ in range(count):
        some = rng.choice(n, max(2, n // 4), replace=False)
        held = {int(i): float(rng.choice([1.0, rng.uniform(0.2, 1.0)])) for i in some}
        value = sum(factor * inside[i] for i, factor in held.items())
        relation = RELATIONS[rng.choice(3, p=(0.5, 0.35, 0.15))]
        room = 0.0 if repeated else 0.2 * rng.random()
        value *= {"<=": 1.0 + room, ">=": 1.0 - room, "=": 1.0}[relation]
        limits.append((held, relation, value))
        if repeated:  # the same again, and sometimes from the other side: no room is left
            limits.append((held, relation, value))
            limits.append((held, ">=" if relation == "<=" else "<=", value))
    lower = -0.2 if short else 0.0
    problem = imop.portfolio_problem(Q, upper=0.7, lower=lower, limits=limits)
    return problem, rng.uniform(0.0, 0.12, n)


def by_daqp(problem, theta, lam):
    size = problem.covariance.max()
    rows = np.vstack([problem.rows, problem.equal_rows])
    above = np.concatenate([np.full(len(problem.rhs0), 1e30), problem.equal_rhs])
    below = np.concatenate([problem.rhs0, problem.equal_rhs])
    kinds = np.zeros(problem.n + len(above), np.int32)
    kinds[problem.n + len(problem.rhs0) :] = 5  # equations
    x, _, flag, _ = daqp.solve(
        problem.covariance / size, -lam * theta / size, np.ascontiguousarray(rows),
        np.concatenate([problem.upper, above]), np.concatenate([problem.lower, below]), kinds,
        primal_tol=1e-12, dual_tol=1e-12,
    )  # fmt: skip
    assert flag == 1
    return x


@pytest.mark.parametrize("seed", range(6))
def test_it_is_what_enumeration_finds(seed):
    rng = np.random.default_rng(seed)
    problem, theta = drawn(rng, 4, 3, short=seed % 2 == 1, repeated=seed % 3 == 2)
    frontier = imop.efficient_frontier(problem, theta)
    for weight in (0.0, 0.3, 0.8, 0.99):
        expected = best_portfolio(problem, theta, float(lam_of(weight)))
        assert np.abs(frontier.at(weight) - expected).max() < 1e-8


@pytest.mark.parametrize("seed", range(30))
def test_it_is_what_a_solver_finds(seed):
    rng = np.random.default_rng(100 + seed)
    n, count = int(rng.integers(5, 31)), int(rng.integers(1, 11))
    problem, theta = drawn(rng, n, count, short=seed % 3 == 0, repeated=seed % 5 == 4)
    frontier = imop.efficient_frontier(problem, theta)
    turn = frontier.lams[rng.integers(len(frontier.lams))]
    for lam in (0.0, turn, *np.exp(rng.uniform(-4, 2, 2))):
        found = frontier.at(2 * lam / (1 + 2 * lam))
        assert np.abs(found - by_daqp(problem, theta, lam)).max() < 1e-8
        assert np.all(problem.rows @ found >= problem.rhs0 - 1e-12)
        assert np.abs(problem.equal_rows @ found - problem.equal_rhs).max() < 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_frontier_of_cvxcla(seed):
    rng = np.random.default_rng(seed)
    problem, theta = drawn(rng, 12, 5, short=seed % 2 == 1)
    frontier = imop.efficient_frontier(problem, theta)
    other = CLA(
        mean=theta, covariance=problem.covariance, lower_bounds=problem.lower,
        upper_bounds=problem.upper, a=problem.equal_rows, b=problem.equal_rhs,
        g=-problem.rows, h=-problem.rhs0,
    )  # fmt: skip
    turns = np.array([one.weights for one in other.turning_points])
    lams = np.array([one.lamb for one in other.turning_points])
    for x, lam in zip(turns[np.isfinite(lams)], lams[np.isfinite(lams)], strict=True):
        assert np.abs(frontier.at(2 * lam / (1 + 2 * lam)) - x).max() < 1e-8


def test_every_degenerate_case_has_its_rule():
    Q, theta = np.diag([0.04, 0.05, 0.06, 0.07]), np.array([0.02, 0.05, 0.05, 0.08])
    pair = {0: 1.0, 1: 1.0}

    def frontier(limits, returns=theta, covariance=Q):
        return imop.efficient_frontier(imop.portfolio_problem(covariance, limits=limits), returns)

    # one point is all that is allowed: three equations and the budget
    point = frontier([(pair, "=", 0.5), ({0: 1, 2: 1}, "=", 0.4), ({0: 1, 3: 2}, "=", 0.8)])
    assert np.allclose(point.at([0.0, 0.5, 1.0]), [0.2, 0.3, 0.2, 0.3], atol=1e-12)
    # limits twice, and limits that follow from others
    once = frontier([(pair, "<=", 0.3)])
    again = frontier([(pair, "<=", 0.3), ({0: 2, 1: 2}, "<=", 0.6), ({0: 1, 1: 1, 2: 1}, "<=", 1)])
    assert np.allclose(once.at([0.1, 0.5, 0.9]), again.at([0.1, 0.5, 0.9]), atol=1e-12)
    assert np.allclose(once.at([0.1, 0.9])[:, :2].sum(axis=1), [0.3, 0.3 * 0], atol=0.31)
    # a limit that holds from end to end is an equation
    held, equal = frontier([(pair, ">=", 0.9)]), frontier([(pair, "=", 0.9)])
    assert np.allclose(held.at([0.1, 0.5, 0.9]), equal.at([0.1, 0.5, 0.9]), atol=1e-12)
    # returns that are all alike leave the portfolio of least variance
    alike = frontier([(pair, "<=", 0.3)], np.full(4, 0.05))
    assert np.allclose(alike.portfolios, alike.at(0.0), atol=1e-12)
    # a covariance without full rank, and assets that are one and the same
    same = np.full((4, 4), 0.04)
    flat = frontier([(pair, "<=", 0.3)], theta, same)
    assert flat.at(0.999)[:2].sum() <= 0.3 + 1e-9
    assert flat.at(0.999)[3] == pytest.approx(1.0)


def test_limits_on_one_asset_are_bounds():
    Q = np.diag([0.04, 0.05, 0.06])
    problem = imop.portfolio_problem(Q, limits=[({2: 1}, "<=", 0.2), ({0: -2}, ">=", -0.8)])
    assert problem.can(Capability.BUDGET_AND_CAPS)
    assert problem.upper.tolist() == [0.4, 1.0, 0.2]
    least = imop.portfolio_problem(Q, limits=[({0: 1}, ">=", 0.1)])
    assert least.lower[0] == 0.1
    assert not least.can(Capability.BUDGET_AND_CAPS)
    x = imop.efficient_frontier(least, [0.0, 0.1, 0.2]).at(0.999)
    assert x == pytest.approx([0.1, 0.0, 0.9])


def test_active_limits_are_those_of_holdings_less_the_benchmarks():
    Q, benchmark = np.diag([0.04, 0.05, 0.06]), [0.5, 0.3, 0.2]
    problem = imop.portfolio_problem(
        Q, benchmark=benchmark, active_limits=[({1: 1, 2: 1}, "<=", 0.1), ({0: 1}, ">=", -0.1)]
    )
    x = imop.efficient_frontier(problem, [0.0, 0.1, 0.2]).at(0.999)
    assert x == pytest.approx([0.4, 0.0, 0.6])
    with pytest.raises(imop.errors.InvalidInput, match="compare holdings with a benchmark"):
        imop.portfolio_problem(Q, active_limits=[({0: 1}, ">=", -0.1)])


def test_limits_that_contradict_one_another_are_named():
    Q = np.diag([0.04, 0.05, 0.06])
    with pytest.raises(imop.errors.Infeasible, match="A \\+ B at most 30%"):
        imop.portfolio_problem(
            Q, names=["A", "B", "C"],
            limits=[({"A": 1, "B": 1}, "<=", 0.3), LinearLimit({"B": 1, "C": 1}, "<=", 0.6)],
        )  # fmt: skip
    with pytest.raises(imop.errors.InvalidInput, match="lower must be finite"):
        imop.portfolio_problem(Q, lower=-np.inf)


def test_projection_is_nearest_of_many_points():
    rng = np.random.default_rng(8)
    problem, theta = drawn(rng, 8, 4)
    frontier = imop.efficient_frontier(problem, theta)
    Y = rng.dirichlet(np.ones(8), 5)
    found = frontier.project(Y)
    many = frontier.at(np.linspace(0.0, 0.99999, 20001))
    nearest = np.linalg.norm(Y[:, None] - many[None], axis=2).min(axis=1)
    assert np.all(found.distances <= nearest + 1e-12)
    assert np.allclose(found.distances, nearest, atol=1e-3)


def test_updates_and_streams_take_limits():
    rng = np.random.default_rng(3)
    Q = np.diag([0.04, 0.09, 0.16, 0.2])
    problem = imop.portfolio_problem(
        Q, limits=[({1: 1, 2: 1}, "<=", 0.5)], anchors={0: 0.03, 3: 0.12}, bounds=(0.0, 0.3)
    )
    truth = np.array([0.03, 0.09, 0.08, 0.12])
    Y = imop.efficient_frontier(problem, truth).at(rng.uniform(0.1, 0.9, 60))
    update = imop.implicit_update(problem, [0.03, 0.05, 0.05, 0.12], Y[0], 0.4, 5.0)
    other = imop.implicit_update(
        problem, [0.03, 0.05, 0.05, 0.12], Y[0], 0.4, 5.0, backend="gurobi"
    )
    assert update.certified
    assert update.objective == pytest.approx(other.objective, rel=1e-6)
    for options in ({"weights": 11}, {"weights": "exact"}, {"weights": 6, "algorithm": "full"}):
        learner = imop.OnlineLearner(problem, **options).partial_fit(Y)
        assert learner.certified_ == 1.0
        early, late = learner.losses_[:20].mean(), learner.losses_[-20:].mean()
        assert late < (1e-6 if learner.exact else early)
    with pytest.raises(imop.errors.InvalidInput, match="limits on what is held together"):
        imop.OnlineLearner(problem, "exact", "newton")


def test_what_is_left_on_the_table_knows_limits():
    rng = np.random.default_rng(5)
    problem, theta = drawn(rng, 8, 3)
    anchored = imop.portfolio_problem(
        problem.covariance, upper=0.7, anchors={0: theta[0], 1: theta[1]}, bounds=(-0.5, 0.5),
        limits=problem.limits,
    )  # fmt: skip
    Y = imop.efficient_frontier(anchored, theta).at(rng.uniform(0.05, 0.9, 80))
    assert imop.efficiency(anchored, theta, Y).gaps.max() < 1e-9
    fit = imop.fit_efficiency(anchored, Y)
    assert fit.certified
    assert fit.value < 1e-9
    near = theta + 0.02 * rng.normal(size=8)
    updates = [imop.efficiency_update(anchored, near, y, 0.05) for y in Y[:10]]
    assert all(one.certified for one in updates)
    assert max(one.bound for one in updates) > 0.0
    learner = imop.OnlineLearner(anchored, loss="efficiency").partial_fit(Y)
    assert learner.certified_ > 0.9
    assert learner.losses_[40:].mean() < 0.2 * learner.losses_[:20].mean()
