"""Returns and covariance fitted together: the history is one observation of the covariance.

A covariance from N periods is known only as well as N periods tell (Wishart's distribution), and
portfolios answer to it as much as to the returns: on a stretch of the frontier with free assets F,

    dx_F = M (lam dr - dQ x)_F.

So residuals that a common change of the covariance explains are not errors in holdings. With
Q = L (1 + A) L', L L' the covariance of the history, A has independent entries with variance 2 / N
on the diagonal and 1 / N off it; Gauss-Newton steps on returns and A together, with that penalty,
give both, and the inverse of their information is the covariance of the returns with the history's
error in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from scipy.linalg import block_diag, null_space
from scipy.stats import chi2

from imop_engine.arguments import Matrix, Vector, psd
from imop_engine.errors import ImopError, InvalidInput
from imop_engine.frontier import Frontier, Projection, efficient_frontier
from imop_engine.inference.fit import AT_BOUND, estimate_noise
from imop_engine.inference.information import (
    Place,
    ScoreInformation,
    information,
    residuals,
    tangent_matrix,
)
from imop_engine.problem import Problem
from imop_engine.progress import note

MOST_STEPS: Final = 60
USUAL_STEPS: Final = 5.0  # three fits with 20 assets took 16 in all; only told
MOST_ASSETS: Final = 40  # n (n + 1) / 2 entries of A; beyond this the steps take seconds each
SHORTEST: Final = 1e-3
SETTLED: Final = 1e-6  # of the penalised loss, relative: a hundredth of a standard error
SAME_NOISE: Final = 1e-3
LEAST_NOISE: Final = 1e-4  # of a holding: what rounding leaves in the finest files
LEAST_EIGENVALUE: Final = 0.05  # of 1 + A: no portfolio loses more than this much of its variance
DEPENDENT: Final = 1e-10
# The covariance of the returns is that of the steps at the end, and portfolios answer to larger
# changes less evenly than to small ones: in trials with 8 assets errors were 1.2 times as large
# with 120 months, and with 240 months intervals 1.2 times as wide held every time.
CURVED: Final = 7.5  # of the variance, for each asset and period


@dataclass(frozen=True, eq=False)
class JointFit:
    """Returns and covariance that explain portfolios and history together.

    Args:
        problem: the same problem with the fitted covariance.
        theta: yearly expected returns.
        covariance: of the returns, with the error of the covariance in it.
        given_covariance: of the returns, were the fitted covariance known.
        noise_sd: error in a single holding that is left, fractions of wealth.
        change: A, the relative change of the covariance in units of its factor.
        converged: whether the search ended.
    """

    problem: Problem
    theta: Vector
    covariance: Matrix
    given_covariance: Matrix
    noise_sd: float
    change: Matrix
    converged: bool

    def against_history(self, periods: float) -> float:
        """The chance that a history departs so far from the fitted covariance, were that the true
        one (likelihood ratio).

        Args:
            periods: how many the covariance was estimated from.
        """
        departure = max(1.0, periods - 1.0) * _departure(self.change)
        n = len(self.change)
        return float(chi2.sf(departure, n * (n + 1) / 2))


def _departure(change: Matrix) -> float:
    """-2 log likelihood of the history for each period, beyond that of its own covariance."""
    eigenvalues = 1.0 + np.linalg.eigvalsh(change)
    return float(np.sum(1.0 / eigenvalues + np.log(eigenvalues) - 1.0))


def with_covariance(problem: Problem, covariance: Matrix) -> Problem:
    """The same portfolio problem under another covariance.

    Args:
        problem: caps, box, anchors and names are taken from it.
        covariance: of the yearly returns, positive definite.
    """
    Q = psd(covariance, "covariance")
    return replace(problem, quadratic=np.stack([np.zeros_like(Q), 2.0 * Q]))


def fit_together(
    problem: Problem, Y: Matrix, theta: Vector, periods: float, change: Matrix | None = None
) -> JointFit:
    """Fit returns and covariance to portfolios and history.

    Args:
        problem: a portfolio problem with anchors, under the covariance of the history.
        Y: one row for each investor who takes part, fractions of wealth.
        theta: where to begin, yearly expected returns.
        periods: how many periods the covariance was estimated from.
        change: A to begin from, another fit's; None: the history's covariance.

    Returns:
        Both, and the covariance of the returns.
    """
    search = _Search(problem, Y, periods)
    here = search.at(np.zeros_like(problem.covariance) if change is None else change, theta)
    converged = False
    for number in range(MOST_STEPS):
        note(number / (number + USUAL_STEPS))  # how many are needed nobody knows before
        step = search.step(here)
        there = search.along(here, step)
        if there is None:
            converged = True  # nothing shorter makes it better
            break
        gain = search.objective(here, here.noise_sd) - search.objective(there, here.noise_sd)
        done = gain <= SETTLED * search.objective(here, here.noise_sd)
        same = abs(there.noise_sd / here.noise_sd - 1.0) <= SAME_NOISE
        here = there
        if done and same:
            converged = True
            break
    both, given = search.covariances(here)
    return JointFit(here.problem, here.theta, both, given, here.noise_sd, here.A, converged)


def allowed_covariance(
    problem: Problem, Y: Matrix, theta: Vector, periods: float, noise_sd: float
) -> tuple[Matrix, Matrix]:
    """How well portfolios and history could tell the returns: the inverse of their information.

    No estimate without bias has a smaller covariance, as long as nobody's stretch of the frontier
    changes with it.

    Args:
        problem: a portfolio problem with anchors, under the true covariance.
        Y: one row for each investor, the efficient portfolios, fractions of wealth.
        theta: the true yearly returns.
        periods: how many periods the covariance is estimated from.
        noise_sd: error in a single holding, fractions of wealth.

    Returns:
        The covariance of the returns where the covariance is estimated, and where it is known.
    """
    search = _Search(problem, Y, periods)
    return search.inverses(search.at(np.zeros_like(problem.covariance), theta), noise_sd)


@dataclass(frozen=True, eq=False)
class _Point:
    A: Matrix
    theta: Vector
    problem: Problem
    frontier: Frontier
    Y: Matrix
    projection: Projection
    loss: float

    @cached_property
    def info(self) -> ScoreInformation:
        return information(self.frontier, self.Y, projection=self.projection)

    @cached_property
    def noise_sd(self) -> float:
        try:
            noise = estimate_noise(self.frontier, self.Y, self.projection, fitted=0).sd
        except InvalidInput:
            noise = 0.0
        return max(noise, LEAST_NOISE)


def tells(place: Place) -> bool:
    """Whether a stretch says something of returns: two assets only trade with each other there.

    Args:
        place: Investors on the same stretch.
    """
    return place.free.size >= 3 and bool(np.any(place.direction))


class _Search:
    """The penalised least squares and their Gauss-Newton steps."""

    def __init__(self, problem: Problem, Y: Matrix, periods: float) -> None:
        self.problem, self.Y = problem, Y
        self.freedom = max(1.0, periods - 1.0)
        self.n = n = problem.n
        self.L = np.linalg.cholesky(problem.covariance)
        rows, columns = np.triu_indices(n)
        self.pairs = (rows, columns)
        self.times = np.where(rows == columns, 1.0, 2.0)
        values, vectors = np.linalg.eigh(problem.theta.projector)
        self.plane = vectors[:, values > 0.5]

    def at(self, A: Matrix, theta: Vector) -> _Point:
        covariance = self.L @ (np.eye(self.n) + A) @ self.L.T
        problem = with_covariance(self.problem, (covariance + covariance.T) / 2)
        frontier = efficient_frontier(problem, theta)
        projection = frontier.project(self.Y)
        loss = float(np.sum(projection.distances**2))
        return _Point(A, theta, problem, frontier, self.Y, projection, loss)

    def objective(self, point: _Point, noise_sd: float) -> float:
        penalty = _departure(point.A)
        return point.loss / (2.0 * noise_sd**2) + 0.5 * self.freedom * penalty

    def along(self, point: _Point, step: tuple[Vector, Matrix]) -> _Point | None:
        dr, dA = step
        before = self.objective(point, point.noise_sd)
        share = 1.0
        while share > SHORTEST:
            A, theta = point.A + share * dA, point.theta + share * dr
            inside = np.all(
                (theta >= self.problem.theta.lower) & (theta <= self.problem.theta.upper)
            )
            if inside and 1.0 + np.linalg.eigvalsh(A)[0] > LEAST_EIGENVALUE:
                try:
                    there = self.at(A, theta)
                except ImopError:
                    there = None
                if there is not None and self.objective(there, point.noise_sd) < before:
                    return there
            share *= 0.5
        return None

    def step(self, point: _Point) -> tuple[Vector, Matrix]:
        H, g = self.sums(point)
        k = self.plane.shape[1]
        found = np.linalg.solve(H, g)
        dA = np.zeros((self.n, self.n))
        dA[self.pairs] = found[k:]
        dA = dA + dA.T - np.diag(np.diag(dA))
        return self.plane @ found[:k], dA

    def covariances(self, point: _Point) -> tuple[Matrix, Matrix]:
        """Of the returns: with the covariance's error, and without it."""
        both, alone = self.inverses(point, point.noise_sd)
        return (1.0 + CURVED * self.n / self.freedom) * both, alone

    def inverses(self, point: _Point, noise_sd: float) -> tuple[Matrix, Matrix]:
        """The same by the information alone, were the assets known that no stretch tells of.

        What is open of those is said by their bounds, and what it does to the others through the
        anchors comes on top; here it would count as an error without end in every return.
        """
        H, _ = self.sums(point, noise_sd)
        k = self.plane.shape[1]
        untold = self._untold(point)
        still = null_space(self.plane[untold]) if untold else np.eye(k)
        plane, m = self.plane @ still, still.shape[1]
        turn = block_diag(still, np.eye(len(H) - k))
        turned = turn.T @ H @ turn
        both, alone = (np.linalg.inv(one)[:m, :m] for one in (turned, turned[:m, :m]))
        return plane @ both @ plane.T, plane @ alone @ plane.T

    def _untold(self, point: _Point) -> list[int]:
        """Assets that are free on no stretch on which an investor says something."""
        told = {i for place in point.info.places if tells(place) for i in place.free.tolist()}
        return [i for i in range(self.n) if i not in told]

    def sums(self, point: _Point, noise_sd: float | None = None) -> tuple[Matrix, Vector]:
        """Information and gradient over (returns in their plane, upper half of A)."""
        n, L = self.n, self.L
        rr, ra, aa = np.zeros((n, n)), np.zeros((n, n, n)), np.zeros((n, n, n, n))
        gr, ga = np.zeros(n), np.zeros((n, n))
        for place in point.info.places:
            free, s = place.free, place.direction
            if not tells(place):
                continue
            M = tangent_matrix(point.problem.covariance, free)
            across = np.eye(free.size) - np.outer(s, s) / float(s @ s)
            B = across @ M
            left = residuals(point.frontier, self.Y, point.projection, place) @ across
            lam = point.info.lams[place.rows]
            q = point.projection.points[place.rows] @ L  # rows are L'x
            BL = B @ L[free]
            rr[np.ix_(free, free)] += float(lam @ lam) * (B.T @ B)
            ra[free] -= (B.T @ BL)[:, :, None] * (lam @ q)
            aa += (BL.T @ BL)[:, None, :, None] * (q.T @ q)[None, :, None, :]
            gr[free] += B.T @ (left.T @ lam)
            ga -= BL.T @ (left.T @ q)
        variance = (point.noise_sd if noise_sd is None else noise_sd) ** 2
        return self._reduced(point.A, variance, rr, ra, aa, gr, ga)

    def _reduced(
        self, A: Matrix, variance: float, rr: Matrix, ra: Matrix, aa: Matrix, gr: Vector, ga: Matrix
    ) -> tuple[Matrix, Vector]:
        (i, j), P = self.pairs, self.plane
        k, m = P.shape[1], len(i)
        twice = np.where(i == j, 0.5, 1.0)  # an entry off the diagonal stands twice in A
        H, g = np.zeros((k + m, k + m)), np.zeros(k + m)
        small = DEPENDENT * (float(np.trace(rr)) / self.n + AT_BOUND)
        H[:k, :k] = P.T @ (rr + small * np.eye(self.n)) @ P / variance
        cross = P.T @ ((ra[:, i, j] + ra[:, j, i]) * twice) / variance
        H[:k, k:], H[k:, :k] = cross, cross.T
        full = aa[i, j][:, i, j] + aa[i, j][:, j, i] + aa[j, i][:, i, j] + aa[j, i][:, j, i]
        H[k:, k:] = full * np.outer(twice, twice) / variance
        H[k:, k:] += np.diag(0.5 * self.freedom * self.times)
        g[:k] = P.T @ gr / variance
        inverse = np.linalg.inv(np.eye(self.n) + A)
        pull = 0.5 * self.freedom * (inverse - inverse @ inverse)
        g[k:] = (ga[i, j] + ga[j, i]) * twice / variance - pull[i, j] * self.times
        return H, g
