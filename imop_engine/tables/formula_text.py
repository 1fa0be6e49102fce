"""Text that a spreadsheet would run as a formula: made safe in CSV, and as it was on the way back.

A spreadsheet runs a text cell that starts with = + - @. An apostrophe in front is its own way to
say "this is text". Text that has the apostrophe already gets one more, so that taking one off
always gives back what was written.
"""

from __future__ import annotations

import math
from typing import Final

FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")
APOSTROPHE: Final = "'"
# As a regular expression: cells that `plain_text` may have to change.
MARKED: Final = r"^'+[=+\-@\t\r]|^=\".*\"$"


def safe_text(value: str) -> str:
    """The text, with an apostrophe in front if a spreadsheet would run it.

    Text that is a number, "-12" say, is no formula and stays as it is.

    >>> safe_text("=1+1"), safe_text("Security 1"), safe_text("-12"), safe_text("'=1")
    ("'=1+1", 'Security 1', '-12', "''=1")
    """
    return APOSTROPHE + value if _would_run(value) else value


def plain_text(value: str) -> str:
    """The inverse of `safe_text`; ="007" is how some write a text that shall stay one.

    >>> plain_text("'=1+1"), plain_text("'tis"), plain_text("''=1"), plain_text('="007"')
    ('=1+1', "'tis", "'=1", '007')
    """
    if value.startswith('="') and value.endswith('"') and len(value) > len('="'):
        return value[2:-1]
    return value[1:] if value.startswith(APOSTROPHE) and _would_run(value) else value


def _would_run(value: str) -> bool:
    """Whether the text is a formula once all apostrophes before it are gone."""
    bare = value.lstrip(APOSTROPHE)
    return bare.startswith(FORMULA_STARTS) and not _is_number(bare)


def _is_number(value: str) -> bool:
    try:
        return math.isfinite(float(value)) and "_" not in value and value == value.strip()
    except ValueError:
        return False
