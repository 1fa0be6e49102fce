"""What a fit with a score as third objective says in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import pandas as pd

from imop_engine.sentences.numbers import explained as share


class Told(Protocol):
    """What the sentences need of a fit; `ScoreFit` says what each is."""

    @property
    def investors(self) -> pd.DataFrame:
        """Weights, prices and costs of each."""
        ...

    @property
    def price(self) -> float:
        """The median price; NaN where it stays open."""
        ...

    @property
    def price_low(self) -> float:
        """The lower end of its interval."""
        ...

    @property
    def price_high(self) -> float:
        """The upper end of its interval."""
        ...

    @property
    def explained(self) -> float:
        """Share of the variation in holdings."""
        ...

    @property
    def explained_of_others(self) -> float:
        """The same of investors whom the returns were not fitted to."""
        ...

    @property
    def without_score(self) -> float:
        """That share with two objectives."""
        ...

    @property
    def open(self) -> int:
        """Combinations of returns that stay open."""
        ...

    @property
    def certain(self) -> bool:
        """Whether the fit ended because nothing improved."""
        ...

    @property
    def relative(self) -> bool:
        """Whether prices are counted from the average investor's."""
        ...

    @property
    def others_as_good(self) -> int | None:
        """How many of nine random scores explain as much; None: not tried."""
        ...

    @property
    def shown(self) -> bool:
        """Whether it is a result."""
        ...


def score_sentences(fit: Told) -> tuple[str, ...]:
    """The price, what is explained, and every doubt.

    Args:
        fit: What was fitted.
    """
    said = [_price(fit)] if fit.shown else [_no_result(fit)]
    said.append(
        f"One surface explains {share(fit.explained)} of the variation in holdings, and "
        f"{share(fit.explained_of_others)} of those of investors it was not fitted to"
        + (
            f"; without the score it is {share(fit.without_score)}."
            if np.isfinite(fit.without_score)
            else "."
        )
    )
    if fit.others_as_good:
        said.append(
            f"{fit.others_as_good} of 9 scores dealt to the assets at random explain investors at "
            "least as well: one more number for each investor explains more whatever it is, and "
            "this is no sign that they care for the score."
        )
    if fit.open:
        said.append(
            f"{fit.open} combination(s) of returns stay open: levels, scale or price of the "
            "score follow the start, not the data. Name three anchors that tell them apart: assets "
            "that many hold, whose scores do not simply follow their returns."
        )
    if not fit.certain:
        said.append("The fit did not settle; take the numbers as a beginning.")
    return tuple(said)


def _price(fit: Told) -> str:
    if fit.open:
        return "The price of the score is not determined."
    middle = f"{fit.price:.3%}"
    interval = f"({fit.price_low:.3%} to {fit.price_high:.3%})"
    if fit.relative:
        spread = fit.investors["price"].quantile([0.1, 0.9])
        return (
            "Portfolios tell by how much prices of the score differ, not their level: they are "
            "counted from the average investor's, so one below zero is less than that. Eight in "
            f"ten investors lie between {spread.iloc[0]:.3%} and {spread.iloc[1]:.3%} of return a "
            "year for a unit of the score. Name three anchors for the level."
        )
    return (
        f"The median investor gives {middle} of return a year for a unit of the score {interval}; "
        f"choosing by the score costs {fit.investors['cost'].median():.3%} a year."
    )


def _no_result(fit: Told) -> str:
    if np.isfinite(fit.without_score) and fit.without_score >= max(fit.explained_of_others, 0.0):
        better = "two objectives, return and risk alone, explain as much"
    else:
        better = "their average portfolio explains as much"
    return (
        "No returns and no price are shown: of investors that returns were not fitted to, "
        f"{better}. Check the scores and the anchors: one of them may contradict the portfolios."
    )


def by_history(pair: Sequence[tuple[str, float]]) -> str:
    """Which two anchors were taken from the history.

    Args:
        pair: Name and return a year of each.

    >>> by_history([("the average portfolio", 0.06)])
    'Taken as known, from the history: the average portfolio = 6.00% a year.'
    """
    named = ", ".join(f"{name} = {value:.2%}" for name, value in pair)
    return f"Taken as known, from the history: {named} a year."


def counted_from(asset: str, value: float) -> str:
    """Where relative prices are counted from.

    Args:
        asset: The third anchor.
        value: Its return a year in the fit without a score.

    >>> counted_from("Cash", 0.021)
    'Third anchor: Cash = 2.10% a year, as portfolios say without the score.'
    """
    return f"Third anchor: {asset} = {value:.2%} a year, as portfolios say without the score."
