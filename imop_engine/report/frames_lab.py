"""The tables behind the charts of the laboratory: sets and regions in a plane."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from imop_engine.arguments import Matrix, Vector
from imop_engine.frontier import efficient_frontier
from imop_engine.problem import Problem

TRUE: Final = "true"
ESTIMATED: Final = "estimated"
# Points of a curved set; more are not seen at the size of a chart.
SET_POINTS: Final = 80
# Dots of decisions; the newest are kept.
DOTS: Final = 400
# Two constraints this close to parallel have no corner worth drawing.
PARALLEL: Final = 1e-9
INSIDE: Final = 1e-7  # corners are computed to about 1e-12


def efficient_sets(problem: Problem, truth: Vector, estimate: Vector) -> pd.DataFrame:
    """series, weight, x1, x2: the efficient decisions under the truth and the estimate.

    Args:
        problem: What is decided, and which theta are possible.
        truth: The true parameters.
        estimate: The learned ones.
    """
    parts = []
    for series, theta in ((TRUE, truth), (ESTIMATED, estimate)):
        weights, points = efficient_frontier(problem, theta).sample(SET_POINTS)
        parts.append(
            pd.DataFrame(
                {"series": series, "weight": weights, "x1": points[:, 0], "x2": points[:, 1]}
            )
        )
    return pd.concat(parts, ignore_index=True)


def regions(problem: Problem, truth: Vector, estimate: Vector) -> pd.DataFrame:
    """series, order, x1, x2: the corners of what is allowed, each polygon closed.

    Where the constraints are known both are the same, and only the true one is given.

    Args:
        problem: What is decided, and which theta are possible.
        truth: The true parameters.
        estimate: The learned ones.
    """
    parts = [_polygon(problem, truth).assign(series=TRUE)]
    if np.any(problem.rhs):
        parts.append(_polygon(problem, estimate).assign(series=ESTIMATED))
    return pd.concat(parts, ignore_index=True)


def _polygon(problem: Problem, theta: Vector) -> pd.DataFrame:
    rows: Matrix = np.vstack([problem.rows, np.eye(2)])
    right = np.concatenate([problem.right_hand_side(theta), problem.lower])
    corners = []
    for i in range(len(rows)):
        for j in range(i):
            pair = rows[[i, j]]
            if abs(np.linalg.det(pair)) < PARALLEL:
                continue
            point = np.linalg.solve(pair, right[[i, j]])
            if np.all(rows @ point >= right - INSIDE):
                corners.append(point)
    if not corners:
        return pd.DataFrame({"order": [], "x1": [], "x2": []}, dtype=float)
    found = np.unique(np.round(corners, 9), axis=0)
    centre = found.mean(axis=0)
    around = np.argsort(np.arctan2(found[:, 1] - centre[1], found[:, 0] - centre[0]))
    closed = found[np.append(around, around[0])]
    return pd.DataFrame({"order": np.arange(len(closed)), "x1": closed[:, 0], "x2": closed[:, 1]})


def observed(decisions: Matrix) -> pd.DataFrame:
    """round, x1, x2 of the newest decisions, at most DOTS."""
    first = max(0, len(decisions) - DOTS)
    part = decisions[first:]
    return pd.DataFrame(
        {
            "round": np.arange(first + 1, len(decisions) + 1),
            "x1": part[:, 0] if len(part) else [],
            "x2": part[:, 1] if len(part) else [],
        }
    )


def parameters(problem: Problem, truth: Vector, estimate: Vector) -> pd.DataFrame:
    """parameter, true, estimate, error.

    Args:
        problem: What is decided, and which theta are possible.
        truth: The true parameters.
        estimate: The learned ones.
    """
    return pd.DataFrame(
        {
            "parameter": list(problem.theta_names),
            "true": truth,
            "estimate": estimate,
            "error": estimate - truth,
        }
    )
