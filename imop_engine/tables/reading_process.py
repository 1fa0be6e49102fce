"""The process that reads: `python -m imop_engine.tables.reading_process FD`, started by apart.py.

It loads the readers once and waits; each file is read in a fork of it, within its budget and
nothing else's.
"""

from __future__ import annotations

import os
import socket
import sys
from typing import Any

from imop_engine import errors
from imop_engine.errors import ImopError, UnreadableFile
from imop_engine.forking import RESULT, leave_with, limit_process, send, serve
from imop_engine.tables.readers import named, read_here
from imop_engine.tables.reading_limits import Budget
from imop_engine.tables.transport import packed, unpacked

# Pages come first: on a busy machine reading gets what those who serve them leave.
NICER = 10


def main(descriptor: int) -> None:
    """Serve requests until the process that started this one is gone."""
    import openpyxl  # noqa: F401  (loaded before the fork, so that no request waits for it)

    serve(descriptor, _work)


def _work(connection: socket.socket, content: bytearray) -> None:
    """Read, and send the result or the sentence."""
    request: dict[str, Any] = unpacked(content)
    leave_with(connection)
    if hasattr(os, "nice"):
        os.nice(NICER)
    budget: Budget | None = request["budget"]
    if budget is not None:
        limit_process(budget.seconds, budget.memory, budget.wall)
    file = named(request["sources"], request["options"])
    try:
        answer = {"value": read_here(request["reader"], request["sources"], request["options"])}
        said = packed(answer)
    except MemoryError:
        said = packed({"error": (UnreadableFile.__name__, out_of_memory(budget, file), None, ())})
    except ImopError as error:
        about = getattr(error, "report", None), getattr(error, "cures", ())
        said = packed({"error": (type(error).__name__, str(error), *about)})
    send(connection, RESULT, said)


def out_of_memory(budget: Budget | None, file: str) -> str:
    """The sentence where the memory is spent, with the budget or without."""
    return f"{file} is too large to be read." if budget is None else budget.out_of_memory(file)


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
