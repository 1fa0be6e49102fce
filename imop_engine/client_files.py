"""One-pagers as files: one client's, and those of many in one archive."""

from __future__ import annotations

import datetime as dt
import io
import zipfile
from collections.abc import Callable, Sequence

from imop_engine.clients.book import ClientBook
from imop_engine.errors import InvalidInput
from imop_engine.report.facts import facts_table
from imop_engine.report.html_client import client_page, file_name
from imop_engine.tables.export import ARCHIVE_DATE, csv_text


def client_archive(
    book: ClientBook,
    clients: Sequence[str],
    made: dt.date | None = None,
    paper: str = "",
    printed: Callable[[str], bytes] | None = None,
) -> bytes:
    """One-pagers of many clients as files of one zip archive, with a list of them all.

    Args:
        book: The clients of a study.
        clients: What they are called.
        made: The day that stands on the pages.
        paper: "a4" or "letter"; "" leaves it to the printer.
        printed: Makes a PDF of a page; None keeps HTML.

    Returns:
        The archive: one file each, clients.csv, and about.csv with anchors, settings and units.
    """
    if not clients:
        raise InvalidInput("there is nobody to make one-pagers of; choose at least one client.")
    taken: set[str] = set()
    ending = ".html" if printed is None else ".pdf"
    buffer = io.BytesIO()
    chosen = book.table[book.table["id"].isin(set(clients))]
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as out:
        for client in clients:
            page = client_page(book, client, made, paper)
            content = page.encode() if printed is None else printed(page)
            _put(out, _free(file_name(client, ending), taken), content)
        _put(out, "clients.csv", csv_text(chosen).encode())
        _put(out, "about.csv", csv_text(facts_table(book.study, made)).encode())
    return buffer.getvalue()


def _free(name: str, taken: set[str]) -> str:
    """A name that no file of the archive has yet, on systems without capitals either."""
    stem, dot, ending = name.rpartition(".")
    found, number = name, 2
    while found.lower() in taken:
        found, number = f"{stem}-{number}{dot}{ending}", number + 1
    taken.add(found.lower())
    return found


def _put(out: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, ARCHIVE_DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    out.writestr(entry, content)
