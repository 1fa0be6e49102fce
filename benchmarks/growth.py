"""How the cost grows: with algorithms, assets, weights and rounds; and what starting costs."""

from __future__ import annotations

import json
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from imop_engine.bundled import market
from imop_engine.errors import ImopError
from imop_engine.learner import OnlineLearner
from imop_engine.simulate import simulate_investors

from .cases import (
    RATE,
    SEED,
    K,
    Row,
    Say,
    Section,
    Size,
    cases,
    factor_case,
    paper_case,
)
from .measuring import fresh_process, native_seconds, resident_mb

MOST_SECOND_ORDER = 60  # assets; beyond, its opening alone takes minutes


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


def second_order(size: Size, say: Say) -> list[Section]:
    """The second-order learner beside Algorithm 2 with the same exact weights."""
    rows = []
    for n in (n for n in size.assets if n <= MOST_SECOND_ORDER):
        say(f"second-order learner, {n} assets")
        case = factor_case(n, size.growth_rounds)
        row: Row = {"assets": n}
        for algorithm in ("newton", "accelerated"):
            OnlineLearner(case.problem, "exact", algorithm).partial_fit(case.decisions[:1])
            learner = OnlineLearner(case.problem, "exact", algorithm)
            learner.partial_fit(case.decisions[: size.growth_rounds // 2])
            start = time.perf_counter()
            learner.partial_fit(case.decisions[size.growth_rounds // 2 :])
            rest = size.growth_rounds - size.growth_rounds // 2
            row[f"{algorithm}_us"] = 1e6 * (time.perf_counter() - start) / rest
        rows.append(row)
    how = (
        f"Microseconds a round over the second half of {size.growth_rounds} rounds, exact weights, "
        "problems as above; the opening of the second-order learner is 60 rounds."
    )
    return [Section("second_order", "Second-order learner", how, rows)]


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
    code = (
        "import sys; from imop_benchmarks.growth import print_stream;"
        "print_stream(*map(int, sys.argv[1:]))"
    )
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
