"""One answer from all portfolios: who takes part, which errors they make, what they believe.

The steps, each visible in the result: holdings that strayed are measured; investors whom no common
frontier explains are set aside (trimming.py); returns are read in several ways, and
the way that fits the errors they make is taken (estimators.py says how that is seen).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.efficiency_gap.fit import fit_efficiency
from imop_engine.errors import ImopError, InvalidInput
from imop_engine.frontier import efficient_frontier
from imop_engine.gauge import gauge_of
from imop_engine.inference.bias_simulation import rounding_step
from imop_engine.inference.estimating_equations import least_investors
from imop_engine.inference.estimators import (
    BELIEFS,
    ESTIMATORS,
    HOLDINGS,
    IMPLIED,
    Fitted,
    explained_elsewhere,
    way_of_errors,
)
from imop_engine.inference.first_order import Positions, anchored
from imop_engine.inference.fit import AT_BOUND, estimate_noise, implied_returns
from imop_engine.inference.trimming import (
    Trimmed,
    coarse_holding,
    cut_loss,
    everyone,
    far_limit,
    stray_limit,
    trim,
)
from imop_engine.problem import Problem
from imop_engine.progress import note

# Ways are compared on this many portfolios at most, evenly spread; the chosen one sees them all.
COMPARED: Final = 1000
# The set that takes part is chosen again by the estimate's own distances while it changes by more
# than this share, twice at most.
SAME_SET: Final = 0.005
CHOSEN_AGAIN: Final = 2
FEW_TO_COMPARE: Final = 10  # in a half; fewer say nothing


@dataclass(frozen=True, eq=False)
class Estimate:
    """What all portfolios together say, and by which way.

    Args:
        problem: the problem that the returns solve.
        theta: yearly expected returns.
        way: which errors the investors are taken to make, a name of `ESTIMATORS`.
        kept: who takes part.
        limit: the distance beyond which an investor was set aside.
        tiny: holdings up to this count as errors.
        noise_sd: error in a single holding of those who take part, fractions of wealth.
        fitted: the estimate of each way from those who take part.
        explained: by way, the share of the differences between portfolios that is explained among
            investors it was not fitted to; empty: too few to say.
        everyone: the returns by the same way from everybody, where somebody was set aside.
        notes: what did not go as it should.
    """

    problem: Problem
    theta: Vector
    way: str
    kept: NDArray[np.bool_]
    limit: float
    tiny: float
    noise_sd: float
    fitted: dict[str, Fitted] = field(repr=False)
    explained: dict[str, float]
    everyone: Vector | None
    notes: tuple[str, ...] = ()

    @property
    def solution(self) -> Fitted:
        """The chosen estimate."""
        return self.fitted[self.way]


def estimate_returns(
    problem: Problem,
    Y: Matrix,
    starts: tuple[Vector, ...] = (),
    clusters: NDArray[np.int64] | None = None,
    trimming: bool = True,
    way: str | None = None,
    history: Vector | None = None,
) -> Estimate:
    """Estimate the returns that investors believe in from all portfolios together.

    Args:
        problem: a portfolio problem with anchors.
        Y: one row for each investor, fractions of wealth.
        starts: other returns that a search may begin from, a learner's say.
        clusters: a number for each row; rows with the same number are of one investor.
        trimming: whether investors far from every common frontier are set aside.
        way: the name of one way, where the analyst has chosen; None compares them.
        history: yearly returns for assets that too few hold: what portfolios allow of them is at
            most a bound, so they keep these up to it. None: they are at their bound.

    Returns:
        The estimate, who takes part in it, and how the ways compare.
    """
    Y = np.ascontiguousarray(Y)  # sums of a frame's columns would round in another order
    if not gauge_of(problem.theta.equalities, problem.theta.values).fixed:
        return _without_scale(problem, Y, starts)
    least = least_investors(len(Y))
    tiny = stray_limit(problem, Y, least)
    found = trim(problem, Y, tiny, least) if trimming else _all_of(problem, Y)
    kept, limit = found.kept, found.limit
    trimming = bool(np.isfinite(limit))  # else there is no core to tell strangers from
    note(0.2)
    begin = (anchored(problem, found.theta).theta, *starts)
    fitted, notes = _fits(problem, Y[kept], tiny, begin, history)
    note(0.6)
    own = np.arange(len(Y)) if clusters is None else clusters
    chosen = way if way in fitted else _way(problem, Y[kept], tiny, fitted)
    explained = _explained(problem, Y[kept], tiny, fitted, own[kept])
    note(0.8)
    for _ in range(CHOSEN_AGAIN if trimming else 0):
        distances = _distances(problem, Y, fitted[chosen].theta)
        limit = far_limit(distances)
        again = distances <= limit
        if np.mean(again != kept) <= SAME_SET:
            break
        kept = again
        fitted[chosen] = ESTIMATORS[chosen](problem, Y[kept], tiny, fitted[chosen].theta)
    with_everyone = None
    if not kept.all():
        with_all = ESTIMATORS[chosen](problem, Y, tiny, fitted[chosen].theta)
        there = _distances(problem, Y, with_all.theta)
        # those set aside may only have needed their own asset to be worth holding
        if cut_loss(there, limit) < cut_loss(_distances(problem, Y, fitted[chosen].theta), limit):
            kept = there <= limit
            fitted[chosen] = ESTIMATORS[chosen](problem, Y[kept], tiny, with_all.theta)
        with_everyone = None if kept.all() else with_all.theta
    theta = fitted[chosen].theta
    noise_sd = _noise(problem, Y[kept], theta)
    return Estimate(
        problem, theta, chosen, kept, limit, tiny, noise_sd, fitted, explained, with_everyone, notes
    )


def _noise(problem: Problem, Y: Matrix, theta: Vector) -> float:
    frontier = efficient_frontier(problem, theta)
    try:
        return estimate_noise(frontier, Y, frontier.project(Y)).sd
    except InvalidInput:  # too few residuals: the plain size of what is left
        return float(np.sqrt(np.mean((Y - frontier.project(Y).points) ** 2)))


def _unheld_by_history(
    problem: Problem, Y: Matrix, theta: Vector, tiny: float, history: Vector | None
) -> Vector:
    """Returns of assets that too few hold no higher than the history has them."""
    if history is None:
        return theta
    holders = np.sum(tiny < Y, axis=0)
    unheld = holders < least_investors(len(Y))
    unheld &= ~np.any(np.abs(problem.theta.equalities) > AT_BOUND, axis=0)
    return np.where(unheld, np.minimum(theta, history), theta)


def _without_scale(problem: Problem, Y: Matrix, starts: tuple[Vector, ...]) -> Estimate:
    """Where anchors leave shift or scale open, returns are settled where the search has come."""
    start = problem.theta.nearest(starts[0] if starts else np.zeros(problem.n))
    fitted = {HOLDINGS: ESTIMATORS[HOLDINGS](problem, Y, 0.0, start)}
    theta = fitted[HOLDINGS].theta
    nobody = np.ones(len(Y), bool)
    noise_sd = _noise(problem, Y, theta)
    return Estimate(problem, theta, HOLDINGS, nobody, np.inf, 0.0, noise_sd, fitted, {}, None)


def _all_of(problem: Problem, Y: Matrix) -> Trimmed:
    return everyone(problem, Y, implied_returns(problem, Y.mean(axis=0)))


def _fits(
    problem: Problem,
    Y: Matrix,
    tiny: float,
    starts: tuple[Vector, ...],
    history: Vector | None,
) -> tuple[dict[str, Fitted], tuple[str, ...]]:
    """Each way from the start whose frontier is nearest to the portfolios."""
    others = [ESTIMATORS[IMPLIED](problem, Y, tiny, starts[0]).theta]
    with suppress(ImopError, np.linalg.LinAlgError):  # the others will do
        others.append(fit_efficiency(problem, Positions.of(problem, Y, tiny).portfolios).theta)
    inside = [
        problem.theta.nearest(_unheld_by_history(problem, Y, one, tiny, history))
        for one in (*starts, *others)
        if np.all(np.isfinite(one))
    ]
    losses = [_loss_if_traced(problem, Y, one) for one in inside]
    start = inside[int(np.argmin(losses))]
    fitted: dict[str, Fitted] = {}
    notes = []
    for name, way in ESTIMATORS.items():
        try:
            fitted[name] = way(problem, Y, tiny, start)
        except (ImopError, np.linalg.LinAlgError) as error:
            notes.append(f"{name}: {error}")
    return fitted, tuple(notes)


def _way(problem: Problem, Y: Matrix, tiny: float, fitted: dict[str, Fitted]) -> str:
    if HOLDINGS not in fitted or BELIEFS not in fitted:
        return next(name for name in ESTIMATORS if name in fitted)
    noise_sd = _noise(problem, Y, fitted[HOLDINGS].theta)
    if rounding_step(Y, noise_sd) is not None:
        return HOLDINGS  # steps of 5 % alone leave errors of 2 %, and they are nobody's belief
    return way_of_errors(noise_sd, tiny, coarse_holding(problem.n))


def _explained(
    problem: Problem,
    Y: Matrix,
    tiny: float,
    fitted: dict[str, Fitted],
    clusters: NDArray[np.int64],
) -> dict[str, float]:
    step = -(-len(Y) // COMPARED)
    rows = np.lexsort((*Y.T[::-1], clusters))[::step]  # whatever order they came in
    some, own = Y[rows], clusters[rows]
    sides = np.random.default_rng(0).integers(0, 2, int(own.max(initial=0)) + 1)[own]
    if min(np.sum(sides == 0), np.sum(sides == 1)) < FEW_TO_COMPARE:
        return {}
    return explained_elsewhere(problem, some, tiny, fitted, sides)


def _loss_if_traced(problem: Problem, Y: Matrix, theta: Vector) -> float:
    """Squared distances; infinite where returns that tie to the last digit leave no frontier."""
    try:
        return float(np.sum(_distances(problem, Y, theta) ** 2))
    except ImopError:
        return np.inf


def _distances(problem: Problem, Y: Matrix, theta: Vector) -> Vector:
    return efficient_frontier(problem, theta).project(Y).distances
