"""The tables behind the pictures of what groups believe."""

from __future__ import annotations

from typing import Final

import pandas as pd

from imop_engine.inference.groups import Groups

SHOWN: Final = 8  # groups or assets that get a colour of their own


def groups_table(groups: Groups) -> pd.DataFrame:
    """One row for each group and asset as it is exported; the asset's own figures at the end.

    Args:
        groups: of a study.

    Returns:
        The columns of `Groups.table`, then common, between and p_value of the asset.
    """
    return groups.table.merge(groups.assets, on="asset", how="left", sort=False)


def group_dots(groups: Groups) -> pd.DataFrame:
    """What can be drawn: compared groups, the largest if there are many, and what they tell of.

    Args:
        groups: of a study.

    Returns:
        group, investors, asset, estimate, low, high, difference, common, p_value.
    """
    table = groups_table(groups)
    table = table[table["estimate"].notna()]
    sizes = table.drop_duplicates("group").nlargest(SHOWN, "investors")["group"]
    return table[table["group"].isin(sizes)].reset_index(drop=True)


def group_lines(groups: Groups) -> pd.DataFrame:
    """How beliefs moved: the assets that moved most, a row for each period.

    Args:
        groups: of a study, in time.

    Returns:
        period, asset, estimate, low, high, investors.
    """
    table = groups_table(groups)
    table = table[table["estimate"].notna()].rename(columns={"group": "period"})
    moved = table.groupby("asset", sort=False)["estimate"].agg(lambda part: part.max() - part.min())
    kept = moved.nlargest(SHOWN).index
    return table[table["asset"].isin(kept)].reset_index(drop=True)


def group_sizes(groups: Groups) -> pd.DataFrame:
    """group, portfolios, investors, set_aside: one row for each group.

    Args:
        groups: of a study.
    """
    columns = ["group", "portfolios", "investors", "set_aside"]
    return groups.table.drop_duplicates("group")[columns].reset_index(drop=True)


def group_matrix(groups: Groups) -> pd.DataFrame:
    """asset, common, one column for each compared group, between, p_value: yearly returns.

    Args:
        groups: of a study.
    """
    wide = groups.table.pivot_table(
        index="asset", columns="group", values="estimate", sort=False, dropna=False
    )
    told = [name for name in groups.names if name in wide and wide[name].notna().any()]
    table = groups.assets.set_index("asset").join(wide[told])
    return table[["common", *told, "between", "p_value"]].reset_index()
