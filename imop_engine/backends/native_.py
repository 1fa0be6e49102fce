"""The engine's own solver behind the signature that all backends share.

`OnlineLearner` does not pass through here: its rounds run in one compiled call, which also shares
what one weight has proved with the others. This is the same mathematics one call at a time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from imop_engine.arguments import Matrix
from imop_engine.capabilities import Capability
from imop_engine.curve import decisions
from imop_engine.frontier import efficient_frontier
from imop_engine.problem import Problem
from imop_engine.update import NODE_LIMIT, Update, exact_update, is_certified


class Native:
    """Exact frontier and certified branch and bound; see `frontier` and `update`.

    Args:
        problem: What is decided, and which theta are possible.
        weights: The grid, one point of the simplex in each row.
        node_limit: How many nodes of the search are visited at most before it stops without a
            proof.
    """

    def __init__(self, problem: Problem, weights: Matrix, node_limit: int = NODE_LIMIT) -> None:
        self.problem = problem
        self.weights = weights
        self.node_limit = node_limit

    def decisions(self, theta: ArrayLike) -> Matrix:
        """S(w_k, theta) for every weight of the grid."""
        if self.problem.can(Capability.PIECEWISE_LINEAR_FRONTIER):
            return efficient_frontier(self.problem, theta).at(self.weights[:, 0])
        return decisions(self.problem, self.problem.check_theta(theta), self.weights)

    def update(self, theta: ArrayLike, decision: ArrayLike, k: int, rate: float) -> Update:
        """The implicit update for weight k.

        Args:
            theta: The unknown parameters; of a portfolio problem the yearly expected return of each
                asset.
            decision: The observed decision y; of a portfolio problem holdings, fractions of wealth.
            k: Which weight of the grid, from 0.
            rate: The learning rate eta of the update, positive: how far one decision may move
                theta.

        Returns:
            The new theta with its certificate.
        """
        return exact_update(self.problem, theta, decision, self.weights[k], rate, self.node_limit)

    def full_update(self, theta: ArrayLike, decision: ArrayLike, rate: float) -> tuple[Update, int]:
        """The best update over all weights; the first of several equal ones.

        Args:
            theta: The unknown parameters; of a portfolio problem the yearly expected return of each
                asset.
            decision: The observed decision y; of a portfolio problem holdings, fractions of wealth.
            rate: The learning rate eta of the update, positive: how far one decision may move
                theta.

        Returns:
            The new theta with its certificate, and the weight's position in the grid.
        """
        return least([self.update(theta, decision, k, rate) for k in range(len(self.weights))])


def least(updates: list[Update]) -> tuple[Update, int]:
    """The best of the updates of all weights with a bound that holds for all, and its place."""
    k = int(np.argmin([one.objective for one in updates]))
    best = updates[k]
    bound = min(one.bound for one in updates)
    nodes = sum(one.nodes for one in updates)
    proven = is_certified(best.objective, bound)
    return Update(best.theta, best.x, best.objective, bound, proven, nodes), k
