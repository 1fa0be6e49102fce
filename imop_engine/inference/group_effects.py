"""What groups of investors believe apart from one another, as a linear model of their scores.

Groups differ in boldness as a rule, and whatever the model gets wrong (a covariance, a cap, the
errors' law) shows along the frontier, so bold and cautious investors have other mean scores without
believing anything else. So investors are compared with others of like boldness: a score is taken
less the mean of its stratum. A stratum is a lot of like boldness (`group_scores`), or one investor
where she comes in several groups, at several dates say: then she is compared with herself.

With q the shares of the groups in a stratum and h the information of its portfolios, group g's sum
of centred scores S_g moves with the groups' departures d by  sum over strata of
h (q_g d_g - q_g sum_h q_h d_h):  M d = S, which is solved on what it determines.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.inference.group_scores import Codes, ScoreModel, Scores

# Eigenvalues of M, scaled to a unit diagonal, below this are zero: shift and scale of each group
# come out near 1e-14.
ZERO: Final = 1e-9
OPEN: Final = 1e-4  # share of a departure that M does not determine, above which it is open
# Anchors of which every group holds less than this, in that sense, fix no common scale.
LEAST_GAUGE: Final = 0.02
LEAST_HOLDERS: Final = 8  # of an asset in a group: fewer say nothing of what the group believes
ROWS_AT_ONCE: Final = 5000


@dataclass(frozen=True, eq=False)
class Strata:
    """Who is compared with whom.

    Args:
        codes: the group of each portfolio, from 0.
        clusters: a number from 0 for each portfolio; equal numbers err together.
        lots: lot of like boldness.
        strata: a number from 0 for each portfolio: its lot, or its cluster where that comes in
            several groups.
        several: which portfolios have their cluster for a stratum.
        shares: of the groups in each stratum, strata x groups.
    """

    codes: Codes
    clusters: Codes
    lots: Codes
    strata: Codes
    several: NDArray[np.bool_]
    shares: Matrix

    @classmethod
    def of(cls, codes: Codes, clusters: Codes, lots: Codes) -> Strata:
        """Sort portfolios into strata.

        Args:
            codes: the group of each portfolio, from 0.
            clusters: a number for each portfolio; equal numbers err together.
            lots: lot of like boldness, from 0.
        """
        own = np.unique(clusters, return_inverse=True)[1].astype(np.int64)
        count = int(own.max(initial=-1)) + 1
        low, high = np.full(count, codes.max(initial=0) + 1), np.full(count, -1)
        np.minimum.at(low, own, codes)
        np.maximum.at(high, own, codes)
        several = (low < high)[own]
        # a cluster is in one lot, that of its middle portfolio: its label moves as a whole
        middle = np.round(np.bincount(own, lots) / np.maximum(np.bincount(own), 1)).astype(np.int64)
        key = np.where(several, lots.max(initial=0) + 1 + own, middle[own])
        strata = np.unique(key, return_inverse=True)[1].astype(np.int64)
        table = np.zeros((int(strata.max(initial=-1)) + 1, int(codes.max(initial=-1)) + 1))
        np.add.at(table, (strata, codes), 1.0)
        return cls(codes, own, lots, strata, several, table / table.sum(axis=1, keepdims=True))

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return int(self.shares.shape[1])

    def centred(self, scores: Matrix) -> Matrix:
        """Scores less the mean of their stratum.

        Args:
            scores: one row for each portfolio.
        """
        sums = np.zeros((len(self.shares), scores.shape[1]))
        np.add.at(sums, self.strata, scores)
        result: Matrix = scores - (sums / np.bincount(self.strata)[:, None])[self.strata]
        return result


@dataclass(frozen=True, eq=False)
class Effects:
    """Departures of groups from the common returns, on the anchors, by one step of the model.

    Args:
        strata: who was compared with whom.
        centred: scores less the mean of their stratum.
        solve: from stacked sums of scores to stacked departures, (groups n) x (groups n).
        departures: yearly returns, groups x n; mean zero under the weights.
        weights: share of each group among those whom the common returns were estimated from.
        covariance: of the stacked departures, clustered.
        open: which departures the portfolios do not determine, groups x n.
        by_anchors: whether the anchors fix shift and scale of all groups.
    """

    strata: Strata
    centred: Matrix
    solve: Matrix
    departures: Matrix
    weights: Vector
    covariance: Matrix
    open: NDArray[np.bool_]
    by_anchors: bool = True


def group_effects(
    model: ScoreModel,
    codes: Codes,
    clusters: Codes,
    known: NDArray[np.bool_],
    common: NDArray[np.bool_] | None = None,
) -> tuple[Effects, Effects]:
    """Departures of each group from the common returns.

    Shift and scale of each group are those at which the anchors earn the same for all groups, as
    far as they lie in assets that every group tells of; where that is too little, mean and spread
    of what every group tells of are the same for all.

    Args:
        model: portfolios that tell of beliefs.
        codes: the group of each portfolio, from 0; every group has some.
        clusters: a number for each portfolio; equal numbers err together.
        known: assets whose common return is known; groups are not compared in others.
        common: portfolios that the common returns were estimated from; None: all.

    Returns:
        One step from the common returns, which a test of no difference looks at; and one from each
        group's own fit, which differences of any size may be read from.
    """
    strata = Strata.of(codes, clusters, model.lots)
    told = (_holders(model, strata) >= LEAST_HOLDERS) & known
    rows, by_anchors = _gauge(model, np.asarray(told.all(axis=0)))
    nothing = np.zeros(told.shape)
    counted = codes if common is None or not common.any() else codes[common]
    weights = np.bincount(counted, minlength=strata.groups) / len(counted)
    first = _one_step(strata, model.at(codes, nothing, rows), told, weights)
    found = _one_step(strata, model.at(codes, model.own_fits(codes), rows), told, weights)
    return replace(first, by_anchors=by_anchors), replace(
        found, open=first.open, by_anchors=by_anchors
    )


def _gauge(model: ScoreModel, shared: NDArray[np.bool_]) -> tuple[Matrix, bool]:
    """Portfolios whose return is the same for all groups, and whether they are the anchors.

    Where too little of the anchors is held by every group, it is the mean of what all hold and
    its spread.
    """
    rows = np.where(shared, model.anchors, 0.0)
    held = np.where(shared, model.common, 0.0)
    middle = held.sum() / max(1, int(shared.sum()))
    spread = np.where(shared, held - middle, 0.0)
    size = float(np.linalg.norm(spread)) or 1.0
    basis = np.column_stack([spread / size, shared.astype(float)])
    singular = np.linalg.svd(rows @ basis, compute_uv=False)
    if len(singular) == 2 and singular[1] > LEAST_GAUGE * singular[0]:
        return rows, True
    return np.array([shared / max(1, int(shared.sum())), spread]), False


def _one_step(strata: Strata, scores: Scores, told: NDArray[np.bool_], weights: Vector) -> Effects:
    G, n = scores.returns.shape
    centred = strata.centred(scores.scores)
    sums = np.zeros((G, n))
    np.add.at(sums, strata.codes, centred)
    inverse, seen = _inverse(_system(strata, scores.information))
    step = (inverse @ sums.ravel()).reshape(G, n)
    apart = np.eye(G) - weights[None, :]
    each = np.einsum("gh,hij->gihj", apart, scores.response).reshape(G * n, G * n)
    size = np.linalg.norm(each, axis=1)
    each[size <= ZERO * size.max()] = 0.0  # an anchor fixes it for all groups, up to rounding
    missed = np.linalg.norm(each - each @ seen, axis=1)
    solve = each @ inverse
    departures = apart @ scores.returns + (solve @ sums.ravel()).reshape(G, n)
    return Effects(
        strata, centred, solve, departures, weights,
        solve @ _squares(strata, scores, centred, step) @ solve.T,
        (missed > OPEN * size).reshape(G, n) | ~told,
    )  # fmt: skip


def _holders(model: ScoreModel, strata: Strata) -> NDArray[np.int64]:
    """How many clusters of each group hold each asset."""
    pairs = np.unique(np.column_stack([strata.codes, strata.clusters]), axis=0, return_inverse=True)
    held = np.zeros((len(pairs[0]), model.held.shape[1]), dtype=bool)
    np.logical_or.at(held, pairs[1].ravel(), model.held)
    result = np.zeros((strata.groups, model.held.shape[1]), dtype=np.int64)
    np.add.at(result, pairs[0][:, 0], held)
    return result


def _system(strata: Strata, information: NDArray[np.float64]) -> Matrix:
    """M: one block of assets for each pair of groups."""
    G, n = strata.groups, information.shape[1]
    result = np.zeros((G, n, G, n))
    counts = np.zeros((len(strata.shares), len(information)))
    np.add.at(counts, (strata.strata, strata.lots), 1.0)
    for lot, each in enumerate(information):
        times, q = counts[:, lot], strata.shares
        pull = np.diag(times @ q) - q.T @ (times[:, None] * q)
        result += pull[:, None, :, None] * each[None, :, None, :]
    return result.reshape(G * n, G * n)


def _inverse(system: Matrix) -> tuple[Matrix, Matrix]:
    """Pseudo-inverse of M, and the projection on what it determines."""
    diagonal = np.diag(system)
    known = diagonal > ZERO * max(float(diagonal.max(initial=0.0)), np.finfo(float).tiny)
    scale = np.where(known, 1.0 / np.sqrt(np.where(known, diagonal, 1.0)), 0.0)
    values, vectors = np.linalg.eigh(system * np.outer(scale, scale))
    inside = vectors[:, values > ZERO]
    left = scale[:, None] * inside
    inverse = (left / values[values > ZERO]) @ left.T
    return inverse, inverse @ system


def _squares(strata: Strata, scores: Scores, centred: Matrix, raw: Matrix) -> Matrix:
    """Sum over clusters of their squared influence on the stacked sums of scores."""
    G, n = raw.shape
    apart = raw[strata.codes] - strata.shares[strata.strata] @ raw
    left = np.empty_like(centred)
    for lot, each in enumerate(scores.information):
        rows = strata.lots == lot
        left[rows] = centred[rows] - apart[rows] @ each
    order = np.argsort(strata.clusters, kind="stable")
    total, done = np.zeros((G * n, G * n)), 0
    sorted_ = strata.clusters[order]
    while done < len(order):
        last = sorted_[min(done + ROWS_AT_ONCE, len(order)) - 1]
        end = int(np.searchsorted(sorted_, last, side="right"))
        rows = order[done:end]
        lever = np.eye(G)[strata.codes[rows]] - strata.shares[strata.strata[rows]]
        each = (lever[:, :, None] * left[rows][:, None, :]).reshape(len(rows), G * n)
        sums = np.zeros((int(sorted_[end - 1] - sorted_[done]) + 1, G * n))
        np.add.at(sums, sorted_[done:end] - sorted_[done], each)
        total += sums.T @ sums
        done = end
    clusters = int(strata.clusters.max(initial=0)) + 1
    free = max(1, clusters - np.count_nonzero(~_own(strata)) - G + 1)
    result: Matrix = total * (clusters / free)
    return result


def _own(strata: Strata) -> NDArray[np.bool_]:
    """Which strata are one cluster."""
    result = np.zeros(len(strata.shares), dtype=bool)
    result[strata.strata[strata.several]] = True
    return result
