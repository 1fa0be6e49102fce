"""What if a client held something else, or might hold no more than so much of an asset?

The estimate stays; the portfolio, the caps or both change. Nothing is learned again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from imop_engine.arguments import Vector
from imop_engine.clients.book import ClientBook
from imop_engine.clients.risk_score import risk_score
from imop_engine.efficiency_gap.kept import MATTERS, keeping
from imop_engine.efficiency_gap.measure import efficiency
from imop_engine.errors import InvalidInput
from imop_engine.frontier import efficient_frontier, risk_of
from imop_engine.limits import Limits
from imop_engine.problem import Problem, portfolio_problem
from imop_engine.results import risk_aversion
from imop_engine.sentences import clients as say


@dataclass(frozen=True, eq=False)
class WhatIf:
    """One portfolio under the study's estimate and some caps; what is withheld is NaN.

    Attributes:
        portfolio: shares that add up to 1.
        risk: standard deviation a year.
        score: 1 to 99, with `score_low` and `score_high`.
        expected: return a year.
        gap: return a year left on the table under the caps.
        weight: on return, of the nearest efficient portfolio under the caps.
        twin: the efficient portfolio at the same risk; None where it is withheld.
        above_caps: share of the portfolio that lies above the caps.
    """

    portfolio: Vector
    risk: float
    score: float
    score_low: float
    score_high: float
    expected: float
    gap: float
    weight: float
    twin: Vector | None
    above_caps: float

    @property
    def risk_aversion(self) -> float:
        """The same preference as the price of risk."""
        return float(risk_aversion(self.weight)) if np.isfinite(self.weight) else np.nan


def capped(book: ClientBook, caps: Mapping[str, float] | None) -> Problem:
    """The study's problem under other caps.

    Args:
        book: the clients of a study.
        caps: the most that may be held, by asset; None, and assets that are not named: as learned.
    """
    problem = book.study.problem
    if not caps:
        return problem
    Limits(caps=tuple(caps.items())).check(problem.names)
    upper = np.array(
        [caps.get(name, own) for name, own in zip(problem.names, problem.upper, strict=True)]
    )
    theta = book.study.theta
    bounds = (float(theta.min()) - 1.0, float(theta.max()) + 1.0)
    return portfolio_problem(
        problem.covariance, upper=upper, bounds=bounds, names=problem.names, lower=problem.lower,
        limits=problem.limits,
    )  # fmt: skip


def whole(portfolio: Any) -> Vector:
    """Shares that add up to 1; refuses what is no portfolio."""
    shares = np.asarray(portfolio, dtype=float)
    if not np.isfinite(shares).all() or np.any(shares < 0.0) or not shares.sum() > 0.0:
        raise InvalidInput("a portfolio needs shares of zero or more, and one above zero.")
    result: Vector = shares / shares.sum()
    return result


def what_if(book: ClientBook, portfolio: Any, caps: Mapping[str, float] | None = None) -> WhatIf:
    """Measure a portfolio under the estimate of a study.

    Args:
        book: the clients of a study; what it withholds is withheld here.
        portfolio: shares in the order of the assets; they are made to add up to 1.
        caps: other caps than those that were learned under; None: the same.
    """
    shares, problem, theta = whole(portfolio), capped(book, caps), book.study.theta
    risk = risk_of(problem, shares)
    score, low, high = book.scores_of(risk)
    above = float(np.maximum(shares - problem.upper, 0.0).sum())
    figures = (float(risk[0]), float(score[0]), float(low[0]), float(high[0]))
    if book.poor:
        return WhatIf(shares, *figures, np.nan, np.nan, np.nan, None, above)
    measured = efficiency(problem, theta, shares[None])
    twin, gap = measured.portfolios[0], float(measured.gaps[0])
    known = not (np.maximum(shares, twin)[~book.known_assets] >= MATTERS).any()
    rest = None if known else keeping(problem, theta, shares, ~book.known_assets)
    if rest is not None:
        twin, gap = rest.twin, rest.gap
    compared = known or rest is not None
    weight = float(efficient_frontier(problem, theta).project(shares[None]).weights[0])
    return WhatIf(
        shares, *figures,
        float(shares @ theta) if known and book.levels else np.nan,
        gap if compared and book.levels else np.nan,
        weight,
        twin if compared else None,
        above,
    )  # fmt: skip


def beside(book: ClientBook, portfolio: Any, benchmark: Any) -> dict[str, float]:
    """A portfolio beside a benchmark: tracking_error, active_share, more_return, more_score.

    Args:
        book: the clients of a study.
        portfolio: shares in the order of the assets.
        benchmark: the same of the benchmark.
    """
    mine, theirs = what_if(book, portfolio), what_if(book, benchmark)
    apart = mine.portfolio - theirs.portfolio
    return {
        "tracking_error": float(risk_of(book.study.problem, apart)[0]),
        "active_share": float(np.abs(apart).sum() / 2.0),
        "more_return": mine.expected - theirs.expected,
        "more_score": mine.score - theirs.score,
    }


def model_portfolios(book: ClientBook, attribute: str) -> pd.DataFrame:
    """The efficient portfolio of the median weight of each segment.

    Args:
        book: the clients of a study.
        attribute: a column whose values are segments.

    Returns:
        segment, clients, weight, risk, score, expected_return (NaN where levels are not known),
        then the holding of each asset. Outliers have no say.
    """
    if book.poor:
        raise InvalidInput(say.withheld_poor())
    if attribute not in book.attributes.columns:
        raise InvalidInput(f"there is no column {attribute!r} to make segments of.")
    weights, rows = book.preference["weight"], []
    labels = book.attributes[attribute].reset_index(drop=True)
    for segment, part in weights.groupby(labels, sort=True):
        if not part.notna().any():
            continue
        weight = float(part.median())
        held = book.study.frontier.at(weight)
        risk = float(risk_of(book.study.problem, held)[0])
        known = book.levels and not (held[~book.known_assets] >= MATTERS).any()
        rows.append(
            {
                "segment": str(segment),
                "clients": int(part.notna().sum()),
                "weight": weight,
                "risk": risk,
                "score": float(risk_score(risk)),
                "expected_return": float(held @ book.study.theta) if known else np.nan,
                **dict(zip(book.study.problem.names, held.tolist(), strict=True)),
            }
        )
    return pd.DataFrame(rows)
