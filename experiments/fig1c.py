"""Figure 1c: the estimated efficient set beside the true one."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist

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
)

K = 41
POINTS = 401  # along each efficient set
NEAR = 0.05  # "almost coincides": on average within 5 % of the set's length


def parts(quick: bool) -> list[Part]:
    """One repetition of figure 1a, picked at random."""
    rounds, repetitions = (300, 8) if quick else (1000, 100)
    picked = int(np.random.default_rng(1).integers(repetitions))
    return [{"rounds": rounds, "seed": picked}]


def run(part: Part) -> Result:
    """Both efficient sets as points, and the decisions that were seen."""
    problem, truth = paper.mqp("c"), paper.MQP_TRUTH["c"]
    Y, _ = paper.mqp_decisions(part["rounds"], np.random.default_rng([1, part["seed"]]))
    learner = imop.OnlineLearner(problem, weights=K, algorithm="full", rate=paper.RATE)
    learner.partial_fit(Y)
    weights = np.linspace(0.0, 1.0, POINTS)
    return {
        "theta": paper.plain(learner.theta_),
        "true": paper.plain(imop.efficient_frontier(problem, truth).at(weights)),
        "estimated": paper.plain(imop.efficient_frontier(problem, learner.theta_).at(weights)),
        "decisions": paper.plain(Y),
    }


def report(outcome: Outcome) -> Report:
    """How far apart the two sets are, each way."""
    ((part, found),) = outcome
    true, mine = np.array(found["true"]), np.array(found["estimated"])
    apart = cdist(mine, true)
    length = float(np.linalg.norm(np.diff(true, axis=0), axis=1).sum())
    numbers = {
        "mean": float((apart.min(axis=0).mean() + apart.min(axis=1).mean()) / 2),
        "largest": float(max(apart.min(axis=0).max(), apart.min(axis=1).max())),
        "length": length,
    }
    curves = pd.concat(
        [
            pd.DataFrame(points, columns=["x1", "x2"]).assign(series=name, order=range(POINTS))
            for name, points in (("true", true), ("estimated", mine))
        ]
    )
    seen = pd.DataFrame(found["decisions"], columns=["x1", "x2"])
    theta = ", ".join(f"{value:.2f}" for value in found["theta"])
    finding = PaperFinding(
        "“The estimated efficient set almost coincides with the real efficient set.”",
        f"On average they are {numbers['mean']:.3f} apart, at most {numbers['largest']:.3f}; the "
        f"true set is {length:.2f} long and single decisions were off by up to 0.5 in each "
        f"coordinate. ĉ = ({theta}).",
        "reproduced" if numbers["mean"] <= NEAR * length else "differs",
        f"Almost means: on average within {NEAR:.0%} of the set's length.",
    )
    figure = Figure(
        "efficient_set",
        _chart(curves, seen),
        f"Repetition {part['seed']}, Algorithm 1: decisions seen (grey), the true efficient set "
        "(yellow, wide) and the estimated one (red). The outline is what the constraints allow.",
    )
    return Report([finding], [figure], numbers=numbers, data={"curves": curves, "decisions": seen})


def _chart(curves: pd.DataFrame, seen: pd.DataFrame) -> Chart:
    x, y = alt.X("x1:Q", title="x₁"), alt.Y("x2:Q", title="x₂")
    corners = pd.DataFrame(
        {"x1": [0, 2, 3, 0, 0], "x2": [0, 0, 3, 3, 0], "order": range(5)}, dtype=float
    )
    outline = (
        alt.Chart(corners)
        .mark_line(color=pictures.GREY, strokeWidth=1)
        .encode(x=x, y=y, order="order:Q")
    )
    dots = alt.Chart(seen).mark_circle(size=14, opacity=0.25, color=pictures.GREY).encode(x=x, y=y)
    layers: list[alt.Chart] = [dots, outline]
    for name, width in (("true", 6.0), ("estimated", 2.2)):
        layers.append(
            alt.Chart(curves[curves["series"] == name])
            .mark_line(strokeWidth=width)
            .encode(x=x, y=y, order="order:Q", color=pictures.colour(["true", "estimated"]))
        )
    return alt.layer(*layers).properties(width=430, height=430)


EXPERIMENT = Experiment(
    name="fig1c",
    section="mqp-c",
    title="Figure 1c: estimated and true efficient set",
    paper="Section 4.1, figure 1(c): one repetition picked at random, Algorithm 1, K = 41.",
    setup="The repetition is drawn with seed 1; 401 points along each set are compared.",
    parts=parts,
    run=run,
    report=report,
)
