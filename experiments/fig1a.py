"""Figure 1a: learning the objectives of the quadratic program, the error in every round."""

from __future__ import annotations

import pandas as pd

from imop_experiments import paper, trails
from imop_experiments.experiment import (
    Experiment,
    Figure,
    Outcome,
    PaperFinding,
    Part,
    Report,
    ResultTable,
)

K = 41
FINE = 321  # so fine a grid that its own error is far below what is measured
FAST_BY, FAST_TO = 100, 0.2  # "fast": within a tenth of the rounds, a fifth of the first error
MOST = 0.5  # a cause explains an error if removing it takes away half of it
WIDE = 2.0  # "concentrated": 95 % of repetitions end below twice the average


def parts(quick: bool) -> list[Part]:
    """100 repetitions of 1,000 rounds; the others test why the error does not vanish."""
    rounds, repetitions, check = (300, 8, 4) if quick else (1000, 100, 20)
    return [
        *trails.parts("c", K, rounds, repetitions),
        *trails.parts("c", FINE, rounds, check, algorithms=("full",)),
        *trails.parts("c", K, rounds, check, algorithms=("full",), noise=0.0),
        *trails.parts("c", FINE, rounds, check, algorithms=("full",), noise=0.0),
    ]


def report(outcome: Outcome) -> Report:
    """Errors fall, stay together, and end at a floor; which part of it is K, which noise?"""
    everything = trails.frame(outcome)
    main = everything[(everything["K"] == K) & (everything["noise"] > 0)]
    means = main.groupby(["series", "round"])["error"].mean()
    numbers: dict[str, float] = {}
    rows = []
    for label, short in (("Algorithm 1", "1"), ("Algorithm 2", "2")):
        ends = trails.last(main, series=label)["error"]
        by = max(t for t in main["round"].unique() if t <= FAST_BY)
        numbers |= {
            f"start_{short}": float(means[label, 0]),
            f"early_{short}": float(means[label, by]),
            f"end_{short}": float(ends.mean()),
            f"sd_{short}": float(ends.std()),
            f"p95_{short}": float(ends.quantile(0.95)),
        }
        rows.append(
            {"algorithm": label, "first error": numbers[f"start_{short}"],
             f"after {by} rounds": numbers[f"early_{short}"], "last round": ends.mean(),
             "sd": ends.std(), "5 %": ends.quantile(0.05), "95 %": ends.quantile(0.95),
             "certified": trails.last(main, series=label)["certified"].mean()}
        )  # fmt: skip
    return Report(
        [_fast(numbers), _robust(numbers), _floor(everything, numbers)],
        [Figure("errors", trails.chart(main, "c"), _CAPTION)],
        [ResultTable("ends", pd.DataFrame(rows), "Total error ‖ĉ − c‖ over the repetitions.", 3)],
        numbers,
        {"errors_by_round": trails.summary(main), "errors": main},
    )


def _fast(numbers: dict[str, float]) -> PaperFinding:
    shares = [numbers[f"early_{a}"] / numbers[f"start_{a}"] for a in "12"]
    return PaperFinding(
        "“Convergence for both algorithms is pretty fast.”",
        f"After {FAST_BY} rounds the average error is {shares[0]:.0%} (Algorithm 1) and "
        f"{shares[1]:.0%} (Algorithm 2) of the first one; it ends at {numbers['end_1']:.3f} and "
        f"{numbers['end_2']:.3f}.",
        "reproduced" if max(shares) <= FAST_TO else "differs",
        f"Fast here means at most {FAST_TO:.0%} of the first error after {FAST_BY} rounds.",
    )


def _robust(numbers: dict[str, float]) -> PaperFinding:
    spread = [numbers[f"p95_{a}"] / numbers[f"end_{a}"] for a in "12"]
    return PaperFinding(
        "“Errors for different repetitions concentrate around the average”: robust to noise.",
        f"95 % of the repetitions end below {spread[0]:.2f} times (Algorithm 1) and "
        f"{spread[1]:.2f} times (Algorithm 2) the average.",
        "reproduced" if max(spread) <= WIDE else "differs",
        f"Concentrated here means that 95 % end below {WIDE:g} times the average.",
    )


def _floor(everything: pd.DataFrame, numbers: dict[str, float]) -> PaperFinding:
    fine = float(trails.last(everything, K=FINE, noise=paper.NOISE)["error"].mean())
    quiet = float(trails.last(everything, K=K, noise=0.0)["error"].mean())
    both = float(trails.last(everything, K=FINE, noise=0.0)["error"].mean())
    share = 1.0 - fine / numbers["end_1"]
    numbers |= {"end_fine_grid": fine, "end_without_noise": quiet, "end_fine_without_noise": both}
    return PaperFinding(
        "“The error in the last round is not zero because we use a finite K.”",
        f"Algorithm 1 ends at {numbers['end_1']:.3f} with K = {K}; at {fine:.3f} with K = {FINE}; "
        f"without noise at {quiet:.3f} with K = {K} and at {both:.3f} with K = {FINE}.",
        "reproduced" if share >= MOST else "differs",
        f"A grid eight times as fine takes away {share:.0%} of the error, quiet decisions take "
        f"away {1.0 - quiet / numbers['end_1']:.0%}, both together "
        f"{1.0 - both / numbers['end_1']:.0%}."
        + (
            ""
            if share >= MOST
            else " So most of what is left is not K. Figure 1c shows what it means: the efficient "
            "sets nearly coincide all the same, and decisions tell of c only through that set."
        ),
    )


_CAPTION = (
    "Total error of c₁ and c₂ after each round, every repetition (faint) and their average (dark)."
)
EXPERIMENT = Experiment(
    name="fig1a",
    section="mqp-c",
    title="Figure 1a: estimation error in every round",
    paper="Section 4.1, figure 1(a): T = 1000, K = 41, 100 repetitions, noise U(−0.5, 0.5)².",
    setup="Both algorithms over the same decisions; η_t = 5/√t; repetition i has seed (1, i).",
    parts=parts,
    run=trails.run,
    report=report,
    chosen=(
        (
            "The parameters are said to be in the appendix and are not. Recovered from a related "
            "paper's figure: Q₁ = diag(1, 2), c₁ = (3, 1), Q₂ = diag(2, 1), c₂ = (−6, −5), "
            "A = [[−3, 1], [0, −1]], b = (−6, −3) in the form A x ≥ b, x ≥ 0 "
            "(section 4 writes A x ≤ b, the appendix A x ≥ b)."
        ),
        (
            "θ₁ = 0 lies outside the boxes [1, 6]² and [−6, −1]² of c: we start at its projection, "
            "(1, 1, −1, −1)."
        ),
        (
            "c₂ has its first entry on the edge of its box, and every w ≥ 5/6 gives the decision "
            "(0, 0): those rounds bound c₁ from one side only."
        ),
        "“l_K = 0” is read as l_K ≤ 1e-14; ties in k* go to the weight nearest ½.",
    ),
)
