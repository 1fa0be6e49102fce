"""Every technical word in one line: what stands in tooltips, and in the list of words."""

from __future__ import annotations

from typing import Final

WORDS: Final[dict[str, str]] = {
    "algorithm": "How one portfolio moves the estimate. Accelerated: find the investor's weight "
    "first, then move. Full: try every weight of a grid. Newton: also learn how sure it is.",
    "anchor": "A return taken as known. Portfolios tell returns only up to a shift and a scale; "
    "two anchors fix both.",
    "cap": "The most that anybody may hold of an asset, as a share of the portfolio.",
    "bounds": "The least and the greatest return that anybody may believe in.",
    "certified": "Share of the learning steps that were proven to be the best possible.",
    "between groups": "How much an expected return varies from group to group beyond what chance "
    "gives: a standard deviation, per year.",
    "correlation": "How two assets move together: 1 alike, 0 unrelated, −1 opposite.",
    "covariance": "How strongly each pair of assets moves together, per year.",
    "distance": "How far a portfolio lies from the nearest efficient one, in shares of wealth; "
    "0.01 is one percentage point of holdings.",
    "error": "Distance between estimated and true returns, over the assets whose return the "
    "portfolios fix; known only where we simulated. The paper reports 0.0091 for its eight "
    "securities, 1,000 investors and 41 weights.",
    "exact": "Every weight is possible: the whole frontier is known, not a grid of points on it.",
    "expected return": "What an asset is believed to earn on average, per year.",
    "explained": "How much of the differences between portfolios one frontier accounts for. "
    "Nothing, or below zero: the average portfolio would do better.",
    "frontier": "The portfolios with the best return at each level of risk.",
    "groups": "What each group expects, moved towards what all expect as far as the group is not "
    "known to differ. The p-value is the chance of differences this large if all believe the same.",
    "identified": "The portfolios fix this number, up to the interval that is shown.",
    "bounded": "The portfolios only say that it is not higher (or not lower) than this.",
    "implied returns": "The returns under which the average portfolio would be the best one: a "
    "common shortcut that uses no more than that average.",
    "interval": "Where the number lies with the chosen confidence, given the noise in holdings.",
    "learning rate": "How far one portfolio may move the estimate; it shrinks as more are seen.",
    "left on the table": "How much more per year an investor could earn at her own risk, if these "
    "returns are right: the height of the frontier above her portfolio. 0.01 % is one basis point.",
    "loss": "What learning makes small, portfolio by portfolio: its squared distance to the "
    "frontier (as in the paper), or the return per year that it leaves on the table.",
    "outlier": "An investor whose portfolio lies far from the frontier, whatever her weight.",
    "p-value": "Chance of a picture at least this odd if the fitted family were right; below 0.05 "
    "it is usually taken as a contradiction.",
    "risk": "Standard deviation of the yearly return: how much it swings.",
    "risk aversion": "How much return an investor wants for bearing more risk; larger means more "
    "careful. It is 2(1 − w)/w for a weight w on return.",
    "role": "What a column of a file is: the investor's name, a date, an asset, a holding, or an "
    "attribute to group by.",
    "seen through": "How many investors' portfolios say something about this return.",
    "seed": "The same seed draws the same investors again.",
    "simulated": "Made here, so that the truth is known and the estimate can be checked.",
    "weight": "How much an investor cares for return against risk: 0 wants the least risk, 1 the "
    "most return.",
    "workspace": "Everything of one piece of work: data, settings and runs. Its address can be "
    "bookmarked; a reload brings it back.",
}


def word(name: str) -> str:
    """The explanation of a word, for a tooltip."""
    return WORDS[name]
