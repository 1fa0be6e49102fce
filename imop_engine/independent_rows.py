"""Rows that say something of their own: what follows from the others is left out.

Limits often come twice, or from both sides with no room between. A search over complementarity
pairs would be misled by rows that depend on one another: their multipliers have no bound.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import Infeasible

SAME: Final = 1e-10  # two rows of length one are the same if no coefficient differs by more
Rows = tuple[Matrix, Vector]

CONTRADICT: Final = "two limits ask for different values of the same sum of holdings."


def independent_rows(equations: Rows, inequalities: Rows) -> tuple[Rows, Rows]:
    """The same set of portfolios by fewer rows.

    Args:
        equations: rows and what they must be, the budget first.
        inequalities: rows and what they must be at least.

    Returns:
        Equations, none of them a combination of the others; and inequalities of which none follows
        from another one on the plane of the equations.

    Raises:
        Infeasible: two rows contradict one another.
    """
    E, d = equations
    A, b = inequalities
    while True:
        E, d = _independent(E, d)
        kept, held = _tightest(E, d, A, b)
        A_left, b_left = A[kept], b[kept]
        if not held:
            return (E, d), (A_left, b_left)
        E, d = np.vstack([E, A[held]]), np.append(d, b[held])
        A, b = A_left, b_left


def _independent(E: Matrix, d: Vector) -> Rows:
    kept: list[int] = []
    for i in range(len(d)):
        rest, level = _on_plane(E[kept], d[kept], E[i], float(d[i]))
        if np.linalg.norm(rest) > SAME * np.linalg.norm(E[i]):
            kept.append(i)
        elif abs(level) > SAME * (1.0 + abs(d[i])):
            raise Infeasible(CONTRADICT)
    return E[kept], d[kept]


def _tightest(E: Matrix, d: Vector, A: Matrix, b: Vector) -> tuple[list[int], list[int]]:
    """Inequalities that no other one makes superfluous, and those that are equations in fact."""
    kept: dict[int, tuple[Vector, float]] = {}
    held: list[int] = []
    for i in range(len(b)):
        rest, level = _on_plane(E, d, A[i], float(b[i]))
        size = float(np.linalg.norm(rest))
        if size <= SAME * np.linalg.norm(A[i]):
            if level > SAME * (1.0 + abs(b[i])):
                raise Infeasible(CONTRADICT)
            continue
        rest, level = rest / size, level / size
        follows = False
        for j, (other, its) in list(kept.items()):
            if np.abs(rest - other).max() <= SAME:
                follows |= level <= its
                if level > its:
                    del kept[j]
            elif np.abs(rest + other).max() <= SAME and level + its >= -SAME:
                if level + its > SAME:
                    raise Infeasible(CONTRADICT)
                held.append(j)
                del kept[j]
                follows = True
        if not follows:
            kept[i] = rest, level
    return list(kept), held


def _on_plane(E: Matrix, d: Vector, row: Vector, level: float) -> tuple[Vector, float]:
    """A row and its level less what the equations say of it."""
    if not len(d):
        return row, level
    mix = np.linalg.lstsq(E.T, row, rcond=None)[0]
    return row - E.T @ mix, level - float(mix @ d)
