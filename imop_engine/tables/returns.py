"""Return histories from files: `read_returns`.

The steps, in order: cells (open_table), which column is what (history_layout, history_columns), one
matrix of dates by assets (history_matrix), prices or returns and their units (history_kind), what
is wrong with them (history_quality). Each step says what it decided and why.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from imop_engine import gate
from imop_engine.errors import InvalidInput, UnreadableFile
from imop_engine.sentences.market import PYTHON, HistoryWords
from imop_engine.tables import history_kind as kinds
from imop_engine.tables import history_layout as layouts
from imop_engine.tables.calendar_table import with_months_in_rows
from imop_engine.tables.cells import BoolArray, CellTable
from imop_engine.tables.dates import ORDERS
from imop_engine.tables.history_columns import read_matrix
from imop_engine.tables.history_matrix import Matrix
from imop_engine.tables.history_measures import (
    note_currencies,
    note_no_assets,
    note_other_units,
    note_rates,
    note_twins,
    refuse_mixed_kinds,
    refuse_other_measures,
    refuse_running,
    without_logarithms,
)
from imop_engine.tables.history_quality import (
    FEWEST_RETURNS,
    check_prices,
    check_returns,
    simple_returns,
)
from imop_engine.tables.joined_dates import with_joined_dates
from imop_engine.tables.numbers import DECIMALS
from imop_engine.tables.open_table import Source, load_table
from imop_engine.tables.reading_limits import DEFAULT_LIMITS, ReadingLimits
from imop_engine.tables.reading_report import CHANGED, KEPT, Cure, Guess, Notes, ReadingReport
from imop_engine.tables.sheet_choice import A_HISTORY, naming_sheet
from imop_engine.tables.wrong_file import refuse_persons, refuse_portfolios


@dataclass(frozen=True, eq=False)
class ReturnHistory:
    """Returns by date and asset as fractions per period, and how they were read."""

    returns: pd.DataFrame
    prices: pd.DataFrame | None
    periods_per_year: int
    guessed: dict[str, Guess]
    report: ReadingReport
    name: str = ""


@gate.public("imop_engine.tables")
def read_returns(
    source: Source,
    *,
    name: str | None = None,
    kind: str = "auto",
    units: str = "auto",
    layout: str = "auto",
    sheet: str | int | None = None,
    strict: bool = False,
    roles: dict[str, str] | None = None,
    periods_per_year: int | None = None,
    decimal: str = "auto",
    dates: str = "auto",
    jumps: str = "keep",
    limits: ReadingLimits = DEFAULT_LIMITS,
    words: HistoryWords = PYTHON,
) -> ReturnHistory:
    """Read a return history from a path, bytes, an open file or a data frame.

    What is not said is detected and listed in `guessed` with the reason. `kind` is "prices" or
    "returns", `units` "fraction" or "percent", `layout` "wide", "long" or "transposed" (assets in
    rows), `decimal` "point" or "comma", `dates` "day first" or "month first". `roles` says what
    single columns are: {"Datum": "date", "Fund": "asset", "NAV": "value", "Volume": "ignore"}.
    `jumps="missing"` leaves out returns that look like unadjusted splits; they are kept otherwise.
    In strict mode anything that would be changed or refused is an error.

    Args:
        source: A path, bytes, an open file or a data frame.
        name: What the file is called in sentences.
        kind: Auto, prices or returns.
        units: Auto, fraction or percent.
        layout: Auto, wide, long or transposed.
        sheet: Name or number of a workbook's sheet; None chooses by what the sheets hold.
        strict: Whether anything that would be changed or refused is an error.
        roles: What single columns are, by their names.
        periods_per_year: None detects it from the dates.
        decimal: Auto, point or comma.
        dates: Auto, day first or month first.
        jumps: Keep or missing.
        limits: What a file may hold at most.
        words: What the choices are called where errors are read.

    Returns:
        Returns per period in fractions, a row for each date and a column for each asset, with
        report.

    >>> import io
    >>> text = b"date,A,B\\n2020-01-31,1%,-2%\\n2020-02-29,2%,1%\\n2020-03-31,0%,n/a\\n"
    >>> history = read_returns(text, name="returns.csv")
    >>> history.periods_per_year, history.returns["A"].tolist()
    (12, [0.01, 0.02, 0.0])
    """
    layouts.choose(kind, kinds.KINDS, "kind")
    layouts.choose(units, kinds.UNITS, "units")
    layouts.choose(layout, layouts.LAYOUTS, "layout")
    layouts.choose(decimal, DECIMALS, "decimal")
    layouts.choose(dates, ORDERS, "dates")
    if jumps not in ("keep", "missing"):
        raise InvalidInput(f"jumps is {jumps!r}; choose keep or missing.")
    table = load_table(source, name=name, sheet=sheet, limits=limits, wanted=A_HISTORY)
    notes = Notes(table.file)
    notes.extend(table.findings)
    guessed = dict(table.guessed)
    if layout == "auto":
        table = with_months_in_rows(table, roles or {}, guessed, notes)
    table = with_joined_dates(table, roles or {}, notes)
    given = layouts.check_roles(table, roles, layouts.ROLES)
    undecided = kind == "auto" and not given
    with naming_sheet(table):
        if undecided:
            refuse_persons(table, words)
        matrix, signed, hint = read_matrix(table, given, layout, decimal, dates, guessed, notes)
        if undecided:
            refuse_portfolios(table, matrix, words)
        if kind == "auto":
            refuse_running(matrix.values, table.file, words)
            refuse_mixed_kinds(matrix, table.file)
            guessed["kind"] = kinds.guess_kind(matrix.values, hint, signed, table.file, words)
            kinds.note_against_names(guessed["kind"], words, notes)
            _refuse_other(matrix, guessed["kind"], hint, periods_per_year, table.file, words)
        else:
            guessed["kind"] = Guess(kind, "as asked for")
        asked = (units, periods_per_year, jumps)
        said = words if kind == "auto" else None
        return _history(matrix, table, hint, signed, asked, guessed, notes, strict, said)


def _refuse_other(
    matrix: Matrix,
    kind: Guess,
    hint: str,
    periods: int | None,
    file: str,
    words: HistoryWords,
) -> None:
    """Raise where the numbers are neither prices nor returns of one period."""
    a_year = periods or int(kinds.guess_periods(matrix.dates).value)
    refuse_other_measures(hint, matrix.assets, str(kind.value), a_year, file, words)


def _history(
    matrix: Matrix,
    table: CellTable,
    hint: str,
    signed: bool,
    asked: tuple[str, int | None, str],
    guessed: dict[str, Guess],
    notes: Notes,
    strict: bool,
    words: HistoryWords | None,
) -> ReturnHistory:
    units, periods_asked, jumps = asked
    periods = kinds.guess_periods(matrix.dates)
    if periods_asked is not None:
        if periods_asked < 1:
            raise InvalidInput(f"periods_per_year is {periods_asked}; give 12 for months.")
        periods = Guess(int(periods_asked), "as asked for")
    elif matrix.dates is None:
        notes.add(
            "no dates are read, so the rows are taken as months",
            KEPT,
            "write dates as 2020-01-31, or say how many rows make a year",
            needs=True,
            cures=[
                Cure("periods_per_year", "252", "They are days"),
                Cure("periods_per_year", "52", "They are weeks"),
                Cure("periods_per_year", "12", "They are months"),
            ],
        )
    guessed["periods per year"] = periods
    prices = None
    if guessed["kind"].value == kinds.PRICES:
        matrix = check_prices(matrix, notes)
        prices = matrix
        note_currencies(table, matrix, notes)
        note_rates(matrix, notes)
        matrix = simple_returns(matrix, notes)
    else:
        matrix = _as_fractions(matrix, units, int(periods.value), hint, signed, guessed, notes)
        note_other_units(matrix, notes)
        if words is not None:
            matrix = without_logarithms(matrix, hint, words, guessed, notes)
    matrix = check_returns(matrix, prices is not None, jumps, notes)
    note_no_assets(matrix, notes)
    note_twins(matrix, notes)
    enough = np.isfinite(matrix.values).sum(axis=0) >= FEWEST_RETURNS
    if not enough.any():
        raise UnreadableFile(
            f"{table.file}: no asset has {FEWEST_RETURNS} returns; "
            "a history needs at least three dates with prices, or two with returns."
        )
    _note_dropped(matrix, enough, notes)
    report = notes.close(table.rows_read, strict=strict)
    return ReturnHistory(
        returns=_frame(matrix.only(enough)),
        prices=None if prices is None else _frame(prices.only(enough)),
        periods_per_year=int(periods.value),
        guessed=guessed,
        report=report,
        name=table.file,
    )


def _as_fractions(
    matrix: Matrix,
    units: str,
    periods: int,
    hint: str,
    signed: bool,
    guessed: dict[str, Guess],
    notes: Notes,
) -> Matrix:
    found, doubtful = (
        (Guess(units, "as asked for"), False)
        if units != "auto"
        else kinds.guess_units(matrix.values, periods, hint, signed)
    )
    guessed["units"] = found
    if doubtful:
        notes.add(
            f"it is not certain that returns are given as {found.value} ({found.reason})",
            KEPT,
            "say whether they are fractions or percentages",
            cures=[
                Cure("units", kinds.PERCENT, "They are percentages"),
                Cure("units", kinds.FRACTION, "They are fractions"),
            ],
        )
    if found.value == kinds.FRACTION:
        return matrix
    return replace(matrix, values=matrix.values / 100)


def _note_dropped(matrix: Matrix, enough: BoolArray, notes: Notes) -> None:
    if enough.all():
        return
    dropped = [name for name, ok in zip(matrix.assets, enough, strict=True) if not ok]
    notes.add(
        f"the asset has fewer than {FEWEST_RETURNS} returns and is left out",
        CHANGED,
        "give it a longer history",
        rows=[0] * len(dropped),
        columns=dropped,
    )


def _frame(matrix: Matrix) -> pd.DataFrame:
    index: Any = (
        pd.RangeIndex(len(matrix.values), name="period")
        if matrix.dates is None
        else pd.DatetimeIndex(matrix.dates, name="date")
    )
    return pd.DataFrame(matrix.values, index=index, columns=list(matrix.assets))
