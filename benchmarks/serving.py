"""The app as a user starts it, and workspaces for those who visit it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from .visitor import PATIENCE, Trouble


# -- the server ----------------------------------------------------------------------------------
@contextmanager
def served(home: Path) -> Iterator[tuple[str, int]]:
    """The app as a user starts it: its address, and the number of its process."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command = [str(Path(sys.executable).with_name("imop")), "app", "--port", str(port)]
    surroundings = {**os.environ, "IMOP_HOME": str(home)}
    with (home / "log").open("w") as log:
        server = subprocess.Popen(command, cwd=home, stdout=log, stderr=log, env=surroundings)
        try:
            until_it_answers(address, server)
            yield address, server.pid
        finally:
            server.terminate()
            server.wait()


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def until_it_answers(address: str, server: subprocess.Popen[bytes]) -> None:
    """Wait for a server that was started.

    Args:
        address: Where it will answer.
        server: Its process.
    """
    until = time.monotonic() + PATIENCE
    while not _answers(address):
        if server.poll() is not None or time.monotonic() > until:
            raise Trouble(f"{address} does not answer; the server ended with {server.poll()}")
        time.sleep(0.1)


def _answers(address: str) -> bool:
    with suppress(OSError), urllib.request.urlopen(f"{address}/_stcore/health", timeout=5) as said:
        return bool(said.read() == b"ok")
    return False


# -- workspaces ----------------------------------------------------------------------------------
def make_workspace(name: str, count: int, seed: int, uploaded: bool) -> None:
    """A workspace with investors of its own, drawn by the app or read from a file.

    Args:
        name: Its id.
        count: How many investors; no two workspaces have as many.
        seed: Of the draws.
        uploaded: Whether they come in a file.
    """
    from imop_app.settings import InvestorBatch, InvestorSettings, MarketSettings, Simulation
    from imop_app.workspace import Workspace
    from imop_engine.bundled import market
    from imop_engine.problem import portfolio_problem
    from imop_engine.simulate import simulate_investors

    made = Workspace(name, name)
    batch = InvestorBatch("simulate", Simulation(count=count, seed=seed))
    if uploaded:
        paper = market("paper8")
        problem = portfolio_problem(paper.covariance, names=paper.names)
        rng = np.random.default_rng(seed)
        held = simulate_investors(problem, paper.expected_returns, count, rng=rng).portfolios
        lines = [",".join(["client", *paper.names])]
        lines += [
            f"C{i}," + ",".join(f"{share:.6f}" for share in row) for i, row in enumerate(held)
        ]
        stored = made.box.put(f"{name}.csv", "\n".join(lines).encode())
        batch = InvestorBatch("upload", file=stored)
    made.market, made.investors = MarketSettings(), InvestorSettings((batch,))
    made.save()
