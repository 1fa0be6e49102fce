"""Where complete months explain portfolios better than all months: is it the filling of gaps?

Two of eight assets have short histories, so that months in which all are known are the latest ones.
A covariance of these is one of today's risks by accident. Where risks have changed, investors who
go by today's are explained worse by all months; that is a matter of the window, and assets without
a gap show it alike. Where risks have not changed, all months are at least as good.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import imop_engine as imop
import reference
from imop_engine.moments import estimate_moments

Q, TRUE = reference.SECURITIES_COVARIANCE, reference.SECURITIES_RETURN
MONTHS, RECENT = 360, 120
SHORT = {1: 60, 3: 90}  # months that are known of the second and of the fourth asset
WHOLE = [i for i in range(8) if i not in SHORT]
# what volatilities were before the latest ten years, beside today's
BEFORE = np.array([1.2, 1.0, 0.75, 1.0, 1.25, 0.75, 1.2, 0.8])


def history(seed: int, changed: bool) -> pd.DataFrame:
    """Monthly returns with gaps at the beginning of two assets."""
    rng = np.random.default_rng(seed)
    returns = rng.multivariate_normal(TRUE / 12, Q / 12, MONTHS)
    if changed:
        returns[:-RECENT] *= BEFORE
    for i, known in SHORT.items():
        returns[:-known, i] = np.nan
    months = pd.date_range("1995-01-31", periods=MONTHS, freq="ME")
    return pd.DataFrame(returns, index=months, columns=[f"A{i}" for i in range(8)])


def explained(covariance: np.ndarray, held: np.ndarray) -> float:
    """The share that the convex fit explains, anchored at what the bold and the cautious earn."""
    risk = np.einsum("ti,ij,tj->t", held, covariance, held)
    bold = risk > np.median(risk)
    anchors = [(held[bold].mean(axis=0), 0.10), (held[~bold].mean(axis=0), 0.06)]
    problem = imop.portfolio_problem(covariance, bounds=(-1.0, 1.0), anchors=anchors)
    fit = imop.fit_efficiency(problem, held)
    assert fit.certified
    return imop.measure_fit(imop.efficient_frontier(problem, fit.theta), held).explained


def shares(seed: int, changed: bool) -> dict[str, float]:
    rng = np.random.default_rng([seed, 1])
    frontier = imop.efficient_frontier(imop.portfolio_problem(Q), TRUE)
    held = frontier.at(rng.uniform(0.1, 0.9, 300))
    held = np.maximum(held + 0.02 * rng.normal(size=held.shape) * (held > 0), 0.0)
    held /= held.sum(axis=1, keepdims=True)
    table = history(seed, changed)

    def by(months: pd.DataFrame, gaps: str) -> float:
        moments = estimate_moments(months, gaps=gaps, periods_per_year=12)
        return explained(np.asarray(moments.covariance), held)

    part = held[:, WHOLE]
    part = part[part.sum(axis=1) > 0.5]
    part = part / part.sum(axis=1, keepdims=True)
    return {
        "all": by(table, "likelihood"),
        "complete": by(table, "complete"),
        "recent": by(table.tail(RECENT), "likelihood"),
        "whole assets, all": explained(12 * table.iloc[:, WHOLE].cov().to_numpy(), part),
        "whole assets, recent": explained(
            12 * table.iloc[-SHORT[1] :, WHOLE].cov().to_numpy(), part
        ),
    }


def test_old_risks_explain_less_with_gaps_and_without():
    found = pd.DataFrame([shares(seed, changed=True) for seed in range(6)]).mean()
    assert found["all"] < found["complete"] - 0.05
    # not the gaps: assets that have none lose as much
    assert found["whole assets, all"] < found["whole assets, recent"] - 0.05
    # the likelihood of the latest years fills the same gaps, and explains as much
    assert found["recent"] > found["complete"] - 0.01


def test_where_risks_stay_the_same_all_months_explain_no_less():
    found = pd.DataFrame([shares(seed, changed=False) for seed in range(6)]).mean()
    assert found["all"] > found["complete"]
