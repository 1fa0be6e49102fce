"""Beliefs by group: labels, departures, the test, shrinkage; each against something slower."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
from imop_engine.bundled import market
from imop_engine.errors import InvalidInput
from imop_engine.inference.belief_identification import draw_disagreeing
from imop_engine.inference.first_order import Positions, fit_beliefs, profile_scores
from imop_engine.inference.group_effects import Strata, _system, group_effects
from imop_engine.inference.group_labels import group_labels
from imop_engine.inference.group_scores import BeliefScores, HoldingScores
from imop_engine.inference.group_shrinkage import shrink
from imop_engine.inference.group_test import (
    _chance_covariance,
    _Units,
    asset_p_values,
    difference_test,
)
from imop_engine.inference.groups import CommonBeliefs, compare_groups
from imop_engine.simulate import simulate_investors
from imop_engine.weights import lam_of

PAPER = market("paper8")
TRUTH = np.asarray(PAPER.expected_returns)
PROBLEM = imop.portfolio_problem(PAPER.covariance, anchors={0: TRUTH[0], 1: TRUTH[1]})
TAU = 0.01
ALL = np.ones(8, dtype=bool)


def weights_of(codes, rng, apart):
    """Weights on return; groups differ in boldness by `apart`."""
    return np.clip(rng.normal(0.45 + apart * codes, 0.15), 0.05, 0.95)


def who_differ(codes, apart, moved, seed, by_person=None):
    """Portfolios of investors who differ in their beliefs; the last group's have moved."""
    rng = np.random.default_rng(seed)
    Y = np.empty((len(codes), 8))
    lam = lam_of(weights_of(codes, rng, apart))
    if by_person is not None:
        lam = lam[by_person]
    for code in np.unique(codes):
        mine = codes == code
        theta = TRUTH + (moved if code == codes.max() else 0.0)
        Y[mine] = draw_disagreeing(PROBLEM, theta / TAU, TAU * lam[mine], rng)
    return Y


def beliefs_model(Y):
    fit = fit_beliefs(PROBLEM, Positions.of(PROBLEM, Y, 1e-4), least_holders=5)
    return BeliefScores.of(PROBLEM, Y, 1e-4, fit)


def p_value(codes, apart, moved, seed):
    model = beliefs_model(who_differ(codes, apart, moved, seed))
    first, found = group_effects(model, codes[model.rows], model.rows, ALL)
    return difference_test(first, seed, 199).p_value, found


# -- labels ----------------------------------------------------------------------------------------
KNOWN = pd.DataFrame(
    {
        "date": np.repeat(pd.date_range("2019-06-30", periods=40, freq="QE"), 10),
        "segment": ["growth", "income"] * 200,
        "age": np.tile(np.arange(20, 60), 10),
        "same": "x",
        "client": [f"c{i}" for i in range(400)],
        "hole": ["a", "b", None, "a"] * 100,
        "rare": ["a"] * 395 + ["b"] * 5,
    }
)


def test_labels_are_the_values_of_a_column_in_order():
    found = group_labels(KNOWN, "segment")
    assert found.names == ("growth", "income")
    assert found.codes.tolist() == [0, 1] * 200
    assert not found.in_time
    assert found.notes == ()


def test_numbers_are_cut_at_quartiles_and_missing_values_are_a_group():
    ages = group_labels(KNOWN, "age")
    assert len(ages.names) == 4
    assert np.bincount(ages.codes).tolist() == [100, 100, 100, 100]
    assert ages.notes == ("age is a number with many values; groups are its quarters.",)
    holes = group_labels(KNOWN, "hole")
    assert holes.names == ("a", "b", "not given")
    assert holes.notes == (
        "100 portfolios have no hole; they are a group of their own, 'not given'.",
    )


def test_dates_make_years_and_quarters_in_order_of_time():
    years = group_labels(KNOWN, "year")
    assert years.names == tuple(str(year) for year in range(2019, 2030))
    assert years.in_time
    assert years.codes.tolist() == sorted(years.codes)
    by_date = group_labels(KNOWN, "date")
    assert by_date.names == years.names
    assert by_date.notes == ("Groups by date are made by year.",)
    first = KNOWN.head(80)
    assert group_labels(first, "quarter").names[:3] == ("2019 Q2", "2019 Q3", "2019 Q4")
    texts = first.assign(date=first["date"].astype(str))
    assert group_labels(texts, "year").names == ("2019", "2020", "2021")


@pytest.mark.parametrize(
    ("table", "by", "said"),
    [
        (KNOWN, "sgment", "there is no column 'sgment' to make groups by; choose one of date, seg"),
        (KNOWN.drop(columns="date"), "year", "groups by year need the dates of the portfolios"),
        (KNOWN[[]], "segment", "the portfolios have no other columns than holdings"),
        (KNOWN, "same", "'same' is 'x' for all portfolios, so there are no groups to compare"),
        (KNOWN, "client", "'client' has 400 different values for 400 portfolios: those are nam"),
        (KNOWN, "quarter", "'quarter' makes 40 groups, and at most 24 are compared; compare by y"),
        (KNOWN, "rare", "fewer than two have as many (a 395, b 5). Join groups, or give more por"),
    ],
)
def test_what_makes_no_groups_is_refused_with_a_remedy(table, by, said):
    with pytest.raises(InvalidInput) as error:
        group_labels(table, by)
    assert said in str(error.value)


# -- scores ----------------------------------------------------------------------------------------
def test_profile_scores_at_the_fit_are_the_fits_own():
    Y = who_differ(np.zeros(80, dtype=np.int64), 0.0, 0.0, 1)
    positions = Positions.of(PROBLEM, Y, 1e-4)
    fit = fit_beliefs(PROBLEM, positions)
    assert fit.used.all()
    lots = np.arange(80) % 2
    found = profile_scores(PROBLEM, positions, fit, fit.beliefs, lots, 2)
    np.testing.assert_allclose(found.scores, fit.scores, atol=1e-4)
    np.testing.assert_allclose(found.information.sum(axis=0), fit.information, rtol=1e-4, atol=1e-4)
    # elsewhere: the slope of the likelihood, by differences, own numbers adapted along
    ahead = profile_scores(PROBLEM, positions, fit, fit.beliefs + 1e-3 * np.eye(8)[1], lots, 2)
    change = (ahead.scores - found.scores).sum(axis=0) / 1e-3
    np.testing.assert_allclose(change, -fit.information[:, 1], rtol=0.02, atol=0.2)


# -- departures ------------------------------------------------------------------------------------
def test_strata_are_lots_or_the_investor_herself():
    codes = np.array([0, 0, 1, 0, 1, 1])
    found = Strata.of(codes, np.array([7, 8, 9, 3, 3, 9]), np.array([0, 0, 0, 1, 1, 0]))
    assert found.several.tolist() == [False, False, False, True, True, False]
    assert found.strata[3] == found.strata[4] != found.strata[0]
    np.testing.assert_allclose(found.shares[found.strata[0]], [0.5, 0.5])
    centred = found.centred(np.arange(12.0).reshape(6, 2))
    np.testing.assert_allclose(centred[3:5], [[-1, -1], [1, 1]])


def test_the_system_is_what_centred_scores_move_by():
    """Scores h (d_group - common) have centred sums M d, whatever the groups' mix in strata."""
    rng = np.random.default_rng(0)
    codes, lots = rng.integers(0, 3, 60), rng.integers(0, 2, 60)
    information = np.array([part @ part.T for part in rng.normal(size=(2, 4, 4))])
    strata = Strata.of(codes, np.arange(60), lots)
    departures = rng.normal(size=(3, 4))
    scores = np.array(
        [information[lot] @ departures[code] for lot, code in zip(lots, codes, strict=True)]
    )
    sums = np.zeros((3, 4))
    for code, one in zip(codes, strata.centred(scores), strict=True):
        sums[code] += one
    np.testing.assert_allclose(_system(strata, information) @ departures.ravel(), sums.ravel())


@pytest.mark.parametrize("way", ["beliefs", "holdings"])
def test_a_difference_is_found_in_the_asset_where_it_is(way):
    codes = np.repeat([0, 1], 150)
    moved = np.zeros(8)
    moved[4] = -0.015
    if way == "beliefs":
        model = beliefs_model(who_differ(codes, 0.1, moved, 3))
    else:
        rng = np.random.default_rng(3)
        weights = weights_of(codes, rng, 0.1)
        Y = np.vstack(
            [
                simulate_investors(
                    PROBLEM, TRUTH + code * moved, 150, weights=weights[codes == code],
                    noise="gaussian", noise_level=0.01, rng=rng,
                ).portfolios
                for code in (0, 1)
            ]
        )  # fmt: skip
        model = HoldingScores.of(PROBLEM, imop.refine(PROBLEM, Y, TRUTH).theta, Y)
    first, found = group_effects(model, codes[model.rows], model.rows, ALL)
    assert difference_test(first, 0, 199).p_value <= 0.01
    p_values = asset_p_values(found)
    assert p_values[4] < 0.001
    apart = found.departures[1] - found.departures[0]
    assert apart[4] == pytest.approx(moved[4], abs=0.003)
    assert found.departures[:, :2] == pytest.approx(0.0, abs=1e-9), "anchors are the same for all"


def test_groups_that_only_take_more_risk_do_not_differ():
    codes = np.random.default_rng(9).integers(0, 3, 240)
    p_values = [p_value(codes, 0.15, 0.0, seed)[0] for seed in range(20, 32)]
    assert np.mean(np.array(p_values) <= 0.05) <= 0.2
    assert np.mean(p_values) > 0.3


def test_investors_at_several_dates_are_compared_with_themselves():
    """Sixty investors at two dates; the second time all believe in less of one asset."""
    codes, person = np.tile([0, 1], 60), np.repeat(np.arange(60), 2)
    moved = np.zeros(8)
    moved[4] = -0.02
    still = beliefs_model(who_differ(codes, 0.0, 0.0, 5, 2 * person))
    there = beliefs_model(who_differ(codes, 0.0, moved, 5, 2 * person))
    first, _ = group_effects(still, codes[still.rows], person[still.rows], ALL)
    assert first.strata.several.mean() > 0.9
    assert difference_test(first, 0, 199).p_value > 0.05
    first, found = group_effects(there, codes[there.rows], person[there.rows], ALL)
    assert difference_test(first, 0, 199).p_value <= 0.05
    apart = found.departures[1] - found.departures[0]
    assert apart[4] == pytest.approx(moved[4], abs=0.01)


# -- the test --------------------------------------------------------------------------------------
def test_the_covariance_of_dealt_labels_is_that_of_all_ways_to_deal_them():
    rng = np.random.default_rng(4)
    sums = np.vstack([one - one.mean(axis=0) for one in rng.normal(size=(2, 4, 2))])
    codes, strata = np.array([0, 0, 1, 2, 0, 1, 1, 1]), np.repeat([0, 1], 4)
    turned = rng.normal(size=(1, 6))
    found = _chance_covariance(_Units(sums, codes, strata, turned), 3)
    drawn = []
    for first in permutations(codes[:4]):
        for second in permutations(codes[4:]):
            stacked = np.zeros((3, 2))
            for code, one in zip((*first, *second), sums, strict=True):
                stacked[code] += one
            drawn += [stacked.ravel() + sign * turned[0] for sign in (-1.0, 1.0)]
    table = np.array(drawn)
    np.testing.assert_allclose(table.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(found, table.T @ table / len(table), atol=1e-12)


def test_the_same_seed_deals_the_same_labels():
    codes = np.arange(120) % 2
    model = beliefs_model(who_differ(codes, 0.0, 0.0, 6))
    first, _ = group_effects(model, codes[model.rows], model.rows, ALL)
    assert difference_test(first, 3, 99).p_value == difference_test(first, 3, 99).p_value
    assert not first.open[:, :2].any()
    # assets that both groups tell of, less shift and scale
    assert difference_test(first, 3, 99).degrees == (~first.open).all(axis=0).sum() - 2


# -- shrinkage -------------------------------------------------------------------------------------
def naive_posterior(seen, V, weights, width):
    """Two groups: every between-group deviation and true departure on a grid, weighed by Bayes."""
    apart = np.eye(2) - weights
    direction = apart[:, 0] / np.linalg.norm(apart[:, 0])
    x, v = direction @ seen, direction @ V @ direction
    law = float(direction @ apart @ apart.T @ direction)
    tau = np.linspace(1e-4, 3.0 * width, 400)[:, None]
    d = np.linspace(-6.0 * width, 6.0 * width, 2001)
    share = np.exp(-0.5 * (d**2 / (law * tau**2) + (x - d) ** 2 / v + (tau / width) ** 2)) / tau
    share /= share.sum()
    mean, square = np.sum(share * d), np.sum(share * d**2)
    return direction * mean, np.abs(direction) * np.sqrt(square - mean**2)


def test_shrinkage_is_bayes_rule_summed_over_a_grid():
    weights = np.array([0.3, 0.7])
    apart = np.eye(2) - weights
    direction = apart[:, 0] / np.linalg.norm(apart[:, 0])
    seen, V = direction * 0.02, np.outer(direction, direction) * 0.01**2
    found = shrink(seen[:, None], V, np.zeros((2, 1), bool), weights, 0.05)
    mean, error = naive_posterior(seen, V, weights, 0.05)
    np.testing.assert_allclose(found.departures[:, 0], mean, rtol=0.03)
    np.testing.assert_allclose(found.errors[:, 0], error, rtol=0.03)
    assert abs(found.departures[0, 0]) < abs(seen[0])


def test_what_is_surely_apart_stays_and_chance_is_shrunk():
    weights = np.full(4, 0.25)
    apart = np.eye(4) - weights
    seen = np.column_stack([[0.03, 0.01, -0.01, -0.03], [0.003, 0.001, -0.001, -0.003]])
    V = np.kron(apart @ apart.T, np.diag([1e-6, 1e-4]))
    found = shrink(seen, V, np.zeros((4, 2), bool), weights, 0.05)
    np.testing.assert_allclose(found.departures[:, 0], seen[:, 0], rtol=0.02)
    assert np.all(np.abs(found.departures[:, 1]) < 0.5 * np.abs(seen[:, 1]))
    assert np.all(found.errors[:, 1] > 0.001), "the deviation is not known to be nil"
    assert found.between[0] == pytest.approx(0.0258, rel=0.05)
    assert found.between[1] == 0.0


# -- together --------------------------------------------------------------------------------------
def common(known=ALL):
    names = tuple(PAPER.names)
    return CommonBeliefs(names, TRUTH, np.full(8, 0.001), known, True, 0.95)


def test_small_groups_are_counted_and_not_compared():
    codes = np.repeat([0, 1, 2], [100, 95, 5])
    Y = who_differ(np.minimum(codes, 1), 0.0, 0.0, 8)
    model = beliefs_model(Y)
    labels = group_labels(pd.DataFrame({"of": np.array(["a", "b", "c"])[codes]}), "of")
    kept = np.ones(200, dtype=bool)
    found = compare_groups(model, labels, kept, np.arange(200), common())
    small = found.table[found.table["group"] == "c"]
    assert (small["status"] == "too few").all()
    assert small["estimate"].isna().all()
    assert "c has fewer than 10 investors" in found.notes[0]
    seen = found.table[found.table["status"] == "compared"]
    assert (seen["low"] < seen["estimate"]).all()
    assert (seen["estimate"] < seen["high"]).all()
    np.testing.assert_allclose(
        seen["estimate"] - seen["difference"], np.tile(TRUTH, 3)[seen.index], atol=1e-12
    )
    kept[:95] = False
    with pytest.raises(InvalidInput, match="fewer than two have as many"):
        compare_groups(beliefs_model(Y[kept]), labels, kept, np.arange(200), common())


def test_what_is_not_known_of_all_is_not_said_of_groups():
    codes = np.arange(160) % 2
    model = beliefs_model(who_differ(codes, 0.0, 0.0, 9))
    labels = group_labels(pd.DataFrame({"of": np.array(["a", "b"])[codes]}), "of")
    known = np.arange(8) != 5
    kept = np.ones(160, dtype=bool)
    found = compare_groups(model, labels, kept, np.arange(160), common(known))
    rows = found.table[found.table["asset"] == PAPER.names[5]]
    assert (rows["status"] == "not seen").all()
    assert rows[["estimate", "low", "high", "difference", "own"]].isna().all(axis=None)


def test_a_group_of_which_nobody_is_in_the_common_estimate_departs_from_the_others_in_full():
    """It has no weight in the common returns, so these are the other group's alone."""
    codes, moved = np.repeat([0, 1], [160, 80]), -0.015 * np.eye(8)[4]
    Y = who_differ(codes, 0.0, moved, 11)
    labels = group_labels(pd.DataFrame({"of": np.array(["a", "b"])[codes]}), "of")
    everyone, told = np.ones(240, dtype=bool), {}
    for name, explained in (("others", codes == 0), ("all", None)):
        found = compare_groups(
            beliefs_model(Y), labels, everyone, np.arange(240), common(), explained=explained
        )
        rows = found.table.set_index(["group", "asset"])
        told[name] = rows["difference"].xs(PAPER.names[4], level="asset")
        assert rows.loc["b", "apart"].unique().tolist() == [0 if explained is None else 80]
    assert told["others"]["a"] == pytest.approx(0.0, abs=1e-9)
    assert told["others"]["b"] == pytest.approx(moved[4], abs=0.004)
    assert told["all"]["a"] > 0.002, "with both in it, the common return lies between them"
    apart = {name: one["b"] - one["a"] for name, one in told.items()}
    assert apart["others"] == pytest.approx(apart["all"], rel=0.1)
