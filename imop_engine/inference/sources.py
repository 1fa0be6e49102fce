"""Where the width of an interval comes from: investors, noise, history, anchors, the way taken.

Each source is a covariance of the estimated returns; they are independent and add up. What
concerns the level alone (anchors) is kept apart, because differences between returns, ranks and
weights do not depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from imop_engine.arguments import Matrix, Vector
from imop_engine.inference.bias_simulation import UNSURE_OF_BIAS

NAMES: Final = ("sample", "noise", "history", "anchors", "model")


@dataclass(frozen=True, eq=False)
class GivenErrors:
    """How far what the analyst brought is known, as covariances of the returns; None: exactly.

    Args:
        covariance: from the error of the covariance of the history.
        anchors: from the error of the anchors.
        ways: from not knowing which errors investors make.
        periods: how many the history has that the covariance comes from; None: it is exact.
    """

    covariance: Matrix | None = None
    anchors: Matrix | None = None
    ways: Matrix | None = None
    periods: float | None = None


NO_ERRORS: Final = GivenErrors()


@dataclass(frozen=True, eq=False)
class Sources:
    """The uncertainty of the estimated returns, by where it comes from.

    Args:
        sample: from which investors were seen.
        history: from the error of the covariance; None: taken as known.
        anchors: from the error of the anchors; None: taken as exact.
        ways: from not knowing which errors investors make; None: known.
        bias: what errors in holdings or beliefs add to the estimate, as a simulation finds it;
            it counts as a standard error, too.
        periods: how many the history has that the covariance comes from; None: it is exact.
    """

    sample: Matrix
    history: Matrix | None
    anchors: Matrix | None
    ways: Matrix | None
    bias: Vector
    periods: float | None = None

    @classmethod
    def of(cls, sample: Matrix, given: GivenErrors, bias: Vector) -> Sources:
        """What the portfolios leave open, and what the analyst brought.

        Args:
            sample: from which investors were seen.
            given: how far covariance and anchors are known.
            bias: what errors add to the estimate, as a simulation finds it.
        """
        return cls(sample, given.covariance, given.anchors, given.ways, bias, given.periods)

    @property
    def given_anchors(self) -> Matrix:
        """Covariance of the returns were the anchors exact."""
        return self.sample + _known(self.history, self.sample) + _known(self.ways, self.sample)

    @property
    def from_outside(self) -> Matrix:
        """What the anchors alone leave open, for assets that the portfolios only bound."""
        return _known(self.anchors, self.sample)

    @property
    def variances(self) -> dict[str, Vector]:
        """By source, squared yearly returns for each asset."""
        return {
            "sample": _diagonal(self.sample),
            "noise": (UNSURE_OF_BIAS * self.bias) ** 2,
            "history": _diagonal(_known(self.history, self.sample)),
            "anchors": _diagonal(_known(self.anchors, self.sample)),
            "model": _diagonal(_known(self.ways, self.sample)),
        }

    @property
    def standard_errors(self) -> Vector:
        """Of each return, all sources together."""
        result: Vector = np.sqrt(np.sum(list(self.variances.values()), axis=0))
        return result

    @property
    def errors_without_bias(self) -> Vector:
        """Of each return, all sources but the unsure part of the bias."""
        parts = [part for name, part in self.variances.items() if name != "noise"]
        result: Vector = np.sqrt(np.sum(parts, axis=0))
        return result

    def to_frame(self, names: tuple[str, ...]) -> pd.DataFrame:
        """asset, then the share of the interval's variance that comes from each source.

        Args:
            names: the assets.
        """
        total = np.maximum(self.standard_errors**2, np.finfo(float).tiny)
        table = pd.DataFrame({"asset": list(names)})
        for name, variance in self.variances.items():
            table[name] = variance / total
        return table

    def difference_errors(self) -> Matrix:
        """Standard errors of r_i - r_j, which no level can move.

        Anchors count all the same where they fix the scale: a difference grows with it.
        """
        whole = self.given_anchors + self.from_outside
        own = np.diag(whole)
        result: Matrix = np.sqrt(np.maximum(own[:, None] + own[None, :] - 2.0 * whole, 0.0))
        return result


def _known(given: Matrix | None, like: Matrix) -> Matrix:
    return np.zeros_like(like) if given is None else given


def _diagonal(matrix: Matrix) -> Vector:
    result: Vector = np.maximum(np.diag(matrix), 0.0)
    return result
