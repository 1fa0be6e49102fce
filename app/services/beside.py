"""Something that is computed of a kept run beside the pages, and how far it is.

The work is done in a process of its own, as learning is; a thread here notes how far it is. What
came out stays in memory by the run's place: it is cheap to compute again and no part of the run.
"""

from __future__ import annotations

import socket
import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Final, Generic, TypeVar

from imop_app import workers
from imop_app.services.errors import describe_error
from imop_app.workers import JobLimits
from imop_engine.errors import ImopError
from imop_engine.forking import END, RESULT, DoesNotStart, receive
from imop_engine.progress import Stopped
from imop_engine.tables.transport import packed, unpacked

KEPT: Final = 16  # runs of which the last answer stays in memory
T = TypeVar("T")


class Beside(Generic[T]):
    """One computation under way or ended; those of a kind say what is asked and what is answered.

    Args:
        location: Where the run is kept.
    """

    doing = "computes"  # what its process does, for the sentence where that is gone

    def __init__(self, location: str) -> None:
        self.location = location
        self.share = 0.0
        self.found: T | None = None
        self.error: str | None = None
        self._stop = threading.Event()
        self._connection: socket.socket | None = None
        self._speaking = threading.Lock()
        self._thread = threading.Thread(target=self._work, name=type(self).__name__, daemon=True)

    @property
    def running(self) -> bool:
        """Whether it still works."""
        return self.found is None and self.error is None

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Ask it to end; a process of its own ends at once."""
        self._stop.set()
        with self._speaking, suppress(OSError):
            if self._connection is not None:
                self._connection.shutdown(socket.SHUT_RDWR)

    def wait(self, seconds: float) -> None:
        """Wait until it has ended, or the time is over."""
        self._thread.join(seconds)

    def request(self) -> dict[str, Any]:
        """What the process of its own is asked; it gets the run's folder and limits besides."""
        raise NotImplementedError

    def here(self) -> T:
        """The same, computed in this process."""
        raise NotImplementedError

    def answer(self, found: dict[str, Any]) -> T:
        """What the process answered."""
        raise NotImplementedError

    def note(self, share: float) -> None:
        """Note how far it is; raises `Stopped` where it is to end."""
        self.share = share
        if self._stop.is_set():
            raise Stopped

    def _work(self) -> None:
        try:
            self.found = self._elsewhere() if workers.use_processes() else self.here()
        except Stopped:
            self.error = "Stopped."
        except Exception as error:  # whatever it is, the page must learn of it
            self.error = "Stopped." if self._stop.is_set() else describe_error(error)

    def _elsewhere(self) -> T:
        limits = JobLimits.chosen()
        request = {**self.request(), "folder": self.location, "limits": asdict(limits)}
        try:
            with workers.PROCESS.asked(packed(request)) as connection:
                with self._speaking:
                    self._connection = connection
                try:
                    found = self._followed(connection, limits)
                finally:
                    with self._speaking:
                        self._connection = None
        except DoesNotStart:
            return self.here()
        if found is None:
            raise ImopError(f"The process that {self.doing} is gone; try again.")
        if "error" in found:
            raise ImopError(str(found["error"][1]))
        return self.answer(found)

    def _followed(self, connection: socket.socket, limits: JobLimits) -> dict[str, Any] | None:
        self.note(0.0)
        while (message := receive(connection)) is not None:
            kind, content = message
            if kind == workers.PART:
                self.note(float(unpacked(content)["part"]))
            elif kind == RESULT:
                found: dict[str, Any] = unpacked(content, computed=True)
                return found
            elif kind == END:
                status = int(workers.ended(content)["status"])
                reason = workers.by_its_limits(status, limits)
                raise ImopError(reason or f"The process {workers.how(status, limits)}.")
        return None


B = TypeVar("B", bound=Beside[Any])


class LastAnswers(Generic[B]):
    """What was computed last, by the run's place."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, B] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, location: str) -> B | None:
        """What was computed, or is being computed, for a run; None before anybody asked."""
        with self._lock:
            return self._kept.get(location)

    def begin(self, fresh: B) -> B:
        """Start a computation, unless one is under way for its run; the one that is."""
        with self._lock:
            before = self._kept.get(fresh.location)
            if before is not None and before.running:
                return before
            self._kept[fresh.location] = fresh
            self._kept.move_to_end(fresh.location)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        fresh.start()
        return fresh
