"""Files in the wrong place: portfolios given as a history, a history given as portfolios.

Both are tables of numbers and would be read without complaint; what comes out is nonsense. They
are told by what they hold, and the sentence says where the file belongs.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.errors import UnreadableFile
from imop_engine.sentences.market import HistoryWords
from imop_engine.tables import words as vocabulary
from imop_engine.tables.cells import CellTable
from imop_engine.tables.extra_holdings import ADDS_UP
from imop_engine.tables.history_kind import NEGATIVE_SHARE, PRICE_STEP, typical_step
from imop_engine.tables.history_matrix import Matrix

# Names of columns that only portfolios have.
PERSONS: Final = frozenset(
    ("investor", "client", "customer", "household", "kunde", "kundennummer", "anleger", "klant")
) | {"cliente", "titulaire"}
NUMBERED: Final = frozenset(["id", "name", "no", "nr", "number", "nummer", "code", "ref"])
# Returns or prices never add up to one row after row; of portfolios nearly all do.
ADDING_SHARE: Final = 0.95
# Fewer rows than these tell nothing about how a table goes on.
FEWEST_ROWS: Final = 3
# So many different dates, and nobody's name, are a history.
FEWEST_DATES: Final = 12

FloatArray = NDArray[np.float64]


def refuse_persons(table: CellTable, words: HistoryWords) -> None:
    """Raise where a table given as a history has a column of investors.

    Args:
        table: The file's cells by column.
        words: What the choices are called where the error is read.
    """
    for name in table.names:
        said = vocabulary.words_of(name)
        if said & PERSONS and said <= PERSONS | NUMBERED:
            raise UnreadableFile(_portfolios(table.file, f"it has a column {name}", words))


def refuse_portfolios(table: CellTable, matrix: Matrix, words: HistoryWords) -> None:
    """Raise where a table given as a history is one of portfolios.

    Args:
        table: The file's cells by column.
        matrix: What the history's reader made of them.
        words: What the choices are called where the error is read.
    """
    named = [
        column.name
        for column in table.columns
        if vocabulary.says(column.name, vocabulary.INVESTOR) and column.name not in matrix.labels
    ]
    if matrix.dates is None and named:
        why = f"it has a column {named[0]} and no dates"
    elif adding_share(matrix.values) >= ADDING_SHARE:
        why = "its rows add up to 100%"
    else:
        return
    raise UnreadableFile(_portfolios(table.file, why, words))


def _portfolios(file: str, why: str, words: HistoryWords) -> str:
    return (
        f"{file} looks like portfolios, not like a history: {why}. {words.to_portfolios}; if it is "
        f"a history, say so with {words.returns} or {words.prices}."
    )


def refuse_history(
    file: str,
    dates: NDArray[np.datetime64] | None,
    values: FloatArray,
    words: HistoryWords,
) -> None:
    """Raise where a table given as portfolios, in which no investor is named, is a history.

    Args:
        file: What the file is called.
        dates: Of its rows; None where it has none.
        values: By row and asset.
        words: What the choices are called where the error is read.
    """
    if dates is None or len(dates) < FEWEST_DATES or len(np.unique(dates)) < len(dates):
        return
    known = values[np.isfinite(values)]
    if not len(known) or adding_share(values) >= 0.5:
        return
    negative, step = float((known < 0).mean()), typical_step(values[np.argsort(dates)])
    if negative >= NEGATIVE_SHARE:
        what, why = "returns", f"{negative:.0%} of its numbers are negative"
    elif step < PRICE_STEP:
        what, why = "prices", f"its numbers change by {step:.1%} from date to date"
    else:
        return
    raise UnreadableFile(
        f"{file} looks like a history of {what}, not like portfolios: it has {len(dates):,} "
        f"different dates, no investors, and {why}. {words.to_market}; if it is one investor's "
        "holdings over time, add a column investor."
    )


def adding_share(values: FloatArray) -> float:
    """The share of rows that add up to 1 or 100 and have no negative number."""
    if len(values) < FEWEST_ROWS or values.shape[1] < 2:
        return 0.0
    filled = np.nan_to_num(values)
    sums = filled.sum(axis=1)
    close = (np.abs(sums - 1) <= ADDS_UP) | (np.abs(sums - 100) <= 100 * ADDS_UP)
    return float((close & (filled >= 0).all(axis=1)).mean())
