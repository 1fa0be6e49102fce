"""Compile every kernel once, so that nobody waits for it later. Run: python -m imop_engine.warm

The work is cut into tasks, each a tiny run of the engine's own functions, so that the kernels see
the very types they will see later. Tasks run in worker processes, what a first run of the app needs
first; what one has compiled the others load from disk. One process compiles at a time: another
that comes meanwhile waits, says how far the first one is, and compiles what that one left undone.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from pathlib import Path

import numpy as np

import imop_engine as imop
from imop_engine import compiling
from imop_engine.locking import alone

Report = Callable[[int, int, str], None]

Y = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
LOCK, PROGRESS = "lock", "progress.json"  # beside the compiled code
WORKERS = 3  # more would wait for one another


@dataclass(frozen=True)
class Task:
    """Some kernels, the words for a person who waits, and the tasks that must come before."""

    what: str
    run: Callable[[], object]
    after: tuple[str, ...] = ()


def _investors() -> imop.Problem:
    return imop.portfolio_problem(np.diag([0.04, 0.09, 0.16]), anchors={0: 0.05, 2: 0.15})


def _limited_investors() -> imop.Problem:
    return imop.portfolio_problem(
        np.diag([0.04, 0.09, 0.16]), anchors={0: 0.05, 2: 0.15}, limits=[({0: 1, 1: 1}, "<=", 0.9)]
    )


def _two_objectives() -> imop.Problem:
    return imop.quadratic_problem(
        [np.eye(2), 2 * np.eye(2)], [[-1, 0], [0, -1]], [[-1, -1]], [-1], learn="b"
    )


def _frontier() -> None:
    imop.efficient_frontier(_investors(), [0.05, 0.1, 0.15]).project(Y)
    imop.OnlineLearner(_investors()).assign(Y)


def _branch_and_bound() -> None:
    imop.batch_update(_investors(), [0.05, 0.1, 0.15], Y, [0.4, 0.6], 1.0)


def _streams() -> None:
    for algorithm in ("accelerated", "full"):
        imop.OnlineLearner(_investors(), algorithm=algorithm).partial_fit(Y)
    imop.implicit_update(_investors(), [0.05, 0.1, 0.15], Y[0], 0.5, 1.0)


def _second_order() -> None:
    imop.OnlineLearner(_investors(), "exact", "newton").partial_fit(Y)


def _least_squares() -> None:
    imop.polish(_investors(), Y, [0.05, 0.1, 0.15])
    imop.refine(_investors(), Y, [0.05, 0.1, 0.15])


def _gaps() -> None:
    imop.fit_efficiency(_investors(), Y)
    imop.efficiency(_investors(), [0.05, 0.1, 0.15], Y)


def _gap_streams() -> None:
    imop.OnlineLearner(_investors(), loss="efficiency").partial_fit(Y)
    imop.OnlineLearner(_investors(), algorithm="newton", loss="efficiency").partial_fit(
        np.repeat(Y, 12, axis=0)
    )
    imop.efficiency_update(_investors(), [0.05, 0.1, 0.15], Y[0], 1.0)


def _limits() -> None:
    imop.efficient_frontier(_limited_investors(), [0.05, 0.1, 0.15]).project(Y)
    imop.efficiency(_limited_investors(), [0.05, 0.1, 0.15], Y)


def _forward() -> None:
    imop.OnlineLearner(_two_objectives(), weights=3).assign(Y[:, :2])


def _general() -> None:
    imop.OnlineLearner(_two_objectives(), weights=3).partial_fit(Y[:, :2])
    imop.implicit_update(_two_objectives(), [-1.0], Y[0, :2], 0.5, 1.0)


TASKS = {
    "branch and bound": Task("the exact update", _branch_and_bound),
    "frontier": Task("the efficient frontier", _frontier),
    "least squares": Task("standard errors", _least_squares, ("frontier",)),
    "streams": Task("Algorithms 1 and 2", _streams, ("branch and bound", "frontier")),
    "gaps": Task("return left on the table", _gaps, ("frontier",)),
    "gap streams": Task("its updates", _gap_streams, ("frontier",)),
    "limits": Task("frontiers with limits", _limits, ("frontier", "gaps")),
    "forward": Task("quadratic problems", _forward),
    "second order": Task("the second-order learner", _second_order, ("streams",)),
    "general": Task("updates of quadratic problems", _general, ("branch and bound", "forward")),
}


def is_ready() -> bool:
    """Whether everything is compiled for these sources and this processor; loads no kernel."""
    return compiling.is_ready()


def warm() -> float:
    """Load every kernel into this process, compiling what is not on disk; return the seconds."""
    start = time.perf_counter()
    for task in TASKS.values():
        task.run()
    compiling.mark_ready()
    return time.perf_counter() - start


def run(report: Report | None = None) -> float:
    """Compile whatever is not on disk yet, in processes of their own; return the seconds.

    Args:
        report: called with the number of tasks done, of all tasks, and what comes next.

    Raises:
        RuntimeError: if compiling failed; its words are those of the process that failed.
    """
    start = time.perf_counter()
    # -P: not what lies in the folder we happen to be in, but what this process runs.
    command = [sys.executable, "-P", "-m", "imop_engine.warm", "--lines"]
    last = {"state": "failed", "what": "the compiling process ended without a word"}
    # Why it failed is in its lines; the rest is for whoever runs the command by hand.
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            for line in process.stdout or ():
                last = json.loads(line)
                if report is not None:
                    report(int(last["done"]), int(last["total"]), str(last["what"]))
        except BaseException:  # most often Ctrl-C: nobody waits for it any more
            process.terminate()
            raise
    if last["state"] != "ready":
        raise RuntimeError(f"the numerical code could not be compiled: {last['what']}")
    return time.perf_counter() - start


def _compile_all(report: Report) -> None:
    """All tasks, if nobody has done them, once nobody else is at them."""
    if is_ready():
        return
    progress = compiling.folder() / PROGRESS

    def tell_all(done: int, total: int, what: str) -> None:
        compiling.write_whole(progress, json.dumps([done, total, what]).encode())
        report(done, total, what)

    with alone(compiling.folder() / LOCK, lambda: _tell_of_other(progress, report)):
        if not is_ready():
            _compile_tasks(tell_all)


def _tell_of_other(progress: Path, report: Report) -> None:
    """Say how far the process is that holds the lock."""
    with suppress(OSError, ValueError):  # it has not said yet
        done, total, what = json.loads(progress.read_text(encoding="utf-8"))
        report(int(done), int(total), str(what))


def _compile_tasks(report: Report) -> None:
    """All tasks on all cores, each when those before it are done."""
    done: set[str] = set()
    waiting, running = dict(TASKS), dict[Future[None], str]()
    workers = min(os.cpu_count() or 1, WORKERS)
    with ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=_end_with_parent
    ) as pool:
        while len(done) < len(TASKS):
            ready = [name for name, task in waiting.items() if done.issuperset(task.after)]
            for name in ready[: workers - len(running)]:
                running[pool.submit(_run_task, name)] = name
                del waiting[name]
            report(len(done), len(TASKS), TASKS[next(iter(running.values()))].what)
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                future.result()
                done.add(running.pop(future))
    compiling.mark_ready()


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for its next task for ever; Ctrl-C is for the
    parent alone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _run_task(name: str) -> None:
    logging.disable()  # the engine would say that it compiles: this is known here
    TASKS[name].run()


def main(arguments: list[str] | None = None) -> int:
    """`python -m imop_engine.warm`: compile, tell how far it is, return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m imop_engine.warm", description=__doc__)
    parser.add_argument("--status", type=Path, help="a JSON file that says how far it is")
    parser.add_argument("--lines", action="store_true", help="say it on standard output too")
    options = parser.parse_args(arguments)

    def tell(done: int, what: str, state: str = "compiling") -> None:
        said = json.dumps({"done": done, "total": len(TASKS), "state": state, "what": what})
        if options.status is not None:
            compiling.write_whole(options.status, said.encode())
        if options.lines:
            print(said, flush=True)

    start = time.perf_counter()
    try:
        _compile_all(lambda done, total, what: tell(done, what))
    except Exception as error:  # whoever waits gets the words, whatever it was
        tell(0, f"{type(error).__name__}: {error}", "failed")
        raise
    tell(len(TASKS), "", "ready")
    if not options.lines:
        print(f"Compiled kernels are ready ({time.perf_counter() - start:.1f} s).")
    return 0


if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # At once, without waiting for workers: they end with this process.
        signal.signal(signal.SIGINT, lambda number, frame: os._exit(128 + number))
    sys.exit(main())
