"""Compiling the numerical code behind the pages, once on a new machine.

A process of its own compiles (`python -m imop_engine.warm`), with workers of its own, so that this
server's pages stay quick meanwhile. A thread here follows it: what is killed is started again, and
what fails is said in a sentence. Whoever needs a kernel asks `require` first, or waits in a thread
of a run.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Final, Literal, ParamSpec, TypeVar

from imop_app.services.errors import AppError, sentences

LOG = logging.getLogger("imop")
P = ParamSpec("P")
T = TypeVar("T")
State = Literal["preparing", "ready", "failed"]

# -P: not what lies in the folder we happen to be in, but what this server runs.
COMMAND: Final = (sys.executable, "-P", "-m", "imop_engine.warm", "--status")
# Pages come first: on a busy machine compiling gets what they leave.
NICER: Final = 3
# A process that was killed is started again, but not for ever.
STARTS: Final = 3
LOOK_SECONDS: Final = 0.25


class Preparing(AppError):
    """The numerical code is not compiled yet; what needs it goes on by itself later."""


@dataclass(frozen=True)
class CompilingProgress:
    """How far compiling is.

    `done` of `total` parts are ready, `what` names the one it is at, `seconds` have passed since
    it began, and `reason` says why it failed.
    """

    state: State = "preparing"
    done: int = 0
    total: int = 0
    what: str = ""
    seconds: float = 0.0
    reason: str = ""

    @property
    def share(self) -> float:
        """The share of the parts that are ready."""
        return min(1.0, self.done / self.total) if self.total else 0.0

    def sentence(self) -> str:
        """What the progress bar says."""
        counted = f"{self.done} of {self.total} parts, " if self.total else ""
        return f"Preparing the numerical code, once: {counted}{self.seconds:.0f} s so far"


def _is_ready() -> bool:
    from imop_engine import warm  # with it come arrays and the compiler's library

    return warm.is_ready()


class Preparation:
    """One compiling under way, watched by a thread; safe to ask from any thread.

    Args:
        is_ready: whether everything is compiled already.
        command: what compiles; it is given the path of the file for its progress as last argument.
    """

    def __init__(
        self, is_ready: Callable[[], bool] = _is_ready, command: Sequence[str] = COMMAND
    ) -> None:
        self._is_ready = is_ready
        self._command = tuple(command)
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._progress = CompilingProgress()
        self._begun: float | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._checked = False

    @property
    def ready(self) -> bool:
        """Whether kernels can be called without waiting."""
        with self._lock:
            if not self._checked and self._progress.state == "preparing":
                self._checked = True
                if self._is_ready():
                    self._set(CompilingProgress("ready"))
            return self._progress.state == "ready"

    def progress(self) -> CompilingProgress:
        """How far it is."""
        with self._lock:
            begun = self._begun
            found = self._progress
        if found.state != "preparing" or begun is None:
            return found
        return replace(found, seconds=time.monotonic() - begun)

    def begin(self) -> None:
        """Start compiling, if that is needed and nobody here has started it; never waits."""
        if self.ready:
            return
        with self._lock:
            if self._begun is not None:
                return
            self._begun = time.monotonic()
            self._set(CompilingProgress())
        threading.Thread(target=self._follow, name="prepare", daemon=True).start()

    def again(self) -> None:
        """Try once more after a failure."""
        with self._lock:
            if self._progress.state != "failed":
                return
            self._begun = None
            self._set(CompilingProgress())
        self.begin()

    def wait(self, stop: threading.Event | None = None) -> bool:
        """Wait until it is ready; False where `stop` was set first.

        After a failure it goes on waiting: somebody may try again, and then nothing is lost.
        """
        self.begin()
        while not self.ready:
            if stop is not None and stop.is_set():
                return False
            with self._changed:
                self._changed.wait(LOOK_SECONDS)
        return True

    def require(self) -> None:
        """Raise `Preparing` while the code is not ready: pages show that instead of waiting."""
        if self.ready:
            return
        if self.progress().state == "failed":
            raise Preparing("This needs the numerical code, which could not be prepared.")
        raise Preparing("This waits for the numerical code and appears by itself.")

    def end(self) -> None:
        """End the process that compiles; what it has finished stays."""
        child = self._child
        if child is not None and child.poll() is None:
            with suppress(OSError):
                if hasattr(os, "killpg"):
                    os.killpg(child.pid, signal.SIGTERM)
                else:
                    child.terminate()

    def _set(self, progress: CompilingProgress) -> None:
        """Called with the lock held."""
        self._progress = progress
        self._changed.notify_all()

    def _follow(self) -> None:
        try:
            reason = self._compile()
        except Exception as error:  # the page must learn of it, whatever it is
            LOG.debug("preparing failed", exc_info=True)
            reason = f"{type(error).__name__}: {error}"
        with self._lock:
            self._set(
                CompilingProgress("failed", reason=_failed(reason))
                if reason
                else CompilingProgress("ready")
            )

    def _compile(self) -> str:
        """Run the process that compiles; why it failed, or nothing."""
        code = 0
        with tempfile.TemporaryDirectory(prefix="imop-") as folder:
            status, said = Path(folder) / "status.json", Path(folder) / "said"
            for _ in range(STARTS):
                code = self._run(status, said)
                if code == 0:
                    return ""
                if code > 0:
                    return _last_line(said) or f"the compiler ended with code {code}"
        return f"it was ended from outside {STARTS} times, the last time by signal {-code}"

    def _run(self, status: Path, said: Path) -> int:
        with said.open("wb") as log:
            # A group of its own, so that all of it can be ended together.
            child = subprocess.Popen(
                [*self._command, str(status)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        self._child = child
        atexit.register(self.end)
        if hasattr(os, "setpriority"):
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, child.pid, NICER)
        try:
            while True:
                code = _ended(child)
                self._note(status)
                if code is not None:
                    return code
        finally:
            atexit.unregister(self.end)

    def _note(self, status: Path) -> None:
        try:
            read = json.loads(status.read_text(encoding="utf-8"))
            found = CompilingProgress(
                "preparing", int(read["done"]), int(read["total"]), str(read["what"])
            )
        except (OSError, ValueError, KeyError, TypeError):
            return  # not written yet
        with self._lock:
            self._set(found)


def _ended(child: subprocess.Popen[bytes]) -> int | None:
    try:
        return child.wait(LOOK_SECONDS)
    except subprocess.TimeoutExpired:
        return None


def _last_line(said: Path) -> str:
    lines = said.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else ""


def _failed(reason: str) -> str:
    return (
        f"The numerical code could not be prepared ({reason.rstrip('.')}). Try again; if it fails "
        "again, `python -m imop_engine.warm` in a shell shows the whole message."
    )


PREPARATION: Final = Preparation()


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """For what calls kernels: while they are being prepared it raises `Preparing` at once."""
    spoken = sentences(function)

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        PREPARATION.require()
        return spoken(*args, **kwargs)

    return wrapped
