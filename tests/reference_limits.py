"""The slow, obvious way to a portfolio under limits: every set of bounds and rows that may hold."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np

SMALL = 1e-9


def best_portfolio(problem, theta, lam):
    """argmin 1/2 x'Qx - lam theta'x by the optimality conditions of each set of active constraints.

    Args:
        problem: a portfolio problem of a few assets.
        theta: yearly expected returns.
        lam: the price of risk.
    """
    Q, n = problem.covariance, problem.n
    best, least = None, np.inf
    for sides in product((0, 1, -1), repeat=n):
        picks = [np.eye(n)[i] for i in range(n) if sides[i]]
        held = [
            problem.lower[i] if sides[i] > 0 else problem.upper[i] for i in range(n) if sides[i]
        ]
        for size in range(len(problem.rhs0) + 1):
            for chosen in map(list, combinations(range(len(problem.rhs0)), size)):
                C = np.vstack([*picks, problem.rows[chosen], problem.equal_rows])
                at = np.concatenate([held, problem.rhs0[chosen], problem.equal_rhs])
                x = _solve(Q, lam * np.asarray(theta), C, at)
                if x is None or not _keeps(problem, x):
                    continue
                value = 0.5 * x @ Q @ x - lam * x @ theta
                if value < least:
                    best, least = x, value
    return best


def _solve(Q, pull, C, at):
    k = len(at)
    system = np.block([[Q, C.T], [C, np.zeros((k, k))]])
    solved = np.linalg.lstsq(system, np.concatenate([pull, at]), rcond=None)[0]
    x = solved[: len(pull)]
    return x if np.abs(C @ x - at).max(initial=0.0) < SMALL else None


def _keeps(problem, x):
    return (
        np.all(x >= problem.lower - SMALL)
        and np.all(x <= problem.upper + SMALL)
        and np.all(problem.rows @ x >= problem.rhs0 - SMALL)
        and np.all(np.abs(problem.equal_rows @ x - problem.equal_rhs) < SMALL)
    )
