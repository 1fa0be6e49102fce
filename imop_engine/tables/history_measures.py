"""Numbers that are neither prices nor returns of one period, and columns unlike the others.

Returns since a beginning, of a year so far or of twelve months, yearly rates in monthly rows: all
have signs like returns, and would be read as such in silence. So would a column of returns among
prices, or one of fractions among percentages. What names or values say beyond doubt is refused with
the remedy; what only looks so is asked about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from imop_engine.errors import UnreadableFile
from imop_engine.sentences.market import HistoryWords
from imop_engine.sentences.numbers import some
from imop_engine.tables import words as vocabulary
from imop_engine.tables.cells import CellTable
from imop_engine.tables.currencies import currency_of
from imop_engine.tables.history_kind import (
    MAD_TO_SD,
    NEGATIVE_SHARE,
    PRICE_STEP,
    PRICES,
    RETURNS,
    typical_step,
)
from imop_engine.tables.history_matrix import Matrix
from imop_engine.tables.reading_report import CHANGED, KEPT, NOTHING, Cure, Guess, Notes

# Fewer rows than these do not tell how a column goes on.
FEWEST_ROWS: Final = 24
# Correlation of a row with the one before: about 0 of returns, above 0.9 of returns since a
# beginning, up to 0.7 where an appraiser smooths them.
GOES_ON: Final = 0.75
# Columns so often negative are returns beyond doubt; so high ones without a negative are prices.
TURNS: Final = 0.2
LEAST_PRICE: Final = 10.0
FEWEST_CELLS: Final = 6
# The spread of fractions is a hundredth of that of percentages; assets differ by less than this.
OTHER_UNIT: Final = 30.0
# Two funds of the same index stay below this correlation; two classes of one fund do not.
SAME_ASSET: Final = 0.9998
# Per annum, per year: A (p.a.), Fund B p. a.
PER_YEAR: Final = re.compile(r"\bp\.\s?a\b|\bper (?:annum|year)\b|\bpro Jahr\b", re.I)
# 3M, 10Y, 2 Jahre.
MATURITY: Final = re.compile(r"^\d{1,2}\s?-?(?:[MYJ]|months?|years?|monate|jahre?|ans?)$", re.I)
MOST_COMPARED: Final = 300  # assets, of which every pair is compared
NAMED: Final = 3  # assets in a sentence

THEY_ARE: Final = Cure("kind", RETURNS, "They are returns of one period")

FloatArray = NDArray[np.float64]


def refuse_other_measures(
    names: str, assets: Sequence[str], kind: str, periods: int, file: str, words: HistoryWords
) -> None:
    """Raise where the names speak of something else than prices or returns of one period.

    Args:
        names: What most of the file's names have in common.
        assets: What the assets are called.
        kind: Prices or returns, as the values look.
        periods: How many rows make a year; a year's return in yearly rows is one of one period.
        file: What the file is called.
        words: What the choices are called where the error is read.
    """
    logarithms = vocabulary.says(names, vocabulary.LOGARITHM)
    if kind == PRICES and logarithms:
        raise UnreadableFile(
            f"{file}: the names speak of logarithms, and the values look like those of prices; "
            f"give the prices themselves, or say with {words.prices} that they are."
        )
    if len(assets) > 1 and all(MATURITY.match(name) for name in assets):
        raise UnreadableFile(
            f"{file}: the columns are called by times to maturity ({some(list(assets), NAMED)}), "
            "as yields are, whose changes are no returns; give prices or returns of bonds, or say "
            f"with {words.prices} or {words.returns} what they are."
        )
    if kind == PRICES:
        return
    if vocabulary.says(names, vocabulary.BASIS_POINTS):
        raise UnreadableFile(
            f"{file}: the names speak of basis points; divide by 100 and give percentages, or say "
            f"with {words.returns} and the units what they are.",
        )
    if vocabulary.says(names, vocabulary.RUNNING):
        raise UnreadableFile(
            f"{file}: the names speak of returns since a beginning, which are not those of one "
            f"period; add 1 (or 100%) and give them as prices, or say with {words.returns} that "
            "each is of one period.",
            (THEY_ARE,),
        )
    a_year = vocabulary.says(names, vocabulary.ROLLING) or 2 * sum(
        PER_YEAR.search(name) is not None for name in assets
    ) >= len(assets)
    so_far = vocabulary.says(names, vocabulary.SO_FAR)
    for said, what in ((so_far, "of a year so far"), (a_year, "of a year")):
        if said and periods > 1:
            raise UnreadableFile(
                f"{file}: the names speak of returns {what}, which are not those of one row; give "
                f"those of each period, or prices, or say with {words.returns} that they are.",
                (THEY_ARE,),
            )


def refuse_running(values: FloatArray, file: str, words: HistoryWords) -> None:
    """Raise where values with signs go on from row to row, as returns since a beginning do.

    Args:
        values: One row for each period, a column for each asset.
        file: What the file is called.
        words: What the choices are called where the error is read.
    """
    turning = [column for column in values.T if _negative(column) >= NEGATIVE_SHARE]
    found = [one for column in turning if (one := _goes_on(column)) is not None]
    usual = float(np.median(found)) if found else 0.0
    if usual > GOES_ON:
        raise UnreadableFile(
            f"{file}: the values go on from row to row (a correlation of {usual:.2f} with the row "
            "before), as returns since a beginning and yields do and returns of one period do not; "
            "add 1 (or 100%) and give them as prices, or say with "
            f"{words.returns} that each is of one period.",
            (THEY_ARE,),
        )


def _negative(column: FloatArray) -> float:
    """The share of a column's values that are negative."""
    known = column[np.isfinite(column)]
    return float((known < 0).mean()) if len(known) >= FEWEST_CELLS else 0.0


def _goes_on(column: FloatArray) -> float | None:
    """The correlation of a column with itself one row before; None where too little is known."""
    pairs = np.isfinite(column[1:]) & np.isfinite(column[:-1])
    before, after = column[:-1][pairs], column[1:][pairs]
    if len(before) < FEWEST_ROWS - 1 or not np.ptp(before) or not np.ptp(after):
        return None
    return float(np.corrcoef(before, after)[0, 1])


def refuse_mixed_kinds(matrix: Matrix, file: str) -> None:
    """Raise where some columns are prices beyond doubt and others returns.

    Args:
        matrix: The values by date and asset.
        file: What the file is called.
    """
    prices, returns = [], []
    for name, column in zip(matrix.assets, matrix.values.T, strict=True):
        known = column[np.isfinite(column)]
        negative = _negative(column)
        if negative >= TURNS:
            returns.append(name)
        elif (
            len(known) >= FEWEST_CELLS
            and negative < NEGATIVE_SHARE
            and float(np.median(known)) > LEAST_PRICE
            and 0 < typical_step(column[:, None]) < PRICE_STEP
        ):
            prices.append(name)
    if prices and returns:
        raise UnreadableFile(
            f"{file}: columns that look like prices ({some(prices, NAMED)}) stand beside some "
            f"that look like returns ({some(returns, NAMED)}); give all as prices or all as "
            "returns, or give those that are no history the role ignore."
        )


def without_logarithms(
    matrix: Matrix, names: str, words: HistoryWords, guessed: dict[str, Guess], notes: Notes
) -> Matrix:
    """Turn logarithmic returns into simple ones where the names say that they are.

    Args:
        matrix: The returns by date and asset, fractions.
        names: What most of the file's names have in common.
        words: What the choices are called where the report is read.
        guessed: Collects what was detected and why, by the argument that overrides it.
        notes: Collects what was noticed, changed or refused.
    """
    if not vocabulary.says(names, vocabulary.LOGARITHM):
        return matrix
    guessed["kind"] = Guess(guessed["kind"].value, "the names speak of logarithmic returns")
    notes.add(
        "the names speak of logarithmic returns; they are turned into simple ones",
        CHANGED,
        f"{NOTHING} unless they are simple ones, which {words.returns} says",
    )
    with np.errstate(over="ignore"):
        return replace(matrix, values=np.expm1(matrix.values))


def note_other_units(matrix: Matrix, notes: Notes) -> None:
    """Ask about assets whose returns are far smaller than the others' but turn as often.

    Cash is calm too, but is hardly ever negative.

    Args:
        matrix: The returns by date and asset, fractions.
        notes: Collects what was noticed, changed or refused.
    """
    spread = np.full(len(matrix.assets), np.nan)
    for j, column in enumerate(matrix.values.T):
        known = column[np.isfinite(column)]
        if _negative(column) >= TURNS:
            spread[j] = MAD_TO_SD * float(np.median(np.abs(known - np.median(known))))
    there = np.flatnonzero(np.nan_to_num(spread) > 0)
    if len(there) < 2:
        return
    order = there[np.argsort(spread[there])]
    ratio = spread[order[1:]] / spread[order[:-1]]
    widest = int(np.argmax(ratio))
    if ratio[widest] < OTHER_UNIT:
        return
    small, large = order[: widest + 1], order[widest + 1 :]
    odd, others = (small, large) if len(small) <= len(large) else (large, small)
    odd = np.sort(odd)
    notes.add(
        f"the returns are about {ratio[widest]:.0f} times as "
        f"{'small' if odd[0] in small else 'large'} as those of {matrix.assets[others[0]]}, as "
        "fractions beside percentages are",
        KEPT,
        "write all columns in one unit",
        rows=[0] * len(odd),
        columns=[matrix.assets[j] for j in odd],
        needs=True,
    )


def note_currencies(table: CellTable, matrix: Matrix, notes: Notes) -> None:
    """Say so where prices are in several currencies: each asset's returns are then in its own.

    Args:
        table: The file's cells by column.
        matrix: The prices by date and asset.
        notes: Collects what was noticed, changed or refused.
    """
    named = {code for name in matrix.assets if (code := currency_of(name))}
    column = next(
        (one for one in table.columns if vocabulary.says(one.name, vocabulary.CURRENCY)), None
    )
    if column is not None and column.name not in matrix.labels:
        named |= {str(one) for one in pc.unique(column.strings).to_pylist() if one}
    if not 1 < len(named) <= len(matrix.assets):
        return
    notes.add(
        f"the prices are in several currencies ({some(sorted(named), NAMED)}), and the returns of "
        "each asset are those in its own",
        KEPT,
        "convert the prices into the currency of the investors, unless theirs are hedged",
        columns="" if column is None else column.name,
        needs=True,
    )


def note_rates(matrix: Matrix, notes: Notes) -> None:
    """Ask about columns among prices that are called a rate or a yield, or counted in percent.

    Args:
        matrix: The prices by date and asset.
        notes: Collects what was noticed, changed or refused.
    """
    named = [
        name
        for name in matrix.assets
        if name.rstrip(" )]").endswith("%") or vocabulary.says(name, vocabulary.YIELD)
    ]
    if 0 < len(named) < len(matrix.assets):
        notes.add(
            "the column is called a rate or counted in percent, and its changes from row to row "
            "are taken for returns as those of prices are",
            KEPT,
            "leave the column out, or give the prices of that asset",
            rows=[0] * len(named),
            columns=named,
            needs=True,
        )


def note_no_assets(matrix: Matrix, notes: Notes) -> None:
    """Ask about columns that are called a measure of risk, or a total or average of the others.

    Args:
        matrix: The prices or returns by date and asset.
        notes: Collects what was noticed, changed or refused.
    """
    measures = [name for name in matrix.assets if vocabulary.says(name, vocabulary.MEASURES)]
    totals = [name for name in matrix.assets if vocabulary.is_total(name)]
    for names, what in (
        (measures, "the column is called a measure of risk, and is taken as an asset"),
        (totals, "the column is called a total or an average, and is taken as an asset"),
    ):
        if 0 < len(names) < len(matrix.assets):
            notes.add(
                what,
                KEPT,
                "leave the column out, unless it is a security of that name",
                rows=[0] * len(names),
                columns=names,
                needs=True,
            )


def note_twins(matrix: Matrix, notes: Notes) -> None:
    """Name pairs of assets that move alike: returns cannot tell which of them is preferred.

    Args:
        matrix: The returns by date and asset, fractions.
        notes: Collects what was noticed, changed or refused.
    """
    count = len(matrix.assets)
    if not 1 < count <= MOST_COMPARED or len(matrix.values) < FEWEST_ROWS:
        return
    known = np.isfinite(matrix.values)
    centred = np.where(known, matrix.values, 0.0)
    centred -= np.where(known, centred.sum(axis=0) / np.maximum(known.sum(axis=0), 1), 0.0)
    scale = np.sqrt(np.where(known, centred**2, 0.0).sum(axis=0))
    likely = centred.T @ centred > GOES_ON * np.outer(scale, scale)
    pairs = [
        (matrix.assets[i], matrix.assets[j])
        for i, j in np.argwhere(np.triu(likely, 1))
        if _same(matrix.values[:, i], matrix.values[:, j])
    ]
    if pairs:
        notes.add(
            "two assets move alike as if they were one, so it cannot be told which of them "
            "investors expect more of",
            KEPT,
            "keep one of them and count what is held of both as that one",
            rows=[0] * len(pairs),
            columns=[f"{first} and {second}" for first, second in pairs],
            needs=True,
        )


def _same(first: FloatArray, second: FloatArray) -> bool:
    both = np.isfinite(first) & np.isfinite(second)
    if both.sum() < FEWEST_ROWS or not np.ptp(first[both]) or not np.ptp(second[both]):
        return False
    return float(np.corrcoef(first[both], second[both])[0, 1]) > SAME_ASSET
