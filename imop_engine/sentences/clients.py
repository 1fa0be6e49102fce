"""What is said of one client: the sheet, the trades, stated and held risk, what is withheld."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from imop_engine.sentences.numbers import aversion, percent, percent_and_points, some

# How held risk compares with the stated class, worst first.
MISMATCHES: Final = ("more", "less", "borderline", "agrees", "not stated")
MISMATCH_WORDS: Final = {
    "more": "More risk than stated",
    "less": "Less risk than stated",
    "borderline": "Outside, but too close to tell",
    "agrees": "Agrees",
    "not stated": "Not stated",
}
ASSETS_NAMED: Final = 4
NEARLY: Final = 0.995
ALL: Final = 0.9999  # between them a share would round to all, and is not


def score_range(score: float, low: float, high: float) -> str:
    """A score with its interval, as whole numbers.

    Args:
        score: 1 to 99.
        low: lower end of its interval.
        high: upper end.

    >>> score_range(57.2, 54.6, 60.1), score_range(57.2, 57.2, 57.2)
    ('57 (55 to 60)', '57')
    """
    if round(low) == round(high) or not np.isfinite(low + high):
        return f"{score:.0f}"
    return f"{score:.0f} ({low:.0f} to {high:.0f})"


def aversion_range(value: float, low: float, high: float) -> str:
    """A risk aversion with its interval; an end beyond what weights can tell is open.

    Args:
        value: the risk aversion.
        low: lower end of its interval.
        high: upper end.

    >>> aversion_range(2.5, 2.0, 3.25), aversion_range(2.5, 2.0, float("inf"))
    ('2.50 (2.00 to 3.25)', '2.50 (2.00 or more)')
    """
    said = aversion(value)
    if not np.isfinite(low):
        return said
    if aversion(high) == aversion(np.inf):
        return f"{said} ({low:.2f} or more)"
    return f"{said} ({low:.2f} to {high:.2f})"


def money(amount: float, currency: str) -> str:
    """An amount of money in whole units, with its currency where that is known.

    Args:
        amount: the amount.
        currency: "EUR" say; "" where it is not known.

    >>> money(-12345.6, "EUR"), money(0.4, "")
    ('-12,346 EUR', '0')
    """
    return f"{round(amount):,} {currency}".strip()


def left_sentence(gap: float, low: float, high: float, level: float, given: str) -> str:
    """What one client leaves on the table, with its interval.

    Args:
        gap: return a year that is forgone, a fraction.
        low: lower end of its interval.
        high: upper end; not a number where there is none.
        level: of the interval.
        given: what it hangs on, ", given the anchors".
    """
    said = f"At the same risk an efficient portfolio earns {percent_and_points(gap)} a year more"
    if np.isfinite(high):
        said += f" ({level:.0%} interval: {percent(low)} to {percent(high)})"
    return f"{said}{given}, if these returns are right."


def trades_sentence(
    count: int,
    turnover: float,
    gain: float,
    gap: float,
    most: float,
    left_out: int,
    *,
    sure: bool = True,
) -> str:
    """What the trade list does.

    Args:
        count: how many trades.
        turnover: share of wealth that is sold.
        gain: return a year that is gained, a fraction.
        gap: what could be gained without limits.
        most: the limit on turnover; 1 is none.
        left_out: trades that were too small.
        sure: whether the interval of what is left on the table lies above zero.

    >>> trades_sentence(10, 0.6, 0.0421, 0.0422, 1.0, 0).split(", ")[-1]
    'more than 99% of what is left on the table.'
    """
    if not count and gap == 0.0:
        return "There is nothing to gain at this risk, so there is nothing to trade."
    if not count:
        return "No trade is worth making within these limits: those that would be are too small."
    trades = "trade" if count == 1 else "trades"
    said = f"{count} {trades} that sell {percent(turnover)} of wealth and buy as much "
    if np.isfinite(gain):
        said += f"gain {percent_and_points(gain)} a year at no more risk"
    else:
        said += "gain return at no more risk"
    if gap > 0.0:
        share = gain / gap
        part = "more than 99%" if NEARLY <= share < ALL else f"{min(share, 1.0):.0%}"
        said += f", {part} of what is left on the table"
    said += "."
    if not sure:
        said += (
            " This gain is within its own error: the interval begins at zero, so it is not sure "
            "that these trades gain anything."
        )
    if most < 1.0:
        said += f" At most {percent(most)} of wealth may be sold."
    if left_out:
        said += f" {left_out} smaller {'trade is' if left_out == 1 else 'trades are'} not made."
    return said


def class_sentence(
    stated: str, held: str, state: str, score: str, band: tuple[float, float]
) -> str:
    """Stated and held risk of one client.

    Args:
        stated: the stated class.
        held: the class that the score of the holdings belongs to.
        state: one of MISMATCHES.
        score: that score with its interval, in words.
        band: scores from which and up to which the stated class goes.
    """
    here = f"{stated} goes from {band[0]:.0f} to {band[1]:.0f}; the holdings score {score}"
    if state == "agrees":
        return f"Stated class {stated}, and held risk agrees: {here}."
    if state == "borderline":
        return (
            f"Stated class {stated}; the holdings score as {held}, but too close to tell: {here}."
        )
    return f"{MISMATCH_WORDS[state]}: stated {stated}, held {held}. {here}."


def mismatches_sentence(counts: dict[str, int], column: str) -> str:
    """How many clients hold another risk than they stated.

    Args:
        counts: how many there are of each of MISMATCHES.
        column: where the class is stated.
    """
    stated = sum(count for name, count in counts.items() if name != "not stated")
    if not stated:
        return f"Nobody states a class in {column}."
    more, less = counts.get("more", 0), counts.get("less", 0)
    said = (
        f"Of {stated:,} clients with a class in {column}, {more:,} hold more risk than stated and "
        f"{less:,} less; {counts.get('borderline', 0):,} are too close to tell."
    )
    if counts.get("not stated"):
        said += f" {counts['not stated']:,} state none."
    return said


def withheld_poor() -> str:
    """Why nothing that rests on returns is said."""
    return (
        "The verdict on this study is poor, so nothing is said here that rests on its returns: no "
        "expected return, no efficient portfolio, no trades, no risk aversion. Risk and score rest "
        "on the covariance alone."
    )


def withheld_levels() -> str:
    """Why no return is said as a number."""
    return (
        "Nothing fixes the level and the scale of the returns (two anchors would), so no return is "
        "said in per cent or in money; portfolios and trades do not depend on them."
    )


def withheld_assets(names: Sequence[str], kept: bool) -> str:
    """What is not said of a portfolio for want of a return, and what is said all the same.

    Args:
        names: assets that matter here and whose return the portfolios do not fix.
        kept: whether the rest is judged with these kept as they are.
    """
    one = len(names) == 1
    which, verb = some(list(names), ASSETS_NAMED), "is" if one else "are"
    unknown = (
        f"The {'return' if one else 'returns'} of {which} {verb} not known from these portfolios"
    )
    if not kept:
        return (
            f"{unknown}, and the holdings or the efficient portfolio depend on it: expected "
            "returns, what is left on the table and trades are withheld."
        )
    return (
        f"{unknown}, so {'it is' if one else 'they are'} neither bought nor sold here: the "
        "efficient portfolio and the trades change the rest only, and at least what they gain is "
        "left on the table. Expected returns are withheld."
    )


def withheld_outlier() -> str:
    """Why no risk aversion is said."""
    return (
        "One frontier does not explain what this investor holds, so no risk aversion is read from "
        "it."
    )


def withheld_gap() -> str:
    """Why nothing is said of what is left on the table."""
    return "What is left on the table could not be measured in this study."


def completed_sentence() -> str:
    """The holdings are not only what the file says."""
    return (
        "The file hides small holdings; what stands here is the portfolio completed by the study's "
        "estimate."
    )


def beside_sentence(
    tracking_error: float, active_share: float, more_return: float, more_score: float
) -> str:
    """A portfolio beside a benchmark.

    Args:
        tracking_error: standard deviation a year of the difference.
        active_share: half of what is held differently, a share of wealth.
        more_return: expected return a year beyond the benchmark's; not a number where withheld.
        more_score: risk score beyond the benchmark's.
    """
    said = (
        f"Against the benchmark: {active_share:.1%} is held differently, a tracking error of "
        f"{percent(tracking_error)} a year, {more_score:+.0f} points of risk score"
    )
    if np.isfinite(more_return):
        said += f", {100.0 * more_return:+.2f}% of expected return a year"
    return f"{said}."
