"""One estimate of the returns from several studies of the same beliefs, each seeing its own part.

A study of investors under limits knows some combinations of the returns well and others not at all:
assets that nobody there holds, or the common level of what comes under a limit. So studies are not
put together asset by asset: each says the combinations that it knows, with their covariance, and
generalised least squares finds the returns that agree with all of them. Two studies that know only
differences may so tell a level together.

Investors of one study are other people than those of another: their sampling errors are
independent. What comes from the history, the anchors and the errors in holdings is common to all
and is not averaged down. Whether the studies agree at all is one test over everything that more
than one of them knows. Where it fails, beliefs are taken to differ between studies, by as much as
makes the differences usual: otherwise the study with the smallest error would decide alone, though
it may be the wrong one. How far a study is from what all say then counts as an error of its own, so
that intervals are widest where the differences are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtrc

from imop_engine.arguments import Matrix, Vector
from imop_engine.inference.bias_simulation import UNSURE_OF_BIAS
from imop_engine.inference.identify import Identification

# Statuses of returns that an estimate says something of; the others are only bounded.
ESTIMATED: Final = ("identified", "anchored", "relative")
# Agreement this improbable by chance is none.
IMPROBABLE: Final = 0.01
# Directions whose part outside of others is smaller than this are combinations of them.
DEPENDENT: Final = 1e-6
# What studies do not see may depend on the scale of their returns, and so differs a little between
# them; a combination that they together see by no more than this is called open.
HARDLY_SEEN: Final = 0.02
# A combination is known less exactly than this, return a year: portfolios without any error leave
# standard errors of zero, and rounding would be a difference.
SMALLEST_ERROR: Final = 1e-6
UNTOUCHED: Final = 1e-6  # a return that open directions move by less than this is known
WIDEST: Final = 10.0  # returns a year by which beliefs of studies can differ


@dataclass(frozen=True, eq=False)
class KnownPart:
    """What one study knows of the returns.

    Args:
        theta: the estimate, yearly; it keeps the anchors.
        own: covariance of the estimate from what this study has for itself.
        common: covariance from what it shares with other studies, but for the anchors.
        anchors: covariance from the errors of the anchors.
        unknown: directions it does not see, one in each row, each of which keeps the anchors.
        shift: what its step and the bias by errors in holdings would still add to the estimate.
    """

    theta: Vector
    own: Matrix
    common: Matrix
    anchors: Matrix
    unknown: Matrix
    shift: Vector

    @classmethod
    def of(cls, known: Identification) -> KnownPart:
        """What an identification says.

        Args:
            known: how far each return of one study is known.
        """
        sources, n = known.sources, known.problem.n
        zero = np.zeros((n, n))
        unsure = UNSURE_OF_BIAS * sources.bias
        alone = np.array([status not in ESTIMATED for status in known.status])
        response = zero if known.response is None else known.response
        return cls(
            known.estimate,
            sources.sample + (zero if sources.ways is None else sources.ways),
            np.outer(unsure, unsure) + (zero if sources.history is None else sources.history),
            zero if sources.anchors is None else sources.anchors,
            np.vstack([(np.eye(n) + response).T[alone], known.directions]),
            known.step - sources.bias,
        )


@dataclass(frozen=True, eq=False)
class Combined:
    """The returns by all studies together.

    Args:
        theta: yearly; where a return is open, one of those that agree with what is known.
        covariance: of what is known.
        shift: what steps and biases would still add to it.
        open_directions: unit vectors, one in each row, that no study sees.
        probability: of differences between the studies as large as those seen, by chance; NaN where
            nothing is known by more than one.
        apart: standard deviation of beliefs between studies, return a year; zero where they agree.
    """

    theta: Vector
    covariance: Matrix
    shift: Vector
    open_directions: Matrix
    probability: float
    apart: float

    def known(self) -> Vector:
        """True for each return that no open direction moves."""
        result: Vector = np.all(np.abs(self.open_directions) <= UNTOUCHED, axis=0)
        return result


@dataclass(frozen=True, eq=False)
class _Seen:
    """What a study sees, in coordinates that keep the anchors: C'phi, with its covariances."""

    C: Matrix
    z: Vector
    own: Matrix
    tested: Matrix

    @classmethod
    def of(cls, part: KnownPart, basis: Matrix) -> _Seen:
        C = _complement(part.unknown @ basis, basis.shape[1])
        inside = basis @ C
        own = inside.T @ part.own @ inside + SMALLEST_ERROR**2 * np.eye(C.shape[1])
        return cls(C, inside.T @ part.theta, own, own + inside.T @ part.common @ inside)


def combine(anchors: Matrix, parts: Sequence[KnownPart]) -> Combined:
    """The returns that agree best with what several studies know.

    Args:
        anchors: the anchored portfolios, one in each row, the same in all studies.
        parts: what each study knows.
    """
    n = len(parts[0].theta)
    basis = _complement(anchors, n)
    seen = [_Seen.of(part, basis) for part in parts]
    spanned, hidden = _split(seen, basis.shape[1])
    freedom = sum(len(one.z) for one in seen) - spanned.shape[1]
    probability, apart = np.nan, 0.0
    if freedom > 0:
        squares = _misfit(seen, spanned, 0.0)
        probability = float(chdtrc(freedom, squares))
        if probability < IMPROBABLE:
            apart = _apart(seen, spanned, freedom)
    gains = _gains(seen, spanned, [one.own + apart**2 * np.eye(len(one.z)) for one in seen])
    # outside of what the anchors leave free all studies say the same
    outside = (np.eye(n) - basis @ basis.T) / len(parts)
    middle = np.mean([part.theta for part in parts], axis=0)
    unseen = basis @ hidden
    whole = [basis @ gain @ basis.T + outside for gain in gains]
    both = list(zip(whole, parts, strict=True))
    theta = np.sum([T @ part.theta for T, part in both], axis=0)
    own = [
        part.own + _between(one, basis, apart, theta) for part, one in zip(parts, seen, strict=True)
    ]
    sampled = np.sum([T @ each @ T.T for T, each in zip(whole, own, strict=True)], axis=0)
    shared = np.sum([T @ _root(part.common) for T, part in both], axis=0)
    levels = np.sum([T @ _root(part.anchors) for T, part in both], axis=0)
    shift = np.sum([T @ part.shift for T, part in both], axis=0)
    covariance = sampled + shared @ shared.T + levels @ levels.T
    # where nobody sees anything, the middle of all estimates
    theta = theta + unseen @ (unseen.T @ (middle - theta))
    return Combined(theta, covariance, shift, unseen.T, probability, apart)


def _split(seen: Sequence[_Seen], m: int) -> tuple[Matrix, Matrix]:
    """What any of the studies sees of the m coordinates, and what none does, or hardly any."""
    _, found, right = np.linalg.svd(np.hstack([one.C for one in seen]).T)
    singular = np.zeros(m)
    singular[: len(found)] = found
    return right[singular > DEPENDENT].T, right[singular <= HARDLY_SEEN].T


def _between(one: _Seen, basis: Matrix, apart: float, theta: Vector) -> Matrix:
    """What differing beliefs add to the covariance of one study: their usual size, and how far this
    study is from all together."""
    inside = basis @ one.C
    if apart <= 0.0:
        return np.zeros((len(basis), len(basis)))
    departure = inside @ (one.z - inside.T @ theta)
    result: Matrix = apart**2 * (inside @ inside.T) + np.outer(departure, departure)
    return result


def _gains(seen: Sequence[_Seen], spanned: Matrix, covariances: Sequence[Matrix]) -> list[Matrix]:
    """How the combined coordinates follow those of each study."""
    weighed = [one.C @ np.linalg.inv(W) @ one.C.T for one, W in zip(seen, covariances, strict=True)]
    whole = np.asarray(sum(spanned.T @ one @ spanned for one in weighed))
    solve = spanned @ np.linalg.pinv(whole, hermitian=True) @ spanned.T
    return [solve @ one for one in weighed]


def _misfit(seen: Sequence[_Seen], spanned: Matrix, apart: float) -> float:
    """Squared differences between what the studies know and the best agreement, in errors."""
    covariances = [one.tested + apart**2 * np.eye(len(one.z)) for one in seen]
    gains = _gains(seen, spanned, covariances)
    phi = np.sum([gain @ one.C @ one.z for gain, one in zip(gains, seen, strict=True)], axis=0)
    left = [one.z - one.C.T @ phi for one in seen]
    return float(sum(e @ np.linalg.solve(W, e) for e, W in zip(left, covariances, strict=True)))


def _apart(seen: Sequence[_Seen], spanned: Matrix, freedom: int) -> float:
    """The deviation of beliefs between studies at which their differences are usual."""

    def excess(apart: float) -> float:
        return _misfit(seen, spanned, apart) - freedom

    return WIDEST if excess(WIDEST) > 0.0 else float(brentq(excess, 0.0, WIDEST, xtol=1e-9))


def _complement(rows: Matrix, n: int) -> Matrix:
    """An orthonormal basis, in columns, of what is at right angles to all rows."""
    if len(rows) == 0:
        return np.eye(n)
    size = np.linalg.norm(rows, axis=1, keepdims=True)
    _, singular, right = np.linalg.svd(rows / np.where(size > 0.0, size, 1.0))
    rank = int((singular > DEPENDENT).sum())
    basis: Matrix = right[rank:].T
    return basis


def _root(covariance: Matrix) -> Matrix:
    """The symmetric root, so that equal covariances of two studies are one and the same error."""
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2.0)
    result: Matrix = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return result
