"""Slow, obvious twins of imop_engine.efficiency_gap: its definitions, handed to cvxpy."""

from __future__ import annotations

import warnings

import cvxpy as cp
import numpy as np

TIGHT = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}


def _solve(problem: cp.Problem) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the last digits are out of reach at ties
        return float(problem.solve(solver="CLARABEL", **TIGHT))


def gap(Q: np.ndarray, upper: np.ndarray, r: np.ndarray, y: np.ndarray) -> float:
    """max { r'x : x a portfolio, x'Qx <= y'Qy } - r'y."""
    root = np.linalg.cholesky(Q).T
    x = cp.Variable(len(y))
    conditions = [cp.sum(x) == 1, x >= 0, x <= upper, cp.norm(root @ x) <= np.linalg.norm(root @ y)]
    return _solve(cp.Problem(cp.Maximize(r @ x), conditions)) - float(r @ y)


def _dual_gap(root, upper, r, y, conditions):
    """The gap as a minimum, so that it can stand inside a minimum over r."""
    level, capped = cp.Variable(), cp.Variable(len(y), nonneg=True)
    risk = cp.Variable(len(y))
    conditions.append(level + capped + root.T @ risk >= r)
    return level + upper @ capped + np.linalg.norm(root @ y) * cp.norm(risk) - y @ r


def fit(problem, Y: np.ndarray) -> tuple[float, np.ndarray]:
    """The least sum of gaps over Theta, and where it is."""
    root = np.linalg.cholesky(problem.covariance).T
    r, theta = cp.Variable(problem.n), problem.theta
    conditions = [r >= theta.lower, r <= theta.upper, theta.equalities @ r == theta.values]
    total = sum(_dual_gap(root, problem.upper, r, y, conditions) for y in Y)
    return _solve(cp.Problem(cp.Minimize(total), conditions)), np.asarray(r.value)


def update(
    problem, theta: np.ndarray, y: np.ndarray, rate: float, metric: np.ndarray | None = None
) -> tuple[float, np.ndarray]:
    """min 1/2 ||r - theta||^2 + rate * gap(y, r) over Theta, and where it is; ||d||^2 = d'Md."""
    root = np.linalg.cholesky(problem.covariance).T
    r, box = cp.Variable(problem.n), problem.theta
    conditions = [r >= box.lower, r <= box.upper, box.equalities @ r == box.values]
    size = np.eye(problem.n) if metric is None else np.linalg.cholesky(metric).T
    total = 0.5 * cp.sum_squares(size @ (r - theta)) + rate * _dual_gap(
        root, problem.upper, r, y, conditions
    )
    return _solve(cp.Problem(cp.Minimize(total), conditions)), np.asarray(r.value)
