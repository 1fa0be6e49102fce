"""Investors under different limits: what they believe together, and that limits left out show."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
from imop_engine import bundled
from imop_engine.study import StudyData, StudySettings
from imop_engine.study.mandates import _bounds_of_most, _within, run_mandates
from imop_engine.study.steps import make_problem

MARKET = bundled.market("paper8")
NAMES = list(MARKET.names)
RETURNS = np.asarray(MARKET.expected_returns)
SECTOR = ({NAMES[1]: 1, NAMES[3]: 1, NAMES[4]: 1}, "<=", 0.25)
MANDATES = {"free": {}, "careful": {"limits": [SECTOR], "upper": 0.4}}
KNOWN = {NAMES[0]: float(RETURNS[0]), NAMES[6]: float(RETURNS[6])}


def investors(count: int = 300, seed: int = 6, wrong: np.ndarray | None = None) -> StudyData:
    """Half of them free, half under a cap and a limit on three assets together.

    `wrong` is what the careful half believe, where they believe something else.
    """
    rng = np.random.default_rng(seed)
    labels = np.where(np.arange(count) % 2 == 0, "free", "careful")
    held = np.empty((count, len(NAMES)))
    for name, given in MANDATES.items():
        problem = imop.portfolio_problem(MARKET.covariance, names=NAMES, **given)
        here = labels == name
        weights = rng.uniform(0.05, 0.95, int(here.sum()))
        own = wrong if wrong is not None and name == "careful" else RETURNS
        held[here] = imop.efficient_frontier(problem, own).at(weights)
    held = np.maximum(held + rng.normal(0.0, 0.003, held.shape), 0.0)
    table = pd.DataFrame(held / held.sum(axis=1, keepdims=True), columns=NAMES)
    return StudyData.of(
        MARKET.returns_by_asset, MARKET.covariance_by_asset, table,
        attributes=pd.DataFrame({"mandate": labels}),
    )  # fmt: skip


@pytest.mark.slow
def test_one_estimate_from_all_mandates():
    found = run_mandates(investors(), "mandate", MANDATES, StudySettings(anchors=KNOWN))
    assert set(found.studies) == {"free", "careful"}
    table = found.returns.set_index("asset")
    known = table["status"] == "identified"
    assert known.sum() >= 4
    truth = pd.Series(RETURNS, index=NAMES)[known]
    inside = (table["low"][known] <= truth) & (truth <= table["high"][known])
    assert inside.all()
    assert (table["estimate"][known] - truth).abs().max() < 0.003
    both = table[table["mandates"] == 2]
    for study in found.studies.values():  # two tell more than one
        own = study.frame_returns.set_index("asset").loc[both.index]
        assert ((both["high"] - both["low"]) <= 1.01 * (own["high"] - own["low"])).mean() > 0.7
    assert set(found.investors["mandate"]) == {"free", "careful"}
    assert len(found.investors) == 300
    assert set(found.frontiers["mandate"]) == {"free", "careful"}
    assert found.sentences == ()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [31000, 31002])
def test_mandates_agree_where_one_does_not_see_a_level(seed: int):
    """Everybody believes the same; the limit binds for nearly all of the careful half."""
    found = run_mandates(investors(400, seed), "mandate", MANDATES, StudySettings(anchors=KNOWN))
    careful = found.studies["careful"].frame_returns.set_index("asset")
    assert set(careful["status"].iloc[[1, 3, 4]]) == {"relative"}
    assert found.sentences == ()
    assert found.combined.probability > 0.001
    table = found.returns.set_index("asset")
    known = table[table["status"] == "identified"]
    truth = pd.Series(RETURNS, index=NAMES)[known.index]
    assert len(known) == 6
    assert ((known["low"] <= truth) & (truth <= known["high"])).mean() >= 0.8
    # differences that the careful half knows make the sum tell more than the free half alone
    free = found.studies["free"].frame_returns.set_index("asset").loc[known.index]
    assert ((known["high"] - known["low"]) / (free["high"] - free["low"])).max() < 1.05


@pytest.mark.slow
def test_mandates_that_believe_something_else_are_told_and_widen_the_intervals():
    other = RETURNS.copy()
    other[2] -= 0.01  # held by many under either mandate
    found = run_mandates(
        investors(400, 5, other), "mandate", MANDATES, StudySettings(anchors=KNOWN)
    )
    assert found.combined.probability < 1e-6
    assert found.sentences[0].startswith("What the mandates say does not agree")
    assert any(NAMES[2] in one for one in found.sentences[1:])
    row = found.returns.set_index("asset").loc[NAMES[2]]
    assert row["low"] < other[2] < RETURNS[2] < row["high"]


def test_ends_of_mandates_are_put_together():
    rows = [{"low": np.nan, "high": 0.06}, {"low": 0.01, "high": np.nan}]
    assert _within(rows) == (0.01, 0.06)
    assert _within([{"low": np.nan, "high": 0.06}] * 2)[1] == 0.06
    assert np.isnan(_within([{"low": np.nan, "high": 0.06}] * 2)[0])
    # what contradicts one another is somewhere in between
    assert _within([{"low": 0.01, "high": 0.02}, {"low": 0.03, "high": 0.04}]) == (0.01, 0.04)


def test_the_bound_of_most_investors_counts_and_not_the_tightest():
    above = {"status": "bounded above", "low": np.nan, "high": 0.06, "investors": 200}
    tighter = {"status": "bounded above", "low": np.nan, "high": 0.05, "investors": 8}
    nothing = {"status": "not seen", "low": np.nan, "high": np.nan, "investors": 300}
    low, high, status = _bounds_of_most([nothing, tighter, above])
    assert np.isnan(low)
    assert (high, status) == (0.06, "bounded above")
    below = {"status": "bounded below", "low": 0.02, "high": np.nan, "investors": 90}
    assert _bounds_of_most([below, tighter]) == (0.02, 0.05, "bounded")
    low, high, status = _bounds_of_most([below | {"low": 0.07}, above])
    assert np.isnan(low)
    assert np.isnan(high)
    assert status == "not seen"


def test_labels_without_a_mandate_are_named():
    data = investors(20)
    with pytest.raises(imop.errors.InvalidInput, match="names 'careful', for which no mandate"):
        run_mandates(data, "mandate", {"free": {}})
    with pytest.raises(imop.errors.InvalidInput, match="there is no column 'client'"):
        run_mandates(data, "client", MANDATES)


def test_a_study_refuses_what_it_cannot_read():
    with pytest.raises(imop.errors.InvalidInput, match="holdings of zero or more"):
        StudySettings(lower=-0.1)
    data, exactly = investors(20), (SECTOR[0], "=", 0.25)
    with pytest.raises(imop.errors.InvalidInput, match="Give a band"):
        make_problem(data, StudySettings(anchors=KNOWN, limits=[exactly]))


def test_settings_with_limits_come_back_from_json():
    chosen = StudySettings(lower={NAMES[0]: 0.02}, limits=[SECTOR])
    assert StudySettings.from_dict(chosen.to_dict()) == chosen
