"""Stated classes: their order, their scores, and when held risk contradicts them."""

import numpy as np
import pandas as pd
import pytest

from imop_engine.clients.stated import class_columns, default_column, risk_classes
from imop_engine.errors import InvalidInput


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (["growth", "conservative", "balanced"], ("conservative", "balanced", "growth")),
        (["High", "low", "Medium"], ("low", "Medium", "High")),
        ([3, 1, 2, np.nan], ("1", "2", "3")),
        (["R5", "R1", "R2"], ("R1", "R2", "3", "4", "R5")),
        (["2 - mixed", "1 - calm"], ("1 - calm", "2 - mixed")),
        (["dynamisch", "konservativ", "ausgewogen"], ("konservativ", "ausgewogen", "dynamisch")),
    ],
)
def test_the_order_of_usual_classes_is_known(values, labels):
    assert risk_classes(values, "profile").labels == labels


def test_an_unknown_order_is_asked_for_and_taken():
    with pytest.raises(InvalidInput, match="calmest first"):
        risk_classes(["oak", "birch"], "profile")
    assert risk_classes(["oak", "birch"], "profile", ["birch", "oak"]).labels == ("birch", "oak")
    with pytest.raises(InvalidInput, match="'oak'"):
        risk_classes(["oak", "birch"], "profile", ["birch", "elm"])


def test_classes_divide_the_score_evenly_or_as_the_analyst_says():
    equal = risk_classes([1, 2, 3, 4, 5, 6, 7], "class")
    assert equal.edges == pytest.approx((15, 29, 43, 57, 71, 85))
    own = risk_classes(["low", "high"], "class", volatilities=[0.10])
    assert own.band("low") == (1.0, pytest.approx(57.0))
    with pytest.raises(InvalidInput, match="1 volatilities"):
        risk_classes(["low", "high"], "class", volatilities=[0.1, 0.2])


def test_a_mismatch_needs_the_whole_interval_outside():
    classes = risk_classes(["low", "high"], "class", volatilities=[0.10])  # the edge is 57
    score = np.array([40.0, 60.0, 60.0, 50.0, 50.0, 60.0])
    low, high = score - np.array([3, 5, 2, 9, 5, 1]), score + np.array([3, 5, 2, 9, 5, 1])
    stated = ["low", "low", "low", "high", "high", None]
    found = classes.compare(stated, score, low, high)
    assert found.tolist() == ["agrees", "borderline", "more", "borderline", "less", "not stated"]
    assert classes.of([10.0, 57.0, np.nan]).tolist() == ["low", "high", None]


def test_columns_that_may_state_a_class():
    table = pd.DataFrame(
        {
            "age": np.arange(30),
            "branch": ["a", "b"] * 15,
            "level": [1, 2, 3] * 10,
            "Risk profile": ["low", "medium", "high"] * 10,
        }
    )
    assert class_columns(table) == ("Risk profile", "level")
    assert default_column(table) == "Risk profile"
    assert default_column(table[["age", "level"]]) is None
