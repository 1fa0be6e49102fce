"""Portfolios as they would be without what the file hides, and without tilts.

Either is recognised in the portfolios themselves (reporting.py; own_tilt.py for tilts that each
investor has at all her dates, shared_tilt.py for one that all share), and returns are estimated
once more from what is left. It is taken only where the frontier then explains what was reported
clearly better, with everybody counted; else the estimate stays what it was.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import ImopError
from imop_engine.frontier import efficient_frontier
from imop_engine.gauge import gauge_of
from imop_engine.inference.estimate import Estimate
from imop_engine.inference.estimating_equations import Refined
from imop_engine.inference.estimators import HOLDINGS, IMPLIED, Fitted
from imop_engine.inference.held_assets import below_bounds, given_back, only_held
from imop_engine.inference.own_tilt import OwnTilts, own_tilts
from imop_engine.inference.reporting import (
    ReportingRule,
    completed,
    reporting_rule,
    returns_with_hidden,
)
from imop_engine.inference.shared_tilt import SharedTilt, shared_tilt
from imop_engine.inference.trimming import STRAYS, cut_loss, far_limit

BETTER: Final = 0.98  # of the squared distances, with what is hidden completed
# Departures this many times as large as what strays into unwanted assets are not errors alone; in
# clean studies the two are alike (0.95 to 1.1).
BEYOND_STRAYS: Final = 1.5
MOST_ASSETS: Final = 40  # a tilt is not sought among more: each trial fits the returns anew

EstimateAgain = Callable[[Matrix, Vector], Estimate]  # from portfolios, and returns to begin from


@dataclass(frozen=True, eq=False)
class Adjusted:
    """What the estimate rests on where that is not what the file says.

    Args:
        portfolios: one row for each investor, fractions of wealth.
        rule: what the file shows of them; None: everything.
        tilt: what everybody keeps in one asset; None: nothing.
        own: what each keeps apart from the frontier at all her dates; None: nothing.
    """

    portfolios: Matrix
    rule: ReportingRule | None = None
    tilt: SharedTilt | None = None
    own: OwnTilts | None = None


def adjusted_estimate(
    Y: Matrix,
    found: Estimate,
    again: EstimateAgain,
    known_covariance: bool,
    owners: NDArray[np.int64],
) -> tuple[Estimate, Adjusted | None]:
    """The estimate without what the file hides, or without tilts.

    Args:
        Y: one row for each investor, fractions of wealth, as reported.
        found: the estimate that takes portfolios as they are.
        again: how an estimate is made of other portfolios of the same investors.
        known_covariance: whether the covariance counts as known; the error of an estimated one
            looks like a tilt that all share, so none is sought then.
        owners: a number for each row, from zero on; the same number is the same investor.

    Returns:
        The estimate, and what it rests on; None: on the portfolios as they are.
    """
    theta = found.problem.theta
    if not gauge_of(theta.equalities, theta.values).fixed:
        return found, None
    rule = reporting_rule(Y)
    with suppress(ImopError, np.linalg.LinAlgError):
        if rule is not None:
            return _with_hidden(Y, found, again, rule)
        own = own_tilts(found.problem, Y, owners, found.theta, found.kept)
        if own is not None:
            return _without_own(found, own)
        if known_covariance and _beyond_errors(found):
            return _without_tilt(Y, found, again)
    return found, None


def _beyond_errors(found: Estimate) -> bool:
    return found.problem.n <= MOST_ASSETS and found.noise_sd > BEYOND_STRAYS * found.tiny / STRAYS


def _with_hidden(
    Y: Matrix, found: Estimate, again: EstimateAgain, rule: ReportingRule
) -> tuple[Estimate, Adjusted | None]:
    problem = found.problem
    theta = returns_with_hidden(problem, Y, _at_bounds(found, Y).theta, rule)
    whole = completed(problem, Y, theta, rule)
    before = efficient_frontier(problem, found.theta).project(Y).distances
    limit = far_limit(before)
    if cut_loss(whole.distances, limit) > BETTER * cut_loss(before, limit):
        return found, None
    after = _at_bounds(again(whole.portfolios, theta), whole.portfolios)
    return after, Adjusted(whole.portfolios, rule=rule)


def _at_bounds(found: Estimate, Y: Matrix) -> Estimate:
    """The same estimate, with returns of assets that are not held as high as portfolios allow.

    Where a file hides small holdings, an asset that nobody shows is likely held a little: the bound
    is nearer to the truth than the history.
    """
    held = found.solution.held
    if held is None or held.all():
        return found
    high = np.where(held, found.theta, found.problem.theta.upper)
    theta = below_bounds(found.problem, given_back(Y[found.kept], held), high, held)
    solution = found.solution.solution
    moved = Fitted(theta, None if solution is None else replace(solution, theta=theta), held=held)
    return replace(found, theta=theta, fitted={**found.fitted, found.way: moved})


def _without_tilt(
    Y: Matrix, found: Estimate, again: EstimateAgain
) -> tuple[Estimate, Adjusted | None]:
    tilt = shared_tilt(found.problem, Y[found.kept], found.theta)
    if tilt is None:
        return found, None
    rest = tilt.without(Y)
    return again(rest, found.theta), Adjusted(rest, tilt=tilt)


def _without_own(found: Estimate, own: OwnTilts) -> tuple[Estimate, Adjusted | None]:
    frontier = efficient_frontier(only_held(found.problem, own.held), own.theta)
    limit = far_limit(frontier.project(own.portfolios).distances)
    solution = Refined(own.theta, 0, True, 0.0)
    fitted = {**found.fitted, HOLDINGS: Fitted(own.theta, solution, held=own.held)}
    after = replace(
        found, theta=own.theta, way=HOLDINGS, limit=limit, tiny=0.0, noise_sd=own.changing_sd,
        fitted=fitted, explained={HOLDINGS: own.explained, IMPLIED: own.implied},
    )  # fmt: skip
    return after, Adjusted(own.portfolios, own=own)
