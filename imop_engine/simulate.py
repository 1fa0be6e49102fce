"""Synthetic investors: everyone on the frontier of the same beliefs, each at her own weight.

The weights are drawn, the portfolios follow from the exact frontier, and what an observer would
see is those portfolios after rounding or noise. All randomness comes from the generator that the
caller passes, so a seed reproduces a run to the last digit.
"""

from __future__ import annotations

from operator import index
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from imop_engine import gate
from imop_engine.errors import InvalidInput
from imop_engine.frontier import efficient_frontier
from imop_engine.investors import SIMULATED, Investors, numbered
from imop_engine.problem import Problem
from imop_engine.weight_families import drawn_by_mean_and_sd, family
from imop_engine.weight_families.base import Shape

FloatArray = NDArray[np.float64]

NOISES: Final = ("round", "gaussian", "uniform", "dirichlet", "epsilon", "none")

# A random feasible portfolio is a mixture of this many random corners of the feasible set.
CORNERS: Final = 3

# 1 / noise_level must be a whole number for a portfolio to be a sum of whole steps. 1 / 0.001 is
# 1000 only to the last bit, so the comparison leaves room for that and no more.
WHOLE_NUMBER_TOLERANCE: Final = 1e-9


@gate.public("imop_engine.simulate")
def simulate_investors(
    problem: Problem,
    theta: ArrayLike,
    count: int,
    *,
    weights: str | ArrayLike = "normal",
    mean: float = 0.5,
    sd: float = 0.15,
    noise: str = "round",
    noise_level: float = 0.001,
    rng: np.random.Generator,
) -> Investors:
    """Draw `count` investors who believe in `theta`, and the portfolios they are seen to hold.

    `weights` names a distribution of the weight on return: "normal" (cut to [0, 1]), "beta" and
    "kumaraswamy" use `mean` and `sd`, "uniform" covers [0, 1]; or it is an array with one weight
    per investor. `mean` and `sd` of "normal" are those before the cut.

    `noise` says how the portfolios are observed, `noise_level` how coarsely:
    "round" reports them in steps of that size, each still summing to one (largest remainders);
    "gaussian" and "uniform" add independent errors to every holding, of that standard deviation
    or up to that size, after which negative holdings become zero and the portfolio is rescaled to
    sum to one. A cap on an asset may be exceeded by the size of the error: an observed portfolio
    need not be feasible. "dirichlet" draws around the portfolio among the assets it holds: a
    holding of one half has `noise_level` as its standard deviation, smaller ones less. "epsilon"
    is bounded rationality: the investor takes some feasible portfolio whose objective
    w r'x - (1 - w) x'Qx is at most `noise_level` below the best. "none" reports the portfolios
    as they are.

    Args:
        problem: What is decided, and which theta are possible.
        theta: The yearly expected returns they believe in.
        count: How many investors.
        weights: The distribution of the weight on return, or the weights themselves (0 to 1).
        mean: Of the weights, before they are cut.
        sd: Standard deviation of the weights, before they are cut.
        noise: How the portfolios are observed.
        noise_level: How coarsely, in fractions of wealth.
        rng: Where random numbers come from.

    Returns:
        The portfolios that are seen and the weights behind them.
    """
    drawn = draw_weights(weights, _whole(count), mean, sd, rng)
    beliefs = problem.check_theta(theta)
    exact = efficient_frontier(problem, beliefs).at(drawn)
    seen = observe(problem, beliefs, drawn, exact, noise, noise_level, rng)
    return Investors(
        problem.names,
        numbered(len(drawn)),
        seen,
        weights=drawn,
        truth=beliefs,
        origin=SIMULATED,
    )


def _whole(count: int) -> int:
    try:
        number = index(count)
    except TypeError:
        number = 0
    if number < 1:
        raise InvalidInput(f"The number of investors is {count!r}; give a whole number from 1 up.")
    return number


def draw_weights(
    weights: str | ArrayLike, count: int, mean: float, sd: float, rng: np.random.Generator
) -> FloatArray:
    """Weights on return by the name of their distribution, or the given ones checked.

    Args:
        weights: The name of a distribution, or the weights themselves (0 to 1).
        count: How many.
        mean: Of the weights, before they are cut.
        sd: Standard deviation of the weights, before they are cut.
        rng: Where random numbers come from.
    """
    if not isinstance(weights, str):
        return _given_weights(weights, count)
    known = drawn_by_mean_and_sd()
    if weights not in known:
        raise InvalidInput(
            f"There is no weight distribution {weights!r}; choose one of "
            f"{', '.join(known)}, or pass an array with one weight per investor."
        )
    return family(weights).drawn(Shape(mean, sd), count, rng)


def _given_weights(weights: ArrayLike, count: int) -> FloatArray:
    given = np.array(weights, dtype=np.float64)
    if given.shape != (count,):
        raise InvalidInput(
            f"The weights have shape {given.shape}; {count} investors need exactly "
            f"{count} weights in one row."
        )
    outside = ~((given >= 0.0) & (given <= 1.0))
    if outside.any():
        first = int(np.argmax(outside))
        raise InvalidInput(
            f"The weight of investor {first + 1} is {given[first]:g}; weights lie between 0 and 1."
        )
    return given


def observe(
    problem: Problem,
    theta: FloatArray,
    weights: FloatArray,
    exact: FloatArray,
    noise: str,
    noise_level: float,
    rng: np.random.Generator,
) -> FloatArray:
    """What an observer sees of the best portfolios `exact`; the rules are in simulate_investors.

    Args:
        problem: What is decided, and which theta are possible.
        theta: The yearly expected returns that the investors believe in.
        weights: Of each investor on return, 0 to 1.
        exact: The best portfolio of each investor in a row, fractions of wealth.
        noise: How the portfolios are observed.
        noise_level: How coarsely, in fractions of wealth.
        rng: Where random numbers come from.

    Returns:
        One portfolio in each row, fractions of wealth.
    """
    if noise not in NOISES:
        raise InvalidInput(f"There is no noise {noise!r}; choose one of {', '.join(NOISES)}.")
    if noise == "none":
        return exact
    if not (noise_level > 0.0 and np.isfinite(noise_level)):
        raise InvalidInput(
            f"The noise level is {noise_level:g}; give a positive number, or noise='none'."
        )
    if noise == "round":
        return round_portfolios(exact, noise_level)
    if noise == "dirichlet":
        return _dirichlet(exact, noise_level, rng)
    if noise == "epsilon":
        return _nearly_best(problem, theta, weights, exact, noise_level, rng)
    if noise == "gaussian":
        error = rng.normal(0.0, noise_level, exact.shape)
    else:
        error = rng.uniform(-noise_level, noise_level, exact.shape)
    held = np.maximum(exact + error, 0.0)
    totals = held.sum(axis=1, keepdims=True)
    # Only an error far larger than the portfolio itself wipes out every holding; such an investor
    # is then seen without the error rather than without a portfolio.
    return np.where(totals > 0.0, held / np.where(totals > 0.0, totals, 1.0), exact)


def _dirichlet(exact: FloatArray, level: float, rng: np.random.Generator) -> FloatArray:
    if level >= 0.5:
        raise InvalidInput(
            f"The noise level is {level:g}; a holding of one half cannot have a standard "
            "deviation of 0.5 or more. Give a smaller one, 0.01 say."
        )
    concentration = 0.25 / level**2 - 1.0
    drawn = rng.standard_gamma(concentration * exact)
    totals = drawn.sum(axis=1, keepdims=True)
    # A concentration near zero can underflow to nothing; that investor is seen as she is.
    return np.where(totals > 0.0, drawn / np.where(totals > 0.0, totals, 1.0), exact)


def _nearly_best(
    problem: Problem,
    theta: FloatArray,
    weights: FloatArray,
    exact: FloatArray,
    epsilon: float,
    rng: np.random.Generator,
) -> FloatArray:
    """Walk from the best portfolio towards a random feasible one, as far as the objective allows.

    Along x + t d the objective falls by t g + t^2 q with g, q >= 0, because x is the best. The
    loss that is accepted is uniform between zero and epsilon; t solves for it, up to t = 1.
    """
    towards = _random_feasible(problem.upper, len(exact), rng) - exact
    accepted = epsilon * rng.uniform(0.0, 1.0, len(exact))
    covariance = problem.covariance
    slope = 2.0 * (1.0 - weights) * np.einsum("ti,ij,tj->t", exact, covariance, towards)
    slope = np.maximum(slope - weights * (towards @ theta), 0.0)  # below zero by rounding only
    curvature = (1.0 - weights) * np.einsum("ti,ij,tj->t", towards, covariance, towards)
    # the root of curvature t^2 + slope t = accepted, in the form that takes no difference
    below = slope + np.sqrt(slope**2 + 4.0 * curvature * accepted)
    step = np.where(below > 0.0, 2.0 * accepted / np.where(below > 0.0, below, 1.0), 1.0)
    moved = exact + np.minimum(step, 1.0)[:, None] * towards
    return np.asarray(np.clip(moved, 0.0, problem.upper), dtype=np.float64)


def _random_feasible(caps: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Portfolios within the caps: mixtures of corners, each of which fills assets in some order."""
    mixed = np.zeros((count, caps.size))
    shares = rng.dirichlet(np.ones(CORNERS), count)
    for corner in range(CORNERS):
        order = rng.permuted(np.tile(np.arange(caps.size), (count, 1)), axis=1)
        room = np.cumsum(caps[order], axis=1)
        filled = np.diff(np.minimum(room, 1.0), axis=1, prepend=0.0)
        vertex = np.empty_like(filled)
        np.put_along_axis(vertex, order, filled, axis=1)
        mixed += shares[:, corner, None] * vertex
    return mixed


def round_portfolios(portfolios: ArrayLike, step: float) -> FloatArray:
    """Round each portfolio to multiples of `step` so that it still sums to one.

    Every holding is rounded down; the steps left over go to the largest remainders.

    >>> round_portfolios([[1 / 3, 1 / 3, 1 / 3]], 0.01)
    array([[0.34, 0.33, 0.33]])
    """
    steps = round(1.0 / step) if 0.0 < step <= 1.0 else 0
    if steps < 1 or abs(steps * step - 1.0) > WHOLE_NUMBER_TOLERANCE:
        raise InvalidInput(
            f"Portfolios cannot be rounded to steps of {step:g}; the step must divide 1, "
            "as 0.01 and 0.001 do."
        )
    held = np.maximum(np.asarray(portfolios, dtype=np.float64), 0.0)
    scaled = held / held.sum(axis=1, keepdims=True) * steps
    whole = np.floor(scaled)
    missing = np.rint(steps - whole.sum(axis=1)).astype(np.int64)
    rank = np.argsort(np.argsort(whole - scaled, axis=1, kind="stable"), axis=1, kind="stable")
    whole += rank < missing[:, None]
    return np.asarray(whole / steps, dtype=np.float64)
