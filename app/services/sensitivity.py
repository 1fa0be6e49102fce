"""A run's estimate under other choices, computed beside the pages and kept with the run.

The work is done in a process of its own, as learning is; a thread here notes how far it is. What
came out stays in memory by the run's place: it is cheap to compute again and no part of the run.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import asdict, dataclass
from typing import Any, Final

import pandas as pd

from imop_app import workers
from imop_app.services import alternatives
from imop_app.services.errors import describe_error
from imop_app.services.opened import OPENED
from imop_app.workers import JobLimits
from imop_engine.errors import ImopError
from imop_engine.forking import END, RESULT, DoesNotStart, receive
from imop_engine.progress import Stopped
from imop_engine.tables.transport import packed, unpacked

KEPT: Final = 16  # runs whose alternatives stay in memory


@dataclass(frozen=True, eq=False)
class Alternatives:
    """The estimate under other choices.

    Args:
        table: choice, alternative, asset, estimate, study and difference.
        summary: choice, alternative, largest, asset, rank_correlation, explained and reason.
        said: What each kind of choice changes, in words.
    """

    table: pd.DataFrame
    summary: pd.DataFrame
    said: tuple[str, ...]


class Comparing:
    """One computation under way or ended.

    Args:
        location: Where the run is kept.
    """

    def __init__(self, location: str) -> None:
        self.location = location
        self.share = 0.0
        self.found: Alternatives | None = None
        self.error: str | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="sensitivity", daemon=True)

    @property
    def running(self) -> bool:
        """Whether it still works."""
        return self.found is None and self.error is None

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Ask it to end."""
        self._stop.set()

    def wait(self, seconds: float) -> None:
        """Wait until it has ended, or the time is over."""
        self._thread.join(seconds)

    def _work(self) -> None:
        try:
            self.found = self._here() if not workers.use_processes() else self._beside()
        except Stopped:
            self.error = "Stopped."
        except Exception as error:  # whatever it is, the page must learn of it
            self.error = describe_error(error)

    def _note(self, share: float) -> None:
        self.share = share
        if self._stop.is_set():
            raise Stopped

    def _here(self) -> Alternatives:
        from imop_engine.storage import load_study

        study = OPENED.get(self.location) or load_study(self.location)
        return Alternatives(**alternatives.of_study(study, self._note))

    def _beside(self) -> Alternatives:
        limits = JobLimits.chosen()
        request = {"what": "sensitivity", "folder": self.location, "limits": asdict(limits)}
        try:
            with workers.PROCESS.asked(packed(request)) as connection:
                while (message := receive(connection)) is not None:
                    kind, content = message
                    if kind == workers.PART:
                        self._note(float(unpacked(content)["part"]))
                    elif kind == RESULT:
                        return _answer(unpacked(content, computed=True))
                    elif kind == END:
                        status = int(workers.ended(content)["status"])
                        reason = workers.by_its_limits(status, limits)
                        raise ImopError(reason or f"The process {workers.how(status, limits)}.")
        except DoesNotStart:
            return self._here()
        raise ImopError("The process that compares choices is gone; try again.")


def _answer(found: dict[str, Any]) -> Alternatives:
    if "error" in found:
        raise ImopError(str(found["error"][1]))
    return Alternatives(found["table"], found["summary"], tuple(found["said"]))


class _Book:
    """What was compared last, by the run's place."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Comparing] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, location: str) -> Comparing | None:
        with self._lock:
            return self._kept.get(location)

    def put(self, one: Comparing) -> None:
        with self._lock:
            self._kept[one.location] = one
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)


_BOOK: Final = _Book()


def of_run(location: str) -> Comparing | None:
    """What was compared, or is being compared, for a run; None before anybody asked."""
    return _BOOK.get(location)


def begin(location: str) -> Comparing:
    """Compare choices for a run in the background; one at a time for each run."""
    before = _BOOK.get(location)
    if before is not None and before.running:
        return before
    fresh = Comparing(location)
    _BOOK.put(fresh)
    fresh.start()
    return fresh
