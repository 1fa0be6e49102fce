"""Prices or returns, percent or fractions, and how many periods make a year.

Told from the values. Prices stay near where they were; returns change sign. A year's spread of a
fraction is a few tenths, of a percentage a few tens. Names are believed where values allow both; a
name that contradicts what the values look like is asked about, not guessed.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.errors import UnreadableFile
from imop_engine.sentences.market import PYTHON, HistoryWords
from imop_engine.tables import words as vocabulary
from imop_engine.tables.reading_report import KEPT, Guess, Notes

# Growth factors lie this close to 1 in the middle, and so many are needed to tell them.
NEAR_ONE: Final = 0.03
FEWEST_FACTORS: Final = 24
# A correlation of changes with those before: -0.5 of growth factors, about 0 of prices.
SWINGING: Final = -0.35
PRICES: Final = "prices"
RETURNS: Final = "returns"
KINDS: Final = (PRICES, RETURNS)
FRACTION: Final = "fraction"
PERCENT: Final = "percent"
UNITS: Final = (FRACTION, PERCENT)

# Returns are negative about every other time; prices are not, except by mistake.
NEGATIVE_SHARE: Final = 0.05
# From one row to the next a price moves by far less than itself; a return by about itself.
PRICE_STEP: Final = 0.5
# Fewer values cannot contradict a name.
FEWEST_TOLD: Final = 6
# Prices are hardly ever below this, returns as fractions almost always.
SMALL_PRICE: Final = 0.5
# No asset gains this many per cent in every single period.
LARGE_PERCENTAGE: Final = 25.0
# Yearly spread of returns that splits fractions (0.02 to 1) from percentages (2 to 100).
YEARLY_SPREAD: Final = 1.5
# Between these the guess is called doubtful: crypto assets below it, very short bonds above.
DOUBTFUL: Final = (0.6, 2.4)
# No ordinary assets spread by so many per cent a year.
WIDEST: Final = 90.0
# Normal consistency: the standard deviation is about this many median absolute deviations.
MAD_TO_SD: Final = 1.4826

# Days between rows, from, to, periods per year, name.
FREQUENCIES: Final = (
    (0.5, 3.9, 252, "daily"),
    (3.9, 10.5, 52, "weekly"),
    (10.5, 20.0, 26, "every two weeks"),
    (20.0, 45.0, 12, "monthly"),
    (45.0, 135.0, 4, "quarterly"),
    (135.0, 250.0, 2, "half-yearly"),
    (250.0, 500.0, 1, "yearly"),
)
WEEKEND_SHARE: Final = 0.2
DAYS_WITH_WEEKENDS: Final = 365
# Without dates there is nothing to tell from; months are what most such tables hold.
PERIODS_WITHOUT_DATES: Final = 12

FloatArray = NDArray[np.float64]


def guess_kind(
    values: FloatArray, names: str, signed_percent: bool, file: str, words: HistoryWords = PYTHON
) -> Guess:
    """Tell prices from returns by the values, and by the names where the values allow both.

    Args:
        values: One row for each period, a column for each asset.
        names: What the file's names hint at.
        signed_percent: Whether cells had percent signs.
        file: What the file is called.
        words: What the choices are called where an error is read.
    """
    known = values[np.isfinite(values)]
    if signed_percent:
        return Guess(RETURNS, "the cells carry percent signs")
    negative = float((known < 0).mean()) if len(known) else 0.0
    if negative >= NEGATIVE_SHARE:
        return Guess(RETURNS, f"{negative:.0%} of the values are negative")
    step = typical_step(values)
    level = float(np.median(np.abs(known))) if len(known) else 0.0
    if are_growth_factors(values):
        raise UnreadableFile(
            f"{file}: values lie around {level:.4g} and swing back at every step, as growth "
            "factors (1 + return) do and prices do not; subtract 1 and give them as returns, or "
            f"say with {words.prices} that they are prices."
        )
    named_return = vocabulary.says(names, vocabulary.RETURN)
    named_price = vocabulary.says(names, vocabulary.PRICE)
    if named_return == named_price:
        if step < PRICE_STEP:
            return Guess(PRICES, f"values are positive and change by {step:.1%} from row to row")
        return Guess(RETURNS, f"values change by {step:.0%} of themselves from row to row")
    if named_price and (step < PRICE_STEP or len(known) < FEWEST_TOLD):
        return Guess(PRICES, "the names say so")
    if named_return and (step >= PRICE_STEP or level < SMALL_PRICE or len(known) < FEWEST_TOLD):
        return Guess(RETURNS, "the names say so")
    if named_return and level > LARGE_PERCENTAGE:
        return Guess(PRICES, f"values around {level:.4g}, none negative, are no returns")
    raise UnreadableFile(_contradiction(file, named_return, level, step, words))


def note_against_names(kind: Guess, words: HistoryWords, notes: Notes) -> None:
    """Say so where values were believed and a name, which says returns, was not.

    Args:
        kind: What the values were taken for, and why.
        words: What the choices are called where the report is read.
        notes: Collects what was noticed, changed or refused.
    """
    if kind.reason.endswith("are no returns"):
        notes.add(
            f"the names speak of returns, but {kind.reason}; they are read as prices",
            KEPT,
            f"nothing needs to be done unless they are returns, which {words.returns} says",
        )


def _contradiction(
    file: str, named_return: bool, level: float, step: float, words: HistoryWords
) -> str:
    looks = f"around {level:.4g}, none negative, changing by {step:.1%} from row to row"
    said, seen = ("returns", "prices") if named_return else ("prices", "returns")
    return (
        f"{file}: the names speak of {said}, but the values look like {seen} ({looks}); say which "
        f"they are with {words.prices} or {words.returns}."
    )


def are_growth_factors(values: FloatArray) -> bool:
    """Whether values around 1 jump back and forth around it, which prices do not.

    Changes of independent values have a correlation of -1/2 with the change before, those of
    prices one of about zero.
    """
    known = values[np.isfinite(values)]
    if len(known) < FEWEST_FACTORS or abs(float(np.median(known)) - 1) > NEAR_ONE:
        return False
    steps = np.diff(values, axis=0)
    pairs = np.isfinite(steps[1:]) & np.isfinite(steps[:-1])
    before, after = steps[:-1][pairs], steps[1:][pairs]
    size = float(np.sqrt((before**2).sum() * (after**2).sum()))
    return size > 0 and float((before * after).sum()) / size < SWINGING


def typical_step(values: FloatArray) -> float:
    """The median change from row to row, as a share of the value before."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        steps = np.abs(np.diff(values, axis=0)) / np.abs(values[:-1])
    steps = steps[np.isfinite(steps)]
    return float(np.median(steps)) if len(steps) else 0.0


def guess_units(
    returns: FloatArray, periods: int, names: str, signed_percent: bool
) -> tuple[Guess, bool]:
    """Tell fractions from percentages; also whether it was a close call.

    Args:
        returns: One row for each period, a column for each asset.
        periods: How many make a year.
        names: What the file's names hint at.
        signed_percent: Whether cells had percent signs.
    """
    if signed_percent:
        return Guess(FRACTION, "percent signs are already taken into account"), False
    if "%" in names or vocabulary.says(names, vocabulary.PERCENT):
        return Guess(PERCENT, "the names say so"), False
    known = returns[np.isfinite(returns)]
    if not len(known):
        return Guess(FRACTION, "there are no values to tell from"), False
    spread = MAD_TO_SD * float(np.median(np.abs(known - np.median(known)))) * periods**0.5
    lowest = float(known.min())
    if lowest < -1:
        why = f"a value of {lowest:.4g} would be a loss of more than everything"
        return Guess(PERCENT, why), not YEARLY_SPREAD <= spread <= WIDEST
    doubtful = DOUBTFUL[0] < spread < DOUBTFUL[1] or spread > WIDEST
    unit = PERCENT if spread > YEARLY_SPREAD else FRACTION
    return Guess(unit, f"values spread by {spread:.2g} a year"), doubtful


def guess_periods(dates: NDArray[np.datetime64] | None) -> Guess:
    """Tell how many periods make a year from the typical distance of two dates."""
    if dates is None or len(dates) < 2:
        return Guess(PERIODS_WITHOUT_DATES, "there are no dates to tell from; months are assumed")
    days = np.diff(dates) / np.timedelta64(1, "D")
    usual = float(np.median(days))
    for low, high, periods, name in FREQUENCIES:
        if low <= usual < high:
            if name == "daily" and _weekend_share(dates) > WEEKEND_SHARE:
                return Guess(DAYS_WITH_WEEKENDS, "the rows are daily, weekends included")
            return Guess(periods, f"the rows are {name}")
    years = usual / 365.25
    return Guess(max(1, round(1 / years)), f"the rows are usually {usual:.3g} days apart")


def _weekend_share(dates: NDArray[np.datetime64]) -> float:
    # Day 0 of the calendar, 1970-01-01, was a Thursday; Saturday and Sunday are 2 and 3 after it.
    weekday = (dates.astype("datetime64[D]").astype(np.int64) - 2) % 7
    return float((weekday <= 1).mean())
