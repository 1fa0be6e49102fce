"""A score for each asset, from a table with a row for each: sustainability, liquidity, yield.

Any file the project reads; the column of scores is named, or is the one that says so, or the only
one with numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from imop_engine.errors import UnreadableFile
from imop_engine.tables import words
from imop_engine.tables.cells import CellColumn, CellTable
from imop_engine.tables.group_table import asset_column
from imop_engine.tables.history_layout import MOSTLY, read_all_numbers, separator_of
from imop_engine.tables.numbers import Numbers
from imop_engine.tables.open_table import Source, load_table
from imop_engine.tables.reading_limits import DEFAULT_LIMITS, ReadingLimits
from imop_engine.tables.reading_report import Notes

SCORE: Final = words.vocabulary(
    "score scores esg rating sustainability liquidity yield note nachhaltigkeit liquidität "
    "rendite durabilité liquidité rendement puntuación sostenibilidad liquidez"
)
NAMED: Final = 5  # assets without a score that are named in an error


def read_scores(
    source: Source,
    names: Sequence[str],
    *,
    column: str | None = None,
    name: str | None = None,
    limits: ReadingLimits = DEFAULT_LIMITS,
) -> tuple[float, ...]:
    """Read the score of each asset.

    Args:
        source: A path, bytes, an open file or a data frame.
        names: The assets, in the order of the answer; others in the file are left out.
        column: Which column has the scores; None finds it.
        name: What the file is called in sentences.
        limits: What a file may hold at most.

    Returns:
        One number for each of the assets; 10% is 0.1.

    >>> read_scores(b"asset;score\\nA;0,5\\nB;1\\n", ("B", "A"))
    (1.0, 0.5)
    """
    table = load_table(source, name=name, limits=limits)
    filled = [one for one in table.columns if one.filled.any()]
    known = {words.key(one): one for one in reversed(names)}
    called = asset_column(filled, known)
    if called is None:
        raise UnreadableFile(
            f"{table.file} names none of the assets, as {', '.join(names[:3])}; it needs a row for "
            "each: its name, then its score."
        )
    numbers = read_all_numbers(table.columns, "auto", separator_of(table), {}, Notes(table.file))
    chosen = _score_column(table, called, numbers, column)
    found: dict[str, tuple[float, int]] = {}
    for place, cell in enumerate(called.strings.to_pylist()):
        asset = known.get(words.key(cell or ""))
        if asset is None:
            continue
        value = float(numbers[chosen.name].values[place])
        if not np.isfinite(value):
            shown = chosen.show([place])[0]
            raise UnreadableFile(
                f"{table.file}, row {table.rows[place]}, column {chosen.name}: the score of "
                f"{asset} is {repr(shown) if shown else 'missing'}; write a number."
            )
        if asset in found:
            raise UnreadableFile(
                f"{table.file}, row {table.rows[place]}: {asset} is there twice, first in row "
                f"{found[asset][1]}; remove one row."
            )
        found[asset] = value, int(table.rows[place])
    missing = [one for one in names if one not in found]
    if missing:
        raise UnreadableFile(
            f"{table.file} has no score for {', '.join(missing[:NAMED])}; it needs a row for each "
            f"of the {len(names)} assets: its name, then its score."
        )
    return tuple(found[one][0] for one in names)


def _score_column(
    table: CellTable, called: CellColumn, numbers: dict[str, Numbers], column: str | None
) -> CellColumn:
    """The column that is asked for, the one that says it has scores, or the only numbers."""
    others = [one for one in table.columns if one is not called and one.filled.any()]
    listed = ", ".join(one.name for one in others) or "none"
    if column is not None:
        found = [one for one in others if words.key(one.name) == words.key(column)]
        if not found:
            raise UnreadableFile(
                f"{table.file} has no column {column}; beside the assets there are: {listed}."
            )
        return found[0]
    counted = [one for one in others if numbers[one.name].share >= MOSTLY]
    saying = [one for one in counted or others if words.says(one.name, SCORE)]
    chosen = saying or counted or (others if len(others) == 1 else [])
    if len(chosen) != 1:
        raise UnreadableFile(
            f"{table.file}: one column of scores is needed, found: {listed}. Name it, as "
            "--score-column NAME in the shell and column= in Python."
        )
    return chosen[0]
