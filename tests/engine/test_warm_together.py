"""Processes that find nothing compiled: one compiles, the others wait for it and say how far it is.

Nothing is compiled here: tasks that wait for a file stand for the kernels.
"""

import json
import os
import signal
import subprocess
import sys

import pytest

from imop_engine import warm
from imop_engine.commands import common
from imop_engine.errors import ImopError

# `python -m imop_engine.warm` with one task of ours, which ends when a file says so.
PROGRAM = """
import os, pathlib, sys, time
from imop_engine import warm

def task():
    folder = pathlib.Path(sys.argv[1])
    with (folder / "compiled").open("a") as file:
        file.write(f"{os.getpid()}\\n")
    while not (folder / "go").exists():
        time.sleep(0.02)

if __name__ == "__main__":
    warm._compile_tasks = lambda report: (
        report(0, 1, "a task of ours"), task(), warm.compiling.mark_ready()
    )
    sys.exit(warm.main(["--lines"]))
"""

# A process with a worker that never ends by itself.
PARENT = """
import multiprocessing, signal
from imop_engine import warm

def work():
    warm._end_with_parent()
    print("worker", flush=True)
    signal.pause()

if __name__ == "__main__":
    worker = multiprocessing.get_context("spawn").Process(target=work)
    worker.start()
    worker.join()
"""


@pytest.fixture
def start(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    surroundings = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    started = []

    def begin():
        one = subprocess.Popen(
            [sys.executable, program, tmp_path], stdout=subprocess.PIPE, text=True, env=surroundings
        )
        started.append(one)
        return one

    yield begin
    for one in started:
        one.kill()
        one.wait()
        one.stdout.close()


def next_report(process):
    return json.loads(process.stdout.readline())


def test_two_at_once_compile_once(start, tmp_path):
    first = start()
    assert next_report(first)["what"] == "a task of ours"
    second = start()
    assert next_report(second)["what"] == "a task of ours", "it tells of the other's progress"
    (tmp_path / "go").touch()
    assert [one.communicate()[0].count('"ready"') for one in (first, second)] == [1, 1]
    assert [one.returncode for one in (first, second)] == [0, 0]
    assert len((tmp_path / "compiled").read_text().split()) == 1


def test_who_waits_takes_over_from_a_killed_one(start, tmp_path):
    first = start()
    next_report(first)
    second = start()
    next_report(second)
    first.send_signal(signal.SIGKILL)
    first.wait()
    (tmp_path / "go").touch()
    second.communicate()
    assert second.returncode == 0
    compiled = (tmp_path / "compiled").read_text().split()
    assert compiled == [str(first.pid), str(second.pid)]


def test_workers_end_with_a_killed_parent(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PARENT)
    command = [sys.executable, program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout.readline() == "worker\n"
        parent.kill()
        assert parent.stdout.read() == "", "nobody holds the other end any more"


def _heed_interrupts() -> None:
    """The tests may have been started where Ctrl-C is ignored, in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_an_interrupted_one_ends_without_a_traceback(tmp_path):
    command = [sys.executable, "-m", "imop_engine.warm", "--lines"]
    surroundings = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    with subprocess.Popen(
        command, preexec_fn=_heed_interrupts,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=surroundings,
    ) as process:  # fmt: skip
        assert next_report(process)["done"] == 0
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate()
    assert process.returncode == 128 + signal.SIGINT
    assert "Traceback" not in complaints


def test_the_shell_says_that_it_compiles_and_why_it_could_not(monkeypatch, caplog):
    monkeypatch.setattr(warm, "is_ready", lambda: False)
    ran = []
    monkeypatch.setattr(warm, "run", lambda: ran.append(1))
    common.prepare()
    assert ran == [1]
    assert "this happens once" in caplog.text

    def broken():
        raise RuntimeError("the numerical code could not be compiled: no room")

    monkeypatch.setattr(warm, "run", broken)
    with pytest.raises(ImopError, match="no room; `python -m imop_engine"):
        common.prepare()
    monkeypatch.setattr(warm, "is_ready", lambda: True)
    common.prepare()
