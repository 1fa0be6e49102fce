"""Whether portfolios keep the limits that were given: which are broken, by whom and by how much.

A portfolio outside its limits counts as an error in what is held, and where many are outside,
beliefs are bent to explain them. So a wrong limit is seen before it does harm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.limits import Limits, LinearLimit
from imop_engine.sentences.limits import EVERY_HOLDING, each, limit_sentence

ROUNDED_TO: Final = (
    1e-3  # of a holding, as files are written; by so much a limit is missed for free
)


class BrokenLimit(NamedTuple):
    """A limit that some portfolios break.

    Args:
        sentence: the limit in words.
        who: which portfolios break it, by more than rounding.
        excess: by how much each of these does, a share of the portfolio.
        spread: how much an error of one in each holding moves what is limited, for each of these.
    """

    sentence: str
    who: NDArray[np.bool_]
    excess: Vector
    spread: Vector


def broken_limits(
    limits: Limits, names: Sequence[str], Y: Matrix, step: float | None = None
) -> tuple[BrokenLimit, ...]:
    """Limits that portfolios break by more than rounding, those that most break first.

    Args:
        limits: as they were given.
        names: the assets.
        Y: portfolios, one in each row, fractions of wealth.
        step: what holdings are rounded to where that is coarser than 0.001.

    >>> limits = Limits(0.5, linear=(LinearLimit({"A": 1, "B": 1}, "<=", 0.6),))
    >>> one, = broken_limits(limits, ("A", "B", "C"), np.array([[0.5, 0.3, 0.2], [0.4, 0.2, 0.4]]))
    >>> one.sentence, one.who.tolist(), one.excess.round(6).tolist()
    ('A + B at most 60%', [True, False], [0.2])
    """
    held = (Y > 0.0).astype(float)
    room = max(ROUNDED_TO, step or 0.0)
    found = []
    for sentence, parts in _of_each(limits, tuple(names)):
        # a common bound is broken by the asset that breaks it most
        excess = np.column_stack([limit.excess(Y, names) for limit in parts])
        rows = np.array([limit.row(names) for limit in parts])
        beyond = excess - room * (held @ np.abs(rows).T)
        worst = beyond.argmax(axis=1)
        take = np.arange(len(Y)), worst
        who = beyond[take] > 1e-9
        if who.any():
            spread = np.sqrt(held @ (rows**2).T)[take]
            found.append(BrokenLimit(sentence, who, excess[take][who], spread[who]))
    return tuple(sorted(found, key=lambda one: -int(one.who.sum())))


def _of_each(
    limits: Limits, names: tuple[str, ...]
) -> Iterator[tuple[str, tuple[LinearLimit, ...]]]:
    """Every limit in words, and as limits on what is held; caps of one size are one limit."""
    for bounds, relation in ((limits.upper_of(names), "<="), (limits.lower_of(names), ">=")):
        for value in np.unique(bounds):
            if value >= 1.0 if relation == "<=" else value <= 0.0:
                continue
            where = [name for name, bound in zip(names, bounds, strict=True) if bound == value]
            what = EVERY_HOLDING if len(where) == len(names) else each(where)
            parts = tuple(LinearLimit({name: 1.0}, relation, float(value)) for name in where)
            yield limit_sentence(what, relation, float(value)), parts
    for limit in limits.linear:
        yield limit.sentence, (limit,)
