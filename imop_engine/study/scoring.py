"""A score of each asset as third objective, on the portfolios and the market of a study.

The study's own estimate is of return and risk alone. Here its portfolios are fitted anew with the
score beside the two, investors whom it set aside included: whoever cares for the score may lie far
from a frontier that knows nothing of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from imop_engine import gate
from imop_engine.arguments import Matrix, Vector, broadcast
from imop_engine.errors import InvalidInput
from imop_engine.inference.anchor_choice import AnchorCandidate, AnchorChoice, anchor_choice
from imop_engine.inference.anchors import held_assets
from imop_engine.inference.score import ScoreFit, fit_score, score_problem
from imop_engine.problem import Problem
from imop_engine.progress import note, stretch
from imop_engine.study.outcome import Study
from imop_engine.surface import Surface, efficient_surface

ANCHORS: Final = 3  # for level, scale, and the price of the score
# Each investor has a matrix of assets by assets in the fit; more than these add little to a return.
MOST_INVESTORS: Final = 4000
CORNERS: Final = 1600  # of the surface; its cuts then lie within 0.02% of return of what is solved
MOST_CANDIDATES: Final = 14  # of whom the best three are looked for
FLAT: Final = 1e-3  # a smallest singular value below which three anchors do not tell things apart
OUTSIDE: Final = 0.01  # of a portfolio that may be in other assets: rounding
SHARE_OF_GAINS: Final = "share of periods with a gain"
CALM: Final = "minus the asset's own risk"


@dataclass(frozen=True, eq=False)
class StudyScore:
    """A study's portfolios with a score as third objective.

    Attributes:
        problem: what is decided: minus return, variance, minus score.
        scores: of each asset of the study; more is better.
        anchors: the returns that were taken as known, a year.
        fit: returns with intervals, investors, the price of the score.
        surface: the efficient portfolios under those returns; None where returns stay open.
        portfolios: the holdings that were fitted, a row for each investor.
        attributes: what else is known of these investors, in the same order.
        investors: how many the study has; more than were fitted where they are very many, or some
            hold what hardly anybody else does.
        left_out: assets that hardly anybody holds.
        explained_without: share of the variation in holdings that the study explains with return
            and risk alone.
    """

    problem: Problem
    scores: pd.Series[Any]
    anchors: dict[str, float]
    fit: ScoreFit
    surface: Surface | None
    portfolios: pd.DataFrame
    attributes: pd.DataFrame
    investors: int
    left_out: tuple[str, ...]
    explained_without: float


@gate.public("imop_engine.study.scoring")
def score_study(
    study: Study, scores: Sequence[float], anchors: Mapping[str, float] | None = None
) -> StudyScore:
    """Fit returns and each investor's weights on return, risk and score to a study's portfolios.

    Assets that hardly anybody holds are left out, and the few investors who hold them: portfolios
    do not tell the returns of these, and what is best among all assets without them is best among
    the others.

    Args:
        study: A finished study; its market, caps and portfolios are used.
        scores: A number for each asset, in the market's order; more is better.
        anchors: What is known of the returns, a year: {asset or portfolio of `score_candidates`:
            return}. None takes `suggested_anchors`.

    Returns:
        The fit, and the efficient surface where no return stays open.
    """
    limits = study.settings.all_limits
    if limits.linear or limits.floors or limits.lower:
        raise InvalidInput(
            "a score goes with caps on single assets only so far, and this run has limits on sums "
            "or least holdings; remove them on the page Market (or from the settings) and learn "
            "again."
        )
    found = score_candidates(study)
    known = suggested_anchors(study, scores, found) if anchors is None else dict(anchors)
    held = _held(study)
    problem = _problem(study, scores, [(_row(found, name, held), v) for name, v in known.items()])
    portfolios, rows = _among(study, held)
    with stretch(0.02, 0.75):
        fit = fit_score(problem, portfolios.to_numpy(dtype=float))
    surface = None
    theta = fit.returns["estimate"].to_numpy(dtype=float)
    if np.isfinite(theta).all():
        with stretch(0.75, 0.97):
            # an estimate may end a hair outside the box by rounding
            surface = score_surface(problem, problem.theta.nearest(theta))
    note(0.98)
    names = np.array(study.problem.names, dtype=object)
    return StudyScore(
        problem,
        pd.Series(np.asarray(scores, dtype=float), index=list(names)),
        known,
        fit,
        surface,
        portfolios,
        study.data.attributes[study.data.good].iloc[rows],
        study.rounds,
        tuple(names[~held]),
        float(study.fit.explained),
    )


def score_surface(problem: Problem, theta: Vector, corners: int = CORNERS) -> Surface:
    """The efficient portfolios of return, risk and score, the same in whatever unit scores are.

    A triangulation of weights is fine where weights are of one size; so scores are measured in the
    unit in which they differ as much as returns do; values and weights come back in their own.

    Args:
        problem: As `score_problem` makes it.
        theta: Expected returns, a year.
        corners: How many portfolios are solved at most.

    Returns:
        The surface of `problem`.
    """
    s = -problem.linear0[2]
    unit = max(float(np.ptp(theta)), 1e-9) / float(np.ptp(s))
    scaled = np.array([problem.linear0[0], problem.linear0[1], -unit * s])
    found = efficient_surface(replace(problem, linear0=scaled), theta, corners=corners)
    weights = found.weights * [1.0, 1.0, unit]
    return replace(
        found,
        problem=problem,
        weights=weights / weights.sum(axis=1, keepdims=True),
        values=found.values / [1.0, 1.0, unit],
    )


def _held(study: Study) -> NDArray[np.bool_]:
    """Assets that enough investors hold for their returns to be told."""
    found = held_assets(study.adjusted_decisions.to_numpy(dtype=float))
    if found.sum() < ANCHORS:
        raise InvalidInput(
            f"only {int(found.sum())} assets are held by more than a few of these investors, and a "
            "score asks for three at least; give portfolios that differ more."
        )
    return found


def _problem(
    study: Study, scores: Sequence[float], anchors: Sequence[tuple[Vector, float]]
) -> Problem:
    """The problem of three objectives on the assets that are held, and the rest of its caps."""
    held = _held(study)
    names = [name for name, kept in zip(study.problem.names, held, strict=True) if kept]
    Q = study.problem.covariance[np.ix_(held, held)]
    box = study.problem.theta
    return score_problem(
        pd.DataFrame(Q, index=names, columns=names),
        np.asarray(scores, dtype=float)[held],
        upper=broadcast(study.problem.upper, study.problem.n, "upper")[held],
        bounds=(box.lower[held], box.upper[held]),
        anchors=list(anchors) or None,
    )


def _row(found: AnchorChoice, name: str, held: NDArray[np.bool_]) -> Vector:
    """The holdings of an anchor among the assets that are held."""
    one = found.candidate(name)
    if one is None:
        raise InvalidInput(
            f"{name} is neither an asset nor a portfolio whose return can be known here; choose "
            f"among {', '.join(each.name for each in found.candidates[:6])}, ..."
        )
    if not _inside(one, held):
        raise InvalidInput(
            f"hardly any of these investors hold {name}, so that its return tells nothing of the "
            "others; name one that many hold."
        )
    row: Vector = one.portfolio[held] / one.portfolio[held].sum()
    return row


def _inside(one: AnchorCandidate, held: NDArray[np.bool_]) -> bool:
    return float(one.portfolio[held].sum()) > 1.0 - OUTSIDE


def _among(study: Study, held: NDArray[np.bool_]) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """The portfolios of those who hold these assets and hardly others, and their places."""
    whole = study.adjusted_decisions
    inside = whole.to_numpy(dtype=float)[:, held].sum(axis=1)
    rows = np.flatnonzero(inside > 1.0 - OUTSIDE)
    rows = rows[
        np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MOST_INVESTORS)).astype(int))
    ]
    return whole.iloc[rows, np.flatnonzero(held)].div(inside[rows], axis=0), rows


def score_candidates(study: Study) -> AnchorChoice:
    """Assets and portfolios of a study whose returns might be taken as known."""
    return anchor_choice(
        study.problem,
        study.data.market.expected_returns,
        study.data.market.mean_covariance,
        study.adjusted_decisions.to_numpy(dtype=float),
        study.theta,
    )


def suggested_anchors(
    study: Study, scores: Sequence[float], found: AnchorChoice | None = None
) -> dict[str, float]:
    """Three known returns, as they were in the history, that tell level, scale and price apart.

    Which three is decided by what the study believes and not by the history's own means: whoever
    picked the three that a history happened to set far apart would pick its errors.

    Args:
        study: A finished study.
        scores: A number for each asset, in the market's order.
        found: As `score_candidates` gives it; None makes it.

    Returns:
        {asset or portfolio: return a year}; empty where no three tell the three things apart.
    """
    choice = score_candidates(study) if found is None else found
    s = np.asarray(scores, dtype=float)
    if s.shape != (len(choice.names),) or not np.isfinite(s).all() or np.ptp(s) == 0.0:
        return {}
    held = _held(study)
    useful = [
        one
        for one in choice.candidates
        if one.useful and np.isfinite(one.value) and _inside(one, held)
    ]
    useful = sorted(useful, key=lambda one: -one.holders)[:MOST_CANDIDATES]
    best = min(
        combinations(useful, ANCHORS),
        key=lambda three: _looseness(choice, three, s),
        default=(),
    )
    if not best or not np.isfinite(_looseness(choice, best, s)):
        return {}
    return {one.name: one.value for one in best}


def _looseness(choice: AnchorChoice, three: Sequence[AnchorCandidate], s: Vector) -> float:
    """Variance that the history's errors give level, scale and price together, on one footing."""
    rows = np.array([one.portfolio for one in three])
    A = rows @ _shape(choice, s)
    if np.linalg.svd(A, compute_uv=False)[-1] < FLAT:
        return np.inf
    inverse = np.linalg.inv(A)
    values = np.array([one.value for one in three])
    if (inverse @ values)[1] <= 0.0:  # by these values better beliefs would mean less return
        return np.inf
    errors = np.eye(ANCHORS)
    if choice.mean_covariance is not None:
        errors = rows @ choice.mean_covariance @ rows.T
    return float(np.trace(inverse @ errors @ inverse.T))


def _shape(choice: AnchorChoice, s: Vector) -> Matrix:
    """Level, beliefs and score in columns, the last two with mean zero and spread one."""
    spread = [(one - one.mean()) / max(float(one.std()), 1e-12) for one in (choice.beliefs, s)]
    return np.column_stack([np.ones(len(s)), *spread])


def example_scores(study: Study) -> tuple[pd.Series[Any], str]:
    """A score to try this with, computed from the study's own market, and what it is.

    It is no rating of anything: the share of the history's periods in which an asset gained, or,
    where a market came without a history, minus the standard deviation of its return.

    Args:
        study: A finished study.

    Returns:
        The score of each asset, and its name in words.
    """
    market, names = study.data.market, list(study.problem.names)
    if market.history is not None and set(names) <= set(map(str, market.history.columns)):
        table = market.history.rename(columns=str)[names]
        gained = (table > 0.0).where(table.notna()).astype(float).mean()
        if gained.notna().all() and float(np.ptp(gained)) > 0.0:
            return gained, SHARE_OF_GAINS
    risks = np.sqrt(np.diag(study.problem.covariance))
    return pd.Series(-risks, index=names), CALM
