"""Errors round by round, shared by figures 1a and 2a: repetitions, their average, their spread."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

import imop_engine as imop
from imop_experiments import paper, pictures
from imop_experiments.experiment import Chart, Outcome, Part, Result

REPETITIONS_A_PART = 10


def parts(learn: str, K: int, rounds: int, repetitions: int, **options: Any) -> list[Part]:
    """Both algorithms over all repetitions, ten repetitions a part.

    Args:
        learn: Which parameters are unknown, c or b.
        K: How many weights the grid has.
        rounds: How many decisions each learner sees.
        repetitions: How many streams of decisions.
        **options: Handed on to each part.
    """
    step = min(REPETITIONS_A_PART, repetitions)
    return [
        {"learn": learn, "K": K, "algorithm": algorithm, "rounds": rounds,
         "seeds": list(range(first, min(first + step, repetitions))), **options}
        for algorithm in options.pop("algorithms", paper.ALGORITHMS)
        for first in range(0, repetitions, step)
    ]  # fmt: skip


def run(part: Part) -> Result:
    """The error of each repetition at the marked rounds; the seed is the repetition's number."""
    truth, at = paper.MQP_TRUTH[part["learn"]], paper.marks(part["rounds"])
    errors, certified = [], []
    for seed in part["seeds"]:
        rng = np.random.default_rng([1, seed])
        Y, _ = paper.mqp_decisions(part["rounds"], rng, part.get("noise", paper.NOISE))
        learner = imop.OnlineLearner(
            paper.mqp(part["learn"]),
            weights=part["K"],
            algorithm=part["algorithm"],
            rate=paper.RATE,
        )
        errors.append(paper.plain(paper.trail(learner, Y, truth, at)))
        certified.append(learner.certified_)
    return {"rounds": [0, *at], "errors": errors, "certified": certified}


def frame(outcome: Outcome) -> pd.DataFrame:
    """One row a repetition and round: K, noise, series, repetition, round, error, certified."""
    rows = []
    for part, result in outcome:
        for seed, errors, sure in zip(
            part["seeds"], result["errors"], result["certified"], strict=True
        ):
            one = pd.DataFrame({"round": result["rounds"], "error": errors})
            rows.append(
                one.assign(
                    K=part["K"],
                    noise=part.get("noise", paper.NOISE),
                    series=paper.LABELS[part["algorithm"]],
                    repetition=seed,
                    certified=sure,
                )
            )
    return pd.concat(rows, ignore_index=True)


def summary(trails: pd.DataFrame) -> pd.DataFrame:
    """Mean, standard deviation, 5 % and 95 % of the error over the repetitions, for each round."""
    grouped = trails.groupby(["series", "K", "round"], sort=True)["error"]
    statistics = grouped.agg(
        mean="mean",
        sd="std",
        p05=lambda e: float(np.quantile(e, 0.05)),
        p95=lambda e: float(np.quantile(e, 0.95)),
    )
    result: pd.DataFrame = statistics.reset_index()
    return result


def last(trails: pd.DataFrame, **where: Any) -> pd.DataFrame:
    """The rows of the last round, of those that match."""
    kept = trails[trails["round"] == trails["round"].max()]
    for name, value in where.items():
        kept = kept[kept[name] == value]
    return kept


def chart(trails: pd.DataFrame, what: str) -> Chart:
    """Every repetition as a faint line, the average drawn over them, one panel an algorithm."""
    panels = []
    seen = trails[trails["round"] > 0]
    top = float(seen["error"].max())
    last_round = int(seen["round"].max())
    for label in paper.LABELS.values():
        mine = seen[seen["series"] == label]
        x = (
            alt.X("round:Q", title="round t")
            .scale(type="log", domain=[1, last_round], nice=False)
            .axis(format=",d", tickCount=4)
        )
        y = alt.Y("error:Q", title=f"‖{what}̂ − {what}‖").scale(domain=[0, top])
        thin = (
            alt.Chart(mine)
            .mark_line(strokeWidth=0.7, opacity=0.22, color=pictures.COLOURS[label])
            .encode(x=x, y=y, detail="repetition:N")
        )
        mean = mine.groupby("round", as_index=False)["error"].mean()
        thick = alt.Chart(mean).mark_line(strokeWidth=3, color=pictures.INK).encode(x=x, y=y)
        title = f"{label}: {mine['repetition'].nunique()} repetitions and their average"
        panels.append(
            alt.layer(thin, thick).properties(
                width=pictures.WIDTH, height=pictures.HEIGHT, title=title
            )
        )
    return alt.hconcat(*panels, spacing=30)
