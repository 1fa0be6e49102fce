"""Other people's optimisers, given our estimate, hold what our investors hold."""

from types import SimpleNamespace

import numpy as np
import pytest
from pypfopt import EfficientFrontier
from skfolio import RiskMeasure
from skfolio.optimization import MeanRisk, ObjectiveFunction
from sklearn.base import clone

import imop_engine as imop
from imop_engine.errors import InvalidInput
from imop_engine.handover import (
    TOLERANCES,
    add_limits,
    other_limits,
    sector_constraints,
    skfolio_limits,
    to_pypfopt,
    to_skfolio,
)

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


LIMITS = [
    ({"AAPL": 1, "MSFT": 1, "AMD": 1}, "<=", 0.2),
    ({"JPM": 1, "BAC": 1}, ">=", 0.1),
    ({"JPM": 1, "BAC": 1, "KO": 1}, "<=", 0.2),
    ({"KO": 2, "PEP": 2}, "=", 0.24),
    ({"AAPL": 1, "XOM": 2, "CVX": -1}, "<=", 0.15),
    ({"JNJ": 1}, ">=", 0.05),
]


@pytest.mark.parametrize("lower", [0.0, -0.05])
def test_limits_are_kept_by_both_as_by_us(us20, lower):
    """Sums of holdings as sectors and groups, other coefficients as rows, shorts to a limit."""
    problem = imop.portfolio_problem(
        us20.covariance, upper=0.3, lower=lower, limits=LIMITS, names=us20.names
    )
    theta, aversion = us20.expected_returns, 3.0
    ours = imop.solve(problem, theta, 2.0 / (2.0 + aversion))
    given = SimpleNamespace(problem=problem, theta=theta)
    optimiser = add_limits(EfficientFrontier(*to_pypfopt(given)), problem)
    held = optimiser.max_quadratic_utility(risk_aversion=aversion)
    np.testing.assert_allclose([held[name] for name in us20.names], ours, atol=SAME)
    model = MeanRisk(
        objective_function=ObjectiveFunction.MAXIMIZE_UTILITY,
        risk_measure=RiskMeasure.VARIANCE,
        risk_aversion=aversion / 2,
        prior_estimator=to_skfolio(given),
        solver_params=TOLERANCES,
        **skfolio_limits(problem)._asdict(),
    ).fit(us20.history)
    np.testing.assert_allclose(model.weights_, ours, atol=SAME)
    free = imop.solve(imop.portfolio_problem(us20.covariance), theta, 2.0 / (2.0 + aversion))
    assert np.abs(free - ours).max() > 0.05


def test_sums_of_holdings_are_sectors_and_the_rest_is_told(us20):
    problem = imop.portfolio_problem(us20.covariance, limits=LIMITS, names=us20.names)
    first, second = sector_constraints(problem)
    assert first.sector_mapper["KO"] == "2*KO + 2*PEP"
    assert first.sector_lower == {"JPM + BAC": 0.1, "2*KO + 2*PEP": 0.12}
    assert first.sector_upper == {"AAPL + MSFT + AMD": 0.2, "2*KO + 2*PEP": 0.12}
    assert second.sector_upper == {"JPM + BAC + KO": 0.2}
    assert [limit.sentence for limit in other_limits(problem)] == ["AAPL + 2*XOM - CVX at most 15%"]
