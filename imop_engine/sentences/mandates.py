"""What is said of investors under different limits."""

from __future__ import annotations


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


def missing(mandates: list[str], column: str) -> str:
    """Labels in the column that no mandate is given for.

    Args:
        mandates: the labels.
        column: where they stand.
    """
    return (
        f"column {column!r} names {', '.join(map(repr, mandates))}, for which no mandate is given; "
        "give its limits, or {} where it has none."
    )
