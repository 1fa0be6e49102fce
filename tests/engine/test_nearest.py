"""Signposts leave out stretches of a frontier and change no digit of the nearest portfolio."""

from __future__ import annotations

import numpy as np
import pytest

import imop_engine as imop
from imop_engine import kernels
from imop_engine.kernels.critical_line import nearest_on_trace
from imop_engine.kernels.nearest import FEW


def a_frontier(n: int, seed: int, upper: float = 1.0):
    rng = np.random.default_rng(seed)
    loadings = rng.normal(0.1, 0.15, (n, 3))
    covariance = loadings @ loadings.T + np.diag(rng.uniform(0.01, 0.05, n))
    problem = imop.portfolio_problem(covariance, upper=upper)
    return imop.efficient_frontier(problem, rng.uniform(0.0, 0.2, n)), rng


@pytest.mark.parametrize(("n", "upper"), [(4, 1.0), (20, 1.0), (20, 0.15), (60, 0.1)])
@pytest.mark.parametrize(("low", "share"), [(1e-12, 2.0), (1e-3, 0.3), (0.2, 0.5)])
def test_the_nearest_portfolios_are_those_of_all_pieces_to_the_last_digit(n, upper, low, share):
    frontier, rng = a_frontier(n, 3, upper)
    high = low + share * float(frontier.lams[-1])
    near = frontier.at(rng.uniform(0, 1, 60)) + rng.normal(0, 0.02, (60, n))
    Y = np.ascontiguousarray(np.vstack([near, rng.dirichlet(np.ones(n), 60), np.eye(n)]))
    lam, points, distances = np.empty(len(Y)), np.empty_like(Y), np.empty(len(Y))
    kernels.project_many(frontier.path, Y, low, high, lam, points, distances)
    count = len(frontier.lams)
    for t, y in enumerate(Y):
        at, _, squared = nearest_on_trace(frontier.path, count, y, low, high)
        assert (lam[t], distances[t]) == (at, np.sqrt(squared))
    assert n < 20 or count > FEW


def test_portfolios_on_the_frontier_are_their_own_nearest():
    frontier, rng = a_frontier(30, 1)
    Y = frontier.at(rng.uniform(0.05, 0.95, 200))
    found = frontier.project(Y)
    assert found.distances.max() < 1e-7
    np.testing.assert_allclose(found.points, Y, atol=1e-7)
