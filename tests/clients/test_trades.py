"""The trade list: best within its limits by proof, and by another solver."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from imop_engine import efficiency, portfolio_problem
from imop_engine.clients.trades import TradeRules, best_trades
from imop_engine.errors import InvalidInput


def market(seed: int, n: int, cap: float = 1.0):
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n, n + 3))
    covariance = 0.02 * factors @ factors.T / n + 0.002 * np.eye(n)
    held = np.minimum(rng.dirichlet(np.full(n, 0.5)), cap)
    held = held / held.sum()
    return portfolio_problem(covariance, upper=cap), rng.normal(0.05, 0.03, n), held


def by_cone_solver(problem, returns, held, turnover):
    """The same problem as it is written down, by an interior-point method for cones."""
    x = cp.Variable(problem.n)
    root = np.linalg.cholesky(problem.covariance)
    limits = [
        cp.norm(root.T @ x) <= np.linalg.norm(root.T @ held),
        cp.sum(x) == 1,
        x >= 0,
        x <= np.maximum(problem.upper, held),
        cp.norm1(x - held) <= 2 * turnover,
    ]
    task = cp.Problem(cp.Maximize(returns @ (x - held)), limits)
    return task.solve(solver="CLARABEL")


@pytest.mark.parametrize("n", [3, 8, 20])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("turnover", [0.03, 0.15, 1.0])
def test_two_solvers_agree(n, seed, turnover):
    problem, returns, held = market(seed, n, 1.0 if seed % 2 else 0.5)
    found = best_trades(problem, returns, held, TradeRules(turnover, 0.0))
    assert found.certified
    assert found.gain == pytest.approx(by_cone_solver(problem, returns, held, turnover), abs=2e-7)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    some.integers(0, 10_000),
    some.integers(2, 12),
    some.floats(0.0, 1.0),
    some.floats(0.0, 0.05),
    some.sampled_from([0.4, 0.6, 1.0]),
)
def test_limits_hold_whatever_is_held(seed, n, turnover, least, cap):
    problem, returns, held = market(seed, n, max(cap, 1.5 / n))
    found = best_trades(problem, returns, held, TradeRules(turnover, least))
    made = found.changes[found.changes != 0.0]
    assert found.changes.sum() == pytest.approx(0.0, abs=1e-12)
    assert found.turnover <= turnover + 1e-8
    assert (np.abs(made) >= least - 1e-9).all()
    assert (found.portfolio >= 0.0).all()
    assert (found.portfolio <= np.maximum(problem.upper, held) + 1e-8).all()
    before, after = (x @ problem.covariance @ x for x in (held, found.portfolio))
    assert after <= before * (1 + 1e-7)
    assert -1e-12 <= found.gain <= found.bound + 1e-12


def test_without_limits_the_trades_lead_to_the_efficient_twin():
    problem, returns, held = market(1, 8)
    found = best_trades(problem, returns, held, TradeRules(1.0, 0.0))
    twin = efficiency(problem, returns, held[None])
    assert found.portfolio == pytest.approx(twin.portfolios[0], abs=1e-8)
    assert found.gain == pytest.approx(twin.gaps[0], abs=1e-10)


def test_a_larger_limit_never_gains_less():
    problem, returns, held = market(7, 8)
    gains = [
        best_trades(problem, returns, held, TradeRules(limit, 0.0)).gain
        for limit in np.linspace(0.0, 0.6, 7)
    ]
    assert gains[0] == 0.0
    assert (np.diff(gains) >= -1e-9).all()


def test_an_asset_above_its_cap_is_not_bought():
    problem, returns, _ = market(3, 4, 0.3)
    held = np.array([0.7, 0.1, 0.1, 0.1])
    returns[0] = 1.0
    found = best_trades(problem, returns, held, TradeRules(0.1, 0.0))
    assert found.changes[0] <= 1e-9


def test_an_efficient_portfolio_and_a_single_asset_need_no_trades():
    problem, returns, held = market(2, 6)
    twin = efficiency(problem, returns, held[None]).portfolios[0]
    assert not best_trades(problem, returns, twin).changes.any()
    alone = portfolio_problem([[0.04]])
    assert not best_trades(alone, [0.05], [1.0]).changes.any()


def test_rules_that_are_none():
    with pytest.raises(InvalidInput, match="turnover"):
        TradeRules(1.5)
    with pytest.raises(InvalidInput, match="least trade"):
        TradeRules(0.1, -0.1)
