"""What the engine claims about speed, measured: `imop bench`.

One process, one thread a solver, one machine. Nothing is extrapolated: where Gurobi is too slow for
the whole stream it is measured on rounds spread evenly over it, from the same beliefs and for the
same decisions as the native run, and the figure is per round. Models and compiled code are made
before the clock starts, on both sides; starting from nothing has a row of its own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from imop_engine.errors import InvalidInput, SolverUnavailable
from imop_engine.versions import versions
from imop_engine.warm import warm

from .beyond import hot_forward, third_objective
from .cases import FULL, QUICK, RATE, SEED, K, Measure, Say, Section, Size
from .gaps import agreement, aims, fits, from_file, gap_rounds
from .growth import (
    algorithms,
    assets,
    cold_start,
    rounds,
    second_order,
    stream,
    weights,
)
from .limits import under_limits
from .measuring import machine
from .presenting import page, show, shown
from .solvers import against_gurobi, forward, frontier
from .studies import studies

PACKAGES = (
    "imop", "numpy", "numba", "gurobipy", "cvxpy", "clarabel", "cvxcla", "daqp", "quadprog",
)  # fmt: skip

__all__ = [
    "QUICK",
    "SECTIONS",
    "Say",
    "Section",
    "Size",
    "again",
    "attempt",
    "page",
    "run",
    "show",
    "shown",
]


def run(quick: bool = False, out: Path | None = None, say: Say = lambda _: None) -> dict[str, Any]:
    """Measure everything.

    Args:
        quick: Small sizes, to see that everything runs; the figures mean little.
        out: The folder for bench.json (quick.json where `quick`); None writes nothing.
        say: Takes a line for each measurement that begins.

    Returns:
        The tables with machine, versions and settings, as they are written.
    """
    size = QUICK if quick else FULL
    load = os.getloadavg()[0]
    say("compiling, where that has not been done")
    warm()
    sections = [section for measure in SECTIONS for section in attempt(measure, size, say)]
    sections.append(aims(sections))
    report = {
        "name": "quick" if quick else "bench",
        "machine": machine(load),
        "versions": versions(PACKAGES, missing="not installed"),
        "settings": {"K": K, "rate": f"{RATE:g}/sqrt(t)", "seed": SEED, "rounds": size.rounds},
        "sections": [asdict(section) for section in sections],
    }
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        path = out / f"{report['name']}.json"
        path.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    return report


def again(names: Sequence[str], out: Path, say: Say = lambda _: None) -> dict[str, Any]:
    """Measure some sections once more and put them among the others of the last whole run.

    Args:
        names: Of the measurements, as their functions are called.
        out: The folder with the bench.json of that run, which is written anew.
        say: Takes a line for each measurement that begins.

    Returns:
        The tables, those that were measured again with a sentence that says so.
    """
    known = {measure.__name__: measure for measure in SECTIONS}
    wrong = [name for name in names if name not in known]
    if wrong:
        raise InvalidInput(f"there is no measurement {wrong[0]!r}; use one of {', '.join(known)}.")
    path = out / "bench.json"
    report: dict[str, Any] = json.loads(path.read_text())
    old = {section["name"]: Section(**section) for section in report["sections"]}
    for name in names:
        load = os.getloadavg()[0]
        for section in attempt(known[name], FULL, say):
            later = f" Measured by itself after the others, load average before it {load:.2f}."
            old[section.name] = replace(section, how=section.how + later)
    last = aims(list(old.values()))
    report["sections"] = [asdict(last if name == last.name else old[name]) for name in old]
    path.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    return report


def attempt(measure: Measure, size: Size, say: Say) -> list[Section]:
    """Make one measurement, or say why it cannot be made.

    Args:
        measure: The measurement.
        size: How many rounds, assets and repeats.
        say: Takes a line for each part that begins.

    Returns:
        Its tables; an empty one that says why where a solver is missing.
    """
    try:
        return measure(size, say)
    except (ImportError, SolverUnavailable) as error:
        title = measure.__name__.replace("_", " ").capitalize()
        return [Section(measure.__name__, title, f"Not measured: {error}", [])]


SECTIONS: tuple[Measure, ...] = (
    against_gurobi, algorithms, assets, second_order, weights, rounds, stream, frontier, forward,
    hot_forward, third_objective, fits, from_file, agreement, gap_rounds, under_limits, studies,
    cold_start,
)  # fmt: skip
