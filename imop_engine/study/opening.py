"""Where a stream begins: the returns under which its first investors leave the least on the table.

That fit is convex, so it cannot begin in a wrong valley; what spoils it is stray money. Errors in
holdings cannot go below zero, so they put a little into assets that nobody wants and make
portfolios look riskier than they are meant to be. So the fit is repeated after small holdings have
been given back to the others, as long as that brings the frontier nearer to the portfolios.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from imop_engine.arguments import Matrix, Vector
from imop_engine.efficiency_gap.fit import begin_from, fit_efficiency
from imop_engine.errors import ImopError, InvalidInput
from imop_engine.frontier import Projection, efficient_frontier
from imop_engine.gauge import gauge_of
from imop_engine.inference.anchors import with_anchors
from imop_engine.inference.fit import AT_BOUND, MAD_TO_SD, estimate_noise
from imop_engine.problem import Problem

# A smaller holding may be an error in an asset that she does not want.
STRAY: Final = 3.0  # standard deviations of the error in a holding
# ... but no more than this share of an even holding: at large errors nothing would be left.
MOST_STRAY: Final = 0.5
# Who would keep less than this of her wealth keeps all of it: she holds nothing else.
LEAST_KEPT: Final = 0.5
# Passes: first all small holdings are given back, then only those of assets that the nearest
# efficient portfolio does not hold. A pass that takes less than this share off the squared
# distances is the last.
PASSES: Final = (True, False, False, False)
ENOUGH: Final = 0.005
# With more assets the proof of a fit takes longer than the fit: it is left out.
PROVEN_ASSETS: Final = 40


def efficiency_opening(problem: Problem, decisions: Matrix, history: Vector) -> Vector:
    """Returns to begin a stream from, by the convex fit of its first portfolios.

    Args:
        problem: a portfolio problem with its anchors; where these leave the scale open, the bold
            half of the investors is taken to earn as much more than the cautious half as in the
            history.
        decisions: the first portfolios, one per row, shares of each asset.
        history: yearly returns by the history; they decide only what the portfolios leave open.

    Returns:
        Yearly expected returns within Theta.

    Raises:
        ImopError: where no fit is possible.
    """
    scaled = _with_scale(problem, decisions, history)
    theta = _fit(scaled, decisions, history)
    found = efficient_frontier(scaled, theta).project(decisions)
    for everything in PASSES:
        given = _given_back(scaled, decisions, theta, found, everything)
        try:
            trial = _fit(scaled, given, theta)
            there = efficient_frontier(scaled, trial).project(decisions)
        except ImopError:  # a frontier that cannot be traced is no place to begin
            continue
        if _loss(there) < (1.0 - ENOUGH) * _loss(found):
            theta, found = trial, there
        elif not everything:
            break
    return theta


def _fit(problem: Problem, decisions: Matrix, theta: Vector) -> Vector:
    if problem.n > PROVEN_ASSETS:
        return begin_from(problem, decisions, theta)
    return fit_efficiency(problem, decisions, theta).theta


def _with_scale(problem: Problem, decisions: Matrix, history: Vector) -> Problem:
    """The same problem with anchors from the history where those it has leave the scale open."""
    theta = problem.theta
    gauge = gauge_of(theta.equalities, theta.values)
    if gauge.scale_fixed:
        return problem
    variance = np.einsum("ij,jk,ik->i", decisions, problem.covariance, decisions)
    bold = variance > np.median(variance)
    if not bold.any():
        raise InvalidInput("all portfolios have the same risk, which leaves the scale open.")
    low, high = decisions[~bold].mean(axis=0), decisions[bold].mean(axis=0)
    earned, premium = float(low @ history), float((high - low) @ history)
    if premium <= 0.0:  # history contradicts the investors; any scale will do then
        premium = float(np.std(history)) or 1.0
    known = list(zip(theta.equalities, theta.values, strict=True))
    if gauge.shift_fixed:
        known.append((high - low, premium))
    else:
        known += [(low, earned), (high, earned + premium)]
    return with_anchors(problem, known, undetermined=True)


def _given_back(
    problem: Problem, decisions: Matrix, theta: Vector, found: Projection, everything: bool
) -> Matrix:
    """The portfolios without holdings that are probably stray money, the rest in proportion."""
    level = min(STRAY * _noise(problem, decisions, theta, found), MOST_STRAY / problem.n)
    stray = decisions < level
    if not everything:
        stray &= found.points <= AT_BOUND
    kept = np.where(stray, 0.0, decisions)
    total = kept.sum(axis=1, keepdims=True)
    result: Matrix = np.where(total > LEAST_KEPT, kept / np.maximum(total, LEAST_KEPT), decisions)
    return result


def _noise(problem: Problem, decisions: Matrix, theta: Vector, found: Projection) -> float:
    """The error in a holding, by the smaller of two estimates: a frontier that is still wrong for
    some swells the mean of squares, not the median."""
    points = found.points
    inside = np.minimum(points - problem.lower, problem.upper - points) > AT_BOUND
    sizes = np.abs(decisions - points)[inside]
    usual = MAD_TO_SD * float(np.median(sizes)) if sizes.size else 0.0
    try:
        frontier = efficient_frontier(problem, theta)
        return min(usual, estimate_noise(frontier, decisions, found).sd)
    except InvalidInput:  # too few residuals to tell
        return usual


def _loss(found: Projection) -> float:
    return float(np.sum(found.distances**2))
