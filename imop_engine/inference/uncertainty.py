"""A band around the frontier: the best return at each risk, with an interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.special import ndtri

from imop_engine.arguments import Vector
from imop_engine.frontier import Frontier, efficient_frontier, risk_of
from imop_engine.inference.bias_simulation import UNSURE_OF_BIAS
from imop_engine.problem import Problem

if TYPE_CHECKING:  # it asks for its band here
    from imop_engine.inference.identify import Identification


def frontier_band(
    known: Identification, frontier: Frontier | None = None, count: int = 100
) -> pd.DataFrame:
    """weight, risk, return, low, high: the best return at each risk, with its interval.

    The best return at a given risk moves with the beliefs by the portfolio itself (envelope
    theorem), so its standard error is sqrt(x'Cx), turning points included. Assets that are only
    bounded, and levels of limits that hardly anybody is below, widen the band by what the frontier
    would be at either end of their bounds.

    Args:
        known: What is known of each return.
        frontier: The estimated one; None computes it.
        count: How many points along the frontier.
    """
    problem = known.problem
    base = efficient_frontier(problem, known.estimate) if frontier is None else frontier
    weights, X = base.sample(count)
    risk = risk_of(problem, X)
    best = X @ base.theta
    bias = X @ known.noise_bias
    spread = np.maximum(np.einsum("ti,ij,tj->t", X, known.covariance, X), 0.0)
    margin = float(ndtri(0.5 + known.level / 2)) * np.sqrt(spread + (UNSURE_OF_BIAS * bias) ** 2)
    step = X @ known.step - bias
    uninformed = np.array([s not in ("identified", "anchored", "relative") for s in known.status])
    low, high = best.copy(), best.copy()
    if uninformed.any():
        low = np.minimum(
            low, best_return(problem, np.where(uninformed, known.low, base.theta), risk)
        )
        high = np.maximum(
            high, best_return(problem, np.where(uninformed, known.high, base.theta), risk)
        )
    levels = known.levels
    if levels is not None:
        for row, down, up in zip(levels.directions, levels.down, levels.up, strict=True):
            for moved in (down * row, up * row):
                there = best_return(problem, problem.theta.nearest(base.theta + moved), risk)
                low, high = np.minimum(low, there), np.maximum(high, there)
    return pd.DataFrame(
        {
            "weight": weights,
            "risk": risk,
            "return": best,
            "low": low + np.minimum(step, 0.0) - margin,
            "high": high + np.maximum(step, 0.0) + margin,
        }
    )


def best_return(problem: Problem, theta: Vector, risk: Vector) -> Vector:
    """The best return at each risk: between turning points variance is quadratic in the step.

    Args:
        problem: What is decided, and which theta are possible.
        theta: Yearly expected returns.
        risk: Standard deviations of the yearly return.

    Returns:
        One yearly return for each risk.
    """
    frontier = efficient_frontier(problem, theta)
    Q = problem.covariance
    X, D, lams = frontier.portfolios, frontier.directions, frontier.lams
    variances = np.einsum("ti,ij,tj->t", X, Q, X)
    at = np.clip(np.searchsorted(variances, risk**2, side="right") - 1, 0, len(lams) - 1)
    a = np.einsum("ti,ij,tj->t", D, Q, D)[at]
    b = np.einsum("ti,ij,tj->t", X, Q, D)[at]
    c = variances[at] - risk**2
    root = np.sqrt(np.maximum(b**2 - a * c, 0.0))
    # the larger root in the form that does not cancel: c <= 0 here
    step = np.where(a > 0, np.maximum(-c, 0.0) / np.where(b + root > 0, b + root, 1.0), 0.0)
    room = np.append(np.diff(lams), 0.0)[at]
    points = X[at] + np.minimum(step, room)[:, None] * D[at]
    result: Vector = points @ theta
    return result
