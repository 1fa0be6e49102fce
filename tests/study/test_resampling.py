"""A study estimated again from investors, months and anchors drawn anew."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
import reference
from imop_engine.cli import main
from imop_engine.errors import ImopError, InvalidInput
from imop_engine.sentences import resampling as say
from imop_engine.storage import save_study
from imop_engine.study.resampling import (
    Redrawn,
    _investors,
    _market,
    _problem,
    _rows_of,
    gathered_draws,
    resample_steps,
)

NAMES = ["A", "B", "C", "D", "E"]
Q, R = reference.SECURITIES_COVARIANCE[:5, :5], reference.SECURITIES_RETURN[:5]


def holdings(count, seed=0):
    frontier = imop.efficient_frontier(imop.portfolio_problem(Q), R)
    rng = np.random.default_rng(seed)
    held = frontier.at(rng.uniform(0.1, 0.9, count)) + rng.normal(0.0, 0.005, (count, 5))
    held = np.maximum(held, 0.0)
    return pd.DataFrame(held / held.sum(axis=1, keepdims=True), columns=NAMES)


@pytest.fixture(scope="module")
def study():
    rng = np.random.default_rng(2)
    history = pd.DataFrame(rng.multivariate_normal(R / 12, Q / 12, 240), columns=NAMES)
    return imop.run_study(
        history.mean() * 12, history.cov() * 12, holdings(80), history=history
    )  # fmt: skip


@pytest.fixture(scope="module")
def known():
    """Covariance and anchors count as known."""
    anchors = [("A", float(R[0]), 0.01), ("C", float(R[2]), 0.0)]
    return imop.run_study(R, Q, holdings(60), imop.StudySettings(anchors=anchors))


def test_draws_scatter_about_as_widely_as_the_intervals_say(study):
    told = []
    found = imop.resample(study, 20, 3, lambda done, total: told.append((done, total)))
    assert told == [(done, 20) for done in range(1, 21)]
    assert found.parts == (say.INVESTORS, say.MONTHS, say.ANCHORS)
    assert found.investors == 80
    table = found.table
    assert len(table) >= 3
    assert 0.5 < table["width"].median() < 1.6
    inside = (table["redrawn_low"] < table["estimate"]) & (
        table["estimate"] < table["redrawn_high"]
    )
    assert inside.mean() >= 0.8
    assert "20 estimates from investors (of 80), months of the history" in found.sentences()[0]


def test_a_draw_depends_on_its_number_and_the_seed_alone(known):
    first = [one.returns for _, one in zip(range(2), resample_steps(known, 40, 1), strict=False)]
    again = next(resample_steps(known, 20, 1)).returns
    np.testing.assert_array_equal(first[0], again)
    assert np.abs(first[0] - first[1]).max() > 0
    assert np.abs(next(resample_steps(known, 20, 2)).returns - again).max() > 0


def test_whole_investors_are_drawn(study):
    """With all their portfolios, and twice the same one is two investors."""
    clusters = np.arange(80) // 4
    drawn = _investors(study, _rows_of(clusters), np.random.default_rng(0))
    assert len(drawn) == 80
    rows = [np.flatnonzero((study.data.decisions == held).all(axis=1))[0] for held in
            drawn.portfolios]  # fmt: skip
    assert np.all(np.diff(np.array(rows).reshape(-1, 4), axis=1) == 1)
    assert len(set(rows)) < 80
    assert len(set(drawn.ids)) == 80


def test_what_is_known_stays_and_what_is_not_is_drawn(study, known):
    rng = np.random.default_rng(0)
    assert _market(known.data.market, rng) is known.data.market
    values = [_problem(known, known.data, rng).theta.values for _ in range(200)]
    spread = np.std(values, axis=0)
    assert spread[0] == pytest.approx(0.01, rel=0.2)
    assert spread[1] < 1e-12
    market = study.data.market
    other = replace(
        market, covariance=1.1 * market.covariance
    )  # no estimator made it of the history
    months = replace(market, history=None, months=240)
    for one in (market, other, months):
        covariances, means = [], []
        for _ in range(60):
            drawn = _market(one, rng)
            covariances.append(drawn.covariance)
            means.append(drawn.expected_returns)
        ratio = np.mean(covariances, axis=0)[0, 0] / one.covariance[0, 0]
        assert ratio == pytest.approx(1.0, abs=0.06)
        usual = np.sqrt(np.diag(market.mean_covariance))
        np.testing.assert_allclose(np.std(means, axis=0), usual, rtol=0.35)


def test_draws_without_an_estimate_are_counted_and_too_many_are_refused(known):
    good = [Redrawn(known.theta + 1e-3 * k) for k in range(20)]
    bad = Redrawn(np.full(5, np.nan), "no frontier.")
    found = gathered_draws(known, (*good, bad))
    assert found.sentences()[-1] == (
        "1 of 21 draws gave no estimate; the first because no frontier."
    )
    with pytest.raises(ImopError, match="only 19 of 20 draws gave an estimate"):
        gathered_draws(known, (*good[1:], bad))


def test_what_cannot_be_drawn_is_refused(known):
    with pytest.raises(InvalidInput, match="draws is 5; give a whole number from 20"):
        imop.resample(known, 5)
    with pytest.raises(ImopError, match="were not fitted together"):
        imop.resample(replace(known, estimate=None), 20)


def test_the_shell_draws_a_study_that_was_saved(known, tmp_path, capsys):
    save_study(known, tmp_path / "study")
    told = ["resample", str(tmp_path / "study"), "--draws", "20", "--json"]
    with pytest.raises(SystemExit) as ended:
        main([*told, "--out", str(tmp_path / "drawn.csv")])
    assert not ended.value.code
    said = json.loads(capsys.readouterr().out)
    assert said["draws"] + said["failed"] == 20
    assert said["drawn"] == ["investors", "anchors"]
    table = pd.read_csv(tmp_path / "drawn.csv")
    assert list(table["asset"]) == [row["asset"] for row in said["returns"]]
