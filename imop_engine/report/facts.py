"""What every export says of the run that it comes from: date, verdict, anchors, settings, units."""

from __future__ import annotations

import datetime as dt
from typing import Final

import pandas as pd

from imop_engine.sentences.numbers import aversion, explained, percent_cell
from imop_engine.sentences.returns import anchor_sentence
from imop_engine.sentences.verdict import verdict_line
from imop_engine.study import Study
from imop_engine.versions import versions

UNITS: Final = (
    "Returns, risks (standard deviations) and gaps are per year, as fractions: 0.01 is 1%. Gaps "
    "in points are basis points (0.01%). Holdings and distances are shares of wealth. Weights lie "
    "between 0 and 1."
)
# Settings that say nothing of the numbers, or that are told by themselves.
TOLD_ELSEWHERE: Final = ("title", "notes", "anchors", "limits")


def run_facts(study: Study, made: dt.date | None = None) -> tuple[tuple[str, str], ...]:
    """The run as (name, text) pairs.

    Args:
        study: Finished or stopped.
        made: The day of the export; None leaves it out.
    """
    theta = study.problem.theta
    anchors = [
        anchor_sentence(study.problem.names, row, value, [])
        for row, value in zip(theta.equalities, theta.values, strict=True)
    ]
    by = "by the return history" if study.settings.anchors is None else "by the analyst"
    facts = [
        ("made", "" if made is None else made.isoformat()),
        ("title", study.settings.title),
        ("verdict", verdict_line(study.verdict)),
        ("portfolios", f"{study.rounds:,}"),
        *_key_figures(study),
        ("history", _history(study)),
        *(("anchor", one) for one in anchors),
        ("anchors chosen", by if anchors else "none: only differences up to scale are known"),
        *(("limit", one.sentence) for one in study.settings.limits),
        ("units", UNITS),
        ("settings", settings_text(study)),
        ("versions", ", ".join(f"{name} {number}" for name, number in versions().items())),
    ]
    return tuple((name, text) for name, text in facts if text)


def _key_figures(study: Study) -> tuple[tuple[str, str], ...]:
    """The figures on top of a run, rounded as the pages and the report round them."""
    figures = study.figures
    left = figures.get("mean_gap")
    return (
        ("holdings explained", explained(figures["explained"])),
        ("median risk aversion", aversion(figures["median_risk_aversion"])),
        ("outliers", f"{figures['outliers']:,}"),
        ("left on the table, mean a year", "" if left is None else percent_cell(left, 3)),
    )


def client_facts(study: Study, made: dt.date | None = None) -> tuple[str, ...]:
    """What a client's page says at its foot: date, portfolios, history, anchors and units.

    Args:
        study: Finished or stopped.
        made: The day of the page; None leaves it out.
    """
    theta = study.problem.theta
    anchors = [
        anchor_sentence(study.problem.names, row, value, []).rstrip(".")
        for row, value in zip(theta.equalities, theta.values, strict=True)
    ]
    known = f"known returns: {'; '.join(anchors)}" if anchors else "only differences are known"
    facts = (
        "" if made is None else f"made {made.isoformat()}",
        verdict_line(study.verdict).rstrip("."),
        f"learned from {study.rounds:,} portfolios",
        _history(study),
        known,
        "risks and returns are per year; 100 basis points (bp) are 1%",
    )
    return tuple(one for one in facts if one)


def settings_text(study: Study) -> str:
    """The settings in one line."""
    return ", ".join(
        f"{name} {value}"
        for name, value in study.settings.to_dict().items()
        if name not in TOLD_ELSEWHERE and value is not None
    )


def facts_table(study: Study, made: dt.date | None = None) -> pd.DataFrame:
    """The same as a table: what, text."""
    return pd.DataFrame(run_facts(study, made), columns=["what", "text"])


def _history(study: Study) -> str:
    periods = study.data.market.periods
    return "" if periods is None else f"moments rest on {periods:.0f} periods"
