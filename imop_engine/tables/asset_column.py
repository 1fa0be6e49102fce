"""Which column of a long table names the asset of each row, where several hold assets' names.

A benchmark, a style or a client's largest position may be called as an asset is, and so may a
client. A file with a column of numbers for two or more assets is no long table, whatever else names
assets in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from imop_engine.tables import words
from imop_engine.tables.cells import CellColumn, CellTable
from imop_engine.tables.history_layout import LONG, MOSTLY, repeats
from imop_engine.tables.numbers import Numbers

# Different names looked at to tell whether a column names assets.
DISTINCT_NAMES: Final = 1000
# Columns of numbers called as assets are, from which on a row holds a whole portfolio.
FEWEST_HOLDINGS: Final = 2
# Of different names so many are those of assets, in a column that names them.
NAMES_ASSETS: Final = 0.5
ISIN: Final = r"^[A-Z]{2}[A-Z0-9]{9}[0-9]$"
# Words for assets that a person, an account or a plan may have as well.
VAGUE: Final = frozenset(["name", "holding", "position", "product"])


def find_asset_column(
    table: CellTable,
    numbers: Mapping[str, Numbers],
    taken: Mapping[str, str],
    assets: Sequence[str] | None,
    layout: str,
) -> str | None:
    """The column that names the asset of each row; None where there is none.

    Args:
        table: The file's cells by column.
        numbers: Each column read as numbers, by name.
        taken: Roles that are known already, by column.
        assets: Those of the history; None where it is not known.
        layout: Auto or long.

    Returns:
        The column's name.
    """
    texts = [
        column
        for column in table.columns
        if column.name not in taken and column.filled.any() and numbers[column.name].share < MOSTLY
    ]
    hits = [column for column in texts if _names_assets(column, assets or ())]
    likely = [column for column in hits if not words.says(column.name, words.BESIDE_ASSET)]
    if likely:
        return _best(table, likely, taken)
    named = _by_name(table, numbers, texts, taken, layout)
    if named is not None:
        return named
    isins = next((column.name for column in texts if _are_isins(column)), None)
    return isins or next((column.name for column in hits), None)


def _names_assets(column: CellColumn, assets: Sequence[str]) -> bool:
    """Whether half of the names are those of assets, or half of the assets are there."""
    if not assets:
        return False
    known = pa.array([words.key(asset) for asset in assets])
    distinct = pc.unique(column.strings).slice(0, DISTINCT_NAMES).to_pylist()
    keys = pa.array([words.key(word) for word in distinct])
    found = int(pc.sum(pc.is_in(keys, value_set=known)).as_py() or 0)
    return found >= max(1, NAMES_ASSETS * min(len(distinct), len(assets)))


def _best(table: CellTable, likely: list[CellColumn], taken: Mapping[str, str]) -> str:
    """Of columns that name assets the one called so; then one that names each once to an owner."""
    if len(likely) == 1:
        return likely[0].name
    owners = [
        column
        for column in table.columns
        if taken.get(column.name) in ("investor", "date")
        or (words.says(column.name, words.INVESTOR) and column not in likely)
    ]

    def doubts(column: CellColumn) -> tuple[bool, bool, bool]:
        return (
            words.says(column.name, words.INVESTOR),
            not words.says(column.name, words.ASSET),
            not _once_each(table, [*owners, column]),
        )

    return min(likely, key=doubts).name


def _once_each(table: CellTable, columns: list[CellColumn]) -> bool:
    names = [str(number) for number in range(len(columns))]
    cells = pa.table([column.strings for column in columns], names=names)
    return bool(cells.group_by(names).aggregate([]).num_rows == len(table))


def _by_name(
    table: CellTable,
    numbers: Mapping[str, Numbers],
    texts: list[CellColumn],
    taken: Mapping[str, str],
    layout: str,
) -> str | None:
    """The column that is called an asset, where something else too says that the table is long."""
    repeated = any(
        words.says(column.name, words.INVESTOR) and repeats(column)
        for column in table.columns
        if column.name not in taken
    )
    valued = any(
        words.says(name, words.WEIGHT | words.AMOUNT | words.SHARES) and one.share >= MOSTLY
        for name, one in numbers.items()
    )
    plain = words.ASSET - VAGUE
    for vocabulary in (plain, words.ASSET):
        for column in texts:
            only = words.says(column.name, vocabulary) and not words.says(
                column.name, words.INVESTOR | words.GROUPING | words.BESIDE_ASSET
            )
            # Ids that come again, or a column called weight or amount, make a table long.
            if only and (repeated or layout == LONG or (valued and vocabulary is plain)):
                return column.name
    return None


def _are_isins(column: CellColumn) -> bool:
    """Whether most cells are international securities numbers, which nothing else looks like."""
    cells = column.strings.filter(pa.array(np.asarray(column.filled)))
    return bool((pc.mean(pc.match_substring_regex(cells, ISIN)).as_py() or 0.0) >= MOSTLY)
