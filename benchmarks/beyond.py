"""Beyond two objectives and quadratic programs: what a third one costs, and a compiled solve."""

from __future__ import annotations

import time

import numpy as np

from imop_engine.bundled import market
from imop_engine.convex.own import ConvexProgram
from imop_engine.convex.risks import risk_problem
from imop_engine.curve import decisions
from imop_engine.frontier import solve
from imop_engine.inference.score import score_problem
from imop_engine.problem import Problem, quadratic_problem
from imop_engine.simulate import round_portfolios

from .cases import FULL, SEED, Array, Case, Row, Say, Section, Size, paper_case
from .measuring import native_seconds

RISKS = ("cvar", "mad", "semivariance", "entropic")
MONTHS = 120
WEIGHTS = (0.2, 0.4, 0.6)
SOLVES = 20  # for each repeat, one with the other in turn
LATTICES = (66, 231)  # of three objectives; two have grids of as many weights
SCORES = (0.1, 0.9, 0.4, 0.7, 0.2, 0.8, 0.5, 0.3)


def hot_forward(size: Size, say: Say) -> list[Section]:
    """One more decision of a compiled program beside the time its solver says it took."""
    whole_history = market("us20").history
    assert whole_history is not None
    history = whole_history.iloc[-MONTHS:]
    mean = history.mean().to_numpy()
    rows: list[Row] = []
    for name in RISKS:
        say(f"forward solves, {name}")
        problem = risk_problem(history, name)
        for weight in WEIGHTS:
            whole, own = _solved(problem, mean, weight, SOLVES * size.repeats)
            rows.append(
                {
                    "problem": name, "weight": weight, "whole_ms": 1e3 * whole,
                    "solver_ms": 1e3 * own, "ratio": whole / own,
                }
            )  # fmt: skip
    how = (
        f"Portfolios of {history.shape[1]} stocks, {MONTHS} months, compiled once; then decisions "
        "for one weight, all of the call (`whole`) and what Clarabel says of itself (`solver`), "
        f"in turn, the least of {SOLVES * size.repeats} each, which is moved least by what "
        "else the machine does. The aim is a ratio of at most 2."
    )
    return [Section("hot_forward", "A decision of a compiled program", how, rows)]


def _solved(problem: Problem, theta: Array, weight: float, count: int) -> tuple[float, float]:
    """Seconds of a whole decision, and of the solver alone."""
    weights = np.array([weight, 1.0 - weight])
    whole, own = [], []
    assert isinstance(problem.program, ConvexProgram)
    for _ in range(count):
        start = time.perf_counter()
        solve(problem, theta, weight)
        whole.append(time.perf_counter() - start)
        own.append(problem.program.seconds(theta, weights))
    return min(whole), min(own)


def third_objective(size: Size, say: Say) -> list[Section]:
    """Rounds of Algorithm 2 with three objectives beside two, at as many weights."""
    rows: list[Row] = []
    lattices = LATTICES if size == FULL else LATTICES[:1]
    for two, three in (
        (paper_case(size.rounds), _scored(size.rounds)),
        (_own(2, size.rounds), _own(3, size.rounds)),
    ):
        for K in lattices:
            say(f"{three.name}, {K} weights, beside two objectives")
            least = native_seconds(two, "accelerated", size.repeats, K)
            more = native_seconds(three, "accelerated", size.repeats, K)
            rows.append(
                {
                    "problem": three.name, "K": K, "two_us": 1e6 * least, "three_us": 1e6 * more,
                    "ratio": more / least,
                }
            )  # fmt: skip
    how = (
        f"Microseconds a round of Algorithm 2, the whole loop over {size.rounds} decisions, the "
        "same number of weights. Two objectives of portfolios have a kernel of their own that "
        "follows the frontier; three of them are solved weight by weight, as any other quadratic "
        "problem is, whatever its objectives. The aim is a ratio of at most 5."
    )
    return [Section("third_objective", "A third objective", how, rows)]


def _scored(count: int) -> Case:
    """Investors in the paper's securities who care for a score."""
    paper = market("paper8")
    truth = paper.expected_returns
    known = {i: float(truth[i]) for i in (0, 4, 5)}
    problem = score_problem(paper.covariance, SCORES, anchors=known)
    rng = np.random.default_rng(SEED)
    a, price = np.exp(rng.normal(np.log(0.12), 0.7, count)), rng.uniform(0.0, 0.05, count)
    weights = np.column_stack([2.0 * a, np.ones(count), 2.0 * a * price])
    exact = decisions(problem, truth, weights / weights.sum(axis=1, keepdims=True))
    return Case("portfolio n = 8, a score", problem, round_portfolios(exact, 0.001))


def _own(objectives: int, count: int) -> Case:
    """A quadratic problem of four variables, all linear terms unknown."""
    rng = np.random.default_rng(SEED)
    n = 4
    roots = rng.normal(size=(3, n, n))[:objectives]
    Q = [root @ root.T + 0.2 * np.eye(n) for root in roots]
    c = rng.normal(size=(3, n))[:objectives]
    A, b = rng.uniform(-1.0, -0.1, (2, n)), -rng.uniform(1.0, 2.0, 2)
    problem = quadratic_problem(Q, list(c), A, b, "c", (-4.0, 4.0))
    weights = rng.dirichlet(np.ones(objectives), count)
    exact = decisions(problem, c.ravel(), weights)
    seen = exact + rng.normal(0.0, 0.02, exact.shape)
    return Case(f"quadratic n = {n}, {objectives} objectives", problem, seen)
