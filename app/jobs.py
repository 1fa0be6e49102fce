"""Learning in the background, which pages look at and never wait for: in a thread, or in a process
of its own (worker_jobs.py), where the same job runs.

The thread consumes a generator of steps and writes what it sees into a `Job`. It knows nothing of
pages: it calls no `st.*`, and pages only read. A stopped job keeps its generator and goes on with
the next step when it is resumed.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from imop_app.settings import Settings
from imop_engine.errors import ImopError
from imop_engine.progress import Stopped, watched

LOG = logging.getLogger("imop")
Status = Literal["running", "stopped", "finished", "failed"]

# Steps kept for the live charts. When there are more every second one is dropped, so that a
# stream of any length costs the same memory.
TRAIL_POINTS: Final = 240
# A crash while learning costs no more than this.
CHECKPOINT_SECONDS: Final = 2.0
# What comes after the stream, and is told by shares and not by portfolios.
FITTING: Final = ("refining", "describing")
# Before so much is done, and for so short a wait, nothing is said of the time left.
LEAST_SHARE: Final = 0.05
LEAST_SECONDS: Final = 1.0


@dataclass(frozen=True, eq=False)
class TrailPoint:
    """What the live charts need of a step. The step itself carries its whole state, and a few
    hundred states of a long stream would fill the memory."""

    done: int
    theta: Any
    loss: float

    @classmethod
    def of(cls, step: Any) -> TrailPoint:
        """The light part of a step."""
        return cls(step.done, step.theta, step.loss)


class Job:
    """One run under way: how far it is, what it has seen, and how it ended.

    `keep` writes the study and returns the id under which it can be shown from now on: a run is
    called finished when it is on the disk. `describe_error` says in a sentence what went wrong.
    `before` waits for what the first step needs, and answers False where the event it is given was
    set meanwhile. While it learns, its state is kept every two seconds, so that after a crash no
    more than that is learned again.

    Args:
        settings: What was chosen for the run.
        steps: Makes the steps of the run.
        keep: Writes the finished study; returns the id under which it is kept.
        name: Of the run.
        checkpoint: Keeps the state after a step; None keeps none.
        describe_error: Puts an error in words.
        before: Waits for what the first step needs; None waits for nothing.
        again: Makes the steps from a state, where a stop ended them in the middle of one; None:
            a stop waits for the end of the step.
    """

    def __init__(
        self,
        settings: Settings,
        steps: Callable[[], Iterator[Any]],
        keep: Callable[[Any], str],
        name: str,
        checkpoint: Callable[[Any], None] | None = None,
        describe_error: Callable[[BaseException], str] = str,
        before: Callable[[threading.Event], bool] | None = None,
        again: Callable[[Any], Iterator[Any]] | None = None,
    ) -> None:
        self.settings = settings
        self.name = name
        self.status: Status = "running"
        self.stage = "starting"
        self.done = 0
        self.total = 0
        self.part = 0.0  # the share of a stage after the stream that is done
        self._stage_began = time.monotonic()
        self.error: str | None = None
        self.notice: str | None = None  # what happened to it on the way
        self.trouble: str | None = None  # why the last checkpoint could not be kept
        self.run: str | None = None  # the id under which the result is kept
        self.adopted = False  # whether a page has made that run the one it shows
        self.started = time.time()
        self._make = steps
        self._steps: Iterator[Any] | None = None
        self._keep = keep
        self._checkpoint = checkpoint
        self._describe_error = describe_error
        self._before = before
        self._again = again
        self._cut: Any = None  # the state to go on from where a stop ended a step
        self._last: Any = None
        self._checkpointed = float("-inf")
        self._unsaved: Any = None  # a finished study that could not be written
        self._trail: list[TrailPoint] = []
        self._every = 1
        self._count = 0
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._ended = threading.Event()  # there is something to show, or nothing more will come
        self._thread: threading.Thread | None = None

    @property
    def share(self) -> float:
        """The share of its stage that is done: of the portfolios, or of the fit."""
        if self.stage in FITTING:
            return self.part
        return min(1.0, self.done / self.total) if self.total else 0.0

    @property
    def left(self) -> float | None:
        """Seconds that the stage may still take; None where it is too early to say."""
        return time_left(self.share, time.monotonic() - self._stage_began)

    @property
    def unsaved(self) -> bool:
        """Whether there is a result that could not be written; starting again tries once more."""
        return self.status == "failed" and self._unsaved is not None

    @property
    def resumable(self) -> bool:
        """Whether it failed for a reason outside it, and can go on from its checkpoint."""
        return False

    @property
    def waiting(self) -> str:
        """What is said while it waits for its turn; a thread of its own waits for none."""
        return ""

    @property
    def alive(self) -> bool:
        """Whether it still works."""
        return self._thread is not None and self._thread.is_alive()

    def trail(self) -> list[TrailPoint]:
        """The steps so far, thinned; a copy, so that it holds still while it is drawn."""
        with self._lock:
            if self._last is None or (self._trail and self._trail[-1].done == self._last.done):
                return list(self._trail)
            return [*self._trail, TrailPoint.of(self._last)]

    def start(self) -> None:
        """Begin, or go on where it stopped."""
        if self.alive or self.status == "finished":
            return
        self.go_on()
        self._thread = threading.Thread(target=self._work, name=f"learn {self.name}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ask it to stop after the step it is in."""
        self._stop.set()

    def give_up(self) -> None:
        """Ask it to stop, and to leave no checkpoint: another run has taken its place."""
        self._checkpoint = None
        self._stop.set()

    def wait_for_result(self, seconds: float) -> None:
        """Wait until there is something to show, or the time is over."""
        self._ended.wait(seconds)

    def wait(self, seconds: float) -> None:
        """Wait until all is written, or the time is over."""
        if self._thread is not None:
            self._thread.join(seconds)

    def work_here(self) -> None:
        """Do in this thread what `start` does in another."""
        self._work()

    def go_on(self) -> None:
        """Be ready to work again after a stop or a failure."""
        self._stop.clear()
        self._ended.clear()
        self.status, self.error = "running", None

    def _work(self) -> None:
        with watched(self._note_part):
            self._take_steps()

    def _begin(self) -> Iterator[Any]:
        cut, self._cut = self._cut, None
        return self._make() if cut is None or self._again is None else self._again(cut)

    def _note_part(self, share: float) -> None:
        """How far a step is; a stop ends it here, as the stream that came before is kept."""
        self.part = share
        if self._stop.is_set() and self._again is not None and self._last is not None:
            raise Stopped

    def _take_steps(self) -> None:
        try:
            if self._unsaved is not None:
                self._finish(self._unsaved)
                return
            if self._steps is None:
                if not self._is_prepared():
                    self.status = "stopped"
                    return
                self._steps = self._begin()
            for step in self._steps:
                self._note(step)
                if step.study is not None:
                    self._finish(step.study)
                    return
                if self._stop.is_set():
                    break
                self._keep_state(step)
            if self._last is not None:
                self._keep_state(self._last, now=True)
            self.status = "stopped"
        except Stopped:
            self._cut, self._steps = self._last.state, None
            self._keep_state(self._last, now=True)
            self.status = "stopped"
        except Exception as error:  # whatever it is, the page must learn of it
            LOG.debug("a run failed", exc_info=True)
            self.error = self._describe_error(error)
            self.status, self._steps = "failed", None
        finally:
            self._ended.set()

    def _finish(self, study: Any) -> None:
        """Write the study, and only then say that the run is finished."""
        self._unsaved = study
        self.run = self._keep(study)
        self._unsaved = None
        self._let_go()
        self.status = "finished"

    def _let_go(self) -> None:
        """Keep the trail and nothing else: the study lies on the disk, and pages open it there."""
        with self._lock:
            if self._last is not None:
                self._trail.append(TrailPoint.of(self._last))
            self._last, self._steps = None, None
        self._make, self._checkpoint, self._before = _nothing, None, None
        self._again = None
        self._keep = str

    def _keep_state(self, step: Any, now: bool = False) -> None:
        """Keep the state if the last one has become old, or the stream has just been seen.

        A full disk does not end a run: it says so, and goes on.
        """
        keep = self._checkpoint
        if keep is None:
            return
        old = time.monotonic() - self._checkpointed >= CHECKPOINT_SECONDS
        seen = step.stage == "learning" and step.done >= step.total
        if not (now or seen or (old and step.stage == "learning")):
            return
        try:
            keep(step.state)
            self.trouble = None
        except ImopError as error:
            self.trouble = str(error)
        self._checkpointed = time.monotonic()

    def _is_prepared(self) -> bool:
        """Wait for what the first step needs; False where it was stopped before."""
        if self._before is None:
            return True
        self.stage = "preparing"
        prepared = self._before(self._stop)
        self.stage = "starting"
        return prepared

    def _note(self, step: Any) -> None:
        with self._lock:
            if step.stage != self.stage:
                self._stage_began, self.part = time.monotonic(), 0.0
            self.stage, self.done, self.total = step.stage, step.done, step.total
            self._last = step
            if self._count % self._every == 0:
                self._trail.append(TrailPoint.of(step))
            self._count += 1
            if len(self._trail) > TRAIL_POINTS:
                self._trail = self._trail[::2]
                self._every *= 2


def time_left(share: float, seconds: float) -> float | None:
    """How long a stage will still take at its pace so far; None where it is too early to say.

    >>> time_left(0.25, 10.0), time_left(0.01, 10.0)
    (30.0, None)

    Args:
        share: What is done of it.
        seconds: What that took.
    """
    if share < LEAST_SHARE or seconds < LEAST_SECONDS:
        return None
    return seconds * (1.0 - share) / share


def _nothing() -> Iterator[Any]:
    """The steps of a run that has ended."""
    return iter(())


class JobBook:
    """The jobs of this server, one for each workspace; a browser that reloads finds its own."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()

    def get(self, workspace: str) -> Job | None:
        """The workspace's job, running or not."""
        with self._lock:
            return self._jobs.get(workspace)

    def put(self, workspace: str, job: Job) -> None:
        """Make it the workspace's job; an older one that still works is asked to stop."""
        with self._lock:
            before = self._jobs.get(workspace)
            self._jobs[workspace] = job
        if before is not None and before is not job:
            before.give_up()

    def drop(self, workspace: str) -> None:
        """Forget the workspace's job."""
        with self._lock:
            before = self._jobs.pop(workspace, None)
        if before is not None:
            before.give_up()


JOBS = JobBook()
