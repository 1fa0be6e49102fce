"""Reading in a process of its own, so that no file can harm the one that serves pages.

The reading process is started with the first file and stays, because loading the readers takes a
second; each file is read in a fork of it, which ends with the file. Where a system cannot fork
(Windows) files are read in this process.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pandas as pd

from imop_engine.errors import ReadingStopped, UnreadableFile
from imop_engine.forking import CAN_FORK, END, RESULT, DoesNotStart, ForkingProcess, receive
from imop_engine.tables.open_table import Source
from imop_engine.tables.readers import budget_of, named, read_here
from imop_engine.tables.reading_limits import Budget
from imop_engine.tables.reading_process import error_of
from imop_engine.tables.transport import packed, unpacked

# How often somebody who waits is asked whether she still does.
ASK_SECONDS: Final = 0.1


def read_apart(
    reader: str,
    sources: Sequence[Source],
    options: Mapping[str, Any],
    stop: Callable[[], bool] | None = None,
) -> Any:
    """Call a reader in another process, within a budget; what it returns or raises is the same.

    Args:
        reader: Its name in `READERS`, such as "returns" or "portfolios".
        sources: The files, as the reader takes them.
        options: Its named arguments.
        stop: Asked ten times a second whether nobody waits any more; reading then ends.
    """
    if not CAN_FORK or any(isinstance(source, pd.DataFrame) for source in sources):
        return read_here(reader, sources, options)
    given = [_content(source) for source in sources]
    budget, file = budget_of(given), named(sources, options)
    request = {"reader": reader, "sources": given, "options": dict(options), "budget": budget}
    try:
        with _PROCESS.asked(packed(request)) as connection:
            answer, ended = _answers(connection, stop, file)
    except DoesNotStart:
        raise UnreadableFile("The process that reads files does not start; see the log.") from None
    if answer is None:
        raise UnreadableFile(_how_it_ended(ended, budget, file))
    found = unpacked(answer)
    if "error" in found:
        raise error_of(*found["error"])
    return found["value"]


def _content(source: Source) -> Any:
    """A source as the other process can have it: a full path, or the bytes."""
    if isinstance(source, str | Path):
        return str(Path(source).absolute())
    if isinstance(source, bytes | bytearray | memoryview):
        return bytes(source)
    stream: Any = source
    content = stream.read()
    return content.encode() if isinstance(content, str) else bytes(content)


def _answers(
    connection: socket.socket, stop: Callable[[], bool] | None, file: str
) -> tuple[bytearray | None, Any]:
    """The answer and how the reading process ended; either may be missing."""
    answer, ended = None, None
    while ended is None:
        _wait(connection, stop, file)
        message = receive(connection)
        if message is None:
            break
        if message[0] == RESULT:
            answer = message[1]
        elif message[0] == END:
            ended = json.loads(bytes(message[1]))
    return answer, ended


def _wait(connection: socket.socket, stop: Callable[[], bool] | None, file: str) -> None:
    """Wait until there is something to receive; whoever waits is asked whether she still does."""
    if stop is None:
        return
    connection.settimeout(ASK_SECONDS)
    try:
        while True:
            if stop():
                raise ReadingStopped(f"Reading {file} was stopped; choose the file again.")
            with contextlib.suppress(TimeoutError):
                connection.recv(1, socket.MSG_PEEK)
                return
    finally:
        connection.settimeout(None)


def _how_it_ended(ended: Any, budget: Budget | None, file: str) -> str:
    status = None if ended is None else ended["status"]
    if budget is not None and status in (-signal.SIGXCPU, -signal.SIGALRM, -signal.SIGKILL):
        return budget.out_of_time(file)
    # by compiled code that asks whether it got memory, and by code that does not
    if budget is not None and status in (-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS):
        return budget.out_of_memory(file)
    how = "was ended" if status is None else f"ended with {status}"
    return (
        f"{file} cannot be read: the process that read it {how}. Save it again as CSV, and report "
        "it if that does not help."
    )


_PROCESS: Final = ForkingProcess("imop_engine.tables.reading_process")


def start() -> None:
    """Start the reading process ahead of the first file; does nothing where it runs."""
    if CAN_FORK:
        _PROCESS.start()


def close() -> None:
    """End the reading process; the next file starts another."""
    _PROCESS.close()


atexit.register(close)
