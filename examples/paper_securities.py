"""The paper's eight securities: from portfolios, one after another, to the returns behind them."""

from __future__ import annotations

import numpy as np

import imop_engine as imop
from imop_engine.bundled import market, sample_portfolios


def main() -> dict[str, float]:
    """Learn the returns four ways; the largest error of each, in fractions a year."""
    eight = market("paper8")
    truth = eight.expected_returns
    portfolios = sample_portfolios()
    problem = imop.portfolio_problem(
        eight.covariance, names=eight.names, anchors={"Security 1": 0.1791, "Security 7": 0.0352}
    )
    found = {
        "Algorithm 2, 41 weights": imop.OnlineLearner(problem).partial_fit(portfolios).theta_,
        "Algorithm 2, exact weights": imop.OnlineLearner(problem, weights="exact")
        .partial_fit(portfolios)
        .theta_,
        "second-order learner": imop.OnlineLearner(problem, weights="exact", algorithm="newton")
        .partial_fit(portfolios)
        .theta_,
        "return left on the table, all at once": imop.fit_efficiency(problem, portfolios).theta,
    }
    errors = {way: float(np.abs(theta - truth).max()) for way, theta in found.items()}
    for way, error in errors.items():
        print(f"{way:40s} largest error {error:.5f}")
    return errors


if __name__ == "__main__":
    main()
