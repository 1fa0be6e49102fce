"""Two advisers whose clients believe different things: do the groups differ, and in what?"""

from __future__ import annotations

import numpy as np
import pandas as pd

import imop_engine as imop
from imop_engine.bundled import market
from imop_engine.simulate import simulate_investors

MOVED = 0.02  # what the second adviser's clients expect more of one security, a year


def main() -> dict[str, object]:
    """Simulate clients of two advisers, learn from all, compare the groups."""
    eight = market("paper8")
    rng = np.random.default_rng(3)
    problem = imop.portfolio_problem(eight.covariance, names=eight.names)
    other = eight.expected_returns.copy()
    other[2] += MOVED
    parts = [
        simulate_investors(problem, beliefs, 250, weights="uniform", noise="gaussian",
                           noise_level=0.005, rng=rng).holdings
        for beliefs in (eight.expected_returns, other)
    ]  # fmt: skip
    portfolios = pd.concat(parts, ignore_index=True)
    adviser = pd.DataFrame({"adviser": ["North"] * 250 + ["South"] * 250})
    study = imop.run_study(
        eight.expected_returns,
        eight.covariance,
        portfolios,
        imop.StudySettings(anchors={"Security 1": 0.1791, "Security 7": 0.0352}),
        attributes=adviser,
    )
    groups = study.groups_by("adviser")
    for sentence in groups.sentences():
        print("-", sentence)
    return {"differ": groups.differ, "differing": groups.differing, "p_value": groups.test.p_value}


if __name__ == "__main__":
    main()
