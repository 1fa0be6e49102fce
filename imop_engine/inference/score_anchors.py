"""Three anchors for a fit with a score, where an analyst knows two returns or none.

Level and scale come from the history, as they do in studies. Nothing tells the level of prices:
r + c s with all prices less by c gives the same portfolios. So they are counted from the average
investor's: one asset keeps the return that portfolios say it has without the score.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import InvalidInput
from imop_engine.inference.anchors import history_anchors, ordered_anchors
from imop_engine.inference.score_starts import WIDE, without_score
from imop_engine.problem import Problem, parameter_set, portfolio_problem
from imop_engine.sentences import score as say


@dataclass(frozen=True, eq=False)
class ScoreAnchors:
    """A problem whose anchors fix level, scale and price, and where they come from.

    Attributes:
        problem: As `score_problem` makes it, with at least three anchors.
        relative: Whether prices are counted from the average investor's.
        covariance: Of the anchors' values that are estimates; None takes them as exact.
        sentences: What was taken as known, and why.
    """

    problem: Problem
    relative: bool
    covariance: Matrix | None
    sentences: tuple[str, ...]


def score_anchors(
    problem: Problem,
    decisions: Any,
    expected_returns: ArrayLike,
    mean_covariance: Matrix | None = None,
    errors: ArrayLike | None = None,
) -> ScoreAnchors:
    """The anchors a fit with a score needs: the given ones, and what is missing of three.

    Args:
        problem: As `score_problem` makes it, with three anchors or more, two, or none.
        decisions: One row for each investor, holdings as fractions of wealth.
        expected_returns: Of each asset by the history, a year; for default anchors.
        mean_covariance: Covariance of those as estimates; None: taken as exact.
        errors: Standard error of each given anchor's value; None takes them as exact.

    Returns:
        The problem with its anchors; hand `relative` and `covariance` on to `fit_score`.
    """
    rows, values = problem.theta.equalities, problem.theta.values
    covariance = None
    if errors is not None and np.any(errors):
        covariance = np.diag(np.asarray(errors, dtype=float) ** 2)
    if len(values) >= 3:
        return ScoreAnchors(problem, False, covariance, ())
    if len(values) == 1:
        raise InvalidInput(
            "one anchor is known, which fixes neither scale nor price of the score. Name two or "
            "three returns, or none: two then come from the history."
        )
    Y, said = problem.check_decisions(decisions), []
    if not len(values):
        two = portfolio_problem(problem.quadratic[1] / 2.0, problem.upper, WIDE)
        pair = history_anchors(two, expected_returns, Y, mean_covariance)
        rows = np.array([one.portfolio for one in pair])
        values = np.array([one.value for one in pair])
        covariance = _by_history(rows, np.asarray(expected_returns, float), mean_covariance)
        said.append(say.by_history([(one.name, one.value) for one in pair]))
    asset, value = _third(problem, Y, rows, values)
    said.append(say.counted_from(problem.theta_names[asset], value))
    box = problem.theta.lower, problem.theta.upper
    fixed = np.vstack([rows, np.eye(problem.n)[asset]]), np.append(values, value)
    complete = replace(problem, theta=parameter_set(box, problem.n, *fixed, problem.theta_names))
    return ScoreAnchors(complete, True, covariance, tuple(said))


def _by_history(rows: Matrix, returns: Vector, covariance: Matrix | None) -> Matrix | None:
    if covariance is None:
        return None
    if np.diff(rows @ returns)[0] > 0.0:
        return np.asarray(rows @ covariance @ rows.T)
    return ordered_anchors(rows, returns, covariance)[1]


def _third(problem: Problem, Y: Matrix, rows: Matrix, values: Vector) -> tuple[int, float]:
    """The asset that tells prices best beside two anchors, with its return without the score."""
    found = without_score(problem, Y)
    if found is None:
        raise InvalidInput(
            "the average portfolio is the one of least risk, so that portfolios tell no returns; "
            "name three anchors."
        )
    beliefs = np.column_stack([found.theta, np.ones(problem.n)])
    parts, *_ = np.linalg.lstsq(rows @ beliefs, values, rcond=1e-8)
    if parts[0] <= 0.0:
        raise InvalidInput(
            "by the portfolios the return that is the lower of the two anchors is the higher one; "
            "name other assets, or leave anchors out: the history then gives them."
        )
    basis = np.column_stack([beliefs, -problem.linear0[2]])
    basis = basis / np.linalg.norm(basis, axis=0)
    sizes = [abs(float(np.linalg.det(np.vstack([rows, one]) @ basis))) for one in np.eye(problem.n)]
    asset = int(np.argmax(np.array(sizes) * np.sqrt(Y.mean(axis=0))))
    return asset, float((beliefs @ parts)[asset])
