"""Families of distributions for weights between 0 and 1, fitted to counts in cells by maximum
likelihood.

Counts, because weights come as grid values, as lumps at the turning points of a frontier, and as
exact numbers: a count treats them alike, and no likelihood can run away at a repeated value.
Optimisers see the inner parameters (logarithms of what must be positive), people the outer ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, expit, log_ndtr, logit

from imop_engine.arguments import Vector

TINY: Final = 1e-300  # a cell that a family holds impossible: its logarithm stays finite
STEP: Final = 1e-5  # of the central differences that give slopes; their error is near 1e-10
LEAST_GAIN: Final = 1e-13  # mean log likelihood of an investor: 1e-7 in all for a million
MOST_STEPS: Final = 500
FIRST_DAMPING: Final = 1e-3
LAST_DAMPING: Final = 1e10  # no step however small improves: this is the optimum to rounding
CURVE_FLOOR: Final = 1e-10  # keeps a parameter that says nothing (a flat normal's mean) in place
EDGE_OF_RANGE: Final = 1e-4  # a parameter this near to its range's end has been stopped by it

# Ranges on the inner scale. A truncated normal with sd 3 is flat within 2 %, and means outside
# 0..1 give the falling and rising shapes. A component of a mixture is a bump inside 0..1: sd at
# most 0.5, at least 0.005, or it would describe single investors.
MEAN_RANGE: Final = (-10.0, 11.0)
LOG_SD_RANGE: Final = (float(np.log(1e-3)), float(np.log(3.0)))
LOG_SHAPE_RANGE: Final = (float(np.log(0.02)), float(np.log(1e5)))
SHARE_RANGE: Final = (-4.0, 4.0)  # logit: a component holds 2 % of the investors at least
BUMP_MEAN_RANGE: Final = (0.0, 1.0)
BUMP_LOG_SD_RANGE: Final = (float(np.log(0.005)), float(np.log(0.5)))


@dataclass(frozen=True)
class Family:
    """A family: its distribution function, where to start a fit, and how to show parameters."""

    name: str
    parameters: tuple[str, ...]
    ranges: tuple[tuple[float, float], ...]
    distribution: Callable[[Vector, Vector], Vector]
    starts: Callable[[Vector, Vector], list[list[float]]]  # from cell middles and shares
    outer: Callable[[Vector], Vector]
    inner: Callable[[Vector], Vector]
    on_unit_interval: bool = True

    def cdf(self, weight: Vector, inner: Vector) -> Vector:
        """Share of investors at or below a weight."""
        return self.distribution(weight, inner)

    def cells(self, edges: Vector, inner: Vector) -> Vector:
        """Share of investors in each cell; the first and last take what lies outside 0..1."""
        below = self.distribution(edges, inner)
        below[0], below[-1] = 0.0, 1.0
        result: Vector = np.maximum(np.diff(below), TINY)
        return result

    def free(self, inner: Vector) -> int:
        """How many parameters are inside their range."""
        inside = [
            low + EDGE_OF_RANGE < value < high - EDGE_OF_RANGE
            for value, (low, high) in zip(inner, self.ranges, strict=True)
        ]
        return sum(inside)


def fit_counts(
    family: Family, edges: Vector, counts: NDArray[np.int64], start: Vector | None = None
) -> tuple[Vector, float]:
    """Inner parameters of greatest multinomial likelihood, and the logarithm of it.

    The best of several starts; from a `start` that was best on finer cells, of two.

    Args:
        family: The family of distributions.
        edges: Of the cells on the scale of the weights, one more than there are counts.
        counts: How many weights lie in each cell.
        start: Inner parameters to begin with; None begins from several.
    """
    total = float(counts.sum())
    share = counts / total
    tries = family.starts((edges[1:] + edges[:-1]) / 2.0, share)
    if start is not None:
        tries = [start.tolist(), *tries[:1]]
    best, least = np.empty(0), np.inf
    for first in tries:
        inner, loss = _scoring(family, edges, share, np.array(first, dtype=float))
        if loss < least:
            best, least = inner, loss
    return best, -total * least


def _scoring(family: Family, edges: Vector, share: Vector, inner: Vector) -> tuple[Vector, float]:
    """Fisher scoring within the ranges: Newton's method with the expected curvature, which is
    never negative, damped until the loss falls (Levenberg and Marquardt)."""
    low = np.array([r[0] for r in family.ranges])
    high = np.array([r[1] for r in family.ranges])
    inner = np.clip(inner, low, high)
    p = family.cells(edges, inner)
    loss = _loss(share, p)
    damping = FIRST_DAMPING
    for _ in range(MOST_STEPS if inner.size else 0):
        slope = np.empty((edges.size - 1, inner.size))
        for j, unit in enumerate(STEP * np.eye(inner.size)):
            up, down = family.cells(edges, inner + unit), family.cells(edges, inner - unit)
            slope[:, j] = (up - down) / (2.0 * STEP)
        gain = (share / p) @ slope
        move = ~(((inner <= low) & (gain < 0)) | ((inner >= high) & (gain > 0)))
        curve = (slope.T / p) @ slope
        before = loss
        while damping < LAST_DAMPING:
            damped = curve + damping * np.diag(np.diag(curve)) + CURVE_FLOOR * np.eye(inner.size)
            step = np.zeros(inner.size)
            step[move] = np.linalg.solve(damped[np.ix_(move, move)], gain[move])
            trial = np.clip(inner + step, low, high)
            p_trial = family.cells(edges, trial)
            trial_loss = _loss(share, p_trial)
            if trial_loss <= loss:
                inner, p, loss = trial, p_trial, trial_loss
                damping = damping / 10.0
                break
            damping = damping * 10.0
        if before - loss <= LEAST_GAIN or damping >= LAST_DAMPING:
            break
    return inner, loss


def _loss(share: Vector, p: Vector) -> float:
    """Minus the mean log likelihood of an investor."""
    return -float(np.sum(share * np.log(p)))


# -- the distributions ---------------------------------------------------------------------------
def _normal(w: Vector, inner: Vector) -> Vector:
    result: Vector = np.exp(log_ndtr((w - inner[0]) / np.exp(inner[1])))
    return result


def _truncated(w: Vector, mean: float, sd: float) -> Vector:
    """(Phi(w) - Phi(0)) / (Phi(1) - Phi(0)), in the tail where Phi is small: nothing cancels."""
    sign = 1.0 if mean > 0.5 else -1.0
    a, b, z = (sign * (v - mean) / sd for v in (0.0, 1.0, w))
    top = np.maximum(log_ndtr(a), log_ndtr(b))
    at_a, at_b, at = (np.exp(log_ndtr(v) - top) for v in (a, b, z))
    result: Vector = (at - at_a) / (at_b - at_a)
    return result


def _truncated_normal(w: Vector, inner: Vector) -> Vector:
    return _truncated(w, float(inner[0]), float(np.exp(inner[1])))


def _uniform(w: Vector, inner: Vector) -> Vector:
    return np.array(w, dtype=float)


def _beta(w: Vector, inner: Vector) -> Vector:
    result: Vector = betainc(np.exp(inner[0]), np.exp(inner[1]), w)
    return result


def _mixture(w: Vector, inner: Vector) -> Vector:
    share = float(expit(inner[0]))
    first = _truncated(w, float(inner[1]), float(np.exp(inner[2])))
    second = _truncated(w, float(inner[3]), float(np.exp(inner[4])))
    result: Vector = share * first + (1.0 - share) * second
    return result


# -- where to start ------------------------------------------------------------------------------
def _moments(w: Vector, share: Vector) -> tuple[float, float]:
    mean = float(w @ share)
    return mean, max(float(np.sqrt(share @ (w - mean) ** 2)), 0.01)


def _start_normal(w: Vector, share: Vector) -> list[list[float]]:
    mean, sd = _moments(w, share)
    return [[mean, float(np.log(sd))], [0.5, 0.0]]


def _start_beta(w: Vector, share: Vector) -> list[list[float]]:
    mean, sd = _moments(w, share)
    size = max(mean * (1.0 - mean) / sd**2 - 1.0, 0.1)
    return [[float(np.log(mean * size)), float(np.log((1.0 - mean) * size))]]


def _start_mixture(w: Vector, share: Vector) -> list[list[float]]:
    """Investors cut in two at each quartile, and a bump within a broad rest."""
    below = np.cumsum(share)
    starts = []
    for cut in (0.25, 0.5, 0.75):
        left = below <= max(cut, float(below[0]))
        if left.all():
            continue
        parts = [_moments(w[s], share[s] / share[s].sum()) for s in (left, ~left) if share[s].sum()]
        if len(parts) == 2:
            (m1, s1), (m2, s2) = parts
            first = float(logit(np.clip(share[left].sum(), 0.02, 0.98)))
            starts.append([first, m1, float(np.log(s1)), m2, float(np.log(s2))])
    mean, sd = _moments(w, share)
    starts.append([0.0, mean, float(np.log(sd / 3.0)), mean, float(np.log(sd * 1.3))])
    return starts


# -- how people see the parameters ---------------------------------------------------------------
def _mean_sd(inner: Vector) -> Vector:
    return np.array([inner[0], np.exp(inner[1])])


def _mean_log_sd(outer: Vector) -> Vector:
    return np.array([outer[0], np.log(outer[1])])


def _mixture_outer(inner: Vector) -> Vector:
    """share, mean, sd, mean, sd with the component of the lower mean first."""
    share = float(expit(inner[0]))
    first, second = _mean_sd(inner[1:3]), _mean_sd(inner[3:5])
    if first[0] > second[0]:
        share, first, second = 1.0 - share, second, first
    return np.concatenate([[share], first, second])


def _mixture_inner(outer: Vector) -> Vector:
    return np.concatenate([[logit(outer[0])], _mean_log_sd(outer[1:3]), _mean_log_sd(outer[3:5])])


_MEAN_SD: Final = ("mean", "sd")
_BUMP: Final = (BUMP_MEAN_RANGE, BUMP_LOG_SD_RANGE)

FAMILIES: Final[dict[str, Family]] = {
    family.name: family
    for family in (
        Family(
            "truncated normal", _MEAN_SD, (MEAN_RANGE, LOG_SD_RANGE), _truncated_normal,
            _start_normal, _mean_sd, _mean_log_sd,
        ),
        Family("uniform", (), (), _uniform, lambda w, share: [[]], np.copy, np.copy),
        Family(
            "beta", ("a", "b"), (LOG_SHAPE_RANGE, LOG_SHAPE_RANGE), _beta, _start_beta, np.exp,
            np.log,
        ),
        Family(
            "mixture", ("share", "mean", "sd", "second_mean", "second_sd"),
            (SHARE_RANGE, *_BUMP, *_BUMP), _mixture, _start_mixture, _mixture_outer,
            _mixture_inner,
        ),
        Family(
            "normal", _MEAN_SD, (MEAN_RANGE, LOG_SD_RANGE), _normal, _start_normal, _mean_sd,
            _mean_log_sd, on_unit_interval=False,
        ),
    )
}  # fmt: skip
