"""The engine beside others: Gurobi, cvxcla, quadprog, DAQP."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from imop_engine.backends import make_backend
from imop_engine.bundled import market
from imop_engine.frontier import efficient_frontier
from imop_engine.learner import OnlineLearner
from imop_engine.problem import Problem, portfolio_problem
from imop_engine.weights import weight_grid

from .cases import (
    FULL,
    RATE,
    SEED,
    Array,
    Case,
    K,
    Row,
    Say,
    Section,
    Size,
    cases,
    factor_case,
)
from .measuring import native_seconds, timed

# Off in the second Gurobi column: on programs this small they cost more than the whole tree.
TUNED = {"parameters": {"Heuristics": 0, "Cuts": 0, "Presolve": 0}, "cutoff": True}


def against_gurobi(size: Size, say: Say) -> list[Section]:
    """Rounds of both algorithms, native and by Gurobi as it comes and with its extras off."""
    rows: dict[str, list[Row]] = {"gurobi": [], "gurobi_tuned": []}
    for case in cases(size):
        for algorithm in ("accelerated", "full"):
            say(f"{case.name}, algorithm {algorithm}, against Gurobi")
            native = native_seconds(case, algorithm, size.repeats)
            count = size.gurobi_full_rounds if algorithm == "full" else size.gurobi_rounds
            rows["gurobi"].append(_against(case, algorithm, count, native, {}))
            rows["gurobi_tuned"].append(_against(case, algorithm, count, native, TUNED))
    how = (
        f"K = {K} weights, rate {RATE:g}/√t, from the paper's zero start; all times are a round's. "
        f"Native: the whole loop over {size.rounds} decisions. Gurobi: SOS1 pairs, default "
        "tolerances, models kept hot, on `gurobi rounds` rounds spread evenly over the same "
        "stream; `forward` is its K forward solves, `update` its mixed-integer programs, K of them "
        "in Algorithm 1, each with one forward solve for the decision that goes with its theta. "
        "`ratio` compares whole rounds; `ratio update alone` sets Gurobi's "
        "update alone against the whole native round. `excess` is how far its objective was "
        "above the native one at worst, as a share."
    )
    tuned = (
        "As above, with what slows Gurobi down on programs this small taken out: no heuristics, "
        "no cuts, no presolve, and in Algorithm 1 a cutoff at the best weight so far."
    )
    return [
        Section("gurobi", "Against Gurobi as it comes", how, rows["gurobi"]),
        Section("gurobi_tuned", "Against Gurobi tuned", tuned, rows["gurobi_tuned"]),
    ]


def _against(case: Case, algorithm: str, count: int, native: float, options: dict[str, Any]) -> Row:
    spread = np.unique(np.linspace(0, len(case.decisions) - 1, count + 2).astype(int)[1:-1])
    thetas = beliefs(case, algorithm, spread)
    forward, update, excess = gurobi_seconds(case, algorithm, spread, thetas, options)
    return {
        "problem": case.name,
        "algorithm": 2 if algorithm == "accelerated" else 1,
        "native_us": 1e6 * native,
        "gurobi_rounds": len(spread),
        "forward_ms": 1e3 * forward,
        "update_ms": 1e3 * update,
        "ratio": (forward + update) / native,
        "ratio_update_alone": update / native,
        "excess": excess,
    }


def beliefs(case: Case, algorithm: str, places: NDArray[np.int64]) -> list[Array]:
    """What the native learner believes at some rounds.

    Args:
        case: The problem and its decisions.
        algorithm: "full" or "accelerated": Algorithm 1 or 2.
        places: Rounds, counted from 0, in rising order.

    Returns:
        theta before each of these rounds.
    """
    learner = OnlineLearner(case.problem, K, algorithm, RATE)
    thetas, done = [], 0
    for place in places:
        if place > done:
            learner.partial_fit(case.decisions[done:place])
            done = int(place)
        thetas.append(learner.theta_.copy())
    return thetas


def gurobi_seconds(
    case: Case,
    algorithm: str,
    places: NDArray[np.int64],
    thetas: list[Array],
    options: dict[str, Any],
) -> tuple[float, float, float]:
    """Time Gurobi on some rounds of the native run.

    Args:
        case: The problem and its decisions.
        algorithm: "full" or "accelerated": Algorithm 1 or 2.
        places: Rounds, counted from 0.
        thetas: theta before each of these rounds.
        options: Options of the backend.

    Returns:
        Mean seconds for the K forward solves and for the update, and the worst excess of its
        objective over the native one's.
    """
    grid = weight_grid(case.problem, K)
    native = make_backend("native", case.problem, grid)
    backend = make_backend("gurobi", case.problem, grid, **options)
    getattr(backend, "build", lambda: None)()
    backend.decisions(thetas[0])
    forward = update = excess = 0.0
    for place, theta in zip(places, thetas, strict=True):
        y, rate = case.decisions[place], RATE / np.sqrt(place + 1)
        start = time.perf_counter()
        found = backend.decisions(theta)
        k = int(np.argmin(((found - y) ** 2).sum(axis=1)))
        middle = time.perf_counter()
        if algorithm == "full":
            theirs = backend.full_update(theta, y, rate)[0]
        else:
            theirs = backend.update(theta, y, k, rate)
        forward += middle - start
        update += time.perf_counter() - middle
        if algorithm == "full":
            ours = native.full_update(theta, y, rate)[0]
        else:
            ours = native.update(theta, y, k, rate)
        excess = max(excess, theirs.objective / max(ours.objective, 1e-300) - 1.0)
    return forward / len(places), update / len(places), excess


def frontier(size: Size, say: Say) -> list[Section]:
    """The exact frontier against cvxcla's."""
    from cvxcla import CLA

    rows = []
    for n in (8, 30, 100) if size is FULL else (8,):
        say(f"frontier of {n} assets")
        problem, returns = _market(n)
        edge = np.zeros(n), np.ones(n), np.ones((1, n)), np.ones(1)
        ours = timed(partial(efficient_frontier, problem, returns), size.repeats)
        theirs = timed(partial(CLA, returns, problem.covariance, *edge), size.repeats)
        found = efficient_frontier(problem, returns)
        least = CLA(returns, problem.covariance, *edge).turning_points[-1].weights
        rows.append(
            {"assets": n, "turning_points": len(found.weights), "native_us": 1e6 * ours,
             "cvxcla_us": 1e6 * theirs, "ratio": theirs / ours,
             "apart": float(np.abs(found.portfolios[0] - least).max())}
        )  # fmt: skip
    how = (
        "Microseconds to trace all turning points from Python, set-up included. `apart` is the "
        "largest difference between the two portfolios of least variance."
    )
    return [Section("frontier", "Frontier against cvxcla", how, rows)]


def forward(size: Size, say: Say) -> list[Section]:
    """One grid of forward solves against quadprog and DAQP."""
    import daqp
    import quadprog

    rows = []
    for n in (8, 30):
        say(f"forward solves of {n} assets")
        problem, returns = _market(n)
        grid = weight_grid(problem, K)
        Q = np.ascontiguousarray(problem.covariance)
        A = np.vstack([np.ones(n), np.eye(n)])
        b = np.append(1.0, np.zeros(n))
        high = np.append(1.0, np.full(n, 1e30))
        sense = np.append(np.int32(5), np.zeros(n)).astype(np.int32)  # 5: equality
        costs = [0.5 * w / (1 - w) * returns for w in grid]

        def by_quadprog(Q: Array = Q, A: Array = A, b: Array = b, costs: Any = costs) -> Array:
            return np.array([quadprog.solve_qp(Q, c, A.T, b, 1)[0] for c in costs])

        def by_daqp(
            Q: Array = Q, A: Array = A, b: Array = b, h: Array = high, s: Any = sense,
            costs: Any = costs,
        ) -> Array:  # fmt: skip
            return np.array([daqp.solve(Q, -c, A, h, b, s)[0] for c in costs])

        def native(p: Problem = problem, r: Array = returns, g: Array = grid) -> Array:
            return efficient_frontier(p, r).at(g)

        row: Row = {"assets": n}
        for label, solver in (("native", native), ("quadprog", by_quadprog), ("daqp", by_daqp)):
            row[f"{label}_us"] = 1e6 * timed(solver, size.repeats)
            row[f"{label}_apart"] = float(np.abs(solver() - native()).max())
        rows.append(row)
    how = (
        f"Microseconds for the portfolios of all K = {K} weights, called from Python: the native "
        "frontier gives them in one trace, the others solve one program a weight."
    )
    return [Section("forward", "Forward solves against quadprog and DAQP", how, rows)]


def _market(n: int) -> tuple[Problem, Array]:
    if n == 8:
        paper = market("paper8")
        return portfolio_problem(paper.covariance), paper.expected_returns
    case = factor_case(n, 1)
    rng = np.random.default_rng([SEED, n, 1])
    return case.problem, rng.uniform(0.02, 0.2, n)
