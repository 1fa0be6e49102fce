"""The estimate of a study: all portfolios together, and how far what the analyst brought is known.

The stream's end is one start among others; the covariance and the anchors enter with their errors
where the history behind them is known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import ImopError
from imop_engine.frontier import efficient_frontier
from imop_engine.inference.adjusted import Adjusted, adjusted_estimate
from imop_engine.inference.anchors import ordered_anchors
from imop_engine.inference.belief_identification import identification_of_beliefs
from imop_engine.inference.bias_simulation import reporting_step
from imop_engine.inference.estimate import Estimate, estimate_returns
from imop_engine.inference.estimating_equations import Refined, least_investors
from imop_engine.inference.estimators import BELIEFS, HOLDINGS, IMPLIED
from imop_engine.inference.first_order import BeliefFit, Positions, anchored, fit_beliefs
from imop_engine.inference.held_assets import below_bounds, given_back, only_held
from imop_engine.inference.identify import Identification, identification
from imop_engine.inference.joint_covariance import (
    MOST_ASSETS,
    JointFit,
    fit_together,
    with_covariance,
)
from imop_engine.inference.sources import GivenErrors
from imop_engine.problem import Problem
from imop_engine.progress import note, stretch
from imop_engine.study.data import StudyData
from imop_engine.study.settings import FITTED, StudySettings

# Errors in holdings up to this are what is left once the covariance is right.
EXPLAINED_NOISE: Final = 0.02
NO_WORSE: Final = 1.02  # of the squared distances out of sample, where errors come out small
CLEARLY_BETTER: Final = 0.95  # where they do not: a covariance that may bend follows anything
RESAMPLED: Final = 24  # covariances drawn where they are not fitted
RESAMPLED_ROWS: Final = 600
FAR_DRAWS: Final = 5.0  # robust standard deviations beyond which a draw is pulled in
MAD_TO_SD: Final = 1.4826
FOLDED: Final = 1000  # portfolios that the joint fit is judged on
# Where the joint fit lies in the whole, by about the time it took with 20 assets; only told.
JOINT_FROM: Final = 0.2
JOINT_TO: Final = 0.9


@dataclass(frozen=True, eq=False)
class StudyEstimate:
    """What all portfolios of a study say together.

    Args:
        found: the estimate under the covariance of the history.
        joint: returns and covariance fitted together, where that was taken.
        clusters: a number for each portfolio; equal numbers are one investor, or one portfolio
            that several hold.
        given: how far covariance and anchors are known.
        explained: share of the differences between portfolios that the estimate explains among
            investors it was not fitted to; None: too few to say.
        periods: how many periods the covariance was estimated from; None: not known.
        anchor_covariance: of the anchors' values; None: exact.
        adjusted: the portfolios that were estimated from, where those are not the reported ones.
    """

    found: Estimate
    joint: JointFit | None
    clusters: NDArray[np.int64]
    given: GivenErrors
    explained: float | None
    periods: float | None
    anchor_covariance: Matrix | None
    adjusted: Adjusted | None = None

    @property
    def problem(self) -> Problem:
        """The problem that the returns solve; its covariance is the fitted one where there is."""
        return self.found.problem if self.joint is None else self.joint.problem

    @property
    def theta(self) -> Vector:
        """Yearly expected returns."""
        return self.found.theta if self.joint is None else self.joint.theta

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Who takes part."""
        return self.found.kept

    def portfolios(self, Y: Matrix) -> Matrix:
        """What the returns were estimated from: the portfolios with what the file hides of them,
        or without tilts, where that was recognised.

        Args:
            Y: the portfolios that were learned from, in stream order.
        """
        return Y if self.adjusted is None else self.adjusted.portfolios

    def likelihood(self, Y: Matrix) -> BeliefFit | None:
        """The fit behind the estimate where beliefs differ; None where errors are in holdings.

        Args:
            Y: the portfolios that were learned from, in stream order.
        """
        beliefs = self.found.solution.beliefs
        if beliefs is None or self.joint is None:
            return beliefs
        if self.joint.noise_sd <= EXPLAINED_NOISE:
            return None
        # the same way under the fitted covariance
        return beliefs_of(self.problem, self.portfolios(Y)[self.kept], self.found.tiny)

    def identification(self, Y: Matrix, level: float, seed: int) -> Identification:
        """Intervals around the estimate.

        Args:
            Y: the portfolios that were learned from, in stream order.
            level: confidence of the intervals.
            seed: of what is drawn.
        """
        kept, clusters = self.kept, self.clusters
        reported = None if self.adjusted is None else Y[kept]
        Y = self.portfolios(Y)
        own = pd.factorize(clusters[kept])[0].astype(np.int64)
        beliefs = self.likelihood(Y)
        if beliefs is not None:
            return identification_of_beliefs(
                self.problem, self.theta, Y[kept], beliefs, self.found.tiny, level, seed, own,
                self.given, reported=reported,
            )  # fmt: skip
        solution = self.found.solution.solution
        if self.joint is not None:
            solution = Refined(self.theta, 0, self.joint.converged, 0.0)
        return identification(
            self.problem, self.theta, Y[kept], level, seed=seed, solution=solution, clusters=own,
            given=self.given, held=self.found.solution.held, reported=reported,
        )  # fmt: skip


def estimate_study(
    data: StudyData, settings: StudySettings, problem: Problem, stream: Vector, rounds: int
) -> StudyEstimate:
    """Estimate the returns of a study from all portfolios it has learned from.

    Args:
        data: moments and portfolios.
        settings: the analyst's choices.
        problem: with its anchors.
        stream: where the stream ended, yearly returns.
        rounds: how many portfolios it has seen.
    """
    Y = data.decisions[:rounds]
    clusters = investor_clusters(data, Y)
    periods = data.market.periods
    history = np.asarray(data.expected_returns, dtype=np.float64)

    def estimate_from(portfolios: Matrix, start: Vector) -> Estimate:
        return estimate_returns(
            problem, portfolios, (start,), clusters, settings.trim, WAYS.get(settings.errors),
            history,
        )  # fmt: skip

    alone = JOINT_FROM if periods is not None else 1.0  # without a history there is no joint fit
    with stretch(0.0, alone / 2.0):
        found = estimate_from(Y, stream)
    with stretch(alone / 2.0, alone):
        names = _ids(data, Y)
        owners = _numbered(pd.factorize(names)[0].astype(np.int64), Y, names)
        found, adjusted = adjusted_estimate(Y, found, estimate_from, periods is None, owners)
    Y = Y if adjusted is None else adjusted.portfolios
    own = None if adjusted is None else adjusted.own
    with stretch(alone, max(alone, JOINT_TO)):
        # tilts follow what another covariance would explain: the two are not fitted together
        fitted = own is None and settings.risks == FITTED
        joint, explained = _joint(found, Y, clusters, periods if fitted else None)
    if explained is not None and explained < found.explained[IMPLIED]:
        # nothing learned explains as much as the average portfolio: that is what is shown
        joint, explained = None, found.explained[IMPLIED]
        found = replace(found, way=IMPLIED, theta=found.fitted[IMPLIED].theta)
    errors = anchor_covariance(data, settings, problem)
    theta = found.theta if joint is None else joint.theta
    to_anchors = anchored(problem, theta).to_anchors
    given = GivenErrors(
        _history_error(found, joint, Y, periods),
        None if errors is None else to_anchors @ errors @ to_anchors.T,
        _disagreement(found, joint) if own is None else own.covariance,
        periods,
    )
    return StudyEstimate(found, joint, clusters, given, explained, periods, errors, adjusted)


def beliefs_of(problem: Problem, Y: Matrix, tiny: float) -> BeliefFit:
    """The most likely beliefs of some investors.

    Args:
        problem: with the covariance that they are fitted under.
        Y: their portfolios, fractions of wealth.
        tiny: holdings up to this are errors.
    """
    positions = Positions.of(problem, Y, tiny)
    return fit_beliefs(problem, positions, least_holders=least_investors(len(Y)))


WAYS: Final = {"holdings": HOLDINGS, "beliefs": BELIEFS}


def investor_clusters(data: StudyData, Y: Matrix) -> NDArray[np.int64]:
    """A number for each portfolio: the same for the same investor, and for a portfolio that comes
    again to the last digit where holdings are not rounded. The numbers follow what is held, so that
    halves drawn by them do not depend on the order in which the portfolios came.

    Args:
        data: investors with their names.
        Y: the portfolios that take part, in stream order.
    """
    names = _ids(data, Y)
    own = pd.factorize(names)[0].astype(np.int64)
    if reporting_step(Y) is not None:
        return _numbered(own, Y, names)
    rows = np.ascontiguousarray(np.round(Y, 9))
    keys = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    _, first, same = np.unique(keys, return_index=True, return_inverse=True)
    several = (Y > 0).sum(axis=1) > 1  # whoever holds one asset alone holds what others do
    shared = np.where(several, own[first[same]], own).astype(np.int64)
    return _numbered(shared, Y, names)


def _numbered(own: NDArray[np.int64], Y: Matrix, names: NDArray[np.object_]) -> NDArray[np.int64]:
    """Clusters numbered from zero by what their investors hold, then by name, in any order of rows.

    Args:
        own: a number for each portfolio, equal where it is the same investor.
        Y: the portfolios.
        names: whose they are.
    """
    called = pd.factorize(names.astype(str), sort=True)[0]
    place = np.empty(len(Y), dtype=np.int64)
    place[np.lexsort((called, *np.round(Y, 9).T[::-1]))] = np.arange(len(Y))
    codes = pd.factorize(own)[0]
    first = np.full(int(codes.max(initial=-1)) + 1, len(Y))
    np.minimum.at(first, codes, place)
    return np.argsort(np.argsort(first)).astype(np.int64)[codes]


def _ids(data: StudyData, Y: Matrix) -> NDArray[np.object_]:
    """Whose portfolios they are."""
    return np.array(data.investors.ids, dtype=object)[data.good][: len(Y)]


def anchor_covariance(data: StudyData, settings: StudySettings, problem: Problem) -> Matrix | None:
    """Covariance of the anchors' values: history's by its length, the analyst's by her own word.

    Args:
        data: with the market, whose history may be known.
        settings: with the anchors, where the analyst gave them.
        problem: with the anchors in it.

    Returns:
        None where they count as exact.
    """
    if settings.anchors is not None:
        errors = np.array(settings.anchor_errors)
        return np.diag(errors**2) if errors.any() else None
    error = data.market.mean_covariance
    if error is None:
        return None
    rows = problem.theta.equalities
    returns = np.asarray(data.expected_returns, dtype=np.float64)
    if len(rows) != 2 or np.diff(rows @ returns)[0] > 0.0:
        return np.asarray(rows @ error @ rows.T)
    return ordered_anchors(rows, returns, error)[1]


def _joint(
    found: Estimate, Y: Matrix, clusters: NDArray[np.int64], periods: float | None
) -> tuple[JointFit | None, float | None]:
    """Returns and covariance together, where they explain other investors no worse; and what the
    result explains of investors it was not fitted to."""
    alone = found.explained.get(found.way)
    held = found.solution.held
    if periods is None or alone is None or found.problem.n > MOST_ASSETS:
        return None, alone
    kept, problem = Y[found.kept], found.problem
    if held is not None:
        kept, problem = given_back(kept, held), only_held(problem, held)
    step = -(-len(kept) // FOLDED)
    some, own = kept[::step], clusters[found.kept][::step]
    best: tuple[JointFit | None, float] = (None, alone)
    starts = _starts(found)
    parts = 3 * len(starts) + (step > 1)  # a fit and two halves each, then one of everybody
    for number, start in enumerate(starts):
        try:
            with stretch(3 * number / parts, (3 * number + 1) / parts):
                joint = fit_together(problem, some, start, periods)
            with stretch((3 * number + 1) / parts, (3 * number + 3) / parts):
                share = _joint_share(problem, some, own, joint, periods)
        except (ImopError, np.linalg.LinAlgError):
            continue
        asked = NO_WORSE if joint.noise_sd <= EXPLAINED_NOISE else CLEARLY_BETTER
        before = alone if best[0] is None else best[1]
        if 1.0 - share <= asked * (1.0 - alone) and (best[0] is None or share > before):
            best = joint, share
    if best[0] is not None and step > 1:
        with stretch((parts - 1) / parts, 1.0):
            full = fit_together(problem, kept, best[0].theta, periods, best[0].change)
        best = full, best[1]
    if best[0] is None or held is None:
        return best
    # all assets again, those that nobody holds no higher than the portfolios allow
    whole = with_covariance(found.problem, best[0].problem.covariance)
    theta = below_bounds(whole, kept, best[0].theta, held)
    return replace(best[0], problem=whole, theta=theta), best[1]


def _starts(found: Estimate) -> list[Vector]:
    """Where the joint fit begins: small errors are solved for already, others may mislead."""
    if found.noise_sd <= EXPLAINED_NOISE:
        return [found.theta]
    other = HOLDINGS if found.way == BELIEFS else BELIEFS
    return [found.theta, *(found.fitted[name].theta for name in (other,) if name in found.fitted)]


def _joint_share(
    problem: Problem,
    some: Matrix,
    clusters: NDArray[np.int64],
    joint: JointFit,
    periods: float,
) -> float:
    """What the joint fit of either half explains of the other half."""
    sides = np.random.default_rng(0).integers(0, 2, int(clusters.max()) + 1)[clusters]
    missed = spread = 0.0
    for side in (0, 1):
        inside, outside = some[sides != side], some[sides == side]
        with stretch(0.5 * side, 0.5 * side + 0.5):
            half = fit_together(problem, inside, joint.theta, periods, joint.change)
        distances = efficient_frontier(half.problem, half.theta).project(outside).distances
        missed += float(np.sum(distances**2))
        spread += float(np.sum((outside - inside.mean(axis=0)) ** 2))
    return 1.0 - missed / spread if spread > 0 else 0.0


def _history_error(
    found: Estimate, joint: JointFit | None, Y: Matrix, periods: float | None
) -> Matrix | None:
    """Covariance of the returns from not knowing the covariance."""
    if joint is not None:
        return joint.covariance - joint.given_covariance
    if periods is None:
        return None
    problem, n = found.problem, found.problem.n
    kept = Y[found.kept]
    some = kept[:: -(-len(kept) // RESAMPLED_ROWS)]
    positions = Positions.of(problem, some, found.tiny)
    L = np.linalg.cholesky(problem.covariance)
    rng = np.random.default_rng(2)
    draws = []
    for number in range(RESAMPLED):
        note(JOINT_TO + (1.0 - JOINT_TO) * number / RESAMPLED)
        freedom = max(int(periods) - 1, n + 1)
        normal = rng.normal(size=(freedom, n))
        drawn = with_covariance(problem, L @ (normal.T @ normal / freedom) @ L.T)
        try:
            fit = fit_beliefs(drawn, positions, least_holders=least_investors(len(some)))
        except (ImopError, np.linalg.LinAlgError):
            continue
        draws.append(anchored(problem, fit.beliefs).theta)
    if len(draws) < RESAMPLED // 2:
        return None
    table = np.array(draws)
    middle = np.median(table, axis=0)
    reach = FAR_DRAWS * MAD_TO_SD * np.median(np.abs(table - middle), axis=0)
    table = np.clip(table, middle - reach, middle + reach)
    result: Matrix = np.cov(table.T)
    return result


def _disagreement(found: Estimate, joint: JointFit | None) -> Matrix | None:
    """Half of what the two ways differ by, where errors are not small ones in holdings."""
    if joint is not None or not {BELIEFS, HOLDINGS} <= set(found.fitted):
        return None
    if found.way == HOLDINGS and found.noise_sd <= EXPLAINED_NOISE:
        return None
    apart = 0.5 * (found.fitted[BELIEFS].theta - found.fitted[HOLDINGS].theta)
    return np.outer(apart, apart)
