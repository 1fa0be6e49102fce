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
from imop_engine.arguments import RIDGE, Matrix, Vector
from imop_engine.errors import Infeasible
from imop_engine.problem import Problem


def weighted_objective(problem: Problem, weight: Vector) -> tuple[Matrix, Vector, Matrix]:
    """Q, c0 and C of the weighted problem 1/2 x'Qx + (c0 + C theta)'x.

    Where Q has a null space it gets a vanishing ridge, so that S(w, theta) is one decision: among
    the optimal ones (nearly) the one of least norm.
    """
    Q: Matrix = np.einsum("l,lij->ij", weight, problem.quadratic)
    eigenvalues = np.linalg.eigvalsh(Q)
    top = max(float(eigenvalues[-1]), float(np.abs(problem.quadratic).max()) * RIDGE)
    if eigenvalues[0] < RIDGE * top:
        Q = Q + (RIDGE * top - min(0.0, float(eigenvalues[0]))) * np.eye(problem.n)
    return Q, weight @ problem.linear0, np.einsum("l,lij->ij", weight, problem.linear)


@dataclass(frozen=True, eq=False)
class Forward:
    """The weighted problem as a projection: rows x, A x, E x in the metric of Q^-1."""

    gram: Matrix
    solve_cost: Matrix  # rows at the unconstrained minimum = solve_cost @ c
    c0: Vector
    C: Matrix

    @classmethod
    def of(cls, problem: Problem, weight: Vector) -> Forward:
        """For one weight on the simplex."""
        Q, c0, C = weighted_objective(problem, weight)
        rows = np.vstack([np.eye(problem.n), problem.rows, problem.equal_rows])
        inverse = np.linalg.inv(Q)
        gram = rows @ inverse @ rows.T
        return cls(np.ascontiguousarray((gram + gram.T) / 2), -rows @ inverse, c0, C)


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
        Q, c0, C = weighted_objective(problem, weight)
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
        caps = problem.upper if problem.kind == "quadratic" else problem.portfolio.caps
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

    gram_forward: NDArray[np.float64]
    solve_cost: NDArray[np.float64]
    c0: Matrix
    C: NDArray[np.float64]
    gram_x: NDArray[np.float64]  # on_x P on_x', P the projector on E x = 0
    gram_theta: NDArray[np.float64]
    on_x: NDArray[np.float64]
    on_theta: NDArray[np.float64]
    constant: Matrix
    conditions: Conditions  # of any weight: its bounds and pairs are those of all
    plane: Matrix
    point: Vector

    @classmethod
    def of(cls, problem: Problem, weights: Matrix) -> GeneralArrays:
        """For weights on the simplex, one a row."""
        plane, point = equality_plane(problem)
        forwards = [Forward.of(problem, w) for w in weights]
        conditions = [Conditions.of(problem, w) for w in weights]
        project = problem.theta.projector
        return cls(
            np.stack([f.gram for f in forwards]),
            np.stack([f.solve_cost for f in forwards]),
            np.stack([f.c0 for f in forwards]),
            np.stack([f.C for f in forwards]),
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
    caps = problem.upper if problem.kind == "quadratic" else problem.portfolio.caps
    upper = np.concatenate([caps, np.full(b.size, np.inf), problem.equal_rhs])
    return lower, upper
