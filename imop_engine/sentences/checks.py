"""What the checks of a study say, and what helps: one sentence and one remedy each."""

from __future__ import annotations

from typing import NamedTuple

from imop_engine.sentences.numbers import percent


class Finding(NamedTuple):
    """What is the matter, and what helps."""

    sentence: str
    remedy: str


def noise(sd: float, limit: float) -> Finding:
    """Holdings lie far from the fitted frontier.

    Args:
        sd: error in a single holding, fractions of wealth.
        limit: up to which intervals were seen to hold.
    """
    return Finding(
        sentence=(
            f"A holding is typically {percent(sd)} of the portfolio away from what one common "
            f"frontier explains; up to {percent(limit)} the intervals were seen to hold in "
            "simulated studies, beyond it less often."
        ),
        remedy=(
            "Learn from groups of investors who may believe different things, or read the "
            "returns as an order rather than as numbers."
        ),
    )


def noise_in_held(sd: float) -> Finding:
    """Departures from the frontier are only in what investors hold.

    Args:
        sd: error in a single holding, fractions of wealth.
    """
    return Finding(
        sentence=(
            f"Holdings are typically {percent(sd)} of the portfolio away from what one common "
            "frontier explains, and yet nobody holds traces of what it leaves out: these are "
            "errors that grow with the holding, or choices. The intervals take them for "
            "independent errors of one size, and held less often in simulated studies."
        ),
        remedy="Take the intervals for the least that is open; ranks are surer than levels.",
    )


def noise_uneven(ratio: float) -> Finding:
    """Some investors err far more than others.

    Args:
        ratio: relative variance of their squared distances over that of errors of one size.
    """
    return Finding(
        sentence=(
            "Some investors are much further from the frontier than others: their squared "
            f"distances vary {ratio:.1f} times as much as with errors of one size. Holdings may be "
            "rescaled from a part of the wealth (cash that is not shown), or come from several "
            "sources."
        ),
        remedy=(
            "Give whole portfolios, cash included; take the returns of assets held in small "
            "amounts for less sure than their intervals."
        ),
    )


def unexplained(share: float) -> Finding:
    """One frontier explains little of what investors hold."""
    return Finding(
        sentence=(
            f"One common frontier explains {percent(max(share, 0.0))} of the differences between "
            "the portfolios, judged on investors it was not fitted to; the rest is tilt, "
            "mandate or belief of their own."
        ),
        remedy=(
            "Split the investors by an attribute that decides what they may hold (mandate, "
            "category, adviser), and learn from each group."
        ),
    )


def unexplained_here(share: float) -> Finding:
    """One frontier explains little even of the portfolios it was fitted to."""
    little = percent(share) if share > 0.0 else "nothing"
    return Finding(
        sentence=(
            f"The estimated frontier explains {little} of the differences between the portfolios "
            "that it was learned from."
        ),
        remedy=(
            "Fit all portfolios together (refine), give more investors, or split them by an "
            "attribute that decides what they may hold."
        ),
    )


def not_together() -> Finding:
    """The stream's end alone."""
    return Finding(
        sentence=(
            "The portfolios were learned from one after the other and not fitted together: nobody "
            "was set aside, no other error model was tried, and the intervals leave out the "
            "errors of covariance and anchors."
        ),
        remedy="Fit all portfolios together at the end (refine).",
    )


def below_baseline(share: float, baseline: float) -> Finding:
    """No way of learning explains more than reversing the average portfolio.

    Args:
        share: explained out of sample by the best way.
        baseline: the same by the implied returns.
    """
    return Finding(
        sentence=(
            f"Learning explains {percent(share)} of the differences between portfolios out of "
            f"sample, the implied returns of the average portfolio {percent(baseline)}; so the "
            "implied returns are shown, which is all that these portfolios support."
        ),
        remedy=(
            "Give portfolios that differ in risk for reasons of preference, or use the implied "
            "returns as they are."
        ),
    )


def outliers(count: int, total: int, limit: float) -> Finding:
    """Investors were set aside.

    Args:
        count: how many.
        total: of how many.
        limit: their least distance from the frontier, fractions of wealth.
    """
    return Finding(
        sentence=(
            f"{count:,} of {total:,} portfolios are further than {percent(limit)} of wealth from "
            "the frontier that explains the others, and were set aside; the table of returns "
            "shows the estimate with them too."
        ),
        remedy=(
            "Look at who they are in the investors' table; learn without trimming if they "
            "belong to the same population."
        ),
    )


def serial(correlation: float, fitted: bool, known: bool) -> Finding:
    """Residuals of neighbours on the frontier are alike.

    Args:
        correlation: of the residuals of neighbours.
        fitted: whether the covariance was fitted together with the returns.
        known: whether it is known how long a history the covariance comes from.
    """
    causes = "limits on holdings, a shared tilt, or beliefs that go with the appetite for risk"
    helps = "Give the limits that investors are under, or learn from groups of them"
    if not fitted:
        causes = f"another covariance than yours, {causes}"
    if not fitted and not known:
        helps = "Give the return history, so that the covariance can be corrected; or give the "
        helps += "limits that investors are under, or learn from groups of them"
    return Finding(
        sentence=(
            "Investors with similar risk depart from the frontier in the same direction "
            f"(correlation {correlation:.2f}; errors would give 0): something systematic is at "
            f"work, such as {causes}."
        ),
        remedy=f"{helps}.",
    )


def beliefs(dispersion: float) -> Finding:
    """Investors do not believe the same.

    Args:
        dispersion: standard deviation of beliefs between investors, return a year.
    """
    return Finding(
        sentence=(
            "Investors do not believe the same: expected returns differ between them by "
            f"{percent(dispersion)} a year (standard deviation, given the anchors). The estimate "
            "is the common part."
        ),
        remedy="Learn from groups of like-minded investors where an attribute tells them apart.",
    )


def few_investors(count: int) -> Finding:
    """Too few investors."""
    return Finding(
        sentence=f"Only {count} investors take part; intervals rest on large numbers.",
        remedy="Add investors, or take the intervals for the least that is open.",
    )


def few_periods(periods: float, assets: int, per_year: int) -> Finding:
    """The covariance comes from a short history.

    Args:
        periods: how many.
        assets: how many assets it has.
        per_year: periods to the year.
    """
    unit = {12: "months", 1: "years", 4: "quarters", 52: "weeks", 252: "days"}.get(
        per_year, "periods"
    )
    return Finding(
        sentence=(
            f"The covariance of {assets} assets rests on as much as {periods:.0f} whole {unit} "
            "tell, which is little: its error is in the intervals, and may be larger than they "
            "say."
        ),
        remedy="Give a longer history, or one with more periods a year.",
    )


def anchors_loose(error: float) -> Finding:
    """The anchors hardly fix the scale.

    Args:
        error: of the difference between the two anchors, as a share of it.
    """
    return Finding(
        sentence=(
            f"The anchors fix the scale of the returns only to ± {percent(error)} (one standard "
            "error): levels and risk aversions hang on it, differences in sign and ranks do not."
        ),
        remedy="Give two returns that you can defend (with their error), or a longer history.",
    )


def anchors_reversed() -> Finding:
    """The anchors have the returns the wrong way round."""
    return Finding(
        sentence=(
            "The two anchors contradict the portfolios: what they call the better asset is what "
            "investors hold as if it were the worse one. No scale fits both, and the levels mean "
            "nothing."
        ),
        remedy="Exchange the anchors or choose others.",
    )


def capped(share: float, value: float) -> Finding:
    """Holdings pile up where no limit was given.

    Args:
        share: how many more than expected per investor.
        value: where, a fraction of wealth; 0 where it differs between investors.
    """
    if value:
        return Finding(
            sentence=(
                f"Holdings pile up at {percent(value)}: {share:.1f} an investor more than the "
                "frontier puts there. That looks like a cap that was not given."
            ),
            remedy=(
                f"Give the cap (upper {value:.2f}) if investors are under one, or learn from "
                "those who are not."
            ),
        )
    return Finding(
        sentence=(
            f"{percent(share)} more investors than the frontier explains hold equal amounts of "
            "their largest assets. That looks like caps of their own."
        ),
        remedy="Give the caps if you know them, or learn from investors without any.",
    )


def largest_only(count: int, share: float) -> Finding:
    """Nobody holds more than a few assets.

    Args:
        count: the most that anybody holds.
        share: of investors who hold just that many.
    """
    return Finding(
        sentence=(
            f"Nobody holds more than {count} assets and {percent(share)} hold exactly {count}: "
            "these look like the largest holdings only, rescaled to the whole. What is left out "
            "counts as not held, which bends the returns."
        ),
        remedy="Give complete portfolios.",
    )


def small_dropped(least: float) -> Finding:
    """Small positions are missing."""
    return Finding(
        sentence=(
            f"There is no holding below {percent(least)}: small positions seem to have been left "
            "out, and count as not held."
        ),
        remedy="Give complete portfolios; trust returns of assets held in small amounts less.",
    )


def rounded(step: float) -> Finding:
    """Holdings are reported coarsely."""
    return Finding(
        sentence=(
            f"Holdings are reported in steps of {percent(step)}; that is taken into account as an "
            "error, but small holdings are lost in it."
        ),
        remedy="Give holdings with more digits if you have them.",
    )


def own_tilt(share: float) -> Finding:
    """Departures last from date to date."""
    return Finding(
        sentence=(
            f"{percent(share)} of what the frontier leaves unexplained is the same for an "
            "investor at all her dates: a tilt of her own, not error. Intervals count each "
            "investor once."
        ),
        remedy=(
            "Nothing, if investors are meant to be counted once; else learn from groups with "
            "the same tilt."
        ),
    )


def duplicates(investors: int, portfolios: int) -> Finding:
    """The same portfolio again.

    Args:
        investors: how many hold exactly what another investor holds.
        portfolios: how many such portfolios there are.
    """
    what = "one portfolio" if portfolios == 1 else f"{portfolios:,} portfolios"
    return Finding(
        sentence=(
            f"{investors:,} investors hold {what} between them, the same to the last digit (model "
            "portfolios or share classes): intervals count each such portfolio as one decision."
        ),
        remedy="Remove share classes of the same fund if they are in the file by accident.",
    )


def at_box(names: str) -> Finding:
    """Estimates at the edge of what was allowed."""
    return Finding(
        sentence=f"The estimate of {names} is at the edge of the returns allowed.",
        remedy="Widen the bounds on returns, or look at the anchors.",
    )


def not_settled() -> Finding:
    """The search did not end."""
    return Finding(
        sentence=(
            "The search for the estimate did not settle: the portfolios ask for different "
            "returns in different places."
        ),
        remedy="Learn from groups of investors, or give more of them.",
    )


def few_identified(count: int, total: int) -> Finding:
    """Hardly any return is known.

    Args:
        count: how many are identified or anchored.
        total: of how many.
    """
    return Finding(
        sentence=f"Only {count} of {total} returns are known; the others are bounded or not seen.",
        remedy="Give investors who hold more of the assets, or leave those out that nobody holds.",
    )


def uncovered(file: str, covered: float) -> Finding:
    """Much of what is held has no return history.

    Args:
        file: What the file of portfolios is called.
        covered: The share of its value that has a history.
    """
    return Finding(
        sentence=(
            f"{percent(1.0 - covered)} of the value of {file} has no return history: what was "
            "learned speaks of the rest, as if that were all that its owners hold."
        ),
        remedy=(
            "Add the missing histories, say which assets they are (a map of identifiers), or give "
            "cash a rate."
        ),
    )
