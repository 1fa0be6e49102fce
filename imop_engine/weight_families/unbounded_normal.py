"""The normal distribution as it is: its tails outside 0..1 count in the end bins."""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.special import log_ndtr

from imop_engine.arguments import Vector
from imop_engine.weight_families import normal
from imop_engine.weight_families.base import Family


def _distribution(w: Vector, inner: Vector) -> Vector:
    result: Vector = np.exp(log_ndtr((w - inner[0]) / np.exp(inner[1])))
    return result


FAMILY: Final = Family(
    name="unbounded normal",
    label="Normal, not cut",
    parameters=("mean", "sd"),
    ranges=(normal.MEAN_RANGE, normal.LOG_SD_RANGE),
    distribution=_distribution,
    starts=normal.starts,
    outer=normal.mean_and_sd,
    inner=normal.mean_and_log_sd,
    on_unit_interval=False,
)
