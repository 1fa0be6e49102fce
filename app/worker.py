"""The process that learns: `python -m imop_app.worker FD`, started by workers.py.

It loads the numerical code once and waits; each run, and each study that is opened, is a fork of
it. What comes in and goes out are our own values (`tables.transport`), never code. A run writes its
checkpoints and its result itself, so that they are on the disk whatever becomes of the server.
"""

from __future__ import annotations

import io
import os
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any, Final

from imop_app import recovery, workers
from imop_app.jobs import Job
from imop_app.run_record import RunRecord
from imop_app.services import alternatives, scored
from imop_app.services.errors import describe_error
from imop_app.settings import Settings, from_plain
from imop_app.store import DatabaseStore
from imop_app.workers import JobLimits
from imop_engine.errors import ImopError
from imop_engine.forking import RESULT, leave_with, limit_process, send, serve
from imop_engine.tables.transport import packed, unpacked

# Pages come first, then short runs, for which somebody waits at her screen; on a busy machine long
# ones get what those leave.
NICER_LOADING: Final = 1
NICER_WORKING: Final = 1
NICER_LONG: Final = 8
LONG_SECONDS: Final = 3.0  # of processor time
LONG_INVESTORS: Final = 10_000  # take longer than that for certain
# More often nobody looks.
TELL_SECONDS: Final = 0.1
# Of a job that had to hold on to what it could not write.
HELD: Final = "held"


def main(descriptor: int) -> None:
    """Load, then serve requests until the process that started this one is gone."""
    os.nice(NICER_LOADING)
    import imop_engine.storage  # noqa: F401  (loaded before the fork, so that no request waits)
    from imop_app.services.warm import compiled_code

    compiled_code()
    serve(descriptor, _work)


def _work(connection: socket.socket, content: bytearray) -> None:
    request: dict[str, Any] = unpacked(content, computed=True)
    os.nice(NICER_WORKING)
    limits = JobLimits(**request["limits"])
    limit_process(limits.seconds, limits.memory)
    if request["what"] == "nothing":  # it is only asked whether all is loaded
        return
    if request["what"] == "sensitivity":
        _compare(connection, request["folder"], limits)
        return
    if request["what"] == "score":
        _score(connection, request, limits)
        return
    if request["what"] == "open":
        _open(connection, request["folder"], limits)
        return
    try:
        _Run(connection, request, limits).work()
    except MemoryError:
        said = {"error": limits.out_of_memory(), HELD: False}
        send(connection, workers.FAILED, packed(said))


def _open(connection: socket.socket, folder: str, limits: JobLimits) -> None:
    """Open a study, compute its tables, and send all of it or the sentence."""
    answer(connection, lambda: {"study": opened(folder)}, limits)


def answer(
    connection: socket.socket, make: Callable[[], dict[str, Any]], limits: JobLimits
) -> None:
    """Send what was made, or the sentence that says why not.

    Args:
        connection: To the server; this process ends with it.
        make: Makes named values.
        limits: What it may spend.
    """
    leave_with(connection)
    try:
        said = packed(make(), computed=True)
    except MemoryError:
        said = packed({"error": (ImopError.__name__, limits.out_of_memory())})
    except ImopError as error:
        said = packed({"error": (type(error).__name__, str(error))})
    send(connection, RESULT, said)


def _compare(connection: socket.socket, folder: str, limits: JobLimits) -> None:
    """Compute a study's estimate under other choices, and tell how far that is."""

    def tell(share: float) -> None:
        send(connection, workers.PART, packed({"part": share}))

    answer(connection, lambda: alternatives.of_study(opened(folder), tell), limits)


def _score(connection: socket.socket, request: dict[str, Any], limits: JobLimits) -> None:
    """Fit a score to a study's portfolios, and tell how far that is."""

    def tell(share: float) -> None:
        send(connection, workers.PART, packed({"part": share}))

    def make() -> dict[str, Any]:
        study = opened(request["folder"])
        return scored.of_study(study, request["scores"], request["anchors"], tell)

    answer(connection, make, limits)


def opened(folder: str) -> Any:
    """The study of a folder, with the tables that pages show."""
    from imop_engine.errors import OldStudy
    from imop_engine.storage import load_study

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OldStudy)  # pages show the study's remarks
        study = load_study(folder)
    return computed(study)


def computed(study: Any) -> Any:
    """The study, once its tables are there."""
    study.figures, study.frame_investors, study.frame_frontier, study.notes  # noqa: B018
    return study


class _Run:
    """One run, told to whoever asked for it.

    Args:
        connection: To the server.
        request: What is learned, how, and where it is written.
        limits: What it may spend.
    """

    def __init__(
        self, connection: socket.socket, request: dict[str, Any], limits: JobLimits
    ) -> None:
        self._connection, self._request, self._limits = connection, request, limits
        self._sending = threading.Lock()
        self._again = threading.Event()
        self._study: Any = None
        self._settings = from_plain(Settings, request["settings"])
        os.environ.update(request["store"])  # of this process alone
        self._job = _ToldJob(
            self._tell, self._settings, self._steps, self._keep, "worker",
            checkpoint=self._checkpoint, describe_error=self._describe, again=self._steps,
        )  # fmt: skip

    def work(self) -> None:
        """Learn, write, and say how it ended; what could not be written is held for another try."""
        leave_with(self._connection, self._heard)
        if len(self._request["data"].investors) >= LONG_INVESTORS:
            self._job.give_way()
        self._tell(workers.BEGUN, {"pid": os.getpid()})
        while True:
            self._job.work_here()
            if self._job.status == "finished":
                self._send_result()
                return
            job = self._job
            held = job.unsaved or (job.status == "stopped" and job.trouble is not None)
            kind = workers.STOPPED if job.status == "stopped" else workers.FAILED
            self._tell(kind, {"error": job.error, HELD: held})
            if not held:
                return
            self._again.wait()
            self._again.clear()

    def _heard(self, command: bytes) -> None:
        if command == workers.STOP:
            self._job.stop()
        elif command == workers.AGAIN:
            self._job.go_on()
            self._again.set()

    def _tell(self, kind: bytes, said: dict[str, Any]) -> None:
        with self._sending:
            send(self._connection, kind, packed(said))

    def _send_result(self) -> None:
        run = self._job.run
        try:
            said = packed({"run": run, "study": computed(self._study)}, computed=True)
        except (MemoryError, TypeError):  # it is on the disk, where pages can open it
            said = packed({"run": run, "study": None})
        with self._sending:
            send(self._connection, workers.FINISHED, said)

    def _steps(self, state: Any = None) -> Any:
        from imop_engine.study import load_state
        from imop_engine.study.steps import steps_of

        asked = self._request
        if state is None:
            kept = recovery.checkpoint(asked["workspace"]) if asked["go_on"] else None
            state = asked["state"] if kept is None else load_state(io.BytesIO(kept), "a checkpoint")
        return steps_of(asked["data"], asked["study settings"], state)

    def _checkpoint(self, state: Any) -> None:
        from imop_engine.study.state import packed_state

        asked = self._request
        recovery.keep_checkpoint(asked["workspace"], asked["run"], packed_state(state))

    def _keep(self, study: Any) -> str:
        self._study = study
        asked = self._request
        record = RunRecord.of(study, asked["run"], self._settings, **asked["about"])
        return DatabaseStore(asked["workspace"], asked["owner"]).keep(study, record).id

    def _describe(self, error: BaseException) -> str:
        if isinstance(error, MemoryError):
            return self._limits.out_of_memory()
        return describe_error(error)


class _ToldJob(Job):
    """A job that tells the server what it would show a page.

    Args:
        tell: Sends a message: its kind, and named values.
        *arguments: Of `Job`.
        **options: Of `Job`.
    """

    def __init__(self, tell: Any, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._tell = tell
        self._told = float("-inf")
        self._long = False

    def _note(self, step: Any) -> None:
        super()._note(step)
        self._give_way_if_long()
        self._tell(
            workers.STEP,
            {
                "stage": step.stage, "done": step.done, "total": step.total, "theta": step.theta,
                "loss": step.loss,
            },
        )  # fmt: skip

    def give_way(self) -> None:
        """Let others go first from now on."""
        if not self._long:
            self._long = True
            os.nice(NICER_LONG)

    def _give_way_if_long(self) -> None:
        """Let others go first once this has turned out to be a long one."""
        if time.process_time() >= LONG_SECONDS:
            self.give_way()

    def _note_part(self, share: float) -> None:
        self._give_way_if_long()
        now = time.monotonic()
        if now - self._told >= TELL_SECONDS:
            self._told = now
            self._tell(workers.PART, {"part": share})
        super()._note_part(share)

    def _keep_state(self, step: Any, now: bool = False) -> None:
        before = self.trouble
        super()._keep_state(step, now)
        if self.trouble != before:
            self._tell(workers.TROUBLE, {"trouble": self.trouble})


if __name__ == "__main__":
    main(int(sys.argv[1]))
