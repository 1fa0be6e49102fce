"""The gaps of all investors together at some beliefs, and their derivatives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from imop_engine.arguments import Matrix, Vector
from imop_engine.efficiency_gap.measure import Course
from imop_engine.efficiency_gap.sample import Sample
from imop_engine.kernels.twins import add_up, curvature
from imop_engine.problem import Problem

LEAST_CURVATURE: Final = 1e-6  # of the value, where it is straight: steps stay finite


@dataclass(frozen=True, eq=False)
class Value:
    """The summed gaps at some beliefs, smoothed by a least price of risk."""

    theta: Vector
    gaps: float  # as they are
    smoothed: float  # less what the least price charges for risk
    gradient: Vector
    course: Course = field(repr=False)
    sums: Matrix = field(repr=False)
    covariance: Matrix = field(repr=False)
    rows: Matrix = field(repr=False)
    least_curvature: float

    @classmethod
    def at(cls, problem: Problem, sample: Sample, theta: Vector, most: float) -> Value:
        """At theta, frontiers followed to lam = most.

        Args:
            problem: the portfolio problem.
            sample: the investors.
            theta: expected returns, a year.
            most: the largest lam.
        """
        course = Course.of(problem, theta, most)
        sums = np.zeros((5, course.count))
        add_up(course.count, course.stretches, course.most, sample.variances, sample.weights, sums)
        s, count = course.stretches, course.count
        gradient = sums[0] @ s.xs[:count] + sums[1] @ s.ds[:count] - sample.held
        gaps = float(theta @ gradient)
        charged = 0.5 * float(sums[4].sum()) / course.most if np.isfinite(course.most) else 0.0
        # next to that of investors on a frontier as curved as returns and variances make it
        least = LEAST_CURVATURE * sample.count / max(float(np.ptp(theta)), 1e-300)
        return cls(
            theta, gaps, gaps - charged, gradient, course, sums, problem.covariance,
            problem.portfolio.rows, least,
        )  # fmt: skip

    @property
    def hessian(self) -> Matrix:
        """Second derivative of the smoothed value."""
        H = np.empty((self.theta.size, self.theta.size))
        curvature(
            self.covariance, self.rows, self.theta, self.course.count, self.course.stretches,
            self.sums, H,
        )  # fmt: skip
        result: Matrix = (H + H.T) / 2
        return result
