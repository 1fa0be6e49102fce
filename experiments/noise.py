"""Robustness to the noise level: how the last error grows with it."""

from __future__ import annotations

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

K = 41
MQP_LEVELS = (0.0, 0.125, 0.25, 0.5, 0.75, 1.0)
PORTFOLIO_LEVELS = (0.0, 0.002, 0.005, 0.01, 0.02, 0.05)
ROBUST = 2.0  # at the paper's noise the error is at most twice that without noise
PANELS = {"c": "MQP, objectives c", "b": "MQP, right-hand side b", "r": "portfolios, returns r"}


def parts(quick: bool) -> list[Part]:
    """Every level for the three problems; the same seeds at every level."""
    rounds, count = (300, 3) if quick else (1000, 20)
    cases = (("c", MQP_LEVELS), ("b", MQP_LEVELS), ("r", PORTFOLIO_LEVELS))
    return [
        {"what": what, "noise": level, "rounds": rounds, "seeds": list(range(count))}
        for what, levels in cases
        for level in levels[:: 2 if quick else 1]
    ]


def run(part: Part) -> Result:
    """The last error of each stream, by both algorithms (portfolios: also exact weights)."""
    if part["what"] == "r":
        problem, truth = paper.portfolio()
    else:
        problem, truth = paper.mqp(part["what"]), paper.MQP_TRUTH[part["what"]]
    methods: list[tuple[str, int | str, str]] = [
        (paper.LABELS[name], K, name) for name in paper.ALGORITHMS
    ]
    if part["what"] == "r":
        methods.append(("exact weights", "exact", "accelerated"))
    errors: dict[str, list[float]] = {name: [] for name, _, _ in methods}
    for seed in part["seeds"]:
        Y = _decisions(part, seed)
        for name, weights, algorithm in methods:
            learner = imop.OnlineLearner(
                problem, weights=weights, algorithm=algorithm, rate=paper.RATE
            ).partial_fit(Y)
            errors[name].append(float(np.linalg.norm(learner.theta_ - truth)))
    return {"errors": errors}


def _decisions(part: Part, seed: int) -> paper.Array:
    if part["what"] != "r":
        rng = np.random.default_rng([1, seed])
        return paper.mqp_decisions(part["rounds"], rng, part["noise"])[0]
    how = "gaussian" if part["noise"] > 0 else "none"
    seen = paper.investors("uniform", part["rounds"], seed, noise=how, noise_level=part["noise"])
    return seen.portfolios


def report(outcome: Outcome) -> Report:
    """Mean error over noise, one panel a problem."""
    frame = pd.DataFrame(
        [
            {"what": part["what"], "noise": part["noise"], "series": name, "seed": seed, "error": e}
            for part, found in outcome
            for name, errors in found["errors"].items()
            for seed, e in zip(part["seeds"], errors, strict=True)
        ]
    )
    mean = frame.groupby(["what", "series", "noise"], as_index=False)["error"].agg(["mean", "std"])
    numbers = {
        f"{row['what']}, {row['series']}, {row['noise']:g}": float(row["mean"])
        for _, row in mean.iterrows()
    }
    shown = mean.assign(
        problem=mean["what"].map(PANELS), noise=mean["noise"].map(lambda level: f"{level:g}")
    )
    table = shown.pivot(index=["problem", "noise"], columns="series", values="mean")
    return Report(
        [_mqp(mean), _portfolio(mean)],
        [Figure("noise", _chart(mean), _CAPTION)],
        [ResultTable("noise", table.reset_index(), "Mean error after the last round.", 5)],
        numbers,
        {"errors": frame},
    )


def _mqp(mean: pd.DataFrame) -> PaperFinding:
    ratios = {}
    for what in "cb":
        for label in paper.LABELS.values():
            mine = mean[(mean["what"] == what) & (mean["series"] == label)].set_index("noise")
            level = min((x for x in mine.index if x > 0), key=lambda x: abs(x - paper.NOISE))
            ratios[f"{what}, {label}"] = float(mine["mean"][level] / mine["mean"][0.0])
    text = "; ".join(f"{name}: {value:.2f} times" for name, value in ratios.items())
    return PaperFinding(
        "Both algorithms “are robust to noise” (abstract), at U(−0.5, 0.5).",
        f"The last error against the one without noise: {text}.",
        "reproduced" if max(ratios.values()) <= ROBUST else "differs",
        f"Robust here means at most {ROBUST:g} times the error without noise."
        + (
            ""
            if max(ratios.values()) <= ROBUST
            else " Without noise the right-hand side is found almost exactly, so a small error "
            "beside it is many times larger; the table has both."
        ),
    )


def _portfolio(mean: pd.DataFrame) -> PaperFinding:
    mine = mean[(mean["what"] == "r") & (mean["series"] == "exact weights")].set_index("noise")
    level = max(mine.index)
    errors = ", ".join(f"{row['mean']:.4f} at sd {noise:g}" for noise, row in mine.iterrows())
    grows = bool(np.all(np.diff(mine["mean"]) > -0.1 * mine["mean"].max()))
    return PaperFinding(
        "Noise in portfolios: not varied in the paper.",
        f"With exact weights the error is {errors}.",
        "beyond" if grows else "differs",
        f"It does not go to zero with T at fixed noise: a noisy portfolio is explained by the "
        f"nearest efficient one, which biases r (at sd {level:g} the noise is as large as many "
        "holdings).",
    )


def _chart(mean: pd.DataFrame) -> Chart:
    panels = []
    names = [*paper.LABELS.values(), "exact weights"]
    for what, title in PANELS.items():
        mine = mean[mean["what"] == what].rename(columns={"mean": "error"})
        axis = "noise: sd of each holding" if what == "r" else "noise: U(−h, h), h"
        x = alt.X("noise:Q", title=axis)
        y = alt.Y("error:Q", title="mean last error")
        drawn = pictures.lines(mine, x, y, names)
        panels.append(drawn.properties(width=260, height=240, title=title))
    return alt.hconcat(*panels, spacing=24)


_CAPTION = "Mean error after the last round over the noise level; the same seeds at every level."
EXPERIMENT = Experiment(
    name="noise",
    section="theory",
    title="Robustness to the noise level",
    paper="Abstract and section 4 claim robustness at one noise level; here the level varies.",
    setup="K = 41, the same seeds at every level; portfolios with Gaussian noise in every holding, "
    "weights uniform.",
    parts=parts,
    run=run,
    report=report,
)
