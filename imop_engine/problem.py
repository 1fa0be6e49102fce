"""(1) What is being decided, which numbers in it are unknown (theta), and where they may lie.

One class carries every case of the paper:

    min { f_1, ..., f_p }   f_l = 1/2 x'Q_l x + c_l(theta)'x
    s.t.  A x >= b(theta),  E x = d,  lower <= x <= upper

with c_l and b affine in theta, and theta in a box cut by linear equalities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from imop_engine import kernels
from imop_engine.errors import Infeasible, InvalidInput

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Anchors = Mapping[Any, float] | Sequence[tuple[ArrayLike, float]]

SYMMETRY = 1e-8  # a matrix may differ from its transpose by this share of its largest entry
NOT_PSD = 1e-8  # an eigenvalue below minus this share of the largest makes a matrix indefinite
RIDGE = 1e-9  # share of the largest eigenvalue added where a matrix has a null space
FILL = 1e-9  # caps may miss a full budget by this much and still count as filling it exactly


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
            pseudo = np.linalg.pinv(inner)
            projector[np.ix_(open_, open_)] -= pseudo @ inner
            offset[open_] = pseudo @ (values - rest @ offset)
        return (projector + projector.T) / 2, offset

    def nearest(self, theta: ArrayLike) -> Vector:
        """The point of the set nearest to theta."""
        wish = np.asarray(theta, dtype=float)
        start = self.projector @ wish + self.offset
        point = project_rows(self.projector, start, self.lower, self.upper)
        if point is None:
            raise Infeasible(
                "no parameters satisfy the bounds and the anchors at once: "
                f"bounds {_span(self.lower, self.upper)}, {len(self.values)} anchor(s). "
                "Widen `bounds` or change the anchors."
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

    kind: Literal["portfolio", "quadratic"]
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

    @property
    def covariance(self) -> Matrix:
        """The covariance of a portfolio problem."""
        return self.portfolio.covariance

    @cached_property
    def portfolio(self) -> PortfolioArrays:
        """What the compiled portfolio code needs, computed once."""
        if self.kind != "portfolio":
            raise InvalidInput("this is a quadratic problem; only portfolio problems have that.")
        return PortfolioArrays.of(self)

    def costs(self, theta: ArrayLike) -> Matrix:
        """c_l(theta), one row an objective."""
        result: Matrix = self.linear0 + self.linear @ np.asarray(theta, dtype=float)
        return result

    def right_hand_side(self, theta: ArrayLike) -> Vector:
        """b(theta)."""
        result: Vector = self.rhs0 + self.rhs @ np.asarray(theta, dtype=float)
        return result

    def check_theta(self, theta: ArrayLike, what: str = "theta") -> Vector:
        """theta as an array of the right length, or an error."""
        array = _vector(theta, what)
        if array.size != self.theta_size:
            raise InvalidInput(
                f"{what} has {array.size} numbers, the problem has {self.theta_size} unknowns."
            )
        return array

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
        bad = np.argwhere(~np.isfinite(array))
        if bad.size:
            row, column = bad[0]
            raise InvalidInput(
                f"decision {row + 1} has {array[row, column]} for {self.names[column]}; "
                "every decision needs a finite number for each variable. "
                "Drop the row or fill the gap."
            )
        return array


@dataclass(frozen=True, eq=False)
class PortfolioArrays:
    """The portfolio problem as its kernels want it."""

    covariance: Matrix
    caps: Vector  # inf where the budget already keeps x below the cap
    budget_covariance: Matrix  # P Q, P the projector on 1'x = 0
    covariance_budget_covariance: Matrix  # Q P Q
    least_variance: Vector
    least_variance_state: NDArray[np.int8]

    @classmethod
    def of(cls, problem: Problem) -> PortfolioArrays:
        """Compute them for a problem."""
        n = problem.n
        covariance = np.ascontiguousarray(problem.quadratic[1] / 2.0)
        caps = np.where(problem.upper >= 1.0, np.inf, problem.upper)
        plane = np.eye(n) - 1.0 / n
        least, state = _least_variance(covariance, caps)
        left = np.ascontiguousarray(plane @ covariance)
        return cls(covariance, caps, left, covariance @ left, least, state)


def project_rows(
    gram: Matrix, start: Vector, lower: Vector, upper: Vector, scale: Vector | None = None
) -> Vector | None:
    """Rows within their bounds nearest to `start` in the metric of `gram`; None: there are none."""
    m = start.size
    if scale is None:
        scale = np.sqrt(np.maximum(np.diag(gram), 0.0))
    fixed = scale <= 1e-12 * max(1.0, float(scale.max(initial=0.0)))
    scale = np.where(fixed, 0.0, scale)
    slack = 1e-9 * (1.0 + np.abs(start))
    if np.any(fixed & ((start < lower - slack) | (start > upper + slack))):
        return None
    working = np.empty(m, np.int64)
    side = np.zeros(m, np.int64)
    rows = start.copy()
    status, *_ = kernels.project(
        np.ascontiguousarray(gram), 0, scale, start, lower, upper, working, 0, side,
        np.empty((m, m)), np.zeros(m), rows, 0.0, np.inf, 100 * (m + 1),
    )  # fmt: skip
    return rows if status == kernels.OPTIMAL else None


def _least_variance(covariance: Matrix, caps: Vector) -> tuple[Vector, NDArray[np.int8]]:
    """The portfolio of least variance and the state of each asset in it, at least one free.

    By the frontier's own method: start at a portfolio that fills the caps in order, with a linear
    cost that makes it optimal, and follow the solution while that cost is taken away.
    """
    n = caps.size
    state = np.full(n, kernels.LOWER, np.int8)
    x = np.zeros(n)
    for i in range(n):
        room = 1.0 - x.sum()
        x[i] = min(room, caps[i])
        state[i] = kernels.UPPER if x[i] < room else kernels.FREE
        if x[i] >= room - 1e-15:
            state[i] = kernels.FREE
            break
    push = np.select([state == kernels.LOWER, state == kernels.UPPER], [1.0, -1.0], 0.0)
    cost = float(np.abs(covariance).max()) * push - covariance @ x
    size = 64 * n + 64
    lams, nus = np.empty(size), np.empty(size)
    xs, ds = np.empty((size, n)), np.empty((size, n))
    states = np.empty((size, n), np.int8)
    count = kernels.trace(
        covariance, cost, cost, caps, x, state, 1.0, lams, xs, ds, states, nus
    )  # fmt: skip
    if count <= 0:
        raise InvalidInput(
            "the portfolio of least variance could not be found: the covariance is too "
            "ill-conditioned. Shrink it towards its diagonal."
        )
    last = count - 1
    least = np.clip(xs[last] + (1.0 - lams[last]) * ds[last], 0.0, caps)
    return least, states[last].copy()


def portfolio_problem(
    covariance: Any,
    upper: ArrayLike = 1.0,
    bounds: tuple[ArrayLike, ArrayLike] = (0.0, 1.0),
    anchors: Anchors | None = None,
    names: Sequence[str] | None = None,
) -> Problem:
    """Investors who weigh return r'x against risk x'Qx; the returns r are unknown.

    Args:
        covariance: Q, an n x n array or frame (its columns then name the assets).
        upper: caps on each holding, one number or one an asset.
        bounds: the box in which each expected return lies.
        anchors: what is known of r: {asset: return}, or a list of (vector over assets, value).
            Portfolios tell r only up to a shift and a scale; two anchors fix both.
        names: asset names.

    >>> problem = portfolio_problem([[0.04, 0.01], [0.01, 0.09]], names=["bonds", "stocks"])
    >>> problem.n, problem.names
    (2, ('bonds', 'stocks'))
    """
    if names is None and hasattr(covariance, "columns"):
        names = [str(c) for c in covariance.columns]
    Q = _psd(covariance, "covariance")
    n = Q.shape[0]
    labels = _names(names, n)
    caps = _broadcast(upper, n, "upper")
    if np.any(caps < 0):
        i = int(np.argmin(caps))
        raise InvalidInput(f"the cap of {labels[i]} is {caps[i]:g}; caps must not be negative.")
    caps = np.minimum(caps, 1.0)
    if caps.sum() < 1.0 - FILL:
        raise Infeasible(
            f"the caps add up to {caps.sum():.6g}, so no portfolio can be fully invested; "
            "raise `upper` until they add up to at least 1."
        )
    if caps.sum() < 1.0:
        caps = caps / caps.sum()
    equalities, values = _anchor_rows(anchors, labels)
    theta = _parameter_set(bounds, n, equalities, values, labels)
    zeros = np.zeros((n, n))
    return Problem(
        kind="portfolio",
        quadratic=np.stack([zeros, 2.0 * Q]),
        linear0=np.zeros((2, n)),
        linear=np.stack([-np.eye(n), zeros]),
        rows=np.zeros((0, n)),
        rhs0=np.zeros(0),
        rhs=np.zeros((0, n)),
        equal_rows=np.ones((1, n)),
        equal_rhs=np.ones(1),
        lower=np.zeros(n),
        upper=caps,
        theta=theta,
        names=labels,
        theta_names=labels,
    )


# -- reading arguments ---------------------------------------------------------------------------
def _vector(value: ArrayLike, what: str) -> Vector:
    try:
        array = np.atleast_1d(np.array(value, dtype=float))
    except (TypeError, ValueError):
        raise InvalidInput(f"{what} must be numbers.") from None
    if array.ndim != 1 or not np.all(np.isfinite(array)):
        raise InvalidInput(f"{what} must be a list of finite numbers.")
    return array


def _broadcast(value: ArrayLike, n: int, what: str) -> Vector:
    array = np.array(value, dtype=float)
    if np.any(np.isnan(array)):
        raise InvalidInput(f"{what} contains a missing value.")
    if array.ndim == 0:
        return np.full(n, float(array))
    if array.shape != (n,):
        raise InvalidInput(f"{what} needs one number, or {n} of them; it has shape {array.shape}.")
    return array


def _names(names: Sequence[str] | None, n: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"x{i + 1}" for i in range(n))
    labels = tuple(str(name) for name in names)
    if len(labels) != n:
        raise InvalidInput(f"there are {len(labels)} names for {n} variables.")
    twice = sorted({name for name in labels if labels.count(name) > 1})
    if twice:
        raise InvalidInput(f"names must differ; {twice[0]!r} appears more than once.")
    return labels


def _psd(matrix: Any, what: str) -> Matrix:
    """A symmetric positive semidefinite matrix, lifted by a small ridge if it has a null space."""
    try:
        Q: Matrix = np.array(matrix, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInput(f"{what} must be a table of numbers.") from None
    if Q.ndim != 2 or Q.shape[0] != Q.shape[1] or Q.shape[0] == 0:
        raise InvalidInput(f"{what} must be a square table; it has shape {Q.shape}.")
    bad = np.argwhere(~np.isfinite(Q))
    if bad.size:
        i, j = bad[0]
        raise InvalidInput(f"{what} has {Q[i, j]} in row {i + 1}, column {j + 1}.")
    size = float(np.abs(Q).max())
    apart = np.abs(Q - Q.T)
    if apart.max() > SYMMETRY * max(size, 1e-300):
        i, j = np.unravel_index(int(apart.argmax()), Q.shape)
        raise InvalidInput(
            f"{what} is not symmetric: entry ({i + 1}, {j + 1}) is {Q[i, j]:g} "
            f"and ({j + 1}, {i + 1}) is {Q[j, i]:g}."
        )
    Q = (Q + Q.T) / 2
    eigenvalues = np.linalg.eigvalsh(Q)
    top = float(eigenvalues[-1])
    if top <= 0 or eigenvalues[0] < -NOT_PSD * top:
        raise InvalidInput(
            f"{what} is not positive semidefinite: its least eigenvalue is {eigenvalues[0]:.3g}. "
            "Estimate it from more observations, or shrink it towards its diagonal."
        )
    if eigenvalues[0] < RIDGE * top:
        Q[np.diag_indices_from(Q)] += RIDGE * top - min(0.0, float(eigenvalues[0]))
    return Q


def _anchor_rows(anchors: Anchors | None, names: tuple[str, ...]) -> tuple[Matrix, Vector]:
    n = len(names)
    rows: list[Vector] = []
    values: list[float] = []
    items: list[tuple[Any, Any]] = []
    if anchors is not None:
        items = list(anchors.items()) if isinstance(anchors, Mapping) else list(anchors)
    for key, value in items:
        if np.ndim(key) == 0 or isinstance(key, str):
            rows.append(np.eye(n)[_asset(key, names)])
        else:
            row = _vector(key, "an anchor's portfolio")
            if row.size != n:
                raise InvalidInput(f"an anchor's portfolio has {row.size} entries for {n} assets.")
            if not row.any():
                raise InvalidInput("an anchor's portfolio is zero everywhere; it fixes nothing.")
            rows.append(row)
        values.append(float(_vector(value, "an anchor's value")[0]))
    return _independent(np.array(rows).reshape(len(rows), n), np.array(values))


def _independent(rows: Matrix, values: Vector) -> tuple[Matrix, Vector]:
    """The rows that say something new; one that repeats others must agree with them."""
    kept: list[int] = []
    for i in range(len(values)):
        trial = [*kept, i]
        if np.linalg.matrix_rank(rows[trial]) == len(trial):
            kept.append(i)
            continue
        mix = np.linalg.lstsq(rows[kept].T, rows[i], rcond=None)[0]
        said = float(mix @ values[kept])
        if abs(said - values[i]) > 1e-9 * (1.0 + abs(values[i])):
            raise Infeasible(
                f"anchor {i + 1} asks for {values[i]:g} where the anchors before it already "
                f"fix {said:g}; remove one of them."
            )
    return rows[kept], values[kept]


def _asset(key: Any, names: tuple[str, ...]) -> int:
    if isinstance(key, str) and key in names:
        return names.index(key)
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool) and 0 <= key < len(names):
        return int(key)
    raise InvalidInput(
        f"there is no asset {key!r} to anchor; the assets are {', '.join(names[:8])}"
        f"{', …' if len(names) > 8 else ''}."
    )


def _parameter_set(
    bounds: tuple[ArrayLike, ArrayLike],
    size: int,
    equalities: Matrix,
    values: Vector,
    names: tuple[str, ...],
) -> ParameterSet:
    try:
        low, high = bounds
    except (TypeError, ValueError):
        raise InvalidInput("bounds must be a pair: (lowest, highest).") from None
    lower, upper = _broadcast(low, size, "bounds"), _broadcast(high, size, "bounds")
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
