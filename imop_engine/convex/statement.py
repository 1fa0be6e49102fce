"""From cvxpy to numbers: a parametrised program, canonicalised once.

The weighted objective `sum_l w_l f_l(x, theta)` multiplies two parameters where f_l depends on
theta, which cvxpy cannot keep as parameters (DPP). Such parts of an objective get a variable of
their own, `t >= f(x, theta)`, and the weight multiplies that; the rest is weighted as it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.add_expr import AddExpression
from numpy.typing import NDArray
from scipy import sparse

from imop_engine.arguments import Vector
from imop_engine.convex.answers import Cones
from imop_engine.convex.cone import CLARABEL, Affine, ConeProgram
from imop_engine.errors import InvalidInput, SolverUnavailable

# What the solvers that Clarabel stands beside are called, for the error that lists them.
NOT_DPP: Final = (
    "cvxpy cannot keep {what} parametrised (DPP): theta may only multiply what does not depend on "
    "theta, and stand where an expression is affine in it. Write r @ x, not a product of two "
    "parameters; give numbers that do not change as arrays."
)


def weighted_goal(objectives: Sequence[Any], weights: Any) -> tuple[Any, list[Any]]:
    """The weighted sum of objectives, and the constraints of its own variables.

    Args:
        objectives: convex expressions of cvxpy.
        weights: a parameter, not negative, one number for each objective.
    """
    goal, extra = 0.0, []
    for place, objective in enumerate(objectives):
        terms = objective.args if isinstance(objective, AddExpression) else [objective]
        free = [term for term in terms if not term.parameters()]
        bound = [term for term in terms if term.parameters()]
        if free:
            goal = goal + weights[place] * sum(free[1:], free[0])
        if bound:
            term = sum(bound[1:], bound[0])
            own = cp.Variable()
            # equal where it may be: a weight of zero would let an inequality's variable go anywhere
            extra.append(own == term if term.is_affine() else own >= term)
            goal = goal + weights[place] * own
    return goal, extra


def check_program(objectives: Sequence[Any], constraints: Sequence[Any]) -> None:
    """Refuse what is not convex, or not so for parameters, and say which part it is."""
    for place, objective in enumerate(objectives):
        if not objective.is_scalar() or not objective.is_convex():
            shape = "" if objective.is_scalar() else f" and has shape {objective.shape}"
            curvature = objective.curvature.lower()
            raise InvalidInput(
                f"objective {place + 1}, {shown(objective)}, is {curvature}{shape}; "
                "objectives are minimised, so each must be one convex number: write -r @ x for a "
                "return to be made large, and give parameters their sign (nonneg=True) where the "
                "curvature hangs on it."
            )
        if not objective.is_dcp(dpp=True):
            raise InvalidInput(NOT_DPP.format(what=f"objective {place + 1}, {shown(objective)},"))
    for i, constraint in enumerate(constraints):
        if not isinstance(constraint, cp.Constraint):
            raise InvalidInput(
                f"constraint {i + 1} is {constraint!r}, not one of cvxpy's; write x >= 0 with a "
                "variable of cvxpy on one side."
            )
        if not constraint.is_dcp():
            raise InvalidInput(
                f"constraint {i + 1}, {shown(constraint)}, does not describe a convex set: what is "
                "below must be convex and what is above concave, and an equation affine."
            )
        if not constraint.is_dcp(dpp=True):
            raise InvalidInput(NOT_DPP.format(what=f"constraint {i + 1}, {shown(constraint)},"))


def shown(expression: Any) -> str:
    """An expression in few characters."""
    text = " ".join(str(expression).split())
    return text if len(text) <= 60 else f"{text[:59]}…"


def compile_program(
    goal: Any, constraints: Sequence[Any], decision: Any, parameters: Sequence[Any], solver: str
) -> tuple[ConeProgram, NDArray[np.int64]]:
    """A program of cvxpy as numbers.

    Args:
        goal: what is minimised.
        constraints: of cvxpy.
        decision: the variable whose values are wanted.
        parameters: in the order in which their values will come; others keep the value they have.
        solver: a name that cvxpy knows.

    Returns:
        The program, and where the decision's entries are among its variables.
    """
    # A copy: attributes of a variable are canonicalised into another one, and it must be found.
    copy = cp.Variable(decision.size)
    flat = cp.atoms.affine.vec.vec(decision, order="F")
    plain = isinstance(decision, cp.Variable) and not any(decision.attributes.values())
    program = _stuffed(goal, [*constraints] if plain else [*constraints, copy == flat], parameters)
    wanted = decision if plain else copy
    if wanted.id not in program.var_id_to_col:
        raise InvalidInput(
            "the decision appears in no objective and no constraint; give the variable that the "
            "objectives are made of as `decision`."
        )
    first = program.var_id_to_col[wanted.id]
    return _numbers(program, parameters, solver), np.arange(first, first + decision.size)


def _stuffed(goal: Any, constraints: list[Any], parameters: Sequence[Any]) -> Any:
    """cvxpy's own matrix form, before any number is put in."""
    kept = [(one, one.value) for one in parameters]
    for one in parameters:
        one.value = np.zeros(one.shape)
    try:
        data, _, _ = cp.Problem(cp.Minimize(goal), constraints).get_problem_data(CLARABEL)
    except (cp.SolverError, cp.DCPError, cp.DPPError, cp.error.ParameterError) as error:
        raise InvalidInput(
            f"cvxpy cannot canonicalise the program: {' '.join(str(error).split())[:200]}."
        ) from error
    finally:
        for one, value in kept:
            one.value = value
    return data["param_prob"]


def _numbers(program: Any, parameters: Sequence[Any], solver: str) -> ConeProgram:
    """The data at no parameter, and at each unit of each: they are affine, so that is all."""
    ids = {one.id for one in parameters}
    others = {i: one.value for i, one in program.id_to_param.items() if i not in ids}
    size = sum(one.size for one in parameters)
    quadratic = program.P is not None
    found = []
    for unit in range(-1, size):
        vector = np.zeros(size)
        if unit >= 0:
            vector[unit] = 1.0
        values, first = dict(others), 0
        for one in parameters:
            part = vector[first : first + one.size]
            values[one.id] = part.reshape(one.shape, order="F") if one.shape else part[0]
            first += one.size
        parts = program.apply_parameters(values, quad_obj=quadratic)
        P, rest = (parts[0], parts[1:]) if quadratic else (None, parts)
        q, d, A, b = rest
        found.append((_upper(P, q.size), q, np.atleast_1d(float(d)), -A, b))
    count = found[0][1].size
    P, P_at = _pattern([one[0] for one in found], count)
    A, A_at = _pattern([one[3] for one in found], found[0][4].size)
    q, d, b = (_dense([one[i] for one in found]) for i in (1, 2, 4))
    dims = program.cone_dims
    if getattr(dims, "pnd", None):
        raise InvalidInput(
            "the program has power cones of many dimensions; write geometric means of two numbers."
        )
    cones = Cones(
        dims.zero, dims.nonneg, tuple(dims.soc), tuple(dims.psd), dims.exp, tuple(dims.p3d)
    )
    return ConeProgram(count, cones, P, P_at, q, d, A, A_at, b, solver)


def _upper(P: Any, size: int) -> Any:
    return sparse.csc_matrix((size, size)) if P is None else sparse.triu(P, format="csc")


def _pattern(matrices: list[Any], rows: int) -> tuple[Affine, tuple[NDArray[np.int64], Any]]:
    """Sparse matrices that are affine in the parameters, over all places that hold a number."""
    columns = []
    for one in matrices:
        entries = sparse.coo_matrix(one)
        place = entries.col.astype(np.int64) * max(rows, 1) + entries.row
        columns.append((place, entries.data))
    places = np.unique(np.concatenate([place for place, _ in columns]))
    table = np.zeros((places.size, len(columns)))
    for k, (place, data) in enumerate(columns):
        table[np.searchsorted(places, place), k] = data
    return _dense(list(table.T)), (places % max(rows, 1), places // max(rows, 1))


def _dense(vectors: list[Vector]) -> Affine:
    table = np.array(vectors)
    slope = (table[1:] - table[0]).T
    return Affine(table[0], sparse.csr_matrix(slope))


def check_solver(solver: str) -> str:
    """The solver's name as cvxpy writes it, or an error with those that are installed."""
    known: list[str] = cp.installed_solvers()  # type: ignore[no-untyped-call]
    name = str(solver).upper()
    if name not in known:
        raise SolverUnavailable(
            f"cvxpy has no solver {name}; the installed ones are {', '.join(known)}."
        )
    return name
