"""The laboratory: the paper's quadratic program, learned a few decisions at a time.

The paper leaves the parameters out; these are recovered from the figure of a related paper.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np
import pandas as pd

import imop_engine as imop
from imop_app.services.errors import sentences
from imop_app.services.preparing import compiled
from imop_engine.report import frames_lab

Unknown = Literal["c", "b"]

QUADRATIC: Final = (((1.0, 0.0), (0.0, 2.0)), ((2.0, 0.0), (0.0, 1.0)))
LINEAR: Final = ((3.0, 1.0), (-6.0, -5.0))
ROWS: Final = ((-3.0, 1.0), (0.0, -1.0))
RIGHT: Final = (-6.0, -3.0)
TRUTH: Final = {"c": (3.0, 1.0, -6.0, -5.0), "b": RIGHT}
BOX: Final[dict[str, Any]] = {
    "c": ((1.0, 1.0, -6.0, -6.0), (6.0, 6.0, -1.0, -1.0)),
    "b": (-10.0, 10.0),
}
DECISIONS: Final = 1000


@dataclass(frozen=True)
class LabSettings:
    """What is unknown, how noisy the decisions are, and how to learn."""

    unknown: Unknown = "c"
    noise: float = 0.5
    grid: int = 41
    algorithm: str = "accelerated"
    rate: float = 5.0
    seed: int = 0


@dataclass
class LabExperiment:
    """A learner in the middle of its stream, and the error after each stop."""

    settings: LabSettings
    problem: imop.Problem
    decisions: np.ndarray
    learner: imop.OnlineLearner
    trail: list[tuple[int, float]] = field(default_factory=list)

    @property
    def seen(self) -> int:
        """How many decisions the learner has seen."""
        return int(self.learner.rounds_)

    @property
    def finished(self) -> bool:
        """Whether the stream is at its end."""
        return self.seen >= len(self.decisions)


@dataclass(frozen=True, eq=False)
class LabPicture:
    """The tables behind the charts of the laboratory."""

    sets: pd.DataFrame
    region: pd.DataFrame
    decisions: pd.DataFrame
    trail: pd.DataFrame
    parameters: pd.DataFrame


def _problem(unknown: Unknown) -> imop.Problem:
    return imop.quadratic_problem(
        Q=[np.array(matrix) for matrix in QUADRATIC],
        c=LINEAR,
        A=np.array(ROWS),
        b=RIGHT,
        learn=unknown,
        bounds=BOX[unknown],
    )


@compiled
def begin(settings: LabSettings) -> LabExperiment:
    """A stream of noisy decisions and a learner that has seen none of them."""
    problem = _problem(settings.unknown)
    rng = np.random.default_rng(settings.seed)
    truth = np.array(TRUTH[settings.unknown])
    exact = imop.efficient_frontier(problem, truth).at(rng.uniform(0.0, 1.0, DECISIONS))
    observed = exact + rng.uniform(-settings.noise, settings.noise, exact.shape)
    learner = imop.OnlineLearner(
        problem, weights=settings.grid, algorithm=settings.algorithm, rate=settings.rate
    )
    started = LabExperiment(settings, problem, observed, learner)
    _note(started)
    return started


@sentences
def advance(experiment: LabExperiment, count: int) -> None:
    """Let the learner see some more decisions, one note for each stretch of them."""
    end = min(len(experiment.decisions), experiment.seen + count)
    while experiment.seen < end:
        stretch = 1 if experiment.seen < 20 else 5
        first = experiment.seen
        experiment.learner.partial_fit(experiment.decisions[first : min(end, first + stretch)])
        _note(experiment)


def _note(experiment: LabExperiment) -> None:
    truth = np.array(TRUTH[experiment.settings.unknown])
    error = float(np.linalg.norm(experiment.learner.theta_ - truth))
    experiment.trail.append((experiment.seen, error))


@sentences
def picture(experiment: LabExperiment) -> LabPicture:
    """The tables behind the charts, for as much as has been seen."""
    truth = np.array(TRUTH[experiment.settings.unknown])
    estimate = experiment.learner.theta_
    return LabPicture(
        sets=frames_lab.efficient_sets(experiment.problem, truth, estimate),
        region=frames_lab.regions(experiment.problem, truth, estimate),
        decisions=frames_lab.observed(experiment.decisions[: experiment.seen]),
        trail=pd.DataFrame(experiment.trail, columns=["round", "error"]),
        parameters=frames_lab.parameters(experiment.problem, truth, estimate),
    )
