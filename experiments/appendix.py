"""The appendix's example: min {x'x − 2θ_1'x, x'x − 2θ_2'x} over 0 <= x <= 10."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

import imop_engine as imop
from imop_experiments.paper import Array


def problem(n: int, bounds: tuple[ArrayLike, ArrayLike] = (0.0, 10.0)) -> imop.Problem:
    """The example with n variables; θ = (θ_1, θ_2) has 2 n entries within `bounds`."""
    return imop.affine_problem(
        Q=[2.0 * np.eye(n)] * 2,
        linear0=np.zeros((2, n)),
        linear=-2.0 * np.eye(2 * n).reshape(2, n, 2 * n),
        A=np.zeros((0, n)),
        rhs0=[],
        rhs=np.zeros((0, 2 * n)),
        bounds=bounds,
        upper=10.0,
    )


def nearest(theta: Array, y: Array) -> Array:
    """The efficient decision nearest to y: X_E is the straight line from θ_1 to θ_2."""
    one, two = np.split(np.asarray(theta, dtype=float), 2)
    along = two - one
    length = float(along @ along)
    step = float(np.clip((y - one) @ along / length, 0.0, 1.0)) if length > 0 else 0.0
    result: Array = one + step * along
    return result


def loss(theta: Array, y: Array) -> float:
    """l(y, θ), in closed form.

    >>> loss(np.array([3.0, 5.0]), np.array([7.0]))
    4.0
    """
    return float(np.sum((y - nearest(theta, y)) ** 2))
