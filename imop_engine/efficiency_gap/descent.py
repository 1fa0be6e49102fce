"""Newton's method on the smoothed value, within Theta."""

from __future__ import annotations

from typing import Final

import numpy as np

from imop_engine.arguments import Matrix, Vector
from imop_engine.efficiency_gap.cuts import Cuts, plane_basis
from imop_engine.efficiency_gap.sample import Sample
from imop_engine.efficiency_gap.value import Value
from imop_engine.portfolio_arrays import project_rows
from imop_engine.problem import ParameterSet, Problem

MOST_STEPS: Final = 200  # in one stage; it takes about ten
SHORTER: Final = 0.1  # share of a step: one that fails is taken anew with more damping
SHORTEST: Final = 1e-10  # ... and this one, where it is damped
# From so many assets on, following the frontier costs more than solving for a step: a step that
# fails is not halved, and damping is lessened only where the last step did not go too far.
MANY: Final = 100
WHOLE: Final = 0.9  # share of a step that is tried then
OVERSHOT: Final = 0.25  # slope at a step's end, against that at its beginning: no less damping,
FAR_BEYOND: Final = 0.75  # ... and more damping
DAMPED: Final = 1.0  # as much as the value curves on average
MOST_DAMPING: Final = 1e8
LEAST_DAMPING: Final = 1e-13
UNDAMPED: Final = 1e-9  # directions with less curvature are flat; others have converged by then
ENOUGH: Final = 1e-4  # of the decrease that the slope promises makes a step good
ROUNDING: Final = 1e-14  # of a value, per investor, as a share of the largest return


def descend(
    problem: Problem,
    sample: Sample,
    theta: Vector,
    most: float,
    cuts: Cuts,
    tries: int | None = None,
) -> tuple[Value, int]:
    """Newton's method on the smoothed value, within Theta.

    Args:
        problem: the portfolio problem.
        sample: the investors.
        theta: where to begin, expected returns a year.
        most: the largest lam; its inverse is the least price of risk.
        cuts: receives a cut at every step.
        tries: how many steps may be tried, good or not; None: until it has converged.

    Returns:
        Where it ends, and how many steps were taken.
    """
    point = Value.at(problem, sample, theta, most)
    cuts.add(point)
    basis = plane_basis(problem.theta.projector)
    damping, steps, last, tried = 1e-3, 0, -np.inf, 0
    many = problem.n >= MANY
    while steps < MOST_STEPS and damping < MOST_DAMPING and (tries is None or tried < tries):
        tried += 1
        target = _newton_target(problem.theta, basis, point, damping)
        if target is None:  # too ill-conditioned: a shorter step
            damping *= 100.0
            continue
        step = target - point.theta
        slope = float(point.gradient @ step)
        # what cannot be told from rounding in the value still shows in the gradient
        rounding = ROUNDING * sample.count * float(np.abs(point.theta).max())
        hidden = -slope < rounding
        if -slope <= 0.0 or (hidden and slope < 0.25 * last and damping <= UNDAMPED):
            break
        last_resort = damping >= DAMPED
        shortest = SHORTEST if last_resort else WHOLE if many else SHORTER
        trial, share = _step(problem, sample, point, step, most, rounding, shortest)
        if share == 0.0:
            if hidden or last_resort:
                break
            damping = min(max(damping, UNDAMPED) * 10.0, DAMPED)  # shorter where it hardly curves
            continue
        steps += 1
        cuts.add(trial)
        damping = _damping(damping, share, -float(trial.gradient @ step) / slope if many else 0.0)
        point, last = trial, slope
    return point, steps


def _damping(damping: float, share: float, turned: float) -> float:
    """The damping of the next step.

    Args:
        damping: of the last one.
        share: of the last step that was taken.
        turned: slope at its end against that at its beginning; above zero the least lies behind.
    """
    if share < 1.0 or turned > FAR_BEYOND:
        return min(damping * 4.0, DAMPED)
    return max(damping * 0.1, LEAST_DAMPING) if turned < OVERSHOT else damping


def _step(
    problem: Problem,
    sample: Sample,
    point: Value,
    step: Vector,
    most: float,
    rounding: float,
    shortest: float,
) -> tuple[Value, float]:
    """Along a step, halved until the value falls as it should, or the slope does within rounding.

    Returns where it ends and the share of the step; 0 if there is no such place.
    """
    slope = float(point.gradient @ step)
    share = 1.0
    while share > shortest:
        trial = Value.at(problem, sample, point.theta + share * step, most)
        falls = trial.smoothed <= point.smoothed + ENOUGH * share * slope
        level = trial.smoothed <= point.smoothed + rounding
        if falls or (level and abs(float(trial.gradient @ step)) <= 0.5 * abs(slope)):
            return trial, share
        share *= 0.5
    return point, 0.0


def _newton_target(
    theta_set: ParameterSet, basis: Matrix, point: Value, damping: float
) -> Vector | None:
    """The minimum of the damped quadratic model within Theta."""
    if basis.shape[1] == 0:
        return None
    hessian = point.hessian
    size = max(float(np.trace(hessian)) / len(hessian), point.least_curvature)
    metric = basis.T @ hessian @ basis + damping * size * np.eye(basis.shape[1])
    target = point.theta - basis @ np.linalg.solve(metric, basis.T @ point.gradient)
    if np.any((target < theta_set.lower) | (target > theta_set.upper)):
        inverse = basis @ np.linalg.solve(metric, basis.T)
        inverse = (inverse + inverse.T) / 2
        found = project_rows(inverse, target, theta_set.lower, theta_set.upper)
        if found is None:
            return None
        target = found
    return theta_set.nearest(target)
