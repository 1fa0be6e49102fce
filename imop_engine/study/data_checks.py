"""Checks that need no run: what market and investors look like before anything is learned.

The rules and sentences are those of `checks`, so that a light does not change its mind after a run.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from imop_engine.investors import Investors
from imop_engine.market import MONTHS_A_YEAR, Market
from imop_engine.sentences import checks as say
from imop_engine.study.checks import (
    CAUTION,
    COVERED,
    FEW,
    FOR_EACH_ASSET,
    HARDLY_COVERED,
    POOR,
    SHORT,
    TOO_FEW,
    Check,
)

SINGULAR: Final = 1e-12  # smallest eigenvalue of a usable covariance, as a share of the largest


def market_checks(market: Market, gaps: str = "likelihood") -> tuple[Check, ...]:
    """What may keep a market from carrying an estimate, worst first.

    Args:
        market: Assets, moments, and the history behind them.
        gaps: What is done about missing returns, as reading a history names it.
    """
    found = []
    values = np.linalg.eigvalsh(market.covariance)
    if values[0] <= SINGULAR * values[-1]:
        found.append(Check("covariance", POOR, *say.singular(float(values[0]))))
    if gaps == "complete" and market.history is not None:
        there = market.history.notna()
        whole = int(there.all(axis=1).sum())
        if whole < len(there):
            found.append(Check("months", CAUTION, *say.months_left_out(whole, len(there))))
    periods = market.periods
    if periods is not None and periods < max(SHORT, FOR_EACH_ASSET * market.size):
        per_year = market.periods_per_year if market.months is None else MONTHS_A_YEAR
        what = say.few_periods(periods, market.size, per_year)
        found.append(Check("history", CAUTION, *what))
    return tuple(found)


def investor_checks(people: Investors) -> tuple[Check, ...]:
    """What may keep investors from carrying an estimate, worst first.

    Args:
        people: As they were read or drawn.
    """
    found = []
    files = [(one.covered, one.file) for one in people.reading if one.covered is not None]
    covered, name = min(files, default=(1.0, ""))
    if covered < COVERED:
        severe = POOR if covered < HARDLY_COVERED else CAUTION
        found.append(Check("coverage", severe, *say.uncovered(name, covered)))
    ids = {one for one, good in zip(people.ids, people.good, strict=True) if good}
    if len(ids) < FEW:
        severe = POOR if len(ids) < TOO_FEW else CAUTION
        found.append(Check("investors", severe, *say.few_investors(len(ids))))
    return tuple(sorted(found, key=lambda one: one.severity != POOR))
