"""Weights: what is given to each objective, and the grids of them that the paper samples."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from imop_engine.arguments import RIDGE, Matrix, Vector
from imop_engine.capabilities import Capability
from imop_engine.errors import InvalidInput
from imop_engine.problem import Problem

EDGE = 1e-3  # weights keep this far from 0 and 1 where an objective is not strictly convex (W+)


def lam_of(weight: ArrayLike) -> Vector:
    """lam = w / (2 (1 - w)), the price of risk that goes with weight w; inf at w = 1."""
    w = np.asarray(weight, dtype=float)
    below = w < 1.0
    if below.all():
        return np.asarray(w / (2.0 * (1.0 - w)))
    return np.where(below, w / (2.0 * np.where(below, 1.0 - w, 1.0)), np.inf)


def weight_of(lam: ArrayLike) -> Vector:
    """The inverse of `lam_of`."""
    value = np.asarray(lam, dtype=float)
    is_finite = np.isfinite(value)
    if is_finite.all():
        return np.asarray(2.0 * value / (1.0 + 2.0 * value))
    finite = np.where(is_finite, value, 0.0)
    return np.where(is_finite, 2.0 * finite / (1.0 + 2.0 * finite), 1.0)


def check_weight(problem: Problem, weight: ArrayLike) -> Vector:
    """A weight as a vector on the simplex; for two objectives one number means (w, 1 - w)."""
    w = np.atleast_1d(np.asarray(weight, dtype=float))
    if problem.p == 2 and w.shape == (1,):
        w = np.array([w[0], 1.0 - w[0]])
    if w.shape != (problem.p,) or not np.all(np.isfinite(w)):
        raise InvalidInput(f"a weight needs {problem.p} numbers, one an objective; got {weight!r}.")
    if np.any(w < -1e-12) or abs(w.sum() - 1.0) > 1e-9:
        raise InvalidInput(
            f"weights must not be negative and must add up to one (one number lies in 0 to 1); "
            f"got {weight!r}."
        )
    result: Vector = np.clip(w, 0.0, 1.0)
    return result


def require_risk(problem: Problem, weight: Vector) -> None:
    """Refuse a weight (on the simplex) of return alone: without risk many portfolios are best."""
    if problem.can(Capability.EXPECTED_RETURNS) and weight[0] == 1.0:
        raise InvalidInput(
            "at weight 1 risk does not count and many portfolios are optimal; use at most 0.999."
        )


def weight_grid(problem: Problem, weights: Any) -> Vector:
    """The weights w_k of the paper: K even ones, or those given.

    For two objectives a vector of the w of f_1, ascending; for more, one row on the simplex each.
    They move inside by 1e-3 where an objective is not strictly convex, as the return of a
    portfolio: there only positive weights are sure to give one decision, and an efficient one.
    """
    if isinstance(weights, (int, np.integer)) and not isinstance(weights, bool):
        if weights < 2:
            raise InvalidInput(f"a grid needs at least 2 weights; got {weights}.")
        if problem.p > 2:
            return _inside(problem, lattice(problem.p, int(weights)))
        grid = np.linspace(0.0, 1.0, int(weights))
    else:
        try:
            grid = np.array(weights, dtype=float)
        except (TypeError, ValueError):
            raise InvalidInput(
                f"weights must be a number K, a list of weights or 'exact'; got {weights!r}."
            ) from None
        if grid.ndim == 2 and grid.shape[1] == problem.p:
            grid = np.array([check_weight(problem, w) for w in grid])
            if problem.p > 2:
                return _inside(problem, grid)
            grid = grid[:, 0]
        if problem.p > 2:
            raise InvalidInput(f"weights for {problem.p} objectives need {problem.p} columns.")
        if grid.ndim != 1 or grid.size < 1 or not np.all((grid >= 0) & (grid <= 1)):
            raise InvalidInput("weights must be a list of numbers between 0 and 1.")
    if _keeps_inside(problem):
        grid = np.clip(grid, EDGE, 1.0 - EDGE)
    return np.unique(grid)


def lattice(p: int, K: int) -> Matrix:
    """The even lattice on the simplex of p weights; K must be C(steps + p - 1, p - 1).

    >>> lattice(3, 6).tolist()[:2]
    [[0.0, 0.0, 1.0], [0.0, 0.5, 0.5]]
    """
    steps = 1
    while comb(steps + p - 1, p - 1) < K:
        steps += 1
    if comb(steps + p - 1, p - 1) != K:
        near = comb(steps + p - 2, p - 1), comb(steps + p - 1, p - 1)
        raise InvalidInput(
            f"an even lattice for {p} objectives has {near[0]} or {near[1]} weights, not {K}."
        )

    def fill(parts: int, total: int) -> list[list[int]]:
        if parts == 1:
            return [[total]]
        return [[i, *rest] for i in range(total + 1) for rest in fill(parts - 1, total - i)]

    return np.array(fill(p, steps), dtype=float) / steps


def simplex_rows(problem: Problem, grid: Vector) -> Matrix:
    """A grid as rows on the simplex, whatever the number of objectives."""
    return grid if grid.ndim == 2 else np.column_stack([grid, 1.0 - grid])


def _keeps_inside(problem: Problem) -> bool:
    if problem.program is not None:
        return True  # nothing is known of how its objectives curve
    eigenvalues = np.linalg.eigvalsh(problem.quadratic)
    return bool(np.any(eigenvalues[:, 0] <= RIDGE * eigenvalues[:, -1]))


def _inside(problem: Problem, grid: Matrix) -> Matrix:
    if not _keeps_inside(problem):
        return grid
    moved = np.maximum(grid, EDGE)
    result: Matrix = moved / moved.sum(axis=1, keepdims=True)
    return result
