"""The second-order learner: steps in the metric of what the decisions have told so far.

An investor on a piece of the frontier tells how its portfolios respond to beliefs, less what her
own weight explains (`kernels.newton_run`). Summed up, that is the least-squares information: it
scales the steps of `algorithm="newton"`, and its inverse gives the standard errors. The exact
implicit updates come first: they find the right pieces of the frontier, which no local step does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from imop_engine import kernels
from imop_engine.arguments import Matrix, Vector
from imop_engine.problem import Problem

SEARCH_RATE = 10.0  # the search trusts a decision this much more than Algorithm 2 would
SEARCH_WEIGHTS = 41  # the grid it compares, as fine as the paper's finest


def opening_rates(rate: Callable[[int], float]) -> Vector:
    """The rates of the opening's rounds, by their place in it."""
    count = kernels.SEARCHING + kernels.SETTLING
    raised = [SEARCH_RATE if t <= kernels.SEARCHING else 1.0 for t in range(1, count + 1)]
    return np.array([up * rate(t) for t, up in enumerate(raised, start=1)])


def flat_start(problem: Problem) -> Vector:
    """Returns as alike as the anchors allow, at the lowest anchored one: low returns are raised
    by the first investor who holds the asset, while high ones can hide all others."""
    equalities, values = problem.theta.equalities, problem.theta.values
    sums = equalities.sum(axis=1)
    known = values[sums != 0] / sums[sums != 0]
    lowest = float(known.min()) if known.size else 0.0
    return problem.theta.nearest(np.full(problem.theta_size, lowest))


@dataclass(frozen=True, eq=False)
class SecondOrderState:
    """What a stream has told the second-order learner: all that it carries between calls."""

    metric: Matrix  # the least-squares information about theta, per unit of noise variance
    recent: Matrix  # its younger half, which takes its place when the age doubles
    sums: Vector = field(repr=False)  # of the decisions while the opening settles
    memory: Vector = field(repr=False)  # counters and the noise, by the places kernels names

    @classmethod
    def none(cls, size: int) -> SecondOrderState:
        """Before the first decision."""
        square = np.zeros((size, size))
        return cls(square, square.copy(), np.zeros(size), np.zeros(kernels.LATELY + 1))

    def copy(self) -> SecondOrderState:
        """The same, apart."""
        parts = (self.metric, self.recent, self.sums, self.memory)
        return SecondOrderState(*(part.copy() for part in parts))

    @property
    def noise(self) -> float:
        """Standard deviation of one holding around the frontier; NaN before there is any."""
        freedom = self.memory[kernels.FREEDOM]
        return float(np.sqrt(self.memory[kernels.LEFT] / freedom)) if freedom > 0 else float("nan")
