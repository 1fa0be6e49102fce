"""The risk score: a whole number from 1 to 99 for anything that has a volatility.

One scale for clients and portfolios, fixed once and for all: it knows a portfolio's standard
deviation a year and nothing else. So the same portfolio has the same score in every study, whoever
the other clients are and whatever the anchors; only the covariance can move it.

The scale is made of the seven classes of volatility by which European regulators sort funds (the
synthetic risk and reward indicator, CESR/10-673): every class is 14 points wide, and within a class
the score is linear in volatility. The last class ends at 40 % a year, above which all score 99.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2

from imop_engine.arguments import Vector
from imop_engine.errors import InvalidInput

# Between classes 1 and 2, 2 and 3 and so on: standard deviation a year.
CLASS_EDGES: Final = (0.005, 0.02, 0.05, 0.10, 0.15, 0.25)
HIGHEST: Final = 0.40
LEAST_SCORE: Final = 1.0
MOST_SCORE: Final = 99.0
_VOLATILITIES: Final = np.array([0.0, *CLASS_EDGES, HIGHEST])
_SCORES: Final = np.linspace(LEAST_SCORE, MOST_SCORE, len(_VOLATILITIES))


def risk_score(volatility: ArrayLike) -> Vector:
    """The score of each volatility, 1 to 99, unrounded; NaN where there is no volatility.

    >>> risk_score([0.0, 0.05, 0.10, 0.16, 0.60]).round(1).tolist()
    [1.0, 43.0, 57.0, 72.4, 99.0]
    """
    values = np.asarray(volatility, dtype=float)
    if np.any(values < 0.0):
        raise InvalidInput(
            f"a volatility is {float(np.nanmin(values)):g}; give standard deviations a year, 0.1 "
            "say."
        )
    result: Vector = np.interp(values, _VOLATILITIES, _SCORES)
    return result


def volatility_of(score: ArrayLike) -> Vector:
    """The standard deviation a year that has this score: the inverse of `risk_score`.

    >>> volatility_of([43.0, 57.0, 99.0]).round(4).tolist()
    [0.05, 0.1, 0.4]
    """
    values = np.asarray(score, dtype=float)
    if np.any((values < LEAST_SCORE) | (values > MOST_SCORE)):
        raise InvalidInput(f"a score lies between 1 and 99; got {score!r}.")
    result: Vector = np.interp(values, _SCORES, _VOLATILITIES)
    return result


def risk_class(volatility: ArrayLike) -> NDArray[np.int64]:
    """The regulators' class of each volatility, 1 to 7.

    >>> risk_class([0.001, 0.005, 0.12, 0.30]).tolist()
    [1, 2, 5, 7]
    """
    values = np.asarray(volatility, dtype=float)
    return np.asarray(np.searchsorted(CLASS_EDGES, values, side="right") + 1, np.int64)


def volatility_interval(
    volatility: ArrayLike, periods: float | None, level: float
) -> tuple[Vector, Vector]:
    """Where the true volatility lies if the estimate rests on so many periods.

    A fixed portfolio's variance from T periods of normal returns is the true one times a chi-square
    with T - 1 degrees of freedom over T - 1; the interval inverts that.

    Args:
        volatility: Estimated standard deviations a year.
        periods: Of the history behind the covariance; None: it is taken as known.
        level: Confidence, between 0 and 1.

    Returns:
        Lower and upper ends; both the estimate itself where the covariance is taken as known.
    """
    values = np.asarray(volatility, dtype=float)
    if periods is None:
        return values.copy(), values.copy()
    degrees = max(float(periods) - 1.0, 1.0)
    low, high = chi2.ppf([0.5 + level / 2, 0.5 - level / 2], degrees)
    return values * np.sqrt(degrees / low), values * np.sqrt(degrees / high)
