"""Reading arguments: every number from outside passes here once, and wrong ones are named.

Behind these functions everyone trusts what they get.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from imop_engine.errors import Infeasible, InvalidInput

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Anchors = Mapping[Any, float] | Sequence[tuple[ArrayLike, float]]

SYMMETRY = 1e-8  # a matrix may differ from its transpose by this share of its largest entry
# Beyond these, squares leave the range in which a processor keeps all digits.
TINIEST = 1e-100
LARGEST = 1e100
NOT_PSD = 1e-8  # an eigenvalue below minus this share of the largest makes a matrix indefinite
RIDGE = 1e-9  # share of the largest eigenvalue added where a matrix has a null space


def vector(value: ArrayLike, what: str) -> Vector:
    """A list of finite numbers."""
    try:
        array = np.array(value, dtype=float, ndmin=1)
    except (TypeError, ValueError):
        raise InvalidInput(f"{what} must be numbers.") from None
    if array.ndim != 1 or not np.isfinite(array).all():
        raise InvalidInput(f"{what} must be a list of finite numbers.")
    return array


def broadcast(value: ArrayLike, n: int, what: str) -> Vector:
    """One number for all of n places, or n numbers.

    Args:
        value: One number, or n numbers.
        n: How many places there are.
        what: What the value is called in errors.

    Returns:
        A new array of n numbers.
    """
    array = np.array(value, dtype=float)
    if np.any(np.isnan(array)):
        raise InvalidInput(f"{what} contains a missing value.")
    if array.ndim == 0:
        return np.full(n, float(array))
    if array.shape != (n,):
        raise InvalidInput(f"{what} needs one number, or {n} of them; it has shape {array.shape}.")
    return array


def labels_of(names: Sequence[str] | None, n: int) -> tuple[str, ...]:
    """n different names, made up where none are given."""
    if names is None:
        return tuple(f"x{i + 1}" for i in range(n))
    labels = tuple(str(name) for name in names)
    if len(labels) != n:
        raise InvalidInput(f"there are {len(labels)} names for {n} variables.")
    twice = sorted({name for name in labels if labels.count(name) > 1})
    if twice:
        raise InvalidInput(f"names must differ; {twice[0]!r} appears more than once.")
    return labels


def psd(matrix: Any, what: str, zero: bool = False) -> Matrix:
    """A symmetric positive semidefinite matrix, lifted by a small ridge if it has a null space.

    Args:
        matrix: A square table of numbers.
        what: What the matrix is called in errors.
        zero: Accept a matrix of zeros and a null space, as of an objective that is only linear.

    Returns:
        The matrix made exactly symmetric.
    """
    try:
        Q: Matrix = np.array(matrix, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInput(f"{what} must be a table of numbers.") from None
    if Q.ndim != 2 or Q.shape[0] != Q.shape[1] or Q.shape[0] == 0:
        raise InvalidInput(f"{what} must be a square table; it has shape {Q.shape}.")
    bad = np.argwhere(~np.isfinite(Q))
    if bad.size:
        i, j = bad[0]
        raise InvalidInput(f"{what} has {Q[i, j]} in row {i + 1}, column {j + 1}.")
    size = float(np.abs(Q).max())
    if size and not TINIEST <= size <= LARGEST:
        raise InvalidInput(
            f"the largest number of {what} is {size:.3g}; products of such numbers have no digits "
            f"left. Give it in a unit in which that is between {TINIEST:g} and {LARGEST:g}."
        )
    apart = np.abs(Q - Q.T)
    if apart.max() > SYMMETRY * max(size, 1e-300):
        i, j = np.unravel_index(int(apart.argmax()), Q.shape)
        raise InvalidInput(
            f"{what} is not symmetric: entry ({i + 1}, {j + 1}) is {Q[i, j]:g} "
            f"and ({j + 1}, {i + 1}) is {Q[j, i]:g}."
        )
    Q = (Q + Q.T) / 2
    eigenvalues = np.linalg.eigvalsh(Q)
    top = float(eigenvalues[-1])
    if zero and top == 0.0 and eigenvalues[0] == 0.0:
        return Q  # an objective that is only linear
    if top <= 0 or eigenvalues[0] < -NOT_PSD * top:
        raise InvalidInput(
            f"{what} is not positive semidefinite: its least eigenvalue is {eigenvalues[0]:.3g}. "
            "Estimate it from more observations, or shrink it towards its diagonal."
        )
    if not zero and eigenvalues[0] < RIDGE * top:
        Q[np.diag_indices_from(Q)] += RIDGE * top - min(0.0, float(eigenvalues[0]))
    return Q


def anchor_rows(anchors: Anchors | None, names: tuple[str, ...]) -> tuple[Matrix, Vector]:
    """Anchors as equalities on the returns."""
    n = len(names)
    rows: list[Vector] = []
    values: list[float] = []
    items: list[tuple[Any, Any]] = []
    if anchors is not None:
        items = list(anchors.items()) if isinstance(anchors, Mapping) else list(anchors)
    for key, value in items:
        if np.ndim(key) == 0 or isinstance(key, str):
            rows.append(np.eye(n)[asset(key, names)])
        else:
            row = vector(key, "an anchor's portfolio")
            if row.size != n:
                raise InvalidInput(f"an anchor's portfolio has {row.size} entries for {n} assets.")
            if not row.any():
                raise InvalidInput("an anchor's portfolio is zero everywhere; it fixes nothing.")
            rows.append(row)
        values.append(float(vector(value, "an anchor's value")[0]))
    return independent(np.array(rows).reshape(len(rows), n), np.array(values))


def independent(rows: Matrix, values: Vector) -> tuple[Matrix, Vector]:
    """The rows that say something new; one that repeats others must agree with them."""
    kept: list[int] = []
    for i in range(len(values)):
        trial = [*kept, i]
        if np.linalg.matrix_rank(rows[trial]) == len(trial):
            kept.append(i)
            continue
        mix = np.linalg.lstsq(rows[kept].T, rows[i], rcond=None)[0]
        said = float(mix @ values[kept])
        if abs(said - values[i]) > 1e-9 * (1.0 + abs(values[i])):
            raise Infeasible(
                f"anchor {i + 1} asks for {values[i]:g} where the anchors before it already "
                f"fix {said:g}; remove one of them."
            )
    return rows[kept], values[kept]


def asset(key: Any, names: tuple[str, ...]) -> int:
    """The position of an asset given by name or number."""
    if isinstance(key, str) and key in names:
        return names.index(key)
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool) and 0 <= key < len(names):
        return int(key)
    raise InvalidInput(
        f"there is no asset {key!r} to anchor; the assets are {', '.join(names[:8])}"
        f"{', …' if len(names) > 8 else ''}."
    )
