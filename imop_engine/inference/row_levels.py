"""The common level of what comes under one limit: told by those below it, else only bounded.

Where a limit holds for nearly everybody, its assets are known against one another, and their level
is open: returns r + c g, with g the limit's coefficients, give the same portfolios as long as no
investor's multiplier of the limit becomes negative. The multiplier over lam, the price of the
limit, is what the level may fall by for that investor; nothing but the box says how far it may
rise. Each investor's price (prices.py) is moved outwards by as many of its standard errors as make
all of them right at once, and the tightest counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.inference.binding_rows import STILL, clear_of_rows, holding_of_rows
from imop_engine.inference.information import Place, ScoreInformation
from imop_engine.inference.prices import row_prices
from imop_engine.problem import Problem

# Returns that a level moves by less than this share of what it moves others by stay where they are.
UNTOUCHED: Final = 1e-9
SAME: Final = 1e-9  # two rows of largest coefficient one are the same up to this


@dataclass(frozen=True, eq=False)
class RowLevels:
    """Levels that too few investors tell.

    Args:
        directions: one row for each such limit: how the returns move, anchors kept, when what the
            limit holds returns more by one.
        down: how far each level may fall, zero or below, return a year.
        up: how far it may rise, zero or above.
        names: the limits, in words.
    """

    directions: Matrix
    down: Vector
    up: Vector
    names: tuple[str, ...]

    @classmethod
    def none(cls, n: int) -> RowLevels:
        """Where there is none.

        Args:
            n: how many assets.
        """
        return cls(np.zeros((0, n)), np.zeros(0), np.zeros(0), ())

    def ends(self) -> tuple[Vector, Vector]:
        """The least and the most that all of them together add to each return."""
        rise, fall = np.maximum(self.directions, 0.0), np.minimum(self.directions, 0.0)
        return self.down @ rise + self.up @ fall, self.up @ rise + self.down @ fall

    def of_asset(self, i: int) -> tuple[str, ...]:
        """The limits whose level moves the return of an asset.

        Args:
            i: its number.
        """
        return tuple(
            name for name, row in zip(self.names, self.directions, strict=True) if row[i] != 0.0
        )


def rows_in_doubt(info: ScoreInformation, noise_sd: float, least: int) -> NDArray[np.bool_] | None:
    """Rows that hold, up to errors, for somebody, and that too few are clearly below.

    Args:
        info: What the portfolios say at one estimate.
        noise_sd: Standard deviation of the error in a single holding, in fractions of wealth.
        least: How many must be below a limit and tell the level of what it holds.

    Returns:
        True for each such row of the problem, the budget first; None where there is no limit.
    """
    frontier, points = info.frontier, info.projection.points
    rows = frontier.problem.portfolio.rows
    if len(rows) < 2:
        return None
    clear = clear_of_rows(frontier, points, noise_sd)
    at = holding_of_rows(frontier, points) & ~clear
    moving = np.zeros_like(clear)
    for place in info.places:
        moving[place.rows] = _moved_by(place, rows)
    telling = np.sum(clear & moving, axis=0)
    result: NDArray[np.bool_] = at.any(axis=0) & (telling < least)
    result[0] = False
    return result


def _moved_by(place: Place, rows: Matrix) -> NDArray[np.bool_]:
    """Which rows' levels move the nearest portfolio at a place."""
    one = rows[:, place.free]
    moved = np.linalg.norm(one @ place.slope, axis=1)
    whole = np.linalg.norm(one, axis=1) * np.linalg.norm(place.slope)
    result: NDArray[np.bool_] = moved > STILL * whole
    return result


def row_levels(
    info: ScoreInformation,
    holding: NDArray[np.bool_] | None,
    covariance: Matrix,
    noise_sd: float,
    level: float,
) -> RowLevels:
    """How far the levels of limits may move that too few investors are below.

    Args:
        info: What the portfolios say at one estimate, limits holding where they do.
        holding: Which rows of the problem are in doubt, the budget first.
        covariance: Of the estimated returns.
        noise_sd: Standard deviation of the error in a single holding, in fractions of wealth.
        level: Confidence of the intervals, between 0 and 1.
    """
    problem, theta = info.frontier.problem, info.frontier.theta
    if holding is None or not holding.any():
        return RowLevels.none(problem.n)
    arrays = problem.portfolio
    found: list[tuple[Vector, float, float, str]] = []
    for j in np.flatnonzero(holding):
        # rows are what must be at least so much: returns rise together against their coefficients
        direction = _anchors_kept(problem, theta, -arrays.rows[j])
        if not direction.any():
            continue
        down, up = _in_box(problem, theta, direction)
        if j >= arrays.equations:
            prices = row_prices(info, int(j), covariance, noise_sd, level)
            down = max(down, -max(0.0, float(prices.min(initial=np.inf))))
        found.append((direction, down, up, row_name(problem, int(j))))
    if not found:
        return RowLevels.none(problem.n)
    directions, downs, ups, names = zip(*found, strict=True)
    return RowLevels(np.array(directions), np.array(downs), np.array(ups), tuple(names))


def _anchors_kept(problem: Problem, theta: Vector, direction: Vector) -> Vector:
    """The direction with the shift and the scale that leave the anchors as they are."""
    G = problem.theta.equalities
    gauge = np.column_stack([np.ones(problem.n), theta])
    mix, *_ = np.linalg.lstsq(G @ gauge, G @ direction, rcond=None)
    kept = direction - gauge @ mix
    size = float(np.abs(direction).max())
    result: Vector = np.where(np.abs(kept) > UNTOUCHED * size, kept, 0.0)
    return result


def _in_box(problem: Problem, theta: Vector, direction: Vector) -> tuple[float, float]:
    """How far a direction can be followed back and forth until all of its returns left the box."""
    moved = direction != 0.0
    step = direction[moved]
    one = (problem.theta.lower[moved] - theta[moved]) / step
    other = (problem.theta.upper[moved] - theta[moved]) / step
    return (
        float(np.minimum(one, other).min(initial=0.0)),
        float(np.maximum(one, other).max(initial=0.0)),
    )


def row_name(problem: Problem, j: int) -> str:
    """The limit behind a row of the problem's arrays, in words.

    Args:
        problem: A portfolio problem with limits.
        j: The number of the row, the budget first.
    """
    row, value = problem.portfolio.rows[j], problem.portfolio.levels[j]
    for limit in problem.limits:
        own = limit.row(problem.names)
        size = float(np.abs(own).max(initial=0.0)) or 1.0
        for sign in (1.0, -1.0):
            same = np.allclose(sign * own / size, row, atol=SAME)
            if same and abs(sign * limit.value / size - value) <= SAME:
                return limit.sentence
    names = [problem.names[i] for i in np.flatnonzero(row)]
    return f"the limit on {' + '.join(names)}"
