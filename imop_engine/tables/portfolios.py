"""Portfolios from files: `read_portfolios`.

The steps, in order: cells (open_table), which column is what (portfolio_roles), one matrix of
portfolios by assets (holdings), and what happens to those that do not fit (portfolio_rules).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from imop_engine import gate
from imop_engine.errors import InvalidInput, UnreadableFile
from imop_engine.sentences.market import PYTHON, HistoryWords
from imop_engine.sentences.numbers import some
from imop_engine.tables import history_layout as layouts
from imop_engine.tables import portfolio_roles as roles_
from imop_engine.tables import portfolio_rules as rules_
from imop_engine.tables import words
from imop_engine.tables.asset_map import AssetMap, relabelled
from imop_engine.tables.cells import CellColumn, CellTable
from imop_engine.tables.coverage import NO_HISTORY, apply_coverage_rule
from imop_engine.tables.currencies import check_rates, find_currencies
from imop_engine.tables.dated_columns import of_other_dates, without_date
from imop_engine.tables.dates import DAYS, ORDERS, read_dates
from imop_engine.tables.holding_dates import are_of_holdings, note_dates_of_holdings
from imop_engine.tables.holdings import Book, long_book, wide_book
from imop_engine.tables.joined_dates import with_joined_dates
from imop_engine.tables.numbers import DECIMALS
from imop_engine.tables.open_table import Source, load_table
from imop_engine.tables.portfolio_doubts import note_doubts
from imop_engine.tables.portfolio_roles import NAMED, Roles, guess_roles
from imop_engine.tables.reading_limits import DEFAULT_LIMITS, ReadingLimits
from imop_engine.tables.reading_report import KEPT, NOTHING, Cure, Guess, Notes, ReadingReport
from imop_engine.tables.row_groups import with_headed_investors
from imop_engine.tables.sheet_choice import naming_sheet, wanted_portfolios
from imop_engine.tables.snapshot_rules import (
    BY_DATE,
    LATEST,
    PANEL,
    apply_drift_rule,
    apply_snapshot_rule,
    check_snapshots,
)
from imop_engine.tables.transactions import refuse_transactions
from imop_engine.tables.turned import with_portfolios_in_rows
from imop_engine.tables.wrong_file import refuse_history

# What a portfolio is worth, among the attributes, where it came as amounts of money.
WEALTH: Final = "wealth"
# What the date of a portfolio is called among the attributes.
SNAPSHOT: Final = "snapshot"
# What the reason is called in the table of portfolios that take no part.
REASON: Final = "reason"
# Cells that are asked whether a column is of dates before all of them are.
FIRST_DATES: Final = 200
# Ways of writing a day; a month or a quarter is shown as it stands.
WHOLE_DATES: Final = {*ORDERS, *DAYS, "dates"}


def no_one_aside() -> pd.DataFrame:
    """The table of portfolios that take no part, where all do."""
    return pd.DataFrame({REASON: pd.Series(dtype=object)}, index=pd.Index([], name="investor"))


@dataclass(frozen=True, eq=False)
class Portfolios:
    """Weights by investor and asset in stream order, and how they were read.

    `covered` is the share of each portfolio that has a return history, of which its weights were
    made; None where no history is known. `set_aside` are the investors whose portfolio takes no
    part: the reason, as what follows the investor's name, then date and attributes.
    """

    weights: pd.DataFrame
    attributes: pd.DataFrame
    dates: pd.Series[Any] | None
    roles: dict[str, str]
    guessed: dict[str, Guess]
    report: ReadingReport
    name: str = ""
    covered: pd.Series[Any] | None = None
    set_aside: pd.DataFrame = field(default_factory=no_one_aside)

    def __len__(self) -> int:
        return len(self.weights)


@gate.public("imop_engine.tables")
def read_portfolios(
    source: Source,
    assets: Sequence[str] | None = None,
    *,
    name: str | None = None,
    roles: dict[str, str] | None = None,
    sums: str = "rescale",
    unknown: str = "drop",
    coverage: float = 0.8,
    negative: str = "refuse",
    duplicates: str = "first",
    snapshots: str = "latest",
    drift: str = "keep",
    returns: pd.DataFrame | None = None,
    rates: Mapping[str, float] | None = None,
    asset_map: AssetMap | None = None,
    tolerance: float = 0.02,
    units: str = "auto",
    layout: str = "auto",
    sheet: str | int | None = None,
    decimal: str = "auto",
    dates: str = "auto",
    strict: bool = False,
    limits: ReadingLimits = DEFAULT_LIMITS,
    words: HistoryWords = PYTHON,
) -> Portfolios:
    """Read portfolios from a path, bytes, an open file or a data frame.

    `assets` are those of the return history, in its order. What is not said is detected and listed
    in `guessed` and `roles`. `units` is "fraction", "percent" or "amounts"; `roles` says what
    single columns are, for example {"Kunde": "investor", "Wert": "amount"}.

    The choices, with the default first: `sums` "rescale", "cash" (what is missing to one becomes
    cash) or "refuse" (beyond `tolerance`); `unknown` "drop" (assets without a history; the rest is
    enlarged, where at least the share `coverage` of the portfolio is left; else it is set aside)
    or "refuse"; `negative` "refuse", "zero" or "keep"; `duplicates` "first", "last" or
    "keep"; `snapshots`, for investors that come at several dates, "latest", "panel" (all of them,
    the investor's name once for each), "by date" (all, with the date as an attribute) or a date;
    `drift` "keep" or "drop" (portfolios that `returns` turned an earlier one into without a trade).
    In strict mode anything that would be changed or refused is an error.

    Args:
        source: A path, bytes, an open file or a data frame.
        assets: Those of the return history, in its order; None takes those of the file.
        name: What the file is called in sentences.
        roles: What single columns are, by their names.
        sums: Rescale, cash or refuse.
        unknown: Drop or refuse.
        coverage: The least share of a portfolio's value that needs a return history, from 0 to 1.
        negative: Refuse, zero or keep.
        duplicates: First, last or keep.
        snapshots: Latest, panel, by date, or a date such as 2024-06-30.
        drift: Keep or drop.
        returns: The history of the assets, fractions per period, by date; None finds no drift.
        rates: What a unit of each currency is worth in one of them, for amounts in several.
        asset_map: What else assets are called, so that the file may use other identifiers than
            the history; see `read_asset_map`.
        tolerance: How far a sum of holdings may be from 1.
        units: Auto, fraction, percent or amounts.
        layout: Auto, wide or long.
        sheet: Name or number of a workbook's sheet; None chooses by what the sheets hold.
        decimal: Auto, point or comma.
        dates: Auto, day first or month first.
        strict: Whether anything that would be changed or refused is an error.
        limits: What a file may hold at most.
        words: What other places are called where errors are read.

    Returns:
        The holdings in fractions of wealth, a row for each investor, with attributes and report.

    >>> text = b"investor,segment,A,B\\nAnn,retail,60%,40%\\nBob,private,25%,75%\\n"
    >>> people = read_portfolios(text, name="clients.csv")
    >>> people.weights.loc["Bob"].tolist(), people.attributes.loc["Bob", "segment"]
    ([0.25, 0.75], 'private')
    """
    rules = rules_.Rules(
        sums, unknown, negative, duplicates, tolerance, check_snapshots(snapshots), drift, coverage
    )
    layouts.choose(units, rules_.UNITS, "units")
    layouts.choose(layout, (layouts.WIDE, layouts.LONG), "layout")
    layouts.choose(decimal, DECIMALS, "decimal")
    layouts.choose(dates, ORDERS, "dates")
    known = _check_assets(assets)
    check_rates(rates)
    table = load_table(
        source, name=name, sheet=sheet, limits=limits, wanted=wanted_portfolios(known)
    )
    notes = Notes(table.file)
    notes.extend(table.findings)
    table = relabelled(table, asset_map or AssetMap(), notes)
    guessed = dict(table.guessed)
    table = with_headed_investors(table, known, roles or {}, notes)
    if layout == "auto":
        table = with_portfolios_in_rows(table, known, decimal, guessed, notes)
    table = with_joined_dates(table, roles or {}, notes)
    given = layouts.check_roles(table, roles, roles_.ROLES)
    with naming_sheet(table):
        if not len(table):
            raise UnreadableFile(
                f"{table.file} has a header but no rows; portfolios need one row each."
            )
        book, found = _book(
            table, known, given, layout, decimal, dates, limits, rates, guessed, notes
        )
        if found.first(roles_.INVESTOR) is None and units == "auto":
            refuse_history(table.file, book.dates, book.values, words)
        _note_attributes(table, book, found, notes)
        book = _settled(table, book, found, known, units, rules, guessed, notes, words)
        book = apply_drift_rule(book, returns, rules.drift, notes)
        book = apply_snapshot_rule(book, rules.snapshots, notes)
    report = notes.close(table.rows_read, strict=strict)
    aside = _asked_for(_aside(table, found, notes), book, rules.snapshots)
    return _people(table, book, found, guessed, report, rules.snapshots == BY_DATE, aside)


def _check_assets(assets: Sequence[str] | None) -> list[str] | None:
    if assets is None:
        return None
    known = [str(asset) for asset in assets]
    if not known or len(set(known)) < len(known):
        raise InvalidInput("assets must name at least one asset, and none of them twice.")
    return known


def _book(
    table: CellTable,
    assets: list[str] | None,
    given: dict[str, str],
    layout: str,
    decimal: str,
    order: str,
    limits: ReadingLimits,
    rates: Mapping[str, float] | None,
    guessed: dict[str, Guess],
    notes: Notes,
) -> tuple[Book, Roles]:
    """Return the holdings as they stand in the file."""
    roles_.refuse_strangers(table, assets)
    separator = layouts.separator_of(table)
    numbers = layouts.read_all_numbers(table.columns, decimal, separator, guessed, notes)
    given = {**_personal_dates(table, given), **given}
    date_name, dates = layouts.find_date_column(table, numbers, given, order, guessed, notes)
    if assets and date_name in assets and given.get(date_name) is None:
        date_name, dates = None, None
    found = guess_roles(table, numbers, date_name, assets, given, layout, guessed)
    keep = np.ones(len(table), bool)
    if found.layout == layouts.LONG:
        refuse_transactions(table, found, dates)
        if date_name not in given and are_of_holdings(table, found, numbers, dates):
            note_dates_of_holdings(str(date_name), notes)
            found, dates = replace(found, of={**found.of, str(date_name): roles_.ATTRIBUTE}), None
            date_name = None
    if date_name is not None and dates is not None:
        guessed["dates"] = dates.guess
        layouts.note_open_dates(notes, date_name, dates)
        keep = layouts.note_bad_dates(notes, table, date_name, dates)
    note_doubts(table, found, numbers, dates, notes)
    if found.layout == layouts.LONG:
        currencies = find_currencies(table, found, rates)
        book = long_book(
            table, found, numbers, dates, keep, notes, assets or (), limits.cells, currencies
        )
    else:
        book = wide_book(table, found, numbers, dates, keep, notes, rates)
    if not len(book):
        raise _nothing_left(table, notes)
    return book, found


def _nothing_left(table: CellTable, notes: Notes) -> UnreadableFile:
    grave = [finding for finding in notes.findings if finding.action == "refused"]
    # a row of totals was left out too, but is not why no portfolio is left
    grave.sort(key=lambda finding: finding.remedy.startswith(NOTHING))
    first = f" First reason: {grave[0].sentence()}" if grave else ""
    asked = [finding for finding in notes.findings if finding.needs and finding.cures]
    cures = (*(grave[0].cures if grave else ()), *(one for each in asked for one in each.cures))
    # what is known of the names that no history has: a mistyped number, a ticker that may be two
    named = [one for one in notes.findings if one.needs and NO_HISTORY not in one.what]
    more = "".join(f" {one.sentence()}" for one in named if not one.cures and one.action == KEPT)
    return UnreadableFile(f"{table.file} has no portfolio that can be used.{first}{more}", cures)


def _settled(
    table: CellTable,
    book: Book,
    found: Roles,
    assets: list[str] | None,
    units: str,
    rules: rules_.Rules,
    guessed: dict[str, Guess],
    notes: Notes,
    places: HistoryWords,
) -> Book:
    """Apply the analyst's rules one after another."""
    _note_columns(found, notes)
    book = rules_.refuse_huge(book, notes)
    names = " ".join(name for name, role in found.of.items() if role in roles_.VALUES)
    holding_names = words.common_hint(found.all(roles_.HOLDING))
    unit = Guess(units, "as asked for")
    if units == "auto":
        if found.first(roles_.SHARES) is not None:
            unit = Guess(rules_.AMOUNTS, "shares times price")
        elif found.first(roles_.AMOUNT) is not None and words.says(names, words.AMOUNT):
            unit = Guess(rules_.AMOUNTS, "the column's name says so")
        else:
            weighed = found.first(roles_.WEIGHT) is not None
            percent = "%" in names + holding_names or words.says(names, words.PERCENT)
            unit = rules_.guess_units(book, weighed, percent)
            rules_.note_small_amounts(book, unit, notes)
    guessed["units"] = unit
    book = rules_.refuse_empty(book, notes)
    book = rules_.apply_negative_rule(book, rules.negative, notes)
    if assets is not None:
        book = apply_coverage_rule(book, assets, str(unit.value), rules, found, notes, places)
    book = rules_.apply_sum_rule(book, str(unit.value), rules, notes)
    book = rules_.apply_duplicate_rule(book, rules.duplicates, notes)
    if not len(book):
        raise _nothing_left(table, notes)
    return book


def _note_attributes(table: CellTable, book: Book, found: Roles, notes: Notes) -> None:
    """Name rows of a long file whose attribute differs from that of the portfolio's first row."""
    if found.layout != layouts.LONG:
        return
    place = np.searchsorted(table.rows, book.rows)
    first = book.sources[book.owner]
    for name in found.all(roles_.ATTRIBUTE):
        codes = table[name].strings.dictionary_encode().indices.to_numpy(zero_copy_only=False)
        other = np.flatnonzero(codes[place] != codes[first])
        if len(other):
            notes.add(
                "the attribute changes within a portfolio; that of its first row is taken",
                KEPT,
                "nothing needs to be done unless it is wrong",
                rows=book.rows[other],
                columns=name,
                values=table[name].show(place[other]),
            )


def _note_other_dates(found: Roles, notes: Notes) -> None:
    """Ask which date is meant, where a file has a column of holdings for each."""
    is_long = found.layout == layouts.LONG
    used = [name for role in (*roles_.VALUES, roles_.HOLDING) for name in found.all(role)]
    unused = [name for name in found.all(roles_.IGNORE) if without_date(name)]
    used = [name for name in used if unused and without_date(name)]
    others = [name for name in unused if any(of_other_dates(name, [one]) for one in used)]
    if not is_long and used:
        others = unused
    if not others:
        return
    notes.add(
        f"the holdings of several dates stand side by side; only those of {some(used, NAMED)} are "
        f"used, not those of {some(others, NAMED)}",
        KEPT,
        "choose the date, or give a row for each holding and date"
        if is_long
        else "give a row for each investor and date, if the others shall be used",
        needs=True,
        cures=[
            Cure("roles", f"{name}={found.of[used[0]]}", f"Use {name}")
            for name in others[-NAMED:]
            if is_long
        ],
    )


def _note_columns(found: Roles, notes: Notes) -> None:
    for role, what in (
        (roles_.TOTAL, "the column is a total and is not used"),
        (roles_.IGNORE, "the column is not used"),
    ):
        names = found.all(role)
        if names:
            notes.add(
                what,
                KEPT,
                "give it another role if it is needed",
                rows=[0] * len(names),
                columns=names,
            )
    _note_other_dates(found, notes)
    for name in found.doubtful:
        notes.add(
            "the column is named like a holding, but the portfolios add up without it; it is kept "
            "as an attribute and counts as no value",
            KEPT,
            "say whether it is a holding",
            columns=name,
            cures=[
                Cure("roles", f"{name}={roles_.HOLDING}", f"{name} is a holding"),
                Cure("roles", f"{name}={roles_.ATTRIBUTE}", f"{name} is none"),
            ],
        )


def _people(
    table: CellTable,
    book: Book,
    found: Roles,
    guessed: dict[str, Guess],
    report: ReadingReport,
    by_date: bool,
    aside: pd.DataFrame,
) -> Portfolios:
    """Put the portfolios in stream order: by date, and as in the file within a date."""
    order = np.arange(len(book))
    guessed["order"] = Guess("as in the file", "there is no date column")
    if book.dates is not None:
        order = np.argsort(book.dates, kind="stable")
        guessed["order"] = Guess("by date", "within a date as in the file")
    index = pd.Index(book.ids[order].astype(str), name="investor")
    weights = pd.DataFrame(book.values[order], index=index, columns=list(book.assets))
    dates = None if book.dates is None else pd.Series(book.dates[order], index=index, name="date")
    attributes = _attributes(table, found, book.sources[order], index)
    if book.wealth is not None and WEALTH not in attributes.columns:
        attributes[WEALTH] = np.round(book.wealth[order], 6)  # sums of cents end in rounding
    if by_date and dates is not None:
        # as text: the groups that an analyst filters and learns by
        attributes.insert(0, SNAPSHOT, dates.dt.strftime("%Y-%m-%d").to_numpy())
    covered = None if book.covered is None else pd.Series(book.covered[order], index=index)
    return Portfolios(
        weights, attributes, dates, found.of, guessed, report, table.file, covered, aside
    )


def _aside(table: CellTable, found: Roles, notes: Notes) -> pd.DataFrame:
    """The portfolios that take no part, in the order of the file."""
    parts = notes.set_aside
    if not parts:
        return no_one_aside()
    sources = np.concatenate([part.sources for part in parts])
    order = np.argsort(sources, kind="stable")
    ids = np.concatenate([part.ids for part in parts])[order]
    index = pd.Index(ids.astype(str), name="investor")
    known = _attributes(table, found, sources[order], index)
    if all(part.dates is not None for part in parts):
        days = np.concatenate([np.asarray(part.dates) for part in parts])[order]
        known = known.drop(columns="date", errors="ignore")
        known.insert(0, "date", days)
    known = known.rename(columns={REASON: f"{REASON} (attribute)"})
    reasons = np.array([one for part in parts for one in part.reasons], dtype=object)
    known.insert(0, REASON, reasons[order])
    return known


def _asked_for(aside: pd.DataFrame, book: Book, rule: str) -> pd.DataFrame:
    """Of those set aside, the ones that would have been used: at other dates nobody misses them.

    Args:
        aside: The portfolios that take no part.
        book: Those that do.
        rule: Which of several dates are used.
    """
    if "date" not in aside or book.dates is None or rule in (PANEL, BY_DATE):
        return aside
    days = pd.Series(pd.to_datetime(aside["date"].to_numpy()), index=aside.index)
    if rule != LATEST:
        return aside[(days.dt.strftime("%Y-%m-%d") == rule).to_numpy()]
    used = pd.Series(pd.to_datetime(book.dates), index=book.ids.astype(str))
    used = used[used.index.isin(days.index)]
    later = used.groupby(level=0).max().reindex(days.index).to_numpy()
    last = days.groupby(level=0).transform("max")
    return aside[((days == last) & ~(days.to_numpy() < later)).to_numpy()]


def _attributes(
    table: CellTable, found: Roles, sources: NDArray[np.intp], index: pd.Index[Any]
) -> pd.DataFrame:
    rows = pa.array(sources)
    named = found.all(roles_.ATTRIBUTE)
    return pd.DataFrame({name: _attribute(table, name, rows) for name in named}, index=index)


def _attribute(table: CellTable, name: str, rows: pa.Array) -> Any:
    column = table[name]
    if column.text is None and column.times is None and column.numbers is not None:
        return column.numbers[rows.to_numpy()]
    days = _days(column.take(rows.to_numpy()))
    if days is not None:
        return days
    cells = column.strings.take(rows)
    return pc.if_else(pc.equal(cells, ""), None, cells).to_pandas().to_numpy()


def _personal_dates(table: CellTable, given: dict[str, str]) -> dict[str, str]:
    """Columns of dates on which no portfolio was seen: a birthday is an attribute."""
    named = (
        column
        for column in table.columns
        if column.name not in given and words.says(column.name, words.PERSONAL_DATE)
    )
    return {
        column.name: roles_.ATTRIBUTE
        for column in named
        if read_dates(column.take(np.flatnonzero(column.filled)[:FIRST_DATES])).share > 0
    }


def _days(column: CellColumn) -> Any:
    """The cells of an attribute as days, where all that say anything are dates; else None."""
    if column.numbers is not None:
        return None  # a year of birth, or a number that Excel may count days by
    first = column.take(np.flatnonzero(column.filled)[:FIRST_DATES])
    if not len(first) or (column.times is None and _are_plain_years(first)):
        return None
    if read_dates(first).share < 1.0:
        return None
    dates = read_dates(column)
    whole = set(str(dates.guess.value).split(" or ")) <= WHOLE_DATES
    if dates.bad.any() or dates.open_order or not whole:
        return None
    return dates.values.astype("datetime64[s]")


def _are_plain_years(column: CellColumn) -> bool:
    """Whether cells are whole numbers, which might be days or years and are shown as they are."""
    return column.plain_numbers is not None
