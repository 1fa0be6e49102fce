"""What a fit needs of the investors: their variances, and the sum of what they hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from imop_engine.arguments import Matrix, Vector
from imop_engine.efficiency_gap.measure import nearest_inside, variances_of
from imop_engine.errors import InvalidInput
from imop_engine.problem import Problem

BLOCK: Final = 1 << 18  # portfolios that are worked on at once


@dataclass(frozen=True, eq=False)
class Sample:
    """All that the value needs of the investors."""

    variances: Vector  # ascending
    held: Vector  # sum of the portfolios
    count: int
    moved: int
    lifted: tuple[Vector, ...]  # variances under covariances with more risk, see `fit.lifts_of`

    @classmethod
    def of(cls, problem: Problem, decisions: Any, lifts: Sequence[float]) -> Sample:
        """Read the portfolios once.

        Args:
            problem: the portfolio problem.
            decisions: portfolios, a table or chunks of one.
            lifts: what to add to each variance, for the copies in `lifted`.
        """
        held, moved = np.zeros(problem.n), 0
        kept: list[Vector] = []
        squares: list[Vector] = []
        for chunk in _chunks(problem, decisions):
            Y, away = nearest_inside(problem, chunk)
            kept.append(variances_of(problem, Y))
            if lifts:
                squares.append((Y**2).sum(axis=1))
            held += Y.sum(axis=0)
            moved += int((away > 0).sum())
        if not kept:
            raise InvalidInput("there are no portfolios to fit.")
        s = np.concatenate(kept)
        lifted = tuple(np.sort(s + lift * np.concatenate(squares)) for lift in lifts)
        s.sort()
        return cls(s, held, s.size, moved, lifted)


def _chunks(problem: Problem, decisions: Any) -> Iterator[Matrix]:
    """Portfolios a block at a time; an iterable of chunks is told by its having no shape."""
    is_table = hasattr(decisions, "shape") or (
        isinstance(decisions, (list, tuple)) and all(np.ndim(row) <= 1 for row in decisions)
    )
    chunks: Iterable[Any] = [decisions] if is_table else decisions
    for chunk in chunks:
        Y = problem.check_decisions(chunk)
        for first in range(0, len(Y), BLOCK):
            yield Y[first : first + BLOCK]
