"""Limits that no portfolio keeps: what is named is a smallest set of them, and can be cured."""

import re

import numpy as np
import pytest
from scipy.optimize import linprog

from imop_engine.contradiction import find_contradiction, require_feasible
from imop_engine.errors import Infeasible
from imop_engine.limits import limit_rows

SENTENCE = re.compile(r"(.*) (at most|at least|exactly) (\S+)%")
NAMES = ("A", "B", "C", "D", "E")


def refuse(limits, lower=0.0, upper=1.0, names=NAMES[:4]):
    n = len(names)
    rows = limit_rows(limits, names)
    with pytest.raises(Infeasible) as refused:
        require_feasible(names, np.full(n, lower), np.broadcast_to(upper, n).astype(float), rows)
    return str(refused.value)


def test_what_contradicts_is_named_with_what_would_help():
    limits = [({"A": 1, "B": 1}, ">=", 0.6), ({"D": 1}, "<=", 0.2), ({"C": 1}, ">=", 0.5)]
    assert refuse(limits) == (
        "no portfolio keeps all limits; these contradict one another: A + B at least 60%; C at "
        "least 50%; every holding at least 0%; the holdings add up to 100%. Change one of them, "
        "to A + B at least 50%, or C at least 40%."
    )


@pytest.mark.parametrize(
    ("limits", "upper", "said"),
    [
        ([({"A": 1, "B": 1}, ">=", 0.6)], [0.1, 0.2, 1, 1], "to A + B at least 30%, or B at most"),
        ([({"A": 2}, "=", 0.5), ({"A": 1}, "=", 0.6)], 1.0, "to 2*A exactly 120%, or A exactly"),
        ([({"D": 1}, "<=", -0.2)], 1.0, "another: D at most -20%; every holding at least 0%."),
        ([({"A": 1}, "<=", 0.9)], 0.2, "every holding at most 20%; the holdings add up to 100%."),
        (
            [({"A": 1}, ">=", 0.7), ({"B": 1}, ">=", 0.7), ({"C": 1}, "=", 2), ({"D": 1}, "=", 3)],
            1.0,
            "others contradict one another, too.",
        ),
    ],
)
def test_bounds_and_equalities_take_part(limits, upper, said):
    assert said in refuse(limits, upper=upper)


def test_limits_that_just_meet_are_kept():
    rows = limit_rows([({"A": 1}, "<=", 0.5 - 1e-9), ({"B": 1}, "<=", 0.5)], ("A", "B"))
    require_feasible(("A", "B"), np.zeros(2), np.ones(2), rows)
    open_ = limit_rows([({"A": 1}, "<=", 0.5)], ("A", "B"))
    require_feasible(("A", "B"), np.full(2, -np.inf), np.full(2, np.inf), open_)


def test_random_sets_are_contradictory_smallest_and_cured_by_each_remedy():
    """Beside linear programs written out here."""
    rng = np.random.default_rng(3)
    found = cures = 0
    for _ in range(60):
        limits = [
            (
                rng.integers(-1, 3, 5).tolist(),
                rng.choice(["<=", ">=", "="]),
                rng.integers(-4, 9) / 10,
            )
            for _ in range(6)
        ]
        limits = [one for one in limits if any(one[0])]
        rows = limit_rows([(dict(zip(NAMES, c, strict=True)), *rest) for c, *rest in limits], NAMES)
        said = find_contradiction(NAMES, np.zeros(5), np.full(5, 0.6), rows)
        written = {
            "every holding at least 0%": [(-np.eye(5)[i], "<=", 0.0) for i in range(5)],
            "every holding at most 60%": [(np.eye(5)[i], "<=", 0.6) for i in range(5)],
            "the holdings add up to 100%": [(np.ones(5), "=", 1.0)],
        }
        written |= {
            sentence: [(rows.G[i], rows.senses[i], rows.h[i])]
            for i, sentence in enumerate(rows.sentences)
        }
        assert (said is None) == _possible(written.values())
        if said is None:
            continue
        found += 1
        assert not _possible([written[one] for one in said.members])
        for left_out in said.members:
            assert _possible([written[one] for one in said.members if one != left_out])
        for remedy in said.remedies:
            what, relation, value = SENTENCE.fullmatch(remedy).groups()
            (old,) = [one for one in said.members if one.startswith(f"{what} {relation} ")]
            cured = {key: rows for key, rows in written.items() if key != old}
            new = [(row, sense, float(value) / 100) for row, sense, _ in written[old]]
            if old == "every holding at least 0%":
                new = [(row, sense, -value) for row, sense, value in new]
            assert _possible([*cured.values(), new], room=1e-6)
            cures += 1
    assert found > 15
    assert cures > 20


def _possible(groups, room=0.0):
    listed = [one for group in groups for one in group]
    signs = {"<=": [1], ">=": [-1], "=": [1, -1]}
    rows = [sign * row for row, sense, _ in listed for sign in signs[sense]]
    values = [sign * value + room for _, sense, value in listed for sign in signs[sense]]
    free = [(None, None)] * 5
    return linprog(np.zeros(5), A_ub=np.array(rows), b_ub=values, bounds=free).status == 0
