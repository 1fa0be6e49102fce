"""Exact weights: what is left of the error when K is not needed at all."""

from __future__ import annotations

import time

import altair as alt
import numpy as np
import pandas as pd

import imop_engine as imop
from imop_experiments import paper, pictures
from imop_experiments.experiment import (
    Chart,
    Experiment,
    Figure,
    Outcome,
    PaperFinding,
    Part,
    Report,
    Result,
    ResultTable,
)

GRIDS = (6, 11, 21, 41, 81, 161, 321, 641)


def parts(quick: bool) -> list[Part]:
    """Grids ever finer, and none; uniform weights and normal ones."""
    count = 4 if quick else 20
    grids = GRIDS[::2] if quick else GRIDS
    return [
        {"family": family, "weights": weights, "rounds": paper.ROUNDS, "seeds": list(range(count))}
        for family in ("normal", "uniform")
        for weights in (*grids, "exact")
    ]


def run(part: Part) -> Result:
    """The last error and the seconds of each stream (Algorithm 2)."""
    problem, truth = paper.portfolio()
    found: Result = {"error": [], "seconds": []}
    for seed in part["seeds"]:
        Y = paper.investors(part["family"], part["rounds"], seed).portfolios
        started = time.perf_counter()
        learner = imop.OnlineLearner(problem, weights=part["weights"], rate=paper.RATE)
        learner.partial_fit(Y)
        found["seconds"].append(time.perf_counter() - started)
        found["error"].append(float(np.linalg.norm(learner.theta_ - truth)))
    return found


def report(outcome: Outcome) -> Report:
    """Error over K, with the exact frontier as the line it goes to."""
    frame = pd.DataFrame(
        [
            {"weights": part["family"], "K": part["weights"], "error": np.median(found["error"]),
             "µs a round": 1e6 * np.median(found["seconds"]) / part["rounds"]}
            for part, found in outcome
        ]
    )  # fmt: skip
    frame["K"] = frame["K"].astype(str)
    wide = frame.pivot(index="K", columns="weights", values="error")
    cost = frame.groupby("K")["µs a round"].mean()
    finest = str(max(int(K) for K in frame["K"] if K != "exact"))
    numbers = {
        **{f"exact_{family}": float(wide[family]["exact"]) for family in wide},
        **{f"finest_{family}": float(wide[family][finest]) for family in wide},
        "us_exact": float(cost["exact"]),
        "us_finest": float(cost[finest]),
    }
    worst = max(numbers["exact_normal"], numbers["exact_uniform"])
    best_grid = max(numbers["finest_normal"], numbers["finest_uniform"])
    good = worst <= 1.5 * best_grid and numbers["us_exact"] < numbers["us_finest"]
    finding = PaperFinding(
        "“It is practically infeasible to enumerate all weights; K balances accuracy and cost.”",
        f"With the exact frontier the median error is {numbers['exact_normal']:.5f} (normal) and "
        f"{numbers['exact_uniform']:.5f} (uniform) at {numbers['us_exact']:.0f} µs a round; "
        f"K = {finest} has {numbers['finest_normal']:.5f} and {numbers['finest_uniform']:.5f} at "
        f"{numbers['us_finest']:.0f} µs.",
        "beyond" if good else "differs",
        "One trace of the frontier costs less than many forward solves and has no approximation "
        "error: for portfolios the trade-off does not exist."
        if good
        else "In this run the finest grid was better or cheaper.",
    )
    return Report(
        [finding],
        [Figure("errors", _chart(frame), _CAPTION)],
        [ResultTable("exact", frame, "Medians over the streams.", 5)],
        numbers,
    )


def _chart(frame: pd.DataFrame) -> Chart:
    grids = frame[frame["K"] != "exact"].assign(series=lambda f: f["weights"] + " weights")
    grids["K"] = grids["K"].astype(int)
    names = ["normal weights", "uniform weights"]
    x = pictures.log_axis(alt.X, "K", "number of weights K", ",d")
    y = pictures.log_axis(alt.Y, "error", "median ‖r̂ − r‖")
    lines = pictures.lines(grids, x, y, names)
    limit = frame[frame["K"] == "exact"].assign(series=lambda f: f["weights"] + " weights")
    rules = (
        alt.Chart(limit)
        .mark_rule(strokeDash=[6, 4], strokeWidth=2)
        .encode(y="error:Q", color=pictures.colour(names))
    )
    return alt.layer(lines, rules).properties(width=560, height=300)


_CAPTION = "Median error over K, both axes logarithmic; dashed: exact weights, no K."
EXPERIMENT = Experiment(
    name="exact",
    section="beyond",
    title="Exact weights",
    paper="Section 2.2: “there might exist no explicit way to characterize the efficient set”.",
    setup="Algorithm 2, T = 1000, two anchors, portfolios rounded to 0.001.",
    parts=parts,
    run=run,
    report=report,
    alone=True,
)
