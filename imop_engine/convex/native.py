"""A program of cvxpy that is a quadratic program of the engine's own class, as arrays.

Native problems have exact frontiers and proven updates, so whatever can be one becomes one. The
arrays are read off the expressions' values and gradients, and then compared with the expressions at
points drawn at random: what does not agree there is no quadratic program of the class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import ImopError
from imop_engine.problem import Problem, affine_problem, portfolio_problem

AGREES: Final = 1e-9  # of the size of the numbers
POINTS: Final = 4
EQUATIONS: Final = ("Equality", "Zero")
KINDS: Final = (*EQUATIONS, "Inequality", "NonNeg", "NonPos")  # constraints that may be linear
NEAR_BUDGET: Final = 1e-9  # the class of portfolios has nothing but budget and caps


@dataclass(frozen=True, eq=False)
class Statement:
    """A program as it was written: expressions of cvxpy, and Theta."""

    objectives: Sequence[Any]
    constraints: Sequence[Any]
    decision: Any
    parameters: Sequence[Any]
    bounds: tuple[Any, Any]
    equalities: list[tuple[Vector, float]]
    names: Sequence[str] | None
    theta_names: Sequence[str] | None

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of variables and of parameters."""
        return self.decision.size, sum(one.size for one in self.parameters)

    def auxiliary(self) -> list[Any]:
        """Variables besides the decision."""
        found: dict[int, Any] = {}
        for one in [*self.objectives, *self.constraints]:
            found |= {v.id: v for v in one.variables()}
        found.pop(self.decision.id, None)
        return list(found.values())

    def put(self, x: Vector, theta: Vector) -> None:
        """Give the variable and the parameters values, whatever signs they were declared with."""
        self.decision.save_value(x.reshape(self.decision.shape, order="F"))
        first = 0
        for one in self.parameters:
            part = theta[first : first + one.size]
            one.save_value(part.reshape(one.shape, order="F") if one.shape else part[0])
            first += one.size


def as_native(statement: Statement) -> Problem | None:
    """The engine's own problem where the program is one, else None."""
    if not _may_be(statement):
        return None
    kept = [(one, one.value) for one in [statement.decision, *statement.parameters]]
    try:
        objectives = [_quadratic(statement, one) for one in statement.objectives]
        rows = [_affine(statement, one) for one in statement.constraints]
    finally:
        for one, value in kept:
            one.save_value(value)
    if any(one is None for one in [*objectives, *rows]):
        return None
    return _problem(statement, objectives, rows)


def _may_be(statement: Statement) -> bool:
    plain = {"nonneg"}  # the other attributes change what the variable is
    return (
        not statement.auxiliary()
        and all(name in plain for name, on in statement.decision.attributes.items() if _is_on(on))
        and all(one.is_quadratic() for one in statement.objectives)
        and all(type(one).__name__ in KINDS for one in statement.constraints)
        and all(arg.is_affine() for one in statement.constraints for arg in one.args)
    )


def _is_on(value: Any) -> bool:
    return value is not None and value is not False


def _quadratic(statement: Statement, expression: Any) -> tuple[Matrix, Vector, Matrix] | None:
    """Q, c0 and C of 1/2 x'Qx + (c0 + C theta)'x (+ anything without x), or None."""
    n, k = statement.sizes
    zero, none = np.zeros(n), np.zeros(k)
    found = [_gradient(statement, expression, zero, none)]
    found += [_gradient(statement, expression, one, none) for one in np.eye(n)]
    found += [_gradient(statement, expression, zero, one) for one in np.eye(k)]
    known = [one for one in found if one is not None]
    if len(known) < len(found):
        return None
    c0 = known[0]
    Q = np.array(known[1 : n + 1]) - c0
    C = (np.array(known[n + 1 :]) - c0).T
    Q = (Q + Q.T) / 2.0
    for x, theta in _points(n, k):
        expected = Q @ x + c0 + C @ theta
        there = _gradient(statement, expression, x, theta)
        if there is None or not _agree(there, expected):
            return None
    return Q, c0, C


def _gradient(statement: Statement, expression: Any, x: Vector, theta: Vector) -> Vector | None:
    statement.put(x, theta)
    found = expression.grad.get(statement.decision, 0.0)
    if found is None:
        return None
    if np.ndim(found) == 0:
        return np.full(x.size, float(found))
    dense = found.toarray() if hasattr(found, "toarray") else np.asarray(found)
    return np.asarray(dense, dtype=float).reshape(-1)


def _affine(statement: Statement, constraint: Any) -> tuple[Matrix, Vector, Matrix, bool] | None:
    """Rows M x + m + N theta >= 0 (or = 0), and whether they are equations; or None."""
    equal = type(constraint).__name__ in EQUATIONS
    sign = 1.0 if type(constraint).__name__ == "NonNeg" else -1.0
    args = constraint.args
    expression = sign * (args[0] - args[1] if len(args) == 2 else args[0])
    n, k = statement.sizes
    zero, none = np.zeros(n), np.zeros(k)

    def value(x: Vector, theta: Vector) -> Vector:
        statement.put(x, theta)
        found = expression.value
        found = found.toarray() if hasattr(found, "toarray") else found
        return np.asarray(found, dtype=float).ravel(order="F")

    m = value(zero, none)
    M = np.array([value(one, none) - m for one in np.eye(n)]).T
    N = np.array([value(zero, one) - m for one in np.eye(k)]).T
    if equal and np.any(N):
        return None  # the class has equations without theta
    for x, theta in _points(n, k):
        if not _agree(value(x, theta), M @ x + m + N @ theta):
            return None
    return M, m, N, equal


def _points(n: int, k: int) -> list[tuple[Vector, Vector]]:
    rng = np.random.default_rng(0)
    return [(rng.normal(size=n), rng.normal(size=k)) for _ in range(POINTS)]


def _agree(one: Vector, other: Vector) -> bool:
    return bool(np.all(np.abs(one - other) <= AGREES * (1.0 + np.abs(other).max(initial=0.0))))


def _problem(statement: Statement, objectives: list[Any], rows: list[Any]) -> Problem | None:
    n, k = statement.sizes
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    if statement.decision.attributes.get("nonneg"):
        lower[:] = 0.0
    A, b0, b, E, d = [], [], [], [], []
    for M, m, N, equal in rows:
        for row, constant, move in zip(M, m, N, strict=True):
            single = np.flatnonzero(row)
            if equal:
                E.append(row)
                d.append(-constant)
            elif single.size == 1 and not np.any(move):  # a bound on one variable
                i, level = single[0], -constant / row[single[0]]
                if row[i] > 0:
                    lower[i] = max(lower[i], level)
                else:
                    upper[i] = min(upper[i], level)
            else:
                A.append(row)
                b0.append(-constant)
                b.append(-move)
    Q, c0, C = (np.ascontiguousarray([one[i] for one in objectives]) for i in range(3))
    equations = np.array(E).reshape(-1, n), np.array(d)
    try:
        if not A and _is_portfolio(Q, c0, C, equations, lower):
            return portfolio_problem(
                Q[1] / 2.0, np.minimum(upper, 1.0), statement.bounds, statement.equalities or None,
                statement.names or statement.theta_names, undetermined=True,
            )  # fmt: skip
        return affine_problem(
            list(Q), c0, C, np.array(A).reshape(-1, n), np.array(b0), np.array(b).reshape(-1, k),
            statement.bounds, E=equations[0], d=equations[1], lower=lower, upper=upper,
            equalities=statement.equalities, names=statement.names,
            theta_names=statement.theta_names,
        )  # fmt: skip
    except ImopError:
        # What the class cannot hold, a covariance that is zero say, the compiled program may.
        return None


def _is_portfolio(
    Q: Matrix, c0: Matrix, C: Matrix, equations: tuple[Matrix, Vector], lower: Vector
) -> bool:
    n = lower.size
    E, d = equations
    return bool(
        len(Q) == 2
        and not np.any(Q[0])
        and np.any(Q[1])
        and not np.any(c0)
        and C.shape[2] == n
        and np.array_equal(C[0], -np.eye(n))
        and not np.any(C[1])
        and len(E) == 1
        and np.ptp(E[0]) == 0.0
        and E[0, 0] != 0.0
        and abs(d[0] / E[0, 0] - 1.0) <= NEAR_BUDGET
        and not np.any(lower)
    )
