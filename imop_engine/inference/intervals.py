"""Intervals for the weight of each investor.

Two things blur a weight: the error in the investor's own holdings, and the error in the returns
that everybody's portfolios were explained with. Both are measured along the frontier, in units of
holdings.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from imop_engine import kernels
from imop_engine.arguments import Matrix, Vector
from imop_engine.frontier import Frontier, Projection
from imop_engine.inference.binding_rows import limited_response
from imop_engine.inference.fit import AT_BOUND, stretches_beside, tangents
from imop_engine.inference.information import tangent_matrix
from imop_engine.weights import lam_of, weight_of


@dataclass(frozen=True, eq=False)
class Spread:
    """How far along the frontier an investor may be from where she is seen.

    With u the unit direction of the frontier, an error dr in the returns moves the explaining
    portfolio by lam u'M dr along it. So the variance there is noise_sd^2 + lam^2 u'M C M u with C
    the covariance of the returns; `offset` is an error of known size (a step the estimate still
    owes, a bias), which adds lam |u'M offset| to the reach.
    """

    z: float
    noise_sd: float
    covariance: Matrix | None = None
    offsets: Matrix | None = None  # one in each row

    def reach(self, frontier: Frontier, weights: Vector, factor: Vector | float = 1.0) -> Vector:
        """z standard deviations at each weight; `factor` multiplies the noise's variance.

        Args:
            frontier: The efficient frontier at the estimated returns.
            weights: On return, 0 to 1.
            factor: Multiplies the variance of the noise, one for all or one for each weight.

        Returns:
            In fractions of wealth along the frontier.
        """
        own = self.noise_sd**2 * np.broadcast_to(factor, weights.shape)
        if self.covariance is None:
            result: Vector = self.z * np.sqrt(own)
            return result
        lean = _leanings(frontier)
        # beyond the last turning point nothing moves: the error is that of its arrival there
        lams = np.minimum(lam_of(weights), frontier.lams[-1])
        sides = stretches_beside(frontier, weights)
        spread = np.einsum("ki,ij,kj->k", lean, self.covariance, lean)
        beliefs = np.max([spread[at] for at in sides], axis=0) * lams**2
        shift = np.zeros(len(lams))
        if self.offsets is not None:
            known = np.abs(lean @ self.offsets.T).sum(axis=1)
            shift = np.max([known[at] for at in sides], axis=0) * lams
        reach: Vector = self.z * np.sqrt(own + np.maximum(beliefs, 0.0)) + shift
        return reach


def _leanings(frontier: Frontier) -> Matrix:
    """M u of every stretch, over all assets; where nothing moves, that of the stretch before."""
    lean = np.zeros_like(frontier.directions)
    for k, direction in enumerate(frontier.directions):
        free = np.flatnonzero(frontier.states[k] == kernels.FREE)
        length = float(np.linalg.norm(direction))
        if length > 0:
            if frontier.tight.shape[1] > 1:
                M, _ = limited_response(frontier, k, free)
            else:
                M = tangent_matrix(frontier.problem.covariance, free)
            lean[k, free] = M @ direction[free] / length
        elif k > 0:
            lean[k] = lean[k - 1]
    return lean


def weight_intervals(
    frontier: Frontier, Y: Matrix, found: Projection, spread: Spread
) -> tuple[Vector, Vector]:
    """Ends of each investor's interval on the weight scale.

    They cover both ways in which holdings outside the explaining portfolio may have displaced
    those inside it: by the same amount each, or in proportion.

    Args:
        frontier: The efficient frontier at the estimated returns.
        Y: The holdings of each investor in a row, fractions of wealth.
        found: The nearest efficient portfolio of each investor.
        spread: How far noise and uncertain returns reach.

    Returns:
        The lower and the upper ends, 0 to 1.
    """
    reach = spread.reach(frontier, found.weights)
    low, high = within(frontier, Y, found.distances**2 + reach**2)
    held = np.where(found.points > frontier.problem.lower + AT_BOUND, Y, 0.0)
    total = held.sum(axis=1, keepdims=True)
    scaled = np.where(total > 0, held / np.where(total > 0, total, 1.0), Y)
    second = frontier.project(scaled)
    tilts = []
    for at in stretches_beside(frontier, second.weights):
        along = tangents(frontier, at)
        length = np.linalg.norm(along, axis=1)
        across = np.sum(along * second.points, axis=1) / np.where(length > 0, length, 1.0)
        tilts.append(np.abs(across))
    tilt = np.maximum(*tilts)
    count = np.sum(second.points > frontier.problem.lower + AT_BOUND, axis=1)
    wider = spread.reach(frontier, second.weights, 1.0 + count * tilt**2) ** 2
    low2, high2 = within(frontier, scaled, second.distances**2 + wider)
    first = np.minimum(np.minimum(low, low2), found.weights)
    last = np.maximum(np.maximum(high, high2), found.weights)
    return first, last


def within(frontier: Frontier, Y: Matrix, limit: Vector) -> tuple[Vector, Vector]:
    """Least and greatest weight whose portfolio is within sqrt(limit) of each row of Y.

    Args:
        frontier: The efficient frontier at the estimated returns.
        Y: The holdings of each investor in a row, fractions of wealth.
        limit: Squared distance for each investor.

    Returns:
        The least and the greatest weights, 0 to 1.
    """
    lams = frontier.lams
    ends = np.append(lams[1:], np.inf)
    low, high = np.full(len(Y), np.inf), np.full(len(Y), -np.inf)
    for k, direction in enumerate(frontier.directions):
        apart = Y - frontier.portfolios[k]
        c0, c1 = np.sum(apart**2, axis=1) - limit, apart @ direction
        c2 = float(direction @ direction)
        # room for rounding: the nearest point itself is in, whatever the last bit says
        slack = 1e-12 * (1.0 + np.abs(c0))
        if c2 == 0.0:
            inside = c0 <= slack
            start, stop = np.full(len(Y), lams[k]), np.full(len(Y), ends[k])
        else:
            root = c1**2 - c2 * (c0 - slack)
            half = np.sqrt(np.maximum(root, 0.0))
            start = np.maximum(lams[k] + (c1 - half) / c2, lams[k])
            stop = np.minimum(lams[k] + (c1 + half) / c2, ends[k])
            inside = (root >= 0) & (start <= stop)
        low = np.where(inside, np.minimum(low, start), low)
        high = np.where(inside, np.maximum(high, stop), high)
    return weight_of(np.maximum(low, 0.0)), weight_of(np.where(high < 0, 0.0, high))
