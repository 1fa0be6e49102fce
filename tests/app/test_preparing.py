"""While the numerical code is being compiled: pages say so, ask no kernel, and go on by themselves.

Nothing is compiled here: a process that a test controls stands for the one that would.
"""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import sqlalchemy as sa

from app_harness import PATIENCE, page, quiet, said, workspace
from imop_app.database import database
from imop_app.database.tables import RUNS
from imop_app.jobs import JOBS
from imop_app.services import preparing
from imop_app.services.preparing import PREPARATION, CompilingProgress, Preparation, Preparing
from imop_app.settings import InvestorBatch, InvestorSettings, MarketSettings
from imop_app.workspace import Workspace
from preparing_harness import command, preparation, starts

pytestmark = pytest.mark.slow

VIEWS = (
    "market",
    "investors",
    "learn",
    "frontier",
    "preferences",
    "score",
    "report",
    "runs",
    "lab",
)
LONG_AFTER = 600.0  # seconds; only what hangs takes so long, on however busy a machine


def until(true) -> None:
    deadline = time.monotonic() + LONG_AFTER
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def failure(running: Preparation) -> str:
    running.begin()
    until(lambda: running.progress().state == "failed")
    return running.progress().reason


@pytest.fixture
def unprepared(monkeypatch):
    """The app's own preparation, in the middle of compiling."""
    monkeypatch.setattr(PREPARATION, "_checked", True)
    monkeypatch.setattr(PREPARATION, "_begun", time.monotonic())
    monkeypatch.setattr(
        PREPARATION, "_progress", CompilingProgress("preparing", 3, 7, "the frontier")
    )


def become(state: str, reason: str = "") -> None:
    with PREPARATION._lock:
        PREPARATION._set(CompilingProgress(state, reason=reason))


# -- the process and the thread that follows it --------------------------------------------------
def test_what_is_ready_starts_nothing(tmp_path):
    ready = Preparation(lambda: True, command(tmp_path, "never 0"))
    ready.begin()
    assert ready.ready
    assert ready.wait()
    assert not (tmp_path / "starts").exists()


def test_progress_is_followed_until_it_is_ready(tmp_path):
    running = preparation(tmp_path, "go 0")
    running.begin()
    running.begin()
    until(lambda: running.progress().done == 3)
    assert "3 of 7 parts" in running.progress().sentence()
    assert running.progress().share == pytest.approx(3 / 7)
    assert not running.ready
    with pytest.raises(Preparing, match="by itself"):
        running.require()
    (tmp_path / "go").touch()
    assert running.wait()
    running.require()
    assert starts(tmp_path) == 1, "begun twice, started once"


def test_what_is_killed_is_started_again(tmp_path):
    running = preparation(tmp_path, "now -9", "now -15", "now 0")
    assert running.wait()
    assert starts(tmp_path) == 3


def test_it_is_not_started_again_for_ever(tmp_path):
    running = preparation(tmp_path, "now -9")
    reason = failure(running)
    assert "ended from outside 3 times, the last time by signal 9" in reason
    assert starts(tmp_path) == preparing.STARTS


def test_a_failure_is_a_sentence_with_what_to_do_and_can_be_tried_again(tmp_path):
    running = preparation(tmp_path, "now 3", "now 0")
    assert "(RuntimeError: the disk is full). Try again; if it fails again," in failure(running)
    with pytest.raises(Preparing, match="could not be prepared"):
        running.require()
    running.begin()
    assert starts(tmp_path) == 1, "only who asks for it tries again"
    running.again()
    assert running.wait()
    assert starts(tmp_path) == 2


def test_a_command_that_cannot_be_started_is_a_failure():
    assert "FileNotFoundError" in failure(Preparation(lambda: False, ["/nowhere/python"]))


def test_waiting_can_be_stopped(tmp_path):
    running = preparation(tmp_path, "go 0")
    stop = threading.Event()
    stop.set()
    assert not running.wait(stop)
    (tmp_path / "go").touch()
    assert running.wait()


def test_its_process_can_be_ended(tmp_path):
    running = preparation(tmp_path, "never 0", "now 0")
    running.begin()
    until(lambda: running.progress().done == 3)
    running.end()
    assert running.wait(), "as after a kill it is started again"
    assert starts(tmp_path) == 2


def kept_before(workspace: str) -> None:
    """A run that is there, and is not opened before the page can compute."""
    row = {"id": "run-kept-from-before", "workspace": workspace, "owner": "", "bytes": 0}
    with database().writing() as connection:
        connection.execute(sa.insert(RUNS).values(**row, content="{}"))


# -- the pages -----------------------------------------------------------------------------------
@pytest.mark.parametrize("market", ["paper8", "us20"])
@pytest.mark.parametrize("view", VIEWS)
def test_every_page_shows_that_it_waits(unprepared, view, market):
    kept = Workspace(
        "w-test",
        market=MarketSettings(bundled=market),
        investors=InvestorSettings(),
        run="run-kept-from-before",
    )
    kept.save()
    kept_before("w-test")
    test = page(view)
    assert "Preparing the numerical code, once: 3 of 7 parts" in bar(test)
    if view not in ("runs", "learn"):
        assert "waits for the numerical code" in said(test)


def test_once_it_is_ready_the_page_is_as_ever(unprepared):
    workspace()
    become("ready")
    test = page("market")
    assert bar(test) == ""
    assert len(test.get("vega_lite_chart")) == 3


def bar(test) -> str:
    return " ".join(str(one.proto.text) for one in test.get("progress"))


def test_pages_ask_no_kernel_while_it_is_compiled(tmp_path):
    """In a process and with a cache of its own: had a kernel been asked, it would lie there."""
    program = f"""
import sys, time
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from app_harness import page
from imop_app.services.preparing import PREPARATION
from imop_app.settings import InvestorBatch, InvestorSettings, MarketSettings
from imop_app.workspace import Workspace
PREPARATION._checked, PREPARATION._begun = True, time.monotonic()
for name, source in (("paper8", "sample"), ("us20", "simulate")):
    people = InvestorSettings((InvestorBatch(source),))
    Workspace("w-test", market=MarketSettings(bundled=name), investors=people).save()
    for view in {VIEWS!r}:
        page(view)
"""
    cache = tmp_path / "kernels"
    surroundings = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=surroundings,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not list(cache.rglob("*.nbc"))


def test_what_needs_no_kernel_is_there_at_once(unprepared):
    sample = InvestorSettings((InvestorBatch("sample"),))
    workspace(investors=sample)
    test = page("market")
    assert len(test.get("vega_lite_chart")) == 2, "all but the frontier"
    assert "Caps and bounds" in said(test)
    assert "Portfolios" in said(page("investors"))


def test_learn_waits_visibly_and_goes_on_by_itself(unprepared):
    workspace()
    test = page("learn")
    test.button(key="learn_start").click().run()
    quiet(test)
    job = JOBS.get("w-test")
    assert job.status == "running"
    assert job.stage == "preparing"
    assert "Learning begins when the numerical code is ready" in bar(test)
    become("ready")
    job.wait(PATIENCE)
    assert job.status == "finished", job.error
    assert "What came out" in said(quiet(test.run()))


def test_a_run_that_waits_can_be_stopped_and_resumed(unprepared):
    workspace()
    test = page("learn")
    test.button(key="learn_start").click().run()
    job = JOBS.get("w-test")
    job.stop()
    job.wait(PATIENCE)
    assert job.status == "stopped"
    assert "Stopped before it began" in said(quiet(test.run()))
    become("ready")
    test.button(key="learn_resume").click().run()
    job.wait(PATIENCE)
    assert job.status == "finished", job.error


def test_a_failure_is_on_every_page_with_a_button_to_try_again(unprepared, monkeypatch):
    become("failed", "The numerical code could not be prepared (no room).")
    tried = []
    monkeypatch.setattr(PREPARATION, "again", lambda: tried.append("again"))
    workspace()
    for view in VIEWS:
        test = page(view, errors=1)
        assert "no room" in test.error[0].value
    test.button(key="prepare_again").click().run()
    assert tried == ["again"]


def test_a_run_waits_through_a_failure_for_the_next_try(unprepared):
    workspace()
    test = page("learn")
    test.button(key="learn_start").click().run()
    become("failed", "The numerical code could not be prepared (no room).")
    assert "no room" in quiet(test.run(), errors=1).error[0].value
    assert "Learning begins when" in bar(test)
    become("ready")
    JOBS.get("w-test").wait(PATIENCE)
    assert "What came out" in said(quiet(test.run()))
