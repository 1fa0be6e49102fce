"""Workspaces of the app damaged in many ways: every part is as it was, or refused by name.

A workspace has parts that are damaged one by one: what was chosen, files that were given, kept
runs, a checkpoint. Each is read as the app reads it. A part that reads differently in silence is
what must not be.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from imop_engine.errors import ImopError

from .damage import (
    append,
    exchange,
    files_of,
    fingerprint,
    flip_bit,
    folder_instead,
    remove,
    truncate,
    zero_block,
)
from .verdicts import Trial

DAMAGES: Final = (
    flip_bit,
    flip_bit,
    truncate,
    zero_block,
    append,
    remove,
    exchange,
    folder_instead,
)
NAME: Final = "w-torture"
REFUSED: Final = "refused"


def make(home: Path) -> None:
    """A workspace with a file, a run and a checkpoint."""
    import imop_engine as imop
    from imop_app import recovery
    from imop_app.settings import InvestorSettings, LearnSettings, MarketSettings, Settings
    from imop_app.state import AppState
    from imop_app.store import RunRecord
    from imop_app.workspace import Workspace
    from imop_engine.bundled import market
    from imop_engine.simulate import simulate_investors

    os.environ["IMOP_HOME"] = str(home)
    paper = market("paper8")
    problem = imop.portfolio_problem(paper.covariance, names=paper.names)
    rng = np.random.default_rng(0)
    people = simulate_investors(problem, paper.expected_returns, 20, rng=rng).portfolios
    moments = paper.returns_by_asset, paper.covariance_by_asset
    study = imop.run_study(*moments, people, imop.StudySettings(start="zero", refine=False))
    made = Workspace(NAME, "Clients", MarketSettings(), InvestorSettings(), LearnSettings())
    made.box.put("people.csv", b"a,b\n1,2\n" * 20)
    settings = Settings(MarketSettings(), InvestorSettings(), LearnSettings())
    record = RunRecord("run-1", "First", 1.0, "m", "i", 20, 0.5, 0.1, settings)
    made.run = AppState(made).store.keep(study, record).id
    made.save()
    imop.study.save_state(study.state, made.folder / recovery.CHECKPOINT)
    recovery.begin(made.folder, recovery.UnderWay("run-2", settings, 2.0))


def parts(stored: tuple[str, ...]) -> dict[str, str]:
    """Every part of the workspace as the app reads it, or that it was refused.

    Args:
        stored: Digests of the files that were given.
    """
    from imop_app import recovery
    from imop_app.settings import StoredFile
    from imop_app.state import AppState
    from imop_app.workspace import open_workspace
    from imop_engine.study import load_state

    opened = open_workspace(NAME)
    plain = repr({**vars(opened), "_known": None})
    kept = list(opened.folder.glob("workspace.damaged-*"))
    gone = not (opened.folder / "workspace.json").exists()
    found = {"chosen": REFUSED if kept or (gone and opened.name != "Clients") else plain}
    store = AppState(opened).store
    records = {record.id: record for record in store.list()}
    found["record"] = repr(records["run-1"]) if "run-1" in records else REFUSED
    folder = opened.folder / "runs" / "run-1"
    found["run"] = _read(lambda: fingerprint(folder), ImopError)
    for digest in stored:
        name = StoredFile("people.csv", digest)
        found[digest] = _read(lambda: _sum(opened.box.get(name)), FileNotFoundError)  # noqa: B023
    checkpoint = opened.folder / recovery.CHECKPOINT
    found["checkpoint"] = _read(lambda: repr(load_state(checkpoint).learned.theta), ImopError)
    under_way = recovery.under_way(opened.folder)
    found["under way"] = REFUSED if under_way is None else repr(under_way)
    return found


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read(read: Callable[[], str], ours: type[Exception]) -> str:
    try:
        return read()
    except ours:
        return REFUSED


def damaged_workspaces(work: Path, count: int, seed: int) -> list[Trial]:
    """Damage copies of a workspace and read them.

    Args:
        work: A folder for the copies.
        count: How many.
        seed: Of the damages.
    """
    before: Any = os.environ.get("IMOP_HOME")
    home = work / "home"
    make(home)
    stored = tuple(path.name for path in (home / "workspaces" / NAME / "files").iterdir())
    whole = parts(stored)
    trials = []
    try:
        for number in range(count):
            rng = np.random.default_rng([seed, number])
            copy = work / f"home-{number}"
            shutil.copytree(home, copy)
            os.environ["IMOP_HOME"] = str(copy)
            damage = DAMAGES[number % len(DAMAGES)]
            what = damage(_place(copy / "workspaces" / NAME, rng), home, rng)
            trials.append(_judge(what, stored, whole))
            shutil.rmtree(copy)
    finally:
        if before is None:
            os.environ.pop("IMOP_HOME", None)
        else:
            os.environ["IMOP_HOME"] = before
    return trials


def _place(folder: Path, rng: np.random.Generator) -> Path:
    """The whole workspace, or one of its folders, so that small parts are damaged too."""
    places = [folder, folder / "files", folder / "runs" / "run-1", folder]
    place = places[int(rng.integers(len(places)))]
    return place if files_of(place) else folder


def _judge(what: str, stored: tuple[str, ...], whole: dict[str, str]) -> Trial:
    try:
        now = parts(stored)
    except BaseException as error:
        return Trial(what, "foreign", f"{type(error).__name__}: {error}")
    other = {name for name, value in now.items() if value not in (whole[name], REFUSED)}
    if other:
        return Trial(what, "silent", str(sorted(other)))
    return Trial(what, REFUSED if REFUSED in now.values() else "unchanged")
