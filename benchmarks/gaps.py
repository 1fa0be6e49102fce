"""Return left on the table: the fit of many investors and rounds of a stream, beside others."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from imop_engine.efficiency_gap.fit import fit_efficiency
from imop_engine.frontier import efficient_frontier
from imop_engine.learner import OnlineLearner
from imop_engine.problem import Problem, portfolio_problem
from imop_engine.tables import portfolio_chunks

from .cases import SEED, Array, Case, Row, Say, Section, Size, factor_case, factor_market
from .cones import TIGHT, by_clarabel, by_gurobi
from .measuring import fresh_process, peak_mb, resident_mb

SHARED = ("dirichlet", 0.02)  # errors among the assets that an investor holds
STRAY = ("gaussian", 0.005)  # errors in every holding: stray money makes many returns tie
ROW_GROUP = 100_000  # rows of a Parquet file that are written together
GUROBI_VARIABLES = 200  # what the licence of its wheel allows


def fits(size: Size, say: Say) -> list[Section]:
    """All investors at once, beside a cone solver where it can."""
    rows = []
    asked = [(30, count, SHARED) for count in size.investors]
    asked += [(*size.wide, SHARED), (30, size.investors[-2], STRAY)]
    for n, count, errors in asked:
        say(f"fit of {count:,} investors and {n} assets, {errors[0]} errors")
        case = gap_case(n, count, *errors)
        start = time.perf_counter()
        found = fit_efficiency(case.problem, case.decisions)
        ours = time.perf_counter() - start
        row: Row = {
            "assets": n, "investors": count, "errors": errors[0], "native_seconds": ours,
            "steps": found.iterations, "unproven": (found.value - found.bound) / found.value,
            "clarabel_seconds": None, "ratio": None, "excess": None,
        }  # fmt: skip
        if n == 30 and errors == SHARED and count <= size.cone_investors:
            start = time.perf_counter()
            best = by_clarabel(case.problem, case.decisions)
            row["clarabel_seconds"] = time.perf_counter() - start
            row["ratio"] = row["clarabel_seconds"] / ours
            row["excess"] = found.value / best - 1.0
        rows.append(row)
    how = (
        "Seconds for the returns that leave the least on the table, with their proof; anchors are "
        "what the bold and the cautious half earn. Errors: dirichlet ones of 0.02 are among the "
        "assets that an investor holds, gaussian ones of 0.005 put a little into every asset. "
        "`unproven` is value − bound as a share of the value, `excess` how far the value lies "
        "above the cone solver's (below zero: under it). cvxpy with Clarabel, its default "
        "tolerances, gets the same problem as one second-order cone program, up to "
        f"{size.cone_investors:,} investors: beyond, its time and memory grow faster than the "
        "investors, and nothing is measured. A step of the fit costs one square root an investor, "
        "and about n² for each turning point of the frontier, of which there are one to two for "
        "each asset: n³. Its limits are memory, 8 bytes an investor, and covariances without full "
        "rank, where proofs need cutting planes."
    )
    return [Section("gap_fits", "Return left on the table: all investors at once", how, rows)]


def gap_case(n: int, count: int, noise: str, level: float) -> Case:
    """Investors of a three-factor market, and what the bold and the cautious half of them earn.

    These two portfolios are the anchors: an asset that nobody holds fixes no scale.

    Args:
        n: How many assets.
        count: How many investors.
        noise: How portfolios are observed, as `simulate_investors` says it.
        level: Its size, in fractions of wealth.
    """
    drawn = factor_case(n, count, noise, level)
    held = np.maximum(drawn.decisions, 0.0)
    held /= held.sum(axis=1, keepdims=True)
    problem, returns, _ = factor_market(n)
    some = held[:1000]
    bold = some @ returns > np.median(some @ returns)
    halves = [some[~bold].mean(axis=0), some[bold].mean(axis=0)]
    anchors = [(half, float(half @ returns)) for half in halves]
    return Case(drawn.name, portfolio_problem(problem.covariance, anchors=anchors), held)


def from_file(size: Size, say: Say) -> list[Section]:
    """The fit over chunks of a Parquet file, in a fresh process that reports its memory."""
    rows = []
    for count in size.investors[-2:]:
        say(f"fit of {count:,} investors from a Parquet file")
        case = gap_case(30, count, *SHARED)
        names = [f"A{i}" for i in range(30)]
        with TemporaryDirectory() as folder:
            path, given = Path(folder) / "portfolios.parquet", Path(folder) / "given.npz"
            frame = pd.DataFrame(case.decisions, columns=names)
            frame.to_parquet(path, row_group_size=ROW_GROUP)
            theta = case.problem.theta
            np.savez(given, covariance=case.problem.covariance, A=theta.equalities, v=theta.values)
            megabytes = path.stat().st_size / 1e6
            del case, frame
            code = (
                "import sys; from imop_benchmarks.gaps import print_fit; print_fit(*sys.argv[1:])"
            )
            found = json.loads(fresh_process(code, str(path), str(given)))
        rows.append({"investors": count, "file_mb": megabytes, **found})
    how = (
        "n = 30, `fit_efficiency(problem, portfolio_chunks(path, names))` in a fresh process. "
        "`grown` is how far its peak of memory rose above what it had before: a chunk, and eight "
        "bytes an investor, twice while they are sorted."
    )
    return [Section("gap_file", "Return left on the table: from a Parquet file", how, rows)]


def print_fit(path: str, given: str) -> None:
    """Fit the portfolios of a file and print seconds and memory as JSON.

    Args:
        path: The Parquet file.
        given: Covariance and anchors, an npz file.
    """
    known = np.load(given)
    problem = portfolio_problem(
        known["covariance"], anchors=list(zip(known["A"], known["v"].tolist(), strict=True))
    )
    names = [f"A{i}" for i in range(problem.n)]
    few = np.full((2, problem.n), 1.0 / problem.n)
    few[1, 0] += 0.1
    fit_efficiency(problem, few / few.sum(axis=1, keepdims=True))  # everything is loaded
    before, start = resident_mb(), time.perf_counter()
    found = fit_efficiency(problem, portfolio_chunks(path, names))
    print(
        json.dumps(
            {"seconds": time.perf_counter() - start, "resident_mb": before,
             "grown_mb": peak_mb() - before, "certified": found.certified}
        )
    )  # fmt: skip


def agreement(size: Size, say: Say) -> list[Section]:
    """Random problems: the same least value as the cone solvers find, and never above."""
    rows = []
    solvers: dict[str, Callable[[Problem, Array], float]] = {
        "Clarabel": lambda problem, Y: by_clarabel(problem, Y, **TIGHT),
        "Gurobi": by_gurobi,
    }
    for solver, solve in solvers.items():
        say(f"random problems against {solver}")
        excess, proven, tried = [], 0, 0
        for seed in range(size.random_problems):
            problem, Y = random_problem(seed, small=solver == "Gurobi")
            found = fit_efficiency(problem, Y)
            best = solve(problem, Y)
            excess.append((found.value - best) / max(best, 1e-3 * len(Y)))
            proven += found.certified
            tried += 1
        rows.append(
            {"solver": solver, "problems": tried, "certified": proven / tried,
             "largest_excess": max(excess), "largest_shortfall": -min(excess)}
        )  # fmt: skip
    how = (
        "Random portfolio problems: 2 to 10 assets, 1 to 40 investors (Gurobi: as many as its 200 "
        "variables hold), caps, sides of the box, a fifth of the covariances nearly without full "
        "rank, holders of single assets. `excess` is the native value less the solver's, as a "
        "share of it (of 0.1 % of return an investor, where it is smaller). Clarabel at tolerances "
        "of 1e-11, Gurobi at its tightest."
    )
    return [Section("gap_agreement", "Return left on the table: the same optimum", how, rows)]


def random_problem(seed: int, small: bool) -> tuple[Problem, Array]:
    """A problem and portfolios within it.

    Args:
        seed: Of all draws.
        small: Whether its cone program keeps within 200 variables.
    """
    rng = np.random.default_rng([SEED, seed])
    n = int(rng.integers(2, 6 if small else 11))
    most = (GUROBI_VARIABLES - n) // (2 * n + 2) if small else 40
    count = int(rng.integers(1, most + 1))
    factors = rng.normal(size=(int(rng.integers(1, n + 3)), n))
    covariance = 0.04 * factors.T @ factors / len(factors)
    covariance += np.diag(rng.uniform(0.002, 0.02, n) * (1.0 if seed % 5 else 1e-4))
    caps = np.ones(n) if seed % 2 else np.maximum(rng.uniform(0.15, 1.0, n), 1.05 / n)
    returns = rng.uniform(0.0, 0.2, n)
    first, second = rng.permutation(n)[:2]
    problem = portfolio_problem(
        covariance,
        upper=caps,
        bounds=((-1.0, 1.0), (0.0, 0.25))[seed % 3 == 0],
        anchors={int(i): float(returns[i]) for i in (first, second)},
    )
    frontier = efficient_frontier(problem, returns)
    if seed % 4 == 2:
        return problem, frontier.at(rng.uniform(0.01, 0.99, count))
    held = rng.dirichlet(np.full(n, 0.5), count)
    if seed % 4 == 1:
        held = np.eye(n)[rng.integers(0, n, count)]
    # towards a portfolio within the caps until it is one itself
    inner = frontier.at(0.5)
    over = np.maximum(held - caps, 0.0)
    room = np.where(over > 0, (held - caps) / np.maximum(held - inner, 1e-300), 0.0).max(axis=1)
    share = np.clip(room, 0.0, 1.0)[:, None]
    return problem, (1.0 - share) * held + share * inner


def gap_rounds(size: Size, say: Say) -> list[Section]:
    """Rounds of a stream as the number of assets grows, beside the tree's update."""
    rows = []
    for n in size.assets:
        say(f"rounds of gaps, {n} assets")
        case = gap_case(n, size.growth_rounds, *SHARED)
        row: Row = {"assets": n, "rounds": size.growth_rounds}
        plain, row["gap_us"] = _timed_learner(case, {"loss": "efficiency"}, size.repeats)
        row["gap_certified"] = plain.certified_
        newton = {"weights": "exact", "algorithm": "newton", "loss": "efficiency"}
        _, row["gap_newton_us"] = _timed_learner(case, newton, size.repeats)
        tree, row["tree_us"] = _timed_learner(case, {"weights": "exact"}, 1)
        row["tree_certified"] = tree.certified_
        row["ratio"] = row["tree_us"] / row["gap_us"]
        rows.append(row)
    how = (
        "Microseconds a round: exact implicit updates of the return left on the table, plain and "
        "in the metric of the curvature, and of the paper's loss (Algorithm 2, exact weights), on "
        "the same portfolios (errors and anchors as above). The "
        "first grows like n³ and has no node limit to reach; `certified` is the share of updates "
        "proven optimal."
    )
    return [Section("gap_rounds", "Return left on the table: rounds of a stream", how, rows)]


def _timed_learner(
    case: Case, options: Mapping[str, Any], repeats: int
) -> tuple[OnlineLearner, float]:
    """A learner after all decisions, and its microseconds a round: the least over repeats."""
    OnlineLearner(case.problem, **options).partial_fit(case.decisions[:25])
    taken = []
    for _ in range(repeats):
        learner = OnlineLearner(case.problem, **options)
        start = time.perf_counter()
        learner.partial_fit(case.decisions)
        taken.append(time.perf_counter() - start)
    return learner, 1e6 * min(taken) / len(case.decisions)
