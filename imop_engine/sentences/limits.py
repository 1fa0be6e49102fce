"""What limits on portfolios say, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from imop_engine.sentences.checks import CheckText
from imop_engine.sentences.numbers import percent, percent_cell, points_cell, some

if TYPE_CHECKING:
    import pandas as pd

# The relation of a limit in words.
RELATIONS: Final[Mapping[str, str]] = {"<=": "at most", ">=": "at least", "=": "exactly"}
# Terms of a limit that are written out; the others are counted.
TERMS_NAMED: Final = 6
REMEDIES_NAMED: Final = 4
BROKEN_NAMED: Final = 3  # limits that portfolios break; others are counted
BUDGET: Final = "the holdings add up to 100%"
ALL_LIMITS: Final = "all limits together"
EVERY_HOLDING: Final = "every holding"
# How alike two names are (of 1) before one is taken for the other misspelt.
CLOSE: Final = 0.55


def share(value: float) -> str:
    """A share of the portfolio with as many digits as it needs.

    >>> share(0.3), share(-0.025), share(1 / 3)
    ('30%', '-2.5%', '33.3333%')
    """
    return f"{100.0 * value + 0.0:.6g}%"


def terms(holdings: Iterable[tuple[str, float]], most: int | None = TERMS_NAMED) -> str:
    """The left side of a limit: assets with their coefficients.

    Args:
        holdings: An asset's name and its coefficient each.
        most: How many terms are written out; None for all.

    Returns:
        The sum as one writes it.

    >>> terms([("Technology", 1.0), ("Communication", 1.0)])
    'Technology + Communication'
    >>> terms([("A", -1.0), ("B", 0.5), ("C", -2.0)])
    '-A + 0.5*B - 2*C'
    """
    pairs = list(holdings)
    written = pairs if most is None else pairs[:most]
    text = ""
    for place, (name, factor) in enumerate(written):
        size = "" if abs(factor) == 1.0 else f"{abs(factor):.6g}*"
        sign = ("-" if factor < 0 else "") if place == 0 else (" - " if factor < 0 else " + ")
        text += f"{sign}{size}{name}"
    left = len(pairs) - len(written)
    return text + (f" and {left} more" if left else "")


def limit_sentence(what: str, relation: str, value: float) -> str:
    """One limit in words.

    Args:
        what: The left side.
        relation: "<=", ">=" or "=".
        value: The right side, a share of the portfolio.

    >>> limit_sentence("Technology + Communication", "<=", 0.3)
    'Technology + Communication at most 30%'
    """
    return f"{what} {RELATIONS[relation]} {share(value)}"


def nearest(name: str, known: Sequence[str]) -> str:
    """The beginning of a sentence that lists what is known: with the nearest name, where one is.

    Args:
        name: What was written.
        known: What could have been meant.

    >>> nearest("Technologi", ["Technology", "Bonds"])
    "did you mean 'Technology'? T"
    >>> nearest("Gold", ["Technology", "Bonds"])
    't'
    """
    lowered = {one.casefold(): one for one in reversed(known)}
    close = get_close_matches(name.casefold(), list(lowered), n=1, cutoff=CLOSE)
    return f"did you mean {lowered[close[0]]!r}? T" if close else "t"


def each(names: Sequence[str]) -> str:
    """Assets that have the same bound.

    >>> each(["A"]), each(["A", "B"])
    ('A', 'each of A, B')
    """
    return names[0] if len(names) == 1 else f"each of {some(names, TERMS_NAMED)}"


def contradiction(members: Sequence[str], remedies: Sequence[str]) -> str:
    """Limits that cannot be kept together, and what would help.

    Args:
        members: The limits, none of which can be left out of the contradiction.
        remedies: What single ones would have to be, everything else kept.

    >>> contradiction(["A at most 3%", "A at least 5%"], ["A at most 5%", "A at least 3%"])
    'no portfolio keeps all limits; these contradict one another: A at most 3%; A at least 5%. \
Change one of them, to A at most 5%, or A at least 3%.'
    """
    named = list(remedies[:REMEDIES_NAMED])
    named += [f"others alike ({len(remedies) - len(named)})"] if len(remedies) > len(named) else []
    changed = f", to {', or '.join(named)}" if named else "; others contradict one another, too"
    return (
        f"no portfolio keeps all limits; these contradict one another: {'; '.join(members)}. "
        f"Change one of them{changed}."
    )


def no_cap(option: str, cap: float) -> str:
    """A cap beyond the whole portfolio, which is a question: was it meant in per cent?

    Args:
        option: How the cap is written, up to its number.
        cap: Its number, taken as a share.

    >>> print(no_cap("--cap KO=", 30.0))
    --cap KO=30 is 3,000% of the portfolio, which is no cap. Is 30% meant? Then write --cap KO=30%.
    """
    return (
        f"{option}{cap:g} is {cap:,.0%} of the portfolio, which is no cap. Is {cap:g}% meant? "
        f"Then write {option}{cap:g}%."
    )


def limits_broken(
    count: int, total: int, limits: Sequence[tuple[str, int, float, float]], errors: float | None
) -> CheckText:
    """Portfolios break the limits that were given.

    Args:
        count: how many break any of them.
        total: of how many.
        limits: those that are broken, worst first: in words, by how many, by how much of the
            portfolio in the middle, and at most.
        errors: the error in a holding, fractions of wealth, where errors explain it; else None.
    """
    named = [
        f"{limit} ({many:,}, by {percent(typical)} in the middle and {percent(most)} at most)"
        for limit, many, typical, most in limits[:BROKEN_NAMED]
    ]
    named += [f"{len(limits) - len(named)} more"] * (len(limits) > len(named))
    said = (
        f"{count:,} of {total:,} portfolios break the limits that were given, by more than "
        f"rounding: {'; '.join(named)}."
    )
    if errors is not None:
        return CheckText(
            f"{said} Errors of {percent(errors)} in a holding explain that.",
            "Nothing needs to be done: errors take portfolios over a limit that binds.",
        )
    return CheckText(
        f"{said} The estimate takes such portfolios for errors, and many of them for beliefs.",
        "Correct the limit or leave it out, or learn from those who keep it; investors under other "
        "limits want a mandate of their own.",
    )


def price_rows(table: pd.DataFrame) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """What limits cost as a table shows it.

    Args:
        table: With limit, binds, risk_from, risk_to, mean_price, greatest_price and
            risk_at_greatest.

    Returns:
        Headings, and a row of texts for each limit.
    """
    headings = ("limit", "binds at risk", "mean cost (bp)", "greatest (bp)", "at risk")
    rows: list[tuple[str, ...]] = [
        (
            str(one["limit"]),
            binds_cell(one["risk_from"], one["risk_to"]),
            points_cell(1e4 * one["mean_price"]),
            points_cell(1e4 * one["greatest_price"]),
            percent_cell(one["risk_at_greatest"], 1) if one["binds"] else "",
        )
        for one in table.to_dict("records")
    ]
    return headings, rows


def binds_cell(low: float, high: float) -> str:
    """Between which risks a limit binds.

    >>> binds_cell(0.12, 0.151), binds_cell(0.12, 0.12), binds_cell(float("nan"), float("nan"))
    ('12.0% to 15.1%', '12.0%', 'nowhere')
    """
    if low != low:
        return "nowhere"
    ends = (percent_cell(low, 1), percent_cell(high, 1))
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
