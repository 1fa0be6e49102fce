"""Learning from a population: a study of an even sample, then one estimate from everybody.

The sample is a study like any other, with its checks and its verdict. What it chooses (how
investors err, who is set aside, which assets are held, the covariance where that is fitted) holds
for everybody; the returns are then those that everybody asks for, with intervals from sums over
everybody, and every investor is assigned her weight. A population that is no larger than the sample
is that study.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from imop_engine import gate
from imop_engine.arguments import Vector
from imop_engine.efficiency_gap.fit import EfficiencyFit, fit_sample, lifts_of, require_fit
from imop_engine.efficiency_gap.sample import Sample
from imop_engine.errors import ImopError, InvalidInput
from imop_engine.frontier import efficient_frontier
from imop_engine.inference.anchors import Crowd, crowd_anchors, with_anchors
from imop_engine.inference.estimating_equations import SMALL_IN_ERRORS, least_investors
from imop_engine.inference.fit import outlier_threshold
from imop_engine.inference.identify import Identification, small_holding
from imop_engine.investors import Investors
from imop_engine.market import Market
from imop_engine.problem import Problem, portfolio_problem
from imop_engine.scale import looks
from imop_engine.scale.assigning import Assigned, AssignOrder, assign
from imop_engine.scale.intervals import population_identification
from imop_engine.scale.looks import Chooser, Columns, FirstOrder, Looked, Lot
from imop_engine.scale.settling import SAMPLE, Choices, Settled, Tell, settle
from imop_engine.study.data import StudyData
from imop_engine.study.outcome import Study
from imop_engine.study.settings import StudySettings
from imop_engine.study.steps import DONE, state_under, steps_of
from imop_engine.tables.parts import Part, portfolio_files
from imop_engine.workers import Workers, in_order

# The choices that a sample makes do not become better with more: the study itself compares ways on
# a thousand portfolios and looks for the core of the crowd among two thousand.
SAMPLED: Final = 5000
# Who takes part is chosen again by the settled returns while it changes by more than this share.
SAME_SET: Final = 0.005
CHOSEN_AGAIN: Final = 2
FEWEST: Final = 2  # investors, for a study of the sample


@dataclass(frozen=True, eq=False)
class LearnedPopulation:
    """What was learned from a population.

    Args:
        study: of the sample.
        settled: the returns of everybody.
        known: how far they are known.
        convex: the returns under which everybody leaves the least on the table; None: the anchors
            fix no scale, or no frontier could be followed.
        said: what everybody says at the estimate.
        investors: rows that were read.
        refused: of these, no portfolios.
        examples: some of those, as (row from 1, reason).
        lots: the parts, and who takes part.
        limit: the distance beyond which somebody was set aside.
        seconds: by stage.
        workers: who did the work.
    """

    study: Study
    settled: Settled
    known: Identification
    convex: EfficiencyFit | None
    said: Assigned
    investors: int
    refused: int
    examples: tuple[tuple[int, str], ...]
    lots: tuple[Lot, ...]
    limit: float
    seconds: dict[str, float]
    workers: str

    @property
    def theta(self) -> Vector:
        """Yearly expected returns."""
        return self.settled.theta

    @property
    def set_aside(self) -> int:
        """Portfolios that take no part because they are far from the frontier."""
        return self.investors - self.refused - self.said.count

    @property
    def explained(self) -> float:
        """Share of the differences between portfolios of those who take part."""
        total, squares = self.said.spread
        spread = squares - float(total @ total) / max(1, self.said.count)
        return 1.0 - self.said.missed / spread if spread > 0.0 else 1.0


class _Clock:
    """Seconds by stage."""

    def __init__(self) -> None:
        self.found: dict[str, float] = {}
        self.last = time.perf_counter()

    def took(self, stage: str) -> None:
        now = time.perf_counter()
        self.found[stage] = round(self.found.get(stage, 0.0) + now - self.last, 3)
        self.last = now


def find_parts(workers: Workers, where: str | Path, columns: Columns) -> tuple[Part, ...]:
    """Files of portfolios as parts; whoever works looks into the files.

    Args:
        workers: who looks.
        where: a Parquet or CSV file, a folder of such files, or a pattern as "clients/*.parquet".
        columns: what every file must have.
    """
    files = [str(one.resolve()) for one in portfolio_files(where)]
    found = [one for each in in_order(workers, looks.parts_of_file, files, columns) for one in each]
    firsts = accumulate((one.rows for one in found), initial=0)
    return tuple(replace(one, first=first) for one, first in zip(found, firsts, strict=False))


@gate.public("imop_engine.scale.learn")
def learn_population(
    market: Market,
    parts: Sequence[Part],
    folder: Path | str,
    workers: Workers,
    settings: StudySettings | None = None,
    *,
    columns: Columns | None = None,
    sampled: int = SAMPLED,
    enough: float = SMALL_IN_ERRORS,
    tell: Tell = lambda stage, done, total: None,
) -> LearnedPopulation:
    """Learn what a population believes, and assign every investor a weight.

    Args:
        market: assets and moments.
        parts: the portfolios, `find_parts` or `array_parts`.
        folder: receives one Parquet file for each part; every worker must see it.
        workers: who reads the portfolios.
        settings: the analyst's choices; None: the defaults.
        columns: what is read of the files; None: the assets.
        sampled: how many portfolios the study is of that makes the choices.
        enough: the step, in standard errors of everybody, below which settling ends.
        tell: called with what is being done, and how many parts of how many are done.

    Returns:
        The returns, how far they are known, and what everybody says.
    """
    chosen = settings or StudySettings()
    if chosen.loss != "distance" and not chosen.refine:
        raise InvalidInput("a population is always settled; leave --no-refine out.")
    read = columns or Columns(market.names)
    total = sum(part.rows for part in parts)
    if not total:
        raise InvalidInput("the files hold no rows; there is nothing to learn from.")
    clock = _Clock()
    free = _problem(market, chosen, [])
    order = FirstOrder(free, read, lifts_of(free), max(1, -(-total // sampled)))
    seen = in_order(workers, looks.first_look, parts, order, _stage(tell, "reading"))
    refused = sum(one.refused for one in seen)
    examples = tuple(one for each in seen for one in each.examples)[: looks.EXAMPLES]
    if chosen.strict and refused:
        raise InvalidInput(
            f"portfolio {examples[0][0]} {examples[0][1]}, and {refused} of {total} rows are no "
            "portfolios; put them right or leave --strict out, which sets such rows aside."
        )
    if total - refused < FEWEST:
        raise InvalidInput(
            f"{refused} of {total} rows are no portfolios (row {examples[0][0]} {examples[0][1]}), "
            "so nothing can be learned; holdings are fractions of wealth that add up to 1."
        )
    sample = Sample.together(one.sample for one in seen)
    problem = _anchored(market, chosen, workers, parts, read, free, seen, sample)
    clock.took("reading")
    convex = _convex(problem, sample)
    clock.took("convex fit")
    tell("studying a sample", 0, 1)
    study = _study(market, chosen, problem, read, seen)
    tell("studying a sample", 1, 1)
    clock.took("study of the sample")
    choices = Choices.of(study)
    found = study.estimate
    assert found is not None
    chooser = Chooser(found.found.problem, found.found.theta, choices.limit)
    lots = [Lot(part) for part in parts]
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    for again in range(CHOSEN_AGAIN + 1):
        pick = (chooser, read)
        lots = in_order(workers, looks.choose, lots, pick, _stage(tell, "choosing who takes part"))
        settled = settle(workers, lots, read, choices, tell, enough)
        clock.took("settling")
        said = _assign(workers, lots, read, choices, settled, out, tell)
        clock.took("assigning")
        same = said.changed <= SAME_SET * (total - refused)
        if same or again == CHOSEN_AGAIN or found.joint is not None or settled.way == SAMPLE:
            break
        chooser = replace(chooser, theta=settled.theta)
    if said.rows != total:
        raise ImopError(
            f"{said.rows} of {total} rows were assigned: files changed meanwhile. Leave them alone "
            "while they are learned from, and begin again."
        )
    known = population_identification(study, choices, settled, said)
    clock.took("intervals")
    return LearnedPopulation(
        study, settled, known, convex, said, total, refused, examples, tuple(lots), choices.limit,
        clock.found, workers.name,
    )  # fmt: skip


def _stage(tell: Tell, stage: str) -> Any:
    return lambda done, total: tell(stage, done, total)


def _problem(market: Market, settings: StudySettings, anchors: Any) -> Problem:
    names, limits = market.names, settings.all_limits
    if limits.linear or limits.floors or limits.lower:
        raise InvalidInput(
            "portfolios in parts are learned from under caps alone: leave minimum holdings and "
            "limits on what is held together out, or learn from a file that is read whole."
        )
    returns = np.asarray(market.expected_returns, dtype=np.float64)
    return portfolio_problem(
        market.covariance_by_asset,
        upper=limits.upper_of(names),
        bounds=limits.box(returns),
        anchors=anchors,
        names=names,
    )


def _anchored(
    market: Market,
    settings: StudySettings,
    workers: Workers,
    parts: Sequence[Part],
    columns: Columns,
    free: Problem,
    seen: list[Looked],
    sample: Sample,
) -> Problem:
    """The problem with the analyst's anchors, or with those of the history for this crowd."""
    if settings.anchors is not None:
        return _problem(market, settings, settings.anchor_vectors(market.names))
    total = np.asarray(sum(one.total for one in seen))
    count = sum(one.count for one in seen)

    def halves() -> tuple[Vector, Vector] | None:
        middle = float(np.median(sample.variances))
        found = in_order(workers, looks.bold_sums, parts, (free, columns, middle))
        bold, many = np.asarray(sum(one[0] for one in found)), sum(one[1] for one in found)
        return ((total - bold) / (count - many), bold / many) if 0 < many < count else None

    held = np.asarray(sum(one.much for one in seen)) >= least_investors(count)
    crowd = Crowd(held, total / count, halves)
    returns = np.asarray(market.expected_returns, dtype=np.float64)
    anchors = crowd_anchors(free, returns, crowd, market.mean_covariance)
    return with_anchors(free, [(one.portfolio, one.value) for one in anchors])


def _convex(problem: Problem, sample: Sample) -> EfficiencyFit | None:
    try:
        require_fit(problem)
        return fit_sample(problem, sample)
    except ImopError:  # the study says what is wrong with the anchors
        return None


def _study(
    market: Market, settings: StudySettings, problem: Problem, columns: Columns, seen: list[Looked]
) -> Study:
    """The study of the even sample, under the anchors of everybody."""
    holdings = np.concatenate([one.holdings for one in seen])
    beside = {
        name: [cell for one in seen for cell in one.beside[name]]
        for name in columns.also
        if all(name in one.beside for one in seen)
    }
    rows = np.concatenate([one.rows for one in seen])
    ids = beside.get(columns.investor or "", [str(row + 1) for row in rows])
    frame = pd.DataFrame(holdings, index=[str(one) for one in ids], columns=list(market.names))
    groups = pd.DataFrame({columns.by: beside[columns.by]}) if columns.by in beside else None
    people = Investors.of(frame, market.names, attributes=groups)
    data = StudyData.on(market, people)
    *_, last = steps_of(data, replace(settings, refine=True), state_under(data, settings, problem))
    if last.stage != DONE or last.study is None:
        raise ImopError("the study of the sample did not end; begin again.")
    return last.study


def _assign(
    workers: Workers,
    lots: Sequence[Lot],
    columns: Columns,
    choices: Choices,
    settled: Settled,
    folder: Path,
    tell: Tell,
) -> Assigned:
    sample = choices.sample
    problem = choices.problem
    frontier = efficient_frontier(problem, settled.theta)
    threshold = outlier_threshold(frontier.project(sample).distances)
    order = AssignOrder(
        columns, problem, settled.theta, settled.order, choices.limit, threshold, choices.noise_sd,
        small_holding(choices.noise_sd), str(folder.resolve()),
    )  # fmt: skip
    tasks = list(enumerate(lots))
    found = in_order(workers, assign, tasks, order, _stage(tell, "assigning"))
    return sum(found, Assigned.nobody(problem.n))
