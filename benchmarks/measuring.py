"""Clocks, memory, fresh processes, and what machine this is."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from imop_engine.errors import ImopError
from imop_engine.learner import OnlineLearner

from .cases import RATE, Case, K, Row


def timed(work: Callable[[], object], repeats: int) -> float:
    """Seconds one call takes: the median over repeats of enough calls for 20 ms each."""
    work()
    start = time.perf_counter()
    work()
    calls = max(1, int(0.02 / max(time.perf_counter() - start, 1e-7)))
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(calls):
            work()
        taken.append((time.perf_counter() - start) / calls)
    return median(taken)


def native_seconds(case: Case, algorithm: str, repeats: int, weights: int = K) -> float:
    """Time the native loop.

    Args:
        case: The problem and its decisions.
        algorithm: "full" or "accelerated" (Algorithm 1 or 2), or "newton".
        repeats: How many runs over all decisions.
        weights: How many weights the grid has.

    Returns:
        Seconds for each round, the median of the runs.
    """
    OnlineLearner(case.problem, weights, algorithm, RATE).partial_fit(case.decisions[:2])
    taken = []
    for _ in range(repeats):
        learner = OnlineLearner(case.problem, weights, algorithm, RATE)
        start = time.perf_counter()
        learner.partial_fit(case.decisions)
        taken.append(time.perf_counter() - start)
    return median(taken) / len(case.decisions)


def fresh_process(code: str, *arguments: str) -> str:
    """What a new Python prints when it runs this code."""
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ImopError(f"a fresh process failed: {done.stderr.strip()[-300:]}")
    return done.stdout


def resident_mb() -> float:
    """Memory of this process that is in use now, in megabytes."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    except OSError:  # no /proc: the peak is the best there is
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def peak_mb() -> float:
    """The most memory that this process ever used, in megabytes.

    From /proc where there is one: what `getrusage` says is at least what the parent used when it
    started this process.
    """
    try:
        status = Path("/proc/self/status").read_text()
        return 1.024e-3 * float(status.partition("VmHWM:")[2].split()[0])
    except (OSError, IndexError):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def machine(load: float) -> Row:
    """What it was measured on, and how busy that was when it began."""
    model = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    return {
        "cpu": model, "cores": os.cpu_count(), "system": platform.system(), "load_before": load,
    }  # fmt: skip
