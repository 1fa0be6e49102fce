"""How far an estimate depends on what the analyst chose: the same portfolios under other choices.

Each alternative changes one thing and keeps the rest: the anchors, the covariance, what is made
small, who takes part. What cannot be computed is listed with the reason, never left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import ImopError
from imop_engine.frontier import efficient_frontier
from imop_engine.inference.anchors import held_assets, history_anchors, with_anchors
from imop_engine.inference.estimators import BELIEFS, HOLDINGS, IMPLIED
from imop_engine.inference.first_order import anchored
from imop_engine.least_squares import polish
from imop_engine.moments import COVARIANCES, estimate_moments
from imop_engine.one_thread import one_thread
from imop_engine.problem import Problem
from imop_engine.progress import stretch
from imop_engine.sentences import sensitivity as say
from imop_engine.study.estimate import anchor_covariance, estimate_study
from imop_engine.study.opening import efficiency_opening
from imop_engine.study.outcome import KNOWN, Study
from imop_engine.study.settings import FITTED, StudySettings
from imop_engine.study.steps import make_problem

# Covariances that differ by less than this share of the largest entry are the same.
SAME_COVARIANCE: Final = 1e-9
HALF: Final = 0.5  # an anchor on a single asset is on one that half of the investors hold


@dataclass(frozen=True, eq=False)
class Alternative:
    """The estimate under another choice.

    Args:
        choice: what was chosen otherwise: anchors, covariance, method, investors or group.
        label: what was chosen, in words.
        returns: yearly, by asset; NaN where there is none.
        explained: share of the differences between all portfolios that its frontier explains; None
            where that is not defined.
        reason: why there are no returns; empty where there are.
    """

    choice: str
    label: str
    returns: Vector
    explained: float | None = None
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """A study's estimate beside those under other choices.

    Args:
        names: the assets.
        returns: the study's yearly returns; NaN where it has no estimate.
        explained: share of the differences between all portfolios that the study explains.
        alternatives: one for each other choice, in the order they were computed.
    """

    names: tuple[str, ...]
    returns: Vector
    explained: float | None
    alternatives: tuple[Alternative, ...]

    @cached_property
    def table(self) -> pd.DataFrame:
        """choice, alternative, asset, estimate, study, difference: a row for each asset of each
        alternative; assets without an estimate in the study are left out."""
        known = np.isfinite(self.returns)
        parts = [
            pd.DataFrame(
                {
                    "choice": one.choice,
                    "alternative": one.label,
                    "asset": np.array(self.names, dtype=object)[known],
                    "estimate": one.returns[known],
                    "study": self.returns[known],
                    "difference": (one.returns - self.returns)[known],
                }
            )
            for one in self.alternatives
            if not one.reason
        ]
        columns = ["choice", "alternative", "asset", "estimate", "study", "difference"]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)

    @cached_property
    def summary(self) -> pd.DataFrame:
        """choice, alternative, largest (difference of a return, yearly), asset (whose it is),
        rank_correlation (of the returns with the study's), explained, reason."""
        return pd.DataFrame([self._row(one) for one in self.alternatives])

    def sentences(self) -> list[str]:
        """What each kind of choice changes, in words."""
        found = []
        for choice in dict.fromkeys(one.choice for one in self.alternatives):
            rows = self.summary[self.summary["choice"] == choice]
            rows = rows[rows["largest"].notna()]
            if len(rows):
                most = rows.iloc[int(np.argmax(rows["largest"].to_numpy()))]
                found.append(
                    say.moved(choice, most["largest"], most["asset"], most["alternative"],
                              rows["rank_correlation"].min(), len(rows))
                )  # fmt: skip
        missing = [(one.label, one.reason) for one in self.alternatives if one.reason]
        return [*found, *(say.missing(label, reason) for label, reason in missing)]

    def _row(self, one: Alternative) -> dict[str, Any]:
        both = np.isfinite(one.returns) & np.isfinite(self.returns)
        apart = np.abs(one.returns - self.returns)[both]
        where = int(np.argmax(apart)) if apart.size else None
        return {
            "choice": one.choice,
            "alternative": one.label,
            "largest": np.nan if where is None else float(apart[where]),
            "asset": "" if where is None else self.names[int(np.flatnonzero(both)[where])],
            "rank_correlation": rank_correlation(one.returns[both], self.returns[both]),
            "explained": np.nan if one.explained is None else one.explained,
            "reason": one.reason,
        }


def rank_correlation(first: Vector, second: Vector) -> float:
    """Spearman's correlation; NaN for fewer than two numbers, or where one of the two is constant.

    Args:
        first: numbers.
        second: as many.
    """
    if len(first) < 2:
        return float("nan")
    ranks = np.array([rankdata(first), rankdata(second)])
    if np.ptp(ranks, axis=1).min() == 0.0:
        return float("nan")
    return float(np.corrcoef(ranks)[0, 1])


def sensitivity(study: Study) -> Sensitivity:
    """The study's estimate beside those under other choices.

    Args:
        study: one whose portfolios were fitted together (`settings.refine`).

    Returns:
        All alternatives, with a table, a summary and sentences.
    """
    return gathered(study, tuple(sensitivity_steps(study)))


def gathered(study: Study, alternatives: tuple[Alternative, ...]) -> Sensitivity:
    """Alternatives that were computed one by one, beside the study.

    Args:
        study: they belong to.
        alternatives: of `sensitivity_steps`.
    """
    shown = study.frame_returns["status"].isin(KNOWN).to_numpy()
    returns = np.where(shown, study.theta, np.nan)
    explained = _explained(study.problem, study.theta, _portfolios(study))
    return Sensitivity(study.problem.names, returns, explained, alternatives)


def sensitivity_steps(study: Study) -> Iterator[Alternative]:
    """The alternatives one by one, each computed when it is asked for.

    Args:
        study: one whose portfolios were fitted together (`settings.refine`).
    """
    if study.estimate is None:
        raise ImopError(say.NOT_REFINED)
    jobs = [*_anchor_jobs(study), *_covariance_jobs(study), *_method_jobs(study)]
    jobs += [*_investor_jobs(study), *_group_jobs(study)]
    for number, (choice, label, compute) in enumerate(jobs):
        with stretch(number / len(jobs), (number + 1) / len(jobs)), one_thread():
            try:
                problem, returns = compute()
                explained = _explained(problem, returns, _portfolios(study))
                found = Alternative(choice, label, returns, explained)
            except (ImopError, np.linalg.LinAlgError) as error:
                nothing = np.full(len(study.problem.names), np.nan)
                found = Alternative(choice, label, nothing, reason=str(error))
        yield found


Computed = tuple[Problem, Vector]
Job = tuple[str, str, Callable[[], Computed]]


# -- anchors: the same estimate at another level and scale ----------------------------------------
def _anchor_jobs(study: Study) -> Iterator[Job]:
    """Anchors move level and scale and nothing else, so nothing is fitted again."""
    history = np.asarray(study.data.expected_returns, dtype=np.float64)
    Y = study.decisions.to_numpy()
    if study.settings.anchors is not None:
        yield say.ANCHORS, say.BY_HISTORY, partial(_by_history, study, history, Y)
    pair = _most_held(study, Y)
    if pair is not None:
        names = [study.problem.names[i] for i in pair]
        rows = np.eye(study.problem.n)[list(pair)]
        label = say.two_assets(names[0], names[1])
        yield say.ANCHORS, label, partial(_at, study, rows, history[list(pair)])
    held = held_assets(Y)
    if held.sum() > 2:
        rows = np.eye(study.problem.n)[held]
        yield say.ANCHORS, say.ALL_BY_HISTORY, partial(_at, study, rows, history[held])
    yield from _unsure_anchors(study)


def _unsure_anchors(study: Study) -> Iterator[Job]:
    errors = anchor_covariance(study.data, study.settings, study.problem)
    if errors is None:
        return
    rows, values = study.problem.theta.equalities, study.problem.theta.values
    names = _anchor_names(study)
    for number, error in enumerate(np.sqrt(np.diag(errors))):
        for sign in (-1.0, 1.0):
            moved = values.copy()
            moved[number] += sign * error
            label = say.anchor_moved(names[number], sign * error)
            yield say.ANCHORS, label, partial(_at, study, rows, moved)


def _anchor_names(study: Study) -> list[str]:
    """What each anchor is called: an asset, a portfolio of the history, or by its place."""
    rows = study.problem.theta.equalities
    if study.settings.anchors is None:
        history = study.data.expected_returns.to_numpy()
        error = study.data.market.mean_covariance
        problem = make_problem(study.data, study.settings, study.state)
        found = history_anchors(problem, history, study.decisions, error)
        return [one.name for one in found]
    return [
        study.problem.names[int(np.flatnonzero(row)[0])]
        if np.count_nonzero(row) == 1
        else say.portfolio(number)
        for number, row in enumerate(rows)
    ]


def _by_history(study: Study, history: Vector, Y: Matrix) -> Computed:
    error = study.data.market.mean_covariance
    found = history_anchors(study.problem, history, Y, error)
    rows = np.array([one.portfolio for one in found])
    return _at(study, rows, np.array([one.value for one in found]))


def _at(study: Study, rows: Matrix, values: Vector) -> Computed:
    """The study's returns at another level and scale, by least squares where rows are many."""
    anchors = list(zip(rows, values, strict=True))
    moved = with_anchors(study.problem, anchors[:2], undetermined=True)
    theta = replace(moved.theta, equalities=rows, values=values)
    found = anchored(replace(moved, theta=theta), study.theta)
    if not found.dispersion > 0.0:  # the factor that the returns are multiplied by
        raise ImopError(say.TURNED_ROUND)
    return study.problem, found.theta


def _most_held(study: Study, Y: Matrix) -> tuple[int, int] | None:
    """Of the assets that half of the investors hold, the two whose believed returns are farthest
    apart; None where there are no two."""
    held = np.flatnonzero((Y > 0).mean(axis=0) >= HALF)
    if held.size < 2:
        return None
    low, high = held[np.argmin(study.theta[held])], held[np.argmax(study.theta[held])]
    return (int(low), int(high)) if study.theta[high] > study.theta[low] else None


# -- covariance, method, investors: estimated again ----------------------------------------------
def _covariance_jobs(study: Study) -> Iterator[Job]:
    market = study.data.market
    if study.estimate is not None and study.estimate.joint is not None:
        plain = replace(market, history=None, months=None)
        yield say.COVARIANCE, say.AS_IT_IS, partial(_again, study, market=plain)
    if study.settings.risks != FITTED and study.estimate is not None and study.estimate.periods:
        settings = replace(study.settings, risks=FITTED)
        yield say.COVARIANCE, say.FITTED, partial(_again, study, settings=settings)
    if market.history is None:
        return
    own = market.covariance
    for method in COVARIANCES:
        other = _covariance(study, method, market.history)
        if isinstance(other, str):
            yield say.COVARIANCE, say.method(method), partial(_fail, other)
        elif np.abs(other - own).max() > SAME_COVARIANCE * np.abs(own).max():
            changed = replace(market, covariance=other)
            yield say.COVARIANCE, say.method(method), partial(_again, study, market=changed)
    later = market.history.iloc[len(market.history) // 2 :]
    half = _covariance(study, COVARIANCES[0], later)
    if isinstance(half, str):
        yield say.COVARIANCE, say.LATER_HALF, partial(_fail, half)
    else:
        changed = replace(market, covariance=half, history=later)
        yield say.COVARIANCE, say.LATER_HALF, partial(_again, study, market=changed)


def _covariance(study: Study, method: str, history: pd.DataFrame) -> Matrix | str:
    """The covariance by another estimator, or why there is none."""
    names = list(study.data.market.names)
    try:
        table = history.rename(columns=str)[names]
        moments = estimate_moments(
            table, covariance=method, periods_per_year=study.data.market.periods_per_year
        )
    except ImopError as error:
        return str(error)
    if not moments.positive_definite:
        return say.NOT_DEFINITE
    return np.ascontiguousarray(moments.covariance.to_numpy(), dtype=np.float64)


def _fail(reason: str) -> Computed:
    raise ImopError(reason)


def _method_jobs(study: Study) -> Iterator[Job]:
    assert study.estimate is not None
    kept = _portfolios(study)[study.estimate.kept]
    history = np.asarray(study.data.expected_returns, dtype=np.float64)
    yield say.METHOD, say.LEAST_GAP, partial(_least_gap, study, kept, history)
    yield say.METHOD, say.LEAST_DISTANCE, partial(_least_distance, study, kept)
    for way, errors in ((HOLDINGS, "holdings"), (BELIEFS, "beliefs")):
        if way != study.estimate.found.way:
            settings = replace(study.settings, errors=errors)
            yield say.METHOD, say.way(way), partial(_again, study, settings=settings)
    implied = study.estimate.found.fitted.get(IMPLIED)
    if implied is not None and study.estimate.found.way != IMPLIED:
        yield say.METHOD, say.IMPLIED, partial(_just, study.estimate.found.problem, implied.theta)


def _least_gap(study: Study, kept: Matrix, history: Vector) -> Computed:
    return study.problem, efficiency_opening(study.problem, kept, history)


def _least_distance(study: Study, kept: Matrix) -> Computed:
    return study.problem, polish(study.problem, kept, study.theta).theta


def _just(problem: Problem, returns: Vector) -> Computed:
    return problem, returns


def _investor_jobs(study: Study) -> Iterator[Job]:
    assert study.estimate is not None
    aside = int((~study.estimate.kept).sum())
    if study.settings.trim and aside:
        settings = replace(study.settings, trim=False)
        yield say.INVESTORS, say.with_everyone(aside), partial(_again, study, settings=settings)
    elif not study.settings.trim:
        settings = replace(study.settings, trim=True)
        yield say.INVESTORS, say.TRIMMED, partial(_again, study, settings=settings)


def _group_jobs(study: Study) -> Iterator[Job]:
    groups = study.groups
    if groups is None:
        return
    for name in groups.names:
        rows = groups.table[groups.table["group"] == name].set_index("asset")["own"]
        own = rows.reindex(list(study.problem.names)).to_numpy(dtype=np.float64)
        if np.isfinite(own).any():
            label = say.group(groups.column, name)
            yield say.GROUP, label, partial(_just, study.problem, own)


def _again(study: Study, settings: StudySettings | None = None, market: Any = None) -> Computed:
    """The estimate once more with other settings, or on another market; the anchors stay."""
    chosen = study.settings if settings is None else settings
    data = study.data if market is None else replace(study.data, market=market)
    problem = make_problem(data, chosen, study.state)
    found = estimate_study(data, chosen, problem, study.theta, study.rounds)
    return found.problem, found.theta


# -- what a frontier explains --------------------------------------------------------------------
def _portfolios(study: Study) -> Matrix:
    return study.adjusted_decisions.to_numpy(dtype=np.float64)


def _explained(problem: Problem, returns: Vector, Y: Matrix) -> float | None:
    """Share of the differences between portfolios that the frontier of these returns explains."""
    spread = float(np.sum((Y - Y.mean(axis=0)) ** 2))
    complete: NDArray[np.bool_] = np.isfinite(returns)
    if not complete.all() or spread == 0.0:
        return None
    distances = efficient_frontier(problem, returns).project(Y).distances
    return 1.0 - float(np.sum(distances**2)) / spread
