"""The verdict on a study in words, as shell, report and app say it."""

from __future__ import annotations

from typing import Final, Protocol

from imop_engine.sentences.numbers import percent

VERDICTS: Final = {
    "good": "Good: nothing was found that speaks against these returns and their intervals.",
    "caution": "Caution: these returns hold with reservations.",
    "poor": "Poor: do not rely on these returns.",
}
WORDS: Final = {"poor": "Poor", "caution": "Caution", "note": "Note"}  # severities, worst first


# How a way of estimating reads in a sentence, by its name in `inference.estimators`.
WAYS: Final = {
    "errors in holdings": "Investors are taken to believe the same and to err in what they hold",
    "beliefs differ": "Investors each believe in returns of their own, around common ones",
    "implied returns": (
        "The returns are those under which the average portfolio is the best one; nothing is "
        "learned from how investors differ"
    ),
}


class Reason(Protocol):
    """A check of a study."""

    @property
    def severity(self) -> str:
        """ "note", "caution" or "poor"."""
        ...

    @property
    def sentence(self) -> str:
        """What is the matter."""
        ...

    @property
    def remedy(self) -> str:
        """What helps."""
        ...


def verdict_line(verdict: str) -> str:
    """The verdict, said in one line.

    Args:
        verdict: "good", "caution" or "poor".

    >>> verdict_line("poor")
    'Verdict: poor. Do not rely on these returns.'
    """
    word, _, rest = VERDICTS[verdict].partition(": ")
    return f"Verdict: {word.lower()}. {rest[:1].upper()}{rest[1:]}"


def reason_line(reason: Reason) -> str:
    """One reason of a verdict in a line: how bad, what is the matter, what helps.

    Args:
        reason: a check of the study.
    """
    return f"{WORDS[reason.severity]}: {reason.sentence} What helps: {reason.remedy}"


def given_anchors(anchors: int) -> str:
    """What follows a level or a risk aversion: both hang on the anchors.

    Args:
        anchors: how many there are; without any there is nothing to say.
    """
    return ", given the anchors" if anchors else ""


def way_sentence(way: str, asked: bool, explained: float | None) -> str:
    """Which errors the estimate takes investors to make, and what it explains elsewhere.

    Args:
        way: its name in `inference.estimators`.
        asked: whether the analyst chose it.
        explained: share of the differences between portfolios that is explained among investors
            the estimate was not fitted to; None: too few to say.
    """
    who = "as asked for" if asked else "chosen by what the portfolios show"
    said = f"{WAYS[way]} ({way}; {who})."
    if explained is None:
        return f"{said} There are too few portfolios to say how much that explains elsewhere."
    share = f"{explained:.1%}" if explained >= 0.0 else "nothing"
    return (
        f"{said} It explains {share} of the differences between portfolios among investors it was "
        "not fitted to."
    )


def dispersion_sentence(dispersion: float) -> str:
    """How much investors disagree.

    Args:
        dispersion: standard deviation of beliefs between investors, return a year.
    """
    return (
        f"Beliefs differ between investors by {percent(dispersion)} a year (standard deviation, "
        "given the anchors)."
    )


def tilts_sentence(sd: float, changing_sd: float, investors: int) -> str:
    """Investors depart from the frontier each in a way of her own, at all dates.

    Args:
        sd: of a tilt in a single holding, fractions of wealth.
        changing_sd: of what changes from date to date.
        investors: how many come at several dates.
    """
    return (
        f"Each of {investors:,} investors with several dates has a tilt of their own, the same at "
        f"all of them: {percent(sd)} of wealth in a holding (standard deviation), while "
        f"{percent(changing_sd)} changes from date to date. Returns are estimated without tilts."
    )


def covariance_sentence(periods: float) -> str:
    """The covariance was fitted too.

    Args:
        periods: how many periods of history it was estimated from.
    """
    return (
        f"The covariance of the history is an estimate from {periods:.0f} periods, and was fitted "
        "together with the returns: the portfolios tell it, too. Frontier and risks are under the "
        "fitted one."
    )


def with_everyone_sentence(aside: int, total: int) -> str:
    """The comparison with those who were set aside.

    Args:
        aside: how many were.
        total: of how many.
    """
    return (
        f"{aside:,} of {total:,} portfolios were set aside; 'with everyone' is what the same way "
        "finds from all of them."
    )
