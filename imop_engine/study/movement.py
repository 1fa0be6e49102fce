"""Whether the beliefs of a study's investors moved, in the order in which their portfolios came."""

from __future__ import annotations

import numpy as np

from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import ImopError
from imop_engine.frontier import efficient_frontier
from imop_engine.inference.estimating_equations import refine_counts
from imop_engine.inference.fit import outlier_threshold
from imop_engine.inference.held_assets import given_back, only_held
from imop_engine.inference.movement import Movement, measure_movement
from imop_engine.one_thread import one_thread
from imop_engine.problem import Problem
from imop_engine.study.outcome import Study


def beliefs_over_time(study: Study) -> Movement | None:
    """Whether beliefs moved over the portfolios that take part; None where it cannot be said.

    Args:
        study: finished; its portfolios are in the order of their dates, or of their file.
    """
    Y = np.ascontiguousarray(study.decisions.to_numpy(dtype=float))
    problem = study.problem
    if study.estimate is not None:
        Y = study.estimate.portfolios(Y)[study.estimate.kept]
        held = study.estimate.found.solution.held
        if held is not None:
            Y, problem = given_back(Y, held), only_held(problem, held)
    return movement_of(problem, study.theta, Y)


def movement_of(problem: Problem, theta: Vector, portfolios: Matrix) -> Movement | None:
    """Whether beliefs moved, with those set aside whom no common frontier explains; None where it
    cannot be said.

    Args:
        problem: with its anchors.
        theta: an estimate to settle from, yearly returns.
        portfolios: in the order in which they came.
    """
    try:
        with one_thread():
            found = refine_counts(problem, portfolios, theta).theta
            distances = efficient_frontier(problem, found).project(portfolios).distances
            near = portfolios[distances <= outlier_threshold(distances)]
            if len(near) < len(portfolios):
                found = refine_counts(problem, near, found).theta
            return measure_movement(problem, found, near)
    except (ImopError, np.linalg.LinAlgError):
        return None
