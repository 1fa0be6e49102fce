"""The efficient decisions of three objectives: a surface, as triangles between solved decisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from imop_engine.adaptive import CHANGE, MOST_CORNERS, adaptive_triangles
from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import InvalidInput
from imop_engine.frontier import Projection
from imop_engine.problem import Problem


@dataclass(frozen=True, eq=False)
class Surface:
    """Efficient decisions at weights that were chosen where they are needed.

    Attributes:
        problem: what is decided.
        theta: under which parameters.
        weights: points of the simplex, one in each row.
        decisions: the decision at each.
        values: its three objectives.
        triangles: three places in these tables for each triangle.
    """

    problem: Problem
    theta: Vector
    weights: Matrix
    decisions: Matrix
    values: Matrix
    triangles: NDArray[np.int64]

    def project(self, decisions: Any) -> Projection:
        """The nearest point of the surface for each decision, and weights mixed like it.

        Each decision is compared with the corners, and then with the triangles around the nearest.
        """
        Y = self.problem.check_decisions(decisions)
        squares = np.sum(self.decisions**2, axis=1) - 2.0 * Y @ self.decisions.T
        nearest = squares.argmin(axis=1)
        points, weights = self.decisions[nearest].copy(), self.weights[nearest].copy()
        for i, (y, corner) in enumerate(zip(Y, nearest, strict=True)):
            best = float(np.sum((y - points[i]) ** 2))
            for triangle in self.triangles[(self.triangles == corner).any(axis=1)]:
                share = _shares(self.decisions[triangle], y)
                found = share @ self.decisions[triangle]
                distance = float(np.sum((y - found) ** 2))
                if distance < best:
                    best, points[i], weights[i] = distance, found, share @ self.weights[triangle]
        return Projection(weights, points, np.linalg.norm(Y - points, axis=1))

    def cut(self, objective: int, level: float) -> Matrix:
        """Where one objective has a given value: pieces of a line, both ends' objectives in a row.

        Args:
            objective: which of the three, from 0.
            level: its value.

        Returns:
            An array (pieces, 2, 3); empty where the surface does not reach the level.
        """
        pieces = []
        for triangle in self.triangles:
            values = self.values[triangle]
            above = values[:, objective] > level
            if above.all() or not above.any():
                continue
            ends = []
            for i, j in ((0, 1), (1, 2), (2, 0)):
                if above[i] != above[j]:
                    rise = values[j, objective] - values[i, objective]
                    share = (level - values[i, objective]) / rise
                    ends.append(values[i] + share * (values[j] - values[i]))
            pieces.append(ends)
        return np.array(pieces).reshape(-1, 2, 3)


def _shares(corners: Matrix, y: Vector) -> Vector:
    """The mixture of three corners nearest to y: inside, or on one of the sides."""
    span = (corners[1:] - corners[0]).T
    inside = np.linalg.lstsq(span, y - corners[0], rcond=None)[0]
    if np.all(inside >= 0.0) and inside.sum() <= 1.0:
        return np.array([1.0 - inside.sum(), *inside])
    best = np.inf
    found: Vector = np.eye(3)[0]
    for i, j in ((0, 1), (1, 2), (2, 0)):
        step = corners[j] - corners[i]
        length = float(step @ step)
        t = float(np.clip((y - corners[i]) @ step / length, 0.0, 1.0)) if length else 0.0
        distance = float(np.sum((y - corners[i] - t * step) ** 2))
        if distance < best:
            best, found = distance, (1.0 - t) * np.eye(3)[i] + t * np.eye(3)[j]
    return found


def efficient_surface(
    problem: Problem, theta: ArrayLike, change: float = CHANGE, corners: int = MOST_CORNERS
) -> Surface:
    """The efficient decisions of a problem with three objectives, by an adaptive triangulation.

    Args:
        problem: What is decided, and which theta are possible; native or a program of its own.
        theta: The unknown parameters.
        change: How far apart the decisions of a triangle's side may be, as a share of the largest
            distance between decisions of a single objective.
        corners: How many weights are solved at most.

    Returns:
        The surface, with projections on it and cuts through it.

    >>> from imop_engine import score_problem
    >>> problem = score_problem([[0.04, 0.0], [0.0, 0.09]], [1.0, 0.0])
    >>> efficient_surface(problem, [0.05, 0.10], corners=20).values.shape
    (20, 3)
    """
    if problem.p != 3:
        raise InvalidInput(
            f"a surface belongs to three objectives, the problem has {problem.p}; for two there is "
            "efficient_frontier, for more solve() at the weights you need."
        )
    at = problem.check_theta(theta)
    return Surface(problem, at, *adaptive_triangles(problem, at, change, int(corners)))
