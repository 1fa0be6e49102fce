"""Portfolios of which a file shows a part, and a tilt that all share: recognised and undone."""

from __future__ import annotations

import numpy as np
import pytest

from imop_engine import efficient_frontier
from imop_engine.arguments import Matrix, Vector
from imop_engine.inference.adjusted import Adjusted, adjusted_estimate
from imop_engine.inference.estimate import Estimate, estimate_returns
from imop_engine.inference.reporting import ReportingRule, completed, reporting_rule
from imop_engine.inference.shared_tilt import SharedTilt
from imop_engine.problem import Problem, portfolio_problem

TRUE = np.array([0.04, 0.06, 0.07, 0.085, 0.1, 0.12])
VOLATILITY = np.array([0.06, 0.1, 0.13, 0.16, 0.2, 0.26])
SD = 0.003


@pytest.fixture(scope="module")
def problem() -> Problem:
    correlation = 0.25 + 0.75 * np.eye(len(TRUE))
    rows = np.eye(len(TRUE))
    return portfolio_problem(
        correlation * np.outer(VOLATILITY, VOLATILITY),
        anchors=[(rows[0], TRUE[0]), (rows[4], TRUE[4])],
        bounds=(-1.0, 1.0),
    )


@pytest.fixture(scope="module")
def efficient(problem: Problem) -> Matrix:
    weights = np.random.default_rng(3).uniform(0.15, 0.8, 400)
    return efficient_frontier(problem, TRUE).at(weights)


def with_errors(holdings: Matrix) -> Matrix:
    rng = np.random.default_rng(5)
    held = np.maximum(holdings + rng.normal(0.0, SD, holdings.shape), 0.0)
    result: Matrix = held / held.sum(axis=1, keepdims=True)
    return result


def estimated(
    problem: Problem, Y: Matrix, known: bool = True
) -> tuple[Estimate, Estimate, Adjusted | None]:
    def again(portfolios: Matrix, start: Vector) -> Estimate:
        return estimate_returns(problem, portfolios, (start,))

    plain = estimate_returns(problem, Y)
    return (plain, *adjusted_estimate(Y, plain, again, known, np.arange(len(Y))))


def error(theta: Vector) -> float:
    return float(np.sqrt(np.mean((theta - TRUE) ** 2)))


@pytest.mark.parametrize("rule", [ReportingRule(largest=3), ReportingRule(least=0.05)])
def test_what_a_file_hides_is_completed(
    problem: Problem, efficient: Matrix, rule: ReportingRule
) -> None:
    Y = rule.shown(with_errors(efficient))
    recognised = reporting_rule(Y)
    assert recognised is not None
    assert recognised.largest == rule.largest
    assert recognised.least == pytest.approx(rule.least, abs=0.01)

    plain, found, adjusted = estimated(problem, Y)
    assert adjusted is not None
    assert adjusted.rule == recognised
    assert np.allclose(adjusted.portfolios.sum(axis=1), 1.0)
    assert error(found.theta) < 0.5 * error(plain.theta)


def test_exact_portfolios_come_back_from_what_is_shown(problem: Problem, efficient: Matrix) -> None:
    rule = ReportingRule(largest=4)
    whole = completed(problem, rule.shown(efficient), TRUE, rule)
    assert np.abs(whole.portfolios - efficient).max() < 2e-3
    assert whole.distances.max() < 1e-3


def test_who_shows_fewer_holdings_than_the_file_would_has_no_others(problem: Problem) -> None:
    rule = ReportingRule(largest=3)
    Y = np.array([[0.5, 0.5, 0.0, 0.0, 0.0, 0.0], [0.4, 0.3, 0.3, 0.0, 0.0, 0.0]])
    whole = completed(problem, Y, TRUE, rule).portfolios
    assert np.array_equal(whole[0], Y[0])
    hidden = whole[1, 3:]
    assert hidden.max() > 0.0
    assert hidden.max() <= whole[1, :3].min() + 1e-12


def test_complete_portfolios_have_no_rule(efficient: Matrix) -> None:
    assert reporting_rule(with_errors(efficient)) is None


def test_steps_are_no_missing_small_holdings(efficient: Matrix) -> None:
    assert reporting_rule(np.round(efficient / 0.05) * 0.05) is None


def test_a_shared_tilt_is_found_and_taken_out(problem: Problem, efficient: Matrix) -> None:
    tilted = 0.9 * efficient
    tilted[:, 2] += 0.1
    plain, found, adjusted = estimated(problem, with_errors(tilted))
    assert adjusted is not None
    assert adjusted.tilt is not None
    assert adjusted.tilt.asset == 2
    assert adjusted.tilt.share == pytest.approx(0.1, abs=0.01)
    assert error(found.theta) < 0.3 * error(plain.theta)


def test_no_tilt_is_sought_where_the_covariance_is_an_estimate(
    problem: Problem, efficient: Matrix
) -> None:
    tilted = 0.9 * efficient
    tilted[:, 2] += 0.1
    plain, found, adjusted = estimated(problem, with_errors(tilted), known=False)
    assert adjusted is None
    assert found is plain


def test_clean_portfolios_stay_as_they_are(problem: Problem, efficient: Matrix) -> None:
    plain, found, adjusted = estimated(problem, with_errors(efficient))
    assert adjusted is None
    assert found is plain


def test_portfolios_without_a_tilt_add_up_to_one() -> None:
    Y = np.array([[0.5, 0.3, 0.2], [0.05, 0.45, 0.5]])
    rest = SharedTilt(0, 0.1, 0.2).without(Y)
    assert np.allclose(rest.sum(axis=1), 1.0)
    assert rest[0] == pytest.approx(np.array([0.4, 0.3, 0.2]) / 0.9)
    assert rest[1, 0] == 0.0
