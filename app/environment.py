"""Whole numbers that whoever starts the app can set by environment variables."""

from __future__ import annotations

import logging
import os

LOG = logging.getLogger("imop")


def chosen_number(name: str, usual: int, least: int) -> int:
    """The number that a variable sets; the usual one, and a line in the log, where it is none.

    Args:
        name: Of the variable.
        usual: What holds where it is not set.
        least: The smallest that may be set.
    """
    given = os.environ.get(name, "").strip()
    if not given:
        return usual
    if given.isascii() and given.isdigit() and int(given) >= least:
        return int(given)
    LOG.warning(
        "%s is %r; give a whole number from %d up. It is taken as %d.", name, given, least, usual
    )
    return usual
