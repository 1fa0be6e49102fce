"""Mini-batches: several decisions an update, which the paper calls drastically more difficult."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd

import imop_engine as imop
from imop_experiments import paper
from imop_experiments.experiment import (
    Experiment,
    Outcome,
    PaperFinding,
    Part,
    Report,
    Result,
    ResultTable,
)

K = 41
SIZES = (1, 2, 4, 8)
DRASTIC = 10.0  # times the cost of an update with one decision
CASES = {"c": "MQP, objectives c", "r": "portfolios"}


def parts(quick: bool) -> list[Part]:
    """The same streams for every size of batch."""
    rounds, count = (80, 2) if quick else (1000, 5)
    return [
        {"case": case, "batch": batch, "rounds": rounds, "seeds": list(range(count))}
        for case in CASES
        for batch in SIZES
    ]


def run(part: Part) -> Result:
    """Error, seconds and share of certified updates."""
    problem, truth = (
        paper.portfolio() if part["case"] == "r" else (paper.mqp("c"), paper.MQP_TRUTH["c"])
    )
    found: Result = {"error": [], "seconds": [], "certified": [], "updates": []}
    for seed in part["seeds"]:
        if part["case"] == "r":
            Y = paper.investors("normal", part["rounds"], seed).portfolios
        else:
            Y, _ = paper.mqp_decisions(part["rounds"], np.random.default_rng([1, seed]))
        started = time.perf_counter()
        learner = imop.OnlineLearner(problem, weights=K, rate=paper.RATE, batch=part["batch"])
        learner.partial_fit(Y)
        found["seconds"].append(time.perf_counter() - started)
        found["error"].append(float(np.linalg.norm(learner.theta_ - truth)))
        found["certified"].append(learner.certified_)
        found["updates"].append(learner.updates_)
    return found


def report(outcome: Outcome) -> Report:
    """What a batch costs and what it brings."""
    rows = [
        {"problem": CASES[part["case"]], "decisions an update": part["batch"],
         "error (median)": np.median(found["error"]),
         "ms an update": 1e3 * np.sum(found["seconds"]) / np.sum(found["updates"]),
         "ms a decision": 1e3 * np.sum(found["seconds"]) / (part["rounds"] * len(part["seeds"])),
         "certified (%)": 100 * np.mean(found["certified"])}
        for part, found in outcome
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    numbers = {
        f"{name}_{part['case']}_{part['batch']}": float(row[column])
        for (part, _), row in zip(outcome, rows, strict=True)
        for name, column in (("error", "error (median)"), ("ms", "ms an update"))
    }
    numbers["certified"] = float(frame["certified (%)"].min())
    rounds = outcome[0][0]["rounds"]
    caption = f"The same {rounds:,} decisions a stream for every size of batch."
    return Report(
        [_difficult(numbers), _useful(numbers)],
        tables=[ResultTable("batches", frame, caption, 4)],
        numbers=numbers,
    )


def _difficult(numbers: dict[str, float]) -> PaperFinding:
    ratios = {case: numbers[f"ms_{case}_8"] / numbers[f"ms_{case}_2"] for case in CASES}
    hard = numbers["certified"] < 99.0 or max(ratios.values()) > DRASTIC
    text = ", ".join(f"{value:.1f} times ({CASES[case]})" for case, value in ratios.items())
    return PaperFinding(
        "“The update is drastically more difficult to compute even for |N_t| = 2.”",
        f"Joint updates are solved to proven optimality in at least {numbers['certified']:.0f} % "
        f"of the updates of every row; an update with 8 decisions costs {text} one with 2.",
        "reproduced" if hard else "better",
        "The same tree solves them; decisions of one weight share one x, so only their mean "
        "counts. (With one decision the whole stream runs in one compiled call, which is faster "
        "for another reason: the joint updates are called from Python one by one.)",
    )


def _useful(numbers: dict[str, float]) -> PaperFinding:
    errors = {case: (numbers[f"error_{case}_1"], numbers[f"error_{case}_8"]) for case in CASES}
    text = "; ".join(f"{CASES[c]} {one:.4f} and {eight:.4f}" for c, (one, eight) in errors.items())
    better = [CASES[case] for case, (one, eight) in errors.items() if eight < one]
    return PaperFinding(
        "Mini-batches “enhance online learning” in general.",
        f"Median error with one and with eight decisions an update: {text}.",
        "beyond",
        f"Over the same decisions, batches of eight end nearer on: {', '.join(better)}."
        if better
        else "Over the same decisions, fewer and larger updates do not end nearer.",
    )


EXPERIMENT = Experiment(
    name="batches",
    section="beyond",
    title="Mini-batches",
    paper="Section 3.1, (batch-update): stated, called unsuitable, and not run.",
    setup="Weights assigned first (K = 41), then one joint update; the rate of the t-th update "
    "is 5/√t.",
    parts=parts,
    run=run,
    report=report,
    alone=True,
)
