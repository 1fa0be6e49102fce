"""Which columns of numbers are holdings though no history knows them: those that rows lack.

Portfolios add up to one, to one hundred, or to their total. Where the columns that the history
knows fall short of that, and another column is what they fall short by, it is a holding: cash, or
what nobody classified. A column that would only make the sums too large is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.tables.numbers import Numbers

# A portfolio adds up when it comes this close to one (or one hundred).
ADDS_UP: Final = 0.02
# Roles are believed when at least this share of the rows adds up.
ADDING_SHARE: Final = 0.5
# A total column equals the sum of the others up to the rounding of its digits.
TOTAL_ROOM: Final = 1e-3
TOTAL_SHARE: Final = 0.9
# A column is what rows fall short by when adding it closes this share of itself: 1 where it is
# exactly that, -1 where the rows add up without it.
CLOSING_SHARE: Final = 0.5
# Columns that are tried one by one, and rows that are looked at: beyond these, all together.
MOST_TRIED: Final = 30
MOST_ROWS: Final = 5000

FloatArray = NDArray[np.float64]


def extra_holdings(
    numbers: dict[str, Numbers],
    known: Sequence[str],
    loose: Sequence[str],
    totals: Sequence[FloatArray] = (),
) -> list[str]:
    """Tell which further columns of numbers are holdings.

    Args:
        numbers: Each column read as numbers, by name.
        known: Columns that are holdings by their names.
        loose: Columns of numbers that may be.
        totals: Columns of totals, which rows should add up to.
    """
    if not loose:
        return []
    values = {name: np.nan_to_num(numbers[name].values) for name in [*known, *loose]}
    base = sum((values[name] for name in known), np.zeros(len(next(iter(values.values())))))
    if known and len(loose) <= MOST_TRIED:
        wholes = [np.full(len(base), 1.0), np.full(len(base), 100.0), *map(np.nan_to_num, totals)]
        closing = [_closing(values, base, loose, whole) for whole in wholes]
        adding = [share for _, share in closing]
        if max(adding) >= ADDING_SHARE:
            return closing[int(np.argmax(adding))][0]
    return _all_together(values, base, known, list(loose))


def _closing(
    values: dict[str, FloatArray], base: FloatArray, loose: Sequence[str], whole: FloatArray
) -> tuple[list[str], float]:
    """The columns that rows fall short by, and the share of rows that add up with them."""
    step = max(1, len(base) // MOST_ROWS)
    rows = np.flatnonzero(whole[::step] > 0) * step
    gap = 1.0 - base[rows] / whole[rows]
    parts = {name: values[name][rows] / whole[rows] for name in loose}
    found: list[str] = []
    while parts:
        closed = {name: _closed(gap, part) for name, part in parts.items()}
        best = max(closed, key=lambda name: closed[name])
        if closed[best] <= CLOSING_SHARE * float(np.abs(parts[best]).sum()):
            break
        gap = gap - parts.pop(best)
        found.append(best)
    share = float((np.abs(gap) <= ADDS_UP).mean()) if len(gap) else 0.0
    return [name for name in loose if name in found], share


def _closed(gap: FloatArray, part: FloatArray) -> float:
    """By how much a column brings the rows closer to their whole, added up."""
    return float((np.abs(gap) - np.abs(gap - part)).sum())


def _all_together(
    values: dict[str, FloatArray], base: FloatArray, known: Sequence[str], loose: list[str]
) -> list[str]:
    """Take all columns, or all but the one without which they add up, or none."""
    everything = base + sum(values[name] for name in loose)
    without, with_all = adding_share(base), adding_share(everything)
    if known and without >= ADDING_SHARE and without >= with_all:
        return []
    if with_all >= ADDING_SHARE:
        return loose
    for name in loose:
        if adding_share(everything - values[name]) >= ADDING_SHARE:
            return [other for other in loose if other != name]
        if len(values) > 2 and _is_total(values[name], everything - values[name]):
            return [other for other in loose if other != name]
    return loose


def adding_share(sums: FloatArray) -> float:
    """Return the share of portfolios that add up to one or to one hundred."""
    if not len(sums):
        return 0.0
    close = [np.abs(sums / whole - 1) <= ADDS_UP for whole in (1.0, 100.0)]
    return float(max(one.mean() for one in close))


def _is_total(column: FloatArray, others: FloatArray) -> bool:
    close = np.abs(column - others) <= TOTAL_ROOM * np.maximum(np.abs(others), 1e-300)
    return bool(len(column) > 1 and close.mean() >= TOTAL_SHARE)
