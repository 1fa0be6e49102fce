"""Some of the clients: by attribute, by a stretch of a number, by status, mismatch or text.

A filter is one frozen value, so that the shell, the app and an export mean the same clients.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from imop_engine.clients.book import ClientBook
from imop_engine.errors import InvalidInput
from imop_engine.sentences import clients as say

# Numbers by which clients can be chosen, as a table calls them.
NUMBERS: Final = ("score", "risk", "gap_points", "risk_aversion", "weight", "wealth", "distance")
MOST_VALUES: Final = 40  # of an attribute that is chosen from by its values

Range = tuple[str, float, float]


@dataclass(frozen=True)
class ClientFilter:
    """Which clients. What is empty lets everybody pass.

    Args:
        values: (attribute, allowed values) pairs; a client without a value has "".
        ranges: (column, least, most) triples of numbers, ends included; a client without the
            number does not pass.
        status: "learned", "outlier" (set aside), "outlier, kept" (learned from all the same).
        mismatch: "more", "less", "borderline", "agrees", "not stated".
        text: part of an id or of any attribute, in any case.
    """

    values: tuple[tuple[str, tuple[str, ...]], ...] = ()
    ranges: tuple[Range, ...] = ()
    status: tuple[str, ...] = ()
    mismatch: tuple[str, ...] = ()
    text: str = ""

    @property
    def empty(self) -> bool:
        """Whether everybody passes."""
        return self == ClientFilter()

    def said(self) -> str:
        """The filter in words."""
        parts = [f"{name} {' or '.join(map(repr, some))}" for name, some in self.values if some]
        parts += [f"{name} from {low:g} to {high:g}" for name, low, high in self.ranges]
        parts += [f"status {' or '.join(self.status)}"] if self.status else []
        words = [say.MISMATCH_WORDS[one].lower() for one in self.mismatch]
        parts += [" or ".join(words)] if words else []
        parts += [f"text {self.text.strip()!r}"] if self.text.strip() else []
        return "; ".join(parts) or "everybody"


def choose(book: ClientBook, wanted: ClientFilter) -> NDArray[np.bool_]:
    """Who passes a filter, a flag for each client of a book.

    Args:
        book: the clients of a study.
        wanted: the filter.
    """
    table = book.table
    passing = np.ones(len(table), dtype=bool)
    for name, some in wanted.values:
        if some:
            passing &= np.isin(as_text(_column(book, name)), some)
    for name, low, high in wanted.ranges:
        if name not in table.columns:
            raise InvalidInput(f"there is no column {name!r} to choose clients by.")
        numbers = pd.to_numeric(table[name], errors="coerce").to_numpy(dtype=float)
        passing &= (numbers >= low) & (numbers <= high)
    if wanted.status:
        passing &= np.isin(table["status"].to_numpy(dtype=str), wanted.status)
    if wanted.mismatch:
        passing &= np.isin(book.mismatch.astype(str), wanted.mismatch)
    if wanted.text.strip():
        passing &= _containing(book, wanted.text.strip())
    return passing


def chosen_ids(book: ClientBook, wanted: ClientFilter) -> tuple[str, ...]:
    """The clients who pass a filter, in the order they came.

    Args:
        book: the clients of a study.
        wanted: the filter.
    """
    return tuple(np.array(book.ids, dtype=object)[choose(book, wanted)])


def filter_values(book: ClientBook) -> dict[str, list[str]]:
    """Attributes that clients can be chosen by, with their values in order."""
    found: dict[str, list[str]] = {}
    for name in book.attributes.columns:
        column = book.attributes[name]
        if pd.api.types.is_datetime64_any_dtype(column) or column.nunique() > MOST_VALUES:
            continue
        values = sorted(set(as_text(column)))
        if len(values) > 1:
            found[str(name)] = values
    return found


def filter_ranges(book: ClientBook) -> dict[str, tuple[float, float]]:
    """Numbers that clients can be chosen by, with the least and the greatest there is."""
    table, found = book.table, {}
    many = [
        str(name)
        for name in book.attributes.columns
        if pd.api.types.is_numeric_dtype(book.attributes[name])
        and not pd.api.types.is_bool_dtype(book.attributes[name])
        and book.attributes[name].nunique() > MOST_VALUES
    ]
    for name in dict.fromkeys((*NUMBERS, *many)):
        if name not in table.columns:
            continue
        numbers = pd.to_numeric(table[name], errors="coerce").to_numpy(dtype=float)
        numbers = numbers[np.isfinite(numbers)]
        if len(numbers) and numbers.min() < numbers.max():
            found[name] = (float(numbers.min()), float(numbers.max()))
    return found


def of_options(pairs: Mapping[str, str]) -> ClientFilter:
    """A filter from COLUMN=VALUE pairs of the shell.

    Args:
        pairs: the value that passes, by column.
    """
    return ClientFilter(values=tuple((name, (value,)) for name, value in pairs.items()))


def as_text(column: Any) -> NDArray[np.str_]:
    """Values as the filter compares them: text, "" where there is none."""
    series = pd.Series(column).reset_index(drop=True)
    return np.asarray(series.astype(object).where(series.notna(), "").astype(str), dtype=str)


def _column(book: ClientBook, name: str) -> Any:
    if name not in book.attributes.columns:
        raise InvalidInput(
            f"there is no column {name!r} to choose clients by; the columns are "
            f"{', '.join(map(str, book.attributes.columns)) or 'none'}."
        )
    return book.attributes[name]


def _containing(book: ClientBook, text: str) -> NDArray[np.bool_]:
    """Whose id or attributes contain a text."""
    part = text.casefold()
    found = np.array([part in one.casefold() for one in book.ids], dtype=bool)
    for name in book.attributes.columns:
        found |= np.array([part in one.casefold() for one in as_text(book.attributes[name])], bool)
    return found
