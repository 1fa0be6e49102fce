"""The study as a generator of steps: a page or a progress bar consumes it, and may stop anywhere.

Data in, a problem with anchors, the learner over the stream, an optional fit of all portfolios
together, then the tables. Every step carries the state from which another run can go on.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from imop_engine.arguments import Matrix, Vector
from imop_engine.capabilities import Capability
from imop_engine.errors import ImopError, InvalidInput
from imop_engine.inference.anchors import anchor_by_history
from imop_engine.investors import Investors
from imop_engine.learner import OnlineLearner
from imop_engine.one_thread import one_thread
from imop_engine.problem import Problem, portfolio_problem
from imop_engine.progress import stretch
from imop_engine.study.data import StudyData
from imop_engine.study.estimate import estimate_study
from imop_engine.study.groups import require_groups
from imop_engine.study.opening import efficiency_opening
from imop_engine.study.outcome import Study
from imop_engine.study.settings import StudySettings
from imop_engine.study.state import PortfolioDigest, StudyState, digest
from imop_engine.update import NODE_LIMIT

# One step is as many portfolios as fit into this time: long enough to make drawing cheap beside
# learning, short enough for a smooth bar and a stop that answers at once.
STEP_SECONDS: Final = 0.08
FIRST_STEP: Final = 10
# And never more than one fortieth of them, so that what is drawn of the steps makes a curve.
STEPS_AT_LEAST: Final = 40

# Portfolios that the search for a start looks at: the first, so that the stream stays one.
SEARCHED: Final = 200

# With more assets than this a step of the stream is proven optimal only after a thousand nodes,
# which took half a minute for 1,000 investors in 100 assets. The stream's end is one start among
# others, so fewer nodes do: the estimates came out the same.
MANY_ASSETS: Final = 40
FEWER_NODES: Final = 200

# What is computed of a finished study, in this order, with about the share of the time that each
# took with 20 assets; only told.
DESCRIBED: Final = (
    (0.0, 0.05, "fit"),
    (0.05, 0.55, "identification"),
    (0.55, 0.7, "preferences"),
    (0.7, 0.9, "distribution"),
    (0.9, 1.0, "figures"),
)

LEARNING: Final = "learning"
REFINING: Final = "refining"
DESCRIBING: Final = "describing"
DONE: Final = "done"


@dataclass(frozen=True, eq=False)
class Progress:
    """How far a study has come. `study` is there in the last step only."""

    stage: str
    done: int
    total: int
    theta: Vector
    loss: float  # mean loss of the portfolios of this step, by settings.loss; NaN before the first
    state: StudyState
    study: Study | None = None

    @property
    def share(self) -> float:
        """The share of the portfolios that has been seen."""
        return self.done / self.total if self.total else 1.0


def study_steps(
    expected_returns: Any,
    covariance: Any,
    portfolios: Any,
    settings: StudySettings | None = None,
    *,
    truth: Any = None,
    attributes: pd.DataFrame | None = None,
    dates: Any = None,
    reading: Any = (),
    notes: tuple[str, ...] = (),
    state: StudyState | None = None,
    history: Any = None,
    months: int | None = None,
) -> Iterator[Progress]:
    """Run a study step by step.

    Args:
        expected_returns: by asset, yearly; a frame or an array.
        covariance: of the yearly returns, by asset.
        portfolios: one row for each investor, in the order they came; columns are assets.
        settings: how to learn; `StudySettings()` if none.
        truth: the true returns where they are known, to measure the error.
        attributes: what else is known of each investor, one row each in the same order.
        dates: when each portfolio was seen.
        reading: reports of the readers, to be repeated in the results.
        notes: sentences for the analyst.
        state: a state to go on from, of a run on the same portfolios or on the first of them.
        history: the table of returns behind the moments, one row per month; with it the covariance
            and the anchors count as the estimates they are. None: they are taken as known.
        months: how many months the moments come from, where the table itself is not at hand.

    Wrong input raises here; the work is done while the steps are consumed. Stop consuming to stop:
    the last step's `state` goes on with the same digits, also with more portfolios at the end.
    """
    data = StudyData.of(
        expected_returns,
        covariance,
        portfolios,
        attributes=attributes,
        dates=dates,
        reading=reading,
        notes=notes,
        truth=truth,
        history=history,
        months=months,
    )
    return steps_of(data, settings, state)


def steps_of(
    data: StudyData, settings: StudySettings | None = None, state: StudyState | None = None
) -> Iterator[Progress]:
    """The same from checked data.

    Args:
        data: Moments and portfolios, checked.
        settings: The analyst's choices; None takes the state's, or the defaults.
        state: Where an earlier run stopped; None starts from the beginning.

    Returns:
        The steps; the last one carries the study.
    """
    chosen = settings or (state.settings if state else StudySettings())
    problem = require_learnable(data, chosen, state)
    with one_thread():
        start = _start(problem, data, chosen) if state is None else None
    learner = _learner(problem, chosen, start)
    if state is not None:
        learner.restore(state.learned)
    return _run(data, chosen, problem, learner)


def require_learnable(
    data: StudyData, chosen: StudySettings, state: StudyState | None = None
) -> Problem:
    """Refuse what no run could learn from, before anything is computed.

    Args:
        data: Moments and portfolios, checked.
        chosen: The analyst's choices.
        state: Where an earlier run stopped; None starts from the beginning.

    Returns:
        The problem of the study.
    """
    if chosen.strict:
        data.investors.require_all()
    if not data.good.any():
        reason = next((reason for reason in data.reasons if reason), "")
        raise InvalidInput(
            f"none of the {len(data.portfolios)} portfolios can be learned from"
            f"{f': the first {reason}' if reason else ''}."
        )
    if chosen.by is not None:
        require_groups(data, chosen.by)
    problem = make_problem(data, chosen, state)
    if state is not None:
        _require_same(state, data, chosen)
    return problem


def run_study(*arguments: Any, **options: Any) -> Study:
    """All steps of `study_steps` at once.

    Args:
        *arguments: As `study_steps` takes them: expected returns, covariance, portfolios, settings.
        **options: The rest of its arguments, by name.

    Returns:
        The study.
    """
    *_, last = study_steps(*arguments, **options)
    assert last.study is not None  # the last step carries it
    return last.study


# What help() and errors say of its arguments.
run_study.__signature__ = inspect.signature(study_steps).replace(  # type: ignore[attr-defined]
    return_annotation="Study"
)


def more_steps(
    study: Study,
    portfolios: Any,
    *,
    attributes: pd.DataFrame | None = None,
    dates: Any = None,
) -> Iterator[Progress]:
    """Go on learning from new portfolios, under the anchors of the study as it was.

    Args:
        study: What was learned before.
        portfolios: One row for each new investor, fractions of wealth.
        attributes: One row for each portfolio, in the same order.
        dates: The day of each portfolio.

    Returns:
        The steps; the last one carries the study.
    """
    market = study.data.market
    people = Investors.of(portfolios, market.names, attributes=attributes, dates=dates)
    fresh = StudyData(market, people, (), people.notes)
    return steps_of(study.data.joined(fresh), study.settings, study.state)


def make_problem(
    data: StudyData, settings: StudySettings, state: StudyState | None = None
) -> Problem:
    """The problem of a study with its anchors: those of the state, the analyst's, or history's.

    Args:
        data: Moments and portfolios, checked.
        settings: The analyst's choices.
        state: Where an earlier run stopped; None starts from the beginning.

    Returns:
        The problem.
    """
    anchors: Any = settings.anchor_vectors(data.names)
    if state is not None:
        anchors = list(zip(state.equalities, state.values, strict=True))
    problem = _problem(data, settings, anchors)
    returns = np.asarray(data.expected_returns, dtype=np.float64)
    if state is None and settings.anchors is None:
        return anchor_by_history(problem, returns, data.decisions, data.market.mean_covariance)
    return problem


def _problem(data: StudyData, settings: StudySettings, anchors: Any) -> Problem:
    names, limits = data.names, settings.all_limits
    problem = portfolio_problem(
        data.covariance,
        upper=limits.upper_of(names),
        bounds=limits.box(np.asarray(data.expected_returns, dtype=np.float64)),
        anchors=anchors,
        names=names,
        lower=limits.lower_of(names),
        limits=limits.linear,
    )
    if len(problem.equal_rhs) > 1:
        raise InvalidInput(
            "a study cannot read beliefs where limits fix what is held together exactly: nobody "
            "shows what would be held instead. Give a band, at least and at most, with room "
            "between, or leave the limit out."
        )
    return problem


def state_under(data: StudyData, settings: StudySettings, problem: Problem) -> StudyState:
    """The state of a study that has seen nobody yet, under anchors that are known already: those
    of a larger crowd of which these are a sample.

    Args:
        data: Moments and portfolios, checked.
        settings: The analyst's choices.
        problem: With the anchors.
    """
    with one_thread():
        learner = _learner(problem, settings, _start(problem, data, settings))
    return _state(learner, PortfolioDigest(data.decisions).upto(0), data, settings, problem)


def begin_stream(
    data: StudyData, settings: StudySettings, anchors: tuple[Matrix, Vector] | None = None
) -> tuple[Problem, OnlineLearner]:
    """The problem of a stream and its learner before the first round, from its first portfolios.

    Args:
        data: Moments and the first portfolios, checked.
        settings: The analyst's choices.
        anchors: Portfolios and their returns, of a stream that goes on; None: by these portfolios.
    """
    if anchors is None:
        problem = make_problem(data, settings)
        with one_thread():
            return problem, _learner(problem, settings, _start(problem, data, settings))
    problem = _problem(data, settings, list(zip(*anchors, strict=True)))
    return problem, _learner(problem, settings, None)


def _learner(problem: Problem, settings: StudySettings, start: Vector | None) -> OnlineLearner:
    return OnlineLearner(
        problem,
        weights=settings.weights,
        algorithm=settings.algorithm,
        rate=settings.rate,
        forgetting=settings.forgetting,
        theta0=start,
        loss=settings.loss,
        node_limit=NODE_LIMIT if problem.n <= MANY_ASSETS else FEWER_NODES,
    )


def _start(problem: Problem, data: StudyData, settings: StudySettings) -> Vector | None:
    """Where the stream begins; None is the paper's zero."""
    if settings.start == "zero":
        return None
    history = np.asarray(data.expected_returns, dtype=np.float64)
    first = data.decisions[:SEARCHED]
    if settings.start == "efficiency":
        try:
            return efficiency_opening(problem, first, history)
        except ImopError:  # returns that may all be alike, a frontier that cannot be traced
            pass
    # the second-order learner knows no limits on what is held together
    if settings.start == "history" or not problem.can(Capability.BUDGET_AND_CAPS):
        return history
    # Algorithm 2 believes the weight that its beliefs suggest: where history is far from what
    # investors believe, it can end far off. The second-order learner's opening does not.
    search = OnlineLearner(problem, "exact", "newton", theta0=history)
    return search.partial_fit(first).theta_


def _run(
    data: StudyData, settings: StudySettings, problem: Problem, learner: OnlineLearner
) -> Iterator[Progress]:
    started = time.perf_counter()
    Y, total, loss = data.decisions, len(data.decisions), float("nan")
    largest, seen = max(1, total // STEPS_AT_LEAST), PortfolioDigest(Y)
    size = min(FIRST_STEP, largest)
    while True:
        state = _state(learner, seen.upto(learner.rounds_), data, settings, problem)
        yield Progress(LEARNING, learner.rounds_, total, learner.theta_.copy(), loss, state)
        if learner.rounds_ >= total:
            break
        before, first = time.perf_counter(), learner.rounds_
        learner.partial_fit(Y[first : first + size])
        took = time.perf_counter() - before
        loss = float(learner.losses_[first:].mean())
        # at most twice the last step, so one lucky measurement does not freeze the page
        pace = min(2.0, STEP_SECONDS / max(took, 1e-6))
        size = max(1, min(largest, int(size * pace)))
    theta, found = learner.theta_.copy(), None
    if settings.refine:
        yield Progress(REFINING, total, total, theta, loss, state)
        with one_thread():  # not across a yield: whoever consumes the steps may do other things
            found = estimate_study(data, settings, problem, theta, total)
        theta, problem = found.theta, found.problem
    yield Progress(DESCRIBING, total, total, theta, loss, state)
    seconds = time.perf_counter() - started
    study = Study(settings, data, problem, theta, state, seconds, found)
    with one_thread():
        _describe(study)
    yield Progress(DONE, total, total, theta, loss, state, study)


def _describe(study: Study) -> None:
    """Compute every table, so that whoever gets the study has them; told part by part."""
    for low, high, part in DESCRIBED:
        with stretch(low, high):
            getattr(study, part)


def _state(
    learner: OnlineLearner,
    seen: str,
    data: StudyData,
    settings: StudySettings,
    problem: Problem,
) -> StudyState:
    return StudyState(
        settings,
        learner.rounds_,
        problem.theta.equalities.copy(),
        problem.theta.values.copy(),
        seen,
        digest(data.expected_returns, data.covariance),
        learner.state(),
    )


def _require_same(state: StudyState, data: StudyData, settings: StudySettings) -> None:
    learned = (
        "weights", "algorithm", "rate", "forgetting", "loss", "upper", "lower",
        "limits", "bounds", "start",
    )  # fmt: skip
    for name in learned:
        before, now = getattr(state.settings, name), getattr(settings, name)
        if before != now:
            raise InvalidInput(
                f"the run to resume had {name} {before!r} and this one has {now!r}; resume with "
                "the same settings, or start anew."
            )
    if state.market != digest(data.expected_returns, data.covariance):
        raise InvalidInput(
            "the run to resume learned under other returns or covariances; resume with the same "
            "return history, or start anew."
        )
    few = len(data.decisions) < state.rounds
    if few or state.seen != PortfolioDigest(data.decisions).upto(state.rounds):
        raise InvalidInput(
            f"the first {state.rounds} portfolios are not those that the run to resume has seen; "
            "give the same portfolios, new ones after them, or start anew."
        )
