"""Caps that differ from investor to investor: who is free of them, who shares one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
from imop_engine import bundled
from imop_engine.errors import InvalidInput
from imop_engine.study import StudyData, StudySettings
from imop_engine.study.mandates import run_mandates
from imop_engine.study.own_caps import FREE, by_own_caps

MARKET = bundled.market("paper8")
NAMES = list(MARKET.names)
RETURNS = np.asarray(MARKET.expected_returns)
KNOWN = {NAMES[0]: float(RETURNS[0]), NAMES[6]: float(RETURNS[6])}


def capped(caps, noise=0.003, written=None) -> StudyData:
    """Efficient portfolios under these caps, with errors; the caps are in a column."""
    rng = np.random.default_rng(11)
    frontiers: dict[float, imop.Frontier] = {}
    held = np.empty((len(caps), len(NAMES)))
    for row, cap in enumerate(caps):
        if cap not in frontiers:
            problem = imop.portfolio_problem(MARKET.covariance, upper=cap, names=NAMES)
            frontiers[cap] = imop.efficient_frontier(problem, RETURNS)
        held[row] = frontiers[cap].at(rng.uniform(0.05, 0.95))
    held = np.maximum(held + rng.normal(0.0, noise, held.shape), 0.0)
    return StudyData.of(
        MARKET.returns_by_asset,
        MARKET.covariance_by_asset,
        pd.DataFrame(held / held.sum(axis=1, keepdims=True), columns=NAMES),
        attributes=pd.DataFrame({"cap": caps if written is None else written}),
    )


@pytest.mark.slow
def test_caps_of_everyones_own_leave_those_who_do_not_reach_them():
    caps = np.round(np.random.default_rng(3).uniform(0.25, 0.7, 300), 4)
    data, column, mandates = by_own_caps(capped(caps), "cap")
    assert column == "cap (as mandate)"
    assert mandates == {FREE: {}}
    aside = [reason for reason in data.investors.reasons if reason]
    assert 50 < len(aside) < 250
    assert "which fewer than 30 investors share" in aside[0]
    study = run_mandates(data, column, mandates, StudySettings(anchors=KNOWN)).studies[FREE]
    assert study.rounds == 300 - len(aside)
    assert study.verdict == "good"
    table = study.frame_returns.set_index("asset")
    known = table["status"] == "identified"
    truth = pd.Series(RETURNS, index=NAMES)[known]
    assert known.sum() >= 3
    assert (table["estimate"][known] - truth).abs().max() < 0.001
    # without the caps the same holdings are taken for beliefs that they are not
    blind = imop.run_study(
        MARKET.returns_by_asset, MARKET.covariance_by_asset, capped(caps).decisions,
        StudySettings(anchors=KNOWN),
    ).frame_returns.set_index("asset")  # fmt: skip
    assert (blind["estimate"][known] - truth).abs().max() > 0.001


def test_a_cap_that_many_share_is_a_mandate_and_no_cap_is_none():
    caps = np.array([0.25] * 80 + [1.0] * 40 + [0.3] * 5)
    data, column, mandates = by_own_caps(capped(caps), "cap")
    assert set(mandates) == {FREE, "cap of 25%"}
    assert mandates["cap of 25%"] == {"upper": 0.25}
    labels = data.attributes[column].to_numpy()
    assert set(labels[80:120]) == {FREE}
    taken = np.array([not reason for reason in data.investors.reasons])
    assert (labels[:80] == "cap of 25%").sum() > 40
    assert taken[:120].all()


def test_errors_of_holdings_say_how_near_a_cap_is_reached():
    caps = np.array([0.4] * 100)
    coarse, column, _ = by_own_caps(capped(caps, noise=0.02), "cap")
    held = coarse.investors.portfolios.max(axis=1)
    # two in three at 0.38 are at their cap when errors are 0.02
    assert (coarse.attributes[column][(held > 0.36)] == "cap of 40%").all()


@pytest.mark.parametrize(
    ("written", "expected"), [("40%", 0.4), ("0.4", 0.4), (0.4, 0.4), (" 40 %", 0.4)]
)
def test_caps_are_read_as_people_write_them(written, expected):
    data = capped(np.array([0.4] * 60), written=[written] * 60)
    assert by_own_caps(data, "cap")[2]["cap of 40%"] == {"upper": expected}


def test_what_is_no_cap_is_refused_with_the_place():
    caps = np.array([0.4] * 40)
    with pytest.raises(InvalidInput, match=r"there is no column 'limit'.*the columns are cap"):
        by_own_caps(capped(caps), "limit")
    for cell in ("40", "none", "-0.1", "0"):
        written = ["40%"] * 39 + [cell]
        with pytest.raises(
            InvalidInput, match=f"'{cell}' in column 'cap' of investor 40 is no cap"
        ):
            by_own_caps(capped(caps, written=written), "cap")
    few = np.linspace(0.2, 0.21, 40)
    with pytest.raises(InvalidInput, match="all 40 investors are at the cap"):
        by_own_caps(capped(few, noise=0.0), "cap")


def test_an_empty_cell_is_no_cap():
    caps = np.array([1.0] * 40)
    data = capped(caps, written=[None] * 20 + [""] * 20)
    assert by_own_caps(data, "cap")[2] == {FREE: {}}
