"""What a set of portfolios says about the returns, to first order: the sums behind standard errors,
second-order steps and the directions nobody can see.

Between two turning points the free assets F hold x = const + lam M r_F with
M = Q_FF^-1 - Q_FF^-1 1 1' Q_FF^-1 / (1' Q_FF^-1 1). An investor there has chosen lam herself, so
only residuals across s = M r_F speak of r: with P = I - s s' / s's and A = M P her score is lam A e
and her information lam^2 A A'. At a turning point, where asset j meets its bound, the nearest
portfolio does not move with lam, and its derivative is lam (M - s (M e_j)' / s_j); A is the
transpose. Both annihilate shifts (A'1 = 0) and scales (A' r = 0) of r. So a stretch of the frontier
needs only sums over its investors, however many there are.

Residuals are taken after the money in assets that the efficient portfolio does not hold is given
back to the others in proportion. Errors in holdings cannot go below zero, so they only ever add
such money, and what it displaced would bias the returns: by up to 7 standard errors of Security 6
of the paper with 1,000 investors and an error of 0.005 in each holding.

An asset that hardly anybody holds beyond the noise can be ignored: investors who hold a trace of
it count as if they did not, and those who clearly hold it do not count. A limit that hardly anybody
is below can be taken to hold for all in the same way (binding_rows.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine import kernels
from imop_engine.arguments import Matrix, Vector
from imop_engine.frontier import Frontier, Projection
from imop_engine.inference.binding_rows import CLEAR, clear_of_rows, held_along
from imop_engine.inference.fit import AT_BOUND, AT_TURN
from imop_engine.weights import lam_of

# Of a portfolio's largest response to the returns; what moves less than that is fixed by limits.
FIXED: Final = 1e-9
ON_STRETCH: Final = -1


@dataclass(frozen=True, eq=False)
class Place:
    """A stretch of the frontier or a turning point, and the investors who are nearest to it."""

    segment: int  # whose free assets and direction count
    turning: bool
    free: NDArray[np.int64]
    direction: Vector  # s, of the free assets
    slope: Matrix  # A
    rows: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ScoreInformation:
    """Sums over investors at one value of the returns, for the estimating equations.

    Not the information of least squares (`least_squares`): small holdings that are probably noise
    are redistributed before residuals are taken, and turning points have a derivative of their own.
    """

    frontier: Frontier
    projection: Projection
    lams: Vector  # of each investor
    hessian: Matrix  # sum of lam^2 A A': the information, per unit of noise variance
    score: Vector  # sum of lam A e
    degrees: int  # independent residuals in it
    scores: Matrix  # of each investor in a row; zero where her portfolio tells nothing
    informs: NDArray[np.bool_]  # about which assets each investor's portfolio tells something
    ignored: NDArray[np.bool_]
    where: kernels.PlaceArrays
    counts: Vector | None  # how often each row counts; None: once
    along: Frontier  # the frontier, with limits taken to hold where too few are below them

    @cached_property
    def outer(self) -> Matrix:
        """Sum of squared scores."""
        times = self.scores if self.counts is None else self.scores * self.counts[:, None]
        result: Matrix = times.T @ self.scores
        return result

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """The stretches and turning points that investors are nearest to."""
        return tuple(_places(self.along, self.where, self.ignored))


def information(
    frontier: Frontier,
    decisions: Matrix,
    counts: Vector | None = None,
    projection: Projection | None = None,
    ignored: NDArray[np.bool_] | None = None,
    noise_sd: float = 0.0,
    holding: NDArray[np.bool_] | None = None,
) -> ScoreInformation:
    """Gather what `decisions` (a checked array) say at the returns of `frontier`.

    `counts` weights the rows, as a bootstrap does; `ignored` assets tell nothing, nor do those who
    hold one clear of its bound by two `noise_sd`, nor those so far below a limit in `holding`.

    Args:
        frontier: The efficient frontier at the estimated returns.
        decisions: One row for each investor: holdings, fractions of wealth that add up to 1.
        counts: How often each row counts; None counts every row once.
        projection: The nearest efficient portfolio of each investor; None finds it.
        ignored: Assets that tell nothing; None: all tell something.
        noise_sd: Standard deviation of the error in a single holding, in fractions of wealth.
        holding: Rows of the problem, the budget first, that are taken to hold for everybody; None:
            each where it does.

    Returns:
        Sums over the investors: the information, the score and the squared scores.
    """
    T, n = decisions.shape
    found = frontier.project(decisions) if projection is None else projection
    lams = lam_of(found.weights)
    none = np.zeros(n, bool) if ignored is None else ignored
    counted = np.ones(T, bool)
    if none.any():
        at = np.flatnonzero(none)
        counted = ~np.any(clear_of_bounds(frontier, found, noise_sd, at), axis=1)
    along = frontier
    if holding is not None and holding.any():
        along = held_along(frontier, holding)
        counted &= ~np.any(clear_of_rows(frontier, found.points, noise_sd)[:, holding], axis=1)
    where = _where(along, lams, none, counted)
    times = np.ones(T) if counts is None else np.ascontiguousarray(counts, dtype=np.float64)
    sums = kernels.ScoreSums(
        np.zeros((n, n)), np.zeros(n), np.zeros((T, n)), np.zeros((T, n), np.int8)
    )  # fmt: skip
    degrees = kernels.sum_scores(
        along.path,
        frontier.problem.covariance,
        frontier.problem.portfolio.rows,
        np.ascontiguousarray(frontier.theta),
        where,
        kernels.ScoredRows(times, lams, np.ascontiguousarray(decisions), found.points),
        none,
        sums,
    )
    informs = sums.informs.view(bool)
    if frontier.tight.shape[1] > 1:
        _only_moving(_places(along, where, none), sums, informs)
    return ScoreInformation(
        frontier, found, lams, sums.hessian, sums.score, int(degrees), sums.each, informs, none,
        where, counts, along,
    )  # fmt: skip


def _only_moving(
    places: Iterator[Place], sums: kernels.ScoreSums, informs: NDArray[np.bool_]
) -> None:
    """Nothing is told of assets that limits fix at all places: what is left there is rounding."""
    moves = np.zeros(informs.shape[1], bool)
    for place in places:
        size = np.linalg.norm(place.slope, axis=1)
        fixed = size <= FIXED * size.max(initial=0.0)
        informs[np.ix_(place.rows, place.free[fixed])] = False
        moves[place.free[~fixed]] = True
    sums.hessian[~moves], sums.hessian[:, ~moves] = 0.0, 0.0
    sums.score[~moves], sums.each[:, ~moves] = 0.0, 0.0


def supporters(info: ScoreInformation, noise_sd: float) -> NDArray[np.int64]:
    """How many investors inform about each asset: their nearest portfolio moves with its return,
    and holds it clear of its bounds by two standard deviations of the noise."""
    clear = clear_of_bounds(info.frontier, info.projection, noise_sd)
    result: NDArray[np.int64] = np.sum(info.informs & clear, axis=0, dtype=np.int64)
    return result


def capped_for_all(info: ScoreInformation, noise_sd: float, least: int) -> NDArray[np.bool_]:
    """Assets that some hold at the cap, up to errors, and that too few clearly hold below it.

    A fit can always put the turning point at which such an asset leaves its cap among a few
    investors, whose errors then look like information.

    Args:
        info: What the portfolios say at one estimate.
        noise_sd: Standard deviation of the error in a single holding, in fractions of wealth.
        least: How many must inform about an asset, and hold it below the cap.
    """
    caps = info.frontier.problem.upper
    if caps.min() >= 1.0:
        return np.zeros(len(caps), bool)
    below = caps - info.projection.points > max(CLEAR * noise_sd, AT_BOUND)
    few = np.sum(info.informs & below, axis=0) < least
    result: NDArray[np.bool_] = few & np.any(~below, axis=0) & (caps > 0.0)
    return result


def clear_of_bounds(
    frontier: Frontier,
    found: Projection,
    noise_sd: float,
    assets: NDArray[np.int64] | None = None,
) -> NDArray[np.bool_]:
    """Which fitted holdings lie clear of their bounds by two standard deviations of the noise.

    Args:
        frontier: The efficient frontier at the estimated returns.
        found: The nearest efficient portfolio of each investor.
        noise_sd: Standard deviation of the error in a single holding, in fractions of wealth.
        assets: Numbers of the assets that are asked for; None: all.

    Returns:
        One row for each investor, one column for each asset.
    """
    points, low, high = found.points, frontier.problem.lower, frontier.problem.upper
    if assets is not None:
        points, low, high = points[:, assets], low[assets], high[assets]
    room = np.minimum(points - low, high - points)
    result: NDArray[np.bool_] = room > max(CLEAR * noise_sd, AT_BOUND)
    return result


def residuals(frontier: Frontier, decisions: Matrix, found: Projection, place: Place) -> Matrix:
    """Held minus explained, of the free assets.

    What is held of other assets is first given to the free ones, in proportion to their holdings.

    Args:
        frontier: The efficient frontier at the estimated returns.
        decisions: One row for each investor: holdings, fractions of wealth that add up to 1.
        found: The nearest efficient portfolio of each investor.
        place: A stretch of the frontier or a turning point, with the investors nearest to it.

    Returns:
        One row for each investor of the place, one column for each free asset.
    """
    problem = frontier.problem
    y = decisions[np.ix_(place.rows, place.free)]
    x = found.points[np.ix_(place.rows, place.free)]
    explained = x.sum(axis=1, keepdims=True)
    held = y.sum(axis=1, keepdims=True)
    # who holds none of what she should hold is an outlier, and her money has no proportion
    scale = np.where(held > explained / problem.n, explained / np.where(held > 0, held, 1.0), 1.0)
    result: Matrix = scale * y - x
    return result


def tangent_matrix(covariance: Matrix, free: NDArray[np.int64]) -> Matrix:
    """M: how the free assets' holdings move with lam times their returns."""
    inverse = np.linalg.inv(covariance[np.ix_(free, free)])
    ones = inverse.sum(axis=1)
    result: Matrix = inverse - np.outer(ones, ones) / ones.sum()
    return (result + result.T) / 2.0


def _where(
    frontier: Frontier, lams: Vector, ignored: NDArray[np.bool_], counted: NDArray[np.bool_]
) -> kernels.PlaceArrays:
    """On which stretch or at which turning point each investor who counts is nearest."""
    turns = frontier.lams
    last = len(turns) - 1
    at = np.clip(np.searchsorted(turns, lams, side="right") - 1, 0, last)
    after = np.minimum(at + 1, last)
    room = AT_TURN * (1.0 + lams)
    reached = np.abs(lams - turns[after]) <= room
    turning = reached | (np.abs(lams - turns[at]) <= room) | (at == last)
    number = np.where(turning, 2 * np.where(reached, after, at) + 1, 2 * at)
    number = np.where(counted & (number != 1), number, -1)  # the first turning point is no corner
    order = np.argsort(number, kind="stable")
    numbers, first = np.unique(number[order], return_index=True)
    edges = np.append(first, len(order))
    if numbers.size and numbers[0] < 0:
        numbers, edges = numbers[1:], edges[1:]
    found = [_corner(frontier, k // 2, ignored) if k % 2 else (k // 2, ON_STRETCH) for k in numbers]
    segment, corner = np.array(found, dtype=np.int64).reshape(-1, 2).T
    return kernels.PlaceArrays(
        np.ascontiguousarray(segment), np.ascontiguousarray(corner), edges.astype(np.int64),
        order.astype(np.int64),
    )  # fmt: skip


def _corner(frontier: Frontier, k: int, ignored: NDArray[np.bool_]) -> tuple[int, int]:
    """The segment on which the asset that meets its bound at a turning point is free, and the
    asset; where several do at once there is no derivative. A row that begins to hold is told by its
    number, counted on from the assets."""
    before = int(np.searchsorted(frontier.lams, frontier.lams[k], side="left")) - 1
    past = int(np.searchsorted(frontier.lams, frontier.lams[k], side="right")) - 1
    if before < 0:
        return k, kernels.NO_DERIVATIVE
    first, second = (
        np.append(frontier.states[i] == kernels.FREE, frontier.tight[i] == 0)
        for i in (before, past)
    )
    counts = np.append(~ignored, np.ones(frontier.tight.shape[1], bool))
    changed = np.flatnonzero((first != second) & counts)
    if changed.size == 0:
        return before, ON_STRETCH
    j = int(changed[0])
    return (before if first[j] else past), (j if changed.size == 1 else kernels.NO_DERIVATIVE)


def _places(
    frontier: Frontier, where: kernels.PlaceArrays, ignored: NDArray[np.bool_]
) -> Iterator[Place]:
    theta, Q = np.ascontiguousarray(frontier.theta), frontier.problem.covariance
    for p, (k, corner) in enumerate(zip(where.segment, where.corner, strict=True)):
        state = frontier.states[k] == kernels.FREE
        free = np.flatnonzero(state & ~ignored)
        if corner == kernels.NO_DERIVATIVE:
            continue
        there = kernels.PlaceOfFrontier(frontier.directions[k], frontier.tight[k], int(corner))
        A, s, known, _ = kernels.slope_at(
            Q, theta, there, free, bool(np.any(state & ignored)), frontier.problem.portfolio.rows
        )
        if known:
            rows = where.rows[where.first[p] : where.first[p + 1]]
            yield Place(int(k), bool(corner >= 0), free, s, A, rows)
