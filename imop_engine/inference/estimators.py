"""Two ways to read common beliefs from portfolios, and the baseline they must beat.

Each asks something else of the errors. Which one is right for a file is decided on investors that
it was not fitted to (`choose`), never by the loss at its own solution: that loss falls further
below the truth's the more freely an estimate follows its investors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import ImopError
from imop_engine.frontier import efficient_frontier
from imop_engine.inference.estimating_equations import Refined, least_investors, refine_counts
from imop_engine.inference.first_order import BeliefFit, Positions, anchored, fit_beliefs
from imop_engine.inference.fit import implied_returns
from imop_engine.least_squares import polish
from imop_engine.problem import Problem

HOLDINGS: Final = "errors in holdings"
BELIEFS: Final = "beliefs differ"
IMPLIED: Final = "implied by the average portfolio"
# Squared distances out of sample favour errors in holdings a little even where beliefs differ, as
# that way minimises them: in trials its share was 0.91 to 1.0 of the other's there, and 0.3 to 0.9
# where errors are in holdings. Where next to nothing is unexplained, errors are in holdings.
AS_GOOD: Final = 0.10
LITTLE: Final = 0.03
TINY: Final = 1e-300
# Two turns of least squares and estimating equations; see `settle`.
TURNS: Final = 2
GAINED: Final = 0.01  # of the squared distances; less is no reason for another turn
# The solution of the estimating equations may be this much worse than the least squares and still
# be the better answer: those take small holdings that are noise for belief.
SLACK: Final = 0.5


@dataclass(frozen=True, eq=False)
class Fitted:
    """One estimate of the returns, and what it rests on."""

    theta: Vector
    solution: Refined | None = None
    beliefs: BeliefFit | None = None


class Estimator(Protocol):
    """Fits returns to portfolios; `start` is where a search may begin."""

    def __call__(self, problem: Problem, Y: Matrix, tiny: float, start: Vector) -> Fitted: ...


def errors_in_holdings(problem: Problem, Y: Matrix, tiny: float, start: Vector) -> Fitted:
    """The solution of the estimating equations: errors are in the holdings, independent.

    Args:
        problem: a portfolio problem with anchors.
        Y: one row for each investor, fractions of wealth.
        tiny: not used; strays are measured on the way.
        start: yearly returns.
    """
    del tiny
    best, least = start, _loss(problem, Y, start)
    solution: Refined | None = None
    for _ in range(TURNS):
        before = least
        solution = refine_counts(problem, Y, best)
        loss = _loss(problem, Y, solution.theta)
        if loss < least:
            best, least = solution.theta, loss
        if solution.converged and loss <= (1.0 + SLACK) * least:
            break
        polished = polish(problem, Y, best).theta
        loss = _loss(problem, Y, polished)
        if loss < least:
            best, least = polished, loss
        if least >= (1.0 - GAINED) * before:
            break
    if solution is not None and _loss(problem, Y, solution.theta) <= (1.0 + SLACK) * least:
        return Fitted(solution.theta, solution)
    return Fitted(best)


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


@dataclass(frozen=True, eq=False)
class Choice:
    """Which estimator was chosen, and how each explains investors it was not fitted to.

    Args:
        name: of the chosen one.
        explained: by name, the share of the spread of holdings explained out of sample.
    """

    name: str
    explained: dict[str, float]


def choose(
    problem: Problem,
    Y: Matrix,
    tiny: float,
    fitted: dict[str, Fitted],
    folds: NDArray[np.int64],
) -> Choice:
    """Fit each estimator to either half of the investors and judge it on the other half.

    Errors in holdings are taken where they explain the others clearly better than beliefs that
    differ (a tenth less unexplained, or a tenth more explained), or where hardly anything is left
    to explain; the implied returns where neither explains as much.

    Args:
        problem: a portfolio problem with anchors.
        Y: one row for each investor, fractions of wealth.
        tiny: holdings up to this are errors.
        fitted: the estimates from all of them, by name; where searches begin.
        folds: 0 or 1 for each row; rows of one investor are on the same side.
    """
    missed = {}
    spread = 0.0
    for name in fitted:
        total = 0.0
        for fold in (0, 1):
            inside, outside = Y[folds != fold], Y[folds == fold]
            try:
                found = ESTIMATORS[name](problem, inside, tiny, fitted[name].theta).theta
                total += _loss(problem, outside, found)
            except (ImopError, np.linalg.LinAlgError):
                total = np.inf
        missed[name] = total
    for fold in (0, 1):
        spread += float(np.sum((Y[folds == fold] - Y[folds != fold].mean(axis=0)) ** 2))
    shares = {
        name: 1.0 - value / spread if spread > 0 else float(value == 0.0)
        for name, value in missed.items()
    }
    return Choice(_best(missed, spread), shares)


def _best(missed: dict[str, float], spread: float) -> str:
    ways = [name for name in (BELIEFS, HOLDINGS) if np.isfinite(missed.get(name, np.inf))]
    if not ways:
        return IMPLIED
    chosen = ways[0]
    if len(ways) == 2:
        share = {name: 1.0 - missed[name] / max(spread, TINY) for name in ways}
        clearly = missed[HOLDINGS] < (1.0 - AS_GOOD) * missed[BELIEFS]
        clearly |= share[BELIEFS] < (1.0 - AS_GOOD) * share[HOLDINGS]
        chosen = HOLDINGS if clearly or missed[HOLDINGS] <= LITTLE * spread else BELIEFS
    if missed[chosen] <= missed[IMPLIED]:
        return chosen
    best = min(ways, key=lambda name: missed[name])
    return best if missed[best] <= missed[IMPLIED] else IMPLIED


def _loss(problem: Problem, Y: Matrix, theta: Vector) -> float:
    distances = efficient_frontier(problem, theta).project(Y).distances
    return float(np.sum(distances**2))
