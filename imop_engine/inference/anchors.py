"""Anchors for a problem that has none yet: chosen by hand, or taken from the return history.

What anchors must do, and the check that they do it, is in gauge.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr

from imop_engine.arguments import Anchors, Matrix, Vector, anchor_rows
from imop_engine.capabilities import Capability
from imop_engine.errors import InvalidInput
from imop_engine.frontier import risk_of
from imop_engine.gauge import require_fixed
from imop_engine.inference.estimating_equations import least_investors
from imop_engine.problem import Problem, parameter_set

# Portfolios nearer than this are one: a thousandth of the usual rounding of holdings.
SAME_PORTFOLIO: Final = 1e-6
# A holding above this, or above half an even share, is more than error or rounding leaves.
MUCH: Final = 0.02
CERTAINLY: Final = 4.0  # standard errors above zero: the order is not in doubt
UNSEEN_MONEY: Final = 0.01  # share of an anchor's portfolio that may be in assets nobody holds


def with_anchors(
    problem: Problem, anchors: Anchors | None, *, undetermined: bool = False
) -> Problem:
    """The same problem with these anchors instead of its own.

    `anchors` as in `portfolio_problem`: {asset: return}, or a list of (portfolio, return). Two or
    more must fix both shift and scale; one or none is accepted, and leaves the rest open.

    Args:
        problem: What is decided, and which theta are possible.
        anchors: Known yearly returns; None removes them all.
        undetermined: Accept two or more anchors that leave shift or scale open all the same.

    Returns:
        The new problem; the given one is not changed.

    >>> from imop_engine import portfolio_problem
    >>> free = portfolio_problem([[0.04, 0.01], [0.01, 0.09]], names=["bonds", "stocks"])
    >>> with_anchors(free, {"bonds": 0.02, "stocks": 0.06}).theta.values
    array([0.02, 0.06])
    """
    problem.require(
        Capability.EXPECTED_RETURNS,
        sentence="anchors belong to portfolio problems; this one is a quadratic problem.",
    )
    rows, values = anchor_rows(anchors, problem.names)
    if not undetermined:
        require_fixed(rows, values, 0 if anchors is None else len(anchors))
    box = problem.theta.lower, problem.theta.upper
    return replace(problem, theta=parameter_set(box, problem.n, rows, values, problem.names))


@dataclass(frozen=True, eq=False)
class PortfolioAnchor:
    """A portfolio whose return is taken as known, and what it is."""

    name: str
    portfolio: Vector
    value: float


def anchor_by_history(
    problem: Problem,
    expected_returns: ArrayLike,
    decisions: Any,
    mean_covariance: Matrix | None = None,
) -> Problem:
    """The same problem with the two default anchors; see `history_anchors`.

    Args:
        problem: What is decided, and which theta are possible.
        expected_returns: Yearly, by the return history.
        decisions: One row for each investor: holdings, fractions of wealth that add up to 1.
        mean_covariance: Covariance of the expected returns as estimates; None: taken as exact.

    Returns:
        The new problem; the given one is not changed.
    """
    anchors = history_anchors(problem, expected_returns, decisions, mean_covariance)
    return with_anchors(problem, [(one.portfolio, one.value) for one in anchors])


def history_anchors(
    problem: Problem,
    expected_returns: ArrayLike,
    decisions: Any,
    mean_covariance: Matrix | None = None,
) -> tuple[PortfolioAnchor, PortfolioAnchor]:
    """The two default anchors: portfolios that earn what they earned in the history.

    The portfolio of least variance, and the average of the observed ones. Where the first has
    more than 1 % in assets that hardly any investor holds, it would tie the scale to returns that
    nobody can see; then it is the averages of the cautious and of the bold half of investors.
    Assets that hardly anybody holds are left out of averages, for the same reason.

    Both portfolios are fully invested, so they fix shift and scale as long as the second earned
    more: investors take more risk only for a higher return, and a history that says otherwise
    contradicts them. A mean of few years may say so by chance: where its error is known, the
    anchors are what history and that order together say (`ordered_anchors`).

    Args:
        problem: What is decided, and which theta are possible.
        expected_returns: Yearly, by the return history.
        decisions: One row for each investor: holdings, fractions of wealth that add up to 1.
        mean_covariance: Covariance of the expected returns as estimates; None: taken as exact.

    Returns:
        Two portfolios with their names and yearly returns.
    """
    Y = problem.check_decisions(decisions)

    def halves() -> tuple[Vector, Vector] | None:
        risk = risk_of(problem, Y)
        bold = risk > np.median(risk)
        return (Y[~bold].mean(axis=0), Y[bold].mean(axis=0)) if bold.any() else None

    if len(Y) == 0:
        raise InvalidInput("there are no portfolios to take the average of; give at least one.")
    crowd = Crowd(held_assets(Y), Y.mean(axis=0), halves)
    return crowd_anchors(problem, expected_returns, crowd, mean_covariance)


@dataclass(frozen=True, eq=False)
class Crowd:
    """What the default anchors need of all investors together.

    Args:
        held: assets of which enough of them hold more than error or rounding would leave.
        mean: their average portfolio.
        halves: gives the average portfolios of the cautious and of the bold half of them, where
            they differ in risk; asked only where it is needed.
    """

    held: NDArray[np.bool_]
    mean: Vector
    halves: Callable[[], tuple[Vector, Vector] | None]


def crowd_anchors(
    problem: Problem,
    expected_returns: ArrayLike,
    crowd: Crowd,
    mean_covariance: Matrix | None = None,
) -> tuple[PortfolioAnchor, PortfolioAnchor]:
    """`history_anchors` of investors of whom only sums are known.

    Args:
        problem: What is decided, and which theta are possible.
        expected_returns: Yearly, by the return history.
        crowd: The investors.
        mean_covariance: Covariance of the expected returns as estimates; None: taken as exact.
    """
    history = problem.check_theta(expected_returns, "expected_returns")
    held, least = crowd.held, problem.portfolio.least_variance
    pair = (
        ("the portfolio of least variance", least),
        ("the average portfolio", _without_unheld(crowd.mean, held)),
    )
    apart = crowd.halves() if float(least[~held].sum()) > UNSEEN_MONEY else None
    if apart is not None:
        cautious, bold = apart
        pair = (
            ("the average portfolio of the cautious half", _without_unheld(cautious, held)),
            ("the average portfolio of the bold half", _without_unheld(bold, held)),
        )
    (first, low), (second, high) = pair
    if np.linalg.norm(high - low) <= SAME_PORTFOLIO:
        raise InvalidInput(
            f"{second} is {first}, so the two default anchors are one and fix no scale. Name two "
            "assets or portfolios whose returns you know as anchors."
        )
    earned = float(low @ history), float(high @ history)
    if mean_covariance is not None and earned[1] <= earned[0]:
        values, _ = ordered_anchors(np.array([low, high]), history, mean_covariance)
        earned = float(values[0]), float(values[1])
    if earned[1] <= earned[0]:
        raise InvalidInput(
            f"in the return history {second} earned {earned[1]:.4%} a year and {first} "
            f"{earned[0]:.4%}: investors take more risk only for more return, so this history "
            "cannot anchor them. Name two assets or portfolios whose returns you know as anchors."
        )
    return PortfolioAnchor(first, low, earned[0]), PortfolioAnchor(second, high, earned[1])


def ordered_anchors(
    rows: Matrix, expected_returns: Vector, mean_covariance: Matrix
) -> tuple[Vector, Matrix]:
    """What two portfolios earn by a history, given that the second earns more; and its covariance.

    The means of a history are normal around the truth. Given that the true difference is positive
    it has the normal distribution cut at zero, whose mean and variance are known; what is left of
    the two values moves along.

    Args:
        rows: The two portfolios, fractions of wealth; the second one bears more risk.
        expected_returns: Yearly, by the history.
        mean_covariance: Covariance of the expected returns as estimates.

    Returns:
        The two values, and their covariance.

    >>> import numpy as np
    >>> values, _ = ordered_anchors(np.eye(2), np.array([0.05, 0.04]), 0.01**2 * np.eye(2))
    >>> values.round(4).tolist()
    [0.0408, 0.0492]
    """
    values, covariance = rows @ expected_returns, rows @ mean_covariance @ rows.T
    pull = covariance @ np.array([-1.0, 1.0])
    apart, variance = float(values[1] - values[0]), float(pull[1] - pull[0])
    if variance <= 0.0 or apart > CERTAINLY * np.sqrt(variance):
        return values, covariance
    spread = float(np.sqrt(variance))
    ratio = apart / spread
    hazard = float(np.exp(-0.5 * ratio**2 - log_ndtr(ratio)) / np.sqrt(2.0 * np.pi))
    left = max(1.0 - ratio * hazard - hazard**2, 0.0)  # share of the variance that remains
    moved = values + pull * (spread * hazard / variance)
    return moved, covariance - np.outer(pull, pull) * ((1.0 - left) / variance)


def held_assets(decisions: Matrix) -> NDArray[np.bool_]:
    """Assets of which enough investors hold more than error or rounding would leave."""
    much = much_of(decisions.shape[1])
    held: NDArray[np.bool_] = (decisions > much).sum(axis=0) >= least_investors(len(decisions))
    return held


def much_of(assets: int) -> float:
    """A holding above this is more than error or rounding leaves.

    Args:
        assets: how many there are.
    """
    return min(MUCH, 0.5 / assets)


def _without_unheld(mean: Vector, held: NDArray[np.bool_]) -> Vector:
    kept = np.where(held, mean, 0.0) if held.any() else mean
    result: Vector = kept / kept.sum()
    return result
