"""Starting, stopping and watching a run. The work itself is a generator of the engine's study."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

import imop_engine as imop
from imop_app import recovery
from imop_app.home import FileBox, new_id
from imop_app.jobs import JOBS, Job
from imop_app.recovery import UnderWay
from imop_app.services import market as markets
from imop_app.services import people as crowd
from imop_app.services import results
from imop_app.services.errors import AppError, describe_error, sentences
from imop_app.services.preparing import PREPARATION
from imop_app.settings import InvestorBatch, LearnSettings, MarketSettings, Settings
from imop_app.store import RunRecord, RunStore
from imop_app.workspace import Workspace
from imop_engine.investors import Investors
from imop_engine.market import Market
from imop_engine.report import frames, frames_learn
from imop_engine.study import StudySettings

# The paper's securities 1 and 7, whose returns are taken as known throughout the project.
PAPER_KNOWN: Final = (0, 6)


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


@sentences
def known_assets(market: MarketSettings, box: FileBox) -> tuple[tuple[str, float], ...]:
    """Two assets to take as known when the analyst has not chosen, with their historical return.

    One from each end of the frontier of history: only assets that are held tie the rest to what
    is known.
    """
    data = markets.load(market, box)
    returns = data.expected_returns
    if market.source == "bundled" and market.bundled == "paper8":
        first, second = PAPER_KNOWN
    else:
        PREPARATION.require()
        ends = imop.efficient_frontier(markets.problem(data, market), returns).portfolios
        second = int(np.argmax(ends[-1]))
        held = ends[0].copy()
        held[second] = -np.inf
        first = int(np.argmax(held))
    return tuple((data.names[i], float(returns[i])) for i in (first, second))


def study_settings(settings: Settings, data: Market) -> StudySettings:
    """What the analyst chose, in the engine's words."""
    learn = settings.learn
    unsure = dict(learn.known_errors)
    known = [(name, value, unsure.get(name, 0.0)) for name, value in learn.known]
    anchors: Any = {"history": None, "assets": known, "none": ()}[learn.anchoring]
    caps = {limit.asset: limit.cap for limit in settings.market.limits}
    return StudySettings(
        weights=learn.grid,
        algorithm=learn.algorithm,
        rate=learn.rate,
        anchors=anchors,
        upper=caps or 1.0,
        bounds=settings.market.bounds,
        loss=learn.loss,
        start=learn.start,
        level=learn.level,
        refine=learn.refine,
        trim=learn.trim,
        errors=learn.errors,
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
    settings = settings or _chosen(workspace)
    box, folder = workspace.box, workspace.folder
    data = markets.load(settings.market, box)
    people = cache(lambda: crowd.load(settings.market, settings.investors, box))
    make = cache(lambda: _steps(settings, data, people(), state))
    _require_known(settings)
    if PREPARATION.ready:
        make()  # what is wrong with the data or the settings is said at once
    under_way = UnderWay(new_id("run"), settings, time.time())

    def keep(study: Any) -> str:
        record = store.keep(study, _record(study, data, people(), settings, under_way.run))
        results.OPENED.put(store.location(record.id), study)
        return record.id

    job = Job(
        settings, make, keep, data.title, _checkpoint(folder), describe_error, PREPARATION.wait
    )
    if state is None:
        recovery.forget(folder)  # what an earlier run came to is not this one's
    recovery.begin(folder, under_way)
    JOBS.put(workspace.id, job)
    job.start()
    return job


def _chosen(workspace: Workspace) -> Settings:
    settings = workspace.settings
    if settings is None:
        raise AppError("Choose a market and investors first.")
    if workspace.learn is None:
        learn = defaults(settings.market, settings.investors.first)
        settings = replace(settings, learn=learn)
    return settings


def _steps(settings: Settings, data: Market, people: Investors, state: Any) -> Any:
    from imop_engine.study import StudyData
    from imop_engine.study.steps import steps_of

    return steps_of(StudyData.on(data, people), study_settings(settings, data), state)


def _checkpoint(folder: Path) -> Any:
    def write(state: Any) -> None:
        from imop_engine.study import save_state

        save_state(state, folder / recovery.CHECKPOINT)

    return write


def _require_known(settings: Settings) -> None:
    learn = settings.learn
    if learn.anchoring == "assets" and len(learn.known) < 2:
        raise AppError("Name two assets whose returns you know, or let history anchor the rest.")
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


def _record(study: Any, data: Market, people: Investors, settings: Settings, run: str) -> RunRecord:
    figures = study.figures
    return RunRecord(
        id=run,
        name=run_name(data, people),
        created=time.time(),
        market=data.title,
        investors=crowd.title(people),
        rounds=int(figures["rounds"]),
        explained=float(figures["explained"]),
        seconds=float(figures["seconds"]),
        settings=settings,
        verdict=study.verdict,
    )


def run_name(data: Market, people: Investors) -> str:
    """What a run is called until the analyst calls it something else."""
    return f"{data.title}, {crowd.heading(people)}"


@sentences
def resume(workspace: Workspace, store: RunStore) -> Job:
    """Go on where the last run stopped, also after a crash, with what it was started with."""
    job = JOBS.get(workspace.id)
    if job is not None and (job.status == "stopped" or job.unsaved):
        job.start()
        return job
    from imop_engine.study import load_state

    under_way = recovery.under_way(workspace.folder)
    state = load_state(workspace.folder / recovery.CHECKPOINT)
    settings = None if under_way is None else under_way.settings
    return start(workspace, store, state=state, settings=settings)


def can_resume(workspace: Workspace) -> bool:
    """Whether there is a stopped run to go on with."""
    job = JOBS.get(workspace.id)
    if job is not None:
        return job.status == "stopped" or job.unsaved
    return recovery.can_go_on(workspace.folder) and workspace.settings is not None


def interrupted(workspace: Workspace) -> str | None:
    """What is said of a run that ended with its server; None where none did."""
    if JOBS.get(workspace.id) is not None:
        return None
    return recovery.interrupted(workspace.folder)


def discard(workspace: Workspace) -> None:
    """Forget a stopped run."""
    JOBS.drop(workspace.id)
    recovery.forget(workspace.folder)


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
        and len(now) > len(before)
        and now[: len(before)] == before
    )


@sentences
def continue_run(workspace: Workspace, store: RunStore) -> Job:
    """Learn on from the shown run with the portfolios that came after it."""
    if workspace.run is None:
        raise AppError("There is no run to continue; learn one first.")
    return start(workspace, store, state=store.open(workspace.run).state)


def wait_briefly(job: Job, seconds: float) -> None:
    """Give a short run the time to end, so that its result is there at once."""
    job.wait_for_result(seconds)


@sentences
def live(workspace: Workspace, job: Job) -> Live | None:
    """What the run under way has shown so far; None before its first step."""
    trail = job.trail()
    if not trail:
        return None
    data = markets.load(job.settings.market, workspace.box)
    people = crowd.load(job.settings.market, job.settings.investors, workspace.box)
    problem = markets.problem(data, job.settings.market)
    newest = trail[-1]
    return Live(
        losses=frames_learn.losses(trail),
        estimates=frames_learn.estimates(trail, data.names),
        curves=frames_learn.moving_curves(problem, trail),
        cloud=frames.cloud(problem, newest.theta, people.portfolios),
    )
