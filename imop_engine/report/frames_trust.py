"""The tables behind a verdict: what was found, where intervals come from, what does not hang on the
anchors, what was fitted besides the returns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from imop_engine.inference.differences import differences, ranks
from imop_engine.inference.sources import NAMES
from imop_engine.study import Study
from imop_engine.study.checks import Check
from imop_engine.study.outcome import KNOWN

CHECKS: Final = ("name", "severity", "sentence", "remedy")
DIFFERENCES: Final = ("asset", "other", "difference", "low", "high")
CHANGES_SHOWN: Final = 5
# What each source is called on a page.
SOURCE_WORDS: Final = {
    "sample": "sample",
    "noise": "errors",
    "history": "covariance",
    "anchors": "anchors",
    "model": "error model",
}


def checks_table(checks: Iterable[Check]) -> pd.DataFrame:
    """name, severity, sentence, remedy: worst first; no row where nothing was found.

    Args:
        checks: of a study.
    """
    return pd.DataFrame([one.to_dict() for one in checks], columns=list(CHECKS))


def has_estimate(study: Study) -> NDArray[np.bool_]:
    """Which assets have an estimate, in the order of the problem."""
    result: NDArray[np.bool_] = study.frame_returns["status"].isin(KNOWN).to_numpy()
    return result


def sources_table(study: Study) -> pd.DataFrame:
    """asset, then the share of the variance of its interval that comes from each source.

    Empty where there is no estimate, and where a return is fixed exactly.
    """
    known, names = study.identification, study.problem.names
    if known is None:
        return pd.DataFrame({"asset": list(names)}).assign(**dict.fromkeys(NAMES, np.nan))
    table: pd.DataFrame = known.sources.to_frame(names)
    shares = table[list(NAMES)]
    meant = has_estimate(study) & (shares.sum(axis=1) > 0.5).to_numpy()
    table[list(NAMES)] = shares.where(pd.Series(meant, index=table.index), axis=0)
    return table


def source_shares(study: Study) -> pd.DataFrame:
    """asset, source, share, order: the same for a chart, only assets that have an interval."""
    table = sources_table(study).dropna()
    parts = [
        pd.DataFrame(
            {"asset": table["asset"], "source": words, "share": table[name], "order": order}
        )
        for order, (name, words) in enumerate(SOURCE_WORDS.items())
    ]
    whole = pd.concat(parts, ignore_index=True)
    there = whole.groupby("source")["share"].transform("max") > 0.0
    return whole[there].reset_index(drop=True)


def differences_table(study: Study) -> pd.DataFrame:
    """asset, other, difference, low, high: of every two returns that have an estimate."""
    if study.identification is None:
        return pd.DataFrame(columns=list(DIFFERENCES))
    return differences(study.identification, has_estimate(study))


def neighbours_table(study: Study) -> pd.DataFrame:
    """asset, rank, low_rank, high_rank, other, difference, low, high: each return and the next.

    From the largest return down; the last has no other.
    """
    if study.identification is None:
        return pd.DataFrame(columns=["asset", "rank", "low_rank", "high_rank", *DIFFERENCES[1:]])
    shown = has_estimate(study)
    places = ranks(study.identification, shown, study.settings.seed)
    places = places.rename(columns={"low": "low_rank", "high": "high_rank"})
    pairs = differences(study.identification, shown).drop_duplicates("asset")
    return places.merge(pairs, on="asset", how="left")


def ways_table(study: Study) -> pd.DataFrame:
    """way, explained, chosen: what each way explains of investors it was not fitted to.

    Under the covariance of the history, and in a row of its own under the one fitted too, where
    that was taken.
    """
    columns = ["way", "explained", "chosen"]
    if study.estimate is None:
        return pd.DataFrame(columns=columns)
    found, joint = study.estimate.found, study.estimate.joint
    rows = [
        {"way": way, "explained": share, "chosen": way == found.way and joint is None}
        for way, share in found.explained.items()
    ]
    if joint is not None:
        fitted = f"{found.way}, covariance fitted too"
        rows.append({"way": fitted, "explained": study.estimate.explained, "chosen": True})
    return pd.DataFrame(rows, columns=columns)


def fitted_covariance(study: Study) -> pd.DataFrame | None:
    """asset, then a column for each asset: the yearly covariance; None where it was not fitted."""
    if study.estimate is None or study.estimate.joint is None:
        return None
    names = list(study.problem.names)
    table = pd.DataFrame(study.estimate.problem.covariance, columns=names)
    table.insert(0, "asset", names, allow_duplicates=True)
    return table


def covariance_changes(study: Study, count: int = CHANGES_SHOWN) -> pd.DataFrame:
    """what, before, after: the volatilities and correlations that the fit changed most.

    Args:
        study: finished.
        count: how many of each.

    Returns:
        `kind` is "volatility" (a fraction a year) or "correlation"; no row where the covariance was
        not fitted.
    """
    columns = ["kind", "what", "before", "after"]
    if study.estimate is None or study.estimate.joint is None:
        return pd.DataFrame(columns=columns)
    names = study.problem.names
    old = np.asarray(study.data.covariance, dtype=np.float64)
    new = np.asarray(study.estimate.problem.covariance, dtype=np.float64)
    risks = [np.sqrt(np.diag(one)) for one in (old, new)]
    alike = [one / np.outer(risk, risk) for one, risk in zip((old, new), risks, strict=True)]
    rows = [
        ("volatility", names[i], risks[0][i], risks[1][i])
        for i in np.argsort(-np.abs(risks[1] / risks[0] - 1.0), kind="stable")[:count]
    ]
    i, j = np.triu_indices(len(names), 1)
    moved = np.abs(alike[1] - alike[0])[i, j]
    for k in np.argsort(-moved, kind="stable")[:count]:
        at = i[k], j[k]
        rows.append(
            ("correlation", f"{names[at[0]]} and {names[at[1]]}", alike[0][at], alike[1][at])
        )
    return pd.DataFrame(rows, columns=columns)


def with_and_without(study: Study) -> pd.DataFrame | None:
    """asset, estimate, with_everyone, difference; None where nobody was set aside."""
    if study.estimate is None or study.estimate.found.everyone is None:
        return None
    table = study.frame_returns[["asset", "estimate", "with_everyone"]].dropna()
    return table.assign(difference=table["with_everyone"] - table["estimate"])
