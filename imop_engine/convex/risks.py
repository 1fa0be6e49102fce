"""Portfolio problems with other risks than variance, from the history of returns.

Each risk is an expression of cvxpy over the scenarios of the history, and the same number in plain
numpy. All are convex, so whatever works with `convex_problem` works with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import cvxpy
import numpy as np
from numpy.typing import ArrayLike, NDArray

from imop_engine.allowed import FILL
from imop_engine.arguments import Anchors, Matrix, Vector, broadcast, labels_of, vector
from imop_engine.convex.cone import CLARABEL, ConeProgram
from imop_engine.convex.problem import convex_problem
from imop_engine.convex.statement import compile_program
from imop_engine.errors import Infeasible, InvalidInput
from imop_engine.problem import Problem

cp: Any = cvxpy  # its functions reach the top by star imports, which type checkers do not follow

LEVEL: Final = 0.95  # of the tail, where none is named
AVERSION: Final = 10.0  # of the entropic risk, where none is named
LEAST_PERIODS: Final = 12
SMALLEST: Final = 1e-9  # a risk below this is none


@dataclass(frozen=True)
class Risk:
    """One measure of risk.

    Attributes:
        name: as it is asked for.
        says: what it is, for people.
        stated: from the variable, the scenarios and the level to an expression and constraints.
        measured: the same numbers of given portfolios.
        level: what `level` is where none is given; None where the risk has none.
    """

    name: str
    says: str
    stated: Callable[[Any, Matrix, float], tuple[Any, list[Any]]]
    measured: Callable[[Matrix, Matrix, float], Vector]
    level: float | None = None


def _variance(x: Any, scenarios: Matrix, level: float) -> tuple[Any, list[Any]]:
    return cp.quad_form(x, cp.psd_wrap(np.cov(scenarios.T, ddof=1))), []


def _cvar(x: Any, scenarios: Matrix, level: float) -> tuple[Any, list[Any]]:
    excess, quantile = cp.Variable(len(scenarios)), cp.Variable()
    average = quantile + cp.sum(excess) / ((1.0 - level) * len(scenarios))
    return average, [excess >= 0, excess >= -scenarios @ x - quantile]


def _cvar_of(losses: Matrix, level: float) -> Vector:
    """The average of the worst (1 - level) of each row's losses; a part of a scenario counts."""
    count = losses.shape[1]
    tail = (1.0 - level) * count
    worst = -np.sort(-losses, axis=1)
    whole = int(np.floor(tail + 1e-12))
    last = worst[:, whole] * (tail - whole) if whole < count else 0.0
    found: Vector = (worst[:, :whole].sum(axis=1) + last) / tail
    return found


def _semivariance(x: Any, scenarios: Matrix, level: float) -> tuple[Any, list[Any]]:
    below = cp.Variable(len(scenarios), nonneg=True)
    centred = scenarios - scenarios.mean(axis=0)
    return cp.sum_squares(below) / (len(scenarios) - 1), [below >= -centred @ x]


def _deviation(x: Any, scenarios: Matrix, level: float) -> tuple[Any, list[Any]]:
    below = cp.Variable(len(scenarios), nonneg=True)
    centred = scenarios - scenarios.mean(axis=0)
    # deviations add up to zero, so those below make half of it
    return 2.0 * cp.sum(below) / len(scenarios), [below >= -centred @ x]


def _entropic(x: Any, scenarios: Matrix, level: float) -> tuple[Any, list[Any]]:
    return (cp.log_sum_exp(-level * scenarios @ x) - np.log(len(scenarios))) / level, []


def _centred(Y: Matrix, scenarios: Matrix) -> Matrix:
    found: Matrix = Y @ (scenarios - scenarios.mean(axis=0)).T
    return found


def _entropic_of(Y: Matrix, scenarios: Matrix, level: float) -> Vector:
    losses = -level * Y @ scenarios.T
    top = losses.max(axis=1)
    found: Vector = (top + np.log(np.exp(losses - top[:, None]).mean(axis=1))) / level
    return found


RISKS: Final[Mapping[str, Risk]] = {
    one.name: one
    for one in (
        Risk(
            "variance", "variance of a period's return", _variance,
            lambda Y, S, level: np.einsum("ti,ij,tj->t", Y, np.cov(S.T, ddof=1), Y),
        ),
        Risk(
            "cvar", "average loss in the worst periods", _cvar,
            lambda Y, S, level: _cvar_of(-Y @ S.T, level), LEVEL,
        ),
        Risk(
            "semivariance", "squared returns below the mean", _semivariance,
            lambda Y, S, level: np.sum(np.minimum(_centred(Y, S), 0.0) ** 2, axis=1) / (len(S) - 1),
        ),
        Risk(
            "mad", "mean absolute deviation", _deviation,
            lambda Y, S, level: np.abs(_centred(Y, S)).mean(axis=1),
        ),
        Risk(
            "entropic", "certain loss that is as bad, for exponential utility", _entropic,
            _entropic_of, AVERSION,
        ),
    )
}  # fmt: skip


def risk_of_name(text: str) -> tuple[Risk, float]:
    """A risk and its level from a name such as "cvar" or "cvar:0.9".

    >>> risk_of_name("cvar:0.9")[1]
    0.9
    """
    name, colon, number = str(text).partition(":")
    if name not in RISKS:
        raise InvalidInput(
            f"there is no risk {text!r}; use one of {', '.join(RISKS)}, with a level as cvar:0.9."
        )
    risk = RISKS[name]
    if not colon:
        return risk, 0.0 if risk.level is None else risk.level
    try:
        level = float(number)
    except ValueError:
        level = np.nan
    high = 1.0 if name == "cvar" else np.inf
    if risk.level is None or not 0.0 < level < high:
        raise InvalidInput(
            f"{text!r}: the level of cvar lies between 0 and 1, 0.95 say; entropic takes an "
            "aversion above 0, 10 say; the others take none."
        )
    return risk, level


def scenarios_of(history: Any) -> tuple[Matrix, tuple[str, ...]]:
    """The returns of a history, one period in each row, and the assets' names.

    Args:
        history: a frame or array of returns as fractions; whole rows only.
    """
    names = [str(c) for c in history.columns] if hasattr(history, "columns") else None
    try:
        table = np.array(history, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInput(
            "the history must be a table of returns, a row for each period."
        ) from None
    if table.ndim != 2 or len(table) < LEAST_PERIODS:
        raise InvalidInput(
            f"the history has shape {table.shape}; scenarios need a row for each period, at least "
            f"{LEAST_PERIODS}, and a column for each asset."
        )
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise InvalidInput(
            f"period {row + 1} of the history has no return in column {column + 1}; a scenario "
            "needs the returns of all assets. Drop such rows (history.dropna()), or leave the "
            "asset out."
        )
    return table, labels_of(names, table.shape[1])


def risk_problem(
    history: Any,
    risk: str = "cvar",
    upper: ArrayLike = 1.0,
    bounds: tuple[ArrayLike, ArrayLike] = (0.0, 1.0),
    anchors: Anchors | None = None,
    *,
    previous: ArrayLike | None = None,
    cost: ArrayLike = 0.0,
) -> Problem:
    """Investors who weigh return r'x against a risk that is read off the history; r is unknown.

    Args:
        history: Returns of a period, fractions; a row for each period, a column for each asset.
        risk: "variance", "cvar", "semivariance", "mad" or "entropic"; "cvar:0.9" and "entropic:5"
            name the tail's level and the aversion (0.95 and 10 where they are not named). All are
            risks of one period of the history.
        upper: Caps on each holding, one number or one for each asset.
        bounds: The box in which each expected return lies.
        anchors: What is known of r: {asset: return}, or a list of (vector over assets, value).
        previous: The portfolio before; with it, what is bought and sold costs.
        cost: Of buying or selling one unit of wealth, a fraction, taken off the return: one number
            or one for each asset.

    Returns:
        A problem; with variance and no costs a native one.

    >>> import numpy as np
    >>> history = np.random.default_rng(0).normal(0.01, [0.02, 0.05], (60, 2))
    >>> risk_problem(history, "cvar:0.9").n
    2
    """
    scenarios, names = scenarios_of(history)
    chosen, level = risk_of_name(risk)
    n = scenarios.shape[1]
    x, r = cp.Variable(n), cp.Parameter(n)
    second, rules = chosen.stated(x, scenarios, level)
    rules += _holdings(x, upper, names)
    first = -r @ x
    price = broadcast(cost, n, "cost")
    if previous is None and np.any(price != 0):
        raise InvalidInput(
            "cost is that of getting from one portfolio to another; give previous, the portfolio "
            "before, or leave cost out."
        )
    if previous is not None:
        before = vector(previous, "previous")
        if before.size != n or np.any(price < 0):
            raise InvalidInput(
                f"previous needs {n} holdings and cost no negative number; got {before.size} "
                f"holdings, least cost {price.min():g}."
            )
        first = first + price @ cp.abs(x - before)
    return convex_problem([first, second], rules, x, r, bounds, anchors=anchors, names=names)


def _holdings(x: Any, upper: ArrayLike, names: tuple[str, ...]) -> list[Any]:
    caps = np.minimum(broadcast(upper, len(names), "upper"), 1.0)
    if caps.sum() < 1.0 - FILL:
        raise Infeasible(
            f"the caps add up to {caps.sum():.6g}, so no portfolio can be fully invested; raise "
            "`upper` until they add up to at least 1."
        )
    return [cp.sum(x) == 1, x >= 0, *([x <= caps] if np.any(caps < 1.0) else [])]


@dataclass(frozen=True, eq=False)
class RiskFrontier:
    """The most return at a given risk: the frontier by levels of risk, without weights."""

    program: ConeProgram
    decided: NDArray[np.int64]
    size: float  # of the risk: limits are given as multiples of it
    least: float  # risk that no portfolio can go below
    cautious: Vector  # the portfolio that has it

    @classmethod
    def of(cls, scenarios: Matrix, risk: str, upper: ArrayLike = 1.0) -> RiskFrontier:
        """Compile a risk's program.

        Args:
            scenarios: returns, a row for each period.
            risk: by its name.
            upper: caps on each holding.
        """
        chosen, level = risk_of_name(risk)
        n = scenarios.shape[1]
        x, r, limit = cp.Variable(n), cp.Parameter(n), cp.Parameter()
        # A risk of 1e-4 a period beside returns near one is more than a solver's tolerance bears.
        even = chosen.measured(np.full((1, n), 1.0 / n), scenarios, level)
        size = max(abs(float(even[0])), SMALLEST)
        measured, rules = chosen.stated(x, scenarios, level)
        rules = rules + _holdings(x, upper, labels_of(None, n))
        program, decided = compile_program(
            -r @ x, [*rules, measured / size <= limit], x, [r, limit], CLARABEL
        )
        careful, place = compile_program(measured / size, rules, x, [], CLARABEL)
        answer = careful.solve(np.zeros(0), f"the portfolio of least {risk}")
        return cls(program, decided, size, answer.value * size, answer.v[place])

    def at(self, returns: Vector, levels: Vector) -> tuple[Matrix, Vector]:
        """Portfolios of most return at these levels of risk, and what they earn.

        Args:
            returns: expected, of each asset.
            levels: of risk, none below the least.
        """
        answers = [
            self.program.solve(
                np.append(returns, level / self.size), f"the most return at risk {level:.6g}"
            )
            for level in levels
        ]
        return (
            np.array([one.v[self.decided] for one in answers]),
            np.array([-one.value for one in answers]),
        )
