"""Weights, fit and residuals of a study are of the portfolios that it was estimated from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
from imop_engine.arguments import Matrix, Vector
from imop_engine.bundled import market
from imop_engine.inference.estimate import estimate_returns
from imop_engine.inference.estimators import HOLDINGS, way_of_errors
from imop_engine.inference.reporting import ReportingRule
from imop_engine.simulate import round_portfolios
from imop_engine.study import Study

EIGHT = market("paper8")
R, NAMES = np.asarray(EIGHT.expected_returns), list(EIGHT.names)
ANCHORS = ((NAMES[0], float(R[0])), (NAMES[3], float(R[3])))
COUNT = 300


@pytest.fixture(scope="module")
def weights() -> Vector:
    return np.random.default_rng(1).uniform(0.15, 0.85, COUNT)


@pytest.fixture(scope="module")
def seen(weights: Vector) -> Matrix:
    """Efficient portfolios with errors of 0.003."""
    exact = imop.efficient_frontier(imop.portfolio_problem(EIGHT.covariance), R).at(weights)
    held = np.maximum(exact + np.random.default_rng(2).normal(0.0, 0.003, exact.shape), 0.0)
    result: Matrix = held / held.sum(axis=1, keepdims=True)
    return result


def studied(holdings: Matrix) -> Study:
    portfolios = pd.DataFrame(holdings, columns=NAMES)
    settings = imop.StudySettings(anchors=ANCHORS)
    return imop.run_study(EIGHT.expected_returns, EIGHT.covariance, portfolios, settings)


@pytest.fixture(scope="module")
def largest(seen: Matrix) -> Study:
    return studied(ReportingRule(largest=4).shown(seen))


@pytest.fixture(scope="module")
def tilted(seen: Matrix) -> Study:
    return studied(0.9 * seen + 0.1 * np.eye(len(NAMES))[0])


@pytest.mark.parametrize("name", ["largest", "tilted"])
def test_weights_come_from_what_was_estimated_from(
    name: str, weights: Vector, request: pytest.FixtureRequest
) -> None:
    study: Study = request.getfixturevalue(name)
    assert study.estimate is not None
    assert study.estimate.adjusted is not None
    table = study.frame_investors
    off = np.abs(table["weight"].to_numpy() - weights)
    reported = np.abs(study.frontier.project(study.decisions).weights - weights)
    other = np.any(study.adjusted_decisions.to_numpy() != study.decisions.to_numpy(), axis=1)
    assert other.sum() > COUNT // 4
    assert np.median(off[other]) < 0.7 * np.median(reported[other])
    found = study.frontier.project(study.adjusted_decisions)
    assert np.array_equal(table["distance"].to_numpy(), found.distances)
    assert study.fit.explained > 0.99
    inside = (table["weight_low"] <= table["weight"]) & (table["weight"] <= table["weight_high"])
    assert inside.all()


def test_hidden_holdings_make_nobody_far(largest: Study) -> None:
    reported = largest.frontier.project(largest.decisions).distances
    assert np.mean(reported > largest.fit.threshold) > 0.2
    assert largest.fit.outliers < 0.05 * COUNT


def test_how_a_file_reports_is_seen_in_the_file(largest: Study) -> None:
    assert largest.specification.most_held == 4
    assert "largest" in {check.name for check in largest.checks}


def test_a_tilt_is_money_left_on_the_table_and_hidden_holdings_are_not(
    largest: Study, tilted: Study
) -> None:
    assert largest.gaps is not None
    assert tilted.gaps is not None
    hidden = imop.efficiency(largest.problem, largest.theta, largest.decisions).gaps
    assert largest.gaps.mean < 0.5 * float(np.mean(hidden))
    untilted = imop.efficiency(tilted.problem, tilted.theta, tilted.adjusted_decisions).gaps
    assert tilted.gaps.mean > 2.0 * float(np.mean(untilted))


def test_portfolios_as_they_are_stay_the_same_table(seen: Matrix) -> None:
    study = studied(seen)
    assert study.adjusted_decisions is study.decisions


def test_coarse_steps_are_no_beliefs() -> None:
    # the noise of 5 % steps may pass the limit of small errors, and nothing strays
    volatility = np.array([0.1, 0.12, 0.14, 0.16, 0.18, 0.2])
    true = np.array([0.05, 0.06, 0.07, 0.08, 0.09, 0.1])
    correlation = 0.1 + 0.9 * np.eye(6)
    rows = np.eye(6)
    problem = imop.portfolio_problem(
        correlation * np.outer(volatility, volatility),
        anchors=[(rows[0], true[0]), (rows[5], true[5])],
        bounds=(-1.0, 1.0),
    )
    rng = np.random.default_rng(4)
    exact = imop.efficient_frontier(problem, true).at(rng.uniform(0.2, 0.6, 400))
    Y = round_portfolios(exact + rng.normal(0.0, 0.014, exact.shape).clip(-0.9 * exact), 0.05)
    found = estimate_returns(problem, Y)
    assert way_of_errors(found.noise_sd, found.tiny, 0.02) != HOLDINGS
    assert found.way == HOLDINGS
