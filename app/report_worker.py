"""The process that makes reports: `python -m imop_app.report_worker FD`, started by making.py.

It loads charts and the engine once and waits; each file is made in a fork of it, from the run on
the disk.
"""

from __future__ import annotations

import os
import socket
import sys
from typing import Any, Final

from imop_app.services.errors import AppError
from imop_app.worker import NICER_LOADING, NICER_WORKING, answer, opened
from imop_app.workers import JobLimits
from imop_engine.errors import ImopError
from imop_engine.forking import limit_process, serve
from imop_engine.tables.transport import unpacked

MADE: Final = ("html", "table_csv", "workbook", "json_document", "picture")


def main(descriptor: int) -> None:
    """Load, then serve requests until the process that started this one is gone."""
    os.nice(NICER_LOADING)
    import imop_app.services.reports  # noqa: F401  (before the fork, so that no request waits)
    import imop_engine.report.html
    import imop_engine.storage  # noqa: F401
    from imop_app.services.warm import compiled_code

    compiled_code()
    serve(descriptor, _work)


def _work(connection: socket.socket, content: bytearray) -> None:
    request: dict[str, Any] = unpacked(content)
    os.nice(NICER_WORKING)
    limits = JobLimits(**request["limits"])
    limit_process(limits.seconds, limits.memory)
    answer(connection, lambda: {"content": made(request)}, limits)


def made(request: dict[str, Any]) -> bytes:
    """The file that was asked for.

    Args:
        request: The run's folder, what groups are compared by, what is made of it, and how.
    """
    from imop_app.services import reports

    if request["what"] not in MADE:
        raise ValueError(f"{request['what']!r} is nothing that is made here")
    study = opened(request["folder"])
    if request["by"] != study.settings.by:
        study = study.grouped_by(request["by"])
    try:
        found = getattr(reports, request["what"])(study, *request["arguments"])
    except AppError as error:  # which is none of those that cross over to another process
        raise ImopError(str(error)) from None
    return found.encode() if isinstance(found, str) else bytes(found)


if __name__ == "__main__":
    main(int(sys.argv[1]))
