"""Groups of a study: the common estimate, the labels and the way of errors put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from imop_engine.errors import ImopError
from imop_engine.gauge import gauge_of
from imop_engine.inference.estimators import IMPLIED
from imop_engine.inference.group_labels import GroupLabels, group_labels
from imop_engine.inference.group_members import alike_within
from imop_engine.inference.group_scores import BeliefScores, HoldingScores, ScoreModel
from imop_engine.inference.groups import CommonBeliefs, Groups, compare_groups
from imop_engine.sentences.groups import not_learned
from imop_engine.study.data import StudyData
from imop_engine.study.estimate import beliefs_of

if TYPE_CHECKING:  # it asks for its groups here
    from imop_engine.study.outcome import Study

ESTIMATED = ("identified", "anchored", "relative")


def require_groups(data: StudyData, by: str) -> GroupLabels:
    """The group of each good portfolio; refuses what makes no groups.

    Args:
        data: portfolios and what is known of them.
        by: a column, or "year" or "quarter" of the dates.
    """
    return group_labels(data.attributes[data.good], by)


def group_columns(data: StudyData) -> tuple[str, ...]:
    """What groups can be made by: "year" and "quarter" where there are dates, then attributes.

    Args:
        data: portfolios and what is known of them.
    """
    named = [str(name) for name in data.attributes.columns]
    dated = ["year", "quarter"] if "date" in named else []
    found = []
    for by in dict.fromkeys([*dated, *(name for name in named if name != "date")]):
        try:
            require_groups(data, by)
        except ImopError:
            continue
        found.append(by)
    return tuple(found)


def study_groups(study: Study, by: str) -> Groups:
    """What groups of the investors of a study believe.

    Args:
        study: finished or stopped.
        by: a column, or "year" or "quarter" of the dates.

    Returns:
        Beliefs by group, and whether they differ.
    """
    explained = None
    labels = group_labels(study.data.attributes[study.data.good].iloc[: study.rounds], by)
    Y, estimate = study.decisions.to_numpy(), study.estimate
    if estimate is None:
        kept = np.ones(len(Y), dtype=bool)
        clusters = pd.factorize(study.decisions.index)[0].astype(np.int64)
        model: ScoreModel = HoldingScores.of(study.problem, study.theta, Y)
    else:
        if estimate.found.way == IMPLIED:
            raise ImopError(not_learned())
        kept, clusters = estimate.kept, estimate.clusters
        explained = kept
        beliefs, Y, tiny = estimate.likelihood(Y), estimate.portfolios(Y), estimate.found.tiny
        kept = kept | alike_within(study.problem, Y, kept, labels.codes, clusters, tiny)
        if beliefs is None:
            model = HoldingScores.of(study.problem, study.theta, Y[kept], explained[kept])
        else:
            if (kept != explained).any():  # of these portfolios, too
                beliefs = beliefs_of(study.problem, Y[kept], tiny)
            model = BeliefScores.of(study.problem, Y[kept], tiny, beliefs)
    seed = study.settings.seed
    return compare_groups(model, labels, kept, clusters, _common(study), seed, explained)


def _common(study: Study) -> CommonBeliefs:
    known, theta = study.identification, study.problem.theta
    n = study.problem.n
    errors, status = np.zeros(n), np.ones(n, dtype=bool)
    if known is not None:
        errors = known.sources.standard_errors
        status = np.array([one in ESTIMATED for one in known.status])
    return CommonBeliefs(
        study.problem.names,
        study.theta,
        np.nan_to_num(errors),
        status,
        gauge_of(theta.equalities, theta.values).fixed,
        study.settings.level,
    )
