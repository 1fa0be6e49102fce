"""Nasty instances for the engine's tests: ties, caps, anchors, box edges, noise from 0 to large.

Hypothesis chooses the kind of nastiness and a seed; numpy fills in the numbers. Derandomised, so
a failure today is a failure tomorrow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import reference

WEIGHTS = (0.001, 0.05, 0.25, 0.5, 0.75, 0.95, 0.999)
RATES = (1e-3, 0.05, 1.0, 5.0, 100.0)
NOISES = (0.0, 0.002, 0.05, 0.5)


def tries(count: int) -> settings:
    """Derandomised, without a deadline (the first call may compile)."""
    return settings(
        max_examples=count,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


@dataclass(frozen=True)
class Instance:
    """One portfolio update: the problem, and what arrives in one round."""

    Q: np.ndarray
    upper: np.ndarray
    low: np.ndarray
    high: np.ndarray
    anchors: Any  # in the form of the public contract
    rows: list[tuple[np.ndarray, float]]  # the same anchors, as equations on r
    theta: np.ndarray
    y: np.ndarray
    w: float
    eta: float

    def weighted(self, w: float | None = None) -> reference.Weighted:
        """The twin's view of the problem."""
        w = self.w if w is None else w
        return reference.portfolio(self.Q, w, self.upper, self.low, self.high, self.rows)

    def problem(self) -> Any:
        """The engine's view of the problem."""
        import imop_engine as imop

        return imop.portfolio_problem(
            self.Q,
            upper=self.upper,
            bounds=(self.low, self.high),
            anchors=self.anchors,
            undetermined=True,  # draws with ties anchor equal returns
        )


def covariance(rng: np.random.Generator, n: int, kind: str) -> np.ndarray:
    """A positive definite covariance of the size that returns have."""
    if kind == "identity":
        return 0.04 * np.eye(n)
    if kind == "equal":  # every asset the same, correlation one half
        return 0.02 * (np.eye(n) + np.ones((n, n)))
    if kind == "factor":
        loadings = rng.normal(size=(n, 2)) * 0.2
        return loadings @ loadings.T + np.diag(rng.uniform(0.002, 0.02, n))
    root = rng.normal(size=(n, n + 2)) * 0.3
    return root @ root.T / (n + 2) + 0.002 * np.eye(n)


def caps(rng: np.random.Generator, n: int, kind: str) -> np.ndarray:
    """Upper bounds that leave at least one portfolio."""
    if kind == "fill":  # k assets at their cap fill the budget exactly
        return np.full(n, 1.0 / rng.integers(1, n + 1))
    if kind == "mixed":
        raw = rng.uniform(0.15, 1.0, n)
        return np.minimum(1.0, raw * max(1.0, 1.05 / raw.sum()))
    if kind == "tight":
        return np.full(n, min(1.0, 1.2 / n))
    return np.ones(n)


def returns(rng: np.random.Generator, n: int, kind: str) -> np.ndarray:
    """Expected returns inside [0, 1]."""
    if kind == "constant":
        return np.full(n, 0.1)
    r = rng.uniform(0.0, 0.3, n)
    if kind == "ties":
        return np.round(r, 1)
    if kind == "edge":
        r[rng.random(n) < 0.5] = 0.0
        r[rng.random(n) < 0.2] = 1.0
    return r


def anchored(rng: np.random.Generator, n: int, kind: str, truth: np.ndarray) -> tuple[Any, list]:
    """Anchors that `truth` satisfies, in the contract's form and as equations."""
    if kind == "assets" and n >= 2:
        pair = rng.choice(n, size=2, replace=False)
        return (
            {int(i): float(truth[i]) for i in pair},
            [(np.eye(n)[i], float(truth[i])) for i in pair],
        )
    if kind == "one":
        i = int(rng.integers(n))
        return {i: float(truth[i])}, [(np.eye(n)[i], float(truth[i]))]
    if kind == "portfolios":
        rows = [(row, float(row @ truth)) for row in rng.dirichlet(np.ones(n), size=min(2, n))]
        return rows, rows
    return None, []


@st.composite
def instances(draw: st.DrawFn, smallest: int = 2, largest: int = 5) -> Instance:
    """One update of the portfolio problem."""
    n = draw(st.integers(smallest, largest))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    Q = covariance(rng, n, draw(st.sampled_from(["dense", "factor", "identity", "equal"])))
    upper = caps(rng, n, draw(st.sampled_from(["none", "fill", "mixed", "tight"])))
    kinds = st.sampled_from(["plain", "ties", "constant", "edge"])
    truth = returns(rng, n, draw(kinds))
    anchors, rows = anchored(
        rng, n, draw(st.sampled_from(["none", "assets", "one", "portfolios"])), truth
    )
    low, high = np.zeros(n), np.ones(n)
    w = draw(st.sampled_from(WEIGHTS))
    start = returns(rng, n, draw(kinds))
    theta = reference.project_on_theta(reference.portfolio(Q, w, upper, low, high, rows), start)
    held = reference.forward(reference.portfolio(Q, rng.uniform(0.01, 0.99), upper), truth)
    y = held + draw(st.sampled_from(NOISES)) * rng.normal(size=n)
    eta = draw(st.sampled_from(RATES))
    return Instance(Q, upper, low, high, anchors, rows, theta, y, w, eta)


@dataclass(frozen=True)
class Quadratic:
    """One update of a multiobjective quadratic program."""

    Q: list[np.ndarray]
    c: list[np.ndarray]
    A: np.ndarray
    b: np.ndarray
    learn: str
    low: np.ndarray
    high: np.ndarray
    theta: np.ndarray
    y: np.ndarray
    weight: float | np.ndarray
    eta: float

    def weighted(self, weight: Any = None) -> reference.Weighted:
        """The twin's view of the problem."""
        weight = self.weight if weight is None else weight
        vector = [weight, 1 - weight] if np.isscalar(weight) else weight
        return reference.quadratic(
            self.Q, self.c, self.A, self.b, vector, self.learn, self.low, self.high
        )

    def problem(self) -> Any:
        """The engine's view of the problem."""
        import imop_engine as imop

        return imop.quadratic_problem(
            Q=self.Q,
            c=self.c,
            A=self.A,
            b=self.b,
            learn=self.learn,
            bounds=(self.low, self.high),
        )


@st.composite
def quadratics(
    draw: st.DrawFn, learn: str, largest: int = 3, objectives: tuple[int, ...] = (2, 3)
) -> Quadratic:
    """One update of learn="c" or learn="b", the paper's MQP among them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    eta = draw(st.sampled_from(RATES))
    noise = draw(st.sampled_from([0.0, 0.1, 0.5, 2.0]))
    edge = draw(st.booleans())
    if draw(st.booleans()):
        Q, c, A, b = reference.MQP_Q, reference.MQP_C, reference.MQP_A, reference.MQP_B
        weight: Any = float(draw(st.sampled_from([0.0, 0.025, 0.3, 0.5, 0.7, 5 / 6, 1.0])))
        low = np.repeat([1.0, -6.0], 2) if learn == "c" else np.full(2, -10.0)
        high = np.repeat([6.0, -1.0], 2) if learn == "c" else np.full(2, 10.0)
        y = reference.mqp_decision(rng.uniform()) + noise * rng.uniform(-1, 1, 2)
    else:
        n, m, p = (
            draw(st.integers(1, largest)),
            draw(st.integers(1, 3)),
            draw(st.sampled_from(objectives)),
        )
        roots = rng.normal(size=(p, n, n))
        Q = [root @ root.T + 0.3 * np.eye(n) for root in roots]
        c = list(rng.uniform(-3, 1, size=(p, n)))
        A, b = -rng.uniform(0.1, 1.0, size=(m, n)), -rng.uniform(0.5, 2.0, m)
        weight = rng.dirichlet(np.ones(p))
        weight = float(weight[0]) if p == 2 else weight
        truth = np.concatenate(c) if learn == "c" else b
        low, high = truth - rng.uniform(0, 2, len(truth)), truth + rng.uniform(0, 2, len(truth))
        if learn == "b":
            high = np.minimum(high, 0.0)
        y = rng.uniform(0, 1.5, n) + noise * rng.normal(size=n)
    theta = np.clip(rng.uniform(low - 1, high + 1), low, high) if edge else rng.uniform(low, high)
    return Quadratic(list(Q), list(c), A, b, learn, low, high, theta, y, weight, eta)
