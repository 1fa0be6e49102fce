"""Prices that stand still: a quote that somebody carries forward because nothing was traded.

Such a series looks calm and unrelated to the others, which is no property of the asset. Nothing is
changed: what stands still may be a peg or a price that is only made once a quarter. It is named.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.tables import words
from imop_engine.tables.history_matrix import Matrix, runs_of
from imop_engine.tables.reading_report import KEPT, Notes

# Fewer equal prices in a row happen over holidays.
SHORTEST_STANDSTILL: Final = 5
# A run is named where an asset that stands still as often as this one otherwise does would show
# one as long by chance in fewer than one history out of this many.
CHANCE: Final = 100.0
# An asset whose price stays the same in this share of the periods is priced less often than the
# file has dates; coarse prices and returns with one decimal stay below it.
SELDOM_PRICED: Final = 0.4

BoolArray = NDArray[np.bool_]


def note_standstill(matrix: Matrix, from_prices: bool, notes: Notes) -> None:
    """Name assets whose price does not move for long, and those that are seldom priced.

    Args:
        matrix: The returns by date and asset, fractions; none of them without any returns.
        from_prices: Whether they were computed from prices.
        notes: Collects what was noticed, changed or refused.
    """
    still = np.asarray(matrix.values == 0)
    known = np.isfinite(matrix.values)
    for j, asset in enumerate(matrix.assets):
        # no interest for years is no mistake, and an asset that never moves is named elsewhere
        if words.is_cash(asset) or still[known[:, j], j].all():
            still[:, j] = False
    seldom = still.sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    often = (seldom >= SELDOM_PRICED) & (still.sum(axis=0) >= SHORTEST_STANDSTILL)
    long = np.column_stack([_long_runs(still[:, j], known[:, j]) for j in range(len(often))])
    what = "the price does not change" if from_prices else "the return is zero"
    remedy = "prices" if from_prices else "returns"
    rows, columns, values = runs_of(matrix, long & ~often)
    if rows:
        notes.add(
            f"{what} for so long that it looks carried forward; risk and correlations are "
            "understated",
            KEPT,
            f"leave the cells empty where there were no {remedy}, or leave the asset out",
            rows=rows,
            columns=columns,
            values=values,
        )
    if often.any():
        named = np.flatnonzero(often)
        notes.add(
            f"{what} in many periods, as if the asset were priced less often than the file has "
            "dates; risk and correlations are understated",
            KEPT,
            "give the history as often as this asset is priced, monthly or quarterly, say",
            rows=[0] * len(named),
            columns=[matrix.assets[j] for j in named],
            values=[f"{seldom[j]:.0%} of the periods" for j in named],
        )


def _long_runs(still: BoolArray, known: BoolArray) -> BoolArray:
    """Which periods of one asset belong to a run of standing still that is no chance."""
    long = np.zeros(len(still), bool)
    edges = np.flatnonzero(np.diff(np.r_[False, still, False]))
    count, periods = int(still.sum()), int(known.sum())
    for first, end in zip(edges[::2], edges[1::2], strict=True):
        length = int(end - first)
        if length < SHORTEST_STANDSTILL:
            continue
        elsewhere = max(count - length, 0) / max(periods - length, 1)
        long[first:end] = periods * elsewhere**length * CHANCE < 1
    return long
