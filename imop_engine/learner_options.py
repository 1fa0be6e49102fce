"""How a learner learns, validated in one place: `OnlineLearner`, studies, shell and app use it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from imop_engine.arguments import Vector
from imop_engine.backends import BACKENDS
from imop_engine.capabilities import Capability
from imop_engine.convex.suboptimality import NEEDED as SUBOPTIMALITY_NEEDS
from imop_engine.efficiency_gap.measure import NEEDED, NOT_A_PORTFOLIO
from imop_engine.efficiency_gap.stream import rate_unit
from imop_engine.errors import InvalidInput
from imop_engine.problem import Problem
from imop_engine.update import NODE_LIMIT, is_rate
from imop_engine.weights import EDGE, weight_grid

ACCELERATED: Final = "accelerated"
FULL: Final = "full"
NEWTON: Final = "newton"
ALGORITHMS: Final = (ACCELERATED, FULL, NEWTON)
EXACT: Final = "exact"
DISTANCE: Final = "distance"
EFFICIENCY: Final = "efficiency"
SUBOPTIMALITY: Final = "suboptimality"
LOSSES: Final = (DISTANCE, EFFICIENCY, SUBOPTIMALITY)
NATIVE: Final = "native"
Rate = float | Callable[[int], float]
NEWTON_NEEDS: Final = (
    "algorithm 'newton' works on the exact frontier of a portfolio problem: give it "
    "weights='exact', or use algorithm='accelerated'."
)
NEWTON_KNOWS: Final = (
    "algorithm 'newton' knows caps, but no minimum holdings and no "
    "limits on what is held together: use algorithm='accelerated' with weights='exact', and "
    "`polish` or `refine` afterwards."
)


@dataclass(frozen=True, eq=False)
class LearnerOptions:
    """What `OnlineLearner` is told besides the problem and the start; its arguments, checked."""

    weights: Any = 41
    algorithm: str = ACCELERATED
    rate: Rate = 5.0
    backend: str = NATIVE
    node_limit: int = NODE_LIMIT
    batch: int = 1
    forgetting: float = 1.0
    loss: str = DISTANCE

    def __post_init__(self) -> None:
        """Refuse what no problem could make possible."""
        if self.algorithm not in ALGORITHMS:
            raise InvalidInput(
                f"there is no algorithm {self.algorithm!r}; use one of {', '.join(ALGORITHMS)}."
            )
        if self.backend not in BACKENDS:
            raise InvalidInput(
                f"there is no backend {self.backend!r}; use one of {', '.join(BACKENDS)}."
            )
        self._check_loss()
        self._check_weights()
        self._check_numbers()

    def _check_loss(self) -> None:
        if self.loss not in LOSSES:
            raise InvalidInput(f"there is no loss {self.loss!r}; use one of {', '.join(LOSSES)}.")
        if self.loss == SUBOPTIMALITY and not (
            self.algorithm == ACCELERATED and self.backend == NATIVE and self.batch == 1
        ):
            raise InvalidInput(
                "loss='suboptimality' assigns a weight to each decision and then moves theta: take "
                "algorithm='accelerated', and leave backend and batch as they are."
            )
        plain = self.algorithm != FULL and self.backend == NATIVE and self.batch == 1
        if self.loss == EFFICIENCY and not plain:
            raise InvalidInput(
                "loss='efficiency' has one exact update for each portfolio: leave backend and "
                "batch as they are and take algorithm 'accelerated' or 'newton', or use "
                "loss='distance'."
            )

    def _check_weights(self) -> None:
        weights = self.weights
        whole = isinstance(weights, (int, np.integer)) and not isinstance(weights, bool)
        if (isinstance(weights, str) and weights != EXACT) or (whole and weights < 2):
            raise InvalidInput(
                f"weights is {weights!r}; give a whole number from 2 up, 41 say, a list of "
                "weights, or 'exact'."
            )
        if self.exact and self.algorithm == FULL:
            raise InvalidInput(
                "algorithm 'full' compares the weights of a grid one by one, so it needs one: "
                "give weights=41, or use algorithm='accelerated' with weights='exact'."
            )
        if self.algorithm == NEWTON and not self.exact:
            raise InvalidInput(NEWTON_NEEDS)
        if self.exact and self.backend != NATIVE:
            raise InvalidInput("weights='exact' is what the native backend does; give a grid here.")

    def _check_numbers(self) -> None:
        newton = self.algorithm == NEWTON
        if not 0.5 <= self.forgetting <= 1.0 or (self.forgetting < 1.0 and not newton):
            raise InvalidInput(
                f"forgetting={self.forgetting!r} is not possible: it belongs to "
                "algorithm='newton' and lies between 0.5 and 1; the other algorithms follow "
                "changes by a constant rate, rate=lambda t: 5.0."
            )
        if not callable(self.rate) and not is_rate(self.rate):
            raise InvalidInput(
                f"the rate is {self.rate!r}; give a positive number, 5 say, or a function of the "
                "round."
            )
        if type(self.batch) is not int:
            raise InvalidInput(f"batch must be a whole number; got {self.batch!r}.")
        alone = self.algorithm != ACCELERATED or self.backend != NATIVE
        if self.batch < 1 or (self.batch > 1 and alone):
            raise InvalidInput(
                f"batch={self.batch} needs algorithm='accelerated' and backend='native'; "
                "one decision at a time is batch=1."
            )
        limit: Any = self.node_limit
        if not isinstance(limit, (int, np.integer)) or limit < 3:
            raise InvalidInput(f"node_limit must be at least 3; got {limit}.")

    @property
    def exact(self) -> bool:
        """Whether the whole frontier counts, and not a grid of weights on it."""
        chosen = isinstance(self.weights, str) and self.weights == EXACT
        return chosen or self.loss == EFFICIENCY

    def rate_unit(self, problem: Problem) -> float:
        """What a rate of 1 is, so that one default suits both losses."""
        if self.loss != EFFICIENCY:
            return 1.0
        return rate_unit(problem, self.algorithm == NEWTON)

    def grid(self, problem: Problem) -> Vector:
        """The weights for a problem, refused where it cannot do what the options ask for."""
        if self.loss == EFFICIENCY:
            problem.require(*NEEDED, sentence=NOT_A_PORTFOLIO)
            return np.array([EDGE, 1.0 - EDGE])
        if self.algorithm == NEWTON:
            limited = problem.can(Capability.PIECEWISE_LINEAR_FRONTIER)
            sentence = NEWTON_KNOWS if limited else NEWTON_NEEDS
            problem.require(Capability.BUDGET_AND_CAPS, sentence=sentence)
        if self.loss == SUBOPTIMALITY:
            problem.require(Capability.SUBOPTIMALITY, sentence=SUBOPTIMALITY_NEEDS)
        if not self.exact:
            return weight_grid(problem, self.weights)
        problem.require(
            Capability.FRONTIER_CURVE,
            sentence=f"weights='exact' needs a frontier curve, which {problem.p} objectives do not "
            "have; give a grid, weights=66 for example.",
        )
        return np.array([EDGE, 1.0 - EDGE])
