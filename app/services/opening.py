"""Opening a kept study in a process of its own: that computes for seconds; pages go on."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Final

from imop_app import workers
from imop_app.services.errors import AppError
from imop_app.services.reading import has_left
from imop_app.store import RunStore
from imop_app.workers import JobLimits
from imop_engine import errors
from imop_engine.errors import ImopError
from imop_engine.forking import END, RESULT, DoesNotStart, ForkingProcess, receive
from imop_engine.tables.transport import packed, unpacked

ASK_SECONDS: Final = 0.1


def open_study(store: RunStore, run: str) -> Any:
    """The study of a run; FileNotFoundError where it is gone.

    Args:
        store: Where runs are kept.
        run: Its id.
    """
    if not workers.use_processes():
        return store.open(run)

    def load(folder: str) -> Any:
        return answered(workers.PROCESS, {"what": "open", "folder": folder}, "opened the run")

    try:
        return store.opened_by(run, load)["study"]
    except DoesNotStart:
        return store.open(run)


def answered(process: ForkingProcess, request: dict[str, Any], what: str) -> dict[str, Any]:
    """What a process of its own answers, waited for as long as the analyst does.

    Args:
        process: Who forks for it.
        request: What is asked; its limits are added.
        what: What that process did, for the sentence where it died.

    Returns:
        Named values; where the process raised one of our errors, it is raised here.
    """
    limits = JobLimits.chosen()
    with _turn(), process.asked(packed({**request, "limits": asdict(limits)})) as connection:
        answer, status = _answer(connection)
    if answer is None:
        reason = workers.by_its_limits(status, limits)
        raise AppError(reason or f"The process that {what} {workers.how(status, limits)}.")
    found: dict[str, Any] = unpacked(answer, computed=True)
    if "error" in found:
        raise _error_of(*found["error"])
    return found


@contextmanager
def _turn() -> Iterator[None]:
    # each page has a turn of its own: whoever waits for a page asks for one study at a time
    ticket = workers.OPENING.enter(f"page {threading.get_ident()}")
    try:
        workers.OPENING.wait(ticket, has_left)
        yield
    finally:
        workers.OPENING.leave(ticket)


def _answer(connection: socket.socket) -> tuple[bytearray | None, int | None]:
    """What came, and how the process ended; nobody waits for a process that has answered."""
    while True:
        while not select.select([connection], [], [], ASK_SECONDS)[0]:
            has_left()
        message = receive(connection)
        if message is None:
            return None, None
        if message[0] == RESULT:
            return message[1], 0
        if message[0] == END:
            return None, int(workers.ended(message[1])["status"])


def _error_of(name: str, text: str) -> ImopError:
    kind = getattr(errors, name, ImopError)
    made = kind(text) if isinstance(kind, type) and issubclass(kind, ImopError) else None
    return made or ImopError(text)
