"""What a fit needs of the investors: their variances, and the sum of what they hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from imop_engine.arguments import Matrix, Vector
from imop_engine.efficiency_gap.inside import put_inside
from imop_engine.efficiency_gap.measure import variances_of
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
    # how many investors each variance stands for; one number where all stand for as many
    weights: Vector = field(default_factory=lambda: np.ones(1))

    @classmethod
    def of(cls, problem: Problem, decisions: Any, lifts: Sequence[float]) -> Sample:
        """Read the portfolios once.

        Args:
            problem: the portfolio problem.
            decisions: portfolios, a table or chunks of one.
            lifts: what to add to each variance, for the copies in `lifted`.
        """
        return cls.together(
            cls.of_block(problem, block, lifts) for block in _blocks(problem, decisions)
        )

    @classmethod
    def of_block(cls, problem: Problem, block: Matrix, lifts: Sequence[float]) -> Sample:
        """What one block of portfolios adds, its variances as they come.

        Args:
            problem: the portfolio problem.
            block: portfolios, one in each row.
            lifts: what to add to each variance, for the copies in `lifted`.
        """
        Y, away = put_inside(problem, block)
        s = variances_of(problem, Y)
        squares = (Y**2).sum(axis=1) if lifts else s
        lifted = tuple(s + lift * squares for lift in lifts)
        return cls(s, Y.sum(axis=0), s.size, int((away > 0).sum()), lifted)

    @classmethod
    def together(cls, blocks: Iterable[Sample]) -> Sample:
        """The sum of what blocks add, wherever they were looked at."""
        found = list(blocks)
        if not found:
            raise InvalidInput("there are no portfolios to fit.")
        held = np.zeros(found[0].held.size)
        for one in found:
            held += one.held
        lifted = tuple(
            np.sort(np.concatenate(each))
            for each in zip(*(one.lifted for one in found), strict=True)
        )
        s = np.concatenate([one.variances for one in found])
        s.sort()
        return cls(s, held, s.size, sum(one.moved for one in found), lifted)


def _blocks(problem: Problem, decisions: Any) -> Iterator[Matrix]:
    """Portfolios a block at a time; an iterable of chunks is told by its having no shape."""
    is_table = hasattr(decisions, "shape") or (
        isinstance(decisions, (list, tuple)) and all(np.ndim(row) <= 1 for row in decisions)
    )
    chunks: Iterable[Any] = [decisions] if is_table else decisions
    for chunk in chunks:
        Y = problem.check_decisions(chunk)
        for first in range(0, len(Y), BLOCK):
            yield Y[first : first + BLOCK]
