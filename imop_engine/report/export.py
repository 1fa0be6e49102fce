"""Tables as files that are safe to open in a spreadsheet."""

from __future__ import annotations

from typing import Final

import pandas as pd

# A spreadsheet runs a text cell that starts with one of these as a formula. An apostrophe in
# front is the spreadsheets' own way to say "this is text".
FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")


def safe_text(value: str) -> str:
    """The text, with an apostrophe in front if a spreadsheet would run it.

    >>> safe_text("=1+1"), safe_text("Security 1")
    ("'=1+1", 'Security 1')
    """
    return "'" + value if value.startswith(FORMULA_STARTS) else value


def csv_text(table: pd.DataFrame) -> str:
    """The table as CSV. Text cells and headings are made safe; numbers keep every digit."""
    safe = table.rename(columns=lambda name: safe_text(str(name)))
    text_columns = [name for name in safe if not pd.api.types.is_numeric_dtype(safe[name])]
    for name in text_columns:
        safe[name] = safe[name].map(lambda cell: safe_text(cell) if isinstance(cell, str) else cell)
    return str(safe.to_csv(index=False, lineterminator="\n"))
