"""What only looks right in a file of portfolios: read as it stands, and asked about.

Options count as holdings, rows without a name as investors, one person as three: every number may
be right, and the portfolios are not. Nothing is changed here; each doubt is one line with a remedy.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from imop_engine.sentences.numbers import some
from imop_engine.tables.cells import CellTable
from imop_engine.tables.dates import Dates
from imop_engine.tables.history_layout import LONG, MOSTLY
from imop_engine.tables.numbers import Numbers
from imop_engine.tables.portfolio_roles import (
    AMOUNT,
    ASSET,
    ATTRIBUTE,
    INVESTOR,
    PRICE,
    SHARES,
    Roles,
)
from imop_engine.tables.reading_report import KEPT, Cure, Notes

NAMED: Final = 3  # names in a sentence
MOST_KINDS: Final = 10_000  # a column of more different texts tells no kinds of securities apart
FEWEST_DATES: Final = 6  # rows of one investor over time, rather than a few investors' dates
# 4.02E+11: what a spreadsheet makes of a long number when it saves a text file.
SHORTENED: Final = r"^\d(?:[.,]\d+)?[eE]\+?\d{2}$"
# Where a column is worth what units times price are, it is so within a few percent: rounding, a
# price of another hour.
SAME_VALUE: Final = 0.25
OTHER_VALUE: Final = 1.0  # in logarithms: almost three times as much, or as little
_OPTION: Final = re.compile(r"^(?:put|call)s?$|\b(?:put|call) options?\b|\boptions? (?:put|call)\b")


def note_doubts(
    table: CellTable, roles: Roles, numbers: dict[str, Numbers], dates: Dates | None, notes: Notes
) -> None:
    """Ask about what may be read wrong though it can be read.

    Args:
        table: The file's cells by column.
        roles: What single columns are.
        numbers: Each column read as numbers, by name.
        dates: The day of each row; None where the file has none.
        notes: Collects what was noticed, changed or refused.
    """
    investor = roles.first(INVESTOR)
    if investor is not None:
        _note_shortened(table, investor, notes)
        _note_alike(table, investor, notes)
    if roles.layout == LONG:
        _note_options(table, roles, notes)
        _note_products(table, roles, numbers, notes)
    elif investor is None and dates is not None:
        _note_rows_as_investors(dates, notes)


def _note_shortened(table: CellTable, investor: str, notes: Notes) -> None:
    column = table[investor]
    if column.text is None:
        return
    short = pc.match_substring_regex(column.strings, SHORTENED).to_numpy(zero_copy_only=False)
    where = np.flatnonzero(short)
    if len(where):
        notes.add(
            "the investor is a number that a spreadsheet has shortened, so that several investors "
            "may have the same one",
            KEPT,
            "format the column as text and save the file again",
            rows=table.rows[where],
            columns=investor,
            values=column.show(where),
            needs=True,
        )


def _note_alike(table: CellTable, investor: str, notes: Notes) -> None:
    unique = pc.unique(table[investor].strings)
    plain = pc.replace_substring_regex(pc.utf8_trim_whitespace(unique), r"\s+", " ")
    if pc.count_distinct(pc.utf8_lower(plain)).as_py() == len(unique):
        return
    names = [str(one) for one in unique.to_pylist() if one]
    first: dict[str, str] = {}
    alike = []
    for name in names:
        other = first.setdefault(" ".join(name.casefold().split()), name)
        if other != name:
            alike.append(f"{other} and {name}")
    if alike:
        notes.add(
            "investors whose names differ only in capitals or spaces count as different ones: "
            f"{some(alike, NAMED)}",
            KEPT,
            "write each name in one way, if they are the same",
            columns=investor,
            needs=True,
        )


def _note_options(table: CellTable, roles: Roles, notes: Notes) -> None:
    """Rows that hold a right to sell or to buy an asset, and not the asset."""
    for name in (*roles.all(ATTRIBUTE), *roles.all(ASSET)):
        coded = pc.dictionary_encode(table[name].strings)
        if len(coded.dictionary) > MOST_KINDS:
            continue
        said = [str(cell).casefold() for cell in coded.dictionary.to_pylist()]
        hits = pa.array([_OPTION.search(cell) is not None for cell in said], pa.bool_())
        if not pc.any(hits).as_py():
            continue
        where = np.flatnonzero(hits.take(coded.indices).to_numpy(zero_copy_only=False))
        notes.add(
            "the row is an option, and counts as if the asset itself were held",
            KEPT,
            "remove the rows of options, or give what they are worth as an asset of its own",
            rows=table.rows[where],
            columns=name,
            values=table[name].show(where),
            needs=True,
        )
        return


def _note_products(
    table: CellTable, roles: Roles, numbers: dict[str, Numbers], notes: Notes
) -> None:
    """Ask where another column says for most rows, and not for all, what units times price say."""
    shares, price = roles.first(SHARES), roles.first(PRICE)
    if shares is None or price is None:
        return
    product = numbers[shares].values * numbers[price].values
    for name in roles.all(ATTRIBUTE):
        if numbers[name].share < MOSTLY:
            continue
        worth = numbers[name].values
        with np.errstate(all="ignore"):
            off = np.abs(np.log(worth / product))
        known = np.isfinite(off)
        same = int((off[known] <= SAME_VALUE).sum())
        other = np.flatnonzero(known & (off > OTHER_VALUE))
        if same and len(other) and 2 * same >= known.sum():
            notes.add(
                f"{shares} times {price} is far from {name}, which says the same of most other "
                "rows; bonds are quoted per 100",
                KEPT,
                f"say that {name} is the amount, if it is",
                rows=table.rows[other],
                columns=name,
                values=table[name].show(other),
                needs=True,
                cures=[Cure("roles", f"{name}={AMOUNT}", f"Use {name}")],
            )
            return


def _note_rows_as_investors(dates: Dates, notes: Notes) -> None:
    days = dates.values[~np.isnat(dates.values)]
    if len(days) < FEWEST_DATES or len(np.unique(days)) < len(days):
        return
    notes.add(
        f"no column names an investor, and each of {len(days):,} rows has a date of its own, as "
        "the portfolios of one investor over time have; each row counts as an investor",
        KEPT,
        "add a column with the investor's name, if they are one investor's",
        needs=True,
    )
