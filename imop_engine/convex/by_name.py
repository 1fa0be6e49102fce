"""A cone program by any solver that cvxpy knows, named by whoever wants another than Clarabel.

cvxpy is imported where it is used: programs for Clarabel, the default, are solved without it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from imop_engine.arguments import Vector
from imop_engine.convex.answers import Answer, Cones, refusal
from imop_engine.errors import ImopError, SolverUnavailable


def solve_by_name(
    solver: str, cones: Cones, numbers: tuple[Any, Vector, Any, Vector], what: str
) -> Answer:
    """Numbers of a cone program by any solver that cvxpy knows; each solve is stated anew.

    Args:
        solver: its name in cvxpy.
        cones: of the rows.
        numbers: P, q, A and b; P and A sparse.
        what: what is solved, for errors.
    """
    cp: Any = import_module("cvxpy")
    full, q, rows, b = numbers
    v = cp.Variable(q.size)
    goal = q @ v
    if full.nnz:
        goal = goal + 0.5 * cp.quad_form(v, cp.psd_wrap(full))
    slack = b - rows @ v
    if cones.semidefinite or cones.power:
        raise SolverUnavailable(
            "programs with semidefinite or power cones are solved by Clarabel alone; leave "
            "`solver` as it is."
        )
    constraints, parts, first = [], [], 0
    for size, make in _shapes(cones):
        parts.append(slice(first, first + size))
        constraints.append(make(slack[parts[-1]]))
        first += size
    stated = cp.Problem(cp.Minimize(goal), constraints)
    try:
        stated.solve(solver=solver)
    except (cp.SolverError, ImopError, ValueError) as error:
        raise refusal(" ".join(str(error).split())[:120], solver, what) from error
    if stated.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        raise refusal(str(stated.status), solver, what)
    z = np.concatenate([_multipliers(one) for one in constraints]) if constraints else np.zeros(0)
    seconds = float(stated.solver_stats.solve_time or 0.0)
    value = float(stated.value)
    return Answer(v.value, b - rows @ v.value, z, value, seconds)


def _shapes(cones: Cones) -> list[tuple[int, Any]]:
    cp: Any = import_module("cvxpy")
    made: list[tuple[int, Any]] = []
    if cones.zero:
        made.append((cones.zero, lambda s: s == 0))
    if cones.nonnegative:
        made.append((cones.nonnegative, lambda s: s >= 0))
    made += [(size, lambda s: cp.SOC(s[0], s[1:])) for size in cones.second_order]
    made += [(3, lambda s: cp.ExpCone(s[0], s[1], s[2])) for _ in range(cones.exponential)]
    return made


def _multipliers(constraint: Any) -> Vector:
    cp: Any = import_module("cvxpy")
    if isinstance(constraint, (cp.SOC, cp.ExpCone)):
        return np.concatenate([np.atleast_1d(one).ravel() for one in constraint.dual_value])
    # s == 0 is stated for s = b - A v, whose multiplier has the other sign
    sign = -1.0 if type(constraint).__name__ in ("Zero", "Equality") else 1.0
    return sign * np.atleast_1d(constraint.dual_value).ravel()
