"""A map of identifiers: ISIN, ticker, name, and whatever else somebody calls an asset.

A table with a row for each asset. One column is what people call it; every other column that names
it (and does not group it) is another way to say the same. History and portfolios may then use
different ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import pyarrow as pa

from imop_engine import gate
from imop_engine.errors import UnreadableFile
from imop_engine.tables import words
from imop_engine.tables.cells import CellColumn, CellTable, text_column
from imop_engine.tables.history_layout import repeats
from imop_engine.tables.open_table import Source, load_table
from imop_engine.tables.reading_limits import DEFAULT_LIMITS, ReadingLimits
from imop_engine.tables.reading_report import KEPT, NOTHING, Notes

# What the column is called by which people know an asset.
LABEL: Final = words.vocabulary(
    "name names label bezeichnung titel libellé nom nombre nome naam description"
)
# Different cells of a column that are looked up before it is taken to name assets.
CELLS_ASKED: Final = 1000
# The share of them that the map must know.
KNOWN_SHARE: Final = 0.5


@dataclass(frozen=True)
class AssetMap:
    """What each identifier stands for: labels by the key of any spelling."""

    labels: Mapping[str, str] = field(default_factory=dict)
    file: str = ""

    def label(self, identifier: str) -> str:
        """What people call the asset; the identifier itself where the map does not know it.

        >>> AssetMap({"ie00b4l5y983": "World"}).label("IE00 B4L5 Y983")
        'World'
        """
        return self.labels.get(words.key(identifier), identifier)

    def knows(self, identifier: str) -> bool:
        """Whether the identifier is in the map."""
        return words.key(identifier) in self.labels


@gate.public("imop_engine.tables")
def read_asset_map(
    source: Source, *, name: str | None = None, limits: ReadingLimits = DEFAULT_LIMITS
) -> AssetMap:
    """Read a map of identifiers.

    Args:
        source: A path, bytes, an open file or a data frame.
        name: What the file is called in sentences.
        limits: What a file may hold at most.

    >>> read_asset_map(b"ISIN,Ticker,Name\\nIE00B4L5Y983,IWDA,World\\n").label("iwda")
    'World'
    """
    table = load_table(source, name=name, limits=limits)
    columns = [
        column
        for column in table.columns
        if column.filled.any() and not words.says(column.name, words.GROUPING | words.CURRENCY)
    ]
    if not len(table) or not columns:
        raise UnreadableFile(
            f"{table.file} names no assets; give a row for each asset and a column for each "
            "identifier."
        )
    called = next((one for one in columns if words.says(one.name, LABEL)), columns[0])
    return AssetMap(_labels(table, columns, called), table.file)


def _labels(table: CellTable, columns: list[CellColumn], called: CellColumn) -> dict[str, str]:
    labels: dict[str, str] = {}
    names = called.strings.to_pylist()
    for column in columns:
        if column is not called and repeats(column) and not words.says(column.name, words.ASSET):
            continue  # what several assets share groups them, whatever it is called
        for place, cell in enumerate(column.strings.to_pylist()):
            if not cell or not names[place]:
                continue
            other = labels.setdefault(words.key(cell), names[place])
            if other != names[place]:
                raise UnreadableFile(
                    f"{table.file}, row {table.rows[place]}, column {column.name}: {cell} stands "
                    f"for {other} and for {names[place]}; remove one of them."
                )
    return labels


def relabelled(table: CellTable, known: AssetMap, notes: Notes) -> CellTable:
    """Call assets by their labels: as names of columns, and in the column that names them.

    Args:
        table: The file's cells by column.
        known: The map.
        notes: Collects what was noticed, changed or refused.
    """
    if not known.labels:
        return table
    columns = tuple(
        column.renamed(known.label(column.name)) if known.knows(column.name) else column
        for column in table.columns
    )
    names = [column.name for column in columns]
    if len(set(names)) < len(names):
        columns = table.columns  # two columns of one asset are for the reader to complain about
    renamed = sum(new.name != old.name for new, old in zip(columns, table.columns, strict=True))
    shares = [_share(column, known) for column in columns]
    best = max(range(len(shares)), key=shares.__getitem__, default=0)
    if shares and shares[best] >= KNOWN_SHARE:
        columns = (*columns[:best], _called(columns[best], known), *columns[best + 1 :])
        renamed += 1
    if not renamed:
        return table
    notes.add(f"assets are called as in {known.file}", KEPT, NOTHING)
    return replace(table, columns=columns)


def _share(column: CellColumn, known: AssetMap) -> float:
    if column.text is None:
        return 0.0
    distinct = [cell for cell in column.strings.unique().to_pylist()[:CELLS_ASKED] if cell]
    return sum(map(known.knows, distinct)) / len(distinct) if distinct else 0.0


def _called(column: CellColumn, known: AssetMap) -> CellColumn:
    coded = column.strings.dictionary_encode()
    labels = pa.array([known.label(str(cell)) for cell in coded.dictionary.to_pylist()])
    return text_column(column.name, labels.take(coded.indices))
