"""Populations in files: one process, one worker, two workers, one of which is killed midway.

Claim: the same estimate to 1e-10 whoever works; every row assigned once, also where a worker dies;
each worker within its memory; twice the workers do the work at least 1.7 times as fast where each
has a processor of its own. The last is told in processor seconds, which another program on the
machine does not change: two workers take half of the work each, and what one process must do
between the rounds is what is left of a run.

`python -m imop_benchmarks.populations --out benchmarks/results/scale.json` measures; `--rows`,
`--files` and `--assets` say how much.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from imop_engine.frontier import efficient_frontier
from imop_engine.market import Market
from imop_engine.scale.assigning import FOLDER
from imop_engine.scale.learn import LearnedPopulation, find_parts, learn_population
from imop_engine.scale.looks import Columns
from imop_engine.workers import Cluster, Workers, open_workers

from .cases import factor_market
from .measuring import machine

ROWS: Final = 10_000_000
FILES: Final = 100
ASSETS: Final = 30
NOISE: Final = 0.005  # of every holding, cut at zero
STRANGERS: Final = 50  # every so many-th investor holds something else altogether
MEMORY: Final = "1GB"
KILLED_AT: Final = 0.4  # of the parts of the second round of settling
MEGA: Final = 1e6


def market_of(assets: int) -> Market:
    """The market: three factors, returns as investors believe in them.

    Args:
        assets: How many.
    """
    problem, returns, _ = factor_market(assets)
    names = [f"A{i}" for i in range(assets)]
    return Market.of(returns, problem.covariance, names)


def write_files(folder: Path, rows: int, files: int, assets: int) -> None:
    """Draw a population and write it, a file at a time; what is there already stays.

    Args:
        folder: Receives the Parquet files.
        rows: Investors in all.
        files: How many files they are in.
        assets: How many.
    """
    problem, returns, _ = factor_market(assets)
    frontier = efficient_frontier(problem, returns)
    folder.mkdir(parents=True, exist_ok=True)
    each = -(-rows // files)
    for number in range(files):
        path = folder / f"clients-{number:03d}.parquet"
        count = min(each, rows - number * each)
        if path.exists() or count <= 0:
            continue
        rng = np.random.default_rng([assets, number])
        held = frontier.at(np.clip(rng.normal(0.5, 0.15, count), 0.01, 0.99))
        held = np.maximum(held + rng.normal(0.0, NOISE, held.shape), 0.0)
        strange = np.arange(0, count, STRANGERS)
        held[strange] = rng.dirichlet(np.ones(assets), len(strange))
        held /= held.sum(axis=1, keepdims=True)
        cells = {"client": np.arange(number * each, number * each + count)}
        table = pa.table({**cells, **{f"A{i}": held[:, i] for i in range(assets)}})
        beside = path.with_suffix(".part")
        pq.write_table(table, beside, compression="zstd")
        beside.replace(path)


def _spent() -> tuple[int, float, float]:
    """Process, its processor seconds and its peak of memory in MB."""
    use = resource.getrusage(resource.RUSAGE_SELF)
    return os.getpid(), use.ru_utime + use.ru_stime, use.ru_maxrss * 1024 / MEGA


class _Killer:
    """Ends one worker of a cluster by its process number, once, in the second round of settling."""

    def __init__(self, workers: Cluster) -> None:
        self.pid = next(iter(workers.client.run(os.getpid).values()))
        self.killed: str | None = None

    def __call__(self, stage: str, done: int, total: int) -> None:
        if self.killed is None and stage == "settling, round 2" and done >= KILLED_AT * total:
            os.kill(self.pid, signal.SIGKILL)
            self.killed = f"{stage}, after {done} of {total} parts"


class _Watch:
    """Processor seconds and memory of workers, asked while they live: the dead do not tell."""

    def __init__(self, workers: Workers) -> None:
        self.workers = workers
        self.found: dict[int, tuple[float, float]] = {}
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()

    def _look(self) -> None:
        while not self.stop.wait(2.0):
            self.look()

    def look(self) -> None:
        """Ask once."""
        if isinstance(self.workers, Cluster):
            told = self.workers.client.run(_spent, on_error="ignore")
            for pid, seconds, peak in told.values():
                self.found[pid] = (seconds, peak)

    def close(self) -> list[dict[str, float]]:
        """What was seen, by process."""
        self.stop.set()
        self.thread.join()
        self.look()
        return [
            {"processor_seconds": round(seconds, 1), "peak_mb": round(peak)}
            for seconds, peak in self.found.values()
        ]


def measure(
    folder: Path, market: Market, where: str, count: int | None, kill: bool
) -> tuple[dict[str, Any], LearnedPopulation]:
    """Learn from a folder once.

    Args:
        folder: Of the population's files.
        market: Its assets and moments.
        where: Who works, as --cluster.
        count: Of the workers.
        kill: Whether one of them is killed midway.

    Returns:
        Figures, and what was learned.
    """
    memory = MEMORY if where == "local" else None
    with (
        TemporaryDirectory(dir=folder.parent) as out,
        open_workers(where, count, memory) as workers,
    ):
        columns = Columns(market.names, "client")
        killer = _Killer(workers) if kill and isinstance(workers, Cluster) else None
        watch = _Watch(workers)
        begun, own = time.perf_counter(), _spent()[1]
        parts = find_parts(workers, folder, columns)
        found = learn_population(
            market, parts, Path(out) / FOLDER, workers, columns=columns,
            tell=killer or (lambda stage, done, total: None),
        )  # fmt: skip
        seconds, own = time.perf_counter() - begun, _spent()[1] - own
        row = {
            "workers": found.workers,
            "seconds": round(seconds, 1),
            "client_processor_seconds": round(own, 1),
            "client_peak_mb": round(_spent()[2]),
            "worker_processes": watch.close(),
            "killed": None if killer is None else killer.killed,
            "rounds": found.settled.passes,
            "converged": found.settled.converged,
            "rows_once": rows_once(Path(out) / FOLDER, found.investors),
            "stages": found.seconds,
        }
    return row, found


def rows_once(folder: Path, total: int) -> bool:
    """Whether every row was assigned exactly once.

    Args:
        folder: Of the investors' files.
        total: How many rows there are.
    """
    seen = np.zeros(total, bool)
    count = 0
    for path in sorted(folder.glob("part-*.parquet")):
        rows = pq.read_table(path, columns=["row"])["row"].to_numpy() - 1
        seen[rows] = True
        count += len(rows)
    return count == total and bool(seen.all())


def run(folder: Path, rows: int, files: int, assets: int, ways: Sequence[str]) -> dict[str, Any]:
    """Measure all ways of working on one population.

    Args:
        folder: Where the files are, or are to be.
        rows: Investors in all.
        files: How many files they are in.
        assets: How many.
        ways: Of "here", "local1", "local2", "killed".

    Returns:
        Figures by way, and how far estimates are apart.
    """
    begun = os.getloadavg()[0]
    write_files(folder, rows, files, assets)
    market = market_of(assets)
    told: dict[str, Any] = {"rows": rows, "files": files, "assets": assets, "memory": MEMORY}
    told |= {"machine": machine(begun), "runs": {}}
    thetas = {}
    for way in ways:
        where, count = ("here", None) if way == "here" else ("local", 1 if way == "local1" else 2)
        row, found = measure(folder, market, where, count, way == "killed")
        known = np.array([status == "identified" for status in found.known.status])
        apart = np.abs(found.theta - np.asarray(market.expected_returns))
        row["identified"], row["error"] = int(known.sum()), float(apart[known].max())
        told["runs"][way], thetas[way] = row, found.theta
        first = next(iter(thetas.values()))
        row["apart"] = float(np.abs(found.theta - first).max())
        row["convex_certified"] = bool(found.convex is not None and found.convex.certified)
        print(json.dumps({way: row}), flush=True)
    return told


def main() -> None:
    """Measure and write the figures."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--rows", type=int, default=ROWS)
    ask.add_argument("--files", type=int, default=FILES)
    ask.add_argument("--assets", type=int, default=ASSETS)
    ask.add_argument("--folder", type=Path, help="keeps the files; else they are drawn anew")
    ask.add_argument("--ways", default="here,local1,local2,killed")
    ask.add_argument("--out", type=Path)
    given = ask.parse_args()
    with TemporaryDirectory() as temporary:
        folder = (given.folder or Path(temporary)) / f"{given.rows}x{given.assets}"
        ways = given.ways.split(",")
        told = run(folder, given.rows, given.files, given.assets, ways)
    if given.out is not None:
        given.out.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
