"""Which group each portfolio belongs to: by an attribute, or by the year or quarter of its date."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from imop_engine.errors import InvalidInput
from imop_engine.inference.attribute_groups import (
    MISSING,
    MOST_SEGMENTS,
    attribute_groups,
    numbers_of,
)
from imop_engine.sentences import groups as say

YEAR, QUARTER, DATE = "year", "quarter", "date"
MOST_GROUPS: Final = 24  # six years of quarters; more are no groups to compare
LEAST_INVESTORS: Final = 10  # in a group that is compared
MUCH_ASIDE: Final = 0.25  # of a group's portfolios set aside, from which on it is looked at
YEARS: Final = 3  # dates that span fewer years are taken by quarter
NAMES: Final = 0.5  # different values for each investor, from which on a column holds names


@dataclass(frozen=True, eq=False)
class GroupLabels:
    """The group of each portfolio.

    Args:
        column: what the groups are made by, "year" say.
        names: of the groups, in order.
        codes: for each portfolio the position of its group's name.
        in_time: whether the groups follow one another in time.
        notes: what was done to the column.
    """

    column: str
    names: tuple[str, ...]
    codes: NDArray[np.int64]
    in_time: bool
    notes: tuple[str, ...] = ()


def group_labels(attributes: pd.DataFrame, by: str) -> GroupLabels:
    """Sort portfolios into groups.

    Args:
        attributes: what is known of each portfolio, one row each; dates are in the column "date".
        by: a column, or "year" or "quarter" of the dates.

    Returns:
        A group for each row; numbers of many values are cut at their quartiles, missing values are
        a group of their own.

    >>> known = pd.DataFrame({"segment": ["a", "b", None] * 10})
    >>> found = group_labels(known, "segment")
    >>> found.names, found.codes.tolist()[:3]
    (('a', 'b', 'not given'), [0, 1, 2])
    """
    columns = {str(name): name for name in attributes.columns}
    name = by if by in columns else DATE if by in (YEAR, QUARTER) else None
    if name is None or name not in columns:
        raise InvalidInput(say.no_column(by, list(columns)))
    column = attributes[columns[name]]
    if pd.api.types.is_datetime64_any_dtype(column):
        step = by if by in (YEAR, QUARTER) else None
        return _periods(column, by, step)
    if by in (YEAR, QUARTER) and by not in columns:
        dates = pd.to_datetime(column, errors="coerce", format="mixed")
        if dates.isna().all():
            raise InvalidInput(say.no_column(by, list(columns)))
        return _periods(dates, by, by)
    return _values(column, by)


def _periods(column: pd.Series[Any], by: str, step: str | None) -> GroupLabels:
    dates = pd.to_datetime(column)
    if step is None:
        step = YEAR if dates.dt.year.nunique() >= YEARS else QUARTER
    years = dates.dt.year.astype("Int64").astype("string")
    named = (
        years if step == YEAR else years + " Q" + dates.dt.quarter.astype("Int64").astype("string")
    )
    notes = () if by == step else (say.taken_by_period(by, step),)
    return _coded(named.astype(object), sorted(named.dropna().unique()), step, True, notes)


def _values(column: pd.Series[Any], by: str) -> GroupLabels:
    column = numbers_of(column)
    number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    different = int(column.nunique())
    many = different > MOST_SEGMENTS
    if many and not number and different > NAMES * len(column):
        raise InvalidInput(say.names_not_groups(by, different, len(column)))
    cut = attribute_groups(pd.RangeIndex(len(column)), column.tolist())
    notes = (say.cut_at_quartiles(by),) if many and number else ()
    words = {one: say.group_name(one) for one in cut.cat.categories if one != MISSING}
    named = cut.astype(object).map(words)
    order = list(dict.fromkeys(words.values()))
    return _coded(named, order, by, False, notes)


def _coded(
    named: pd.Series[Any], order: list[str], column: str, in_time: bool, notes: tuple[str, ...]
) -> GroupLabels:
    missing = named.isna().to_numpy()
    names = tuple(order) + ((say.NOT_GIVEN,) if missing.any() else ())
    if len(names) < 2:
        only = names[0] if names else say.NOT_GIVEN
        raise InvalidInput(say.all_the_same(column, only))
    places = {name: position for position, name in enumerate(order)}
    codes = named.map(places).fillna(len(order)).to_numpy(dtype=np.int64)
    sizes = np.bincount(codes, minlength=len(names))
    enough = int((sizes >= LEAST_INVESTORS).sum())
    if enough < 2:
        listed = list(zip(names, sizes.tolist(), strict=True))
        raise InvalidInput(say.too_few_in_groups(column, LEAST_INVESTORS, listed))
    if enough > MOST_GROUPS:
        raise InvalidInput(say.too_many_groups(column, enough, MOST_GROUPS))
    if missing.any():
        notes = (*notes, say.some_not_given(column, int(missing.sum())))
    return GroupLabels(column, names, codes.astype(np.int64), in_time, notes)
