"""Which assets belong together: a table of asset, sector, class, region, or whatever columns say.

The same table may be the map of identifiers, a long history or a list of holdings: rows that repeat
an asset are one. A wide history may have its groups in rows below the names, called by their first
cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from imop_engine.asset_groups import AssetGroups
from imop_engine.errors import UnreadableFile
from imop_engine.tables import words
from imop_engine.tables.asset_map import LABEL
from imop_engine.tables.cells import CellColumn, CellTable
from imop_engine.tables.history_layout import repeats
from imop_engine.tables.open_table import Source, load_table
from imop_engine.tables.reading_limits import DEFAULT_LIMITS, ReadingLimits

# A column that is not called a group is one where it has at most this share of different cells.
FEW: Final = 0.8
A_FEW: Final = 5  # or words, and no more different ones than these
# Rows below the names of a wide history in which groups may stand.
ROWS_BELOW_NAMES: Final = 20


def read_asset_groups(
    source: Source,
    names: Sequence[str] = (),
    *,
    name: str | None = None,
    limits: ReadingLimits = DEFAULT_LIMITS,
) -> AssetGroups:
    """Read which assets belong together.

    Args:
        source: A path, bytes, an open file or a data frame.
        names: The assets of the market, which the groups then speak of; none keeps the file's.
        name: What the file is called in sentences.
        limits: What a file may hold at most.

    Returns:
        Groups by column; assets that the market does not have are left out.

    >>> read_asset_groups(b"ticker,sector\\nAAPL,Technology\\nKO,Staples\\n").written
    ('sector:Technology', 'sector:Staples')
    """
    table = load_table(source, name=name, limits=limits)
    found = _by_rows(table, names) or _by_columns(table, names)
    if not found:
        known = f", as {', '.join(names[:3])}" if names else ""
        raise UnreadableFile(
            f"{table.file} groups no assets{known}; give a row for each asset, with a column that "
            "names it and a column for each grouping, sector say."
        )
    return AssetGroups.of(found)


def _by_rows(table: CellTable, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """A row for each asset, or several that agree."""
    columns = [column for column in table.columns if column.filled.any()]
    known = {words.key(name): name for name in reversed(names)}
    called = asset_column(columns, known)
    if called is None:
        return {}
    cells = called.strings.to_pylist()
    assets = [known.get(words.key(cell)) if known else cell for cell in cells]
    return {
        column.name: _agreed(table, assets, column)
        for column in columns
        if column is not called and _groups(column, len(set(cells)))
    }


def asset_column(columns: list[CellColumn], known: dict[str, str]) -> CellColumn | None:
    """The column that names assets: the one with most of those that are known, else by its name.

    Args:
        columns: Of the table.
        known: The market's assets by the key of their names; none asks the columns' names.
    """
    if known:
        found = {
            place: len(
                {words.key(cell) for cell in column.strings.unique().to_pylist()} & set(known)
            )
            for place, column in enumerate(columns)
        }
        best = max(found, key=lambda place: found[place], default=0)
        return columns[best] if found.get(best) else None
    by_name = [one for one in columns if words.says(one.name, words.ASSET)]
    by_name += [one for one in columns if words.says(one.name, LABEL)]
    return next(iter([*by_name, *columns]), None)


def _groups(column: CellColumn, assets: int) -> bool:
    """Whether a column groups assets: it says so, or few of its cells differ."""
    if words.says(column.name, words.GROUPING):
        return True
    if column.times is not None or words.says(column.name, words.ASSET | words.DATE | LABEL):
        return False
    different = len(column.strings.unique())
    are_words = column.plain_numbers is None and column.comma_numbers is None
    if are_words and different <= A_FEW:
        return True
    return repeats(column) and different <= FEW * assets


def _agreed(table: CellTable, assets: Sequence[str | None], column: CellColumn) -> dict[str, str]:
    groups: dict[str, str] = {}
    for place, cell in enumerate(column.strings.to_pylist()):
        asset = assets[place]
        if not cell or not asset:
            continue
        other = groups.setdefault(asset, cell)
        if other != cell:
            raise UnreadableFile(
                f"{table.file}, row {table.rows[place]}: {asset} has the {column.name} {cell}, and "
                f"{other} in a row above; an asset belongs to one group of a column."
            )
    return groups


def _by_columns(table: CellTable, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Rows of groups below the names of a wide table."""
    known = {words.key(name): name for name in reversed(names)}
    assets = {
        column.name: known.get(words.key(column.name)) if known else column.name
        for column in table.columns[1:]
    }
    if not any(assets.values()) or not len(table):
        return {}
    found: dict[str, dict[str, str]] = {}
    for place, title in enumerate(table.columns[0].strings.to_pylist()[:ROWS_BELOW_NAMES]):
        if title and words.says(title, words.GROUPING):
            cells = {name: table[name].show([place])[0] for name in assets}
            found[title] = {
                asset: cells[name] for name, asset in assets.items() if asset and cells[name]
            }
    return found
