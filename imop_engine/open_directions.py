"""Which directions of theta decisions at given weights respond to, for any problem.

Portfolios of two objectives have more than this (`inference`): intervals, bounds, statuses. Here is
what can be said of every problem: the rank of what decisions tell, and what is left open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from imop_engine.arguments import Matrix, Vector
from imop_engine.batch import sensitivity
from imop_engine.conditions import GeneralArrays, forward_solution
from imop_engine.curve import decisions
from imop_engine.errors import Infeasible
from imop_engine.problem import Problem
from imop_engine.weights import EDGE, simplex_rows, weight_grid

# Squares of responses below this share of the largest are what solvers and differences leave.
SILENT: Final = 1e-8
ROUNDING: Final = 1e-9  # of all moves of the decisions: differences are good to half of the digits
STEP: Final = 1e-5  # of a weight, where its effect is a difference of decisions
NAMED: Final = 1e-4  # a direction this near to shift or scale is called by that name
SHOWN: Final = 0.15  # of the largest entry: smaller ones are left out of a sentence


@dataclass(frozen=True, eq=False)
class LocalIdentification:
    """What decisions tell of theta near an estimate.

    Attributes:
        rank: how many combinations of parameters they and the anchors determine.
        size: how many parameters there are.
        strengths: squared response of the decisions to each combination, largest first.
        open_directions: unit vectors, one in each row: combinations that stay open.
        sentences: the same in words; empty where everything is determined.
    """

    rank: int
    size: int
    strengths: Vector
    open_directions: Matrix
    sentences: tuple[str, ...]


def local_identification(
    problem: Problem, theta: ArrayLike, weights: ArrayLike | int = 21
) -> LocalIdentification:
    """How many combinations of theta decisions determine, and which they leave open.

    Each investor's weight is unknown too: what a change of theta does that another weight does as
    well is not counted. Only small changes are judged; a decision at a corner that does not move
    says nothing here, though it bounds theta.

    Args:
        problem: What is decided, and which theta are possible; its anchors count as known.
        theta: Where, an estimate most often.
        weights: The weights of the decisions that are seen: a number of even ones, or a list.

    Returns:
        Rank, open directions and sentences.

    >>> from imop_engine import portfolio_problem
    >>> found = local_identification(portfolio_problem([[0.04, 0.0], [0.0, 0.09]]), [0.05, 0.1])
    >>> found.rank, found.size
    (0, 2)
    """
    at = problem.check_theta(theta)
    grid = simplex_rows(problem, weight_grid(problem, weights))
    slopes = _slopes(problem, at, grid)
    k, p = problem.theta_size, problem.p
    information, whole = np.zeros((k, k)), 0.0
    for w, J in zip(grid, slopes, strict=True):
        turns = np.eye(p)[:-1] - np.eye(p)[-1]
        step = min(STEP, 0.5 * float(w.min())) or STEP
        inside = np.maximum(w, EDGE * 1e-2)
        moved = np.vstack([inside + step * turns, inside - step * turns])
        X = decisions(problem, at, moved / moved.sum(axis=1, keepdims=True))
        nuisance = ((X[: p - 1] - X[p - 1 :]) / (2.0 * step)).T
        left, sizes, _ = np.linalg.svd(nuisance, full_matrices=False)
        basis = left[:, sizes > 1e-8 * max(1.0, float(sizes.max(initial=0.0)))]
        whole += float((J**2).sum())
        J = J - basis @ (basis.T @ J)
        information += J.T @ J
    plane = problem.theta.projector
    left, sizes, _ = np.linalg.svd(plane)
    free = left[:, sizes > 0.5]
    strengths, vectors = np.linalg.eigh(free.T @ information @ free)
    # where weights explain every move of the decisions, only rounding is left
    least = max(SILENT * float(strengths.max(initial=0.0)), ROUNDING * whole, 1e-12)
    silent = strengths <= least
    directions = (free @ vectors[:, silent]).T
    return LocalIdentification(
        k - len(directions), k, strengths[::-1].copy(), directions,
        _sentences(problem, at, directions),
    )  # fmt: skip


def _slopes(problem: Problem, theta: Vector, grid: Matrix) -> list[Matrix]:
    if problem.program is not None:
        return [problem.program.slope(theta, w)[1] for w in grid]
    arrays = GeneralArrays.of(problem, grid)
    found = forward_solution(arrays.forward, problem, theta)
    if found is None:
        raise Infeasible("theta allows no decision at one of the weights; give another theta.")
    return [sensitivity(problem, arrays, k, found.sides[k]) for k in range(len(grid))]


def _sentences(problem: Problem, theta: Vector, directions: Matrix) -> tuple[str, ...]:
    """The open directions in words: shift and scale by their names, the others by their entries."""
    if not len(directions):
        return ()
    said, known = [], np.empty((0, theta.size))
    named = (
        (np.ones(theta.size), "adding one number to all of theta changes no decision"),
        (theta, "multiplying theta by one number changes no decision beyond another weight"),
    )
    for vector, sentence in named:
        length = float(np.linalg.norm(vector))
        if length > 0.0 and float(np.linalg.norm(directions @ (vector / length))) > 1.0 - NAMED:
            said.append(f"{sentence}; an anchor fixes it.")
            known = np.vstack([known, vector / length])
    # what is open besides the named ones
    basis = np.linalg.svd(known, full_matrices=False)[2]
    rest = directions - directions @ basis.T @ basis
    rest = np.linalg.svd(rest, full_matrices=False)[2][: max(0, len(directions) - len(known))]
    for one in rest:
        large = np.flatnonzero(np.abs(one) >= SHOWN * np.abs(one).max())[:6]
        parts = ", ".join(f"{problem.theta_names[i]} by {one[i]:+.2f}" for i in large)
        said.append(f"moving {parts} together changes no decision; an anchor on one of them helps.")
    return tuple(said)
