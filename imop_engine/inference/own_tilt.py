"""A tilt of each investor's own, the same at all her dates: a random effect beside one frontier.

Whoever comes at several dates departs from the frontier in the same way at each of them, by far
more than her holdings change by error. Then y = x + t with x efficient and t her tilt, and three
things follow. Tilts cut at zero put as much into assets that nobody wants as into others, so which
assets are held is told by the size of the tilts, not by that of the errors. The tilt is estimated
as the mean of her departures, shrunk by how much they change from date to date, and taken off;
returns are estimated from what is left, tilts again from those returns, in turns. And investors are
independent where their dates are not: how far the returns are known is told by the portfolios with
their tilts, each investor counted once.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import ImopError
from imop_engine.frontier import efficient_frontier
from imop_engine.identified_subspace import IdentifiedSubspace
from imop_engine.inference.bias_simulation import simulate_bias
from imop_engine.inference.estimating_equations import refine_counts, support_of
from imop_engine.inference.estimators import (
    NEAR_ENOUGH,
    SMALL_ERRORS,
    beliefs_differ,
    implied,
    total_loss,
)
from imop_engine.inference.fit import AT_BOUND, estimate_noise
from imop_engine.inference.held_assets import (
    NEIGHBOURS,
    below_bounds,
    given_back,
    held_assets,
    only_held,
)
from imop_engine.inference.information import information
from imop_engine.problem import Problem
from imop_engine.weights import lam_of

DATES: Final = 3  # fewer do not tell a tilt from errors
FEW: Final = NEIGHBOURS  # investors with so many dates
MOSTLY: Final = 0.5  # of the portfolios are theirs
LASTING: Final = 0.5  # share of the departures' variance that lasts
LEAST_TILT: Final = 0.01  # of wealth in a holding; a smaller one is an error as others are
LARGEST_SPREADS: Final = 3  # assets whose spread among neighbours tells the size of tilts
CHOSEN_AGAIN: Final = 3  # times that the held assets are chosen by the last estimate
TURNS: Final = 12  # of tilts and returns; more moved the returns by less than they are known
TAKEN: Final = 2  # of the departures of an investor, by her budget and her own weight
TILT_TURNS: Final = 4  # of tilts and nearest efficient portfolios at given returns


@dataclass(frozen=True, eq=False)
class OwnTilts:
    """What investors keep apart from the frontier at all their dates.

    Args:
        sd: standard deviation of a tilt in a single holding, fractions of wealth.
        changing_sd: of what changes from date to date in a holding.
        lasting: share of the variance of departures that lasts.
        investors: how many come at several dates.
        tilts: one row for each investor, by the numbers of `owners`; zero for who comes once.
        portfolios: without the tilts, a row for each portfolio.
        theta: returns estimated from those.
        held: assets that are held beyond the tilts.
        kept: who takes part.
        explained: share of the differences between portfolios, tilts left in and what is in other
            assets given back, that the frontier explains among investors it was not fitted to.
        implied: the same of the implied returns of the average portfolio.
        covariance: of the returns, from which investors were seen and from the tilts' own bias.
    """

    sd: float
    changing_sd: float
    lasting: float
    investors: int
    tilts: Matrix
    portfolios: Matrix
    theta: Vector
    held: NDArray[np.bool_]
    kept: NDArray[np.bool_]
    explained: float
    implied: float
    covariance: Matrix


def own_tilts(
    problem: Problem,
    Y: Matrix,
    owners: NDArray[np.int64],
    theta: Vector,
    kept: NDArray[np.bool_],
) -> OwnTilts | None:
    """Tilts of investors who come at several dates, and returns without them.

    Args:
        problem: a portfolio problem with anchors.
        Y: one row for each portfolio, fractions of wealth.
        owners: a number for each row, from zero on; the same number is the same investor.
        theta: returns that were estimated as if there were none.
        kept: which rows take part.

    Returns:
        None where hardly anybody comes at several dates, where departures do not last, where what
        changes from date to date is explained no better, or where that is too much for errors in
        holdings: what is left then is not one frontier with errors, tilts or not.
    """
    some = Y[kept]
    _, own = np.unique(owners[kept], return_inverse=True)
    dates = np.bincount(own)
    if np.sum(dates >= DATES) < FEW or np.mean(dates[own] >= DATES) <= MOSTLY:
        return None
    before = _without_tilts(problem, some, own, theta)
    if before.sd < LEAST_TILT or before.lasting <= LASTING:
        return None
    held, start = _among_tilts(problem, some, own, theta)
    inside, given = only_held(problem, held), given_back(some, held)
    r = start
    for _ in range(TURNS):
        rest = _without_tilts(inside, given, own, r).portfolios
        r = refine_counts(inside, rest, r, enough=NEAR_ENOUGH, every=True).theta
    found = _without_tilts(inside, given, own, r)
    if found.changing_sd > min(before.changing_sd, SMALL_ERRORS):
        return None
    everybody = _without_tilts(inside, given_back(Y, held), owners, r)
    explained, implied_share = _explained(inside, given, own, r)
    apart = r - start
    return OwnTilts(
        found.sd, found.changing_sd, found.lasting, int(np.sum(dates > 1)), everybody.tilts,
        everybody.portfolios, below_bounds(problem, found.portfolios, r, held), held, kept,
        explained, implied_share, _covariance(inside, given, own, start) + np.outer(apart, apart),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Split:
    """Departures at given returns, split into what lasts and what changes."""

    sd: float
    changing_sd: float
    lasting: float
    tilts: Matrix
    portfolios: Matrix


def _without_tilts(problem: Problem, Y: Matrix, owners: NDArray[np.int64], theta: Vector) -> _Split:
    """Each investor's departures from the frontier, averaged over her dates and shrunk."""
    frontier = efficient_frontier(problem, theta)
    times = np.bincount(owners)[:, None].astype(np.float64)
    several = times[:, 0] > 1
    free = float(np.sum(times[several] - 1.0)) * Y.shape[1]
    rest, tilts = Y, np.zeros((len(times), Y.shape[1]))
    size = changing = 0.0
    for _ in range(TILT_TURNS):
        points = frontier.project(rest).points
        departures = Y - points
        means = _by_investor(departures, owners) / times
        changes = np.where(several[owners, None], departures - means[owners], 0.0)
        changing = float(np.sum(changes**2)) / max(free, 1.0)
        by_chance = changing * float(np.mean(1.0 / times[several]))
        size = max(0.0, _mean_square(means, points, owners, several) - by_chance)
        shrunk = size / (size + changing / times) if size > 0.0 else np.zeros_like(times)
        tilts = np.where(several[:, None], shrunk * means, 0.0)
        rest = np.maximum(Y - tilts[owners], 0.0)
        rest = rest / rest.sum(axis=1, keepdims=True)
    lasting = size / (size + changing) if size > 0.0 else 0.0
    return _Split(float(np.sqrt(size)), float(np.sqrt(changing)), lasting, tilts, rest)


def _mean_square(
    means: Matrix, points: Matrix, owners: NDArray[np.int64], several: NDArray[np.bool_]
) -> float:
    """Of lasting departures in a single holding: in what an investor is to hold at all her dates,
    where nothing is cut at zero, less the two numbers that her budget and her weight take."""
    out = np.zeros_like(means)
    np.add.at(out, owners, (points <= AT_BOUND).astype(np.float64))
    held = (out == 0.0) & several[:, None]
    held &= held.sum(axis=1, keepdims=True) > TAKEN
    free = float(np.sum(held.sum(axis=1)[held.any(axis=1)] - TAKEN))
    return float(np.sum(means[held] ** 2)) / free if free > 0.0 else 0.0


def _among_tilts(
    problem: Problem, Y: Matrix, owners: NDArray[np.int64], theta: Vector
) -> tuple[NDArray[np.bool_], Vector]:
    """Which assets are held beyond the tilts, and the returns that portfolios with tilts tell."""
    means = _by_investor(Y, owners) / np.bincount(owners)[:, None]
    risk = np.einsum("ti,ij,tj->t", means, problem.covariance, means)
    sd = _spread(means[np.argsort(risk, kind="stable")])
    anchored = np.any(np.abs(problem.theta.equalities) > 0.0, axis=0)
    held = held_assets(means, risk, sd) | anchored
    r = theta
    for number in range(CHOSEN_AGAIN):
        inside, given = only_held(problem, held), given_back(Y, held)
        starts = [r]
        if number == 0:
            with suppress(ImopError, np.linalg.LinAlgError):
                starts.append(beliefs_differ(problem, given, 0.0, r).theta)
        found = [refine_counts(inside, given, one, every=True).theta for one in starts]
        r = min(found, key=lambda one: total_loss(inside, given, one))
        places = efficient_frontier(inside, r).project(given_back(means, held)).weights
        again = held_assets(means, lam_of(places), sd) | anchored
        if np.all(again == held):
            break
        if number + 1 < CHOSEN_AGAIN:
            held = again
    return held, r


def _spread(ordered: Matrix) -> float:
    """How much investors of like risk differ in what they hold, by the assets that they hold."""
    count = max(1, len(ordered) // NEIGHBOURS)
    spreads = [np.std(some, axis=0, ddof=1) for some in np.array_split(ordered, count)]
    return float(np.median(np.sort(spreads, axis=1)[:, -LARGEST_SPREADS:]))


def _covariance(problem: Problem, Y: Matrix, owners: NDArray[np.int64], theta: Vector) -> Matrix:
    """Of returns from portfolios with their tilts, the dates of an investor counted together; what
    tilts cut at zero add to the returns, as a simulation finds it, counts as a standard error."""
    frontier = efficient_frontier(problem, theta)
    info = information(frontier, Y)
    noise_sd = estimate_noise(frontier, Y, info.projection).sd
    support = support_of(info, Y, noise_sd).among(problem.upper > 0.0)
    subspace = IdentifiedSubspace.of(problem.theta, info.hessian)
    simulated = simulate_bias(info, Y, subspace, support, noise_sd, seed=0)
    sums = _by_investor(info.scores, owners)
    sample = simulated.gain @ (sums.T @ sums) @ simulated.gain.T
    result: Matrix = sample + np.outer(simulated.bias, simulated.bias)
    return result


def _explained(
    problem: Problem, Y: Matrix, owners: NDArray[np.int64], theta: Vector
) -> tuple[float, float]:
    """What either half of the investors explains of the other half's portfolios, tilts left in; and
    what the implied returns of its average portfolio do."""
    sides = np.random.default_rng(0).integers(0, 2, int(owners.max()) + 1)[owners]
    missed = reversed_ = spread = 0.0
    for side in (0, 1):
        some, others = Y[sides != side], Y[sides == side]
        half = refine_counts(problem, some, theta, enough=NEAR_ENOUGH, every=True).theta
        missed += total_loss(problem, others, half)
        reversed_ += total_loss(problem, others, implied(problem, some, 0.0, theta).theta)
        spread += float(np.sum((others - some.mean(axis=0)) ** 2))
    if spread <= 0.0:
        return 0.0, 0.0
    return 1.0 - missed / spread, 1.0 - reversed_ / spread


def _by_investor(values: Matrix, owners: NDArray[np.int64]) -> Matrix:
    sums = np.zeros((int(owners.max()) + 1, values.shape[1]))
    np.add.at(sums, owners, values)
    return sums
