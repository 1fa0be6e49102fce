"""Every technical word in one line: what stands in tooltips, and in the list of words."""

from __future__ import annotations

from typing import Final

WORDS: Final[dict[str, str]] = {
    "algorithm": "How one portfolio moves the estimate. Accelerated: find the investor's weight "
    "first, then move. Full: try every weight of a grid. Newton: also learn how sure it is.",
    "anchor": "A return that you take as known. Portfolios show which assets investors rate "
    "higher, but not whether all returns are 2% higher or twice as far apart; two known returns "
    "settle both.",
    "anchored": "Status of a return: it is what you (or the history) took as known.",
    "asset score": "Any number of each asset that investors may care for besides return and risk; "
    "more is better. Twice the numbers halve the price of a unit and change nothing else.",
    "between groups": "How much an expected return varies from group to group beyond what chance "
    "gives: a standard deviation, per year.",
    "binding limit": "Where the efficient portfolio is at the limit, by its risk.",
    "bounded": "Status of a return: only known to lie between two numbers. There is no estimate.",
    "bounded above": "Status of a return: at most this; whoever does not hold it would if it "
    "returned more. There is no estimate.",
    "bounded below": "Status of a return: at least this; whoever holds it is at its cap. There is "
    "no estimate.",
    "bounds": "The least and the greatest return that anybody may believe in.",
    "cap": "The most that anybody may hold of an asset, as a share of the portfolio.",
    "caution": "Verdict: the returns hold with reservations; each is named, with what helps.",
    "certified": "Share of the learning steps that were proven to be the best possible step. It "
    "says nothing about how well the portfolios are explained.",
    "comparable weight": "The weight on an objective times its range over the efficient "
    "portfolios, as a share of all three: the unit of the score does not matter.",
    "correlation": "How two assets move together: 1 alike, 0 unrelated, −1 opposite.",
    "cost of the score": "Return a year below the best portfolio of the same risk, where nobody "
    "asks for the score.",
    "covariance": "How strongly each pair of assets moves together, per year.",
    "distance": "How far a portfolio lies from the nearest efficient one, in % of wealth: the "
    "root of the summed squared differences of holdings.",
    "error": "Distance between estimated and true returns, over the assets whose return the "
    "portfolios fix; known only where we simulated. The paper reports 0.0091 for its eight "
    "securities, 1,000 investors and 41 weights.",
    "exact": "Every weight is possible: the whole frontier is known, not a grid of points on it.",
    "expected return": "What an asset is believed to earn on average, per year.",
    "explained": "How much of the differences between portfolios one frontier accounts for. "
    "Nothing, or below zero: the average portfolio would do better.",
    "frontier": "The portfolios with the best return at each level of risk.",
    "good": "Verdict: nothing was found that speaks against these returns and their intervals.",
    "groups": "What each group expects, moved towards what all expect as far as the group is not "
    "known to differ. The p-value is the chance of differences this large if all believe the "
    "same.",
    "identified": "Status of a return: the portfolios fix it, up to the interval that is shown.",
    "implied returns": "The returns under which the average portfolio would be the best one: a "
    "common shortcut that uses no more than that average.",
    "informed by": "How many investors' portfolios say something about this return.",
    "interval": "Where the number lies with the chosen confidence, given the noise in holdings.",
    "learned": "Status of an investor: the portfolio was learned from.",
    "learning rate": "How far one portfolio may move the estimate; it shrinks as more are seen.",
    "left on the table": "How much more per year an investor could earn at the same risk, if "
    "these returns are right: the height of the frontier above the portfolio. 0.01% is one "
    "basis point.",
    "limit": "What may be held of several assets together, at most, at least or exactly; a group "
    "is the sum of its assets.",
    "loss": "What learning makes small, portfolio by portfolio: its squared distance to the "
    "frontier (as in the paper), or the return per year that it leaves on the table.",
    "not reached": "Status of an investor: learning was stopped before this portfolio.",
    "not seen": "Status of a return: the portfolios say next to nothing about it.",
    "outlier": "An investor whose portfolio lies far from the frontier, at any weight. Set aside, "
    "or, where that explains the others no better, learned from all the same.",
    "outlier, kept": "Status of an investor: far from the frontier, and learned from all the same.",
    "p-value": "Chance of a picture at least this odd if the fitted family were right; below 0.05 "
    "it is usually taken as a contradiction.",
    "poor": "Verdict: do not rely on these returns; the reasons are named.",
    "price of a limit": "Return a year that would be had at the same risk if this limit alone were "
    "dropped; 100 basis points (bp) are 1%.",
    "price of the score": "The return a year that an investor gives for one unit of the score: "
    "holdings are as if expected returns were higher by this much for each unit.",
    "refused": "Status of an investor: the portfolio could not be used; the reason stands beside.",
    "relative": "Status of a return: known against the others, but not its level, because no "
    "known return fixes that, or because nearly everybody is at a limit.",
    "risk": "Standard deviation of the yearly return: how much it swings.",
    "risk aversion": "How much return an investor wants for bearing more risk; larger means more "
    "careful. It is 2(1 − w)/w for a weight w on return.",
    "risk class": "The class of risk that a client stated, against the one that the risk score of "
    "the holdings belongs to. More or less: the score's whole interval lies outside the class.",
    "risk score": "A number from 1 to 99, from the volatility of a portfolio alone: 14 points for "
    "each of the seven classes by which European regulators sort funds. 5% a year scores 43, 10% "
    "57, 15% 71.",
    "role": "What a column of a file is: the investor's name, a date, an asset, a holding, or an "
    "attribute to group by.",
    "seed": "The same seed draws the same investors again.",
    "set aside": "Left out of the fit, because no common frontier explains the portfolio or it "
    "cannot be read; always with the reason.",
    "simulated": "Made here, so that the truth is known and the estimate can be checked.",
    "unknown": "Status of a return: an estimate without an interval, as none could be computed.",
    "verdict": "Whether a result is to be trusted, by the worst of its checks: good, caution or "
    "poor.",
    "weight": "How much an investor cares for return against risk: 0 wants the least risk, 1 the "
    "most return.",
    "workspace": "Everything of one piece of work: data, settings and runs. Its address can be "
    "bookmarked; a reload brings it back.",
}


def word(name: str) -> str:
    """The explanation of a word, for a tooltip."""
    return WORDS[name]
