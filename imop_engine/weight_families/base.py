"""What a distribution of weights must be able to do to be drawn, fitted and shown.

Optimisers see the inner parameters (logarithms of what must be positive), people the outer ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import InvalidInput

TINY: Final = 1e-300  # a bin that a family holds impossible: its logarithm stays finite
EDGE_OF_RANGE: Final = 1e-4  # a parameter this near to its range's end has been stopped by it
LEAST_SD: Final = 0.01  # of the weights that a fit begins from, so that nobody begins at a point


@dataclass(frozen=True)
class Shape:
    """What a simulation says of a distribution: mean and sd, or (share, mean, sd) of its parts."""

    mean: float = 0.5
    sd: float = 0.15
    parts: tuple[tuple[float, float, float], ...] = ()


@dataclass(frozen=True)
class Family:
    """A family of distributions on 0 to 1.

    Attributes:
        name: what everything but the app's menu calls it.
        label: what the app's menu calls it.
        parameters: names of the outer parameters.
        ranges: lowest and highest value of each inner parameter.
        distribution: share of investors at or below each weight, from weights and inner parameters;
            for many sets of parameters at once where each parameter is a column of them.
        starts: inner parameters to begin a fit from, of the bins' middles and shares.
        outer, inner: from inner to outer parameters, and back.
        draw: that many weights of a shape; None where the family is only fitted.
        has_mean_and_sd: whether a simulation says mean and sd.
        has_parts: whether it says parts instead.
        on_unit_interval: False where tails reach beyond 0 and 1; then it is never the best fit.
    """

    name: str
    label: str
    parameters: tuple[str, ...]
    ranges: tuple[tuple[float, float], ...]
    distribution: Callable[[Vector, Vector], Vector]
    starts: Callable[[Vector, Vector], list[list[float]]]
    outer: Callable[[Vector], Vector]
    inner: Callable[[Vector], Vector]
    draw: Callable[[Shape, int, np.random.Generator], Vector] | None = None
    has_mean_and_sd: bool = True
    has_parts: bool = False
    on_unit_interval: bool = True

    def drawn(self, shape: Shape, count: int, rng: np.random.Generator) -> Vector:
        """That many weights of a shape, which is checked first.

        Args:
            shape: What the analyst said of the distribution.
            count: How many weights.
            rng: Where random numbers come from.

        Returns:
            Weights on return, 0 to 1.
        """
        if self.draw is None:
            raise InvalidInput(f"The weight distribution {self.name!r} is fitted, never drawn.")
        spreads = [(mean, sd) for _, mean, sd in shape.parts]
        for mean, sd in [(shape.mean, shape.sd)] if self.has_mean_and_sd else spreads:
            if not 0.0 <= mean <= 1.0:
                raise InvalidInput(f"The mean weight is {mean:g}; weights lie between 0 and 1.")
            if not (sd > 0.0 and np.isfinite(sd)):
                raise InvalidInput(
                    f"The standard deviation of the weights is {sd:g}; give a positive number, or "
                    "pass an array of equal weights if every investor is to have the same one."
                )
        return self.draw(shape, count, rng)

    def cdf(self, weight: Vector, inner: Vector) -> Vector:
        """Share of investors at or below a weight."""
        return self.distribution(weight, inner)

    def bins(self, edges: Vector, inner: Vector) -> Vector:
        """Share of investors in each bin; the first and last take what lies outside 0..1."""
        below = self.distribution(edges, inner)
        below[0], below[-1] = 0.0, 1.0
        result: Vector = np.maximum(np.diff(below), TINY)
        return result

    def bins_of_many(self, edges: Vector, inner: Matrix) -> Matrix:
        """`bins` for many sets of inner parameters, one in each row; the same digits.

        Args:
            edges: Of the bins on the scale of the weights.
            inner: One row for each set.
        """
        below = self.distribution(edges[None, :], inner.T[:, :, None])
        below[:, 0], below[:, -1] = 0.0, 1.0
        result: Matrix = np.maximum(np.diff(below, axis=1), TINY)
        return result

    def free(self, inner: Vector) -> int:
        """How many parameters are inside their range."""
        inside = [
            low + EDGE_OF_RANGE < value < high - EDGE_OF_RANGE
            for value, (low, high) in zip(inner, self.ranges, strict=True)
        ]
        return sum(inside)


def moments(middles: Vector, share: Vector) -> tuple[float, float]:
    """Mean and standard deviation of weights counted in bins."""
    mean = float(middles @ share)
    return mean, max(float(np.sqrt(share @ (middles - mean) ** 2)), LEAST_SD)
