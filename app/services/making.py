"""Reports, workbooks and pictures made in a process of their own, so that pages go on meanwhile.

That process starts when somebody first sees the page that offers them: it loads charts, which no
run needs. A short table is written here: that takes less than asking.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from imop_app import workers
from imop_app.services import reports
from imop_app.services.errors import sentences
from imop_app.services.opening import answered
from imop_engine.forking import DoesNotStart, ForkingProcess
from imop_engine.report import printing
from imop_engine.study import Study

PROCESS: Final = ForkingProcess("imop_app.report_worker")
SHORT: Final = 5000  # investors whose table is written at once


@dataclass(frozen=True, eq=False)
class Shown:
    """The run that is taken away, with the groups that are compared in it, and its folder."""

    study: Study
    location: str
    stem: str = "run"  # what the names of its files begin with


def start() -> None:
    """Start the process ahead of the first click; does nothing where it runs."""
    if workers.use_processes():
        PROCESS.start()


def html(shown: Shown, title: str, notes: str, command: str) -> str:
    """The report as one HTML page that needs nothing else.

    Args:
        shown: The run.
        title: Of the report.
        notes: The analyst's remarks.
        command: The line of the shell that makes the report again.
    """
    arguments = (title, notes, command)
    return _made(
        shown, "html", arguments, lambda: reports.html(shown.study, *arguments).encode()
    ).decode()


@sentences
def pdf(shown: Shown, title: str, notes: str, command: str, paper: str = "") -> bytes:
    """The report as PDF, printed from the page of `html`.

    Args:
        shown: The run.
        title: Of the report.
        notes: The analyst's remarks.
        command: The line of the shell that makes the report again.
        paper: "a4" or "letter"; "" leaves it to the printer.
    """
    return printing.pdf(printing.on_paper(html(shown, title, notes, command), paper))


def table_csv(shown: Shown, name: str) -> bytes:
    """One table as CSV, safe to open in a spreadsheet."""
    if shown.study.rounds <= SHORT:
        return reports.table_csv(shown.study, name)
    return _made(shown, "table_csv", (name,), lambda: reports.table_csv(shown.study, name))


def workbook(shown: Shown) -> bytes:
    """All tables as one Excel workbook."""
    return _made(shown, "workbook", (), lambda: reports.workbook(shown.study))


def json_document(shown: Shown) -> bytes:
    """All tables as one JSON document."""
    return _made(shown, "json_document", (), lambda: reports.json_document(shown.study))


def picture(shown: Shown, name: str, ending: str) -> bytes:
    """One chart as SVG or PNG.

    Args:
        shown: The run.
        name: Which chart.
        ending: Svg or png.
    """
    arguments = (name, ending)
    return _made(shown, "picture", arguments, lambda: reports.picture(shown.study, *arguments))


@sentences
def _made(shown: Shown, what: str, arguments: tuple[str, ...], here: Callable[[], bytes]) -> bytes:
    """What the function of that name in `reports` returns, made elsewhere or, where nothing can be
    made elsewhere, here."""
    if not workers.use_processes():
        return here()
    request = {
        "what": what,
        "folder": shown.location,
        "by": shown.study.settings.by,
        "arguments": list(arguments),
    }
    try:
        content: bytes = answered(PROCESS, request, "made the file")["content"]
    except DoesNotStart:
        return here()
    return content


atexit.register(PROCESS.close)
