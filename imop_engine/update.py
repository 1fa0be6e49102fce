"""(3) The implicit update: move theta a little so that one decision is explained better.

    min  1/2 ||theta - theta_t||^2 + rate ||y - x||^2   s.t.  x in S(weight, theta), theta in Theta

(equation `update2` of the paper). The problem is not convex and is solved to its global optimum by
branch and bound over the complementarity pairs of the optimality conditions; every answer carries
its certificate. `implicit_update`, which also reaches other solvers, is in backends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from imop_engine import kernels
from imop_engine.arguments import Vector
from imop_engine.capabilities import Capability
from imop_engine.conditions import (
    Conditions,
    equality_plane,
    forward_arrays,
    forward_solution,
)
from imop_engine.curve import decisions
from imop_engine.errors import Infeasible, InvalidInput
from imop_engine.frontier import efficient_frontier
from imop_engine.problem import Problem
from imop_engine.weights import check_weight, lam_of, require_risk

CERTIFIED_RELATIVE = 1e-6  # an update is certified when objective - bound is below this share
CERTIFIED_ABSOLUTE = 1e-9  # of the objective, plus this
NODE_LIMIT = 2000
SAME_PORTFOLIO = 1e-10  # holdings that differ by less are those of one portfolio
AT_BOUND = 1e-6  # a holding or a row that is so near its bound is at it
PAIRINGS = 4  # moves of theta until its portfolio is the one that was found
MOST_MOVED = 1e-7  # of a return, a year: as much as is called rounding of it


@dataclass(frozen=True, eq=False)
class Update:
    """A new theta, the decision that goes with it, and the proof that there is no better one.

    `x` is the decision at `theta`. Where a covariance has no full rank, others are as good at this
    theta but for rounding: a theta that is 1e-9 away may have a decision far from `x`.
    """

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
    if problem.program is not None:  # a local step: nothing below zero is all that is proven
        found, X, objective = problem.program.update(
            problem, current, y[None], w[None], float(rate)
        )
        return Update(found, X[0], objective, 0.0, is_certified(objective, 0.0), 1)
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
    arrays = problem.portfolio
    lam = float(lam_of(w))
    segment = kernels.segment_of(frontier.lams, len(frontier.lams), lam)
    state = frontier.states[segment]
    nu = kernels.multiplier_at(arrays.covariance, theta, frontier.at(w), state, lam)
    theta_new, x_new = theta.copy(), np.empty(problem.n)
    _, bound, nodes, _ = kernels.portfolio_update(
        arrays, problem.theta.arrays, kernels.Step(theta, y, lam, rate, nu), state, np.inf,
        node_limit, kernels.empty_root(3 * problem.n + 1), theta_new, x_new,
    )  # fmt: skip
    # The pair that is reported is feasible to the last digit: x is solved once more for theta.
    x = efficient_frontier(problem, theta_new).at(w)
    return _proven(theta, y, rate, theta_new, x, float(bound), int(nodes))


def _general_update(
    problem: Problem, theta: Vector, y: Vector, w: Vector, rate: float, node_limit: int
) -> Update:
    conditions = Conditions.of(problem, w)
    found = forward_solution(forward_arrays(problem, w[None]), problem, theta)
    region = np.empty(0 if found is None else conditions.case.size, np.int8)
    multipliers = np.zeros(conditions.on_free.shape[1])
    if found is not None:
        kernels.regions(found.sides[0], conditions.case, region)
        multipliers = found.multipliers[0, problem.n :]
    plane, point = equality_plane(problem)
    theta_new, x_new = theta.copy(), np.empty(problem.n)
    _, bound, nodes, improved = kernels.general_update(
        conditions.rows(plane, problem.theta.projector), conditions.shared(plane, point),
        problem.theta.arrays, kernels.GeneralStep(theta, y, rate, multipliers), region, np.inf,
        node_limit, theta_new, x_new,
    )  # fmt: skip
    if not improved:
        raise Infeasible(
            "no parameters in Theta give any decision at this weight"
            if nodes < node_limit
            else f"no decision was found within {node_limit} nodes; raise node_limit."
        )
    theta_new, x = _decidable(problem, theta_new, w, None if found is None else theta - theta_new)
    if problem.can(Capability.PIECEWISE_LINEAR_FRONTIER):
        theta_new, x = _paired(problem, theta_new, x, float(w[0]), partial(_rest, theta, y, rate))
    return _proven(theta, y, rate, theta_new, x, float(bound), int(nodes))


def _paired(
    problem: Problem, theta: Vector, x: Vector, w: float, rest: Callable[[Vector, Vector], float]
) -> tuple[Vector, Vector]:
    """Theta and the portfolio that is optimal for it, to the last digit.

    Where a covariance has no full rank, portfolios differ that are equally good but for rounding,
    and the last digits of theta decide between them. Then theta moves, by about 1e-9, to where the
    conditions of x hold: those of the assets and rows that x has at their bounds.

    Args:
        problem: A portfolio problem with limits.
        theta: Expected returns.
        x: The portfolio that was found for them.
        w: The weight on return.
        rest: What is to be small, of a theta and its portfolio.
    """
    solved = efficient_frontier(problem, theta).at(w)
    best, first = (theta, solved), theta
    for _ in range(PAIRINGS):
        if np.abs(solved - x).max() <= SAME_PORTFOLIO:
            break
        theta = problem.theta.nearest(theta + _towards(problem, theta, x, float(lam_of(w))))
        if np.abs(theta - first).max() > MOST_MOVED:  # x sits elsewhere than it seems to
            break
        solved = efficient_frontier(problem, theta).at(w)
        if rest(theta, solved) < rest(*best):
            best = theta, solved
    return best


def _towards(problem: Problem, theta: Vector, x: Vector, lam: float) -> Vector:
    """The least move of theta within its plane after which x is optimal."""
    arrays, n = problem.portfolio, problem.n
    rows = np.vstack([np.eye(n), arrays.rows])
    low = np.concatenate([arrays.lower, arrays.levels])
    high = np.concatenate([arrays.caps, np.full(len(arrays.levels), np.inf)])
    high[n : n + arrays.equations] = arrays.levels[: arrays.equations]
    values = rows @ x
    at_low = np.abs(values - low) <= AT_BOUND
    held = at_low | (np.abs(values - high) <= AT_BOUND)
    A, at = rows[held], np.where(at_low, low, high)[held]
    inverse = np.linalg.pinv(A)
    x = x + inverse @ (at - A @ x)
    open_ = np.eye(n) - inverse @ A  # the gradient Qx - lam theta has nothing in these directions
    within = open_ @ problem.theta.projector
    gradient = open_ @ (problem.covariance @ x - lam * theta)
    move: Vector = problem.theta.projector @ np.linalg.lstsq(lam * within, gradient, None)[0]
    return move


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


def _rest(theta: Vector, y: Vector, rate: float, theta_new: Vector, x: Vector) -> float:
    """What an update makes small."""
    return 0.5 * float(np.sum((theta_new - theta) ** 2)) + rate * float(np.sum((y - x) ** 2))


def _proven(
    theta: Vector, y: Vector, rate: float, theta_new: Vector, x: Vector, bound: float, nodes: int
) -> Update:
    objective = _rest(theta, y, rate, theta_new, x)
    bound = min(bound, objective)
    return Update(theta_new, x, objective, bound, is_certified(objective, bound), nodes)


def is_certified(objective: float, bound: float) -> bool:
    """Whether the gap is small enough to call the objective proven."""
    return objective - bound <= CERTIFIED_RELATIVE * abs(objective) + CERTIFIED_ABSOLUTE


def is_rate(rate: object) -> bool:
    """Whether this can be a learning rate: a finite positive number."""
    return isinstance(rate, (int, float, np.number)) and bool(np.isfinite(rate) and rate > 0)
