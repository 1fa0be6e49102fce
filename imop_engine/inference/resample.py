"""The bootstrap: how the estimates would have come out with other investors of the same kind.

Investors are drawn again with replacement, the returns are refined on each draw, and the spread of
what comes out needs none of the approximations behind the analytic standard errors. Each draw has
its own generator, made from the seed and the number of the draw, so results do not depend on how
many processes share the work.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.capabilities import INFERENCE
from imop_engine.errors import InvalidInput
from imop_engine.frontier import efficient_frontier, risk_of
from imop_engine.inference.estimating_equations import Support, refine_counts, support_of
from imop_engine.inference.fit import some_decisions
from imop_engine.inference.information import information
from imop_engine.inference.uncertainty import best_return
from imop_engine.problem import Problem
from imop_engine.workers import Processes, Workers

LEAST_DRAWS: Final = 20  # fewer say nothing of an end of a 95 % interval
MOST_DRAWS: Final = 100_000
LEAST_INVESTORS: Final = 10  # draws of fewer are mostly the same few investors again
WORTH_PROCESSES: Final = 5.0  # seconds of work below which starting processes costs more
BAND_POINTS: Final = 60
BINS: Final = 20  # of the weight distribution
QUANTILES: Final = (0.1, 0.5, 0.9)

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Estimates from redrawn investors.

    `theta` has one row for each draw; `returns` is the best return of each draw at `risks`;
    `weights` describes each draw's weights: mean, standard deviation, quantiles, then the shares
    in 20 even bins.
    """

    problem: Problem
    estimate: Vector
    theta: Matrix
    risks: Vector
    best: Vector  # the estimate's own best return at those risks
    returns: Matrix
    weights: Matrix
    weights_estimate: Vector
    converged: NDArray[np.bool_]
    seed: int

    @property
    def standard_errors(self) -> Vector:
        """Standard deviation over draws; NaN for returns that no draw moved."""
        spread: Vector = self.theta.std(axis=0, ddof=1)
        return np.where(np.ptp(self.theta, axis=0) > 0, spread, np.nan)

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """asset, estimate, standard_error, low, high (percentiles of the draws)."""
        low, high = _ends(self.theta, level)
        return pd.DataFrame(
            {
                "asset": list(self.problem.theta_names),
                "estimate": self.estimate,
                "standard_error": self.standard_errors,
                "low": low,
                "high": high,
            }
        )

    def band(self, level: float = 0.95) -> pd.DataFrame:
        """risk, return, low, high: the frontier and where draws put it."""
        low, high = _ends(self.returns, level)
        return pd.DataFrame({"risk": self.risks, "return": self.best, "low": low, "high": high})

    def weight_frame(self, level: float = 0.95) -> pd.DataFrame:
        """statistic, estimate, low, high: mean, sd and quantiles of the investors' weights."""
        names = ["mean", "sd", *(f"quantile {q:g}" for q in QUANTILES)]
        low, high = _ends(self.weights[:, : len(names)], level)
        return pd.DataFrame(
            {
                "statistic": names,
                "estimate": self.weights_estimate[: len(names)],
                "low": low,
                "high": high,
            }
        )

    def histogram(self, level: float = 0.95) -> pd.DataFrame:
        """from, to, share, low, high: the weight distribution in 20 bins, with intervals."""
        skip = 2 + len(QUANTILES)
        low, high = _ends(self.weights[:, skip:], level)
        edges = np.linspace(0.0, 1.0, BINS + 1)
        return pd.DataFrame(
            {
                "from": edges[:-1],
                "to": edges[1:],
                "share": self.weights_estimate[skip:],
                "low": low,
                "high": high,
            }
        )


@dataclass(frozen=True, eq=False)
class _Task:
    """What every draw needs."""

    problem: Problem
    decisions: Matrix
    theta: Vector
    support: Support
    risks: Vector
    seed: int

    def draw(self, number: int) -> Vector:
        """One redrawn estimate: returns, best returns, weights' description, converged."""
        rng = np.random.default_rng([self.seed, number])
        count = len(self.decisions)
        times = np.bincount(rng.integers(0, count, count), minlength=count).astype(float)
        some = times > 0
        Y, times = self.decisions[some], times[some]
        found = refine_counts(self.problem, Y, self.theta, times, self.support)
        return np.concatenate(
            [
                found.theta,
                best_return(self.problem, found.theta, self.risks),
                _describe(self.problem, found.theta, Y, times),
                [float(found.converged)],
            ]
        )


def bootstrap(
    problem: Problem,
    decisions: Any,
    draws: int = 200,
    seed: int = 0,
    progress: Progress | None = None,
    workers: int | Workers | None = None,
    *,
    theta: ArrayLike | None = None,
) -> Bootstrap:
    """Redraw the investors `draws` times and estimate the returns again each time.

    `theta` is the estimate that each draw starts from; None learns it first (exact weights, then
    `refine`). `progress(done, draws)` is called as draws finish. `workers` processes share the
    work; None takes all processors where the work is worth starting them.

    Args:
        problem: What is decided, and which theta are possible.
        decisions: One row for each investor: holdings, fractions of wealth that add up to 1.
        draws: How many times the investors are drawn again.
        seed: Of the draws.
        progress: Called with the number of finished draws and of all.
        workers: How many processes share the work, or who does it, a cluster say
            (`workers.open_workers`).
        theta: The estimate that each draw starts from; None learns it first.

    Returns:
        The estimates of all draws.
    """
    Y = some_decisions(problem, decisions)
    _check(problem, len(Y), draws, seed, workers)
    start = _learned(problem, Y) if theta is None else problem.check_theta(theta)
    base = refine_counts(problem, Y, start).theta
    frontier = efficient_frontier(problem, base)
    risks = risk_of(problem, frontier.sample(BAND_POINTS)[1])
    support = support_of(information(frontier, Y), Y)
    task = _Task(problem, Y, base, support, risks, int(seed))
    rows: list[Vector] = [np.empty(0)] * draws
    for done, (number, row) in enumerate(_run(task, draws, workers), start=1):
        rows[number] = row
        if progress is not None:
            progress(done, draws)
    table = np.array(rows)
    n, m = problem.theta_size, len(risks)
    return Bootstrap(
        problem,
        base,
        table[:, :n],
        risks,
        best_return(problem, base, risks),
        table[:, n : n + m],
        table[:, n + m : -1],
        _describe(problem, base, Y, np.ones(len(Y))),
        table[:, -1] > 0,
        int(seed),
    )


def _check(
    problem: Problem, count: int, draws: int, seed: int, workers: int | Workers | None
) -> None:
    problem.require(
        *INFERENCE,
        sentence="the bootstrap reads portfolio problems; this one is quadratic.",
    )
    if type(draws) is not int or not LEAST_DRAWS <= draws <= MOST_DRAWS:
        raise InvalidInput(
            f"draws is {draws!r}; give a whole number from {LEAST_DRAWS} to {MOST_DRAWS:,}, 200 "
            "for standard errors, 1,000 for the ends of intervals."
        )
    if type(seed) is not int or seed < 0:
        raise InvalidInput(f"seed is {seed!r}; give a whole number from 0 up.")
    others = workers is None or hasattr(workers, "each")
    if not others and (type(workers) is not int or workers < 1):
        raise InvalidInput(f"workers is {workers!r}; give a whole number from 1 up, or None.")
    if count < LEAST_INVESTORS:
        raise InvalidInput(
            f"there are {count} investors; a bootstrap needs {LEAST_INVESTORS} at least, because "
            "it draws from them again and again."
        )


def _learned(problem: Problem, Y: Matrix) -> Vector:
    from imop_engine.learner import OnlineLearner  # not needed where the caller brings an estimate

    return OnlineLearner(problem, weights="exact").partial_fit(Y).theta_


def _run(task: _Task, draws: int, workers: int | Workers | None) -> Iterator[tuple[int, Vector]]:
    """Draws as they finish, in any order."""
    if workers is not None and not isinstance(workers, int):
        yield from workers.each(_draw, range(draws), task)
        return
    begin = time.perf_counter()
    yield 0, task.draw(0)
    left = (time.perf_counter() - begin) * (draws - 1)
    if workers is None:
        workers = (os.cpu_count() or 1) if left > WORTH_PROCESSES else 1
    if workers == 1:
        for number in range(1, draws):
            yield number, task.draw(number)
        return
    for place, row in Processes(workers).each(_draw, range(1, draws), task):
        yield place + 1, row


def _draw(number: int, task: _Task) -> Vector:
    return task.draw(number)


def _describe(problem: Problem, theta: Vector, Y: Matrix, times: Vector) -> Vector:
    """Mean, sd, quantiles and shares in bins of the weights of investors who count `times`."""
    w = efficient_frontier(problem, theta).project(Y).weights
    total = float(times.sum())
    mean = float(times @ w) / total
    sd = float(np.sqrt(times @ (w - mean) ** 2 / total))
    order = np.argsort(w, kind="stable")
    place = np.cumsum(times[order]) / total
    at = np.minimum(np.searchsorted(place, QUANTILES), len(w) - 1)
    shares = np.histogram(w, np.linspace(0.0, 1.0, BINS + 1), weights=times)[0] / total
    return np.concatenate([[mean, sd], w[order][at], shares])


def _ends(draws: Matrix, level: float) -> tuple[Vector, Vector]:
    if not 0.0 < level < 1.0:
        raise InvalidInput(f"the level is {level:g}; give a number between 0 and 1, 0.95 say.")
    low, high = np.quantile(draws, [0.5 - level / 2, 0.5 + level / 2], axis=0)
    return low, high
