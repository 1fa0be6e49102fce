"""The constants of the paper's analysis, computed from a problem, and the rate of its Theorem 1."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.optimize import linprog

from imop_engine.arguments import RIDGE
from imop_engine.errors import Infeasible, InvalidInput
from imop_engine.problem import Problem


@dataclass(frozen=True)
class Constants:
    """The paper's names: ||theta|| <= D, ||x|| <= B, ||y|| <= R, strong convexity lam, and kappa
    with |h(x) - h(y)| <= kappa ||theta_1 - theta_2|| ||x - y||."""

    D: float
    B: float
    R: float
    lam: float
    kappa: float

    @property
    def rate(self) -> float:
        """eta_t = rate / sqrt(t) in Theorem 1: D lam / (2 sqrt(2) (B + R) kappa)."""
        return self.D * self.lam / (2.0 * sqrt(2.0) * (self.B + self.R) * self.kappa)

    def regret_bound(self, rounds: float) -> float:
        """Theorem 1: 4 sqrt(2) (B + R) D kappa / lam * sqrt(T)."""
        grow = sqrt(2.0 * rounds)
        return 4.0 * (self.B + self.R) * self.D * self.kappa / self.lam * grow


def constants(problem: Problem, radius: float) -> Constants:
    """The constants of Theorem 1 for a problem and decisions no longer than `radius`.

    >>> import numpy as np
    >>> from imop_engine import quadratic_problem
    >>> problem = quadratic_problem([2 * np.eye(1)] * 2, [[0.0], [0.0]], bounds=(-20, 0), upper=10)
    >>> round(constants(problem, radius=10.0).rate, 4)
    1.0
    """
    if not (np.isfinite(radius) and radius > 0):
        raise InvalidInput(f"the radius of the decisions must be positive; got {radius}.")
    problem.require_arrays("Theorem 1")
    lam = float(min(np.linalg.eigvalsh(Q)[0] for Q in problem.quadratic))
    if lam <= RIDGE * float(np.abs(problem.quadratic).max()):
        raise InvalidInput(
            "Theorem 1 needs every objective strongly convex, and one of these is not (a "
            "portfolio's return is only linear): give the rate as a number."
        )
    kappa = float(max(np.linalg.norm(C, 2) for C in problem.linear))
    if kappa == 0.0 or np.any(problem.rhs):  # kappa sees nothing of constraints that move
        raise InvalidInput(
            "Theorem 1 speaks of unknown objectives; here the right-hand side is unknown: "
            "give the rate as a number."
        )
    far = np.maximum(np.abs(problem.theta.lower), np.abs(problem.theta.upper))
    if not np.all(np.isfinite(far)):
        raise InvalidInput("Theorem 1 needs a bounded Theta: give finite `bounds`.")
    return Constants(float(np.linalg.norm(far)), _largest_decision(problem), radius, lam, kappa)


def _largest_decision(problem: Problem) -> float:
    """A bound on ||x|| over all decisions that any theta allows, one variable at a time."""
    low, high = problem.theta.lower, problem.theta.upper
    loosest = problem.rhs0 + np.minimum(problem.rhs * low, problem.rhs * high).sum(axis=1)
    reach = np.zeros(problem.n)
    for i in range(problem.n):
        for sign in (1.0, -1.0):
            cost = np.zeros(problem.n)
            cost[i] = -sign
            found = linprog(
                cost,
                A_ub=-problem.rows if len(problem.rows) else None,
                b_ub=-loosest if len(problem.rows) else None,
                A_eq=problem.equal_rows if len(problem.equal_rows) else None,
                b_eq=problem.equal_rhs if len(problem.equal_rows) else None,
                bounds=list(zip(problem.lower, problem.upper, strict=True)),
            )
            if found.status == 2:
                raise Infeasible("no decision satisfies the constraints for any parameters.")
            if not found.success:
                raise InvalidInput(
                    f"Theorem 1 needs bounded decisions; {problem.names[i]} has no bound. "
                    "Give `upper`."
                )
            reach[i] = max(reach[i], abs(found.fun))
    return float(np.linalg.norm(reach))
