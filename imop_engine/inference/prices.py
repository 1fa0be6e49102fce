"""The return at which an investor would begin to hold an asset, or to leave a limit.

An investor with price of risk lam who does not hold asset i believes r_i <= rho_i(lam), where
rho_i = ((Qx)_i + nu) / lam and nu is the budget's multiplier; one at the cap believes r_i >= rho_i.
On a stretch of the frontier with free assets F, rho_i(lam) = c'r_F + k / lam with c = M Q_Fi + h,
h = Q_FF^-1 1 / (1' Q_FF^-1 1), and a k that is constant on the stretch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from imop_engine.arguments import Matrix, Vector
from imop_engine.inference.binding_rows import limited_response
from imop_engine.inference.fit import outlier_threshold
from imop_engine.inference.information import Place, ScoreInformation, tangent_matrix


def price(
    info: ScoreInformation, place: Place, i: int, lam: Vector
) -> tuple[Vector, Vector, float]:
    """rho_i at each lam, its weights c on the free assets' returns, and k.

    Args:
        info: What the portfolios say at one estimate.
        place: A stretch of the frontier or a turning point, with the investors nearest to it.
        i: The asset that sits at a bound.
        lam: Slopes of the frontier at which the price is asked for.

    Returns:
        The price at each lam, its weights on the returns of the free assets, and its constant.
    """
    return Prices.of(info, place).of_asset(i, lam)


def row_prices(
    info: ScoreInformation, j: int, covariance: Matrix, noise_sd: float, level: float
) -> Vector:
    """By how much what a limit holds could return less before an investor left that limit.

    Args:
        info: What the portfolios say at one estimate.
        j: The row of the problem's arrays, the budget first.
        covariance: Of the estimated returns.
        noise_sd: Standard deviation of the error in a single holding, in fractions of wealth.
        level: Confidence of the intervals, between 0 and 1.

    Returns:
        One yearly return for each investor at the limit who is no outlier, moved up by as many
        standard errors as make all of them right at once.
    """
    frontier, distances = info.frontier, info.projection.distances
    usual = distances <= outlier_threshold(distances)
    sure = float(ndtri(1.0 - (1.0 - level) / max(1, len(distances))))
    found = [np.zeros(0)]
    for place in info.places:
        rows = place.rows[usual[place.rows] & (info.lams[place.rows] > 0)]
        tight = np.flatnonzero(frontier.tight[place.segment])
        if rows.size == 0 or j not in tight or not np.any(place.direction):
            continue
        coefficients = frontier.problem.portfolio.rows[np.ix_(tight, place.free)]
        if np.linalg.matrix_rank(coefficients) < len(tight):
            continue  # what the limits that hold there cost together has no single price
        prices, lam = Prices.of(info, place), info.lams[rows]
        price_, c, constant = prices.of_row(int(np.searchsorted(tight, j)), lam)
        error = prices.errors(covariance, noise_sd).at(lam, c, constant)
        found.append(price_ + sure * error)
    return np.concatenate(found)


@dataclass(frozen=True, eq=False)
class Prices:
    """What the prices of all assets on one stretch have in common."""

    info: ScoreInformation
    place: Place
    M: Matrix
    h: Matrix  # one row for the budget, which adds up to one, and for each limit that holds
    rows: Matrix  # their coefficients
    begin: float  # lam where the stretch starts
    nu: Vector  # their multipliers there
    risk: Vector  # Q x there

    @classmethod
    def of(cls, info: ScoreInformation, place: Place) -> Prices:
        """Those of one place.

        Args:
            info: What the portfolios say at one estimate.
            place: A stretch of the frontier or a turning point.
        """
        frontier, free, k = info.frontier, place.free, place.segment
        Q = frontier.problem.covariance
        begin, risk = float(frontier.lams[k]), Q @ frontier.portfolios[k]
        left = begin * frontier.theta[free] - risk[free]
        if frontier.tight.shape[1] > 1:
            M, answer = limited_response(frontier, k, free)
            rows = frontier.problem.portfolio.rows[np.flatnonzero(frontier.tight[k])]
            nu = np.linalg.lstsq(rows[:, free].T, left, rcond=None)[0]
            return cls(info, place, M, answer, rows, begin, nu, risk)
        h = np.linalg.solve(Q[np.ix_(free, free)], np.ones(free.size))
        budget = np.ones((1, len(risk)))
        M, nu = tangent_matrix(Q, free), np.array([left.mean()])
        return cls(info, place, M, (h / h.sum())[None], budget, begin, nu, risk)

    def of_asset(self, i: int, lam: Vector) -> tuple[Vector, Vector, float]:
        """As `price`."""
        frontier, free = self.info.frontier, self.place.free
        r = frontier.theta[free]
        c = self.M @ frontier.problem.covariance[free, i] + self.rows[:, i] @ self.h
        # ((Qx)_i + nu) - lam c'r is the same all along the stretch; take it where it starts
        constant = float(self.risk[i] + self.rows[:, i] @ self.nu - self.begin * (c @ r))
        rho: Vector = c @ r + constant / lam
        return rho, c, constant

    def of_row(self, number: int, lam: Vector) -> tuple[Vector, Vector, float]:
        """The same of a row that holds, by its number among those: its multiplier over lam."""
        r = self.info.frontier.theta[self.place.free]
        c = -self.h[number]
        # the multiplier grows along the stretch by lam c'r; the rest is what it is at the start
        constant = float(-self.nu[number] - self.begin * (c @ r))
        prices: Vector = c @ r + constant / lam
        return prices, c, constant

    def lam_answer(self) -> Vector:
        """q: an investor's lam moves by -lam q'dr where the returns of the free assets move."""
        s = self.place.direction
        result: Vector = self.M @ s / float(s @ s)
        return result

    def lam_variance(self, noise_sd: float) -> float:
        """Of an investor's lam, from the errors in her own holdings."""
        free, s = self.place.free, self.place.direction
        length = float(s @ s)
        start = self.info.frontier.portfolios[self.place.segment][free]
        tilt = float(s @ start) / np.sqrt(length)
        return float(noise_sd**2 * (1.0 + free.size * tilt**2) / length)

    def errors(self, covariance: Matrix, noise_sd: float) -> PriceErrors:
        """How far the prices are known, where the returns are by `covariance`."""
        q = self.lam_answer()
        C = covariance[np.ix_(self.place.free, self.place.free)]
        return PriceErrors(C, C @ q, float(q @ C @ q), self.lam_variance(noise_sd))


@dataclass(frozen=True, eq=False)
class PriceErrors:
    """Standard errors of the prices on one stretch, from the returns and from lam itself."""

    C: Matrix
    Cq: Vector
    qCq: float
    own: float

    def at(self, lam: Vector, c: Vector, constant: float) -> Vector:
        """Of rho_i at each investor's lam.

        Args:
            lam: Of each investor.
            c: The price's weights on the returns of the free assets.
            constant: Its k.
        """
        pull = constant / lam
        from_returns = c @ self.C @ c + 2.0 * pull * (c @ self.Cq) + pull**2 * self.qCq
        result: Vector = np.sqrt(np.maximum(from_returns + (pull / lam) ** 2 * self.own, 0.0))
        return result
