"""The efficient decisions of two quadratic objectives: a curve, in pieces that have a formula.

Between two weights at which a constraint becomes tight or slack, the decision minimises
w f_1 + (1 - w) f_2 over a plane. In coordinates in which both Hessians on that plane are diagonal
its parts are fractions of linear functions of the weight,

    x(w) = point + sum_j  basis_j (b_j + w (a_j - b_j)) / (1 - d_j + w (2 d_j - 1)),

so the point of a piece nearest to a decision is a root of one known function of w.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from imop_engine import kernels
from imop_engine.arguments import Matrix, Vector
from imop_engine.conditions import flat_curvatures, forward_arrays, forward_bounds, forward_solution
from imop_engine.errors import Infeasible
from imop_engine.problem import Problem
from imop_engine.weights import simplex_rows, weight_grid

Sides = NDArray[np.int64]

SAMPLES = 513  # weights looked at first; what changes and changes back within a step may be missed
NARROW = 1e-10  # a corner is located this closely, in the weight
MATCH = 1e-8  # two formulas agree at a weight when they differ by less than this share
MOST_NODES = 8 * SAMPLES  # a curve that would need more is left as finely sampled as it then is
HALVINGS = 60  # of a bracket, until its ends are neighbours
CHUNK = 4096  # decisions projected at once, so that memory stays bounded


def decisions(problem: Problem, theta: Vector, weights: Matrix) -> Matrix:
    """S(w_k, theta) for weights on the simplex, one in each row.

    Args:
        problem: What is decided, and which theta are possible.
        theta: The unknown parameters; of a portfolio problem the yearly expected return of each
            asset.
        weights: Points of the simplex, one in each row.

    Returns:
        One decision in each row.
    """
    if problem.program is not None:
        return problem.program.decisions(theta, weights)
    return _solved(problem, theta, weights)[0]


def _solved(problem: Problem, theta: Vector, weights: Matrix) -> tuple[Matrix, Sides]:
    """Decisions, and the side on which each of the rows x, A x, E x holds them; 0: none."""
    found = forward_solution(forward_arrays(problem, weights), problem, theta)
    if found is None:
        raise Infeasible(
            "no decision satisfies the constraints for these parameters; the right-hand side "
            f"is {problem.right_hand_side(theta).round(6).tolist()}."
        )
    return np.clip(found.X, problem.lower, problem.upper), found.sides


@dataclass(frozen=True, eq=False)
class Piece:
    """A stretch of the curve along which the same constraints hold the decision."""

    weights: Vector  # nodes, its two ends included
    point: Vector
    basis: Matrix  # a column for each coordinate
    a: Vector
    b: Vector
    d: Vector

    def at(self, w: Vector) -> tuple[Matrix, Matrix]:
        """Decisions at some weights, and how they change with the weight."""
        below = 1.0 - self.d + w[:, None] * (2.0 * self.d - 1.0)
        below = np.maximum(below, np.finfo(float).tiny)
        value = (self.b + w[:, None] * (self.a - self.b)) / below
        slope = (self.a * (1.0 - self.d) - self.b * self.d) / below**2
        return self.point + value @ self.basis.T, slope @ self.basis.T

    def nearest(self, Y: Matrix, at_most: Vector) -> tuple[NDArray[np.int64], Vector]:
        """Weights inside the piece where the distance to a decision has a minimum.

        Returns the numbers of the decisions and the weights; cells that cannot come nearer than
        `at_most` are left out.
        """
        X, D = self.at(self.weights)
        slope = np.sum(X * D, axis=1) - Y @ D.T  # half the derivative of the squared distance
        rows, cells = np.nonzero((slope[:, :-1] < 0.0) & (slope[:, 1:] > 0.0))
        # From an end of its cell the curve gets nearer by the cell's length at most.
        speed = np.linalg.norm(D, axis=1)
        length = 2.0 * np.diff(self.weights) * np.maximum(speed[:-1], speed[1:])
        near = np.linalg.norm(Y[rows] - X[cells], axis=1) - length[cells] < at_most[rows]
        rows, cells = rows[near], cells[near]
        low, high = self.weights[cells], self.weights[cells + 1]
        wanted = Y[rows]
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            X, D = self.at(middle)
            falls = np.einsum("ij,ij->i", X - wanted, D) < 0.0
            low, high = np.where(falls, middle, low), np.where(falls, high, middle)
        return rows, (low + high) / 2.0


@dataclass(frozen=True, eq=False)
class Curve:
    """The whole curve: nodes where decisions were solved, and the pieces between its corners."""

    problem: Problem
    theta: Vector
    weights: Vector
    X: Matrix
    pieces: tuple[Piece, ...]

    @classmethod
    def of(cls, problem: Problem, theta: Vector) -> Curve:
        """Solve at even weights, find the corners between them, and a formula for each piece."""
        weights = weight_grid(problem, SAMPLES)
        X, sides = _solved(problem, theta, simplex_rows(problem, weights))
        formulas = _Formulas(problem, theta)
        while len(weights) < MOST_NODES:
            changed = np.nonzero(np.any(sides[1:] != sides[:-1], axis=1))[0]
            wide = changed[np.diff(weights)[changed] > NARROW]
            ends = [(sides[i], sides[i + 1], weights[i], weights[i + 1]) for i in wide]
            split = np.array([formulas.owner(*one) is None for one in ends], bool)
            if not split.any():
                break
            new = np.array([formulas.corner(*one) for one in ends if formulas.owner(*one) is None])
            X_new, sides_new = _solved(problem, theta, simplex_rows(problem, new))
            at = wide[split] + 1
            weights, X = np.insert(weights, at, new), np.insert(X, at, X_new, axis=0)
            sides = np.insert(sides, at, sides_new, axis=0)
        owners = [
            formulas.owner(sides[i], sides[i + 1], weights[i], weights[i + 1])
            for i in range(len(weights) - 1)
        ]
        return cls(problem, theta, weights, X, tuple(_joined(weights, owners)))

    def nearest(self, Y: Matrix) -> tuple[Vector, Matrix, Vector]:
        """Weight, point and distance of the nearest efficient decision, for each decision."""
        parts = [self._nearest(Y[i : i + CHUNK]) for i in range(0, len(Y), CHUNK)]
        if not parts:
            return np.empty(0), np.empty_like(Y), np.empty(0)
        weights, points, distances = (np.concatenate(column) for column in zip(*parts, strict=True))
        return weights, points, distances

    def _nearest(self, Y: Matrix) -> tuple[Vector, Matrix, Vector]:
        k, distances = np.empty(len(Y), np.int64), np.empty(len(Y))
        kernels.nearest_rows(self.X, Y, np.abs(self.weights - 0.5), k, distances)
        weights, points = self.weights[k].copy(), self.X[k].copy()
        for piece in self.pieces:
            rows, inside = piece.nearest(Y, distances)
            if not len(rows):
                continue
            # A formula finds the weight, the solver the decision: what is reported is solved.
            X = decisions(self.problem, self.theta, simplex_rows(self.problem, inside))
            found = np.linalg.norm(Y[rows] - X, axis=1)
            for row, w, x, distance in zip(rows, inside, X, found, strict=True):
                if distance < distances[row] * (1.0 - kernels.TIE):
                    weights[row], points[row], distances[row] = w, x, distance
        return weights, points, distances


class _Formulas:
    """The formula that goes with each set of constraints, made once."""

    def __init__(self, problem: Problem, theta: Vector) -> None:
        self.problem, self.theta = problem, theta
        self.rows = np.vstack([np.eye(problem.n), problem.rows, problem.equal_rows])
        self.lower, self.upper = forward_bounds(problem, theta)
        self.costs = problem.linear0 + problem.linear @ theta
        # Directions that are flat in both objectives are curved as the solver curves them.
        values, vectors = np.linalg.eigh(problem.quadratic.sum(axis=0))
        curvatures = flat_curvatures(problem)
        flat = vectors[:, values < curvatures.sum()]
        self.quadratic = problem.quadratic + curvatures[:, None, None] * (flat @ flat.T)
        self.known: dict[bytes, Piece] = {}

    def owner(self, left: Sides, right: Sides, a: float, b: float) -> Piece | None:
        """The formula that holds on all of [a, b], given the constraints at its ends, if any."""
        first, last = self.of(left), self.of(right)
        if first is last or _agree(first, last, b):
            return first
        return last if _agree(first, last, a) else None

    def corner(self, left: Sides, right: Sides, a: float, b: float) -> float:
        """Where two formulas meet in (a, b), or its middle where they do not."""
        first, last = self.of(left), self.of(right)
        across = _apart(first, last, b) - _apart(first, last, a)
        low, high = a, b
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            if float(_apart(first, last, middle) @ across) < 0.0:
                low = middle
            else:
                high = middle
        inside = a + NARROW / 2 < low < b - NARROW / 2 and _agree(first, last, low)
        return low if inside else (a + b) / 2.0

    def of(self, sides: Sides) -> Piece:
        """The formula where the rows with a side sit on their bounds."""
        key = sides.tobytes()
        if key not in self.known:
            self.known[key] = self._make(sides)
        return self.known[key]

    def _make(self, sides: Sides) -> Piece:
        held = sides != 0
        on = self.rows[held]
        bounds = np.where(sides > 0, self.lower, self.upper)[held]
        left, sizes, axes = np.linalg.svd(on, full_matrices=True)
        rank = int(np.sum(sizes > 1e-12 * sizes[0])) if sizes.size else 0
        # Where the rows meet, and the directions that leave each of them where it is.
        start = axes[:rank].T @ ((left.T @ bounds)[:rank] / sizes[:rank])
        plane = axes[rank:].T
        Q = [plane.T @ one @ plane for one in self.quadratic]
        # With L L' = Q_1 + Q_2:  w Q_1 + (1 - w) Q_2 = L T (w D + (1 - w) (I - D)) T' L'
        root = np.linalg.cholesky(Q[0] + Q[1])
        half = np.linalg.solve(root, np.linalg.solve(root, Q[0]).T)
        d, turn = np.linalg.eigh((half + half.T) / 2.0)
        basis = plane @ np.linalg.solve(root.T, turn)
        a, b = (-basis.T @ (self.costs[i] + self.quadratic[i] @ start) for i in (0, 1))
        return Piece(np.empty(0), start, basis, a, b, np.clip(d, 0.0, 1.0))


def _apart(first: Piece, last: Piece, w: float) -> Vector:
    at = np.array([w])
    result: Vector = first.at(at)[0][0] - last.at(at)[0][0]
    return result


def _agree(first: Piece, last: Piece, w: float) -> bool:
    size = 1.0 + float(np.abs(last.at(np.array([w]))[0]).max())
    return float(np.abs(_apart(first, last, w)).max()) <= MATCH * size


def _joined(weights: Vector, owners: list[Piece | None]) -> list[Piece]:
    """Neighbouring cells with the same formula as one piece; cells without one are left out."""
    pieces = []
    first = 0
    for i in range(1, len(owners) + 1):
        if i < len(owners) and owners[i] is owners[first]:
            continue
        owner = owners[first]
        if owner is not None and owner.basis.shape[1]:  # else the decision stands still
            pieces.append(replace(owner, weights=weights[first : i + 1]))
        first = i
    return pieces
