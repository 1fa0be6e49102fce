"""What the compiled portfolio code needs of a problem: rows in order, where frontiers begin.

Every frontier begins at the portfolio of least variance, which no belief moves: it is found once.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine import kernels
from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import Infeasible, InvalidInput

TOO_ILL: Final = (
    "the portfolio of least variance could not be found: the covariance is too "
    "ill-conditioned. Shrink it towards its diagonal."
)
ROUNDING: Final = 1e-12  # a bound that is missed by less holds
# Added to each variance, as a share of the largest, until the portfolio of least variance is
# found: without full rank and without room between limits rounding may leave none.
LIFTS: Final = (0.0, 1e-6, 1e-4)


def budget_arrays(covariance: Matrix, caps: Vector) -> kernels.PortfolioArrays:
    """The arrays of a problem with nothing but a budget, holdings from zero on, and caps.

    Args:
        covariance: Q, of the yearly returns.
        caps: the most of each asset; infinite where the budget keeps it below.
    """
    least, state = _least_variance(covariance, caps)
    n = caps.size
    return _arrays(
        covariance, (np.zeros(n), caps), np.ones((1, n)), np.ones(1), 1, (least, state), False
    )


def limited_arrays(
    covariance: Matrix,
    bounds: tuple[Vector, Vector],
    equations: tuple[Matrix, Vector],
    inequalities: tuple[Matrix, Vector],
) -> kernels.PortfolioArrays:
    """The arrays of a problem with limits.

    Rows are scaled so that their largest coefficient is one, which tolerances count on.

    Args:
        covariance: Q, of the yearly returns.
        bounds: the least and the most of each asset.
        equations: rows and what they must be, the budget first.
        inequalities: rows and what they must be at least.

    Raises:
        Infeasible: no portfolio keeps the limits.
    """
    rows = np.vstack([equations[0], inequalities[0]])
    size = np.abs(rows).max(axis=1)
    rows, levels = rows / size[:, None], np.concatenate([equations[1], inequalities[1]]) / size
    count = len(equations[1])
    least, state, tight = _least_within(covariance, bounds, rows, levels, count)
    return _arrays(covariance, bounds, rows, levels, count, (least, state), True, tight)


def _arrays(
    covariance: Matrix,
    bounds: tuple[Vector, Vector],
    rows: Matrix,
    levels: Vector,
    equations: int,
    least: tuple[Vector, NDArray[np.int8]],
    limited: bool,
    tight: NDArray[np.int8] | None = None,
) -> kernels.PortfolioArrays:
    n = covariance.shape[0]
    left = np.ascontiguousarray((np.eye(n) - 1.0 / n) @ covariance)
    holds = np.ones(len(levels), np.int8) if tight is None else tight
    return kernels.PortfolioArrays(
        covariance, np.ascontiguousarray(bounds[1]), left, covariance @ left, *least,
        np.ascontiguousarray(bounds[0]), np.ascontiguousarray(rows), levels, equations, limited,
        holds,
    )  # fmt: skip


def project_rows(
    gram: Matrix, start: Vector, lower: Vector, upper: Vector, scale: Vector | None = None
) -> Vector | None:
    """Rows within their bounds nearest to `start` in the metric of `gram`; None: there are none.

    Args:
        gram: The metric in which rows are near one another, a positive semidefinite matrix.
        start: The value of each row.
        lower: The least value that each row may have.
        upper: The greatest value that each row may have.
        scale: The length of each row, by which tolerances are scaled; None takes it from gram.

    Returns:
        The value of each row.
    """
    found = nearest_rows_within(gram, start, lower, upper, scale)
    return None if found is None else found[0]


def nearest_rows_within(
    gram: Matrix, start: Vector, lower: Vector, upper: Vector, scale: Vector | None = None
) -> tuple[Vector, NDArray[np.int64]] | None:
    """As `project_rows`, with the side on which each row is held: 1 below, -1 above, 0 not.

    Args:
        gram: The metric in which rows are near one another, a positive semidefinite matrix.
        start: The value of each row.
        lower: The least value that each row may have.
        upper: The greatest value that each row may have.
        scale: The length of each row, by which tolerances are scaled; None takes it from gram.

    Returns:
        The value of each row, and its side; None: there are no rows within their bounds.
    """
    m = start.size
    if scale is None:
        scale = np.sqrt(np.maximum(np.diag(gram), 0.0))
    fixed = scale <= 1e-12 * max(1.0, float(scale.max(initial=0.0)))
    scale = np.where(fixed, 0.0, scale)
    slack = 1e-9 * (1.0 + np.abs(start))
    if np.any(fixed & ((start < lower - slack) | (start > upper + slack))):
        return None
    rows = kernels.Rows(np.ascontiguousarray(gram), scale, start, lower, upper, 0)
    work = kernels.empty_working_set(m)
    work.v[:] = start
    status, _ = kernels.project(rows, work, 0.0, np.inf, 100 * (m + 1))
    return (work.v, work.side) if status == kernels.OPTIMAL else None


def _least_variance(covariance: Matrix, caps: Vector) -> tuple[Vector, NDArray[np.int8]]:
    """The portfolio of least variance and the state of each asset in it, at least one free.

    By the frontier's own method: start at a portfolio that fills the caps in order, with a linear
    cost that makes it optimal, and follow the solution while that cost is taken away.
    """
    n = caps.size
    state = np.full(n, kernels.LOWER, np.int8)
    x = np.zeros(n)
    for i in range(n):
        room = 1.0 - x.sum()
        x[i] = min(room, caps[i])
        state[i] = kernels.UPPER if x[i] < room else kernels.FREE
        if x[i] >= room - 1e-15:
            state[i] = kernels.FREE
            break
    push = np.select([state == kernels.LOWER, state == kernels.UPPER], [1.0, -1.0], 0.0)
    cost = float(np.abs(covariance).max()) * push - covariance @ x
    path = kernels.empty_trace(64 * n + 64, n, 1)
    count = kernels.trace(covariance, caps, cost, cost, kernels.Start(x, state), 1.0, path)
    if count <= 0:
        raise InvalidInput(TOO_ILL)
    last = count - 1
    least = np.clip(path.xs[last] + (1.0 - path.lams[last]) * path.ds[last], 0.0, caps)
    return least, path.states[last].copy()


def _least_within(
    covariance: Matrix, bounds: tuple[Vector, Vector], rows: Matrix, levels: Vector, equations: int
) -> tuple[Vector, NDArray[np.int8], NDArray[np.int8]]:
    """The portfolio of least variance under limits, the states of assets and of rows in it.

    By the dual active set method, whose working set never holds what follows from the rest of it;
    then solved once more where bounds and rows hold, as its tolerances are those of a projection.
    """
    n = covariance.shape[0]
    top = float(np.diag(covariance).max())
    stack = np.vstack([np.eye(n), rows])
    low = np.concatenate([bounds[0], levels])
    high = np.concatenate([bounds[1], np.full(len(levels), np.inf)])
    high[n : n + equations] = levels[:equations]
    for lift in LIFTS:
        inverse = np.linalg.inv(covariance / top + lift * np.eye(n))
        gram = stack @ (inverse + inverse.T) @ stack.T / 2.0
        found = nearest_rows_within(gram, np.zeros(n + len(levels)), low, high)
        if found is not None:
            break
    if found is None:
        raise Infeasible(
            f"no portfolio keeps all limits at once: bounds on {n} assets and {len(levels) - 1} "
            "limits on sums of holdings contradict one another. Loosen one of them."
        )
    side = found[1]
    for _ in range((1 if lift == 0.0 else 4) * len(side)):
        x, pushes = _solved_where_held(covariance / top, stack, side, low, high)
        values = stack @ x
        worst = np.where(side == 0, np.maximum(low - values, values - high), 0.0)
        if worst.max() > ROUNDING:
            i = int(worst.argmax())
            side[i] = 1 if values[i] < low[i] else -1
            continue
        pulls = np.where(high > low, side * pushes, 0.0)
        if lift == 0.0 or pulls.min() >= -ROUNDING:
            break
        side[int(pulls.argmin())] = 0  # it was held by the lift alone
    x = np.clip(x, *bounds)
    states = np.select([side[:n] > 0, side[:n] < 0], [kernels.LOWER, kernels.UPPER], kernels.FREE)
    return x, states.astype(np.int8), (side[n:] != 0).astype(np.int8)


def _solved_where_held(
    covariance: Matrix, stack: Matrix, side: NDArray[np.int64], low: Vector, high: Vector
) -> tuple[Vector, Vector]:
    """The portfolio of least variance among those that sit on the bounds given by `side`; and how
    much each of these pushes it up."""
    held = side != 0
    C, at = stack[held], np.where(side > 0, low, high)[held]
    n, k = covariance.shape[0], len(at)
    system = np.block([[covariance, C.T], [C, np.zeros((k, k))]])
    right = np.concatenate([np.zeros(n), at])
    solved = np.linalg.lstsq(system, right, rcond=None)[0] if k > n else None
    if solved is None:
        solved = np.linalg.solve(system, right)
        solved += np.linalg.solve(system, right - system @ solved)
    x: Vector = solved[:n]
    x[held[:n]] = np.where(side > 0, low, high)[:n][held[:n]]
    pushes = np.zeros(len(side))
    pushes[held] = -solved[n:]
    return x, pushes
