"""Figure 3a: the estimated efficient frontier beside the true one."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

import imop_engine as imop
from imop_engine.frontier import risk_of
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
SEED = 0
CLOSE = 0.02  # "very close": within 2 % of the frontier's own range of returns, at any risk


def parts(quick: bool) -> list[Part]:
    """One stream of 1,000 investors; a quick run is the same, it takes a fraction of a second."""
    return [{"rounds": paper.ROUNDS, "seed": SEED, "family": "normal"}]


def run(part: Part) -> Result:
    """Both frontiers in risk and return, and the best true return at the estimate's risks."""
    problem, truth = paper.portfolio()
    seen = paper.investors(part["family"], part["rounds"], part["seed"])
    learner = imop.OnlineLearner(problem, weights=K, algorithm="full", rate=paper.RATE)
    learner.partial_fit(seen.portfolios)
    found = {"theta": paper.plain(learner.theta_), "truth": paper.plain(truth)}
    for name, r in (("true", truth), ("estimated", learner.theta_)):
        _, X = imop.efficient_frontier(problem, r).sample(300)
        found[name] = {"risk": paper.plain(risk_of(problem, X)), "return": paper.plain(X @ r)}
    grid = imop.efficient_frontier(problem, learner.theta_).at(learner.weights_)
    found["dots"] = {
        "risk": paper.plain(risk_of(problem, grid)),
        "return": paper.plain(grid @ learner.theta_),
    }
    found["portfolios"] = {
        "risk": paper.plain(risk_of(problem, seen.portfolios)),
        "return": paper.plain(seen.portfolios @ truth),
    }
    return found


def report(outcome: Outcome) -> Report:
    """The gap between the frontiers at equal risk."""
    ((_, found),) = outcome
    true, mine = found["true"], found["estimated"]
    low = max(min(true["risk"]), min(mine["risk"]))
    high = min(max(true["risk"]), max(mine["risk"]))
    risks = np.linspace(low, high, 200)
    gap = np.interp(risks, mine["risk"], mine["return"]) - np.interp(
        risks, true["risk"], true["return"]
    )
    span = float(np.ptp(true["return"]))
    numbers = {"largest_gap": float(np.abs(gap).max()), "mean_gap": float(np.abs(gap).mean())}
    numbers["span"] = span
    finding = PaperFinding(
        "“The estimated efficient frontier is very close to the real one.”",
        f"At equal risk the two are at most {numbers['largest_gap']:.5f} of return a year apart, "
        f"{numbers['mean_gap']:.5f} on average; the frontier spans {span:.3f}.",
        "reproduced" if numbers["largest_gap"] <= CLOSE * span else "differs",
        f"Very close here means within {CLOSE:.0%} of the span at every risk.",
    )
    table = pd.DataFrame(
        {"security": range(1, 9), "true": found["truth"], "estimated": found["theta"]}
    )
    table["error"] = table["estimated"] - table["true"]
    curves = pd.concat(
        [pd.DataFrame(found[name]).assign(series=name) for name in ("true", "estimated")]
    )
    return Report(
        [finding],
        [Figure("frontier", _chart(curves, found), _CAPTION)],
        [ResultTable("returns", table, "Expected returns; securities 1 and 7 are anchors.")],
        numbers,
        {"curves": curves, "estimated_at_grid": pd.DataFrame(found["dots"])},
    )


def _chart(curves: pd.DataFrame, found: Result) -> Chart:
    x = alt.X("risk:Q", title="risk: standard deviation per year").axis(format="%")
    y = alt.Y("return:Q", title="expected return per year").axis(format="%")
    x, y = x.scale(zero=False), y.scale(zero=False)
    people = alt.Chart(pd.DataFrame(found["portfolios"])).encode(x=x, y=y)
    line = alt.Chart(curves[curves["series"] == "true"]).encode(x=x, y=y, order="risk:Q")
    names = ["true frontier", "estimated, one dot a weight"]
    colour = alt.Color("series:N", title=None).scale(
        domain=names, range=[pictures.VERMILLION, pictures.BLUE]
    )
    dots = alt.Chart(pd.DataFrame(found["dots"]).assign(series=names[1])).encode(
        x=x, y=y, color=colour
    )
    return alt.layer(
        people.mark_circle(size=60, opacity=0.08, color=pictures.GREY),
        line.transform_calculate(series=f"'{names[0]}'")
        .mark_line(strokeWidth=2.5)
        .encode(color=colour),
        dots.mark_circle(size=55, opacity=1),
    ).properties(width=560, height=360)


_CAPTION = (
    "The true frontier (red line), the estimated one at the 41 weights (blue dots), and the "
    "investors' portfolios (grey)."
)
EXPERIMENT = Experiment(
    name="fig3a",
    section="portfolio",
    title="Figure 3a: true and estimated efficient frontier",
    paper="Section 4.2, figure 3(a): T = 1000, K = 41.",
    setup="Algorithm 1 over 1,000 investors, weights N(0.5, 0.15) cut to [0, 1], seed 0; "
    "securities 1 and 7 anchored.",
    parts=parts,
    run=run,
    report=report,
    chosen=(
        (
            "The estimated frontier is drawn with the estimated returns, as in the paper; the "
            "anchors "
            "are what makes the two comparable (see Table 1)."
        ),
    ),
)
