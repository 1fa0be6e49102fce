"""The paper's own route: mixed-integer programs through gurobipy.

Everything that can be kept is kept: one environment a process, one forward model a weight of which
only the linear term (and a learned right-hand side) changes, one update model a weight of which
only the objective changes. So what it is measured against is Gurobi at its best, one thread.

Tolerances: `tolerance=None` leaves Gurobi's defaults (MIPGap 1e-4, feasibility 1e-6), which is what
the benchmark times. `tolerance="tight"` asks for 1e-9 and no gap, forbids big-M constants inside
Gurobi, and then solves the equations of the case it found once more: an oracle for tests.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from imop_engine.arguments import Matrix, Vector
from imop_engine.backends.native_ import least
from imop_engine.backends.weighted import Weighted, polish, polish_forward
from imop_engine.errors import ImopError, Infeasible, InvalidInput, SolverUnavailable
from imop_engine.problem import Problem
from imop_engine.update import Update, is_certified

PAIRS = ("sos1", "bigm")
FORMS = ("per-weight", "single")
TIGHT: Mapping[str, float] = {
    "FeasibilityTol": 1e-9,
    "OptimalityTol": 1e-9,
    "IntFeasTol": 1e-9,
    "MIPGap": 0.0,
    "MIPGapAbs": 0.0,
    "PreSOS1BigM": 0,  # a big M lets complementarity slip by M times the integer tolerance
}
TOO_LARGE = 10010  # Gurobi's code for a model beyond the size-limited licence
REMEDY = "use backend='native', which solves the same problem and needs no licence"
_environments: dict[int, Any] = {}


class Gurobi:
    """Forward solves and updates by Gurobi.

    Args:
        problem: what is decided.
        weights: (K, p) points of the simplex.
        pairs: complementarity by special ordered sets ("sos1") or by binaries with constants
            computed from the problem's own bounds ("bigm").
        form: "per-weight" solves K programs for a full update, "single" the paper's one program
            with all K blocks and a binary z_k each.
        tolerance: None for Gurobi's defaults, "tight" for an oracle.
        parameters: any of Gurobi's parameters, for the update models.
        cutoff: let each of the K programs of a full update know the best objective so far.
    """

    def __init__(
        self,
        problem: Problem,
        weights: Matrix,
        pairs: str = "sos1",
        form: str = "per-weight",
        tolerance: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        cutoff: bool = False,
    ) -> None:
        for what, value, known in (("pairs", pairs, PAIRS), ("form", form, FORMS)):
            if value not in known:
                raise InvalidInput(f"{what} is {value!r}; use one of {', '.join(known)}.")
        if tolerance not in (None, "tight"):
            raise InvalidInput(f"tolerance is {tolerance!r}; use None or 'tight'.")
        self.problem = problem
        self.pairs, self.form, self.cutoff = pairs, form, cutoff
        self.tight = tolerance == "tight"
        self.parameters = {**(TIGHT if self.tight else {}), **(parameters or {})}
        self.weighted = [Weighted.of(problem, weight) for weight in weights]
        self._environment = environment()
        self._forward: dict[int, _Forward] = {}
        self._updates: dict[int, _Blocks] = {}
        self._single: _Blocks | None = None
        self._box: tuple[Vector, Vector] | None = None

    def build(self) -> Gurobi:
        """Make every model now instead of at its first use, so that no solve pays for it."""
        for k in range(len(self.weighted)):
            self._model(k)
            self._forward_model(k)
        return self

    def decisions(self, theta: ArrayLike) -> Matrix:
        """S(w_k, theta) for every weight of the grid."""
        at = self.problem.check_theta(theta)
        return np.array([self._decide(k, at) for k in range(len(self.weighted))])

    def update(self, theta: ArrayLike, decision: ArrayLike, k: int, rate: float) -> Update:
        """The implicit update (`update2`) for weight k: one mixed-integer program.

        Args:
            theta: The unknown parameters; of a portfolio problem the yearly expected return of each
                asset.
            decision: The observed decision y; of a portfolio problem holdings, fractions of wealth.
            k: Which weight of the grid, from 0.
            rate: The learning rate eta of the update, positive: how far one decision may move
                theta.

        Returns:
            The new theta with Gurobi's bound as its certificate.
        """
        found = self._update(*self._read(theta, decision), k, rate, np.inf)
        assert found is not None  # without a cutoff a model ends with a solution or an error
        return found

    def full_update(self, theta: ArrayLike, decision: ArrayLike, rate: float) -> tuple[Update, int]:
        """The best update over all weights, by K programs or by the paper's single one.

        Args:
            theta: The unknown parameters; of a portfolio problem the yearly expected return of each
                asset.
            decision: The observed decision y; of a portfolio problem holdings, fractions of wealth.
            rate: The learning rate eta of the update, positive: how far one decision may move
                theta.

        Returns:
            The new theta with Gurobi's bound as its certificate, and the weight's position in the
            grid.
        """
        current, y = self._read(theta, decision)
        if self.form == "single":
            if self._single is None:
                self._single = self._blocks(list(range(len(self.weighted))))
            found = self._single.solve(current, y, rate, np.inf)
            assert found is not None
            return self._exact(current, y, rate, found), found.k
        tried: list[Update] = []
        places: list[int] = []
        for k in range(len(self.weighted)):
            limit = min((one.objective for one in tried), default=np.inf)
            one = self._update(current, y, k, rate, limit if self.cutoff else np.inf)
            if one is not None:
                tried.append(one)
                places.append(k)
        best, place = least(tried)
        return best, places[place]

    def _read(self, theta: ArrayLike, decision: ArrayLike) -> tuple[Vector, Vector]:
        current = self.problem.theta.nearest(self.problem.check_theta(theta))
        return current, self.problem.check_decisions(decision)[0]

    def _decide(self, k: int, theta: Vector) -> Vector:
        x = self._forward_model(k).solve(theta)
        return polish_forward(self.weighted[k], theta, x) if self.tight else x

    def _update(
        self, current: Vector, y: Vector, k: int, rate: float, limit: float
    ) -> Update | None:
        found = self._model(k).solve(current, y, rate, limit)
        return None if found is None else self._exact(current, y, rate, found)

    def _exact(self, current: Vector, y: Vector, rate: float, found: _Found) -> Update:
        """The solver's theta with its own decision, so that the pair is feasible beyond doubt."""
        points = [found.theta]
        if self.tight:
            at = (found.theta, found.x, found.u)
            finer = polish(self.weighted[found.k], self.problem.theta, (current, y, rate), at)[0]
            points.append(finer)
        tried = []
        for point in points:
            theta = self.problem.theta.nearest(point)
            x = self._decide(found.k, theta)
            move, miss = theta - current, y - x
            tried.append((0.5 * float(move @ move) + rate * float(miss @ miss), theta, x))
        objective, theta, x = min(tried, key=lambda one: one[0])
        bound = min(found.bound, objective)
        return Update(theta, x, objective, bound, is_certified(objective, bound), found.nodes)

    def _forward_model(self, k: int) -> _Forward:
        if k not in self._forward:
            self._forward[k] = _Forward(self._environment, self.weighted[k], self.tight)
        return self._forward[k]

    def _model(self, k: int) -> _Blocks:
        if k not in self._updates:
            self._updates[k] = self._blocks([k])
        return self._updates[k]

    def _blocks(self, places: list[int]) -> _Blocks:
        box = None
        if self.pairs == "bigm" or len(places) > 1:
            self._box = box = self._box or _variable_bounds(self._environment, self.problem)
        return _Blocks(
            self._environment, self.problem, {k: self.weighted[k] for k in places}, self.pairs,
            box, self.parameters,
        )  # fmt: skip


class _Found:
    """What one model found: theta, and the block whose decision it chose."""

    def __init__(self, model: Any, theta: list[Any], k: int, block: _Block) -> None:
        self.theta = np.array(model.getAttr("X", theta))
        self.x = np.array(model.getAttr("X", block.x))
        self.u = np.array(model.getAttr("X", block.u)) if block.u else np.zeros(0)
        self.k = k
        self.bound = float(model.ObjBound)
        self.nodes = int(model.NodeCount)


class _Forward:
    """S(w, theta) for one weight; between solves only the linear term and the right-hand side
    change. The objective is divided by the size of H, so that tolerances are those of x."""

    def __init__(self, env: Any, weighted: Weighted, tight: bool) -> None:
        import gurobipy as gp

        _, n, rows, _ = weighted.sizes
        self.weighted = weighted
        self.scale = float(np.abs(weighted.H).max(initial=0.0)) or 1.0
        self.moves = bool(np.any(weighted.N))
        self.model = gp.Model(env=env)
        self.model.Params.Method = 0  # primal simplex goes on where the last solve stopped
        if tight:
            self.model.Params.FeasibilityTol = self.model.Params.OptimalityTol = 1e-9
        self.x = _variables(self.model, n, lb=-gp.GRB.INFINITY)
        self.rows: list[Any] = []
        for row, value, i in zip(weighted.M, weighted.m, weighted.variable, strict=True):
            if i >= 0:
                self.x[i].LB = 0.0
                self.rows.append(None)
            else:
                self.rows.append(self.model.addLConstr(_dot(gp, row, self.x), ">", value))
        for row, value in zip(weighted.E, weighted.d, strict=True):
            self.model.addLConstr(_dot(gp, row, self.x), "=", value)
        goal = gp.QuadExpr()
        i, j = np.nonzero(weighted.H)
        left, right = [self.x[a] for a in i], [self.x[a] for a in j]
        goal.addTerms((0.5 * weighted.H[i, j] / self.scale).tolist(), left, right)
        self.model.setObjective(goal)
        self.movable = [row for row in range(rows) if np.any(weighted.N[row])]

    def solve(self, theta: Vector) -> Vector:
        """The decision at theta."""
        weighted = self.weighted
        cost = (weighted.g + weighted.G @ theta) / self.scale
        self.model.setAttr("Obj", self.x, cost.tolist())
        if self.movable:
            right = (weighted.m + weighted.N @ theta)[self.movable]
            self.model.setAttr("RHS", [self.rows[row] for row in self.movable], right.tolist())
        _optimize(self.model)
        if self.model.SolCount == 0:
            raise Infeasible(
                f"Gurobi found no decision at this theta (status {self.model.Status}); "
                "change theta, or loosen the constraints."
            )
        return np.array(self.model.getAttr("X", self.x))


class _Block:
    """x in S(w, theta) inside a model: stationarity, feasibility and complementarity pairs."""

    def __init__(
        self,
        model: Any,
        weighted: Weighted,
        theta: list[Any],
        most: tuple[Vector, Vector] | None,
        box: tuple[Vector, Vector] | None,
    ) -> None:
        import gurobipy as gp

        _, n, rows, equations = weighted.sizes
        free = -gp.GRB.INFINITY
        self.x = _variables(model, n, lb=free)
        if box is not None:
            model.setAttr("LB", self.x, box[0].tolist())
            model.setAttr("UB", self.x, box[1].tolist())
        self.u = _variables(model, rows)
        nu = _variables(model, equations, lb=free)
        for i in range(n):
            gradient = _dot(gp, weighted.H[i], self.x) + _dot(gp, weighted.G[i], theta)
            gradient -= _dot(gp, weighted.M[:, i], self.u) + _dot(gp, weighted.E[:, i], nu)
            model.addLConstr(gradient, "=", -weighted.g[i])
        for row, value in zip(weighted.E, weighted.d, strict=True):
            model.addLConstr(_dot(gp, row, self.x), "=", value)
        for row in range(rows):
            i = int(weighted.variable[row])
            if i >= 0:
                slack = self.x[i]
                slack.LB = 0.0
            else:
                slack = model.addVar()
                sum_ = _dot(gp, weighted.M[row], self.x) - _dot(gp, weighted.N[row], theta)
                model.addLConstr(sum_ - slack, "=", weighted.m[row])
            if most is None:
                model.addSOS(gp.GRB.SOS_TYPE1, [self.u[row], slack])
            else:
                active = model.addVar(vtype=gp.GRB.BINARY)
                model.addLConstr(self.u[row] - most[0][row] * active, "<", 0.0)
                model.addLConstr(slack + most[1][row] * active, "<", most[1][row])


class _Blocks:
    """Equation (update2) for one weight, or the paper's single-level form for several.

    With several, z_k chooses one block and v_k = z_k x_k is made linear by the bounds of x.
    """

    def __init__(
        self,
        env: Any,
        problem: Problem,
        weighted: Mapping[int, Weighted],
        pairs: str,
        box: tuple[Vector, Vector] | None,
        parameters: Mapping[str, Any],
    ) -> None:
        import gurobipy as gp

        self.model = model = gp.Model(env=env)
        for name, value in parameters.items():
            model.setParam(name, value)
        theta_set = problem.theta
        self.theta = _variables(model, problem.theta_size)
        model.setAttr("LB", self.theta, theta_set.lower.tolist())
        model.setAttr("UB", self.theta, theta_set.upper.tolist())
        for row, value in zip(theta_set.equalities, theta_set.values, strict=True):
            model.addLConstr(_dot(gp, row, self.theta), "=", value)
        self.blocks: dict[int, _Block] = {}
        for k, one in weighted.items():
            most = None
            if pairs == "bigm":
                assert box is not None
                most = _pair_bounds(env, problem, one, box)
            self.blocks[k] = _Block(model, one, self.theta, most, box)
        self.seen = [block.x for block in self.blocks.values()]
        self.z: list[Any] = []
        if len(self.blocks) > 1:
            assert box is not None
            self._choose_one(model, box)

    def _choose_one(self, model: Any, box: tuple[Vector, Vector]) -> None:
        import gurobipy as gp

        self.z = [model.addVar(vtype=gp.GRB.BINARY) for _ in self.blocks]
        model.addLConstr(gp.LinExpr([1.0] * len(self.z), self.z), "=", 1.0)
        seen = []
        for z, x in zip(self.z, self.seen, strict=True):
            v = _variables(model, len(x), lb=-gp.GRB.INFINITY)
            for i, (low, high) in enumerate(zip(*box, strict=True)):
                model.addLConstr(v[i] - low * z, ">", 0.0)
                model.addLConstr(v[i] - high * z, "<", 0.0)
                model.addLConstr(v[i] - x[i] - high * z, ">", -high)
                model.addLConstr(v[i] - x[i] - low * z, "<", -low)
            seen.append(v)
        self.seen = seen

    def solve(self, theta: Vector, y: Vector, rate: float, limit: float) -> _Found | None:
        """The best theta; None where nothing is better than `limit`."""
        import gurobipy as gp

        blocks = len(self.seen)
        goal = gp.QuadExpr()
        variables = self.theta + [v for x in self.seen for v in x]
        curve = [0.5] * len(theta) + [rate] * (len(y) * blocks)
        goal.addTerms(curve, variables, variables)
        goal.addTerms([*(-theta).tolist(), *(-2.0 * rate * y).tolist() * blocks], variables)
        # The K - 1 blocks not chosen each add rate * y'y, which is taken off again.
        goal.addConstant(0.5 * float(theta @ theta) + rate * float(y @ y))
        self.model.setObjective(goal)
        if np.isfinite(limit):
            self.model.Params.Cutoff = limit
        elif self.model.Params.Cutoff < gp.GRB.INFINITY:
            self.model.Params.Cutoff = gp.GRB.INFINITY
        _optimize(self.model)
        if self.model.SolCount == 0:
            if np.isfinite(limit) and self.model.Status in (gp.GRB.CUTOFF, gp.GRB.INFEASIBLE):
                return None
            raise ImopError(
                f"Gurobi ended an update without a solution (status {self.model.Status}); {REMEDY}."
            )
        place = int(np.argmax(self.model.getAttr("X", self.z))) if self.z else 0
        k, block = list(self.blocks.items())[place]
        return _Found(self.model, self.theta, k, block)


def environment() -> Any:
    """The process's one silent environment, one thread."""
    process = os.getpid()  # an environment does not survive a fork
    if process not in _environments:
        try:
            import gurobipy as gp
        except ImportError as error:
            raise SolverUnavailable(
                f"gurobipy is not installed; install it with `pip install gurobipy`, or {REMEDY}."
            ) from error
        try:
            _environments[process] = gp.Env(params={"OutputFlag": 0, "Threads": 1})
        except gp.GurobiError as error:
            raise SolverUnavailable(
                f"Gurobi gives no licence ({str(error).rstrip('.')}); renew it, or {REMEDY}."
            ) from error
    return _environments[process]


def _optimize(model: Any) -> None:
    import gurobipy as gp

    try:
        model.optimize()
    except gp.GurobiError as error:
        if error.errno == TOO_LARGE:
            raise SolverUnavailable(
                "the licence that comes with gurobipy stops at 2,000 variables and 2,000 linear "
                "constraints, and at 200 variables with a quadratic objective (error 10010); this "
                f"program has {model.NumVars} variables and {model.NumConstrs} constraints. "
                f"Install a full licence, take fewer weights or variables, or {REMEDY}."
            ) from error
        raise SolverUnavailable(
            f"Gurobi refused the program ({str(error).rstrip('.')}, error {error.errno}); {REMEDY}."
        ) from error


def _variables(model: Any, count: int, lb: float = 0.0) -> list[Any]:
    return [model.addVar(lb=lb) for _ in range(count)]


def _dot(gp: Any, row: Vector, variables: list[Any]) -> Any:
    """row @ variables without its zeros."""
    at = np.flatnonzero(row)
    return gp.LinExpr(row[at].tolist(), [variables[i] for i in at])


# -- constants for big-M pairs and for z_k x_k ---------------------------------------------------
def _variable_bounds(env: Any, problem: Problem) -> tuple[Vector, Vector]:
    """The least box that holds every decision feasible for some theta: 2n linear programs."""
    low, high = _extremes(env, problem, np.eye(problem.n), np.zeros((problem.n, 0)))
    for i in range(problem.n):
        if not np.isfinite(low[i]) or not np.isfinite(high[i]):
            raise InvalidInput(
                f"{problem.names[i]} has no finite bounds over all theta, and pairs='bigm' and "
                "form='single' need them; give bounds, or use pairs='sos1' and form='per-weight'."
            )
    return low, high


def _pair_bounds(
    env: Any, problem: Problem, weighted: Weighted, box: tuple[Vector, Vector]
) -> tuple[Vector, Vector]:
    """How large each multiplier and each slack may have to be."""
    theta = problem.theta
    if not (np.all(np.isfinite(theta.lower)) and np.all(np.isfinite(theta.upper))):
        raise InvalidInput("pairs='bigm' needs finite `bounds` on theta; or use pairs='sos1'.")
    multipliers = weighted.multiplier_bounds(box, theta)
    _, most = _extremes(env, problem, weighted.M, -weighted.N)
    return multipliers, most - weighted.m


def _extremes(env: Any, problem: Problem, of_x: Matrix, of_theta: Matrix) -> tuple[Vector, Vector]:
    """The least and largest values of some rows over all theta and all feasible decisions."""
    import gurobipy as gp

    model = gp.Model(env=env)
    x = [
        model.addVar(lb=a, ub=b) for a, b in zip(problem.lower, problem.upper, strict=True)
    ]  # infinities mean none
    theta = [
        model.addVar(lb=a, ub=b)
        for a, b in zip(problem.theta.lower, problem.theta.upper, strict=True)
    ]
    for row, value, move in zip(problem.rows, problem.rhs0, problem.rhs, strict=True):
        model.addLConstr(_dot(gp, row, x) - _dot(gp, move, theta), ">", value)
    for row, value in zip(problem.equal_rows, problem.equal_rhs, strict=True):
        model.addLConstr(_dot(gp, row, x), "=", value)
    for row, value in zip(problem.theta.equalities, problem.theta.values, strict=True):
        model.addLConstr(_dot(gp, row, theta), "=", value)
    result = np.full((2, len(of_x)), np.inf) * np.array([[-1.0], [1.0]])
    for place, row in enumerate(of_x):
        for side, sense in ((0, gp.GRB.MINIMIZE), (1, gp.GRB.MAXIMIZE)):
            model.setObjective(_dot(gp, row, x) + _dot(gp, of_theta[place], theta), sense)
            _optimize(model)
            if model.Status == gp.GRB.OPTIMAL:
                result[side, place] = model.ObjVal
    return result[0], result[1]
