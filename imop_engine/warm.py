"""Compile every kernel once, so that nobody waits for it later. Run: python -m imop_engine.warm"""

from __future__ import annotations

import time

import numpy as np

import imop_engine as imop


def warm() -> float:
    """Run each compiled path on a tiny problem; return the seconds it took."""
    start = time.perf_counter()
    problem = imop.portfolio_problem(np.diag([0.04, 0.09, 0.16]), anchors={0: 0.05, 2: 0.15})
    Y = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    for algorithm in ("accelerated", "full"):
        learner = imop.OnlineLearner(problem, algorithm=algorithm).partial_fit(Y)
    newton = imop.OnlineLearner(problem, "exact", "newton").partial_fit(Y)
    imop.polish(problem, Y, newton.theta_)
    imop.summarize(learner, Y)
    imop.efficient_frontier(problem, learner.theta_).project(Y)
    imop.implicit_update(problem, learner.theta_, Y[0], 0.5, 1.0)
    mqp = imop.quadratic_problem(
        [np.eye(2), 2 * np.eye(2)], [[-1, 0], [0, -1]], [[-1, -1]], [-1], learn="b"
    )
    imop.OnlineLearner(mqp, weights=3).partial_fit(Y[:, :2])
    imop.OnlineLearner(mqp, weights=3).assign(Y[:, :2])
    imop.implicit_update(mqp, [-1.0], Y[0, :2], 0.5, 1.0)
    imop.batch_update(problem, learner.theta_, Y, [0.4, 0.6], 1.0)
    return time.perf_counter() - start


if __name__ == "__main__":
    print(f"Compiled kernels are ready ({warm():.1f} s).")
