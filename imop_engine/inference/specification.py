"""Whether holdings look as the method takes them to be: what each statistic would be if they did.

Everything here looks at portfolios and at what a fitted frontier makes of them, and says in numbers
how far they are apart; `study.checks` turns the numbers into sentences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.frontier import Frontier, Projection
from imop_engine.inference.bias_simulation import (
    reporting_step,
    rounding_step,
    simulated_portfolios,
)
from imop_engine.inference.fit import AT_BOUND
from imop_engine.inference.information import CLEAR
from imop_engine.weights import lam_of

TIED: Final = 2.0  # standard deviations of the noise within which two holdings are the same
LEAST_TIED: Final = 0.002
CAPPED_BELOW: Final = 0.7  # a largest holding above this is a concentrated portfolio, not a cap
POPULAR: Final = 0.01  # half the width of the bin in which holdings pile up
WORTH: Final = 0.05  # holdings below this pile up near zero for other reasons
WORTH_A_REPLAY: Final = 0.1  # a correlation below this is no finding
REPLAYED_NOISE: Final = 0.03  # larger departures are not errors, and are not replayed as such
SMALL: Final = 0.2  # quantile of small holdings that tells where they begin


@dataclass(frozen=True)
class Specification:
    """What the portfolios look like beside the fitted frontier.

    Args:
        serial: correlation of residuals of neighbours along the frontier; 0 where they are errors.
        serial_z: the same in standard errors.
        tied: share of investors whose largest holdings are equal, beyond what is explained.
        piled: share of holdings at the most popular value, beyond what the frontier explains.
        piled_at: that value.
        most_held: the largest number of assets that anybody holds.
        at_most: share of investors who hold exactly that many.
        least_holding: a holding that hardly anybody is below without holding nothing; 0: none.
        step: the step that all holdings are reported in; None: finer than 0.0001.
        only_rounded: whether rounding to that step explains all that is left.
        own: share of the residuals' variance that is an investor's own at all her dates; NaN where
            nobody comes twice.
        uneven: relative variance of the squared distances over that of simulated investors who
            make errors of one size; 1 where all err alike.
    """

    serial: float
    serial_z: float
    tied: float
    piled: float
    piled_at: float
    most_held: int
    at_most: float
    least_holding: float
    step: float | None
    only_rounded: bool
    own: float
    uneven: float


def specification(
    frontier: Frontier,
    Y: Matrix,
    projection: Projection,
    noise_sd: float,
    clusters: NDArray[np.int64],
) -> Specification:
    """Compare portfolios with the frontier that was fitted to them.

    Args:
        frontier: at the estimated returns.
        Y: one row for each investor who takes part, fractions of wealth.
        projection: her nearest efficient portfolio.
        noise_sd: error in a single holding.
        clusters: a number for each row; rows with the same number are of one investor.
    """
    X = projection.points
    errors = _Errors.of(frontier, Y, noise_sd)
    serial, z = _beyond_errors(frontier, Y, projection, noise_sd, errors)
    reach = max(LEAST_TIED, TIED * noise_sd)
    piled, at = _piled(Y, X)
    held = (Y > AT_BOUND).sum(axis=1)
    most = int(held.max())
    return Specification(
        serial,
        z,
        _tied(Y, reach) - _tied(X, reach),
        piled,
        at,
        most,
        float(np.mean(held == most)),
        _least_holding(Y),
        reporting_step(Y),
        rounding_step(Y, noise_sd) is not None,
        _own_share(Y - X, clusters),
        _uneven(projection.distances, errors),
    )


@dataclass(frozen=True, eq=False)
class _Errors:
    """Simulated investors on the same frontier who make errors of one size, and nothing else."""

    Y: Matrix
    projection: Projection

    @classmethod
    def of(cls, frontier: Frontier, Y: Matrix, noise_sd: float) -> _Errors | None:
        """None where departures are too large to be errors, or there are none."""
        if not AT_BOUND < noise_sd < REPLAYED_NOISE:
            return None
        drawn = simulated_portfolios(frontier, Y, noise_sd, np.random.default_rng(0))
        drawn = drawn[: max(1, len(drawn) // 2)]  # the other half has the same errors turned round
        return cls(drawn, frontier.project(drawn))


def _beyond_errors(
    frontier: Frontier, Y: Matrix, projection: Projection, noise_sd: float, errors: _Errors | None
) -> tuple[float, float]:
    """Correlation of neighbours' residuals beyond that of simulated investors with errors alone.

    Errors that are cut at zero displace the holdings of neighbours alike; with 20 assets that alone
    gives correlations of 0.2 to 0.5.
    """
    serial, z = _serial(frontier, Y, projection, noise_sd)
    if serial <= WORTH_A_REPLAY or errors is None:
        return serial, z
    usual, _ = _serial(frontier, errors.Y, errors.projection, noise_sd)
    share = max(0.0, 1.0 - max(usual, 0.0) / serial)
    return share * serial, share * z


def _serial(
    frontier: Frontier, Y: Matrix, projection: Projection, noise_sd: float
) -> tuple[float, float]:
    """Lag-one correlation of residuals in assets that both neighbours hold, clear of the bounds:
    at a bound errors can go one way only, and are alike for that reason."""
    order = np.argsort(lam_of(projection.weights), kind="stable")
    X, held = projection.points[order], Y[order]
    room = np.minimum(X - frontier.problem.lower, frontier.problem.upper - X)
    # what strayed into other assets has displaced every holding in proportion: that is no tilt
    E = _in_proportion(room > AT_BOUND, held, X)
    free = room > max(CLEAR * noise_sd, AT_BOUND)
    E = np.where(free, E, 0.0)
    count = np.maximum(free.sum(axis=1, keepdims=True), 1)
    E = np.where(free, E - E.sum(axis=1, keepdims=True) / count, 0.0)
    both = free[1:] & free[:-1]
    products = np.where(both, E[1:] * E[:-1], 0.0).sum(axis=1)
    size = np.where(both, 0.5 * (E[1:] ** 2 + E[:-1] ** 2), 0.0).sum()
    if size <= 0.0:
        return 0.0, 0.0
    error = float(np.sqrt(np.sum(products**2)))
    total = float(products.sum())
    return total / float(size), total / error if error > 0 else 0.0


def _tied(holdings: Matrix, reach: float) -> float:
    """Share of investors with two or more largest holdings within `reach` of one another."""
    if holdings.shape[1] < 3:
        return 0.0
    top = np.sort(holdings, axis=1)[:, ::-1]
    tied = (top[:, 0] - top[:, 1] <= reach) & (top[:, 0] < CAPPED_BELOW)
    return float(np.mean(tied))


def _piled(Y: Matrix, X: Matrix) -> tuple[float, float]:
    """How many more holdings stand at the most popular value than the frontier puts there."""
    edges = np.arange(WORTH, 1.0 + POPULAR, POPULAR)
    seen, _ = np.histogram(Y, edges)
    fitted, _ = np.histogram(X, edges)
    wide = np.convolve(seen - fitted, np.ones(2), mode="valid")
    if wide.size == 0:
        return 0.0, 0.0
    at = int(np.argmax(wide))
    there = Y[(edges[at] <= Y) & (edges[at + 2] >= Y)]  # the value itself, not the edge of a bin
    value = float(np.median(there)) if there.size else float(edges[at + 1])
    return float(wide[at]) / max(1, len(Y)), value


def _least_holding(Y: Matrix) -> float:
    """The least holding there is, where smaller ones should be common and are not."""
    positive = Y[Y > AT_BOUND]
    if positive.size == 0:
        return 0.0
    return float(np.quantile(positive, 0.001))


def _uneven(distances: Vector, errors: _Errors | None) -> float:
    """Relative variance of the squared distances over that of errors of one size."""
    usual = 0.0 if errors is None else _relative_variance(errors.projection.distances)
    return _relative_variance(distances) / usual if usual > 0.0 else 1.0


def _relative_variance(distances: Vector) -> float:
    squares = distances**2
    middle = float(np.mean(squares))
    return float(np.mean(squares**2)) / middle**2 - 1.0 if middle > 0.0 else 0.0


def _in_proportion(held: NDArray[np.bool_], Y: Matrix, X: Matrix) -> Matrix:
    """Residuals after what strayed into other assets is given back in proportion."""
    own = np.where(held, Y, 0.0).sum(axis=1, keepdims=True)
    meant = np.where(held, X, 0.0).sum(axis=1, keepdims=True)
    result: Matrix = np.where(own > 0.0, meant / np.where(own > 0.0, own, 1.0), 1.0) * Y - X
    return result


def _own_share(E: Matrix, clusters: NDArray[np.int64]) -> float:
    """Variance between investors over all variance, of those who come more than once."""
    count = np.bincount(clusters)
    several = count[clusters] > 1
    if several.sum() < 20:
        return float("nan")
    E, own = E[several], clusters[several]
    sums = np.zeros((len(count), E.shape[1]))
    np.add.at(sums, own, E)
    times = count[own][:, None]
    within = float(np.sum((E - sums[own] / times) ** 2) / np.sum(1.0 - 1.0 / times))
    total = float(np.sum(E**2) / len(E))
    return max(0.0, 1.0 - within / total) if total > 0 else float("nan")
