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
from imop_engine.inference.binding_rows import CLEAR
from imop_engine.inference.fit import AT_BOUND
from imop_engine.inference.reporting import least_holding
from imop_engine.weights import lam_of

TIED: Final = 2.0  # standard deviations of the noise within which two holdings are the same
LEAST_TIED: Final = 0.002
MOST_TIED: Final = 0.01  # whatever the noise: holdings that are further apart are not equal
CAPPED_BELOW: Final = 0.7  # a largest holding above this is a concentrated portfolio, not a cap
POPULAR: Final = 0.01  # half the width of the bin in which holdings pile up
WORTH: Final = 0.05  # holdings below this pile up near zero for other reasons
WORTH_A_REPLAY: Final = 0.1  # a correlation below this is no finding
REPLAYED_NOISE: Final = 0.03  # larger departures are not errors, and are not replayed as such
ALONG: Final = 10  # usual distances are means over this part of the simulated investors
FURTHEST: Final = 0.99  # share of simulated investors beyond whom distances count alike


@dataclass(frozen=True)
class Specification:
    """What the portfolios look like beside the fitted frontier.

    Args:
        serial: correlation of residuals of neighbours along the frontier; 0 where they are errors.
        serial_z: the same in standard errors.
        tied: share of investors whose largest holdings are equal, beyond what is explained.
        piled: holdings an investor at the most popular value, beyond what the frontier explains
            and beyond what is held just beside it.
        piled_at: that value.
        most_held: the largest number of assets that anybody holds.
        at_most: share of investors who hold exactly that many.
        least_holding: a holding that hardly anybody is below without holding nothing; 0: none.
        step: the step that all holdings are reported in; None: finer than 0.0001.
        only_rounded: whether rounding to that step explains all that is left.
        own: share of the residuals' variance that is an investor's own at all her dates; NaN where
            nobody comes twice.
        uneven: relative variance of the squared distances over that of simulated investors who
            make errors of one size at the same places of the frontier, the furthest one in a
            hundred left at its limit; 1 where all err alike.
        uneven_z: how many standard errors that is above 1.
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
    uneven_z: float


@dataclass(frozen=True)
class Reporting:
    """How a file reports holdings, whatever the frontier.

    Args:
        most_held: the largest number of assets that anybody holds.
        at_most: share of investors who hold exactly that many.
        least_holding: a holding that hardly anybody is below without holding nothing; 0: none.
        step: the step that all holdings are reported in; None: finer than 0.0001.
    """

    most_held: int
    at_most: float
    least_holding: float
    step: float | None


def reporting_of(Y: Matrix) -> Reporting:
    """How the holdings of a file are reported.

    Args:
        Y: one row for each investor, fractions of wealth, as reported.
    """
    held = (Y > AT_BOUND).sum(axis=1)
    most = int(held.max())
    return Reporting(most, float(np.mean(held == most)), least_holding(Y), reporting_step(Y))


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
    reported = reporting_of(Y)
    errors = _Errors.of(frontier, Y, noise_sd)
    serial, z = _beyond_errors(frontier, Y, projection, noise_sd, errors)
    reach = min(max(LEAST_TIED, TIED * noise_sd), MOST_TIED)
    limited = frontier.problem.upper.min() < 1.0
    piled, at = _piled(Y, X, errors if limited else None)
    return Specification(
        serial,
        z,
        _tied(Y, reach) - _tied(X, reach),
        piled,
        at,
        reported.most_held,
        reported.at_most,
        reported.least_holding,
        reported.step,
        rounding_step(Y, noise_sd) is not None,
        _own_share(Y - X, clusters),
        *_uneven(projection, errors),
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


def _piled(Y: Matrix, X: Matrix, errors: _Errors | None = None) -> tuple[float, float]:
    """How many more holdings stand at the most popular value than the frontier puts there, with
    errors or without, and than stand beside it: a frontier that explains little leaves too few
    where many hold something, and that is no limit. Errors move holdings off the caps that the
    frontier has: money that strays takes something from each of them."""
    edges = np.arange(WORTH, 1.0 + POPULAR, POPULAR)
    seen, fitted, strayed = (
        np.convolve(np.histogram(holdings, edges)[0], np.ones(2), mode="valid")
        for holdings in (Y, X, X if errors is None else errors.Y)
    )
    if errors is not None:
        fitted = np.maximum(fitted, strayed * (len(Y) / max(1, len(errors.Y))))
    if seen.size == 0:
        return 0.0, 0.0
    around = np.pad(seen, 2)
    wide = seen - np.maximum(fitted, np.maximum(around[:-4], around[4:]))
    at = int(np.argmax(wide))
    there = Y[(edges[at] <= Y) & (edges[at + 2] >= Y)]  # the value itself, not the edge of a bin
    value = float(np.median(there)) if there.size else float(edges[at + 1])
    return float(wide[at]) / max(1, len(Y)), value


def _uneven(projection: Projection, errors: _Errors | None) -> tuple[float, float]:
    """Relative variance of squared distances over that of errors of one size, and how many standard
    errors it is above one.

    How far errors of one size take somebody from the frontier depends on where on it she is, so
    distances are compared with simulated ones there. An asset that a few investors hold and the
    estimate does not leaves those few far away, which says nothing of the others: beyond what one
    in a hundred simulated investors reaches, all count alike.
    """
    if errors is None:
        return 1.0, 0.0
    places, squares = lam_of(errors.projection.weights), errors.projection.distances**2
    order = np.argsort(places, kind="stable")
    usual = _running_mean(squares[order], max(1, len(order) // ALONG))
    at = np.searchsorted(places[order], lam_of(projection.weights))
    expected = usual[np.minimum(at, len(order) - 1)]
    if np.any(usual <= 0.0):
        return 1.0, 0.0
    simulated = squares[order] / usual
    middle = float(np.median(simulated))
    seen = projection.distances**2 / expected
    own = float(np.median(seen))
    if middle <= 0.0 or own <= 0.0:
        return 1.0, 0.0
    furthest = float(np.quantile(simulated, FURTHEST)) / middle
    usual_ratio, error = _relative_variance(np.minimum(simulated / middle, furthest))
    ratio, _ = _relative_variance(np.minimum(seen / own, furthest))
    if usual_ratio <= 0.0:
        return 1.0, 0.0
    error *= float(np.sqrt(1.0 / len(seen) + 1.0 / len(simulated)))
    return ratio / usual_ratio, (ratio - usual_ratio) / error if error > 0.0 else 0.0


def _running_mean(values: Vector, width: int) -> Vector:
    """The mean of about that many neighbours of each; at the ends of those that there are."""
    upto = np.concatenate([[0.0], np.cumsum(values)])
    at, half = np.arange(len(values)), width // 2
    first, last = np.maximum(at - half, 0), np.minimum(at + half + 1, len(values))
    result: Vector = (upto[last] - upto[first]) / (last - first)
    return result


def _relative_variance(values: Vector) -> tuple[float, float]:
    """Variance over squared mean, and its standard error were there one value (delta method)."""
    away = values / float(np.mean(values)) - 1.0
    found = float(np.mean(away**2))
    return found, float(np.std(away**2 - 2.0 * found * away))


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
