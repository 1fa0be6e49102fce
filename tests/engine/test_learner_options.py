"""Options of a learner are validated in one place, whoever gives them."""

import numpy as np
import pytest

import imop_engine as imop
from imop_engine.errors import InvalidInput
from imop_engine.learner_options import LearnerOptions

PORTFOLIO = imop.portfolio_problem(np.diag([0.04, 0.09, 0.16]))
THREE = imop.quadratic_problem([np.eye(2)] * 3, [[-1.0, -2.0], [-3.0, -1.0], [0.0, 0.0]])
REFUSED = [
    ({"algorithm": "magic"}, "no algorithm 'magic'; use one of accelerated, full, newton"),
    ({"weights": "all"}, "weights is 'all'; give a whole number from 2 up"),
    ({"weights": 1}, "weights is 1; give a whole number from 2 up"),
    ({"weights": "exact", "algorithm": "full"}, "'full' compares the weights of a grid"),
    ({"weights": 41, "algorithm": "newton"}, "give it weights='exact'"),
    ({"forgetting": 0.4}, "lies between 0.5 and 1"),
    ({"rate": -1.0}, "the rate is -1.0; give a positive number"),
    ({"rate": float("nan")}, "the rate is nan"),
]
ALONE = [
    ({"backend": "cplex"}, "no backend 'cplex'"),
    ({"batch": 0}, "one decision at a time is batch=1"),
    ({"batch": 2.0}, "batch must be a whole number"),
    ({"batch": 2, "algorithm": "full"}, "batch=2 needs algorithm='accelerated'"),
    ({"node_limit": 2}, "at least 3"),
]


@pytest.mark.parametrize(("change", "words"), REFUSED + ALONE)
def test_a_learner_and_its_options_refuse_with_the_same_sentence(change, words):
    with pytest.raises(InvalidInput, match=words) as alone:
        LearnerOptions(**change)
    with pytest.raises(InvalidInput) as learner:
        imop.OnlineLearner(PORTFOLIO, **change)
    assert str(alone.value) == str(learner.value)


@pytest.mark.parametrize(("change", "words"), REFUSED)
def test_a_study_refuses_with_the_same_sentence(change, words):
    with pytest.raises(InvalidInput, match=words) as alone:
        LearnerOptions(**change)
    with pytest.raises(InvalidInput) as study:
        imop.StudySettings(**change)
    assert str(alone.value) == str(study.value)


def test_a_study_takes_only_what_can_be_written_down():
    with pytest.raises(InvalidInput, match="weights is"):
        imop.StudySettings(weights=[0.1, 0.9])
    with pytest.raises(InvalidInput, match="the rate is a function"):
        imop.StudySettings(rate=lambda t: 1.0)


def test_what_a_problem_cannot_do_is_refused_with_it():
    assert LearnerOptions("exact").grid(PORTFOLIO).size == 2
    with pytest.raises(InvalidInput, match="needs a frontier curve, which 3 objectives"):
        LearnerOptions("exact").grid(THREE)
    with pytest.raises(InvalidInput, match="works on the exact frontier of a portfolio problem"):
        LearnerOptions("exact", "newton").grid(THREE)
