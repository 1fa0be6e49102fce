"""Mean and covariance of a history in which returns are missing, by maximum likelihood.

Every period counts with the returns it has: the period's density is that of the assets observed in
it (missing at random, normal). Of all (mean, covariance) the answer maximises

    sum_t w_t log N(x_t observed; mean, S) + 1/2 log|S| - k/2 (log|S| + tr(S^-1 D))

The second term is what estimating the mean costs: without gaps the answer is the sample covariance,
divided by the number of periods less one. The third counts k further periods in which assets are
unrelated, each with the variance D of its own returns. It makes S positive definite whatever is
missing. k is the strength of oracle approximating shrinkage (OAS) on the correlations, times the
share of periods that the two assets with the fewest common ones lack: it fades with the gaps.

Where assets only begin late (or end early), in whatever order, the answer is a chain of
regressions, each asset on those with longer histories. Other patterns are completed to that
staircase by their conditional expectations, again and again (EM), with extrapolation (SQUAREM,
Varadhan and Roland 2008).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from imop_engine.errors import InvalidInput
from imop_engine.one_thread import one_thread

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Positions = NDArray[np.intp]

# A step that moves no standardised mean, variance or covariance by more ends the iteration.
SETTLED: Final = 1e-9
# Evaluations of the EM map at most; the hardest patterns of the tests need a few hundred.
MOST_STEPS: Final = 3000
# Correlations from fewer common periods say nothing; they count as zero where k is chosen.
FEWEST_COMMON: Final = 3
# Differences smaller than this share of the largest return are the last digit of a float.
FLAT: Final = 1e-12
# Variance of an asset that never moved, as a share of the largest.
CONSTANT_VARIANCE: Final = 1e-8


@dataclass(frozen=True, eq=False)
class LikelihoodFit:
    """What the likelihood says of a history, per period.

    `mean_covariance` is the covariance of the estimated means, the error of the regressions
    included; `extra_periods` is k; `constant` marks assets that never moved.
    """

    mean: FloatArray
    covariance: FloatArray
    mean_covariance: FloatArray
    extra_periods: float
    constant: BoolArray
    steps: int
    settled: bool


def fit_missing(values: FloatArray, weights: FloatArray | None = None) -> LikelihoodFit:
    """Estimate mean and covariance per period from all returns there are.

    Args:
        values: One row for each period and a column for each asset, NaN where there is no return;
            every asset has at least two.
        weights: How much each period counts; equally if None. Only their ratios matter.

    Returns:
        Mean, covariance and the covariance of the mean, per period.
    """
    seen = np.isfinite(values).any(axis=1)
    values = values[seen]
    weights = _effective(np.ones(len(values)) if weights is None else weights[seen])
    center = np.nanmean(values, axis=0)
    spread = np.nanmax(values, axis=0) - np.nanmin(values, axis=0)
    constant = spread <= FLAT * np.maximum(1.0, np.nanmax(np.abs(values), axis=0))
    moving = np.flatnonzero(~constant)
    scale = np.nanstd(values[:, moving], axis=0, ddof=1)
    standard = (values[:, moving] - center[moving]) / scale
    count = values.shape[1]
    mean, covariance, error = center.copy(), np.zeros((count, count)), np.zeros((count, count))
    if not len(moving):
        return LikelihoodFit(mean, covariance, error, 0.0, constant, 0, True)
    stairs = Staircase.of(standard, weights)
    # Threads of the linear algebra wait for one another on matrices as small as these: on a busy
    # machine two of them took 18 times as long as one.
    with one_thread():
        try:
            estimate, steps, settled = _maximise(stairs)
            spread_of_mean = _mean_error(stairs, estimate)
        except np.linalg.LinAlgError as cause:
            raise InvalidInput(
                f"the {len(values)} periods of this history with their gaps give no covariance "
                "that can be computed: too few returns, or too far apart in size. Give more "
                "periods, or use only those in which every asset has a return."
            ) from cause
    back = np.argsort(stairs.order)
    block = np.ix_(moving, moving)
    product = np.outer(scale, scale)
    mean[moving] += scale * estimate.mean[back]
    covariance[block] = product * estimate.covariance[np.ix_(back, back)]
    error[block] = product * spread_of_mean[np.ix_(back, back)]
    floor = CONSTANT_VARIANCE * float(np.diag(covariance).max())
    covariance[constant, constant] = floor
    error[constant, constant] = floor / weights.sum()
    return LikelihoodFit(mean, covariance, error, stairs.extra, constant, steps, settled)


def _effective(weights: FloatArray) -> FloatArray:
    """Scale weights so that they add up to the number of equal periods that say as much."""
    scaled: FloatArray = weights * (weights.sum() / (weights**2).sum())
    return scaled


def extra_periods(standard: FloatArray, weights: FloatArray) -> float:
    """Return k of the module's head for standardised returns.

    Args:
        standard: Returns less their mean, over their standard deviation; NaN where missing.
        weights: Of the periods, adding up to their effective number.
    """
    known = np.isfinite(standard)
    common = known.astype(np.float64).T @ known.astype(np.float64)
    lacking = 1.0 - float(common.min()) / len(standard)
    count, periods = standard.shape[1], float(weights.sum())
    if count == 1 or lacking == 0.0:
        return 0.0
    filled = np.where(known, standard, 0.0)
    squares = (filled**2).T @ known
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = filled.T @ filled / np.sqrt(squares * squares.T)
    enough = (common >= FEWEST_COMMON) & np.isfinite(correlation)
    correlation = np.where(enough, np.clip(correlation, -1.0, 1.0), 0.0)
    np.fill_diagonal(correlation, 1.0)
    total = float((correlation**2).sum())
    strength = (1 - 2 / count) * total + count**2
    rest = (periods + 1 - 2 / count) * (total - count) - strength
    return lacking * (periods if rest <= strength else periods * strength / rest)


class MeanAndCovariance(NamedTuple):
    """Mean and covariance in the order of the staircase, standardised."""

    mean: FloatArray
    covariance: FloatArray


class Holes(NamedTuple):
    """Periods with equally many assets missing below the step they stand on, and which."""

    rows: Positions
    missing: Positions


class Step(NamedTuple):
    """Periods that reach the same number of assets, and the holes among them."""

    reach: int
    rows: Positions
    weights: FloatArray
    holes: tuple[Holes, ...]


class Sums(NamedTuple):
    """Weight, sum and products of the periods of one step, expected given what is observed."""

    reach: int
    weight: float
    total: FloatArray
    products: FloatArray


@dataclass(frozen=True, eq=False)
class Staircase:
    """Returns with the assets in order of their number of periods, and periods by their reach.

    A period reaches the last asset, in this order, that has a return in it.
    """

    values: FloatArray
    weights: FloatArray
    order: Positions
    steps: tuple[Step, ...]
    extra: float

    @classmethod
    def of(cls, standard: FloatArray, weights: FloatArray) -> Staircase:
        """Put returns in order.

        Args:
            standard: Standardised returns by period and asset, NaN where missing.
            weights: Of the periods, adding up to their effective number.
        """
        known = np.isfinite(standard)
        order = np.argsort(-known.sum(axis=0), kind="stable")
        values, known = standard[:, order], known[:, order]
        reach = values.shape[1] - np.argmax(known[:, ::-1], axis=1)
        steps = [
            _step(int(one), np.flatnonzero(reach == one), known, weights)
            for one in np.unique(reach)[::-1]
        ]
        return cls(values, weights, order, tuple(steps), extra_periods(standard, weights))

    @property
    def size(self) -> int:
        """Number of assets."""
        return len(self.order)

    @cached_property
    def monotone(self) -> bool:
        """Whether nothing is missing below the steps, so that the chain is exact."""
        return not any(step.holes for step in self.steps)


def _step(reach: int, rows: Positions, known: BoolArray, weights: FloatArray) -> Step:
    lacking = ~known[rows, :reach]
    counts = lacking.sum(axis=1)
    holes = []
    for count in np.unique(counts[counts > 0]):
        partial = np.flatnonzero(counts == count)
        missing = np.nonzero(lacking[partial])[1].reshape(len(partial), count)
        holes.append(Holes(partial, missing))
    return Step(reach, rows, weights[rows], tuple(holes))


def _expected(
    stairs: Staircase, estimate: MeanAndCovariance, information: FloatArray | None = None
) -> tuple[list[Sums], float]:
    """Fill the holes by what the estimate expects; also return the likelihood's value there.

    `information` is added to: how much the periods say of the mean.
    """
    found, value = [], _penalty(stairs, estimate)
    for step in stairs.steps:
        r, weight = step.reach, float(step.weights.sum())
        precision, size = _inverse(estimate.covariance[:r, :r])
        away = stairs.values[step.rows, :r] - estimate.mean[:r]
        spread = np.zeros((r, r))
        for rows, missing in step.holes:
            size_missing = _fill(away, spread, precision, step.weights, (rows, missing))
            value -= 0.5 * size_missing
        weighted = step.weights[:, None] * away
        scatter = weighted.T @ away
        value -= 0.5 * (weight * size + float((precision * scatter).sum()))
        if information is not None:
            information[:r, :r] += weight * precision - precision @ spread @ precision
        found.append(_sums(r, weight, weighted.sum(axis=0), scatter + spread, estimate.mean[:r]))
    return found, value


def _fill(
    away: FloatArray,
    spread: FloatArray,
    precision: FloatArray,
    weights: FloatArray,
    holes: tuple[Positions, Positions],
) -> float:
    """Put conditional means into `away`, add conditional covariances to `spread`.

    Return the weighted sum of log-determinants of the precisions of what is missing.
    """
    rows, missing = holes
    part = away[rows]
    np.put_along_axis(part, missing, 0.0, axis=1)
    pulls = np.take_along_axis(part @ precision, missing, axis=1)
    across, down = missing[:, :, None], missing[:, None, :]
    own = precision[across, down]
    conditional = np.linalg.inv(own)
    np.put_along_axis(part, missing, -(conditional @ pulls[:, :, None])[:, :, 0], axis=1)
    away[rows] = part
    np.add.at(spread, (across, down), weights[rows, None, None] * conditional)
    return float(weights[rows] @ np.linalg.slogdet(own)[1])


def _inverse(matrix: FloatArray) -> tuple[FloatArray, float]:
    """The inverse of a positive definite matrix and the logarithm of its determinant."""
    lower = np.linalg.cholesky(matrix)
    size = 2.0 * float(np.log(np.diag(lower)).sum())
    half = solve_triangular(lower, np.eye(len(matrix)), lower=True, check_finite=False)
    return half.T @ half, size


def _sums(
    reach: int, weight: float, away: FloatArray, products: FloatArray, mean: FloatArray
) -> Sums:
    """Sums about zero from sums about the mean."""
    cross = np.outer(away, mean)
    total = away + weight * mean
    return Sums(reach, weight, total, products + cross + cross.T + weight * np.outer(mean, mean))


def _penalty(stairs: Staircase, estimate: MeanAndCovariance) -> float:
    """The second and third term of the objective."""
    precision, size = _inverse(estimate.covariance)
    return 0.5 * size - 0.5 * stairs.extra * (size + float(np.trace(precision)))


def _chain(sums: list[Sums], extra: float) -> tuple[MeanAndCovariance, FloatArray]:
    """Regress each asset on those with longer histories.

    Also return what the error of the regressions adds to the covariance of the means.
    """
    size = sums[0].reach
    mean = np.zeros(size)
    covariance: FloatArray = np.zeros((size, size))
    error: FloatArray = np.zeros((size, size))
    levels = _levels(sums)
    before = 0
    for reach, weight, total, products in reversed(levels):
        average = total / weight
        scatter = products - weight * np.outer(average, average)
        scatter[np.diag_indices(reach)] += extra
        old, new = slice(0, before), slice(before, reach)
        slopes: FloatArray = np.zeros((before, reach - before))
        lever = 0.0
        if before:
            shift = mean[old] - average[old]
            both = np.column_stack([scatter[old, new], shift])
            solved = np.linalg.solve(scatter[old, old], both)
            slopes = np.asarray(solved[:, :-1], np.float64)
            lever = float(shift @ solved[:, -1])
        mean[new] = average[new] + (mean[old] - average[old]) @ slopes
        rest = (scatter[new, new] - scatter[new, old] @ slopes) / (weight - 1 + extra)
        for matrix, own in ((covariance, rest), (error, lever * rest)):
            matrix[old, new] = matrix[old, old] @ slopes
            matrix[new, old] = matrix[old, new].T
            block = own + slopes.T @ matrix[old, new]
            matrix[new, new] = (block + block.T) / 2
        before = reach
    return MeanAndCovariance(mean, covariance), error


def _levels(sums: list[Sums]) -> list[Sums]:
    """The sums over all periods that reach at least as far, step by step downwards."""
    levels: list[Sums] = []
    for one in sums:
        if levels:
            r, last = one.reach, levels[-1]
            one = Sums(
                r,
                one.weight + last.weight,
                one.total + last.total[:r],
                one.products + last.products[:r, :r],
            )
        levels.append(one)
    return levels


def _maximise(stairs: Staircase) -> tuple[MeanAndCovariance, int, bool]:
    """Return the estimate, the number of evaluations, and whether the iteration came to rest."""
    here = MeanAndCovariance(np.zeros(stairs.size), np.eye(stairs.size))
    if stairs.monotone:
        return _mapped(stairs, here)[0], 1, True
    steps = 0
    while steps < MOST_STEPS:
        one, _ = _mapped(stairs, here)
        two, value = _mapped(stairs, one)
        steps += 2
        if _distance(one, two) < SETTLED:
            return two, steps, True
        leap = _leap(here, one, two)
        here = two
        try:
            after, reached = _mapped(stairs, leap)
        except np.linalg.LinAlgError:  # the leap went beyond the positive definite matrices
            continue
        steps += 1
        if reached >= value:
            here = after
    return here, steps, False


def _mapped(stairs: Staircase, estimate: MeanAndCovariance) -> tuple[MeanAndCovariance, float]:
    """One step of EM, and the objective before it."""
    sums, value = _expected(stairs, estimate)
    return _chain(sums, stairs.extra)[0], value


def _distance(one: MeanAndCovariance, other: MeanAndCovariance) -> float:
    return max(float(np.abs(a - b).max()) for a, b in zip(one, other, strict=True))


def _leap(
    start: MeanAndCovariance, one: MeanAndCovariance, two: MeanAndCovariance
) -> MeanAndCovariance:
    """Extrapolate two steps of EM by their length and their curvature."""
    first = [b - a for a, b in zip(start, one, strict=True)]
    curve = [c - b - d for b, c, d in zip(one, two, first, strict=True)]
    lengths = [float(np.sqrt(sum((part**2).sum() for part in parts))) for parts in (first, curve)]
    reach = max(1.0, lengths[0] / lengths[1]) if lengths[1] else 1.0
    moved = (a + 2 * reach * d + reach**2 * v for a, d, v in zip(start, first, curve, strict=True))
    return MeanAndCovariance(*moved)


def _mean_error(stairs: Staircase, estimate: MeanAndCovariance) -> FloatArray:
    """The covariance of the means: inverse information, and the error of the regressions."""
    information = np.zeros((stairs.size, stairs.size))
    sums, _ = _expected(stairs, estimate, information)
    return _inverse(information)[0] + _chain(sums, stairs.extra)[1]
