"""Beliefs by the first-order conditions, against their likelihood written out term by term."""

import numpy as np
import pytest

import imop_engine as imop
import reference
import reference_beliefs as naive
from imop_engine.errors import ImopError
from imop_engine.inference.belief_identification import (
    draw_disagreeing,
    identification_of_beliefs,
)
from imop_engine.inference.first_order import (
    RIDGE,
    Positions,
    anchored,
    fit_beliefs,
    pseudo_inverse,
)
from imop_engine.inference.sources import GivenErrors
from imop_engine.weights import weight_of

Q, R = reference.SECURITIES_COVARIANCE, reference.SECURITIES_RETURN
FEW = np.ix_([0, 2, 4, 6], [0, 2, 4, 6])
APART = 0.02  # what investors' beliefs differ by


def disagreeing(count, seed, upper=1.0, covariance=Q, returns=R):
    """Investors who believe in `returns` give or take APART, and the problem they solve."""
    rng = np.random.default_rng(seed)
    problem = imop.portfolio_problem(covariance, upper=upper)
    prices = APART * np.exp(rng.uniform(np.log(0.1), np.log(2.0), count))
    return problem, draw_disagreeing(problem, returns / APART, prices, rng)


@pytest.fixture(scope="module")
def tiny():
    """Seven investors in four assets, some at the cap, and the fit to them."""
    problem, held = disagreeing(9, 4, 0.6, Q[FEW], R[[0, 2, 4, 6]])
    held = held[(held > 0).sum(axis=1) > 1][:7]
    positions = Positions.of(problem, held, 0.0)
    assert positions.capped.any()
    assert (~positions.held & ~positions.capped).any()
    return problem, positions, fit_beliefs(problem, positions)


def twin(problem, positions):
    """The twin's likelihood of all numbers in one vector: a, b, r of those who take part."""
    rows = positions.portfolios[positions.held.sum(axis=1) >= 2]
    T = len(rows)

    def value(point):
        a, b, r = point[:T], point[T : 2 * T], point[2 * T :]
        return naive.log_likelihood(problem.covariance, problem.upper, rows, a, b, r, RIDGE)

    return value, T


def point_of(fit):
    return np.concatenate([fit.prices[fit.used], fit.levels[fit.used], fit.beliefs])


def test_the_maximum_is_where_a_general_solver_finds_it(tiny):
    problem, positions, fit = tiny
    rows = positions.portfolios[fit.used]
    a, b, r = naive.most_likely(problem.covariance, problem.upper, rows, RIDGE)
    value, _ = twin(problem, positions)
    assert value(point_of(fit)) >= value(np.concatenate([a, b, r])) - 1e-9
    np.testing.assert_allclose(fit.beliefs, r, atol=1e-3)
    np.testing.assert_allclose(fit.prices[fit.used], a, rtol=1e-3)
    assert fit.converged


def test_the_likelihood_is_flat_at_the_fit_and_concave_everywhere(tiny):
    problem, positions, fit = tiny
    value, T = twin(problem, positions)
    best = point_of(fit)
    rng = np.random.default_rng(0)
    for _ in range(20):
        ends = [best * np.exp(rng.normal(0.0, 0.5, best.shape)) for _ in range(2)]
        for end in ends:
            assert value(end) <= value(best) + 1e-9
        assert value(sum(ends) / 2) >= sum(map(value, ends)) / 2
    size = np.abs(best) + 0.1
    for i in range(len(best)):
        step = np.zeros(len(best))
        step[i] = 1e-5 * size[i]
        assert abs(value(best + step) - value(best - step)) / 2e-5 < 1e-4
    assert len(best) == 2 * T + 4


def test_information_and_scores_are_the_derivatives(tiny):
    problem, positions, fit = tiny
    value, T = twin(problem, positions)
    best = point_of(fit)
    scale = np.concatenate([fit.prices[fit.used], np.ones(T + 4)])  # so that steps are alike
    H = -naive.hessian(lambda point: value(point * scale), best / scale, 1e-3)
    own, common = slice(0, 2 * T), slice(2 * T, None)
    profiled = H[common, common] - H[common, own] @ np.linalg.solve(H[own, own], H[own, common])
    np.testing.assert_allclose(fit.information, profiled, atol=2e-4 * np.abs(profiled).max())
    np.testing.assert_allclose(fit.information @ np.ones(4), 0.0, atol=1e-9)  # shifts are open
    np.testing.assert_allclose(fit.scores.sum(axis=0), 0.0, atol=1e-4)
    assert not fit.scores[~fit.used].any()
    inverse = pseudo_inverse(fit.information, fit.informed)
    np.testing.assert_allclose(
        fit.information @ inverse @ fit.information, fit.information, atol=1e-8
    )


def test_truth_and_dispersion_come_back():
    """Each investor's own two numbers are fitted too, which takes from the dispersion; the study
    that is drawn again says how much."""
    problem, held = disagreeing(600, 1)
    problem = imop.anchor_by_history(problem, R, held)
    fit = fit_beliefs(problem, Positions.of(problem, held, 0.0), least_holders=5)
    at = anchored(problem, fit.beliefs)
    known = identification_of_beliefs(
        problem, at.theta, held, fit, 0.0, 0.95, 0, None, GivenErrors()
    )
    assert fit.converged
    assert at.dispersion < known.dispersion
    assert known.dispersion == pytest.approx(APART, rel=0.1)
    off = np.abs(at.theta - known.noise_bias - R)
    assert np.all(known.standard_errors < 0.02)
    assert np.all(off < 4.0 * known.standard_errors)


def test_drawn_portfolios_are_the_best_for_their_own_beliefs():
    problem = imop.portfolio_problem(Q, upper=0.5)
    prices = np.array([0.003, 0.02, 0.2])
    held = draw_disagreeing(problem, R / APART, prices, np.random.default_rng(3))
    own = R / APART + np.random.default_rng(3).normal(size=(3, 8))
    for i, lam in enumerate(prices):
        best = imop.solve(imop.portfolio_problem(Q, upper=0.5), own[i], float(weight_of(lam)))
        np.testing.assert_allclose(held[i], best, atol=1e-6)


def test_units_of_risk_and_the_start_do_not_matter():
    problem, held = disagreeing(80, 2)
    fit = fit_beliefs(problem, Positions.of(problem, held, 0.0))
    larger = imop.portfolio_problem(4.0 * Q)
    other = fit_beliefs(larger, Positions.of(larger, held, 0.0))
    np.testing.assert_allclose(other.beliefs, fit.beliefs, atol=1e-6)
    np.testing.assert_allclose(4.0 * other.prices[fit.used], fit.prices[fit.used], rtol=1e-6)
    again = fit_beliefs(problem, Positions.of(problem, held, 0.0), start=other)
    np.testing.assert_allclose(again.beliefs, fit.beliefs, atol=1e-5)
    twice = fit_beliefs(problem, Positions.of(problem, held, 0.0), np.full(80, 2.0))
    np.testing.assert_allclose(twice.beliefs, fit.beliefs, atol=1e-5)
    np.testing.assert_allclose(twice.information, 2.0 * fit.information, rtol=1e-3, atol=1e-3)


def test_anchors_fix_shift_and_scale_and_nothing_else():
    beliefs = R / 0.03
    for shift, scale in ((0.0, 1.0), (0.02, 1.0), (-0.01, 3.0)):
        values = shift + scale * R
        problem = imop.portfolio_problem(Q, bounds=(-2, 2), anchors={1: values[1], 5: values[5]})
        at = anchored(problem, beliefs)
        np.testing.assert_allclose(at.theta, values, atol=1e-12)
        assert at.dispersion == pytest.approx(0.03 * scale)
    reversed_ = imop.portfolio_problem(Q, anchors={1: 0.2, 5: 0.1})
    assert anchored(reversed_, beliefs).dispersion < 0.0


def test_derivatives_of_the_anchored_returns():
    beliefs = R / 0.03
    rows = np.array([[0, 0, 0, 0, 0, 0, 0.5, 0.5], [0, 0, 0, 0, 0.3, 0.7, 0, 0]])

    def theta(beliefs, values):
        anchors = list(zip(rows, values, strict=True))
        return anchored(imop.portfolio_problem(Q, bounds=(-5, 5), anchors=anchors), beliefs)

    values = np.array([0.05, 0.15])
    at, step = theta(beliefs, values), 1e-6
    for j in range(8):
        move = step * np.eye(8)[j]
        slope = (theta(beliefs + move, values).theta - theta(beliefs - move, values).theta) / 2
        np.testing.assert_allclose(at.response[:, j], slope / step, atol=1e-7)
    for k in range(2):
        move = step * np.eye(2)[k]
        slope = (theta(beliefs, values + move).theta - theta(beliefs, values - move).theta) / 2
        np.testing.assert_allclose(at.to_anchors[:, k], slope / step, atol=1e-7)


def test_who_holds_one_asset_alone_says_nothing_of_beliefs():
    problem = imop.portfolio_problem(Q)
    with pytest.raises(ImopError, match="no investor holds two assets that others hold too"):
        fit_beliefs(problem, Positions.of(problem, np.eye(8), 0.0))
