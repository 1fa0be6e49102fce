"""Newton's method on the smoothed value, within Theta."""

from __future__ import annotations

from typing import Final

import numpy as np

from imop_engine.arguments import Matrix, Vector
from imop_engine.efficiency_gap.cuts import Cuts, plane_basis
from imop_engine.efficiency_gap.sample import Sample
from imop_engine.efficiency_gap.value import Value
from imop_engine.problem import ParameterSet, Problem, project_rows

MOST_STEPS: Final = 200  # in one stage; it takes about ten
MOST_DAMPING: Final = 1e8
UNDAMPED: Final = 1e-9  # directions with less curvature are flat; others have converged by then
ENOUGH: Final = 1e-4  # of the decrease that the slope promises makes a step good
ROUNDING: Final = 1e-14  # of a value, per investor, as a share of the largest return


def descend(
    problem: Problem, sample: Sample, theta: Vector, most: float, cuts: Cuts
) -> tuple[Value, int]:
    """Newton's method on the smoothed value, within Theta.

    Args:
        problem: the portfolio problem.
        sample: the investors.
        theta: where to begin, expected returns a year.
        most: the largest lam; its inverse is the least price of risk.
        cuts: receives a cut at every step.
    """
    point = Value.at(problem, sample, theta, most)
    cuts.add(point)
    basis = plane_basis(problem.theta.projector)
    damping, steps, last = 1e-3, 0, -np.inf
    while steps < MOST_STEPS:
        target = _newton_target(problem.theta, basis, point, damping)
        while target is None and damping < MOST_DAMPING:  # too ill-conditioned: a shorter step
            damping *= 100.0
            target = _newton_target(problem.theta, basis, point, damping)
        if target is None:
            break
        step = target - point.theta
        slope = float(point.gradient @ step)
        # what cannot be told from rounding in the value still shows in the gradient
        rounding = ROUNDING * sample.count * float(np.abs(point.theta).max())
        ended = -slope < rounding and slope < 0.25 * last and damping <= UNDAMPED
        if -slope <= 0.0 or ended:
            break
        trial, share = _step(problem, sample, point, step, most, rounding)
        if share == 0.0:
            break
        steps += 1
        cuts.add(trial)
        point, last = trial, slope
        damping = max(damping * 0.1, 1e-13) if share == 1.0 else min(damping * 4.0, 1.0)
    return point, steps


def _step(
    problem: Problem,
    sample: Sample,
    point: Value,
    step: Vector,
    most: float,
    rounding: float,
) -> tuple[Value, float]:
    """Along a step, halved until the value falls as it should, or the slope does within rounding.

    Returns where it ends and the share of the step; 0 if there is no such place.
    """
    slope = float(point.gradient @ step)
    share = 1.0
    while share > 1e-10:
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
    inverse = basis @ np.linalg.solve(metric, basis.T)
    target = point.theta - inverse @ point.gradient
    if np.any((target < theta_set.lower) | (target > theta_set.upper)):
        inverse = (inverse + inverse.T) / 2
        found = project_rows(inverse, target, theta_set.lower, theta_set.upper)
        if found is None:
            return None
        target = found
    return theta_set.nearest(target)
