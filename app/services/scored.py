"""A study's portfolios with a score as third objective, as plain tables, in whatever process is
asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from imop_engine.progress import watched


def of_study(
    study: Any, scores: list[float], anchors: dict[str, float], notice: Callable[[float], None]
) -> dict[str, Any]:
    """Tables behind the page Score, and what is said of them.

    Args:
        study: A finished one.
        scores: Of each asset, in the market's order.
        anchors: What is known of the returns, a year.
        notice: Told the share that is done; may raise `Stopped`.
    """
    from imop_engine.sentences import third_objective as say
    from imop_engine.study.scoring import score_study

    with watched(notice):
        found = score_study(study, scores, anchors)
    fit, sentences = found.fit, []
    sentences.append(say.sampled(len(found.portfolios), found.investors))
    sentences.append(say.left_out(found.left_out))
    bad = fit.explained <= 0.0
    if bad:
        sentences.append(say.no_result(fit.explained))
    else:
        sentences += [*fit.sentences(), say.beside(fit.explained, found.explained_without)]
        if fit.open:
            sentences.append(say.left_open(fit.open))
    tables = {"returns": _returns(found, hidden=bad)}
    if found.surface is not None and not bad and fit.investors["price"].notna().any():
        tables |= _pictures(found)
    return {
        "tables": tables,
        "said": [one for one in sentences if one],
        "price": (fit.price, fit.price_low, fit.price_high),
        "cost": float(fit.investors["cost"].median()),
        "explained": float(fit.explained),
        "without": float(found.explained_without),
        "scores": [float(one) for one in scores],
        "anchors": dict(anchors),
    }


def _returns(found: Any, hidden: bool) -> pd.DataFrame:
    """asset, score, estimate, low, high and status; nothing of a fit that is no result."""
    table: pd.DataFrame = found.fit.returns.set_index("asset").reindex(found.scores.index)
    table.insert(0, "score", found.scores)
    table = table.rename_axis("asset").reset_index()
    if hidden:
        table[["estimate", "low", "high"]] = np.nan
    known = np.where(table["asset"].isin(found.anchors), "anchored", "identified")
    return table.assign(status=np.where(table["estimate"].notna(), known, "not seen"))


def _pictures(found: Any) -> dict[str, pd.DataFrame]:
    from imop_engine.report import frames_score

    surface, people = found.surface, found.fit.investors
    names = found.portfolios.index.astype(str)
    weights = frames_score.comparable_weights(people, surface)
    listed = people.rename(columns={name: f"weight_{name}" for name in frames_score.OBJECTIVES})
    shares = weights.rename(columns={name: f"share_{name}" for name in weights.columns})
    told = found.attributes.reset_index(drop=True).rename(columns=str)
    told = told.drop(columns=[one for one in told if one in {*listed, *shares, "id"}])
    investors = pd.concat([listed, shares, told], axis=1)
    investors.insert(0, "id", names)
    levels = frames_score.score_levels(surface)
    solved = pd.DataFrame(surface.decisions, columns=list(found.problem.names))
    solved.insert(0, "score", -surface.values[:, 2])
    solved.insert(0, "risk", np.sqrt(np.maximum(surface.values[:, 1], 0.0)))
    solved.insert(0, "return", -surface.values[:, 0])
    return {
        "investors": investors,
        "cells": frames_score.triangle_density(weights),
        "points": frames_score.triangle_points(weights, names),
        "weights": frames_score.weight_distribution(weights),
        "medians": frames_score.weight_medians(weights),
        "frontiers": frames_score.level_frontiers(surface, levels),
        "cloud": frames_score.score_cloud(surface, found.portfolios),
        "costs": frames_score.cost_histogram(people["cost"]),
        "surface": solved,
    }
