"""Expected returns and covariance from a return history, annualised, with every rule stated.

Annualisation: per-period means and covariances times the number of periods in a year (geometric
means are compounded). Where returns are missing, means and covariances are those of the greatest
likelihood given all returns there are ("likelihood", see `missing_returns`). Two older rules stay:
a mean uses every return its asset has, and a covariance the periods in which both assets have one
("pairwise"); or both use only periods in which all assets have one ("complete").
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from imop_engine import gate
from imop_engine.errors import InvalidInput
from imop_engine.estimators import (
    FEWEST_PERIODS,
    bayes_stein,
    constant_correlation,
    decay,
    is_positive_definite,
    nearest_positive_definite,
    pairwise_covariance,
    weighted_covariance,
)
from imop_engine.missing_returns import LikelihoodFit, fit_missing
from imop_engine.sentences import market as say
from imop_engine.sentences.market import PYTHON, HistoryWords

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

MEANS: Final = ("arithmetic", "geometric", "exponential", "shrunk")
COVARIANCES: Final = ("sample", "ledoit-wolf", "oas", "exponential", "constant-correlation")
LIKELIHOOD: Final = "likelihood"
GAPS: Final = (LIKELIHOOD, "pairwise", "complete")
# Estimators that need a full table of periods by assets.
NEED_COMPLETE: Final = ("ledoit-wolf", "oas")

# Weights of the exponential estimators halve every three years unless said otherwise.
HALF_LIFE_YEARS: Final = 3.0
# A million times the investment in one period; beyond it squares overflow sooner or later.
LARGEST_RETURN: Final = 1e6
# A covariance given as a table is symmetric up to the rounding of its digits.
SYMMETRY: Final = 1e-6


@dataclass(frozen=True, eq=False)
class Moments:
    """Expected returns and covariance per year, how they were made, and what they rest on.

    `periods_known` is the number of returns of each asset. `mean_covariance` is the covariance of
    the estimated means, per year and before any shrinking: the covariance over the number of years
    where no return is missing. Both are None where moments were given without a history.
    """

    expected_returns: pd.Series[Any]
    covariance: pd.DataFrame
    mean: str
    covariance_method: str
    periods_per_year: int
    notes: tuple[str, ...]
    repaired: bool = False
    periods_known: pd.Series[Any] | None = None
    mean_covariance: pd.DataFrame | None = None

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


@gate.public("imop_engine.moments")
def estimate_moments(
    returns: pd.DataFrame,
    mean: str = "arithmetic",
    covariance: str = "sample",
    periods_per_year: int = 12,
    *,
    gaps: str = LIKELIHOOD,
    half_life: float | None = None,
    repair: bool = False,
    words: HistoryWords = PYTHON,
) -> Moments:
    """Estimate yearly expected returns and covariance from returns per period.

    `mean` is "arithmetic", "geometric", "exponential" (recent periods count more) or "shrunk"
    (Jorion's Bayes-Stein estimate, towards the return of the minimum-variance portfolio).
    `covariance` is "sample", "ledoit-wolf", "oas", "exponential" or "constant-correlation".
    `half_life` of the exponential ones is in periods; three years unless given. `repair=True`
    replaces a covariance that is not positive definite by the nearest one that is, and says by how
    much it moved; without it the matrix is left alone and a note says so.

    Args:
        returns: One row for each period and a column for each asset, in fractions (0.01 is 1%).
        mean: How expected returns are estimated.
        covariance: How the covariance is estimated.
        periods_per_year: 12 for months, 252 for trading days.
        gaps: Where returns are missing: likelihood (of all returns there are, always positive
            definite), pairwise (each covariance from the periods that both assets have) or
            complete (only periods in which every asset has a return).
        half_life: In periods, of the exponential estimators.
        repair: Whether to replace a covariance that is not positive definite.
        words: What the choices are called where errors and notes are read.

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
    asked = _Asked(mean, covariance, gaps, _half_life(half_life, periods_per_year), words)
    known = np.isfinite(values)
    likely = gaps == LIKELIHOOD and not known[known.any(axis=1)].all()
    estimate = _likely if likely else _direct
    center, matrix, error, notes = estimate(returns, values, asked, periods_per_year)
    names = [str(name) for name in returns.columns]
    notes.append(say.annualised(covariance, periods_per_year, likely))

    def table(numbers: FloatArray) -> pd.DataFrame:
        return pd.DataFrame(numbers, index=names, columns=names)

    moments = Moments(
        expected_returns=pd.Series(center, index=names, name="expected_return"),
        covariance=table(matrix * periods_per_year),
        mean=mean,
        covariance_method=covariance,
        periods_per_year=periods_per_year,
        notes=tuple(note for note in notes if note),
        periods_known=pd.Series(known.sum(axis=0), index=names, name="periods"),
        mean_covariance=table(error * periods_per_year**2),
    )
    return repair_definiteness(moments, repair=repair, words=words)


class _Asked(NamedTuple):
    mean: str
    covariance: str
    gaps: str
    life: float
    words: HistoryWords

    def weights(self, method: str, count: int) -> FloatArray:
        """How much each of so many periods counts in a mean or covariance of that name."""
        return decay(count, self.life) if method == "exponential" else np.ones(count)


_Estimated = tuple[FloatArray, FloatArray, FloatArray, list[str]]


def _direct(returns: pd.DataFrame, values: FloatArray, asked: _Asked, periods: int) -> _Estimated:
    """Yearly means, covariance and the means' covariance per period, from what is there."""
    notes = [_gap_note(returns, values, asked)]
    used = _used(values, asked)
    names = [str(name) for name in returns.columns]
    matrix = _no_holes(_covariance(used, asked, notes), names, asked.words)
    seen = used if asked.gaps == "complete" else values
    known, weights = np.isfinite(seen), asked.weights(asked.mean, len(seen))
    total = weights @ known
    error = matrix * ((weights**2 * known.T) @ known) / np.outer(total, total)
    plain = np.nanmean(seen, axis=0)
    if asked.mean == "exponential":
        counted = weights[:, None] * known
        plain = (counted * np.nan_to_num(seen)).sum(axis=0) / counted.sum(axis=0)
    center, how = _yearly(plain, seen, matrix, asked, periods)
    return center, matrix, error, [*notes, how]


def _likely(returns: pd.DataFrame, values: FloatArray, asked: _Asked, periods: int) -> _Estimated:
    """The same by the likelihood of all returns there are."""
    count = len(values)
    fit = fit_missing(values, asked.weights(asked.mean, count))
    other = fit
    if (asked.mean == "exponential") != (asked.covariance == "exponential"):
        other = fit_missing(values, asked.weights(asked.covariance, count))
    notes = [_likelihood_note(returns, values, other)]
    names = [str(name) for name in returns.columns]
    if other.constant.any():
        notes.append(say.constant([n for n, c in zip(names, other.constant, strict=True) if c]))
    matrix = other.covariance
    if asked.covariance in NEED_COMPLETE:
        matrix = _shrunk_likelihood(values, matrix, asked, notes)
    elif asked.covariance == "constant-correlation":
        matrix = constant_correlation(matrix)
    elif asked.covariance == "exponential":
        notes.append(say.exponential(asked.life))
    center, how = _yearly(fit.mean, values, matrix, asked, periods)
    return center, matrix, fit.mean_covariance, [*notes, how]


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


def _used(values: FloatArray, asked: _Asked) -> FloatArray:
    if asked.gaps != "complete" and asked.covariance not in NEED_COMPLETE:
        return values
    complete = values[np.isfinite(values).all(axis=1)]
    _require_complete(len(complete), asked)
    return complete


def _require_complete(count: int, asked: _Asked) -> None:
    if count < FEWEST_PERIODS:
        words = asked.words
        other = words.all_periods if asked.covariance not in NEED_COMPLETE else words.sample
        raise InvalidInput(
            f"Only {count} periods have a return for every asset; leave out the assets with short "
            f"histories, or use {other}."
        )


def _gap_note(returns: pd.DataFrame, values: FloatArray, asked: _Asked) -> str:
    known = np.isfinite(values)
    if known.all():
        return ""
    every = asked.gaps == "complete" or asked.covariance in NEED_COMPLETE
    complete = int(known.all(axis=1).sum()) if every else None
    short = [(name, count) for name, count, _ in _short(returns, known)]
    return say.gaps(len(values), short, complete, same_means=asked.gaps == "complete")


def _likelihood_note(returns: pd.DataFrame, values: FloatArray, fit: LikelihoodFit) -> str:
    known = np.isfinite(values)
    apart = [
        (str(returns.columns[i]), str(returns.columns[j]))
        for i, j in np.argwhere(np.triu(known.astype(int).T @ known.astype(int) == 0))
    ]
    short = _short(returns, known)
    return say.likelihood(len(values), short, fit.extra_periods, apart, settled=fit.settled)


def _short(returns: pd.DataFrame, known: BoolArray) -> list[tuple[str, int, str]]:
    """Assets with fewer periods: name, number, and the month in which they begin if they do."""
    found = []
    for j, (name, count) in enumerate(zip(returns.columns, known.sum(axis=0), strict=True)):
        if count < len(known):
            first = int(known[:, j].argmax())
            dated = first > 0 and isinstance(returns.index, pd.DatetimeIndex)
            begins = f"{returns.index[first]:%B %Y}" if dated else ""
            found.append((str(name), int(count), begins))
    return found


def _yearly(
    plain: FloatArray, values: FloatArray, matrix: FloatArray, asked: _Asked, periods: int
) -> tuple[FloatArray, str]:
    """Return the yearly means and the sentence that says how they were annualised.

    `plain` are the means per period.
    """
    if asked.mean == "geometric":
        known = np.isfinite(values)
        with np.errstate(divide="ignore"):
            logs = np.where(known, np.log1p(np.maximum(np.where(known, values, 0.0), -1.0)), 0.0)
        # What the likelihood adds to an asset's own mean it adds to its growth; else nothing.
        growth = logs.sum(axis=0) / known.sum(axis=0) + (plain - np.nanmean(values, axis=0))
        return np.expm1(growth * periods), say.compounded_means(periods)
    if asked.mean == "exponential":
        return plain * periods, say.exponential_means(asked.life, periods)
    if asked.mean == "arithmetic":
        return plain * periods, say.arithmetic_means(periods)
    fewest = int(np.isfinite(values).sum(axis=0).min())
    center, share = bayes_stein(plain, matrix, fewest, asked.words)
    return center * periods, say.shrunk_means(share, periods)


def _covariance(values: FloatArray, asked: _Asked, notes: list[str]) -> FloatArray:
    """Return the covariance per period."""
    if asked.covariance in NEED_COMPLETE:
        matrix, share = _shrunk(values, asked.covariance)
        notes.append(say.shrunk(share))
        return matrix
    if asked.covariance == "exponential":
        notes.append(say.exponential(asked.life))
        return weighted_covariance(values, decay(len(values), asked.life))
    matrix = pairwise_covariance(values)
    return matrix if asked.covariance == "sample" else constant_correlation(matrix)


def _shrunk(values: FloatArray, method: str) -> tuple[FloatArray, float]:
    from sklearn.covariance import OAS, LedoitWolf

    fitted = (LedoitWolf() if method == "ledoit-wolf" else OAS()).fit(values)
    return np.asarray(fitted.covariance_, dtype=np.float64), float(fitted.shrinkage_)


def _shrunk_likelihood(
    values: FloatArray, matrix: FloatArray, asked: _Asked, notes: list[str]
) -> FloatArray:
    """Shrink the likelihood's covariance towards equal variances.

    The estimator finds its share s on the complete periods, which is the strength of
    T s / (1 - s) periods; against all periods these count for less.
    """
    complete = values[np.isfinite(values).all(axis=1)]
    _require_complete(len(complete), asked)
    _, share = _shrunk(complete, asked.covariance)
    if share < 1:
        strength = len(complete) * share / (1 - share)
        share = strength / (strength + float(np.isfinite(values).sum(axis=0).mean()))
    notes.append(say.shrunk(share))
    equal = np.eye(len(matrix)) * np.trace(matrix) / len(matrix)
    mixed: FloatArray = (1 - share) * matrix + share * equal
    return mixed


def _no_holes(matrix: FloatArray, names: list[str], words: HistoryWords) -> FloatArray:
    holes = np.argwhere(~np.isfinite(matrix))
    if len(holes):
        i, j = holes[0]
        raise InvalidInput(
            f"{names[i]} and {names[j]} share fewer than {FEWEST_PERIODS} periods, so their "
            f"covariance is unknown; leave one of them out, or use {words.all_periods}."
        )
    return matrix


def repair_definiteness(moments: Moments, *, repair: bool, words: HistoryWords = PYTHON) -> Moments:
    """Repair the covariance if asked, and say what is so either way.

    Args:
        moments: As estimated or given.
        repair: Whether to replace a covariance that is not positive definite.
        words: What the choices are called where the note is read.
    """
    matrix = moments.covariance.to_numpy()
    if is_positive_definite(matrix):
        return moments
    smallest = moments.smallest_eigenvalue
    if not repair:
        given = moments.covariance_method == "given"
        remedies = (words.repair,) if given else (words.repair, words.shrink)
        return replace(moments, notes=(*moments.notes, say.not_definite(smallest, remedies)))
    fixed = nearest_positive_definite(matrix)
    moved = np.abs(fixed - matrix)
    i, j = np.unravel_index(int(moved.argmax()), moved.shape)
    names = list(moments.covariance.index)
    size = float(np.linalg.norm(fixed - matrix) / max(np.linalg.norm(matrix), np.finfo(float).tiny))
    note = say.repaired(smallest, size, float(moved[i, j]), (names[i], names[j]))
    frame = pd.DataFrame(fixed, index=names, columns=names)
    return replace(moments, covariance=frame, notes=(*moments.notes, note), repaired=True)
