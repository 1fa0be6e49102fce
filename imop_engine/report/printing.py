"""A page of ours as PDF, printed by the browser that is installed here.

What it prints is our own page, in which the template escapes whatever came from outside, and which
may run and load nothing (`SEALED`). The browser has no network: where the system can give it a
network of its own with nothing in it, that; everywhere, a proxy at which nobody answers. It has its
sandbox wherever it can have one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

from imop_engine.errors import ImopError

BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge")
PDF_SECONDS: Final = 60
SEALED: Final = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    "style-src 'unsafe-inline'; img-src data:; font-src data:\">"
)
HEAD: Final = "<head>"
END: Final = "</head>"
# Sizes to print at where a page does not fit; 8 points become 6 at the last.
SMALLER: Final = (0.93, 0.87, 0.81, 0.75)
PAPERS: Final = {"a4": "A4", "letter": "letter"}
# Nobody answers there; also what is on this computer is asked for through it.
NOBODY: Final = ("--proxy-server=127.0.0.1:9", "--proxy-bypass-list=<-loopback>")
QUIET: Final = (
    "--headless", "--disable-gpu", "--no-pdf-header-footer", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-default-apps", "--no-first-run",
    "--no-pings", "--disable-extensions", "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip
# As the system's owner, and as everybody else.
ALONE: Final = (("unshare", "--net"), ("unshare", "--user", "--map-current-user", "--net"))


def can_print() -> bool:
    """Whether this machine has what it takes to make a PDF: a Chromium-like browser."""
    return _browser() is not None


@cache
def _browser() -> str | None:
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


@cache
def without_network() -> tuple[str, ...]:
    """What a command is put behind to have no network at all; nothing where this system cannot."""
    if not sys.platform.startswith("linux") or shutil.which("unshare") is None:
        return ()
    owner = os.geteuid() == 0
    for words in ALONE if owner else ALONE[1:]:
        tried = subprocess.run([*words, "true"], capture_output=True, check=False)
        if tried.returncode == 0:
            return words
    return ()


def _sandboxes() -> tuple[tuple[str, ...], ...]:
    """What to say of the sandbox, in this order: a browser that the system's owner runs has none;
    another has one, and goes without where the system gives it none."""
    owner = hasattr(os, "geteuid") and os.geteuid() == 0
    return (("--no-sandbox",),) if owner else ((), ("--no-sandbox",))


def sealed(page: str) -> str:
    """The page with the rule that it runs no script and loads nothing."""
    if HEAD not in page:
        raise ValueError("a page without a head cannot be sealed")
    return page.replace(HEAD, HEAD + SEALED, 1)


def on_paper(page: str, paper: str) -> str:
    """The page laid out for a size of paper.

    Args:
        page: As HTML, with a head.
        paper: "a4" or "letter"; "" leaves it to the printer.

    >>> on_paper("<head></head>", "a4")
    '<head><style>@page { size: A4; }</style></head>'
    """
    if not paper:
        return page
    return page.replace(END, f"<style>@page {{ size: {PAPERS[paper]}; }}</style>{END}", 1)


def pdf(page: str) -> bytes:
    """A page as PDF.

    Args:
        page: As our templates make it; nothing else may be printed.
    """
    browser = _browser()
    if browser is None:
        raise ImopError("a PDF needs Chromium or Chrome on this machine; the HTML page prints.")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "page.html", Path(folder) / "page.pdf"
        source.write_text(sealed(page), encoding="utf-8")
        tries = [(words, sandbox) for words in _networks() for sandbox in _sandboxes()]
        for number, (words, sandbox) in enumerate(tries):
            command = [
                *words, browser, *QUIET, *NOBODY, *sandbox,
                f"--user-data-dir={folder}/profile-{number}", f"--print-to-pdf={target}",
                source.as_uri(),
            ]  # fmt: skip
            try:
                subprocess.run(command, capture_output=True, check=False, timeout=PDF_SECONDS)
            except subprocess.TimeoutExpired:
                raise ImopError("the browser took too long to print; try again.") from None
            if target.exists():
                return target.read_bytes()
        raise ImopError("the browser here could not print; print the HTML page instead.")


def pdf_of_one_page(page: str) -> bytes:
    """A page as PDF on one sheet of paper: what does not fit is printed smaller.

    Args:
        page: As our templates make it, with a head; meant for one sheet.

    Returns:
        The PDF; of two pages only where it would have to be too small to read.
    """
    printed = pdf(page)
    for zoom in SMALLER:
        if pages_of(printed) == 1:
            break
        style = f"<style>@media print {{ body {{ zoom: {zoom} }} }}</style>"
        printed = pdf(page.replace(END, style + END, 1))
    return printed


def pages_of(printed: bytes) -> int:
    """How many pages a PDF of the browser has.

    Args:
        printed: What `pdf` returned; browsers leave the list of pages uncompressed.
    """
    return len(re.findall(rb"/Type\s*/Page\b", printed))


def _networks() -> tuple[tuple[str, ...], ...]:
    alone = without_network()
    return (alone, ()) if alone else ((),)
