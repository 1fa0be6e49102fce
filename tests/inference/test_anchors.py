"""Anchors: what they fix, when they are refused, and that no iterate ever leaves them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import imop_engine as imop
from imop_engine.bundled import market
from imop_engine.errors import Infeasible, InvalidInput
from imop_engine.gauge import gauge_of
from imop_engine.inference.anchors import held_assets
from imop_engine.learner_options import ALGORITHMS
from imop_engine.simulate import simulate_investors

EIGHT = market("paper8")
TRUE = np.array(EIGHT.expected_returns)
FREE = imop.portfolio_problem(EIGHT.covariance, names=EIGHT.names)


def draw(count=400, seed=1, weights="uniform", sd=0.15, noise="gaussian", level=0.005):
    return simulate_investors(
        FREE, TRUE, count, weights=weights, sd=sd, noise=noise, noise_level=level,
        rng=np.random.default_rng(seed),
    ).portfolios  # fmt: skip


# -- what anchors fix ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("rows", "values", "shift", "scale"),
    [
        ([], [], False, False),
        ([[1, 0, 0]], [0.1], True, False),
        ([[1, 0, 0], [0, 1, 0]], [0.1, 0.2], True, True),
        ([[1, 0, 0], [0, 1, 0]], [0.1, 0.1], True, False),
        ([[1, 0, 0], [0, 1, 0]], [0.0, 0.0], True, False),
        ([[1, -1, 0]], [0.1], False, True),
        ([[1, -1, 0]], [0.0], False, False),
        ([[1, -1, 0], [0, 1, -1]], [0.1, 0.2], False, True),
        ([[1, -1, 0], [0, 0, 1]], [0.1, 0.2], True, True),
        ([[0.5, 0.5, 0], [0.2, 0.3, 0.5]], [0.1, 0.1], True, False),
        ([[2, 0, 0], [0, 1, 0]], [0.2, 0.1], True, False),
        ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [0.1, 0.1, 0.2], True, True),
    ],
)
def test_what_is_fixed(rows, values, shift, scale):
    gauge = gauge_of(np.array(rows, dtype=float).reshape(-1, 3), np.array(values, dtype=float))
    assert (gauge.shift_fixed, gauge.scale_fixed) == (shift, scale)
    assert gauge.fixed == (gauge.undetermined == "")
    for word, fixed in (("shift", shift), ("scale", scale)):
        assert (word in gauge.undetermined) == (not fixed)


@given(seed=st.integers(0, 10**6), count=st.integers(1, 4), flat=st.booleans())
@settings(max_examples=60)
def test_fixed_means_that_no_other_shift_and_scale_keeps_the_anchors(seed, count, flat):
    """Where something is open, returns of another scale or shift satisfy the same anchors."""
    rng = np.random.default_rng(seed)
    r = np.full(5, 0.1) if flat else rng.uniform(0, 0.3, 5)
    rows = rng.dirichlet(np.ones(5), size=count)
    values = rows @ r
    gauge = gauge_of(rows, values)
    system = np.column_stack([values, rows.sum(axis=1)])
    assert gauge.fixed == (np.linalg.matrix_rank(system, tol=1e-9) == 2)
    if gauge.shift_fixed and not gauge.scale_fixed:
        other = gauge.centre + 3.0 * (r - gauge.centre)
        np.testing.assert_allclose(rows @ other, values, atol=1e-12)


# -- refusals ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("anchors", "reason"),
    [
        ({0: 0.1, 1: 0.1}, "all of them ask for the same return, 0.1"),
        ([([1, 0, 0], 0.1), ([2, 0, 0], 0.2)], "they say the same thing"),
        ([([1, -1, 0], 0.1), ([0, 1, -1], 0.1)], "all of them speak of differences"),
    ],
)
def test_two_anchors_that_do_not_fix_both_are_refused_with_the_reason(anchors, reason):
    covariance = EIGHT.covariance[:3, :3]
    with pytest.raises(InvalidInput) as refused:
        imop.portfolio_problem(covariance, anchors=anchors)
    text = str(refused.value)
    assert reason in text
    assert "do not fix both shift and scale" in text
    assert "undetermined=True" in text
    with pytest.raises(InvalidInput, match="do not fix both"):
        imop.with_anchors(imop.portfolio_problem(covariance), anchors)
    assert imop.portfolio_problem(covariance, anchors=anchors, undetermined=True).n == 3


def test_anchors_that_contradict_each_other_are_another_mistake():
    with pytest.raises(Infeasible, match="already"):
        imop.with_anchors(FREE, [(np.eye(8)[0], 0.1), (2 * np.eye(8)[0], 0.5)])


@pytest.mark.parametrize(
    ("anchors", "word"), [(None, "Neither shift nor scale"), ({0: 0.1791}, "The scale of")]
)
def test_one_anchor_or_none_is_accepted_and_the_result_says_what_is_open(anchors, word):
    problem = imop.with_anchors(FREE, anchors)
    identified = imop.identification(problem, TRUE, draw())
    assert not identified.gauge.fixed
    assert any(word in note for note in identified.notes())
    assert set(identified.status) <= {"relative", "anchored"}
    identified_open = ["is open" in sentence for sentence in identified.sentences]
    assert identified_open == [status == "relative" for status in identified.status]


# -- the history ---------------------------------------------------------------------------------
def test_default_anchors_are_least_variance_and_average_at_their_historical_return():
    Y = draw()
    history = TRUE * 1.1
    problem = imop.anchor_by_history(FREE, history, Y)
    first, second = imop.history_anchors(FREE, history, Y)
    assert (first.name, second.name) == ("the portfolio of least variance", "the average portfolio")
    np.testing.assert_allclose(first.portfolio, FREE.portfolio.least_variance)
    np.testing.assert_allclose(second.portfolio, Y.mean(axis=0), atol=1e-3)
    assert problem.theta.contains(history)
    assert gauge_of(problem.theta.equalities, problem.theta.values).fixed


def test_default_anchors_do_not_rest_on_what_nobody_holds():
    """Under N(0.5, 0.1) hardly anybody holds securities 7 and 8, half of the least variance."""
    Y = draw(1000, weights="normal", sd=0.1)
    assert np.flatnonzero(~held_assets(Y)).tolist() == [6, 7]
    first, second = imop.history_anchors(FREE, TRUE, Y)
    assert "cautious half" in first.name
    assert "bold half" in second.name
    assert first.portfolio[6:].sum() == second.portfolio[6:].sum() == 0.0
    assert first.value < second.value
    identified = imop.identification(imop.anchor_by_history(FREE, TRUE, Y), TRUE, Y)
    assert identified.status.count("identified") == 6
    assert not identified.anchor_notes


def test_a_history_that_contradicts_the_investors_is_refused():
    with pytest.raises(InvalidInput, match="more return"):
        imop.anchor_by_history(FREE, -TRUE + 0.3, draw())


def test_investors_who_all_hold_the_least_variance_fix_no_scale():
    least = np.tile(FREE.portfolio.least_variance, (30, 1))
    with pytest.raises(InvalidInput, match="fix no scale"):
        imop.anchor_by_history(FREE, TRUE, least)
    with pytest.raises(InvalidInput, match="no portfolios"):
        imop.anchor_by_history(FREE, TRUE, np.empty((0, 8)))


# -- every iterate -------------------------------------------------------------------------------
RUNS = [
    *({"algorithm": name, "weights": 11} for name in ALGORITHMS if name != "newton"),
    {"algorithm": "accelerated", "weights": "exact"},
    {"algorithm": "accelerated", "weights": 11, "batch": 3},
    *({"algorithm": name, "weights": "exact"} for name in ALGORITHMS if name == "newton"),
]


@pytest.mark.parametrize("run", RUNS, ids=str)
@pytest.mark.parametrize("kind", ["assets", "portfolios"])
def test_anchors_hold_in_every_iterate(run, kind):
    Y = draw(60)
    if kind == "assets":
        problem = imop.with_anchors(FREE, {0: TRUE[0], 6: TRUE[6]})
    else:
        problem = imop.anchor_by_history(FREE, TRUE, Y)
    learner = imop.OnlineLearner(problem, theta0=np.full(8, 0.1), **run)
    for y in Y:
        learner.partial_fit(y[None])
        off = problem.theta.equalities @ learner.theta_ - problem.theta.values
        assert np.abs(off).max() <= 1e-14 if kind == "assets" else np.abs(off).max() <= 1e-12
    refined = imop.refine(problem, Y, learner.theta_).theta
    np.testing.assert_allclose(problem.theta.equalities @ refined, problem.theta.values, atol=1e-12)
