"""Portfolios that miss a limit or the budget: rounded ones keep their zeros, others move least."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import imop_engine as imop
import reference
from imop_engine.efficiency_gap.inside import put_inside

Q, TRUE = reference.SECURITIES_COVARIANCE, reference.SECURITIES_RETURN
ANCHORS = {0: TRUE[0], 6: TRUE[6]}
TIGHT = {"tol_gap_abs": 1e-13, "tol_gap_rel": 1e-13, "tol_feas": 1e-13}


def by_definition(problem, y: np.ndarray, metric: np.ndarray) -> np.ndarray:
    """The portfolio nearest to y within all limits; what has no metric stays where it is."""
    x = cp.Variable(problem.n)
    free = metric > 0
    size = cp.sum(cp.multiply(1.0 / metric[free], cp.square(x[free] - y[free])))
    conditions = [
        problem.equal_rows @ x == problem.equal_rhs,
        x >= problem.lower,
        x <= problem.upper,
    ]
    if len(problem.rhs0):
        conditions.append(problem.rows @ x >= problem.rhs0)
    if not free.all():
        conditions.append(x[~free] == y[~free])
    cp.Problem(cp.Minimize(size), conditions).solve(solver="CLARABEL", **TIGHT)
    return np.asarray(x.value)


def drawn(seed: int, limited: bool):
    """A problem with caps that bind, and portfolios of a few assets that keep all its limits."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 10))
    held = np.zeros((30, n))
    for y in held:
        some = rng.choice(n, int(rng.integers(3, n + 1)), replace=False)
        y[some] = rng.dirichlet(np.full(len(some), 2.0))
    caps = np.quantile(held[held > 0], 0.9)
    limits = []
    if limited:
        some = rng.choice(n, 3, replace=False)
        together = held[:, some].sum(axis=1)
        limits = [({int(i): 1.0 for i in some}, "<=", float(np.quantile(together, 0.7)))]
        limits += [({0: 1.0, 1: -0.5}, ">=", -0.1)]
    problem = imop.portfolio_problem(
        np.eye(n), upper=max(float(caps), 1.2 / n), limits=limits, bounds=(-1.0, 1.0)
    )
    held, _ = put_inside(problem, held)  # the far ones come to lie on caps and limits
    return problem, held


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_rounded_portfolios_keep_their_zeros_and_every_limit(seed, limited):
    problem, held = drawn(seed, limited)
    rounded = np.round(held, 3)
    inside, moved = put_inside(problem, rounded)
    assert np.all(inside[rounded == 0.0] == 0.0)
    assert inside.sum(axis=1) == pytest.approx(np.ones(len(held)), abs=1e-12)
    assert np.all(inside <= problem.upper + 1e-10)
    assert np.all(inside >= -1e-10)
    assert np.all(inside @ problem.rows.T >= problem.rhs0 - 1e-9)
    assert np.all(moved <= 0.001 * problem.n)
    whole = moved == 0.0
    assert np.all(inside[whole] == rounded[whole])
    for t in np.flatnonzero(~whole)[:6]:
        nearest = by_definition(problem, rounded[t], rounded[t])
        assert inside[t] == pytest.approx(nearest, abs=1e-7)
        assert moved[t] == pytest.approx(np.linalg.norm(inside[t] - rounded[t]), abs=1e-15)


def test_without_limits_in_the_way_a_rounded_portfolio_is_scaled():
    held = [[0.333, 0.333, 0.333, 0.0], [0.6665, 0.3345, 0.0, 0.0], [0.5, 0.5005, -0.0002, 0.0]]
    free = imop.portfolio_problem(np.eye(4))
    limited = imop.portfolio_problem(np.eye(4), limits=[({0: 1.0, 1: -1.0}, "<=", 0.9)])
    for problem in (free, limited):
        inside, moved = put_inside(problem, np.array(held))
        assert inside[0] == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0.0], abs=1e-15)
        assert inside[1] == pytest.approx([0.6665 / 1.001, 0.3345 / 1.001, 0, 0], abs=1e-15)
        assert inside[2] == pytest.approx([0.5 / 1.0005, 0.5005 / 1.0005, 0, 0], abs=1e-6)
        assert np.all(moved > 0.0)


def test_who_is_at_a_cap_stays_there_and_the_rest_makes_up_for_it():
    problem = imop.portfolio_problem(np.eye(4), upper=0.333)
    inside, _ = put_inside(
        problem, np.array([[0.333, 0.333, 0.333, 0.0], [0.333, 0.333, 0.2, 0.133]])
    )
    # three caps of 0.333 make no portfolio: the fourth asset must be held
    assert inside[0] == pytest.approx([0.333, 0.333, 0.333, 0.001], abs=1e-12)
    assert inside[1] == pytest.approx([0.333, 0.333, 0.2 * 334 / 333, 0.133 * 334 / 333])


def test_what_misses_by_more_than_rounding_goes_to_the_nearest_portfolio():
    n = 4
    for limits in ([], [({0: 1.0, 1: -1.0}, "<=", 0.9)]):
        problem = imop.portfolio_problem(np.eye(n), limits=limits)
        just, beyond = np.array([0.5, 0.498, 0.0, 0.0]), np.array([0.5, 0.4979, 0.0, 0.0])
        inside, _ = put_inside(problem, np.vstack([just, beyond]))
        assert inside[0] == pytest.approx(just / 0.998, abs=1e-12)  # four halves of 0.001
        assert inside[1] == pytest.approx(beyond + 0.0021 / n, abs=1e-12)


def test_a_holding_that_must_be_kept_is_bought_if_it_was_rounded_away():
    problem = imop.portfolio_problem(np.eye(3), lower=[0.0004, 0.0, 0.0])
    inside, _ = put_inside(problem, np.array([[0.0, 0.5, 0.5]]))
    assert inside[0] == pytest.approx([0.0004, 0.4998, 0.4998], abs=1e-9)


def test_short_positions_are_scaled_too():
    problem = imop.portfolio_problem(np.eye(3), lower=-0.3, upper=1.3)
    inside, _ = put_inside(problem, np.array([[0.701, 0.5, -0.2], [-0.3, 1.301, 0.0]]))
    assert inside[0] == pytest.approx(np.array([0.701, 0.5, -0.2]) / 1.001, abs=1e-12)
    assert inside[1] == pytest.approx([-0.3, 1.3, 0.0], abs=1e-9)


@pytest.mark.parametrize("kind", ["uniform", "normal"])
def test_portfolios_as_they_are_written_tell_the_returns(kind):
    """What is held by hardly anybody shows the difference: it is not taken for wanted."""
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    for seed in range(6):
        rng = np.random.default_rng([61, seed])
        weights = rng.uniform(0.0, 1.0, 1000)
        if kind == "normal":
            weights = np.clip(rng.normal(0.5, 0.15, 1000), 0.0, 1.0)
        written = np.round(imop.efficient_frontier(problem, TRUE).at(weights), 3)
        assert 200 < np.count_nonzero(np.abs(written.sum(axis=1) - 1.0) > 1e-9) < 600
        fit = imop.fit_efficiency(problem, written, rng.uniform(0.0, 1.0, 8))
        assert fit.certified
        assert np.linalg.norm(fit.theta - TRUE) <= 2e-4
        # rounding alone leaves next to nothing: 0.01 basis points a year
        assert imop.efficiency(problem, TRUE, written).gaps.mean() < 1e-6
        for start in (np.zeros(8), np.full(8, 0.1), rng.uniform(0.0, 1.0, 8)):
            learner = imop.OnlineLearner(problem, loss="efficiency", theta0=start)
            learner.partial_fit(written)
            assert np.linalg.norm(learner.theta_ - TRUE) <= 5e-4
