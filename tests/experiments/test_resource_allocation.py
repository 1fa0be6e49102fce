"""The published program that is not quadratic: its closed form, and what clean decisions tell."""

import numpy as np
import pytest

import imop_engine as imop
from imop_experiments import resource_allocation as experiment

EQUAL = np.full(experiment.AGENTS, 1.0 / experiment.AGENTS)


@pytest.fixture(scope="module")
def clean():
    rng = np.random.default_rng(5)
    theta = rng.uniform(0.1, 1.0, experiment.AGENTS)
    prices, budgets = rng.uniform(0.1, 1.0, (8, experiment.AGENTS)), rng.uniform(5.0, 10.0, 8)
    return theta, prices, budgets


def test_the_closed_form_satisfies_the_optimality_conditions(clean):
    theta, prices, budgets = clean
    spent = experiment.allocations(theta, prices, budgets)
    assert spent.sum(axis=1) == pytest.approx(budgets, rel=1e-12)
    marginal = np.exp(-theta * spent / prices) / prices
    level = marginal.max(axis=1, where=spent > 0.0, initial=0.0)[:, None]
    assert np.where(spent > 0.0, marginal / level, 1.0) == pytest.approx(1.0, rel=1e-9)
    assert (marginal <= level * (1.0 + 1e-9)).all()


def test_the_program_decides_like_the_closed_form_and_is_not_native(clean):
    theta, prices, budgets = clean
    problem = experiment.allocation_problem(prices, budgets)
    assert problem.program is not None
    assert problem.p == experiment.AGENTS
    decided = imop.solve(problem, theta, EQUAL).reshape(prices.shape)
    assert decided == pytest.approx(experiment.allocations(theta, prices, budgets), abs=1e-6)


@pytest.mark.slow
def test_clean_decisions_tell_theta_to_the_update_and_to_the_residuals(clean):
    theta, prices, budgets = clean
    decided = experiment.allocations(theta, prices, budgets)
    assert experiment.residual_fit(prices, decided) == pytest.approx(theta, abs=1e-4)
    problem = experiment.allocation_problem(prices, budgets)
    start = np.full(experiment.AGENTS, 0.5)
    update = imop.implicit_update(problem, start, decided.ravel(), EQUAL, experiment.RATE)
    assert update.theta == pytest.approx(theta, abs=1e-2)


def found(near=1.05, error=0.05, share=0.5, residual=0.2, many=0.2):
    ours, other, softmax = experiment.OURS, experiment.RESIDUAL, experiment.SOFTMAX
    return {
        "largest ratio": near, f"{ours}, ratio": 1.0,
        f"{ours}, error": error, f"{ours}, loss": 0.03,
        f"{other}, ratio": 2.0, f"{other}, error": residual, f"{softmax}, loss": 0.2,
        f"{experiment.START}, loss": 0.9, f"{experiment.START}, error": 0.3,
        f"{experiment.TRUTH}, loss": 0.03, "many residuals, error": many,
        "largest share of logistic regression's loss": share, "draws": 3.0, "allocations": 100.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("judge", "good", "turned"),
    [
        (experiment._near, "reproduced", {"near": 1.2}),
        (experiment._parameters, "reproduced", {"error": 0.2}),
        (experiment._beside_regression, "reproduced", {"share": 1.1}),
        (experiment._residuals, "beyond", {"many": 0.01}),
        (experiment._residuals, "beyond", {"residual": 0.01}),
    ],
)
def test_verdicts_follow_the_numbers(judge, good, turned):
    assert judge(found()).verdict == good
    assert judge(found(**turned)).verdict == "differs"
