"""Which measure of risk explains investors best, on investors who took no part in the fit.

Under each measure expected returns are fitted to some investors: first by the return that their
portfolios leave at their own risk, which is convex and needs no weights, then, from the best of
what that gives, by the distance of holdings to the frontier. Where a measure makes a linear
program many returns leave the same, and only distances choose between them. The frontier is then
compared with the holdings of the others. Distances do not depend on the level of returns nor on
their scale, so two conventions stand for the anchors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from imop_engine.arguments import Matrix, Vector
from imop_engine.convex.risks import RiskFrontier, risk_of_name, scenarios_of
from imop_engine.convex.suboptimality import bundle
from imop_engine.errors import InvalidInput
from imop_engine.problem import ParameterSet

ALL: Final = ("variance", "cvar", "semivariance", "mad", "entropic")
LEVELS: Final = 16  # of risk at which the frontier is solved while returns are fitted
POINTS: Final = 40  # and where distances are measured
CUTS: Final = 60
# How far a fit may move from the history for what investors leave: hardly, and as far as it likes.
RATES: Final = (1.0, 100.0, 10_000.0)
SEARCHED: Final = 120  # frontiers that the search by distance may look at
SPREAD: Final = 0.01  # a year, between bold and careful investors, where the history has none
FEWEST: Final = 20  # investors
CONFIDENT: Final = 1.96


@dataclass(frozen=True, eq=False)
class RiskComparison:
    """Measures of risk beside one another.

    Attributes:
        table: a row for each, the best first: share of the variation in the holdings of investors
            outside the fit that one frontier explains; by how much less than the best, with a 95 %
            interval over investors; whether it can be told from the best.
        returns: those of a period, fitted to all investors under each measure, a column each; their
            level and scale are conventions.
        investors: how many there are.
        folds: into how many parts they were divided.
    """

    table: pd.DataFrame
    returns: pd.DataFrame
    investors: int
    folds: int

    @property
    def best(self) -> str:
        """The measure that explains most."""
        return str(self.table["risk"].iloc[0])

    def sentences(self) -> tuple[str, ...]:
        """What is to be said of it."""
        first = self.table.iloc[0]
        alike = self.table["risk"][self.table["verdict"] == ALIKE].tolist()
        worse = self.table["risk"][self.table["verdict"] == WORSE].tolist()
        said = []
        said.append(
            f"{first['risk']} explains most: {first['explained']:.1%} of the variation in holdings "
            f"outside the fit ({self.investors} investors in {self.folds} parts)."
        )
        if alike:
            said.append(f"{_listed(alike)} cannot be told from it: the intervals hold zero.")
        if worse:
            said.append(f"{_listed(worse)} explain less." if len(worse) > 1 else
                        f"{worse[0]} explains less.")  # fmt: skip
        said.append(
            "Intervals count who happened to be an investor; that the history itself is a sample "
            "is not in them. Levels and scale of the returns are conventions."
        )
        if float(first["explained"]) <= 0.0:
            said.append("No measure explains more than the average portfolio does.")
        return tuple(said)


BEST: Final = "best"
ALIKE: Final = "not told apart"
WORSE: Final = "less"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def compare_risks(
    history: Any,
    portfolios: Any,
    risks: Sequence[str] = ALL,
    upper: ArrayLike = 1.0,
    folds: int = 3,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> RiskComparison:
    """Compare measures of risk by what they explain of holdings outside the fit.

    Args:
        history: Returns of a period, fractions; a row for each period, a column for each asset.
        portfolios: One row for each investor, holdings as fractions of wealth in the same assets.
        risks: Names, as `risk_problem` takes them; "cvar:0.9" and "cvar:0.8" are two measures.
        upper: Caps on each holding.
        folds: Into how many parts investors are divided; each is predicted from the others.
        seed: Of the division.
        progress: Is told each measure's name when its turn comes.

    Returns:
        The table, the returns, and sentences.
    """
    scenarios, names = scenarios_of(history)
    if hasattr(portfolios, "columns"):
        missing = [name for name in names if name not in map(str, portfolios.columns)]
        if missing:
            raise InvalidInput(
                f"the portfolios have no column {missing[0]}; they need one for each of the "
                f"{len(names)} assets of the history."
            )
        portfolios = portfolios.rename(columns=str)[list(names)]
    Y = np.array(portfolios, dtype=float)
    if Y.ndim != 2 or Y.shape[1] != len(names) or not np.isfinite(Y).all():
        raise InvalidInput(
            f"portfolios need {len(names)} finite holdings in each row; their shape is {Y.shape}."
        )
    if len(Y) < FEWEST or not 2 <= folds <= len(Y) // 5:
        raise InvalidInput(
            f"{len(Y)} investors in {folds} parts are too few to predict one part from the others; "
            f"give at least {FEWEST} investors, and at least 5 in each of 2 or more parts."
        )
    chosen = list(dict.fromkeys(risks))
    if len(chosen) < 2:
        raise InvalidInput("a comparison needs at least two measures of risk.")
    part = np.random.default_rng(seed).permutation(len(Y)) % folds
    space = _conventions(scenarios, Y)
    missed, fitted = np.empty((len(chosen), len(Y))), {}
    spread = np.empty(len(Y))
    for place, name in enumerate(chosen):
        if progress is not None:
            progress(name)
        explaining = _Explaining.of(scenarios, name, upper, Y)
        everybody = explaining.fit(space, Y, space.nearest(scenarios.mean(axis=0)))
        fitted[name] = everybody
        for fold in range(folds):
            out = part == fold
            theta = explaining.fit(space, Y[~out], everybody)
            missed[place, out] = explaining.squares(theta, Y[out])
            spread[out] = np.sum((Y[out] - Y[~out].mean(axis=0)) ** 2, axis=1)
    return RiskComparison(
        _table(chosen, missed, spread), pd.DataFrame(fitted, index=list(names)), len(Y), folds
    )


def _conventions(scenarios: Matrix, Y: Matrix) -> ParameterSet:
    """Returns with the history's mean, of which bold investors expect more by its spread."""
    n, means = scenarios.shape[1], scenarios.mean(axis=0)
    variances = np.einsum("ti,ij,tj->t", Y, np.cov(scenarios.T), Y)
    bold = variances > np.median(variances)
    if not bold.any():
        raise InvalidInput("all portfolios have the same risk, so none tells what more risk buys.")
    apart = Y[bold].mean(axis=0) - Y[~bold].mean(axis=0)
    spread = float(apart @ means)
    spread = spread if spread > 0.0 else SPREAD / 12.0
    size = 10.0 * max(float(np.abs(means).max()), spread / max(float(np.abs(apart).max()), 1e-9))
    rows = np.vstack([np.full(n, 1.0 / n), apart])
    return ParameterSet(
        np.full(n, -size), np.full(n, size), rows, np.array([float(means.mean()), spread])
    )


@dataclass(frozen=True, eq=False)
class _Explaining:
    """One measure: its frontier, and how investors are placed along it."""

    frontier: RiskFrontier
    risk_of: Callable[[Matrix], Vector]
    levels: Vector

    @classmethod
    def of(cls, scenarios: Matrix, name: str, upper: ArrayLike, Y: Matrix) -> _Explaining:
        risk, level = risk_of_name(name)
        frontier = RiskFrontier.of(scenarios, name, upper)

        def measured(portfolios: Matrix) -> Vector:
            return risk.measured(portfolios, scenarios, level)

        own = np.unique(np.quantile(measured(Y), np.linspace(0.0, 1.0, LEVELS)))
        margin = frontier.least + 1e-4 * max(abs(frontier.least), frontier.size)
        return cls(frontier, measured, np.unique(np.maximum(own, margin)))

    def fit(self, space: ParameterSet, Y: Matrix, start: Vector) -> Vector:
        """Returns whose frontier is nearest to the holdings, of those that a search finds."""
        loss, unit = self._left(space, Y)
        begin = space.nearest(start)
        found = [begin] + [bundle(space, begin, loss, rate * unit**2, CUTS).theta for rate in RATES]
        best = min(found, key=lambda theta: float(self.squares(theta, Y, LEVELS).mean()))
        axes = np.linalg.svd(space.projector)[0][:, : round(np.trace(space.projector))]
        if not axes.shape[1]:
            return best
        step = 0.25 * max(float(np.abs(axes.T @ (best - best.mean())).max()), 1e-6)

        def distance(move: Vector) -> float:
            theta = space.nearest(best + axes @ move * step)
            return float(self.squares(theta, Y, LEVELS).mean())

        searched = minimize(
            distance, np.zeros(axes.shape[1]), method="Powell",
            options={"maxfev": SEARCHED, "xtol": 1e-3, "ftol": 1e-5},
        )  # fmt: skip
        moved = space.nearest(best + axes @ searched.x * step)
        return moved if searched.fun < self.squares(best, Y, LEVELS).mean() else best

    def _left(
        self, space: ParameterSet, Y: Matrix
    ) -> tuple[Callable[[Vector], tuple[float, Vector]], float]:
        """What investors leave at their own risks, in units of the returns, by the returns."""
        at = np.clip(self.risk_of(Y), self.levels[0], self.levels[-1])
        right = np.clip(np.searchsorted(self.levels, at), 1, max(1, len(self.levels) - 1))
        counts = np.zeros(len(self.levels))
        if len(self.levels) == 1:
            counts[0] = len(Y)
        else:  # most return is concave in risk: between two levels it is at least their mixture
            low, high = self.levels[right - 1], self.levels[right]
            share = (at - low) / (high - low)
            np.add.at(counts, right - 1, 1.0 - share)
            np.add.at(counts, right, share)
        mean = Y.mean(axis=0)
        unit = float(np.abs(space.values).max()) or 1.0

        def loss(theta: Vector) -> tuple[float, Vector]:
            X, earned = self.frontier.at(theta, self.levels)
            value = counts @ earned / len(Y) - theta @ mean
            return float(value) / unit, (counts @ X / len(Y) - mean) / unit

        return loss, unit

    def squares(self, theta: Vector, Y: Matrix, points: int = POINTS) -> Vector:
        """Squared distance of each portfolio to the frontier under these returns."""
        levels = np.linspace(self.levels[0], self.levels[-1], points)
        X = np.vstack([self.frontier.cautious, self.frontier.at(theta, levels)[0]])
        least = np.full(len(Y), np.inf)
        for first, last in pairwise(X):
            step = last - first
            length = float(step @ step)
            share = np.clip((Y - first) @ step / length, 0.0, 1.0) if length else np.zeros(len(Y))
            least = np.minimum(least, np.sum((Y - first - share[:, None] * step) ** 2, axis=1))
        return least


def _table(names: list[str], missed: Matrix, spread: Vector) -> pd.DataFrame:
    total = float(spread.mean())
    explained = 1.0 - missed.mean(axis=1) / total
    order = np.argsort(-explained, kind="stable")
    best = order[0]
    rows = []
    for place in order:
        worse = (missed[place] - missed[best]) / total
        error = float(worse.std(ddof=1)) / np.sqrt(len(worse))
        low, high = worse.mean() - CONFIDENT * error, worse.mean() + CONFIDENT * error
        told = BEST if place == best else WORSE if low > 0.0 else ALIKE
        rows.append((names[place], explained[place], worse.mean(), low, high, told))
    return pd.DataFrame(rows, columns=["risk", "explained", "less", "low", "high", "verdict"])
