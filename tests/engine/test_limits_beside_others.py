"""Limits against other solvers, on a sample of what `imop bench` takes three hundred of."""

from __future__ import annotations

import numpy as np
import pytest

from imop_benchmarks.limits import (
    FIRST_FRONTIER,
    frontier_apart,
    random_limited,
    update_apart,
)

pytest.importorskip("cvxpy")
pytest.importorskip("cvxcla")
pytest.importorskip("gurobipy")


@pytest.mark.parametrize("seed", range(16))
def test_frontiers_keep_limits_and_nobody_finds_better(seed):
    found = frontier_apart(seed)
    assert found["outside"] < 1e-12
    assert found["above"] < 1e-12
    if found["cvxcla"] is not None:
        assert found["cvxcla"] < 1e-8


def test_cvxcla_has_the_same_frontiers_nearly_everywhere():
    found = [frontier_apart(seed)["cvxcla"] for seed in (1, 2, 3, 4, 6, 8)]
    assert sum(one is not None for one in found) >= 5  # it is compared, not left out


@pytest.mark.parametrize("seed", [seed for seed in range(46) if seed % 8 != 7])
def test_updates_are_never_above_gurobis(seed):
    found = update_apart(seed)
    assert found["certified"]
    assert abs(found["above"]) < 1e-6
    assert found["apart"] < 1e-9


def test_an_update_reports_the_portfolio_that_its_returns_ask_for():
    """Without full rank the last digits of returns decide between portfolios that are as good."""
    found = [update_apart(seed) for seed in range(7, 200, 8)]
    assert len(found) == 25
    assert max(one["apart"] for one in found) < 1e-9
    # not all are proven: the proof is of a portfolio that returns with all their digits would have
    assert sum(one["certified"] for one in found) >= 20
    assert max(one["above"] for one in found) < 1e-4  # rounding, not another valley


def test_limits_without_room_are_kept_where_the_covariance_has_no_full_rank():
    """Rounding left no portfolio of least variance, and limits were said to contradict another."""
    problem, _, _ = random_limited(FIRST_FRONTIER + 127, (4, 40))
    least = problem.portfolio.least_variance
    assert np.all(problem.rows @ least >= problem.rhs0 - 1e-12)
    found = frontier_apart(127)
    assert found["outside"] < 1e-12
    assert found["above"] < 1e-12
