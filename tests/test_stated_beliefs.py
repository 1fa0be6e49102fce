"""Ranks within dates: what all believe at one time does not count, nor does it matter who is
drawn twice."""

import numpy as np
import pandas as pd

from imop_benchmarks.stated_beliefs import intervals, rank_correlation

DATES = pd.Series(np.repeat([2001, 2002, 2003], 20))
WHO = pd.Series(np.tile(np.arange(20), 3))


def test_a_common_change_from_date_to_date_is_no_agreement():
    rng = np.random.default_rng(0)
    inferred, stated = rng.normal(size=60), rng.normal(size=60)
    level = np.repeat([0.0, 100.0, 200.0], 20)
    apart = rank_correlation(inferred, stated, DATES)
    assert rank_correlation(inferred + level, stated + level, DATES) == apart
    assert abs(apart) < 0.5


def test_full_agreement_within_dates_is_one_and_the_reverse_minus_one():
    values = np.tile(np.arange(20.0), 3)
    assert np.isclose(rank_correlation(values, np.exp(values), DATES), 1.0)
    assert np.isclose(rank_correlation(values, -values, DATES), -1.0)


def test_dates_with_a_handful_say_nothing():
    few = pd.Series([1, 1, 2, 2])
    assert np.isnan(rank_correlation(np.arange(4.0), np.arange(4.0), few))


def test_the_table_has_each_and_their_difference_with_intervals():
    rng = np.random.default_rng(1)
    stated = np.tile(rng.normal(size=20), 3)
    good, useless = stated + 0.5 * rng.normal(size=60), rng.normal(size=60)
    table = intervals({"good": good, "useless": useless}, stated, DATES, WHO)
    assert table["beliefs"].tolist() == ["good", "useless", "good less useless"]
    assert (table["low"] <= table["high"]).all()
    assert table.loc[0, "low"] > 0.4
    assert table.loc[2, "low"] > 0.0
    again = intervals({"good": good, "useless": useless}, stated, DATES, WHO)
    pd.testing.assert_frame_equal(table, again)
