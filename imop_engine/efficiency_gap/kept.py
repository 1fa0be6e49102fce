"""Holdings whose return is not known are kept as they are, and the rest is judged.

What an investor could earn more at the same risk without touching them does not depend on their
returns, as the holdings and the portfolio compared hold equally much of them. With them it can
only be more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.capabilities import LIMITED
from imop_engine.efficiency_gap.measure import efficiency
from imop_engine.errors import ImopError
from imop_engine.problem import Problem

# A share of wealth from which an asset matters: half a per cent.
MATTERS: Final = 0.005
# Investors who keep equally much share a problem, which takes a millisecond or two to make; more of
# them make a table too slow.
MOST_KEPT: Final = 2_000


@dataclass(frozen=True, eq=False)
class Kept:
    """One investor's choice without the holdings that are kept.

    Attributes:
        problem: whose portfolios all hold what is kept.
        twin: the best of them at the investor's own risk.
        gap: what it returns more a year.
    """

    problem: Problem
    twin: Vector
    gap: float


def keeping(problem: Problem, theta: Vector, held: Vector, kept: NDArray[np.bool_]) -> Kept | None:
    """What an investor can do while some assets are neither bought nor sold.

    Args:
        problem: the study's.
        theta: expected returns, a year; those of the kept assets play no part.
        held: shares of wealth.
        kept: which assets stay as they are.

    Returns:
        None where the limits leave no such portfolio.

    >>> from imop_engine.problem import portfolio_problem
    >>> problem = portfolio_problem(np.diag([0.04, 0.04, 0.04]))
    >>> held, third = np.array([0.6, 0.3, 0.1]), np.array([False, False, True])
    >>> found = keeping(problem, np.array([0.02, 0.06, 9.0]), held, third)
    >>> found.twin.round(6).tolist(), round(found.gap, 6)
    ([0.3, 0.6, 0.1], 0.012)
    """
    return _together(problem, theta, held[None], kept, [0]).get(0)


def keeping_all(
    problem: Problem,
    theta: Vector,
    held: Matrix,
    kept: NDArray[np.bool_],
    rows: NDArray[np.intp],
) -> dict[int, Kept]:
    """The same for many investors, by row.

    Args:
        problem: the study's.
        theta: expected returns, a year; those of the kept assets play no part.
        held: shares of wealth, an investor in each row.
        kept: which assets stay as they are.
        rows: of the investors asked about.

    Returns:
        Without those whose limits leave no such portfolio, and empty where those who keep
        different shares are more than `MOST_KEPT`.
    """
    alike: dict[bytes, list[int]] = {}
    for row in rows:
        alike.setdefault(held[row, kept].tobytes(), []).append(int(row))
    if len(alike) > MOST_KEPT:
        return {}
    found: dict[int, Kept] = {}
    for some in alike.values():
        found.update(_together(problem, theta, held, kept, some))
    return found


def _together(
    problem: Problem, theta: Vector, held: Matrix, kept: NDArray[np.bool_], rows: list[int]
) -> dict[int, Kept]:
    """Investors who keep equally much: they choose from the same portfolios."""
    first = held[rows[0]]
    try:
        rest = replace(
            problem,
            capabilities=LIMITED,
            lower=np.where(kept, first, problem.lower),
            upper=np.where(kept, first, problem.upper),
        )
        found = efficiency(rest, theta, held[rows])
    except ImopError:
        return {}
    return {
        row: Kept(rest, twin, float(gap))
        for row, twin, gap in zip(rows, found.portfolios, found.gaps, strict=True)
    }
