"""Differences between estimated returns, and their ranks: what no common level can move.

The intervals are made as those of the returns are (`identify.report`), from the same sources, with
what the returns share left out.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from imop_engine.arguments import Matrix, Vector
from imop_engine.inference.bias_simulation import UNSURE_OF_BIAS
from imop_engine.inference.identify import Identification
from imop_engine.inference.row_levels import RowLevels

DRAWS: Final = 4000  # of the returns, for the intervals of their ranks


class Open(NamedTuple):
    """How far the returns may move with what is only bounded: single assets, which move the others
    through the anchors, and the levels of limits that hardly anybody is below."""

    response: Matrix
    down: Vector
    up: Vector

    @classmethod
    def of(cls, known: Identification) -> Open:
        """From an identification."""
        n = len(known.estimate)
        solved = known.estimate + known.step
        response = np.zeros((n, n)) if known.response is None else known.response
        moves = np.any(response != 0.0, axis=0)
        levels = RowLevels.none(n) if known.levels is None else known.levels
        return cls(
            np.hstack([response, levels.directions.T]),
            np.append(np.where(moves, known.low - solved, 0.0), levels.down),
            np.append(np.where(moves, known.high - solved, 0.0), levels.up),
        )

    def ends(self, rows: Matrix) -> tuple[Vector, Vector]:
        """The least and the most that they add.

        Args:
            rows: the response of each quantity, one in a row.
        """
        rise, fall = np.maximum(rows, 0.0), np.minimum(rows, 0.0)
        return rise @ self.down + fall @ self.up, rise @ self.up + fall @ self.down


def differences(known: Identification, shown: NDArray[np.bool_]) -> pd.DataFrame:
    """asset, other, difference, low, high: of every two returns, the larger less the smaller.

    Args:
        known: how far each return is known.
        shown: which assets have an estimate.

    Returns:
        Yearly returns; pairs in the order of the estimates, from the largest down, so that
        neighbours in that order come first within each asset.
    """
    order = _order(known, shown)
    first, second = np.triu_indices(len(order), 1)
    i, j = order[first], order[second]
    r, bias, names = known.estimate, known.sources.bias, known.problem.theta_names
    apart = r[i] - r[j]
    spread = known.sources.difference_errors()[i, j]
    half = _z(known) * np.hypot(spread, UNSURE_OF_BIAS * (bias[i] - bias[j]))
    middle = apart + known.step[i] - known.step[j] - (bias[i] - bias[j])
    open_ = Open.of(known)
    least, most = open_.ends(open_.response[i] - open_.response[j])
    return pd.DataFrame(
        {
            "asset": [names[k] for k in i],
            "other": [names[k] for k in j],
            "difference": apart,
            "low": np.minimum(apart, middle - half + least),
            "high": np.maximum(apart, middle + half + most),
        }
    )


def ranks(known: Identification, shown: NDArray[np.bool_], seed: int = 0) -> pd.DataFrame:
    """asset, rank, low, high: 1 is the largest return; from the largest down.

    Args:
        known: how far each return is known.
        shown: which assets have an estimate; the others have no rank.
        seed: of the returns that are drawn from the estimate's covariance.

    Returns:
        Ranks as whole numbers, with intervals at the level of the returns' own.
    """
    order = _order(known, shown)
    sources, names = known.sources, known.problem.theta_names
    unsure = UNSURE_OF_BIAS * sources.bias
    # the error of the anchors is left out: neither a level nor a positive scale moves a rank
    whole = sources.given_anchors + np.outer(unsure, unsure)
    values, vectors = np.linalg.eigh(whole[np.ix_(order, order)])
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    middle = (known.estimate + known.step - sources.bias)[order]
    rng = np.random.default_rng(seed)
    drawn = middle + rng.normal(size=(DRAWS, len(order))) @ factor.T
    # a tie, of returns that anchors fix, goes by the estimates
    rank = low = high = np.arange(1, len(order) + 1)
    tail = 0.5 - 0.5 * known.level
    for moved in _level_ends(known):
        places = np.argsort(np.argsort(-drawn - moved[order], axis=1, kind="stable"), axis=1) + 1
        if len(order):
            low = np.minimum(low, np.quantile(places, tail, axis=0, method="lower"))
            high = np.maximum(high, np.quantile(places, 1.0 - tail, axis=0, method="higher"))
    return pd.DataFrame(
        {
            "asset": [names[k] for k in order],
            "rank": rank,
            "low": np.minimum(rank, low).astype(np.int64),
            "high": np.maximum(rank, high).astype(np.int64),
        }
    )


def _level_ends(known: Identification) -> list[Vector]:
    """What the returns move by: nothing, and each open level of a limit to either end."""
    n = len(known.estimate)
    levels = RowLevels.none(n) if known.levels is None else known.levels
    ends = [np.zeros(n)]
    for row, down, up in zip(levels.directions, levels.down, levels.up, strict=True):
        ends += [down * row, up * row]
    return ends


def _order(known: Identification, shown: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Positions of the assets that have an estimate, the largest first."""
    order = np.argsort(-known.estimate, kind="stable")
    return order[shown[order]].astype(np.int64)


def _z(known: Identification) -> float:
    return float(ndtri(0.5 + known.level / 2))
