"""The part of the report on groups of investors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from imop_engine.inference.groups import Groups
from imop_engine.report.html_table import Column, table_of
from imop_engine.report.svg import svg
from imop_engine.sentences.numbers import MISSING, between_cell, percent_cell


def group_values(groups: Groups | None) -> dict[str, Any] | None:
    """What the template names; None where no groups were asked for.

    Args:
        groups: of a study.
    """
    if groups is None:
        return None
    from imop_engine.report.charts_groups import group_chart, group_time_chart
    from imop_engine.report.frames_groups import (
        group_dots,
        group_lines,
        group_matrix,
        group_sizes,
    )

    if groups.in_time:
        chart = group_time_chart(group_lines(groups), groups.column)
        label = f"Expected returns by {groups.column}, a line for each asset"
    else:
        chart = group_chart(group_dots(groups), groups.column)
        label = f"Expected returns of each group by {groups.column} with intervals"
    matrix = group_matrix(groups)
    told = [name for name in matrix.columns if name in groups.names]
    columns = [
        Column("asset", "asset", str, numeric=False),
        Column("common", "all", percent_cell),
        *(Column(name, name, percent_cell) for name in told),
        Column("between", "between groups (sd)", percent_cell),
        Column("p_value", "p", _p_cell),
    ]
    return {
        "by": groups.column,
        "sentences": groups.sentences(),
        "notes": groups.notes,
        "drawing": svg(chart, "groups", label),
        "table": table_of(matrix, columns),
        "differences": table_of(_differences(groups), _difference_columns(groups)),
        "sizes": table_of(
            group_sizes(groups),
            [
                Column("group", groups.column, str, numeric=False),
                Column("portfolios", "portfolios", _count),
                Column("investors", "investors who tell of beliefs", _count),
                Column("set_aside", "set aside", _count),
            ],
        ),
    }


def _differences(groups: Groups) -> pd.DataFrame:
    """Differences from all, with intervals, of assets in which groups differ."""
    rows = groups.table[groups.table["asset"].isin(groups.differing)]
    rows = rows[rows["difference"].notna()].copy()
    rows["interval"] = [
        between_cell(low, high)
        for low, high in zip(rows["difference_low"], rows["difference_high"], strict=True)
    ]
    return rows


def _difference_columns(groups: Groups) -> list[Column]:
    return [
        Column("asset", "asset", str, numeric=False),
        Column("group", groups.column, str, numeric=False),
        Column("own", "by itself", percent_cell),
        Column("estimate", "shrunk to all", percent_cell),
        Column("difference", "less what all expect", percent_cell),
        Column("interval", "interval of that", str),
    ]


def _count(value: Any) -> str:
    return f"{int(value):,}"


def _p_cell(value: float) -> str:
    return f"{value:.3f}" if np.isfinite(value) else MISSING
