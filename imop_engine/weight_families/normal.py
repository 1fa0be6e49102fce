"""The normal distribution cut to 0..1; its mean and sd are those before the cut."""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from imop_engine.arguments import Vector
from imop_engine.weight_families.base import Family, Shape, moments

# On the inner scale. With sd 3 it is flat within 2 %, and means outside 0..1 give the falling and
# rising shapes.
MEAN_RANGE: Final = (-10.0, 11.0)
LOG_SD_RANGE: Final = (float(np.log(1e-3)), float(np.log(3.0)))


def truncated(w: Vector, mean: float | Vector, sd: float | Vector) -> Vector:
    """(Phi(w) - Phi(0)) / (Phi(1) - Phi(0)), in the tail where Phi is small: nothing cancels.

    Args:
        w: Weights on return, 0 to 1.
        mean: Before the cut.
        sd: Standard deviation before the cut.

    Returns:
        The share of investors at or below each weight.
    """
    sign = np.where(np.asarray(mean) > 0.5, 1.0, -1.0)
    log_a, log_b, log_w = (log_ndtr(sign * (v - mean) / sd) for v in (0.0, 1.0, w))
    top = np.maximum(log_a, log_b)
    at_a, at_b, at = (np.exp(v - top) for v in (log_a, log_b, log_w))
    result: Vector = (at - at_a) / (at_b - at_a)
    return result


def draw(shape: Shape, count: int, rng: np.random.Generator) -> Vector:
    """By the inverse of the distribution function: one uniform number per investor, so the draw of
    investor 10 does not depend on how often an earlier one would have been rejected.

    Args:
        shape: What the analyst said of the distribution.
        count: How many weights.
        rng: Where random numbers come from.

    Returns:
        Weights on return, 0 to 1.
    """
    mean, sd = shape.mean, shape.sd
    low, high = ndtr((0.0 - mean) / sd), ndtr((1.0 - mean) / sd)
    drawn = mean + sd * ndtri(rng.uniform(low, high, count))
    return np.asarray(np.clip(drawn, 0.0, 1.0), dtype=np.float64)


def starts(middles: Vector, share: Vector) -> list[list[float]]:
    """The moments of the weights, and a flat start."""
    mean, sd = moments(middles, share)
    return [[mean, float(np.log(sd))], [0.5, 0.0]]


def mean_and_sd(inner: Vector) -> Vector:
    """As people see the parameters."""
    return np.array([inner[0], np.exp(inner[1])])


def mean_and_log_sd(outer: Vector) -> Vector:
    """As optimisers see them."""
    return np.array([outer[0], np.log(outer[1])])


def _distribution(w: Vector, inner: Vector) -> Vector:
    return truncated(w, inner[0], np.exp(inner[1]))


FAMILY: Final = Family(
    name="normal",
    label="Bell-shaped (normal, cut to 0–1)",
    parameters=("mean", "sd"),
    ranges=(MEAN_RANGE, LOG_SD_RANGE),
    distribution=_distribution,
    starts=starts,
    outer=mean_and_sd,
    inner=mean_and_log_sd,
    draw=draw,
)
