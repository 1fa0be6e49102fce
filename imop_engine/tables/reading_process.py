"""The process that reads: `python -m imop_engine.tables.reading_process FD`, started by apart.py.

It loads the readers once and waits. For every request it forks twice: a child that reads, within
its budget and nothing else's, and one that waits for it and says how it ended. Whatever a file does
to the child, memory and processor time are given back when it ends; and when nobody waits for the
answer any more, it ends.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from typing import Any

from imop_engine import errors
from imop_engine.errors import ImopError, UnreadableFile
from imop_engine.tables.readers import data_size, limit, named, read_here
from imop_engine.tables.reading_limits import Budget
from imop_engine.tables.transport import packed, unpacked

RESULT, END = b"R", b"E"
HEADER_BYTES = 9


def send(connection: socket.socket, kind: bytes, content: bytes) -> None:
    """Send one message.

    Args:
        connection: To whom.
        kind: One byte that says what it is.
        content: Of the message.
    """
    connection.sendall(kind + len(content).to_bytes(8, "big"))
    connection.sendall(content)


def receive(connection: socket.socket) -> tuple[bytes, bytearray] | None:
    """The next message, its kind and its content; None where nobody is there any more."""
    header = exactly(connection, HEADER_BYTES)
    if header is None:
        return None
    content = exactly(connection, int.from_bytes(header[1:], "big"))
    return None if content is None else (bytes(header[:1]), content)


def exactly(connection: socket.socket, count: int) -> bytearray | None:
    """So many bytes; None where the other end closed before."""
    content = bytearray(count)
    view, place = memoryview(content), 0
    while place < count:
        got = connection.recv_into(view[place:])
        if not got:
            return None
        place += got
    return content


def main(descriptor: int) -> None:
    """Serve requests until the process that started this one is gone."""
    control = socket.socket(fileno=descriptor)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody here asks how children ended
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the shell's Ctrl-C is for the one who asked
    import openpyxl  # noqa: F401  (loaded before the fork, so that no request waits for it)

    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            return
        if os.fork() == 0:
            control.close()
            _supervise(socket.socket(fileno=descriptors[0]))
            os._exit(0)
        os.close(descriptors[0])


def _supervise(connection: socket.socket) -> None:
    """Read in a child, and say how it ended and what it took."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request = receive(connection)
    if request is None:
        return
    child = os.fork()
    if child == 0:
        _work(connection, unpacked(request[1]))
        os._exit(0)
    _, status, used = os.wait4(child, 0)
    ended = {
        "status": os.waitstatus_to_exitcode(status),
        "seconds": used.ru_utime + used.ru_stime,
        "memory": used.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
    }
    with suppress(OSError):  # nobody may wait for it
        send(connection, END, packed(ended))


def _work(connection: socket.socket, request: dict[str, Any]) -> None:
    """Read, and send the result or the sentence."""
    threading.Thread(target=_leave_with, args=(connection,), daemon=True).start()
    budget: Budget | None = request["budget"]
    if budget is not None:
        _limit(budget)
    file = named(request["sources"], request["options"])
    try:
        answer = {"value": read_here(request["reader"], request["sources"], request["options"])}
        content = packed(answer)
    except MemoryError:
        content = packed(
            {"error": (UnreadableFile.__name__, out_of_memory(budget, file), None, ())}
        )
    except ImopError as error:
        about = getattr(error, "report", None), getattr(error, "cures", ())
        content = packed({"error": (type(error).__name__, str(error), *about)})
    send(connection, RESULT, content)


def out_of_memory(budget: Budget | None, file: str) -> str:
    """The sentence where the memory is spent, with the budget or without."""
    return f"{file} is too large to be read." if budget is None else budget.out_of_memory(file)


def _limit(budget: Budget) -> None:
    """Let this process spend its budget; beyond it the system ends it."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    limit(resource.RLIMIT_CPU, int(budget.seconds + 0.999))
    held = data_size()
    if held:
        limit(resource.RLIMIT_DATA, held + budget.memory)
    signal.setitimer(signal.ITIMER_REAL, budget.wall)


def _leave_with(connection: socket.socket) -> None:
    """End this process when the one who asked has gone."""
    try:
        while connection.recv(1):
            pass
    except OSError:
        pass
    os._exit(1)


def error_of(name: str, text: str, report: Any, cures: tuple[Any, ...]) -> ImopError:
    """The error that was raised in the other process.

    Args:
        name: Of its class.
        text: Its sentence.
        report: The reading report that it carries; None where it has none.
        cures: Choices that may help.
    """
    kind = getattr(errors, name, None)
    if kind is UnreadableFile:
        return UnreadableFile(text, cures)
    if not isinstance(kind, type) or not issubclass(kind, ImopError):
        kind = UnreadableFile
    return kind(text) if report is None else errors.RefusedRows(text, report)


if __name__ == "__main__":
    main(int(sys.argv[1]))
