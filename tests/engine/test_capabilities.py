"""A problem says what it can do, and what it cannot do is refused with one sentence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import imop_engine as imop
from imop_engine.capabilities import INFERENCE, Capability
from imop_engine.errors import InvalidInput

Q = np.diag([0.04, 0.09, 0.16])
PORTFOLIO = imop.portfolio_problem(Q, upper=[1.0, 0.6, 0.7], anchors={0: 0.05, 2: 0.15})
TWO = imop.quadratic_problem([np.eye(2)] * 2, [[-1.0, -2.0], [-3.0, -1.0]])
THREE = imop.quadratic_problem([np.eye(2)] * 3, [[-1.0, -2.0], [-3.0, -1.0], [0.0, 0.0]])
TRUTH = np.array([0.05, 0.1, 0.15])


def test_each_constructor_says_what_its_problems_can_do():
    assert PORTFOLIO.capabilities == frozenset(Capability)
    assert TWO.capabilities == {Capability.FRONTIER_CURVE, Capability.SUBOPTIMALITY}
    assert THREE.capabilities == {Capability.SUBOPTIMALITY}
    moved = imop.quadratic_problem([np.eye(2)] * 2, [[-1.0, -2.0]] * 2, np.eye(2), [0, 0], "b")
    assert moved.capabilities == {Capability.FRONTIER_CURVE}
    assert PORTFOLIO.has_anchors
    assert not TWO.has_anchors


def test_caps_that_the_budget_enforces_are_no_conditions():
    assert PORTFOLIO.effective_caps.tolist() == [np.inf, 0.6, 0.7]
    assert TWO.effective_caps.tolist() == TWO.upper.tolist()


@pytest.mark.parametrize("what", ["portfolio", "covariance"])
def test_what_a_problem_has_not_is_a_sentence(what):
    with pytest.raises(InvalidInput, match="only portfolio problems have that"):
        getattr(TWO, what)


def test_one_missing_capability_is_enough_to_refuse():
    curve = replace(PORTFOLIO, capabilities=frozenset({Capability.EXPECTED_RETURNS}))
    with pytest.raises(InvalidInput, match="no"):
        curve.require(*INFERENCE, sentence="no")
    PORTFOLIO.require(*INFERENCE, sentence="no")


def test_a_problem_without_the_compiled_form_takes_the_general_way_to_the_same_answer():
    """What a problem with other linear limits would do: nothing but its capabilities differ."""
    general = replace(PORTFOLIO, capabilities=frozenset({Capability.FRONTIER_CURVE}))
    y = np.array([0.5, 0.3, 0.2])
    np.testing.assert_allclose(
        imop.solve(general, TRUTH, 0.3), imop.solve(PORTFOLIO, TRUTH, 0.3), atol=1e-6
    )
    here, there = (imop.implicit_update(p, TRUTH, y, 0.3, 5.0) for p in (PORTFOLIO, general))
    assert here.certified
    assert there.certified
    np.testing.assert_allclose(here.objective, there.objective, rtol=1e-5)
    streams = [
        imop.OnlineLearner(p, 5, theta0=TRUTH).partial_fit([y, y[::-1]]).theta_
        for p in (PORTFOLIO, general)
    ]
    np.testing.assert_allclose(*streams, atol=1e-6)
