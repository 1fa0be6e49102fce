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
    problem.require_arrays("this")
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


def forward_arrays(problem: Problem, weights: Matrix) -> kernels.Forward:
    """Weighted problems as projections: rows x, A x, E x in the metric of Q^-1, one slice each.

    Args:
        problem: what is decided.
        weights: on the simplex, one in each row.
    """
    Q, c0, C = weighted_objective(problem, weights)
    rows = np.vstack([np.eye(problem.n), problem.rows, problem.equal_rows])
    inverse = np.linalg.inv(Q)
    gram = rows @ inverse @ rows.T
    gram = np.ascontiguousarray((gram + gram.transpose(0, 2, 1)) / 2)
    return kernels.Forward(gram, -rows @ inverse, c0, C)


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

    def rows(self, plane: Matrix, projector: Matrix) -> kernels.UpdateRows:
        """The rows with their Gram matrices on the planes of x and of theta."""
        return kernels.UpdateRows(
            self.on_x @ plane @ self.on_x.T, self.on_theta @ projector @ self.on_theta.T,
            self.on_x, self.on_theta, self.constant,
        )  # fmt: skip

    def shared(self, plane: Matrix, point: Vector) -> kernels.SharedRows:
        """What is the same at all weights."""
        pairs = kernels.Pairs(self.pair_x, self.pair_s, self.case)
        return kernels.SharedRows(self.on_free, self.lower, self.upper, pairs, plane, point)


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
    """A problem and its grid of weights as the general kernels want them."""

    forward: kernels.Forward
    rows: kernels.UpdateRows  # one slice a weight
    shared: kernels.SharedRows

    @classmethod
    def of(cls, problem: Problem, weights: Matrix) -> GeneralArrays:
        """For weights on the simplex, one in each row."""
        conditions = [Conditions.of(problem, w) for w in weights]
        plane, point = equality_plane(problem)
        each = [c.rows(plane, problem.theta.projector) for c in conditions]
        return cls(
            forward_arrays(problem, weights),
            kernels.UpdateRows(*(np.stack(parts) for parts in zip(*each, strict=True))),
            conditions[0].shared(plane, point),
        )


def forward_solution(
    forward: kernels.Forward, problem: Problem, theta: Vector
) -> kernels.ForwardOut | None:
    """Decisions, multipliers and sides at every weight of `forward`; None if one has no decision.

    Args:
        forward: the weighted problems, from `forward_arrays`.
        problem: what is decided.
        theta: its parameters.
    """
    lower, upper = forward_bounds(problem, theta)
    count = len(forward.gram)
    out = kernels.ForwardOut(
        np.empty((count, problem.n)), np.empty((count, lower.size)),
        np.empty((count, lower.size), np.int64),
    )  # fmt: skip
    return out if kernels.forward_all(forward, lower, upper, theta, out) < 0 else None


def forward_bounds(problem: Problem, theta: Vector) -> tuple[Vector, Vector]:
    """Bounds of the rows x, A x, E x."""
    b = problem.right_hand_side(theta)
    lower = np.concatenate([problem.lower, b, problem.equal_rhs])
    caps = problem.effective_caps
    upper = np.concatenate([caps, np.full(b.size, np.inf), problem.equal_rhs])
    return lower, upper
