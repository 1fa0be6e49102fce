"""What the portfolios can and cannot tell about each return, with intervals and in sentences.

Shift and scale come from the anchors (gauge.py). Beyond them an asset is known as well as the
investors who hold it inform about it (information.py); one that nobody holds is only bounded
(bounds.py). Standard errors are exact at the solution of the estimating equations; for returns that
are not there yet, the step the data still ask for is reported and every interval covers it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from imop_engine.arguments import Matrix, Vector
from imop_engine.capabilities import INFERENCE
from imop_engine.errors import InvalidInput
from imop_engine.frontier import Frontier, efficient_frontier
from imop_engine.gauge import Gauge, gauge_of
from imop_engine.identified_subspace import IdentifiedSubspace
from imop_engine.inference.bias_simulation import simulate_bias
from imop_engine.inference.bounds import Bounds, return_bounds
from imop_engine.inference.estimating_equations import (
    Refined,
    least_investors,
    refine_counts,
    support_of,
    supported_information,
    unexplained,
)
from imop_engine.inference.fit import Noise, estimate_noise, some_decisions
from imop_engine.inference.held_assets import given_back, only_held
from imop_engine.inference.information import information
from imop_engine.inference.row_levels import RowLevels, row_levels
from imop_engine.inference.sources import NO_ERRORS, GivenErrors, Sources
from imop_engine.inference.uncertainty import frontier_band
from imop_engine.problem import Problem
from imop_engine.sentences import returns as say

STATUSES: Final = (
    "identified",  # the data and the anchors determine it
    "anchored",  # an anchor says it
    "bounded above",  # nobody holds it
    "bounded below",  # everybody holds it at the cap
    "bounded",  # some one, some the other
    "relative",  # known against the others only: shift or scale is open
    "not seen",  # the data leave it anywhere in its box
)
# The data may ask for this many standard errors more before the estimate is called unsettled: a
# smaller step changes an interval by less than a quarter of its width.
SETTLED: Final = 1.0
# An interval over more than this share of what is possible tells next to nothing.
TOO_WIDE: Final = 0.5


@dataclass(frozen=True, eq=False)
class Identification:
    """How far each return is known. `to_frame` is the table an analyst reads."""

    problem: Problem
    estimate: Vector
    low: Vector
    high: Vector
    status: tuple[str, ...]
    investors: NDArray[np.int64]  # who inform about an asset, or bound it
    sentences: tuple[str, ...]
    covariance: Matrix  # of the estimated returns
    standard_errors: Vector  # NaN where there is none to give
    noise: Noise
    noise_bias: Vector  # what errors in holdings add to the estimate, as a simulation finds it
    step: Vector  # from the estimate to where the data want it
    converged: bool  # whether that place was found
    unseen: tuple[str, ...]  # directions that the data do not see, in words
    directions: Matrix  # the same as unit vectors, one in each row
    dead: tuple[str, ...]  # assets that investors hold and the estimate does not explain
    gauge: Gauge
    anchor_notes: tuple[str, ...]  # where anchors rest on assets that hardly anybody holds
    level: float
    sources: Sources  # where the width of the intervals comes from
    dispersion: float | None = None  # of beliefs between investors, where that is the error model
    # what a change of each return that is only bounded does to the others, through the anchors
    response: Matrix | None = None
    levels: RowLevels | None = None  # of what comes under a limit that hardly anybody is below
    # bounds too far from all known returns to say anything of use: not stated, "not seen"
    far: NDArray[np.bool_] | None = None

    @property
    def step_in_errors(self) -> float:
        """The largest part of the step that the data still ask for, in standard errors."""
        estimated = np.isfinite(self.standard_errors) & (self.standard_errors > 0)
        if not estimated.any():
            return 0.0
        return float(np.max(np.abs(self.step[estimated]) / self.standard_errors[estimated]))

    @property
    def settled(self) -> bool:
        """Whether the estimate is where the data want it, and no held asset is dead."""
        return self.converged and self.step_in_errors <= SETTLED and not self.dead

    def to_frame(self) -> pd.DataFrame:
        """asset, estimate, low, high, status, investors, sentence; no ends that are not stated."""
        stated = np.full(len(self.low), True) if self.far is None else ~self.far
        return pd.DataFrame(
            {
                "asset": list(self.problem.theta_names),
                "estimate": self.estimate,
                "low": np.where(stated, self.low, np.nan),
                "high": np.where(stated, self.high, np.nan),
                "status": list(self.status),
                "investors": self.investors,
                "sentence": list(self.sentences),
            }
        )

    def notes(self) -> tuple[str, ...]:
        """What holds for the estimate as a whole, in sentences."""
        notes = [] if self.gauge.fixed else [self.gauge.sentence()]
        notes += self.anchor_notes
        notes += self.unseen
        if self.dead:
            notes.append(say.dead_assets(self.dead))
        if not self.converged:
            notes.append(say.search_not_ended())
        if self.step_in_errors > SETTLED:
            notes.append(say.not_settled(self.step_in_errors))
        return tuple(notes)

    def band(self, frontier: Frontier | None = None, count: int = 100) -> pd.DataFrame:
        """The frontier with an interval for the best return at each risk; see `frontier_band`."""
        return frontier_band(self, frontier, count)


def identification(
    problem: Problem,
    theta: ArrayLike,
    decisions: Any,
    level: float = 0.95,
    *,
    noise_sd: float | None = None,
    seed: int = 0,
    solution: Refined | None = None,
    clusters: NDArray[np.int64] | None = None,
    given: GivenErrors = NO_ERRORS,
    held: NDArray[np.bool_] | None = None,
    whole: WholeSums | None = None,
    reported: Matrix | None = None,
) -> Identification:
    """Say of each return how far `decisions` determine it, around the estimate `theta`.

    Intervals: the estimate after the step that the data still ask for, less the bias that noise
    causes, give or take z standard errors (the bias counts as one, too), stretched to hold the
    estimate itself, cut at the box. Bounds are not stretched: an estimate outside them is one that
    the data contradict.
    Standard errors are the larger of those by the noise (estimated unless `noise_sd` is given) and
    those by the scores' own spread, which ask nothing of the noise (the sandwich). Bias and slope
    come from a simulated study whose errors are drawn with `seed`.

    `solution` is what `refine` gave for the same portfolios, where that was done already.

    Where the anchors leave shift or scale open, intervals of `relative` assets hold at the shift
    and scale of the estimate, and `gauge` says what is open.

    Args:
        problem: What is decided, and which theta are possible.
        theta: The estimate, the yearly expected return of each asset.
        decisions: One row for each investor: holdings, fractions of wealth that add up to 1.
        level: Confidence of the intervals, between 0 and 1.
        noise_sd: Standard deviation of the error in a single holding; None estimates it.
        seed: Of the simulated study.
        clusters: A number for each row; rows with the same number are of one investor and err
            together. None: each row is an investor of her own.
        given: How far the covariance and the anchors are known; exactly, unless said.
        held: Assets that are held beyond errors; the others are only bounded. None: by the
            estimate's own portfolios.
        whole: Sums over all investors, where `decisions` are only an even sample of them: standard
            errors are of everybody then, bias and bounds are those of the sample.
        reported: The same portfolios as the file has them, where the others were completed or had
            tilts taken off: who holds an asset is counted in these. None: they are the same.

    Returns:
        For each asset an interval, a status and a sentence; for all of them a covariance and notes.
    """
    problem.require(
        *INFERENCE,
        sentence="identification reads portfolio problems; this one is quadratic.",
    )
    if not 0.0 < level < 1.0:
        raise InvalidInput(f"the level is {level:g}; give a number between 0 and 1, 0.95 say.")
    r = problem.check_theta(theta)
    Y = some_decisions(problem, decisions)
    solution = refine_counts(problem, Y, r) if solution is None else solution
    cleaned = Y if held is None else given_back(Y, held)
    inside = problem if held is None else only_held(problem, held)
    info = information(efficient_frontier(inside, solution.theta), cleaned)
    noise = (
        estimate_noise(info.frontier, cleaned, info.projection)
        if noise_sd is None
        else Noise(noise_sd, 0)
    )
    support = support_of(info, cleaned, noise.sd)
    if held is not None:
        support = support.among(held)
    holders = unexplained(info, Y, noise.sd).sum(axis=0)
    # where the limits hold: what is only bounded has its price there
    priced = supported_information(info, cleaned, None, replace(support, holding=None))
    info = supported_information(info, cleaned, None, support)
    counts = Counts(
        len(Y), support.investors, holders, in_file(Y if reported is None else reported, noise.sd)
    )
    sums: ScoredSums = info
    if whole is not None:
        sums, counts, noise, clusters = whole, whole.counts, whole.noise, None
    subspace = IdentifiedSubspace.of(problem.theta, sums.hessian)
    simulated = simulate_bias(info, cleaned, subspace, support, noise.sd, seed, counts.total)
    covariance = sandwich_covariance(sums, subspace, simulated.gain, noise.sd, clusters)
    levels = row_levels(priced, support.holding, covariance, noise.sd, level)
    if inside is not problem:  # where the other assets may be held, so that they have a price
        priced = information(efficient_frontier(problem, solution.theta), cleaned)
    sources = Sources.of(covariance, given, simulated.bias)
    rows_of_one = 1.0 if clusters is None else len(Y) / len(np.unique(clusters))
    accounts = (Y,) if reported is None else (Y, reported)
    bounds = return_bounds(priced, accounts, sources, noise.sd, level, rows_of_one)
    return report(
        problem, r, solution, counts, subspace, sources, bounds, noise, float(level),
        levels=levels,
    )  # fmt: skip


def in_file(Y: Matrix, noise_sd: float) -> NDArray[np.int64]:
    """How many investors hold each asset, by the portfolios themselves.

    Args:
        Y: The holdings of each investor in a row, fractions of wealth.
        noise_sd: Holdings up to two of these, a hundredth at most, are errors.
    """
    result: NDArray[np.int64] = (small_holding(noise_sd) < Y).sum(axis=0)
    return result


def small_holding(noise_sd: float) -> float:
    """Holdings up to this are not counted: two standard deviations of errors, a hundredth at most.

    Args:
        noise_sd: Standard deviation of the error in a single holding, in fractions of wealth.
    """
    return min(0.01, 2.0 * noise_sd)


@dataclass(frozen=True, eq=False)
class Counts:
    """How many investors say something of each asset."""

    total: int
    informing: NDArray[np.int64]  # whose nearest efficient portfolio moves with its return
    unexplained: NDArray[np.int64]  # who hold it although the estimate does not
    holding: NDArray[np.int64]  # who hold it, by the file


class ScoredSums(Protocol):
    """Sums of scores over investors."""

    @property
    def hessian(self) -> Matrix:
        """The information, per unit of noise variance."""
        ...

    @property
    def outer(self) -> Matrix:
        """Sum of squared scores."""
        ...

    @property
    def degrees(self) -> int:
        """How many independent residuals there are."""
        ...


@dataclass(frozen=True, eq=False)
class WholeSums:
    """What everybody says at one estimate, where only a sample is at hand.

    Args:
        hessian: the information, per unit of noise variance.
        outer: sum of squared scores.
        degrees: independent residuals in them.
        noise: the error in a single holding.
        counts: how many investors say something of each asset.
    """

    hessian: Matrix
    outer: Matrix
    degrees: int
    noise: Noise
    counts: Counts


def sandwich_covariance(
    info: ScoredSums,
    subspace: IdentifiedSubspace,
    gain: Matrix,
    noise_sd: float,
    clusters: NDArray[np.int64] | None = None,
) -> Matrix:
    """Covariance of the estimate: the sandwich, stretched where the noise alone asks for more.

    `gain` is how the estimate answers to the scores (`SimulatedBias`).

    Args:
        info: What the portfolios say at one estimate.
        subspace: Which directions of the returns the portfolios see.
        gain: How the estimate answers to the scores.
        noise_sd: Standard deviation of the error in a single holding, in fractions of wealth.
        clusters: A number for each investor; rows with the same number err together.

    Returns:
        One row and one column for each asset, squared yearly returns.
    """
    model = noise_sd**2 * (gain @ info.hessian @ gain.T)
    free = max(1, subspace.assets.size - 2)
    inflate = info.degrees / max(1, info.degrees - free)
    scores = getattr(info, "scores", None)
    outer = info.outer if clusters is None or scores is None else _clustered(scores, clusters)
    sandwich = inflate * (gain @ outer @ gain.T)
    own = np.diag(sandwich)
    wider = np.sqrt(np.maximum(np.diag(model), own) / np.where(own > 0, own, 1.0))
    if np.any((own <= 0) & (np.diag(model) > 0)):  # residuals of exactly zero say nothing
        return model
    stretch = np.where(own > 0, wider, 1.0)
    result: Matrix = sandwich * np.outer(stretch, stretch)
    return result


def _clustered(scores: Matrix, clusters: NDArray[np.int64]) -> Matrix:
    """Sum of squared scores where those of one investor are added first."""
    sums = np.zeros((int(clusters.max(initial=0)) + 1, scores.shape[1]))
    np.add.at(sums, clusters, scores)
    count = len(np.unique(clusters))
    result: Matrix = sums.T @ sums * (count / max(1, count - 1))
    return result


def report(
    problem: Problem,
    r: Vector,
    solution: Refined,
    counts: Counts,
    subspace: IdentifiedSubspace,
    sources: Sources,
    bounds: Bounds,
    noise: Noise,
    level: float,
    dispersion: float | None = None,
    levels: RowLevels | None = None,
) -> Identification:
    """Intervals, statuses and sentences from what was found.

    Args:
        problem: What is decided, and which theta are possible.
        r: The estimate, yearly.
        solution: Where the data want it.
        counts: How many investors say something of each asset.
        subspace: Which directions of the returns the portfolios see.
        sources: Where the uncertainty comes from.
        bounds: What is known of assets that nobody holds.
        noise: The error in a single holding.
        level: Confidence of the intervals.
        dispersion: Of beliefs between investors, where that is the error model.
        levels: Of what comes under a limit that hardly anybody is below; None: there is none.
    """
    levels = RowLevels.none(problem.n) if levels is None else levels
    gauge = gauge_of(problem.theta.equalities, problem.theta.values)
    box_low, box_high = problem.theta.lower, problem.theta.upper
    informed = np.isin(np.arange(problem.n), subspace.assets)
    anchored = subspace.anchored
    dead = (counts.unexplained >= least_investors(counts.total)) & ~informed
    step = solution.theta - r
    z = float(ndtri(0.5 + level / 2))
    low, high = r.copy(), r.copy()
    outside = z * np.sqrt(np.diag(sources.from_outside))
    fallen, risen = levels.ends()
    bounds = replace(bounds, low=bounds.low + fallen, high=bounds.high + risen)
    # assets without information first: the others follow them through the anchors
    uninformed = ~informed & ~anchored
    least = np.where(dead, box_low, np.maximum(bounds.low - outside, box_low))
    most = np.where(dead, box_high, np.minimum(bounds.high + outside, box_high))
    low[uninformed], high[uninformed] = least[uninformed], most[uninformed]
    solved = solution.theta
    down, up = np.where(uninformed, low - solved, 0.0), np.where(uninformed, high - solved, 0.0)
    rise, fall = np.maximum(subspace.response, 0.0), np.minimum(subspace.response, 0.0)
    half = z * sources.standard_errors
    seen_low = np.minimum(r, solved - sources.bias - half + rise @ down + fall @ up + fallen)
    seen_high = np.maximum(r, solved - sources.bias + half + rise @ up + fall @ down + risen)
    estimated = informed & ~anchored
    low[estimated], high[estimated] = (
        np.maximum(seen_low, box_low)[estimated],
        np.minimum(seen_high, box_high)[estimated],
    )
    low[anchored], high[anchored] = (r - outside)[anchored], (r + outside)[anchored]
    # held by some, clear of errors by too few: no more than their upper end is known
    faint = estimated & (counts.informing < least_investors(counts.total))
    low[faint] = box_low[faint]
    status = _statuses(problem, low, high, anchored, informed, dead, faint, subspace, bounds)
    far = _far_from_known(np.array(status), r, low, high)
    status = tuple("not seen" if of else one for one, of in zip(status, far, strict=True))
    investors = np.where(informed, counts.informing, bounds.investors).astype(np.int64)
    names = problem.theta_names
    # what only the box of possible returns ends is open
    ends = np.where(low <= box_low, -np.inf, low), np.where(high >= box_high, np.inf, high)
    sentences = tuple(
        say.asset_sentence(
            say.KnownReturn(
                names[i], status[i], r[i], ends[0][i], ends[1][i], int(investors[i]),
                int(counts.holding[i]), bool(dead[i]), levels.of_asset(i), bool(far[i]),
            ),
            counts.total, level, gauge.undetermined,
        )
        for i in range(problem.n)
    )  # fmt: skip
    errors = np.where(estimated, sources.errors_without_bias, np.nan)
    return Identification(
        problem, r, low, high, status, investors, sentences, sources.given_anchors,
        errors, noise, sources.bias, step, solution.converged,
        say.direction_sentences(subspace.open_directions, names, solution.theta),
        subspace.open_directions, tuple(names[i] for i in np.flatnonzero(dead)), gauge,
        _anchor_notes(names, anchored & ~informed, subspace, high - low, half), level,
        sources, dispersion, subspace.response * uninformed, levels, far,
    )  # fmt: skip


def _anchor_notes(
    names: tuple[str, ...],
    idle: NDArray[np.bool_],
    subspace: IdentifiedSubspace,
    width: Vector,
    half: Vector,
) -> tuple[str, ...]:
    notes = []
    if len(subspace.open_directions) and idle.any():
        notes.append(say.idle_anchors([names[i] for i in np.flatnonzero(idle)]))
    moved = np.abs(subspace.response) * width > half[:, None]
    leaning = np.flatnonzero(moved[subspace.assets].any(axis=0))
    if leaning.size:
        notes.append(say.leaning_anchors([names[i] for i in leaning]))
    return tuple(notes)


def _far_from_known(
    status: NDArray[np.str_], r: Vector, low: Vector, high: Vector
) -> NDArray[np.bool_]:
    """Bounds further from all known returns than those are from one another."""
    known = np.isin(status, ("identified", "anchored", "relative"))
    if known.sum() < 2:
        return np.zeros(len(r), bool)
    least, most = float(r[known].min()), float(r[known].max())
    near, far = least - (most - least), most + (most - least)
    result: NDArray[np.bool_] = np.zeros(len(r), bool)
    for end, other in ((high, "above"), (low, "below")):
        of_end = np.isin(status, (f"bounded {other}", "bounded"))
        result |= of_end & ((end < near) | (end > far))
    return result


def _statuses(
    problem: Problem,
    low: Vector,
    high: Vector,
    anchored: NDArray[np.bool_],
    informed: NDArray[np.bool_],
    dead: NDArray[np.bool_],
    faint: NDArray[np.bool_],
    subspace: IdentifiedSubspace,
    bounds: Bounds,
) -> tuple[str, ...]:
    box_low, box_high = problem.theta.lower, problem.theta.upper
    open_ = subspace.open_assets
    # with the errors of covariance and anchors a bound may reach the edge of the box, and that
    # says nothing: it is what may be believed, not what portfolios show
    above = (bounds.high < box_high) & (high < box_high)
    below = (bounds.low > box_low) & (low > box_low)
    out = []
    for i in range(problem.n):
        if anchored[i]:
            out.append("anchored")
        elif informed[i] and open_[i]:
            out.append("relative")
        elif faint[i]:
            out.append("bounded above" if high[i] < box_high[i] else "not seen")
        elif informed[i]:
            vague = high[i] - low[i] > TOO_WIDE * (box_high[i] - box_low[i])
            out.append("not seen" if vague else "identified")
        elif dead[i] or not (above[i] or below[i]):
            out.append("not seen")
        else:
            kind = "bounded" if above[i] and below[i] else "bounded above"
            out.append(kind if above[i] else "bounded below")
    return tuple(out)
