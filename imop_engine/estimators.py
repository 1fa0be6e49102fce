"""Estimators of means and covariances as plain functions of arrays, per period."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from imop_engine.errors import InvalidInput
from imop_engine.sentences.market import PYTHON, HistoryWords

FloatArray = NDArray[np.float64]

FEWEST_PERIODS: Final = 2
# Smallest eigenvalue after a repair, as a share of the largest: far above the rounding of floats
# in an eigenvalue (1e-16) and far below any risk that matters.
REPAIR_FLOOR: Final = 1e-8
# Below this share of the largest eigenvalue a matrix counts as not positive definite.
DEFINITE: Final = 1e-12


def bayes_stein(
    means: FloatArray, covariance: FloatArray, periods: int, words: HistoryWords = PYTHON
) -> tuple[FloatArray, float]:
    """Shrink means towards the minimum-variance portfolio's (Jorion 1986); also return how far.

    Args:
        means: Mean return of each asset per period.
        covariance: Covariance of the returns per period.
        periods: How many periods the means come from.
        words: What the choices are called where errors are read.

    Returns:
        The shrunk means, and the fraction of the way they moved.
    """
    count = len(means)
    if periods <= count + 2:
        raise InvalidInput(
            f"Shrunk means need more periods than assets plus two; there are {periods} periods "
            f"for {count} assets. Use {words.arithmetic} or a longer history."
        )
    if not is_positive_definite(covariance):
        raise InvalidInput(f"Shrunk means need a positive definite covariance; use {words.shrink}.")
    scaled = covariance * (periods - 1) / (periods - count - 2)
    solved = np.linalg.solve(scaled, np.column_stack([np.ones(count), means]))
    target = solved[:, 1].sum() / solved[:, 0].sum()
    excess = means - target
    spread = float(excess @ np.linalg.solve(scaled, excess))
    share = (count + 2) / ((count + 2) + periods * spread)
    return (1 - share) * means + share * target, share


def decay(count: int, life: float) -> FloatArray:
    """Return weights that halve every `life` periods into the past; the last one is 1."""
    return 0.5 ** (np.arange(count - 1, -1, -1) / life)


def pairwise_covariance(values: FloatArray) -> FloatArray:
    """Return sample covariances, each from the periods that both assets have."""
    return pd.DataFrame(values).cov(min_periods=FEWEST_PERIODS).to_numpy(copy=True)


def weighted_covariance(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return weighted covariances pair by pair, corrected for the weights' effective number."""
    known = np.isfinite(values).astype(np.float64)
    filled = np.nan_to_num(values)
    w = weights[:, None] * known
    total = w.T @ known
    squares = (weights[:, None] ** 2 * known).T @ known
    with np.errstate(divide="ignore", invalid="ignore"):
        means_i = (weights[:, None] * filled).T @ known / total
        products = (weights[:, None] * filled).T @ filled / total
        # 1 - sum of squared normalised weights: the weighted form of (T - 1) / T.
        correction = 1 - squares / total**2
        matrix = (products - means_i * means_i.T) / correction
    enough = known.T @ known >= FEWEST_PERIODS
    # The two halves differ in the last digit, by the order of additions.
    return np.where(enough, (matrix + matrix.T) / 2, np.nan)


def constant_correlation(matrix: FloatArray) -> FloatArray:
    """Keep the variances and replace every correlation by their average."""
    deviations = np.sqrt(np.diag(matrix))
    count = len(matrix)
    if count == 1:
        return matrix
    scale = np.outer(deviations, deviations)
    risky = deviations > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = np.where(scale > 0, matrix / scale, np.nan)
    pairs = correlation[np.triu_indices(count, 1)]
    average = float(np.nanmean(pairs)) if np.isfinite(pairs).any() else 0.0
    result = np.asarray(average * scale)
    np.fill_diagonal(result, np.where(risky, deviations**2, 0.0))
    return result


def is_positive_definite(matrix: FloatArray) -> bool:
    """Whether the smallest eigenvalue is positive beyond the rounding of floats."""
    values = np.linalg.eigvalsh(matrix)
    return bool(values[0] > DEFINITE * max(float(values[-1]), 0.0) and values[-1] > 0)


def nearest_positive_definite(matrix: FloatArray) -> FloatArray:
    """Return the nearest matrix (least squares over all entries) with eigenvalues above a floor."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    floor = REPAIR_FLOOR * max(float(values[-1]), np.finfo(float).tiny)
    repaired = (vectors * np.maximum(values, floor)) @ vectors.T
    return np.asarray((repaired + repaired.T) / 2)
