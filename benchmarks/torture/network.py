"""The app watched from its start to a printed report: which addresses its processes speak to.

By strace, which sees every call of the server, of the processes it starts and of the browser that
prints. Pages of foreign sites knock meanwhile. Loopback is allowed, everything else is not.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from .verdicts import Trial

serving: Any = import_module("imop_benchmarks.serving")
visiting: Any = import_module("imop_benchmarks.visitor")

CALLS: Final = "connect,sendto,sendmsg,sendmmsg"
# inet_addr("1.2.3.4"), inet_pton(AF_INET6, "::1"
ADDRESS: Final = re.compile(r'inet_(?:addr\(|pton\(AF_INET6, )"([^"]+)"')
PORT: Final = re.compile(r"sin6?_port=htons\((\d+)\)")
# A browser looks whether there is a way to the outside; where there is none, nothing is sent.
NOWHERE: Final = re.compile(r"= -1 E(?:NETUNREACH|ADDRNOTAVAIL)")
FOREIGN: Final = (
    "https://evil.example",
    "http://127.0.0.1.evil.example",
    "null",
    "http://10.0.0.1",
)
FILES: Final = ("report.html", "report.pdf", "tables.xlsx", "frontier.png")
PAGES: Final = (
    "market",
    "investors",
    "learn",
    "frontier",
    "preferences",
    "score",
    "report",
    "runs",
    "lab",
)


def watched(work: Path) -> Iterator[Trial]:
    """Every step of a visit, then what the processes spoke to.

    Args:
        work: A folder for the data folder and what strace wrote.
    """
    if shutil.which("strace") is None:
        return
    home = Path(tempfile.mkdtemp(dir=work))
    os.environ["IMOP_HOME"] = str(home)
    serving.make_workspace("w-watched", 200, 1, uploaded=True)
    traced, port = work / "calls", serving.free_port()
    imop = str(Path(sys.executable).with_name("imop"))
    command = ["strace", "-ff", "--seccomp-bpf", "-qq", "-e", f"trace={CALLS}", "-o", str(traced)]
    server = subprocess.Popen(
        [*command, imop, "app", "--port", str(port)], cwd=home, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        address = f"http://127.0.0.1:{port}"
        serving.until_it_answers(address, server)
        yield from _visit(address)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGTERM)
        server.wait()
    # a file for each process, so that no two calls are written into one another
    calls = [one.read_text(errors="replace") for one in sorted(work.glob("calls.*"))]
    yield _judged("\n".join(calls))


def _visit(address: str) -> Iterator[Trial]:
    for origin in FOREIGN:
        yield _step(f"a WebSocket from {origin}", lambda: _knock(address, origin), refused=True)  # noqa: B023
        yield _step(f"a request with the host {origin}", lambda: _ask(address, origin), True)  # noqa: B023
    visitor = visiting.Visitor(address, "w-watched", secrets.token_hex(16))
    yield _step("market", lambda: visitor.turn("market"))
    yield _step("learn", visitor.learn)
    for page in PAGES:
        yield _step(page, lambda: visitor.turn(page))  # noqa: B023
    visitor.turn("report")
    for file in FILES:
        yield _step(file, lambda: visitor.export(file))  # noqa: B023
    visitor.close()


def _step(what: str, do: Callable[[], Any], refused: bool = False) -> Trial:
    try:
        do()
    except Exception as error:  # whatever it is, it is told
        said = f"{type(error).__name__}: {error}"[:300]
        return Trial(what, "refused" if refused else "failed", said)
    return Trial(what, "let in" if refused else "right")


def _knock(address: str, origin: str) -> None:
    client: Any = import_module("websockets.sync.client")
    place = address.replace("http", "ws", 1) + "/_stcore/stream"
    with client.connect(place, subprotocols=["streamlit"], origin=origin, open_timeout=60):
        time.sleep(1.0)


def _ask(address: str, origin: str) -> None:
    host = origin.rpartition("/")[2]
    request = urllib.request.Request(address, headers={"Host": host, "Origin": origin})
    with urllib.request.urlopen(request, timeout=60):
        pass


def _judged(calls: str) -> Trial:
    """Whether every address in what strace wrote is on this computer."""
    lines = [line for line in calls.splitlines() if not NOWHERE.search(line)]
    spoken = [(ADDRESS.findall(line), PORT.findall(line)) for line in lines]
    outside = sorted(
        {
            f"{one} port {', '.join(ports)}"
            for found, ports in spoken
            for one in found
            if not is_here(one)
        }
    )
    count = sum(len(found) for found, _ in spoken)
    what = f"{len(calls.splitlines()):,} calls watched, {count:,} of them with an address"
    return Trial(what, "outside" if outside else "right", "; ".join(outside))


def is_here(address: str) -> bool:
    """Whether an address is this computer's own.

    >>> is_here("127.0.0.1"), is_here("::1"), is_here("8.8.8.8")
    (True, True, False)
    """
    return address.startswith("127.") or address in ("::1", "::ffff:127.0.0.1")
