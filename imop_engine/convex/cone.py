"""A convex program compiled to numbers: a cone program whose data are affine in its parameters.

    min 1/2 v'Pv + q'v + d   s.t.  A v + s = b,  s in K

cvxpy canonicalises a program once (`statement`); afterwards only numbers change, and the solver
keeps its factorisation's order and memory from one solve to the next. Nothing here knows cvxpy, so
a program pickles, is sent to other processes, and costs no start-up there.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import lsmr, spsolve

from imop_engine.arguments import Matrix, Vector
from imop_engine.convex.answers import Answer, Cones, refusal
from imop_engine.convex.by_name import solve_by_name

CLARABEL: Final = "CLARABEL"
# A decision is as exact as its objective is flat: squares of 1e-6 have to be told apart.
PRECISION: Final = 1e-11
FEASIBLE: Final = 1e-10
# Where the solver stops short of that, an answer within this is still taken.
ACCEPTED: Final = 1e-8
SMALL: Final = 20_000  # numbers up to which a map is dense
DENSE: Final = 400  # rows up to which least squares are dense
FLAT: Final = 1e-9  # share of the largest number on the diagonal that makes a system regular


@dataclass(frozen=True, eq=False)
class Affine:
    """Numbers that are affine in the parameters: `constant + slope @ parameters`."""

    constant: Vector
    slope: Any  # sparse, a row for each number

    @property
    def moves(self) -> bool:
        """Whether they depend on the parameters at all."""
        return bool(self.slope.nnz)

    def at(self, parameters: Vector) -> Vector:
        """The numbers at these parameters."""
        result: Vector = self.constant + self.slope @ parameters
        return result


@dataclass(eq=False)
class _Hot:
    """What lives between solves: one map from parameters to all numbers, and the solver."""

    constant: Vector
    slope: Any
    ends: list[int]
    moves: list[bool]
    lock: Any
    solver: Any = None

    @classmethod
    def of(cls, program: ConeProgram) -> _Hot:
        parts = [program.P, program.q, program.d, program.A, program.b]
        slope = sparse.vstack([one.slope for one in parts], format="csr")
        if slope.shape[0] * slope.shape[1] <= SMALL:  # then a dense product is the faster one
            slope = slope.toarray()
        return cls(
            np.concatenate([one.constant for one in parts]), slope,
            list(np.cumsum([one.constant.size for one in parts])),
            [one.moves for one in parts], threading.Lock(),
        )  # fmt: skip

    def numbers(self, parameters: Vector) -> tuple[Vector, ...]:
        """P, q, d, A and b at these parameters."""
        every = self.constant + self.slope @ parameters
        first, found = 0, []
        for end in self.ends:
            found.append(every[first:end])
            first = end
        return tuple(found)


@dataclass(frozen=True, eq=False)
class ConeProgram:
    """Numbers of a cone program, and where its parameters move them.

    P is kept by its upper triangle. `rows` and `columns` say where the entries of P and A lie.
    """

    size: int
    cones: Cones
    P: Affine
    P_at: tuple[NDArray[np.int64], NDArray[np.int64]]
    q: Affine
    d: Affine
    A: Affine
    A_at: tuple[NDArray[np.int64], NDArray[np.int64]]
    b: Affine
    solver: str = CLARABEL
    _hot: dict[str, Any] = field(default_factory=dict, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Without the solver, which does not pickle; it is made again when it is needed."""
        return {name: value for name, value in self.__dict__.items() if name != "_hot"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The numbers, and no solver yet."""
        self.__dict__.update(state | {"_hot": {}})

    def solve(self, parameters: Vector, what: str) -> Answer:
        """Solve at these parameters.

        Args:
            parameters: the values of all parameters, one after the other.
            what: what is solved, for errors: "the decision at weight 0.5".

        Raises:
            Infeasible: no point satisfies the constraints.
            InvalidInput: the objective has no least value.
            SolverUnavailable: the solver failed.
        """
        if self.solver == CLARABEL:
            return self._by_clarabel(self._data.numbers(parameters), what)
        full, rows = self.matrices(parameters)
        answer = solve_by_name(
            self.solver,
            self.cones,
            (full, self.q.at(parameters), rows, self.b.at(parameters)),
            what,
        )
        return replace(answer, value=answer.value + float(self.d.at(parameters)[0]))

    def _by_clarabel(self, numbers: tuple[Vector, ...], what: str) -> Answer:
        P, q, d, A, b = numbers
        # The solver's tolerances are meant for objectives of a size near one.
        scale = max(q.max(), -q.min(), 1e-100)
        if P.size:
            scale = max(scale, P.max(), -P.min())
        data = self._data
        with data.lock:
            if data.solver is None:
                # The solver scales rows by the numbers it first sees: always the same ones, so that
                # answers have the same digits whatever was solved before, and after pickling.
                first = data.numbers(np.ones(self.q.slope.shape[1]))
                data.solver = _clarabel(self, first[0], first[1], first[3], first[4])
            changed: dict[str, Any] = {"q": q / scale}
            if data.moves[4]:
                changed["b"] = b
            if P.size:
                changed["P"] = P / scale
            if data.moves[3]:
                changed["A"] = A
            data.solver.update(**changed)
            found = data.solver.solve()
        if not _has_arrived(found):  # once more with rows scaled by these very numbers
            found = _clarabel(self, P / scale, q / scale, A, b, ACCEPTED).solve()
        if not _has_arrived(found):
            raise refusal(str(found.status), self.solver, what)
        v, s, z = (np.array(part) for part in (found.x, found.s, found.z))
        value = found.obj_val * scale + float(d[0])
        return Answer(v, s, z * scale, value, found.solve_time)

    @property
    def _data(self) -> _Hot:
        if "data" not in self._hot:
            self._hot["data"] = _Hot.of(self)
        data: _Hot = self._hot["data"]
        return data

    # -- how the answer follows the parameters

    def value_slope(self, answer: Answer) -> Vector:
        """How the least value changes with each parameter: the multipliers say it."""
        v, z = answer.v, answer.z
        i, j = self.P_at
        twice = np.where(i == j, 0.5, 1.0)
        row, column = self.A_at
        slope = (twice * v[i] * v[j]) @ self.P.slope + v @ self.q.slope + self.d.slope.toarray()[0]
        slope = slope + (z[row] * v[column]) @ self.A.slope - z @ self.b.slope
        return np.asarray(slope, dtype=float).reshape(-1)

    def slope(self, parameters: Vector, answer: Answer, wanted: NDArray[np.int64]) -> Matrix:
        """How some of the variables change with each parameter.

        The optimality conditions in one variable u = s - z for each row, whose projection on K is
        s, are differentiated; where rows leave directions open, the least change is taken.

        Args:
            parameters: where the program was solved.
            answer: its solution.
            wanted: which of the variables.

        Returns:
            One row for each variable, one column for each parameter.
        """
        P, A = self.matrices(parameters)
        D = _projection_slope(self.cones, answer.s - answer.z)
        count, rows = self.size, A.shape[0]
        system = sparse.bmat([[P, A.T @ (D - sparse.eye(rows))], [A, D]], format="csc")
        right = -np.vstack([self._stationarity_slope(answer), self._feasibility_slope(answer)])
        if count + rows <= DENSE:
            found = np.linalg.lstsq(system.toarray(), right, rcond=1e-11)[0]
        else:
            found = _solve_large(system, right)
        result: Matrix = found[wanted]
        return result

    def matrices(self, parameters: Vector) -> tuple[Any, Any]:
        """P (both triangles) and A, sparse."""
        i, j = self.P_at
        upper = sparse.csc_matrix((self.P.at(parameters), (i, j)), shape=(self.size, self.size))
        full = upper + upper.T - sparse.diags(upper.diagonal())
        shape = (self.b.constant.size, self.size)
        return full, sparse.csc_matrix((self.A.at(parameters), self.A_at), shape=shape)

    def _stationarity_slope(self, answer: Answer) -> Matrix:
        i, j = self.P_at
        row, column = self.A_at
        v, z = answer.v, answer.z
        upper = _spread(i, v[j], self.size) @ self.P.slope
        lower = _spread(j, np.where(i == j, 0.0, v[i]), self.size) @ self.P.slope
        found = upper + lower + _spread(column, z[row], self.size) @ self.A.slope + self.q.slope
        return np.asarray(found.toarray())

    def _feasibility_slope(self, answer: Answer) -> Matrix:
        row, column = self.A_at
        found = _spread(row, answer.v[column], self.b.constant.size) @ self.A.slope - self.b.slope
        return np.asarray(found.toarray())


def _spread(rows: NDArray[np.int64], values: Vector, count: int) -> Any:
    """A sparse matrix that adds numbers, times `values`, into `count` rows."""
    return sparse.csr_matrix((values, (rows, np.arange(rows.size))), shape=(count, rows.size))


def _solve_large(system: Any, right: Matrix) -> Matrix:
    """Each column solved; by least squares where the system is singular."""
    size = float(np.abs(system.data).max(initial=1.0))
    with np.errstate(all="ignore"):
        regular = system + FLAT * size * sparse.eye(system.shape[0], format="csc")
        found = np.asarray(spsolve(regular, right)).reshape(right.shape)
    if np.isfinite(found).all() and np.abs(system @ found - right).max() <= 1e-6 * (
        1.0 + np.abs(right).max()
    ):
        return found
    columns = [lsmr(system, one, atol=1e-10, btol=1e-10)[0] for one in right.T]
    return np.array(columns).T


def _projection_slope(cones: Cones, u: Vector) -> Any:
    """The derivative of the projection of u on K, sparse."""
    straight = np.zeros(cones.zero + cones.nonnegative)
    straight[cones.zero :] = u[cones.zero : straight.size] > 0.0
    parts = [sparse.diags(straight)] if straight.size else []
    for block in cones.blocks():
        t, x = float(u[block][0]), u[block][1:]
        length = float(np.linalg.norm(x))
        if length <= t:
            parts.append(sparse.eye(block.stop - block.start))
        elif length <= -t:
            parts.append(sparse.csc_matrix((block.stop - block.start,) * 2))
        else:
            e = x / length
            inner = (1.0 + t / length) * np.eye(x.size) - (t / length) * np.outer(e, e)
            parts.append(sparse.csc_matrix(0.5 * np.block([[np.ones((1, 1)), e[None]],
                                                           [e[:, None], inner]])))  # fmt: skip
    return sparse.block_diag(parts, format="csc")


def _has_arrived(found: Any) -> bool:
    """Whether there is a solution; a solver that asked for too much may be near enough, too."""
    if str(found.status) in ("Solved", "AlmostSolved"):
        return True
    if str(found.status) not in ("InsufficientProgress", "MaxIterations", "NumericalError"):
        return False
    gap = abs(found.obj_val - found.obj_val_dual) / max(1.0, abs(found.obj_val))
    return bool(max(gap, found.r_prim, found.r_dual) <= ACCEPTED)


def _clarabel(
    program: ConeProgram,
    P: Vector,
    q: Vector,
    A: Vector,
    b: Vector,
    precision: float = PRECISION,
) -> Any:
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.presolve_enable = False  # data could not be changed afterwards
    settings.chordal_decomposition_enable = False
    settings.input_sparse_dropzeros = False  # zeros are where parameters may come
    settings.tol_gap_abs = settings.tol_gap_rel = precision
    settings.tol_feas = max(FEASIBLE, precision)
    settings.reduced_tol_gap_abs = settings.reduced_tol_gap_rel = ACCEPTED
    settings.reduced_tol_feas = ACCEPTED
    settings.max_threads = 1
    cones, made = program.cones, []
    if cones.zero:
        made.append(clarabel.ZeroConeT(cones.zero))
    if cones.nonnegative:
        made.append(clarabel.NonnegativeConeT(cones.nonnegative))
    made += [clarabel.SecondOrderConeT(size) for size in cones.second_order]
    made += [clarabel.PSDTriangleConeT(size) for size in cones.semidefinite]
    made += [clarabel.ExponentialConeT() for _ in range(cones.exponential)]
    made += [clarabel.PowerConeT(power) for power in cones.power]
    square, wide = (program.size,) * 2, (program.b.constant.size, program.size)
    return clarabel.DefaultSolver(
        _stored(P, program.P_at, square), q, _stored(A, program.A_at, wide), b, made, settings
    )


def _stored(values: Vector, at: tuple[Any, Any], shape: tuple[int, int]) -> Any:
    """A sparse matrix that keeps its zeros; `at` is in the order of columns already."""
    row, column = at
    starts = np.searchsorted(column, np.arange(shape[1] + 1))
    return sparse.csc_matrix((values, row, starts), shape=shape)
