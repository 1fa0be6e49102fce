"""Bins in which weights are counted: even ones, or one around each value of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from imop_engine.arguments import Vector, vector
from imop_engine.errors import InvalidInput

LEAST_EXPECTED: Final = 5.0  # Cochran's rule for the chi-square approximation
MOST_BINS: Final = 200
SAME_WEIGHT: Final = 1e-9  # weights closer than this are one value
# Weights are read as coming from a grid when there are this many investors to each value at
# least; weights from the exact frontier are all different but for the few at turning points.
INVESTORS_PER_GRID_VALUE: Final = 2.0


def even_bins(weights: Vector) -> Vector:
    """Edges of even bins on 0 to 1: Freedman and Diaconis, and at least 2 count^(2/5)."""
    quarter, three = np.quantile(weights, [0.25, 0.75])
    width = 2.0 * float(three - quarter) / len(weights) ** (1.0 / 3.0)
    wanted = 1.0 / width if width > 0 else MOST_BINS
    bins = int(np.ceil(min(MOST_BINS, max(wanted, 2.0 * len(weights) ** 0.4))))
    return np.linspace(0.0, 1.0, bins + 1)


def bins_around(values: Vector) -> Vector:
    """Edges halfway between the values of a grid, and 0 and 1."""
    middle = (values[1:] + values[:-1]) / 2.0
    return np.concatenate([[0.0], middle, [1.0]])


def merge_bins(expected: Vector, least: float = LEAST_EXPECTED) -> NDArray[np.int64]:
    """First bin of each group of neighbours that expects `least` or more.

    >>> merge_bins(np.array([1.0, 2.0, 3.0, 9.0, 1.0])).tolist()
    [0, 3]
    """
    starts, total = [0], 0.0
    for j, value in enumerate(expected):
        if total >= least:
            starts.append(j)
            total = 0.0
        total += float(value)
    if total < least and len(starts) > 1:
        starts.pop()
    return np.array(starts, dtype=np.int64)


def without_inner(edges: Vector, plateaus: Sequence[tuple[float, float]]) -> Vector:
    """The edges that do not lie inside a plateau."""
    keep = np.ones(edges.size, bool)
    for low, high in plateaus:
        # an investor at a plateau's end sits on it to the last bits: the end belongs inside too
        keep &= ~((edges >= low - SAME_WEIGHT) & (edges <= high + SAME_WEIGHT))
    keep[[0, -1]] = True
    return edges[keep]


def grid_values(weights: Vector, grid: ArrayLike | None) -> Vector | None:
    """The values of the grid that weights come from; None where they come from none."""
    if grid is None:
        values = np.unique(weights)
        values = values[np.concatenate([[True], np.diff(values) > SAME_WEIGHT])]
        return values if values.size * INVESTORS_PER_GRID_VALUE <= len(weights) else None
    values = np.unique(vector(grid, "grid"))
    position = np.clip(np.searchsorted(values, weights), 1, max(values.size - 1, 1))
    near = np.minimum(
        np.abs(weights - values[position - 1]),
        np.abs(weights - values[np.minimum(position, values.size - 1)]),
    )
    if near.max() > SAME_WEIGHT:
        off = int(near.argmax())
        raise InvalidInput(
            f"weight {off + 1} is {weights[off]:g}, which is not on the grid; pass the grid that "
            "the weights were assigned on, or none."
        )
    return values
