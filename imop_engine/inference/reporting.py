"""Portfolios of which a file shows only a part: the largest holdings, or none below some size.

What is left out is not zero. Taken for zero it bends every return: with the four largest of eight
holdings the errors were ten times and more those of complete portfolios. So the file's rule is
recognised, and what it hides is completed by the estimate itself: of the points of the frontier,
each shown by the same rule, the nearest to what she reports says what she holds besides. Returns
are estimated from the completed portfolios, those are completed again, until both stay the same;
the true returns are such a point. Holdings that were completed tell nothing new of their assets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import ImopError
from imop_engine.frontier import efficient_frontier
from imop_engine.inference.bias_simulation import reporting_step
from imop_engine.inference.estimating_equations import least_investors
from imop_engine.inference.estimators import errors_in_holdings
from imop_engine.inference.fit import AT_BOUND
from imop_engine.inference.trimming import stray_limit
from imop_engine.problem import Problem

LARGEST: Final = 0.6  # of the investors hold exactly the most that anybody holds
DROPPED: Final = 0.008  # no holding below this
NEVER_BELOW: Final = 0.001  # quantile of the holdings that counts as the least
COARSE_STEP: Final = 0.01  # holdings reported in such steps have no small ones for that reason
POINTS: Final = 1000  # of the frontier, between which the nearest is interpolated
ROWS: Final = 4000  # compared with all points at a time
SEARCHED: Final = 1000  # portfolios, evenly spread, that returns and completion take turns on
MOST_TURNS: Final = 40
SAME: Final = 1e-6  # a change of the returns that no reader sees
# Turns close in by a constant share, which two of them tell; beyond this it is not a share yet.
STEADY: Final = 0.95


@dataclass(frozen=True)
class ReportingRule:
    """What of a portfolio a file shows, rescaled to the whole.

    Args:
        largest: only so many of the largest holdings; None: all.
        least: no holding below this, fractions of wealth; 0: all.
    """

    largest: int | None = None
    least: float = 0.0

    def shown(self, portfolios: Matrix) -> Matrix:
        """What a file with this rule shows of complete portfolios.

        >>> ReportingRule(largest=2).shown(np.array([[0.6, 0.2, 0.15, 0.05]])).round(2).tolist()
        [[0.75, 0.25, 0.0, 0.0]]
        >>> ReportingRule(least=0.1).shown(np.array([[0.72, 0.18, 0.06, 0.04]])).round(2).tolist()
        [[0.8, 0.2, 0.0, 0.0]]

        Args:
            portfolios: one row for each investor, fractions of wealth.
        """
        kept = portfolios
        if self.largest is not None:
            order = np.argsort(-portfolios, axis=1, kind="stable")
            kept = portfolios.copy()
            np.put_along_axis(kept, order[:, self.largest :], 0.0, axis=1)
        kept = np.where(kept < self.least, 0.0, kept)
        total = kept.sum(axis=1, keepdims=True)
        result: Matrix = np.where(total > 0.0, kept / np.where(total > 0.0, total, 1.0), portfolios)
        return result

    def most_hidden(self, reported: Matrix) -> Vector:
        """The largest holding that may be missing of each portfolio, as shares of what is shown.

        Args:
            reported: one row for each investor, fractions of wealth.
        """
        held = reported > AT_BOUND
        if self.largest is None:
            return np.full(len(reported), self.least)
        smallest = np.where(held, reported, 1.0).min(axis=1)
        # who shows fewer than the file would show has nothing else
        return np.where(held.sum(axis=1) >= self.largest, smallest, 0.0)


@dataclass(frozen=True, eq=False)
class Completed:
    """Portfolios with what the file's rule hides of them.

    Args:
        portfolios: one row for each investor, fractions of wealth.
        distances: of what is reported to what the rule would show of the nearest efficient
            portfolio.
    """

    portfolios: Matrix
    distances: Vector


def reporting_rule(Y: Matrix) -> ReportingRule | None:
    """The rule that a file seems to follow; None where portfolios look complete.

    Args:
        Y: one row for each investor, fractions of wealth.
    """
    held = (Y > AT_BOUND).sum(axis=1)
    most = int(held.max(initial=0))
    if 1 < most < Y.shape[1] and float(np.mean(held == most)) > LARGEST:
        return ReportingRule(largest=most)
    step = reporting_step(Y)
    if step is not None and step >= COARSE_STEP:
        return None
    least = least_holding(Y)
    return ReportingRule(least=least) if least > DROPPED else None


def least_holding(Y: Matrix) -> float:
    """The least holding there is, where smaller ones should be common and are not.

    Args:
        Y: one row for each investor, fractions of wealth.
    """
    positive = Y[Y > AT_BOUND]
    return float(np.quantile(positive, NEVER_BELOW)) if positive.size else 0.0


def completed(problem: Problem, Y: Matrix, theta: Vector, rule: ReportingRule) -> Completed:
    """Complete portfolios by the frontier of theta.

    Args:
        problem: a portfolio problem.
        Y: what is reported, one row for each investor, fractions of wealth.
        theta: yearly expected returns.
        rule: what the file shows.
    """
    _, points = efficient_frontier(problem, theta).sample(POINTS)
    shown = rule.shown(points)
    limit = rule.most_hidden(Y)
    whole, distances = np.empty_like(Y), np.empty(len(Y))
    for first in range(0, len(Y), ROWS):
        rows = slice(first, first + ROWS)
        y = Y[rows]
        nearest, distances[rows] = _nearest(y, points, shown)
        # a hidden holding is below what is shown, in shares of what is shown
        reported = np.where(y > AT_BOUND, nearest, 0.0).sum(axis=1)
        most = (limit[rows] * np.where(reported > 0.0, reported, 1.0))[:, None]
        hidden = np.where(y > AT_BOUND, 0.0, np.minimum(nearest, most))
        whole[rows] = y * (1.0 - hidden.sum(axis=1, keepdims=True)) + hidden
    return Completed(whole, distances)


def _nearest(y: Matrix, points: Matrix, shown: Matrix) -> tuple[Matrix, Vector]:
    """The efficient portfolio that shows nearest to y, and how near that is."""
    at = np.argmin(np.sum(shown**2, axis=1) - 2.0 * y @ shown.T, axis=1)
    left = y - shown[at]
    best, least = points[at], np.sum(left**2, axis=1)
    for step in (-1, 1):
        other = np.clip(at + step, 0, len(points) - 1)
        way = shown[other] - shown[at]
        size = np.sum(way**2, axis=1)
        share = np.sum(left * way, axis=1) / np.where(size > 0.0, size, 1.0)
        share = np.clip(share, 0.0, 1.0)[:, None]
        there = np.sum((left - share * way) ** 2, axis=1)
        nearer = there < least
        best = np.where(nearer[:, None], points[at] + share * (points[other] - points[at]), best)
        least = np.where(nearer, there, least)
    return best, np.sqrt(least)


def returns_with_hidden(problem: Problem, Y: Matrix, theta: Vector, rule: ReportingRule) -> Vector:
    """Returns that agree with portfolios completed by them, errors being in holdings.

    Args:
        problem: a portfolio problem with anchors.
        Y: what is reported, one row for each investor, fractions of wealth.
        theta: where to begin, yearly expected returns.
        rule: what the file shows.
    """
    some = Y[:: -(-len(Y) // SEARCHED)]
    least = least_investors(len(some))

    def turn(r: Vector) -> Vector:
        whole = completed(problem, some, r, rule).portfolios
        tiny = stray_limit(problem, whole, least)
        return errors_in_holdings(problem, whole, tiny, r).theta

    before, here = theta, turn(theta)
    for _ in range(MOST_TURNS // 2):
        there = turn(here)
        last, next_ = here - before, there - here
        if float(np.abs(next_).max()) <= SAME:
            return there
        share = float(next_ @ last) / max(float(last @ last), SAME**2)
        before, here = here, there
        if 0.0 < share < STEADY:
            # the rest of the way, if every turn goes that share of the one before
            ahead = problem.theta.nearest(there + share / (1.0 - share) * next_)
            try:
                after = turn(ahead)
            except (ImopError, np.linalg.LinAlgError):
                continue
            if np.abs(after - ahead).max() < np.abs(next_).max():
                before, here = ahead, after
    return here
