"""Portfolios that miss a limit or the budget, put inside before anything is asked of them.

Nearly all that do were rounded: with three decimals many add up to 0.999 or 1.001. The nearest
portfolio would add as much to every asset, also to those that nobody holds, and that looks like a
belief: of an asset that efficient investors avoid, they would seem to want some. So these are put
inside in proportion to what they hold, and zeros stay zero.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.capabilities import Capability
from imop_engine.kernels import twins
from imop_engine.portfolio_arrays import project_rows
from imop_engine.problem import Problem

# Holdings are taken as rounded to 0.001, a tenth of a per cent: what misses a limit by no more than
# half of that for each holding in it may do so by rounding alone.
HALF_STEP: Final = 0.5e-3 * (1.0 + 1e-9)
OUTSIDE: Final = 1e-9  # a limit that is missed by less is kept
NEGATIVE: Final = 1e-12  # the same for a holding, where nothing but a budget and caps is to be kept


def put_inside(problem: Problem, Y: Matrix) -> tuple[Matrix, Vector]:
    """Portfolios that the problem allows, for portfolios that may miss its limits a little or more.

    The rule: what keeps the budget and all limits stays as it is to the last digit. What misses
    them by no more than holdings rounded to 0.001 may (half of that for each asset in a sum) was
    rounded: it is scaled to one, and where limits are in the way it becomes the nearest portfolio
    in the metric of its holdings (the squared change of each, divided by its size), so that what is
    not held stays at zero. All else, and what cannot be put inside without holding more assets,
    becomes the nearest portfolio inside.

    Args:
        problem: a portfolio problem.
        Y: portfolios, one in each row; left as they are.

    Returns:
        The portfolios inside, and how far each was moved.
    """
    if problem.can(Capability.BUDGET_AND_CAPS):
        return _within_caps(problem.portfolio.caps, Y)
    inside, moved = Y.copy(), np.zeros(len(Y))
    limits = _Limits.of(problem)
    out = np.flatnonzero(limits.missed(Y).any(axis=1))
    sums = Y[out].sum(axis=1)
    rounded = ~limits.missed(Y[out], HALF_STEP * limits.sizes).any(axis=1) & (sums > 0.0)
    scaled = Y[out] / np.where(rounded, sums, 1.0)[:, None]
    done = rounded & ~limits.missed(scaled).any(axis=1)
    inside[out[done]] = scaled[done]
    gram = limits.rows @ limits.rows.T
    for t, small in zip(out[~done], rounded[~done], strict=True):
        found = _in_proportion(limits, Y[t]) if small else None
        if found is None:
            found = project_rows(gram, limits.rows @ Y[t], limits.low, limits.high)
        inside[t] = problem.portfolio.least_variance if found is None else found[: problem.n]
    moved[out] = np.linalg.norm(inside[out] - Y[out], axis=1)
    return inside, moved


def _within_caps(caps: Vector, Y: Matrix) -> tuple[Matrix, Vector]:
    """The same where there is nothing but a budget and caps, for any number of portfolios."""
    inside, moved = Y.copy(), np.zeros(len(Y))
    off = np.abs(Y.sum(axis=1) - 1.0)
    beyond = np.maximum(-Y.min(axis=1), (Y - caps).max(axis=1))
    missed = (off > OUTSIDE) | (beyond > NEGATIVE)
    rounded = missed & (off <= Y.shape[1] * HALF_STEP) & (beyond <= HALF_STEP)
    if rounded.any():
        scaled, filled = _scaled(caps, np.maximum(Y[rounded], 0.0))
        inside[np.flatnonzero(rounded)[filled]] = scaled[filled]
    twins.put_inside(inside, caps, moved)
    moved[missed] = np.linalg.norm(inside[missed] - Y[missed], axis=1)
    return inside, moved


def _scaled(caps: Vector, Y: Matrix) -> tuple[Matrix, NDArray[np.bool_]]:
    """Each row times what makes its sum one, those at their caps stopped there; and whether it can
    be one: caps of all that is held may add up to less."""
    X = Y
    stopped = np.zeros(Y.shape, dtype=bool)
    while True:  # each turn stops more assets, or it is the last
        room = 1.0 - np.where(stopped, caps, 0.0).sum(axis=1)
        free = np.where(stopped, 0.0, Y).sum(axis=1)
        times = np.divide(room, free, out=np.ones_like(room), where=free > 0.0)
        X = np.where(stopped, caps, times[:, None] * Y)
        more = ~stopped & (caps < X)
        if not more.any():
            return X, np.abs(X.sum(axis=1) - 1.0) <= OUTSIDE
        stopped |= more


class _Limits(NamedTuple):
    """Everything that a portfolio must keep: holdings first, then rows."""

    rows: Matrix
    low: Vector
    high: Vector
    sizes: Vector  # what a row moves by if each holding moves by one

    @classmethod
    def of(cls, problem: Problem) -> _Limits:
        arrays, n = problem.portfolio, problem.n
        rows = np.vstack([np.eye(n), arrays.rows])
        high = np.concatenate([arrays.caps, np.full(len(arrays.levels), np.inf)])
        high[n : n + arrays.equations] = arrays.levels[: arrays.equations]
        low = np.concatenate([arrays.lower, arrays.levels])
        return cls(rows, low, high, np.abs(rows).sum(axis=1))

    def missed(self, Y: Matrix, room: float | Vector = OUTSIDE) -> NDArray[np.bool_]:
        """Which limits each portfolio misses by more than `room`."""
        values = Y @ self.rows.T
        return np.asarray((values < self.low - room) | (values > self.high + room))


def _in_proportion(limits: _Limits, y: Vector) -> Vector | None:
    """The nearest portfolio in the metric of its holdings; None: it takes more assets than held."""
    metric = limits.rows * np.abs(y)
    return project_rows(metric @ limits.rows.T, limits.rows @ y, limits.low, limits.high)
