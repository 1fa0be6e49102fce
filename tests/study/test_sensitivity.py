"""The estimate under other choices: what each changes, what it keeps, and what is said of it."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
from imop_engine.bundled import market
from imop_engine.errors import ImopError
from imop_engine.report.charts_sensitivity import sensitivity_chart
from imop_engine.sentences import sensitivity as say
from imop_engine.study.sensitivity import gathered, rank_correlation, sensitivity_steps

STRANGERS = 15


@pytest.fixture(scope="module")
def mixed():
    """A study with a history, strangers among the investors, and groups."""
    us20 = market("us20")
    names = list(us20.names)[:6]
    keep = [us20.names.index(name) for name in names]
    returns = pd.Series(us20.expected_returns[keep], index=names)
    covariance = us20.covariance_by_asset.loc[names, names]
    rng = np.random.default_rng(5)
    problem = imop.portfolio_problem(covariance, names=names)
    frontier = imop.efficient_frontier(problem, returns.to_numpy())
    Y = np.array([frontier.at(w) for w in rng.uniform(0.05, 0.7, 150)])
    Y = np.maximum(Y + rng.normal(0.0, 0.004, Y.shape) * (Y > 0), 0.0)
    Y[:STRANGERS] = rng.dirichlet(np.ones(len(names)), STRANGERS)
    Y /= Y.sum(axis=1, keepdims=True)
    people = pd.DataFrame({"desk": rng.choice(["north", "south"], len(Y))})
    settings = imop.StudySettings(by="desk")
    return imop.run_study(
        returns, covariance, pd.DataFrame(Y, columns=names), settings,
        attributes=people, history=us20.history[names],
    )  # fmt: skip


@pytest.fixture(scope="module")
def found(mixed):
    return imop.sensitivity(mixed)


def test_other_anchors_move_level_and_scale_and_nothing_else(mixed, found):
    others = [one for one in found.alternatives if one.choice == say.ANCHORS]
    assert len(others) >= 4
    for one in others:
        slope, shift = np.polyfit(mixed.theta, one.returns, 1)
        assert slope > 0
        np.testing.assert_allclose(slope * mixed.theta + shift, one.returns, atol=1e-10)
        assert one.explained == pytest.approx(found.explained, abs=1e-9)


def test_an_anchor_one_standard_error_higher_is_met_to_the_last_digit(mixed):
    rows, values = mixed.problem.theta.equalities, mixed.problem.theta.values
    moved = [one for one in sensitivity_steps(mixed) if "standard error" in one.label]
    assert len(moved) == 4
    errors = np.sqrt(np.diag(mixed.estimate.anchor_covariance))
    steps = [rows @ one.returns - values for one in moved]
    expected = [[-errors[0], 0], [errors[0], 0], [0, -errors[1]], [0, errors[1]]]
    np.testing.assert_allclose(steps, expected, atol=1e-12)


def test_everyone_is_what_the_study_shows_beside_its_estimate(mixed, found):
    (one,) = [one for one in found.alternatives if one.choice == say.INVESTORS]
    aside = int((~mixed.estimate.kept).sum())
    assert aside >= STRANGERS // 2
    assert f"{aside:,} investors" in one.label
    again = imop.run_study(
        mixed.data.expected_returns, mixed.data.covariance, mixed.decisions,
        replace(mixed.settings, trim=False, by=None), history=mixed.data.market.history,
    )  # fmt: skip
    # the stream's end is another start of the same fit
    np.testing.assert_allclose(one.returns, again.theta, atol=1e-5)


def test_a_covariance_that_is_the_study_s_own_is_no_alternative(mixed, found):
    labels = [one.label for one in found.alternatives if one.choice == say.COVARIANCE]
    assert say.method("sample") not in labels
    assert say.method("ledoit-wolf") in labels
    assert say.LATER_HALF in labels


def test_the_table_has_what_the_study_estimates_and_no_more(mixed, found):
    known = mixed.frame_returns.loc[mixed.frame_returns["estimate"].notna(), "asset"]
    assert set(found.table["asset"]) == set(known)
    gaps = found.table["estimate"] - found.table["study"] - found.table["difference"]
    assert np.nanmax(np.abs(gaps)) < 1e-15
    for row in found.summary.itertuples():
        rows = found.table[found.table["alternative"] == row.alternative]
        assert row.largest == pytest.approx(rows["difference"].abs().max())


def test_groups_are_those_of_the_study(mixed, found):
    labels = {one.label for one in found.alternatives if one.choice == say.GROUP}
    assert labels == {"desk: north", "desk: south"}


def test_what_cannot_be_computed_is_said(mixed):
    # three periods leave no covariance of six assets that is positive definite
    short = replace(mixed.data.market, history=mixed.data.market.history.iloc[:3])
    study = replace(mixed, data=replace(mixed.data, market=short))
    found = gathered(study, tuple(sensitivity_steps(study)))
    reasons = [one for one in found.alternatives if one.reason]
    assert reasons
    for one in reasons:
        assert np.isnan(one.returns).all()
        assert any(s.startswith(f"Not computed: {one.label}.") for s in found.sentences())


def test_anchors_that_would_turn_the_order_round_are_refused(mixed):
    upside_down = replace(mixed.data.market, expected_returns=-mixed.data.market.expected_returns)
    settings = replace(mixed.settings, anchors={mixed.problem.names[0]: 0.1})
    study = replace(mixed, settings=settings, data=replace(mixed.data, market=upside_down))
    turned = [one for one in sensitivity_steps(study) if one.reason == say.TURNED_ROUND]
    assert turned


def test_a_study_that_was_not_fitted_together_has_none(mixed):
    with pytest.raises(ImopError, match="not fitted together"):
        imop.sensitivity(replace(mixed, estimate=None))


def test_sentences_name_the_alternative_that_moves_most(found):
    for choice in (say.ANCHORS, say.COVARIANCE, say.METHOD):
        rows = found.summary[found.summary["choice"] == choice]
        most = rows.loc[rows["largest"].idxmax()]
        (sentence,) = [s for s in found.sentences() if s.startswith(say.CHANGED[choice])]
        assert most["alternative"] in sentence
        assert most["asset"] in sentence


def test_ranks():
    approx = pytest.approx
    assert rank_correlation(np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 21.0])) == approx(1.0)
    assert rank_correlation(np.array([1.0, 2.0]), np.array([2.0, 1.0])) == approx(-1.0)
    assert np.isnan(rank_correlation(np.array([1.0]), np.array([2.0])))
    assert np.isnan(rank_correlation(np.array([1.0, 1.0]), np.array([2.0, 1.0])))


def test_the_chart_has_a_dot_for_each_and_the_study_s_own(found):
    chart = sensitivity_chart(found.table).to_dict()
    marks = [layer["mark"]["type"] for layer in chart["layer"]]
    assert marks == ["tick", "point"]
    (rows,) = chart["datasets"].values()
    assert len(rows) == len(found.table)


def test_the_shell_says_the_same(mixed, found, tmp_path, capsys):
    from imop_engine.cli import main

    imop.save_study(mixed, tmp_path / "study")
    with pytest.raises(SystemExit) as ended:
        main(["sensitivity", str(tmp_path / "study"), "--json", "--out", str(tmp_path / "t.csv")])
    assert not ended.value.code
    said = json.loads(capsys.readouterr().out)
    assert said["sentences"] == found.sentences()
    assert len(said["alternatives"]) == len(found.alternatives)
    assert len(pd.read_csv(tmp_path / "t.csv")) == len(found.table)
