"""Where fits with a score begin, and what they are compared with: returns without a score.

The fit of three objectives has valleys. One of them is near the fit of two, which is convex in the
return left on the table and so found from anywhere; from there least squares with all prices zero
gives what two objectives explain. A fit that explains less than that is none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from imop_engine.arguments import Matrix, Vector
from imop_engine.efficiency_gap.fit import begin_from
from imop_engine.errors import ImopError
from imop_engine.inference.fit import implied_returns
from imop_engine.inference.score_least_squares import (
    Prices,
    ScoreState,
    at_returns,
    least_squares,
)
from imop_engine.problem import Problem, portfolio_problem

FEW: Final = 100  # investors on whom starts are compared, and scores dealt at random
OTHERS: Final = 300  # investors of whom half are explained by what was fitted to the other half
SHUFFLES: Final = 9
WIDE: Final = (-10.0, 10.0)  # a box for returns that bounds nothing


@dataclass(frozen=True, eq=False)
class Baseline:
    """Returns without a score, at a level and scale of their own, and their problem."""

    problem: Problem
    theta: Vector


def without_score(problem: Problem, Y: Matrix) -> Baseline | None:
    """The least squares of two objectives; None where portfolios are too alike to have one.

    Args:
        problem: As `score_problem` makes it; its anchors do not matter.
        Y: The portfolios, fractions of wealth.
    """
    Q, mean = problem.quadratic[1] / 2.0, Y.mean(axis=0)
    two = portfolio_problem(Q, problem.upper, WIDE)
    implied = implied_returns(two, mean)
    least = two.portfolio.least_variance
    try:
        two = portfolio_problem(
            Q, problem.upper, WIDE, [(one, float(one @ implied)) for one in (least, mean)]
        )
        begun = begin_from(two, Y, implied)
    except ImopError:  # the average portfolio is that of least variance: nothing to tell them by
        return None
    alone = replace(problem, theta=two.theta)
    found = [_best(alone, Y, start, "none") for start in (begun, *_lines(alone, Y))]
    return Baseline(alone, min(found, key=lambda one: one.loss).theta)


def starts(problem: Problem, Y: Matrix, baseline: Baseline | None) -> list[Vector]:
    """Where fits begin: the returns without a score at the anchors' level, scale and price, the
    direction in which marginal risks differ, either way, and what the average portfolio implies.

    Args:
        problem: With its anchors.
        Y: The portfolios, fractions of wealth.
        baseline: The returns without a score; None where there are none.
    """
    found = _lines(problem, Y)
    if baseline is not None:
        found += [
            problem.theta.nearest(one)
            for one in (_levelled(problem, baseline.theta, True),
                        _levelled(problem, baseline.theta, False), baseline.theta)
        ]  # fmt: skip
    return found


def best_start(problem: Problem, Y: Matrix, begin: list[Vector], prices: Prices) -> Vector:
    """The returns at which the best of several fits to some of the investors ended.

    Args:
        problem: With its anchors.
        Y: The portfolios, fractions of wealth.
        begin: Returns to begin from.
        prices: What a price of the score may be.
    """
    some = Y[:: -(-len(Y) // FEW)]
    fits = [_best(problem, some, one, prices) for one in begin]
    return min(fits, key=lambda one: one.loss).theta


def _best(problem: Problem, Y: Matrix, start: Vector, prices: Prices) -> ScoreState:
    begun = ScoreState.first(problem, problem.theta.nearest(start), Y, prices)
    return least_squares(problem, Y, begun)[0]


def _levelled(problem: Problem, theta: Vector, with_score: bool) -> Vector:
    """The same portfolios' returns at the anchors' level and scale, and price of the score."""
    rows, values = problem.theta.equalities, problem.theta.values
    parts = [theta, np.ones(problem.n)] + ([-problem.linear0[2]] if with_score else [])
    basis = np.column_stack(parts)
    if not len(values):
        return theta
    found, *_ = np.linalg.lstsq(rows @ basis, values, rcond=1e-8)
    return np.asarray(basis @ found) if found[0] > 0.0 else theta


def _lines(problem: Problem, Y: Matrix) -> list[Vector]:
    """The direction in which the marginal risks of portfolios differ, either way, and the returns
    under which the average portfolio is best.

    In the assets that an investor holds Q y is a combination of 1, r and s; so what is left of all
    the Q y without 1 and s points along r.
    """
    Q, s, n = problem.quadratic[1] / 2.0, -problem.linear0[2], problem.n
    known = np.linalg.qr(np.column_stack([np.ones(n), s]))[0]
    left = Y @ Q
    left = left - left @ known @ known.T
    line = np.linalg.svd(left, full_matrices=False)[2][0]
    basis = np.column_stack([line, np.ones(n), s])
    rows, values = problem.theta.equalities, problem.theta.values
    implied = Q @ Y.mean(axis=0)
    if not len(values):
        return [implied, line * float(np.sign(line @ left.mean(axis=0)) or 1.0)]
    parts = np.linalg.lstsq(rows @ basis, values, rcond=1e-8)[0]
    return [basis @ parts, basis @ (parts * [-1.0, 1.0, 1.0]), implied]


def explained_of_others(
    problem: Problem, Y: Matrix, theta: Vector, prices: Prices, most: int = OTHERS
) -> float:
    """The share of the variation explained in the half of investors that returns were not fitted
    to; each investor's own a and b are found there.

    Args:
        problem: With the anchors under which the returns are fitted.
        Y: The portfolios, fractions of wealth.
        theta: The returns fitted to all: where the fit to a half begins.
        prices: What a price of the score may be.
        most: How many investors take part; of more it is so many, evenly.

    Returns:
        One less the squared distances over those to the average of the fitted half.
    """
    some = Y[:: -(-len(Y) // most)]
    missed = spread = 0.0
    for part in (0, 1):
        seen, others = some[part::2], some[1 - part :: 2]
        fitted = _best(problem, seen, theta, prices).theta
        missed += at_returns(problem, fitted, others, prices).loss
        spread += float(np.sum((others - seen.mean(axis=0)) ** 2))
    return 1.0 - missed / spread if spread > 0.0 else 1.0


def shuffled(problem: Problem, Y: Matrix, baseline: Baseline) -> tuple[float, Vector]:
    """What the score explains of others, and what scores dealt to the assets at random would.

    A score gives each investor one more number, so that any score explains more than none. All of
    them are fitted in one way here: from the returns without a score, prices free.

    Args:
        problem: With the score; its anchors do not matter.
        Y: The portfolios, fractions of wealth.
        baseline: The returns without a score.

    Returns:
        The share explained with this score, and with each of the others.
    """
    s, rng = -problem.linear0[2], np.random.default_rng(0)
    found = []
    for one in (s, *(rng.permutation(s) for _ in range(SHUFFLES))):
        linear0 = problem.linear0.copy()
        linear0[2] = -one
        alone = replace(baseline.problem, linear0=linear0)
        found.append(explained_of_others(alone, Y, baseline.theta, "relative", FEW))
    return found[0], np.array(found[1:])
