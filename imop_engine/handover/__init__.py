"""The estimate for other people's optimisers: PyPortfolioOpt and skfolio.

Their quadratic utilities are ours. With an investor's risk aversion delta = 2 (1 - w) / w,
PyPortfolioOpt's `max_quadratic_utility(risk_aversion=delta)` and skfolio's `MeanRisk` with
`ObjectiveFunction.MAXIMIZE_UTILITY` and `risk_aversion=delta / 2` both maximise
r'x - (delta / 2) x'Qx, so they give her efficient portfolio.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pandas as pd

from imop_engine import gate
from imop_engine.errors import InvalidInput
from imop_engine.handover.limits import (
    SectorConstraints,
    SkfolioLimits,
    add_limits,
    other_limits,
    sector_constraints,
    skfolio_limits,
)
from imop_engine.study import Study

if TYPE_CHECKING:
    from imop_engine.handover.skfolio_ import LearnedPrior


__all__ = [
    "SOLVER",
    "TOLERANCES",
    "PyPfOptInputs",
    "SectorConstraints",
    "SkfolioLimits",
    "add_limits",
    "other_limits",
    "sector_constraints",
    "skfolio_limits",
    "to_pypfopt",
    "to_skfolio",
]

# PyPortfolioOpt's own choice of a solver stops early: over 300 investors on 20 stocks its
# portfolios were up to 0.004 off the optimum; with these, 1e-6. skfolio takes the same ones as
# `MeanRisk(solver_params=...)`: on daily moments, with its own, weights were up to 1.4e-4 off.
SOLVER: Final = "CLARABEL"
TOLERANCES: Final = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}


class PyPfOptInputs(NamedTuple):
    """What `pypfopt.EfficientFrontier` takes, in its order."""

    expected_returns: pd.Series[float]
    cov_matrix: pd.DataFrame
    weight_bounds: list[tuple[float, float]]
    solver: str
    verbose: bool
    solver_options: dict[str, float]


@gate.public("imop_engine.handover", free=("study",))
def to_pypfopt(study: Study) -> PyPfOptInputs:
    """The estimate for PyPortfolioOpt: `EfficientFrontier(*to_pypfopt(study))`."""
    names = list(study.problem.names)
    return PyPfOptInputs(
        pd.Series(study.theta.copy(), index=names, name="expected_returns"),
        pd.DataFrame(study.problem.covariance.copy(), index=names, columns=names),
        list(
            zip(
                study.problem.lower.tolist(),
                np.minimum(study.problem.upper, 1.0).tolist(),
                strict=True,
            )
        ),
        SOLVER,
        False,
        dict(TOLERANCES),
    )


@gate.public("imop_engine.handover", free=("study",))
def to_skfolio(study: Study, periods_per_year: float = 1.0) -> LearnedPrior:
    """The estimate as a prior estimator for skfolio: `MeanRisk(prior_estimator=...)`.

    skfolio's returns are those of a period: give 12 if it is fitted on monthly returns, so that
    measures like the Sharpe ratio are of that period. The utility's optimum is the same for any.
    """
    if not (np.isfinite(periods_per_year) and periods_per_year > 0):
        raise InvalidInput(
            f"periods_per_year is {periods_per_year:g}; give a positive number, 12 for months."
        )
    try:
        from imop_engine.handover.skfolio_ import LearnedPrior
    except ModuleNotFoundError as error:
        raise InvalidInput(
            f"{error.name} is not installed; `pip install skfolio` brings what the hand-over needs."
        ) from None
    inputs = to_pypfopt(study)
    return LearnedPrior(inputs.expected_returns, inputs.cov_matrix, periods_per_year)
