"""The beliefs under which investors leave the least on the table, with a proof."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.efficiency_gap.cuts import Cuts, cut_corners, plane_basis
from imop_engine.efficiency_gap.descent import descend
from imop_engine.efficiency_gap.measure import NEEDED, NOT_A_PORTFOLIO, fixes_scale, furthest
from imop_engine.efficiency_gap.sample import Sample
from imop_engine.efficiency_gap.value import Value
from imop_engine.errors import InvalidInput
from imop_engine.problem import ParameterSet, Problem

STAGES: Final = (
    1e3,
    1e5,
    1e7,
)  # how far frontiers are followed: kinks are smoothed, then sharpened
LIFTS: Final = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)  # of the largest variance
RISKLESS: Final = (
    1e-5  # mixtures of assets with less than this share of it have no risk to speak of
)
OTHER_STARTS: Final = 3  # of a search that ended without a proof
FLAT: Final = 1e-10  # directions with less than this share of the largest curvature are flat
LOADS: Final = 1e-6  # an asset whose return moves by this much along a flat direction is not fixed


@dataclass(frozen=True, eq=False)
class EfficiencyFit:
    """The beliefs under which investors leave the least on the table.

    Attributes:
        theta: expected returns, a year.
        value: gaps of all investors together, return a year; `value / investors` is their mean.
        bound: no beliefs in Theta have a smaller value than this.
        gradient: of the value: what the efficient portfolios hold beyond what investors hold.
        iterations: steps of Newton's method.
        certified: whether value and bound agree (to 1e-7 of the value).
        flat: which returns the portfolios leave open here, mostly of assets that nobody holds; they
            stay near where the fit began.
        flat_directions: the directions in which the value does not change, one a row.
        investors: how many portfolios there were.
        moved: how many of them lay outside their limits or the budget, if only by rounding; they
            took part as `put_inside` says.
    """

    theta: Vector
    value: float
    bound: float
    gradient: Vector = field(repr=False)
    iterations: int
    certified: bool
    flat: NDArray[np.bool_]
    flat_directions: Matrix = field(repr=False)
    investors: int
    moved: int


def fit_efficiency(
    problem: Problem, decisions: Any, theta0: ArrayLike | None = None
) -> EfficiencyFit:
    """The expected returns within Theta under which investors leave the least on the table.

    One convex problem: the same answer from any start, with a proof. Kinks (ties between returns,
    where bold investors hold single assets) are smoothed by a least price of risk, which is lowered
    until value and bound agree.

    Args:
        problem: a portfolio problem whose anchors fix shift and scale.
        decisions: portfolios, one row each: an array, a frame, or an iterable of such chunks, of
            which only one at a time and eight bytes an investor are kept.
        theta0: where to begin, expected returns a year; it decides only what the portfolios leave
            open. None: all alike, as far as the anchors allow.

    Returns:
        The returns, the value, and the bound that proves it.

    >>> import numpy as np
    >>> from imop_engine import efficient_frontier, portfolio_problem
    >>> problem = portfolio_problem(np.diag([0.04, 0.09, 0.16]), anchors={0: 0.05, 2: 0.15})
    >>> seen = [efficient_frontier(problem, [0.05, 0.1, 0.15]).at(w) for w in (0.1, 0.2, 0.3)]
    >>> fit = fit_efficiency(problem, seen, theta0=[0.05, 0.9, 0.15])
    >>> fit.theta.round(6).tolist(), fit.certified
    ([0.05, 0.1, 0.15], True)
    """
    require_fit(problem)
    return fit_sample(problem, Sample.of(problem, decisions, lifts_of(problem)), theta0)


def require_fit(problem: Problem) -> None:
    """Refuse a problem without portfolios, and one whose anchors fix no scale."""
    problem.require(*NEEDED, sentence=NOT_A_PORTFOLIO)
    _require_scale(problem)


def fit_sample(problem: Problem, sample: Sample, theta0: ArrayLike | None = None) -> EfficiencyFit:
    """`fit_efficiency` of investors of whom all that it needs is known already.

    Args:
        problem: a portfolio problem whose anchors fix shift and scale.
        sample: the investors, with their variances under `lifts_of(problem)`.
        theta0: where to begin, expected returns a year; None: all alike, as far as anchors allow.
    """
    lifts = lifts_of(problem)
    implied, cuts = _implied(problem, sample), Cuts(problem.theta)
    start = implied if theta0 is None else problem.check_theta(theta0, "theta0")
    best, smooth, steps = _minimise(problem, sample, start, lifts, cuts)
    for again in _other_starts(problem, None if theta0 is None else implied):
        if cuts.proven(best, sample):
            break
        other, there, more = _minimise(problem, sample, again, lifts, cuts)
        steps += more
        if other.gaps < best.gaps:
            best, smooth = other, there
    value, bound = best.gaps, min(cuts.bound, best.gaps)
    flat, directions = _flat(problem.theta, best, smooth.hessian, sample.count)
    return EfficiencyFit(
        best.theta, value, bound, best.gradient, steps, cuts.proven(best, sample), flat, directions,
        sample.count, sample.moved,
    )  # fmt: skip


def _other_starts(problem: Problem, implied: Vector | None) -> Iterator[Vector]:
    """Where a search that ended without a proof begins again: once in a thousand random starts, and
    where all investors hold single assets, so that nothing but kinks is left."""
    if implied is not None:
        yield implied
    low, high = problem.theta.lower, problem.theta.upper
    rng = np.random.default_rng(0)
    for _ in range(OTHER_STARTS):
        yield problem.theta.nearest(rng.uniform(low, high))


def begin_from(problem: Problem, decisions: Any, theta0: Vector) -> Vector:
    """The returns of `fit_efficiency` as far as Newton's method goes, without a proof.

    Where value and bound do not agree by then, cutting planes and another start take most of the
    time and change the last digits, which whoever only begins from the returns does not need.

    Args:
        problem: a portfolio problem whose anchors fix shift and scale.
        decisions: portfolios, one row each.
        theta0: where to begin, expected returns a year.
    """
    require_fit(problem)
    lifts = lifts_of(problem)
    sample = Sample.of(problem, decisions, lifts)
    best, _, _ = _minimise(problem, sample, theta0, lifts, Cuts(problem.theta), corners=False)
    return best.theta


def _minimise(
    problem: Problem,
    sample: Sample,
    start: Vector,
    lifts: tuple[float, ...],
    cuts: Cuts,
    corners: bool = True,
) -> tuple[Value, Value, int]:
    """From one start: stages of sharper kinks until value and bound agree, then cutting planes.

    Args:
        problem: the portfolio problem.
        sample: the investors.
        start: expected returns to begin from.
        lifts: what was added to each variance for the investors' lifted ones, as in `lifts_of`.
        cuts: receives what was learned on the way; what another start taught may be in it.
        corners: whether cutting planes follow where value and bound do not agree.

    Returns:
        The best point, its value not smoothed; the end of the last stage, smoothed; and how many
        steps were taken.
    """
    theta = problem.theta.nearest(start)
    for lift, variances in zip(lifts, sample.lifted, strict=True):
        theta = _descend_lifted(problem, sample, theta, lift, variances)
    scale = furthest(problem, theta, 1.0)  # one for all stages: the value must not move with it
    steps = 0
    for number, stage in enumerate(STAGES):
        before = theta
        smooth, taken = descend(problem, sample, theta, stage * scale, cuts)
        theta, steps = smooth.theta, steps + taken
        best = cuts.exact(problem, sample, theta)
        if number > 0:
            best = _sharpened(problem, sample, best, before, stage / STAGES[number - 1], cuts)
        cuts.prove(best)
        if cuts.proven(best, sample):
            break
    else:
        best = cut_corners(problem, sample, best, cuts) if corners else best
    return best, smooth, steps


def _sharpened(
    problem: Problem, sample: Sample, best: Value, before: Vector, sharper: float, cuts: Cuts
) -> Value:
    """The best point, or where it goes as the least price goes to zero if that is better.

    Returns that tie there, as those of assets that the boldest investors share, differ by about the
    price as long as there is one: a straight line through two stages ends at the tie.

    Args:
        problem: the portfolio problem.
        sample: the investors.
        best: the end of a stage, its value not smoothed.
        before: the end of the stage before.
        sharper: how many times smaller the least price has become.
        cuts: receives a cut.
    """
    ahead = best.theta + (best.theta - before) / (sharper - 1.0)
    point = cuts.exact(problem, sample, problem.theta.nearest(ahead))
    return point if point.gaps < best.gaps else best


def _flat(
    theta_set: ParameterSet, point: Value, hessian: Matrix, count: int
) -> tuple[NDArray[np.bool_], Matrix]:
    """Which returns the value leaves open, and the directions in which it does not change.

    A return that its box stops has no curvature either, but a slope.
    """
    basis = plane_basis(theta_set.projector)
    values, vectors = np.linalg.eigh(basis.T @ hessian @ basis)
    straight = values <= FLAT * max(float(values.max(initial=0.0)), 0.0)
    directions: Matrix = (basis @ vectors[:, straight]).T
    slopes = directions @ point.gradient
    if np.linalg.norm(slopes) > FLAT * count:
        level = np.linalg.svd(slopes[None])[2][1:]
        directions = level @ directions
    return np.linalg.norm(directions, axis=0) > LOADS, directions


def _implied(problem: Problem, sample: Sample) -> Vector:
    """The returns that the average portfolio implies, at the anchors' shift and scale; where these
    make no sense, returns as alike as the anchors allow: no asset is hidden behind another."""
    A, v = problem.theta.equalities, problem.theta.values
    implied = problem.covariance @ sample.held / sample.count
    level, slope = np.linalg.lstsq(np.column_stack([A.sum(axis=1), A @ implied]), v, rcond=None)[0]
    if slope > 0.0 and np.ptp(implied) > 0.0:
        return np.asarray(level + slope * implied)
    return np.full(problem.theta_size, float(v.mean()) if len(v) else 0.0)


def lifts_of(problem: Problem) -> tuple[float, ...]:
    """What to add to each variance at first, where some mixtures of assets have next to no risk.

    There twins jump when returns change a little, and Newton's method, which sees one piece of the
    value at a time, gets lost; with some risk added they do not. Only the start comes from that.
    """
    values = np.linalg.eigvalsh(problem.covariance)
    top = float(values[-1])
    return tuple(top * share for share in LIFTS) if values[0] < RISKLESS * top else ()


def _descend_lifted(
    problem: Problem, sample: Sample, theta: Vector, lift: float, variances: Vector
) -> Vector:
    riskier = replace(problem, quadratic=problem.quadratic.copy())
    riskier.quadratic[1] += 2.0 * lift * np.eye(problem.n)
    data = replace(sample, variances=variances)
    most = STAGES[0] * furthest(riskier, theta, 1.0)
    return descend(riskier, data, theta, most, Cuts(problem.theta))[0].theta


def _require_scale(problem: Problem) -> None:
    """Refuse beliefs that may all be alike: they leave nothing on the table, whatever is held."""
    if not fixes_scale(problem):
        raise InvalidInput(
            "under returns that are all alike nobody leaves anything on the table, and this "
            "problem allows them. Give two anchors with different returns, for example "
            'anchors={"bonds": 0.03, "stocks": 0.07}.'
        )
