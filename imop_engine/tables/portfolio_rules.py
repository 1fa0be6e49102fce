"""What happens to portfolios that do not fit: the analyst's choices, one function each.

Every rule takes a book and returns a book; what it changes or refuses it writes down.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from imop_engine.errors import InvalidInput
from imop_engine.tables import words
from imop_engine.tables.extra_holdings import ADDING_SHARE, ADDS_UP
from imop_engine.tables.holdings import Book
from imop_engine.tables.reading_report import CHANGED, KEPT, REFUSED, Cure, Guess, Notes

FRACTION, PERCENT, AMOUNTS = "fraction", "percent", "amounts"
UNITS: Final = (FRACTION, PERCENT, AMOUNTS)
CHOICES: Final = {
    "sums": ("rescale", "cash", "refuse"),
    "unknown": ("drop", "refuse"),
    "negative": ("refuse", "zero", "keep"),
    "duplicates": ("first", "last", "keep"),
    "drift": ("keep", "drop"),
}
CASH_NAME: Final = "Cash"

# Sums and weights this close to their target differ by the rounding of floats, not of people.
FLOAT_ROOM: Final = 1e-9
# A quadrillion, in whatever currency.
LARGEST_HOLDING: Final = 1e15
# Weights that add up to more than this are percentages, however wrong.
LEAST_PERCENT: Final = 20.0
# Amounts that add up to less than this are more likely weights with something wrong.
SMALL_FORTUNE: Final = 1000.0
# Weights rounded to tens may add up to as much more or less than the whole.
NEARLY: Final = 0.25
# Shares of a portfolio beyond which weights are more likely amounts.
MEDIAN_FRACTION: Final = (0.3, 1.5)


@dataclass(frozen=True)
class Rules:
    """The analyst's choices."""

    sums: str = "rescale"
    unknown: str = "drop"
    negative: str = "refuse"
    duplicates: str = "first"
    tolerance: float = 0.02
    snapshots: str = "latest"
    drift: str = "keep"
    coverage: float = 0.8

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            given = getattr(self, name)
            if given not in allowed:
                raise InvalidInput(
                    f"{name} is {given!r}; choose {', '.join(allowed[:-1])} or {allowed[-1]}."
                )
        if not 0 <= self.tolerance < 1:
            raise InvalidInput(f"tolerance is {self.tolerance}; give a share such as 0.02.")
        if not 0 <= self.coverage <= 1:
            raise InvalidInput(
                f"coverage is {self.coverage:g}; give the least share of a portfolio that needs a "
                "return history, from 0 to 1, such as 0.8."
            )


def guess_units(book: Book, named_weight: bool, named_percent: bool) -> Guess:
    """Tell fractions, percentages and amounts apart by what the portfolios add up to.

    Args:
        book: The portfolios as they were read.
        named_weight: Whether a column's name speaks of weights.
        named_percent: Whether a column's name speaks of percent.
    """
    if book.signed:
        return Guess(FRACTION, "percent signs are already taken into account")
    sums = book.values.sum(axis=1)
    for unit, whole in ((FRACTION, 1.0), (PERCENT, 100.0)):
        close = float((np.abs(sums / whole - 1) <= ADDS_UP).mean()) if len(sums) else 0.0
        if close >= ADDING_SHARE:
            return Guess(unit, f"{close:.0%} of the portfolios add up to {whole:g}")
    usual = float(np.median(sums)) if len(sums) else 1.0
    for unit, whole in ((FRACTION, 1.0), (PERCENT, 100.0)):
        near = float((np.abs(sums / whole - 1) <= NEARLY).mean()) if len(sums) else 0.0
        if abs(usual / whole - 1) <= ADDS_UP and near >= ADDING_SHARE:
            # coarse rounding: amounts of money do not all happen to be near a hundred
            return Guess(unit, f"portfolios usually add up to {usual:.3g}")
    low, high = MEDIAN_FRACTION
    if named_percent or (named_weight and usual > LEAST_PERCENT):
        return Guess(PERCENT, f"the names say so; portfolios usually add up to {usual:.3g}")
    if named_weight or low <= usual <= high:
        # weights that add up to 3 are fractions with something wrong, not three hundredths
        return Guess(FRACTION, f"portfolios usually add up to {usual:.3g}")
    return Guess(AMOUNTS, f"portfolios usually add up to {usual:,.6g}")


def note_small_amounts(book: Book, unit: Guess, notes: Notes) -> None:
    """Say so where what is taken as amounts adds up to less than anybody's fortune.

    Args:
        book: The portfolios as they were read.
        unit: What the holdings were taken for.
        notes: Collects what was noticed, changed or refused.
    """
    sums = book.values.sum(axis=1)
    usual = float(np.median(sums)) if len(book) else 0.0
    if unit.value != AMOUNTS or not 0 < usual < SMALL_FORTUNE:
        return
    said = f"portfolios usually add up to {usual:,.4g}, which is neither 1 nor 100"
    if min(abs(usual - 1), abs(usual / 100 - 1)) <= ADDS_UP:
        said = (
            f"portfolios add up to between {sums.min():,.4g} and {sums.max():,.4g}, and most of "
            "them neither to 1 nor to 100"
        )
    notes.add(
        f"{said}; the holdings are taken as amounts",
        KEPT,
        "check that no asset is missing or counted twice, or say what the holdings are",
        needs=True,
        cures=[
            Cure("units", AMOUNTS, "They are amounts"),
            Cure("units", FRACTION, "They are fractions"),
            Cure("units", PERCENT, "They are percentages"),
        ],
    )


def refuse_huge(book: Book, notes: Notes) -> Book:
    """Refuse portfolios with numbers that no fortune reaches; their sums would overflow."""
    huge = np.asarray((np.abs(book.values) > LARGEST_HOLDING).any(axis=1))
    shown = [f"{value:.6g}" for value in np.abs(book.values).max(axis=1)] if huge.any() else ""
    book.note(
        huge, "a holding is larger than any fortune", REFUSED, "correct the holding", notes, shown
    )
    return book.set_aside(huge, lambda _: "has a holding larger than any fortune", notes)


def refuse_empty(book: Book, notes: Notes) -> Book:
    """Refuse portfolios in which nothing is held."""
    empty = ~np.asarray((book.values != 0).any(axis=1))
    book.note(empty, "nothing is held", REFUSED, "fill in the holdings or remove the row", notes)
    return book.set_aside(empty, lambda _: "holds nothing", notes)


def apply_negative_rule(book: Book, rule: str, notes: Notes) -> Book:
    """Treat short positions as asked.

    Args:
        book: The portfolios as they were read.
        rule: Refuse, zero or keep.
        notes: Collects what was noticed, changed or refused.

    Returns:
        The portfolios after the rule.
    """
    scale = np.abs(book.values).sum(axis=1, keepdims=True)
    tiny = (book.values < 0) & (book.values >= -FLOAT_ROOM * scale)
    values = np.where(tiny, 0.0, book.values)
    book.note(
        np.asarray(tiny.any(axis=1)),
        "a holding is negative by the rounding of numbers and is set to zero",
        CHANGED,
        "nothing needs to be done",
        notes,
    )
    book = replace(book, values=values)
    short = np.asarray((values < 0).any(axis=1))
    if rule == "keep" or not short.any():
        return book
    worst = values.argmin(axis=1)
    shown = [f"{book.assets[j]} {values[p, j]:.6g}" for p, j in enumerate(worst)]
    if rule == "zero":
        book.note(
            short,
            "a holding is negative and is set to zero",
            CHANGED,
            "check the holding",
            notes,
            shown,
        )
        return refuse_empty(replace(book, values=np.maximum(values, 0.0)), notes)
    book.note(
        short,
        "a holding is negative, and portfolios without short positions are learned",
        REFUSED,
        "correct the holding, or choose to set negative ones to zero or keep them",
        notes,
        shown,
        cures=[Cure("negative", "zero", "Count negative ones as zero")],
    )
    return book.set_aside(short, lambda p: f"has a negative holding: {shown[p]}", notes)


def apply_sum_rule(book: Book, units: str, rules: Rules, notes: Notes) -> Book:
    """Make every portfolio add up to one, as asked.

    Args:
        book: The portfolios as they were read.
        units: Fraction, percent or amounts.
        rules: The analyst's choices.
        notes: Collects what was noticed, changed or refused.

    Returns:
        The portfolios in fractions of wealth.
    """
    whole = {FRACTION: 1.0, PERCENT: 100.0}.get(units)
    sums = book.values.sum(axis=1)
    if whole is None:
        bad = ~(sums > 0)
        book.note(
            bad,
            "the amounts do not add up to anything positive",
            REFUSED,
            "correct the amounts",
            notes,
            lambda p: f"{sums[p]:.6g}",
        )
        good = book.set_aside(bad, lambda _: "has amounts that add up to nothing positive", notes)
        worth = good.values.sum(axis=1)
        return replace(good, values=good.values / worth[:, None], wealth=worth)
    book = replace(book, values=book.values / whole)
    sums = sums / whole
    off = np.abs(sums - 1)
    far = off > rules.tolerance

    def shown(p: int) -> str:
        return f"the sum is {sums[p]:.10g}"

    refused = ~(sums > 0) | (far if rules.sums == "refuse" else np.zeros(len(book), bool))
    if rules.sums == "cash":
        book, refused = _fill_with_cash(book, sums, refused, rules, notes, shown)
    moved = ~refused & (np.abs(book.values.sum(axis=1) - 1) > FLOAT_ROOM)
    other = moved & _in_other_unit(sums, units)
    refused_far = refused & (sums > 0)
    book.note(
        refused_far,
        "the weights do not add up to one",
        REFUSED,
        "correct the weights, or choose to rescale them",
        notes,
        shown,
    )
    book.note(
        refused & ~refused_far,
        "the weights do not add up to anything positive",
        REFUSED,
        "correct the weights",
        notes,
        shown,
    )
    named = {FRACTION: ("percentages", "fractions"), PERCENT: ("fractions", "percentages")}[units]
    book.note(
        other,
        f"the weights are {named[0]} where most others are {named[1]}, and are read as such",
        CHANGED,
        "write all weights alike",
        notes,
        lambda p: f"the sum is {sums[p] * whole:.10g}",
        cures=[Cure("sums", "refuse", "Leave them out")],
    )
    book.note(
        moved & far & ~other,
        "the weights do not add up to one and are rescaled",
        CHANGED,
        "check the weights",
        notes,
        shown,
        cures=[
            Cure("sums", "cash", "What is missing is cash"),
            Cure("sums", "refuse", "Leave them out"),
        ],
    )
    book.note(
        moved & ~far,
        "the weights are rescaled by their rounding",
        CHANGED,
        "nothing needs to be done",
        notes,
        shown,
    )
    values = book.values.copy()
    values[moved] /= values[moved].sum(axis=1, keepdims=True)
    return replace(book, values=values).set_aside(
        refused, lambda p: f"adds up to {sums[p]:.4g} instead of 1", notes
    )


def _in_other_unit(sums: NDArray[np.float64], units: str) -> NDArray[np.bool_]:
    """Which portfolios add up in percent where the others are fractions, or the other way round."""
    times = 100.0 if units == FRACTION else 0.01
    return np.asarray(np.abs(sums / times - 1) <= ADDS_UP)


def _fill_with_cash(
    book: Book,
    sums: NDArray[np.float64],
    refused: NDArray[np.bool_],
    rules: Rules,
    notes: Notes,
    shown: Callable[[int], str],
) -> tuple[Book, NDArray[np.bool_]]:
    """Put what is missing to one into cash; more than one is refused."""
    cash = next((name for name in book.assets if words.says(name, words.CASH)), CASH_NAME)
    if cash not in book.assets:
        none = np.zeros((len(book), 1))
        book = replace(book, assets=(*book.assets, cash), values=np.hstack([book.values, none]))
    missing = 1 - sums
    filled = ~refused & (missing > rules.tolerance)
    values = book.values.copy()
    values[filled, book.assets.index(cash)] += missing[filled]
    book.note(
        filled,
        f"what is missing to one is taken as {cash}",
        CHANGED,
        "nothing needs to be done",
        notes,
        shown,
    )
    return replace(book, values=values), refused | (missing < -rules.tolerance)


def apply_duplicate_rule(book: Book, rule: str, notes: Notes) -> Book:
    """Keep one portfolio per investor and date, as asked.

    Args:
        book: The portfolios as they were read.
        rule: First, last or keep.
        notes: Collects what was noticed, changed or refused.

    Returns:
        The portfolios after the rule.
    """
    keys = pd.DataFrame({"id": book.ids})
    if book.dates is not None:
        keys["date"] = book.dates
    if rule == "keep" or not keys.duplicated().any():
        return book
    kept: Literal["first", "last"] = "first" if rule == "first" else "last"
    extra = keys.duplicated(keep=kept).to_numpy()
    frame = pd.DataFrame(book.values)
    for name in keys:
        frame[name] = keys[name]
    same = frame.duplicated(keep=kept).to_numpy()
    names = [str(one) for one in book.ids]
    book.note(
        extra & same,
        "the investor is there twice with the same holdings; one is enough",
        REFUSED,
        "remove the row",
        notes,
        names,
    )
    book.note(
        extra & ~same,
        f"the investor is there twice; the {kept} portfolio is taken",
        REFUSED,
        "add a date to each portfolio, or remove the wrong one",
        notes,
        names,
        cures=[
            Cure("duplicates", "last" if kept == "first" else "first", "Take the other one"),
            Cure("duplicates", "keep", "Keep both"),
        ],
    )
    return book.keep(~extra)
