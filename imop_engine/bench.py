"""What the engine claims about speed, measured: `imop bench`.

One process, one thread a solver, one machine. Nothing is extrapolated: where Gurobi is too slow for
the whole stream it is measured on rounds spread evenly over it, from the same beliefs and for the
same decisions as the native run, and the figure is per round. Models and compiled code are made
before the clock starts, on both sides; starting from nothing has a row of its own.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from imop_engine.backends import make_backend
from imop_engine.bundled import market
from imop_engine.errors import ImopError, SolverUnavailable
from imop_engine.frontier import efficient_frontier, solve
from imop_engine.learner import OnlineLearner
from imop_engine.problem import Problem, portfolio_problem, quadratic_problem
from imop_engine.simulate import simulate_investors
from imop_engine.warm import warm
from imop_engine.weights import weight_grid

Array = NDArray[np.float64]
Row = dict[str, Any]
Say = Callable[[str], None]

SEED = 7
RATE = 5.0
K = 41
# Off in the second Gurobi column: on programs this small they cost more than the whole tree.
TUNED = {"parameters": {"Heuristics": 0, "Cuts": 0, "Presolve": 0}, "cutoff": True}
PACKAGES = ("imop", "numpy", "numba", "gurobipy", "cvxcla", "daqp", "quadprog")


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    rounds: int  # of the native loop
    gurobi_rounds: int  # Algorithm 2
    gurobi_full_rounds: int  # Algorithm 1
    assets: tuple[int, ...]
    growth_rounds: int
    weights: tuple[int, ...]
    marks: tuple[int, ...]  # rounds at which the cost of a round is read
    stream: int
    repeats: int


FULL = Size(
    rounds=1000,
    gurobi_rounds=50,
    gurobi_full_rounds=4,
    assets=(8, 16, 30, 60, 100, 200),
    growth_rounds=200,
    weights=(11, 21, 41, 81, 161, 321, 641),
    marks=(1_000, 10_000, 100_000),
    stream=1_000_000,
    repeats=3,
)
QUICK = Size(
    rounds=60,
    gurobi_rounds=3,
    gurobi_full_rounds=1,
    assets=(8, 16),
    growth_rounds=20,
    weights=(11, 41),
    marks=(200, 400),
    stream=4_000,
    repeats=1,
)


@dataclass(frozen=True)
class Section:
    """One table: what it claims, how it was measured, and its rows."""

    name: str
    title: str
    how: str
    rows: list[Row]


Measure = Callable[[Size, Say], list[Section]]


@dataclass(frozen=True, eq=False)
class Case:
    """A problem and a stream of decisions to learn it from."""

    name: str
    problem: Problem
    decisions: Array


def run(quick: bool = False, out: Path | None = None, say: Say = lambda _: None) -> dict[str, Any]:
    """Measure everything; write `out`/bench.json (quick.json) if a folder is given."""
    size = QUICK if quick else FULL
    load = os.getloadavg()[0]
    say("compiling, where that has not been done")
    warm()
    sections = [asdict(section) for measure in SECTIONS for section in attempt(measure, size, say)]
    report = {
        "name": "quick" if quick else "bench",
        "machine": machine(load),
        "versions": versions(),
        "settings": {"K": K, "rate": f"{RATE:g}/sqrt(t)", "seed": SEED, "rounds": size.rounds},
        "sections": sections,
    }
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        path = out / f"{report['name']}.json"
        path.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    return report


# -- what is learned -----------------------------------------------------------------------------
def paper_case(count: int) -> Case:
    """The paper's eight securities, two of them anchored; portfolios rounded to 0.001."""
    paper = market("paper8")
    truth = paper.expected_returns
    problem = portfolio_problem(paper.covariance, anchors={i: float(truth[i]) for i in (0, 6)})
    seen = simulate_investors(problem, truth, count, rng=np.random.default_rng(SEED))
    return Case("portfolio n = 8", problem, seen.portfolios)


def factor_case(n: int, count: int, noise: float = 0.005) -> Case:
    """n assets with a three-factor covariance; portfolios with Gaussian noise."""
    rng = np.random.default_rng([SEED, n])
    loadings = rng.normal(0.0, 0.15, (n, 3)) + np.array([0.15, 0.0, 0.0])
    covariance = loadings @ loadings.T + np.diag(rng.uniform(0.01, 0.05, n))
    returns = 0.03 + 0.4 * np.abs(loadings[:, 0]) + rng.normal(0.0, 0.02, n)
    returns = np.clip(returns, 0.0, 1.0)
    ends = (int(np.argmin(returns)), int(np.argmax(returns)))
    problem = portfolio_problem(covariance, anchors={i: float(returns[i]) for i in ends})
    seen = simulate_investors(
        problem, returns, count, weights="uniform", noise="gaussian", noise_level=noise, rng=rng
    )
    return Case(f"portfolio n = {n}", problem, seen.portfolios)


def mqp_case(learn: str, count: int) -> Case:
    """The paper's quadratic program with two variables; noise U(-0.5, 0.5) on each."""
    truth = np.array([3.0, 1.0, -6.0, -5.0]) if learn == "c" else np.array([-6.0, -3.0])
    box = ([1, 1, -6, -6], [6, 6, -1, -1]) if learn == "c" else (-10.0, 10.0)
    problem = quadratic_problem(
        Q=[np.diag([1.0, 2.0]), np.diag([2.0, 1.0])],
        c=[[3.0, 1.0], [-6.0, -5.0]],
        A=[[-3.0, 1.0], [0.0, -1.0]],
        b=[-6.0, -3.0],
        learn=learn,
        bounds=box,
    )
    rng = np.random.default_rng(SEED)
    exact = [solve(problem, truth, w) for w in rng.uniform(0.0, 1.0, count)]
    return Case(f"MQP, {learn}", problem, np.array(exact) + rng.uniform(-0.5, 0.5, (count, 2)))


def cases(size: Size) -> list[Case]:
    """The four problems that are measured against Gurobi."""
    portfolios = [paper_case(size.rounds), factor_case(30, size.rounds)]
    return portfolios + [mqp_case(learn, size.rounds) for learn in "cb"]


# -- sections ------------------------------------------------------------------------------------
def attempt(measure: Measure, size: Size, say: Say) -> list[Section]:
    """The tables of one measurement; an empty one that says why where a solver is missing."""
    try:
        return measure(size, say)
    except (ImportError, SolverUnavailable) as error:
        title = measure.__name__.replace("_", " ").capitalize()
        return [Section(measure.__name__, title, f"Not measured: {error}", [])]


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


def native_seconds(case: Case, algorithm: str, repeats: int, weights: int = K) -> float:
    """Seconds a round of the native loop, the median of some repeats."""
    OnlineLearner(case.problem, weights, algorithm, RATE).partial_fit(case.decisions[:2])
    taken = []
    for _ in range(repeats):
        learner = OnlineLearner(case.problem, weights, algorithm, RATE)
        start = time.perf_counter()
        learner.partial_fit(case.decisions)
        taken.append(time.perf_counter() - start)
    return median(taken) / len(case.decisions)


def beliefs(case: Case, algorithm: str, places: NDArray[np.int64]) -> list[Array]:
    """theta_t of the native run at some rounds."""
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
    """Seconds a round: K forward solves, the update; and its worst excess over the native one."""
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


def algorithms(size: Size, say: Say) -> list[Section]:
    """The full algorithm against the accelerated one, both native."""
    rows = []
    for case in cases(size):
        say(f"{case.name}, Algorithm 1 against Algorithm 2")
        one, two = (native_seconds(case, name, size.repeats) for name in ("full", "accelerated"))
        rows.append(
            {"problem": case.name, "full_us": 1e6 * one, "accelerated_us": 1e6 * two,
             "ratio": one / two}
        )  # fmt: skip
    how = f"Microseconds a round, native, K = {K}, {size.rounds} rounds."
    return [Section("algorithms", "Algorithm 1 against Algorithm 2", how, rows)]


def assets(size: Size, say: Say) -> list[Section]:
    """Cost and share certified as the number of assets grows."""
    rows = []
    for n in size.assets:
        say(f"{n} assets")
        case = factor_case(n, size.growth_rounds)
        OnlineLearner(case.problem, K, rate=RATE).partial_fit(case.decisions[:1])
        learner = OnlineLearner(case.problem, K, rate=RATE)
        start = time.perf_counter()
        learner.partial_fit(case.decisions)
        seconds = time.perf_counter() - start
        rows.append(
            {"assets": n, "rounds": size.growth_rounds,
             "us": 1e6 * seconds / size.growth_rounds, "certified": learner.certified_,
             "nodes": learner.nodes_ / max(learner.updates_, 1)}
        )  # fmt: skip
    how = (
        "Algorithm 2; a simulated three-factor covariance, portfolios with Gaussian noise of sd "
        "0.005, uniform weights, two anchors. `certified` is the share of updates proven optimal "
        "within the default node limit, `nodes` their average."
    )
    return [Section("assets", "As the number of assets grows", how, rows)]


def weights(size: Size, say: Say) -> list[Section]:
    """Cost as the number of weights grows."""
    case = paper_case(size.rounds)
    rows = []
    for count in size.weights:
        say(f"K = {count}")
        two = native_seconds(case, "accelerated", size.repeats, count)
        one = native_seconds(case, "full", 1, count)
        rows.append({"K": count, "accelerated_us": 1e6 * two, "full_us": 1e6 * one})
    how = f"Microseconds a round, {case.name}, {size.rounds} rounds."
    return [Section("weights", "As the number of weights grows", how, rows)]


def rounds(size: Size, say: Say) -> list[Section]:
    """Cost of a round early and late in a stream."""
    last = size.marks[-1]
    case = paper_case(last)
    learner = OnlineLearner(case.problem, K, rate=RATE)
    block = min(1000, size.marks[0] // 2)
    rows, done = [], 0
    for mark in size.marks:
        say(f"round {mark:,}")
        learner.partial_fit(case.decisions[done : mark - block])
        start = time.perf_counter()
        learner.partial_fit(case.decisions[mark - block : mark])
        rows.append({"round": mark, "us": 1e6 * (time.perf_counter() - start) / block})
        done = mark
    how = f"Microseconds a round over the {block} rounds before each mark, {case.name}."
    return [Section("rounds", "As the stream goes on", how, rows)]


def stream(size: Size, say: Say) -> list[Section]:
    """Memory and pace over a long stream, in a process of its own that holds nothing else."""
    say(f"a stream of {size.stream:,} decisions")
    code = "import sys, imop_engine.bench as b; b.print_stream(int(sys.argv[1]), int(sys.argv[2]))"
    chunk = min(10_000, size.stream // 4)
    rows = json.loads(fresh_process(code, str(size.stream), str(chunk)))
    how = (
        f"portfolio n = 8, K = {K}, in chunks of {chunk:,}, in a fresh process. `grown` is the "
        "growth of its memory since the first chunk; the learner keeps one number a decision, "
        "its loss: 8 bytes."
    )
    return [Section("stream", "A long stream", how, rows)]


def print_stream(count: int, chunk: int) -> None:
    """Learn from `count` decisions and print pace and memory on the way as JSON."""
    case = paper_case(chunk)
    truth = market("paper8").expected_returns
    rng = np.random.default_rng(SEED)
    learner = OnlineLearner(case.problem, K, rate=RATE).partial_fit(case.decisions)
    start_mb, seconds, done = resident_mb(), 0.0, 0
    rows = []
    while done < count:
        decisions = simulate_investors(case.problem, truth, chunk, rng=rng).portfolios
        start = time.perf_counter()
        learner.partial_fit(decisions)
        seconds += time.perf_counter() - start
        done += chunk
        if done in (count // 10, count // 2, count):
            rows.append(
                {"decisions": done, "per_second": done / seconds, "resident_mb": resident_mb(),
                 "grown_mb": resident_mb() - start_mb}
            )  # fmt: skip
    print(json.dumps(rows))


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


def cold_start(size: Size, say: Say) -> list[Section]:
    """A fresh process that learns 1,000 decisions and exits."""
    say("cold start")
    case = paper_case(1000)
    code = (
        "import sys, numpy as np, imop_engine as imop; given = np.load(sys.argv[1]);"
        "problem = imop.portfolio_problem(given['covariance'], anchors={0: given['r'][0], "
        "6: given['r'][6]});"
        f"print(imop.OnlineLearner(problem, {K}).partial_fit(given['decisions']).rounds_)"
    )
    taken = []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "given.npz"
        returns = market("paper8").expected_returns
        np.savez(path, covariance=case.problem.covariance, r=returns, decisions=case.decisions)
        for _ in range(1 + size.repeats):  # the first finds the cache in order and does not count
            start = time.perf_counter()
            if fresh_process(code, str(path)).strip() != "1000":
                raise ImopError("a fresh process did not learn from all of its 1000 decisions.")
            taken.append(time.perf_counter() - start)
    how = "Seconds from starting Python to its exit, imports included, compiled code in its cache."
    row = {"decisions": 1000, "seconds": median(taken[1:]), "slowest_seconds": max(taken[1:])}
    return [Section("start", "Cold start", how, [row])]


def fresh_process(code: str, *arguments: str) -> str:
    """What a new Python prints when it runs this code."""
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ImopError(f"a fresh process failed: {done.stderr.strip()[-300:]}")
    return done.stdout


SECTIONS: tuple[Measure, ...] = (
    against_gurobi, algorithms, assets, weights, rounds, stream, frontier, forward, cold_start,
)  # fmt: skip


# -- measuring -----------------------------------------------------------------------------------
def timed(work: Callable[[], object], repeats: int) -> float:
    """Seconds one call takes: the median over repeats of enough calls for 20 ms each."""
    work()
    start = time.perf_counter()
    work()
    calls = max(1, int(0.02 / max(time.perf_counter() - start, 1e-7)))
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(calls):
            work()
        taken.append((time.perf_counter() - start) / calls)
    return median(taken)


def resident_mb() -> float:
    """Memory of this process that is in use now, in megabytes."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    except OSError:  # no /proc: the peak is the best there is
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def machine(load: float) -> Row:
    """What it was measured on, and how busy that was when it began."""
    model = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    return {
        "cpu": model, "cores": os.cpu_count(), "system": platform.system(), "load_before": load,
    }  # fmt: skip


def versions() -> dict[str, str]:
    """Versions of what was measured."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _market(n: int) -> tuple[Problem, Array]:
    if n == 8:
        paper = market("paper8")
        return portfolio_problem(paper.covariance), paper.expected_returns
    case = factor_case(n, 1)
    rng = np.random.default_rng([SEED, n, 1])
    return case.problem, rng.uniform(0.02, 0.2, n)


# -- telling -------------------------------------------------------------------------------------
def shown(value: object) -> str:
    """A number as a table shows it: three digits that matter."""
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1e}" if abs(value) < 1e-3 else f"{value:.3g}"


def page(report: dict[str, Any]) -> str:
    """The report as the Markdown page docs/benchmarks.md."""
    on, made = report["machine"], report["versions"]
    lines = [
        "# Benchmarks",
        "",
        f"Written by `imop bench` from one run, `benchmarks/results/{report['name']}.json`.",
        "",
        f"{on['cpu']}, {on['cores']} cores, {on['system']}; load average before the run "
        f"{on['load_before']:.2f}. "
        + ", ".join(f"{name} {number}" for name, number in made.items())
        + ". Every solver on one thread.",
    ]
    for section in report["sections"]:
        lines += ["", f"## {section['title']}", "", section["how"], ""]
        if not section["rows"]:
            continue
        heads = list(section["rows"][0])
        lines.append("| " + " | ".join(head.replace("_", " ") for head in heads) + " |")
        lines.append("|" + "---:|" * len(heads))
        lines += [
            "| " + " | ".join(shown(row[head]) for head in heads) + " |" for row in section["rows"]
        ]
    return "\n".join(lines) + "\n"


def show(report: dict[str, Any]) -> None:
    """Print the report as tables."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for section in report["sections"]:
        console.print(f"\n[bold]{section['title']}[/bold]", highlight=False)
        if section["rows"]:
            table = Table()
            for head, first in section["rows"][0].items():
                text = isinstance(first, str)
                table.add_column(
                    head.replace("_", " "), justify="left" if text else "right", no_wrap=text
                )
            for row in section["rows"]:
                table.add_row(*(shown(value) for value in row.values()))
            console.print(table)
        console.print(section["how"], highlight=False, markup=False)
