"""Runs in processes of their own: queued, stopped, killed, limited, gone on with, opened."""

import os
import signal
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

from app.test_learning import MANY, run, shown, state
from app_harness import PATIENCE
from imop_app import downloads, quota, recovery, worker, workers
from imop_app.components import status
from imop_app.database import database, objects
from imop_app.database.tables import RUN_FILES
from imop_app.home import data_folder
from imop_app.jobs import JOBS
from imop_app.queueing import Queue
from imop_app.services import learning
from imop_app.services.errors import AppError
from imop_app.services.opened import OPENED
from imop_app.settings import InvestorBatch, InvestorSettings, LearnSettings, Simulation
from imop_app.worker_jobs import WorkerJob
from imop_app.workers import JobLimits
from imop_app.workspace import Workspace
from imop_engine.errors import CannotWrite
from imop_engine.forking import CAN_FORK, ForkingProcess

TESTS = Path(__file__).resolve().parents[1]
in_processes = pytest.mark.skipif(not CAN_FORK, reason="this system cannot fork")


@pytest.fixture(scope="module")
def process():
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(TESTS)
    made = ForkingProcess("waiting_worker")
    made.start()
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before
    yield made
    made.close()


@pytest.fixture
def apart(process, monkeypatch):
    """Runs work in processes, one at once."""
    monkeypatch.setenv("IMOP_WORKERS", "1")
    monkeypatch.setattr(workers, "PROCESS", process)
    monkeypatch.setattr(workers, "LEARNING", Queue(workers.places))
    OPENED._studies.clear()


def signals(of) -> Path:
    """The folder in which a test tells the worker of a workspace what to do."""
    folder = data_folder() / "signals" / of.workspace.id
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def told(of, *names: str) -> None:
    """Let the worker of a workspace do something; see waiting_worker.py."""
    for name in names:
        (signals(of) / name).touch()


def until(condition) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def begun(of, *names: str) -> WorkerJob:
    """A run that has done its third step and waits."""
    told(of, *names)
    job = learning.start(of.workspace, of.store)
    assert isinstance(job, WorkerJob)
    until(lambda: job.done > 0 and job.pid is not None)
    return job


# -- the queue -----------------------------------------------------------------------------------
def test_one_of_each_owner_works_and_the_others_come_in_their_order():
    queue = Queue(lambda: 2)
    first, again, second, third = (queue.enter(owner) for owner in ("a", "a", "b", "c"))
    assert [one.working for one in (first, again, second, third)] == [True, False, True, False]
    assert "your other run" in queue.sentence(again)
    assert queue.place(third) == 2
    assert queue.sentence(third) == "Place 2 in the queue (2 runs are at work); it begins by itself"
    queue.leave(second)
    assert third.working, "nobody waits for a visitor who has a run at work"
    queue.leave(first)
    assert again.working
    queue.leave(again)
    queue.leave(again)  # twice harms nobody


def test_whoever_gives_up_waiting_is_out_of_the_way():
    queue = Queue(lambda: 1)
    first, second, third = (queue.enter(owner) for owner in "abc")
    assert not queue.wait(second, lambda: True)
    queue.leave(second)
    assert queue.place(third) == 1
    queue.leave(first)
    assert queue.wait(third, lambda: False)
    assert queue.place(third) == 0


def test_settings_of_the_environment(monkeypatch, caplog):
    monkeypatch.setenv("IMOP_WORKERS", "3")
    assert workers.places() == (3 if CAN_FORK else 0)
    monkeypatch.setenv("IMOP_WORKERS", "many")
    assert workers.places() >= 1 or not CAN_FORK
    assert not CAN_FORK or "give a whole number" in caplog.text
    monkeypatch.setenv("IMOP_JOB_MEMORY", "500")
    monkeypatch.setenv("IMOP_JOB_SECONDS", "7200")
    limits = JobLimits.chosen()
    assert limits == JobLimits(7200, 500_000_000)
    assert "500 MB" in limits.out_of_memory()
    assert "2 hours" in limits.out_of_time()


# -- runs ----------------------------------------------------------------------------------------
@in_processes
@pytest.mark.slow
def test_a_run_in_a_process_has_the_digits_of_one_in_a_thread(apart, monkeypatch):
    fitted = LearnSettings(start="zero")
    of = state(learn=fitted)
    job = run(of)
    assert isinstance(job, WorkerJob)
    assert job.spent["memory"] > 0
    location = of.store.location(job.run)
    assert OPENED.get(location) is not None, "nobody opens what has just been learned"
    (record,) = of.store.list()
    assert (record.id, record.rounds, record.settings) == (job.run, 60, of.settings)
    monkeypatch.setenv("IMOP_WORKERS", "0")
    other = state(learn=fitted, name="w-thread")
    run(other)
    np.testing.assert_allclose(shown(of).theta, shown(other).theta, rtol=0, atol=1e-12)
    assert job.trail()[-1].done == 60


@in_processes
@pytest.mark.slow
def test_a_stopped_run_resumes_with_the_same_digits(apart):
    whole, of = state(MANY, name="w-whole"), state(MANY)
    run(whole)
    job = begun(of, "waits")
    job.stop()
    job.wait(PATIENCE)
    assert job.status == "stopped", job.error
    assert 0 < job.done < 3000
    assert recovery.can_go_on(of.workspace.id)
    assert learning.can_resume(of.workspace)
    again = run(of, learning.resume)
    assert again is job
    np.testing.assert_array_equal(shown(of).theta, shown(whole).theta)


@in_processes
@pytest.mark.slow
def test_a_run_of_very_many_gives_way_from_its_beginning(apart):
    very_many = InvestorSettings(
        (InvestorBatch("simulate", Simulation(count=worker.LONG_INVESTORS)),)
    )
    short = begun(state(MANY, name="w-short"), "waits")
    niceness = [os.getpriority(os.PRIO_PROCESS, short.pid)]
    short.stop()
    short.wait(PATIENCE)
    long = begun(state(very_many), "waits")
    niceness.append(os.getpriority(os.PRIO_PROCESS, long.pid))
    long.stop()
    long.wait(PATIENCE)
    # the system knows no niceness above 19, from where tests may begin
    assert niceness[1] == min(niceness[0] + worker.NICER_LONG, 19)


@in_processes
@pytest.mark.slow
def test_a_killed_process_is_followed_by_another_that_goes_on(apart):
    whole, of = state(MANY, name="w-whole"), state(MANY)
    run(whole)
    job = begun(of, "waits")
    os.kill(job.pid, signal.SIGKILL)
    job.wait(PATIENCE)
    assert job.status == "finished", job.error
    assert "was ended from outside (signal 9). Another has gone on" in job.notice
    of.adopt()
    np.testing.assert_array_equal(shown(of).theta, shown(whole).theta)


@in_processes
@pytest.mark.slow
def test_a_process_that_is_killed_again_leaves_a_sentence_and_its_checkpoint(apart):
    whole, of = state(MANY, name="w-whole"), state(MANY)
    run(whole)
    job = begun(of, "waits always")
    first = job.pid
    os.kill(first, signal.SIGKILL)
    until(lambda: job.pid not in (None, first))
    os.kill(job.pid, signal.SIGKILL)
    job.wait(PATIENCE)
    assert job.status == "failed"
    assert job.error == (
        "The process that learned was ended from outside (signal 9). Resume goes on from its last "
        "checkpoint."
    )
    (signals(of) / "waits always").unlink()
    assert learning.can_resume(of.workspace)
    run(of, learning.resume)
    np.testing.assert_array_equal(shown(of).theta, shown(whole).theta)


@in_processes
@pytest.mark.slow
def test_a_run_that_takes_too_long_is_ended_and_can_go_on(apart, monkeypatch):
    monkeypatch.setenv("IMOP_JOB_SECONDS", "1")
    of = state(MANY)
    told(of, "spins")
    job = learning.start(of.workspace, of.store)
    job.wait(PATIENCE)
    assert job.status == "failed"
    assert "ended after 1 seconds of processor time" in job.error
    assert learning.can_resume(of.workspace)


@in_processes
@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no limit on memory here")
def test_a_run_that_needs_too_much_memory_is_ended(apart, monkeypatch):
    monkeypatch.setenv("IMOP_JOB_MEMORY", "1")
    of = state(MANY)
    job = learning.start(of.workspace, of.store)
    job.wait(PATIENCE)
    assert job.status == "failed"
    assert "needs more than the 1 MB of memory" in job.error
    monkeypatch.delenv("IMOP_JOB_MEMORY")
    run(of)


def test_code_that_ends_for_want_of_memory_is_said_to(monkeypatch):
    monkeypatch.setenv("IMOP_JOB_MEMORY", "300")
    limits = workers.JobLimits.chosen()
    assert "more than the 300 MB" in workers.by_its_limits(-signal.SIGABRT, limits)
    for ended in (-signal.SIGSEGV, -signal.SIGBUS):
        assert workers.by_its_limits(ended, limits) is None  # another may go on
        assert "needs more than the 300 MB of memory" in workers.how(ended, limits)
    assert workers.how(-signal.SIGKILL, limits) == "was ended from outside (signal 9)"


@in_processes
@pytest.mark.slow
def test_a_result_that_cannot_be_written_is_held_and_written_later(apart):
    of = state()
    told(of, "full")
    job = learning.start(of.workspace, of.store)
    job.wait(PATIENCE)
    assert job.unsaved
    assert "the disk is full" in job.error
    (signals(of) / "full").unlink()
    before = job.pid
    run(of, learning.resume)
    assert JOBS.get(of.workspace.id) is job
    assert before is not None
    assert shown(of).rounds == 60


@in_processes
@pytest.mark.slow
def test_others_wait_for_their_turn_and_are_told_their_place(apart):
    one, two, three = (state(MANY, name=f"w-{name}") for name in ("one", "two", "three"))
    first = begun(one, "waits")
    second = learning.start(two.workspace, two.store)
    until(lambda: second.stage == "queued")
    third = learning.start(three.workspace, three.store)
    until(lambda: third.stage == "queued")
    assert "Place 1 in the queue (1 run is at work)" in status.progress_text(second)
    assert "Place 2 in the queue" in status.progress_text(third)
    third.stop()
    third.wait(PATIENCE)
    assert third.status == "stopped"
    assert learning.can_resume(three.workspace)
    first.stop()
    second.wait(PATIENCE)
    assert second.status == "finished", second.error


@in_processes
@pytest.mark.slow
def test_a_run_that_another_replaces_ends_and_leaves_no_checkpoint(apart):
    of = state(MANY)
    job = begun(of, "waits")
    (signals(of) / "waits").unlink()
    run(of)
    assert not job.alive
    assert job.status == "stopped"
    assert not recovery.can_go_on(of.workspace.id)


# -- opening -------------------------------------------------------------------------------------
@in_processes
@pytest.mark.slow
def test_a_kept_study_is_opened_in_a_process(apart):
    of = state(learn=LearnSettings(start="zero"))
    run(of)
    before = shown(of)
    OPENED._studies.clear()
    after = shown(of)
    assert after is not before
    assert "frame_investors" in vars(after), "its tables come with it"
    np.testing.assert_array_equal(after.theta, before.theta)
    pd.testing.assert_frame_equal(after.frame_returns, before.frame_returns)


@in_processes
@pytest.mark.slow
def test_a_damaged_study_is_refused_with_the_same_sentence(apart, monkeypatch):
    of = state()
    run(of)
    OPENED._studies.clear()
    path = Path(of.store.location(of.workspace.run)) / "run.json"
    changed = path.read_bytes().replace(b"estimate", b"estimatx", 1)
    with database().writing() as connection:  # as if another file had been kept in its place
        digest = objects.put(connection, changed)
        chosen = sa.update(RUN_FILES).where(RUN_FILES.c.path == "run.json")
        connection.execute(chosen.values(digest=digest))
    path.unlink()
    with pytest.raises(AppError) as apart_said:
        shown(of)
    monkeypatch.setenv("IMOP_WORKERS", "0")
    with pytest.raises(AppError) as here_said:
        shown(of)
    assert str(apart_said.value) == str(here_said.value)


def test_a_job_in_a_thread_waits_for_nobody():
    of = state()
    job = learning.start(of.workspace, of.store)
    assert job.waiting == ""
    assert not job.resumable
    job.wait(PATIENCE)


# -- what kept runs may take ---------------------------------------------------------------------
@pytest.mark.slow
def test_beyond_the_quota_no_run_begins_and_none_is_deleted(monkeypatch):
    of = state()
    run(of)
    kept = of.store.list()
    monkeypatch.setenv("IMOP_RUNS_QUOTA", "1")
    assert quota.refusal() is None
    with database().writing() as connection:
        connection.execute(sa.text("UPDATE runs SET bytes = bytes + 1100000"))
    with pytest.raises(AppError, match=r"take 1 MB, and 1 MB are set aside.*Nothing is deleted"):
        learning.start(of.workspace, of.store)
    assert of.store.list() == kept
    assert "of 1 MB" in quota.said()
    with database().writing() as connection:
        connection.execute(sa.text("UPDATE runs SET bytes = bytes - 1100000"))
    run(of)


def test_beyond_the_quota_of_files_none_is_kept_and_none_is_deleted(monkeypatch):
    box = Workspace("w-test").box
    first = box.put("a.csv", bytes(600_000))
    monkeypatch.setenv("IMOP_FILES_QUOTA", "1")
    with pytest.raises(CannotWrite, match=r"has 0\.5 MB.*take 1 MB, and 1 MB are set aside"):
        box.put("b.csv", b"b" * 500_000)
    assert box.put("again.csv", bytes(600_000)).digest == first.digest, "it is kept already"
    assert len(box.get(first)) == 600_000
    box.put("c.csv", b"c" * 400_000)


# -- downloads -----------------------------------------------------------------------------------
def test_a_file_that_was_made_on_a_click_outlives_the_pages_of_others(monkeypatch):
    from streamlit.runtime import media_file_manager as streamlit_files
    from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

    monkeypatch.setattr(streamlit_files, "MediaFileMetadata", streamlit_files.MediaFileMetadata)
    downloads.keep()
    downloads.keep()  # twice harms nobody
    storage = MemoryMediaFileStorage("/media")
    manager = streamlit_files.MediaFileManager(storage)
    entry = {"callable": lambda: b"a,b", "mimetype": "text/csv", "filename": "a.csv"}
    manager._deferred_callables["x"] = {**entry, "coordinates": "", "session_id": "s"}
    name = manager.execute_deferred("x").rpartition("/")[2]
    for _ in range(4):  # as many pages of others were drawn
        manager.remove_orphaned_files()
    assert storage.get_file(name).content == b"a,b"
    monkeypatch.setattr(downloads, "KEPT_SECONDS", 0.0)
    manager.remove_orphaned_files()
    with pytest.raises(Exception, match="Bad filename"):
        storage.get_file(name)
