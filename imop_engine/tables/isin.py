"""International securities numbers: whether the last digit fits the others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from imop_engine.sentences.numbers import some
from imop_engine.tables.reading_report import KEPT, Notes

ISIN: Final = re.compile(r"^[A-Z]{2}[A-Z0-9]{9}[0-9]$")
NAMED: Final = 3  # in a sentence


def check_digit(number: str) -> int:
    """The last digit that the first eleven characters ask for.

    >>> check_digit("IE00B4L5Y983"), check_digit("US0378331005")
    (3, 5)
    """
    digits = "".join(str(int(letter, 36)) for letter in number[:11])
    doubled = (int(digit) * (2 - place % 2) for place, digit in enumerate(reversed(digits)))
    return -sum(value // 10 + value % 10 for value in doubled) % 10


def is_mistyped(name: str) -> bool:
    """Whether a name has the form of an ISIN, but its last digit does not fit.

    >>> is_mistyped("IE00B4L5Y984"), is_mistyped("IE00B4L5Y983"), is_mistyped("World")
    (True, False, False)
    """
    return bool(ISIN.match(name)) and check_digit(name) != int(name[-1])


def note_mistyped(names: Sequence[str], assets: Sequence[str], notes: Notes) -> None:
    """Say which identifiers without a history are mistyped, and what they may have been.

    Args:
        names: What has no history.
        assets: Those of the history.
        notes: Collects what was noticed, changed or refused.
    """
    wrong = [name for name in names if is_mistyped(name)]
    if not wrong:
        return
    said = [
        f"{name}{f', perhaps {near}' if (near := _nearest(name, assets)) else ''}" for name in wrong
    ]
    notes.add(
        f"the last digit does not fit the others, so an ISIN is mistyped: {some(said, NAMED)}",
        KEPT,
        "correct the identifier",
        needs=True,
    )


def _nearest(name: str, assets: Sequence[str]) -> str | None:
    """The asset that differs in one character, or in two neighbours that changed places."""
    for asset in assets:
        if len(asset) != len(name):
            continue
        other = [place for place in range(len(name)) if asset[place] != name[place]]
        swapped = len(other) == 2 and other[1] == other[0] + 1
        swapped = (
            swapped and asset[other[0]] == name[other[1]] and asset[other[1]] == name[other[0]]
        )
        if len(other) == 1 or swapped:
            return asset
    return None
