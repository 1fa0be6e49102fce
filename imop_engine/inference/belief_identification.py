"""Intervals for returns that were read off first-order conditions, where beliefs differ.

Standard errors are the sandwich of the likelihood, investors' own numbers profiled out. What two
unknown numbers for each investor do to the estimate is found by drawing the study again: investors
who disagree as much as these do choose portfolios, and the returns are estimated from those.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import ImopError, InvalidInput
from imop_engine.frontier import efficient_frontier, traced
from imop_engine.identified_subspace import IdentifiedSubspace
from imop_engine.inference.bounds import return_bounds
from imop_engine.inference.estimating_equations import Refined, least_investors, unexplained
from imop_engine.inference.first_order import (
    BeliefFit,
    Positions,
    anchored,
    belief_covariance,
    fit_beliefs,
    pseudo_inverse,
)
from imop_engine.inference.fit import Noise, estimate_noise
from imop_engine.inference.identify import Counts, Identification, report
from imop_engine.inference.information import information
from imop_engine.inference.sources import GivenErrors, Sources
from imop_engine.problem import Problem

MOST_DRAWN: Final = 1500  # investors whose portfolios are drawn again
STRAYS: Final = 3.0  # standard deviations of strays that holdings up to `tiny` are


@dataclass(frozen=True, eq=False)
class WholeBeliefs:
    """What everybody says at the most likely beliefs, where only a sample is at hand.

    Args:
        beliefs: the common returns, mean zero, in units of the disagreement.
        information: of the beliefs, investors' own numbers profiled out.
        outer: sum of squared scores.
        used: investors who take part.
        counts: how many investors say something of each asset.
    """

    beliefs: Vector
    information: Matrix
    outer: Matrix
    used: float
    counts: Counts

    def covariance(self, informed: NDArray[np.bool_]) -> Matrix:
        """Of the beliefs: the sandwich of information and squared scores.

        Args:
            informed: assets that enough investors hold.
        """
        inverse = pseudo_inverse(self.information, informed)
        inflate = self.used / max(1.0, self.used - float(informed.sum()))
        result: Matrix = inflate * (inverse @ self.outer @ inverse)
        return result


def identification_of_beliefs(
    problem: Problem,
    theta: Vector,
    Y: Matrix,
    fit: BeliefFit,
    tiny: float,
    level: float,
    seed: int,
    clusters: NDArray[np.int64] | None,
    given: GivenErrors,
    whole: WholeBeliefs | None = None,
    reported: Matrix | None = None,
) -> Identification:
    """What is known of each return where investors differ in their beliefs.

    Args:
        problem: a portfolio problem with anchors.
        theta: the estimate, yearly.
        Y: one row for each investor who takes part, fractions of wealth.
        fit: the maximum of the likelihood behind theta.
        tiny: holdings up to this count as errors.
        level: confidence of the intervals.
        seed: of the study that is drawn again.
        clusters: a number for each row; rows with the same number err together.
        given: how far the covariance and the anchors are known.
        whole: sums over all investors, where `Y` is only an even sample of them, and `fit` its own:
            standard errors are of everybody then, bias and bounds are those of the sample.
        reported: the same portfolios as the file has them, where the others were completed or had
            tilts taken off: who holds an asset is counted in these. None: they are the same.
    """
    beliefs = fit.beliefs if whole is None else whole.beliefs
    at = anchored(problem, beliefs)
    errors = belief_covariance(fit, clusters) if whole is None else whole.covariance(fit.informed)
    sample = at.response @ errors @ at.response.T
    bias, dispersion = _replayed(problem, fit, tiny, seed)
    info = information(efficient_frontier(problem, theta), Y)
    try:
        noise = estimate_noise(info.frontier, Y, info.projection)
    except InvalidInput:
        noise = Noise(0.0, 0)
    subspace = IdentifiedSubspace.of(problem.theta, fit.information)
    strays = tiny / STRAYS
    sources = Sources.of(sample, given, bias)
    rows_of_one = 1.0 if clusters is None else len(Y) / len(np.unique(clusters))
    accounts = (Y,) if reported is None else (Y, reported)
    bounds = return_bounds(info, accounts, sources, max(strays, 1e-6), level, rows_of_one)
    positions = Positions.of(problem, Y, tiny)
    holding = (positions.held | positions.capped).sum(axis=0)
    if reported is not None:
        holding = (tiny < reported).sum(axis=0)
    lost = np.where(fit.informed, 0, unexplained(info, Y, noise.sd).sum(axis=0))
    counts = Counts(len(Y), positions.held.sum(axis=0), lost, holding)
    if whole is not None:
        subspace = IdentifiedSubspace.of(problem.theta, whole.information)
        counts = whole.counts
    return report(
        problem, theta, Refined(theta, 0, fit.converged, 0.0), counts, subspace,
        sources, bounds, noise, level, dispersion,
    )  # fmt: skip


def _replayed(problem: Problem, fit: BeliefFit, tiny: float, seed: int) -> tuple[Vector, float]:
    """What the estimate of such a study is off by, and the dispersion without that error."""
    here = anchored(problem, fit.beliefs)
    rng = np.random.default_rng(seed)
    some = np.flatnonzero(fit.used)
    some = some[:: -(-len(some) // MOST_DRAWN)]
    drawn = draw_disagreeing(problem, fit.beliefs, 1.0 / fit.prices[some], rng)
    strayed = np.maximum(drawn + rng.normal(0.0, tiny / STRAYS, drawn.shape), 0.0)
    strayed /= strayed.sum(axis=1, keepdims=True)
    try:
        again = fit_beliefs(
            problem, Positions.of(problem, strayed, tiny), least_holders=least_investors(len(some))
        )
    except ImopError:
        return np.zeros(problem.n), here.dispersion
    there = anchored(problem, again.beliefs)
    both = fit.informed & again.informed
    bias = np.where(both, there.theta - here.theta, 0.0)
    ratio = here.dispersion / there.dispersion if there.dispersion > 0 else 1.0
    return bias, here.dispersion * float(np.clip(ratio, 0.5, 2.0))


def draw_disagreeing(
    problem: Problem, beliefs: Vector, prices: Vector, rng: np.random.Generator
) -> Matrix:
    """Portfolios of investors whose beliefs differ from the common ones by one, each its own way.

    Args:
        problem: a portfolio problem.
        beliefs: the common returns in units of the disagreement.
        prices: lam of each investor in the same units.
        rng: where random numbers come from.

    Returns:
        One efficient portfolio in each row, fractions of wealth.
    """
    n = problem.n
    own = beliefs + rng.normal(size=(len(prices), n))
    chosen = np.empty((len(prices), n))
    for i, lam in enumerate(prices):
        path, count = traced(problem, own[i], float(lam))
        last = count - 1
        while last > 0 and path.lams[last] > lam:
            last -= 1
        step = max(0.0, float(lam) - float(path.lams[last]))
        moved = path.xs[last] + step * path.ds[last]
        chosen[i] = np.clip(moved, problem.lower, problem.upper)
    total = chosen.sum(axis=1, keepdims=True)
    result: Matrix = chosen / np.where(total > 0, total, 1.0)
    return result
