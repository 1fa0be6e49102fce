"""One small bank: eight asset classes, clients with a stated class, a branch and wealth."""

import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
from imop_engine.study import StudySettings

NAMES = (
    "Cash fund", "Government bonds", "Corporate bonds", "High yield", "Real estate",
    "World equity", "Small caps", "Emerging equity",
)  # fmt: skip
RETURNS = np.array([0.015, 0.025, 0.032, 0.045, 0.055, 0.065, 0.072, 0.085])
VOLATILITIES = np.array([0.01, 0.04, 0.05, 0.08, 0.13, 0.16, 0.19, 0.25])
COVARIANCE = np.outer(VOLATILITIES, VOLATILITIES) * (0.3 + 0.7 * np.eye(8))
ANCHORS = {"Government bonds": 0.025, "World equity": 0.065}


def bank(count: int = 150, seed: int = 3) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """A return history, portfolios with errors of 0.02 in a holding, and attributes."""
    rng = np.random.default_rng(seed)
    history = rng.multivariate_normal(RETURNS / 12, COVARIANCE / 12, 180)
    problem = imop.portfolio_problem(COVARIANCE, names=NAMES)
    weights = np.clip(rng.normal(0.35, 0.15, count), 0.05, 0.9)
    held = imop.efficient_frontier(problem, RETURNS).at(weights)
    held = np.maximum(held + rng.normal(0.0, 0.02, held.shape), 0.0)
    held /= held.sum(axis=1, keepdims=True)
    stated = np.where(weights < 0.2, "conservative", np.where(weights < 0.5, "balanced", "growth"))
    ids = [f"C{number:04d}" for number in range(count)]
    about = pd.DataFrame(
        {
            "risk profile": stated,
            "branch": rng.choice(["north", "south"], count),
            "wealth": rng.lognormal(11.5, 0.9, count).round(2),
        }
    )
    return (
        pd.DataFrame(history, columns=list(NAMES)),
        pd.DataFrame(held, columns=list(NAMES), index=ids),
        about,
    )


def studied(**settings):
    history, held, about = bank()
    chosen = StudySettings(**{"anchors": ANCHORS, "title": "A small bank", **settings})
    return imop.run_study(
        12 * history.mean(), 12 * history.cov(), held, chosen, history=history, attributes=about
    )


@pytest.fixture(scope="session")
def study():
    return studied()


@pytest.fixture(scope="session")
def elsewhere():
    """The same clients, other anchors: every return is moved and stretched."""
    return studied(anchors={"Government bonds": 0.01, "World equity": 0.13})


@pytest.fixture(scope="session")
def unanchored():
    return studied(anchors=())
