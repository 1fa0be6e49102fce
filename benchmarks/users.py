"""Eight people at once, and one who only looks: python -m imop_benchmarks.users.

Eight visitors open workspaces of their own with files of their own, learn, look at every page for a
second and take tables away, over and over. A ninth has learned before and turns pages, first alone,
then beside them, then beside one who learns from very many investors. Said are the waits, what
failed (nothing may), whether anybody got somebody else's data (nobody may), and the server's
memory.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import statistics
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from imop_engine.versions import versions

from .serving import make_workspace, served
from .torture.page import page
from .visitor import PATIENCE, Trouble, Visitor

USERS: Final = 8
SECONDS: Final = 120
MANY: Final = 100_000
ALONE_ROUNDS: Final = 8
PAUSE_SECONDS: Final = 1.0  # what a person takes to look at a page
SAMPLE_SECONDS: Final = 2.0
LEAST_TICKS: Final = 20  # of a process that works and does not only wait
LOOKED: Final = ("market", "investors", "learn", "frontier", "preferences", "report")


@dataclass
class Found:
    """What visitors met; each adds to it."""

    waits: dict[str, list[float]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    runs: int = 0
    exports: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, what: str, seconds: float) -> None:
        """One wait."""
        with self.lock:
            self.waits.setdefault(what, []).append(seconds)


# -- memory ---------------------------------------------------------------------------------------
def memory(server: int) -> tuple[float, float]:
    """Megabytes of the server alone, and of it and all processes it started.

    What several processes share is counted once.
    """
    return _held(server), sum(_held(one) for one in _family(server))


def _family(server: int) -> set[int]:
    """The server and all processes that it started."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    ours, more = {server}, True
    while more:
        found = {child for child, parent in parents.items() if parent in ours} - ours
        ours, more = ours | found, bool(found)
    return ours


def _held(process: int) -> float:
    with suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    return 0.0


# -- side by side --------------------------------------------------------------------------------
def side_by_side(many: int, pairs: int) -> dict[str, Any]:
    """Pages of one who looks while another learns, each beside the same with the learner halted.

    Whatever else the machine does meanwhile is in both; what differs is the learner alone.

    Args:
        many: Investors of the one who learns.
        pairs: How often two pages are turned.
    """
    waits: dict[str, list[float]] = {"learning": [], "halted": []}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["IMOP_HOME"] = folder
        make_workspace("w-idle", 600, 100, uploaded=False)
        make_workspace("w-many", many, 101, uploaded=False)
        with served(Path(folder)) as (address, server):
            idle = Visitor(address, "w-idle", secrets.token_hex(16))
            idle.turn("market")
            idle.learn()
            look(idle, "warming", Found(), 1, [])
            learner = _learner(address, server)
            for pair in range(pairs):
                order = list(waits) if pair % 2 else list(reversed(waits))
                for kind in order:
                    os.kill(learner, signal.SIGCONT if kind == "learning" else signal.SIGSTOP)
                    waits[kind].append(idle.turn(LOOKED[pair % len(LOOKED)]))
            still = _ticks(learner) is not None
            os.kill(learner, signal.SIGCONT)
            idle.close()
    ratios = [a / b for a, b in zip(waits["learning"], waits["halted"], strict=True)]
    return {
        "pairs": len(ratios),
        "many": many,
        "still learning": still,
        "ratio": round(statistics.median(ratios), 2),
        **{name: round(statistics.median(found), 2) for name, found in waits.items()},
        "load": round(os.getloadavg()[0], 1),
        "cores": os.cpu_count(),
        "when": time.strftime("%Y-%m-%d", time.gmtime()),
        "bad": [],
    }


def _learner(address: str, server: int) -> int:
    """Start to learn from very many; the number of the process that does."""
    visitor = Visitor(address, "w-many", secrets.token_hex(16))
    visitor.turn("learn")
    visitor.press("learn_start")
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        before = {one: _ticks(one) or 0 for one in _family(server) - {server}}
        time.sleep(SAMPLE_SECONDS)
        spent = {one: (_ticks(one) or 0) - ticks for one, ticks in before.items()}
        busiest = max(spent, key=lambda one: spent[one], default=server)
        if _ticks(busiest) and spent.get(busiest, 0) > LEAST_TICKS:
            return busiest
    raise Trouble("nobody learns")


def _ticks(process: int) -> int | None:
    """Processor time that a process has spent, in the system's ticks; None where it is gone."""
    with suppress(OSError, ValueError):
        parts = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return None if parts[0] == "Z" else int(parts[11]) + int(parts[12])
    return None


# -- what people do ------------------------------------------------------------------------------
def work(address: str, name: str, count: int, until: float, found: Found) -> None:
    """Load, learn, look and take away, over and over until a moment.

    Args:
        address: Of the server.
        name: Of the workspace.
        count: How many investors it has, to know one's own data by.
        until: By the clock that only goes forward.
        found: What is met goes here.
    """
    try:
        visitor = Visitor(address, name, secrets.token_hex(16))
        while time.monotonic() < until:
            for one in ("market", "investors"):
                found.note("page", visitor.turn(one))
                time.sleep(PAUSE_SECONDS)
            found.note("click to result", visitor.learn())
            found.runs += 1
            for one in ("frontier", "preferences", "report"):
                found.note("page", visitor.turn(one))
                time.sleep(PAUSE_SECONDS)
            began = time.monotonic()
            rows = visitor.export("investors.csv").decode().strip().splitlines()
            found.note("export", time.monotonic() - began)
            found.exports += 1
            if len(rows) - 1 != count:
                raise Trouble(f"{name}: {len(rows) - 1} investors in the table and not {count}")
        visitor.close()
    except Exception as error:  # every failure is told, whatever it is
        found.failures.append(f"{name}: {type(error).__name__}: {error}"[:400])


def look(visitor: Visitor, what: str, found: Found, rounds: int, others: list[Any]) -> None:
    """Turn pages, so many times or as long as others work.

    Args:
        visitor: Who has a result already.
        what: What the waits are called.
        found: Where they go.
        rounds: How often each page is turned at least.
        others: Threads of the others.
    """
    done = 0
    while done < rounds or any(one.is_alive() for one in others):
        for one in LOOKED:
            found.note(what, visitor.turn(one))
            time.sleep(PAUSE_SECONDS)
        done += 1


def sample(server: int, series: list[list[float]], end: threading.Event) -> None:
    """Note the server's memory every two seconds: seconds, its own, with all it started."""
    began = time.monotonic()
    while not end.wait(SAMPLE_SECONDS):
        series.append([round(time.monotonic() - began, 1), *(round(one) for one in memory(server))])


def measure(users: int, seconds: float, many: int) -> dict[str, Any]:
    """All of it on a fresh server; what was found as plain values.

    Args:
        users: How many people work at once.
        seconds: How long they do.
        many: Investors of the one who learns from very many; 0 leaves that out.
    """
    found, end = Found(), threading.Event()
    series: list[list[float]] = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["IMOP_HOME"] = folder
        counts = {f"w-user-{i}": 1000 + 17 * i for i in range(users)}
        for i, (name, count) in enumerate(counts.items()):
            make_workspace(name, count, i, uploaded=i % 2 == 0)
        make_workspace("w-idle", 600, 100, uploaded=False)
        if many:
            make_workspace("w-many", many, 101, uploaded=False)
        with served(Path(folder)) as (address, server):
            sampling = threading.Thread(target=sample, args=(server, series, end))
            sampling.start()
            try:
                _all_of_it(address, counts, seconds, many, found)
            finally:
                end.set()
                sampling.join()
    return _told(found, series, users, seconds, many)


def _all_of_it(
    address: str, counts: dict[str, int], seconds: float, many: int, found: Found
) -> None:
    idle = Visitor(address, "w-idle", secrets.token_hex(16))
    idle.turn("market")
    idle.learn()
    look(idle, "warming", Found(), 1, [])
    look(idle, "alone", found, ALONE_ROUNDS, [])
    until = time.monotonic() + seconds
    people = [
        threading.Thread(target=work, args=(address, name, count, until, found))
        for name, count in counts.items()
    ]
    for one in people:
        one.start()
    look(idle, "beside those who work", found, 1, people)
    if many:
        big = threading.Thread(target=_learn_many, args=(address, many, found))
        big.start()
        look(idle, "beside very many", found, 1, [big])
    idle.close()


def _learn_many(address: str, many: int, found: Found) -> None:
    try:
        visitor = Visitor(address, "w-many", secrets.token_hex(16))
        visitor.turn("investors")
        found.note("very many: click to result", visitor.learn())
        found.note("very many: frontier", visitor.turn("frontier"))
        found.note("very many: preferences", visitor.turn("preferences"))
        visitor.close()
    except Exception as error:  # every failure is told, whatever it is
        found.failures.append(f"w-many: {type(error).__name__}: {error}"[:400])


def _told(
    found: Found, series: list[list[float]], users: int, seconds: float, many: int
) -> dict[str, Any]:
    waits = {
        name: {
            "times": len(all_of),
            "median": round(statistics.median(all_of), 2),
            "95 %": round(float(np.quantile(all_of, 0.95)), 2),
            "worst": round(max(all_of), 2),
        }
        for name, all_of in found.waits.items()
    }
    return {
        "users": users,
        "seconds": seconds,
        "many": many,
        "runs": found.runs,
        "exports": found.exports,
        "bad": found.failures,
        "waits": waits,
        "memory": series,
        "workers": os.environ.get("IMOP_WORKERS", ""),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[1], 1),
        "when": time.strftime("%Y-%m-%d", time.gmtime()),
        "version": versions()["imop"],
    }


def _keep(file: Path | None, written: Path | None, name: str, told: dict[str, Any]) -> None:
    """Put what was found among the kept figures, and write the page of all of them."""
    if file is None:
        return
    record = json.loads(file.read_text()) if file.is_file() else {}
    record[name] = told
    file.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
    if written is not None:
        written.write_text(page(record), encoding="utf-8")


def main() -> None:
    """Measure, keep what was found, write the page; end with 1 where something failed."""
    parser = argparse.ArgumentParser(prog="python -m imop_benchmarks.users", description=__doc__)
    parser.add_argument("--users", type=int, default=USERS, help="people at once")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long they work")
    parser.add_argument("--many", type=int, default=MANY, help="investors of one of them; 0: none")
    parser.add_argument("--record", type=Path, help="file that keeps the figures")
    parser.add_argument("--page", type=Path, help="page to write from that file")
    parser.add_argument(
        "--pairs", type=int, default=0,
        help="only turn so many pages, each beside one who learns from very many and beside the "
        "same halted",
    )  # fmt: skip
    given = parser.parse_args()
    if given.pairs:
        beside = side_by_side(given.many, given.pairs)
        print(beside)
        _keep(given.record, given.page, "beside", beside)
        sys.exit(0)
    told = measure(given.users, given.seconds, given.many)
    for name, wait in told["waits"].items():
        print(f"{name}: {wait}")
    print(f"{told['runs']} runs, {told['exports']} exports, {len(told['bad'])} failures")
    for failure in told["bad"]:
        print("  ", failure)
    step = max(1, len(told["memory"]) // 12)
    print("memory (s, server MB, all MB):", told["memory"][::step])
    _keep(given.record, given.page, "users", told)
    sys.exit(1 if told["bad"] else 0)


if __name__ == "__main__":
    main()
