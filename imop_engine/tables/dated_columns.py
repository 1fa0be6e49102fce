"""Columns called by a date, alone or beside other words: Value 31.12.2023, Value 31.01.2024.

They say what was held at several dates, side by side; the latest is used.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from imop_engine.tables import words
from imop_engine.tables.cells import text_column
from imop_engine.tables.dates import is_written_date, read_dates

# Longer names are looked at no further, nor are longer dates (31 de dezembro de 2023).
MOST_WORDS: Final = 12
MOST_OF_A_DATE: Final = 5
# Every date ends or begins with a year, of two digits at least.
_DIGITS: Final = re.compile(r"\d\d")
_PARTS: Final = re.compile(r"[\s_()\[\]:;|]+")


def dated(names: Sequence[str]) -> list[tuple[np.datetime64, str]]:
    """The columns that are called by a day, a month or a quarter and nothing else, with it.

    Args:
        names: Of the columns.
    """
    days = [_read([name])[0] for name in names]
    return [(day, name) for day, name in zip(days, names, strict=True) if not np.isnat(day)]


@lru_cache(maxsize=4096)
def without_date(name: str) -> tuple[str, str] | None:
    """A column's name without the date in it, and the date as written; None where it has none.

    Args:
        name: Of the column.

    >>> without_date("Value (31.12.2023)"), without_date("Q4 2023 weight"), without_date("Value")
    (('Value', '31.12.2023'), ('weight', 'Q4 2023'), None)
    """
    if not _DIGITS.search(name):
        return None
    parts = [part for part in _PARTS.split(name) if part]
    if len(parts) > MOST_WORDS:
        return None
    for length in range(min(len(parts), MOST_OF_A_DATE), 0, -1):
        for start in range(len(parts) - length + 1):
            span = parts[start : start + length]
            said = (" " if not all(one.isdigit() for one in span) else "-").join(span).strip(",")
            if _DIGITS.search(said) and is_written_date(said):
                return " ".join([*parts[:start], *parts[start + length :]]).strip(" ,-"), said
    return None


def of_other_dates(name: str, names: Sequence[str]) -> list[str]:
    """The columns called as this one is but for the date, in the order of dates, it among them.

    Args:
        name: Of a column.
        names: Of all columns that may be meant.

    Returns:
        Their names; empty where the name has no date, or no other is called like it.
    """
    own = without_date(name)
    if own is None:
        return []
    said = {one: found for one in dict.fromkeys([name, *names]) if (found := without_date(one))}
    alike = [one for one, (rest, _) in said.items() if words.key(rest) == words.key(own[0])]
    if len(alike) < 2:
        return []
    return in_order(alike)


def in_order(names: Sequence[str]) -> list[str]:
    """Names with a date each, in the order of these dates.

    Args:
        names: Of columns; each has a date.
    """
    days = days_in(names)
    return [names[place] for place in np.argsort(days, kind="stable")]


def days_in(names: Sequence[str]) -> NDArray[np.datetime64]:
    """The day that each name has a date of; together they tell whether the day comes first.

    Args:
        names: Of columns; each has a date.
    """
    return _read([found[1] if (found := without_date(name)) else "" for name in names])


def _read(written: Sequence[str]) -> NDArray[np.datetime64]:
    known = [one if is_written_date(one) else "" for one in written]
    return read_dates(text_column("date", pa.array(known, pa.string()))).values
