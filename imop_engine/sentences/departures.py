"""What is said of holdings far from the frontier, and of a covariance bent to explain them.

Where levels are not sure the order of returns is what is left, unless the anchors may be the wrong
way round; then advice to read an order would contradict what is said of the anchors.
"""

from __future__ import annotations

from imop_engine.sentences.checks import CheckText
from imop_engine.sentences.numbers import percent


def noise(away: float, sd: float, limit: float, order_open: bool) -> CheckText:
    """Holdings lie far from the fitted frontier.

    Args:
        away: of the holdings from the nearest efficient portfolio, root mean square, fractions of
            wealth; what the distances in the table of investors add up to.
        sd: error in a single holding, as the intervals count it, fractions of wealth.
        limit: up to which intervals were seen to hold.
        order_open: whether the anchors may be the wrong way round.
    """
    return CheckText(
        sentence=(
            f"{_away(away)}. The intervals count that as an error of {percent(sd)} in each "
            f"holding; up to {percent(limit)} they were seen to hold in simulated studies, beyond "
            "it less often."
        ),
        remedy=(
            "Learn from groups of investors who may believe different things, "
            f"{_as_order(order_open, 'or')}."
        ),
    )


def noise_in_held(away: float, sd: float, order_open: bool) -> CheckText:
    """Departures from the frontier are only in what investors hold.

    Args:
        away: of the holdings from the nearest efficient portfolio, root mean square, fractions of
            wealth; what the distances in the table of investors add up to.
        sd: error in a single holding, as the intervals count it, fractions of wealth.
        order_open: whether the anchors may be the wrong way round.
    """
    ranks = "" if order_open else "; ranks are surer than levels"
    return CheckText(
        sentence=(
            f"{_away(away)}, and yet nobody holds traces of what the frontier leaves out: these "
            f"are errors that grow with the holding, or choices. The intervals take them for "
            f"independent errors of {percent(sd)} in each holding, and held less often in "
            "simulated studies."
        ),
        remedy=f"Take the intervals for the least that is open{ranks}.",
    )


def noise_uneven(ratio: float) -> CheckText:
    """Some investors err far more than others.

    Args:
        ratio: relative variance of their squared distances over that of errors of one size, the
            furthest one in a hundred left at its limit.
    """
    return CheckText(
        sentence=(
            "Some investors err more than others: even with the furthest left out of account, "
            f"squared distances to the frontier vary {ratio:.1f} times as much as errors of one "
            "size make them. Holdings may be rescaled from a part of the wealth (cash that is not "
            "shown), or come from several sources."
        ),
        remedy=(
            "Give whole portfolios, cash included; take the returns of assets held in small "
            "amounts for less sure than their intervals."
        ),
    )


def covariance_contradicted(
    asset: str, before: float, after: float, periods: float, order_open: bool
) -> CheckText:
    """The portfolios are explained by a covariance that the history all but rules out.

    Args:
        asset: whose volatility the fit changed most.
        before: its volatility by the history, a year.
        after: the fitted one.
        periods: how many periods the history has.
        order_open: whether the anchors may be the wrong way round.
    """
    return CheckText(
        sentence=(
            "The covariance that explains these portfolios best is one that the history of "
            f"{periods:.0f} periods all but rules out; the volatility of {asset}, say, becomes "
            f"{percent(after)} where the history has {percent(before)}. Something else than "
            "expected return and the history's risk decides what is held, and the fit takes a "
            "part of it for risk."
        ),
        remedy=(
            "Take risks from the history (Risks: As the history has them, in the app; --risks "
            'history in the shell; risks="history" in Python); learn from groups of investors '
            f"with the same mandate, {_as_order(order_open, 'and')}."
        ),
    )


def _away(away: float) -> str:
    """How far holdings are from the frontier, and which figure that is."""
    return (
        f"A holding is {percent(away)} of the portfolio away from that of the nearest efficient "
        "portfolio (root mean square over assets and over those who take part)"
    )


def _as_order(order_open: bool, joined: str) -> str:
    """What is left where levels are not sure: the order of returns, unless that is open, too.

    Args:
        order_open: whether the anchors may be the wrong way round.
        joined: the word before it.
    """
    if order_open:
        return (
            f"{joined} first give anchors of which it is sure which returns more: by these the "
            "whole order may be the wrong way round"
        )
    return f"{joined} read these returns as an order rather than as numbers"
