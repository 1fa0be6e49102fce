"""Limits on sums of holdings along the frontier: where they hold, and what they take out of it.

Where a limit holds, holdings answer only to differences between the returns of its assets: a common
rise of all of them meets the limit's multiplier. Only investors who are below a limit tell that
common level. Where too few are, a fit can always put the frontier's corner, at which the limit
begins to hold, among them, so that the noise of a handful looks like information on a whole group
of assets. So such a limit is taken to hold all along the frontier: nobody then tells the level.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine import kernels
from imop_engine.arguments import Matrix
from imop_engine.frontier import Frontier
from imop_engine.inference.fit import AT_BOUND

CLEAR: Final = 2.0  # noise sds by which a holding is clear of its bound, or a sum of its limit
STILL: Final = 1e-9  # what moves less than this share of what it did before does not move


def limited_response(frontier: Frontier, k: int, free: NDArray[np.int64]) -> tuple[Matrix, Matrix]:
    """M on one stretch, and how the multipliers of what holds there answer to the free returns.

    Args:
        frontier: The efficient frontier at the estimated returns.
        k: The number of the stretch.
        free: Its free assets.

    Returns:
        M, and one row for the budget and each row that holds and says something new.
    """
    Q, rows = frontier.problem.covariance, frontier.problem.portfolio.rows
    inverse = np.linalg.inv(Q[np.ix_(free, free)])
    C = rows[np.flatnonzero(frontier.tight[k])][:, free]
    answer = np.linalg.pinv(C @ inverse @ C.T, rcond=1e-12) @ C @ inverse
    M = inverse - inverse @ C.T @ answer
    return (M + M.T) / 2.0, answer


def held_along(frontier: Frontier, rows: NDArray[np.bool_]) -> Frontier:
    """The frontier as it answers to returns if some rows held all along it.

    Portfolios stay where they are; what moves with the returns, and how, is that of portfolios
    that cannot leave these rows.

    Args:
        frontier: The efficient frontier at the estimated returns.
        rows: Which rows are taken to hold, the budget first.
    """
    if not rows.any():
        return frontier
    tight = np.where(rows, np.int8(1), frontier.tight).astype(np.int8)
    held = replace(frontier, tight=tight, directions=frontier.directions.copy())
    coefficients = frontier.problem.portfolio.rows
    for k in range(len(tight)):
        free = np.flatnonzero(frontier.states[k] == kernels.FREE)
        new = np.flatnonzero(tight[k] != frontier.tight[k])
        if not np.any(frontier.directions[k]) or not np.any(coefficients[np.ix_(new, free)]):
            continue
        moved = limited_response(held, k, free)[0] @ frontier.theta[free]
        small = np.linalg.norm(moved) <= STILL * np.linalg.norm(frontier.directions[k])
        held.directions[k] = 0.0
        held.directions[k, free] = 0.0 if small else moved
    return held


def clear_of_rows(frontier: Frontier, points: Matrix, noise_sd: float) -> NDArray[np.bool_]:
    """Which fitted portfolios lie clear of each row by two standard deviations of the noise.

    Args:
        frontier: The efficient frontier at the estimated returns.
        points: The nearest efficient portfolio of each investor, fractions of wealth.
        noise_sd: Standard deviation of the error in a single holding, in fractions of wealth.

    Returns:
        One row for each investor, one column for each row of the problem, the budget first. Who
        holds no asset of a row between its bounds is neither clear of it nor at it: False.
    """
    rows = frontier.problem.portfolio.rows
    slack = points @ rows.T - frontier.problem.portfolio.levels
    room = np.maximum(CLEAR * noise_sd * np.linalg.norm(rows, axis=1), AT_BOUND)
    result: NDArray[np.bool_] = (slack > room) & holding_of_rows(frontier, points)
    return result


def holding_of_rows(frontier: Frontier, points: Matrix) -> NDArray[np.bool_]:
    """Which fitted portfolios hold some asset of each row strictly between its bounds.

    Args:
        frontier: The efficient frontier at the estimated returns.
        points: The nearest efficient portfolio of each investor, fractions of wealth.
    """
    problem = frontier.problem
    inside = np.minimum(points - problem.lower, problem.upper - points) > AT_BOUND
    taking_part = (problem.portfolio.rows != 0.0).astype(np.float64)
    result: NDArray[np.bool_] = inside.astype(np.float64) @ taking_part.T > 0.0
    return result
