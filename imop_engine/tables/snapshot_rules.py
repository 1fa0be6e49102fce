"""Portfolios of one investor at several dates: which of them are used, and which are choices.

Holdings change with prices even when nobody trades. A portfolio that is what an earlier one became
by the returns since then was not chosen at its date.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from imop_engine.errors import InvalidInput, UnreadableFile
from imop_engine.tables.cells import CellColumn, text_column
from imop_engine.tables.dates import read_dates
from imop_engine.tables.holdings import Book
from imop_engine.tables.reading_report import KEPT, REFUSED, Cure, Notes

LATEST, PANEL, BY_DATE = "latest", "panel", "by date"
SNAPSHOTS: Final = (LATEST, PANEL, BY_DATE)
# How far from the drifted portfolio any holding may be, as a share of wealth: holdings are rounded,
# and the history's dates are not quite those of the portfolios.
DRIFT_ROOM: Final = 0.005
FEW_DRIFTED: Final = 0.05  # a smaller share of the portfolios asks nobody for a decision

BoolArray = NDArray[np.bool_]


def check_snapshots(rule: str) -> str:
    """The rule, or the day that it names as 2024-06-30; anything else is an error."""
    if rule in SNAPSHOTS:
        return rule
    day = read_dates(_cell(rule)).values
    if np.isnat(day).any():
        raise InvalidInput(
            f"snapshots is {rule!r}; choose {', '.join(SNAPSHOTS)}, or a date such as 2024-06-30."
        )
    return str(day[0].astype("datetime64[D]"))


def _cell(text: str) -> CellColumn:
    return text_column("date", pa.array([text]))


def apply_drift_rule(book: Book, returns: pd.DataFrame | None, rule: str, notes: Notes) -> Book:
    """Leave out portfolios that only drifted with prices, or say how many there are.

    Args:
        book: The portfolios in fractions of wealth.
        returns: The history, per period; None where there is none.
        rule: Keep or drop.
        notes: Collects what was noticed, changed or refused.

    Returns:
        The portfolios after the rule.
    """
    if book.dates is None or returns is None or not isinstance(returns.index, pd.DatetimeIndex):
        return book
    drifted = find_drifted(book, returns)
    if rule == "drop":
        book.note(
            drifted,
            "the portfolio is what the investor's earlier one became by the returns since then, so "
            "it was not chosen; it is left out",
            REFUSED,
            "nothing needs to be done",
            notes,
            [str(one) for one in book.ids],
        )
        return book.keep(~drifted)
    if drifted.any():
        few = float(drifted.mean()) < FEW_DRIFTED
        notes.add(
            f"{int(drifted.sum()):,} of {len(book):,} portfolios are what the investor's earlier "
            "one became by the returns since then: held on, not chosen at their date",
            KEPT,
            "choose to leave out what only drifted",
            needs=not few,
            cures=[Cure("drift", "drop", "Leave out what only drifted")],
        )
    return book


def find_drifted(book: Book, returns: pd.DataFrame) -> BoolArray:
    """Which portfolios an earlier one of the same investor turned into without a trade.

    Args:
        book: The portfolios in fractions of wealth, with dates.
        returns: The history, per period, with dates.
    """
    drifted = np.zeros(len(book), bool)
    assert book.dates is not None
    people, _ = pd.factorize(pd.Series(book.ids))
    order = np.lexsort((book.dates, people))
    same = people[order][1:] == people[order][:-1]
    before, after = order[:-1][same], order[1:][same]
    if not len(before):
        return drifted
    growth = _growth(book, returns)
    known = [name in returns.columns for name in book.assets]
    held = book.values[before]
    grown = held * growth[after] / growth[before]
    total = grown.sum(axis=1, keepdims=True)
    # an asset without a history, or a day beyond it, leaves open what became of the portfolio
    told = np.isfinite(grown).all(axis=1) & ~(held[:, ~np.array(known)] != 0).any(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = np.abs(book.values[after] - grown / total).max(axis=1)
    drifted[after] = told & (apart <= DRIFT_ROOM)
    return drifted


def _growth(book: Book, returns: pd.DataFrame) -> NDArray[np.float64]:
    """What one unit of each asset had become at each portfolio's date; NaN beyond the history."""
    assert book.dates is not None
    days = returns.index.to_numpy().astype("datetime64[us]")
    table = returns.reindex(columns=list(book.assets)).to_numpy(dtype=float)
    index = np.vstack([np.ones(len(book.assets)), np.cumprod(1 + np.nan_to_num(table), axis=0)])
    dates = book.dates.astype("datetime64[us]")
    place = np.searchsorted(days, dates, side="right")
    found = index[place]
    # a month's last return is dated at its end, a portfolio within it
    step = np.median(np.diff(days)) if len(days) > 1 else np.timedelta64(31, "D")
    found[(dates > days[-1] + step) | (dates < days[0] - step)] = np.nan
    return found


def apply_snapshot_rule(book: Book, rule: str, notes: Notes) -> Book:
    """Keep the latest portfolio of each investor, all of them, or those of one day.

    Args:
        book: The portfolios, each of one investor at one date.
        rule: Latest, panel, by date, or a day.
        notes: Collects what was noticed, changed or refused.

    Returns:
        The portfolios after the rule.
    """
    if book.dates is None:
        return book
    if rule not in SNAPSHOTS:
        return _of_one_day(book, rule, notes)
    if rule == LATEST:
        _note_earlier(book, notes)
    people, names = pd.factorize(pd.Series(book.ids))
    several = int((np.bincount(people, minlength=len(names)) > 1).sum())
    if not several:
        return book
    who = f"{several:,} investors come" if several > 1 else "1 investor comes"
    if rule in (PANEL, BY_DATE):
        how = "of one investor count as one" if rule == PANEL else "can be told apart by their date"
        notes.add(
            f"{who} at several dates; all {len(book):,} portfolios are used, and those {how}",
            KEPT,
            "nothing needs to be done",
        )
        return book
    order = np.lexsort((np.arange(len(book)), book.dates, people))
    last = np.ones(len(book), bool)
    last[:-1] = people[order][1:] != people[order][:-1]
    latest = np.zeros(len(book), bool)
    latest[order[last]] = True
    notes.add(
        f"{who} at several dates; only the latest portfolio of each is used, "
        f"{int(latest.sum()):,} of {len(book):,}",
        KEPT,
        "choose whether all are used as a panel, all by date, or those of one date",
        needs=True,
        cures=[
            Cure("snapshots", PANEL, "Use all, as a panel"),
            Cure("snapshots", BY_DATE, "Use all, by date"),
        ],
    )
    _leave_out(book, ~latest, "the investor has a later portfolio, which is used", notes)
    return book.keep(latest)


def _note_earlier(book: Book, notes: Notes) -> None:
    """Say whose latest portfolio is set aside, so that an earlier one stands for the investor.

    The earlier one is used: it is what the investor chose, though not last.
    """
    assert book.dates is not None
    aside = [
        (str(who), day, why)
        for part in notes.set_aside
        if part.dates is not None
        for who, day, why in zip(part.ids, part.dates, part.reasons, strict=True)
        if not np.isnat(day)
    ]
    if not aside:
        return
    used = pd.Series(book.dates, index=book.ids.astype(str)).groupby(level=0).max()
    last: dict[str, tuple[np.datetime64, str]] = {}
    for who, day, why in aside:
        if who in used.index and day > used[who] and (who not in last or day > last[who][0]):
            last[who] = (day, why)
    if not last:
        return
    who, (day, why) = next(iter(last.items()))
    example = f"{who} of {str(day)[:10]} {why}, so that of {str(used[who])[:10]} is used"
    count = len(last)
    begin = (
        "1 investor's latest portfolio is"
        if count == 1
        else (f"the latest portfolios of {count:,} investors are")
    )
    newest = str(max(day for day, _ in last.values()))[:10]
    taken = bool((book.dates.astype("datetime64[D]") == np.datetime64(newest, "D")).any())
    notes.add(
        f"{begin} set aside and an earlier one is used ({example})",
        KEPT,
        "mend the latest portfolios, or use only those of one date",
        needs=True,
        cures=[Cure("snapshots", newest, f"Use only those of {newest}")] if taken else [],
    )


def _of_one_day(book: Book, day: str, notes: Notes) -> Book:
    assert book.dates is not None
    days = book.dates.astype("datetime64[D]")
    there = days == np.datetime64(day, "D")
    if not there.any():
        known = ", ".join(map(str, np.unique(days)[-3:]))
        raise UnreadableFile(
            f"{notes.file} has no portfolio of {day}; the latest dates are {known}; choose one of "
            "them."
        )
    _leave_out(book, ~there, f"the portfolio is not of {day}", notes)
    return book.keep(there)


def _leave_out(book: Book, mask: BoolArray, what: str, notes: Notes) -> None:
    assert book.dates is not None
    shown = [str(day)[:10] for day in book.dates] if mask.any() else ""
    book.note(mask, what, REFUSED, "nothing needs to be done", notes, shown)
