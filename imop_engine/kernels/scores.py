"""Sums of investors' scores over the places of a traced frontier; the mathematics is in
`inference.information`.

Letters are those there: F the free assets of a place, M their response to lam times their returns,
s its direction, A the slope of the nearest portfolio, across what an investor chose herself.
"""

from typing import Any, NamedTuple

import numpy as np

from imop_engine.compiling import compiled
from imop_engine.kernels.constants import FREE
from imop_engine.kernels.nouns import Cases, Floats, Integers
from imop_engine.kernels.products import dot
from imop_engine.kernels.tight_rows import row_response, take_rows_out

STILL = 1e-9  # an asset that moves less than this share of the fastest fixes no turning point

NO_DERIVATIVE = -2


class PlaceArrays(NamedTuple):
    """Places one after another; the rows of place p are rows[first[p]:first[p + 1]]."""

    segment: Integers
    # the asset that meets its bound, or the number of assets plus that of the row that begins to
    # hold; -1: on a stretch; -2: no derivative
    corner: Integers
    first: Integers
    rows: Integers


class PlaceOfFrontier(NamedTuple):
    """One place: how the frontier moves with lam there, which rows hold, and its corner."""

    direction: Floats
    tight: Cases
    corner: Any  # int


class ScoredRows(NamedTuple):
    """Investors: how often each counts, her lam, what she holds and the nearest efficient
    portfolio."""

    counts: Floats
    lams: Floats
    Y: Floats
    points: Floats


class ScoreSums(NamedTuple):
    """Receives the sums, the score of each row, and which assets each row informs about."""

    hessian: Floats
    score: Floats
    each: Floats
    informs: Cases


@compiled
def slope_at(Q, theta, place, free, ignoring, rows):
    """A and s of a place; A is zero where the portfolio does not move with the returns.

    Args:
        Q: covariance.
        theta: returns.
        place: how the frontier moves with lam there, what holds, and what meets its bound.
        free: numbers of the free assets that count.
        ignoring: whether some free asset does not count, so that s is to be computed.
        rows: coefficients of all rows, the budget first.

    Returns:
        A, s, whether the place has a derivative at all, and how many independent residuals an
        investor there leaves.
    """
    direction, corner = place.direction, place.corner
    m = free.size
    A = np.zeros((m, m))
    s = np.zeros(m)
    moving = False
    for i in range(direction.size):
        moving = moving or direction[i] != 0.0
    if m == 0 or not moving:
        return A, s, False, 0
    block = np.empty((m, m))
    for a in range(m):
        for b in range(m):
            block[a, b] = Q[free[a], free[b]]
    inverse = np.linalg.inv(block)
    ones = np.zeros(m)
    for a in range(m):
        for b in range(m):
            ones[a] += inverse[a, b]
    total = ones.sum()
    for a in range(m):
        for b in range(m):
            block[a, b] = 0.5 * (inverse[a, b] + inverse[b, a]) - ones[a] * ones[b] / total
    taken = take_rows_out(block, free, m, rows, place.tight) if place.tight.size > 1 else 0
    meets = np.zeros(m)  # how what meets its bound responds, and how fast it moves
    speed = 0.0
    length = 0.0
    fastest = 0.0
    for a in range(m):
        if ignoring:
            for b in range(m):
                s[a] += block[a, b] * theta[free[b]]
        else:
            s[a] = direction[free[a]]
        length += s[a] * s[a]
        fastest = max(fastest, abs(s[a]))
        if free[a] == corner:
            speed = s[a]
            for b in range(m):
                meets[b] = block[b, a]
    if corner >= direction.size:
        row = rows[corner - direction.size]
        row_response(block, free, m, row, meets)
        for a in range(m):
            speed += row[free[a]] * s[a]
    if length == 0.0 or (corner >= 0 and abs(speed) <= STILL * fastest):
        return A, s, False, 0
    left = m - taken - 2
    if left < 1:  # two assets, or a corner of what is allowed: no residual is left
        return A, s, True, 0
    for a in range(m):
        along = meets[a] / speed if corner >= 0 else 0.0
        if corner < 0:
            for b in range(m):
                along += block[a, b] * s[b] / length
        for b in range(m):
            A[a, b] = block[a, b] - along * s[b]
    return A, s, True, left


@compiled
def add_scores(A, free, left, rows, people, out):
    """Add what the investors of one place say.

    Args:
        A: slope of the place.
        free: its free assets.
        left: independent residuals of each investor.
        rows: numbers of its investors.
        people: all investors.
        out: receives the sums.

    Returns:
        Independent residuals of all of them.
    """
    m, n = free.size, people.Y.shape[1]
    squares = 0.0
    total = 0.0
    missed, score = np.empty(m), np.empty(m)
    for t in rows:
        held = explained = 0.0
        for a in range(m):
            held += people.Y[t, free[a]]
            explained += people.points[t, free[a]]
        # who holds none of what she should hold is an outlier, and her money has no proportion
        scale = explained / held if held > explained / n else 1.0
        for a in range(m):
            missed[a] = scale * people.Y[t, free[a]] - people.points[t, free[a]]
        lam, times = people.lams[t], people.counts[t]
        squares += times * lam * lam
        total += times
        for a in range(m):
            score[a] = lam * dot(A[a], missed, m)
            out.each[t, free[a]] = score[a]
            out.informs[t, free[a]] = 1
        for a in range(m):
            out.score[free[a]] += times * score[a]
    for a in range(m):
        for b in range(a + 1):
            value = squares * dot(A[a], A[b], m)
            out.hessian[free[a], free[b]] += value
            if a != b:
                out.hessian[free[b], free[a]] += value
    return total * left


@compiled
def sum_scores(path, Q, rows, theta, places, people, ignored, out):
    """Sum over all places.

    Args:
        path: the frontier piece by piece: its directions `ds` and `states` count.
        Q: covariance.
        rows: coefficients of all rows, the budget first.
        theta: returns.
        places: where the investors are nearest to.
        people: the investors.
        ignored: assets that do not count.
        out: receives the sums.

    Returns:
        Independent residuals.
    """
    n = theta.size
    degrees = 0.0
    free = np.empty(n, np.int64)
    for p in range(places.segment.size):
        there = places.rows[places.first[p] : places.first[p + 1]]
        if there.size == 0 or places.corner[p] == NO_DERIVATIVE:
            continue
        k = places.segment[p]
        m = 0
        ignoring = False
        for i in range(n):
            if path.states[k, i] == FREE:
                if ignored[i]:
                    ignoring = True
                else:
                    free[m] = i
                    m += 1
        place = PlaceOfFrontier(path.ds[k], path.tight[k], places.corner[p])
        A, _, known, left = slope_at(Q, theta, place, free[:m], ignoring, rows)
        if known and left > 0:
            degrees += add_scores(A, free[:m], left, there, people, out)
    return degrees
