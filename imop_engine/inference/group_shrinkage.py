"""Groups shrunk towards the common beliefs, as far as they are not known to differ.

Of each asset, groups' departures from the common return are taken as normal with an unknown
standard deviation, the between-group one; what a group shows is weighed against that (empirical
Bayes, random effects). With a handful of groups the deviation itself is hardly known, and a point
estimate of zero would make intervals of no width. So it is averaged over: on a grid, with a
half-normal prior as wide as returns differ between assets, which is to say hardly any.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector

GRID: Final = 60
REACH: Final = 3.0  # standard deviations of the prior that the grid covers
ZERO: Final = 1e-9


@dataclass(frozen=True, eq=False)
class Shrunk:
    """Departures of groups, shrunk.

    Args:
        departures: yearly returns, groups x n; NaN where nothing is known.
        errors: their standard errors, the same shape.
        between: standard deviation between groups that the departures show beyond chance, of each
            asset, yearly return; NaN where fewer than two groups are known.
        overall: the same of all assets, root of the mean square.
    """

    departures: Matrix
    errors: Matrix
    between: Vector
    overall: float


def shrink(
    departures: Matrix,
    covariance: Matrix,
    open_: NDArray[np.bool_],
    weights: Vector,
    width: float,
) -> Shrunk:
    """Weigh what each group shows against how much groups differ at all.

    Args:
        departures: yearly returns, groups x n, mean zero under the weights.
        covariance: of the stacked departures.
        open_: which are not determined, groups x n.
        weights: share of each group.
        width: of the prior of the between-group standard deviation, yearly return.
    """
    G, n = departures.shape
    middle, errors = np.full((G, n), np.nan), np.full((G, n), np.nan)
    excess, sizes = np.full(n, np.nan), np.full(n, np.nan)
    for j in range(n):
        some = np.flatnonzero(~open_[:, j])
        if len(some) < 2:
            continue
        at = some * n + j
        # groups of their own, seen less the mean over investors
        seen = np.eye(len(some)) - weights[some] / weights[some].sum()
        V, law = covariance[np.ix_(at, at)], seen @ seen.T
        middle[some, j], errors[some, j] = _posterior(departures[some, j], V, law, width)
        inverse = np.linalg.pinv(V, rcond=ZERO, hermitian=True)
        excess[j] = departures[some, j] @ inverse @ departures[some, j] - np.trace(inverse @ V)
        sizes[j] = np.trace(inverse @ law)
    known = np.isfinite(excess) & (sizes > 0)
    between = np.sqrt(np.maximum(excess / np.where(known, sizes, np.nan), 0.0))
    overall = float(np.sqrt(np.mean(between[known] ** 2))) if known.any() else 0.0
    return Shrunk(middle, errors, between, overall)


def _posterior(seen: Vector, V: Matrix, law: Matrix, width: float) -> tuple[Vector, Vector]:
    """Mean and standard error of the departures, averaged over the between-group deviation."""
    values, vectors = np.linalg.eigh(V)
    inside = vectors[:, values > ZERO * max(float(values.max()), np.finfo(float).tiny)]
    if not inside.size:  # nothing moves: an anchor fixes it for all groups
        return np.zeros(len(seen)), np.zeros(len(seen))
    grid = (np.arange(GRID) + 0.5) / GRID * REACH
    # finer where it matters: from errors' own size up
    sizes = width * np.sinh(4.0 * grid / REACH) / np.sinh(4.0) * REACH
    steps = np.gradient(sizes)
    logs, means, squares = [], [], []
    x, noise, prior = inside.T @ seen, inside.T @ V @ inside, inside.T @ law @ inside
    for tau in sizes:
        total = tau**2 * prior + noise
        gain = np.linalg.solve(total, tau**2 * prior).T
        mean = inside @ (gain @ x)
        left = inside @ (tau**2 * (prior - gain @ prior)) @ inside.T
        logs.append(
            -0.5 * (np.linalg.slogdet(total)[1] + x @ np.linalg.solve(total, x))
            - 0.5 * (tau / width) ** 2
        )
        means.append(mean)
        squares.append(np.maximum(np.diag(left), 0.0) + mean**2)
    share = np.exp(np.array(logs) - max(logs)) * steps
    share /= share.sum()
    middle = share @ np.array(means)
    return middle, np.sqrt(np.maximum(share @ np.array(squares) - middle**2, 0.0))
