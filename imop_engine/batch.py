"""Several decisions at once: joint updates of small batches, and the batch method.

A mini-batch update (equation `batch-update` of the paper) is the same kind of problem as a single
one, with a copy of the decision and its conditions for every observation and one theta for all. The
paper calls it drastically harder; the tree solves it as it is, and says how sure it is.

The batch method takes all decisions at once: assign each to its best weight, move theta, repeat
until nothing changes. It is the hindsight that online learning is compared with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from imop_engine import kernels
from imop_engine.arguments import Matrix, Vector
from imop_engine.conditions import (
    Conditions,
    GeneralArrays,
    equality_plane,
    forward_arrays,
    forward_solution,
)
from imop_engine.curve import decisions as decisions_at
from imop_engine.errors import Infeasible, InvalidInput
from imop_engine.frontier import solve
from imop_engine.portfolio_arrays import project_rows
from imop_engine.problem import Problem
from imop_engine.update import NODE_LIMIT, is_certified, is_rate
from imop_engine.weights import check_weight, require_risk, simplex_rows, weight_grid

STOP = 1e-10  # the batch method stops when an iteration gains less than this share of its loss


@dataclass(frozen=True, eq=False)
class JointUpdate:
    """A new theta for several decisions, with its certificate."""

    theta: Vector
    x: Matrix  # one row for each decision
    objective: float
    bound: float
    certified: bool
    nodes: int


def batch_update(
    problem: Problem,
    theta: ArrayLike,
    decisions: Any,
    weights: Sequence[ArrayLike] | NDArray[np.float64],
    rate: float,
    node_limit: int = NODE_LIMIT,
) -> JointUpdate:
    """One implicit update for N decisions with known weights:

    min 1/2 ||theta - theta_t||^2 + rate / N sum_i ||y_i - x_i||^2,  x_i in S(w_i, theta).

    Args:
        problem: What is decided, and which theta are possible.
        theta: The old theta.
        decisions: One row for each observed decision; of a portfolio problem holdings, fractions of
            wealth that add up to 1.
        weights: The weight of each decision: on return (0 to 1), or a point of the simplex.
        rate: The learning rate eta of the update, positive: how far one decision may move theta.
        node_limit: How many nodes of the search are visited at most before it stops without a
            proof.

    Returns:
        The new theta and the decisions it explains, with a certificate.

    >>> from imop_engine import portfolio_problem
    >>> problem = portfolio_problem([[0.04, 0.0], [0.0, 0.09]], anchors={0: 0.05})
    >>> joint = batch_update(problem, [0.05, 0.1], [[0.5, 0.5], [0.4, 0.6]], [0.4, 0.5], rate=5.0)
    >>> joint.certified
    True
    """
    Y = problem.check_decisions(decisions)
    if not is_rate(rate):
        raise InvalidInput(f"the rate must be a positive number; got {rate!r}.")
    count = len(weights) if hasattr(weights, "__len__") else 0
    if len(Y) != count or len(Y) == 0:
        raise InvalidInput(
            f"there are {len(Y)} decisions and {count} listed weights; each decision needs one."
        )
    start = problem.theta.nearest(problem.check_theta(theta))
    W = [check_weight(problem, w) for w in weights]
    for w in W:
        require_risk(problem, w)
    if problem.program is not None:
        found, x, objective = problem.program.update(problem, start, Y, np.array(W), float(rate))
        return JointUpdate(found, x, objective, 0.0, is_certified(objective, 0.0), 1)
    # Decisions of one weight share one x, so only their mean and their number count.
    groups, member = np.unique(np.array(W), axis=0, return_inverse=True)
    member = member.reshape(-1)
    counts = np.bincount(member)
    means = np.array([Y[member == g].mean(axis=0) for g in range(len(groups))])
    shares: Vector = float(rate) / len(Y) * counts.astype(float)
    rows = _Stack.of(problem, start, means, list(groups), shares)
    best = np.empty(rows.start.size)
    size = rows.start.size
    _, bound, nodes, improved = kernels.solve_tree(
        kernels.Rows(rows.gram, rows.scale, rows.start, rows.lower, rows.upper, rows.free),
        kernels.Pairs(rows.pair_x, rows.pair_s, rows.case),
        rows.region, np.inf, node_limit, kernels.empty_root(size), best,
    )  # fmt: skip
    if not improved:
        raise Infeasible(f"no joint update was found within {node_limit} nodes; raise node_limit.")
    new = problem.theta.projector @ best[rows.theta_rows] + problem.theta.offset
    new = np.clip(new, problem.theta.lower, problem.theta.upper)
    x = np.array([solve(problem, new, w) for w in groups])[member]
    objective = 0.5 * float(np.sum((new - start) ** 2)) + rate / len(Y) * float(
        np.sum((Y - x) ** 2)
    )
    spread = rate / len(Y) * float(np.sum((Y - means[member]) ** 2))
    bound = min(float(bound) + rows.constant + spread, objective)
    return JointUpdate(new, x, objective, bound, is_certified(objective, bound), int(nodes))


@dataclass(frozen=True, eq=False)
class _Stack:
    """The conditions of several decisions over one theta, ready for the tree."""

    gram: Matrix
    scale: Vector
    start: Vector
    lower: Vector
    upper: Vector
    pair_x: NDArray[np.int64]
    pair_s: NDArray[np.int64]
    case: NDArray[np.int8]
    region: NDArray[np.int8]
    free: int
    theta_rows: NDArray[np.int64]
    constant: float

    @classmethod
    def of(
        cls, problem: Problem, theta: Vector, Y: Matrix, W: list[Vector], rates: Vector
    ) -> _Stack:
        n, m, k = problem.n, problem.rows.shape[0], problem.theta_size
        each = 2 * n + 2 * m  # rows of one decision; theta's rows come once, at the end
        N, q = len(Y), m + problem.equal_rows.shape[0]
        rows = N * each + k
        plane, point = equality_plane(problem)
        projector = problem.theta.projector
        on_theta = np.zeros((rows, k))
        on_theta[N * each :] = np.eye(k)
        gram = np.zeros((rows + N * q, rows + N * q))
        start = np.zeros(rows + N * q)
        lower, upper = np.zeros(rows + N * q), np.zeros(rows + N * q)
        lower[N * each : rows], upper[N * each : rows] = problem.theta.lower, problem.theta.upper
        pair_x, pair_s, case, region = [], [], [], []
        constant = 0.0
        known = True  # whether theta allows a decision at every weight: then there is a region
        for i, (y, w, rate) in enumerate(zip(Y, W, rates, strict=True)):
            c = Conditions.of(problem, w)
            at = slice(i * each, (i + 1) * each)
            columns = slice(rows + i * q, rows + (i + 1) * q)
            sides, multipliers = _forward(problem, theta, w)
            known &= sides is not None
            on_theta[at] = c.on_theta[:each]
            gram[at, at] = c.on_x[:each] @ plane @ c.on_x[:each].T * (0.5 / rate)
            gram[at, columns] = c.on_free[:each]
            gram[columns, at] = c.on_free[:each].T
            y0 = plane @ y + point
            constant += float(rate * np.sum((y0 - y) ** 2))
            start[at] = c.on_x[:each] @ y0 + c.constant[:each] + c.on_free[:each] @ multipliers[n:]
            lower[at], upper[at] = c.lower[:each], c.upper[:each]
            pair_x.append(c.pair_x + i * each)
            pair_s.append(c.pair_s + i * each)
            case.append(c.case)
            here = np.empty(n + m, np.int8)
            if sides is not None:
                kernels.regions(sides, c.case, here)
            region.append(here)
        gram[:rows, :rows] += on_theta @ projector @ on_theta.T
        start[:rows] += on_theta @ theta
        scale = np.sqrt(np.maximum(np.diag(gram), 0.0))
        touches = np.abs(gram[:rows, rows:]).sum(axis=1) > 0
        scale[:rows] = np.where((scale[:rows] <= 1e-13) & touches, 1.0, scale[:rows])
        for j in range(rows, rows + N * q):
            touched = gram[:rows, j] != 0
            stiff = float(np.diag(gram)[:rows][touched].sum())
            size = float((gram[:rows, j] ** 2).sum())
            gram[j, j] = -kernels.MULTIPLIER_RIDGE * (size / stiff if stiff > 0 else 1.0)
            scale[j] = 0.0
        return cls(
            gram, scale, start, lower, upper, np.concatenate(pair_x), np.concatenate(pair_s),
            np.concatenate(case), np.concatenate(region) if known else np.empty(0, np.int8),
            N * q, np.arange(N * each, rows), constant,
        )  # fmt: skip


def _forward(problem: Problem, theta: Vector, w: Vector) -> tuple[NDArray[np.int64] | None, Vector]:
    """Sides and multipliers of the rows x, A x, E x at S(w, theta); no sides if it is empty."""
    found = forward_solution(forward_arrays(problem, w[None]), problem, theta)
    if found is None:
        count = problem.n + problem.rows.shape[0] + problem.equal_rows.shape[0]
        return None, np.zeros(count)
    return found.sides[0], found.multipliers[0]


@dataclass(frozen=True, eq=False)
class BatchFit:
    """What the batch method found."""

    theta: Vector
    loss: float  # sum of squared distances, l_K summed over the decisions
    iterations: int
    losses: Vector  # after each iteration


def fit_batch(
    problem: Problem,
    decisions: Any,
    weights: Any = 41,
    theta0: ArrayLike | None = None,
    iterations: int = 200,
) -> BatchFit:
    """All decisions at once: assign each to its nearest weight, move theta, until it stops.

    Given the assignment, S(w_k, theta) is linear in theta within its region, so theta moves by
    Gauss-Newton steps in Theta, shortened until the true loss falls. It ends in a local optimum:
    start it from an online estimate (`theta0=learner.theta_`) for the best hindsight.

    Args:
        problem: What is decided, and which theta are possible.
        decisions: One row for each observed decision; of a portfolio problem holdings, fractions of
            wealth that add up to 1.
        weights: How many evenly spaced weights there are, or the weights themselves.
        theta0: Where to start; None takes the point of Theta nearest to zero.
        iterations: How many rounds of assigning and moving are made at most.

    Returns:
        theta, its loss and the loss after each round.
    """
    Y = problem.check_decisions(decisions)
    if len(Y) == 0:
        raise InvalidInput("there are no decisions to fit.")
    grid = simplex_rows(problem, weight_grid(problem, weights))
    # a problem with a program of its own has no arrays
    arrays = None if problem.program is not None else GeneralArrays.of(problem, grid)
    start = np.zeros(problem.theta_size) if theta0 is None else problem.check_theta(theta0)
    theta = problem.theta.nearest(start)
    state = _BatchState.at(problem, arrays, grid, theta, Y)
    if state is None:
        raise Infeasible("the starting theta allows no decision at one of the weights.")
    history = [state.loss]
    damping = 1e-6
    for _ in range(iterations):
        hessian, gradient = state.normal_equations(problem, arrays)
        moved = False
        while damping < 1e12:
            step = newton_point(problem, theta, hessian, gradient, damping)
            trial = None if step is None else _BatchState.at(problem, arrays, grid, step, Y)
            if trial is not None and trial.loss < state.loss * (1.0 - STOP):
                moved = True
                break
            damping *= 10.0
        if not moved or trial is None or step is None:
            break
        theta, state = step, trial
        damping = max(damping / 100.0, 1e-12)
        history.append(state.loss)
    return BatchFit(theta, state.loss, len(history) - 1, np.array(history))


def newton_point(
    problem: Problem, theta: Vector, hessian: Matrix, gradient: Vector, damping: float
) -> Vector | None:
    """The minimum of a damped quadratic model within Theta.

    Args:
        problem: What is decided, and which theta are possible.
        theta: Where the model was made.
        hessian: Its curvature.
        gradient: Its descent: minus the slope of what is made small.
        damping: What is added to the curvature, as a share of its mean eigenvalue.

    Returns:
        The minimum, or None where Theta leaves no room.
    """
    size = float(np.trace(hessian)) / len(theta) or 1.0
    metric = hessian + damping * size * np.eye(len(theta))
    basis = np.linalg.svd(problem.theta.projector)[0][:, : round(np.trace(problem.theta.projector))]
    if basis.shape[1] == 0:
        return None
    inverse = basis @ np.linalg.inv(basis.T @ metric @ basis) @ basis.T
    free = theta + inverse @ gradient
    point = project_rows(inverse, free, problem.theta.lower, problem.theta.upper)
    return None if point is None else problem.theta.nearest(point)


@dataclass(frozen=True, eq=False)
class _BatchState:
    """Decisions assigned to weights at one theta."""

    theta: Vector
    X: Matrix
    sides: NDArray[np.int64]
    nearest: NDArray[np.int64]
    Y: Matrix
    grid: Matrix
    loss: float

    @classmethod
    def at(
        cls, problem: Problem, arrays: GeneralArrays | None, grid: Matrix, theta: Vector, Y: Matrix
    ) -> _BatchState | None:
        if arrays is None:
            try:
                X, sides = decisions_at(problem, theta, grid), np.zeros((len(grid), 0), np.int64)
            except Infeasible:
                return None
        else:
            found = forward_solution(arrays.forward, problem, theta)
            if found is None:
                return None
            X, sides = found.X, found.sides
        middle = np.abs(grid - 1.0 / grid.shape[1]).max(axis=1)
        nearest, distance = np.empty(len(Y), np.int64), np.empty(len(Y))
        kernels.nearest_rows(X, Y, middle, nearest, distance)
        return cls(theta, X, sides, nearest, Y, grid, float(np.sum(distance**2)))

    def normal_equations(
        self, problem: Problem, arrays: GeneralArrays | None
    ) -> tuple[Matrix, Vector]:
        """Sum of J'J and of J'(y - x) over the decisions, J = dx/dtheta in the current region."""
        k = problem.theta_size
        hessian, gradient = np.zeros((k, k)), np.zeros(k)
        for at in np.unique(self.nearest):
            mine = self.nearest == at
            J = self._slope(problem, arrays, int(at))
            hessian += mine.sum() * J.T @ J
            gradient += J.T @ (self.Y[mine] - self.X[at]).sum(axis=0)
        return hessian, gradient

    def _slope(self, problem: Problem, arrays: GeneralArrays | None, at: int) -> Matrix:
        if arrays is not None:
            return sensitivity(problem, arrays, at, self.sides[at])
        assert problem.program is not None
        return problem.program.slope(self.theta, self.grid[at])[1]


def sensitivity(
    problem: Problem, arrays: GeneralArrays, k: int, sides: NDArray[np.int64]
) -> Matrix:
    """dS(w_k, theta)/dtheta in the region where the rows with a side stay active.

    Args:
        problem: What is decided, and which theta are possible.
        arrays: The problem as arrays at one grid of weights.
        k: Which weight of the grid, from 0.
        sides: Not 0 where a row of the constraints is active.

    Returns:
        One row for each variable of the decision, one column for each parameter.
    """
    n, m = problem.n, problem.rows.shape[0]
    active = np.flatnonzero(sides)
    gram, cost = arrays.forward.gram[k], arrays.forward.solve_cost[k]
    unconstrained = cost @ arrays.forward.C[k]  # all rows, if nothing were active
    if not active.size:
        return np.asarray(unconstrained[:n])
    wanted = np.zeros((active.size, problem.theta_size))
    inequality = (active >= n) & (active < n + m)
    wanted[inequality] = problem.rhs[active[inequality] - n]
    pull = np.linalg.lstsq(
        gram[np.ix_(active, active)], wanted - unconstrained[active], rcond=None
    )[0]
    result: Matrix = unconstrained[:n] + gram[:n][:, active] @ pull
    return result
