"""Following a growing file for minutes, killed twice: the same estimate as at once.

Claim: `imop learn --follow` keeps up with 1,000 rows a second in bounded memory, and whoever kills
it twice on the way gets, to the last digit, what is learned where all rows are there at once.

`python -m imop_benchmarks.following --out benchmarks/results/following.json` measures; `--seconds`
and `--rate` say how long and how many rows a second.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import pandas as pd

from imop_engine.bundled import market
from imop_engine.frontier import efficient_frontier
from imop_engine.problem import portfolio_problem
from imop_engine.scale.follow import Follower
from imop_engine.study.settings import StudySettings
from imop_engine.tables.arrivals import Arrivals

from .measuring import machine

SECONDS: Final = 600.0
RATE: Final = 1000
KILLS: Final = (0.3, 0.65)  # of the rows
TICK: Final = 0.2  # seconds between two writes
NOISE: Final = 0.005


def rows_of(count: int) -> list[str]:
    """Lines of a file of investors of the paper's securities.

    Args:
        count: How many.
    """
    paper = market("paper8")
    problem = portfolio_problem(paper.covariance_by_asset, names=paper.names)
    rng = np.random.default_rng(5)
    frontier = efficient_frontier(problem, paper.expected_returns)
    held = frontier.at(np.clip(rng.normal(0.5, 0.15, count), 0.01, 0.99))
    held = np.maximum(held + rng.normal(0.0, NOISE, held.shape), 0.0)
    held /= held.sum(axis=1, keepdims=True)
    text = pd.DataFrame(held, columns=list(paper.names)).to_csv(index=False)
    return text.splitlines(keepends=True)


class _Writer(threading.Thread):
    """Adds rows to a file at an even pace; every write ends in the middle of a line."""

    def __init__(self, file: Path, lines: list[str], rate: int) -> None:
        super().__init__(daemon=True)
        self.file, self.text, self.lines, self.rate = file, "".join(lines[1:]), lines, rate
        file.write_text(lines[0])

    def run(self) -> None:
        begun, written = time.perf_counter(), 0
        each = len(self.text) / (len(self.lines) - 1)
        while written < len(self.text):
            time.sleep(TICK)
            due = int((time.perf_counter() - begun) * self.rate * each)
            with self.file.open("a") as out:
                out.write(self.text[written:due])
            written = min(max(written, due), len(self.text))


def _peak_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return float("nan")


def follow(folder: Path, until: int | None) -> dict[str, Any]:
    """Follow the file of a folder in a process of its own.

    Args:
        folder: With stream.csv.
        until: After how many rows it is killed; None: until nothing comes any more.

    Returns:
        What the process said last, its peak of memory and processor seconds.
    """
    command = [sys.executable, "-m", "imop_engine.cli", "learn", "--follow", "--market", "paper8"]
    command += ["--portfolios", str(folder / "stream.csv"), "--out", str(folder / "out")]
    command += ["--loss", "efficiency", "--json", "--idle", "15"]
    before = os.times()
    run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None  # it was asked for
    last: dict[str, Any] = {}
    most = 0.0
    for line in run.stdout:
        last = json.loads(line)
        if last["event"] == "learned":
            most = max(most, _peak_mb(run.pid))
        if until is not None and last.get("rows", 0) >= until:
            os.kill(run.pid, signal.SIGKILL)
            break
    run.communicate()
    after = os.times()
    spent = after.children_user + after.children_system
    spent -= before.children_user + before.children_system
    return {"last": last, "peak_mb": round(most), "processor_seconds": round(spent, 1)}


def measure(seconds: float, rate: int) -> dict[str, Any]:
    """Write, follow, kill, and compare.

    Args:
        seconds: How long rows are written.
        rate: How many a second.
    """
    load, count = os.getloadavg()[0], int(seconds * rate)
    lines, paper = rows_of(count), market("paper8")
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "out").mkdir()
        writer = _Writer(folder / "stream.csv", lines, rate)
        begun = time.perf_counter()
        writer.start()
        runs = [follow(folder, until) for until in (*(int(k * count) for k in KILLS), None)]
        took = time.perf_counter() - begun
        once = Follower(
            paper, Arrivals(folder / "stream.csv", paper.names), StudySettings(loss="efficiency")
        )
        list(once.catch_up())
    last = runs[-1]["last"]
    stream = np.array(list(last["stream"].values()))
    estimate = np.array(list(last["estimate"].values()), dtype=float)
    truth = np.asarray(paper.expected_returns)
    return {
        "machine": machine(load),
        "rows": count,
        "rate": rate,
        "seconds": round(took, 1),
        "learned": last["rows"],
        "runs": [
            {"killed_after": one["last"]["rows"], "peak_mb": one["peak_mb"],
             "processor_seconds": one["processor_seconds"]}
            for one in runs
        ],
        "apart_from_at_once": float(np.abs(stream - once.theta).max()),
        "stream_error": float(np.abs(stream - truth).max()),
        "study_error": float(np.nanmax(np.abs(estimate - truth))),
        "moved": last["moved"],
        "moved_p_value": last["moved_p_value"],
    }  # fmt: skip


def main() -> None:
    """Measure and write the figures."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--seconds", type=float, default=SECONDS)
    ask.add_argument("--rate", type=int, default=RATE)
    ask.add_argument("--out", type=Path)
    given = ask.parse_args()
    told = measure(given.seconds, given.rate)
    print(json.dumps(told))
    if given.out is not None:
        given.out.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
