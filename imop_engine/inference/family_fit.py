"""Families of distributions (`weight_families`) fitted to counts of weights by maximum likelihood.

Counts, because weights come as grid values, as lumps at the turning points of a frontier, and as
exact numbers: a count treats them alike, and no likelihood can run away at a repeated value.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Vector
from imop_engine.weight_families.base import Family

STEP: Final = 1e-5  # of the central differences that give slopes; their error is near 1e-10
LEAST_GAIN: Final = 1e-13  # mean log likelihood of an investor: 1e-7 in all for a million
MOST_STEPS: Final = 500
FIRST_DAMPING: Final = 1e-3
LAST_DAMPING: Final = 1e10  # no step however small improves: this is the optimum to rounding
LEAST_DAMPING: Final = 1e-16  # after hundreds of good steps it is zero, and ten times that stays so
CURVE_FLOOR: Final = 1e-10  # keeps a parameter that says nothing (a flat normal's mean) in place


def fit_counts(
    family: Family,
    edges: Vector,
    counts: NDArray[np.int64],
    start: Vector | None = None,
    most: int = MOST_STEPS,
) -> tuple[Vector, float]:
    """Inner parameters of greatest multinomial likelihood, and the logarithm of it.

    The best of several starts; from a `start` that was best on finer bins, of two.

    Args:
        family: The family of distributions.
        edges: Of the bins on the scale of the weights, one more than there are counts.
        counts: How many weights lie in each bin.
        start: Inner parameters to begin with; None begins from several.
        most: Steps of a search.
    """
    total = float(counts.sum())
    share = counts / total
    tries = family.starts((edges[1:] + edges[:-1]) / 2.0, share)
    if start is not None:
        tries = [start.tolist(), *tries[:1]]
    best, least = np.empty(0), np.inf
    for first in tries:
        inner, loss = _scoring(family, edges, share, np.array(first, dtype=float), most)
        if loss < least:
            best, least = inner, loss
    return best, -total * least


def _scoring(
    family: Family, edges: Vector, share: Vector, inner: Vector, most: int
) -> tuple[Vector, float]:
    """Fisher scoring within the ranges: Newton's method with the expected curvature, which is
    never negative, damped until the loss falls (Levenberg and Marquardt)."""
    low = np.array([r[0] for r in family.ranges])
    high = np.array([r[1] for r in family.ranges])
    inner = np.clip(inner, low, high)
    p = family.bins(edges, inner)
    loss = _loss(share, p)
    damping = FIRST_DAMPING
    units = STEP * np.eye(inner.size)
    for _ in range(most if inner.size else 0):
        beside = family.bins_of_many(edges, np.concatenate([inner + units, inner - units]))
        up, down = beside[: inner.size], beside[inner.size :]
        slope = np.ascontiguousarray((up - down).T / (2.0 * STEP))
        gain = (share / p) @ slope
        move = ~(((inner <= low) & (gain < 0)) | ((inner >= high) & (gain > 0)))
        curve = (slope.T / p) @ slope
        before = loss
        while damping < LAST_DAMPING:
            damped = curve + damping * np.diag(np.diag(curve)) + CURVE_FLOOR * np.eye(inner.size)
            step = np.zeros(inner.size)
            step[move] = np.linalg.solve(damped[np.ix_(move, move)], gain[move])
            trial = np.clip(inner + step, low, high)
            p_trial = family.bins(edges, trial)
            trial_loss = _loss(share, p_trial)
            if trial_loss <= loss:
                inner, p, loss = trial, p_trial, trial_loss
                damping = damping / 10.0
                break
            damping = max(damping * 10.0, LEAST_DAMPING)
        if before - loss <= LEAST_GAIN or damping >= LAST_DAMPING:
            break
    return inner, loss


def _loss(share: Vector, p: Vector) -> float:
    """Minus the mean log likelihood of an investor."""
    return -float(np.sum(share * np.log(p)))
