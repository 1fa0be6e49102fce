"""Markets of simulated studies: bundled ones and random ones, and histories drawn from them.

A random market has two or three factors, volatilities from 5 to 35 % a year, and expected returns
that most assets owe their place on the frontier to: the market portfolio is efficient at a risk
aversion of 2 to 4, up to each asset's own return above or below what that implies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import pandas as pd

from imop_engine import efficient_frontier, portfolio_problem
from imop_engine.arguments import Matrix, Vector
from imop_engine.bundled import MONTHS_PER_YEAR, market
from imop_engine.frontier import Frontier
from imop_engine.problem import Problem

BUNDLED: Final = {8: "paper8", 20: "us20"}  # every other seed takes it
LAST_MONTH: Final = "2024-12"

VOLATILITIES: Final = (0.05, 0.35)
SYSTEMATIC: Final = (0.3, 0.7)  # share of an asset's variance that comes from the factors
RISK_AVERSIONS: Final = (2.0, 4.0)
RISK_FREE: Final = 0.02
OWN_RETURN: Final = 0.01  # sd of what an asset earns above what the market portfolio implies
# Held means a quarter of an even share at some weight in the middle of the frontier; of a market
# whose own returns push too many assets off it, they are halved until this share is held.
HELD_SHARE: Final = 0.7
MIDDLE: Final = (0.1, 0.9)
HALVINGS: Final = 8


@dataclass(frozen=True, eq=False)
class TrueMarket:
    """What investors know and the analyst does not: yearly returns and covariance."""

    name: str
    names: tuple[str, ...]
    returns: Vector
    covariance: Matrix

    @cached_property
    def problem(self) -> Problem:
        """What an investor without caps decides."""
        return portfolio_problem(self.covariance, names=self.names)

    @cached_property
    def frontier(self) -> Frontier:
        """The efficient portfolios under the true moments."""
        return efficient_frontier(self.problem, self.returns)


def draw_market(assets: int, seed: int, rng: np.random.Generator) -> TrueMarket:
    """A market of that many assets: bundled where there is one and the seed is even, else random.

    Args:
        assets: How many.
        seed: Of the study.
        rng: Where random numbers come from.
    """
    if assets in BUNDLED and seed % 2 == 0:
        known = market(BUNDLED[assets])
        return TrueMarket(
            known.name, known.names, np.array(known.expected_returns), np.array(known.covariance)
        )
    return random_market(assets, rng)


def random_market(assets: int, rng: np.random.Generator) -> TrueMarket:
    """Two or three factors, and expected returns under which most assets are held somewhere.

    Args:
        assets: How many.
        rng: Where random numbers come from.
    """
    names = tuple(f"Asset {i + 1}" for i in range(assets))
    covariance = _factor_covariance(assets, rng)
    aversion = rng.uniform(*RISK_AVERSIONS)
    implied = RISK_FREE + aversion * covariance @ rng.dirichlet(np.full(assets, 2.0))
    own = rng.normal(0.0, OWN_RETURN, assets)
    drawn = TrueMarket("random", names, implied, covariance)
    for halving in range(HALVINGS):
        drawn = TrueMarket("random", names, implied + own / 2**halving, covariance)
        middle = drawn.frontier.at(np.linspace(*MIDDLE, 81))
        if (middle.max(axis=0) > 0.25 / assets).mean() >= HELD_SHARE:
            break
    return drawn


def _factor_covariance(assets: int, rng: np.random.Generator) -> Matrix:
    factors = int(rng.integers(2, 4))
    volatility = rng.uniform(*VOLATILITIES, assets)
    systematic = rng.uniform(*SYSTEMATIC, assets)
    loadings = rng.normal(0.0, 0.5, (assets, factors))
    loadings[:, 0] = rng.uniform(0.5, 1.5, assets)  # the first factor is the market as a whole
    loadings *= (volatility * np.sqrt(systematic))[:, None] / np.linalg.norm(
        loadings, axis=1, keepdims=True
    )
    result: Matrix = loadings @ loadings.T + np.diag(volatility**2 * (1.0 - systematic))
    return result


def draw_history(
    true: TrueMarket, months: int, rng: np.random.Generator, exact_covariance: bool = False
) -> pd.DataFrame:
    """Monthly returns, normal and independent over time.

    Args:
        true: The market they come from.
        months: How many.
        rng: Where random numbers come from.
        exact_covariance: Recolour the months so that their sample covariance is the true one to
            the last digit, and only their means err.

    Returns:
        A row for each month, a column for each asset.
    """
    root = np.linalg.cholesky(true.covariance / MONTHS_PER_YEAR)
    shocks = rng.standard_normal((months, len(true.names)))
    if exact_covariance:
        means = shocks.mean(axis=0)
        around = shocks - means
        white = np.linalg.cholesky(np.linalg.inv(np.cov(around, rowvar=False)))
        shocks = means + around @ white
    days = pd.period_range(end=LAST_MONTH, periods=months, freq="M").to_timestamp(how="end")
    return pd.DataFrame(
        true.returns / MONTHS_PER_YEAR + shocks @ root.T,
        index=days.normalize(),
        columns=list(true.names),
    ).rename_axis("date")


def yearly_moments(history: pd.DataFrame) -> tuple[Vector, Matrix]:
    """Means and sample covariance of monthly returns, per year.

    Args:
        history: A row for each month.
    """
    values = history.to_numpy()
    return values.mean(axis=0) * MONTHS_PER_YEAR, np.cov(values, rowvar=False) * MONTHS_PER_YEAR
