"""The traffic lights in a few words: what each check is about, and what a button does about it."""

from __future__ import annotations

from typing import Final

# What a check found, in the words that fit beside a light; the check's sentence says the rest.
HEADLINES: Final = {
    "noise": "Holdings lie off one common frontier",
    "together": "Portfolios were not fitted together",
    "explained": "One frontier explains little",
    "baseline": "Nothing beats the average portfolio",
    "beliefs": "Investors believe different things",
    "outliers": "Some investors fit no common frontier",
    "strays": "Outliers are learned from all the same",
    "duplicates": "Several investors hold the same portfolio",
    "investors": "Few investors",
    "single": "Most portfolios hold a single asset",
    "history": "Short history",
    "covariance": "The covariance cannot be used as it is",
    "refit": "The history speaks against the fitted covariance",
    "months": "Months are left out",
    "anchors": "The known returns hardly fix the level",
    "coverage": "Holdings without a return history",
    "specification": "Something systematic is left",
    "caps": "Holdings pile up at a cap",
    "limits": "Portfolios break the limits",
    "largest": "Only the largest holdings are reported",
    "rounding": "Holdings are rounded",
    "dropped": "Small positions are missing",
    "tilt": "A shared tilt",
    "settled": "The estimate did not settle",
    "box": "A return is at the edge of what is allowed",
    "identified": "Hardly any return is fixed",
    "refused": "Some portfolios cannot be used",
}


def headline(name: str) -> str:
    """A check in a few words.

    Args:
        name: Of the check.
    """
    return HEADLINES[name]


def more_reasons(count: int) -> str:
    """What follows the first reason; "" where it is the only one.

    >>> more_reasons(0), more_reasons(1), more_reasons(3)
    ('', ' (and 1 more)', ' (and 3 more)')
    """
    return f" (and {count} more)" if count else ""


def cannot_be_read() -> str:
    """A file that nothing can be read from."""
    return "Cannot be read"


def failed() -> str:
    """A run that ended without a result."""
    return "The last run ended without a result"


def changed_since(parts: tuple[str, ...]) -> str:
    """The shown run was learned from other choices.

    >>> changed_since(("market", "learning"))
    'Learned before you changed the market and the learning settings'
    """
    words = {"market": "the market", "investors": "the investors", "the run": "something"}
    named = [words.get(part, "the learning settings") for part in parts]
    return f"Learned before you changed {' and '.join(named)}"


def unknown_verdict() -> str:
    """A run of a version that gave no verdict."""
    return "Learned by an older version that gave no verdict"


def set_outliers_aside(count: int) -> str:
    """What the button says.

    >>> set_outliers_aside(21), set_outliers_aside(1)
    ('Set 21 outliers aside', 'Set 1 outlier aside')
    """
    return f"Set {count:,} outlier{'s' if count != 1 else ''} aside"
