"""Slow, obvious twin of imop_engine.inference.first_order: the likelihood, term by term."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize


def _log_normal_cdf(value: float) -> float:
    return math.log(0.5 * math.erfc(-value / math.sqrt(2.0)))


def log_likelihood(Q, caps, portfolios, a, b, r, pull=0.0) -> float:
    """Each investor's beliefs are r plus a standard normal error of her own for each asset.

    `pull` is taken off for large a: half of it times (a times the size of a marginal risk)^2.
    """
    risks = portfolios @ Q
    risks = risks - risks.mean(axis=1, keepdims=True)
    size = math.sqrt(np.mean(risks**2))
    total = 0.0
    for i, portfolio in enumerate(portfolios):
        for j, holding in enumerate(portfolio):
            u = a[i] * risks[i, j] + b[i]
            if holding <= 0.0:
                total += _log_normal_cdf(u - r[j])
            elif holding >= caps[j] and caps[j] < 1.0:
                total += _log_normal_cdf(r[j] - u)
            else:
                total += math.log(a[i]) - 0.5 * (u - r[j]) ** 2
        total -= 0.5 * pull * (a[i] * size) ** 2
    return total


def most_likely(Q, caps, portfolios, pull) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The maximum over a, b and r (mean zero), from a start that knows nothing."""
    T, n = portfolios.shape

    def parts(point):
        r = np.append(point[2 * T :], -point[2 * T :].sum())
        return np.exp(point[:T]), point[T : 2 * T], r

    def loss(point):
        return -log_likelihood(Q, caps, portfolios, *parts(point), pull)

    start = np.concatenate([np.full(T, 3.0), np.zeros(T + n - 1)])
    found = minimize(loss, start, method="BFGS", options={"gtol": 1e-6, "maxiter": 2000})
    return parts(found.x)


def hessian(function, point, step=1e-4) -> np.ndarray:
    """Second differences."""
    size = len(point)
    result = np.empty((size, size))
    moves = step * np.eye(size)
    for i in range(size):
        for j in range(i, size):
            up = function(point + moves[i] + moves[j]) + function(point - moves[i] - moves[j])
            down = function(point + moves[i] - moves[j]) + function(point - moves[i] + moves[j])
            result[i, j] = result[j, i] = (up - down) / (4.0 * step**2)
    return result
