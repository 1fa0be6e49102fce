"""All ordeals, their figures, and the page that says them: python -m imop_benchmarks.torture.

What takes longest comes last; each part can be run alone, and what was found is kept in a file, so
that the page always says when and with which version each figure was found.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from imop_engine.versions import versions

from .page import page
from .verdicts import Tally, Trial

Counts = dict[str, int]
FULL: Final[Counts] = {
    "damage": 500, "workspaces": 200, "numbers": 2000, "api": 5000, "shell": 1000, "app kills": 30,
    "worker kills": 30, "shell kills": 50, "network": 1,
}  # fmt: skip
SHORT: Final[Counts] = {
    "damage": 60, "workspaces": 40, "numbers": 225, "api": 700, "shell": 60, "app kills": 2,
    "worker kills": 2, "shell kills": 2, "network": 1,
}  # fmt: skip
SEED: Final = 15


def damage(count: int, work: Path) -> Tally:
    """Damaged studies."""
    import numpy as np

    import imop_engine as imop
    from imop_engine.bundled import market
    from imop_engine.simulate import simulate_investors

    from .damage import damaged_studies

    paper = market("paper8")
    problem = imop.portfolio_problem(paper.covariance, names=paper.names)
    folders = []
    for number in (1, 2):
        rng = np.random.default_rng(number)
        people = simulate_investors(problem, paper.expected_returns, 60, rng=rng).portfolios
        study = imop.run_study(paper.returns_by_asset, paper.covariance_by_asset, people)
        folders.append(imop.save_study(study, work / f"study-{number}"))
    return Tally.of("damage", damaged_studies(folders[0], folders[1], work, count, SEED))


def workspaces(count: int, work: Path) -> Tally:
    """Damaged workspaces of the app."""
    from .workspaces import damaged_workspaces

    return Tally.of("workspaces", damaged_workspaces(work, count, SEED))


def numbers(count: int, work: Path) -> Tally:
    """Numbers that break arithmetic."""
    from .numbers import numerical

    return Tally.of("numbers", numerical(count, SEED))


def api(count: int, work: Path) -> Tally:
    """Nasty calls of the Python API."""
    from .fuzz import api_calls

    return Tally.of("api", api_calls(count, SEED))


def shell(count: int, work: Path) -> Tally:
    """Nasty calls of the shell."""
    from .command_lines import shell_calls

    return Tally.of("shell", shell_calls(count, SEED))


def _kills(kind: str) -> Callable[[int, Path], Tally]:
    def kill(count: int, work: Path) -> Tally:
        # in a process of its own, which forks: this one may have started threads
        command = [sys.executable, "-m", "imop_benchmarks.torture.kills", kind, str(count)]
        done = subprocess.run(
            [*command, str(SEED), str(work)], capture_output=True, text=True, check=True
        )
        found = json.loads(done.stdout)
        trials = tuple(Trial(*one) for one in found["trials"])
        return Tally(f"{kind} kills", trials, found["figures"])

    return kill


def network(count: int, work: Path) -> Tally:
    """The app watched by strace from its start to a printed report."""
    from .network import watched

    return Tally.of("network", watched(work))


PARTS: Final[dict[str, Callable[[int, Path], Tally]]] = {
    "damage": damage,
    "workspaces": workspaces,
    "numbers": numbers,
    "api": api,
    "shell": shell,
    "network": network,
    "app kills": _kills("app"),
    "worker kills": _kills("worker"),
    "shell kills": _kills("shell"),
}


def run(part: str, count: int) -> dict[str, Any]:
    """Run one part; what came of it as plain values."""
    began = time.time()
    with tempfile.TemporaryDirectory() as folder:
        tally = PARTS[part](count, Path(folder))
    return {
        "count": len(tally.trials),
        "counts": tally.counts,
        "bad": [[one.what, one.ended, one.said[:300]] for one in tally.bad][:20],
        "figures": {name: round(value, 2) for name, value in tally.figures.items()},
        "seconds": round(time.time() - began, 1),
        "when": time.strftime("%Y-%m-%d", time.gmtime(began)),
        "version": versions()["imop"],
        "cores": os.cpu_count(),
    }


def main() -> None:
    """Run what was asked for, keep it, write the page; end with 1 where something ended badly."""
    parser = argparse.ArgumentParser(prog="python -m imop_benchmarks.torture", description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"which: {', '.join(PARTS)}; all by default")
    parser.add_argument("--short", action="store_true", help="a little of each")
    parser.add_argument("--record", type=Path, help="file that keeps the figures")
    parser.add_argument("--page", type=Path, help="page to write from that file")
    given = parser.parse_args()
    strange = [one for one in given.parts if one not in PARTS]
    if strange:
        parser.error(f"there is no part {strange[0]!r}; choose among {', '.join(PARTS)}")
    record: dict[str, Any] = {}
    if given.record is not None and given.record.is_file():
        record = json.loads(given.record.read_text())
    bad = 0
    for part in given.parts or PARTS:
        found = run(part, (SHORT if given.short else FULL)[part])
        print(f"{part}: {found['count']} in {found['seconds']} s: {found['counts']}", flush=True)
        for one in found["bad"]:
            print("  ", *one, flush=True)
        bad += len(found["bad"])
        record[part] = found
        if given.record is not None:
            given.record.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
    if given.page is not None:
        given.page.write_text(page(record), encoding="utf-8")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
