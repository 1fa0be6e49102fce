"""The noun of a linear limit: whatever form it comes in, arrays, sentences and JSON agree."""

import json

import numpy as np
import pytest

from imop_engine.errors import InvalidInput
from imop_engine.limits import LimitRows, Limits, LinearLimit, limit_rows, linear_limits

NAMES = ("A", "B", "C")


@pytest.mark.parametrize(
    "holdings",
    [{"A": 1, "C": -2}, [("A", 1.0), ("C", -2.0)], {0: 1, 2: -2}, [1, 0, -2], np.array([1, 0, -2])],
)
def test_every_form_makes_the_same_row(holdings):
    limit = LinearLimit(holdings, "≥", 0.1)
    assert limit.row(NAMES).tolist() == [1.0, 0.0, -2.0]
    assert limit.relation == ">="
    assert LinearLimit.of(json.loads(json.dumps(limit.to_dict()))) == limit
    assert LinearLimit.of((holdings, ">=", 0.1)) == limit
    assert len({limit, LinearLimit(limit.holdings, ">=", 0.1)}) == 1


def test_rows_are_arrays_over_the_assets_and_turn_one_way():
    rows = limit_rows(
        [({"A": 1, "B": 1}, "<=", 0.3), ({"C": 1}, ">=", 0.2), ({"B": 1, "C": -1}, "=", 0.0)], NAMES
    )
    assert isinstance(rows, LimitRows)
    assert rows.senses == ("<=", ">=", "=")
    assert rows.equal.tolist() == [False, False, True]
    G, h = rows.at_most
    assert G.tolist() == [[1, 1, 0], [0, 0, -1]]
    assert h.tolist() == [0.3, -0.2]
    assert rows.exactly[0].tolist() == [[0, 1, -1]]
    assert rows.sentences[2] == "B - C exactly 0%"
    assert limit_rows(None, NAMES).G.shape == (0, 3)
    assert limit_rows((), NAMES).at_most[0].shape == (0, 3)


def test_what_is_broken_is_told_in_shares():
    held = [[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]
    both = {"A": 1, "B": 1}
    np.testing.assert_allclose(LinearLimit(both, "<=", 0.3).excess(held, NAMES), [0.5, -0.1])
    np.testing.assert_allclose(LinearLimit(both, ">=", 0.3).excess(held, NAMES), [-0.5, 0.1])
    np.testing.assert_allclose(LinearLimit(both, "=", 0.3).excess(held, NAMES), [0.5, 0.1])


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (({"A": 1}, "!=", 0.3), "the relation of a limit is '!='; give one of <=, >=, =."),
        (({"A": 1}, "<=", "30%"), "the value of a limit is '30%'; give a share of the"),
        (({"A": 1}, "<=", float("nan")), "the value of a limit is nan"),
        (({"A": "x"}, "<=", 0.3), "the coefficient in a limit is 'x'"),
        (({"A": 0}, "<=", 0.3), "no asset with a coefficient other than zero"),
        (({1.5: 1}, "<=", 0.3), "names the asset 1.5; give its name or its position"),
        (("A", "<=", 0.3), "the holdings of a limit are 'A'"),
        (([("A", 1, 2)], "<=", 0.3), "where an asset and its coefficient belong"),
        ({"A": 1}, "the limit a dict cannot be read"),
        ("A <= 30%", "the limit 'A <= 30%' cannot be read"),
    ],
)
def test_what_is_no_limit_is_refused_in_a_sentence(given, sentence):
    with pytest.raises(InvalidInput) as refused:
        linear_limits([given])
    assert sentence in str(refused.value)


def test_assets_that_are_not_there_are_named_with_the_nearest():
    with pytest.raises(InvalidInput) as refused:
        limit_rows([({"technology": 1, "Bonds": 1}, "<=", 0.3)], ("Technology", "Bonds"))
    assert str(refused.value) == (
        "there is no asset 'technology' to limit (technology + Bonds at most 30%); did you mean "
        "'Technology'? The assets are Technology, Bonds."
    )
    with pytest.raises(InvalidInput, match=r"no asset at position 3 to limit .*at 0 to 2"):
        limit_rows([({3: 1}, "<=", 0.3)], NAMES)
    with pytest.raises(InvalidInput, match="limits is a LinearLimit; give a list"):
        linear_limits(LinearLimit({"A": 1}, "<=", 0.3))


def test_limits_carry_floors_and_rows():
    limits = Limits(
        lower=-0.1, floors=(("B", 0.05),), linear=(LinearLimit({"A": 1, "B": 1}, "<=", 0.3),)
    )
    limits.check(NAMES)
    assert limits.lower_of(NAMES).tolist() == [-0.1, 0.05, -0.1]
    assert limits.rows(NAMES).G.tolist() == [[1, 1, 0]]
    with pytest.raises(InvalidInput, match="no asset 'D' to limit"):
        Limits(floors=(("D", 0.1),)).check(NAMES)
    with pytest.raises(InvalidInput, match="no asset 'D' to limit"):
        Limits(linear=(LinearLimit({"D": 1}, "<=", 0.3),)).check(NAMES)
