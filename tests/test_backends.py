"""All backends give the same answers, and say in one sentence what they cannot do."""

from __future__ import annotations

import numpy as np
import pytest

import imop_engine as imop
from imop_engine.backends import Backend, make_backend
from imop_engine.capabilities import Capability
from imop_engine.errors import Infeasible, InvalidInput, SolverUnavailable
from imop_engine.problem import Problem
from imop_engine.weights import weight_grid

pytest.importorskip("gurobipy")

pytestmark = pytest.mark.slow

RATE = 3.0


def portfolio(seed: int, caps: bool = False, anchored: bool = True) -> Problem:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    factor = rng.normal(0.0, 0.3, (n, n))
    anchors = {0: 0.05, n - 1: 0.12} if anchored and n > 2 else None
    return imop.portfolio_problem(
        factor @ factor.T + 0.02 * np.eye(n),
        upper=max(0.45, 1.05 / n) if caps else 1.0,
        bounds=(0.0, 0.4),
        anchors=anchors,
    )


def mqp(learn: str) -> Problem:
    """The paper's MQP."""
    low, high = ([1, 0.5, -8, -8], [6, 4, -4, -3]) if learn == "c" else ([-8, -4], [-4, -2])
    return imop.quadratic_problem(
        Q=[np.diag([1.0, 2.0]), np.diag([2.0, 1.0])],
        c=[[3.0, 1.0], [-6.0, -5.0]],
        A=[[-3.0, 1.0], [0.0, -1.0]],
        b=[-6.0, -3.0],
        learn=learn,
        bounds=(low, high),
    )


def draw(problem: Problem, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, 1])
    theta_set = problem.theta
    theta = theta_set.nearest(rng.uniform(theta_set.lower, theta_set.upper))
    if problem.can(Capability.BUDGET_AND_CAPS):
        return theta, rng.dirichlet(np.full(problem.n, 0.7))
    return theta, rng.uniform(0.0, 3.0, problem.n)


def close(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-6 * abs(other) + 1e-9


def agree(native: Backend, other: Backend, problem: Problem, seed: int, places: list[int]) -> None:
    theta, y = draw(problem, seed)
    for k in places:
        ours, theirs = native.update(theta, y, k, RATE), other.update(theta, y, k, RATE)
        assert close(ours.objective, theirs.objective), (seed, k, ours, theirs)
        assert ours.bound <= theirs.objective + 1e-9
        assert theirs.bound <= ours.objective + 1e-6 * ours.objective + 1e-9
        assert problem.theta.contains(theirs.theta)


@pytest.mark.parametrize("pairs", ["sos1", "bigm"])
@pytest.mark.parametrize("seed", range(6))
def test_gurobi_and_native_agree_on_portfolios(seed: int, pairs: str) -> None:
    problem = portfolio(seed, caps=seed % 2 == 1, anchored=seed % 3 != 2)
    grid = weight_grid(problem, 11)
    gurobi = make_backend("gurobi", problem, grid, pairs=pairs, tolerance="tight")
    agree(make_backend("native", problem, grid), gurobi, problem, seed, [1, 4, 7, 9])


@pytest.mark.parametrize("pairs", ["sos1", "bigm"])
@pytest.mark.parametrize("learn", ["c", "b"])
def test_gurobi_and_native_agree_on_the_mqp(learn: str, pairs: str) -> None:
    problem = mqp(learn)
    grid = weight_grid(problem, 11)
    gurobi = make_backend("gurobi", problem, grid, pairs=pairs, tolerance="tight")
    for seed in range(4):
        agree(make_backend("native", problem, grid), gurobi, problem, seed, [0, 3, 6, 10])


def test_default_tolerances_are_within_gurobis_own_gap() -> None:
    problem = portfolio(3)
    grid = weight_grid(problem, 5)
    native, gurobi = make_backend("native", problem, grid), make_backend("gurobi", problem, grid)
    theta, y = draw(problem, 3)
    ours, theirs = native.update(theta, y, 2, RATE), gurobi.update(theta, y, 2, RATE)
    assert theirs.objective <= ours.objective * (1 + 1e-3) + 1e-6


@pytest.mark.parametrize("name", ["gurobi", "cvxpy"])
@pytest.mark.parametrize("problem", [portfolio(1, caps=True), portfolio(5), mqp("c"), mqp("b")])
def test_forward_solves_agree(problem: Problem, name: str) -> None:
    grid = weight_grid(problem, 7)
    other = make_backend(name, problem, grid)
    native = make_backend("native", problem, grid)
    for seed in range(3):  # the same models again: only their numbers change
        theta, _ = draw(problem, seed)
        expected = native.decisions(theta)
        assert expected.shape == (7, problem.n)
        # An interior-point method with a gap of 1e-8 sees a bound that is just met to 1e-4 only.
        assert np.abs(other.decisions(theta) - expected).max() < 2e-4
    assert np.allclose(expected[2], imop.solve(problem, theta, grid[2]))


@pytest.mark.parametrize("problem", [portfolio(1), mqp("c"), mqp("b")])
def test_the_single_level_form_is_the_least_of_the_per_weight_programs(problem: Problem) -> None:
    grid = weight_grid(problem, 3)
    tight = {"tolerance": "tight"}
    single = make_backend("gurobi", problem, grid, form="single", **tight)
    each = make_backend("gurobi", problem, grid, **tight)
    cut = make_backend("gurobi", problem, grid, cutoff=True, **tight)
    native = make_backend("native", problem, grid)
    for seed in range(3):
        theta, y = draw(problem, seed)
        best = min(native.update(theta, y, k, RATE).objective for k in range(3))
        for backend in (single, each, cut, native):
            update, k = backend.full_update(theta, y, RATE)
            assert close(update.objective, best)
            assert close(native.update(theta, y, k, RATE).objective, best)


def test_the_answer_does_not_depend_on_what_was_solved_before() -> None:
    problem = portfolio(4)
    grid = weight_grid(problem, 5)
    hot = make_backend("gurobi", problem, grid, tolerance="tight")
    for seed in (1, 2, 3):
        theta, y = draw(problem, seed)
        cold = make_backend("gurobi", problem, grid, tolerance="tight")
        ours, theirs = hot.update(theta, y, 2, RATE), cold.update(theta, y, 2, RATE)
        assert close(ours.objective, theirs.objective)


def test_beyond_the_licence_the_error_names_limit_size_and_remedy() -> None:
    problem = imop.portfolio_problem(np.eye(70) * 0.04)
    backend = make_backend("gurobi", problem, [0.5])
    with pytest.raises(SolverUnavailable) as caught:
        backend.update(np.full(70, 0.1), np.full(70, 1 / 70), 0, RATE)
    text = str(caught.value)
    assert "200 variables" in text
    assert "has 211 variables" in text
    assert "backend='native'" in text


def test_missing_gurobipy_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from imop_engine.backends import gurobi_

    monkeypatch.setitem(sys.modules, "gurobipy", None)
    monkeypatch.setattr(gurobi_, "_environments", {})
    with pytest.raises(SolverUnavailable, match=r"gurobipy is not installed.*backend='native'"):
        make_backend("gurobi", portfolio(0), [0.5])


def test_unknown_names_say_what_exists() -> None:
    problem = portfolio(0)
    with pytest.raises(InvalidInput, match="no backend 'cplex'; use one of native, gurobi, cvxpy"):
        make_backend("cplex", problem, [0.5])
    with pytest.raises(InvalidInput, match="pairs is 'big'; use one of sos1, bigm"):
        make_backend("gurobi", problem, [0.5], pairs="big")
    with pytest.raises(InvalidInput, match="form is 'all'; use one of per-weight, single"):
        make_backend("gurobi", problem, [0.5], form="all")
    with pytest.raises(InvalidInput, match="tolerance is 'loose'"):
        make_backend("gurobi", problem, [0.5], tolerance="loose")
    with pytest.raises(InvalidInput, match="does not take all of the options speed"):
        make_backend("gurobi", problem, [0.5], speed=2)
    with pytest.raises(SolverUnavailable, match="no solver NONE; the installed ones are"):
        make_backend("cvxpy", problem, [0.5], solver="none")
    with pytest.raises(InvalidInput, match="one row of 2 numbers"):
        make_backend("native", problem, [[0.2, 0.3, 0.5]])
    with pytest.raises(InvalidInput, match="add up to one"):
        make_backend("native", problem, [[0.2, 0.3]])


def test_cvxpy_does_forward_solves_only() -> None:
    backend = make_backend("cvxpy", portfolio(0), [0.5])
    with pytest.raises(SolverUnavailable, match=r"forward solves only.*native.*gurobi"):
        backend.update([0.1], [1.0], 0, 1.0)
    with pytest.raises(SolverUnavailable, match="forward solves only"):
        backend.full_update([0.1], [1.0], 1.0)


def test_big_m_needs_finite_bounds() -> None:
    unbounded = imop.quadratic_problem(
        [np.eye(2), 2 * np.eye(2)], [[-1.0, -1.0], [-2.0, 1.0]], learn="c", bounds=(-3.0, 3.0)
    )
    backend = make_backend("gurobi", unbounded, [0.5], pairs="bigm")
    with pytest.raises(InvalidInput, match=r"x1 has no finite bounds.*pairs='sos1'"):
        backend.update(np.zeros(4), [0.5, 0.5], 0, 1.0)


@pytest.mark.parametrize("name", ["gurobi", "cvxpy"])
def test_an_empty_feasible_set_is_named(name: str) -> None:
    empty = imop.quadratic_problem(
        [np.eye(1), np.eye(1)], [[1.0], [-1.0]], A=[[1.0], [-1.0]], b=[0.0, -1.0], learn="b",
        bounds=(-2.0, 2.0),
    )  # fmt: skip
    with pytest.raises(Infeasible):
        make_backend(name, empty, [0.5]).decisions([1.5, 0.0])
