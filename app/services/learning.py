"""Starting, stopping and watching a run. The work itself is a generator of the engine's study."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

import pandas as pd

from imop_app import access, quota, recovery, visitors, workers
from imop_app.home import new_id
from imop_app.jobs import JOBS, Job
from imop_app.recovery import UnderWay
from imop_app.run_record import RunRecord
from imop_app.services import market as markets
from imop_app.services import people as crowd
from imop_app.services import results
from imop_app.services.errors import AppError, describe_error, sentences
from imop_app.services.opened import OPENED
from imop_app.services.preparing import PREPARATION
from imop_app.settings import InvestorBatch, LearnSettings, MarketSettings, Settings, to_plain
from imop_app.store import RunStore
from imop_app.worker_jobs import WorkerJob
from imop_app.workers import JobLimits
from imop_app.workspace import Workspace
from imop_engine.investors import Investors
from imop_engine.market import Market
from imop_engine.report import frames, frames_learn
from imop_engine.study import StudyData, StudySettings
from imop_engine.tables.transport import packed


@dataclass(frozen=True, eq=False)
class Live:
    """The tables behind the charts of a run under way."""

    losses: pd.DataFrame
    estimates: pd.DataFrame
    curves: pd.DataFrame
    cloud: pd.DataFrame


def defaults(market: MarketSettings, batch: InvestorBatch) -> LearnSettings:
    """Where an analyst starts who has chosen nothing.

    Simulated investors who believe in the market's own returns must not be learned from those
    very returns: then the start is zero.
    """
    given_away = batch.source == "sample" or (
        batch.source == "simulate" and batch.simulation.views == 0.0
    )
    return LearnSettings(start="zero" if given_away else "efficiency")


def algorithms() -> tuple[str, ...]:
    """The algorithms the engine has."""
    from imop_engine.learner_options import ALGORITHMS

    return tuple(ALGORITHMS)


def study_settings(settings: Settings, data: Market, people: Investors | None) -> StudySettings:
    """What the analyst chose, in the engine's words.

    Args:
        settings: Market, investors and learning.
        data: The market itself.
        people: The investors; None where no anchor is a portfolio of theirs.
    """
    from imop_app.services import anchors as choices

    learn = settings.learn
    anchors = choices.for_the_engine(settings.market, learn, data, people)
    caps = {limit.asset: limit.cap for limit in settings.market.limits}
    return StudySettings(
        weights=learn.grid,
        algorithm=learn.algorithm,
        rate=learn.rate,
        anchors=anchors,
        upper=caps or 1.0,
        limits=markets.linear_of(settings.market, data)[0],
        bounds=settings.market.bounds,
        loss=learn.loss,
        start=learn.start,
        level=learn.level,
        refine=learn.refine,
        trim=learn.trim,
        errors=learn.errors,
        risks=learn.risks,
    )


@sentences
def start(
    workspace: Workspace,
    store: RunStore,
    *,
    state: Any = None,
    settings: Settings | None = None,
) -> Job:
    """Begin a run with what the workspace has chosen; `state` goes on from an earlier one.

    Args:
        workspace: What was chosen.
        store: Where runs are kept.
        state: Where an earlier run stopped; None starts from the beginning.
        settings: What that run was started with; None takes what is chosen now.

    Returns:
        The run, which has begun.
    """
    access.require(workspace.owner)
    settings = settings or _chosen(workspace)
    _require_known(settings)
    if state is None and (reason := quota.refusal()):
        raise AppError(reason)
    new = _NewRun(workspace, store, settings, state, UnderWay(new_id("run"), settings, time.time()))
    if recovery.is_at_work_elsewhere(workspace.id):
        raise AppError(recovery.AT_WORK)
    job = new.in_a_worker() if workers.use_processes() else new.here()
    JOBS.drop(workspace.id)
    recovery.begin(workspace.id, new.under_way, anew=state is None)
    JOBS.put(workspace.id, job)
    job.start()
    recovery.follow(workspace.id, new.under_way.run, lambda: job.alive)
    return job


class _NewRun:
    """A run that is about to begin.

    Args:
        workspace: Where it was asked for.
        store: Where runs are kept.
        settings: What it learns from, and how.
        state: Where an earlier run stopped; None starts from the beginning.
        under_way: What is written down of it.
    """

    def __init__(
        self,
        workspace: Workspace,
        store: RunStore,
        settings: Settings,
        state: Any,
        under_way: UnderWay,
    ) -> None:
        self.under_way = under_way
        self._workspace, self._store = workspace, store
        self._settings, self._state = settings, state
        box = workspace.box
        self._market = markets.load(settings.market, box)
        self._people = cache(lambda: crowd.load(settings.market, settings.investors, box))

    def here(self) -> Job:
        """The run in a thread of this process."""
        settings, data, people = self._settings, self._market, self._people
        make = cache(lambda: _steps(settings, data, people(), self._state))
        if PREPARATION.ready:
            make()  # what is wrong with the data or the settings is said at once

        def keep(study: Any) -> str:
            about = _about(data, people())
            record = RunRecord.of(study, self.under_way.run, settings, **about)
            self._opened(self._store.keep(study, record).id, study)
            return record.id

        return Job(
            settings, make, keep, data.title, self._keeps_state(), describe_error,
            PREPARATION.wait, again=lambda cut: _steps(settings, data, people(), cut),
        )  # fmt: skip

    def _keeps_state(self) -> Callable[[Any], None]:
        return _checkpoint(self._workspace.id, self.under_way.run)

    def in_a_worker(self) -> Job:
        """The run in a process of its own."""
        workspace, limits = self._workspace, JobLimits.chosen()
        if PREPARATION.ready:
            self._require_learnable()

        def ask(go_on: bool) -> bytes:
            return packed(
                {
                    "what": "learn",
                    "data": StudyData.on(self._market, self._people()),
                    "study settings": study_settings(self._settings, self._market, self._people()),
                    "state": self._state,
                    "go_on": go_on,
                    "store": workers.store(),
                    "workspace": workspace.id,
                    "owner": workspace.owner,
                    "run": self.under_way.run,
                    "settings": to_plain(self._settings),
                    "about": _about(self._market, self._people()),
                    "limits": asdict(limits),
                },
                computed=True,
            )

        return WorkerJob(
            self._settings, self._market.title, ask,
            lambda: recovery.can_go_on(workspace.id), self._opened,
            visitors.owner(workspace.id), limits, describe_error, PREPARATION.wait,
        )  # fmt: skip

    def _require_learnable(self) -> None:
        """Say at once what is wrong with the data or the settings."""
        from imop_engine.study.steps import require_learnable

        data = StudyData.on(self._market, self._people())
        chosen = study_settings(self._settings, self._market, self._people())
        require_learnable(data, chosen, self._state)

    def _opened(self, run: str, study: Any) -> None:
        if study is not None:
            OPENED.put(self._store.location(run), study)


def _about(data: Market, people: Investors) -> dict[str, str]:
    """What the record of a run says besides its figures."""
    return {
        "name": run_name(data, people),
        "market": data.title,
        "investors": crowd.title(people),
    }


def _chosen(workspace: Workspace) -> Settings:
    settings = workspace.settings
    if settings is None:
        raise AppError("Choose a market and investors first.")
    if workspace.learn is None:
        learn = defaults(settings.market, settings.investors.first)
        settings = replace(settings, learn=learn)
    return settings


def _steps(settings: Settings, data: Market, people: Investors, state: Any) -> Any:
    from imop_engine.study.steps import steps_of

    return steps_of(StudyData.on(data, people), study_settings(settings, data, people), state)


def _checkpoint(workspace: str, run: str) -> Callable[[Any], None]:
    def write(state: Any) -> None:
        from imop_engine.study.state import packed_state

        recovery.keep_checkpoint(workspace, run, packed_state(state))

    return write


def _require_known(settings: Settings) -> None:
    learn = settings.learn
    if learn.anchoring == "assets" and len(learn.known) < 2:
        raise AppError(
            "Name two assets or portfolios whose returns you know, or take them from the history."
        )
    if learn.anchoring == "total" and learn.total is None:
        raise AppError("Say what the average portfolio is expected to return in a year.")
    if learn.anchoring == "assets" and len({value for _, value in learn.known}) == 1:
        raise AppError(
            f"Both known returns are {learn.known[0][1]:.2%}. Two different ones are needed: the "
            "distance between them is what the other returns are measured by."
        )
    if learn.algorithm == "full" and learn.grid == "exact":
        raise AppError(
            "The full algorithm compares the weights of a grid one by one; choose a number of "
            "weights, 41 say, or the accelerated algorithm."
        )


def run_name(data: Market, people: Investors) -> str:
    """What a run is called until the analyst calls it something else."""
    return f"{data.title}, {crowd.heading(people)}"


@sentences
def resume(workspace: Workspace, store: RunStore) -> Job:
    """Go on where the last run stopped, also after a crash, with what it was started with."""
    access.require(workspace.owner)
    job = JOBS.get(workspace.id)
    under_way = recovery.under_way(workspace.id)
    if job is not None and _can_go_on(job):
        if under_way is not None:
            recovery.begin(workspace.id, under_way, anew=False)
            recovery.follow(workspace.id, under_way.run, lambda: job.alive)
        job.start()
        return job
    from imop_engine.study import load_state

    kept = recovery.checkpoint(workspace.id)
    if kept is None:
        raise AppError("There is no checkpoint to go on from; learn again.")
    state = load_state(io.BytesIO(kept), called="The checkpoint")
    settings = None if under_way is None else under_way.settings
    return start(workspace, store, state=state, settings=settings)


def can_resume(workspace: Workspace) -> bool:
    """Whether there is a stopped run to go on with."""
    job = JOBS.get(workspace.id)
    if job is not None:
        return _can_go_on(job)
    if workspace.settings is None or not recovery.can_go_on(workspace.id):
        return False
    return not recovery.is_at_work_elsewhere(workspace.id)


def _can_go_on(job: Job) -> bool:
    return job.status == "stopped" or job.unsaved or job.resumable


def interrupted(workspace: Workspace) -> str | None:
    """What is said of a run that ended with its server; None where none did."""
    if JOBS.get(workspace.id) is not None:
        return None
    return recovery.interrupted(workspace.id)


def discard(workspace: Workspace) -> None:
    """Forget a stopped run."""
    access.require(workspace.owner)
    JOBS.drop(workspace.id)
    recovery.forget(workspace.id)


def can_continue(workspace: Workspace, record: RunRecord | None) -> bool:
    """Whether the shown run has seen the first of the portfolios that are loaded, and not all.

    Only then can the learner go on from it, with the same digits as if it had never stopped.
    """
    settings = workspace.settings
    if settings is None or record is None or record.settings is None:
        return False
    before, now = record.settings.investors.batches, settings.investors.batches
    return (
        record.settings.market == settings.market
        and record.settings.learn.used == settings.learn.used
        and record.settings.investors.selection == settings.investors.selection
        and len(now) > len(before)
        and now[: len(before)] == before
    )


@sentences
def continue_run(workspace: Workspace, store: RunStore) -> Job:
    """Learn on from the shown run with the portfolios that came after it."""
    if workspace.run is None:
        raise AppError("There is no run to continue; learn one first.")
    study = results.open_run(store, workspace.run)
    if study is None:
        raise AppError("The run to continue is gone; learn anew.")
    return start(workspace, store, state=study.state)


def wait_briefly(job: Job, seconds: float) -> None:
    """Give a short run the time to end, so that its result is there at once."""
    job.wait_for_result(seconds)


@sentences
def live(workspace: Workspace, job: Job) -> Live | None:
    """What the run under way has shown so far; None before its first step."""
    access.require(workspace.owner)
    trail = job.trail()
    if not trail:
        return None
    data = markets.load(job.settings.market, workspace.box)
    people = crowd.load(job.settings.market, job.settings.investors, workspace.box)
    problem = markets.problem(data, job.settings.market)
    newest = trail[-1]
    return Live(
        losses=frames_learn.losses(trail),
        estimates=frames_learn.estimates(
            trail, data.names, frames_learn.named_assets(data.names, people.portfolios)
        ),
        curves=frames_learn.moving_curves(problem, trail),
        cloud=frames.cloud(problem, newest.theta, people.portfolios),
    )
