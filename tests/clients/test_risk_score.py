"""The risk score: fixed, monotone, of the volatility alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from imop_engine.clients.risk_score import (
    CLASS_EDGES,
    risk_class,
    risk_score,
    volatility_interval,
    volatility_of,
)
from imop_engine.errors import InvalidInput

risks = some.floats(0.0, 2.0)


@given(risks, risks)
def test_more_volatility_never_scores_less(one, other):
    low, high = risk_score(sorted((one, other)))
    assert 1.0 <= low <= high <= 99.0


@given(some.floats(0.0, 0.399), some.floats(1e-4, 0.4))
def test_below_the_cap_it_is_strictly_monotone_and_can_be_read_back(risk, step):
    score = risk_score(risk)
    assert risk_score(min(risk + step, 0.4)) > score
    assert volatility_of(score) == pytest.approx(risk, abs=1e-12)


def test_each_class_of_the_regulators_is_fourteen_points_wide():
    assert risk_score(CLASS_EDGES).tolist() == pytest.approx([15, 29, 43, 57, 71, 85])
    assert risk_class([0.0049, *CLASS_EDGES]).tolist() == [1, 2, 3, 4, 5, 6, 7]
    for risk in np.linspace(0.0, 0.39, 200):
        assert risk_class(risk) == min(int((risk_score(risk) - 1.0 + 1e-9) // 14) + 1, 7)


def test_nothing_is_scored_that_is_no_volatility():
    with pytest.raises(InvalidInput, match="standard deviations"):
        risk_score([-0.1])
    with pytest.raises(InvalidInput, match="between 1 and 99"):
        volatility_of(100.0)
    assert np.isnan(risk_score([np.nan])[0])


def test_the_interval_of_a_volatility_covers_as_it_says():
    rng = np.random.default_rng(5)
    drawn = rng.normal(0.0, 0.1, (4000, 60)).std(axis=1, ddof=1)
    low, high = volatility_interval(drawn, 60, 0.9)
    assert np.mean((low <= 0.1) & (high >= 0.1)) == pytest.approx(0.9, abs=0.015)
    same = volatility_interval(drawn, None, 0.9)
    assert np.array_equal(same[0], drawn)
    assert np.array_equal(same[1], drawn)
