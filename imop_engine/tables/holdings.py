"""Holdings as one matrix, portfolios by assets; every portfolio knows its rows in the file.

A portfolio is one investor at one date. In a wide file it is one row, in a long one several.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from imop_engine.errors import UnreadableFile
from imop_engine.tables import portfolio_roles as roles_
from imop_engine.tables import words
from imop_engine.tables.cells import CellColumn, CellTable, text_column
from imop_engine.tables.column_units import with_one_unit
from imop_engine.tables.currencies import ONE_CURRENCY, Currencies, wide_currencies
from imop_engine.tables.dates import Dates
from imop_engine.tables.history_matrix import MISFIT, PERCENT_SHARE
from imop_engine.tables.numbers import Numbers
from imop_engine.tables.portfolio_roles import Roles
from imop_engine.tables.position_sides import with_sides
from imop_engine.tables.reading_limits import DEFAULT_LIMITS
from imop_engine.tables.reading_report import CHANGED, KEPT, REFUSED, Cure, Notes, SetAside
from imop_engine.tables.total_rows import note_totals

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

MOST_OWNERS: Final = 3  # columns offered as investors
SEVERAL_CURRENCIES: Final = "has amounts in several currencies and no rate for them"
NOT_A_NUMBER: Final = "a holding is not a number, so the portfolio is not known"


@dataclass(frozen=True, eq=False)
class Book:
    """Portfolios by assets. `rows` are all rows of the file in use, `owner` their portfolios."""

    ids: NDArray[np.object_]
    dates: NDArray[np.datetime64] | None
    assets: tuple[str, ...]
    values: FloatArray
    rows: NDArray[np.int64]
    owner: NDArray[np.intp]
    sources: NDArray[np.intp]
    signed: bool
    covered: FloatArray | None = None  # share of each portfolio that has a return history
    wealth: FloatArray | None = None  # what each portfolio is worth, where it came as amounts

    def __len__(self) -> int:
        return len(self.ids)

    def rows_of(self, mask: BoolArray) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """Return the rows of these portfolios, and the portfolio of each row."""
        hit = mask[self.owner]
        return self.rows[hit], self.owner[hit]

    def keep(self, mask: BoolArray) -> Book:
        """Return the book with only these portfolios."""
        if mask.all():
            return self
        position = np.cumsum(mask) - 1
        hit = mask[self.owner]
        return replace(
            self,
            ids=self.ids[mask],
            dates=None if self.dates is None else self.dates[mask],
            values=self.values[mask],
            rows=self.rows[hit],
            owner=position[self.owner[hit]],
            sources=self.sources[mask],
            covered=None if self.covered is None else self.covered[mask],
            wealth=None if self.wealth is None else self.wealth[mask],
        )

    def note(
        self,
        mask: BoolArray,
        what: str,
        action: str,
        remedy: str,
        notes: Notes,
        values: Any = "",
        cures: Sequence[Cure] = (),
        needs: bool | None = None,
    ) -> None:
        """Write one line for every row of these portfolios; `values` has one per portfolio.

        Args:
            mask: Which portfolios are meant.
            what: What is so.
            action: Kept, changed or refused.
            remedy: What the analyst can do.
            notes: Collects what was noticed, changed or refused.
            values: What is quoted: one text, one for each portfolio, or a function of its number.
            cures: Choices that would settle it.
            needs: Whether the analyst has to act; None leaves that to the remedy's words.
        """
        if not mask.any():
            return
        rows, owner = self.rows_of(mask)
        shown = values
        if callable(values):
            said = {p: values(p) for p in np.unique(owner).tolist()}
            shown = [said[p] for p in owner.tolist()]
        elif not isinstance(values, str):
            shown = [values[p] for p in owner]
        notes.add(what, action, remedy, rows=rows, values=shown, cures=cures, needs=needs)

    def set_aside(self, mask: BoolArray, because: Callable[[int], str], notes: Notes) -> Book:
        """Return the book without these portfolios, each remembered with its reason.

        Args:
            mask: Which portfolios are meant.
            because: What follows the investor's name in a sentence, by the portfolio's number.
            notes: Remembers them.
        """
        if not mask.any():
            return self
        reasons = tuple(because(p) for p in np.flatnonzero(mask).tolist())
        dates = None if self.dates is None else self.dates[mask]
        notes.set_aside.append(SetAside(self.ids[mask], dates, self.sources[mask], reasons))
        return self.keep(~mask)


def wide_book(
    table: CellTable,
    roles: Roles,
    numbers: dict[str, Numbers],
    dates: Dates | None,
    keep: BoolArray,
    notes: Notes,
    rates: Mapping[str, float] | None = None,
) -> Book:
    """One row per portfolio.

    Args:
        table: The file's cells by column.
        roles: What single columns are, by their names.
        numbers: Each column read as numbers, by name.
        dates: The day of each row; None where the file has none.
        keep: Which rows take part.
        notes: Collects what was noticed, changed or refused.
        rates: What a unit of each currency is worth in one of them, for amounts in several.
    """
    names = roles.all(roles_.HOLDING)
    keep = keep & ~note_totals(table, roles.first(roles_.INVESTOR), keep, notes)
    mostly = _mostly_percent([numbers[name] for name in names])
    unreadable: dict[int, str] = {}
    for name in names:
        odd = _note_unreadable(table, name, numbers[name], keep, mostly, notes)
        unreadable |= dict.fromkeys(np.flatnonzero(odd), f"has no holding to read in column {name}")
        keep = keep & ~odd
    values = np.nan_to_num(np.column_stack([numbers[name].values for name in names]))
    values = with_one_unit(names, values, notes)
    values, mixed = wide_currencies(table, roles, values, rates).converted(
        values, keep, table.rows, notes
    )
    unreadable |= dict.fromkeys(np.flatnonzero(mixed), SEVERAL_CURRENCIES)
    keep = keep & ~mixed
    empty = keep & ~_any_filled(numbers, names)
    if empty.any():
        notes.add(
            "the portfolio has no holding",
            REFUSED,
            "fill in the holdings or remove the row",
            rows=table.rows[empty],
        )
    unreadable |= dict.fromkeys(np.flatnonzero(empty), "has no holding")
    investor = roles.first(roles_.INVESTOR)
    _set_rows_aside(table, investor, dates, unreadable, notes)
    where = np.flatnonzero(keep & ~empty)
    return Book(
        ids=_ids(table, investor, where, notes),
        dates=None if dates is None else dates.values[where],
        assets=tuple(roles.matched[name] for name in names),
        values=values[where],
        rows=table.rows[where],
        owner=np.arange(len(where)),
        sources=where,
        signed=mostly,
    )


def _set_rows_aside(
    table: CellTable,
    investor: str | None,
    dates: Dates | None,
    reasons: dict[int, str],
    notes: Notes,
) -> None:
    """Remember rows that are portfolios nobody can read, each with its reason."""
    if not reasons:
        return
    where = np.array(sorted(reasons), dtype=np.intp)
    notes.set_aside.append(
        SetAside(
            _names_of(table, investor, where),
            None if dates is None else dates.values[where],
            where,
            tuple(reasons[row] for row in where),
        )
    )


def _any_filled(numbers: dict[str, Numbers], names: tuple[str, ...]) -> BoolArray:
    return np.asarray(np.logical_or.reduce([np.isfinite(numbers[name].values) for name in names]))


def _mostly_percent(columns: list[Numbers]) -> bool:
    numeric = sum(int((np.isfinite(one.values) & (one.values != 0)).sum()) for one in columns)
    return sum(int(one.percent.sum()) for one in columns) > PERCENT_SHARE * max(numeric, 1)


def _note_unreadable(
    table: CellTable, name: str, numbers: Numbers, keep: BoolArray, percent: bool, notes: Notes
) -> BoolArray:
    """Refuse rows in which this cell cannot be trusted; return which they are."""
    nonzero = np.isfinite(numbers.values) & (numbers.values != 0)
    odd = nonzero & (~numbers.percent if percent else numbers.percent)
    sign = (
        "lacks the percent sign that most others have"
        if percent
        else ("has a percent sign that most others lack")
    )
    refused = np.zeros(len(table), bool)
    for mask, what, remedy in (
        (numbers.bad & ~numbers.misfit, NOT_A_NUMBER, "correct the cell"),
        (numbers.misfit, MISFIT, "write all decimals alike"),
        (
            numbers.missing,
            "a holding is marked as missing, so the portfolio is not known",
            "fill in the holding, or leave the cell empty if there is none",
        ),
        (odd, f"a holding {sign}", "write all holdings with percent signs or without"),
    ):
        where = np.flatnonzero(mask & keep)
        if len(where):
            shown = table[name].show(where)
            notes.add(what, REFUSED, remedy, rows=table.rows[where], columns=name, values=shown)
            refused |= mask & keep
    return refused


def _ids(
    table: CellTable, name: str | None, where: NDArray[np.intp], notes: Notes
) -> NDArray[np.object_]:
    nameless: Any = [] if name is None else where[~table[name].filled[where]]
    if len(nameless):
        notes.add(
            "the investor has no name and is called by the row's number",
            CHANGED,
            "fill in the name",
            rows=table.rows[nameless],
            columns=str(name),
        )
    return _names_of(table, name, where)


def _names_of(table: CellTable, name: str | None, where: NDArray[np.intp]) -> NDArray[np.object_]:
    """What the investors of these rows are called; one without a name, by the row's number."""
    numbered = np.array([f"row {row}" for row in table.rows[where]], dtype=object)
    if name is None:
        return numbered
    shown = np.array(table[name].strings.take(pa.array(where)).to_pylist(), dtype=object)
    return np.where(shown == "", numbered, shown)


def long_book(
    table: CellTable,
    roles: Roles,
    numbers: dict[str, Numbers],
    dates: Dates | None,
    keep: BoolArray,
    notes: Notes,
    known: Sequence[str] = (),
    most: int = DEFAULT_LIMITS.cells,
    currencies: Currencies = ONE_CURRENCY,
) -> Book:
    """Several rows per portfolio: investor, asset, and what is held of it.

    Args:
        table: The file's cells by column.
        roles: What single columns are, by their names.
        numbers: Each column read as numbers, by name.
        dates: The day of each row; None where the file has none.
        keep: Which rows take part.
        notes: Collects what was noticed, changed or refused.
        known: The assets of the history, which are never taken for totals.
        most: Portfolios times assets may be this many.
        currencies: In which one each row's amount is, and what a unit of each is worth.
    """
    investor, asset = roles.first(roles_.INVESTOR), str(roles.first(roles_.ASSET))
    before = keep
    for name in (investor, asset):
        keep = keep & ~note_totals(table, name, keep, notes, known, investor)
    for name in roles.all(roles_.ATTRIBUTE):
        # Custodians write "Total" where the security's name stands, and leave its number out.
        nameless = keep & ~table[asset].filled
        keep = keep & ~note_totals(table, name, nameless, notes, known, investor, True)
    if investor is None:
        owners = text_column("investor", pa.array([Path(table.file).stem] * len(table)))
        likely = _likely_owners(table, roles)
        notes.add(
            "no column names an investor; all rows are one portfolio",
            KEPT,
            "say which column is the investor if there are several",
            needs=bool(likely),
            cures=[
                Cure("roles", f"{name}={roles_.INVESTOR}", f"{name} is the investor")
                for name in likely
            ],
        )
    else:
        owners = _filled_down(table, investor, keep, notes, pivot=bool((before & ~keep).any()))
        keep = keep & ~_note_nameless(table, owners, keep, notes)
    held, signed = _held(table, roles, numbers)
    held = with_sides(table, roles, held, keep, notes)
    where = np.flatnonzero(keep)
    if not len(where):
        raise UnreadableFile(f"{table.file} has no row with an investor and an asset.")
    codes, ids, moments = _portfolios(owners, dates, where)
    assets = _named_assets(table, roles, asset, keep, notes)
    asset_codes, names = pd.factorize(pd.Series(_array(assets, where)))
    if len(ids) * len(names) > most:
        raise UnreadableFile(
            f"{table.file} has {len(ids):,} portfolios of {len(names):,} different assets, and at "
            f"most {most:,} holdings are read; check that column {asset} names the assets, and "
            "leave out those without a history."
        )
    bad = _note_bad_holdings(table, roles, numbers, held, where, notes)
    bad |= _note_bad_assets(assets, table, held, where, notes)
    held, mixed = currencies.converted(held, where, codes, table.rows, notes)
    bad |= mixed
    # One holding that cannot be read, or added to the others, makes the whole portfolio unknown.
    lost = np.zeros(len(ids), bool)
    lost[codes[bad]] = True
    cell = codes * len(names) + asset_codes
    once = ~_note_repeats(table, where, cell, lost[codes], notes)
    summed: Any = np.bincount(
        cell[once], weights=np.nan_to_num(held[where[once]]), minlength=len(ids) * len(names)
    )
    values = summed.reshape(len(ids), len(names))
    first = np.full(len(ids), -1)
    first[codes[::-1]] = where[::-1]
    book = Book(
        ids, moments, tuple(map(str, names)), values, table.rows[where], codes, first, signed
    )
    alone = np.zeros(len(ids), bool)
    alone[codes[mixed]] = True
    book.note(
        lost & ~alone,
        "another row of the same portfolio cannot be read",
        REFUSED,
        "correct that row",
        notes,
    )
    return _without_nameless(
        book.set_aside(
            lost,
            lambda p: SEVERAL_CURRENCIES if alone[p] else "has a row that cannot be read",
            notes,
        )
    )


def _likely_owners(table: CellTable, roles: Roles) -> list[str]:
    """Columns that may name investors: attributes whose cells come in blocks, each in one only."""
    found = []
    for name in roles.all(roles_.ATTRIBUTE):
        column = table[name]
        if words.says(name, words.GROUPING | words.PAST) or not column.filled.all():
            continue
        codes = column.strings.dictionary_encode().indices.to_numpy(zero_copy_only=False)
        blocks = 1 + int((np.diff(codes) != 0).sum())
        if 1 < blocks == codes.max() + 1 < len(table):
            found.append(name)
    return found[:MOST_OWNERS]


def _without_nameless(book: Book) -> Book:
    """Drop the asset without a name: whoever held anything of it was refused."""
    named = np.array([bool(name) for name in book.assets])
    assets = tuple(name for name in book.assets if name)
    return replace(book, assets=assets, values=book.values[:, named])


def _array(column: CellColumn, where: NDArray[np.intp]) -> Any:
    return column.strings.take(pa.array(where)).to_pandas()


def _filled_down(
    table: CellTable, name: str, keep: BoolArray, notes: Notes, pivot: bool = False
) -> CellColumn:
    """Return the investors, each named once above her rows where the file is written that way.

    Merged cells and pivot tables are saved so. It is told by every name standing alone: where
    names are also repeated from row to row, an empty cell is a mistake and not a habit. A pivot
    table has totals among its rows, and then an investor may well have a single row.
    """
    column = table[name]
    rows = np.flatnonzero(keep)
    filled = column.filled[rows]
    shown = np.array(column.strings.take(pa.array(rows)).to_pylist(), dtype=object)
    repeated = (shown[1:] == shown[:-1]) & filled[1:]
    if filled.all() or not filled[:1].all() or repeated.any():
        return column
    if filled.sum() > len(rows) / 2 and not pivot:
        return column
    above = np.maximum.accumulate(np.where(filled, np.arange(len(rows)), 0))
    blank = rows[~filled]
    notes.add(
        "the investor's name is missing and that of the row above is taken",
        CHANGED,
        "fill in the name",
        rows=table.rows[blank],
        columns=name,
        values=shown[above[~filled]],
    )
    names = np.array(column.strings.to_pylist(), dtype=object)
    names[rows] = shown[above]
    return text_column(name, pa.array(names, pa.string()))


def _named_assets(
    table: CellTable, roles: Roles, asset: str, keep: BoolArray, notes: Notes
) -> CellColumn:
    """Return the assets; one without its number, as cash has none, is called by its name."""
    column = table[asset]
    others = [
        table[name]
        for name in roles.all(roles_.ATTRIBUTE)
        if words.says(name, words.ASSET) and not words.says(name, words.GROUPING | words.INVESTOR)
    ]
    for other in others:
        where = np.flatnonzero(keep & ~column.filled & other.filled)
        if not len(where):
            continue
        notes.add(
            f"the asset has no {asset} and is called by its {other.name}",
            KEPT,
            "nothing needs to be done",
            rows=table.rows[where],
            columns=asset,
            values=other.show(where),
        )
        names = np.array(column.strings.to_pylist(), dtype=object)
        names[where] = other.show(where)
        column = text_column(asset, pa.array(names, pa.string()))
    return column


def _note_nameless(
    table: CellTable, owners: CellColumn, keep: BoolArray, notes: Notes
) -> BoolArray:
    nameless = keep & ~owners.filled
    if nameless.any():
        notes.add(
            "the investor's name is missing",
            REFUSED,
            "fill in the name",
            rows=table.rows[nameless],
            columns=owners.name,
        )
    return nameless


def _note_bad_assets(
    column: CellColumn, table: CellTable, held: FloatArray, where: NDArray[np.intp], notes: Notes
) -> BoolArray:
    """Name the rows that hold something of which the name is missing."""
    bad: BoolArray = ~column.filled[where] & (held[where] != 0)
    if bad.any():
        notes.add(
            "the asset's name is missing, so the portfolio is not known",
            REFUSED,
            "fill in the name",
            rows=table.rows[where[bad]],
            columns=column.name,
        )
    return bad


def _held(table: CellTable, roles: Roles, numbers: dict[str, Numbers]) -> tuple[FloatArray, bool]:
    """Return what each row holds: a weight, an amount, or shares times price."""
    for role in (roles_.WEIGHT, roles_.AMOUNT):
        name = roles.first(role)
        if name is not None:
            one = numbers[name]
            signed = _mostly_percent([one])
            nonzero = np.isfinite(one.values) & (one.values != 0)
            odd = nonzero & (~one.percent if signed else one.percent)
            return np.where(odd, np.nan, np.where(one.dash, 0.0, one.values)), signed
    shares, price = roles.first(roles_.SHARES), roles.first(roles_.PRICE)
    if shares is None or price is None:
        raise UnreadableFile(
            f"{table.file} has numbers of shares but no prices; "
            "add a column of prices, or of amounts."
        )
    return numbers[shares].values * numbers[price].values, False


def _portfolios(
    column: CellColumn, dates: Dates | None, where: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.object_], NDArray[np.datetime64] | None]:
    """Number the portfolios in the order in which they appear."""
    people, names = pd.factorize(pd.Series(_array(column, where)))
    if dates is None:
        return people, np.asarray(names, dtype=object), None
    moments = dates.values[where]
    days, known = pd.factorize(pd.Series(moments))
    codes, pairs = pd.factorize(people.astype(np.int64) * len(known) + days)
    who, when = pairs // len(known), pairs % len(known)
    ids = np.asarray(names, dtype=object)[who]
    return codes, ids, np.asarray(known, dtype="datetime64[us]")[when]


def _note_bad_holdings(
    table: CellTable,
    roles: Roles,
    numbers: dict[str, Numbers],
    held: FloatArray,
    where: NDArray[np.intp],
    notes: Notes,
) -> BoolArray:
    bad = ~np.isfinite(held[where])
    if not bad.any():
        return bad
    used = [roles.first(role) for role in (roles_.WEIGHT, roles_.AMOUNT, roles_.SHARES)]
    columns = [name for name in (*used, roles.first(roles_.PRICE)) if name]
    for name in columns:
        # A cell with an odd percent sign is a number, but not one to be trusted.
        unread = ~np.isfinite(numbers[name].values[where]) | (len(columns) == 1)
        rows = where[bad & unread]
        if len(rows):
            notes.add(
                NOT_A_NUMBER,
                REFUSED,
                "correct the cell",
                rows=table.rows[rows],
                columns=name,
                values=table[name].show(rows),
            )
    return bad


def _note_repeats(
    table: CellTable,
    where: NDArray[np.intp],
    cell: NDArray[np.intp],
    lost: BoolArray,
    notes: Notes,
) -> BoolArray:
    """Refuse rows that repeat an earlier one exactly; others for the same asset are added up."""
    again = pd.Series(cell).duplicated(keep=False).to_numpy() & ~lost
    exact = np.zeros(len(where), bool)
    if not again.any():
        return exact
    spots = np.flatnonzero(again)
    shown = pd.DataFrame({c.name: _array(c, where[spots]) for c in table.columns})
    exact[spots] = shown.duplicated(keep="first").to_numpy()
    if exact.any():
        notes.add(
            "the row repeats an earlier one exactly",
            REFUSED,
            "remove the row",
            rows=table.rows[where[exact]],
        )
    left = pd.Series(np.where(exact, -1 - np.arange(len(cell)), cell))
    added = left.duplicated(keep=False).to_numpy() & ~lost
    if added.any():
        notes.add(
            "the investor holds the asset in several rows; they are added up",
            KEPT,
            "remove the row if it is there by mistake",
            rows=table.rows[where[added]],
        )
    return exact
