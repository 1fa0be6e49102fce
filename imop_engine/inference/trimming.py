"""Who takes part: investors that no common frontier explains are set aside before the estimate.

Least trimmed squares: beliefs are fitted to the best 60 % of the portfolios, again and again, until
those 60 % stay the same; then everybody counts whose distance is usual for them. Up to two in five
may hold something else altogether, and where nobody does, nobody is set aside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import ImopError
from imop_engine.frontier import efficient_frontier
from imop_engine.inference.first_order import Positions, fit_beliefs
from imop_engine.inference.fit import OUTLIER_FLOOR, implied_returns
from imop_engine.problem import Problem

CORE: Final = 0.6  # share of the portfolios that the first fits look at
MOST_ROUNDS: Final = 8  # of fitting and choosing the best again; three are usual
# Beyond this many times the distance within which the core lies, an investor is set aside; of 1,000
# with independent errors in three or more holdings the furthest is at 2.5 times.
FAR: Final = 3.0
# Where even the best 60 % are so far that the limit is this, there is no clean core to tell
# strangers from: whoever is far is far in the same way as the others, and everybody counts.
NO_CORE: Final = 0.25
ENOUGH: Final = 2000  # portfolios, evenly spread, that the search for the core looks at
# A core this near the frontier with nobody far from it needs no other starts.
NEAR: Final = 0.02
FEW_FAR: Final = 0.03
STARTS: Final = 24  # from a handful of investors each, so that some hold no stranger
HANDFUL: Final = 5
JUDGED: Final = 300  # portfolios that a handful's beliefs are judged by
MOST_RECLAIMED: Final = 3  # rounds in which investors set aside are tried again
FOLLOWED: Final = 2  # of these starts, the best
# Holdings are errors up to three standard deviations of what strays into assets not held.
STRAYS: Final = 3.0
COARSE: Final = 0.02  # holdings up to this are ignored while strays are measured
SURELY_UNHELD: Final = 2.5  # disagreements by which an asset is too dear for an investor
FEW_STRAYS: Final = 20
HALF_NORMAL_MEDIAN: Final = 0.6745


@dataclass(frozen=True, eq=False)
class Trimmed:
    """Who takes part.

    Args:
        kept: one entry for each investor.
        theta: beliefs of those who do, up to shift and scale.
        distances: of everybody to the frontier of those beliefs, fractions of wealth.
        limit: the distance beyond which an investor was set aside.
    """

    kept: NDArray[np.bool_]
    theta: Vector
    distances: Vector
    limit: float


def coarse_holding(assets: int) -> float:
    """The largest holding that may be a stray, by the number of assets."""
    return min(COARSE, 0.5 / assets)


def stray_limit(problem: Problem, portfolios: Matrix, least_holders: int) -> float:
    """Holdings up to this are errors: three standard deviations of what strays into assets that
    their holders cannot want.

    Args:
        problem: a portfolio problem.
        portfolios: one row for each investor, fractions of wealth.
        least_holders: an asset with fewer holders takes no part.
    """
    some = portfolios[:: -(-len(portfolios) // ENOUGH)]
    coarse = coarse_holding(problem.n)
    try:
        positions = Positions.of(problem, some, coarse)
        fit = fit_beliefs(problem, positions, least_holders=least_holders)
    except ImopError:
        return 0.0
    Z = positions.portfolios @ problem.covariance
    Z -= Z[:, fit.informed].mean(axis=1, keepdims=True)
    too_dear = fit.prices[:, None] * Z + fit.levels[:, None] - fit.beliefs > SURELY_UNHELD
    strays = some[too_dear & (some <= coarse)]
    positive = strays[strays > 0.0]
    if len(positive) < max(FEW_STRAYS, 0.05 * strays.size):
        return 0.0
    return float(min(coarse, STRAYS * np.median(positive) / HALF_NORMAL_MEDIAN))


def trim(problem: Problem, portfolios: Matrix, tiny: float, least_holders: int) -> Trimmed:
    """Set aside whom the frontier of the best 60 % does not explain.

    Args:
        problem: a portfolio problem.
        portfolios: one row for each investor, fractions of wealth.
        tiny: holdings up to this are errors.
        least_holders: an asset with fewer holders takes no part.

    Returns:
        Who takes part, and the beliefs of those who do.
    """
    some = portfolios[:: -(-len(portfolios) // ENOUGH)]
    search = _Search(problem, some, tiny, least_holders)
    everybody = np.ones(len(some), bool)
    whole = search.fit(some, everybody)
    theta, spread = search.from_rows(everybody)
    distances = search.distances(theta)
    if spread > NEAR or float(np.mean(distances > far_limit(distances))) > FEW_FAR:
        for rows in search.handfuls():
            found, at = search.from_rows(rows)
            if at < (1.0 - 1e-3) * spread:
                theta, spread = found, at
    limit = far_limit(search.distances(theta))
    if limit > NO_CORE:
        return everyone(problem, portfolios, theta if whole is None else whole)
    theta = search.reclaimed(theta, limit, whole)
    distances = efficient_frontier(problem, theta).project(portfolios).distances
    kept = distances <= limit
    refit = search.fit(portfolios, kept)
    if refit is not None:
        there = efficient_frontier(problem, refit).project(portfolios).distances
        if cut_loss(there, limit) <= cut_loss(distances, limit):
            theta, distances, kept = refit, there, there <= limit
    return Trimmed(kept, theta, distances, limit)


def everyone(problem: Problem, portfolios: Matrix, theta: Vector) -> Trimmed:
    """Nobody set aside.

    Args:
        problem: a portfolio problem.
        portfolios: one row for each investor, fractions of wealth.
        theta: beliefs up to shift and scale.
    """
    distances = efficient_frontier(problem, theta).project(portfolios).distances
    return Trimmed(np.ones(len(portfolios), bool), theta, distances, np.inf)


def cut_loss(distances: Vector, limit: float) -> float:
    """Squared distances, none counted for more than the limit: what a trimmed fit minimises.

    Args:
        distances: to a frontier, fractions of wealth.
        limit: beyond which an investor is set aside.
    """
    return float(np.sum(np.minimum(distances, limit) ** 2))


def far_limit(distances: Vector) -> float:
    """The distance beyond which an investor is set aside."""
    return max(OUTLIER_FLOOR, FAR * float(np.quantile(distances, CORE)))


class _Search:
    """Fits to some of the portfolios, judged by how near the best 60 % of all are to the result."""

    def __init__(self, problem: Problem, portfolios: Matrix, tiny: float, least: int) -> None:
        self.problem, self.portfolios, self.tiny, self.least = problem, portfolios, tiny, least

    def fit(self, portfolios: Matrix, rows: NDArray[np.bool_]) -> Vector | None:
        positions = Positions.of(self.problem, portfolios[rows], self.tiny)
        least = min(self.least, max(1, int(rows.sum()) // 10))
        try:
            with np.errstate(all="ignore"):  # a handful may have no maximum
                return fit_beliefs(self.problem, positions, least_holders=least).beliefs
        except (ImopError, np.linalg.LinAlgError):
            return None

    def distances(self, theta: Vector) -> Vector:
        return efficient_frontier(self.problem, theta).project(self.portfolios).distances

    def from_rows(self, rows: NDArray[np.bool_]) -> tuple[Vector, float]:
        """Beliefs after the rounds that begin with these rows, and the core's mean distance."""
        best = implied_returns(self.problem, self.portfolios[rows].mean(axis=0))
        least = np.inf
        for _ in range(MOST_ROUNDS):
            theta = self.fit(self.portfolios, rows)
            if theta is None:
                break
            distances = self.distances(theta)
            edge = float(np.quantile(distances, CORE))
            spread = float(np.sqrt(np.mean(distances[distances <= edge] ** 2)))
            if spread >= (1.0 - 1e-3) * least:
                break
            best, least, rows = theta, spread, distances <= edge
        if not np.isfinite(least):
            distances = self.distances(best)
            edge = float(np.quantile(distances, CORE))
            least = float(np.sqrt(np.mean(distances[distances <= edge] ** 2)))
        return best, least

    def reclaimed(self, theta: Vector, limit: float, whole: Vector | None) -> Vector:
        """The same beliefs, or better ones that explain some of those set aside as well.

        A core of 60 % may know nothing of an asset that a few hold at one end of the frontier, and
        set just those aside. So everybody is tried, and those who hold the same asset too much.
        """
        distances = self.distances(theta)
        best = cut_loss(distances, limit)
        if whole is not None and cut_loss(self.distances(whole), limit) < best:
            theta, best = whole, cut_loss(self.distances(whole), limit)
        for _ in range(MOST_RECLAIMED):
            before = best
            found = efficient_frontier(self.problem, theta).project(self.portfolios)
            kept = found.distances <= limit
            excess = (self.portfolios - found.points).argmax(axis=1)
            for j in np.unique(excess[~kept]):
                group = ~kept & (excess == j)
                if group.sum() < self.least:
                    continue
                trial = self.fit(self.portfolios, kept | group)
                if trial is not None and cut_loss(self.distances(trial), limit) < best:
                    theta, best = trial, cut_loss(self.distances(trial), limit)
            if best >= (1.0 - 1e-3) * before:
                break
        return theta

    def handfuls(self) -> list[NDArray[np.bool_]]:
        """The most promising of some handfuls of investors, drawn by a fixed rule: the cores that
        beliefs fitted to one handful would choose."""
        rng = np.random.default_rng(0)
        count = len(self.portfolios)
        size = min(count, max(HANDFUL, self.problem.n // 2))
        judged = self.portfolios[:: -(-count // JUDGED)]
        found: list[tuple[float, int, Vector]] = []
        for number in range(STARTS):
            rows = np.zeros(count, bool)
            rows[rng.choice(count, size, replace=False)] = True
            theta = self.fit(self.portfolios, rows)
            if theta is None:
                continue
            there = efficient_frontier(self.problem, theta).project(judged).distances
            edge = float(np.quantile(there, CORE))
            found.append((float(np.mean(there[there <= edge] ** 2)), number, theta))
        cores = []
        for _, _, theta in sorted(found, key=lambda one: one[:2])[:FOLLOWED]:
            distances = self.distances(theta)
            cores.append(distances <= float(np.quantile(distances, CORE)))
        return cores
