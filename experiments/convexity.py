"""Where Assumption 3.3 holds: the appendix's example and the paper's own problems, by sampling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

import imop_engine as imop
from imop_engine.problem import ParameterSet
from imop_experiments import appendix, paper
from imop_experiments.experiment import (
    Experiment,
    Outcome,
    PaperFinding,
    Part,
    Report,
    Result,
    ResultTable,
)
from imop_experiments.paper import Array

TOLERANCE = 1e-6  # distance that counts as off; far above what projections leave
CASES = {
    "ordered": "appendix's example, n = 1, θ₁ ≤ θ₂",
    "crossing": "appendix's example, n = 1, Θ = [0, 10]²",
    "plane": "appendix's example, n = 2, Θ = [0, 10]⁴",
    "mqp": "MQP, learning c",
    "portfolio": "portfolios, two anchors",
}


@dataclass(frozen=True)
class ConvexityCase:
    """What sampling needs to know of a problem."""

    problem: imop.Problem
    nearest: Callable[[Array, Array], Array]  # x(θ): the efficient decision nearest to y
    efficient: Callable[[Array, float], Array]  # the efficient decision of a weight
    draw: Callable[[np.random.Generator], Array]  # a decision y
    size: float  # B + R


def parts(quick: bool) -> list[Part]:
    """Thousands of draws where projections are cheap, hundreds on the MQP's curve."""
    count = {"mqp": 60 if quick else 600}
    return [
        {"case": case, "count": count.get(case, 300 if quick else 3000), "seed": 6}
        for case in CASES
    ]


def case_of(name: str) -> ConvexityCase:
    """The problems by name."""
    if name == "mqp":
        problem = paper.mqp("c")
        return ConvexityCase(
            problem,
            lambda theta, y: imop.efficient_frontier(problem, theta).project(y).points[0],
            lambda theta, w: imop.solve(problem, theta, w),
            lambda rng: rng.uniform(-0.5, 3.5, 2),
            float(np.linalg.norm([3.0, 3.0]) + np.linalg.norm([3.5, 3.5])),
        )
    if name == "portfolio":
        problem, _ = paper.portfolio()
        return ConvexityCase(
            problem,
            lambda theta, y: imop.efficient_frontier(problem, theta).project(y).points[0],
            lambda theta, w: imop.solve(problem, theta, w),
            lambda rng: rng.dirichlet(np.full(problem.n, 0.5)),
            2.0,
        )
    n = 2 if name == "plane" else 1
    bounds = ([0.0, 5.0], [5.0, 10.0]) if name == "ordered" else (0.0, 10.0)
    problem = appendix.problem(n, bounds)
    return ConvexityCase(
        problem,
        appendix.nearest,
        lambda theta, w: w * theta[:n] + (1 - w) * theta[n:],
        lambda rng: rng.uniform(0.0, 10.0, n),
        20.0 * float(np.sqrt(n)),
    )


def run(part: Part) -> Result:
    """How often (a), (b) and the convexity of l fail, and the worst failure of (a)."""
    case, rng = case_of(part["case"]), np.random.default_rng([part["seed"], part["count"]])
    theta_set = case.problem.theta
    failed = {"a": 0, "b": 0, "convex": 0}
    worst: Result = {"distance": 0.0}
    for _ in range(part["count"]):
        one, two = (theta_set.nearest(_uniform(theta_set, rng)) for _ in range(2))
        alpha, w1, w2 = rng.uniform(size=3)
        between = alpha * one + (1 - alpha) * two
        mixed = alpha * case.efficient(one, w1) + (1 - alpha) * case.efficient(two, w2)
        off = float(np.linalg.norm(mixed - case.nearest(between, mixed)))
        failed["a"] += off > TOLERANCE
        if off > worst["distance"]:
            worst = {
                "distance": off,
                "theta1": paper.plain(one),
                "theta2": paper.plain(two),
                "alpha": float(alpha),
                "x": paper.plain(mixed),
            }
        y = case.draw(rng)
        x1, x2, x = (case.nearest(theta, y) for theta in (one, two, between))
        chord = alpha * x1 + (1 - alpha) * x2
        allowed = alpha * (1 - alpha) * float(np.linalg.norm(x1 - x2)) / (2 * case.size)
        failed["b"] += float(np.linalg.norm(chord - x)) > allowed + TOLERANCE
        jensen = alpha * _square(y - x1) + (1 - alpha) * _square(y - x2) - _square(y - x)
        failed["convex"] += jensen < -TOLERANCE
    return {"failed": {name: int(value) for name, value in failed.items()}, "worst": worst}


def _uniform(theta_set: ParameterSet, rng: np.random.Generator) -> Array:
    drawn: Array = rng.uniform(theta_set.lower, theta_set.upper)
    return drawn


def _square(v: Array) -> float:
    return float(v @ v)


def report(outcome: Outcome) -> Report:
    """One row a problem; the example's claim is checked where it is made and beyond."""
    rows = []
    numbers: dict[str, float] = {}
    for part, found in outcome:
        shares = {name: failed / part["count"] for name, failed in found["failed"].items()}
        numbers |= {f"{part['case']}_{name}": value for name, value in shares.items()}
        rows.append(
            {"problem": CASES[part["case"]], "draws": part["count"],
             "3.3(a) fails (%)": 100 * shares["a"], "3.3(b) fails (%)": 100 * shares["b"],
             "l not convex (%)": 100 * shares["convex"],
             "furthest off in (a)": found["worst"]["distance"]}
        )  # fmt: skip
    found = {part["case"]: result for part, result in outcome}
    caption = "Share of random θ¹, θ², α (and y) for which a condition fails."
    return Report(
        [_example(numbers), _claimed(numbers, found), _own(numbers)],
        tables=[ResultTable("assumptions", pd.DataFrame(rows), caption, 2)],
        numbers=numbers,
    )


def _example(numbers: dict[str, float]) -> PaperFinding:
    fails = numbers["ordered_a"] + numbers["ordered_convex"]
    return PaperFinding(
        "Appendix: for n = 1 and θ₁ ≤ θ₂ the example satisfies Assumption 3.3(a).",
        "Mixtures were efficient and l was convex in every draw."
        if fails == 0
        else f"(a) failed in {numbers['ordered_a']:.1%} of the draws.",
        "reproduced" if fails == 0 else "differs",
        "The efficient set is the interval [θ₁, θ₂], and a mixture of points of two intervals lies "
        "in the mixture of the intervals."
        if fails == 0
        else "The efficient set is the interval [θ₁, θ₂], for which (a) can be proved: a draw in "
        "which it fails is an error of our computation.",
    )


def _claimed(numbers: dict[str, float], found: dict[str, Result]) -> PaperFinding:
    worst = found["crossing"]["worst"]
    holds = numbers["crossing_a"] == 0 and numbers["plane_a"] == 0
    example = ""
    if not holds and "theta1" in worst:
        one, two = (np.round(worst[name], 2).tolist() for name in ("theta1", "theta2"))
        example = (
            f" For instance θ¹ = {one}, θ² = {two}, α = {worst['alpha']:.2f}: the mixture "
            f"{worst['x'][0]:.2f} is {worst['distance']:.2f} away from the efficient set."
        )
    return PaperFinding(
        "Appendix: “W.l.o.g. θ₁ ≤ θ₂ … one can check that Assumption 3.3(a) is satisfied” for θ "
        "in [0, 10]² (and general n).",
        f"With Θ = [0, 10]² it fails in {numbers['crossing_a']:.1%} of the draws, with n = 2 in "
        f"{numbers['plane_a']:.1%}; l is not convex in {numbers['crossing_convex']:.1%} and "
        f"{numbers['plane_convex']:.1%}.",
        "reproduced" if holds else "differs",
        "No draw contradicts it; that is no proof."
        if holds
        else "Ordering θ₁ and θ₂ loses generality: two parameters ordered in opposite ways mix to "
        "a shorter interval. With n ≥ 2 the efficient sets are line segments of different "
        "directions, and a mixture of points of two segments leaves the segment between." + example,
    )


def _own(numbers: dict[str, float]) -> PaperFinding:
    mqp, portfolio = numbers["mqp_convex"], numbers["portfolio_convex"]
    either = min(numbers["mqp_a"], numbers["mqp_b"]) == 0.0
    return PaperFinding(
        "Experiments are run “even if these conditions are not satisfied”.",
        f"For the MQP (a) fails in {numbers['mqp_a']:.0%} and (b) in {numbers['mqp_b']:.0%} of the "
        f"draws, and l is not convex in {mqp:.1%}; for portfolios (a) fails in "
        f"{numbers['portfolio_a']:.0%}, l is not convex in {portfolio:.1%}.",
        "differs" if either else "reproduced",
        "So Theorem 1 does not speak of either; what was measured instead is under “Regret”."
        if not either
        else "One of the two conditions held in every draw.",
    )


EXPERIMENT = Experiment(
    name="convexity",
    section="theory",
    title="Where the convexity assumption holds",
    paper="Assumption 3.3 and the appendix's examples for which it is said to hold.",
    setup="θ¹, θ² uniform in Θ, α uniform; x₁, x₂ efficient for random weights; y random. "
    f"Fails means by more than {TOLERANCE:g}; seed (6, number of draws).",
    parts=parts,
    run=run,
    report=report,
)
