"""Why an asset has the return that was learned, in sentences."""

from __future__ import annotations

from typing import Final

from imop_engine.sentences.numbers import percent

# Two returns that differ by less read alike with two digits after the point.
HALF_A_DIGIT: Final = 0.00005


def _share(value: float) -> str:
    return f"{100.0 * value:.0f}%"


def holders(name: str, careful: float, bold: float, everyone: float) -> str:
    """Who holds an asset along the frontier.

    Args:
        name: Of the asset.
        careful: Share of the careful half of the investors who hold it.
        bold: The same of the bold half.
        everyone: The same of all.
    """
    return (
        f"{_share(everyone)} of the investors hold {name}: {_share(careful)} of the careful half "
        f"and {_share(bold)} of the bold half."
    )


def efficient_shares(low: float, high: float, most: float) -> str:
    """What efficient portfolios have of an asset.

    Args:
        low: Share at the least risk.
        high: Share at the most return.
        most: The largest share along the frontier.
    """
    ends = (
        f"Efficient portfolios have {_share(low)} of it at the least risk and {_share(high)} at "
        "the most return"
    )
    # nothing is said of the middle that the ends do not say
    more = _share(most) not in (_share(low), _share(high))
    return f"{ends}, and up to {_share(most)} in between." if more else f"{ends}."


def covariance(name: str, own: float, others: float, largest: str) -> str:
    """What an asset's risk asks for.

    Args:
        name: Of the asset.
        own: What its own variance adds to its covariance with the average portfolio, as a share.
        others: What moving together with the other holdings adds.
        largest: The other holding that adds most.
    """
    return (
        "A return must pay for the risk that an asset adds to a portfolio: of the risk that "
        f"{name} adds to the average portfolio {_share(own)} is its own and {_share(others)} comes "
        f"from moving together with the other holdings, most with {largest}."
    )


def beside(
    estimate: float, history: float, implied: float, past: str = "the return of the history"
) -> str:
    """How far the estimate is from history and from implied returns.

    Args:
        estimate: Yearly.
        history: What the asset earned in the history.
        implied: What the average portfolio alone would say.
        past: What `history` is in words.

    >>> beside(0.05, 0.03, 0.05000001, "the history")
    'The estimate of 5.00% lies 2.00% a year above the history and is the same as what the average \
portfolio alone would imply.'
    """

    def said(gap: float) -> str:
        if abs(gap) < HALF_A_DIGIT:
            return "is the same as"
        return f"lies {abs(gap):.2%} a year {'above' if gap > 0.0 else 'below'}"

    return (
        f"The estimate of {percent(estimate)} {said(estimate - history)} {past} and "
        f"{said(estimate - implied)} what the average portfolio alone would imply."
    )


def no_estimate(sentence: str) -> str:
    """An asset without an estimate: what is known instead."""
    return f"There is no estimate. {sentence}"


def uncertainty(largest: str, share: float) -> str:
    """What the largest part of its uncertainty comes from.

    Args:
        largest: The source, in words.
        share: Of the variance.
    """
    return f"{_share(share)} of the variance behind its interval comes from the {largest}."
