"""Two ways to read common beliefs from portfolios, and the baseline they must beat.

Each asks something else of the errors. Which one is right for a file is decided by the errors
themselves, never by the loss: the distance to a frontier can be made smaller than that to the true
one, out of sample too, by beliefs that follow departures which are no errors at all. In trials with
beliefs that differ by 3 % the nearest frontier explained half of the differences where the true one
explained a third, and was ten times further off.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import ImopError, InvalidInput
from imop_engine.frontier import efficient_frontier
from imop_engine.inference.estimating_equations import (
    Refined,
    least_investors,
    refine_counts,
)
from imop_engine.inference.first_order import BeliefFit, Positions, anchored, fit_beliefs
from imop_engine.inference.fit import estimate_noise, implied_returns
from imop_engine.inference.held_assets import (
    NEIGHBOURS,
    below_bounds,
    given_back,
    held_assets,
    only_held,
)
from imop_engine.inference.trimming import STRAYS, coarse_holding
from imop_engine.least_squares import polish
from imop_engine.problem import Problem
from imop_engine.weights import lam_of

HOLDINGS: Final = "errors in holdings"
BELIEFS: Final = "beliefs differ"
IMPLIED: Final = "implied returns"
# Independent errors in holdings up to this are what intervals were seen to hold for. Larger ones
# must show in assets that an investor cannot want, too (`trimming.stray_limit`): where nothing
# strays there, investors depart from the frontier for reasons of their own, not by error.
SMALL_ERRORS: Final = 0.02
# Two local searches take turns, because each gets over what stops the other: `polish` takes the
# steepest way down in the squared distances, `refine` solves the estimating equations.
TURNS: Final = 4
GAINED: Final = 0.01  # of the squared distances; less is no reason for another turn
# The solution of the estimating equations may be this much worse than the least squares and still
# be the better answer: those take small holdings that are noise for belief.
SLACK: Final = 0.5
CHOSEN_AGAIN: Final = 3  # times that the held assets are chosen by the last estimate
# Standard errors that may be left of a search whose result is only judged on other investors: a
# tenth adds a hundredth to what half of them cannot know anyway.
NEAR_ENOUGH: Final = 0.1
ALL_DIGITS: Final = 1e-6  # the same of the estimate itself: where it began does not show


@dataclass(frozen=True, eq=False)
class Fitted:
    """One estimate of the returns, and what it rests on."""

    theta: Vector
    solution: Refined | None = None
    beliefs: BeliefFit | None = None
    held: NDArray[np.bool_] | None = None  # assets that are held beyond errors; None: all count


class Estimator(Protocol):
    """Fits returns to portfolios; `start` is where a search may begin."""

    def __call__(self, problem: Problem, Y: Matrix, tiny: float, start: Vector) -> Fitted:
        """Fit."""
        ...


def errors_in_holdings(problem: Problem, Y: Matrix, tiny: float, start: Vector) -> Fitted:
    """The solution of the estimating equations: errors are in the holdings, independent.

    Args:
        problem: a portfolio problem with anchors.
        Y: one row for each investor, fractions of wealth.
        tiny: holdings up to this are errors, three standard deviations of them.
        start: yearly returns.
    """
    if len(Y) < NEIGHBOURS:
        return replace(_among_held(problem, Y, np.ones(problem.n, bool), start), held=None)
    found, held = Fitted(start), _held(problem, Y, tiny, start)
    for _ in range(CHOSEN_AGAIN):
        found = _among_held(problem, Y, held, found.theta)
        again = _held(problem, Y, tiny, found.theta)
        if np.all(again == held):
            break
        held = again
    return found


def _held(problem: Problem, Y: Matrix, tiny: float, theta: Vector) -> NDArray[np.bool_]:
    """Which assets are held, by neighbours along the frontier of theta."""
    frontier = efficient_frontier(problem, theta)
    projection = frontier.project(Y)
    sd = tiny / STRAYS
    if tiny >= coarse_holding(problem.n):  # measured only up to there
        with suppress(InvalidInput):
            sd = float(np.clip(estimate_noise(frontier, Y, projection).sd, sd, tiny))
    return held_assets(Y, lam_of(projection.weights), sd)


def _among_held(problem: Problem, Y: Matrix, held: NDArray[np.bool_], start: Vector) -> Fitted:
    """The solution for the held assets, and the others at most where nobody would hold them."""
    inside, cleaned = only_held(problem, held), given_back(Y, held)
    best, least = start, total_loss(inside, cleaned, start)
    solution: Refined | None = None
    for _ in range(TURNS):
        before = least
        polished = polish(inside, cleaned, best).theta
        loss = total_loss(inside, cleaned, polished)
        if loss < least:
            best, least = polished, loss
        if solution is not None and least >= (1.0 - GAINED) * before:
            break  # nothing nearer: the equations are solved here already
        solution = refine_counts(
            inside, cleaned, best, enough=ALL_DIGITS, every=len(Y) >= NEIGHBOURS
        )
        loss = total_loss(inside, cleaned, solution.theta)
        if loss < least:
            best, least = solution.theta, loss
        if least >= (1.0 - GAINED) * before:
            break
    if solution is None or total_loss(inside, cleaned, solution.theta) > (1.0 + SLACK) * least:
        return Fitted(below_bounds(problem, cleaned, best, held), held=held)
    theta = below_bounds(problem, cleaned, solution.theta, held)
    return Fitted(theta, replace(solution, theta=theta), held=held)


def beliefs_differ(problem: Problem, Y: Matrix, tiny: float, start: Vector) -> Fitted:
    """The most likely beliefs by the first-order conditions: investors differ in their beliefs.

    Args:
        problem: a portfolio problem with anchors.
        Y: one row for each investor, fractions of wealth.
        tiny: holdings up to this are errors.
        start: not used; the likelihood has one maximum.
    """
    del start
    positions = Positions.of(problem, Y, tiny)
    fit = fit_beliefs(problem, positions, least_holders=least_investors(len(Y)))
    return Fitted(problem.theta.nearest(anchored(problem, fit.beliefs).theta), beliefs=fit)


def implied(problem: Problem, Y: Matrix, tiny: float, start: Vector) -> Fitted:
    """The returns under which the average portfolio is optimal, on the anchors.

    Args:
        problem: a portfolio problem with anchors.
        Y: one row for each investor, fractions of wealth.
        tiny: not used.
        start: not used.
    """
    del tiny, start
    found = anchored(problem, implied_returns(problem, Y.mean(axis=0)))
    return Fitted(problem.theta.nearest(found.theta))


ESTIMATORS: Final[dict[str, Estimator]] = {
    BELIEFS: beliefs_differ,
    HOLDINGS: errors_in_holdings,
    IMPLIED: implied,
}


def way_of_errors(noise_sd: float, tiny: float, saturated: float) -> str:
    """Which errors investors make: in their holdings, or by beliefs of their own.

    Args:
        noise_sd: error in a single holding around the frontier of `errors_in_holdings`.
        tiny: holdings up to this count as strays; zero where nothing strays.
        saturated: the largest `tiny` that is measured.
    """
    return HOLDINGS if noise_sd <= SMALL_ERRORS or tiny >= saturated else BELIEFS


def explained_elsewhere(
    problem: Problem,
    Y: Matrix,
    tiny: float,
    fitted: dict[str, Fitted],
    folds: NDArray[np.int64],
) -> dict[str, float]:
    """Fit each way to either half of the investors and judge it on the other half.

    Args:
        problem: a portfolio problem with anchors.
        Y: one row for each investor, fractions of wealth.
        tiny: holdings up to this are errors.
        fitted: the estimates from all of them, by name; where searches begin.
        folds: 0 or 1 for each row; rows of one investor are on the same side.

    Returns:
        By name, the share of the differences between portfolios that is explained.
    """
    spread = sum(
        float(np.sum((Y[folds == fold] - Y[folds != fold].mean(axis=0)) ** 2)) for fold in (0, 1)
    )
    shares = {}
    for name in fitted:
        missed = 0.0
        for fold in (0, 1):
            inside, outside = Y[folds != fold], Y[folds == fold]
            try:
                found = _again(problem, inside, tiny, name, fitted[name].theta)
                missed += total_loss(problem, outside, found)
            except (ImopError, np.linalg.LinAlgError):
                missed = np.inf
        shares[name] = 1.0 - missed / spread if spread > 0 else float(missed == 0.0)
    return shares


def _again(problem: Problem, Y: Matrix, tiny: float, name: str, theta: Vector) -> Vector:
    """The estimate by one way from some of the investors, near that from all of them."""
    if name != HOLDINGS:
        return ESTIMATORS[name](problem, Y, tiny, theta).theta
    enough = len(Y) >= NEIGHBOURS
    held = _held(problem, Y, tiny, theta) if enough else np.ones(problem.n, bool)
    inside, cleaned = only_held(problem, held), given_back(Y, held)
    found = refine_counts(inside, cleaned, theta, enough=NEAR_ENOUGH, every=enough).theta
    found = below_bounds(problem, cleaned, found, held)
    worse = total_loss(problem, Y, found) > (1.0 + SLACK) * total_loss(problem, Y, theta)
    return theta if worse else found


def total_loss(problem: Problem, Y: Matrix, theta: Vector) -> float:
    """Squared distances of all portfolios to the frontier of theta.

    Args:
        problem: a portfolio problem.
        Y: one row for each investor, fractions of wealth.
        theta: yearly expected returns.
    """
    distances = efficient_frontier(problem, theta).project(Y).distances
    return float(np.sum(distances**2))
