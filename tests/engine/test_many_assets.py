"""Many assets: products in several sums, long factors, steps that are not halved."""

from __future__ import annotations

import math

import numpy as np
import pytest

import imop_engine as imop
from imop_benchmarks.gaps import gap_case
from imop_engine.compiling import compiled
from imop_engine.kernels.products import LONG, dot


@compiled
def summed(a, b, count):
    """`dot`, which only kernels can call."""
    return dot(a, b, count)


@pytest.mark.parametrize("count", [0, 1, 7, LONG - 1, LONG, LONG + 3, 101])
def test_products_are_summed_whatever_their_number(count):
    rng = np.random.default_rng(count)
    a, b = rng.normal(size=(2, 110))
    exact = math.fsum(a[:count] * b[:count])
    assert summed(a, b, count) == pytest.approx(exact, rel=1e-13, abs=1e-13)


def test_the_frontier_of_many_assets_is_optimal_at_every_turning_point():
    problem = gap_case(120, 50, "dirichlet", 0.02).problem
    Q = problem.covariance
    theta = problem.theta.nearest(np.random.default_rng(1).uniform(0.02, 0.15, 120))
    frontier = imop.efficient_frontier(problem, theta)
    for weight, x in zip(frontier.weights[1:-1], frontier.portfolios[1:-1], strict=True):
        reduced = 2.0 * (1.0 - weight) * Q @ x - weight * theta
        level = reduced[x > 1e-9].min()
        assert abs(x.sum() - 1.0) < 1e-12
        assert reduced.min() >= level - 1e-10
        assert np.ptp(reduced[x > 1e-9]) < 1e-10


def test_a_fit_of_many_assets_is_proven_from_two_starts():
    case = gap_case(120, 400, "dirichlet", 0.02)
    first = imop.fit_efficiency(case.problem, case.decisions)
    start = np.random.default_rng(3).uniform(0.0, 0.3, 120)
    second = imop.fit_efficiency(case.problem, case.decisions, start)
    assert first.certified
    assert second.certified
    assert second.value == pytest.approx(first.value, rel=1e-7)
