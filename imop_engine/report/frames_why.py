"""Why an asset has the return that was learned: holders, shares, covariance, distances, errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from imop_engine.frontier import risk_of
from imop_engine.report.frames import HELD_FROM
from imop_engine.report.frames_learn import implied
from imop_engine.report.frames_trust import SOURCE_WORDS, sources_table
from imop_engine.sentences import why as say
from imop_engine.study import Study

STEPS: Final = 10  # tenths of the investors, from careful to bold
ALONG: Final = 80  # points along the frontier
PARTS: Final = 8  # holdings that are named in the sum of covariances
REST: Final = "all others"


@dataclass(frozen=True, eq=False)
class Why:
    """What one return rests on.

    Args:
        asset: Its name.
        said: Sentences, in the order in which they are read.
        holders: step (1 is the most careful tenth), risk, held_by, share: who holds it, how much.
        efficient: risk, share along the estimated frontier.
        covariance: asset, part (of the covariance with the average portfolio, may be negative).
    """

    asset: str
    said: tuple[str, ...]
    holders: pd.DataFrame
    efficient: pd.DataFrame
    covariance: pd.DataFrame


def why(study: Study, asset: str) -> Why:
    """What the return of one asset rests on.

    Args:
        study: Finished.
        asset: One of its assets.
    """
    names = list(study.problem.names)
    at = names.index(asset)
    held = study.adjusted_decisions.to_numpy(dtype=float)
    risk = risk_of(study.problem, held)
    _, portfolios = study.frontier.sample(ALONG)
    efficient = pd.DataFrame(
        {"risk": risk_of(study.problem, portfolios), "share": portfolios[:, at]}
    )
    parts = _covariance(study, held.mean(axis=0), at)
    return Why(
        asset,
        tuple(_said(study, at, held, risk, portfolios[:, at], parts)),
        _holders(held[:, at], risk),
        efficient,
        parts,
    )


def _holders(held: np.ndarray, risk: np.ndarray) -> pd.DataFrame:
    order = np.argsort(risk, kind="stable")
    groups = [part for part in np.array_split(order, min(STEPS, len(order))) if len(part)]
    return pd.DataFrame(
        {
            "step": np.arange(1, len(groups) + 1),
            "risk": [float(np.median(risk[part])) for part in groups],
            "held_by": [float((held[part] >= HELD_FROM).mean()) for part in groups],
            "share": [float(held[part].mean()) for part in groups],
        }
    )


def _covariance(study: Study, mean: np.ndarray, at: int) -> pd.DataFrame:
    """What each holding of the average portfolio adds to an asset's covariance with it."""
    added = study.problem.covariance[at] * mean
    whole = float(added.sum())
    table = pd.DataFrame({"asset": list(study.problem.names), "part": added / (whole or 1.0)})
    order = np.argsort(-np.abs(added), kind="stable")
    first = [i for i in order[:PARTS] if mean[i] > 0.0]
    rest = float(table["part"].sum() - table["part"].iloc[first].sum())
    shown = table.iloc[first]
    if abs(rest) > 1e-9:
        shown = pd.concat([shown, pd.DataFrame({"asset": [REST], "part": [rest]})])
    return shown.reset_index(drop=True)


def _said(
    study: Study,
    at: int,
    held: np.ndarray,
    risk: np.ndarray,
    shares: np.ndarray,
    parts: pd.DataFrame,
) -> list[str]:
    name = study.problem.names[at]
    holds = held[:, at] >= HELD_FROM
    bold = risk > np.median(risk)
    careful = float(holds[~bold].mean()) if (~bold).any() else 0.0
    row = study.frame_returns.iloc[at]
    out = [
        say.holders(name, careful, float(holds[bold].mean()) if bold.any() else 0.0, holds.mean()),
        say.efficient_shares(float(shares[0]), float(shares[-1]), float(shares.max())),
    ]
    own = float(parts.loc[parts["asset"] == name, "part"].sum())
    others = parts[(parts["asset"] != name) & (parts["asset"] != REST)]
    if not others.empty:
        largest = str(others["asset"].iloc[int(others["part"].abs().to_numpy().argmax())])
        out.append(say.covariance(name, own, 1.0 - own, largest))
    if not np.isfinite(row["estimate"]):
        return [*out, say.no_estimate(str(row["sentence"]))]
    out.append(
        say.beside(
            float(row["estimate"]),
            float(row["history"]),
            float(implied(study.problem, study.decisions)[at]),
        )
    )
    sources = sources_table(study).iloc[at].drop("asset").astype(float)
    if sources.notna().all() and sources.max() > 0.0:
        out.append(say.uncertainty(SOURCE_WORDS[str(sources.idxmax())], float(sources.max())))
    return out
