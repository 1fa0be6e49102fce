"""The sum of gaps as the cone program that others solve: cvxpy with Clarabel, and Gurobi.

A gap is a maximum over portfolios; by duality it is a minimum, and can stand inside the minimum
over the returns: a second-order cone for each investor.
"""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np

from imop_engine.problem import Problem

from .cases import Array

TIGHT = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}


def by_clarabel(problem: Problem, Y: Array, **options: Any) -> float:
    """The least sum of gaps, by cvxpy with Clarabel on one thread.

    Args:
        problem: A portfolio problem.
        Y: Portfolios within its caps, one in each row.
        **options: Of Clarabel; none are its defaults.
    """
    cp: Any = importlib.import_module("cvxpy")  # untyped
    root = np.linalg.cholesky(problem.covariance).T
    T, n, theta = len(Y), problem.n, problem.theta
    r = cp.Variable(n)
    level, capped, risk = cp.Variable(T), cp.Variable((T, n), nonneg=True), cp.Variable((T, n))
    levels = cp.reshape(level, (T, 1), order="C") @ np.ones((1, n))
    returns = np.ones((T, 1)) @ cp.reshape(r, (1, n), order="C")
    conditions = [
        levels + capped + risk @ root >= returns,
        r >= theta.lower,
        r <= theta.upper,
        theta.equalities @ r == theta.values,
    ]
    own = np.linalg.norm(Y @ root.T, axis=1)
    capped_total = cp.sum(capped @ problem.upper)
    total = cp.sum(level) + capped_total + own @ cp.norm(risk, axis=1) - Y.sum(axis=0) @ r
    program = cp.Problem(cp.Minimize(total), conditions)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the last digits are out of reach at ties
        return float(program.solve(solver="CLARABEL", **options))


def update_by_clarabel(problem: Problem, start: Array, y: Array, rate: float) -> float:
    """The least 1/2 ||r - start||^2 + rate * gap(y, r), by cvxpy with Clarabel's defaults.

    Args:
        problem: A portfolio problem.
        start: Returns before the update.
        y: The portfolio that was seen, within the caps.
        rate: How much it counts.
    """
    cp: Any = importlib.import_module("cvxpy")
    root = np.linalg.cholesky(problem.covariance).T
    n, theta = problem.n, problem.theta
    r, level = cp.Variable(n), cp.Variable()
    capped, risk = cp.Variable(n, nonneg=True), cp.Variable(n)
    conditions = [
        level + capped + root.T @ risk >= r,
        r >= theta.lower,
        r <= theta.upper,
        theta.equalities @ r == theta.values,
    ]
    gap = level + problem.upper @ capped + float(np.linalg.norm(root @ y)) * cp.norm(risk) - y @ r
    objective = cp.Minimize(0.5 * cp.sum_squares(r - start) + rate * gap)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(cp.Problem(objective, conditions).solve(solver="CLARABEL"))


def by_gurobi(problem: Problem, Y: Array) -> float:
    """The least sum of gaps, by Gurobi; its wheel's licence allows 200 variables.

    Args:
        problem: A portfolio problem.
        Y: Portfolios within its caps, one in each row.
    """
    gp: Any = importlib.import_module("gurobipy")
    root = np.linalg.cholesky(problem.covariance).T
    n, theta = problem.n, problem.theta
    with gp.Env(params={"OutputFlag": 0}) as env, gp.Model(env=env) as model:
        model.Params.BarQCPConvTol = model.Params.BarConvTol = 1e-11
        model.Params.FeasibilityTol = model.Params.OptimalityTol = 1e-9
        r = model.addMVar(n, lb=theta.lower, ub=theta.upper)
        model.addConstr(theta.equalities @ r == theta.values)
        total = -(Y.sum(axis=0) @ r)
        for y in Y:
            level, capped = model.addMVar(1, lb=-np.inf), model.addMVar(n)
            risk, size = model.addMVar(n, lb=-np.inf), model.addVar()
            model.addConstr(level[0] * np.ones(n) + capped + root.T @ risk >= r)
            model.addConstr(risk @ risk <= size * size)
            total = total + level[0] + problem.upper @ capped + np.linalg.norm(root @ y) * size
        model.setObjective(total)
        model.optimize()
        return float(model.ObjVal)
