"""Expected returns and covariance from a return history, annualised, with every rule stated.

Annualisation: per-period means and covariances times the number of periods in a year (geometric
means are compounded). Gaps: a mean uses every return its asset has; a covariance uses, for each
pair of assets, the periods in which both have one ("pairwise"), or only the periods in which all
have one ("complete"), which shrinkage needs in any case.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from imop_engine.errors import InvalidInput
from imop_engine.sentences import market as say

FloatArray = NDArray[np.float64]

MEANS: Final = ("arithmetic", "geometric", "exponential", "shrunk")
COVARIANCES: Final = ("sample", "ledoit-wolf", "oas", "exponential", "constant-correlation")
GAPS: Final = ("pairwise", "complete")
# Estimators that need a full table of periods by assets.
NEED_COMPLETE: Final = ("ledoit-wolf", "oas")

# Weights of the exponential estimators halve every three years unless said otherwise.
HALF_LIFE_YEARS: Final = 3.0
FEWEST_PERIODS: Final = 2
# A million times the investment in one period; beyond it squares overflow sooner or later.
LARGEST_RETURN: Final = 1e6
# Smallest eigenvalue after a repair, as a share of the largest: far above the rounding of floats
# in an eigenvalue (1e-16) and far below any risk that matters.
REPAIR_FLOOR: Final = 1e-8
# Below this share of the largest eigenvalue a matrix counts as not positive definite.
DEFINITE: Final = 1e-12
# A covariance given as a table is symmetric up to the rounding of its digits.
SYMMETRY: Final = 1e-6


@dataclass(frozen=True, eq=False)
class Moments:
    """Expected returns and covariance per year, and how they were made."""

    expected_returns: pd.Series[Any]
    covariance: pd.DataFrame
    mean: str
    covariance_method: str
    periods_per_year: int
    notes: tuple[str, ...]
    repaired: bool = False

    def __post_init__(self) -> None:
        names = list(self.expected_returns.index)
        if list(self.covariance.index) != names or list(self.covariance.columns) != names:
            raise InvalidInput("Expected returns and covariance must name the same assets.")

    @property
    def smallest_eigenvalue(self) -> float:
        """The smallest eigenvalue of the covariance; negative means that it is not one."""
        return float(np.linalg.eigvalsh(self.covariance.to_numpy())[0])

    @property
    def positive_definite(self) -> bool:
        """Whether every portfolio has a positive variance."""
        return is_positive_definite(self.covariance.to_numpy())


def estimate_moments(
    returns: pd.DataFrame,
    mean: str = "arithmetic",
    covariance: str = "sample",
    periods_per_year: int = 12,
    *,
    gaps: str = "pairwise",
    half_life: float | None = None,
    repair: bool = False,
) -> Moments:
    """Estimate yearly expected returns and covariance from returns per period.

    `mean` is "arithmetic", "geometric", "exponential" (recent periods count more) or "shrunk"
    (Jorion's Bayes-Stein estimate, towards the return of the minimum-variance portfolio).
    `covariance` is "sample", "ledoit-wolf", "oas", "exponential" or "constant-correlation".
    `half_life` of the exponential ones is in periods; three years unless given. `repair=True`
    replaces a covariance that is not positive definite by the nearest one that is, and says by how
    much it moved; without it the matrix is left alone and a note says so.

    Args:
        returns: One row for each period and a column for each asset, in fractions (0.01 is 1 %).
        mean: How expected returns are estimated.
        covariance: How the covariance is estimated.
        periods_per_year: 12 for months, 252 for trading days.
        gaps: Pairwise (each covariance from the periods that both assets have) or complete (only
            periods in which every asset has a return).
        half_life: In periods, of the exponential estimators.
        repair: Whether to replace a covariance that is not positive definite.

    Returns:
        Yearly expected returns and covariance, with notes that say how they were made.

    >>> history = pd.DataFrame({"A": [0.01, 0.03, -0.01], "B": [0.0, 0.02, 0.01]})
    >>> estimate_moments(history).expected_returns.round(4).to_dict()
    {'A': 0.12, 'B': 0.12}
    """
    _check_choice(mean, MEANS, "mean")
    _check_choice(covariance, COVARIANCES, "covariance")
    _check_choice(gaps, GAPS, "gaps")
    values = _checked(returns, periods_per_year)
    life = _half_life(half_life, periods_per_year)
    notes: list[str] = [_gap_note(returns, values, covariance, gaps)]
    used = _used(values, covariance, gaps)
    names = [str(name) for name in returns.columns]
    matrix = _no_holes(_covariance(used, covariance, life, notes), names)
    seen = used if gaps == "complete" else values
    center, how = _mean(seen, mean, matrix, life, periods_per_year)
    notes.append(how)
    notes.append(say.annualised(covariance, periods_per_year))
    moments = Moments(
        expected_returns=pd.Series(center, index=names, name="expected_return"),
        covariance=pd.DataFrame(matrix * periods_per_year, index=names, columns=names),
        mean=mean,
        covariance_method=covariance,
        periods_per_year=periods_per_year,
        notes=tuple(note for note in notes if note),
    )
    return repair_definiteness(moments, repair=repair)


def _check_choice(value: str, allowed: tuple[str, ...], what: str) -> None:
    if value not in allowed:
        raise InvalidInput(
            f"{what} is {value!r}; choose {', '.join(allowed[:-1])} or {allowed[-1]}."
        )


def _checked(returns: pd.DataFrame, periods_per_year: int) -> FloatArray:
    if periods_per_year < 1:
        raise InvalidInput(f"periods_per_year is {periods_per_year}; give 12 for months.")
    values = returns.to_numpy(dtype=np.float64, copy=True)
    if values.ndim != 2 or not values.shape[1]:
        raise InvalidInput("The history has no assets; give one column of returns per asset.")
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    if largest > LARGEST_RETURN:
        raise InvalidInput(
            f"The history has a return of {largest:.3g}, which no asset earns in one period; "
            "correct or remove it."
        )
    counts = np.isfinite(values).sum(axis=0)
    few = [str(name) for name, n in zip(returns.columns, counts, strict=True) if n < FEWEST_PERIODS]
    if few:
        raise InvalidInput(
            f"{few[0]} has fewer than {FEWEST_PERIODS} returns; leave it out or give it a history."
        )
    return values


def _half_life(half_life: float | None, periods_per_year: int) -> float:
    life = HALF_LIFE_YEARS * periods_per_year if half_life is None else float(half_life)
    if not life > 0 or not np.isfinite(life):
        raise InvalidInput(f"half_life is {half_life}; give a positive number of periods.")
    return life


def _used(values: FloatArray, covariance: str, gaps: str) -> FloatArray:
    if gaps == "pairwise" and covariance not in NEED_COMPLETE:
        return values
    complete = values[np.isfinite(values).all(axis=1)]
    if len(complete) < FEWEST_PERIODS:
        raise InvalidInput(
            f"Only {len(complete)} periods have a return for every asset; leave out the assets "
            "with short histories, or use the sample covariance with pairwise gaps."
        )
    return complete


def _gap_note(returns: pd.DataFrame, values: FloatArray, covariance: str, gaps: str) -> str:
    known = np.isfinite(values)
    if known.all():
        return ""
    short = [
        (str(name), int(count))
        for name, count in zip(returns.columns, known.sum(axis=0), strict=True)
        if count < len(values)
    ]
    every = gaps == "complete" or covariance in NEED_COMPLETE
    complete = int(known.all(axis=1).sum()) if every else None
    return say.gaps(len(values), short, complete, same_means=gaps == "complete")


def _mean(
    values: FloatArray, mean: str, covariance: FloatArray, life: float, periods: int
) -> tuple[FloatArray, str]:
    """Return the yearly means and the sentence that says how they were annualised."""
    if mean == "geometric":
        known = np.isfinite(values)
        with np.errstate(divide="ignore"):
            logs = np.where(known, np.log1p(np.maximum(np.where(known, values, 0.0), -1.0)), 0.0)
        growth = logs.sum(axis=0) / known.sum(axis=0)
        return np.expm1(growth * periods), say.compounded_means(periods)
    if mean == "exponential":
        weights = np.where(np.isfinite(values), _decay(len(values), life)[:, None], 0.0)
        filled = np.nan_to_num(values)
        center = (weights * filled).sum(axis=0) / weights.sum(axis=0)
        return center * periods, say.exponential_means(life, periods)
    plain = np.nanmean(values, axis=0)
    if mean == "arithmetic":
        return plain * periods, say.arithmetic_means(periods)
    center, share = bayes_stein(plain, covariance, int(np.isfinite(values).sum(axis=0).min()))
    return center * periods, say.shrunk_means(share, periods)


def bayes_stein(
    means: FloatArray, covariance: FloatArray, periods: int
) -> tuple[FloatArray, float]:
    """Shrink means towards the minimum-variance portfolio's (Jorion 1986); also return how far.

    Args:
        means: Mean return of each asset per period.
        covariance: Covariance of the returns per period.
        periods: How many periods the means come from.

    Returns:
        The shrunk means, and the fraction of the way they moved.
    """
    count = len(means)
    if periods <= count + 2:
        raise InvalidInput(
            f"Shrunk means need more periods than assets plus two; there are {periods} periods "
            f"for {count} assets. Use arithmetic means or a longer history."
        )
    if not is_positive_definite(covariance):
        raise InvalidInput(
            "Shrunk means need a positive definite covariance; choose ledoit-wolf or oas."
        )
    scaled = covariance * (periods - 1) / (periods - count - 2)
    solved = np.linalg.solve(scaled, np.column_stack([np.ones(count), means]))
    target = solved[:, 1].sum() / solved[:, 0].sum()
    excess = means - target
    spread = float(excess @ np.linalg.solve(scaled, excess))
    share = (count + 2) / ((count + 2) + periods * spread)
    return (1 - share) * means + share * target, share


def _decay(count: int, life: float) -> FloatArray:
    """Return weights that halve every `life` periods into the past; the last one is 1."""
    return 0.5 ** (np.arange(count - 1, -1, -1) / life)


def _covariance(values: FloatArray, method: str, life: float, notes: list[str]) -> FloatArray:
    """Return the covariance per period."""
    if method in NEED_COMPLETE:
        return _shrunk(values, method, notes)
    if method == "exponential":
        notes.append(say.exponential(life))
        return weighted_covariance(values, _decay(len(values), life))
    matrix = pairwise_covariance(values)
    return matrix if method == "sample" else constant_correlation(matrix)


def _shrunk(values: FloatArray, method: str, notes: list[str]) -> FloatArray:
    from sklearn.covariance import OAS, LedoitWolf

    fitted = (LedoitWolf() if method == "ledoit-wolf" else OAS()).fit(values)
    notes.append(say.shrunk(fitted.shrinkage_))
    return np.asarray(fitted.covariance_, dtype=np.float64)


def pairwise_covariance(values: FloatArray) -> FloatArray:
    """Return sample covariances, each from the periods that both assets have."""
    return pd.DataFrame(values).cov(min_periods=FEWEST_PERIODS).to_numpy(copy=True)


def _no_holes(matrix: FloatArray, names: list[str]) -> FloatArray:
    holes = np.argwhere(~np.isfinite(matrix))
    if len(holes):
        i, j = holes[0]
        raise InvalidInput(
            f"{names[i]} and {names[j]} share fewer than {FEWEST_PERIODS} periods, so their "
            "covariance is unknown; leave one of them out."
        )
    return matrix


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


def repair_definiteness(moments: Moments, *, repair: bool) -> Moments:
    """Repair the covariance if asked, and say what is so either way."""
    matrix = moments.covariance.to_numpy()
    if is_positive_definite(matrix):
        return moments
    smallest = moments.smallest_eigenvalue
    if not repair:
        return replace(moments, notes=(*moments.notes, say.not_definite(smallest)))
    fixed = nearest_positive_definite(matrix)
    moved = np.abs(fixed - matrix)
    i, j = np.unravel_index(int(moved.argmax()), moved.shape)
    names = list(moments.covariance.index)
    size = float(np.linalg.norm(fixed - matrix) / max(np.linalg.norm(matrix), np.finfo(float).tiny))
    note = say.repaired(smallest, size, float(moved[i, j]), (names[i], names[j]))
    frame = pd.DataFrame(fixed, index=names, columns=names)
    return replace(moments, covariance=frame, notes=(*moments.notes, note), repaired=True)
