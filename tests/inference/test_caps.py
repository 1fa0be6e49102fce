"""What is known of an asset that everybody holds at the cap."""

import numpy as np
import pandas as pd

import imop_engine as imop
import reference
from imop_engine.inference.first_order import Positions, fit_beliefs

NAMES = ["A", "B", "C", "D", "E", "F"]
Q, R = reference.SECURITIES_COVARIANCE[:6, :6], reference.SECURITIES_RETURN[:6]
CAPPED = 5


def disagreeing(count=150):
    """Portfolios by beliefs that differ, with one asset so good that all hold it at its cap."""
    rng = np.random.default_rng(4)
    caps = np.where(np.arange(6) == CAPPED, 0.2, 1.0)
    problem = imop.portfolio_problem(Q, upper=caps)
    returns = np.where(np.arange(6) == CAPPED, R.max() + 0.2, R)
    held = [
        imop.efficient_frontier(problem, returns + rng.normal(0.0, 0.03, 6)).at(w)
        for w in rng.uniform(0.2, 0.7, count)
    ]
    held = np.round(held, 4)  # as a file has them
    assert np.ptp(held[:, CAPPED]) == 0.0
    return pd.DataFrame(held / held.sum(axis=1, keepdims=True), columns=NAMES), returns


def test_an_asset_that_all_hold_at_its_cap_is_bounded_below():
    Y, returns = disagreeing()
    anchors = {"A": float(R[0]), "C": float(R[2])}
    settings = imop.StudySettings(anchors=anchors, upper={"F": 0.2}, errors="beliefs")
    study = imop.run_study(returns, Q, Y, settings)
    row = study.frame_returns.set_index("asset").loc["F"]
    assert row["status"] == "bounded below"
    assert np.isnan(row["estimate"])
    assert row["low"] <= returns[CAPPED]
    assert f"{len(Y)} of {len(Y)} investors hold it, and all of them" in row["sentence"]


def test_a_rounded_cap_is_a_cap_and_takes_nobody_out():
    Y, _ = disagreeing()
    problem = imop.portfolio_problem(Q, upper=np.where(np.arange(6) == CAPPED, 0.2, 1.0))
    positions = Positions.of(problem, Y.to_numpy(), 0.0)
    assert positions.capped[:, CAPPED].all()
    fit = fit_beliefs(problem, positions, least_holders=10)
    assert not fit.informed[CAPPED]
    assert fit.used.mean() > 0.8
    cautious = imop.efficient_frontier(problem, fit.beliefs).sample(5)[1][
        1:6
    ]  # the boldest want one asset
    np.testing.assert_allclose(cautious[:, CAPPED], 0.2, atol=1e-9)
