"""Other risks than variance: right numbers, right frontiers, and the right one found again."""

import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
from imop_engine import bundled
from imop_engine.convex.risks import RISKS, RiskFrontier, risk_of_name
from imop_engine.errors import InvalidInput

US20 = bundled.market("us20").history
FEW = US20.iloc[-96:, :5]
NAMES = [*RISKS, "cvar:0.8", "entropic:3"]


@pytest.mark.parametrize("name", NAMES)
def test_the_program_and_plain_numbers_agree_on_the_risk_of_a_portfolio(name):
    problem = imop.risk_problem(FEW, name)
    r, risk_and_level = FEW.mean().to_numpy(), risk_of_name(name)
    x = imop.solve(problem, r, 0.4)
    if problem.program is None:
        values = np.array([-r @ x, x @ np.cov(FEW.T) @ x])
    else:
        _, (values,) = problem.program.valued_decisions(r, np.array([[0.4, 0.6]]))
    measured = risk_and_level[0].measured(x[None], FEW.to_numpy(), risk_and_level[1])[0]
    assert values[0] == pytest.approx(-r @ x, abs=1e-8)
    assert values[1] == pytest.approx(measured, rel=1e-5, abs=1e-9)


def test_variance_without_costs_is_a_native_problem():
    assert imop.risk_problem(FEW, "variance").program is None
    assert imop.risk_problem(FEW, "variance", previous=[0.2] * 5, cost=0.01).program is not None


@pytest.mark.slow
@pytest.mark.parametrize(("name", "measure"), [("cvar", "CVAR"), ("mad", "MEAN_ABSOLUTE_DEVIATION"),
                                               ("semivariance", "SEMI_VARIANCE")])  # fmt: skip
def test_frontiers_are_those_of_skfolio(name, measure):
    from skfolio import RiskMeasure
    from skfolio.optimization import MeanRisk, ObjectiveFunction

    history = US20.iloc[-120:]
    frontier = RiskFrontier.of(history.to_numpy(), name)
    for share in (0.1, 0.5):
        top = risk_of_name(name)[0].measured(np.eye(20), history.to_numpy(), 0.95).min()
        level = frontier.least + share * (top - frontier.least)
        theirs = MeanRisk(
            objective_function=ObjectiveFunction.MAXIMIZE_RETURN,
            risk_measure=RiskMeasure[measure],
            **{f"max_{measure.lower()}": level},
        ).fit(history)
        x = frontier.at(history.mean().to_numpy(), np.array([level]))[0][0]
        mine, other = (float(history.mean() @ w) for w in (x, theirs.weights_))
        assert mine == pytest.approx(other, abs=1e-6)
        np.testing.assert_allclose(x, theirs.weights_, atol=2e-3)


def test_costs_keep_portfolios_near_the_one_before():
    before = np.array([0.6, 0.1, 0.1, 0.1, 0.1])
    r = FEW.mean().to_numpy()
    turned = [
        np.abs(
            imop.solve(imop.risk_problem(FEW, "mad", previous=before, cost=c), r, 0.5) - before
        ).sum()
        for c in (0.0, 0.002, 0.5)
    ]
    assert turned[0] > turned[1] > turned[2]
    assert turned[2] < 1e-6


@pytest.mark.slow
def test_the_measure_by_which_investors_chose_explains_them_best():
    """Assets with opposite skews: who minds tails and who minds variance choose differently."""
    rng = np.random.default_rng(5)
    crashes = -0.15 * (rng.uniform(size=(48, 4)) < [0.02, 0.05, 0.15, 0.0])
    history = pd.DataFrame(
        rng.normal(0.01, [0.02, 0.03, 0.02, 0.07], (48, 4)) + crashes, columns=list("ABCD")
    )
    believed = np.array([0.006, 0.010, 0.012, 0.016])
    frontier = RiskFrontier.of(history.to_numpy(), "cvar:0.9")
    levels = frontier.least + 0.08 * rng.uniform(0.05, 0.6, 60)
    Y = frontier.at(believed, levels)[0] + 0.01 * rng.normal(size=(60, 4))
    found = imop.compare_risks(history, Y, ("variance", "cvar:0.9"), folds=2)
    assert found.best == "cvar:0.9"
    assert found.table["explained"].iloc[0] > 0.9
    assert found.table["verdict"].tolist() == ["best", "less"]
    assert found.returns["cvar:0.9"].idxmax() == "D"
    assert "explains most" in found.sentences()[0]


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: imop.risk_problem(FEW, "magic"), "no risk 'magic'"),
        (lambda: imop.risk_problem(FEW, "cvar:1.5"), "between 0 and 1"),
        (lambda: imop.risk_problem(FEW, "mad:2"), "take none"),
        (lambda: imop.risk_problem(FEW[:4]), "at least 12"),
        (lambda: imop.risk_problem(FEW.where(FEW > 0)), "no return in column"),
        (lambda: imop.risk_problem(FEW, previous=[1.0]), "previous needs 5"),
        (lambda: imop.compare_risks(FEW, np.eye(5)), "too few"),
        (lambda: imop.compare_risks(FEW, np.eye(5)[[0] * 30], ["mad"]), "at least two"),
    ],
)
def test_what_cannot_be_used_is_a_sentence(call, word):
    with pytest.raises(InvalidInput, match=word):
        call()
