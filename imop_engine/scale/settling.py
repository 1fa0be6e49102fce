"""Returns from sums over everybody, under the choices that the study of the sample has made.

The sample says how investors err, who is no investor of this frontier, which assets are held at
all. What is left is one equation for all of them, and its terms are sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from imop_engine.arguments import Matrix, Vector
from imop_engine.inference.belief_sums import BeliefSums, MostLikely, most_likely, size_of
from imop_engine.inference.estimating_equations import (
    SMALL_IN_ERRORS,
    Point,
    Refined,
    ScoreSums,
    balance,
    least_investors,
    point_of,
)
from imop_engine.inference.estimators import BELIEFS, HOLDINGS, IMPLIED, implied
from imop_engine.inference.first_order import Positions, anchored, fit_beliefs
from imop_engine.inference.held_assets import below_bounds, given_back, only_held
from imop_engine.problem import Problem
from imop_engine.scale import looks
from imop_engine.scale.looks import BeliefsOrder, Columns, HoldingsOrder, Lot
from imop_engine.study.outcome import Study
from imop_engine.workers import Workers, in_order

SAMPLE: Final = "of the sample"  # where nothing of everybody can be summed up

Tell = Callable[[str, int, int], None]  # what is done, parts done, parts in all


@dataclass(frozen=True, eq=False)
class Choices:
    """What the study of the sample has settled for everybody.

    Args:
        way: which errors investors make, a name of `ESTIMATORS`; or SAMPLE.
        problem: that the returns solve, with the covariance that was fitted where one was.
        theta: where the sample's own estimate is.
        limit: the distance beyond which somebody is set aside.
        tiny: holdings up to this count as errors.
        noise_sd: error in a single holding.
        held: which assets are, beyond errors.
        sample: portfolios of the sample that take part.
    """

    way: str
    problem: Problem
    theta: Vector
    limit: float
    tiny: float
    noise_sd: float
    held: np.ndarray
    sample: Matrix

    @classmethod
    def of(cls, study: Study) -> Choices:
        """What a study has chosen.

        Args:
            study: of the sample.
        """
        estimate = study.estimate
        assert estimate is not None  # a study of a sample is always settled
        found = estimate.found
        every = np.ones(study.problem.n, bool)
        held = every if found.solution.held is None else found.solution.held
        Y = np.ascontiguousarray(study.decisions.to_numpy(dtype=float))
        likelihood = estimate.likelihood(Y) is not None
        way = BELIEFS if likelihood else found.way if found.way == IMPLIED else HOLDINGS
        if estimate.adjusted is not None:
            way = SAMPLE
        noise_sd = found.noise_sd if estimate.joint is None else estimate.joint.noise_sd
        return cls(
            way, estimate.problem, estimate.theta, found.limit, found.tiny, noise_sd, held,
            Y[estimate.kept],
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Settled:
    """Returns that everybody together asks for.

    Args:
        theta: yearly.
        way: how they were found.
        passes: how often all portfolios were read for it.
        solution: of the estimating equations, where they were solved.
        order: at which they were.
        beliefs: the maximum of the likelihood, where that was asked.
        informed: assets that take part in that.
    """

    theta: Vector
    way: str
    passes: int
    solution: Refined | None = None
    order: HoldingsOrder | None = None
    beliefs: MostLikely | None = None
    informed: np.ndarray | None = None

    @property
    def converged(self) -> bool:
        """Whether the search ended where it should."""
        ends = [one.converged for one in (self.solution, self.beliefs) if one is not None]
        return all(ends)


def settle(
    workers: Workers,
    lots: Sequence[Lot],
    columns: Columns,
    choices: Choices,
    tell: Tell,
    enough: float = SMALL_IN_ERRORS,
) -> Settled:
    """The returns that everybody who takes part asks for.

    Args:
        workers: who reads the portfolios.
        lots: the portfolios, and who takes part.
        columns: what is read of them.
        choices: what the study of the sample has settled.
        tell: called while they are read.
        enough: the step, in standard errors of everybody, below which the search ends.
    """
    if choices.way == SAMPLE:
        return Settled(choices.theta, SAMPLE, 0)
    if choices.way == IMPLIED:
        found = in_order(workers, looks.kept_total, lots, columns, _told(tell, 1))
        total, count = sum(one[0] for one in found), sum(one[1] for one in found)
        mean = np.asarray(total) / count
        return Settled(implied(choices.problem, mean[None], 0.0, mean).theta, IMPLIED, 1)
    if choices.way == BELIEFS:
        return _most_likely(workers, lots, columns, choices, tell, enough)
    return _balanced(workers, lots, columns, choices, tell, enough)


def _balanced(
    workers: Workers,
    lots: Sequence[Lot],
    columns: Columns,
    choices: Choices,
    tell: Tell,
    enough: float,
) -> Settled:
    problem, passes = only_held(choices.problem, choices.held), 0
    order = HoldingsOrder(columns, problem, choices.held, choices.theta, choices.noise_sd)

    def at(theta: Vector) -> Point:
        nonlocal passes
        passes += 1
        asked = replace(order, theta=theta)
        found = in_order(workers, looks.holdings_sums, lots, asked, _told(tell, passes))
        sums: ScoreSums = sum(found[1:], found[0])
        usual = float(np.sqrt(sums.loss / max(1.0, sums.count) / problem.n))
        return point_of(problem, theta, sums, max(choices.noise_sd, usual))

    start = problem.theta.nearest(choices.theta)
    solution = balance(problem, start, at, enough)
    cleaned = given_back(choices.sample, choices.held)
    theta = below_bounds(choices.problem, cleaned, solution.theta, choices.held)
    return Settled(
        theta, HOLDINGS, passes, replace(solution, theta=theta),
        replace(order, theta=solution.theta),
    )  # fmt: skip


def _most_likely(
    workers: Workers,
    lots: Sequence[Lot],
    columns: Columns,
    choices: Choices,
    tell: Tell,
    enough: float,
) -> Settled:
    problem, passes = choices.problem, 0
    positions = Positions.of(problem, choices.sample, choices.tiny)
    least = least_investors(len(choices.sample))
    fit = fit_beliefs(problem, positions, least_holders=least)
    informed = fit.informed
    size = size_of(problem, positions, informed)
    order = BeliefsOrder(
        columns, problem, choices.tiny, informed, fit.beliefs[informed], size
    )  # fmt: skip

    def at(beliefs: Vector) -> BeliefSums:
        nonlocal passes
        passes += 1
        asked = replace(order, beliefs=beliefs)
        found = in_order(workers, looks.beliefs_sums, lots, asked, _told(tell, passes))
        return sum(found[1:], found[0])

    found = most_likely(order.beliefs, at, enough)
    # assets that too few hold stay where the sample has them, against the others
    beliefs = fit.beliefs.copy()
    beliefs[informed] = found.beliefs + fit.beliefs[informed].mean()
    theta = problem.theta.nearest(anchored(problem, beliefs).theta)
    return Settled(theta, BELIEFS, passes, beliefs=found, informed=informed)


def _told(tell: Tell, number: int) -> Callable[[int, int], None]:
    return lambda done, total: tell(f"settling, round {number}", done, total)
