"""The beta distribution, drawn by its mean and sd and shown by its shape parameters a and b."""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.special import betainc

from imop_engine.arguments import Vector
from imop_engine.errors import InvalidInput
from imop_engine.weight_families.base import Family, Shape, moments

LOG_SHAPE_RANGE: Final = (float(np.log(0.02)), float(np.log(1e5)))


def _distribution(w: Vector, inner: Vector) -> Vector:
    result: Vector = betainc(np.exp(inner[0]), np.exp(inner[1]), w)
    return result


def _draw(shape: Shape, count: int, rng: np.random.Generator) -> Vector:
    mean, sd = shape.mean, shape.sd
    widest = float(np.sqrt(mean * (1.0 - mean)))
    if sd >= widest:
        raise InvalidInput(
            f"No beta distribution has mean {mean:g} and standard deviation {sd:g}; with that "
            f"mean the standard deviation must be below {widest:.3g}."
        )
    concentration = mean * (1.0 - mean) / sd**2 - 1.0
    return rng.beta(mean * concentration, (1.0 - mean) * concentration, count)


def _starts(middles: Vector, share: Vector) -> list[list[float]]:
    mean, sd = moments(middles, share)
    size = max(mean * (1.0 - mean) / sd**2 - 1.0, 0.1)
    return [[float(np.log(mean * size)), float(np.log((1.0 - mean) * size))]]


FAMILY: Final = Family(
    name="beta",
    label="Skewed (beta)",
    parameters=("a", "b"),
    ranges=(LOG_SHAPE_RANGE, LOG_SHAPE_RANGE),
    distribution=_distribution,
    starts=_starts,
    outer=np.exp,
    inner=np.log,
    draw=_draw,
)
