"""Sections of the written report on what its numbers rest on: error model, sources, order."""

from __future__ import annotations

from typing import Any

import pandas as pd

from imop_engine.report.frames_trust import (
    covariance_changes,
    neighbours_table,
    source_shares,
    ways_table,
)
from imop_engine.report.html_table import Column, table_of
from imop_engine.report.svg import svg
from imop_engine.report.trust import way_sentences
from imop_engine.sentences import verdict as say
from imop_engine.sentences.numbers import MISSING, between_cell, number_cell, percent_cell
from imop_engine.study import Study


def given_anchors(study: Study) -> str:
    """ ", given the anchors" where there are any: levels and risk aversions hang on them."""
    return say.given_anchors(len(study.problem.theta.values))


def error_model(study: Study) -> dict[str, Any]:
    """Which errors investors are taken to make, and what each way explains elsewhere.

    Args:
        study: finished.
    """
    frame = ways_table(study)
    frame["chosen"] = frame["chosen"].map({True: "taken", False: ""})
    columns = [
        Column("way", "way", str, numeric=False),
        Column("explained", "explained among other investors", percent_cell),
        Column("chosen", "", str, numeric=False),
    ]
    table = table_of(frame, columns) if len(frame) else None
    return {"sentences": way_sentences(study), "table": table}


def refitted(study: Study) -> Any:
    """What changed in the covariance, where it was fitted too; else None."""
    frame = covariance_changes(study)
    if frame.empty:
        return None
    shown = {"volatility": percent_cell, "correlation": number_cell}
    for name in ("before", "after"):
        pairs = zip(frame["kind"], frame[name], strict=True)
        frame[f"{name}_said"] = [shown[kind](value) for kind, value in pairs]
    columns = [
        Column("kind", "", str, numeric=False),
        Column("what", "of", str, numeric=False),
        Column("before_said", "by the history", str),
        Column("after_said", "fitted", str),
    ]
    return table_of(frame, columns)


def sources_drawing(study: Study) -> Any:
    """A bar for each return with the sources of its interval; "" where there are none."""
    from imop_engine.report.charts_trust import sources_chart

    shares = source_shares(study)
    if shares.empty:
        return ""
    label = "Where the width of each interval comes from"
    return svg(sources_chart(shares), "sources", label)


def order_values(study: Study) -> Any:
    """Ranks, and differences between neighbours in the order of the returns; None: too few."""
    frame = neighbours_table(study)
    if len(frame) < 2:
        return None
    frame["ranks"] = [
        str(low) if low == high else f"{low} to {high}"
        for low, high in zip(frame["low_rank"], frame["high_rank"], strict=True)
    ]
    frame["other"] = frame["other"].fillna("")
    frame["interval"] = [
        between_cell(low, high) if pd.notna(low) else MISSING
        for low, high in zip(frame["low"], frame["high"], strict=True)
    ]
    columns = [
        Column("rank", "rank", str),
        Column("ranks", "rank may be", str),
        Column("asset", "asset", str, numeric=False),
        Column("other", "returns more than", str, numeric=False),
        Column("difference", "by", percent_cell),
        Column("interval", "between", str),
    ]
    return table_of(frame, columns)
