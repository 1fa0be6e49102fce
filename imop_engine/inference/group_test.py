"""Whether groups differ by more than chance: labels dealt again among those who are compared.

If beliefs do not depend on the group, then among investors of like boldness it is chance who
belongs to which, whatever their errors are like: dealing the labels again gives the distribution of
any statistic. Somebody who comes in several groups is her own stratum; her departures from her own
mean are turned round as a whole with probability one half, which keeps errors that last from one
date to the next together. Under either, the covariance of the sums of scores stays what it is, so
one inverse serves all draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.stats import f as f_distribution

from imop_engine.arguments import Matrix, Vector
from imop_engine.inference.group_effects import Effects
from imop_engine.inference.group_scores import Codes

DRAWS: Final = 499
ZERO: Final = 1e-8  # eigenvalues of a covariance, scaled to a unit diagonal, below this are zero
SAME: Final = 1e-9  # statistics this close, relatively, are equal: few investors can be dealt alike


@dataclass(frozen=True, eq=False)
class GroupTest:
    """Whether groups differ.

    Args:
        statistic: squared departures in units of what chance gives, all assets and groups.
        degrees: its mean if groups do not differ.
        p_value: share of draws, the labels as they are among them, with a statistic as large.
        draws: how often labels were dealt.
    """

    statistic: float
    degrees: int
    p_value: float
    draws: int


@dataclass(frozen=True, eq=False)
class _Units:
    """What is dealt: clusters in one group each, sorted by stratum, and clusters in several."""

    sums: Matrix  # centred scores of each unit
    codes: Codes
    strata: Codes
    turned: Matrix  # stacked centred scores of each cluster that comes in several groups


def difference_test(effects: Effects, seed: int, draws: int = DRAWS) -> GroupTest:
    """Test whether the groups believe the same.

    Args:
        effects: departures of the groups.
        seed: of the labels that are dealt.
        draws: how often.

    Returns:
        The test of all assets together.
    """
    G, n = effects.departures.shape
    units = _units(effects)
    spread = effects.solve @ _chance_covariance(units, G) @ effects.solve.T
    seen = ~effects.open.ravel()
    sums = np.zeros((G, n))
    np.add.at(sums, effects.strata.codes, effects.centred)
    departures = np.vstack([sums.ravel(), _dealt(units, G, seed, draws)]) @ effects.solve.T
    together, degrees = _squared(departures, spread, np.flatnonzero(seen))
    p_value = _share(together, together[0]) if degrees else 1.0
    return GroupTest(float(together[0]), degrees, p_value, draws)


def asset_p_values(effects: Effects) -> Vector:
    """For each asset, how likely chance gives departures as large, if groups differ elsewhere.

    Looks at departures and their covariance, not at dealt labels: those ask whether groups differ
    in anything, and where they do they say little of a single asset.

    Args:
        effects: departures of the groups, at their own fits.

    Returns:
        p-values that take the number of assets into account (Holm); NaN where it cannot be told.
    """
    G, n = effects.departures.shape
    clusters = int(effects.strata.clusters.max()) + 1
    p_values = np.full(n, np.nan)
    for j in range(n):
        at = np.flatnonzero(~effects.open[:, j]) * n + j
        found, rank = _squared(effects.departures.ravel()[None, :], effects.covariance, at)
        if rank:
            p_values[j] = f_distribution.sf(found[0] / rank, rank, max(1, clusters - G))
    known = np.flatnonzero(np.isfinite(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    stepped = p_values[order] * np.arange(len(order), 0, -1)
    p_values[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return p_values


def _units(effects: Effects) -> _Units:
    strata, (G, n) = effects.strata, effects.departures.shape
    count = int(strata.clusters.max(initial=-1)) + 1
    one = ~strata.several
    sums, codes, places = np.zeros((count, n)), np.full(count, -1), np.zeros(count, dtype=np.int64)
    np.add.at(sums, strata.clusters[one], effects.centred[one])
    codes[strata.clusters[one]] = strata.codes[one]
    places[strata.clusters[one]] = strata.strata[one]
    there = np.flatnonzero(codes >= 0)
    there = there[np.argsort(places[there], kind="stable")]
    turned = np.zeros((count, G, n))
    np.add.at(turned, (strata.clusters[~one], strata.codes[~one]), effects.centred[~one])
    return _Units(sums[there], codes[there], places[there], turned[codes < 0].reshape(-1, G * n))


def _chance_covariance(units: _Units, groups: int) -> Matrix:
    """Covariance of the stacked sums of scores over all ways to deal the labels."""
    n = units.sums.shape[1]
    total = np.zeros((groups, n, groups, n))
    ends = np.flatnonzero(np.diff(units.strata)) + 1
    for rows in np.split(np.arange(len(units.codes)), ends):
        if len(rows) < 2:
            continue
        q = np.bincount(units.codes[rows], minlength=groups) / len(rows)
        squares = units.sums[rows].T @ units.sums[rows] * (len(rows) / (len(rows) - 1))
        total += (np.diag(q) - np.outer(q, q))[:, None, :, None] * squares[None, :, None, :]
    result: Matrix = total.reshape(groups * n, groups * n) + units.turned.T @ units.turned
    return result


def _dealt(units: _Units, groups: int, seed: int, draws: int) -> Matrix:
    """Stacked sums of scores with labels dealt again, one draw in each row."""
    rng = np.random.default_rng(seed)
    member = np.eye(groups)[:, units.codes]
    rows = []
    for _ in range(draws):
        order = np.lexsort((rng.random(len(units.codes)), units.strata))
        signs = rng.choice([-1.0, 1.0], len(units.turned))
        rows.append((member @ units.sums[order]).ravel() + signs @ units.turned)
    return np.array(rows)


def _squared(departures: Matrix, spread: Matrix, at: Codes) -> tuple[Vector, int]:
    """Squared size in units of chance, of each draw, and how many directions it has."""
    block = spread[np.ix_(at, at)]
    size = np.sqrt(np.maximum(np.diag(block), 0.0))
    moves = size > ZERO * max(float(size.max(initial=0.0)), np.finfo(float).tiny)
    at, size = at[moves], size[moves]
    values, vectors = np.linalg.eigh(block[np.ix_(moves, moves)] / np.outer(size, size))
    inside = values > ZERO
    root = vectors[:, inside] / np.sqrt(values[inside]) / size[:, None]
    return np.sum((departures[:, at] @ root) ** 2, axis=1), int(inside.sum())


def _share(draws: Vector, value: float) -> float:
    """Of the draws, the first of which is the data, how many are as large."""
    return float(np.mean(draws >= value * (1.0 - SAME)))
