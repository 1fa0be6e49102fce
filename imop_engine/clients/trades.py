"""What to sell and what to buy: the most return at the client's own risk within limits.

    maximise r'x  over  x'Qx <= y'Qy,  1'x = 1,  0 <= x <= max(caps, y),  sold(x) <= turnover

where y is what is held and sold(x) = sum max(y - x, 0), which equals what is bought. Without a
limit on turnover the answer is the efficient twin. With one it is found by supporting hyperplanes:
linear programs whose risk limit is replaced by tangents, one more a round. Each round gives a bound
that nothing can exceed, and, pulled back to the risk limit, a portfolio that is allowed; they meet.
So the answer comes with its proof.

Trades smaller than the least are not made. Which of them to do without is a puzzle that is not
solved exactly: they are taken out and the rest is solved again, until none is left that is too
small; once all that are too small at a time, once the smaller half of them, and the better of the
two is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy.optimize import linprog

from imop_engine.arguments import Vector
from imop_engine.efficiency_gap.measure import efficiency
from imop_engine.errors import ImopError, InvalidInput
from imop_engine.problem import Problem

# Return a year by which bound and answer may differ: a hundred-thousandth of a basis point.
CLOSE: Final = 1e-9
MOST_ROUNDS: Final = 400
# The linear programs' own tolerance; theirs is far too wide for shares of wealth.
FEASIBLE: Final = 1e-10
NO_TRADE: Final = 1e-8  # of wealth: rounding, whatever the least trade is


@dataclass(frozen=True)
class TradeRules:
    """Limits on trading.

    Args:
        turnover: the most that may be sold, as a share of wealth; as much is bought.
        least: the smallest trade that is made, as a share of wealth.
    """

    turnover: float = 1.0
    least: float = 0.005

    def __post_init__(self) -> None:
        if not 0.0 <= self.turnover <= 1.0:
            raise InvalidInput(
                f"turnover is {self.turnover:g}; give the share of wealth that may be sold, 0 to 1."
            )
        if not 0.0 <= self.least < 1.0:
            raise InvalidInput(
                f"the least trade is {self.least:g}; give a share of wealth, 0.005 say."
            )


@dataclass(frozen=True, eq=False)
class Trades:
    """What to change of a portfolio.

    Attributes:
        changes: share of wealth bought (above zero) or sold of each asset; they add up to zero.
        portfolio: what is held afterwards.
        turnover: share of wealth that is sold.
        gain: expected return a year beyond that of the holdings.
        bound: a gain that no portfolio within the limits, with the trades that were taken out left
            out, can exceed.
        left_out: how many trades were too small to be made.
    """

    changes: Vector
    portfolio: Vector
    turnover: float
    gain: float
    bound: float
    left_out: int

    @property
    def certified(self) -> bool:
        """Whether nothing within the limits is better."""
        return self.bound - self.gain <= 2.0 * CLOSE


def best_trades(problem: Problem, theta: Any, held: Any, rules: TradeRules | None = None) -> Trades:
    """The trades that gain most at no more risk, within limits.

    Args:
        problem: a portfolio problem; its caps are not exceeded, and an asset that is held above its
            cap is not bought.
        theta: expected returns, a year.
        held: what is held now, a share of wealth of each asset.
        rules: limits on trading; None: no limit on turnover, trades of 0.5% at least.

    Returns:
        Trades that add up to zero, with a bound that proves them best.

    >>> from imop_engine import portfolio_problem
    >>> problem = portfolio_problem([[0.04, 0.0], [0.0, 0.04]])
    >>> found = best_trades(problem, [0.02, 0.06], [0.75, 0.25], TradeRules(turnover=0.2))
    >>> found.changes.round(6).tolist(), round(found.gain, 6), found.certified
    ([-0.2, 0.2], 0.008, True)
    """
    limits = rules or TradeRules()
    r = problem.check_theta(theta)
    y = np.maximum(problem.check_decisions([held])[0], 0.0)
    y = y / y.sum()
    twin = efficiency(problem, r, y[None])
    change = twin.portfolios[0] - y
    bound = float(change @ r)
    above_caps = twin.moved[0] > NO_TRADE  # then the twin is another portfolio's
    if above_caps or _sold(change) > limits.turnover + NO_TRADE:
        change, bound = _Limited(problem, r, y, np.zeros(len(y), bool), limits).solve()
    ways = [_without_small(problem, r, y, limits, change, bound, part) for part in (1, 2)]
    return max(ways, key=lambda one: one.gain)


def _without_small(
    problem: Problem, r: Vector, y: Vector, limits: TradeRules, change: Vector, bound: float,
    part: int,
) -> Trades:  # fmt: skip
    """Take trades out until none is left that is too small.

    Args:
        problem: a portfolio problem.
        r: expected returns.
        y: what is held.
        limits: on trading.
        change: the best trades of any size.
        bound: a gain that none can exceed.
        part: 1 takes all that are too small out at once, 2 the smaller half of them.
    """
    fixed = np.zeros(len(y), dtype=bool)
    while (small := _small(change, limits.least) & ~fixed).any():
        fixed = fixed | _smallest(change, small, part)
        change, bound = _Limited(problem, r, y, fixed, limits).solve()
    return _made(y, change, r, bound, int(fixed.sum()))


def _sold(change: Vector) -> float:
    return float(np.maximum(-change, 0.0).sum())


def _small(change: Vector, least: float) -> Any:
    """Trades that are too small to be made, and no mere rounding."""
    return (np.abs(change) >= NO_TRADE) & (np.abs(change) < least)


def _smallest(change: Vector, small: Any, part: int) -> Any:
    """The smallest 1 / part of the trades that are too small; the others may grow without them.

    Args:
        change: what is bought and sold.
        small: which trades are too small.
        part: 1 or 2.
    """
    order = np.flatnonzero(small)
    order = order[np.argsort(np.abs(change[order]), kind="stable")]
    out = np.zeros(len(change), dtype=bool)
    out[order[: -(-len(order) // part)]] = True
    return out


def _made(y: Vector, change: Vector, r: Vector, bound: float, left_out: int) -> Trades:
    """The trades with their sum, which rounding moved a little, put right in the largest of them.

    Args:
        y: what is held.
        change: what is bought and sold.
        r: expected returns.
        bound: a gain that none can exceed.
        left_out: how many trades were too small.
    """
    exact = np.where(np.abs(change) < NO_TRADE, 0.0, change)
    if np.any(exact):
        exact[np.argmax(np.abs(exact))] -= exact.sum()
    after, gain = np.maximum(y + exact, 0.0), float(exact @ r)
    return Trades(exact, after, _sold(exact), gain, max(bound, gain), left_out)


class _Limited:
    """The problem with a limit on turnover and assets that are not traded.

    Variables are what is bought and what is sold of each asset.

    Args:
        problem: a portfolio problem.
        r: expected returns.
        y: what is held.
        fixed: assets that are not traded.
        rules: limits on trading.
    """

    def __init__(
        self, problem: Problem, r: Vector, y: Vector, fixed: Any, rules: TradeRules
    ) -> None:
        n = len(y)
        self.Q, self.y, self.r = problem.covariance, y, r - r.mean()
        self.s = float(y @ self.Q @ y)
        room = np.where(fixed, 0.0, np.maximum(problem.upper - y, 0.0))
        sellable = np.where(fixed, 0.0, np.maximum(y - problem.lower, 0.0))
        self.bounds = np.column_stack([np.zeros(2 * n), np.concatenate([room, sellable])])
        self.balance = np.column_stack([problem.equal_rows, -problem.equal_rows])
        self.rows = [np.concatenate([np.ones(n), np.zeros(n)])]
        self.limits = [rules.turnover]
        # who breaks a limit today may not break it further
        for row, level in zip(problem.rows, problem.rhs0, strict=True):
            self.rows.append(np.concatenate([-row, row]))
            self.limits.append(max(float(row @ y) - level, 0.0))
        if self.s > 0.0:
            self.touch(y)

    def touch(self, p: Vector) -> None:
        """Add the tangent of the risk limit at a portfolio of exactly that risk."""
        slope = self.Q @ p / self.s
        self.rows.append(np.concatenate([slope, -slope]))
        self.limits.append(max(1.0 - float(slope @ self.y), 0.0))

    def best(self, gains: Vector) -> Vector:
        """The changes of most gain under the tangents so far."""
        found = linprog(
            -np.concatenate([gains, -gains]),
            A_ub=np.array(self.rows),
            b_ub=np.array(self.limits),
            A_eq=self.balance,
            b_eq=np.zeros(len(self.balance)),
            bounds=self.bounds,
            method="highs",
            options={"primal_feasibility_tolerance": FEASIBLE, "dual_feasibility_tolerance": 1e-9},
        )
        if found.x is None:
            raise ImopError(f"no trades could be found: {found.message}")
        n = len(self.y)
        change: Vector = found.x[:n] - found.x[n:]
        return change

    def inside(self) -> Vector | None:
        """Changes that lower the risk; None where none does, so that nothing can be traded."""
        down = self.best(-self.Q @ self.y)
        slope = float(down @ self.Q @ self.y)
        if slope >= -1e-13 * max(self.s, 1e-12):
            return None
        half = 0.5 * min(1.0, -slope / float(down @ self.Q @ down))
        return half * down

    def risk(self, change: Vector) -> float:
        x = self.y + change
        return float(x @ self.Q @ x)

    def solve(self) -> tuple[Vector, float]:
        """The changes of most gain at no more risk, and a gain that none can exceed."""
        nothing = np.zeros(len(self.y))
        inner = self.inside()
        if inner is None:
            return nothing, 0.0
        best, gained = nothing, 0.0
        bound = np.inf
        for _ in range(MOST_ROUNDS):
            there = self.best(self.r)
            bound = min(bound, float(there @ self.r))
            if self.risk(there) <= self.s * (1.0 + 1e-12):
                return there, bound
            at = self._pulled_back(inner, there)
            gain = float(at @ self.r)
            if gain > gained:
                best, gained = at, gain
            if bound - gained <= CLOSE:
                break
            self.touch(self.y + at)
        return best, max(bound, gained)

    def _pulled_back(self, inner: Vector, outer: Vector) -> Vector:
        """Where the way from inside to outside meets the risk limit."""
        x, d = self.y + inner, outer - inner
        a, b, c = float(d @ self.Q @ d), float(x @ self.Q @ d), float(x @ self.Q @ x) - self.s
        t = (-b + np.sqrt(max(b * b - a * c, 0.0))) / a
        met: Vector = inner + min(max(t, 0.0), 1.0) * d
        return met
