"""Whole studies as an analyst runs them: default settings, a return history, every table made."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Final

from .cases import SEED, Row, Say, Section, Size
from .conditions import CONDITIONS, draw
from .trust_study import default_study

CONDITION: Final = "covariance-120@8"  # the history counts: returns and covariance, and intervals


def studies(size: Size, say: Say) -> list[Section]:
    """From data to all tables: the stream, the estimate, intervals, checks.

    Args:
        size: With the assets and investors of each study.
        say: Takes a line for each study that begins.
    """
    rows: list[Row] = []
    default_study(draw(CONDITIONS[CONDITION], SEED, 100))  # what is loaded once
    for assets, investors in size.studies:
        say(f"a study of {investors:,} investors in {assets} assets")
        drawn = draw(replace(CONDITIONS[CONDITION], assets=assets), SEED, investors)
        clock, processor = time.perf_counter(), time.process_time()
        study = default_study(drawn)
        rows.append(
            {"assets": assets, "investors": investors, "seconds": time.perf_counter() - clock,
             "processor_seconds": time.process_time() - processor, "verdict": study.verdict}
        )  # fmt: skip
    how = (
        "Simulated investors who err by 0.005 in each holding, a covariance from a history of 120 "
        "months that the study is given, default settings: until every table, interval and check "
        "is there. `processor_seconds` count every processor."
    )
    return [Section("studies", "A whole study", how, rows)]
