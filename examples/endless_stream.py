"""A stream that never ends, and beliefs that change in its middle: the estimate follows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import imop_engine as imop
from imop_engine.arguments import Matrix, Vector
from imop_engine.bundled import market
from imop_engine.simulate import simulate_investors

CHUNK = 500
CHANGE = 20  # the chunk from which investors believe something else


def chunks(problem: imop.Problem, before: Vector, after: Vector, seed: int) -> Iterator[Matrix]:
    """Portfolios as they come, without an end; half-way the beliefs change."""
    rng = np.random.default_rng(seed)
    number = 0
    while True:
        beliefs = before if number < CHANGE else after
        yield simulate_investors(problem, beliefs, CHUNK, weights="uniform", rng=rng).portfolios
        number += 1


def main() -> dict[str, float]:
    """Forty chunks of it; errors before the change, just after it, and at the end."""
    eight = market("paper8")
    before = eight.expected_returns
    after = before.copy()
    after[2] += 0.02
    problem = imop.portfolio_problem(
        eight.covariance, names=eight.names, anchors={"Security 1": 0.1791, "Security 7": 0.0352}
    )
    learner = imop.OnlineLearner(
        problem, weights="exact", algorithm="newton", forgetting=0.999, theta0=before
    )
    errors = {}
    for number, portfolios in zip(range(40), chunks(problem, before, after, seed=5), strict=False):
        learner.partial_fit(portfolios)
        believed = before if number < CHANGE else after
        error = float(np.abs(learner.theta_ - believed).max())
        if number in (CHANGE - 1, CHANGE, 39):
            errors[f"after {(number + 1) * CHUNK:,} portfolios"] = error
            print(f"after {(number + 1) * CHUNK:6,} portfolios: largest error {error:.5f}")
    return errors


if __name__ == "__main__":
    main()
