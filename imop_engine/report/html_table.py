"""Tables of the written report: which columns, and the text of every cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pandas as pd


class Column(NamedTuple):
    """One column of a table: where its values come from and how they are written."""

    name: str  # in the frame
    title: str  # on the page
    shown: Callable[[Any], str]
    numeric: bool = True  # set to the right
    tag: bool = False  # a status, drawn as a small label


class Table(NamedTuple):
    """What the template needs of a table: its columns and the text of every cell."""

    columns: list[Column]
    rows: list[list[str]]


def table_of(frame: pd.DataFrame, columns: list[Column]) -> Table:
    """The columns that the frame has, as text."""
    present = [one for one in columns if one.name in frame.columns]
    rows = [[one.shown(row[one.name]) for one in present] for _, row in frame.iterrows()]
    return Table(present, rows)
