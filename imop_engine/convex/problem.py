"""`convex_problem`: any multiobjective convex program written in cvxpy, with unknown theta."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike

from imop_engine.arguments import Anchors, anchor_rows, labels_of
from imop_engine.capabilities import Capability
from imop_engine.convex.cone import CLARABEL
from imop_engine.convex.native import Statement, as_native
from imop_engine.convex.own import ConvexProgram
from imop_engine.convex.statement import check_program, check_solver, compile_program, weighted_goal
from imop_engine.errors import InvalidInput
from imop_engine.problem import Problem, parameter_set


def convex_problem(
    objectives: Sequence[Any],
    constraints: Sequence[Any],
    decision: Any,
    theta: Any,
    bounds: tuple[ArrayLike, ArrayLike] = (-10.0, 10.0),
    *,
    anchors: Anchors | None = None,
    names: Sequence[str] | None = None,
    theta_names: Sequence[str] | None = None,
    solver: str = CLARABEL,
    native: bool = True,
) -> Problem:
    """min { f_1(x, theta), ..., f_p(x, theta) } under convex constraints, written in cvxpy.

    The program is canonicalised once; afterwards only numbers change. Other variables of the
    program, such as those that state a tail's average, are minimised over and never observed.

    Args:
        objectives: At least two convex expressions, each to be made small; write -r @ x for a
            return. Theta may stand where an expression is affine in it (DPP).
        constraints: Of cvxpy; theta may stand in them, too.
        decision: The variable that is observed, a vector.
        theta: The unknown: a parameter of cvxpy, or a list of them. Other parameters keep the value
            that they have now.
        bounds: The box of theta, numbers or one entry for each parameter.
        anchors: What is known of theta: {name or position: value}, or a list of (vector, value).
        names: Of the decision's entries.
        theta_names: Of the parameters; where there are as many as entries of the decision, those.
        solver: Clarabel keeps its factorisation between solves; any other that cvxpy knows, by
            name, is told the program anew each time.
        native: Whether a quadratic program with constraints of the engine's own class becomes a
            native problem, whose frontier is exact and whose updates are proven.

    Returns:
        A problem like any other; `problem.can(...)` says what it can do.

    >>> import cvxpy as cp
    >>> import numpy as np
    >>> x, r = cp.Variable(2), cp.Parameter(2)
    >>> losses = np.array([[0.02, 0.05], [-0.01, -0.06], [0.0, 0.03]])
    >>> problem = convex_problem([-r @ x, cp.norm(losses @ x)], [cp.sum(x) == 1, x >= 0], x, r)
    >>> problem.n, problem.p, problem.theta_size
    (2, 2, 2)
    """
    stated = [cp.Expression.cast_to_const(one) for one in _listed(objectives, "objectives")]
    rules = _listed(constraints, "constraints")
    if len(stated) < 2:
        raise InvalidInput(
            f"there is {len(stated)} objective; weights choose between at least two of them."
        )
    if not isinstance(decision, cp.Variable) or decision.ndim > 1:
        raise InvalidInput("decision must be a vector variable of cvxpy: x = cp.Variable(8).")
    unknown = [theta] if isinstance(theta, cp.Parameter) else list(theta)
    if not unknown or not all(isinstance(one, cp.Parameter) for one in unknown):
        raise InvalidInput("theta must be a parameter of cvxpy, r = cp.Parameter(8), or a list.")
    check_program(stated, rules)
    chosen = check_solver(solver)
    _check_parameters(stated, rules, unknown)
    n, k = decision.size, sum(one.size for one in unknown)
    if theta_names is None and names is not None and k == n:
        theta_names = names
    parameters = labels_of(theta_names, k)
    equalities, values = anchor_rows(anchors, parameters)
    statement = Statement(
        stated, rules, decision, unknown, bounds,
        list(zip(equalities, values.tolist(), strict=True)), names, theta_names,
    )  # fmt: skip
    found = as_native(statement) if native and chosen == CLARABEL else None
    if found is not None:
        return found
    return _own(statement, chosen, parameters)


def _own(statement: Statement, solver: str, parameters: tuple[str, ...]) -> Problem:
    n, k = statement.sizes
    p = len(statement.objectives)
    weights, there = cp.Parameter(p, nonneg=True), cp.Parameter(n)
    goal, extra = weighted_goal(statement.objectives, weights)
    theta, x = statement.parameters, statement.decision
    forward, decided = compile_program(
        goal, [*statement.constraints, *extra], x, [*theta, weights], solver
    )
    hidden = {one.id for one in statement.auxiliary()}
    kept = [c for c in statement.constraints if hidden & {v.id for v in c.variables()}]
    valued, _ = compile_program(
        goal, [*kept, *extra, x == there], x, [*theta, weights, there], solver
    )
    affine = _is_affine(statement)
    abilities = {Capability.FRONTIER_CURVE} if p == 2 else set()
    if affine:
        abilities.add(Capability.SUBOPTIMALITY)
    cuts, values = anchor_rows(statement.equalities, parameters)
    space = parameter_set(statement.bounds, k, cuts, values, parameters)
    return Problem(
        capabilities=frozenset(abilities),
        quadratic=np.zeros((p, 0, 0)),
        linear0=np.zeros((p, 0)),
        linear=np.zeros((p, 0, k)),
        rows=np.zeros((0, n)),
        rhs0=np.zeros(0),
        rhs=np.zeros((0, k)),
        equal_rows=np.zeros((0, n)),
        equal_rhs=np.zeros(0),
        lower=np.full(n, -np.inf),
        upper=np.full(n, np.inf),
        theta=space,
        names=labels_of(statement.names, n),
        theta_names=parameters,
        program=ConvexProgram(forward, decided, valued, affine, (space.lower, space.upper)),
    )


def _listed(given: Any, what: str) -> list[Any]:
    if isinstance(given, cp.Expression | cp.Constraint):
        raise InvalidInput(f"{what} is one expression; give a list of them.")
    return list(given)


def _check_parameters(objectives: list[Any], constraints: list[Any], unknown: list[Any]) -> None:
    """Theta appears, and whatever else is a parameter has a value."""
    every = {one.id: one for part in [*objectives, *constraints] for one in part.parameters()}
    for one in unknown:
        if one.id not in every:
            raise InvalidInput(
                f"{one} is named as theta and appears in no objective and no constraint; nothing "
                "could be learned of it."
            )
        every.pop(one.id)
    for one in every.values():
        if one.value is None:
            raise InvalidInput(
                f"{one} is a parameter without a value and not part of theta; give it one "
                "(its .value), or name it in theta."
            )


def _is_affine(statement: Statement) -> bool:
    """Whether each objective is affine in theta, and no constraint has theta in it."""
    unknown = {one.id for one in statement.parameters}
    if any(unknown & {q.id for q in one.parameters()} for one in statement.constraints):
        return False
    swapped: dict[int, Any] = {one.id: cp.Variable(one.shape) for one in statement.parameters}
    for one in statement.objectives:
        for variable in one.variables():
            swapped[variable.id] = cp.Constant(np.ones(variable.shape))
    return all(_swapped(one, swapped).is_affine() for one in statement.objectives)


def _swapped(expression: Any, leaves: dict[int, Any]) -> Any:
    if not expression.args:
        return leaves.get(expression.id, expression) if hasattr(expression, "id") else expression
    return expression.copy([_swapped(one, leaves) for one in expression.args])
