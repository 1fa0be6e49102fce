"""The optimality conditions of a decision, as rows and pairs.

`x in S(w, theta)` means: stationarity, feasibility and complementarity. Here they become linear
rows in z = (x, theta, multipliers) and pairs of rows of which one must sit on its bound; the
tree in `kernels` needs nothing else. One description serves every problem of the class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from imop_engine import kernels
from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import Infeasible
from imop_engine.problem import Problem

Array = NDArray[np.float64]


# Directions in which a weighted objective curves by less than this share of the objectives' largest
# curvatures count as flat and get that curvature, so that S(w, theta) is one decision: nearly the
# optimal one of least norm. The objective is off by 5e-8 of top * ||x||^2 at most; a smaller share
# would leave too few digits to the solver, whose numbers grow with its inverse.
FLAT = 1e-7


def weighted_objective(problem: Problem, weights: Matrix) -> tuple[Array, Matrix, Array]:
    """Q, c0 and C of the weighted problems 1/2 x'Qx + (c0 + C theta)'x, one slice a weight."""
    Q: Array = np.einsum("kl,lij->kij", weights, problem.quadratic)
    values, vectors = np.linalg.eigh(Q)
    least = (weights @ flat_curvatures(problem))[:, None]
    missing = np.where(values < least, least - values, 0.0)
    if missing.any():
        Q = Q + (vectors * missing[:, None, :]) @ vectors.transpose(0, 2, 1)
    return Q, weights @ problem.linear0, np.einsum("kl,lij->kij", weights, problem.linear)


def flat_curvatures(problem: Problem) -> Vector:
    """What each objective gives, by its weight, to directions that are flat in all of them."""
    tops = np.linalg.eigvalsh(problem.quadratic)[:, -1]
    result: Vector = FLAT * np.maximum(tops, FLAT * tops.max())
    return result


@dataclass(frozen=True, eq=False)
class Forward:
    """Weighted problems as projections: rows x, A x, E x in the metric of Q^-1, one slice each."""

    gram: Array
    solve_cost: Array  # rows at the unconstrained minimum = solve_cost @ c
    c0: Matrix
    C: Array

    @classmethod
    def of(cls, problem: Problem, weights: Matrix) -> Forward:
        """For weights on the simplex, one in each row."""
        Q, c0, C = weighted_objective(problem, weights)
        rows = np.vstack([np.eye(problem.n), problem.rows, problem.equal_rows])
        inverse = np.linalg.inv(Q)
        gram = rows @ inverse @ rows.T
        return cls((gram + gram.transpose(0, 2, 1)) / 2, -rows @ inverse, c0, C)


@dataclass(frozen=True, eq=False)
class Conditions:
    """Rows of one decision: x, s (reduced gradient), slack, u (multipliers of A), theta.

    row values = on_x @ x + on_theta @ theta + constant + on_free @ (u, v)
    """

    on_x: Matrix
    on_theta: Matrix
    constant: Vector
    on_free: Matrix
    lower: Vector
    upper: Vector
    pair_x: NDArray[np.int64]
    pair_s: NDArray[np.int64]
    case: NDArray[np.int8]

    @classmethod
    def of(cls, problem: Problem, weight: Vector) -> Conditions:
        """For one weight on the simplex."""
        (Q,), (c0,), (C,) = weighted_objective(problem, weight[None])
        n, m, k = problem.n, problem.rows.shape[0], problem.theta_size
        e = problem.equal_rows.shape[0]
        size = 2 * n + 2 * m + k
        x, s = np.arange(n), np.arange(n, 2 * n)
        slack, u = 2 * n + np.arange(m), 2 * n + m + np.arange(m)
        theta = 2 * n + 2 * m + np.arange(k)
        on_x, on_theta = np.zeros((size, n)), np.zeros((size, k))
        on_free, constant = np.zeros((size, m + e)), np.zeros(size)
        lower, upper = np.full(size, -np.inf), np.full(size, np.inf)
        on_x[x], on_x[s], on_x[slack] = np.eye(n), Q, problem.rows
        on_theta[s], on_theta[slack], on_theta[theta] = C, -problem.rhs, np.eye(k)
        constant[s], constant[slack] = c0, -problem.rhs0
        on_free[s, :m], on_free[s, m:] = -problem.rows.T, -problem.equal_rows.T
        on_free[u, :m] = np.eye(m)
        # a cap that the budget already enforces is no condition of its own
        caps = problem.effective_caps
        lower[x], upper[x] = problem.lower, caps
        lower[theta], upper[theta] = problem.theta.lower, problem.theta.upper
        lower[slack], lower[u] = 0.0, 0.0
        below, above = np.isfinite(problem.lower), np.isfinite(caps)
        case = np.select(
            [below & above, below, above],
            [kernels.ANY, kernels.LOWER_OR_FREE, kernels.FREE_OR_UPPER],
            kernels.FREE,
        )
        case = np.append(case, np.full(m, kernels.LOWER_OR_FREE)).astype(np.int8)
        pair_x, pair_s = np.append(x, slack), np.append(s, u)
        return cls(on_x, on_theta, constant, on_free, lower, upper, pair_x, pair_s, case)


def equality_plane(problem: Problem) -> tuple[Matrix, Vector]:
    """Projector on the directions with E x = 0, and the point of E x = d nearest to zero."""
    E, d = problem.equal_rows, problem.equal_rhs
    if not E.shape[0]:
        return np.eye(problem.n), np.zeros(problem.n)
    pseudo = np.linalg.pinv(E)
    point = pseudo @ d
    if np.abs(E @ point - d).max() > 1e-9 * (1.0 + np.abs(d).max()):
        raise Infeasible("the equality constraints contradict each other.")
    return np.eye(problem.n) - pseudo @ E, point


@dataclass(frozen=True, eq=False)
class GeneralArrays:
    """A problem and its grid of weights as the general kernels want them, one slice a weight."""

    gram_forward: Array
    solve_cost: Array
    c0: Matrix
    C: Array
    gram_x: Array  # on_x P on_x', P the projector on E x = 0
    gram_theta: Array
    on_x: Array
    on_theta: Array
    constant: Matrix
    conditions: Conditions  # of any weight: its bounds and pairs are those of all
    plane: Matrix
    point: Vector

    @classmethod
    def of(cls, problem: Problem, weights: Matrix) -> GeneralArrays:
        """For weights on the simplex, one in each row."""
        plane, point = equality_plane(problem)
        forward = Forward.of(problem, weights)
        conditions = [Conditions.of(problem, w) for w in weights]
        project = problem.theta.projector
        return cls(
            forward.gram,
            forward.solve_cost,
            forward.c0,
            forward.C,
            np.stack([c.on_x @ plane @ c.on_x.T for c in conditions]),
            np.stack([c.on_theta @ project @ c.on_theta.T for c in conditions]),
            np.stack([c.on_x for c in conditions]),
            np.stack([c.on_theta for c in conditions]),
            np.stack([c.constant for c in conditions]),
            conditions[0],
            plane,
            point,
        )


def forward_bounds(problem: Problem, theta: Vector) -> tuple[Vector, Vector]:
    """Bounds of the rows x, A x, E x."""
    b = problem.right_hand_side(theta)
    lower = np.concatenate([problem.lower, b, problem.equal_rhs])
    caps = problem.effective_caps
    upper = np.concatenate([caps, np.full(b.size, np.inf), problem.equal_rhs])
    return lower, upper
