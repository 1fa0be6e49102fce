"""The nouns of a reproduction: an experiment, its parts, and what it found.

An experiment is split into parts that know nothing of each other, so that all cores can work on
them and an interrupted run goes on where it stopped. A part is a plain dict of settings; what it
returns is plain JSON. The report is made from those results alone: running twice on the same files
gives the same page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import altair as alt
import pandas as pd

Part = dict[str, Any]
Result = dict[str, Any]
Verdict = Literal["reproduced", "better", "differs", "beyond"]
Chart = alt.Chart | alt.LayerChart | alt.HConcatChart | alt.VConcatChart | alt.FacetChart

SECTIONS = {
    "mqp-c": "Quadratic program: learning the objectives",
    "mqp-b": "Quadratic program: learning the right-hand side",
    "portfolio": "Portfolios: learning expected returns",
    "theory": "Theory, checked by experiment",
    "beyond": "Beyond the paper",
}


@dataclass(frozen=True)
class PaperFinding:
    """One claim beside what this run measured.

    The verdict is computed from the run's numbers: "reproduced", "better" than the paper,
    "differs", or "beyond" for what the paper did not try. `why` is the reason for that verdict;
    a finding without one is refused, so that no machine meets a verdict that nobody explained.
    """

    claim: str
    ours: str
    verdict: Verdict
    why: str

    def __post_init__(self) -> None:
        if not self.why.strip():
            raise ValueError(f"the verdict {self.verdict!r} on {self.claim!r} has no reason")


@dataclass(frozen=True)
class Figure:
    """A chart and the sentence under it."""

    name: str
    chart: Chart
    caption: str


@dataclass(frozen=True)
class ResultTable:
    """A table that the page shows; every table is also a CSV file."""

    name: str
    frame: pd.DataFrame
    caption: str
    digits: int = 4


@dataclass(frozen=True)
class Report:
    """What an experiment says: findings, figures, tables, and the numbers behind them."""

    findings: Sequence[PaperFinding]
    figures: Sequence[Figure] = ()
    tables: Sequence[ResultTable] = ()
    numbers: dict[str, float] = field(default_factory=dict)
    data: dict[str, pd.DataFrame] = field(default_factory=dict)  # CSV only: too long to show


@dataclass(frozen=True)
class Experiment:
    """A figure or table of the paper, or a question beside it.

    `alone` experiments measure time: their parts run one after another with the other cores idle.
    """

    name: str
    section: str
    title: str
    paper: str  # where the paper has it, or why it is here
    setup: str  # what was run, in one or two sentences
    parts: Callable[[bool], list[Part]]  # of a quick run, or of a full one
    run: Callable[[Part], Result]
    report: Callable[[list[tuple[Part, Result]]], Report]
    chosen: Sequence[str] = ()  # where the paper is silent or contradicts itself: our choice
    alone: bool = False


Outcome = list[tuple[Part, Result]]
