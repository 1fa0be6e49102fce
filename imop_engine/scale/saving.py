"""A population as a folder: returns, frontier and run.json, a file of investors for each part, and
the study of the sample as a folder of its own, which opens like any other.

Everything is written beside the folder and takes its place in one step.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from imop_engine import manifest
from imop_engine.frontier import efficient_frontier
from imop_engine.scale.assigning import FOLDER, WEIGHT_BINS, part_name
from imop_engine.scale.intervals import noise_of_all, returns_table
from imop_engine.scale.learn import LearnedPopulation
from imop_engine.scale.settling import SAMPLE, Choices
from imop_engine.sentences import population as say
from imop_engine.storage import OURS, save_study
from imop_engine.study.checks import CAUTION, NOTE, Check, verdict_of
from imop_engine.study.outcome import frontier_frame
from imop_engine.tables.export import csv_text, plain
from imop_engine.versions import versions

KIND: Final = "population"
SAMPLE_FOLDER: Final = "sample"
TABLE_BINS: Final = 20  # of the weight distribution, as a study writes it
FORMAT: Final = 1


def is_ours(name: str) -> bool:
    """Whether a file of a folder belongs to what is replaced there.

    Args:
        name: its path in the folder.
    """
    return name in OURS or name.startswith((f"{FOLDER}/part-", f"{SAMPLE_FOLDER}/"))


def population_checks(found: LearnedPopulation) -> tuple[Check, ...]:
    """Those of the study of the sample, and what concerns everybody, worst first.

    Args:
        found: the population.
    """
    checks = list(found.study.checks)
    if found.settled.way == SAMPLE:
        checks.append(Check("population", NOTE, *say.of_the_sample()))
    if not found.settled.converged:
        left = 0.0 if found.settled.solution is None else found.settled.solution.left
        checks.append(Check("settled", CAUTION, *say.not_settled(left)))
    if found.refused:
        row, reason = found.examples[0]
        told = say.refused_rows(found.refused, found.investors, row, reason)
        checks.append(Check("refused", NOTE, *told))
    order = {"poor": 0, CAUTION: 1, NOTE: 2}
    return tuple(sorted(checks, key=lambda one: order[one.severity]))


def population_document(found: LearnedPopulation, command: str = "") -> dict[str, Any]:
    """What run.json holds of a population.

    Args:
        found: the population.
        command: the line of the shell that makes it again.
    """
    study, checks = found.study, population_checks(found)
    table, convex = returns_table(study, found.known), found.convex
    document = {
        "format": FORMAT,
        "kind": KIND,
        "settings": study.settings.to_dict(),
        "seed": study.settings.seed,
        "versions": versions(),
        "command": command,
        "verdict": verdict_of(checks),
        "checks": [one.to_dict() for one in checks],
        "figures": _figures(found),
        "assets": list(study.problem.names),
        "estimate": table["estimate"].tolist(),
        "way": found.settled.way,
        "convex": None
        if convex is None
        else {
            "estimate": convex.theta,
            "mean_gap": convex.value / convex.investors,
            "certified": convex.certified,
        },
        "anchors": [
            {"portfolio": row, "return": float(value)}
            for row, value in zip(
                study.problem.theta.equalities, study.problem.theta.values, strict=True
            )
        ],
        "parts": [
            {"file": lot.part.name, "first": lot.part.first + 1, "rows": lot.part.rows,
             "investors": f"{FOLDER}/{part_name(number)}"}
            for number, lot in enumerate(found.lots)
        ],
        "workers": found.workers,
        "seconds": found.seconds,
        "notes": sentences(found),
    }  # fmt: skip
    told: dict[str, Any] = plain(document)
    return told


def _figures(found: LearnedPopulation) -> dict[str, Any]:
    counts = found.said.weights
    middle = (np.cumsum(counts) >= 0.5 * counts.sum()).argmax() if counts.sum() else 0
    return {
        "investors": found.investors,
        "refused": found.refused,
        "set_aside": found.set_aside,
        "sampled": len(found.study.decisions),
        "explained": found.explained,
        "noise": noise_of_all(found.said, Choices.of(found.study)).sd,
        "median_weight": (float(middle) + 0.5) / WEIGHT_BINS,
        "passes": found.settled.passes,
        "parts": len(found.lots),
    }


def sentences(found: LearnedPopulation) -> list[str]:
    """What a person reads first.

    Args:
        found: the population.
    """
    settled = found.settled
    way = found.study.estimate.found.way if settled.way == SAMPLE else settled.way  # type: ignore[union-attr]
    told = [
        say.method(
            found.said.count, len(found.study.decisions), way, settled.passes,
            settled.way != SAMPLE,
        ),
        say.took_no_part(found.set_aside, found.refused, found.investors),
    ]  # fmt: skip
    if found.convex is not None:
        mean = found.convex.value / found.convex.investors
        told.append(say.convex(mean, found.convex.certified))
    return [one for one in told if one]


def write_population(found: LearnedPopulation, folder: Path, command: str = "") -> None:
    """Write all but the investors, who are there already.

    Args:
        found: the population.
        folder: where to.
        command: the line of the shell that makes it again.
    """
    save_study(found.study, folder / SAMPLE_FOLDER, command=command)
    frontier = efficient_frontier(found.known.problem, found.theta)
    counts = found.said.weights.reshape(TABLE_BINS, -1).sum(axis=1)
    edges = np.linspace(0.0, 1.0, TABLE_BINS + 1)
    distribution = pd.DataFrame({"low": edges[:-1], "high": edges[1:], "count": counts})
    distribution["share"] = counts / max(1, int(counts.sum()))
    tables = {
        "returns": returns_table(found.study, found.known),
        "frontier": frontier_frame(frontier),
        "distribution": distribution,
        "checks": pd.DataFrame([one.to_dict() for one in population_checks(found)]),
    }
    for name, table in tables.items():
        (folder / f"{name}.csv").write_text(csv_text(table), encoding="utf-8", newline="")
    text = json.dumps(population_document(found, command), indent=1, ensure_ascii=False)
    (folder / "run.json").write_text(text + "\n", encoding="utf-8")
    manifest.write(folder, FORMAT)
