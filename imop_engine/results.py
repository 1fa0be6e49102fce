"""(5) What a run says, in tables an analyst can read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from imop_engine.arguments import Vector, vector
from imop_engine.errors import InvalidInput
from imop_engine.frontier import efficient_frontier, risk_of
from imop_engine.learner import OnlineLearner

WEIGHT_ERROR = 1e-9  # what computing leaves of a weight at an end of its range


@dataclass(frozen=True, eq=False)
class Result:
    """The outcome of a run: estimated returns, investors, frontier, and how well it fits."""

    returns: pd.DataFrame  # asset, estimate (, true, error)
    investors: pd.DataFrame  # weight, risk_aversion, distance
    frontier: pd.DataFrame  # weight, risk, return, then one column for each asset
    rounds: int
    certified: float
    explained: float  # share of the variation in holdings that one frontier explains
    raw_error: float | None
    aligned_error: float | None

    def to_dict(self) -> dict[str, Any]:
        """The same as plain lists and numbers, for JSON."""
        out: dict[str, Any] = {
            "assets": self.returns["asset"].tolist(),
            "estimate": self.returns["estimate"].tolist(),
            "rounds": self.rounds,
            "certified": self.certified,
            "explained": self.explained,
        }
        if self.raw_error is not None:
            out["true"] = self.returns["true"].tolist()
            out["raw_error"] = self.raw_error
            out["aligned_error"] = self.aligned_error
        return out


def risk_aversion(weight: ArrayLike) -> Vector:
    """delta = 2 (1 - w) / w: the investor maximises r'x - (delta / 2) x'Qx."""
    w = np.asarray(weight, dtype=float)
    if np.any((w < -WEIGHT_ERROR) | (w > 1.0 + WEIGHT_ERROR)):
        raise InvalidInput("a weight on return lies between 0 and 1; give such weights.")
    w = np.clip(w, 0.0, 1.0)
    with np.errstate(divide="ignore"):
        result: Vector = np.where(w > 0, 2.0 * (1.0 - w) / np.where(w > 0, w, 1.0), np.inf)
    return np.where(np.isnan(w), np.nan, result)


def aligned_error(estimate: ArrayLike, truth: ArrayLike) -> float:
    """Distance of two return vectors after the best shift and positive scale of the estimate.

    Portfolios tell returns only up to those two, so this is the error that data can speak of.

    >>> aligned_error([1.0, 2.0, 3.0], [0.1, 0.2, 0.3]) < 1e-12
    True
    """
    a, b = vector(estimate, "the estimate"), vector(truth, "the truth")
    if a.size != b.size:
        raise InvalidInput(f"the estimate has {a.size} returns and the truth {b.size}.")
    a, b = a - a.mean(), b - b.mean()
    scale = max(0.0, float(a @ b) / float(a @ a)) if np.any(a) else 0.0
    return float(np.linalg.norm(scale * a - b))


def summarize(learner: OnlineLearner, decisions: Any, truth: ArrayLike | None = None) -> Result:
    """Read a finished (or paused) run: returns, investors, frontier, fit.

    Args:
        learner: What has been learned so far.
        decisions: What it learned from, one row for each investor.
        truth: The true yearly returns where they are known.
    """
    problem = learner.problem
    Y = problem.check_decisions(decisions)
    if len(Y) == 0:
        raise InvalidInput("there are no decisions to summarize.")
    table: dict[str, Any] = {"asset": list(problem.theta_names), "estimate": learner.theta_}
    raw = aligned = None
    if truth is not None:
        true = problem.check_theta(truth)
        table |= {"true": true, "error": learner.theta_ - true}
        raw = float(np.linalg.norm(learner.theta_ - true))
        aligned = aligned_error(learner.theta_, true)
    found = learner.assign(Y)
    spread = float(np.sum((Y - Y.mean(axis=0)) ** 2))
    missed = float(np.sum(found.distances**2))
    explained = 1.0 - missed / spread if spread > 0 else float(missed == 0.0)
    weights, portfolios = efficient_frontier(problem, learner.theta_).sample()
    curve = pd.DataFrame(portfolios, columns=list(problem.names))
    curve.insert(0, "return", portfolios @ learner.theta_)
    curve.insert(0, "risk", risk_of(problem, portfolios))
    curve.insert(0, "weight", weights)
    investors = pd.DataFrame(
        {
            "weight": found.weights,
            "risk_aversion": risk_aversion(found.weights),
            "distance": found.distances,
        }
    )
    return Result(
        pd.DataFrame(table), investors, curve, learner.rounds_, learner.certified_, explained,
        raw, aligned,
    )  # fmt: skip
