"""Limits on sums of holdings: frontiers and updates beside other solvers, and what rows cost."""

from __future__ import annotations

import importlib
import warnings
from functools import partial
from statistics import median
from typing import Any, Final

import numpy as np

from imop_engine.backends import implicit_update
from imop_engine.errors import ImopError
from imop_engine.frontier import Frontier, efficient_frontier
from imop_engine.problem import Problem, portfolio_problem
from imop_engine.weights import lam_of

from .cases import Array, Row, Say, Section, Size, factor_market
from .measuring import timed

# How a problem is nasty: nothing, shorts, each limit twice, no room, investors at a corner,
# differences of holdings, equal returns, a covariance without full rank.
KINDS: Final = ("plain", "short", "repeat", "tight", "corner", "differences", "ties", "flat")
TIGHT: Final = {"tol_gap_abs": 1e-13, "tol_gap_rel": 1e-13, "tol_feas": 1e-13}
WORSE: Final = 1e-11  # of the largest variance: an objective so much above ours is not the optimum
ROWS, ASSETS = 10, 30  # of the problems that are timed
RELATIONS: Final = ("<=", ">=", "=")
FIRST_FRONTIER, FIRST_UPDATE, FIRST_TIMED = 80_000, 90_000, 95_000  # seeds


def under_limits(size: Size, say: Say) -> list[Section]:
    """Random problems with limits against other solvers, and ten rows beside none."""
    return [_frontiers(size, say), _updates(size, say), _costs(size, say)]


def random_limited(
    seed: int, assets: tuple[int, int], most_rows: int = 10
) -> tuple[Problem, Array, np.random.Generator]:
    """A covariance, one to ten limits that at least one portfolio keeps, and returns.

    Args:
        seed: Of the draw; it decides the kind, too.
        assets: The fewest and the most.
        most_rows: The most limits.

    Returns:
        The problem, returns, and the generator for whatever else is drawn.
    """
    rng, kind = np.random.default_rng(seed), KINDS[seed % len(KINDS)]
    n = int(rng.integers(assets[0], assets[1] + 1))
    count = int(rng.integers(1, most_rows + 1))
    factors = n + 3 if kind != "flat" else int(rng.integers(max(2, n // 3), n))
    root = rng.normal(size=(n, factors))
    Q = 0.04 * root @ root.T / n + (0.002 * np.eye(n) if kind != "flat" else 0.0)
    inside = rng.dirichlet(np.full(n, 0.6))
    if kind == "corner":
        inside = 0.7 * np.eye(n)[rng.integers(n)] + 0.3 * np.eye(n)[rng.integers(n)]
    rows: list[tuple[dict[int, float], str, float]] = []
    for _ in range(count):
        some = rng.choice(n, max(2, n // 4), replace=False)
        other = -1.0 if kind == "differences" else 1.0
        held = {int(i): float(rng.choice([1.0, other, rng.uniform(0.2, 1.0)])) for i in some}
        value = sum(factor * inside[i] for i, factor in held.items())
        relation = str(rng.choice(RELATIONS, p=(0.5, 0.35, 0.15)))
        none = kind == "tight" or rng.random() < 0.4
        room = 0.0 if none else 0.2 * rng.random() * abs(value)
        level = value + {"<=": room, ">=": -room, "=": 0.0}[relation]
        rows.append((held, relation, float(level)))
        if kind == "repeat":
            rows.append(({i: 2.0 * f for i, f in held.items()}, relation, 2.0 * float(level)))
    returns = rng.uniform(0.0, 0.12, n)
    if kind == "ties":
        returns = np.round(20.0 * returns) / 20.0
    problem = portfolio_problem(
        Q, upper=max(0.7, float(inside.max())), lower=-0.2 if kind == "short" else 0.0, limits=rows
    )
    return problem, returns, rng


# -- frontiers -----------------------------------------------------------------------------------
def _frontiers(size: Size, say: Say) -> Section:
    """Exact frontiers under limits against a cone solver, and against cvxcla where it is right."""
    say("frontiers under limits against Clarabel and cvxcla")
    found = [frontier_apart(seed) for seed in range(size.random_limits)]
    rows: list[Row] = []
    for kind in KINDS:
        mine = [one for place, one in enumerate(found) if KINDS[place % len(KINDS)] == kind]
        if not mine:
            continue
        beside = [one["cvxcla"] for one in mine if one["cvxcla"] is not None]
        rows.append(
            {
                "kind": kind, "problems": len(mine), "most_assets": max(o["n"] for o in mine),
                "outside": max(one["outside"] for one in mine),
                "above_clarabel": max(one["above"] for one in mine),
                "apart_clarabel": max(one["apart"] for one in mine) if kind != "flat" else None,
                "cvxcla_right": len(beside),
                "apart_cvxcla": max(beside, default=None),
            }
        )  # fmt: skip
    how = (
        "Random problems of 4 to 100 assets with 1 to 10 limits, by what is nasty in them: "
        "shorts, each limit twice, no room, limits around a corner, differences of holdings, equal "
        "returns, a covariance without full rank. `outside` is by how much a portfolio misses a "
        "limit, `above clarabel` by how much its objective lies above that of cvxpy with Clarabel "
        "at tolerances of 1e-13, as a share of the largest variance; `apart clarabel` is the "
        "largest difference of a holding, which is Clarabel's own accuracy. cvxcla follows the "
        "same critical line: `apart cvxcla` is the largest difference of a holding at its turning "
        "points, in the problems of full rank up to 40 assets in which it ends without an error "
        "and every portfolio of its is as good as ours (`cvxcla right`)."
    )
    return Section("limits_frontiers", "Limits: frontiers beside other solvers", how, rows)


def frontier_apart(seed: int) -> dict[str, Any]:
    """How one frontier under limits compares with what other solvers find.

    Args:
        seed: Of the problem, counted from zero.
    """
    large = seed % 5 == 0
    problem, theta, rng = random_limited(
        FIRST_FRONTIER + seed, (60, 100) if large else (4, 40), ROWS
    )
    frontier = efficient_frontier(problem, theta)
    lams = (0.0, float(frontier.lams[len(frontier.lams) // 2]), float(np.exp(rng.uniform(-4, 1))))
    row: dict[str, Any] = {"n": problem.n, "outside": 0.0, "above": -np.inf, "apart": 0.0}
    for lam in lams:
        x, other = _at(frontier, lam), _by_clarabel(problem, theta, lam)
        above = _objective(problem, theta, lam, x) - _objective(problem, theta, lam, other)
        row["outside"] = max(row["outside"], _outside(problem, x))
        row["above"] = max(row["above"], above / float(problem.covariance.max()))
        row["apart"] = max(row["apart"], float(np.abs(x - other).max()))
    flat = KINDS[seed % len(KINDS)] == "flat"
    row["cvxcla"] = None if large or flat else _apart_of_cvxcla(problem, theta, frontier)
    return row


def _at(frontier: Frontier, lam: float) -> Array:
    return frontier.at(2.0 * lam / (1.0 + 2.0 * lam))


def _objective(problem: Problem, theta: Array, lam: float, x: Array) -> float:
    return float(0.5 * x @ problem.covariance @ x - lam * theta @ x)


def _outside(problem: Problem, x: Array) -> float:
    """By how much a portfolio misses a bound, a limit or the budget, at most."""
    beyond = [problem.lower - x, x - problem.upper, problem.rhs0 - problem.rows @ x]
    beyond.append(np.abs(problem.equal_rows @ x - problem.equal_rhs))
    return max(float(one.max(initial=0.0)) for one in beyond)


def _by_clarabel(problem: Problem, theta: Array, lam: float) -> Array:
    """The best portfolio at one price of risk, by cvxpy with Clarabel."""
    cp: Any = importlib.import_module("cvxpy")  # untyped
    x, size = cp.Variable(problem.n), float(problem.covariance.max())
    risk = cp.quad_form(x, cp.psd_wrap(problem.covariance / size))
    rules = [x >= problem.lower, x <= problem.upper]
    rules.append(problem.equal_rows @ x == problem.equal_rhs)
    if len(problem.rhs0):
        rules.append(problem.rows @ x >= problem.rhs0)
    program = cp.Problem(cp.Minimize(0.5 * risk - (lam / size) * theta @ x), rules)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the last digits are out of reach at ties
        program.solve(solver="CLARABEL", **TIGHT)
    return np.asarray(x.value)


def _apart_of_cvxcla(problem: Problem, theta: Array, frontier: Frontier) -> float | None:
    """The largest difference of a holding at cvxcla's turning points; None: it has no frontier."""
    cla: Any = importlib.import_module("cvxcla").CLA
    try:
        found = cla(
            mean=theta, covariance=problem.covariance, lower_bounds=problem.lower,
            upper_bounds=problem.upper, a=problem.equal_rows, b=problem.equal_rhs,
            g=-problem.rows, h=-problem.rhs0,
        )  # fmt: skip
    except Exception:  # whatever it stumbles over, it has found nothing to compare with
        return None
    apart, size = 0.0, float(problem.covariance.max())
    for one in found.turning_points:
        if not np.isfinite(one.lamb):
            continue
        x, other = _at(frontier, one.lamb), np.asarray(one.weights)
        values = [_objective(problem, theta, one.lamb, each) for each in (x, other)]
        if values[1] - values[0] > WORSE * size or _outside(problem, other) > 1e-8:
            return None
        apart = max(apart, float(np.abs(x - other).max()))
    return apart


# -- updates -------------------------------------------------------------------------------------
def _updates(size: Size, say: Say) -> Section:
    """Implicit updates under limits against Gurobi."""
    say("updates under limits against Gurobi")
    found = [_attempted(seed) for seed in range(size.random_limits)]
    rows: list[Row] = []
    for name, flat in (("full rank", False), ("no full rank", True)):
        tried = [
            one for place, one in enumerate(found) if (KINDS[place % len(KINDS)] == "flat") == flat
        ]
        mine = [one for one in tried if one is not None]
        if mine:
            rows.append(
                {
                    "covariance": name, "problems": len(mine), "refused": len(tried) - len(mine),
                    "certified": sum(one["certified"] for one in mine) / len(mine),
                    "above_gurobi": max(one["above"] for one in mine),
                    "gurobi_above": sum(one["above"] < -1e-6 for one in mine),
                    "apart_from_solve": max(one["apart"] for one in mine),
                }
            )  # fmt: skip
    how = (
        "Implicit updates of 3 to 7 assets with 1 to 4 limits, two anchors and a box, of the same "
        "kinds. `above gurobi` is how far the native objective lies above Gurobi's at worst, as a "
        "share (of 1e-6 where that is smaller); `gurobi above` counts problems in which Gurobi's "
        "lies more than 1e-6 above the native one: without full rank its tolerances decide which "
        "portfolio it takes for optimal, and some updates are not certified. `apart from solve` is "
        "the largest difference between a holding that the update reports and the one that "
        "`solve` finds for its returns."
    )
    return Section("limits_updates", "Limits: updates beside Gurobi", how, rows)


def _attempted(seed: int) -> dict[str, Any] | None:
    """`update_apart`, or None where the engine refuses: it cannot trace the frontier."""
    try:
        return update_apart(seed)
    except ImopError:
        return None


def update_apart(seed: int) -> dict[str, Any]:
    """How one update under limits compares with Gurobi's.

    Args:
        seed: Of the problem, counted from zero.
    """
    drawn, theta, rng = random_limited(FIRST_UPDATE + seed, (3, 7), 4)
    one, two = (int(i) for i in rng.choice(drawn.n, 2, replace=False))
    problem = portfolio_problem(
        drawn.covariance, upper=drawn.upper, lower=drawn.lower, limits=drawn.limits,
        anchors={one: 0.02, two: 0.1}, bounds=(-0.1, 0.3),
    )  # fmt: skip
    held = rng.dirichlet(np.ones(problem.n))
    if seed % 2:
        exact = efficient_frontier(problem, theta).at(0.5)
        held = exact + 0.02 * rng.normal(size=problem.n)
    weight, rate = float(rng.uniform(0.05, 0.95)), float(rng.choice([0.5, 5.0, 50.0]))
    start = rng.uniform(0.0, 0.15, problem.n)
    ours = implicit_update(problem, start, held, weight, rate)
    gurobi = implicit_update(problem, start, held, weight, rate, backend="gurobi")
    solved = _at(efficient_frontier(problem, ours.theta), float(lam_of(weight)))
    return {
        "certified": ours.certified,
        "above": (ours.objective - gurobi.objective) / max(gurobi.objective, 1e-6),
        "apart": float(np.abs(solved - ours.x).max()),
    }


# -- what rows cost ------------------------------------------------------------------------------
def _costs(size: Size, say: Say) -> Section:
    """A frontier of 30 assets under ten limits beside the same without."""
    say("ten limits beside none")
    rows: list[Row] = []
    for kind in ("sectors", "overlapping"):
        taken = [_cost(kind, FIRST_TIMED + seed, size.repeats) for seed in range(size.timed_limits)]
        plain, limited, turns = (np.array(one) for one in zip(*taken, strict=True))
        ratio = limited / plain
        rows.append(
            {
                "limits": kind, "markets": len(taken), "none_us": 1e6 * median(plain),
                "ten_us": 1e6 * median(limited), "ratio": median(ratio),
                "least_ratio": float(ratio.min()), "largest_ratio": float(ratio.max()),
                "turning_points_ratio": median(turns),
            }
        )  # fmt: skip
    how = (
        f"Microseconds of a whole exact frontier of {ASSETS} assets (three-factor markets), with "
        f"{ROWS} limits that bind along it and with none, one after the other in the same process. "
        "Sectors: ten groups of three, each at most 20%. Overlapping: each limits seven assets "
        "drawn at random to the middle of what the free frontier holds of them."
    )
    return Section("limits_costs", "Limits: ten rows beside none", how, rows)


def _cost(kind: str, seed: int, repeats: int) -> tuple[float, float, float]:
    """Seconds without limits, seconds with ten, and how many times as many turning points."""
    rng = np.random.default_rng(seed)
    problem, returns, _ = factor_market(ASSETS)
    Q, r = problem.covariance, returns + 0.01 * rng.normal(size=ASSETS)
    free = portfolio_problem(Q)
    path = efficient_frontier(free, r)
    inside = rng.dirichlet(np.ones(ASSETS))
    parts = np.array_split(rng.permutation(ASSETS), ROWS)
    rows = []
    for part in parts:
        some = part if kind == "sectors" else rng.choice(ASSETS, 7, replace=False)
        held = path.portfolios[:, some].sum(axis=1)
        middle = float(max(0.5 * (held.max() + held.min()), inside[some].sum()))
        most = 0.2 if kind == "sectors" else middle
        rows.append(({int(i): 1.0 for i in some}, "<=", most))
    limited = portfolio_problem(Q, limits=rows)
    turns = len(efficient_frontier(limited, r).lams) / len(path.lams)
    plain_seconds = timed(partial(efficient_frontier, free, r), repeats)
    return plain_seconds, timed(partial(efficient_frontier, limited, r), repeats), turns
