"""Runs that survive: written before they are called finished, found again, gone on with."""

import errno
import json
import os
import sqlite3
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import sqlalchemy as sa

from app.test_learning import MANY, PLAIN, run, shown, state, stopped_at_a_known_step
from app_harness import PATIENCE, page, quiet, said, state_of
from imop_app import copies, jobs, recovery
from imop_app import state as app_state
from imop_app.database import database
from imop_app.database.tables import DAMAGED, PIECES, WORKSPACES
from imop_app.home import data_folder, unsealed
from imop_app.jobs import JobBook
from imop_app.services import learning
from imop_app.services.opened import OPENED
from imop_app.state import AppState
from imop_app.workspace import Workspace, open_workspace
from imop_engine import disk, storage
from imop_engine.errors import CannotWrite

pytestmark = pytest.mark.slow


def server_dies(monkeypatch) -> None:
    """What a new process starts with: the files, and no job."""
    fresh = JobBook()
    monkeypatch.setattr(learning, "JOBS", fresh)
    monkeypatch.setattr(app_state, "JOBS", fresh)


def opened_again() -> AppState:
    return AppState(open_workspace("w-test"))


def test_a_run_is_on_the_disk_when_it_is_called_finished(monkeypatch):
    of = state()
    kept = []
    real = storage.save_study

    def save(*arguments, **options):
        kept.append(of.job.status)
        return real(*arguments, **options)

    monkeypatch.setattr(storage, "save_study", save)
    job = run(of)
    assert kept == ["running"]
    assert of.store.has(job.run)


def test_a_run_that_ended_while_nobody_looked_is_adopted(monkeypatch):
    of = state()
    job = learning.start(of.workspace, of.store)
    job.wait(PATIENCE)
    server_dies(monkeypatch)
    again = opened_again()
    assert again.workspace.run is None
    assert again.adopt()
    assert again.workspace.run == job.run
    assert recovery.under_way(again.workspace.id) is None
    assert not again.adopt(), "once"


def test_a_job_that_has_ended_holds_no_study():
    import gc
    import weakref

    of = state()
    job = run(of)
    kept = weakref.ref(shown(of))
    OPENED._studies.clear()
    gc.collect()
    assert kept() is None
    assert job.trail()[-1].done == 60
    assert job.status == "finished"


def test_a_workspace_does_not_point_at_a_run_that_is_gone(monkeypatch):
    of = state()
    job = run(of)
    of.store.delete(job.run)
    server_dies(monkeypatch)
    again = opened_again()
    assert not again.adopt()
    assert again.workspace.run is None
    assert open_workspace("w-test").run is None


def test_a_state_is_kept_every_two_seconds_and_when_the_stream_has_been_seen(monkeypatch):
    clock = iter(float(second) for second in range(10_000))
    monkeypatch.setattr(jobs.time, "monotonic", lambda: next(clock))
    of = state(MANY)
    rounds = []
    monkeypatch.setattr(
        learning, "_checkpoint", lambda *_: lambda state: rounds.append(state.rounds)
    )
    run(of)
    assert rounds[0] == 0
    assert rounds[-1] == 3000
    assert len(rounds) > 10


def test_an_interrupted_run_is_offered_with_what_it_was_started_with(monkeypatch):
    whole = state(MANY, name="w-whole")
    run(whole)
    of = state(MANY)
    stopped_at_a_known_step(of, monkeypatch)
    server_dies(monkeypatch)
    again = opened_again()
    again.choose_learning(replace(PLAIN, rate=2.0))  # chosen after the crash
    test = page("learn")
    assert "was interrupted. Resume goes on" in said(test)
    resumed = learning.resume(again.workspace, again.store)
    resumed.wait(PATIENCE)
    assert resumed.status == "finished", resumed.error
    assert again.adopt()
    np.testing.assert_array_equal(shown(again).theta, shown(whole).theta)
    assert again.workspace.learn.rate == 2.0, "what was chosen since stays"


def test_what_is_left_of_an_interrupted_run_can_be_forgotten(monkeypatch):
    of = state(MANY)
    stopped_at_a_known_step(of, monkeypatch)
    server_dies(monkeypatch)
    test = page("learn")
    test.button(key="learn_forget").click().run()
    assert "was interrupted" not in said(quiet(test))
    assert not recovery.can_go_on(of.workspace.id)


def test_half_a_copy_is_swept_and_one_that_is_being_written_is_not():
    runs = database().place.copies / "runs"
    for name in ("run-dead", "run-alive"):
        (runs / f".{name}.new-0123").mkdir(parents=True)
    with disk._turn(runs / "run-alive", runs):
        copies.sweep()
        assert [path.name for path in runs.glob(".*.new-*")] == [".run-alive.new-0123"]


# -- opening an old run --------------------------------------------------------------------------
def two_runs() -> AppState:
    """A workspace with an old run whose settings are others than those of now."""
    of = state()
    run(of)
    of.choose_learning(replace(PLAIN, rate=3.0))
    return of


def opened(key: str):
    """The Runs page after the only run was opened, and the question answered."""
    import imop_app.views.runs as runs
    from imop_app.components import frame

    test = page("runs")
    of = state_of(test)
    (record,) = of.store.list()
    assert not runs._same(record, of)
    went = []
    old = frame.go
    frame.go = lambda _, name: went.append(name)
    try:
        of.open_run(record, inputs=key == "run_open_all")
    finally:
        frame.go = old
    return of


def test_an_old_run_can_be_shown_without_its_inputs():
    two_runs()
    of = opened("run_open_only")
    assert of.workspace.learn.rate == 3.0
    assert of.workspace.before is None


def test_inputs_that_an_old_run_replaced_come_back():
    two_runs()
    of = opened("run_open_all")
    assert of.workspace.learn.rate == PLAIN.rate
    assert open_workspace("w-test").before.settings.learn.rate == 3.0, "also after a restart"
    test = page("runs")
    assert "Your choices were replaced" in said(test)
    test.button(key="run_undo").click().run()
    after = open_workspace("w-test")
    assert after.learn.rate == 3.0
    assert after.before is None
    assert "Your choices were replaced" not in said(quiet(test))


# -- what the disk says --------------------------------------------------------------------------
def refuse(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def on_a_full_disk(connect):
    """Connections to a database that may not take one page more than it has."""

    def connected(*arguments, **options):
        made = connect(*arguments, **options)
        made.execute("PRAGMA max_page_count = 1")
        return made

    return connected


def test_a_result_that_cannot_be_written_is_not_lost(monkeypatch):
    of = state()
    with monkeypatch.context() as broken:
        broken.setattr(storage.manifest, "write", refuse)
        job = learning.start(of.workspace, of.store)
        job.wait(PATIENCE)
    assert job.status == "failed"
    assert "the disk is full" in job.error
    assert learning.can_resume(of.workspace)
    again = learning.resume(of.workspace, of.store)
    again.wait(PATIENCE)
    assert again is job
    assert of.adopt()
    assert shown(of).rounds == 60


def test_a_full_disk_does_not_end_a_run_and_is_said(monkeypatch):
    def full(*_):
        def write(state):
            raise CannotWrite("stopped.npz was not written: the disk is full.")

        return write

    monkeypatch.setattr(learning, "_checkpoint", full)
    of = state()
    job = run(of)
    assert job.trouble == "stopped.npz was not written: the disk is full."


def test_a_choice_that_cannot_be_written_stays_in_the_tab_and_is_said(monkeypatch):
    of = state()
    test = page("learn")
    with monkeypatch.context() as broken:
        broken.setattr(sqlite3, "connect", on_a_full_disk(sqlite3.connect))
        state_of(test).workspace.notes = "n" * 100_000
        state_of(test).rename("Clients")
        quiet(test.run(), errors=1)
        assert "the disk is full" in test.error[0].value
    assert state_of(test).workspace.name == "Clients"
    assert open_workspace(of.workspace.id).name == "Untitled"
    state_of(test).save()
    quiet(test.run())
    assert open_workspace(of.workspace.id).name == "Clients"


def test_everything_the_app_keeps_is_its_owners_alone():
    of = state()
    of.workspace.box.put("a.csv", b"a,b")
    run(of)
    for path in [data_folder(), *data_folder().rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


# -- damage --------------------------------------------------------------------------------------
def rewrite(change) -> None:
    """Change what was chosen behind the app's back."""
    with database().writing() as connection:
        content = connection.execute(sa.select(WORKSPACES.c.content)).scalar_one()
        connection.execute(sa.update(WORKSPACES).values(content=change(content)))


def test_one_bit_in_a_workspace_is_noticed():
    made = Workspace("w-1", "Clients")
    made.save()
    rewrite(lambda content: content.replace("Clients", "Cliants"))
    assert open_workspace("w-1").name == "Untitled"
    with database().reading() as connection:
        assert connection.execute(sa.select(DAMAGED.c.about)).scalars().all() == ["w-1"]


def test_a_workspace_of_before_is_read():
    made = Workspace("w-1", "Clients")
    made.save()

    def older(content: str) -> str:
        plain = unsealed(content, "", undigested=1)
        plain.pop("before")
        return json.dumps({**plain, "version": 1})

    rewrite(older)
    assert open_workspace("w-1").name == "Clients"


def test_a_kept_file_that_was_changed_is_gone_and_can_be_given_again():
    box = Workspace("w-1").box
    stored = box.put("a.csv", b"a,b")
    with database().writing() as connection:
        connection.execute(sa.update(PIECES).values(content=b"a,c"))
    with pytest.raises(FileNotFoundError, match=r"a\.csv"):
        box.path(stored)
    assert box.put("a.csv", b"a,b") == stored
    assert box.get(stored) == b"a,b"


# -- kills ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(("kind", "count"), [("app", 2), ("worker", 2), ("shell", 2)])
def test_killed_at_random_moments_nothing_is_lost(kind, count, tmp_path):
    command = [sys.executable, "-m", "imop_benchmarks.torture.kills", kind, str(count), "7"]
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    trials = json.loads(done.stdout)["trials"]
    assert len(trials) == count
    assert [one for one in trials if one[1] not in ("right", "old", "new")] == []


# -- pages that fail -----------------------------------------------------------------------------
def test_a_page_that_fails_says_a_sentence_and_a_number(caplog):
    from streamlit.testing.v1 import AppTest

    def script():
        from imop_app.components import show

        with show.guarded():
            raise ZeroDivisionError("inside")

    test = AppTest.from_function(script, default_timeout=PATIENCE).run()
    (error,) = test.error
    assert "the fault is ours" in error.value
    assert "inside" not in error.value
    number = error.value.split()[-1].rstrip(".")
    assert number in caplog.text
