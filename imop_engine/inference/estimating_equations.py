"""Where the data want the returns to be: the solution of the estimating equations.

At the solution the scores of all investors (information.py) add up to zero in every direction that
data and anchors determine. Standard errors hold there and nowhere else, so `identification` goes
there first, whatever estimate it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from imop_engine import kernels
from imop_engine.arguments import Matrix, Vector
from imop_engine.capabilities import INFERENCE
from imop_engine.errors import InvalidInput
from imop_engine.frontier import efficient_frontier
from imop_engine.gauge import gauge_of
from imop_engine.identified_subspace import IdentifiedSubspace
from imop_engine.inference.fit import AT_BOUND, MAD_TO_SD, estimate_noise, some_decisions
from imop_engine.inference.information import (
    ScoreInformation,
    capped_for_all,
    information,
    supporters,
)
from imop_engine.inference.prices import price
from imop_engine.inference.row_levels import rows_in_doubt
from imop_engine.problem import Problem

# An estimate from fewer investors than this, or than a tenth of a small sample, follows each of
# them too closely.
LEAST_INVESTORS: Final = 10
MOST_STEPS: Final = 50
MOST_ADDITIONS: Final = 5  # an asset may be found only once the others are where they belong
# A step smaller than this share of the returns' own size changes no digit an analyst reads.
SMALL_STEP: Final = 1e-9
# ... and so does one shorter than this many standard errors, whatever its direction.
SMALL_IN_ERRORS: Final = 1e-3
# The equations are not those of least squares: what is held of other assets is redistributed first.
# So on the way to their solution the squared distance may grow: with 20 assets by 10 to 17 % from
# the least squares, above which the true returns lie as far. A step that makes it this much larger
# than the least one seen leads elsewhere; those that did in trials made it 2 to 40 times as large.
GROWTH: Final = 1.5
# Less than this share off the squared distances is not progress; without it two steps could take
# turns for ever, one in the distances and one in the scores.
PROGRESS: Final = 1e-3
# Scores jump where an investor passes from one stretch of the frontier to the next. A step after
# which they ask for more makes the next one half as long, so that two sides of a jump close in on
# it; after a good step the next is longer again, so that a jump on the way does not end the search.
SHORTER: Final = 0.5
LONGER: Final = 1.3
REFUSED: Final = 0.25  # of a step that led elsewhere
SHORTEST: Final = 1e-4  # of a Gauss-Newton step; nothing changes any more
# What is left at a jump across zero counts as a solution below this many standard errors: no digit
# of an interval depends on it (the error of an estimate grows by half a per cent).
JUMP: Final = 0.1
# After so many steps without a better place than one that counts as a solution the search ends:
# with 50 assets there is a jump in every direction, and none leads further.
NO_BETTER: Final = 20
# A holding of this many noise sds in an asset that the estimate leaves at its bound is no error.
HELD: Final = 4.0

CUT_MEAN: Final = 0.3989  # mean of max(0, z), z standard normal
CUT_SPREAD: Final = 0.5838  # and its standard deviation


@dataclass(frozen=True, eq=False)
class Refined:
    """Returns at which the scores of all investors balance, and how they were reached."""

    theta: Vector
    steps: int
    converged: bool
    left: float  # standard errors that the scores still ask for; more than asked only at a jump


@dataclass(frozen=True, eq=False)
class Support:
    """How many investors inform about each asset, those that too few do, and the noise."""

    investors: NDArray[np.int64]
    ignored: NDArray[np.bool_]
    noise_sd: float
    # rows of the problem, the budget first, whose level too few tell: they hold for all
    holding: NDArray[np.bool_] | None = None
    # assets at the cap for all but too few: among those that `ignored` says too few inform about
    capped: NDArray[np.bool_] | None = None

    def among(self, held: NDArray[np.bool_]) -> Support:
        """Where the portfolios themselves say which assets are held: all of those count, however
        few hold them clear of zero, but for those that too few hold below the cap.

        Args:
            held: assets that are held.
        """
        ignored = ~held if self.capped is None else ~held | self.capped
        return replace(self, ignored=ignored)


def least_investors(count: int) -> int:
    """How many investors must inform about an asset for it to be identified."""
    return min(LEAST_INVESTORS, max(1, -(-count // 10)))


def refine(problem: Problem, decisions: Any, theta: ArrayLike) -> Refined:
    """Move an estimate to the solution of the estimating equations, by Gauss-Newton steps.

    Starts from what a learner found. Assets that investors hold and the estimate does not are
    first lifted to where they are worth holding; returns that too few investors inform about stay
    where they are.

    Args:
        problem: What is decided, and which theta are possible.
        decisions: One row for each investor: holdings, fractions of wealth that add up to 1.
        theta: Where to start, yearly expected returns.

    Returns:
        The moved estimate, and whether the search ended.
    """
    problem.require(
        *INFERENCE,
        sentence="refine reads portfolio problems; this one is quadratic.",
    )
    Y = some_decisions(problem, decisions)
    return refine_counts(problem, Y, problem.check_theta(theta))


def refine_counts(
    problem: Problem,
    Y: Matrix,
    theta: Vector,
    counts: Vector | None = None,
    support: Support | None = None,
    enough: float = SMALL_IN_ERRORS,
    every: bool = False,
) -> Refined:
    """`refine` of a checked array whose rows count `counts` times; `support` is found on the
    way unless it is given, and `enough` standard errors are left where that will do.

    Args:
        problem: What is decided, and which theta are possible.
        Y: The holdings of each investor in a row, fractions of wealth.
        theta: Where to start, yearly expected returns.
        counts: How often each row counts; None counts every row once.
        support: Which assets enough investors hold; None finds it on the way.
        enough: The step, in standard errors, below which the search ends.
        every: Whether every asset that can be held counts, however few hold it clearly: those that
            are not held were taken out of the problem.

    Returns:
        The moved estimate, and whether the search ended.
    """
    r = problem.theta.nearest(theta)
    if support is not None:
        return balance(problem, r, _at(problem, Y, counts, support), enough)
    found = Refined(r, 0, False, np.inf)
    before: NDArray[np.bool_] | None = None
    for _ in range(MOST_ADDITIONS):
        start = _awake(problem, Y, found.theta)
        support = support_of(information(efficient_frontier(problem, start), Y), Y)
        if every:
            support = support.among(problem.upper > 0.0)
        same = before is not None and np.array_equal(before, left_out(support))
        if start is found.theta and same:
            break
        found = balance(problem, start, _at(problem, Y, counts, support), enough)
        before = left_out(support)
    return found


@dataclass(frozen=True, eq=False)
class Point:
    """Returns on the way, and the step that the scores ask for there."""

    theta: Vector
    step: Vector
    wish: float  # the step's length squared, in standard errors times the noise
    left: float  # the same in standard errors
    loss: float  # squared distances


@dataclass(frozen=True, eq=False)
class ScoreSums:
    """What the estimating equations need of all investors at one value of the returns; sums of
    several lots of investors are those of all of them.

    Args:
        hessian: the information, per unit of noise variance.
        score: how the portfolios would have the returns move.
        loss: squared distances to the frontier.
        count: investors.
    """

    hessian: Matrix
    score: Vector
    loss: float
    count: float

    def __add__(self, other: ScoreSums) -> ScoreSums:
        return ScoreSums(
            self.hessian + other.hessian, self.score + other.score, self.loss + other.loss,
            self.count + other.count,
        )  # fmt: skip


def balance(
    problem: Problem,
    r: Vector,
    at: Callable[[Vector], Point],
    enough: float = SMALL_IN_ERRORS,
) -> Refined:
    """Gauss-Newton from r until the scores add up to zero, or jump across it.

    Args:
        problem: What is decided, and which theta are possible.
        r: Where to begin, yearly expected returns.
        at: What all investors together ask for at some returns.
        enough: The step, in standard errors, below which the search ends.
    """
    here = best = at(r)
    least, length, done, since = here.loss, 1.0, 0, 0
    size = max(float(np.abs(r).max()), SMALL_STEP)
    while done < MOST_STEPS and length > SHORTEST:
        if float(np.abs(here.step).max()) <= SMALL_STEP * size or here.left <= enough:
            return Refined(here.theta, done, True, here.left)
        if best.left <= JUMP and since >= NO_BETTER:
            break
        done, since = done + 1, since + 1
        there = at(problem.theta.nearest(here.theta + length * here.step))
        if there.loss > GROWTH * least:
            length *= REFUSED
            continue
        lower = there.loss < (1.0 - PROGRESS) * least
        good = lower or there.wish < here.wish
        length = min(1.0, length * LONGER) if good else length * SHORTER
        if lower or there.wish < best.wish:
            best, since = there, 0
        here, least = there, min(least, there.loss)
    return Refined(best.theta, done, best.left <= JUMP, best.left)


def _at(
    problem: Problem, Y: Matrix, counts: Vector | None, support: Support
) -> Callable[[Vector], Point]:
    def at(r: Vector) -> Point:
        info = information(
            efficient_frontier(problem, r), Y, counts, ignored=support.ignored,
            noise_sd=support.noise_sd, holding=support.holding,
        )  # fmt: skip
        usual = float(np.sqrt(np.mean(info.projection.distances**2) / problem.n))
        sums = ScoreSums(info.hessian, info.score, _loss(info, counts), float(len(Y)))
        return point_of(problem, r, sums, max(support.noise_sd, usual))

    return at


def point_of(problem: Problem, r: Vector, sums: ScoreSums, noise_sd: float) -> Point:
    """The step that sums over investors ask for.

    Args:
        problem: What is decided, and which theta are possible.
        r: The returns at which they were taken.
        sums: Over all investors.
        noise_sd: Of a holding, by its larger estimate, so that dead assets on the way do not make
            an error look long.
    """
    step = IdentifiedSubspace.of(problem.theta, sums.hessian).step(sums.score)
    wish = max(0.0, float(sums.score @ step))
    left = float(np.sqrt(wish)) / noise_sd if noise_sd > 0.0 else 0.0
    return Point(r, step, wish, left, sums.loss)


def support_of(info: ScoreInformation, Y: Matrix, noise_sd: float | None = None) -> Support:
    """Which assets enough investors hold beyond the noise, at one estimate.

    Args:
        info: What the portfolios say at one estimate.
        Y: The holdings of each investor in a row, fractions of wealth.
        noise_sd: Standard deviation of the error in a single holding; None estimates it.
    """
    if noise_sd is None:
        try:
            noise_sd = estimate_noise(info.frontier, Y, info.projection).sd
        except InvalidInput:  # too few to tell: then no holding is called unclear
            noise_sd = 0.0
    investors, least = supporters(info, noise_sd), least_investors(len(Y))
    return Support(
        investors, investors < least, noise_sd, rows_in_doubt(info, noise_sd, least),
        capped_for_all(info, noise_sd, least),
    )  # fmt: skip


def left_out(support: Support) -> NDArray[np.bool_]:
    """Assets and rows that too few inform about, one after another.

    Args:
        support: Which assets enough investors hold, and which limits enough are below.
    """
    rows = np.zeros(0, bool) if support.holding is None else support.holding
    return np.concatenate([support.ignored, rows])


def supported_information(
    info: ScoreInformation, Y: Matrix, counts: Vector | None, support: Support
) -> ScoreInformation:
    """The same sums without the assets that too few investors hold.

    Args:
        info: What the portfolios say at one estimate.
        Y: The holdings of each investor in a row, fractions of wealth.
        counts: How often each row counts; None counts every row once.
        support: Which assets enough investors hold.
    """
    told = np.any(support.ignored & (np.diag(info.hessian) > 0))
    if not told and (support.holding is None or not support.holding.any()):
        return info
    return information(
        info.frontier, Y, counts, info.projection, support.ignored, support.noise_sd,
        support.holding,
    )  # fmt: skip


def _loss(info: ScoreInformation, counts: Vector | None) -> float:
    squares = info.projection.distances**2
    return float(squares.sum() if counts is None else counts @ squares)


def _awake(problem: Problem, Y: Matrix, r: Vector) -> Vector:
    """Lift assets that investors hold and the estimate does not to what half of them require.

    Such an asset has no derivative: no small step would ever find it.
    """
    for _ in range(problem.n):
        info = information(efficient_frontier(problem, r), Y)
        support = support_of(info, Y)
        noise_sd = min(support.noise_sd, _usual_error(info, Y))
        info = supported_information(info, Y, None, support)
        dead = _perhaps_held(info, Y, noise_sd)
        count = dead.sum(axis=0)
        i = int(count.argmax())
        if count[i] < least_investors(len(Y)):
            break
        wanted = [
            price(info, place, i, info.lams[rows])[0]
            for place in info.places
            if np.any(place.direction)
            and i not in place.free
            and (rows := place.rows[dead[place.rows, i]]).size
        ]
        if not wanted:
            break
        new = r.copy()
        new[i] = float(np.median(np.concatenate(wanted)))
        new = problem.theta.nearest(_regauged(problem, new))
        after = efficient_frontier(problem, new).project(Y)
        before = float(np.sum(info.projection.distances**2))
        if float(np.sum(after.distances**2)) >= (1.0 - PROGRESS) * before:
            break
        r = new
    return r


def _usual_error(info: ScoreInformation, Y: Matrix) -> float:
    """The error in a holding by medians: one asset that is wrong for a third of the investors
    swells the mean of squares, and would hide behind it."""
    problem, points = info.frontier.problem, info.projection.points
    inside = np.minimum(points - problem.lower, problem.upper - points) > AT_BOUND
    sizes = np.abs(Y - points)[inside]
    return MAD_TO_SD * float(np.median(sizes)) if sizes.size else 0.0


def _perhaps_held(info: ScoreInformation, Y: Matrix, noise_sd: float) -> NDArray[np.bool_]:
    """Who may hold what the estimate leaves at its bound: beyond error alone, or as a group.

    Errors cut at zero leave 0.4 noise sds on average, with a spread of 0.58; neighbours on the
    frontier who hold more than that explains hold the asset, though none of them does so clearly.
    """
    found = unexplained(info, Y, noise_sd)
    for place in info.places:
        others = np.setdiff1d(np.arange(Y.shape[1]), place.free)
        held = Y[np.ix_(place.rows, others)]
        limit = noise_sd * (CUT_MEAN + HELD * CUT_SPREAD / np.sqrt(len(place.rows)))
        low = info.frontier.states[place.segment][others] != kernels.UPPER
        group = low & (held.mean(axis=0) > limit)
        found[np.ix_(place.rows, others[group])] |= held[:, group] > noise_sd
    return found


def _regauged(problem: Problem, r: Vector) -> Vector:
    """The same beliefs at the shift and scale that the anchors ask for, where there is one.

    A scale that ran away leaves an anchored asset unheld; its return cannot move, the others must.
    """
    G, values = problem.theta.equalities, problem.theta.values
    if not gauge_of(G, values).fixed:
        return r
    (scale, shift), *_ = np.linalg.lstsq(
        np.column_stack([G @ r, G.sum(axis=1)]), values, rcond=None
    )
    return scale * r + shift if scale > 0 else r


def unexplained(info: ScoreInformation, Y: Matrix, noise_sd: float) -> NDArray[np.bool_]:
    """Who holds what, beyond error, where the nearest efficient portfolio is at a bound.

    Args:
        info: What the portfolios say at one estimate.
        Y: The holdings of each investor in a row, fractions of wealth.
        noise_sd: Standard deviation of the error in a single holding, in fractions of wealth.

    Returns:
        One row for each investor, one column for each asset.
    """
    points, problem = info.projection.points, info.frontier.problem
    room = np.minimum(points - problem.lower, problem.upper - points)
    result: NDArray[np.bool_] = (room <= AT_BOUND) & (
        np.abs(Y - points) > np.maximum(HELD * noise_sd, AT_BOUND)
    )
    return result
