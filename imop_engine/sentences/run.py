"""What went into a run and what it took: files, portfolios set aside, updates, time."""

from __future__ import annotations

from collections.abc import Sequence

from imop_engine.sentences.numbers import some


def rows_sentence(read: int, kept: int, changed: int, refused: int) -> str:
    """What became of the rows of a file.

    Args:
        read: Rows that the file has.
        kept: Rows that were used.
        changed: Rows among these that were not used as they stand.
        refused: Rows that were left out.

    >>> rows_sentence(2438, 135, 38, 2303)
    '2,438 rows read: 135 used (38 of them not as they stand), 2,303 left out.'
    """
    how = f" ({changed:,} of them not as they stand)" if changed else ""
    out = f"{refused:,}" if refused else "none"
    return f"{read:,} rows read: {kept:,} used{how}, {out} left out."


def done_sentence(things: int, rows: int) -> str:
    """How much reading settled by itself; "" where there was nothing to settle.

    Args:
        things: Different reasons.
        rows: Rows that they concern, 0 where it was the file as a whole.

    >>> done_sentence(1, 0), done_sentence(3, 4181)
    ('1 thing was done for you.', '3 things were done for you, in 4,181 rows.')
    """
    if not things:
        return ""
    counted = "1 thing was" if things == 1 else f"{things:,} things were"
    where = "" if not rows else ", in 1 row" if rows == 1 else f", in {rows:,} rows"
    return f"{counted} done for you{where}."


def absent_columns(names: Sequence[str]) -> str:
    """Assets for which the portfolios have no column."""
    return f"The portfolios have no column for {some(names, 5)}: counted as not held."


def lead(assets: int, investors: int) -> str:
    """What a report is about."""
    return (
        f"The expected returns of {assets} assets, read from the portfolios of "
        f"{investors:,} investors."
    )


def method(refined: bool, loss: str, differ: bool, anchors: int) -> str:
    """How the returns were learned.

    Args:
        refined: Whether all portfolios were fitted together at the end.
        loss: What each portfolio made smaller: its "distance" to the frontier, or ("efficiency")
            the return that it leaves on the table.
        differ: Whether investors are taken to have beliefs of their own around the common ones.
        anchors: How many returns are taken as known.
    """
    aim = {
        "distance": "that the efficient frontier they span comes closer to what was held",
        "efficiency": "that what was held leaves less return on the table at its own risk",
    }[loss]
    beliefs = "and all of them to believe in the same expected returns"
    if differ:
        beliefs = "with beliefs that differ around expected returns that all share"
    fixed = {0: "", 1: ", of which one known return (the anchor) fixes one"}.get(
        anchors, ", so two known returns (the anchors) fix both"
    )
    then = ", and at the end fitted to all portfolios together" if refined else ""
    return (
        "Investors are each taken to choose the portfolio that weighs expected return against risk "
        f"in a way of their own, {beliefs}. Portfolio by "
        f"portfolio the believed returns were moved as little as possible so {aim}, each move "
        f"solved to its global optimum{then}. Holdings do not tell the level of all "
        f"returns nor how far they are apart{fixed}, and what nobody holds is bounded, not "
        "estimated."
    )


def took_no_part(refused: int, portfolios: int, shown: int) -> str:
    """How many portfolios were set aside, before a list of the first of them.

    Args:
        refused: How many were.
        portfolios: How many came in.
        shown: How many the list has at most.
    """
    first = ", the first of them" if refused > shown else ""
    return f"{refused:,} of {portfolios:,} portfolios took no part{first}:"


def took_no_part_short(refused: int) -> str:
    """The same for the shell's line."""
    return f"{refused:,} portfolios took no part; investors.csv says why."


def more_remarks(count: int) -> str:
    """Remarks on files that are not printed."""
    return f"{count} more remarks on the files are in the report."


def steps_proven(updates: int, certified: float) -> str:
    """How many learning steps were proven to be the best possible.

    Args:
        updates: How many there were.
        certified: The fraction of them that were proven.
    """
    return (
        f"{updates:,} learning steps; {certified:.1%} of them are proven to be the best possible "
        "step (certified). That says nothing about how well the portfolios are explained."
    )


def effort(updates: int, certified: float, seconds: float) -> str:
    """What a run took.

    Args:
        updates: How many updates of the estimate there were.
        certified: The fraction of them that were proven globally optimal.
        seconds: How long all took.
    """
    return (
        f"{updates:,} updates, {certified:.1%} of them proven globally optimal, in "
        f"{seconds:.1f} seconds."
    )
