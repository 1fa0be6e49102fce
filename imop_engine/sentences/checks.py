"""What the checks of a study say, and what helps: one sentence and one remedy each."""

from __future__ import annotations

from imop_engine.sentences.numbers import percent


def noise(sd: float, limit: float) -> tuple[str, str]:
    """Holdings lie far from the fitted frontier.

    Args:
        sd: error in a single holding, fractions of wealth.
        limit: up to which intervals were seen to hold.
    """
    return (
        f"A holding is typically {percent(sd)} of the portfolio away from what one common frontier "
        f"explains; up to {percent(limit)} the intervals were seen to hold in simulated studies, "
        "beyond it less often.",
        "Learn from groups of investors who may believe different things, or read the returns as "
        "an order rather than as numbers.",
    )


def unexplained(share: float) -> tuple[str, str]:
    """One frontier explains little of what investors hold."""
    return (
        f"One common frontier explains {percent(max(share, 0.0))} of the differences between the "
        "portfolios, judged on investors it was not fitted to; the rest is tilt, mandate or "
        "belief of their own.",
        "Split the investors by an attribute that decides what they may hold (mandate, category, "
        "adviser), and learn from each group.",
    )


def below_baseline(share: float, baseline: float) -> tuple[str, str]:
    """No way of learning explains more than reversing the average portfolio.

    Args:
        share: explained out of sample by the best way.
        baseline: the same by the implied returns.
    """
    return (
        f"Learning explains {percent(share)} of the differences between portfolios out of sample, "
        f"the implied returns of the average portfolio {percent(baseline)}; so the implied returns "
        "are shown, which is all that these portfolios support.",
        "Give portfolios that differ in risk for reasons of preference, or use the implied returns "
        "as they are.",
    )


def outliers(count: int, total: int, limit: float) -> tuple[str, str]:
    """Investors were set aside.

    Args:
        count: how many.
        total: of how many.
        limit: their least distance from the frontier, fractions of wealth.
    """
    return (
        f"{count:,} of {total:,} portfolios are further than {percent(limit)} of wealth from the "
        "frontier that explains the others, and were set aside; the table of returns shows the "
        "estimate with them too.",
        "Look at who they are in the investors' table; learn without trimming if they belong to "
        "the same population.",
    )


def serial(correlation: float) -> tuple[str, str]:
    """Residuals of neighbours on the frontier are alike."""
    return (
        "Investors with similar risk depart from the frontier in the same direction (correlation "
        f"{correlation:.2f}; errors would give 0): something systematic is at work, such as "
        "another covariance than yours, limits on holdings, a shared tilt, or rounding.",
        "Give the return history so that the covariance can be corrected, add the limits that "
        "investors are under, or split them into groups.",
    )


def beliefs(dispersion: float) -> tuple[str, str]:
    """Investors do not believe the same.

    Args:
        dispersion: standard deviation of beliefs between investors, return a year.
    """
    return (
        f"Investors do not believe the same: expected returns differ between them by "
        f"{percent(dispersion)} a year (standard deviation, given the anchors). The estimate is "
        "the common part.",
        "Learn from groups of like-minded investors where an attribute tells them apart.",
    )


def few_investors(count: int) -> tuple[str, str]:
    """Too few investors."""
    return (
        f"Only {count} investors take part; intervals rest on large numbers.",
        "Add investors, or take the intervals for the least that is open.",
    )


def few_periods(periods: float, assets: int, per_year: int) -> tuple[str, str]:
    """The covariance comes from a short history.

    Args:
        periods: how many.
        assets: how many assets it has.
        per_year: periods to the year.
    """
    unit = {12: "months", 1: "years", 4: "quarters", 52: "weeks", 252: "days"}.get(
        per_year, "periods"
    )
    return (
        f"The covariance of {assets} assets comes from {periods:.0f} {unit}, which is little: its "
        "error is in the intervals, and may be larger than they say.",
        "Give a longer history, or one with more periods a year.",
    )


def anchors_loose(error: float) -> tuple[str, str]:
    """The anchors hardly fix the scale.

    Args:
        error: of the difference between the two anchors, as a share of it.
    """
    return (
        f"The anchors fix the scale of the returns only to ± {percent(error)} (one standard "
        "error): levels and risk aversions hang on it, differences in sign and ranks do not.",
        "Give two returns that you can defend (with their error), or a longer history.",
    )


def anchors_reversed() -> tuple[str, str]:
    """The anchors have the returns the wrong way round."""
    return (
        "The two anchors contradict the portfolios: what they call the better asset is what "
        "investors hold as if it were the worse one. No scale fits both, and the levels mean "
        "nothing.",
        "Exchange the anchors or choose others.",
    )


def capped(share: float, value: float) -> tuple[str, str]:
    """Holdings pile up where no limit was given.

    Args:
        share: how many more than expected per investor.
        value: where, a fraction of wealth; 0 where it differs between investors.
    """
    if value:
        return (
            f"Holdings pile up at {percent(value)}: {share:.1f} an investor more than the frontier "
            "puts there. That looks like a cap that was not given.",
            f"Give the cap (upper {value:.2f}) if investors are under one, or learn from those who "
            "are not.",
        )
    return (
        f"{percent(share)} more investors than the frontier explains hold equal amounts of their "
        "largest assets. That looks like caps of their own.",
        "Give the caps if you know them, or learn from investors without any.",
    )


def largest_only(count: int, share: float) -> tuple[str, str]:
    """Nobody holds more than a few assets.

    Args:
        count: the most that anybody holds.
        share: of investors who hold just that many.
    """
    return (
        f"Nobody holds more than {count} assets and {percent(share)} hold exactly {count}: these "
        "look like the largest holdings only, rescaled to the whole. What is left out counts as "
        "not held, which bends the returns.",
        "Give complete portfolios.",
    )


def small_dropped(least: float) -> tuple[str, str]:
    """Small positions are missing."""
    return (
        f"There is no holding below {percent(least)}: small positions seem to have been left out, "
        "and count as not held.",
        "Give complete portfolios, or trust the returns of assets held in small amounts less.",
    )


def rounded(step: float) -> tuple[str, str]:
    """Holdings are reported coarsely."""
    return (
        f"Holdings are reported in steps of {percent(step)}; that is taken into account as an "
        "error, but small holdings are lost in it.",
        "Give holdings with more digits if you have them.",
    )


def own_tilt(share: float) -> tuple[str, str]:
    """Departures last from date to date."""
    return (
        f"{percent(share)} of what the frontier leaves unexplained is the same for an investor at "
        "all her dates: a tilt of her own, not error. Intervals count each investor once.",
        "Nothing, if investors are meant to be counted once; else learn from groups with the same "
        "tilt.",
    )


def duplicates(count: int, total: int) -> tuple[str, str]:
    """The same portfolio again.

    Args:
        count: rows that repeat another investor's portfolio.
        total: rows in all.
    """
    return (
        f"{count:,} of {total:,} portfolios repeat another one to the last digit (model portfolios "
        "or share classes): intervals count them as one decision.",
        "Remove share classes of the same fund if they are in the file by accident.",
    )


def at_box(names: str) -> tuple[str, str]:
    """Estimates at the edge of what was allowed."""
    return (
        f"The estimate of {names} is at the edge of the returns allowed.",
        "Widen the bounds on returns, or look at the anchors.",
    )


def not_settled() -> tuple[str, str]:
    """The search did not end."""
    return (
        "The search for the estimate did not settle: the portfolios ask for different returns in "
        "different places.",
        "Learn from groups of investors, or give more of them.",
    )


def few_identified(count: int, total: int) -> tuple[str, str]:
    """Hardly any return is known.

    Args:
        count: how many are identified or anchored.
        total: of how many.
    """
    return (
        f"Only {count} of {total} returns are known; the others are bounded or not seen.",
        "Give investors who hold more of the assets, or leave those out that nobody holds.",
    )


def alike(share: float) -> tuple[str, str]:
    """Portfolios hardly differ along the frontier.

    Args:
        share: of the spread of holdings that is along the frontier.
    """
    return (
        "The portfolios differ so little from one another that their risk tells next to nothing "
        f"of preferences ({percent(share)} of the frontier's length is used).",
        "Give investors with different appetites for risk.",
    )
