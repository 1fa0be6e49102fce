"""What is wrong with a history, cell by cell, and the stated treatment of each case.

Impossible values are taken as missing; suspicious ones are kept and named. A missing price is
spanned: the growth across it is known, and is spread evenly over the periods it took, so that the
asset's growth is that of its prices. A missing return stays missing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.tables.history_kind import FREQUENCIES
from imop_engine.tables.history_matrix import Matrix, runs_of
from imop_engine.tables.reading_report import CHANGED, KEPT, Notes
from imop_engine.tables.standstill import note_standstill

# Splits come in these ratios (and their inverses); the price jumps by about as much.
SPLIT_RATIOS: Final = (
    2.0,
    3.0,
    4.0,
    5.0,
    6.0,
    7.0,
    8.0,
    10.0,
    15.0,
    20.0,
    25.0,
    30.0,
    50.0,
    100.0,
)
# The market moves on the day of a split too; this much room is left around the ratio.
SPLIT_ROOM: Final = 0.06
# A jump must also stand out from the asset's own moves by this many of its usual ones.
SPLIT_STANDS_OUT: Final = 8.0
# A return above this is taken for a mistake.
LARGEST_RETURN: Final = 1e6
# A return above this (tenfold in one period) is possible, but more often a misplaced point.
HUGE_RETURN: Final = 9.0
# A return below this (nine tenths lost) is possible, but more often a code for "none", -99.99 say.
DEEP_LOSS: Final = -0.9
# Below this many returns an asset has no variance, let alone one worth reading.
FEWEST_RETURNS: Final = 2
# Fewer observations than this make a covariance that is mostly chance.
SHORT_HISTORY: Final = 24
# Moves smaller than this share of the largest are not moves, but the last digit of a float.
FLAT: Final = 1e-12
# With more of an asset's prices missing, spreading growth evenly hides a part of its risk.
MANY_SPANNED: Final = 0.1
# So many distances between dates of another kind than most, and no fewer, are no gaps.
OTHER_SHARE: Final = 0.1
FEWEST_OTHER: Final = 6
# A distance between dates this many times the usual one means that dates are missing.
DATE_GAP: Final = 1.9

BoolArray = NDArray[np.bool_]


def check_prices(matrix: Matrix, notes: Notes) -> Matrix:
    """Take zero and negative prices as missing."""
    bad = matrix.values <= 0
    if bad.any():
        _note(
            matrix,
            bad,
            "a price is zero or negative and is taken as missing",
            CHANGED,
            "correct the price",
            notes,
        )
    return matrix.without(bad)


def simple_returns(matrix: Matrix, notes: Notes) -> Matrix:
    """Return p_t / p_(t-1) - 1, and across missing prices the equal returns that compound alike.

    Before an asset's first price and after its last there is no return.

    Args:
        matrix: The prices by date and asset.
        notes: Collects what was noticed, changed or refused.
    """
    prices = matrix.values
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        values = prices[1:] / prices[:-1] - 1
        for j in np.flatnonzero(~np.isfinite(prices).all(axis=0)):
            there = np.flatnonzero(np.isfinite(prices[:, j]))
            steps = np.diff(there)
            growth = (prices[there[1:], j] / prices[there[:-1], j]) ** (1 / steps) - 1
            inside = slice(there[0], there[-1]) if len(there) else slice(0, 0)
            values[inside, j] = np.where(
                np.repeat(steps, steps) == 1, values[inside, j], np.repeat(growth, steps)
            )
    _note_spans(matrix, notes)
    dates = None if matrix.dates is None else matrix.dates[1:]
    labels = matrix.labels[1:] if matrix.by_date and len(matrix.labels) > 1 else matrix.labels
    return replace(matrix, values=values, dates=dates, rows=matrix.rows[1:], labels=labels)


def _note_spans(matrix: Matrix, notes: Notes) -> None:
    """Name every run of missing prices that was spanned, and assets of which much is spanned."""
    known = np.isfinite(matrix.values)
    inside = np.maximum.accumulate(known, axis=0) & np.maximum.accumulate(known[::-1], axis=0)[::-1]
    hidden = inside & ~known
    if not hidden.any():
        return
    rows, columns, values = runs_of(matrix, hidden)
    notes.add(
        "a price is missing; the growth across it is spread evenly over the periods it took",
        KEPT,
        "nothing needs to be done, or add the price",
        rows=rows,
        columns=columns,
        values=values,
    )
    shares = hidden.sum(axis=0) / np.maximum(inside.sum(axis=0), 1)
    many = np.flatnonzero(shares > MANY_SPANNED)
    if len(many):
        notes.add(
            "so many prices are missing that risk and correlations are understated",
            KEPT,
            "give prices as often as this asset has them, quarterly ones for all assets, say",
            rows=[0] * len(many),
            columns=[matrix.assets[j] for j in many],
            values=[f"{shares[j]:.0%} missing" for j in many],
        )


def check_returns(matrix: Matrix, from_prices: bool, jumps: str, notes: Notes) -> Matrix:
    """Name everything about the returns that an analyst should know before she uses them.

    Args:
        matrix: The returns by date and asset, fractions.
        from_prices: Whether they were computed from prices.
        jumps: Keep, or missing to leave out what looks like an unadjusted split.
        notes: Collects what was noticed, changed or refused.

    Returns:
        The returns, without what was left out.
    """
    ruined = matrix.values < -1
    if ruined.any():
        _note(
            matrix,
            ruined,
            "a return is a loss of more than everything and is taken as missing",
            CHANGED,
            "correct the return, or say whether returns are fractions or percentages",
            notes,
        )
        matrix = matrix.without(ruined)
    absurd = matrix.values > LARGEST_RETURN
    if absurd.any():
        _note(
            matrix,
            absurd,
            "a return is more than a million times the investment and is taken as missing",
            CHANGED,
            "correct the value",
            notes,
        )
        matrix = matrix.without(absurd)
    matrix = _check_jumps(matrix, from_prices, jumps, notes)
    huge = (matrix.values > HUGE_RETURN) & ~split_like(matrix.values)
    if huge.any():
        _note(
            matrix,
            huge,
            "the value grew more than tenfold in one period",
            KEPT,
            "check the value",
            notes,
        )
    deep = (matrix.values < DEEP_LOSS) & ~split_like(matrix.values)
    if deep.any():
        _note(
            matrix,
            deep,
            "the value fell by more than nine tenths in one period",
            KEPT,
            "check the value; some files write -99.99 where there is none",
            notes,
        )
    # Assets that will be left out are named once, there.
    used = matrix.only(np.isfinite(matrix.values).sum(axis=0) >= FEWEST_RETURNS)
    if used.assets:
        _note_gaps(used, notes)
        _note_short(used, notes)
        _note_flat(used, notes)
        note_standstill(used, from_prices, notes)
    _note_date_gaps(matrix, notes)
    return matrix


def _note(
    matrix: Matrix, mask: BoolArray, what: str, action: str, remedy: str, notes: Notes
) -> None:
    t, j = np.nonzero(mask)
    rows, columns = matrix.place(t, j)
    values = [f"{value:.6g}" for value in matrix.values[t, j]]
    notes.add(what, action, remedy, rows=rows, columns=columns, values=values)


def _check_jumps(matrix: Matrix, from_prices: bool, jumps: str, notes: Notes) -> Matrix:
    found = split_like(matrix.values)
    if not found.any():
        return matrix
    adjusted = "use adjusted prices" if from_prices else "use returns of adjusted prices"
    back = _spikes(matrix.values, found)
    for mask, what, advice in (
        (found & ~back, "the jump looks like a split", adjusted),
        (
            back,
            "the value jumps and is back in the next row, as a wrong one is",
            "correct the value",
        ),
    ):
        if mask.any() and jumps == "missing":
            said = f"{what} and its return is taken as missing"
            _note(matrix, mask, said, CHANGED, advice, notes)
        elif mask.any():
            _note(matrix, mask, f"{what}; its return is kept", KEPT, advice, notes)
    return matrix.without(found) if jumps == "missing" else matrix


def _spikes(returns: NDArray[np.float64], jumps: BoolArray) -> BoolArray:
    """Which jumps are undone by the next return, and which undo the one before."""
    with np.errstate(divide="ignore", invalid="ignore"):
        both = np.abs(np.log1p(returns[:-1]) + np.log1p(returns[1:])) <= 2 * SPLIT_ROOM
    undone = jumps[:-1] & jumps[1:] & both
    nothing = np.zeros((1, returns.shape[1]), bool)
    return np.asarray(np.vstack([undone, nothing]) | np.vstack([nothing, undone]))


def split_like(returns: NDArray[np.float64]) -> BoolArray:
    """Return where a move is close to a split's ratio and far from the asset's usual moves."""
    with np.errstate(divide="ignore", invalid="ignore"):
        moves = np.log1p(np.where(returns > -1, returns, np.nan))
    known = np.isfinite(moves)
    usual = np.array(
        [
            np.median(np.abs(moves[known[:, j], j])) if known[:, j].any() else np.inf
            for j in range(moves.shape[1])
        ]
    )
    size = np.abs(np.where(known, moves, 0.0))
    near = np.zeros(moves.shape, bool)
    for ratio in SPLIT_RATIOS:
        near |= np.abs(size - np.log(ratio)) <= SPLIT_ROOM
    return known & near & (size > SPLIT_STANDS_OUT * usual)


def _note_gaps(matrix: Matrix, notes: Notes) -> None:
    """Name every run of missing returns, asset by asset."""
    missing = ~np.isfinite(matrix.values)
    rows, columns, values = runs_of(matrix, missing & ~missing.all(axis=0))
    if rows:
        notes.add(
            "returns are missing",
            KEPT,
            "nothing needs to be done; moments use the periods that are there",
            rows=rows,
            columns=columns,
            values=values,
        )


def _note_short(matrix: Matrix, notes: Notes) -> None:
    counts = np.isfinite(matrix.values).sum(axis=0)
    short = np.flatnonzero(counts < SHORT_HISTORY)
    if len(short):
        notes.add(
            f"the asset has fewer than {SHORT_HISTORY} returns, so its risk is poorly known",
            KEPT,
            "give it a longer history, or choose a shrunk covariance",
            rows=[0] * len(short),
            columns=[matrix.assets[j] for j in short],
            values=[f"{counts[j]} returns" for j in short],
        )


def _note_flat(matrix: Matrix, notes: Notes) -> None:
    flat = []
    for j in range(len(matrix.assets)):
        known = matrix.values[np.isfinite(matrix.values[:, j]), j]
        if len(known) > 1 and np.ptp(known) <= FLAT * max(1.0, float(np.abs(known).max())):
            flat.append(j)
    if flat:
        notes.add(
            "all returns of the asset are equal, so it has no risk at all",
            KEPT,
            "leave the asset out unless it is cash",
            rows=[0] * len(flat),
            columns=[matrix.assets[j] for j in flat],
        )


def _note_date_gaps(matrix: Matrix, notes: Notes) -> None:
    if matrix.dates is None or len(matrix.dates) < 3:
        return
    days = np.diff(matrix.dates) / np.timedelta64(1, "D")
    usual = float(np.median(days))
    # Daily prices skip weekends and holidays; five days are no gap yet.
    wide = np.flatnonzero(days > max(DATE_GAP * usual, 5.0))
    often = _second_frequency(days)
    if often:
        notes.add(
            f"the rows are {often}, and moments take every row for one period",
            KEPT,
            "give all rows at one distance, monthly ones, say",
            needs=True,
        )
    elif len(wide):
        notes.add(
            "dates are missing before this row",
            KEPT,
            "add the missing rows, or know that this return covers a longer time",
            rows=matrix.rows[wide + 1].max(axis=1),
            values=[f"{days[i]:.0f} days instead of {usual:.0f}" for i in wide],
        )


def _second_frequency(days: NDArray[np.float64]) -> str:
    """Say how a part of the rows follow one another otherwise than most; "" where none do."""
    counts = {
        name: int(((days >= low) & (days < high)).sum()) for low, high, _, name in FREQUENCIES
    }
    usual, second = sorted(counts, key=lambda name: -counts[name])[:2]
    if counts[second] < max(FEWEST_OTHER, OTHER_SHARE * len(days)):
        return ""
    first = next(one for one in FREQUENCIES if one[3] == usual)
    other = next(one for one in FREQUENCIES if one[3] == second)
    if max(first[2], other[2]) < 2 * min(first[2], other[2]):
        return ""
    return f"{usual} in one part ({counts[usual]:,}) and {second} in another ({counts[second]:,})"
