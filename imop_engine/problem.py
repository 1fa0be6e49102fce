"""(1) What is being decided, which numbers in it are unknown (theta), and where they may lie.

One class carries every case of the paper:

    min { f_1, ..., f_p }   f_l = 1/2 x'Q_l x + c_l(theta)'x
    s.t.  A x >= b(theta),  E x = d,  lower <= x <= upper

with c_l and b affine in theta, and theta in a box cut by linear equalities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from imop_engine import kernels
from imop_engine.allowed import active, allowed
from imop_engine.arguments import (
    TINIEST,
    Anchors,
    Matrix,
    Vector,
    anchor_rows,
    broadcast,
    labels_of,
    psd,
    vector,
)
from imop_engine.capabilities import LIMITED, PORTFOLIO, Capability, of_objectives
from imop_engine.contradiction import require_feasible
from imop_engine.errors import Infeasible, InvalidInput
from imop_engine.gauge import require_fixed
from imop_engine.independent_rows import independent_rows
from imop_engine.limits import LinearLimit, limit_rows, linear_limits
from imop_engine.portfolio_arrays import budget_arrays, limited_arrays, project_rows
from imop_engine.programs import OwnProgram

POINT = 1e-9  # bounds give way by this much where box and anchors meet in a single point

_NOT_A_PORTFOLIO = "this is a quadratic problem; only portfolio problems have that."


@dataclass(frozen=True, eq=False)
class ParameterSet:
    """Theta: a box cut by linear equalities, `equalities @ theta == values`."""

    lower: Vector
    upper: Vector
    equalities: Matrix
    values: Vector

    @cached_property
    def projector(self) -> Matrix:
        """Orthogonal projector on the directions the equalities leave open."""
        return self._planes[0]

    @cached_property
    def offset(self) -> Vector:
        """The point of the plane of the equalities that is nearest to zero."""
        return self._planes[1]

    @cached_property
    def _planes(self) -> tuple[Matrix, Vector]:
        size = self.lower.size
        projector = np.eye(size)
        offset = np.zeros(size)
        # An equality on one coordinate fixes it to the last digit; the others only see the rest.
        single = (self.equalities != 0).sum(axis=1) == 1
        for row, value in zip(self.equalities[single], self.values[single], strict=True):
            i = int(np.flatnonzero(row)[0])
            projector[i, i] = 0.0
            offset[i] = value / row[i]
        rest, values = self.equalities[~single], self.values[~single]
        if rest.shape[0]:
            open_ = np.diag(projector) > 0
            inner = rest[:, open_]
            _, singular, right = np.linalg.svd(inner)
            rank = int((singular > 1e-12 * singular.max(initial=0.0)).sum())
            basis = right[rank:].T  # empty where the equalities leave one point: exactly zero then
            projector[np.ix_(open_, open_)] = basis @ basis.T
            offset[open_] = np.linalg.pinv(inner) @ (values - rest @ offset)
        return projector, offset

    @cached_property
    def arrays(self) -> kernels.ThetaSet:
        """The set as the kernels want it."""
        return kernels.ThetaSet(self.projector, self.offset, self.lower, self.upper)

    def nearest(self, theta: ArrayLike) -> Vector:
        """The point of the set nearest to theta."""
        wish = np.asarray(theta, dtype=float)
        start: Vector = self.projector @ wish + self.offset
        if np.all((start >= self.lower) & (start <= self.upper)):
            return start
        point = project_rows(self.projector, start, self.lower, self.upper)
        if point is None:  # a set that is one point may be empty by rounding alone
            room = POINT * (1.0 + np.abs(start))
            point = project_rows(self.projector, start, self.lower - room, self.upper + room)
        if point is None:
            raise Infeasible(
                "no parameters satisfy the bounds and the anchors at once: "
                f"bounds {_span(self.lower, self.upper)}, {len(self.values)} anchor(s). "
                "Widen the bounds on returns, or change the anchors."
            )
        exact = self.projector @ point + self.offset
        result: Vector = np.clip(exact, self.lower, self.upper)
        return result

    def contains(self, theta: Vector, tolerance: float = 1e-9) -> bool:
        """Whether theta satisfies the box and the equalities."""
        size = 1.0 + float(np.abs(theta).max(initial=0.0))
        inside = np.all(theta >= self.lower - tolerance * size)
        inside &= np.all(theta <= self.upper + tolerance * size)
        return bool(inside and np.all(np.abs(self.equalities @ theta - self.values) <= 1e-8 * size))


@dataclass(frozen=True, eq=False)
class Problem:
    """A multiobjective quadratic program with unknown parameters. Make it with
    `portfolio_problem` or `quadratic_problem`."""

    capabilities: frozenset[Capability]  # what algorithms may ask of it
    quadratic: NDArray[np.float64]  # Q_l, shape (p, n, n)
    linear0: Matrix  # c_l(theta) = linear0[l] + linear[l] @ theta, shape (p, n)
    linear: NDArray[np.float64]  # shape (p, n, k)
    rows: Matrix  # A, shape (m, n)
    rhs0: Vector  # b(theta) = rhs0 + rhs @ theta
    rhs: Matrix  # shape (m, k)
    equal_rows: Matrix  # E
    equal_rhs: Vector  # d
    lower: Vector
    upper: Vector
    theta: ParameterSet
    names: tuple[str, ...]
    theta_names: tuple[str, ...] = field(default=())
    # of a portfolio problem: what is held together, single assets being bounds
    limits: tuple[LinearLimit, ...] = field(default=())
    program: OwnProgram | None = None  # decides where the arrays above do not (`convex_problem`)

    @property
    def n(self) -> int:
        """Number of decision variables (assets)."""
        return self.lower.size

    @property
    def p(self) -> int:
        """Number of objectives."""
        return int(self.quadratic.shape[0])

    @property
    def theta_size(self) -> int:
        """Number of unknown parameters."""
        return self.theta.lower.size

    def can(self, capability: Capability) -> bool:
        """Whether the problem has this capability."""
        return capability in self.capabilities

    def require(self, *needed: Capability, sentence: str) -> None:
        """Refuse the problem with `sentence` where it lacks one of the capabilities."""
        if not self.capabilities.issuperset(needed):
            raise InvalidInput(sentence)

    def require_arrays(self, what: str) -> None:
        """Refuse a problem with a program of its own, where `what` needs quadratic objectives."""
        if self.program is not None:
            raise InvalidInput(
                f"{what} needs the arrays of a quadratic program, and this problem has a program "
                "of its own; solve, learners with backend='native' and frontiers work with it."
            )

    @property
    def has_anchors(self) -> bool:
        """Whether something is known of theta besides its box."""
        return len(self.theta.values) > 0

    @cached_property
    def covariance(self) -> Matrix:
        """The covariance of the assets' returns, where theta are expected returns."""
        self.require(Capability.EXPECTED_RETURNS, sentence=_NOT_A_PORTFOLIO)
        return np.ascontiguousarray(self.quadratic[1] / 2.0)

    @cached_property
    def effective_caps(self) -> Vector:
        """Upper bounds on x; infinite where a budget already keeps x below its cap."""
        if not self.can(Capability.BUDGET_AND_CAPS):
            return self.upper
        return np.where(self.upper >= 1.0, np.inf, self.upper)

    @cached_property
    def portfolio(self) -> kernels.PortfolioArrays:
        """What the compiled portfolio code needs, computed once."""
        self.require(Capability.EXPECTED_RETURNS, sentence=_NOT_A_PORTFOLIO)
        if self.can(Capability.BUDGET_AND_CAPS):
            return budget_arrays(self.covariance, self.effective_caps)
        equations, inequalities = (self.equal_rows, self.equal_rhs), (self.rows, self.rhs0)
        bounds = self.lower, self.upper
        return limited_arrays(self.covariance, bounds, equations, inequalities)

    def costs(self, theta: ArrayLike) -> Matrix:
        """c_l(theta), one row for each objective."""
        result: Matrix = self.linear0 + self.linear @ np.asarray(theta, dtype=float)
        return result

    def right_hand_side(self, theta: ArrayLike) -> Vector:
        """b(theta)."""
        result: Vector = self.rhs0 + self.rhs @ np.asarray(theta, dtype=float)
        return result

    def check_theta(self, theta: ArrayLike, what: str = "theta") -> Vector:
        """theta as an array of the right length, or an error."""
        array = vector(theta, what)
        if array.size != self.theta_size:
            raise InvalidInput(
                f"{what} has {array.size} numbers, the problem has {self.theta_size} unknowns."
            )
        tiny = np.abs(array) < TINIEST  # nothing can be divided by such numbers
        return np.where(tiny, 0.0, array) if tiny.any() else array

    def check_decisions(self, decisions: Any) -> Matrix:
        """Decisions as a T x n array; a pandas frame is read by its column names."""
        columns = getattr(decisions, "columns", None)
        if columns is not None:
            wanted = list(self.names)
            if set(map(str, columns)) >= set(wanted):
                decisions = decisions.rename(columns=str)[wanted]
        try:
            array = np.ascontiguousarray(decisions, dtype=float)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"decisions must be numbers in a table: {error}.") from None
        array = np.atleast_2d(array)
        if array.ndim != 2 or array.shape[1] != self.n:
            raise InvalidInput(
                f"each decision needs {self.n} numbers ({', '.join(self.names[:3])}, …), "
                f"these have shape {array.shape}."
            )
        finite = np.isfinite(array)
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            raise InvalidInput(
                f"decision {row + 1} has {array[row, column]} for {self.names[column]}; "
                "every decision needs a finite number for each variable. "
                "Drop the row or fill the gap."
            )
        return array


def portfolio_problem(
    covariance: Any,
    upper: ArrayLike = 1.0,
    bounds: tuple[ArrayLike, ArrayLike] = (0.0, 1.0),
    anchors: Anchors | None = None,
    names: Sequence[str] | None = None,
    undetermined: bool = False,
    lower: ArrayLike = 0.0,
    limits: Any = (),
    benchmark: ArrayLike | None = None,
    active_limits: Any = (),
) -> Problem:
    """Investors who weigh return r'x against risk x'Qx; the returns r are unknown.

    Args:
        covariance: Q, an n x n array or frame (its columns then name the assets).
        upper: caps on each holding, one number or one for each asset.
        bounds: the box in which each expected return lies.
        anchors: what is known of r: {asset: return}, or a list of (vector over assets, value).
            Portfolios tell r only up to a shift and a scale; two anchors fix both. With one or
            none the numbers that are learned are open to them (`identification` says which).
        names: asset names.
        undetermined: accept two or more anchors that leave shift or scale open all the same.
        lower: the least of each holding, one number or one for each asset; below zero an asset may
            be sold short down to it.
        limits: on what is held together: `LinearLimit`, or (holdings, relation, value) with
            holdings {asset: coefficient} and relation "<=", ">=" or "=".
        benchmark: a portfolio that holdings are compared with, one number for each asset.
        active_limits: limits on holdings less those of the benchmark, in the same forms.

    >>> problem = portfolio_problem([[0.04, 0.01], [0.01, 0.09]], names=["bonds", "stocks"])
    >>> problem.n, problem.names
    (2, ('bonds', 'stocks'))
    """
    if names is None and hasattr(covariance, "columns"):
        names = [str(c) for c in covariance.columns]
    Q = psd(covariance, "covariance")
    n = Q.shape[0]
    labels = labels_of(names, n)
    given = (*linear_limits(limits), *active(active_limits, benchmark, labels))
    try:
        box, several = allowed(labels, lower, upper, given)
        budget = np.vstack([np.ones((1, n)), several.exactly[0]])
        equations, inequalities = independent_rows(
            (budget, np.append(1.0, several.exactly[1])),
            (-several.at_most[0], -several.at_most[1]),
        )
    except Infeasible:
        _explain(labels, lower, upper, given)
        raise
    equalities, values = anchor_rows(anchors, labels)
    if not undetermined:
        require_fixed(equalities, values, 0 if anchors is None else len(anchors))
    theta = parameter_set(bounds, n, equalities, values, labels)
    zeros = np.zeros((n, n))
    problem = Problem(
        capabilities=LIMITED if len(several.senses) or box[0].any() else PORTFOLIO,
        quadratic=np.stack([zeros, 2.0 * Q]),
        linear0=np.zeros((2, n)),
        linear=np.stack([-np.eye(n), zeros]),
        rows=inequalities[0],
        rhs0=inequalities[1],
        rhs=np.zeros((len(inequalities[1]), n)),
        equal_rows=equations[0],
        equal_rhs=equations[1],
        lower=box[0],
        upper=box[1],
        theta=theta,
        names=labels,
        theta_names=labels,
        limits=given,
    )
    if not problem.can(Capability.BUDGET_AND_CAPS):
        try:
            _ = problem.portfolio
        except Infeasible:
            _explain(labels, lower, upper, given)
            raise
    return problem


def _explain(
    names: tuple[str, ...], lower: ArrayLike, upper: ArrayLike, limits: tuple[LinearLimit, ...]
) -> None:
    """Say which limits contradict one another, where there is more to it than caps."""
    low = broadcast(lower, len(names), "lower")
    if limits or low.any():
        high = broadcast(upper, len(names), "upper")
        require_feasible(names, low, high, limit_rows(limits, names))


def quadratic_problem(
    Q: Sequence[Any],
    c: Sequence[ArrayLike],
    A: Any = None,
    b: Any = None,
    learn: str = "c",
    bounds: tuple[ArrayLike, ArrayLike] = (-10.0, 10.0),
    *,
    E: Any = None,
    d: Any = None,
    lower: ArrayLike = 0.0,
    upper: ArrayLike = np.inf,
    names: Sequence[str] | None = None,
) -> Problem:
    """A multiobjective quadratic program of which the objectives' c or the right-hand side b is
    unknown:  min { 1/2 x'Q_l x + c_l'x },  A x >= b,  E x = d,  lower <= x <= upper.

    Args:
        Q: one matrix for each objective, at least two.
        c: one vector for each objective.
        A: inequalities A x >= b, one in each row.
        b: their right-hand side.
        learn: "c" (theta is c_1, ..., c_p one after the other) or "b" (theta is b).
        bounds: the box of theta, numbers or one entry for each parameter.
        E: equalities E x = d, one in each row.
        d: their right-hand side.
        lower: bounds on x from below; as in the paper x >= 0 unless said otherwise.
        upper: bounds on x from above.
        names: of the variables x.

    >>> problem = quadratic_problem([[[1.0]], [[1.0]]], [[-1.0], [-3.0]], learn="c")
    >>> problem.theta_size, problem.p
    (2, 2)
    """
    if learn not in ("c", "b"):
        raise InvalidInput(f"learn must be 'c' or 'b'; got {learn!r}.")
    costs = [vector(cl, "c") for cl in c]
    p, n = len(costs), costs[0].size if costs else 0
    if any(cl.size != n for cl in costs):
        raise InvalidInput("every c must have the same length, one number a variable.")
    rows = np.zeros((0, n)) if A is None else _table(A, n, "A")
    right = vector(b, "b") if b is not None and np.size(b) else np.zeros(0)
    if right.size != rows.shape[0]:
        raise InvalidInput(f"A has {rows.shape[0]} rows but b has {right.size} numbers.")
    if learn == "b" and not right.size:
        raise InvalidInput("there is no b to learn: give A and b.")
    k = p * n if learn == "c" else right.size
    eye = np.eye(p * n).reshape(p, n, p * n)
    return affine_problem(
        Q,
        linear0=np.zeros((p, n)) if learn == "c" else np.array(costs),
        linear=eye if learn == "c" else np.zeros((p, n, k)),
        A=rows,
        rhs0=right if learn == "c" else np.zeros(right.size),
        rhs=np.zeros((right.size, k)) if learn == "c" else np.eye(k),
        bounds=bounds,
        E=E,
        d=d,
        lower=lower,
        upper=upper,
        names=names,
        theta_names=[f"c{f + 1}[{i + 1}]" for f in range(p) for i in range(n)]
        if learn == "c"
        else [f"b[{i + 1}]" for i in range(k)],
    )


def affine_problem(
    Q: Sequence[Any],
    linear0: Any,
    linear: Any,
    A: Any,
    rhs0: Any,
    rhs: Any,
    bounds: tuple[ArrayLike, ArrayLike],
    *,
    E: Any = None,
    d: Any = None,
    lower: ArrayLike = 0.0,
    upper: ArrayLike = np.inf,
    equalities: Sequence[tuple[ArrayLike, float]] = (),
    names: Sequence[str] | None = None,
    theta_names: Sequence[str] | None = None,
) -> Problem:
    """The whole class: c_l(theta) = linear0[l] + linear[l] @ theta, b(theta) = rhs0 + rhs @ theta.

    Args:
        Q: one matrix for each objective, at least two.
        linear0: the constant part of c, of shape (objectives, variables).
        linear: how c moves with theta, of shape (objectives, variables, parameters).
        A: inequalities A x >= b(theta), one in each row.
        rhs0: the constant part of b, one number for each row of A.
        rhs: how b moves with theta, of shape (rows of A, parameters).
        bounds: the box of theta, numbers or one entry for each parameter.
        E: equalities E x = d, one in each row.
        d: their right-hand side.
        lower: bounds on x from below; as in the paper x >= 0 unless said otherwise.
        upper: bounds on x from above.
        equalities: (vector over theta, value) pairs that cut the box.
        names: of the variables x.
        theta_names: of the parameters.

    Returns:
        The problem.
    """
    if len(Q) < 2:
        raise InvalidInput(f"Q needs one matrix an objective, at least two; got {len(Q)}.")
    matrices = [psd(Ql, f"Q[{f}]", zero=True) for f, Ql in enumerate(Q)]
    n, p = matrices[0].shape[0], len(matrices)
    start, slope = np.array(linear0, dtype=float), np.array(linear, dtype=float)
    if any(Ql.shape != (n, n) for Ql in matrices) or start.shape != (p, n):
        raise InvalidInput(
            f"Q has {p} matrices of size {n} and c has shape {start.shape}; "
            "each objective needs a matrix and a vector over the same variables."
        )
    k = slope.shape[-1] if slope.ndim == 3 else 0
    rows = _table(A, n, "A")
    m = rows.shape[0]
    right0 = np.array(rhs0, dtype=float).reshape(-1)
    right = np.array(rhs, dtype=float).reshape(m, -1) if m else np.zeros((0, k))
    if k == 0 or slope.shape != (p, n, k) or right0.size != m or right.shape != (m, k):
        raise InvalidInput(
            f"linear needs shape ({p}, {n}, parameters), rhs0 {m} numbers and rhs ({m}, "
            f"parameters); they have {slope.shape}, {right0.size} and {right.shape}."
        )
    if not all(np.all(np.isfinite(part)) for part in (start, slope, rows, right0, right)):
        raise InvalidInput("c, A and b must be finite numbers.")
    equal = np.zeros((0, n)) if E is None else _table(E, n, "E")
    level = np.zeros(0) if d is None else vector(d, "d")
    if level.size != equal.shape[0]:
        raise InvalidInput(f"E has {equal.shape[0]} rows but d has {level.size} numbers.")
    low, high = broadcast(lower, n, "lower"), broadcast(upper, n, "upper")
    labels = labels_of(names, n)
    if np.any(low > high):
        i = int(np.argmax(low - high))
        raise Infeasible(f"lower is above upper for {labels[i]}: {low[i]:g} > {high[i]:g}.")
    parameters = labels_of(theta_names, k)
    cuts, values = anchor_rows(list(equalities), parameters)
    return Problem(
        capabilities=of_objectives(p, bool(right.any())),
        quadratic=np.stack(matrices),
        linear0=start,
        linear=slope,
        rows=rows,
        rhs0=right0,
        rhs=right,
        equal_rows=equal,
        equal_rhs=level,
        lower=low,
        upper=high,
        theta=parameter_set(bounds, k, cuts, values, parameters),
        names=labels,
        theta_names=parameters,
    )


def _table(value: Any, n: int, what: str) -> Matrix:
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInput(f"{what} must be a table of numbers.") from None
    if array.ndim != 2 or array.shape[1] != n:
        raise InvalidInput(f"{what} needs {n} columns, one a variable; its shape is {array.shape}.")
    return array


def parameter_set(
    bounds: tuple[ArrayLike, ArrayLike],
    size: int,
    equalities: Matrix,
    values: Vector,
    names: tuple[str, ...],
) -> ParameterSet:
    """Theta from a box and equalities on it; refused where it is empty.

    Args:
        bounds: The least and the greatest value of each parameter, or of all.
        size: How many parameters there are.
        equalities: One equality on theta in each row.
        values: The right-hand side of each equality.
        names: Of the parameters.

    Returns:
        Theta.

    Raises:
        InvalidInput: no theta in the box meets the equalities.
    """
    try:
        low, high = bounds
    except (TypeError, ValueError):
        raise InvalidInput("bounds must be a pair: (lowest, highest).") from None
    lower, upper = broadcast(low, size, "bounds"), broadcast(high, size, "bounds")
    if np.any(lower > upper):
        i = int(np.argmax(lower - upper))
        raise InvalidInput(
            f"the bounds of {names[i]} are crossed: lowest {lower[i]:g}, highest {upper[i]:g}."
        )
    result = ParameterSet(lower, upper, equalities, values)
    for row, value in zip(equalities, values, strict=True):
        if (row != 0).sum() == 1:
            i = int(np.flatnonzero(row)[0])
            if not lower[i] <= value / row[i] <= upper[i]:
                raise Infeasible(
                    f"the anchor {value / row[i]:g} for {names[i]} lies outside its bounds "
                    f"{lower[i]:g} to {upper[i]:g}; widen `bounds` or change the anchor."
                )
    result.nearest(np.clip(np.zeros(size), lower, upper))
    return result


def _span(lower: Vector, upper: Vector) -> str:
    return f"{lower.min():g} to {upper.max():g}"
