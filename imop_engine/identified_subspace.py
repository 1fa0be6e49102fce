"""Which directions in the space of returns the portfolios and the anchors determine together.

Assets whose holding never moves with the returns carry no information; of the others, some
combinations may carry none either, above all shift and scale where the anchors leave them open.
Everything here is linear algebra on an information matrix, whichever it is: that of least squares
(`least_squares`, `second_order`) or that of the estimating equations (`inference.information`).
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
ZERO_EIGENVALUE: Final = 1e-11
# The same for sums that were added up one decision at a time, which lose more digits.
ZERO_EIGENVALUE_OF_STREAM: Final = 1e-8
# Singular values of the anchors below this share of the largest are zero.
DEPENDENT_ANCHORS: Final = 1e-11
# A unit vector with a smaller entry than this leaves the asset alone.
UNTOUCHED: Final = 1e-6


@dataclass(frozen=True, eq=False)
class IdentifiedSubspace:
    """The part of the returns that data and anchors determine."""

    assets: NDArray[np.int64]  # those that carry information
    inverse: Matrix  # of the information in the subspace, n x n: times a variance, a covariance
    open_directions: Matrix  # unit vectors, one per row: combinations of `assets` left open
    response: Matrix  # how the identified returns follow the other assets' through the anchors
    anchored: NDArray[np.bool_]  # assets whose return an anchor fixes

    @classmethod
    def of(
        cls, theta: ParameterSet, information: Matrix, zero: float = ZERO_EIGENVALUE
    ) -> IdentifiedSubspace:
        """Split the space of returns by an information matrix and the anchors of Theta.

        Args:
            theta: the set of returns; its equalities are the anchors.
            information: n x n, positive semidefinite, per unit of noise variance.
            zero: eigenvalues of the information, scaled to a unit diagonal, below this are zero.
        """
        n = information.shape[0]
        diagonal = np.diag(information)
        informed = diagonal > 0.0
        anchored = np.diag(theta.projector) <= 0.0
        assets = np.flatnonzero(informed)
        inverse, response = np.zeros((n, n)), np.zeros((n, n))
        if assets.size == 0:
            return cls(assets, inverse, np.zeros((0, n)), response, anchored)
        scale = 1.0 / np.sqrt(diagonal[assets])
        block = np.ix_(assets, assets)
        unit = np.outer(scale, scale)
        H = information[block] * unit
        G = theta.equalities[:, assets] * scale
        basis = _null_space(G)
        values, vectors = np.linalg.eigh(basis.T @ H @ basis)
        known = values > zero
        inside = basis @ vectors[:, known]
        core = (inside / values[known]) @ inside.T
        inverse[block] = core * unit
        left = (scale[:, None] * (basis @ vectors[:, ~known])).T
        directions = np.zeros((len(left), n))
        directions[:, assets] = left / np.linalg.norm(left, axis=1, keepdims=True)
        # an asset without information moves by one: the others must keep the anchors, and follow
        uninformed = np.flatnonzero(~(informed | anchored))  # an anchored one does not move
        solve = _pseudo_inverse(G) if uninformed.size else np.zeros((assets.size, len(G)))
        for u in uninformed:
            pull = theta.equalities[:, u]
            first = -solve @ pull
            if np.any(np.abs(G @ first + pull) > UNTOUCHED * np.abs(pull).max(initial=0.0)):
                continue  # an anchor on this asset alone: it does not move
            slope = H @ first + scale * information[assets, u]
            response[assets, u] = scale * (first - core @ slope)
        return cls(assets, inverse, directions, response, anchored)

    @property
    def open_assets(self) -> NDArray[np.bool_]:
        """Assets that carry information and yet take part in a direction that is left open."""
        result: NDArray[np.bool_] = np.any(np.abs(self.open_directions) > UNTOUCHED, axis=0)
        return result

    def step(self, score: Vector) -> Vector:
        """The Gauss-Newton step that a score (gradient) asks for, inside the anchors."""
        result: Vector = self.inverse @ score
        return result

    def covariance(self, noise_sd: float) -> Matrix:
        """Covariance of the least-squares returns, for errors of `noise_sd` in each holding.

        Zero where an anchor fixes a return; infinite variance, and covariances that are NaN, where
        a return is open or follows one that is.
        """
        uninformed = ~self.anchored
        uninformed[self.assets] = False
        follows = np.any(np.abs(self.response[:, uninformed]) > UNTOUCHED, axis=1)
        unknown = uninformed | self.open_assets | follows
        result: Matrix = noise_sd**2 * self.inverse
        result[unknown, :] = np.nan
        result[:, unknown] = np.nan
        result[unknown, unknown] = np.inf
        return result


def _null_space(rows: Matrix) -> Matrix:
    """An orthonormal basis of the null space."""
    if rows.shape[0] == 0:
        return np.eye(rows.shape[1])
    _, singular, right = np.linalg.svd(rows)
    rank = int((singular > DEPENDENT_ANCHORS * singular.max(initial=0.0)).sum())
    basis: Matrix = right[rank:].T
    return basis


def _pseudo_inverse(rows: Matrix) -> Matrix:
    if rows.shape[0] == 0:
        return np.zeros((rows.shape[1], 0))
    inverse: Matrix = np.asarray(np.linalg.pinv(rows, rcond=DEPENDENT_ANCHORS), dtype=float)
    return inverse
