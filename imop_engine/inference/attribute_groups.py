"""Investors in groups by what else is known of them: one rule for every table by segment."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd

from imop_engine.errors import InvalidInput

# A number with more different values than this is cut at its quartiles.
MOST_SEGMENTS: Final = 10
MISSING: Final = "(missing)"
CODE: Final = r"0\d"  # how a code begins that only looks like a number


def attribute_groups(investors: pd.Index[Any], attribute: Any) -> pd.Series[Any]:
    """The group of each investor.

    Args:
        investors: Their labels, in order.
        attribute: One value for each: a Series with the same labels, or a list in the same order.
            A number with more than 10 different values is cut at its quartiles, also where a file
            gave it as text.

    Returns:
        An ordered category for each; those without a value are a group of their own.
    """
    if isinstance(attribute, pd.Series):
        matches = attribute.index.is_unique and bool(investors.isin(attribute.index).all())
        values: Any = attribute.reindex(investors) if matches else attribute
    else:
        values = list(attribute)
        matches = len(values) == len(investors)
    if not matches:
        raise InvalidInput(
            f"the attribute does not match the {len(investors)} investors; give a Series with "
            "their labels, or a list with one value for each in their order."
        )
    column = numbers_of(pd.Series(values, index=investors))
    number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    if number and column.nunique() > MOST_SEGMENTS:
        column = pd.qcut(column, 4, duplicates="drop")
    named = column.astype(object).where(column.notna(), MISSING)
    order = [*column.dropna().sort_values().unique(), *([MISSING] if column.isna().any() else [])]
    return pd.Series(pd.Categorical(named, categories=order, ordered=True), index=investors)


def numbers_of(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column of text as numbers, where it holds nothing else and too much for a group each.

    Few different values keep the text of the file, and so do codes that begin with a zero: what
    lies between two of those means nothing.

    Args:
        column: One value for each investor.
    """
    known = column.dropna()
    if pd.api.types.is_numeric_dtype(column) or known.nunique() <= MOST_SEGMENTS:
        return column
    if known.astype(str).str.match(CODE).any():
        return column
    if not known.map(lambda value: isinstance(value, str)).all():
        return column
    numbers = pd.to_numeric(column, errors="coerce")
    return numbers if numbers.notna().equals(column.notna()) else column
