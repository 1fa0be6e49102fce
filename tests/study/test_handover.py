"""Other people's optimisers, given our estimate, hold what our investors hold."""

import numpy as np
import pytest
from pypfopt import EfficientFrontier
from skfolio import RiskMeasure
from skfolio.optimization import MeanRisk, ObjectiveFunction
from sklearn.base import clone

import imop_engine as imop
from imop_engine.errors import InvalidInput
from imop_engine.handover import to_pypfopt, to_skfolio

SAME = 1e-4  # their solvers stop at about 1e-6 of the objective


def some_investors(study, count=8):
    known = study.frame_investors.dropna(subset="weight")
    return known.iloc[np.linspace(0, len(known) - 1, count).astype(int)]


def test_pyportfolioopt_holds_the_investors_efficient_portfolio(study):
    apart = []
    for _, investor in some_investors(study).iterrows():
        optimiser = EfficientFrontier(*to_pypfopt(study))
        held = optimiser.max_quadratic_utility(risk_aversion=investor["risk_aversion"])
        theirs = np.array([held[name] for name in study.problem.names])
        ours = imop.solve(study.problem, study.theta, investor["weight"])
        apart.append(np.abs(theirs - ours).max())
    assert max(apart) < SAME


@pytest.mark.slow
def test_pyportfolioopt_keeps_the_caps(moments, portfolios):
    study = imop.run_study(*moments, portfolios, imop.StudySettings(upper=0.3))
    weight = 0.8
    optimiser = EfficientFrontier(*to_pypfopt(study))
    held = optimiser.max_quadratic_utility(float(imop.risk_aversion(weight)))
    ours = imop.solve(study.problem, study.theta, weight)
    assert ours.max() == pytest.approx(0.3)
    np.testing.assert_allclose([held[name] for name in study.problem.names], ours, atol=SAME)


def test_skfolio_holds_the_investors_efficient_portfolio(study, us20):
    for _, investor in some_investors(study, 4).iterrows():
        model = MeanRisk(
            objective_function=ObjectiveFunction.MAXIMIZE_UTILITY,
            risk_measure=RiskMeasure.VARIANCE,
            risk_aversion=investor["risk_aversion"] / 2,
            prior_estimator=to_skfolio(study, periods_per_year=12),
        ).fit(us20.history)
        ours = imop.solve(study.problem, study.theta, investor["weight"])
        np.testing.assert_allclose(model.weights_, ours, atol=SAME)


def test_the_prior_is_an_estimator_like_others(study, us20):
    prior = to_skfolio(study, periods_per_year=12)
    copy = clone(prior)
    assert copy.get_params().keys() == {"expected_returns", "covariance", "periods_per_year"}
    backwards = us20.history[us20.history.columns[::-1]]
    copy.fit(backwards)
    np.testing.assert_allclose(copy.return_distribution_.mu * 12, study.theta[::-1])
    np.testing.assert_allclose(
        copy.return_distribution_.covariance * 12, study.problem.covariance[::-1, ::-1]
    )


def test_an_asset_nothing_was_learned_about_is_named(study, us20):
    strange = us20.history.rename(columns={"AAPL": "NEWCO"})
    with pytest.raises(InvalidInput, match="nothing was learned about NEWCO"):
        to_skfolio(study).fit(strange)
    with pytest.raises(InvalidInput, match="periods_per_year is 0"):
        to_skfolio(study, periods_per_year=0.0)
