"""What is taken away: made in a process of its own, and printed by a browser that is shut in."""

import http.server
import os
import re
import threading
import zipfile
from contextlib import suppress
from io import BytesIO

import pytest

from app.test_learning import run, shown, state
from app_harness import PATIENCE
from imop_app.services import making
from imop_app.services.errors import AppError
from imop_app.services.making import Shown
from imop_engine.errors import ImopError
from imop_engine.forking import CAN_FORK, ForkingProcess
from imop_engine.report import printing

in_processes = pytest.mark.skipif(not CAN_FORK, reason="this system cannot fork")
prints = pytest.mark.skipif(not printing.can_print(), reason="there is no browser to print with")


@pytest.fixture(scope="module")
def process():
    made = ForkingProcess("imop_app.report_worker")
    made.start()
    yield made
    made.close()


@pytest.fixture
def taken(process, monkeypatch) -> Shown:
    """A run to take away, and a process that makes its files."""
    of = state()
    run(of)
    study = shown(of)
    monkeypatch.setenv("IMOP_WORKERS", "1")
    monkeypatch.setattr(making, "PROCESS", process)
    return Shown(study, of.store.location(of.workspace.run))


@in_processes
@pytest.mark.slow
def test_files_made_in_a_process_are_those_made_here(taken, monkeypatch):
    calls = {
        "html": lambda: making.html(taken, "Title", "Notes", "imop learn"),
        "json": lambda: making.json_document(taken),
        "csv": lambda: making.table_csv(taken, "investors"),
        "svg": lambda: making.picture(taken, "frontier", "svg"),
    }
    monkeypatch.setattr(making, "SHORT", 0)
    apart = {name: call() for name, call in calls.items()}
    names = set(zipfile.ZipFile(BytesIO(making.workbook(taken))).namelist())
    monkeypatch.setenv("IMOP_WORKERS", "0")
    for name, call in calls.items():
        assert apart[name] == call(), name
    assert "xl/workbook.xml" in names


@in_processes
@pytest.mark.slow
def test_what_cannot_be_made_ends_in_the_same_sentence(taken):
    with pytest.raises(AppError, match=r"holds no study: there is no run\.json"):
        making.workbook(Shown(taken.study, f"{taken.location}-gone"))


# -- PDF -----------------------------------------------------------------------------------------
@pytest.fixture
def asked():
    """A server on this computer, and what it was asked for."""
    seen: list[str] = []

    class Asked(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Asked)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", seen
    server.shutdown()
    server.server_close()


@prints
@pytest.mark.slow
def test_a_report_is_printed(monkeypatch):
    monkeypatch.setattr(printing, "PDF_SECONDS", PATIENCE)
    of = state()
    run(of)
    content = making.pdf(
        Shown(shown(of), of.store.location(of.workspace.run)), "A <script>", "Notes", "imop learn"
    )
    assert content.startswith(b"%PDF-")
    assert content.rstrip().endswith(b"%%EOF")
    assert len(re.findall(rb"/Type\s*/Page\b", content)) > 3, "pages"
    assert b"/FontFile" in content, "with letters in them"


@prints
@pytest.mark.slow
@pytest.mark.parametrize("alone", [True, False])
def test_the_browser_that_prints_asks_nobody(alone, asked, monkeypatch):
    monkeypatch.setattr(printing, "PDF_SECONDS", PATIENCE)
    if not alone:  # as on systems that cannot give it a network of its own
        monkeypatch.setattr(printing, "without_network", tuple)
    address, seen = asked
    page = (
        f"<html><head><meta http-equiv='refresh' content='0;url={address}/refresh'>"
        f"<link rel='stylesheet' href='{address}/style'></head><body>"
        f"<img src='{address}/picture'><iframe src='{address}/frame'></iframe>"
        f"<script>fetch('{address}/script'); location = '{address}/moved'</script>"
        f"<form action='{address}/form'><input></form><p>Text</p></body></html>"
    )
    with suppress(ImopError):  # it may refuse to go where it was sent
        assert printing.pdf(page).startswith(b"%PDF")
    assert seen == []


def test_a_sandbox_wherever_there_can_be_one(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000, raising=False)
    assert printing._sandboxes()[0] == ()
    monkeypatch.setattr(os, "geteuid", lambda: 0, raising=False)
    assert printing._sandboxes() == (("--no-sandbox",),)


def test_the_page_that_is_printed_may_run_and_load_nothing():
    sealed = printing.sealed("<html><head></head></html>")
    assert sealed == f"<html><head>{printing.SEALED}</head></html>"
    assert "default-src 'none'" in printing.SEALED
    with pytest.raises(ValueError, match="without a head"):
        printing.sealed("<html></html>")


def test_without_a_browser_the_sentence_says_what_to_do(monkeypatch):
    monkeypatch.setattr(printing, "_browser", lambda: None)
    assert not printing.can_print()
    with pytest.raises(ImopError, match="a PDF needs Chromium or Chrome"):
        printing.pdf("<html><head></head></html>")
