"""Learning from portfolios one by one: the implicit update of the efficiency gap.

    min  1/2 ||r - theta||^2 + rate * gap(y, r)   over r in Theta

is a small convex problem, solved exactly by its dual, and its duality gap is its certificate. The
gap is convex and its gradient is never longer than sqrt(2), so that the regret of a stream grows
like sqrt(T) whatever the decisions are: none of the paper's assumptions is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from imop_engine import kernels
from imop_engine.arguments import Matrix, Vector
from imop_engine.efficiency_gap.measure import NEEDED, NOT_A_PORTFOLIO, nearest_inside
from imop_engine.errors import ImopError, InvalidInput
from imop_engine.kernels.at_risk import place_at
from imop_engine.kernels.efficiency import GapStep, efficiency_round, efficiency_run
from imop_engine.problem import Problem
from imop_engine.update import Update, is_certified, is_rate

# A round moves returns by up to eta_t times what the twin holds beyond the portfolio. Where the
# frontier is as curved as returns and variances make it, the gap's curvature is about one over the
# spread of the returns: at eta_t = 70 spreads / sqrt(t), the rate 5 in this unit, a decision of the
# first rounds is believed nearly whole, and after some thousand rounds about half. Of 20 to 350
# spreads tried on the paper's securities it came within 5e-4 from every start (weights even), and
# did not chase noise.
UNIT: Final = 14.0


@dataclass(frozen=True, eq=False)
class GapMemory:
    """What a stream of gaps carries from round to round, and across calls.

    Attributes:
        price: of risk, where the next search begins; one number.
        state: of each asset there: at its lower bound, free, at its cap.
        average: theta averaged over the rounds, later ones counting more.
    """

    price: Vector
    state: NDArray[np.int8]
    average: Vector

    @classmethod
    def begin(cls, problem: Problem, theta: Vector) -> GapMemory:
        """Before the first round."""
        return cls(np.ones(1), problem.portfolio.least_variance_state.copy(), theta.copy())

    def copy(self) -> GapMemory:
        """The same, apart."""
        return GapMemory(self.price.copy(), self.state.copy(), self.average.copy())


def rate_unit(problem: Problem) -> float:
    """What a rate of 1 is for a problem: it scales with the spread of the anchored returns.

    Args:
        problem: a portfolio problem; without two anchors the spread is a tenth of the box.
    """
    A, v = problem.theta.equalities, problem.theta.values
    sums = A.sum(axis=1)
    known = v[sums != 0] / sums[sums != 0]
    spread = float(np.ptp(known)) if known.size > 1 else 0.0
    if spread > 0.0:
        return UNIT * spread
    box = float(np.min(problem.theta.upper - problem.theta.lower))
    return UNIT * 0.1 * (box if np.isfinite(box) and box > 0 else 1.0)


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
    Y, _ = nearest_inside(problem, problem.check_decisions(decision))
    if len(Y) != 1:
        raise InvalidInput(f"an update is for one portfolio; got {len(Y)}.")
    memory = GapMemory.begin(problem, before)
    place = place_at(memory.price, memory.state)
    arrays, after = problem.portfolio, np.empty(problem.n)
    variance = float(Y[0] @ arrays.covariance @ Y[0])
    step = GapStep(before, Y[0], variance, float(rate))
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
) -> int:
    """Implicit updates over many portfolios in one compiled call.

    Args:
        problem: a portfolio problem.
        theta: where to start; moved in place.
        Y: the portfolios, one in each row.
        rates: the rate of each round.
        done: how many rounds came before.
        memory: what earlier rounds left; changed in place.
        out: what each round reports, filled in place.

    Returns:
        How many rounds were run: fewer than there are if no efficient portfolio was found.
    """
    inside, _ = nearest_inside(problem, Y)
    place = place_at(memory.price, memory.state)
    return int(
        efficiency_run(
            problem.portfolio, problem.theta.arrays, theta, inside, rates, done, memory.average,
            place, out,
        )
    )  # fmt: skip
