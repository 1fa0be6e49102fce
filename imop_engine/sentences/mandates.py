"""What is said of investors under different limits."""

from __future__ import annotations

from imop_engine.sentences.numbers import percent


def disagreeing(asset: str, probability: float) -> str:
    """A return that differs between mandates by more than chance.

    Args:
        asset: its name.
        probability: of so large differences by chance.
    """
    return (
        f"What investors believe of {asset} differs between mandates by more than chance gives "
        f"(probability {probability:.1g}): a limit may be missing from one of them, or beliefs "
        "differ. Look at the mandates one by one."
    )


def apart_together(probability: float, apart: float) -> str:
    """What mandates say does not agree, all that several of them know taken together.

    Args:
        probability: of so large differences by chance.
        apart: standard deviation of beliefs between mandates that would explain them, a year.
    """
    return (
        "What the mandates say does not agree by more than chance gives (probability "
        f"{probability:.1g}): as if beliefs differed between them by {percent(apart)}. The "
        "intervals of all mandates together include that. A limit may be missing from one of "
        "them; look at the mandates one by one."
    )


def missing(mandates: list[str], column: str, where: str = "") -> str:
    """Labels in the column that no mandate is given for.

    Args:
        mandates: the labels.
        column: where they stand.
        where: the file that mandates are read from; "" where they are an argument in Python.

    >>> missing(["calm"], "segment", "mandates.csv")
    "column 'segment' names 'calm', for which mandates.csv has no mandate; give it a row for each \
limit, or one row with an empty limit where it has none."
    """
    named = f"column {column!r} names {', '.join(map(repr, mandates))}"
    if where:
        return (
            f"{named}, for which {where} has no mandate; give it a row for each limit, or one row "
            "with an empty limit where it has none."
        )
    return f"{named}, for which no mandate is given; give its limits, or {{}} where it has none."


def at_cap(cap: float) -> str:
    """The name of a mandate of investors at the same cap.

    Args:
        cap: a fraction of wealth.

    >>> at_cap(0.375)
    'cap of 37.5%'
    """
    return f"cap of {100 * cap:.10g}%"


def rare_cap(mandate: str, least: int) -> str:
    """Why an investor at a cap of the investor's own takes no part.

    Args:
        mandate: the name of the cap.
        least: how many must share a cap.
    """
    return (
        f"is at a {mandate}, which fewer than {least} investors share: what is held there says "
        "what the cap is, and too few hold it to tell beliefs from"
    )


def all_at_rare_caps(column: str, count: int, least: int) -> str:
    """Nobody is left to learn from.

    Args:
        column: of the caps.
        count: how many investors are at a cap of their own.
        least: how many must share a cap.
    """
    return (
        f"all {count:,} investors are at the cap that column {column!r} gives them, and fewer "
        f"than {least} share any; there is nobody to learn from. Check the column: a cap is the "
        "most that an investor may hold of one asset, as 40% or 0.4."
    )


def no_column(column: str, known: list[str]) -> str:
    """A column of caps that is not there.

    Args:
        column: what was asked for.
        known: the columns there are.
    """
    return (
        f"there is no column {column!r} with the investors' caps; the columns are "
        f"{', '.join(known) or 'none'}."
    )


def no_cap(column: str, investor: str, text: str) -> str:
    """A cell that is no cap.

    Args:
        column: of the caps.
        investor: whose it is.
        text: the cell.
    """
    return (
        f"{text!r} in column {column!r} of investor {investor} is no cap; write it as 40% or 0.4, "
        "or leave it empty where there is none."
    )
