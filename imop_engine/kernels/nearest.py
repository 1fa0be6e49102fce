"""The nearest points of one traced frontier to many decisions.

Measuring every piece of a frontier for every decision takes as many distances as there are pieces.
Signposts save most of them: between two posts that are a stretch of length l apart, no point is
nearer to y than half of what the distances to the posts exceed l by, so a stretch whose least
possible distance is beyond the nearest post is not looked at. What is looked at is measured as
`nearest_on_trace` does, so the result has the same digits.
"""

from typing import NamedTuple

import numpy as np

from imop_engine.compiling import borrowing, compiled, inlined
from imop_engine.kernels.critical_line import nearer_of_piece, point_at, squared_distance
from imop_engine.kernels.nouns import Floats, Integers

APART = 5  # pieces from one post to the next
FEW = 12  # pieces that are all measured: posts would cost as much
ROUNDING = 1e-9  # of a distance: a stretch this much too far away is still measured


class Signposts(NamedTuple):
    """Pieces at whose beginning a post stands, and the stretch from each to the next."""

    pieces: Integers
    lengths: Floats
    distances: Floats  # of one decision to the posts; written over


@compiled
def place_signposts(path, high):
    """Posts along a path that fills its arrays.

    Args:
        path: The frontier piece by piece.
        high: The greatest lam.
    """
    count = path.lams.size
    posts = (count + APART - 1) // APART
    pieces = np.empty(posts + 1, np.int64)
    lengths = np.zeros(posts)
    for b in range(posts):
        pieces[b] = b * APART
        for k in range(b * APART, min(count, (b + 1) * APART)):
            end = path.lams[k + 1] if k + 1 < count else max(high, path.lams[k])
            size = 0.0
            for i in range(path.ds.shape[1]):
                size += path.ds[k, i] * path.ds[k, i]
            lengths[b] += np.sqrt(size) * (end - path.lams[k])
    pieces[posts] = count
    return Signposts(pieces, lengths, np.empty(posts))


@inlined
def distance_to(x, y):
    """Distance of two portfolios, by four sums: only stretches are left out by it."""
    one = 0.0
    two = 0.0
    three = 0.0
    four = 0.0
    first = y.size - y.size % 4
    for i in range(0, first, 4):
        a = y[i] - x[i]
        b = y[i + 1] - x[i + 1]
        c = y[i + 2] - x[i + 2]
        d = y[i + 3] - x[i + 3]
        one += a * a
        two += b * b
        three += c * c
        four += d * d
    for i in range(first, y.size):
        a = y[i] - x[i]
        one += a * a
    return np.sqrt((one + two) + (three + four))


@borrowing
def nearest_by_posts(path, posts, y, low, high):
    """`nearest_on_trace` of a path that fills its arrays: (lam, segment, squared distance).

    Args:
        path: The frontier piece by piece.
        posts: Along the path.
        y: An observed decision.
        low: The least lam.
        high: The greatest lam.
    """
    count = path.lams.size
    best = np.inf
    best_lam = low
    best_seg = 0
    many = posts.lengths.size
    nearest = np.inf
    if count > FEW:
        for b in range(many):
            k = posts.pieces[b]
            posts.distances[b] = distance_to(path.xs[k], y)
            if low <= path.lams[k] <= high:
                nearest = min(nearest, posts.distances[b])
    for b in range(many):
        if nearest < np.inf:
            least = posts.distances[b] - posts.lengths[b]
            if b + 1 < many:
                least = 0.5 * (least + posts.distances[b + 1])
            if least > nearest + ROUNDING:
                continue
        for k in range(posts.pieces[b], posts.pieces[b + 1]):
            best, best_lam, best_seg = nearer_of_piece(
                path, count, k, y, low, high, best, best_lam, best_seg
            )
    return best_lam, best_seg, squared_distance(path, best_seg, best_lam, y)


@compiled
def project_many(path, Y, low, high, lam_out, point_out, distance_out):
    """`nearest_on_trace` for every row of Y, on a path that fills its arrays.

    Args:
        path: The frontier piece by piece.
        Y: The decisions, one in each row.
        low: The least lam.
        high: The greatest lam.
        lam_out: Receives the lam of the nearest portfolio for each row.
        point_out: Receives that portfolio.
        distance_out: Receives the distance of each row.
    """
    posts = place_signposts(path, high)
    for t in range(Y.shape[0]):
        lam, seg, distance = nearest_by_posts(path, posts, Y[t], low, high)
        lam_out[t] = lam
        distance_out[t] = np.sqrt(distance)
        point_at(path, seg, lam, point_out[t])
