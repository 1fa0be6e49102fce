"""Which assets the investors hold at all, and the problem without the others.

Errors put small amounts into assets that nobody wants. A frontier that holds such an asset explains
those amounts, and bends all other returns to do so: with 20 to 50 assets returns came out one to
four standard errors off, and where depended on the start. So the portfolios decide first whether
an asset is held: neighbours along the frontier hold alike, and errors that are cut at zero leave
0.4 standard deviations on average, with a spread of 0.58. Assets of which no neighbourhood holds
more than that are taken out of the problem, and the money in them is given back to the others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.capabilities import Capability
from imop_engine.frontier import efficient_frontier
from imop_engine.gauge import gauge_of
from imop_engine.inference.estimating_equations import CUT_MEAN, CUT_SPREAD
from imop_engine.inference.first_order import anchored
from imop_engine.inference.fit import AT_BOUND, outlier_threshold
from imop_engine.problem import Problem, portfolio_problem
from imop_engine.weights import lam_of

# Standard errors by which a neighbourhood holds more than errors leave: with 50 assets and 40
# neighbourhoods one asset in twenty studies is called held that nobody holds.
HELD: Final = 4.0
# A holding counts up to this many standard deviations: a few investors with much do not make an
# asset held by all.
MOST_OF_ONE: Final = 3.0
# A holding beyond this many standard deviations is no error, and this many such holders are enough.
CLEARLY: Final = 6.0
CLEAR_HOLDERS: Final = 3
NEIGHBOURS: Final = 50  # at least, and at least a tenth of the investors; fewer tell nothing
STEPS: Final = 4  # neighbourhoods overlap by three quarters
FEWEST: Final = 3  # assets: with fewer there is nothing to estimate
# Returns of assets that nobody holds are put this share of the returns' spread below the least at
# which somebody would hold them.
CLEARLY_BELOW: Final = 0.001
MOSTLY_HELD: Final = 0.5  # who has less than this in held assets keeps her portfolio as it is


def held_assets(Y: Matrix, lams: Vector, stray_sd: float) -> NDArray[np.bool_]:
    """Which assets are held beyond what errors put there: by neighbours, or clearly by a few.

    Args:
        Y: one row for each investor, fractions of wealth.
        lams: the price of risk of each, which orders them along the frontier.
        stray_sd: standard deviation of errors, before they are cut at zero; 0: nothing strays.
    """
    clearly: NDArray[np.bool_] = (CLEARLY * stray_sd < Y).sum(axis=0) >= CLEAR_HOLDERS
    if stray_sd <= 0.0:
        return clearly
    count, n = Y.shape
    counted = np.minimum(Y[np.argsort(lams, kind="stable")], MOST_OF_ONE * stray_sd)
    size = min(count, max(NEIGHBOURS, count // 10))
    upto = np.vstack([np.zeros(n), np.cumsum(counted, axis=0)])
    first = np.append(np.arange(0, count - size, max(1, size // STEPS)), count - size)
    means = (upto[first + size] - upto[first]) / size
    limit = stray_sd * (CUT_MEAN + HELD * CUT_SPREAD / np.sqrt(size))
    held: NDArray[np.bool_] = clearly | np.any(means > limit, axis=0)
    return held if held.sum() >= min(FEWEST, n) else np.ones(n, bool)


def only_held(problem: Problem, held: NDArray[np.bool_]) -> Problem:
    """The same problem in which the other assets cannot be held.

    Args:
        problem: a portfolio problem.
        held: which assets are.
    """
    if held.all():
        return problem
    theta = problem.theta
    if not problem.can(Capability.BUDGET_AND_CAPS):
        fewer = replace(problem, upper=np.where(held, problem.upper, problem.lower))
        _ = fewer.portfolio  # refuses limits that cannot be kept without the others
        return fewer
    return portfolio_problem(
        problem.covariance,
        upper=np.where(held, problem.upper, 0.0),
        bounds=(theta.lower, theta.upper),
        anchors=list(zip(theta.equalities, theta.values, strict=True)),
        names=problem.names,
    )


def given_back(Y: Matrix, held: NDArray[np.bool_]) -> Matrix:
    """Portfolios whose money in other assets is given to the held ones, in proportion.

    Args:
        Y: one row for each investor, fractions of wealth.
        held: which assets are.
    """
    if held.all():
        return Y
    kept = np.where(held, Y, 0.0)
    total = kept.sum(axis=1, keepdims=True)
    result: Matrix = np.where(total > MOSTLY_HELD, kept / np.where(total > 0, total, 1.0), Y)
    return result


def below_bounds(problem: Problem, Y: Matrix, theta: Vector, held: NDArray[np.bool_]) -> Vector:
    """The same returns, with those of the other assets no higher than portfolios allow.

    Args:
        problem: with all assets.
        Y: one row for each investor, as `given_back` makes them.
        theta: returns that solve the problem of the held assets.
        held: which assets are.
    """
    fixed = np.diag(problem.theta.projector) <= 0.0  # an anchor says it
    others = np.flatnonzero(~held & ~fixed)
    if others.size == 0:
        return theta
    frontier = efficient_frontier(only_held(problem, held), theta)
    found = frontier.project(Y)
    lams = np.minimum(lam_of(found.weights), frontier.lams[-1])
    usual = (found.distances <= outlier_threshold(found.distances)) & (lams > 0)
    x, lams = found.points[usual], lams[usual, None]
    # what she holds says lam r = Qx + nu; what she does not must be worth no more than that
    risk = x @ problem.covariance
    inside = (x > AT_BOUND) & (x < frontier.problem.upper - AT_BOUND)
    some = inside.any(axis=1)
    nu = np.where(inside, lams * theta - risk, 0.0).sum(axis=1) / np.maximum(1, inside.sum(axis=1))
    prices = (risk + nu[:, None])[some] / lams[some]
    most = prices.min(axis=0, initial=np.inf)
    lowered = theta.copy()
    room = CLEARLY_BELOW * float(np.ptp(theta[held]))
    lowered[others] = np.minimum(theta[others], most[others] - room)
    if gauge_of(problem.theta.equalities, problem.theta.values).fixed:
        moved = anchored(problem, lowered)
        # portfolios as anchors hold some of these assets; the frontier stays the same
        lowered = moved.theta if moved.dispersion > 0 else lowered
    return problem.theta.nearest(lowered)
