"""Who speaks for a group of which the common estimate set much aside."""

import numpy as np
import pytest

import imop_engine as imop
from imop_engine.bundled import market
from imop_engine.inference.group_members import alike_within

PAPER = market("paper8")
THETA = np.asarray(PAPER.expected_returns)
OWN = THETA - 0.02 * np.eye(8)[4]
PROBLEM = imop.portfolio_problem(PAPER.covariance, anchors={0: THETA[0], 1: THETA[1]})
TINY = 0.004


def held(theta, count, rng):
    """Portfolios near the frontier of these returns."""
    weights = np.clip(rng.normal(0.5, 0.15, count), 0.05, 0.95)
    exact = imop.efficient_frontier(PROBLEM, theta).at(weights)
    Y = np.maximum(exact + np.where(exact > 0, rng.normal(0.0, 0.001, exact.shape), 0.0), 0.0)
    return Y / Y.sum(axis=1, keepdims=True)


def groups(*parts):
    """Portfolios, whether they are kept, and their groups, of (group, portfolios, kept)."""
    return (
        np.vstack([Y for _, Y, _ in parts]),
        np.repeat([kept for _, _, kept in parts], [len(Y) for _, Y, _ in parts]),
        np.repeat([code for code, _, _ in parts], [len(Y) for _, Y, _ in parts]),
    )


def test_a_group_with_beliefs_of_its_own_speaks_with_all_whom_these_explain():
    rng = np.random.default_rng(1)
    Y, kept, codes = groups((0, held(THETA, 60, rng), True), (1, held(OWN, 40, rng), False))
    found = alike_within(PROBLEM, Y, kept, codes, np.arange(100), TINY)
    assert not found[codes == 0].any(), "of this one nothing was lost"
    assert found[codes == 1].mean() > 0.9


@pytest.mark.parametrize("dates", [1, 12])
def test_investors_are_counted_and_not_their_dates(dates):
    """Three investors at twelve dates are three investors."""
    rng = np.random.default_rng(2)
    Y, kept, codes = groups((0, held(THETA, 60, rng), True), (1, held(OWN, 36, rng), False))
    clusters = np.r_[np.arange(60), 60 + np.arange(36) // dates]
    found = alike_within(PROBLEM, Y, kept, codes, clusters, TINY)
    assert found[codes == 1].any() == (dates == 1)


def test_one_portfolio_more_is_no_belief_of_the_group():
    """Strangers who have nothing in common, and one whom the others' frontier explains after
    all."""
    rng = np.random.default_rng(3)
    strangers = rng.dirichlet(np.ones(8), 14)
    Y, kept, codes = groups(
        (0, held(THETA, 60, rng), True),
        (1, held(THETA, 30, rng), True),
        (1, held(THETA, 1, rng), False),
        (1, strangers, False),
    )
    found = alike_within(PROBLEM, Y, kept, codes, np.arange(len(Y)), TINY)
    assert not found.any()


def test_strangers_who_are_alike_but_few_in_their_group_are_not_its_belief():
    rng = np.random.default_rng(4)
    Y, kept, codes = groups(
        (0, held(THETA, 60, rng), True), (1, held(THETA, 30, rng), True),
        (1, held(OWN, 14, rng), False),
    )  # fmt: skip
    assert not alike_within(PROBLEM, Y, kept, codes, np.arange(len(Y)), TINY).any()
