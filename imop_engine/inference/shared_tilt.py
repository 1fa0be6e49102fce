"""A share of wealth that everybody keeps in one asset, whatever she prefers: a tilt that all share.

Then y = (1 - s) x + s in that asset, x efficient: no frontier explains y, and one that comes near
it has wrong returns. The tilt is one asset and one number. It shows in an asset that hardly anybody
holds less of than s; without it the portfolios are on one frontier again, which nothing else that
was tried does for them. So it is taken only where it takes away more than half of the squared
distances, and where they are larger than what strays into unwanted assets.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import numpy as np

from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import ImopError
from imop_engine.frontier import efficient_frontier
from imop_engine.inference.estimating_equations import least_investors
from imop_engine.inference.estimators import beliefs_differ, errors_in_holdings
from imop_engine.inference.trimming import cut_loss, far_limit, stray_limit
from imop_engine.problem import Problem

# In trials the true tilt of a tenth left 4 to 42 % of the squared distances; where portfolios
# depart in other ways (covariance, caps, cash, beliefs) the best tilt left 70 % and more.
AT_MOST_LEFT: Final = 0.5
LEAST_TILT: Final = 0.02  # of wealth; a smaller one is no finding
HARDLY_ANYBODY: Final = 0.02  # of the investors hold less of the asset than the tilt
SEARCHED: Final = 600  # portfolios, evenly spread
# The tilt is sought among these shares of what hardly anybody is below (errors go both ways), then
# between the neighbours of the best.
SHARES: Final = (0.2, 0.4, 0.6, 0.8, 1.0, 1.15)
# First from one start at three of them. Distances fall smoothly towards the best share, so one that
# halves them takes off more than this at one of the three. In 87 studies under all conditions 123
# of 156 assets ended here, and none of the 24 whose tilt was found without this look.
GLANCED: Final = (0.25, 0.6, 1.0)
WORTH_A_LOOK: Final = 0.95
GOLDEN: Final = (5.0**0.5 - 1.0) / 2.0
CLOSER: Final = 8  # times that the interval is made shorter
PROMISING: Final = 0.8  # of the squared distances on the grid; a closer look takes off a little


@dataclass(frozen=True)
class SharedTilt:
    """What everybody keeps in one asset.

    Args:
        asset: its number.
        share: of wealth.
        left: squared distances with the tilt over those without it.
    """

    asset: int
    share: float
    left: float

    def without(self, Y: Matrix) -> Matrix:
        """Portfolios without the tilt, of the same investors.

        Args:
            Y: one row for each investor, fractions of wealth.
        """
        return _without(Y, self.asset, self.share)


@dataclass(frozen=True, eq=False)
class _Trial:
    share: float
    theta: Vector
    loss: float


def shared_tilt(problem: Problem, Y: Matrix, theta: Vector) -> SharedTilt | None:
    """The tilt that explains portfolios best; None where none halves the squared distances.

    Args:
        problem: a portfolio problem with anchors.
        Y: one row for each investor who takes part, fractions of wealth.
        theta: returns that were estimated as if there were none.
    """
    some = Y[:: -(-len(Y) // SEARCHED)]
    floors = np.quantile(some, HARDLY_ANYBODY, axis=0)
    without = _fitted(problem, some, 0, 0.0, theta)
    best: SharedTilt | None = None
    for asset in np.flatnonzero(floors >= LEAST_TILT):
        floor = float(floors[asset])
        if not _may_help(problem, some, int(asset), floor, without):
            continue
        found = _best_share(problem, some, int(asset), floor, without)
        left = found.loss / without.loss if without.loss > 0.0 else 1.0
        if found.share >= LEAST_TILT and left < (AT_MOST_LEFT if best is None else best.left):
            best = SharedTilt(int(asset), found.share, left)
    return best


def _without(Y: Matrix, asset: int, share: float) -> Matrix:
    rest = Y.copy()
    rest[:, asset] = np.maximum(rest[:, asset] - share, 0.0)
    total = rest.sum(axis=1, keepdims=True)
    result: Matrix = np.where(total > 0.0, rest / np.where(total > 0.0, total, 1.0), Y)
    return result


def _fitted(
    problem: Problem, Y: Matrix, asset: int, share: float, start: Vector, glance: bool = False
) -> _Trial:
    """Returns at one size of the tilt, from the start or from the first-order conditions; at a
    glance from the start alone."""
    rest = _without(Y, asset, share)
    tiny = stray_limit(problem, rest, least_investors(len(rest)))
    starts = [start]
    if not glance:
        with suppress(ImopError, np.linalg.LinAlgError):
            starts.append(beliefs_differ(problem, rest, tiny, start).theta)
    best = _Trial(share, start, np.inf)
    for one in starts:
        with suppress(ImopError, np.linalg.LinAlgError):
            theta = errors_in_holdings(problem, rest, tiny, one).theta
            distances = (1.0 - share) * efficient_frontier(problem, theta).project(rest).distances
            loss = cut_loss(distances, far_limit(distances))
            if loss < best.loss:
                best = _Trial(share, theta, loss)
    return best


def _may_help(problem: Problem, Y: Matrix, asset: int, floor: float, none: _Trial) -> bool:
    """Whether some tilt towards an asset brings portfolios closer to one frontier, at a glance."""
    trial, lost = none, np.inf
    for share in GLANCED:
        trial = _fitted(problem, Y, asset, share * floor, trial.theta, glance=True)
        lost = min(lost, trial.loss)
    return lost <= WORTH_A_LOOK * none.loss


def _best_share(problem: Problem, Y: Matrix, asset: int, floor: float, none: _Trial) -> _Trial:
    """The best size of a tilt towards one asset: over a grid, then by the golden section."""
    grid = [none]
    for share in SHARES:
        grid.append(_fitted(problem, Y, asset, share * floor, grid[-1].theta))
    at = min(range(len(grid)), key=lambda i: grid[i].loss)
    if grid[at].loss > PROMISING * none.loss:
        return none
    best, low, high = grid[at], grid[at - 1].share, grid[min(at + 1, len(grid) - 1)].share

    def trial(share: float) -> _Trial:
        return _fitted(problem, Y, asset, share, best.theta)

    left, right = trial(high - GOLDEN * (high - low)), trial(low + GOLDEN * (high - low))
    for _ in range(CLOSER):
        best = min(best, left, right, key=lambda one: one.loss)
        if left.loss < right.loss:
            high, right = right.share, left
            left = trial(high - GOLDEN * (high - low))
        else:
            low, left = left.share, right
            right = trial(low + GOLDEN * (high - low))
    return min(best, left, right, key=lambda one: one.loss)
