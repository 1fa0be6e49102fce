"""A run that works in a process of its own, looked at like any other job.

A thread here waits for the run's turn, hands it over, and notes what its process says. A process
that was ended from outside is followed by another, which goes on from the last checkpoint; one that
dies again, or has spent what a run may spend, leaves a sentence and the checkpoint.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from imop_app import workers
from imop_app.jobs import Job, Status
from imop_app.queueing import Ticket
from imop_app.settings import Settings
from imop_app.workers import JobLimits
from imop_engine.forking import END, DoesNotStart, receive
from imop_engine.tables.transport import unpacked

LOG = logging.getLogger("imop")
# A process that was ended from outside is replaced so often.
RESTARTS: Final = 1
# Nobody waits longer for a process to end.
PATIENCE: Final = 5.0


@dataclass(frozen=True, eq=False)
class _Told:
    """A step as the other process tells it."""

    stage: str
    done: int
    total: int
    theta: Any
    loss: float


class _Died(Exception):
    """The process ended without saying how its run did."""


class WorkerJob(Job):
    """One run under way in another process.

    Args:
        settings: What was chosen for the run.
        name: Of the run.
        ask: Makes the request, given whether to go on from the checkpoint.
        can_go_on: Whether there is a checkpoint.
        finished: Called with the id of the finished run and its study, where that came over.
        owner: Who has at most one run at work.
        limits: What it may spend.
        describe_error: Puts an error in words.
        before: Waits for what the run needs; None waits for nothing.
    """

    def __init__(
        self,
        settings: Settings,
        name: str,
        ask: Callable[[bool], bytes],
        can_go_on: Callable[[], bool],
        finished: Callable[[str, Any], None],
        owner: str,
        limits: JobLimits,
        describe_error: Callable[[BaseException], str] = str,
        before: Callable[[threading.Event], bool] | None = None,
    ) -> None:
        super().__init__(
            settings, lambda: iter(()), str, name, describe_error=describe_error, before=before
        )
        self._ask: Callable[[bool], bytes] | None = ask
        self._can_go_on, self._finished = can_go_on, finished
        self._owner, self.limits = owner, limits
        self.pid: int | None = None  # of the process that works
        self.spent: dict[str, Any] = {}  # processor seconds and memory of the last one
        self._ticket: Ticket | None = None
        self._connection: socket.socket | None = None
        self._speaking = threading.Lock()
        self._held = False  # whether the process holds what it could not write
        self._begun = False  # whether there may be a checkpoint of this run
        self._given_up = False
        self._outcome: Status | None = None  # how the run did, where it is not finished

    @property
    def waiting(self) -> str:
        """What is said while it waits for its turn; nothing where it does not wait."""
        ticket = self._ticket
        if ticket is None or workers.LEARNING.place(ticket) == 0:
            return ""
        return workers.LEARNING.sentence(ticket)

    @property
    def unsaved(self) -> bool:
        """Whether there is a result that could not be written; starting again tries once more."""
        return self.status == "failed" and self._held

    @property
    def resumable(self) -> bool:
        """Whether it failed for a reason outside it, and can go on."""
        return self.status == "failed" and self._begun and not self._held

    def start(self) -> None:
        """Begin, or go on where it stopped."""
        if self.status != "running":
            self.wait(PATIENCE)  # its process has said how it did, and is about to end
        super().start()

    def stop(self) -> None:
        """Ask it to stop, also in the middle of a fit."""
        super().stop()
        self._say(workers.STOP)

    def give_up(self) -> None:
        """End it, and leave no checkpoint: another run has taken its place."""
        self._given_up = True
        self._stop.set()
        with self._speaking, suppress(OSError):
            if self._connection is not None:
                self._connection.shutdown(socket.SHUT_WR)
        self.wait(PATIENCE)

    def _work(self) -> None:
        try:
            if not self._held and not self._is_prepared():
                self.status = "stopped"
                return
            self._take_turn()
        except (_Died, DoesNotStart) as error:
            self.error = str(error)
            self.status = "stopped" if self._given_up else "failed"
        except Exception as error:  # whatever it is, the page must learn of it
            LOG.debug("a run failed", exc_info=True)
            self.error, self.status = self._describe_error(error), "failed"
        finally:
            if not self._held:
                self._hang_up()
            self._ended.set()

    def _take_turn(self) -> None:
        queue = workers.LEARNING
        self._ticket = ticket = queue.enter(self._owner)
        try:
            self.stage = "queued"
            if not queue.wait(ticket, self._stop.is_set) or self._stop.is_set():
                self.status = "stopped"
                return
            self.stage = "starting"
            self._run()
        finally:
            self._ticket = None
            queue.leave(ticket)

    def _run(self) -> None:
        self.notice = None
        for left in range(RESTARTS, -1, -1):
            if self._held:
                self._held = False
                self._say(workers.AGAIN)
            else:
                self._hand_over()
            status = self._follow()
            if status is None:
                self.status = self._outcome or self.status
                return
            self._hang_up()
            limited = workers.by_its_limits(status, self.limits)
            told = limited or f"The process that learned {workers.how(status, self.limits)}."
            if limited or not left or self._stop.is_set():
                raise _Died(told + ("" if limited else self._how_on()))
            self.notice = f"{told} Another has gone on from its last checkpoint."

    def _how_on(self) -> str:
        if self._can_go_on():
            return " Resume goes on from its last checkpoint."
        return " It had no checkpoint yet; learn again."

    def _hand_over(self) -> None:
        assert self._ask is not None
        request = self._ask(self._begun and self._can_go_on())
        connection = workers.PROCESS.ask(request)
        with self._speaking:
            self._connection = connection
        self._begun = True
        if self._given_up:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_WR)
        elif self._stop.is_set():
            self._say(workers.STOP)

    def _follow(self) -> int | None:
        """Note what the process says until it ends or waits; None where it said how the run did,
        else how it ended."""
        assert self._connection is not None
        self._outcome, said_how = None, False
        while True:
            try:
                message = receive(self._connection)
            except OSError:
                message = None
            if message is None:
                return None if said_how else -9
            kind, content = message
            if kind == END:
                self.spent = workers.ended(content)
                return None if said_how else int(self.spent["status"])
            said_how = self._note_message(kind, content) or said_how
            if self._held:
                return None

    def _note_message(self, kind: bytes, content: bytearray) -> bool:
        """Note one message; whether it says how the run did."""
        said = unpacked(content, computed=kind == workers.FINISHED)
        if kind == workers.BEGUN:
            self.pid = said["pid"]
        elif kind == workers.STEP:
            self._note(_Told(**said))
        elif kind == workers.PART:
            self.part = said["part"]
        elif kind == workers.TROUBLE:
            self.trouble = said["trouble"]
        elif kind == workers.FINISHED:
            self._take_result(said["run"], said["study"])
            return True
        else:
            self._held = said["held"]
            self.error = said["error"]
            self._outcome = "stopped" if kind == workers.STOPPED else "failed"
            if self._outcome == "failed" and not self._held:
                self._begun = False  # it would fail again in the same way
            return True
        return False

    def _take_result(self, run: str, study: Any) -> None:
        self.run = run
        self._finished(run, study)
        self._ask = None
        self._let_go()
        self.status = "finished"
        self._ended.set()  # pages need not wait for the process to be gone

    def _say(self, command: bytes) -> None:
        with self._speaking, suppress(OSError):
            if self._connection is not None:
                self._connection.sendall(command)

    def _hang_up(self) -> None:
        with self._speaking:
            if self._connection is not None:
                self._connection.close()
            self._connection, self.pid = None, None
