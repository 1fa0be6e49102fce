"""What is said of an estimate under other choices."""

from __future__ import annotations

from typing import Final

import numpy as np

from imop_engine.sentences.numbers import percent

ANCHORS: Final = "anchors"
COVARIANCE: Final = "covariance"
METHOD: Final = "method"
INVESTORS: Final = "investors"
GROUP: Final = "group"

BY_HISTORY: Final = "two portfolios that earn what history says, instead of your anchors"
ALL_BY_HISTORY: Final = "level and scale nearest to history, over all assets that are held"
AS_IT_IS: Final = "the history's covariance taken as exact"
FITTED: Final = "covariance fitted together with the returns"
LATER_HALF: Final = "sample covariance of the later half of the history"
LEAST_GAP: Final = "least return left on the table"
LEAST_DISTANCE: Final = "least squared distance to the frontier"
IMPLIED: Final = "returns that the average portfolio implies"
TRIMMED: Final = "without those whom no common frontier explains"

NOT_REFINED: Final = (
    "the portfolios of this study were not fitted together, so there is no estimate to compare "
    "with; learn again with refine switched on."
)
NOT_DEFINITE: Final = "that covariance is not positive definite"
TURNED_ROUND: Final = (
    "by these anchors the bolder portfolios would earn less, which turns the order of all returns "
    "round and contradicts the investors"
)
SAME_ORDER: Final = 0.9995  # a rank correlation that is printed as 1.00 is one
METHODS: Final = {
    "sample": "sample covariance",
    "ledoit-wolf": "Ledoit-Wolf covariance",
    "oas": "OAS covariance",
    "exponential": "exponential covariance, recent periods count more",
    "constant-correlation": "one correlation for all pairs",
}
CHANGED: Final = {
    ANCHORS: "Other anchors move",
    COVARIANCE: "Other covariances move",
    METHOD: "Other methods move",
    INVESTORS: "Other investors move",
    GROUP: "Groups depart from",
}


def method(name: str) -> str:
    """An estimator of the covariance.

    >>> method("oas")
    'OAS covariance'
    """
    return METHODS.get(name, name)


def way(name: str) -> str:
    """Another view of why investors are not on the frontier."""
    return f"{name} taken as the reason for departures"


def two_assets(low: str, high: str) -> str:
    """Two assets as anchors.

    Args:
        low: the asset of the lower return.
        high: the asset of the higher return.
    """
    return f"{low} and {high} earn what history says"


def portfolio(number: int) -> str:
    """An anchor that is a portfolio of several assets, by its place."""
    return f"anchor {number + 1}"


def anchor_moved(name: str, by: float) -> str:
    """An anchor one standard error higher or lower.

    >>> anchor_moved("Bonds", -0.012)
    'Bonds 1.20% lower (one standard error of that anchor)'
    """
    side = "higher" if by > 0 else "lower"
    return f"{name} {percent(abs(by))} {side} (one standard error of that anchor)"


def with_everyone(aside: int) -> str:
    """Nobody set aside."""
    who = "the investor who was" if aside == 1 else f"the {aside:,} investors who were"
    return f"with {who} set aside"


def group(column: str, name: str) -> str:
    """A group of investors by itself.

    Args:
        column: what the groups are made by.
        name: of the group.
    """
    return f"{column}: {name}"


def moved(
    choice: str, largest: float, asset: str, label: str, rank: float, alternatives: int
) -> str:
    """What a kind of choice changes.

    Args:
        choice: of what.
        largest: difference of a return, yearly.
        asset: whose return that is.
        label: the alternative that does it.
        rank: least rank correlation with the study's returns; NaN where there is none.
        alternatives: how many were tried.

    >>> moved("anchors", 0.021, "Bonds", "A and B earn what history says", 1.0, 3)
    'Other anchors move the returns by up to 2.10% a year (Bonds; A and B earn what history says; \
the most of 3 alternatives). The order of the returns stays the same.'
    """
    tried = (
        "the only alternative" if alternatives == 1 else f"the most of {alternatives} alternatives"
    )
    text = (
        f"{CHANGED[choice]} the returns by up to {percent(largest)} a year ({asset}; {label}; "
        f"{tried})."
    )
    if not np.isfinite(rank):
        return text
    if rank >= SAME_ORDER:
        return f"{text} The order of the returns stays the same."
    return f"{text} The order of the returns changes: rank correlation {rank:.2f} at least."


def missing(label: str, reason: str) -> str:
    """An alternative that could not be computed.

    Args:
        label: the alternative.
        reason: why.
    """
    return f"Not computed: {label}. Reason: {reason.rstrip('.')}."
