"""Learning from portfolios one by one: the implicit update of the efficiency gap.

    min  1/2 ||r - theta||^2 + rate * gap(y, r)   over r in Theta

is a small convex problem, solved exactly by its dual, and its duality gap is its certificate. The
gap is convex and its gradient is never longer than sqrt(2), so that the regret of a stream grows
like sqrt(T) whatever the decisions are: none of the paper's assumptions is needed. That holds from
any beliefs, so a stream may begin anew where everybody seen so far leaves the least on the table,
as long as it does so at rounds that double.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from imop_engine import kernels
from imop_engine.arguments import Matrix, Vector
from imop_engine.efficiency_gap.curvature import BOLD_UNIT, GapCurvature, pieces, plain
from imop_engine.efficiency_gap.inside import put_inside
from imop_engine.efficiency_gap.measure import (
    NEEDED,
    NOT_A_PORTFOLIO,
    fixes_scale,
    variances_of,
)
from imop_engine.efficiency_gap.seen import SeenInvestors, epochs
from imop_engine.errors import ImopError, InvalidInput
from imop_engine.kernels.at_risk import place_at
from imop_engine.kernels.efficiency import (
    Beliefs,
    GapStep,
    Metric,
    efficiency_round,
    efficiency_run,
)
from imop_engine.problem import Problem
from imop_engine.update import Update, is_certified, is_rate

# A round moves returns by up to eta_t times what the twin holds beyond the portfolio. Where the
# frontier is as curved as returns and variances make it, the gap's curvature is about one over the
# spread of the returns: at eta_t = 30 spreads / sqrt(t), the rate 5 in this unit, a decision of the
# first rounds is believed for the most part, and after a thousand rounds half. Between two fits of
# everybody so far that is enough: of 4 to 70 spreads tried on the paper's securities 4 to 30 ended
# alike and 70 chased rounding; with 100 and 200 assets 30 lost less than 15 in the first rounds.
UNIT: Final = 6.0


@dataclass(frozen=True, eq=False)
class GapMemory:
    """What a stream of gaps carries from round to round, and across calls.

    Attributes:
        price: of risk, where the next search begins; one number.
        state: of each asset there: at its lower bound, free, at its cap.
        average: theta averaged over the rounds, later ones counting more; the last fit stands for
            those before it.
        seen: everybody so far.
        curvature: the metric of algorithm "newton" and what it is made of; None for the others.
    """

    price: Vector
    state: NDArray[np.int8]
    average: Vector
    seen: SeenInvestors
    curvature: GapCurvature | None = None

    @classmethod
    def begin(cls, problem: Problem, theta: Vector, second_order: bool = False) -> GapMemory:
        """Before the first round.

        Args:
            problem: the portfolio problem.
            theta: expected returns to start from.
            second_order: whether updates are scaled by what is known.
        """
        return cls(
            np.ones(1), problem.portfolio.least_variance_state.copy(), theta.copy(),
            SeenInvestors.nobody(theta.size), GapCurvature.begin(problem) if second_order else None,
        )  # fmt: skip

    def copy(self) -> GapMemory:
        """The same, apart."""
        known = None if self.curvature is None else self.curvature.copy()
        return GapMemory(
            self.price.copy(), self.state.copy(), self.average.copy(), self.seen.copy(), known
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Plain arrays by name, to save."""
        found: dict[str, NDArray[Any]] = {
            "gap.price": self.price, "gap.state": self.state, "gap.average": self.average,
            **self.seen.to_arrays(),
        }  # fmt: skip
        known = self.curvature
        if known is not None:
            found |= {f"gap.curvature.{name}": array for name, array in vars(known).items()}
        return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> GapMemory | None:
        """The inverse of `to_arrays`; None if there is nothing of it."""
        if "gap.average" not in arrays:
            return None
        known = None
        if "gap.curvature.matrix" in arrays:
            matrix, inverse, variances = (
                np.array(arrays[f"gap.curvature.{name}"], dtype=float)
                for name in ("matrix", "inverse", "variances")
            )
            stride = np.array(arrays["gap.curvature.stride"], dtype=np.int64)
            known = GapCurvature(matrix, inverse, variances, stride)
        average = np.array(arrays["gap.average"], dtype=float)
        return cls(
            np.array(arrays["gap.price"], dtype=float),
            np.array(arrays["gap.state"], dtype=np.int8),
            average,
            SeenInvestors.from_arrays(arrays, average.size),
            known,
        )


def rate_unit(problem: Problem, second_order: bool = False) -> float:
    """What a rate of 1 is for a problem: it scales with the spread of the anchored returns.

    Args:
        problem: a portfolio problem; without two anchors the spread is a tenth of the box.
        second_order: whether updates are scaled by what is known; they can be bolder.
    """
    return _spread(problem) * (BOLD_UNIT if second_order else UNIT)


def _spread(problem: Problem) -> float:
    A, v = problem.theta.equalities, problem.theta.values
    sums = A.sum(axis=1)
    known = v[sums != 0] / sums[sums != 0]
    spread = float(np.ptp(known)) if known.size > 1 else 0.0
    if spread > 0.0:
        return spread
    box = float(np.min(problem.theta.upper - problem.theta.lower))
    return 0.1 * (box if np.isfinite(box) and box > 0 else 1.0)


def efficiency_update(
    problem: Problem, theta: ArrayLike, decision: ArrayLike, rate: float
) -> Update:
    """One exact implicit update of the beliefs for one portfolio; no weight is needed.

    Args:
        problem: a portfolio problem.
        theta: expected returns before it, a year; within Theta.
        decision: the portfolio that was seen.
        rate: how much it counts against what was believed.

    Returns:
        New returns, the efficient portfolio at the risk of the decision under them, and the
        certificate: objective and bound are those of 1/2 ||r - theta||^2 + rate * gap.

    >>> from imop_engine import portfolio_problem
    >>> problem = portfolio_problem([[0.04, 0.0], [0.0, 0.04]], anchors={0: 0.05})
    >>> update = efficiency_update(problem, [0.05, 0.02], [0.5, 0.5], 1.0)
    >>> update.theta.round(6).tolist(), update.certified
    ([0.05, 0.02], True)
    """
    problem.require(*NEEDED, sentence=NOT_A_PORTFOLIO)
    before = problem.theta.nearest(problem.check_theta(theta))
    if not is_rate(rate):
        raise InvalidInput(f"the rate must be a positive number; got {rate!r}.")
    Y, _ = put_inside(problem, problem.check_decisions(decision))
    if len(Y) != 1:
        raise InvalidInput(f"an update is for one portfolio; got {len(Y)}.")
    memory = GapMemory.begin(problem, before)
    place = place_at(problem.portfolio, memory.price, memory.state)
    arrays, after = problem.portfolio, np.empty(problem.n)
    variance = float(Y[0] @ arrays.covariance @ Y[0])
    step = GapStep(before, Y[0], variance, float(rate), Metric(*plain(problem)))
    gap, objective, bound = efficiency_round(arrays, problem.theta.arrays, step, place, after)
    if np.isnan(gap):
        raise ImopError(FAILED)
    return Update(after, place.x.copy(), objective, bound, is_certified(objective, bound), 1)


FAILED: Final = (
    "no efficient portfolio could be found at the risk of a decision: the covariance is too "
    "ill-conditioned. Shrink it towards its diagonal."
)


def run_gaps(
    problem: Problem,
    theta: Vector,
    Y: Matrix,
    rates: Vector,
    done: int,
    memory: GapMemory,
    out: kernels.RoundsOut,
    fits: bool,
    forgetting: float = 1.0,
) -> tuple[int, GapMemory]:
    """Implicit updates over many portfolios, compiled; between two fits, or in one metric, at once.

    Args:
        problem: a portfolio problem.
        theta: where to start; moved in place.
        Y: the portfolios, one in each row.
        rates: the rate of each round.
        done: how many rounds came before.
        memory: what earlier rounds left; changed in place.
        out: what each round reports, filled in place.
        fits: whether the stream goes to the fit of everybody so far when its rounds have doubled.
        forgetting: what is kept of the curvature each round.

    Returns:
        How many rounds were run, fewer than there are if no efficient portfolio was found; and what
        they leave.
    """
    inside, _ = put_inside(problem, Y)
    place, beliefs = (
        place_at(problem.portfolio, memory.price, memory.state),
        Beliefs(theta, memory.average),
    )
    variances, known = variances_of(problem, inside), memory.curvature
    if known is None:
        fits = fits and fixes_scale(problem)
        metric = Metric(*plain(problem))
        for start, end, fitted in epochs(done, len(Y)):
            rows = slice(start, end)
            ran = efficiency_run(
                problem.portfolio, problem.theta.arrays, metric, beliefs, inside[rows],
                rates[rows], done + start, place, kernels.RoundsOut._make(one[rows] for one in out),
            )  # fmt: skip
            if ran < end - start:
                return start + int(ran), memory
            memory.seen.add(problem, inside[rows], variances[rows])
            if fitted and fits:
                theta[:] = out.thetas[end - 1] = memory.seen.fit(problem, theta)
                memory.average[:] = theta  # the fit is of all rounds before, too
        return len(Y), memory
    for first, last, anew in pieces(done, len(Y)):
        rows = slice(first - done, last - done)
        if anew:
            known = known.at(problem, theta, rates[rows][0], _counted(first, forgetting))
        ran = efficiency_run(
            problem.portfolio, problem.theta.arrays, Metric(known.matrix, known.inverse), beliefs,
            inside[rows], rates[rows], first, place,
            kernels.RoundsOut._make(one[rows] for one in out),
        )  # fmt: skip
        if ran < last - first:
            return first - done + int(ran), memory
        known = known.with_investors(variances[rows], first)
    return len(Y), replace(memory, curvature=known)


def _counted(investors: int, forgetting: float) -> float:
    """How many investors count, if each round keeps only so much of those before."""
    if forgetting == 1.0:
        return float(investors)
    return (1.0 - forgetting**investors) / (1.0 - forgetting)
