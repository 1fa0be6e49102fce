"""Learned returns as a prior estimator of skfolio; the only file that imports it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import sklearn.utils.validation as skv
from skfolio.prior import BasePrior, ReturnDistribution

from imop_engine.errors import InvalidInput


class LearnedPrior(BasePrior):  # type: ignore[misc]  # skfolio has no types
    """The returns that investors believe in, with the covariance they were learned under.

    Fitting looks only at which assets are asked for and in which order; their past returns become
    the scenarios of the distribution, its moments are the learned ones.

    Args:
        expected_returns: learned yearly returns, by asset.
        covariance: yearly covariance, by asset.
        periods_per_year: periods of the returns that it is fitted on.
    """

    def __init__(
        self,
        expected_returns: pd.Series[float],
        covariance: pd.DataFrame,
        periods_per_year: float = 1.0,
    ) -> None:
        self.expected_returns = expected_returns
        self.covariance = covariance
        self.periods_per_year = periods_per_year

    def fit(self, X: Any, y: None = None, **fit_params: Any) -> LearnedPrior:
        """Choose the learned moments of the assets in X.

        Args:
            X: Returns per period, with a column for each asset; they are handed on beside the
                learned moments.
            y: Not used.
            **fit_params: Not used.

        Returns:
            Itself.
        """
        returns = skv.validate_data(self, X)
        known = [str(name) for name in self.expected_returns.index]
        wanted = [str(name) for name in getattr(X, "columns", known)]
        missing = [name for name in wanted if name not in known]
        if missing or len(wanted) != returns.shape[1]:
            raise InvalidInput(
                f"nothing was learned about {missing[0]}; fit on the assets of the study."
                if missing
                else f"the table has {returns.shape[1]} columns without names and the study "
                f"{len(known)} assets; give a frame with the assets as columns."
            )
        order = [known.index(name) for name in wanted]
        mu = np.asarray(self.expected_returns, dtype=float)[order] / self.periods_per_year
        covariance = np.asarray(self.covariance, dtype=float)[np.ix_(order, order)]
        self.return_distribution_ = ReturnDistribution(
            mu=mu, covariance=covariance / self.periods_per_year, returns=returns
        )
        return self
