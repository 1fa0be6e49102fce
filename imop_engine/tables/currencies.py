"""Amounts in several currencies: converted at the analyst's rates, or not added up at all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imop_engine.errors import InvalidInput
from imop_engine.tables import portfolio_roles as roles_
from imop_engine.tables import words
from imop_engine.tables.cells import CellColumn, CellTable
from imop_engine.tables.portfolio_roles import Roles
from imop_engine.tables.reading_report import KEPT, NOTHING, REFUSED, Cure, Notes

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Currencies:
    """The currency of each row's amount, and what a unit of each is worth.

    Args:
        amount: The column of amounts.
        column: The column of currencies; None where all amounts are in one.
        rates: What a unit of each currency is worth in one of them.
    """

    amount: str = ""
    column: CellColumn | None = None
    rates: Mapping[str, float] = field(default_factory=dict)

    def converted(
        self,
        held: FloatArray,
        where: NDArray[np.intp],
        owner: NDArray[np.intp],
        numbers: NDArray[np.int64],
        notes: Notes,
    ) -> tuple[FloatArray, BoolArray]:
        """Amounts in one currency, and the rows of portfolios that cannot be brought to one.

        Args:
            held: What each row of the file holds.
            where: The rows in use.
            owner: The portfolio of each row in use.
            numbers: The rows' numbers in the file.
            notes: Collects what was noticed, changed or refused.
        """
        nowhere = np.zeros(len(where), bool)
        if self.column is None:
            return held, nowhere
        coded = self.column.strings.take(pa.array(where)).dictionary_encode()
        names = [str(name).strip().upper() for name in coded.dictionary.to_pylist()]
        codes = coded.indices.to_numpy(zero_copy_only=False)
        if len({name for name in names if name}) < 2:
            return held, nowhere
        rate = np.array([self.rates.get(name, np.nan) for name in names])[codes]
        mixed = self._mixed(codes, rate, held[where], owner)
        if mixed.any():
            self._refuse(
                sorted({names[code] or "none" for code in codes[mixed]}),
                mixed,
                where,
                numbers,
                notes,
            )
        known = np.isfinite(rate)
        if known.any():
            held = held.copy()
            held[where[known]] *= rate[known]
            shown = ", ".join(
                f"{name} {self.rates[name]:g}" for name in names if name in self.rates
            )
            notes.add(
                f"the amounts are converted at the given rates: {shown}",
                KEPT,
                NOTHING,
                columns=self.column.name,
            )
        return held, mixed

    def _mixed(
        self, codes: NDArray[Any], rate: FloatArray, held: FloatArray, owner: NDArray[np.intp]
    ) -> BoolArray:
        """Which rows belong to a portfolio of several currencies, one of them without a rate."""
        used = held != 0
        least = np.full(owner.max() + 1, codes.max() + 1)
        most = np.full(owner.max() + 1, -1)
        np.minimum.at(least, owner[used], codes[used])
        np.maximum.at(most, owner[used], codes[used])
        unpriced = np.zeros(owner.max() + 1, bool)
        unpriced[owner[used & ~np.isfinite(rate)]] = True
        return np.asarray(((least < most) & unpriced)[owner])

    def _refuse(
        self,
        several: list[str],
        mixed: BoolArray,
        where: NDArray[np.intp],
        numbers: NDArray[np.int64],
        notes: Notes,
    ) -> None:
        assert self.column is not None
        missing = [name for name in several if name not in self.rates]
        notes.add(
            f"the amounts of {self.amount} are in several currencies ({', '.join(several)}), so "
            "the portfolio is not known",
            REFUSED,
            f"say what one {' and one '.join(missing)} is worth in one of them, or give all "
            "amounts in one currency",
            rows=numbers[where[mixed]],
            columns=self.column.name,
            cures=[Cure("rates", f"{missing[0]}=1", "Give exchange rates")],
        )


ONE_CURRENCY: Final = Currencies()


def find_currencies(
    table: CellTable, found: Roles, rates: Mapping[str, float] | None
) -> Currencies:
    """Tell which column says in what currency each amount is, if any does.

    Args:
        table: The file's cells by column.
        found: What single columns are.
        rates: What a unit of each currency is worth.
    """
    known = check_rates(rates)
    amount = found.first(roles_.AMOUNT) or found.first(roles_.PRICE)
    if amount is None or not {roles_.AMOUNT, roles_.SHARES} & set(found.of.values()):
        return ONE_CURRENCY
    if re.search(r"\b[A-Z]{3}\b", amount) or words.says(amount, {"base", "reference"}):
        return ONE_CURRENCY  # the column says in which currency all of its amounts are
    named = (name for name in found.all(roles_.ATTRIBUTE) if words.says(name, words.CURRENCY))
    column = next(named, None)
    return ONE_CURRENCY if column is None else Currencies(amount, table[column], known)


def check_rates(rates: Mapping[str, float] | None) -> dict[str, float]:
    """Rates by currency in capital letters; a rate that is none is an error."""
    known: dict[str, float] = {}
    for name, rate in (rates or {}).items():
        if not np.isfinite(rate) or rate <= 0:
            raise InvalidInput(f"the rate of {name} is {rate}; give what one {name} is worth.")
        known[name.strip().upper()] = float(rate)
    return known
