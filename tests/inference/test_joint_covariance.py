"""Returns and covariance together: the derivatives of their loss, and what they gain."""

import numpy as np
import pytest

import imop_engine as imop
import reference
from imop_engine.inference.information import information
from imop_engine.inference.joint_covariance import (
    JointFit,
    _Search,
    allowed_covariance,
    fit_together,
    with_covariance,
)

Q, R = reference.SECURITIES_COVARIANCE, reference.SECURITIES_RETURN
ANCHORS = {0: R[0], 6: R[6]}
PERIODS = 120


def inside(problem, theta, count, seed, noise=0.0):
    """Portfolios whose nearest efficient ones lie well within a stretch of three or more assets."""
    rng = np.random.default_rng(seed)
    frontier = imop.efficient_frontier(problem, theta)
    held = frontier.at(rng.uniform(0.1, 0.9, 20 * count))
    room = np.where(held > 0, held, 1.0).min(axis=1)
    held = held[(room > 0.02) & ((held > 0).sum(axis=1) > 2)][:count]
    assert len(held) == count
    error = np.where(held > 0, rng.normal(0.0, noise, held.shape), 0.0)
    error -= np.where(held > 0, error.sum(axis=1, keepdims=True) / (held > 0).sum(1)[:, None], 0)
    held = held + error
    places = information(frontier, held).places
    smooth = np.concatenate([place.rows for place in places if np.any(place.direction)])
    return held[np.sort(smooth)]


def moved(search, point, step):
    """The penalised loss after a step in (returns in their plane, upper half of A)."""
    k = search.plane.shape[1]
    A = np.zeros_like(point.A)
    A[search.pairs] = step[k:]
    A = A + A.T - np.diag(np.diag(A))
    there = search.at(point.A + A, point.theta + search.plane @ step[:k])
    return search.objective(there, point.noise_sd)


def test_the_gradient_is_that_of_the_penalised_loss():
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    search = _Search(problem, inside(problem, R, 12, 0, 0.002), PERIODS)
    rng = np.random.default_rng(1)
    A = 0.003 * rng.normal(size=(8, 8))
    point = search.at(A + A.T, R + search.plane @ (0.0005 * rng.normal(size=6)))
    _, gradient = search.sums(point)
    for _ in range(6):
        step = 1e-6 * rng.normal(size=len(gradient))
        slope = (moved(search, point, step) - moved(search, point, -step)) / 2
        assert slope == pytest.approx(-float(gradient @ step), rel=1e-3, abs=1e-9)


def test_the_information_bends_like_the_loss_where_nothing_is_left():
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    search = _Search(problem, inside(problem, R, 12, 0), PERIODS)
    point = search.at(np.zeros((8, 8)), R)
    H, gradient = search.sums(point)
    assert np.abs(gradient).max() < 1e-6 * np.abs(H).max()
    rng = np.random.default_rng(2)
    for _ in range(6):
        step = rng.normal(size=len(gradient)) * 1e-5
        bend = moved(search, point, step) + moved(search, point, -step)
        bend -= 2 * moved(search, point, 0 * step)
        assert bend == pytest.approx(float(step @ H @ step), rel=1e-2)
    both, given = search.covariances(point)
    assert np.all(np.linalg.eigvalsh(both - given) > -1e-12)  # not knowing it costs
    rows = problem.theta.equalities
    np.testing.assert_allclose(rows @ both, 0.0, atol=1e-12)  # anchors stay where they are


@pytest.mark.parametrize("seed", range(3))
def test_a_covariance_of_few_months_is_corrected(seed):
    """Investors know the covariance; the analyst has its estimate from 240 months."""
    rng, periods = np.random.default_rng(seed), 240
    free = imop.portfolio_problem(Q)
    held = imop.efficient_frontier(free, R).at(rng.uniform(0.05, 0.95, 120))
    held = np.maximum(held + np.where(held > 0, rng.normal(0, 0.001, held.shape), 0), 0)
    held /= held.sum(axis=1, keepdims=True)
    truth = imop.anchor_by_history(free, R, held)
    months = rng.multivariate_normal(np.zeros(8), Q, periods)
    seen = with_covariance(truth, np.cov(months.T))
    alone = imop.refine(seen, held, R).theta
    found = fit_together(seen, held, alone, periods)
    assert np.linalg.norm(found.theta - R) < 0.5 * np.linalg.norm(alone - R)
    assert found.noise_sd < 0.005
    assert np.all(np.linalg.eigvalsh(found.covariance - found.given_covariance) > -1e-12)
    rows, values = truth.theta.equalities, truth.theta.values
    np.testing.assert_allclose(rows @ found.theta, values, atol=1e-9)


def test_an_asset_that_no_stretch_tells_of_leaves_the_others_known():
    """An anchor with a crumb of it must not carry what is open of it into every return."""
    beliefs = R.copy()
    beliefs[3] = -0.2  # nobody who believes this holds it
    free = imop.portfolio_problem(Q)
    held = imop.efficient_frontier(free, beliefs).at(np.linspace(0.3, 0.95, 60))
    assert held[:, 3].max() == 0.0
    average = 0.99 * held.mean(axis=0) + 0.01 * np.eye(8)[3]
    rows = [held[0], average]
    problem = imop.portfolio_problem(Q, anchors=[(row, float(row @ beliefs)) for row in rows])
    found = fit_together(problem, held, beliefs, PERIODS)
    assert np.abs(found.covariance[3]).max() == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(np.array(rows) @ found.covariance, 0.0, atol=1e-10)
    told = np.delete(np.arange(8), 3)[(held > 0).sum(axis=0)[np.arange(8) != 3] > 10]
    assert len(told) > 3
    assert np.sqrt(np.diag(found.covariance))[told].max() < 0.1


def test_another_covariance_changes_nothing_else():
    problem = imop.portfolio_problem(Q, upper=0.4, anchors=ANCHORS, names=list("abcdefgh"))
    other = with_covariance(problem, 2 * Q)
    np.testing.assert_array_equal(other.covariance, 2 * Q)
    np.testing.assert_array_equal(other.upper, problem.upper)
    np.testing.assert_array_equal(other.theta.values, problem.theta.values)
    assert other.names == problem.names


def test_the_bound_falls_to_that_of_a_known_covariance_as_the_history_grows():
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    held = inside(problem, R, 200, seed=3)
    sizes = []
    for periods in (60.0, 240.0, 1e9):
        both, known = allowed_covariance(problem, held, R, periods, 0.005)
        seen = np.diag(known) < 1e-4
        assert np.all(np.diag(both)[seen] >= np.diag(known)[seen])
        sizes.append(float(np.sqrt(np.mean(np.diag(both)[seen]))))
    assert sizes[0] > 1.5 * sizes[1] > 3.0 * sizes[2]
    np.testing.assert_allclose(np.diag(both)[seen], np.diag(known)[seen], rtol=0.01)


def test_a_history_speaks_against_a_covariance_far_from_its_own():
    problem = imop.portfolio_problem(Q, anchors=ANCHORS)
    change = np.zeros((8, 8))
    fit = JointFit(problem, R, Q, Q, 0.005, change, True)
    assert fit.against_history(240.0) == 1.0
    change[1, 1] = 2.0
    assert fit.against_history(20.0) > 0.9
    assert fit.against_history(240.0) < 1e-6
