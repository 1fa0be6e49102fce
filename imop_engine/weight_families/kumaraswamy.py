"""The Kumaraswamy distribution, drawn by its mean and sd and shown by its shape parameters a and b.

A share 1 - (1 - w^a)^b of the investors lies at or below w. It resembles a beta with the same shape
parameters, but both its distribution function and the inverse are plain formulas.

Root finding is imported where it is used: it takes longer to load than everything else here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from scipy.special import betaln

from imop_engine.arguments import Vector
from imop_engine.errors import InvalidInput
from imop_engine.weight_families.base import Family, Shape

# On the inner scale. Narrow spreads need a large a and then a b near mean^-a, which is huge: the
# largest number that can be written is exp(709).
LOG_A_RANGE: Final = (float(np.log(1e-6)), float(np.log(5e3)))
LOG_B_RANGE: Final = (float(np.log(1e-6)), 700.0)
LEAST_LOG_B: Final = -60.0  # with this b every weight is 1 to rounding: the search begins there
TRIED: Final = 60  # values of a among which a fit chooses its start


def _distribution(w: Vector, inner: Vector) -> Vector:
    with np.errstate(divide="ignore"):  # at w = 1 everybody lies below: exp(-inf)
        above = np.exp(inner[1]) * np.log1p(-(w ** np.exp(inner[0])))
    result: Vector = -np.expm1(above)
    return result


def _draw(shape: Shape, count: int, rng: np.random.Generator) -> Vector:
    """By the inverse of the distribution function: one uniform number per investor."""
    a, b = np.exp(_of_mean_and_sd(shape.mean, shape.sd))
    result: Vector = (-np.expm1(np.log1p(-rng.uniform(0.0, 1.0, count)) / b)) ** (1.0 / a)
    return result


def _of_mean_and_sd(mean: float, sd: float) -> Vector:
    """Inner parameters. With the mean held, the sd falls as a rises: one a belongs to an sd."""
    if not 0.0 < mean < 1.0:
        raise InvalidInput(
            f"No Kumaraswamy distribution has mean {mean:g}; give one above 0 and below 1."
        )
    low, high = LOG_A_RANGE[0], _largest_log_a(mean)
    widest, narrowest = _sd(low, mean), _sd(high, mean)
    if not narrowest < sd < widest:
        raise InvalidInput(
            f"No Kumaraswamy distribution can be drawn with mean {mean:g} and standard deviation "
            f"{sd:g}; with that mean the standard deviation must lie between {narrowest:.3g} and "
            f"{widest:.3g}."
        )
    log_a = _root(lambda trial: _sd(trial, mean) - sd, low, high)
    return np.array([log_a, _log_b(log_a, mean)])


def _largest_log_a(mean: float) -> float:
    """Where b, which is then near mean^-a, is still in its range."""
    return min(LOG_A_RANGE[1], float(np.log(0.98 * LOG_B_RANGE[1] / -np.log(mean))))


def _sd(log_a: float, mean: float) -> float:
    """Standard deviation of the distribution with this a and mean."""
    log_b = _log_b(log_a, mean)
    spread = np.expm1(_log_moment(2, log_a, log_b) - 2.0 * _log_moment(1, log_a, log_b))
    return mean * float(np.sqrt(max(spread, 0.0)))


def _log_b(log_a: float, mean: float) -> float:
    """The b that gives this mean: the larger b, the smaller the weights."""
    return _root(
        lambda trial: _log_moment(1, log_a, trial) - float(np.log(mean)),
        LEAST_LOG_B,
        LOG_B_RANGE[1],
    )


def _log_moment(order: int, log_a: float, log_b: float) -> float:
    """Logarithm of the mean of w^order."""
    return log_b + float(betaln(np.exp(log_b), 1.0 + order * np.exp(-log_a)))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    from scipy.optimize import brentq

    return float(brentq(function, low, high))


def _starts(middles: Vector, share: Vector) -> list[list[float]]:
    """For a given a the likeliest b is a formula; the likeliest pair on a grid of a."""
    a = np.exp(np.linspace(*LOG_A_RANGE, TRIED))
    above = share @ np.log1p(-(middles[:, None] ** a))
    log_b = np.clip(-np.log(np.maximum(-above, np.exp(-LOG_B_RANGE[1]))), *LOG_B_RANGE)
    likelihood = np.log(a) + log_b + (a - 1.0) * (share @ np.log(middles))
    likelihood = likelihood + (np.exp(log_b) - 1.0) * above
    best = int(np.argmax(likelihood))
    return [[float(np.log(a[best])), float(log_b[best])]]


FAMILY: Final = Family(
    name="kumaraswamy",
    label="Skewed (Kumaraswamy)",
    parameters=("a", "b"),
    ranges=(LOG_A_RANGE, LOG_B_RANGE),
    distribution=_distribution,
    starts=_starts,
    outer=np.exp,
    inner=np.log,
    draw=_draw,
)
