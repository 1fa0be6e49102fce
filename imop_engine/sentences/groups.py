"""What is said of groups of investors: their labels, whether they differ, how beliefs moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from imop_engine.sentences.numbers import percent, some

NOT_GIVEN: Final = "not given"
CHANCE: Final = 0.05  # a p-value up to this is called a difference
NAMED: Final = 6  # groups in one sentence


def no_column(by: str, columns: Sequence[str]) -> str:
    """There is nothing to make groups by."""
    if by in ("year", "quarter") and "date" not in columns:
        start = f"groups by {by} need the dates of the portfolios, and these have none"
    else:
        start = f"there is no column {by!r} to make groups by"
    if not columns:
        return (
            f"{start}; the portfolios have no other columns than holdings. Give a file with a "
            "column that names the groups, or leave the groups out."
        )
    dates = ", or 'year' or 'quarter' of the dates" if "date" in columns else ""
    return f"{start}; choose one of {some(list(columns), 12)}{dates}."


def names_not_groups(by: str, different: int, portfolios: int) -> str:
    """A column of names makes no groups.

    Args:
        by: the column.
        different: how many values it has.
        portfolios: how many portfolios there are.
    """
    return (
        f"{by!r} has {different:,} different values for {portfolios:,} portfolios: those are "
        "names, not groups. Choose a column that several investors share."
    )


def all_the_same(by: str, value: str) -> str:
    """A column with one value makes no groups."""
    return (
        f"{by!r} is {value!r} for all portfolios, so there are no groups to compare; choose "
        "another column."
    )


def too_many_groups(by: str, count: int, most: int) -> str:
    """Too many to compare.

    Args:
        by: the column, or year or quarter.
        count: how many groups it makes.
        most: how many are compared at most.
    """
    cure = "compare by year" if by == "quarter" else "join some of them first"
    return f"{by!r} makes {count} groups, and at most {most} are compared; {cure}."


def too_few_in_groups(by: str, least: int, counts: Sequence[tuple[str, int]]) -> str:
    """Not two groups have investors enough.

    Args:
        by: the column, or year or quarter.
        least: how many investors a group needs.
        counts: each group's name and how many it has.
    """
    sizes = some([f"{name} {count:,}" for name, count in counts], NAMED)
    return (
        f"groups by {by!r} cannot be compared: only groups of {least} investors or more who tell "
        f"something of beliefs count, and fewer than two have as many ({sizes}). Join groups, or "
        "give more portfolios."
    )


def not_learned() -> str:
    """Where the baseline is shown, groups have no beliefs to compare."""
    return (
        "groups are not compared, because nothing that was learned explains the portfolios as well "
        "as the implied returns of the average one."
    )


def group_name(value: Any) -> str:
    """A value of an attribute as the name of a group; an interval of numbers in words.

    >>> import pandas as pd
    >>> group_name("growth"), group_name(pd.Interval(24.999, 40.0))
    ('growth', 'above 25 to 40')
    """
    if hasattr(value, "left") and hasattr(value, "right"):
        return f"above {value.left:.4g} to {value.right:.4g}"
    return str(value)


def cut_at_quartiles(by: str) -> str:
    """Numbers with many values."""
    return f"{by} is a number with many values; groups are its quarters."


def taken_by_period(by: str, step: str) -> str:
    """Dates by their year or quarter."""
    return f"Groups by {by} are made by {step}."


def some_not_given(by: str, count: int) -> str:
    """Missing values are a group."""
    if count == 1:
        return f"1 portfolio has no {by}; it is a group of its own, {NOT_GIVEN!r}."
    return f"{count:,} portfolios have no {by}; they are a group of their own, {NOT_GIVEN!r}."


def too_few_note(names: Sequence[str], least: int) -> str:
    """Groups that are not compared."""
    have, are = ("has", "is") if len(names) == 1 else ("have", "are")
    return (
        f"{some(list(names), NAMED)} {have} fewer than {least} investors who tell something of "
        f"beliefs, and {are} not compared."
    )


def set_aside_note(name: str, aside: int, total: int) -> str:
    """A group that trimming took much of.

    Args:
        name: of the group.
        aside: how many of its portfolios were set aside.
        total: how many it has.
    """
    return (
        f"{aside:,} of {total:,} portfolios of {name} were set aside as unlike those that one "
        "frontier explains, and say nothing here; without trimming they would take part."
    )


def apart_note(name: str, counted: int, total: int) -> str:
    """A group whose portfolios the estimate for all does not explain, and which are alike.

    Args:
        name: of the group.
        counted: how many of its portfolios the estimate for all set aside and this one counts.
        total: how many it has.
    """
    return (
        f"{counted:,} of {total:,} portfolios of {name} are unlike those that the estimate for all "
        "explains and were set aside from it; they are alike among themselves, and count here."
    )


def lost_sentence(groups: Sequence[str], p_value: float) -> str:
    """What can be said where much of a group takes no part and the rest does not differ.

    Args:
        groups: of which more than a quarter of the portfolios was set aside.
        p_value: of no difference among those who take part.

    >>> lost_sentence(["income"], 0.4)
    'Whether the groups differ is open: much of income was set aside as unlike the portfolios that \
one frontier explains, and the rest differs by no more than chance would give (p = 0.40).'
    """
    return (
        f"Whether the groups differ is open: much of {some(list(groups), NAMED)} was set aside as "
        "unlike the portfolios that one frontier explains, and the rest differs by no more than "
        f"chance would give (p = {p_value:.2f})."
    )


def difference_sentence(p_value: float, in_time: bool, overall: float) -> str:
    """Whether groups differ at all.

    Args:
        p_value: of no difference.
        in_time: whether groups are periods.
        overall: standard deviation between groups beyond chance, yearly return.
    """
    p = f"p = {p_value:.3f}" if p_value < 0.1 else f"p = {p_value:.2f}"
    if p_value > CHANCE:
        what = "Beliefs did not move" if in_time else "The groups do not differ"
        return f"{what} by more than chance would give ({p})."
    what = "Beliefs moved" if in_time else "The groups differ in what they believe"
    found = f"{what}, by more than chance would give ({p})"
    if overall <= 0.0:
        return f"{found}."
    each = "periods" if in_time else "groups"
    return (
        f"{found}; between {each} an expected return varies by {percent(overall)} a year "
        "(standard deviation, average asset)."
    )


def asset_sentence(
    column: str, asset: str, groups: Sequence[tuple[str, float]], in_time: bool
) -> str:
    """What groups believe of one asset.

    Args:
        column: what groups are made by.
        asset: its name.
        groups: names and yearly returns, in order.
        in_time: whether groups are periods.

    >>> asset_sentence("segment", "Bonds", [("growth", 0.021), ("income", 0.034)], False)
    'By segment they differ in what they expect of Bonds: income 3.40%, growth 2.10%.'
    """
    if in_time:
        (first, begin), (last, end) = groups[0], groups[-1]
        way = "rose" if end > begin else "fell"
        ends = f"{percent(begin)} ({first}) to {percent(end)} ({last})"
        return f"What is expected of {asset} {way} from {ends}."
    ranked = sorted(groups, key=lambda one: -one[1])
    shown = ranked if len(ranked) <= NAMED else [*ranked[:2], *ranked[-2:]]
    list_ = ", ".join(f"{name} {percent(value)}" for name, value in shown)
    between = " (highest and lowest)" if len(ranked) > NAMED else ""
    return f"By {column} they differ in what they expect of {asset}{between}: {list_}."


def more_assets(assets: Sequence[str]) -> str:
    """Assets in which groups differ less."""
    return f"Less so, but by more than chance, also of {some(list(assets), NAMED)}."


def caveat(anchors: bool) -> str:
    """What such returns rest on."""
    fixed = (
        "given the anchors, of which all groups are taken to believe the same"
        if anchors
        else "at the same mean and spread for all groups, because the anchors do not lie in what "
        "all of them hold"
    )
    return (
        f"Returns of groups are {fixed}. Investors are compared with others of like boldness, so "
        "that groups which only take more risk do not seem to believe something else."
    )


def not_compared(assets: Sequence[str]) -> str:
    """Assets of which the portfolios tell no return, so that groups have none to compare.

    Args:
        assets: their names.
    """
    return (
        f"Not compared, as the portfolios tell no return of {'them' if len(assets) > 1 else 'it'}: "
        f"{some(list(assets), NAMED)}."
    )
