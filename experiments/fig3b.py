"""Figure 3b: the distribution of investors' weights, with the chi-square test."""

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
LEVEL = 0.05
SPREADS = (0.1, 0.15)  # sd of the weights: what the paper may have drawn, and what we draw
SHOWN = np.linspace(0.0, 1.0, 201)


def parts(quick: bool) -> list[Part]:
    """Assignment to the grid as in the paper, and by the exact frontier; several streams."""
    seeds = range(4 if quick else 20)
    return [{"rounds": paper.ROUNDS, "seed": seed} for seed in seeds]


def run(part: Part) -> Result:
    """Histogram, fitted families and tests, for weights from the grid and from the frontier."""
    problem, _ = paper.portfolio()
    seen = paper.investors("normal", part["rounds"], part["seed"])
    holders = [
        paper.investors("normal", part["rounds"], part["seed"], sd=sd).portfolios > 0
        for sd in SPREADS
    ]
    found: Result = {"holders": [paper.plain(held.sum(axis=0)) for held in holders]}
    found |= {"true_mean": float(seen.weights.mean()), "true_sd": float(seen.weights.std())}
    for name, weights in (("grid", K), ("exact", "exact")):
        learner = imop.OnlineLearner(problem, weights=weights, rate=paper.RATE)
        learner.partial_fit(seen.portfolios)
        if name == "grid":
            distribution = imop.weight_distribution(
                learner.assign(seen.portfolios).weights, grid=learner.weights_
            )
        else:
            frontier = imop.efficient_frontier(problem, learner.theta_)
            distribution = imop.weight_distribution(
                imop.investor_preferences(frontier, seen.portfolios)
            )
        normal = distribution.family("normal")
        found[name] = {
            "histogram": distribution.histogram().to_dict("list"),
            "families": distribution.to_frame().to_dict("list"),
            "best": distribution.best.name,
            "parameters": normal.parameters,
            "p_value": normal.p_value,
            "uniform_p_value": distribution.family("uniform").p_value,
            "density": paper.plain(normal.density(SHOWN)),
        }
    return found


def report(outcome: Outcome) -> Report:
    """Roughly normal, and how often the test says so."""
    rows = []
    for part, found in outcome:
        for name in ("grid", "exact"):
            one = found[name]
            rows.append(
                {"seed": part["seed"], "weights": name, "chosen family": one["best"],
                 **dict(one["parameters"].items()),
                 "p (normal)": one["p_value"], "p (uniform)": one["uniform_p_value"]}
            )  # fmt: skip
    table = pd.DataFrame(rows)
    numbers: dict[str, float] = {}
    for name in ("grid", "exact"):
        mine = table[table["weights"] == name]
        numbers[f"accepted_{name}"] = float((mine["p (normal)"] >= LEVEL).mean())
        numbers[f"uniform_rejected_{name}"] = float((mine["p (uniform)"] < LEVEL).mean())
    first = outcome[0][1]
    held = np.mean([found["holders"] for _, found in outcome], axis=0)
    holders = pd.DataFrame(held, columns=[f"security {i + 1}" for i in range(held.shape[1])])
    holders.insert(0, "sd of the weights", [f"{sd:g}" for sd in SPREADS])
    shown = pd.DataFrame(first["exact"]["families"])
    return Report(
        [_roughly(first), _tested(numbers, len(outcome))],
        [Figure("weights", _chart(first), _CAPTION)],
        [
            ResultTable(
                "families", shown, "Families fitted to the exact weights of seed 0, best first."
            ),
            ResultTable(
                "holders", holders, "Of 1,000 investors, how many hold each security (mean).", 1
            ),
        ],
        numbers,
        {"tests": table, "histogram": pd.DataFrame(first["grid"]["histogram"])},
    )


def _roughly(found: Result) -> PaperFinding:
    name, parameters = found["exact"]["best"], found["exact"]["parameters"]
    values = ", ".join(f"{key} {value:.3f}" for key, value in parameters.items())
    return PaperFinding(
        "“The distribution follows roughly normal distribution.”",
        f"Seed 0: by BIC the best of the families on [0, 1] is the {name}; the normal "
        f"has {values}, drawn were mean {found['true_mean']:.3f} and sd {found['true_sd']:.3f}.",
        "reproduced" if name in ("normal", "beta") else "differs",
        "The families were fitted to the weights with which the portfolios lie nearest."
        + (" A beta of this mean and sd is nearly the same curve." if name == "beta" else ""),
    )


def _tested(numbers: dict[str, float], count: int) -> PaperFinding:
    grid, exact = numbers["accepted_grid"], numbers["accepted_exact"]
    good = exact >= 0.5 and numbers["uniform_rejected_exact"] >= 0.5
    return PaperFinding(
        "“Chi-square goodness-of-fit tests support our hypotheses.”",
        f"Over {count} streams the test does not reject the normal in {exact:.0%} with "
        f"exact weights and in {grid:.0%} with the grid of K = {K}; it rejects the uniform in "
        f"{numbers['uniform_rejected_exact']:.0%}.",
        "reproduced" if good else "differs",
        "Cells are merged to an expected count of 5 and degrees of freedom reduced by the fitted "
        f"parameters; level {LEVEL:g}. "
        + (
            "The grid's assignment is biased by the error of r̂ and by K, and 1,000 investors are "
            "enough for the test to see it."
            if grid < exact
            else "The grid does as well as the exact frontier."
        ),
    )


def _chart(found: Result) -> Chart:
    panels = []
    for name, title in (("grid", f"Assigned to the K = {K} weights"), ("exact", "Exact weights")):
        bars = pd.DataFrame(found[name]["histogram"])
        curve = pd.DataFrame({"weight": SHOWN, "density": found[name]["density"]})
        x = alt.X("low:Q", title="weight of f₁ (return)").scale(domain=[0, 1]).bin("binned")
        y = alt.Y("density:Q", title="share of investors per unit of weight")
        drawn = (
            alt.Chart(bars)
            .mark_bar(color=pictures.BLUE, opacity=0.55, stroke="white", strokeWidth=0.5)
            .encode(x=x, x2="high:Q", y=y)
        )
        line = (
            alt.Chart(curve)
            .mark_line(color=pictures.VERMILLION, strokeWidth=2.5)
            .encode(x=alt.X("weight:Q"), y=alt.Y("density:Q"))
        )
        panels.append(
            alt.layer(drawn, line).properties(
                width=pictures.WIDTH, height=pictures.HEIGHT, title=title
            )
        )
    return alt.hconcat(*panels, spacing=30)


_CAPTION = "The weights of 1,000 investors (seed 0) as inferred, and the normal fitted to them."
EXPERIMENT = Experiment(
    name="fig3b",
    section="portfolio",
    title="Figure 3b: distribution of investors' weights",
    paper="Section 4.2, figure 3(b): weights of f₁ among 1,000 investors, chi-square tests.",
    setup="Weights drawn from N(0.5, 0.15) cut to [0, 1]; after learning, every investor is "
    "assigned her weight; a chi-square test for each stream.",
    parts=parts,
    run=run,
    report=report,
    chosen=(
        (
            "The distribution the paper drew weights from is not given; its figure is "
            "bell-shaped. With N(0.5, 0.1) hardly anyone holds securities 7 and 8 (see the "
            "table), and what nobody holds can only be bounded; we take sd 0.15."
        ),
    ),
)
