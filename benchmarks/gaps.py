"""Return left on the table: the fit of many investors and rounds of a stream, beside others."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from imop_engine.efficiency_gap.fit import fit_efficiency
from imop_engine.frontier import efficient_frontier
from imop_engine.learner import OnlineLearner
from imop_engine.learner_options import LearnerOptions
from imop_engine.problem import Problem, portfolio_problem
from imop_engine.tables import portfolio_chunks

from .cases import SEED, Array, Case, Row, Say, Section, Size, factor_case, factor_market
from .cones import TIGHT, by_clarabel, by_gurobi, update_by_clarabel
from .measuring import fresh_process, peak_mb, resident_mb

SHARED = ("dirichlet", 0.02)  # errors among the assets that an investor holds
STRAY = ("gaussian", 0.005)  # errors in every holding: stray money makes many returns tie
ROW_GROUP = 100_000  # rows of a Parquet file that are written together
TIMES = 4  # a file is so many times as long, to see what grows with it
GUROBI_VARIABLES = 200  # what the licence of its wheel allows


def fits(size: Size, say: Say) -> list[Section]:
    """All investors at once, beside a cone solver where it can."""
    rows = []
    asked = [(30, count, SHARED) for count in size.investors]
    asked += [(n, size.wide[1], SHARED) for n in (*size.fit_assets, size.wide[0])]
    asked.append((30, size.investors[-2], STRAY))
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
        "investors, and nothing is measured. First more investors, then more assets. "
        "A step of the fit costs one square root an investor, "
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
    largest = size.investors[-1]
    for count, times in ((size.investors[-2], 1), (largest, 1), (largest, TIMES)):
        say(f"fit of {times * count:,} investors from a Parquet file")
        case = gap_case(30, count, *SHARED)
        names = [f"A{i}" for i in range(30)]
        with TemporaryDirectory() as folder:
            path, given = Path(folder) / "portfolios.parquet", Path(folder) / "given.npz"
            table = pa.Table.from_pandas(pd.DataFrame(case.decisions, columns=names))
            with pq.ParquetWriter(path, table.schema) as file:
                for _ in range(times):
                    file.write_table(table, row_group_size=ROW_GROUP)
            theta = case.problem.theta
            np.savez(given, covariance=case.problem.covariance, A=theta.equalities, v=theta.values)
            megabytes = path.stat().st_size / 1e6
            del case, table
            code = (
                "import sys; from imop_benchmarks.gaps import print_fit; print_fit(*sys.argv[1:])"
            )
            found = json.loads(fresh_process(code, str(path), str(given)))
        numbers = 8e-6 * 30 * times * count
        rows.append(
            {"investors": times * count, "file_mb": megabytes, "numbers_mb": numbers, **found}
        )
    how = (
        "n = 30, `fit_efficiency(problem, portfolio_chunks(path, names))` in a fresh process. "
        "`grown` is how far its peak of memory rose above what it had before: chunks as they are "
        "read, unpacked and checked, whatever the file's length, and eight bytes an investor, "
        "several times while they are put together and sorted; `numbers` is what the whole table "
        "would take in memory. "
        f"The last row is the file before it {TIMES} times over."
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
    """Random problems: the same least value as the cone solvers find, never above, any start."""
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
    return [
        Section("gap_agreement", "Return left on the table: the same optimum", how, rows),
        _starts(size, say),
    ]


def _starts(size: Size, say: Say) -> Section:
    """The same random problems from random starts, where the answer is unique."""
    say("random starts")
    apart, excess, proven = [], [], 0
    for seed in range(size.random_problems):
        problem, Y = random_problem(seed, small=False)
        rng = np.random.default_rng([SEED, seed, 1])
        starts = rng.uniform(-1.0, 1.0, (size.random_starts, problem.n))
        found = [fit_efficiency(problem, Y, start) for start in (None, *starts)]
        proven += all(fit.certified for fit in found)
        values = [fit.value for fit in found]
        excess.append(float(np.ptp(values)) / max(values[0], 1e-3 * len(Y)))
        # at the edge of an open range a fit sees curvature on one side: any start may tell
        if not any(len(fit.flat_directions) for fit in found):
            apart.append(float(np.ptp([fit.theta for fit in found], axis=0).max()))
    row = {
        "problems": size.random_problems, "starts": size.random_starts, "unique": len(apart),
        "certified": proven / size.random_problems, "largest_apart": max(apart, default=0.0),
        "value_apart": max(excess),
    }  # fmt: skip
    how = (
        "The problems that Clarabel was given, each from starts U(−1, 1). `unique` is how many "
        "have no direction in which the value stays, reported from no start; `largest apart` is "
        "the largest difference of a return between two starts of one of those, `value apart` "
        "that of the value over all problems, relative as above. `certified`: problems proven "
        "from every start."
    )
    return Section("gap_starts", "Return left on the table: from any start", how, [row])


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
        row["clarabel_us"] = _cone_rounds(case, size.cone_rounds)
        row["ratio_clarabel"] = row["clarabel_us"] / row["gap_us"]
        newton = {"weights": "exact", "algorithm": "newton", "loss": "efficiency"}
        _, row["gap_newton_us"] = _timed_learner(case, newton, size.repeats)
        tree, row["tree_us"] = _timed_learner(case, {"weights": "exact"}, 1)
        row["tree_certified"] = tree.certified_
        row["ratio_tree"] = row["tree_us"] / row["gap_us"]
        rows.append(row)
    how = (
        "Microseconds a round: exact implicit updates of the return left on the table, "
        "as by default (with fits of everybody so far at rounds that double) and in the metric of "
        "the curvature, and of the paper's loss (Algorithm 2, exact weights), on the same "
        "portfolios (errors and anchors as above). `clarabel` is cvxpy with "
        "Clarabel on the same update as a cone program, from the beliefs of the default "
        f"learner, the mean of {size.cone_rounds} rounds spread evenly. Updates grow like n³ and "
        "have no node limit to reach. `certified` is the share of updates proven optimal."
    )
    return [Section("gap_rounds", "Return left on the table: rounds of a stream", how, rows)]


def _cone_rounds(case: Case, count: int) -> float:
    """Microseconds of one update by a cone solver, from the beliefs of a learner."""
    learner = OnlineLearner(case.problem, loss="efficiency")
    unit = LearnerOptions(loss="efficiency").rate_unit(case.problem)
    seconds, done = 0.0, 0
    update_by_clarabel(case.problem, learner.theta_, case.decisions[0], unit)  # it is loaded
    for t in np.linspace(0, len(case.decisions) - 1, count).astype(int).tolist():
        learner.partial_fit(case.decisions[done:t])
        done = t
        rate = unit * 5.0 / np.sqrt(t + 1.0)
        start = time.perf_counter()
        update_by_clarabel(case.problem, learner.theta_, case.decisions[t], rate)
        seconds += time.perf_counter() - start
    return 1e6 * seconds / count


def _timed_learner(
    case: Case, options: Mapping[str, Any], repeats: int
) -> tuple[OnlineLearner, float]:
    """A learner after all decisions; its microseconds a round, the least over repeats."""
    OnlineLearner(case.problem, **options).partial_fit(case.decisions[:25])
    taken = []
    for _ in range(repeats):
        learner = OnlineLearner(case.problem, **options)
        start = time.perf_counter()
        learner.partial_fit(case.decisions)
        taken.append(time.perf_counter() - start)
    return learner, 1e6 * min(taken) / len(case.decisions)


# What was asked for: what is read, from which section, in the row with these values, at most.
AIMS: tuple[tuple[str, str, str, dict[str, Any], float], ...] = (
    ("fit, 30 assets, 100,000 investors: seconds", "gap_fits", "native_seconds",
     {"assets": 30, "investors": 100_000, "errors": "dirichlet"}, 1.0),
    ("fit, 30 assets, 1,000,000 investors: seconds", "gap_fits", "native_seconds",
     {"assets": 30, "investors": 1_000_000, "errors": "dirichlet"}, 8.0),
    ("fit, 500 assets, 5,000 investors: seconds", "gap_fits", "native_seconds",
     {"assets": 500, "investors": 5_000}, 20.0),
    ("fit from a Parquet file, 100,000 investors: seconds", "gap_file", "seconds",
     {"investors": 100_000}, 1.0),
    ("fit from a Parquet file, 1,000,000 investors: seconds", "gap_file", "seconds",
     {"investors": 1_000_000}, 8.0),
    ("the same, of which all numbers take 240 MB: MB of memory grown", "gap_file", "grown_mb",
     {"investors": 1_000_000}, 240.0),
    ("the same four times over, 960 MB of numbers: MB of memory grown", "gap_file", "grown_mb",
     {"investors": 4_000_000}, 240.0),
    ("round of a stream, 8 assets: microseconds", "gap_rounds", "gap_us", {"assets": 8}, 30.0),
    ("round of a stream, 200 assets: microseconds", "gap_rounds", "gap_us",
     {"assets": 200}, 3000.0),
    ("200 random problems, above Clarabel's value: share", "gap_agreement", "largest_excess",
     {"solver": "Clarabel", "problems": 200}, 1e-7),
    ("20 random starts, largest difference of a return", "gap_starts", "largest_apart",
     {"problems": 200, "starts": 20}, 1e-7),
)  # fmt: skip


def aims(sections: Sequence[Section]) -> Section:
    """What was asked of the return left on the table beside what the other sections found.

    Args:
        sections: All that were measured.
    """
    found = {section.name: section.rows for section in sections}
    rows: list[Row] = []
    for what, name, column, where, most in AIMS:
        matching = [row for row in found.get(name, []) if where.items() <= row.items()]
        measured = matching[0][column] if matching else None
        verdict = "–" if measured is None else "yes" if measured <= most else "no"
        rows.append({"what": what, "at_most": most, "measured": measured, "within": verdict})
    how = (
        "Read from the sections above; a bar is what a quick run does not measure. Seconds are "
        "those of a clock, on a machine as busy as the head of this page says."
    )
    return Section("gap_aims", "Return left on the table: what was asked for", how, rows)
