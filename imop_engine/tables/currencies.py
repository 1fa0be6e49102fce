"""Amounts in several currencies: converted at the analyst's rates, or not added up at all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from imop_engine.errors import InvalidInput
from imop_engine.tables import portfolio_roles as roles_
from imop_engine.tables import words
from imop_engine.tables.cells import CellColumn, CellTable, text_column
from imop_engine.tables.extra_holdings import ADDING_SHARE, ADDS_UP
from imop_engine.tables.numbers import CURRENCY, narrow
from imop_engine.tables.portfolio_roles import Roles
from imop_engine.tables.reading_report import KEPT, NOTHING, REFUSED, Cure, Notes

# What currencies are called beside an amount; codes of three letters are their own name.
SIGNS: Final = {
    "$": "USD", "US$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "円": "JPY", "元": "CNY",
    "RMB": "CNY", "₩": "KRW", "원": "KRW", "₹": "INR", "RS": "INR", "RS.": "INR", "R$": "BRL",
    "C$": "CAD", "A$": "AUD", "HK$": "HKD", "S$": "SGD", "₺": "TRY", "₽": "RUB", "ZŁ": "PLN",
    "KČ": "CZK", "FT": "HUF", "FR.": "CHF",
}  # fmt: skip
# A code in brackets, or at the end: A (USD), A in EUR, A_CHF.
IN_NAME: Final = re.compile(rf"[\s(\[_]({CURRENCY})[)\]]?\s*$")

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
    if column is not None:
        return Currencies(amount, table[column], known)
    signs = signs_of(table[amount])
    return ONE_CURRENCY if signs is None else Currencies(amount, signs, known)


def signs_of(column: CellColumn) -> CellColumn | None:
    """The currency that stands beside each amount, "" where none does; None where none ever does.

    >>> signs_of(text_column("value", pa.array(["$5", "7 EUR", "3"]))).strings.to_pylist()
    ['USD', 'EUR', '']
    """
    if column.text is None or column.plain_numbers is not None:
        return None
    if column.comma_numbers is not None:
        return None
    text: Any = narrow(column).text
    if not pc.any(pc.match_substring_regex(text, CURRENCY)).as_py():
        return None
    coded = text.dictionary_encode()
    found = pc.struct_field(
        pc.extract_regex(coded.dictionary, rf"(?P<sign>{CURRENCY})"), "sign"
    ).to_pylist()
    names = pa.array(["" if one is None else _code(one) for one in found], pa.string())
    return text_column(column.name, names.take(coded.indices))


def currency_of(name: str) -> str | None:
    """The currency that a column's name ends with; None where it names none.

    >>> currency_of("Fund A (USD)"), currency_of("Fund A"), currency_of("EUR")
    ('USD', None, None)
    """
    found = IN_NAME.search(name)
    return None if found is None else _code(found[1])


def _code(sign: str) -> str:
    return SIGNS.get(sign.upper(), sign.upper())


@dataclass(frozen=True, eq=False)
class WideCurrencies:
    """The currency of each holding of a wide table: by the column's name, or beside the amounts.

    Args:
        names: The columns of holdings.
        codes: A currency for each row and column, "" where none is named; None: all are in one.
        rates: What a unit of each currency is worth in one of them.
    """

    names: tuple[str, ...] = ()
    codes: NDArray[np.object_] | None = None
    rates: Mapping[str, float] = field(default_factory=dict)

    def converted(
        self, values: FloatArray, keep: BoolArray, rows: NDArray[np.int64], notes: Notes
    ) -> tuple[FloatArray, BoolArray]:
        """Amounts in one currency, and the rows that cannot be brought to one.

        Args:
            values: What each row holds.
            keep: Which rows take part.
            rows: Their numbers in the file.
            notes: Collects what was noticed, changed or refused.
        """
        used = (values != 0) & keep[:, None]
        if self.codes is None or not used.any():
            return values, np.zeros(len(values), bool)
        named = sorted({str(code) for code in self.codes[used].tolist()})
        number = np.searchsorted(named, np.where(used, self.codes, named[0]).astype(str))
        most = np.where(used, number, -1).max(axis=1)
        least = np.where(used, number, len(named)).min(axis=1)
        rate = np.array([self.rates.get(name, np.nan) for name in named])[number]
        mixed = (least < most) & (used & np.isnan(rate)).any(axis=1)
        if mixed.any():
            seen = sorted({str(code) or "none" for code in self.codes[used & mixed[:, None]]})
            missing = [name for name in seen if name not in self.rates]
            notes.add(
                f"the holdings are in several currencies ({', '.join(seen)}), so the portfolio is "
                "not known",
                REFUSED,
                f"say what one {' and one '.join(missing)} is worth in one of them, or give all "
                "amounts in one currency",
                rows=rows[mixed],
                cures=[Cure("rates", f"{missing[0]}=1", "Give exchange rates")],
            )
        if not np.isfinite(rate[used]).any():
            return values, mixed
        shown = ", ".join(f"{name} {self.rates[name]:g}" for name in named if name in self.rates)
        notes.add(f"the amounts are converted at the given rates: {shown}", KEPT, NOTHING)
        return np.where(np.isfinite(rate) & used, values * np.nan_to_num(rate), values), mixed


def wide_currencies(
    table: CellTable, found: Roles, values: FloatArray, rates: Mapping[str, float] | None
) -> WideCurrencies:
    """Tell in which currency each holding of a wide table is, where several are named.

    A currency in a column's name counts where it is no part of the asset's own name, and where the
    rows do not add up to 1 or 100: shares of a portfolio are in no currency.

    Args:
        table: The file's cells by column.
        found: What single columns are.
        values: What each row holds.
        rates: What a unit of each currency is worth.
    """
    names = found.all(roles_.HOLDING)
    with np.errstate(over="ignore"):  # numbers beyond any fortune are refused later, with a line
        sums = values.sum(axis=1)
    shares = any(np.mean(np.abs(sums / whole - 1) <= ADDS_UP) >= ADDING_SHARE for whole in (1, 100))
    by_name = {
        name: None if shares or found.matched[name] == name else currency_of(name) for name in names
    }
    by_cell = {name: signs_of(table[name]) for name in names}
    said = {code for code in by_name.values() if code}
    for signs in by_cell.values():
        said |= set() if signs is None else set(pc.unique(signs.strings).to_pylist()) - {""}
    if len(said) < 2:
        return WideCurrencies()
    codes = np.full((len(table), len(names)), "", dtype=object)
    for j, name in enumerate(names):
        signs = by_cell[name]
        codes[:, j] = by_name[name] or ""
        if signs is not None:
            shown = np.array(signs.strings.to_pylist(), dtype=object)
            codes[:, j] = np.where(shown == "", codes[:, j], shown)
    return WideCurrencies(names, codes, check_rates(rates))


def check_rates(rates: Mapping[str, float] | None) -> dict[str, float]:
    """Rates by currency in capital letters; a rate that is none is an error."""
    known: dict[str, float] = {}
    for name, rate in (rates or {}).items():
        if not np.isfinite(rate) or rate <= 0:
            raise InvalidInput(f"the rate of {name} is {rate}; give what one {name} is worth.")
        known[name.strip().upper()] = float(rate)
    return known
