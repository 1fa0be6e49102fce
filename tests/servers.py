"""A server in another process: a port that is surely free, and an answer awaited with patience."""

import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 600.0  # seconds; only a server that hangs takes so long, on however busy a machine


@contextmanager
def reserved_port() -> Iterator[int]:
    """A free port that nobody else is given while this lasts.

    It stays bound, though not listened on, so that the system hands it to no neighbouring test;
    a server may bind to it all the same, because both say that the address may be used again.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def first_answer(address: str, server: subprocess.Popen) -> str:
    """What the address answers once the server is up."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        assert server.poll() is None, "the server ended before it answered"
        try:
            with urllib.request.urlopen(address, timeout=30) as answer:
                return answer.read().decode()
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            time.sleep(0.1)
    raise AssertionError(f"{address} did not answer within {PATIENCE:g} seconds")


def end(server: subprocess.Popen) -> None:
    """Ask the server to end, and wait until it has."""
    server.terminate()
    server.wait(timeout=PATIENCE)
