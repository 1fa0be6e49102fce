"""What is said of a score as third objective where it is shown beside the study of two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

NAMED: Final = 8


def beside(explained: float, without: float) -> str:
    """How much three objectives explain, beside the study's own two.

    Args:
        explained: Share of the variation in holdings with return, risk and score.
        without: The same of the study's own estimate, with return and risk.
    """
    said = f"With the score {explained:.1%} of the differences between portfolios are explained"
    if not math.isfinite(without):
        return f"{said}."
    said += f", by the run without it {max(0.0, without):.1%}"
    if explained <= without:
        return f"{said}: these investors are explained better without it, so trust no price."
    return f"{said}. Two more numbers for each investor always explain more; a little more is none."


def no_result(explained: float) -> str:
    """Why nothing is shown: the fit does worse than everybody's average.

    Args:
        explained: Share of the variation in holdings, below zero.
    """
    return (
        f"No result: the fit explains {explained:.1%} of the differences between portfolios, less "
        "than their average does. Either nobody chose by this score, or the known returns "
        "contradict the portfolios; choose other known returns, or another score."
    )


def sampled(fitted: int, total: int) -> str:
    """That not all investors were fitted; "" where all were.

    Args:
        fitted: How many were fitted.
        total: How many there are.
    """
    if fitted >= total:
        return ""
    return (
        f"{fitted:,} of {total:,} investors were fitted. The others hold assets that few hold or, "
        "where there are very many investors, were not drawn into an even sample."
    )


def left_out(assets: Sequence[str]) -> str:
    """Which assets have no estimate because hardly anybody holds them; "" where all have one.

    Args:
        assets: Their names.
    """
    if not assets:
        return ""
    named = ", ".join(assets[:NAMED])
    more = f" and {len(assets) - NAMED} more" if len(assets) > NAMED else ""
    are, their = ("is", "its return") if len(assets) == 1 else ("are", "their returns")
    return (
        f"{named}{more} {are} held by hardly any of these investors and left out: portfolios do "
        f"not tell {their}."
    )


def example(what: str) -> str:
    """What the example's score is, and that it is no rating.

    Args:
        what: The score in words.
    """
    return (
        f"An example computed from this market itself: {what}. It is no rating of sustainability "
        "or anything else; put your own numbers in its place."
    )


def left_open(count: int) -> str:
    """That no pictures can be drawn, because returns stay open.

    Args:
        count: How many combinations of returns stay open.
    """
    many = "combination" if count == 1 else "combinations"
    return (
        f"{count} {many} of returns and prices stay open, so no weights, prices or costs are "
        "shown. Name three known returns of assets that many hold, with different scores."
    )
