"""The study simulated with beliefs that are known, to see what the method makes of them.

Errors in holdings bend the estimate: small holdings are cut at zero near turning points, and
investors are assigned to the wrong stretch of the frontier. No formula knows how far; a
simulation does. Investors are drawn who believe in the solution, at weights that their portfolios
allow for, their portfolios get errors like those in the data, and the returns are
estimated from them again. Where that estimate comes out is the bias; how much the scores answer to
a change of the returns is the slope that standard errors need. It is less than the
information says, because those who change their stretch answer less: errors of 0.01 in each holding
made standard errors a tenth too small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from imop_engine.arguments import Matrix, Vector
from imop_engine.frontier import Frontier, efficient_frontier
from imop_engine.identified_subspace import IdentifiedSubspace
from imop_engine.inference.estimating_equations import Support, refine_counts
from imop_engine.inference.fit import AT_BOUND
from imop_engine.inference.held_assets import given_back
from imop_engine.inference.information import ScoreInformation, information
from imop_engine.inference.weight_bins import bins_around
from imop_engine.progress import note
from imop_engine.simulate import round_portfolios
from imop_engine.weights import lam_of, weight_of

# Investors drawn: then the bias is known to a tenth of a standard error with 1,000 investors, and
# a simulation takes a tenth of a second for 8 assets.
DRAWN: Final = 5_000
MOST_DRAWN: Final = 20_000  # of a large sample every so many-th investor plays
# Errors come in pairs, e and -e, so that what is not bias cancels. Rounding has no such pairs:
# more investors have to be drawn for the same precision.
WITHOUT_PAIRS: Final = 4
ENOUGH: Final = 0.1  # standard errors of the simulated sample, which is larger than the study
POINTS: Final = 300  # of the frontier, at which an investor may have been
# Steps in which holdings are reported, coarse to fine. Rounding to a step leaves errors of 0.3
# steps; data whose noise is not of that size hold other errors too, or none at all.
STEPS: Final = (0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001)
WHOLE: Final = 1e-6  # of a step: files keep some ten digits
ROUNDING_NOISE: Final = (0.1, 0.5)
# The slope is a difference over this many standard errors of the simulated sample: enough investors
# change their stretch on the way to count them, and the curvature does not show.
APART: Final = 3.0
SLOPE_ROWS: Final = 10_000  # for the slope a few per cent are good enough
# There is a direction for each asset, and each is a pass over all rows: beyond 50 assets a quarter
# of the rows, which has more holdings in it than all of them with 8 assets.
MANY_ASSETS: Final = 50
# The scores answer to the returns with a share of what the information says: never with more in
# these intervals, and with less than a third only where hardly anything is known.
LEAST_ANSWER: Final = 1 / 3
DEPENDENT: Final = 1e-9  # eigenvalues of a correlation matrix below this are zero
# What a simulation finds of the bias is taken off the middle of an interval, and this share
# of it counts as a standard error of its own: in trials with errors of 0.01 and 0.02 in a holding
# a third of the largest biases stayed; with 50 assets, and errors of 0.005, half of them.
UNSURE_OF_BIAS: Final = 1.0


@dataclass(frozen=True, eq=False)
class SimulatedBias:
    """What the simulated study tells of the estimate."""

    bias: Vector  # what errors in holdings add to the returns
    gain: Matrix  # how the estimate answers to a unit of score; without noise the inverse of H


def simulate_bias(
    info: ScoreInformation,
    Y: Matrix,
    subspace: IdentifiedSubspace,
    support: Support,
    noise_sd: float,
    seed: int,
    count: int | None = None,
) -> SimulatedBias:
    """Draw the study again around the solution `info` was taken at, and estimate once more.

    Args:
        info: What the portfolios say at one estimate.
        Y: The holdings of each investor in a row, fractions of wealth.
        subspace: Which directions of the returns the portfolios see.
        support: Which assets enough investors hold.
        noise_sd: Standard deviation of the error in a single holding, in fractions of wealth.
        seed: Of the simulated errors.
        count: How many investors the information is of, where Y is only a sample of them.

    Returns:
        The bias of each return and how the estimate answers to the scores.
    """
    problem, r = info.frontier.problem, info.frontier.theta
    if noise_sd <= AT_BOUND or subspace.assets.size == 0:
        return SimulatedBias(np.zeros(problem.n), subspace.inverse)
    drawn = simulated_portfolios(info.frontier, Y, noise_sd, np.random.default_rng(seed))
    drawn = given_back(drawn, problem.upper > 0.0)
    note(0.1)
    there = refine_counts(problem, drawn, r, None, support, ENOUGH).theta
    note(0.4)
    bias = np.where(np.isin(np.arange(problem.n), subspace.assets), there - r, 0.0)
    return SimulatedBias(
        bias, _gain(info.frontier, drawn, count or len(Y), there, subspace, support, noise_sd)
    )


def simulated_portfolios(
    frontier: Frontier, Y: Matrix, noise_sd: float, rng: np.random.Generator
) -> Matrix:
    """Portfolios of investors like those of Y who believe in this frontier, with their errors.

    Args:
        frontier: The efficient frontier at the estimated returns.
        Y: The holdings of each investor in a row, fractions of wealth.
        noise_sd: Standard deviation of the error in a single holding, in fractions of wealth.
        rng: Where random numbers come from.

    Returns:
        One portfolio for each row of Y, fractions of wealth.
    """
    some = Y[:: -(-len(Y) // MOST_DRAWN)]
    step = rounding_step(Y, noise_sd)
    wanted = DRAWN if step is None else WITHOUT_PAIRS * DRAWN
    exact = frontier.at(likely_weights(frontier, some, noise_sd, -(-wanted // len(some)), rng))
    if step is not None:
        return round_portfolios(exact, step)
    errors = rng.normal(0.0, noise_sd, exact.shape)
    held = np.maximum(np.concatenate([exact + errors, exact - errors]), 0.0)
    total = held.sum(axis=1, keepdims=True)
    result: Matrix = (held / np.where(total > 0, total, 1.0))[total[:, 0] > 0]
    return result


def rounding_step(Y: Matrix, noise_sd: float) -> float | None:
    """The step that all holdings are reported in, where rounding to it explains the noise.

    >>> rounding_step(np.array([[0.31, 0.69], [0.25, 0.75]]), 0.003)
    0.01
    """
    least, most = ROUNDING_NOISE
    for step in STEPS:
        if least * step <= noise_sd <= most * step and _whole_steps(Y, step):
            return step
    return None


def reporting_step(Y: Matrix) -> float | None:
    """The coarsest step that all holdings are whole numbers of; None where there is none.

    >>> reporting_step(np.array([[0.31, 0.69], [0.25, 0.75]]))
    0.01
    """
    return next((step for step in STEPS if _whole_steps(Y, step)), None)


def _whole_steps(Y: Matrix, step: float) -> bool:
    steps = Y / step
    return bool(np.all(np.abs(steps - np.rint(steps)) <= WHOLE))


def likely_weights(
    frontier: Frontier, Y: Matrix, noise_sd: float, times: int, rng: np.random.Generator
) -> Vector:
    """Weights that investors with portfolios Y may have, `times` each: all of the first draw first.

    The nearest efficient portfolio will not do: errors have moved it once already, and a
    simulation of nearest portfolios showed only half of the bias. So the weight is drawn by how
    likely the errors then are, all weights being alike before (Bayes' rule with an even prior).
    Alike at the scale at which the median investor has weight one half: portfolios know no other.

    Args:
        frontier: The efficient frontier at the estimated returns.
        Y: The holdings of each investor in a row, fractions of wealth.
        noise_sd: Standard deviation of the error in a single holding, in fractions of wealth.
        times: How often each investor's weight is drawn.
        rng: Where random numbers come from.

    Returns:
        Weights on return, 0 to 1.
    """
    middle = float(np.median(lam_of(frontier.project(Y).weights))) or 1.0
    grid, X = frontier.sample(POINTS)
    lams = lam_of(grid)
    edges = bins_around(lams / (lams + middle))
    apart = float(np.linalg.norm(np.diff(X, axis=0), axis=1).max(initial=0.0))
    squares = np.sum(Y**2, axis=1)[:, None] + np.sum(X**2, axis=1) - 2.0 * Y @ X.T
    squares -= squares.min(axis=1, keepdims=True)
    likely = np.exp(-0.5 * squares / max(noise_sd, apart) ** 2) * np.diff(edges)
    upto = np.cumsum(likely, axis=1)
    upto /= upto[:, -1:]
    # one draw from each of `times` even parts of the distribution: the same law, less chance
    ranks = (rng.uniform(size=(times, len(Y))) + np.arange(times)[:, None]) / times
    cells = np.stack([np.sum(upto < rank[:, None], axis=1) for rank in ranks]).ravel()
    cells = np.minimum(cells, len(grid) - 1)
    low, high = edges[cells], edges[cells + 1]
    share = low + rng.uniform(size=cells.size) * (high - low)
    return weight_of(middle * share / (1.0 - share))


def _gain(
    frontier: Frontier,
    drawn: Matrix,
    count: int,
    r: Vector,
    subspace: IdentifiedSubspace,
    support: Support,
    noise_sd: float,
) -> Matrix:
    """V D^-1 V', where V V' is the inverse of the information and D the slope of the scores in
    units of it: one where the information tells the whole answer."""
    V = _root(subspace.inverse)
    most = SLOPE_ROWS if frontier.problem.n <= MANY_ASSETS else SLOPE_ROWS // 4
    some = drawn[:: -(-len(drawn) // most)]
    share = len(some) / count
    apart = APART * noise_sd / np.sqrt(share)

    def scores(theta: Vector) -> Vector:
        found = information(
            efficient_frontier(frontier.problem, theta), some, ignored=support.ignored,
            noise_sd=support.noise_sd, holding=support.holding,
        )  # fmt: skip
        result: Vector = V.T @ found.score / share
        return result

    here = scores(r)
    slopes = []
    for number, v in enumerate(V.T, start=1):
        slopes.append((here - scores(r + apart * v)) / apart)
        note(0.4 + 0.6 * number / len(V.T))
    D = np.column_stack(slopes)
    left, answer, right = np.linalg.svd(D)
    result: Matrix = V @ (right.T / np.clip(answer, LEAST_ANSWER, 1.0)) @ left.T @ V.T
    return result


def _root(inverse: Matrix) -> Matrix:
    """V with V V' = inverse, a column for each direction that is identified."""
    size = np.sqrt(np.maximum(np.diag(inverse), 0.0))
    free = np.flatnonzero(
        size > DEPENDENT * size.max()
    )  # the others are anchored, but for rounding
    unit = size[free]
    values, vectors = np.linalg.eigh(inverse[np.ix_(free, free)] / np.outer(unit, unit))
    known = values > DEPENDENT
    vectors = vectors[:, known]
    # the slope is taken on one side, and rounding must not decide which: two entries of the same
    # size are common, weights without a pattern have no such ties
    towards = np.sqrt(np.arange(2.0, free.size + 2.0)) @ vectors
    result = np.zeros((len(size), vectors.shape[1]))
    result[free] = (
        unit[:, None] * vectors * np.sqrt(values[known]) * np.where(towards < 0, -1.0, 1.0)
    )
    return result
