"""What groups of the investors of a kept run believe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from imop_app.services import results
from imop_app.services.errors import sentences
from imop_engine.report import charts_groups, frames_groups
from imop_engine.sentences.groups import not_compared
from imop_engine.study import Study
from imop_engine.study.groups import group_columns
from imop_engine.tables.export import csv_text


@dataclass(frozen=True, eq=False)
class GroupPicture:
    """The tables behind the part of the preferences page that compares groups."""

    column: str
    in_time: bool
    said: tuple[str, ...]
    notes: tuple[str, ...]
    drawn: pd.DataFrame  # lines over time, or dots side by side
    matrix: pd.DataFrame  # asset, common, one column for each group, between, p_value
    silent: str  # of which assets not even all together tell a return; "" where there are none
    told: tuple[str, ...]  # groups with a column
    sizes: pd.DataFrame
    file: str  # groups.csv


def chart(found: GroupPicture) -> Any:
    """The picture of groups: lines over time, or dots side by side."""
    draw = charts_groups.group_time_chart if found.in_time else charts_groups.group_chart
    return draw(found.drawn, found.column)


def columns(study: Study) -> tuple[str, ...]:
    """What groups can be made by. Kept with the study."""
    return _columns(results.key_of(study), study)


@st.cache_resource(show_spinner=False, max_entries=8)
def _columns(key: str, _study: Study) -> tuple[str, ...]:
    return group_columns(_study.data)


@sentences
def grouped(study: Study, by: str | None) -> Study:
    """The run with groups in its tables and report. Kept with the study.

    Args:
        study: A kept run.
        by: One of `columns`, or None.
    """
    return study if by == study.settings.by else _grouped(results.key_of(study), study, by)


@st.cache_resource(show_spinner=False, max_entries=8)
def _grouped(key: str, _study: Study, by: str | None) -> Study:
    return _study.grouped_by(by)


@sentences
def picture(study: Study, by: str) -> GroupPicture:
    """What groups believe, without learning again. Kept with the study.

    Args:
        study: A kept run.
        by: One of `columns`.
    """
    return _picture(results.key_of(study), study, by)


@st.cache_resource(show_spinner="Comparing groups …", max_entries=16)
def _picture(key: str, _study: Study, by: str) -> GroupPicture:
    return picture_of(_study, by)


@sentences
def picture_of(study: Study, by: str) -> GroupPicture:
    """The same, computed anew: for groups that are not a column of the run.

    Args:
        study: A run.
        by: What groups are made by.
    """
    asked = study.grouped_by(by).groups
    found = study.groups_by(by) if asked is None else asked  # says why there are none
    lines = frames_groups.group_lines if found.in_time else frames_groups.group_dots
    matrix = frames_groups.group_matrix(found)
    known = matrix["common"].notna()
    return GroupPicture(
        column=found.column,
        in_time=found.in_time,
        said=found.sentences(),
        notes=found.notes,
        drawn=lines(found),
        matrix=matrix[known].reset_index(drop=True),
        silent="" if known.all() else not_compared(matrix.loc[~known, "asset"].tolist()),
        told=tuple(name for name in found.names if name in matrix.columns),
        sizes=frames_groups.group_sizes(found),
        file=csv_text(frames_groups.groups_table(found)),
    )
