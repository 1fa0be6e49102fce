"""Stores of the app damaged in many ways: every part is as it was, or refused by name.

A store has parts: what was chosen, files that were given, kept runs, a checkpoint. Its file is
damaged, or the copies beside it; then each part is read as the app reads it. A part that reads
differently in silence is what must not be.
"""

from __future__ import annotations

import hashlib
import io
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
    from imop_app.run_record import RunRecord
    from imop_app.settings import (
        InvestorSettings,
        LearnSettings,
        MarketSettings,
        Settings,
        StoredFile,
    )
    from imop_app.state import AppState
    from imop_app.workspace import Workspace
    from imop_engine.bundled import market
    from imop_engine.simulate import simulate_investors
    from imop_engine.study.state import packed_state

    os.environ["IMOP_HOME"] = str(home)
    paper = market("paper8")
    problem = imop.portfolio_problem(paper.covariance, names=paper.names)
    rng = np.random.default_rng(0)
    people = simulate_investors(problem, paper.expected_returns, 20, rng=rng).portfolios
    moments = paper.returns_by_asset, paper.covariance_by_asset
    study = imop.run_study(*moments, people, imop.StudySettings(start="zero", refine=False))
    made = Workspace(NAME, "Clients", MarketSettings(), InvestorSettings(), LearnSettings())
    stored = made.box.put("people.csv", b"a,b\n1,2\n" * 20)
    settings = Settings(MarketSettings(), InvestorSettings(), LearnSettings())
    record = RunRecord("run-1", "First", 1.0, "m", "i", 20, 0.5, 0.1, settings)
    made.run = AppState(made).store.keep(study, record).id
    made.save()
    recovery.begin(NAME, recovery.UnderWay("run-2", settings, 2.0), anew=True)
    recovery.keep_checkpoint(NAME, "run-2", packed_state(study.state))
    made.box.path(StoredFile("people.csv", stored.digest))


def parts(stored: str) -> dict[str, str]:
    """Every part of the workspace as the app reads it, or that it was refused.

    Args:
        stored: Digest of the file that was given.
    """
    from imop_app import recovery
    from imop_app.files import FileBox
    from imop_app.settings import StoredFile
    from imop_app.store import DatabaseStore
    from imop_app.workspace import open_workspace
    from imop_engine.study import load_state

    store, box = DatabaseStore(NAME), FileBox(NAME)

    def chosen() -> str:
        opened = open_workspace(NAME)
        return repr({**vars(opened), "_known": None}) if opened.name == "Clients" else REFUSED

    def record() -> str:
        return next((repr(one) for one in store.list() if one.id == "run-1"), REFUSED)

    def checkpoint() -> str:
        kept = recovery.checkpoint(NAME)
        return REFUSED if kept is None else repr(load_state(io.BytesIO(kept)).learned.theta)

    def under_way() -> str:
        found = recovery.under_way(NAME)
        return REFUSED if found is None else repr(found)

    file = StoredFile("people.csv", stored)
    return {
        "chosen": _read(chosen),
        "record": _read(record),
        "run": _read(lambda: store.opened_by("run-1", lambda folder: fingerprint(Path(folder)))),
        "file": _read(lambda: _sum(box.get(file))),
        "copy": _read(lambda: _sum(box.path(file).read_bytes())),
        "checkpoint": _read(checkpoint),
        "under way": _read(under_way),
    }


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read(read: Callable[[], str]) -> str:
    try:
        return read()
    except (ImopError, FileNotFoundError):
        return REFUSED


def damaged_workspaces(work: Path, count: int, seed: int) -> list[Trial]:
    """Damage copies of a store and read them.

    Args:
        work: A folder for the copies.
        count: How many.
        seed: Of the damages.
    """
    before: Any = os.environ.get("IMOP_HOME")
    home = work / "home"
    make(home)
    (stored,) = (path.name for path in (home / "copies" / "files").iterdir())
    whole = parts(stored)
    trials = []
    try:
        for number in range(count):
            rng = np.random.default_rng([seed, number])
            copy = work / f"home-{number}"
            shutil.copytree(home, copy)
            os.environ["IMOP_HOME"] = str(copy)
            damage = DAMAGES[number % len(DAMAGES)]
            what = damage(_place(copy, rng), home, rng)
            trials.append(_judge(what, stored, whole))
            shutil.rmtree(copy)
    finally:
        if before is None:
            os.environ.pop("IMOP_HOME", None)
        else:
            os.environ["IMOP_HOME"] = before
    return trials


def _place(home: Path, rng: np.random.Generator) -> Path:
    """The store, two times of three, or the copies beside it."""
    if rng.integers(3):
        shutil.rmtree(home / "copies")
    return home if rng.integers(3) or not (home / "copies").exists() else home / "copies"


def _judge(what: str, stored: str, whole: dict[str, str]) -> Trial:
    try:
        now = parts(stored)
    except BaseException as error:
        return Trial(what, "foreign", f"{type(error).__name__}: {error}")
    other = {name for name, value in now.items() if value not in (whole[name], REFUSED)}
    if other:
        return Trial(what, "silent", str(sorted(other)))
    return Trial(what, REFUSED if REFUSED in now.values() else "unchanged")
