"""Every weight between 0 and 1 alike."""

from __future__ import annotations

from typing import Final

import numpy as np

from imop_engine.arguments import Vector
from imop_engine.weight_families.base import Family, Shape


def _distribution(w: Vector, inner: Vector) -> Vector:
    return np.array(w, dtype=float)


def _draw(shape: Shape, count: int, rng: np.random.Generator) -> Vector:
    return rng.uniform(0.0, 1.0, count)


FAMILY: Final = Family(
    name="uniform",
    label="Even (uniform)",
    parameters=(),
    ranges=(),
    distribution=_distribution,
    starts=lambda middles, share: [[]],
    outer=np.copy,
    inner=np.copy,
    draw=_draw,
    has_mean_and_sd=False,
)
