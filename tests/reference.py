"""Slow, obvious twins of the engine, written from the paper alone.

Every test of the engine's mathematics compares it with this file, so nothing here is clever:
cases are enumerated, each case is one small convex program, and every answer is proved by its
optimality conditions before it is handed out. Letters are the paper's: x a decision, y a noisy
one, w the weight of f_1, θ what is learned, η the rate.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import daqp
import numpy as np
from scipy.optimize import nnls

FEASIBLE = 1e-9  # violation below which a point counts as feasible: far above rounding at size 1
SOLVED = (
    1e-10  # residual of the optimality conditions, for an H of size 1, above which a twin refuses
)

# The paper's appendix, tables "True Expected Return" and "True Return Covariances Matrix".
SECURITIES_RETURN = np.array([0.1791, 0.1143, 0.1357, 0.0837, 0.1653, 0.1808, 0.0352, 0.0368])
SECURITIES_COVARIANCE = np.array(
    [
        [0.1641, 0.0299, 0.0478, 0.0491, 0.0580, 0.0871, 0.0603, 0.0492],
        [0.0299, 0.0720, 0.0511, 0.0287, 0.0527, 0.0297, 0.0291, 0.0326],
        [0.0478, 0.0511, 0.0794, 0.0498, 0.0664, 0.0479, 0.0395, 0.0523],
        [0.0491, 0.0287, 0.0498, 0.1148, 0.0336, 0.0503, 0.0326, 0.0447],
        [0.0580, 0.0527, 0.0664, 0.0336, 0.1073, 0.0483, 0.0402, 0.0533],
        [0.0871, 0.0297, 0.0479, 0.0503, 0.0483, 0.1134, 0.0591, 0.0387],
        [0.0603, 0.0291, 0.0395, 0.0326, 0.0402, 0.0591, 0.0704, 0.0244],
        [0.0492, 0.0326, 0.0523, 0.0447, 0.0533, 0.0387, 0.0244, 0.1028],
    ]
)

# The paper's MQP, whose parameters its appendix leaves out: A x >= b, x >= 0.
MQP_Q = (np.diag([1.0, 2.0]), np.diag([2.0, 1.0]))
MQP_C = (np.array([3.0, 1.0]), np.array([-6.0, -5.0]))
MQP_A = np.array([[-3.0, 1.0], [0.0, -1.0]])
MQP_B = np.array([-6.0, -3.0])


@dataclass(frozen=True)
class Weighted:
    """Problem (PWS) for one weight: min ½x'Hx + (g + Gθ)'x, M x >= m + Nθ, E x = d; and Θ.

    Θ is the box low <= θ <= high cut by C θ = e. At most one row of M per group is active.
    """

    H: np.ndarray
    g: np.ndarray
    G: np.ndarray
    M: np.ndarray
    m: np.ndarray
    N: np.ndarray
    E: np.ndarray
    d: np.ndarray
    low: np.ndarray
    high: np.ndarray
    C: np.ndarray
    e: np.ndarray
    groups: tuple[tuple[int, ...], ...]

    @property
    def n(self) -> int:
        """The size of a decision."""
        return len(self.H)

    def cases(self) -> Iterator[list[int]]:
        """Every set of rows of M that may be active at once."""
        options = [[(), *((row,) for row in group)] for group in self.groups]
        for choice in itertools.product(*options):
            yield [row for rows in choice for row in rows]


@dataclass(frozen=True)
class Update:
    """A solution of update2: θ, its decision x, and ½‖θ−θ_t‖² + η‖y−x‖²."""

    theta: np.ndarray
    x: np.ndarray
    objective: float


def portfolio(
    Q: np.ndarray,
    w: float,
    upper: float | np.ndarray = 1.0,
    low: float | np.ndarray = 0.0,
    high: float | np.ndarray = 1.0,
    anchors: Sequence[tuple[np.ndarray, float]] = (),
) -> Weighted:
    """Section 4.2 for one weight: f_1 = −r'x, f_2 = x'Qx, 1'x = 1, 0 <= x <= upper; θ = r.

    The weighted sum is divided by 2(1−w), so that H = Q whatever the weight; w < 1.
    """
    n = len(Q)
    eye = np.eye(n)
    return Weighted(
        H=np.array(Q, dtype=float),
        g=np.zeros(n),
        G=-w / (2 * (1 - w)) * eye,
        M=np.vstack([eye, -eye]),
        m=np.concatenate([np.zeros(n), -np.broadcast_to(np.asarray(upper, float), n)]),
        N=np.zeros((2 * n, n)),
        E=np.ones((1, n)),
        d=np.ones(1),
        low=np.array(np.broadcast_to(np.asarray(low, float), n)),
        high=np.array(np.broadcast_to(np.asarray(high, float), n)),
        C=np.array([row for row, _ in anchors], dtype=float).reshape(-1, n),
        e=np.array([value for _, value in anchors], dtype=float),
        groups=tuple((i, n + i) for i in range(n)),
    )


def quadratic(
    Q: Sequence[np.ndarray],
    c: Sequence[np.ndarray],
    A: np.ndarray,
    b: np.ndarray,
    weight: Sequence[float],
    learn: str,
    low: np.ndarray | float,
    high: np.ndarray | float,
) -> Weighted:
    """Section 4.1 for one weight vector: f_l = ½x'Q_l x + c_l'x, A x >= b, x >= 0.

    θ is (c_1, …, c_p) for learn="c" and b for learn="b".
    """
    A, b = np.asarray(A, float), np.asarray(b, float)
    rows, n = A.shape
    size = n * len(Q) if learn == "c" else rows
    free_c, free_b = learn == "c", learn == "b"
    eye = np.eye(n)
    return Weighted(
        H=sum(part * np.asarray(matrix, float) for part, matrix in zip(weight, Q, strict=True)),
        g=np.zeros(n) if free_c else np.asarray(weight) @ np.asarray(c),
        G=np.hstack([part * eye for part in weight]) if free_c else np.zeros((n, size)),
        M=np.vstack([A, eye]),
        m=np.concatenate([np.zeros(rows) if free_b else b, np.zeros(n)]),
        N=np.vstack([np.eye(rows), np.zeros((n, rows))]) if free_b else np.zeros((rows + n, size)),
        E=np.zeros((0, n)),
        d=np.zeros(0),
        low=np.array(np.broadcast_to(np.asarray(low, float), size)),
        high=np.array(np.broadcast_to(np.asarray(high, float), size)),
        C=np.zeros((0, size)),
        e=np.zeros(0),
        groups=tuple((row,) for row in range(rows + n)),
    )


def mqp_decision(w: float) -> np.ndarray:
    """S(w) of the paper's MQP in closed form, w the weight of f_1."""
    return np.array([max(0.0, (6 - 9 * w) / (2 - w)), np.clip((5 - 6 * w) / (1 + w), 0.0, 3.0)])


# -- one convex program ----------------------------------------------------------------------


def convex_program(
    P: np.ndarray, q: np.ndarray, C: np.ndarray, f: np.ndarray, G: np.ndarray, h: np.ndarray
) -> np.ndarray | None:
    """Argmin of ½v'Pv + q'v, C v = f, G v >= h (P only semidefinite); None where infeasible.

    The equations are eliminated by a null-space basis; a proximal term makes each pass strictly
    convex, and is gone at the fixed point.
    """
    start, basis = _solutions(C, f, len(q))
    if start is None:
        return None
    P_, q_ = basis.T @ P @ basis, basis.T @ (P @ start + q)
    G_, h_ = G @ basis, h - G @ start
    length = np.linalg.norm(G_, axis=1)
    moves = length > 1e-12
    if np.any(h_[~moves] > FEASIBLE):
        return None
    G_, h_ = G_[moves] / length[moves, None], h_[moves] / length[moves]
    if basis.shape[1] == 0:
        return start
    size = np.max(np.abs(P))  # the solver's tolerances are meant for a matrix of size 1
    P_, q_ = P_ / size, q_ / size
    prox = 0.0 if np.linalg.eigvalsh(P_)[0] > 1e-9 else 1e-5
    if prox == 0.0 and not len(G_):  # equations alone: one linear system, to all digits
        return start + basis @ np.linalg.solve(P_, -q_)
    t = np.zeros(len(q_))
    for _ in range(100):
        before = t
        t = _strictly_convex(P_ + prox * np.eye(len(t)), q_ - prox * before, G_, h_)
        if t is None:
            return None
        if prox * np.linalg.norm(t - before) <= 1e-13:
            break
    v = start + basis @ t
    missed = max(np.max(np.abs(C @ v - f), initial=0.0), np.max(h - G @ v, initial=0.0))
    if missed > 1e-7 * (1 + np.max(np.abs(v))):
        raise ArithmeticError(
            f"a convex program was solved wrongly: a row is missed by {missed:.1e}"
        )
    return v


def _solutions(C: np.ndarray, f: np.ndarray, size: int) -> tuple[np.ndarray | None, np.ndarray]:
    """A point and a basis of the directions of {v: C v = f}; the point is None where empty."""
    if len(f) == 0:
        return np.zeros(size), np.eye(size)
    length = np.maximum(np.linalg.norm(C, axis=1), 1e-300)
    C, f = C / length[:, None], f / length
    left, values, right = np.linalg.svd(C)
    rank = int(np.sum(values > 1e-11))
    point = right[:rank].T @ ((left[:, :rank].T @ f) / values[:rank])
    solved = np.max(np.abs(C @ point - f)) <= FEASIBLE * (1 + np.max(np.abs(f)))
    return (point if solved else None), right[rank:].T


def _strictly_convex(
    P: np.ndarray, q: np.ndarray, G: np.ndarray, h: np.ndarray
) -> np.ndarray | None:
    """Argmin of ½t'Pt + q't, G t >= h, P positive definite; None where infeasible."""
    if len(h) == 0:
        return -np.linalg.solve(P, q)
    flag = -1
    for tolerance in (1e-11, 1e-10, FEASIBLE):  # a set that is one point may look empty at first
        t, _, flag, _ = daqp.solve(
            np.ascontiguousarray(P),
            np.ascontiguousarray(q),
            np.ascontiguousarray(G),
            np.full(len(h), 1e30),
            np.ascontiguousarray(h),
            np.zeros(len(h), dtype=np.int32),
            primal_tol=tolerance,
            eps_prox=0.0,
        )
        if flag >= 1:
            break
    if flag == -1:
        return None
    if flag < 1:
        raise ArithmeticError(f"a case could not be solved (flag {flag})")
    return np.array(t)


# -- forward ---------------------------------------------------------------------------------


def kkt_residual(weighted: Weighted, theta: np.ndarray, x: np.ndarray) -> float:
    """How far x is from satisfying the optimality conditions of (PWS) at θ: 0 proves x ∈ S(w,θ).

    Multipliers are found by nonnegative least squares, whatever solver produced x.
    """
    slack = weighted.M @ x - weighted.m - weighted.N @ theta
    active = slack <= 1e-8
    gradient = weighted.H @ x + weighted.g + weighted.G @ theta
    columns = np.hstack([weighted.M[active].T, weighted.E.T, -weighted.E.T])
    stationarity = nnls(columns, gradient)[1] if columns.size else np.linalg.norm(gradient)
    equations = np.max(np.abs(weighted.E @ x - weighted.d), initial=0.0)
    return float(max(stationarity, equations, np.max(-slack, initial=0.0)))


def forward(weighted: Weighted, theta: np.ndarray) -> np.ndarray:
    """S(w, θ) of (PWS), one convex program, proved by its optimality conditions."""
    theta = np.asarray(theta, dtype=float)
    linear, bounds = weighted.g + weighted.G @ theta, weighted.m + weighted.N @ theta
    x = convex_program(weighted.H, linear, weighted.E, weighted.d, weighted.M, bounds)
    if x is None:
        raise ValueError("no feasible decision")
    # Once more as equations on the rows found active: rounding then enters only once.
    active = weighted.M @ x - bounds <= 1e-7
    none = np.zeros((0, weighted.n))
    polished = convex_program(
        weighted.H,
        linear,
        np.vstack([weighted.E, weighted.M[active]]),
        np.append(weighted.d, bounds[active]),
        none,
        none[:, 0],
    )
    tried = [one for one in (x, polished) if one is not None]
    x = min(tried, key=lambda one: kkt_residual(weighted, theta, one))
    residual = kkt_residual(weighted, theta, x) / np.max(np.abs(weighted.H))
    if residual > SOLVED:
        raise ArithmeticError(f"forward solve not proved: residual {residual:.1e}")
    return x


def surrogate_loss(
    at_weight: Callable[[float], Weighted],
    weights: Sequence[float],
    theta: np.ndarray,
    y: np.ndarray,
) -> tuple[float, np.ndarray]:
    """l_K(y, θ) (surrogate loss), and the K squared distances it is the least of."""
    squares = np.array([np.sum((y - forward(at_weight(w), theta)) ** 2) for w in weights])
    return float(squares.min()), squares


def project_on_theta(weighted: Weighted, theta: np.ndarray) -> np.ndarray:
    """The point of Θ nearest to θ."""
    rows, bounds = _box_rows(weighted, np.eye(len(weighted.low)))
    nearest = convex_program(
        np.eye(len(theta)), -np.asarray(theta, float), weighted.C, weighted.e, rows, bounds
    )
    if nearest is None:
        raise ValueError("Θ is empty")
    return nearest


def _box_rows(weighted: Weighted, pick: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The box of Θ as rows >= bounds, where `pick` reads θ out of a longer vector."""
    rows = np.vstack([pick, -pick])
    bounds = np.concatenate([weighted.low, -weighted.high])
    finite = np.isfinite(bounds)
    return rows[finite], bounds[finite]


# -- the implicit update ---------------------------------------------------------------------


def update_case(
    weighted: Weighted, theta: np.ndarray, y: np.ndarray, eta: float, active: Sequence[int]
) -> Update | None:
    """Equation (update2) with the active rows of M given: one convex program in (θ, x, u, ν)."""
    k, n = len(weighted.low), weighted.n
    active = list(active)
    idle = [row for row in range(len(weighted.m)) if row not in active]
    equations = len(weighted.d)
    size = k + n + len(active) + equations
    blank = functools.partial(np.zeros, dtype=float)

    P = np.diag(np.concatenate([np.ones(k), np.full(n, 2 * eta), blank(size - k - n)]))
    q = np.concatenate([-theta, -2 * eta * y, blank(size - k - n)])
    stationary = np.hstack([weighted.G, weighted.H, -weighted.M[active].T, -weighted.E.T])

    def on_theta_x(of_theta: np.ndarray, of_x: np.ndarray) -> np.ndarray:
        return np.hstack([of_theta, of_x, blank((len(of_x), size - k - n))])

    C = np.vstack(
        [
            stationary,
            on_theta_x(blank((equations, k)), weighted.E),
            on_theta_x(-weighted.N[active], weighted.M[active]),
            on_theta_x(weighted.C, blank((len(weighted.e), n))),
        ]
    )
    f = np.concatenate([-weighted.g, weighted.d, weighted.m[active], weighted.e])
    box, bounds = _box_rows(weighted, np.eye(k, size))
    multipliers = np.eye(len(active), size, k + n)
    G = np.vstack([on_theta_x(-weighted.N[idle], weighted.M[idle]), multipliers, box])
    h = np.concatenate([weighted.m[idle], blank(len(active)), bounds])
    v = convex_program(P, q, C, f, G, h)
    if v is None:
        return None
    return Update(v[:k], v[k : k + n], objective(theta, y, eta, v[:k], v[k : k + n]))


def objective(
    theta_t: np.ndarray, y: np.ndarray, eta: float, theta: np.ndarray, x: np.ndarray
) -> float:
    """½‖θ−θ_t‖² + η‖y−x‖², the objective of (update2)."""
    return float(0.5 * np.sum((theta - theta_t) ** 2) + eta * np.sum((y - x) ** 2))


def repaired(
    weighted: Weighted, theta: np.ndarray, y: np.ndarray, eta: float, at: Update
) -> Update:
    """The same θ with its exact decision: a point that is feasible for (update2) beyond doubt."""
    x = forward(weighted, at.theta)
    return Update(at.theta, x, objective(theta, y, eta, at.theta, x))


def update_enumerated(weighted: Weighted, theta: np.ndarray, y: np.ndarray, eta: float) -> Update:
    """Equation (update2), globally: the least over every complementarity case."""
    solved = (update_case(weighted, theta, y, eta, active) for active in weighted.cases())
    best = min((one for one in solved if one is not None), key=lambda one: one.objective)
    return repaired(weighted, theta, y, eta, best)


@functools.cache
def _gurobi_environment():
    import gurobipy

    tight = dict.fromkeys(("FeasibilityTol", "IntFeasTol", "OptimalityTol"), 1e-09)
    return gurobipy.Env(
        params={
            "OutputFlag": 0,
            "Threads": 1,
            "MIPGap": 0.0,
            "MIPGapAbs": 0.0,
            "NumericFocus": 2,
            "PreSOS1BigM": 0,  # a big M would let complementarity slip by its tolerance
            **tight,
        }
    )


def update_gurobi(
    weighted: Weighted, theta: np.ndarray, y: np.ndarray, eta: float
) -> tuple[Update, float]:
    """Equation (update2) as one mixed-integer program with SOS1 pairs, and Gurobi's lower bound.

    Gurobi chooses the case; that case is then solved again to full precision and repaired.
    """
    import gurobipy

    rows, equations = weighted.M.shape[0], len(weighted.d)
    with gurobipy.Model(env=_gurobi_environment()) as model:
        r = model.addMVar(len(weighted.low), lb=weighted.low, ub=weighted.high)
        x = model.addMVar(weighted.n, lb=-gurobipy.GRB.INFINITY)
        u = model.addMVar(rows)
        s = model.addMVar(rows)
        model.addConstr(weighted.M @ x - weighted.N @ r - s == weighted.m)
        gradient = weighted.H @ x + weighted.G @ r - weighted.M.T @ u
        if equations:
            nu = model.addMVar(equations, lb=-gurobipy.GRB.INFINITY)
            gradient = gradient - weighted.E.T @ nu
            model.addConstr(weighted.E @ x == weighted.d)
        model.addConstr(gradient == -weighted.g)
        if len(weighted.e):
            model.addConstr(weighted.C @ r == weighted.e)
        for row in range(rows):
            model.addSOS(gurobipy.GRB.SOS_TYPE1, [u[row].item(), s[row].item()])
        away, miss = r - theta, y - x
        model.setObjective(0.5 * (away @ away) + eta * (miss @ miss))
        model.optimize()
        if model.Status != gurobipy.GRB.OPTIMAL:
            raise ArithmeticError(f"Gurobi ended with status {model.Status}")
        at, bound = np.column_stack([s.X, u.X]), float(model.ObjBound)
    # Pairs that Gurobi leaves at both ends within its tolerance are tried both ways.
    unclear = np.flatnonzero(np.max(at, axis=1) <= 1e-6)[:6]
    clear = [row for row in range(rows) if at[row, 1] > at[row, 0] and row not in unclear]
    cases = itertools.product(*[[(), (int(row),)] for row in unclear])
    tried = [
        update_case(weighted, theta, y, eta, clear + [row for rows in case for row in rows])
        for case in cases
    ]
    best = min((one for one in tried if one is not None), key=lambda one: one.objective)
    return repaired(weighted, theta, y, eta, best), bound


# -- the algorithms --------------------------------------------------------------------------

AtWeight = Callable[[float], Weighted]


def accelerated(
    at_weight: AtWeight,
    weights: Sequence[float],
    decisions: np.ndarray,
    theta: np.ndarray,
    rate: float,
    update: Callable[..., Update] = update_enumerated,
) -> tuple[list[np.ndarray], list[float]]:
    """Algorithm 2, word for word: θ_1 … θ_{T+1} and the losses l_K(y_t, θ_t)."""
    thetas, losses = [theta], []
    for t, y in enumerate(decisions, start=1):
        loss, squares = surrogate_loss(at_weight, weights, thetas[-1], y)
        losses.append(loss)
        if loss == 0:
            thetas.append(thetas[-1])
            continue
        nearest = weights[int(np.argmin(squares))]
        thetas.append(update(at_weight(nearest), thetas[-1], y, rate / np.sqrt(t)).theta)
    return thetas, losses


def full(
    at_weight: AtWeight,
    weights: Sequence[float],
    decisions: np.ndarray,
    theta: np.ndarray,
    rate: float,
    update: Callable[..., Update] = update_enumerated,
) -> tuple[list[np.ndarray], list[float]]:
    """Algorithm 1, word for word: the K programs (update2), the least of which is (update)."""
    thetas, losses = [theta], []
    for t, y in enumerate(decisions, start=1):
        loss, _ = surrogate_loss(at_weight, weights, thetas[-1], y)
        losses.append(loss)
        if loss == 0:
            thetas.append(thetas[-1])
            continue
        eta = rate / np.sqrt(t)
        tried = [update(at_weight(w), thetas[-1], y, eta) for w in weights]
        thetas.append(min(tried, key=lambda one: one.objective).theta)
    return thetas, losses


def aligned_error(estimate: np.ndarray, truth: np.ndarray) -> float:
    """‖a·estimate + c·1 − truth‖ at the best shift c and scale a >= 0: what the data can tell."""
    estimate, truth = estimate - np.mean(estimate), truth - np.mean(truth)
    length = estimate @ estimate
    scale = max(0.0, estimate @ truth / length) if length > 0 else 0.0
    return float(np.linalg.norm(scale * estimate - truth))


# -- the exact frontier ----------------------------------------------------------------------


@dataclass(frozen=True)
class Piece:
    """On start <= λ <= stop the portfolio is base + λ·slope."""

    start: float
    stop: float
    base: np.ndarray
    slope: np.ndarray

    def at(self, lam: float) -> np.ndarray:
        """The portfolio at λ."""
        return self.base + lam * self.slope if self.stop < np.inf else self.base


def frontier_enumerated(
    Q: np.ndarray, r: np.ndarray, upper: float | np.ndarray = 1.0
) -> list[Piece]:
    """x(λ) of min ½x'Qx − λr'x, 1'x = 1, 0 <= x <= upper, λ = w/(2(1−w)): every case, in order.

    Each asset is at zero, free or at its cap; the free ones and ν solve a linear system in λ,
    and the case holds where its inequalities do. Q must be positive definite.
    """
    n = len(r)
    upper = np.broadcast_to(np.asarray(upper, float), n)
    found = (
        _piece(Q, r, upper, np.array(case)) for case in itertools.product((-1, 0, 1), repeat=n)
    )
    pieces = [piece for piece in found if piece is not None]
    return sorted(pieces, key=lambda piece: (piece.start, piece.stop))


def _piece(Q: np.ndarray, r: np.ndarray, upper: np.ndarray, case: np.ndarray) -> Piece | None:
    """The interval of λ on which one case (−1 at zero, 0 free, 1 at the cap) is optimal."""
    n, free = len(r), case == 0
    held = np.where(case == 1, upper, 0.0)
    count = int(free.sum())
    # Unknowns (x_F, ν): Q_FF x_F − ν = λ r_F − Q_FB x_B, 1'x_F = 1 − 1'x_B; gradient Qx − λr − ν.
    base, slope = held.copy(), np.zeros(n)
    inequalities: list[tuple[float, float]] = []  # constant + λ·coefficient >= 0
    if count:
        system = np.block([[Q[np.ix_(free, free)], -np.ones((count, 1))], [np.ones(count), 0.0]])
        right = np.column_stack(
            [np.append(-Q[free] @ held, 1 - held.sum()), np.append(r[free], 0.0)]
        )
        solved = np.linalg.solve(system, right)
        base[free], slope[free] = solved[:-1, 0], solved[:-1, 1]
        gradient0 = Q @ base - solved[-1, 0]
        gradient1 = Q @ slope - r - solved[-1, 1]
        inequalities += list(zip(base[free], slope[free], strict=True))
        inequalities += list(zip((upper - base)[free], -slope[free], strict=True))
        for i in np.flatnonzero(~free):
            inequalities.append((-case[i] * gradient0[i], -case[i] * gradient1[i]))
    else:
        if abs(held.sum() - 1) > 1e-12:
            return None
        # A vertex: ν must lie above every gradient at a cap and below every one at zero.
        for i, j in itertools.product(np.flatnonzero(case == 1), np.flatnonzero(case == -1)):
            inequalities.append(((Q[j] - Q[i]) @ held, r[i] - r[j]))
    start, stop = 0.0, np.inf
    for constant, coefficient in inequalities:
        if abs(coefficient) <= 1e-14:
            if constant < -1e-12:
                return None
        elif coefficient > 0:
            start = max(start, -constant / coefficient)
        else:
            stop = min(stop, -constant / coefficient)
    if start > stop + 1e-12:
        return None
    # The feasible set is bounded, so a slope on an endless piece is rounding.
    return Piece(start, stop, base, slope if stop < np.inf else np.zeros(n))


def frontier_at(pieces: Sequence[Piece], w: float) -> np.ndarray:
    """The portfolio of weight w; w = 1 is the limit λ → ∞."""
    lam = w / (2 * (1 - w)) if w < 1 else np.inf
    if lam == np.inf:
        return max(pieces, key=lambda piece: piece.stop).base
    distance = [max(piece.start - lam, lam - piece.stop) for piece in pieces]
    return pieces[int(np.argmin(distance))].at(lam)


def frontier_distance(pieces: Sequence[Piece], y: np.ndarray) -> float:
    """√l(y, r) with the paper's ideal loss: the distance of y from the whole frontier."""
    best = np.inf
    for piece in pieces:
        length = piece.slope @ piece.slope
        lam = piece.start
        if length > 0:
            lam = np.clip((y - piece.base) @ piece.slope / length, piece.start, piece.stop)
        best = min(best, float(np.linalg.norm(y - piece.at(lam))))
    return best
