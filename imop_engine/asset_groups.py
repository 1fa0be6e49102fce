"""Groups of assets that limits can name: sectors, classes, regions, whatever a column says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from imop_engine.errors import InvalidInput


@dataclass(frozen=True)
class AssetGroups:
    """Which assets belong together, by columns: {"sector": {"Technology": ("AAPL", "MSFT")}}.

    Args:
        columns: groups by column, assets by group.

    >>> groups = AssetGroups.of({"sector": {"AAPL": "Technology", "KO": "Staples"}})
    >>> groups.members("sector", "Technology")
    ('AAPL',)
    >>> groups.written
    ('sector:Technology', 'sector:Staples')
    """

    columns: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)

    @classmethod
    def of(cls, mapping: Mapping[str, Mapping[str, Any]]) -> AssetGroups:
        """Groups from what each column says of each asset.

        Args:
            mapping: {column: {asset: group}}; an asset without a group is in none.
        """
        columns: dict[str, dict[str, tuple[str, ...]]] = {}
        for column, said in mapping.items():
            grouped: dict[str, tuple[str, ...]] = {}
            for asset, group in said.items():
                if group is not None and str(group).strip():
                    name = str(group).strip()
                    grouped[name] = (*grouped.get(name, ()), asset)
            columns[column] = grouped
        return cls(columns)

    @property
    def written(self) -> tuple[str, ...]:
        """Every group as limits name it."""
        return tuple(
            f"{column}:{group}" for column in self.columns for group in self.of_column(column)
        )

    def of_column(self, column: str) -> tuple[str, ...]:
        """The groups of a column."""
        return tuple(self.columns[column])

    def members(self, column: str, group: str) -> tuple[str, ...]:
        """The assets of a group."""
        return self.columns[column][group]

    def on(self, names: Sequence[str]) -> AssetGroups:
        """The groups of these assets alone; groups without any are left out.

        Args:
            names: the assets of a problem.
        """
        kept: dict[str, dict[str, tuple[str, ...]]] = {}
        known = set(names)
        for column, groups in self.columns.items():
            inside = {
                group: tuple(asset for asset in assets if asset in known)
                for group, assets in groups.items()
            }
            inside = {group: assets for group, assets in inside.items() if assets}
            if inside:
                kept[column] = inside
        return AssetGroups(kept)

    def with_columns(self, other: AssetGroups) -> AssetGroups:
        """These and other columns together; a column that both have must not differ."""
        for column in set(self.columns) & set(other.columns):
            if self.columns[column] != other.columns[column]:
                raise InvalidInput(
                    f"two files group assets by {column} and differ; rename that column in one."
                )
        return AssetGroups({**self.columns, **other.columns})
