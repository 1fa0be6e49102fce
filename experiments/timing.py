"""Running time over K, shared by figures 1b and 2b."""

from __future__ import annotations

import time

import altair as alt
import numpy as np
import pandas as pd

import imop_engine as imop
from imop_experiments import paper, pictures
from imop_experiments.experiment import (
    Chart,
    Figure,
    Outcome,
    PaperFinding,
    Part,
    Report,
    Result,
    ResultTable,
)

GRIDS = (6, 11, 21, 41, 81, 161)
MUCH = 2.0  # "much faster": at least half the time, at the largest K


def parts(learn: str, quick: bool) -> list[Part]:
    """Ten repetitions for every K; both algorithms in each, over the same decisions."""
    rounds, repetitions = (200, 3) if quick else (1000, 10)
    grids = GRIDS[1:5] if quick else GRIDS
    return [
        {"learn": learn, "K": K, "rounds": rounds, "seeds": list(range(repetitions))} for K in grids
    ]


def run(part: Part) -> Result:
    """Seconds of each repetition, the learner's own set-up included, compiling not."""
    problem = paper.mqp(part["learn"])
    seconds: dict[str, list[float]] = {name: [] for name in paper.ALGORITHMS}
    for seed in part["seeds"]:
        Y, _ = paper.mqp_decisions(part["rounds"], np.random.default_rng([1, seed]))
        for algorithm in paper.ALGORITHMS:
            started = time.perf_counter()
            imop.OnlineLearner(
                problem, weights=part["K"], algorithm=algorithm, rate=paper.RATE
            ).partial_fit(Y)
            seconds[algorithm].append(time.perf_counter() - started)
    return {"seconds": seconds}


def report(outcome: Outcome) -> Report:
    """Bars with standard deviations, and the ratio of the two algorithms."""
    times = pd.DataFrame(
        [
            {"K": part["K"], "series": paper.LABELS[name], "repetition": i, "seconds": one}
            for part, result in outcome
            for name, found in result["seconds"].items()
            for i, one in enumerate(found)
        ]
    )
    rounds = outcome[0][0]["rounds"]
    summary = times.groupby(["K", "series"], as_index=False)["seconds"].agg(["mean", "std"])
    summary = summary.assign(
        low=(summary["mean"] - summary["std"]).clip(lower=0), high=summary["mean"] + summary["std"]
    )
    wide = summary.pivot(index="K", columns="series", values="mean")
    ratio = wide["Algorithm 1"] / wide["Algorithm 2"]
    largest = int(wide.index.max())
    numbers = {f"ratio_{K}": float(value) for K, value in ratio.items()}
    numbers |= {
        "seconds_1": float(wide["Algorithm 1"][largest]),
        "seconds_2": float(wide["Algorithm 2"][largest]),
    }
    return Report(
        [_faster(ratio, wide, rounds)],
        [Figure("time", _chart(summary, rounds), _caption(outcome))],
        [_table(summary, ratio, rounds)],
        numbers,
        {"seconds": times},
    )


def _table(summary: pd.DataFrame, ratio: pd.Series, rounds: int) -> ResultTable:
    means = summary.pivot(index="K", columns="series", values="mean")
    spread = summary.pivot(index="K", columns="series", values="std")
    frame = pd.DataFrame(
        {
            "K": means.index,
            "Algorithm 1 (s)": means["Algorithm 1"].to_numpy(),
            "sd 1": spread["Algorithm 1"].to_numpy(),
            "Algorithm 2 (s)": means["Algorithm 2"].to_numpy(),
            "sd 2": spread["Algorithm 2"].to_numpy(),
            "ratio": ratio.to_numpy(),
        }
    )
    return ResultTable("time", frame, f"Seconds for {rounds:,} rounds, and their ratio.", 4)


def _faster(ratio: pd.Series, wide: pd.DataFrame, rounds: int) -> PaperFinding:
    least, K = int(ratio.index.min()), int(ratio.index.max())
    return PaperFinding(
        "“Algorithm 2 is much faster than Algorithm 1, especially when K is large.”",
        f"At K = {K}: {wide['Algorithm 1'][K]:.3f} s against {wide['Algorithm 2'][K]:.3f} s for "
        f"{rounds:,} rounds, a factor of {ratio[K]:.1f}; at K = {least} the factor is "
        f"{ratio[least]:.1f}.",
        "reproduced" if ratio[K] >= MUCH else "differs",
        "Algorithm 1 costs the paper K mixed-integer programs a round. Here its K updates share "
        "one incumbent and most of them are closed unsolved, so the whole of Algorithm 1 is "
        "nearly as cheap as Algorithm 2 and the gap is far smaller than K.",
    )


def _chart(summary: pd.DataFrame, rounds: int) -> Chart:
    x = alt.X("K:O", title="number of weights K").axis(labelAngle=0)
    y = alt.Y("mean:Q", title=f"seconds for {rounds:,} rounds")
    base = alt.Chart(summary).encode(x=x, xOffset="series:N")
    bars = base.mark_bar().encode(y=y, color=pictures.colour(list(paper.LABELS.values())))
    spread = base.mark_rule(color=pictures.INK).encode(y="low:Q", y2="high:Q")
    return alt.layer(bars, spread).properties(width=560, height=pictures.HEIGHT)


def _caption(outcome: Outcome) -> str:
    return (
        f"Average running time and standard deviation over {len(outcome[0][0]['seeds'])} "
        "repetitions, one thread, the parts of this run one after another."
    )
