"""What investors want: each one's weight and risk aversion with an interval, how the weights are
distributed, and how groups of investors differ.

A weight w on return goes with lam = w / (2 (1 - w)) and with risk aversion delta = 2 (1 - w) / w.
The intervals hold the error in an investor's holdings and, where `beliefs` are given, that in the
returns. Under the true returns 95 % intervals cover 96 %; under returns learned from 1,000 noisy
portfolios in one first-order pass they cover 98 % with `beliefs` and 77 % without (means of eight
seeds), under returns refined on all of them 96 % and 95 %. Error in the holdings also spreads the
weights: the distribution described here is that of the estimated weights, a little wider than that
of the true ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit
from scipy.stats import chi2

from imop_engine.arguments import Vector, vector
from imop_engine.errors import InvalidInput
from imop_engine.frontier import Frontier
from imop_engine.inference.attribute_groups import attribute_groups
from imop_engine.inference.family_fit import MOST_STEPS, fit_counts
from imop_engine.inference.fit import (
    Noise,
    estimate_noise,
    labels_of_rows,
    outlier_threshold,
    some_decisions,
)
from imop_engine.inference.identify import Identification
from imop_engine.inference.intervals import Spread, weight_intervals
from imop_engine.inference.weight_bins import (
    LEAST_EXPECTED,
    SAME_WEIGHT,
    bins_around,
    even_bins,
    grid_values,
    merge_bins,
    without_inner,
)
from imop_engine.results import risk_aversion
from imop_engine.weight_families import fitted_families
from imop_engine.weight_families.base import Family

LEAST_INVESTORS: Final = 20  # fewer than this say little of a distribution with two parameters


@dataclass(frozen=True, eq=False)
class Preferences:
    """Weight and risk aversion of each investor, with intervals.

    `investors` has one row each: weight, weight_low, weight_high, risk_aversion,
    risk_aversion_low, risk_aversion_high, distance, outlier, plateau. An investor is on a
    `plateau` where a whole stretch of weights gives the same portfolio: the interval covers it.
    """

    investors: pd.DataFrame
    noise: Noise
    level: float
    plateaus: tuple[tuple[float, float], ...]  # stretches of weights that give one portfolio

    def to_frame(self) -> pd.DataFrame:
        """The table of investors, a copy."""
        return self.investors.copy()


@dataclass(frozen=True)
class FittedFamily:
    """One family of distributions, fitted to the weights, and how well it does.

    The p-value is NaN where there are too few bins for a test; `replayed` says whether it counts
    the errors of the pipeline that read the weights (`replay`).
    """

    name: str
    parameters: dict[str, float]
    log_likelihood: float
    bic: float
    chi_square: float
    degrees: int
    p_value: float
    cells: int  # left for the test after merging
    on_unit_interval: bool
    replayed: bool = False

    def cdf(self, weight: ArrayLike) -> Vector:
        """Share of investors at or below a weight."""
        w = np.clip(np.asarray(weight, dtype=float), 0.0, 1.0)
        values = np.array(list(self.parameters.values()))
        family = fitted_families()[self.name]
        result: Vector = family.cdf(w, family.inner(values))
        return result

    def density(self, weight: ArrayLike) -> Vector:
        """Share of investors per unit of weight, by a central difference of the cdf."""
        w, half = np.asarray(weight, dtype=float), 1e-5
        high, low = np.clip(w + half, 0.0, 1.0), np.clip(w - half, 0.0, 1.0)
        result: Vector = (self.cdf(high) - self.cdf(low)) / (high - low)
        return result


@dataclass(frozen=True, eq=False)
class WeightDistribution:
    """How the weights of investors are distributed: counts in bins, and the fitted families."""

    edges: Vector
    counts: NDArray[np.int64]
    on_grid: bool
    families: tuple[FittedFamily, ...]

    @property
    def best(self) -> FittedFamily:
        """The family of least BIC among those that live on 0 to 1."""
        return min((f for f in self.families if f.on_unit_interval), key=lambda f: f.bic)

    def family(self, name: str) -> FittedFamily:
        """A fitted family by its name."""
        for fitted in self.families:
            if fitted.name == name:
                return fitted
        raise InvalidInput(
            f"there is no fitted family {name!r}; choose one of "
            f"{', '.join(f.name for f in self.families)}."
        )

    def histogram(self) -> pd.DataFrame:
        """low, high, count and density of each bin."""
        widths = np.diff(self.edges)
        return pd.DataFrame(
            {
                "low": self.edges[:-1],
                "high": self.edges[1:],
                "count": self.counts,
                "density": self.counts / (self.counts.sum() * widths),
            }
        )

    def to_frame(self) -> pd.DataFrame:
        """One row a family, best BIC first."""
        rows = [
            {
                "family": f.name,
                "parameters": ", ".join(f"{k} {v:.4g}" for k, v in f.parameters.items()),
                "log_likelihood": f.log_likelihood,
                "bic": f.bic,
                "chi_square": f.chi_square,
                "degrees": f.degrees,
                "p_value": f.p_value,
                "replayed": f.replayed,
                "chosen": f is self.best,
            }
            for f in self.families
        ]
        return pd.DataFrame(rows).sort_values("bic", kind="stable", ignore_index=True)


def investor_preferences(
    frontier: Frontier,
    decisions: Any,
    *,
    level: float = 0.95,
    noise_sd: float | None = None,
    fitted: int | None = None,
    beliefs: Identification | None = None,
    limit: float | None = None,
) -> Preferences:
    """Weight and risk aversion of each investor under a frontier, with intervals.

    `beliefs`, from `identification` at the frontier's returns, adds the error in the returns: the
    intervals then cover as they should for returns that were learned. Without it they take the
    frontier for certain.

    The interval holds every weight whose portfolio is, in squared distance, at most
    (z * noise_sd)^2 further from the investor's than the nearest one: on a straight stretch of
    the frontier that is lam ± z * noise_sd / ||dx/dlam||, and it stays right across turning
    points. It is mapped to w and to delta (where it is lopsided, and may reach infinity). Weights
    that give the same portfolio are in it all or none, so it covers plateaus whole.

    Money in assets that the explaining portfolio does not hold has displaced something. The
    interval covers both readings, that every holding gave the same amount (Euclidean projection,
    the weight reported) and that each gave in proportion; in the second an error in the total
    moves all holdings at once, and the sd along the unit tangent u grows to
    noise_sd * sqrt(1 + m (u'x)^2) with m assets held.

    `noise_sd` is the error in a single holding; None estimates it (see `fit.estimate_noise`, to
    which `fitted` is passed).

    Args:
        frontier: The efficient frontier at the estimated returns.
        decisions: One row for each investor: holdings, fractions of wealth that add up to 1.
        level: Confidence of the intervals, between 0 and 1.
        noise_sd: Standard deviation of the error in a single holding; None estimates it.
        fitted: How many parameters were fitted to these portfolios; see `fit.estimate_noise`.
        beliefs: What is known of the returns; None takes them for certain.
        limit: The distance beyond which somebody is an outlier; None: by the rule of
            `fit.measure_fit`.

    Returns:
        Weights, risk aversions and intervals, a row for each investor.
    """
    if not 0.0 < level < 1.0:
        raise InvalidInput(
            f"the level of the intervals is {level:g}; give a number between 0 and 1, 0.95 say."
        )
    if noise_sd is not None and not (np.isfinite(noise_sd) and noise_sd >= 0):
        raise InvalidInput(
            f"noise_sd is {noise_sd:g}; give the error in a holding, 0.005 say, or None."
        )
    Y = some_decisions(frontier.problem, decisions)
    found = frontier.project(Y)
    noise = estimate_noise(frontier, Y, found, fitted) if noise_sd is None else Noise(noise_sd, 0)
    low, high = weight_intervals(frontier, Y, found, _spread(noise.sd, level, beliefs))
    plateaus = plateaus_of(frontier)
    w = found.weights
    far = outlier_threshold(found.distances) if limit is None else limit
    flat = np.zeros(len(w), bool)
    for start, end in plateaus:
        flat |= (w >= start - SAME_WEIGHT) & (w <= end + SAME_WEIGHT)
    table = pd.DataFrame(
        {
            "weight": w,
            "weight_low": low,
            "weight_high": high,
            "risk_aversion": risk_aversion(w),
            "risk_aversion_low": risk_aversion(high),
            "risk_aversion_high": risk_aversion(low),
            "distance": found.distances,
            "outlier": found.distances > far,
            "plateau": flat,
        },
        index=labels_of_rows(decisions, len(Y)),
    )
    return Preferences(table, noise, float(level), plateaus)


def _spread(noise_sd: float, level: float, beliefs: Identification | None) -> Spread:
    z = float(ndtri(0.5 + level / 2))
    if beliefs is None:
        return Spread(z, noise_sd)
    return Spread(z, noise_sd, beliefs.covariance, np.stack([beliefs.step, beliefs.noise_bias]))


def plateaus_of(frontier: Frontier) -> tuple[tuple[float, float], ...]:
    """Stretches of weights over which the portfolio does not change; the last one ends at 1."""
    w, last = frontier.weights, len(frontier.weights) - 1
    still = [k for k in range(len(w)) if not np.any(frontier.directions[k])]
    return tuple((float(w[k]), float(w[k + 1]) if k < last else 1.0) for k in still)


def weight_distribution(
    weights: ArrayLike | Preferences,
    *,
    grid: ArrayLike | None = None,
    plateaus: Sequence[tuple[float, float]] = (),
    families: Sequence[str] | None = None,
) -> WeightDistribution:
    """Describe weights by a histogram and fitted families, with a test of each and a choice.

    Weights are counted in bins. Even bins on 0 to 1, as many as Freedman and Diaconis or
    2 count^(2/5) ask for, whichever is more; where weights come from a grid (`grid`, or by rule:
    two investors to each value or more) one bin around each value. No edge lies inside a plateau,
    whose weights cannot be told apart (`Preferences` bring their own, and leave outliers out).

    Families are fitted to the counts by maximum likelihood, and BIC compares them on the same
    counts. "uniform" has the fixed ends 0 and 1. "normal" is cut to 0..1, as it is when
    drawn, and has the uniform as its limit for a large sd, so it is not rejected where weights are
    uniform;
    "unbounded normal" is not cut, its tails count in the end bins, and it takes no part in the
    choice.

    Chi-square test: neighbouring bins are merged to an expected count of 5 or more and the family
    is fitted again to the merged counts. So the statistic has k - 1 - m degrees of freedom;
    with parameters from finer data it would lie between that and k - 1 (Chernoff and Lehmann
    1954). Parameters that end at the edge of their range do not count in m.

    Args:
        weights: On return, 0 to 1, one for each investor.
        grid: The values that weights can have; None: any, unless the rule finds a grid.
        plateaus: Intervals of weights that give the same portfolio.
        families: The names of those to fit.

    Returns:
        The counts, the fitted families with their tests, and which is best.
    """
    if isinstance(weights, Preferences):
        plateaus = [*plateaus, *weights.plateaus]
        kept = weights.investors.loc[~weights.investors["outlier"], "weight"]
        w = kept.to_numpy(dtype=float)
    else:
        w = vector(weights, "weights")
    if np.any((w < 0) | (w > 1)):
        bad = int(np.argmax((w < 0) | (w > 1)))
        raise InvalidInput(f"weight {bad + 1} is {w[bad]:g}; weights lie between 0 and 1.")
    if len(w) < LEAST_INVESTORS:
        raise InvalidInput(
            f"a distribution needs at least {LEAST_INVESTORS} investors; there are {len(w)}. "
            "Give more, or read their weights one by one."
        )
    known = fitted_families()
    families = tuple(known) if families is None else families
    unknown = [name for name in families if name not in known]
    if unknown or not families:
        raise InvalidInput(
            f"there is no family {unknown[0] if unknown else ''!r}; choose among "
            f"{', '.join(known)}."
        )
    values = grid_values(w, grid)
    edges = without_inner(even_bins(w) if values is None else bins_around(values), plateaus)
    counts = np.histogram(w, edges)[0].astype(np.int64)
    if np.count_nonzero(counts) < 2:
        raise InvalidInput(
            f"all {len(w)} weights fall in one cell around {float(np.median(w)):.3g}; there is no "
            "distribution to fit. Describe them by that one weight."
        )
    fits = tuple(_fit(known[name], edges, counts) for name in families)
    return WeightDistribution(edges, counts, values is not None, fits)


def preference_segments(preferences: Preferences, attribute: Any) -> pd.DataFrame:
    """Weights by group of investors: one row for each value of an attribute.

    `attribute` has one value for each investor (a Series with the same labels, or a list in the
    same order). A number with more than 10 different values is cut at its quartiles; investors
    without a value are a group of their own. `mean_low` and `mean_high` are a t interval, at the
    level of the investors' intervals, for the mean weight of the group.
    """
    table = preferences.investors
    groups = attribute_groups(table.index, attribute)
    rows = []
    for name, part in table.groupby(groups, sort=True, observed=True):
        w = part["weight"].to_numpy(dtype=float)
        sd = float(w.std(ddof=1)) if len(w) > 1 else float("nan")
        t = float(stdtrit(len(w) - 1, 0.5 + preferences.level / 2)) if len(w) > 1 else float("nan")
        margin = t * sd / float(np.sqrt(len(w)))
        rows.append(
            {
                "segment": name,
                "investors": len(w),
                "share": len(w) / len(table),
                "mean_weight": float(w.mean()),
                "mean_low": max(0.0, float(w.mean()) - margin) if len(w) > 1 else margin,
                "mean_high": min(1.0, float(w.mean()) + margin) if len(w) > 1 else margin,
                "sd_weight": sd,
                "median_weight": float(np.median(w)),
                "median_risk_aversion": float(risk_aversion(np.median(w))),
                "median_distance": float(part["distance"].median()),
                "outliers": int(part["outlier"].sum()),
            }
        )
    return pd.DataFrame(rows)


# -- families ------------------------------------------------------------------------------------
def _fit(family: Family, edges: Vector, counts: NDArray[np.int64]) -> FittedFamily:
    count = int(counts.sum())
    inner, log_likelihood = fit_counts(family, edges, counts)
    statistic, degrees, cells = chi_square(family, edges, counts, inner)
    return FittedFamily(
        family.name,
        dict(zip(family.parameters, family.outer(inner).tolist(), strict=True)),
        log_likelihood,
        -2.0 * log_likelihood + len(family.parameters) * float(np.log(count)),
        statistic,
        degrees,
        float(chi2.sf(statistic, degrees)) if degrees > 0 else float("nan"),
        cells,
        family.on_unit_interval,
    )


def chi_square(
    family: Family,
    edges: Vector,
    counts: NDArray[np.int64],
    inner: Vector,
    most: int = MOST_STEPS,
) -> tuple[float, int, int]:
    """Pearson's statistic on merged bins, its degrees of freedom, and the bins that are left.

    Args:
        family: Of distributions.
        edges: Of the bins, one more than there are counts.
        counts: How many weights lie in each bin.
        inner: Parameters that the search begins from.
        most: Steps of the search.

    A new fit moves the expected counts, and one may fall below 5: then the groups are merged once
    more. Groups only ever grow, so this ends.
    """
    total = int(counts.sum())
    while True:
        starts = merge_bins(total * family.bins(edges, inner))
        edges = np.append(edges[starts], 1.0)
        counts = np.add.reduceat(counts, starts)
        inner, _ = fit_counts(family, edges, counts, inner, most)
        expected = total * family.bins(edges, inner)
        if len(expected) == 1 or expected.min() >= LEAST_EXPECTED:
            break
    statistic = float(np.sum((counts - expected) ** 2 / expected))
    degrees = len(counts) - 1 - family.free(inner)
    return statistic, max(degrees, 0), len(counts)
