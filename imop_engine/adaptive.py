"""Frontiers by weights that are chosen where they are needed.

A decision at a weight comes with a supporting line (or plane) of what can be had: no decision has a
smaller weighted sum of objectives. Between two decisions the frontier lies between their chord and
their two supporting lines, so the next weight is the one at which both are equally good, and how
far the optimum there lies below the chord says how much is still missing. A polyline is found with
two solves for each of its corners.
"""

from __future__ import annotations

import heapq
from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.curve import decisions
from imop_engine.problem import Problem
from imop_engine.weights import EDGE

MISSING: Final = 1e-5  # of the range of the objectives: a chord this near to the frontier stays
MOST_NODES: Final = 400
APART: Final = 1e-9  # weights nearer than this are one
CHANGE: Final = 0.05  # share of the diameter of the decisions that the side of a triangle may have
MOST_CORNERS: Final = 600


def valued_decisions(problem: Problem, theta: Vector, weights: Matrix) -> tuple[Matrix, Matrix]:
    """S(w_k, theta) and the value of each objective there, one row for each weight.

    Args:
        problem: What is decided, and which theta are possible.
        theta: The unknown parameters.
        weights: Points of the simplex, one in each row.

    Returns:
        Decisions and values.
    """
    if problem.program is not None:
        return problem.program.valued_decisions(theta, weights)
    X = decisions(problem, theta, weights)
    values = 0.5 * np.einsum("ti,lij,tj->tl", X, problem.quadratic, X) + X @ problem.costs(theta).T
    return X, values


def adaptive_curve(
    problem: Problem, theta: Vector, missing: float = MISSING, most: int = MOST_NODES
) -> tuple[Vector, Matrix, Matrix]:
    """Weights, decisions and values of two objectives along their frontier.

    Args:
        problem: What is decided, and which theta are possible.
        theta: The unknown parameters.
        missing: How far the frontier may lie below a chord, as a share of the objectives' ranges.
        most: How many weights are solved at most.

    Returns:
        Weights of the first objective, ascending, a decision for each and its two objectives.
    """
    ends = np.array([EDGE, 1.0 - EDGE])
    X, F = valued_decisions(problem, theta, np.column_stack([ends, 1.0 - ends]))
    nodes = [(float(w), x, f) for w, x, f in zip(ends, X, F, strict=True)]
    scale = np.maximum(np.abs(F[1] - F[0]), 1e-12 * (1.0 + np.abs(F).max()))
    heap: list[tuple[float, int, int]] = [(-np.inf, 0, 1)]
    while heap and len(nodes) < most:
        worst, left, right = heapq.heappop(heap)
        if -worst <= missing:
            break
        (a, _, fa), (b, _, fb) = nodes[left], nodes[right]
        drop, rise = fa[0] - fb[0], fb[1] - fa[1]  # f_1 falls with its weight, f_2 rises
        if drop <= 1e-10 * scale[0] or b - a <= APART:
            continue
        w = float(np.clip(rise / (drop + rise), a + (b - a) / 50.0, b - (b - a) / 50.0))
        x, f = (part[0] for part in valued_decisions(problem, theta, np.array([[w, 1.0 - w]])))
        at = np.array([w, 1.0 - w])
        short = float(min(at @ fa, at @ fb) - at @ f) / float(at @ scale)
        if short <= missing:
            continue  # the chord is the frontier
        nodes.append((w, x, f))
        new = len(nodes) - 1
        heapq.heappush(heap, (-short, left, new))
        heapq.heappush(heap, (-short, new, right))
    nodes.sort(key=lambda node: node[0])
    weights, decided, values = (np.array([node[i] for node in nodes]) for i in range(3))
    return weights, decided, values


def adaptive_triangles(
    problem: Problem, theta: Vector, change: float = CHANGE, most: int = MOST_CORNERS
) -> tuple[Matrix, Matrix, Matrix, NDArray[np.int64]]:
    """Weights, decisions and values of three objectives, and triangles between them.

    The side along which decisions differ most is halved, with both triangles it belongs to, until
    no side is longer than `change` or as many weights were solved as are allowed.

    Args:
        problem: What is decided, and which theta are possible.
        theta: The unknown parameters.
        change: How far apart the decisions of a side may be, as a share of the largest distance.
        most: How many weights are solved at most.

    Returns:
        Points of the simplex, decisions, objectives and, for each triangle, its three corners.
    """
    corners = np.eye(3) * (1.0 - 3.0 * EDGE) + EDGE
    decided, values = valued_decisions(problem, theta, corners)
    W, X, F = list(corners), list(decided), list(values)
    triangles: dict[int, tuple[int, int, int]] = {0: (0, 1, 2)}
    sides: dict[tuple[int, int], set[int]] = {(0, 1): {0}, (0, 2): {0}, (1, 2): {0}}
    size = max(float(np.linalg.norm(X[i] - X[j])) for i in range(3) for j in range(i)) or 1.0

    def length(side: tuple[int, int]) -> float:
        i, j = side
        # where nothing changes between weights far apart, something may still in between
        apart = float(np.linalg.norm(X[i] - X[j])) / size
        return apart + 0.2 * float(np.abs(W[i] - W[j]).sum())

    heap = [(-length(side), side) for side in sides]
    heapq.heapify(heap)
    number = 1
    while heap and len(W) < most:
        worst, (i, j) = heapq.heappop(heap)
        if (i, j) not in sides:
            continue
        if -worst <= change or np.abs(W[i] - W[j]).max() <= 1e-5:
            if -worst <= change:
                break
            continue
        middle = (W[i] + W[j]) / 2.0
        x, f = (part[0] for part in valued_decisions(problem, theta, middle[None]))
        W.append(middle)
        X.append(x)
        F.append(f)
        new = len(W) - 1
        for place in sorted(sides.pop((i, j))):
            old = triangles.pop(place)
            (third,) = set(old) - {i, j}
            for side in ((i, third), (j, third)):
                sides[_side(*side)].discard(place)
            for end in (i, j):
                triangles[number] = (end, new, third)
                for side in ((end, new), (end, third), (new, third)):
                    known = sides.setdefault(_side(*side), set())
                    if not known and new in side:
                        heapq.heappush(heap, (-length(_side(*side)), _side(*side)))
                    known.add(number)
                number += 1
    return np.array(W), np.array(X), np.array(F), np.array(sorted(triangles.values()))


def _side(i: int, j: int) -> tuple[int, int]:
    return (i, j) if i < j else (j, i)
