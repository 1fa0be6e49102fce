"""How much of what investors hold one frontier explains, who it does not explain, and whether
simpler beliefs would have done as well.

Distances are Euclidean, in shares of the portfolio: 0.01 is one percentage point of holdings. The
weights of investors in `preferences.py` take their noise from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from imop_engine.arguments import Matrix, Vector, vector
from imop_engine.errors import InvalidInput
from imop_engine.frontier import Frontier, Projection, efficient_frontier
from imop_engine.problem import Problem
from imop_engine.sentences.investors import fit_sentence
from imop_engine.weights import lam_of

# Outliers lie this many robust standard deviations above the median distance. Distances are like
# a chi variable: with 6 degrees of freedom the rule is at 6.5 noise sds (one clean investor in
# 10 million), with a single one at 4.2 (one in 40,000).
OUTLIER_SPREADS: Final = 6.0
MAD_TO_SD: Final = 1.4826  # the median absolute deviation of a normal variable, as its sd
# Nearer than one percentage point of holdings nobody is far, however exact everyone else is: data
# without noise have a spread of 1e-16, rounded data one below their own rounding.
OUTLIER_FLOOR: Final = 0.01
# Portfolios whose differences are this share of themselves are the same, but for rounding.
ALIKE: Final = 1e-24
# A holding nearer to its bound than this is at its bound; the frontier is exact to about 1e-12.
AT_BOUND: Final = 1e-9
# A projection this near a turning point (in lam, relative) is at it: it was clamped there.
AT_TURN: Final = 1e-9
# A direction shorter than this after the others are taken out of it adds nothing to them.
DEPENDENT: Final = 1e-9


@dataclass(frozen=True, eq=False)
class Fit:
    """How well one frontier explains the holdings of many investors.

    `investors` has one row each: `distance` to the frontier, `outlier`, and the `asset` that is
    held most differently from the nearest efficient portfolio, by how much (`gap`, held minus
    explained).
    """

    explained: float  # 1 - sum ||y - x||^2 / sum ||y - mean y||^2
    explained_without_outliers: float
    threshold: float  # distance beyond which an investor is an outlier
    investors: pd.DataFrame

    @property
    def outliers(self) -> int:
        """How many investors the frontier does not explain."""
        return int(self.investors["outlier"].sum())

    def sentence(self) -> str:
        """The same for an analyst to read."""
        return fit_sentence(self.explained, len(self.investors), self.outliers, self.threshold)


@dataclass(frozen=True)
class Noise:
    """The error in a single holding, and how many independent residuals it was estimated from."""

    sd: float
    degrees: int


def measure_fit(frontier: Frontier, decisions: Any, limit: float | None = None) -> Fit:
    """Compare what investors hold with a frontier.

    Outliers are investors whose distance exceeds median + 6 * 1.4826 * MAD of all distances, and
    0.01 at least. Medians, so that a few strange investors do not hide one another; on clean data
    hardly anyone is called an outlier.

    Args:
        frontier: At the estimated returns.
        decisions: One row for each investor: holdings, fractions of wealth that add up to 1.
        limit: The distance beyond which somebody is an outlier; None: by the rule above.
    """
    Y = some_decisions(frontier.problem, decisions)
    found = frontier.project(Y)
    threshold = outlier_threshold(found.distances) if limit is None else limit
    outlier = found.distances > threshold
    gaps = Y - found.points
    worst = np.abs(gaps).argmax(axis=1)
    table = pd.DataFrame(
        {
            "distance": found.distances,
            "outlier": outlier,
            "asset": np.array(frontier.problem.names, dtype=object)[worst],
            "gap": gaps[np.arange(len(Y)), worst],
        },
        index=labels_of_rows(decisions, len(Y)),
    )
    return Fit(
        explained_share(Y, found.distances),
        explained_share(Y[~outlier], found.distances[~outlier]),
        threshold,
        table,
    )


def compare_fit(
    problem: Problem,
    estimate: ArrayLike,
    decisions: Any,
    *,
    history: Any = None,
    average: ArrayLike | None = None,
) -> pd.DataFrame:
    """The fit of the learned beliefs beside that of beliefs nobody had to learn.

    One row each: "learned" (`estimate`); "historical mean" where `history` is given, as mean
    returns or as a table of returns with a row for each period; and "implied by the average
    portfolio", the returns delta * covariance * average under which the average portfolio is
    optimal (Black and Litterman's reverse optimisation). The frontier does not depend on delta.

    `average` is the mean of `decisions` unless given. Learned beliefs were made to fit, so judge
    them on investors they were not learned from: pass those as `decisions`, and the average of
    the others as `average`.

    Args:
        problem: What is decided, and which theta are possible.
        estimate: The learned yearly returns.
        decisions: One row for each investor: holdings, fractions of wealth that add up to 1.
        history: Mean yearly returns, or returns per period with a column for each asset; None
            leaves that row out.
        average: The portfolio whose implied returns are compared, fractions of wealth.

    Returns:
        One row for each kind of beliefs.
    """
    Y = some_decisions(problem, decisions)
    beliefs = {"learned": problem.check_theta(estimate, "estimate")}
    if history is not None:
        beliefs["historical mean"] = _historical_mean(problem, history)
    mean = Y.mean(axis=0) if average is None else vector(average, "average")
    beliefs["implied by the average portfolio"] = implied_returns(problem, mean)
    rows = []
    for name, theta in beliefs.items():
        distances = efficient_frontier(problem, theta).project(Y).distances
        rows.append(
            {
                "beliefs": name,
                "explained": explained_share(Y, distances),
                "median_distance": float(np.median(distances)),
                "root_mean_square_distance": float(np.sqrt(np.mean(distances**2))),
            }
        )
    return pd.DataFrame(rows)


def implied_returns(problem: Problem, portfolio: ArrayLike, risk_aversion: float = 2.5) -> Vector:
    """delta * covariance * portfolio: the returns under which that portfolio is optimal.

    Args:
        problem: What is decided, and which theta are possible.
        portfolio: Holdings, fractions of wealth.
        risk_aversion: Delta, positive.

    Returns:
        The yearly return of each asset.

    >>> from imop_engine import portfolio_problem
    >>> implied_returns(portfolio_problem([[0.04, 0.0], [0.0, 0.09]]), [0.5, 0.5]).round(4)
    array([0.05  , 0.1125])
    """
    held = vector(portfolio, "portfolio")
    if held.size != problem.n:
        raise InvalidInput(
            f"the portfolio has {held.size} holdings and the problem {problem.n} assets; "
            "give one holding an asset, zeros included."
        )
    if not (np.isfinite(risk_aversion) and risk_aversion > 0):
        raise InvalidInput(f"the risk aversion is {risk_aversion:g}; give a positive number.")
    result: Vector = risk_aversion * (problem.covariance @ held)
    return result


def explained_share(decisions: Matrix, distances: Vector) -> float:
    """1 - sum ||y - x||^2 / sum ||y - mean y||^2; 1 or 0 where all portfolios are the same."""
    if len(decisions) == 0:
        return float("nan")
    spread = float(np.sum((decisions - decisions.mean(axis=0)) ** 2))
    missed = float(np.sum(distances**2))
    alike = spread <= ALIKE * float(np.sum(decisions**2))  # but for the error of computing
    return float(missed <= spread) if alike else 1.0 - missed / spread


def outlier_threshold(distances: Vector, floor: float = OUTLIER_FLOOR) -> float:
    """Distance beyond which an investor is called an outlier; the rule is in `measure_fit`.

    Args:
        distances: One for each investor.
        floor: The least threshold, in the same unit.
    """
    middle = float(np.median(distances))
    spread = MAD_TO_SD * float(np.median(np.abs(distances - middle)))
    return max(middle + OUTLIER_SPREADS * spread, floor)


def estimate_noise(
    frontier: Frontier, decisions: Matrix, projection: Projection, fitted: int | None = None
) -> Noise:
    """The standard deviation of the error in a single holding, from the residuals.

    Only assets strictly between their bounds count: at a bound the error shows one side. Of their
    residuals three directions are left out, because they hold more than error: the same amount
    added to all (the budget), all scaled (what unexplained holdings elsewhere displace), and
    along the frontier (the investor's own weight). So an investor with m such assets brings m - 3
    degrees of freedom, and `fitted` are taken off for the beliefs: the number of assets less two
    unless given, as shift and scale leave portfolios as they are. Where nobody has more than
    three such assets the second direction stays in, with m - 2. Outliers do not count.

    Args:
        frontier: The efficient frontier at the estimated returns.
        decisions: One row for each investor: holdings, fractions of wealth that add up to 1.
        projection: The nearest efficient portfolio of each investor.
        fitted: How many parameters were fitted to these portfolios; None: the number of assets less
            two.

    Returns:
        The standard deviation, in fractions of wealth, and its degrees of freedom.
    """
    keep = projection.distances <= outlier_threshold(projection.distances)
    taken = max(frontier.problem.n - 2, 0) if fitted is None else int(fitted)
    return noise_of(residual_sums(frontier, decisions, projection, keep), taken, int(keep.sum()))


def residual_sums(
    frontier: Frontier, decisions: Matrix, projection: Projection, keep: NDArray[np.bool_]
) -> Iterator[tuple[float, int]]:
    """Squares of independent residuals summed up, and how many they are: without three directions,
    then without two; see `estimate_noise`. Those of several lots of investors add up.

    Args:
        frontier: The efficient frontier at the estimated returns.
        decisions: One row for each investor: holdings, fractions of wealth that add up to 1.
        projection: The nearest efficient portfolio of each investor.
        keep: Who counts.
    """
    Y, X = decisions[keep], projection.points[keep]
    room = np.minimum(X - frontier.problem.lower, frontier.problem.upper - X)
    free = room > AT_BOUND
    _, above = stretches_beside(frontier, projection.weights[keep])
    along = tangents(frontier, above)
    for nuisance in ([np.ones_like(X), along, X], [np.ones_like(X), along]):
        yield _left_over(Y - X, free, nuisance)


def noise_of(sums: Iterable[tuple[float, int]], taken: int, investors: int) -> Noise:
    """The error in a single holding by sums of residuals.

    Args:
        sums: As `residual_sums` gives them.
        taken: How many parameters were fitted.
        investors: How many they are of.
    """
    degrees = 0
    for squares, degrees in sums:
        if degrees > taken:
            return Noise(float(np.sqrt(squares / (degrees - taken))), degrees - taken)
    raise InvalidInput(
        f"the noise cannot be estimated: {investors} investors leave {degrees} residuals for "
        f"{taken} fitted returns. Give more investors; from Python, noise_sd may say the error in "
        "a holding."
    )


def stretches_beside(
    frontier: Frontier, weights: Vector
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The stretch below and the one above each weight: two at a turning point, else the same.

    Rounding must not decide which one an investor at a turning point belongs to.

    Args:
        frontier: The efficient frontier at the estimated returns.
        weights: On return, 0 to 1.

    Returns:
        Two positions among the turning points for each weight: where each stretch starts.
    """
    lams, last = lam_of(weights), len(frontier.lams) - 1
    near = AT_TURN * (1.0 + np.where(np.isfinite(lams), lams, 0.0))
    below, above = (
        np.clip(np.searchsorted(frontier.lams, lams + shift, side="right") - 1, 0, last)
        for shift in (-near, near)
    )
    return below, above


def tangents(frontier: Frontier, stretches: NDArray[np.int64]) -> Matrix:
    """d portfolio / d lam on each stretch; where nothing moves that of the last stretch before
    that does, so zero only where the whole frontier is one portfolio.

    Args:
        frontier: The efficient frontier at the estimated returns.
        stretches: Positions of the turning points at which they start (`stretches_beside`).

    Returns:
        One row for each stretch, one column for each asset.
    """
    moving = np.flatnonzero(np.linalg.norm(frontier.directions, axis=1) > 0)
    if moving.size == 0:
        return np.zeros((len(stretches), frontier.problem.n))
    before = np.maximum(np.searchsorted(moving, stretches, side="right") - 1, 0)
    result: Matrix = frontier.directions[moving[before]]
    return result


def some_decisions(problem: Problem, decisions: Any) -> Matrix:
    """Decisions as an array, at least one."""
    Y = problem.check_decisions(decisions)
    if len(Y) == 0:
        raise InvalidInput("there are no investors; give at least one portfolio.")
    return Y


def labels_of_rows(decisions: Any, count: int) -> pd.Index[Any]:
    """The row labels of a frame, or 0, 1, ..."""
    index = getattr(decisions, "index", None)
    return index if isinstance(index, pd.Index) else pd.RangeIndex(count)


def _left_over(
    residuals: Matrix, free: NDArray[np.bool_], nuisance: list[Matrix]
) -> tuple[float, int]:
    """Sum of squares of each row's free residuals orthogonal to its nuisance directions, and its
    degrees of freedom."""
    left = np.where(free, residuals, 0.0)
    degrees = free.sum(axis=1)
    basis: list[Matrix] = []
    for direction in nuisance:
        unit = np.where(free, direction, 0.0)
        size = np.linalg.norm(unit, axis=1, keepdims=True)
        for other in basis:
            unit = unit - other * np.sum(unit * other, axis=1, keepdims=True)
        length = np.linalg.norm(unit, axis=1, keepdims=True)
        new = length > DEPENDENT * size
        unit = np.where(new, unit / np.where(new, length, 1.0), 0.0)
        left = left - unit * np.sum(left * unit, axis=1, keepdims=True)
        degrees = degrees - new[:, 0]
        basis.append(unit)
    left = left[degrees > 0]
    return float(np.sum(left**2)), int(np.maximum(degrees, 0).sum())


def _historical_mean(problem: Problem, history: Any) -> Vector:
    table = problem.check_decisions(history) if np.ndim(history) == 2 else None
    if table is None:
        return problem.check_theta(history, "history")
    if len(table) == 0:
        raise InvalidInput("the return history has no rows; give one row of returns a period.")
    result: Vector = table.mean(axis=0)
    return result
