"""The chi-square test of the weights' distribution, replayed at the end of the pipeline.

Weights that were read off portfolios are not the weights that investors chose: errors in holdings
move them, the estimated returns bend the frontier under them, and turning points collect them. So
Pearson's statistic is larger than chi-square even where the family is right. The replay draws
weights from the fitted family, portfolios with the errors that were measured, and reads them off
frontiers whose returns err as the estimate does; how much larger its statistics are on average is
what the observed one is divided by.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from scipy.stats import chi2

from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import ImopError
from imop_engine.frontier import Frontier, efficient_frontier
from imop_engine.inference.bias_simulation import rounding_step
from imop_engine.inference.preferences import FittedFamily, WeightDistribution, chi_square
from imop_engine.simulate import round_portfolios
from imop_engine.weight_families import fitted_families

REPLAYS: Final = 20  # the mean of their statistics is known to 8 % with 15 degrees of freedom
MOST_ROWS: Final = 5000  # investors of a replay; more make the same excess larger in proportion
SHORT: Final = 40  # steps of a search that begins at the parameters drawn from
FINE: Final = 2001  # points of the inverted distribution


def replayed(
    distribution: WeightDistribution,
    frontier: Frontier,
    decisions: Matrix,
    noise_sd: float,
    covariance: Matrix | None,
    seed: int,
) -> WeightDistribution:
    """The same distribution with the p-value of its best family replayed.

    Args:
        distribution: of the weights that were read off the portfolios.
        frontier: at the estimated returns.
        decisions: the portfolios of those who take part, one row each.
        noise_sd: error in a single holding, fractions of wealth.
        covariance: of the estimated returns, from the sample of investors alone: weights are read
            given the anchors and the history. None takes them for certain.
        seed: of what is drawn.

    Returns:
        The distribution; unchanged where the weights are on a grid or there is no test.
    """
    best = distribution.best
    if distribution.on_grid or not np.isfinite(best.p_value):
        return distribution
    factor = _excess(best, distribution, frontier, decisions, noise_sd, covariance, seed)
    p_value = float(chi2.sf(best.chi_square / factor, best.degrees))
    fresh = replace(best, p_value=p_value, replayed=True)
    return replace(
        distribution, families=tuple(fresh if f is best else f for f in distribution.families)
    )


def _excess(
    best: FittedFamily,
    distribution: WeightDistribution,
    frontier: Frontier,
    decisions: Matrix,
    noise_sd: float,
    covariance: Matrix | None,
    seed: int,
) -> float:
    """How many times larger than its degrees of freedom the statistic is where the family holds."""
    rng = np.random.default_rng(seed)
    family = fitted_families()[best.name]
    inner = family.inner(np.array(list(best.parameters.values())))
    count = int(distribution.counts.sum())
    drawn_rows = min(count, MOST_ROWS)
    grid = np.linspace(0.0, 1.0, FINE)
    upto = best.cdf(grid)
    step = rounding_step(decisions, noise_sd)
    moves = _moves(covariance, rng)
    ratios = []
    for number in range(REPLAYS):
        weights = np.interp(rng.uniform(upto[0], upto[-1], drawn_rows), upto, grid)
        held = _with_errors(frontier.at(weights), noise_sd, step, rng)
        try:
            seen = frontier
            if moves is not None:
                theta = frontier.problem.theta.nearest(frontier.theta + moves[number])
                seen = efficient_frontier(frontier.problem, theta)
            counts = np.histogram(seen.project(held).weights, distribution.edges)[0]
            statistic, degrees, _ = chi_square(family, distribution.edges, counts, inner, SHORT)
        except ImopError:  # a drawn frontier that cannot be traced says nothing
            continue
        if degrees > 0:
            ratios.append(statistic / degrees)
    if not ratios:
        return 1.0
    beyond = float(np.mean(ratios)) - 1.0
    return 1.0 + beyond * (count / drawn_rows if beyond > 0.0 else 1.0)


def _moves(covariance: Matrix | None, rng: np.random.Generator) -> Matrix | None:
    """Errors of the returns, drawn."""
    if covariance is None or not np.any(covariance):
        return None
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    result: Matrix = rng.normal(size=(REPLAYS, len(values))) @ root.T
    return result


def _with_errors(
    exact: Matrix, noise_sd: float, step: float | None, rng: np.random.Generator
) -> Matrix:
    """Portfolios with the errors that were measured, or rounded where that is what they are."""
    if step is not None:
        return round_portfolios(exact, step)
    held = np.maximum(exact + rng.normal(0.0, noise_sd, exact.shape), 0.0)
    total: Vector = held.sum(axis=1, keepdims=True)
    result: Matrix = np.where(total > 0, held / np.where(total > 0, total, 1.0), exact)
    return result
