"""Rounds of a stream: what each reports, and the loops that are not compiled end to end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from imop_engine import kernels
from imop_engine.arguments import Matrix, Vector
from imop_engine.backends import Backend
from imop_engine.capabilities import Capability
from imop_engine.convex.suboptimality import suboptimality_update
from imop_engine.curve import decisions
from imop_engine.frontier import efficient_frontier
from imop_engine.problem import Problem
from imop_engine.update import exact_update
from imop_engine.weights import EDGE


@dataclass(frozen=True, eq=False)
class Rounds:
    """What each round of a stream reports."""

    losses: Vector
    nodes: NDArray[np.int64]
    gaps: Vector
    objectives: Vector
    thetas: Matrix  # after each round

    @classmethod
    def empty(cls, count: int, size: int) -> Rounds:
        """Room for `count` rounds."""
        return cls(
            np.empty(count), np.zeros(count, np.int64), np.zeros(count), np.zeros(count),
            np.empty((count, size)),
        )  # fmt: skip


def run_curve(
    problem: Problem, node_limit: int, theta: Vector, Y: Matrix, rates: Vector, rounds: Rounds
) -> int:
    """Algorithm 2 with the ideal loss on a curved frontier; the weight is not sampled.

    Args:
        problem: What is decided, and which theta are possible.
        node_limit: How many nodes of the search are visited at most before it stops without a
            proof.
        theta: Where to start; moved in place.
        Y: The decisions, one in each row.
        rates: The learning rate of each round.
        rounds: What each round reports, filled in place.

    Returns:
        How many rounds were run.
    """
    for t, (y, rate) in enumerate(zip(Y, rates, strict=True)):
        found = efficient_frontier(problem, theta).project(y)
        rounds.losses[t] = found.distances[0] ** 2
        rounds.thetas[t] = theta
        if rounds.losses[t] <= kernels.ZERO_LOSS:
            continue
        weight = found.weights[0]
        if problem.can(Capability.EXPECTED_RETURNS):  # at weight one no risk decides
            weight = min(max(weight, EDGE), 1.0 - EDGE)
        update = exact_update(problem, theta, y, weight, rate, node_limit)
        theta[:] = rounds.thetas[t] = update.theta
        rounds.nodes[t] = max(1, update.nodes)
        rounds.gaps[t], rounds.objectives[t] = update.gap, update.objective
    return len(Y)


def run_suboptimality(
    problem: Problem,
    grid: Matrix | None,
    theta: Vector,
    Y: Matrix,
    rates: Vector,
    rounds: Rounds,
) -> int:
    """A weight by distance, then the convex update by what the decision leaves at that weight.

    Args:
        problem: What is decided, and which theta are possible.
        grid: Points of the simplex, one in each row; None takes the nearest weight of the frontier.
        theta: Where to start; moved in place.
        Y: The decisions, one in each row.
        rates: The learning rate of each round.
        rounds: What each round reports, filled in place; losses are squared distances.

    Returns:
        How many rounds were run.
    """
    for t, (y, rate) in enumerate(zip(Y, rates, strict=True)):
        if grid is None:
            found = efficient_frontier(problem, theta).project(y)
            loss, w = found.distances[0] ** 2, found.weights[0]
            weight: Vector = np.array([w, 1.0 - w])
        else:
            X = decisions(problem, theta, grid)
            middle = np.abs(grid - 1.0 / grid.shape[1]).max(axis=1)
            k = kernels.nearest_row(X, y, middle)
            loss, weight = float(np.sum((y - X[k]) ** 2)), grid[k]
        rounds.losses[t], rounds.thetas[t] = loss, theta
        if loss <= kernels.ZERO_LOSS:
            continue
        update = suboptimality_update(problem, theta, y, weight, float(rate))
        theta[:] = rounds.thetas[t] = update.theta
        rounds.nodes[t] = update.nodes
        rounds.gaps[t], rounds.objectives[t] = update.gap, abs(update.objective)
    return len(Y)


def run_backend(
    solver: Backend,
    algorithm: str,
    middle: Vector,
    theta: Vector,
    Y: Matrix,
    rates: Vector,
    rounds: Rounds,
) -> int:
    """The algorithms word for word over another solver; the models stay hot between rounds.

    Args:
        solver: Solves the programs.
        algorithm: Full or accelerated.
        middle: How far each weight lies from the middle of the grid; of equally near weights the
            one nearest the middle is taken.
        theta: Where to start; moved in place.
        Y: The decisions, one in each row.
        rates: The learning rate of each round.
        rounds: What each round reports, filled in place.

    Returns:
        How many rounds were run.
    """
    for t, (y, rate) in enumerate(zip(Y, rates, strict=True)):
        X = solver.decisions(theta)
        k = kernels.nearest_row(X, y, middle)
        rounds.losses[t] = float(np.sum((y - X[k]) ** 2))
        rounds.thetas[t] = theta
        if rounds.losses[t] <= kernels.ZERO_LOSS:
            continue
        if algorithm == "full":
            update, _ = solver.full_update(theta, y, float(rate))
        else:
            update = solver.update(theta, y, int(k), float(rate))
        theta[:] = rounds.thetas[t] = update.theta
        rounds.nodes[t] = max(1, update.nodes)
        rounds.gaps[t], rounds.objectives[t] = update.gap, update.objective
    return len(Y)
