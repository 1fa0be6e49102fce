"""What each portfolio says against given beliefs, to first order: the matter of `group_effects`.

A score is how a portfolio would have the returns move, with the investor's own price of risk
adapted along; the common estimate is where scores add up to nothing. Both ways of errors have one:
residuals on the stretch of the frontier for errors in holdings, the slope of the likelihood where
beliefs differ.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import ImopError, InvalidInput
from imop_engine.frontier import efficient_frontier
from imop_engine.inference.binding_rows import CLEAR
from imop_engine.inference.estimating_equations import support_of, supported_information
from imop_engine.inference.estimators import errors_in_holdings
from imop_engine.inference.first_order import (
    BeliefFit,
    Positions,
    anchored,
    fit_beliefs,
    profile_scores,
)
from imop_engine.inference.fit import estimate_noise
from imop_engine.inference.information import ScoreInformation, information
from imop_engine.problem import Problem

# Investors are compared with others of like boldness: in this many lots at most, each of about
# this many portfolios.
MOST_LOTS: Final = 20
IN_A_LOT: Final = 25

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Scores:
    """What each portfolio says against the returns that its group is taken to believe in.

    Args:
        scores: one row for each portfolio, one column for each asset.
        information: of an average portfolio in each lot, lots x n x n.
        returns: yearly, on the anchors, groups x n.
        response: how each group's returns move with what the scores speak of, groups x n x n.
    """

    scores: Matrix
    information: NDArray[np.float64]
    returns: Matrix
    response: NDArray[np.float64]


class ScoreModel(Protocol):
    """Portfolios that tell of beliefs, under one way of errors."""

    @property
    def rows(self) -> Codes:
        """Which portfolios these are, of those the model was made from."""
        ...

    @property
    def lots(self) -> Codes:
        """Like boldness, a number from 0 for each of them."""
        ...

    @property
    def held(self) -> NDArray[np.bool_]:
        """What each of them holds."""
        ...

    @property
    def anchors(self) -> Matrix:
        """Portfolios whose return is known, one in each row."""
        ...

    @property
    def common(self) -> Vector:
        """The common returns, yearly."""
        ...

    def cut(self, some: NDArray[np.bool_]) -> ScoreModel:
        """The same of some of the portfolios.

        Args:
            some: which.
        """
        ...

    def at(self, codes: Codes, departures: Matrix, rows: Matrix) -> Scores:
        """Scores where each group departs from the common beliefs.

        Args:
            codes: the group of each portfolio, from 0.
            departures: of each group in a row, in the units that the scores speak of.
            rows: portfolios whose return is the same for all groups: shift and scale of each.
        """
        ...

    def own_fits(self, codes: Codes) -> Matrix:
        """What each group's own fit departs by from the common one, in the same units.

        Args:
            codes: the group of each portfolio, from 0.
        """
        ...


@dataclass(frozen=True, eq=False)
class HoldingScores:
    """Errors are in holdings; departures are yearly returns."""

    problem: Problem
    theta: Vector
    portfolios: Matrix
    noise_sd: float
    rows: Codes
    lots: Codes
    held: NDArray[np.bool_]

    @classmethod
    def of(
        cls, problem: Problem, theta: Vector, Y: Matrix, common: NDArray[np.bool_] | None = None
    ) -> HoldingScores:
        """Find who tells something, and who is as bold as whom.

        Args:
            problem: a portfolio problem with anchors.
            theta: the common estimate, yearly returns.
            Y: one row for each portfolio, fractions of wealth.
            common: whom the common estimate explains, and so tell the size of errors; None: all.
        """
        frontier = efficient_frontier(problem, theta)
        info = information(frontier, Y)
        like = Y if common is None else Y[common]
        try:
            noise_sd = estimate_noise(frontier, like, frontier.project(like)).sd
        except InvalidInput:  # too few residuals to tell holdings from errors: all count
            noise_sd = 0.0
        info = supported_information(info, Y, None, support_of(info, Y, noise_sd))
        tells = np.zeros(len(Y), dtype=bool)
        for place in info.places:
            tells[place.rows] = bool(np.any(place.slope))
        rows = np.flatnonzero(tells)
        held = Y[rows] > CLEAR * noise_sd
        return cls(problem, theta, Y[rows], noise_sd, rows, lots_of(info.lams[rows]), held)

    @property
    def anchors(self) -> Matrix:
        """Portfolios whose return is known, one in each row."""
        return self.problem.theta.equalities

    @property
    def common(self) -> Vector:
        """The common returns, yearly."""
        return self.theta

    def cut(self, some: NDArray[np.bool_]) -> HoldingScores:
        """The same of some of the portfolios.

        Args:
            some: which.
        """
        return replace(
            self,
            portfolios=self.portfolios[some],
            rows=self.rows[some],
            lots=self.lots[some],
            held=self.held[some],
        )

    def at(self, codes: Codes, departures: Matrix, rows: Matrix) -> Scores:
        """Scores where each group departs from the common beliefs.

        Args:
            codes: the group of each portfolio, from 0.
            departures: of each group in a row, yearly returns.
            rows: portfolios whose return is the same for all groups: shift and scale of each.
        """
        number, n = int(self.lots.max()) + 1, self.problem.n
        scores, total = np.zeros_like(self.portfolios), np.zeros((number, n, n))
        for code, one in enumerate(departures):
            mine = codes == code
            Y = self.portfolios[mine]
            info = information(efficient_frontier(self.problem, self.theta + one), Y)
            info = supported_information(info, Y, None, support_of(info, Y, self.noise_sd))
            scores[mine] = info.scores
            total += _by_lot(info, self.lots[mine], number)
        moved = [_regauged(rows, self.theta + one, self.theta) for one in departures]
        return _averaged(scores, total, self.lots, moved)

    def own_fits(self, codes: Codes) -> Matrix:
        """What each group's own fit departs by from the common one; zero where it has none.

        Args:
            codes: the group of each portfolio, from 0.
        """
        result = np.zeros((int(codes.max()) + 1, self.problem.n))
        for code in range(len(result)):
            with suppress(ImopError, np.linalg.LinAlgError):
                found = errors_in_holdings(
                    self.problem, self.portfolios[codes == code], 0.0, self.theta
                )
                result[code] = found.theta - self.theta
        return result


@dataclass(frozen=True, eq=False)
class BeliefScores:
    """Beliefs differ; departures are in units of the disagreement."""

    problem: Problem
    fit: BeliefFit  # of these portfolios
    positions: Positions
    rows: Codes
    lots: Codes
    held: NDArray[np.bool_]

    @classmethod
    def of(cls, problem: Problem, Y: Matrix, tiny: float, fit: BeliefFit) -> BeliefScores:
        """Find who tells something, and who is as bold as whom.

        Args:
            problem: a portfolio problem with anchors.
            Y: one row for each portfolio, fractions of wealth.
            tiny: holdings up to this count as errors.
            fit: the maximum of the likelihood for these portfolios.
        """
        rows = np.flatnonzero(fit.used)
        own = Positions.of(problem, Y[rows], tiny)
        cut = _cut(fit, rows)
        return cls(problem, cut, own, rows, lots_of(1.0 / cut.prices), own.held | own.capped)

    @property
    def anchors(self) -> Matrix:
        """Portfolios whose return is known, one in each row."""
        return self.problem.theta.equalities

    @property
    def common(self) -> Vector:
        """The common returns, yearly."""
        return anchored(self.problem, self.fit.beliefs).theta

    def cut(self, some: NDArray[np.bool_]) -> BeliefScores:
        """The same of some of the portfolios.

        Args:
            some: which.
        """
        return replace(
            self,
            fit=_cut(self.fit, some),
            positions=_some(self.positions, some),
            rows=self.rows[some],
            lots=self.lots[some],
            held=self.held[some],
        )

    def at(self, codes: Codes, departures: Matrix, rows: Matrix) -> Scores:
        """Scores where each group departs from the common beliefs.

        Args:
            codes: the group of each portfolio, from 0.
            departures: of each group in a row, in units of the disagreement.
            rows: portfolios whose return is the same for all groups: shift and scale of each.
        """
        number, n = int(self.lots.max()) + 1, self.problem.n
        scores, total = np.zeros((len(codes), n)), np.zeros((number, n, n))
        for code, one in enumerate(departures):
            mine = codes == code
            found = profile_scores(
                self.problem,
                _some(self.positions, mine),
                _cut(self.fit, mine),
                self.fit.beliefs + one,
                self.lots[mine],
                number,
            )
            scores[mine] = found.scores
            total += found.information
        moved = [_regauged(rows, self.fit.beliefs + one, self.common) for one in departures]
        return _averaged(scores, total, self.lots, moved)

    def own_fits(self, codes: Codes) -> Matrix:
        """What each group's own fit departs by from the common one; zero where it has none.

        Args:
            codes: the group of each portfolio, from 0.
        """
        result = np.zeros((int(codes.max()) + 1, self.problem.n))
        for code in range(len(result)):
            counts = (codes == code).astype(float)
            with suppress(ImopError, np.linalg.LinAlgError):
                found = fit_beliefs(self.problem, self.positions, counts, start=self.fit)
                both = found.informed & self.fit.informed
                apart = np.where(both, found.beliefs - self.fit.beliefs, 0.0)
                result[code] = np.where(both, apart - apart[both].mean(), 0.0)
        return result


def _cut(fit: BeliefFit, rows: Any) -> BeliefFit:
    """The fit with the numbers of some investors only."""
    return replace(fit, prices=fit.prices[rows], levels=fit.levels[rows])


def _some(positions: Positions, rows: NDArray[np.bool_]) -> Positions:
    return Positions(positions.portfolios[rows], positions.held[rows], positions.capped[rows])


def lots_of(prices: Vector) -> Codes:
    """Portfolios in lots of like boldness, the most cautious first.

    Args:
        prices: price of risk that each portfolio shows; only its order counts.

    Returns:
        A number from 0 for each portfolio.

    >>> lots_of(np.arange(100.0)).tolist()[::10]
    [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]
    """
    count = len(prices)
    number = int(np.clip(count // IN_A_LOT, 1, MOST_LOTS))
    lots = np.empty(count, dtype=np.int64)
    lots[np.argsort(prices, kind="stable")] = np.arange(count) * number // max(1, count)
    return lots


def _averaged(
    scores: Matrix,
    total: NDArray[np.float64],
    lots: Codes,
    moved: list[tuple[Vector, Matrix]],
) -> Scores:
    counts = np.maximum(np.bincount(lots, minlength=len(total)), 1)
    return Scores(
        scores,
        total / counts[:, None, None],
        np.array([returns for returns, _ in moved]),
        np.array([response for _, response in moved]),
    )


def _regauged(rows: Matrix, beliefs: Vector, common: Vector) -> tuple[Vector, Matrix]:
    """Returns at the shift and scale at which some portfolios earn what they do for all, and how
    those returns move with the beliefs."""
    basis = np.column_stack([beliefs, np.ones(len(beliefs))])
    solve = np.asarray(np.linalg.pinv(rows @ basis), dtype=np.float64)
    scale, shift = solve @ (rows @ common)
    response = scale * (np.eye(len(beliefs)) - basis @ solve @ rows)
    return scale * beliefs + shift, response


def _by_lot(info: ScoreInformation, lots: Codes, number: int) -> NDArray[np.float64]:
    """Information of the portfolios in each lot: lam^2 A A' of the place where each one is."""
    n = info.hessian.shape[0]
    total = np.zeros((number, n, n))
    for place in info.places:
        sizes = np.bincount(lots[place.rows], info.lams[place.rows] ** 2, number)
        block = place.slope @ place.slope.T
        total[np.ix_(np.arange(number), place.free, place.free)] += sizes[:, None, None] * block
    return total
