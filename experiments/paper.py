"""The paper's problems and streams of decisions, with the parameters it leaves out.

Its appendix gives the portfolio's data but not the quadratic program's; those are recovered from
the figure of a related paper: the polygon (0, 0), (2, 0), (3, 3), (0, 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import imop_engine as imop
from imop_engine.bundled import market
from imop_engine.simulate import Investors, simulate_investors

Array = NDArray[np.float64]

ROUNDS = 1000
RATE = 5.0  # eta_t = 5 / sqrt(t) in every experiment of the paper
NOISE = 0.5  # each observed coordinate of the quadratic program is off by U(-0.5, 0.5)
ALGORITHMS = ("full", "accelerated")
LABELS = {"full": "Algorithm 1", "accelerated": "Algorithm 2"}
MQP_TRUTH = {"c": np.array([3.0, 1.0, -6.0, -5.0]), "b": np.array([-6.0, -3.0])}
MQP_BOX: dict[str, tuple[ArrayLike, ArrayLike]] = {
    "c": ([1.0, 1.0, -6.0, -6.0], [6.0, 6.0, -1.0, -1.0]),
    "b": (-10.0, 10.0),
}
ANCHORED = (0, 6)  # securities 1 and 7: their returns are taken as known
PAPER_TABLE = {6: 0.1270, 11: 0.1270, 21: 0.0420, 41: 0.0091}


@cache
def mqp(learn: str) -> imop.Problem:
    """The quadratic program with two objectives; `learn` is "c" or "b"."""
    return imop.quadratic_problem(
        Q=[np.diag([1.0, 2.0]), np.diag([2.0, 1.0])],
        c=[[3.0, 1.0], [-6.0, -5.0]],
        A=[[-3.0, 1.0], [0.0, -1.0]],
        b=[-6.0, -3.0],
        learn=learn,
        bounds=MQP_BOX[learn],
    )


def mqp_decisions(
    count: int, rng: np.random.Generator, noise: float = NOISE
) -> tuple[Array, Array]:
    """Noisy decisions of the quadratic program, and the weights (uniform) they came from.

    Args:
        count: How many.
        rng: Where random numbers come from.
        noise: Each variable's error is uniform, of this size at most.
    """
    weights = rng.uniform(0.0, 1.0, count)
    exact = _mqp_frontier().at(weights)
    return exact + rng.uniform(-noise, noise, exact.shape), weights


@cache
def _mqp_frontier() -> imop.Frontier:
    return imop.efficient_frontier(mqp("c"), MQP_TRUTH["c"])


@cache
def portfolio() -> tuple[imop.Problem, Array]:
    """The paper's eight securities with two anchors, and their true expected returns."""
    eight = market("paper8")
    truth = eight.expected_returns
    anchors = {eight.names[i]: float(truth[i]) for i in ANCHORED}
    problem = imop.portfolio_problem(eight.covariance, names=eight.names, anchors=anchors)
    return problem, truth


def investors(family: str, count: int, seed: int, **options: Any) -> Investors:
    """Investors whose weights are "normal" (0.5, sd 0.15) or "uniform"; rounded to 0.001.

    Args:
        family: Of the weights.
        count: How many investors.
        seed: Of all draws.
        **options: Handed on to `simulate_investors`.
    """
    problem, truth = portfolio()
    rng = np.random.default_rng(seed)
    return simulate_investors(problem, truth, count, weights=family, rng=rng, **options)


def marks(rounds: int, count: int = 80) -> list[int]:
    """Rounds at which a curve over the rounds is read: dense at first, the last one included.

    >>> marks(10, 4)
    [1, 2, 5, 10]
    """
    return sorted({round(t) for t in np.geomspace(1, rounds, count)})


def trail(learner: imop.OnlineLearner, decisions: Array, truth: Array, at: Sequence[int]) -> Array:
    """The distance to the truth before the first round and after each of the rounds `at`.

    Args:
        learner: It learns from the decisions here.
        decisions: One in each row.
        truth: The true parameters.
        at: Numbers of rounds, ascending.
    """
    errors = [float(np.linalg.norm(learner.theta_ - truth))]
    for done, todo in pairwise([0, *at]):
        learner.partial_fit(decisions[done:todo])
        errors.append(float(np.linalg.norm(learner.theta_ - truth)))
    return np.array(errors)


def plain(values: ArrayLike) -> Any:
    """An array as nested lists, for JSON."""
    return np.asarray(values).tolist()
