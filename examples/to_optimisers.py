"""The estimate in other people's optimisers: the same efficient portfolio three times."""

from __future__ import annotations

import numpy as np
import pandas as pd

import imop_engine as imop
from imop_engine.bundled import market, sample_portfolios
from imop_engine.handover import TOLERANCES, to_pypfopt, to_skfolio


def main() -> dict[str, float]:
    """One investor's efficient portfolio by this engine, PyPortfolioOpt and skfolio."""
    from pypfopt import EfficientFrontier
    from skfolio.optimization import MeanRisk, ObjectiveFunction

    eight = market("paper8")
    study = imop.run_study(
        eight.expected_returns,
        eight.covariance,
        sample_portfolios().iloc[:300],
        imop.StudySettings(anchors={"Security 1": 0.1791, "Security 7": 0.0352}),
    )
    investor = study.frame_investors.iloc[0]
    ours = study.frontier.at(investor["weight"])
    aversion = float(investor["risk_aversion"])

    held = EfficientFrontier(*to_pypfopt(study)).max_quadratic_utility(risk_aversion=aversion)
    pypfopt = np.array([held[name] for name in study.problem.names])

    model = MeanRisk(
        objective_function=ObjectiveFunction.MAXIMIZE_UTILITY,
        risk_aversion=aversion / 2.0,
        prior_estimator=to_skfolio(study),
        solver_params=TOLERANCES,
    )
    any_returns = pd.DataFrame(np.zeros((2, study.problem.n)), columns=study.problem.names)
    skfolio = model.fit(any_returns).weights_

    apart = {
        "PyPortfolioOpt": float(np.abs(pypfopt - ours).max()),
        "skfolio": float(np.abs(skfolio - ours).max()),
    }
    print(pd.DataFrame({"ours": ours, "PyPortfolioOpt": pypfopt, "skfolio": skfolio}).round(4))
    return apart


if __name__ == "__main__":
    main()
