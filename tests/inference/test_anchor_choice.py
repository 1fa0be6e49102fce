"""What known returns would fix: ranked by what can be fixed, and a true word on bad pairs."""

import numpy as np
import pytest

from imop_engine import portfolio_problem
from imop_engine.bundled import market
from imop_engine.inference.anchor_choice import AVERAGE, LEAST_RISK, anchor_choice
from imop_engine.simulate import simulate_investors

PAPER = market("paper8")
PROBLEM = portfolio_problem(PAPER.covariance, names=PAPER.names)
TRUTH = PAPER.expected_returns
HELD = simulate_investors(PROBLEM, TRUTH, 300, rng=np.random.default_rng(4)).portfolios
ERROR = PAPER.covariance / 20.0  # twenty years


def made(beliefs=TRUTH, error=ERROR):
    return anchor_choice(PROBLEM, TRUTH, error, HELD, beliefs)


def test_the_best_pair_has_the_least_error_of_scale_and_both_are_held():
    found = made()
    pair = found.best_pair()
    least = found.scale_error(*pair)
    useful = [one for one in found.candidates if one.useful]
    others = [found.scale_error(a, b) for a in useful for b in useful if a is not b]
    assert least == pytest.approx(min(others))
    assert pair[0].belief < pair[1].belief
    assert found.table()["name"].iloc[0] in {one.name for one in pair}


def test_an_asset_that_nobody_holds_is_no_anchor_and_is_told_so():
    found = made()
    unheld = [one for one in found.candidates if not one.useful]
    assert unheld
    assert unheld[0].name not in {one.name for one in found.best_pair()}
    pair = ((unheld[0].name, 0.1, 0.0), (AVERAGE, 0.2, 0.0))
    colour, said = found.diagnosis(pair)
    assert colour == "poor"
    assert f"hold {unheld[0].name}" in said or f"holds {unheld[0].name}" in said


def test_levels_are_shift_and_scale_and_agree_with_the_known_returns():
    found = made()
    low, high = found.best_pair()
    levels = found.levels(((low.name, 0.03), (high.name, 0.09)))
    assert low.portfolio @ levels == pytest.approx(0.03)
    assert high.portfolio @ levels == pytest.approx(0.09)
    assert np.argsort(levels).tolist() == np.argsort(TRUTH).tolist()
    assert np.corrcoef(levels, TRUTH)[0, 1] == pytest.approx(1.0)
    one = found.levels(((AVERAGE, 0.05),))
    assert np.ptp(one - TRUTH) == pytest.approx(0.0, abs=1e-12)


def test_inverted_and_equal_anchors_get_a_true_diagnosis():
    found = made()
    low, high = found.best_pair()
    colour, said = found.diagnosis(((low.name, 0.09, 0.0), (high.name, 0.03, 0.0)))
    assert colour == "poor"
    assert f"{low.name} returns 6.00% a year more than {high.name}" in said
    assert found.levels(((low.name, 0.09), (high.name, 0.03))) is None
    colour, said = found.diagnosis(((low.name, 0.03, 0.05), (high.name, 0.09, 0.05)))
    assert colour == "caution"
    assert "± 118%" in said
    assert found.diagnosis(((low.name, 0.03, 0.001), (high.name, 0.09, 0.001)))[0] == "good"


def test_without_a_history_the_pair_that_is_farthest_apart_is_taken():
    found = made(error=None)
    low, high = found.best_pair()
    useful = [one.belief for one in found.candidates if one.useful]
    assert high.belief - low.belief == pytest.approx(np.ptp(useful))


def test_implied_returns_stand_in_for_beliefs_before_a_run():
    found = anchor_choice(PROBLEM, TRUTH, ERROR, HELD)
    assert found.candidate(LEAST_RISK) is None or found.candidate(LEAST_RISK).holders > 0.9
    assert len(found.best_pair()) == 2
