"""What is measured: sizes, problems with streams of decisions, and the tables that come out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from imop_engine.bundled import market
from imop_engine.frontier import solve
from imop_engine.problem import Problem, portfolio_problem, quadratic_problem
from imop_engine.simulate import simulate_investors

Array = NDArray[np.float64]
Row = dict[str, Any]
Say = Callable[[str], None]
SEED = 7
RATE = 5.0
K = 41
DRAWN = 100_000  # investors drawn at a time, to need little memory


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
    investors: tuple[int, ...]  # fitted together, n = 30
    cone_investors: int  # the most of them that a cone solver is given
    wide: tuple[int, int]  # assets and investors of the widest fit
    fit_assets: tuple[int, ...]  # other numbers of assets that as many investors are fitted with
    random_problems: int
    random_starts: int  # of each random problem
    cone_rounds: int  # updates of a stream that a cone solver is given
    random_limits: int  # frontiers, and updates, under limits that others solve too
    timed_limits: int  # markets in which ten limits are timed beside none
    studies: tuple[tuple[int, int], ...]  # assets and investors of whole studies


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
    investors=(100, 1_000, 10_000, 100_000, 1_000_000),
    cone_investors=1_000,
    wide=(500, 5_000),
    fit_assets=(8, 30, 100, 200),
    random_problems=200,
    random_starts=20,
    cone_rounds=5,
    random_limits=300,
    timed_limits=12,
    studies=((8, 1_000), (30, 1_000), (100, 1_000), (8, 100_000)),
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
    investors=(30, 2_000),
    cone_investors=30,
    wide=(60, 200),
    fit_assets=(8,),
    random_problems=3,
    random_starts=2,
    cone_rounds=1,
    random_limits=8,
    timed_limits=2,
    studies=((8, 100),),
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


def paper_case(count: int) -> Case:
    """The paper's eight securities, two of them anchored; portfolios rounded to 0.001."""
    paper = market("paper8")
    truth = paper.expected_returns
    problem = portfolio_problem(paper.covariance, anchors={i: float(truth[i]) for i in (0, 6)})
    seen = simulate_investors(problem, truth, count, rng=np.random.default_rng(SEED))
    return Case("portfolio n = 8", problem, seen.portfolios)


def factor_market(n: int) -> tuple[Problem, Array, np.random.Generator]:
    """A market with a three-factor covariance, its two extreme returns anchored.

    Args:
        n: How many assets.

    Returns:
        The problem, its true returns a year, and the generator to draw investors from.
    """
    rng = np.random.default_rng([SEED, n])
    loadings = rng.normal(0.0, 0.15, (n, 3)) + np.array([0.15, 0.0, 0.0])
    covariance = loadings @ loadings.T + np.diag(rng.uniform(0.01, 0.05, n))
    returns = 0.03 + 0.4 * np.abs(loadings[:, 0]) + rng.normal(0.0, 0.02, n)
    returns = np.clip(returns, 0.0, 1.0)
    ends = (int(np.argmin(returns)), int(np.argmax(returns)))
    anchors = {i: float(returns[i]) for i in ends}
    return portfolio_problem(covariance, anchors=anchors), returns, rng


def factor_case(n: int, count: int, noise: str = "gaussian", level: float = 0.005) -> Case:
    """Investors of `factor_market`, their weights uniform.

    Args:
        n: How many assets.
        count: How many investors.
        noise: How portfolios are observed, as `simulate_investors` says it.
        level: Its size, in fractions of wealth.

    Returns:
        The problem and the portfolios; equal arguments give equal ones.
    """
    problem, returns, rng = factor_market(n)
    parts = [
        simulate_investors(
            problem, returns, min(DRAWN, count - done), weights="uniform", noise=noise,
            noise_level=level, rng=rng,
        ).portfolios
        for done in range(0, count, DRAWN)
    ]  # fmt: skip
    return Case(f"portfolio n = {n}", problem, np.vstack(parts))


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
