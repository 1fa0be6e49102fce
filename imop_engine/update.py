"""(3) The implicit update: move theta a little so that one decision is explained better.

    min  1/2 ||theta - theta_t||^2 + rate ||y - x||^2   s.t.  x in S(weight, theta), theta in Theta

(equation `update2` of the paper). The problem is not convex and is solved to its global optimum by
branch and bound over the complementarity pairs of the optimality conditions; every answer carries
its certificate. `implicit_update`, which also reaches other solvers, is in backends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from imop_engine import kernels
from imop_engine.arguments import Vector
from imop_engine.capabilities import Capability
from imop_engine.conditions import Conditions, Forward, equality_plane, forward_bounds
from imop_engine.curve import decisions
from imop_engine.errors import Infeasible, InvalidInput
from imop_engine.frontier import efficient_frontier
from imop_engine.problem import Problem
from imop_engine.weights import check_weight, lam_of, require_risk

CERTIFIED_RELATIVE = 1e-6  # an update is certified when objective - bound is below this share
CERTIFIED_ABSOLUTE = 1e-9  # of the objective, plus this
NODE_LIMIT = 2000


@dataclass(frozen=True, eq=False)
class Update:
    """A new theta, the decision that goes with it, and the proof that there is no better one."""

    theta: Vector
    x: Vector
    objective: float
    bound: float  # no theta gives less than this
    certified: bool
    nodes: int

    @property
    def gap(self) -> float:
        """Objective minus bound."""
        return self.objective - self.bound


def exact_update(
    problem: Problem,
    theta: ArrayLike,
    decision: ArrayLike,
    weight: ArrayLike,
    rate: float,
    node_limit: int = NODE_LIMIT,
) -> Update:
    """`implicit_update` by the engine's own solver.

    Args:
        problem: What is decided, and which theta are possible.
        theta: The old theta.
        decision: The observed decision y; of a portfolio problem holdings, fractions of wealth.
        weight: Of the investor: on return (0 to 1), or a point of the simplex.
        rate: The learning rate eta of the update, positive: how far one decision may move theta.
        node_limit: How many nodes of the search are visited at most before it stops without a
            proof.

    Returns:
        The new theta, the decision it explains, and a certificate.
    """
    current, y, w = check_update(problem, theta, decision, weight, rate)
    require_risk(problem, w)
    if problem.can(Capability.BUDGET_AND_CAPS):
        return _portfolio_update(problem, current, y, float(w[0]), float(rate), node_limit)
    return _general_update(problem, current, y, w, float(rate), node_limit)


def check_update(
    problem: Problem, theta: ArrayLike, decision: ArrayLike, weight: ArrayLike, rate: float
) -> tuple[Vector, Vector, Vector]:
    """The arguments of one update checked: theta moved into Theta, the decision, the weights.

    Args:
        problem: What is decided, and which theta are possible.
        theta: The old theta.
        decision: The observed decision y; of a portfolio problem holdings, fractions of wealth.
        weight: Of the investor: on return (0 to 1), or a point of the simplex.
        rate: The learning rate eta of the update, positive: how far one decision may move theta.

    Returns:
        theta, the decision and the weights as arrays.

    Raises:
        InvalidInput: an argument has the wrong size, is no number, or the rate is not positive.
    """
    current = problem.theta.nearest(problem.check_theta(theta))
    if np.ndim(decision) != 1:
        raise InvalidInput(f"an update takes one decision, a list of {problem.n} numbers.")
    y = problem.check_decisions(decision)[0]
    w = check_weight(problem, weight)
    if not is_rate(rate):
        raise InvalidInput(f"the rate must be a positive number; got {rate!r}.")
    return current, y, w


def _portfolio_update(
    problem: Problem, theta: Vector, y: Vector, w: float, rate: float, node_limit: int
) -> Update:
    frontier = efficient_frontier(problem, theta)
    if w == 0.0:  # the portfolio of least variance is the same for all beliefs: nothing to learn
        loss = rate * float(np.sum((y - frontier.at(0.0)) ** 2))
        return Update(theta, frontier.at(0.0), loss, loss, True, 0)
    arrays, theta_set = problem.portfolio, problem.theta
    lam = float(lam_of(w))
    segment = kernels.segment_of(frontier.lams, len(frontier.lams), lam)
    state = frontier.states[segment]
    m = 3 * problem.n + 1
    theta_new, x_new = theta.copy(), np.empty(problem.n)
    _, bound, nodes, _, _ = kernels.portfolio_update(
        arrays.covariance, arrays.budget_covariance, arrays.covariance_budget_covariance,
        theta_set.projector, theta_set.offset, theta_set.lower, theta_set.upper, arrays.caps,
        theta, y, lam, rate,
        kernels.multiplier_at(arrays.covariance, theta, frontier.at(w), state, lam), state, np.inf,
        node_limit, np.empty(m, np.int64), np.zeros(m, np.int64), 0, np.empty(m), theta_new,
        x_new,
    )  # fmt: skip
    # The pair that is reported is feasible to the last digit: x is solved once more for theta.
    x = efficient_frontier(problem, theta_new).at(w)
    return _proven(theta, y, rate, theta_new, x, float(bound), int(nodes))


def _general_update(
    problem: Problem, theta: Vector, y: Vector, w: Vector, rate: float, node_limit: int
) -> Update:
    forward, conditions = Forward.of(problem, w[None]), Conditions.of(problem, w)
    lower, upper = forward_bounds(problem, theta)
    n, m = problem.n, problem.rows.shape[0]
    X, multipliers = np.empty((1, n)), np.empty((1, lower.size))
    sides = np.empty((1, lower.size), np.int64)
    failed = kernels.forward_all(
        forward.gram, forward.solve_cost, forward.c0, forward.C, lower, upper, theta, X,
        multipliers, sides,
    )  # fmt: skip
    region = np.empty(0 if failed >= 0 else n + m, np.int8)
    if failed < 0:
        kernels.regions(sides[0], n, m, conditions.case, region)
    plane, point = equality_plane(problem)
    projector = problem.theta.projector
    theta_new, x_new = theta.copy(), np.empty(n)
    _, bound, nodes, improved = kernels.general_update(
        conditions.on_x @ plane @ conditions.on_x.T,
        conditions.on_theta @ projector @ conditions.on_theta.T,
        conditions.on_x, conditions.on_theta, conditions.constant, conditions.on_free,
        conditions.lower, conditions.upper, conditions.pair_x, conditions.pair_s, conditions.case,
        plane, point, projector, problem.theta.offset, theta, y, rate,
        np.zeros(lower.size - n) if failed >= 0 else multipliers[0, n:], region, np.inf,
        node_limit, theta_new, x_new,
    )  # fmt: skip
    if not improved:
        raise Infeasible(
            "no parameters in Theta give any decision at this weight"
            if nodes < node_limit
            else f"no decision was found within {node_limit} nodes; raise node_limit."
        )
    theta_new, x = _decidable(problem, theta_new, w, theta - theta_new if failed < 0 else None)
    return _proven(theta, y, rate, theta_new, x, float(bound), int(nodes))


def _decidable(
    problem: Problem, theta: Vector, w: Vector, inwards: Vector | None
) -> tuple[Vector, Vector]:
    """Theta and its decision; on the edge of what allows decisions, theta moves a little inwards.

    There rounding decides whether a decision is found.
    """
    for nudge in (0.0, *kernels.NUDGES):
        moved = theta if inwards is None else problem.theta.nearest(theta + nudge * inwards)
        try:
            return moved, decisions(problem, moved, w[None])[0]
        except Infeasible:
            if inwards is None or nudge == kernels.NUDGES[-1]:
                raise
    raise AssertionError("the loop returns or raises")


def _proven(
    theta: Vector, y: Vector, rate: float, theta_new: Vector, x: Vector, bound: float, nodes: int
) -> Update:
    objective = 0.5 * float(np.sum((theta_new - theta) ** 2)) + rate * float(np.sum((y - x) ** 2))
    bound = min(bound, objective)
    return Update(theta_new, x, objective, bound, is_certified(objective, bound), nodes)


def is_certified(objective: float, bound: float) -> bool:
    """Whether the gap is small enough to call the objective proven."""
    return objective - bound <= CERTIFIED_RELATIVE * abs(objective) + CERTIFIED_ABSOLUTE


def is_rate(rate: object) -> bool:
    """Whether this can be a learning rate: a finite positive number."""
    return isinstance(rate, (int, float, np.number)) and bool(np.isfinite(rate) and rate > 0)
