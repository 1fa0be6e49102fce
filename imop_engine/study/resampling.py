"""A study estimated again and again from investors, months and anchors drawn anew.

Nothing behind an interval is taken on trust here: each draw has other investors of the same kind
(whole investors, with all their dates), another history of the same kind and the anchors that
follow from it, and goes through the whole estimate, from who takes part to the covariance. The
spread of what comes out stands beside the study's intervals. What no redrawing sees is an error
that all draws share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import ImopError, InvalidInput
from imop_engine.inference.anchors import with_anchors
from imop_engine.investors import Investors
from imop_engine.market import Market, read_only
from imop_engine.moments import estimate_moments
from imop_engine.one_thread import one_thread
from imop_engine.problem import Problem
from imop_engine.progress import stretch
from imop_engine.sentences import resampling as say
from imop_engine.study.data import StudyData
from imop_engine.study.estimate import estimate_study, investor_clusters
from imop_engine.study.outcome import KNOWN, Study
from imop_engine.study.steps import make_problem

LEAST_DRAWS: Final = 20  # fewer say nothing of the end of an interval
MOST_DRAWS: Final = 10_000
USUAL_DRAWS: Final = 100
LEAST_INVESTORS: Final = 10  # draws of fewer are mostly the same few again
SAME_MOMENTS: Final = 1e-6  # relative: the covariance of the study is that of its history
# With 100 draws the spread of normal numbers is known to 7 %; beyond this it is wider, not chance.
WIDER: Final = 1.25

Progress = Callable[[int, int], None]
Whose = NDArray[np.int64]  # a number for each row; or rows


@dataclass(frozen=True)
class Redrawn:
    """One draw.

    Args:
        returns: yearly, by asset; NaN where the draw gave no estimate.
        reason: why it gave none; empty where it did.
    """

    returns: Vector
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Resampled:
    """A study's intervals beside the spread of estimates from what was drawn anew.

    Args:
        names: the assets.
        intervals: asset, estimate, low and high of the study; NaN where it has no estimate.
        draws: yearly returns, a row for each draw that gave an estimate.
        reasons: why the other draws gave none.
        parts: what was drawn anew: investors, months (or moments), anchors.
        level: confidence of the intervals.
        investors: how many were drawn from; the same portfolio held by several counts once.
    """

    names: tuple[str, ...]
    intervals: pd.DataFrame
    draws: Matrix
    reasons: tuple[str, ...]
    parts: tuple[str, ...]
    level: float
    investors: int

    @property
    def table(self) -> pd.DataFrame:
        """asset, estimate, low, high (the study's), standard_error, redrawn_low, redrawn_high
        (percentiles of the draws), width (redrawn over the study's); assets that the study has an
        estimate and an interval of."""
        frame = self.intervals.copy()
        ends = [0.5 - self.level / 2.0, 0.5 + self.level / 2.0]
        low, high = np.quantile(self.draws, ends, axis=0)
        frame["standard_error"] = self.draws.std(axis=0, ddof=1)
        frame["redrawn_low"], frame["redrawn_high"] = low, high
        frame["width"] = (high - low) / (frame["high"] - frame["low"])
        known = np.isfinite(frame["width"]) & (frame["high"] > frame["low"])
        table: pd.DataFrame = frame[known].reset_index(drop=True)
        return table

    def sentences(self) -> list[str]:
        """What the draws say of the intervals, and which returns scatter more."""
        table = self.table
        said = [say.drawn(len(self.draws), self.investors, self.parts)]
        if len(table):
            said.append(say.widths(table["width"].to_numpy()))
            wider = table.loc[table["width"] > WIDER, "asset"]
            said += [say.wider(list(wider))] if len(wider) else []
        if self.reasons:
            total = len(self.draws) + len(self.reasons)
            said.append(say.without(len(self.reasons), total, self.reasons[0]))
        return said


def resample(
    study: Study, draws: int = USUAL_DRAWS, seed: int = 0, progress: Progress | None = None
) -> Resampled:
    """Estimate a study again from investors, months and anchors drawn anew.

    Args:
        study: one whose portfolios were fitted together (`settings.refine`).
        draws: how often; each takes about as long as the study's estimate.
        seed: of the draws.
        progress: called with how many draws are done, and of how many.

    Returns:
        The spread of the estimates beside the study's intervals, with a table and sentences.
    """
    found = []
    for one in resample_steps(study, draws, seed):
        found.append(one)
        if progress is not None:
            progress(len(found), draws)
    return gathered_draws(study, tuple(found))


def resample_steps(study: Study, draws: int = USUAL_DRAWS, seed: int = 0) -> Iterator[Redrawn]:
    """The draws one by one, each computed when it is asked for.

    Args:
        study: one whose portfolios were fitted together (`settings.refine`).
        draws: how often.
        seed: of the draws; each draw has a generator of its own.
    """
    clusters = _require_drawable(study, draws, seed)
    owned = _rows_of(clusters)
    for number in range(draws):
        rng = np.random.default_rng([seed, number])
        with stretch(number / draws, (number + 1) / draws), one_thread():
            try:
                data = StudyData.on(_market(study.data.market, rng), _investors(study, owned, rng))
                problem = _problem(study, data, rng)
                rounds = len(data.investors)
                found = estimate_study(data, study.settings, problem, study.theta, rounds)
                one = Redrawn(found.theta)
            except (ImopError, np.linalg.LinAlgError) as error:
                one = Redrawn(np.full(study.problem.n, np.nan), str(error))
        yield one


def gathered_draws(study: Study, draws: tuple[Redrawn, ...]) -> Resampled:
    """Draws that were computed one by one, beside the study.

    Args:
        study: they belong to.
        draws: of `resample_steps`.
    """
    good = [one.returns for one in draws if not one.reason]
    reasons = tuple(one.reason for one in draws if one.reason)
    if len(good) < LEAST_DRAWS:
        raise ImopError(say.too_few(len(good), len(draws), reasons[0] if reasons else ""))
    shown = study.frame_returns[["asset", "estimate", "low", "high"]].copy()
    shown.loc[~study.frame_returns["status"].isin(KNOWN), ["estimate", "low", "high"]] = np.nan
    clusters = investor_clusters(study.data, _learned(study))
    return Resampled(
        study.problem.names, shown, np.array(good), reasons, _parts(study),
        study.settings.level, len(np.unique(clusters)),
    )  # fmt: skip


def _require_drawable(study: Study, draws: int, seed: int) -> Whose:
    if study.estimate is None:
        raise ImopError(say.NOT_REFINED)
    if type(draws) is not int or not LEAST_DRAWS <= draws <= MOST_DRAWS:
        raise InvalidInput(
            f"draws is {draws!r}; give a whole number from {LEAST_DRAWS} to {MOST_DRAWS:,}, "
            f"{USUAL_DRAWS} say."
        )
    if type(seed) is not int or seed < 0:
        raise InvalidInput(f"seed is {seed!r}; give a whole number from 0 up.")
    clusters = investor_clusters(study.data, _learned(study))
    count = len(np.unique(clusters))
    if count < LEAST_INVESTORS:
        raise InvalidInput(
            f"there are {count} investors; redrawing needs {LEAST_INVESTORS} at least, because it "
            "draws from them again and again."
        )
    return clusters


def _learned(study: Study) -> Matrix:
    return study.data.decisions[: study.rounds]


def _rows_of(clusters: Whose) -> list[Whose]:
    """The rows of each investor."""
    order = np.argsort(clusters, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(clusters[order])) + 1)


def _investors(study: Study, owned: list[Whose], rng: np.random.Generator) -> Investors:
    """As many investors, drawn with replacement; whoever comes twice is two of the same kind."""
    chosen = rng.integers(0, len(owned), len(owned))
    rows = np.concatenate([owned[one] for one in chosen])
    who = np.repeat(np.arange(len(chosen)), [len(owned[one]) for one in chosen])
    names = np.array(study.data.investors.ids, dtype=object)[study.data.good][rows]
    ids = tuple(f"{name} ({number})" for name, number in zip(names, who, strict=True))
    return Investors(study.data.names, ids, _learned(study)[rows])


def _market(market: Market, rng: np.random.Generator) -> Market:
    """The market by another history: its months drawn with replacement where they make its
    covariance, else moments drawn from how far they are known; as it is where neither is."""
    redrawn = _by_months(market, rng)
    if redrawn is not None:
        return redrawn
    if market.periods is None or market.mean_covariance is None:
        return market
    freedom = max(int(market.periods) - 1, market.size + 1)
    normal = rng.standard_normal((freedom, market.size)) @ np.linalg.cholesky(market.covariance).T
    means = rng.multivariate_normal(market.expected_returns, market.mean_covariance)
    covariance = normal.T @ normal / freedom
    return replace(
        market, expected_returns=read_only(means), covariance=read_only(covariance)
    )  # fmt: skip


def _by_months(market: Market, rng: np.random.Generator) -> Market | None:
    if market.history is None:
        return None
    table = market.history.rename(columns=str)[list(market.names)]

    def moments_of(history: pd.DataFrame) -> tuple[Vector, Matrix] | None:
        try:
            found = estimate_moments(history, periods_per_year=market.periods_per_year)
        except ImopError:
            return None
        if not found.positive_definite:
            return None
        return (
            found.expected_returns.to_numpy(dtype=np.float64),
            found.covariance.to_numpy(dtype=np.float64),
        )

    own = moments_of(table)
    off = np.inf if own is None else float(np.abs(own[1] - market.covariance).max())
    if off > SAME_MOMENTS * float(np.abs(market.covariance).max()):
        return None  # by another estimator, or with cash by a rate
    drawn = table.iloc[rng.integers(0, len(table), len(table))].set_axis(table.index)
    moments = moments_of(drawn)
    if moments is None:
        return None
    return replace(
        market,
        expected_returns=read_only(moments[0]),
        covariance=read_only(moments[1]),
        history=drawn,
    )


def _problem(study: Study, data: StudyData, rng: np.random.Generator) -> Problem:
    """The study's problem on the drawn data; the analyst's anchors move by her own error."""
    problem = make_problem(data, study.settings)
    errors = np.array(study.settings.anchor_errors)
    if study.settings.anchors is None or not errors.any():
        return problem
    values = problem.theta.values + errors * rng.standard_normal(len(errors))
    moved = list(zip(problem.theta.equalities, values, strict=True))
    return with_anchors(problem, moved, undetermined=True)


def _parts(study: Study) -> tuple[str, ...]:
    market, given = study.data.market, study.settings.anchors
    parts = [say.INVESTORS]
    if market.periods is not None and market.mean_covariance is not None:
        parts.append(say.MONTHS)
    unsure = any(study.settings.anchor_errors) if given is not None else len(parts) > 1
    return (*parts, say.ANCHORS) if unsure else tuple(parts)
