"""A score of each asset from a table: sustainability, liquidity, yield, or whatever a column says.

Whoever asks for scores has a market already, so the column of names is the one with most of its
assets, and cells are matched as everywhere: letters and digits, case aside.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from imop_engine.errors import UnreadableFile
from imop_engine.tables import words
from imop_engine.tables.cells import CellColumn, CellTable
from imop_engine.tables.history_layout import MOSTLY, read_all_numbers, separator_of
from imop_engine.tables.numbers import Numbers
from imop_engine.tables.open_table import Source, load_table
from imop_engine.tables.reading_limits import DEFAULT_LIMITS, ReadingLimits
from imop_engine.tables.reading_report import Notes

SCORE = words.vocabulary(
    """
    score scores scoring esg rating sustainability sustainable liquidity yield impact grade
    nachhaltigkeit durabilité sostenibilidad sostenibilità liquidität
    """
)


def read_scores(
    source: Source,
    names: Sequence[str],
    *,
    name: str | None = None,
    decimal: str = "auto",
    limits: ReadingLimits = DEFAULT_LIMITS,
) -> dict[str, float]:
    """Read a score for assets of a market; more is better.

    Args:
        source: A path, bytes, an open file or a data frame: a row for each asset, with its name
            and its score.
        names: The assets of the market; others are left out.
        name: What the file is called in sentences.
        decimal: Auto, point or comma.
        limits: What a file may hold at most.

    Returns:
        The score of each asset that the table has a number for, in the market's order. A percent
        sign counts as hundredths.

    >>> read_scores(b"ticker;ESG score\\nKO;7,5\\nAAPL;6\\nOLD;1\\n", ["AAPL", "KO"])
    {'AAPL': 6.0, 'KO': 7.5}
    """
    table = load_table(source, name=name, limits=limits)
    known = {words.key(one): one for one in reversed(names)}
    called = _asset_column(table, known)
    if called is None:
        raise UnreadableFile(
            f"{table.file} names none of the assets ({', '.join(names[:3])}, ...); give a row for "
            "each asset: its name, then its score."
        )
    column, numbers = _score_column(table, called, decimal)
    assets = [known.get(words.key(cell)) for cell in called.strings.to_pylist()]
    found: dict[str, float] = {}
    for place, asset in enumerate(assets):
        if asset is None or not column.show([place])[0].strip():
            continue
        value = float(numbers.values[place])
        if not np.isfinite(value):
            raise UnreadableFile(
                f"{table.file}, row {table.rows[place]}, column {column.name}: "
                f"{column.show([place])[0]} is not a number; write the score of {asset} as one."
            )
        if found.setdefault(asset, value) != value:
            raise UnreadableFile(
                f"{table.file}, row {table.rows[place]}: {asset} has the score {value:g}, and "
                f"{found[asset]:g} in a row above; keep one of them."
            )
    return {asset: found[asset] for asset in names if asset in found}


def _asset_column(table: CellTable, known: dict[str, str]) -> CellColumn | None:
    """The column with most of the market's assets."""
    counts = [
        len({words.key(cell) for cell in one.strings.to_pylist() if cell} & set(known))
        for one in table.columns
    ]
    best = int(np.argmax(counts)) if counts else 0
    return table.columns[best] if counts and counts[best] else None


def _score_column(table: CellTable, called: CellColumn, decimal: str) -> tuple[CellColumn, Numbers]:
    """The one column of numbers, or the one that says that it is a score."""
    notes = Notes(table.file)
    numbers = read_all_numbers(table.columns, decimal, separator_of(table), {}, notes)
    others = [one for one in table.columns if one is not called and one.filled.any()]
    says = [one for one in others if words.says(one.name, SCORE)]
    numeric = [one for one in others if numbers[one.name].share >= MOSTLY]
    chosen = says if len(says) == 1 else [one for one in says if one in numeric] or numeric
    if len(chosen) != 1:
        listed = ", ".join(one.name for one in chosen) or "none"
        raise UnreadableFile(
            f"{table.file}: one column of scores is needed, found: {listed}; keep the assets' "
            "names and one column of numbers called score."
        )
    return chosen[0], numbers[chosen[0].name]
