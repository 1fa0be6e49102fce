"""What the checks of a study say, and what helps: one sentence and one remedy each."""

from __future__ import annotations

from typing import NamedTuple

from imop_engine.sentences.numbers import explained, percent

SIGN_OPEN = 0.5  # error of the anchors' difference, as a share of it: two standard errors apart


class CheckText(NamedTuple):
    """What is the matter, and what helps."""

    sentence: str
    remedy: str


def unexplained(share: float) -> CheckText:
    """One frontier explains little of what investors hold."""
    return CheckText(
        sentence=(
            f"One common frontier explains {explained(max(share, 0.0))} of the differences between "
            "the portfolios, judged on investors it was not fitted to; the rest is tilt, "
            "mandate or belief of their own."
        ),
        remedy=(
            "Split the investors by an attribute that decides what they may hold (mandate, "
            "category, adviser), and learn from each group."
        ),
    )


def unexplained_here(share: float) -> CheckText:
    """One frontier explains little even of the portfolios it was fitted to."""
    little = explained(share)
    return CheckText(
        sentence=(
            f"The estimated frontier explains {little} of the differences between the portfolios "
            "that it was learned from."
        ),
        remedy=(
            "Fit all portfolios together (refine), give more investors, or split them by an "
            "attribute that decides what they may hold."
        ),
    )


def not_together() -> CheckText:
    """The stream's end alone."""
    return CheckText(
        sentence=(
            "The portfolios were learned from one after the other and not fitted together: nobody "
            "was set aside, no other error model was tried, and the intervals leave out the "
            "errors of covariance and anchors."
        ),
        remedy="Fit all portfolios together at the end (refine).",
    )


def below_baseline(share: float, baseline: float) -> CheckText:
    """No way of learning explains more than reversing the average portfolio.

    Args:
        share: explained out of sample by the best way.
        baseline: the same by the implied returns.
    """
    return CheckText(
        sentence=(
            f"Learning explains {explained(share)} of the differences between portfolios out of "
            f"sample, the implied returns of the average portfolio {explained(baseline)}; so the "
            "implied returns are shown, which is all that these portfolios support."
        ),
        remedy=(
            "Give portfolios that differ in risk for reasons of preference, or use the implied "
            "returns as they are."
        ),
    )


def outliers(count: int, total: int, limit: float, without_tilts: bool = False) -> CheckText:
    """Investors were set aside.

    Args:
        count: how many.
        total: of how many.
        limit: their least distance from the frontier, fractions of wealth.
        without_tilts: whether distances are those without each investor's own tilt.
    """
    how = ", their owners' tilts taken off," if without_tilts else ""
    return CheckText(
        sentence=(
            f"{count:,} of {total:,} portfolios are{how} further than {percent(limit)} of wealth "
            "from the frontier that explains the others, and were set aside; the table of returns "
            "shows the estimate with them too."
        ),
        remedy=(
            "Look at who they are in the investors' table; learn without trimming if they "
            "belong to the same population."
        ),
    )


def outliers_kept(count: int, total: int, limit: float) -> CheckText:
    """Outliers take part, because nobody was to be set aside.

    Args:
        count: how many.
        total: of how many.
        limit: their least distance from the frontier, fractions of wealth.
    """
    return CheckText(
        sentence=(
            f"{count:,} of {total:,} portfolios are further than {percent(limit)} of wealth from "
            "the frontier, and take part all the same: a few of them can move every return."
        ),
        remedy="Set outliers aside and learn again, or find out who they are.",
    )


def outliers_believed(count: int, total: int, limit: float, own: bool) -> CheckText:
    """Outliers take part, because the estimate that explains best sets nobody aside.

    Args:
        count: how many.
        total: of how many.
        limit: their least distance from the frontier, fractions of wealth.
        own: whether the estimate lets every investor have beliefs of their own.
    """
    return CheckText(
        sentence=(
            f"{count:,} of {total:,} portfolios are further than {percent(limit)} of wealth from "
            "the frontier, and take part all the same: the estimate that explains the others best "
            f"sets nobody aside{'; it takes distances for beliefs of their own' if own else ''}."
        ),
        remedy=(
            "Look at who they are (their status is 'outlier, kept'), set them aside by name and "
            "see whether the returns move."
        ),
    )


def singular(smallest: float) -> CheckText:
    """A covariance that is not positive definite.

    Args:
        smallest: its smallest eigenvalue.
    """
    return CheckText(
        sentence=(
            "Some mix of the assets has no risk at all by this covariance (its smallest "
            f"eigenvalue is {smallest:.1e}), so efficient portfolios cannot be told apart."
        ),
        remedy="Repair the covariance, shrink it, or leave out assets that are the same.",
    )


def months_left_out(used: int, total: int) -> CheckText:
    """Periods in which an asset has no return are left out.

    Args:
        used: periods that are used.
        total: periods of the history.
    """
    return CheckText(
        sentence=(
            f"Only {used:,} of {total:,} periods are used, because in the others some asset has no "
            "return."
        ),
        remedy="Use all months: means and covariances can be estimated from whatever there is.",
    )


def serial(correlation: float, fitted: bool, known: bool) -> CheckText:
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
    return CheckText(
        sentence=(
            "Investors with similar risk depart from the frontier in the same direction "
            f"(correlation {correlation:.2f}; errors would give 0): something systematic is at "
            f"work, such as {causes}."
        ),
        remedy=f"{helps}.",
    )


def beliefs(dispersion: float) -> CheckText:
    """Investors do not believe the same.

    Args:
        dispersion: standard deviation of beliefs between investors, return a year.
    """
    return CheckText(
        sentence=(
            "Investors do not believe the same: expected returns differ between them by "
            f"{percent(dispersion)} a year (standard deviation, given the anchors). The estimate "
            "is the common part."
        ),
        remedy="Learn from groups of like-minded investors where an attribute tells them apart.",
    )


def few_investors(count: int) -> CheckText:
    """Too few investors."""
    return CheckText(
        sentence=f"Only {count} investors take part; intervals rest on large numbers.",
        remedy="Add investors, or take the intervals for the least that is open.",
    )


def single_asset(count: int, total: int) -> CheckText:
    """Most portfolios are one asset alone.

    Args:
        count: Portfolios of a single asset.
        total: All portfolios.
    """
    return CheckText(
        sentence=(
            f"{count:,} of {total:,} portfolios hold a single asset: such a portfolio says which "
            "asset its investor prefers and not by how much. The returns rest on the other "
            f"{total - count:,}."
        ),
        remedy=(
            "Look whether the file has every position and not only each investor's first; add "
            "investors who hold several assets."
        ),
    )


def few_periods(periods: float, assets: int, per_year: int) -> CheckText:
    """The covariance comes from a short history.

    Args:
        periods: how many.
        assets: how many assets it has.
        per_year: periods to the year.
    """
    unit = {12: "months", 1: "years", 4: "quarters", 52: "weeks", 252: "days"}.get(
        per_year, "periods"
    )
    return CheckText(
        sentence=(
            f"The covariance of {assets} assets is known as well as from {periods:.0f} {unit} "
            "without gaps, which is little: its error is in the intervals, and may be larger than "
            "they say."
        ),
        remedy="Give a longer history, or one with more periods a year.",
    )


def anchors_loose(error: float) -> CheckText:
    """The anchors hardly fix the scale.

    Args:
        error: of the difference between the two anchors, as a share of it.
    """
    rest = "; differences in sign and ranks do not."
    if error > SIGN_OPEN:
        rest = (
            ". Which of the two returns more is not sure either, as they are less than two "
            "standard errors apart: ranks hold only if they are the right way round."
        )
    return CheckText(
        sentence=(
            f"The anchors fix the scale of the returns only to ± {percent(error)} (one standard "
            f"error): levels and risk aversions hang on it{rest}"
        ),
        remedy="Give two returns that you can defend (with their error), or a longer history.",
    )


def anchors_reversed() -> CheckText:
    """The anchors have the returns the wrong way round."""
    return CheckText(
        sentence=(
            "The two anchors contradict the portfolios: what they call the better asset is what "
            "investors hold as if it were the worse one. No scale fits both, and the levels mean "
            "nothing."
        ),
        remedy="Exchange the anchors or choose others.",
    )


def capped(share: float, value: float) -> CheckText:
    """Holdings pile up where no limit was given.

    Args:
        share: how many more than expected per investor.
        value: where, a fraction of wealth; 0 where it differs between investors.
    """
    if value:
        return CheckText(
            sentence=(
                f"Holdings pile up at {percent(value)}: {share:.1f} an investor more than the "
                "frontier puts there, and than are held just beside it. That looks like a cap that "
                "was not given."
            ),
            remedy=(
                f"Give the cap (upper {value:.2f}) if investors are under one, or learn from "
                "those who are not."
            ),
        )
    return CheckText(
        sentence=(
            f"{percent(share)} more investors than the frontier explains hold equal amounts of "
            "their largest assets. That looks like caps of their own."
        ),
        remedy="Give the caps if you know them, or learn from investors without any.",
    )


def largest_only(count: int, share: float, completed: bool) -> CheckText:
    """Nobody holds more than a few assets.

    Args:
        count: the most that anybody holds.
        share: of investors who hold just that many.
        completed: whether what is left out was completed by the estimate.
    """
    return CheckText(
        sentence=(
            f"Nobody holds more than {count} assets and {percent(share)} hold exactly {count}: "
            "these look like the largest holdings only, rescaled to the whole. "
            + (
                "What is left out was completed from the estimated frontier: returns of assets "
                "that are often left out rest on that, and intervals do not count it."
                if completed
                else "What is left out counts as not held, which bends the returns."
            )
        ),
        remedy="Give complete portfolios.",
    )


def small_dropped(least: float, completed: bool) -> CheckText:
    """Small positions are missing.

    Args:
        least: no holding is below this, fractions of wealth.
        completed: whether they were completed by the estimate.
    """
    return CheckText(
        sentence=(
            f"There is no holding below {percent(least)}: small positions seem to have been left "
            + (
                "out, and were completed from the estimated frontier; intervals do not count that."
                if completed
                else "out, and count as not held."
            )
        ),
        remedy="Give complete portfolios; trust returns of assets held in small amounts less.",
    )


def rounded(step: float) -> CheckText:
    """Holdings are reported coarsely."""
    return CheckText(
        sentence=(
            f"Holdings are reported in steps of {percent(step)}; that is taken into account as an "
            "error, but small holdings are lost in it."
        ),
        remedy="Give holdings with more digits if you have them.",
    )


def shared_tilt(name: str, share: float, left: float) -> CheckText:
    """Everybody keeps something in one asset.

    Args:
        name: of the asset.
        share: of wealth that everybody keeps in it.
        left: squared distances to the frontier with that over those without it.
    """
    return CheckText(
        sentence=(
            f"Portfolios look as if everybody kept {percent(share)} of wealth in {name}, whatever "
            f"they prefer, and chose the rest: without that, {percent(1.0 - left)} of the squared "
            "distances to the frontier are gone. Returns are estimated from the rest, and "
            "intervals do not count that the share is estimated too."
        ),
        remedy=(
            f"Find out whether something other than its return keeps {name} in every portfolio: a "
            "rule, a benchmark or a home market."
        ),
    )


def own_tilt(share: float) -> CheckText:
    """Departures last from date to date."""
    return CheckText(
        sentence=(
            f"{percent(share)} of what the frontier leaves unexplained is the same for an "
            "investor at all dates: a tilt of their own, not error. Intervals count each "
            "investor once."
        ),
        remedy=(
            "Nothing, if investors are meant to be counted once; else learn from groups with "
            "the same tilt."
        ),
    )


def tilts_taken_off(lasting: float, sd: float) -> CheckText:
    """Each investor has a tilt of her own, which was taken off.

    Args:
        lasting: share of the departures' variance that is the same at all dates.
        sd: of a tilt in a single holding, fractions of wealth.
    """
    return CheckText(
        sentence=(
            f"{percent(lasting)} of how portfolios depart from the frontier is the same for an "
            f"investor at all dates: a tilt of their own, {percent(sd)} of wealth in a holding "
            "(standard deviation). Returns are estimated without it, and intervals count each "
            "investor once; tilts cut at zero may bend them further than that."
        ),
        remedy=(
            "Learn from groups of investors with the same benchmark or mandate, where an attribute "
            "tells them apart."
        ),
    )


def duplicates(investors: int, portfolios: int) -> CheckText:
    """The same portfolio again.

    Args:
        investors: how many hold exactly what another investor holds.
        portfolios: how many such portfolios there are.
    """
    what = "one portfolio" if portfolios == 1 else f"{portfolios:,} portfolios"
    return CheckText(
        sentence=(
            f"{investors:,} investors hold {what} between them, the same to the last digit (model "
            "portfolios or share classes): intervals count each such portfolio as one decision."
        ),
        remedy="Remove share classes of the same fund if they are in the file by accident.",
    )


def at_box(names: str) -> CheckText:
    """Estimates at the edge of what was allowed."""
    return CheckText(
        sentence=f"The estimate of {names} is at the edge of the returns allowed.",
        remedy="Widen the bounds on returns, or look at the anchors.",
    )


def not_settled() -> CheckText:
    """The search did not end."""
    return CheckText(
        sentence=(
            "The search for the estimate did not settle: the portfolios ask for different "
            "returns in different places."
        ),
        remedy="Learn from groups of investors, or give more of them.",
    )


def few_identified(count: int, total: int) -> CheckText:
    """Hardly any return is known.

    Args:
        count: how many are identified or anchored.
        total: of how many.
    """
    return CheckText(
        sentence=f"Only {count} of {total} returns are known; the others are bounded or not seen.",
        remedy="Give investors who hold more of the assets, or leave those out that nobody holds.",
    )


def uncovered(file: str, covered: float) -> CheckText:
    """Much of what is held has no return history.

    Args:
        file: What the file of portfolios is called.
        covered: The share of its value that has a history.
    """
    return CheckText(
        sentence=(
            f"{percent(1.0 - covered)} of the value of {file} has no return history: what was "
            "learned speaks of the rest, as if that were all that its owners hold."
        ),
        remedy=(
            "Add the missing histories, say which assets they are (a map of identifiers), or give "
            "cash a rate."
        ),
    )
