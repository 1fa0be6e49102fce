"""Forward solves stated in cvxpy, one parametrised problem a weight, with any solver it knows."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from imop_engine.arguments import Matrix
from imop_engine.backends.weighted import Weighted
from imop_engine.errors import Infeasible, InvalidInput, SolverUnavailable
from imop_engine.problem import Problem

DEFAULT = "CLARABEL"  # comes with cvxpy and solves to 1e-8; cvxpy's own choice stops at 1e-5


class Cvxpy:
    """Forward solves only; canonicalised once a weight, then only numbers change (DPP).

    Args:
        problem: What is decided, and which theta are possible.
        weights: The grid, one point of the simplex in each row.
        solver: A name in `cvxpy.installed_solvers()`; None leaves the choice to cvxpy.
    """

    def __init__(self, problem: Problem, weights: Matrix, solver: str | None = None) -> None:
        try:
            import cvxpy
        except ImportError as error:
            raise SolverUnavailable(
                "cvxpy is not installed; install it with `pip install cvxpy`, or use "
                "backend='native', which needs nothing else."
            ) from error
        known: list[str] = cvxpy.installed_solvers()  # type: ignore[no-untyped-call]
        self.solver = DEFAULT if solver is None else solver.upper()
        if self.solver not in known:
            raise SolverUnavailable(
                f"cvxpy has no solver {self.solver}; the installed ones are {', '.join(known)}."
            )
        self.problem = problem
        self._forward = [_forward(cvxpy, Weighted.of(problem, weight)) for weight in weights]

    def decisions(self, theta: ArrayLike) -> Matrix:
        """S(w_k, theta) for every weight of the grid."""
        import cvxpy

        at = self.problem.check_theta(theta)
        found = np.empty((len(self._forward), self.problem.n))
        for k, (weighted, program, x, cost, right) in enumerate(self._forward):
            cost.value = weighted.g + weighted.G @ at
            if right is not None:
                right.value = weighted.m + weighted.N @ at
            try:
                program.solve(solver=self.solver)
            except cvxpy.SolverError as error:
                raise SolverUnavailable(
                    f"{self.solver} could not solve the forward problem of weight {k + 1} "
                    f"({str(error).rstrip('.')}); choose another solver, or backend='native'."
                ) from error
            if program.status in (cvxpy.INFEASIBLE, cvxpy.INFEASIBLE_INACCURATE):
                raise Infeasible("no decision satisfies the constraints at this theta; change it.")
            if x.value is None:
                raise InvalidInput(
                    f"the forward problem of weight {k + 1} is {program.status}; keep weights "
                    "inside the simplex where an objective is only linear."
                )
            found[k] = x.value
        return found

    def update(self, theta: ArrayLike, decision: ArrayLike, k: int, rate: float) -> NoReturn:
        """Not available: an update is a mixed-integer program.

        Args:
            theta: The unknown parameters; of a portfolio problem the yearly expected return of each
                asset.
            decision: The observed decision y; of a portfolio problem holdings, fractions of wealth.
            k: Which weight of the grid, from 0.
            rate: The learning rate eta of the update, positive: how far one decision may move
                theta.
        """
        raise SolverUnavailable(
            "backend 'cvxpy' does forward solves only: an update is a nonconvex program that its "
            "solvers do not prove; use backend='native' or backend='gurobi'."
        )

    def full_update(self, theta: ArrayLike, decision: ArrayLike, rate: float) -> NoReturn:
        """Not available: an update is a mixed-integer program.

        Args:
            theta: The unknown parameters; of a portfolio problem the yearly expected return of each
                asset.
            decision: The observed decision y; of a portfolio problem holdings, fractions of wealth.
            rate: The learning rate eta of the update, positive: how far one decision may move
                theta.
        """
        self.update(theta, decision, 0, rate)


def _forward(cvxpy: Any, weighted: Weighted) -> tuple[Weighted, Any, Any, Any, Any]:
    """One parametrised program: the cost, and the right-hand side where theta moves it."""
    _, n, rows, equations = weighted.sizes
    x, cost = cvxpy.Variable(n), cvxpy.Parameter(n)
    right = cvxpy.Parameter(rows) if np.any(weighted.N) else None
    constraints = [weighted.M @ x >= (weighted.m if right is None else right)] if rows else []
    if equations:
        constraints.append(weighted.E @ x == weighted.d)
    goal = 0.5 * cvxpy.quad_form(x, cvxpy.psd_wrap(weighted.H)) + cost @ x
    return weighted, cvxpy.Problem(cvxpy.Minimize(goal), constraints), x, cost, right
