"""What is known of the investors: how well a frontier explains them, and what they prefer."""

from __future__ import annotations

from typing import Final

import numpy as np

from imop_engine.sentences.numbers import (
    NOT_DEFINED,
    aversion,
    parameters,
    percent,
    percent_and_points,
)
from imop_engine.sentences.numbers import explained as explained_share

# A p-value below this is read as a contradiction, as everywhere in statistics.
CONTRADICTED: Final = 0.05
LEAST_GAP: Final = 1e-6  # a return of a hundredth of a basis point: less reads as nothing


def fit_sentence(explained: float, portfolios: int, outliers: int, threshold: float) -> str:
    """How well one frontier explains what investors hold.

    Args:
        explained: Share of the variation in holdings, at most 1.
        portfolios: How many there are; an investor may come at several dates.
        outliers: How many of them lie further away than the threshold.
        threshold: Distance of a portfolio from the frontier, in shares of wealth.

    Returns:
        One sentence.
    """
    who = f"{outliers:,} of them lie" if outliers > 1 else "one of them lies"
    far = f"; {who} further than {percent(threshold)} of wealth from it"
    far = far if outliers else ", and no portfolio lies much further off than the rest"
    share = explained_share(explained)
    reason = ""
    if share == NOT_DEFINED:
        reason = " (the portfolios do not differ)"
    elif explained < 0.0:
        reason = " (the average portfolio is nearer to them)"
    return (
        f"One frontier explains {share}{reason} of the variation in the holdings of "
        f"{portfolios:,} portfolios{far}."
    )


def outliers_sentence(count: int, threshold: float) -> str:
    """How many investors no frontier explains, before a table of them.

    Args:
        count: How many.
        threshold: Distance of a portfolio from the frontier, in shares of wealth.
    """
    first = ", the furthest first" if count > 1 else ""
    return (
        f"{count:,} investors hold portfolios that these returns do not explain "
        f"(further than {percent(threshold)} of wealth){first}."
    )


def gaps_sentence(mean: float, median: float, outliers: int, threshold: float) -> str:
    """What investors leave on the table, together.

    Args:
        mean: Return a year that they forgo at their own risk, on average, as a fraction.
        median: The same of the investor in the middle.
        outliers: How many of them leave more than the threshold.
        threshold: Return a year, as a fraction.

    Returns:
        Two sentences.
    """
    who = f"{outliers:,} of them leave" if outliers > 1 else "One of them leaves"
    far = f" {who} more than {percent_and_points(threshold)} on the table." if outliers else ""
    if mean < LEAST_GAP:
        return (
            "At their own risk investors could earn next to nothing more (less than a hundredth of "
            f"a basis point a year on average), if these returns are right.{far}"
        )
    half = (
        f"half of them more than {percent_and_points(median)}"
        if median >= LEAST_GAP
        else "half of them next to nothing"
    )
    return (
        f"At their own risk investors could earn {percent_and_points(mean)} a year more on "
        f"average, and {half}, if these returns are right.{far}"
    )


def kept_sentence(kept: int, untold: int, investors: int) -> str:
    """For how many an asset of unknown return is kept, and of how many nothing is said; "" if none.

    Args:
        kept: investors who are judged by the rest of what they hold.
        untold: investors for whom the limits leave no such portfolio, or who are too many.
        investors: how many there are.

    >>> kept_sentence(0, 0, 9)
    ''
    """
    said = ""
    if kept:
        said = (
            f"For {kept:,} of {investors:,} investors an asset matters whose return these "
            "portfolios do not tell: it is kept as held and the rest is judged, so at least this "
            "is left on the table."
        )
    if untold:
        said += f" For {untold:,} nothing is said, for want of that return."
    return said.strip()


def gap_outliers_sentence(count: int, threshold: float) -> str:
    """How many investors leave far more on the table than the others, before a table of them.

    Args:
        count: How many.
        threshold: The gap beyond which they are outliers, return a year as a fraction.
    """
    who, verb = ("One investor", "leaves") if count == 1 else (f"{count:,} investors", "leave")
    first = ", the largest gap first" if count > 1 else ""
    return (
        f"{who} {verb} far more on the table than the others "
        f"(more than {percent_and_points(threshold)} a year){first}."
    )


def gap_sentence(gap: float, held: float, risk: float) -> str:
    """What one investor leaves on the table.

    Args:
        gap: Return a year that is forgone, as a fraction.
        held: The expected return of what is held, a year; not a number where it is not known.
        risk: Its standard deviation, a year.
    """
    if not np.isfinite(held):
        return (
            f"The portfolio has a risk of {risk:.2%}. Its return is not known, as an asset matters "
            "whose return these portfolios do not tell; with that kept as held an efficient one at "
            f"the same risk earns {percent_and_points(gap)} more, if these returns are right."
        )
    return (
        f"The portfolio earns {held:.2%} a year at a risk of {risk:.2%}; an efficient one at the "
        f"same risk earns {percent_and_points(gap)} more, if these returns are right."
    )


def median_preference(weight: float, risk_aversion: float, given: str) -> str:
    """The investor in the middle: her weight on return (0 to 1) and her risk aversion.

    Args:
        weight: on return.
        risk_aversion: the same as the price of risk.
        given: what it hangs on, ", given the anchors".
    """
    return (
        f"The median weight on return is {weight:.3f}, a risk aversion of "
        f"{_aversion_said(risk_aversion)}{given}."
    )


def _aversion_said(risk_aversion: float) -> str:
    said = aversion(risk_aversion)
    return f"{said} (return hardly counts there)" if said == NOT_DEFINED else said


def median_preference_short(weight: float, risk_aversion: float, given: str) -> str:
    """The same for the shell's line.

    Args:
        weight: on return.
        risk_aversion: the same as the price of risk.
        given: what it hangs on, ", given the anchors".
    """
    said = _aversion_said(risk_aversion)
    return f"Median weight on return {weight:.3f}, median risk aversion {said}{given}."


def best_family(name: str, values: dict[str, float], p_value: float) -> str:
    """Which family describes the weights best, for the report.

    Args:
        name: The family.
        values: Its fitted parameters.
        p_value: Of the chi-square test; not a number where there were too few investors.

    Returns:
        One sentence.
    """
    shape = parameters(values, ".3g")
    said = f"Of the families tried, {name} describes the weights best"
    said += f" ({shape})" if shape else ""
    if np.isfinite(p_value):
        verdict = "is not rejected" if p_value >= CONTRADICTED else "is rejected"
        said += f"; a chi-square test says it {verdict} (p = {p_value:.3f})"
    return f"{said}."


def family_advice(name: str, values: dict[str, float], p_value: float) -> str:
    """The same beside the histogram, with what to read: the curve or the bars.

    Args:
        name: The family.
        values: Its fitted parameters.
        p_value: Of the chi-square test; not a number where there were too few investors.

    Returns:
        One sentence.
    """
    shape = parameters(values, ".3g")
    said = f"The weights are described best by the {name} distribution"
    said += f" ({shape})" if shape else ""
    if not np.isfinite(p_value):
        return f"{said}; there are too few investors to test it."
    if p_value < CONTRADICTED:
        return (
            f"{said}, but the chi-square test contradicts it (p = {p_value:.2g}): read the "
            "histogram, not the curve."
        )
    return f"{said}, and the chi-square test does not contradict it (p = {p_value:.2f})."


def no_family() -> str:
    """Why no family was fitted."""
    return "There are too few different weights to speak of a distribution."


def everybody(investors: int) -> str:
    """Nobody was chosen in the histogram."""
    return f"All {investors:,} investors. Drag over the bars to look at some of them."


def chosen_investors(count: int, investors: int, weight: float, risk_aversion: float) -> str:
    """How many investors were chosen and what is typical of them.

    Args:
        count: How many were chosen.
        investors: How many there are.
        weight: Median weight on return of the chosen, 0 to 1.
        risk_aversion: Their median risk aversion.
    """
    return (
        f"{count:,} investors chosen ({count / investors:.1%}): median weight {weight:.2f}, "
        f"median risk aversion {aversion(risk_aversion)}."
    )


def investor_sentence(
    weight: float,
    interval: tuple[float, float] | None,
    risk_aversion: float,
    distance: float,
    outlier: bool,
) -> str:
    """One investor's preference.

    Args:
        weight: On return, 0 to 1.
        interval: Of that weight; None where it is not known.
        risk_aversion: 2 (1 - w) / w for a weight w; infinite where the weight is 0.
        distance: Of her portfolio from the frontier, in shares of wealth.
        outlier: Whether that is too far to be explained.
    """
    said = f"Weight on return {weight:.3f}"
    said += f" (between {interval[0]:.3f} and {interval[1]:.3f})" if interval else ""
    told = aversion(risk_aversion)
    said += "" if told == NOT_DEFINED else f", which is a risk aversion of {told}"
    tail = " This is an outlier: one frontier does not explain it." if outlier else ""
    return f"{said}. The portfolio lies {percent(distance)} of wealth from the frontier.{tail}"
