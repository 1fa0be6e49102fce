"""Which assets are held at all: errors that were cut at zero are told from small holdings."""

from __future__ import annotations

import numpy as np
import pytest

from imop_engine import efficient_frontier, portfolio_problem
from imop_engine.inference.held_assets import below_bounds, given_back, held_assets, only_held
from imop_engine.weights import lam_of

ERROR = 0.005


def _market(seed: int, assets: int):
    """A market of two factors in which about half of the assets are worth holding."""
    rng = np.random.default_rng(seed)
    loads = rng.normal(0.1, 0.08, (assets, 2))
    covariance = loads @ loads.T + np.diag(rng.uniform(0.01, 0.05, assets))
    returns = rng.uniform(0.02, 0.12, assets)
    names = [f"A{i}" for i in range(assets)]
    problem = portfolio_problem(
        covariance, names=names, bounds=(-1.0, 1.0), anchors={names[0]: returns[0]}
    )
    return problem, returns, rng


def _seen(problem, returns, rng, count=600):
    exact = efficient_frontier(problem, returns).at(rng.uniform(0.1, 0.9, count))
    seen = np.maximum(exact + rng.normal(0.0, ERROR, exact.shape), 0.0)
    return exact, seen / seen.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("seed", range(6))
def test_errors_alone_do_not_make_an_asset_held(seed):
    """Whoever is called held is held by somebody, and what many hold is called held."""
    problem, returns, rng = _market(seed, 20)
    exact, seen = _seen(problem, returns, rng)
    lams = lam_of(efficient_frontier(problem, returns).project(seen).weights)
    held = held_assets(seen, lams, ERROR, 10)
    nobody, many = exact.max(axis=0) < 1e-9, (exact > ERROR).mean(axis=0) > 0.1
    assert nobody.any()
    assert many.any()
    assert not np.any(held & nobody)
    assert np.all(held[many])


def test_small_holdings_of_many_neighbours_are_seen():
    """Half an error in each of a hundred neighbours is no error; nobody holds it clearly."""
    rng = np.random.default_rng(3)
    exact = np.zeros((500, 4))
    exact[:, :3] = 1 / 3
    exact[100:200, 3] = 0.5 * ERROR
    seen = np.maximum(exact + rng.normal(0.0, ERROR, exact.shape), 0.0)
    lams = np.linspace(0.1, 1.0, 500)
    assert held_assets(seen, lams, ERROR, 10)[3]
    # the same holders anywhere on the frontier are no neighbours
    shuffled = rng.permutation(500)
    assert not held_assets(seen, lams[shuffled], ERROR, 10)[3]


def test_a_few_with_much_do_not_make_an_asset_held():
    """Two investors with everything in it are strangers, not a neighbourhood."""
    rng = np.random.default_rng(4)
    seen = np.maximum(np.tile([0.5, 0.3, 0.2, 0.0], (300, 1)) + rng.normal(0, ERROR, (300, 4)), 0)
    seen[:2] = [0.0, 0.0, 0.0, 1.0]
    assert held_assets(seen, np.arange(300.0), ERROR, 10).tolist() == [True, True, True, False]


def test_where_nothing_strays_every_holding_counts():
    """Holders are counted as they are."""
    seen = np.tile([0.5, 0.3, 0.2, 0.0], (40, 1))
    seen[:9, 3] = 1e-4
    assert held_assets(seen, np.arange(40.0), 0.0, 10).tolist() == [True, True, True, False]
    seen[9, 3] = 1e-4
    assert held_assets(seen, np.arange(40.0), 0.0, 10).all()


def test_money_in_other_assets_is_given_back_in_proportion():
    """Rows still add up to one; whoever has most of it elsewhere keeps her portfolio."""
    held = np.array([True, True, False])
    Y = np.array([[0.6, 0.3, 0.1], [0.1, 0.1, 0.8]])
    assert np.allclose(given_back(Y, held), [[2 / 3, 1 / 3, 0.0], [0.1, 0.1, 0.8]])
    assert given_back(Y, np.ones(3, bool)) is Y


@pytest.mark.parametrize("seed", range(4))
def test_assets_nobody_holds_stay_off_the_seen_part_of_the_frontier(seed):
    """However high their returns were: the held assets' portfolios come out the same."""
    problem, returns, rng = _market(seed, 12)
    exact, seen = _seen(problem, returns, rng, 300)
    held = exact.max(axis=0) > 1e-9
    held[0] = True  # its return is an anchor
    cleaned = given_back(seen, held)
    inside = only_held(problem, held)
    wild = np.where(held, returns, 0.9)
    lowered = below_bounds(problem, cleaned, wild, held)
    assert np.allclose(lowered[held], returns[held], atol=1e-9)
    # beyond the boldest and the most cautious who were seen nothing is known
    seen_at = efficient_frontier(inside, returns).project(cleaned).weights
    weights = np.linspace(seen_at.min(), seen_at.max(), 50)
    apart = efficient_frontier(inside, returns).at(weights)
    assert np.allclose(efficient_frontier(problem, lowered).at(weights), apart, atol=1e-9)
