"""Which directions in the space of returns the portfolios and the anchors determine together.

Assets whose holding never moves with the returns carry no information; of the others, some
combinations may carry none either, above all shift and scale where the anchors leave them open.
Everything here is linear algebra on the information matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.problem import ParameterSet

# Eigenvalues of the information, scaled to a unit diagonal, below this are zero: those of shift
# and scale come out near 1e-15, an asset known a thousand times worse than others near 1e-6.
UNSEEN: Final = 1e-11
# A unit vector with a smaller entry than this leaves the asset alone.
UNTOUCHED: Final = 1e-6


@dataclass(frozen=True, eq=False)
class Seen:
    """The part of the returns that data and anchors determine."""

    assets: NDArray[np.int64]  # those that carry information
    inverse: Matrix  # of the information on what can be seen, n x n: times variance, a covariance
    unseen: Matrix  # unit vectors over assets, one a row: combinations of `assets` left open
    response: Matrix  # how the seen returns follow those of the other assets through the anchors

    @property
    def open_assets(self) -> NDArray[np.bool_]:
        """Assets that carry information and yet take part in a direction that is left open."""
        result: NDArray[np.bool_] = np.any(np.abs(self.unseen) > UNTOUCHED, axis=0)
        return result


def seen_part(theta: ParameterSet, hessian: Matrix) -> Seen:
    """Split the space of returns by an information matrix and the anchors of Theta."""
    n = hessian.shape[0]
    diagonal = np.diag(hessian)
    informed = diagonal > 0.0
    assets = np.flatnonzero(informed)
    inverse, response = np.zeros((n, n)), np.zeros((n, n))
    if assets.size == 0:
        return Seen(assets, inverse, np.zeros((0, n)), response)
    scale = 1.0 / np.sqrt(diagonal[assets])
    H = hessian[np.ix_(assets, assets)] * np.outer(scale, scale)
    G = theta.equalities[:, assets] * scale
    basis, solve = _null_space(G)
    values, vectors = np.linalg.eigh(basis.T @ H @ basis)
    known = values > UNSEEN
    inside = basis @ vectors[:, known]
    core = (inside / values[known]) @ inside.T
    block = np.ix_(assets, assets)
    inverse[block] = core * np.outer(scale, scale)
    left = (scale[:, None] * (basis @ vectors[:, ~known])).T
    unseen = np.zeros((len(left), n))
    unseen[:, assets] = left / np.linalg.norm(left, axis=1, keepdims=True)
    # an asset without information moves by one: the others must keep the anchors, and follow
    for u in np.flatnonzero(~informed):
        pull = theta.equalities[:, u]
        first = -solve @ pull
        if np.any(np.abs(G @ first + pull) > UNTOUCHED * np.abs(pull).max(initial=0.0)):
            continue  # an anchor on this asset alone: it does not move
        response[assets, u] = scale * (first - core @ (H @ first + scale * hessian[assets, u]))
    return Seen(assets, inverse, unseen, response)


def one_step(seen: Seen, score: Vector) -> Vector:
    """The Gauss-Newton step that the data ask for, inside the anchors."""
    result: Vector = seen.inverse @ score
    return result


def _null_space(rows: Matrix) -> tuple[Matrix, Matrix]:
    """An orthonormal basis of the null space, and the pseudo-inverse."""
    n = rows.shape[1]
    if rows.shape[0] == 0:
        return np.eye(n), np.zeros((n, 0))
    _, singular, right = np.linalg.svd(rows)
    rank = int((singular > UNSEEN * singular.max(initial=0.0)).sum())
    basis: Matrix = right[rank:].T
    inverse: Matrix = np.asarray(np.linalg.pinv(rows, rcond=UNSEEN), dtype=float)
    return basis, inverse
