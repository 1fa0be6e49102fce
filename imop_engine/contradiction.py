"""Limits that no portfolio keeps: which of them contradict one another, and what would help.

Whether there is a portfolio is one linear program: by how much every limit has to give way at once.
Where that is not zero, limits are left out one by one as long as the rest still contradicts itself
(a deletion filter), so that what is named is a smallest set: without any one of them the others can
be kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import Infeasible
from imop_engine.limits import LimitRows
from imop_engine.sentences import limits as said

# A portfolio may miss limits by this much and still count as keeping them: ten times what the
# linear programs are solved to.
ROOM: Final = 1e-8
SOLVED_TO: Final = 1e-9
# A multiplier below this has no part in the contradiction.
NO_PART: Final = 1e-10

# Nobody set these, so nobody is told to change them: nothing is sold short, nothing is borrowed.
UNSAID: Final = ((">=", 0.0), ("<=", 1.0))


@dataclass(frozen=True, eq=False)
class Member:
    """One limit as `rows @ x <= values`, each row of length one at its largest coefficient.

    Args:
        rows: One row, two for an equality, or one for each asset of a common bound.
        values: Their right-hand sides.
        what: What is limited, for people.
        relation: "<=", ">=" or "="; "" for the budget, which nobody can loosen.
        value: The share it is limited to.
        unit: By what the rows were divided.
    """

    rows: Matrix
    values: Vector
    what: str
    relation: str
    value: float
    unit: float = 1.0

    @property
    def sentence(self) -> str:
        """The limit in words."""
        if not self.relation:
            return self.what
        return said.limit_sentence(self.what, self.relation, self.value)


@dataclass(frozen=True)
class Contradiction:
    """Limits that cannot be kept together.

    Args:
        members: A smallest set of them, in words.
        remedies: What single ones would have to be instead, everything else kept.
    """

    members: tuple[str, ...]
    remedies: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What contradicts what, and what to do."""
        return said.contradiction(self.members, self.remedies)


def require_feasible(names: Sequence[str], lower: Vector, upper: Vector, rows: LimitRows) -> None:
    """Refuse limits that no portfolio keeps.

    Args:
        names: The assets.
        lower: The least that may be held of each.
        upper: The most that may be held of each; infinite where there is no cap.
        rows: Limits on what is held together.

    Raises:
        Infeasible: with a smallest set of limits that contradict one another.
    """
    found = find_contradiction(names, lower, upper, rows)
    if found is not None:
        raise Infeasible(found.sentence)


def find_contradiction(
    names: Sequence[str], lower: Vector, upper: Vector, rows: LimitRows
) -> Contradiction | None:
    """A smallest set of limits that contradict one another; None where a portfolio keeps all.

    Args:
        names: The assets.
        lower: The least that may be held of each.
        upper: The most that may be held of each; infinite where there is no cap.
        rows: Limits on what is held together.

    >>> from imop_engine.limits import limit_rows
    >>> rows = limit_rows([({"A": 1}, "<=", 0.3), ({"B": 1}, "<=", 0.5)], ("A", "B"))
    >>> find_contradiction(("A", "B"), np.zeros(2), np.ones(2), rows).remedies
    ('A at most 50%', 'B at most 70%')
    """
    members = list(_members(names, lower, upper, rows))
    beyond, multipliers = _violation(members)
    if beyond <= ROOM:
        return None
    asked = [one for one, part in zip(members, multipliers, strict=True) if part > NO_PART]
    start = asked if _violation(asked)[0] > ROOM else members
    # What is tried first is left out more easily; the first limits given are kept longest.
    orders = ([*range(len(start))], [*reversed(range(len(start)))])
    smallest = min((_filtered(start, order) for order in orders), key=len)
    chosen = [one for one in members if one in smallest]
    remedies = tuple(remedy for one in chosen for remedy in _remedy(one, members))
    return Contradiction(tuple(one.sentence for one in reversed(chosen)), remedies[::-1])


def _filtered(members: list[Member], order: Iterable[int]) -> list[Member]:
    """Leave members out, in this order, as long as the rest contradicts itself."""
    kept = set(range(len(members)))
    for place in order:
        rest = kept - {place}
        if rest and _violation([members[i] for i in sorted(rest)])[0] > ROOM:
            kept = rest
    return [members[place] for place in sorted(kept)]


def _members(
    names: Sequence[str], lower: Vector, upper: Vector, rows: LimitRows
) -> Iterator[Member]:
    """Every limit, those that people think of last first."""
    n = len(names)
    ones = np.ones((1, n))
    yield Member(np.vstack([ones, -ones]), np.array([1.0, -1.0]), said.BUDGET, "", 1.0)
    for bound, relation, sign in ((lower, ">=", -1.0), (upper, "<=", 1.0)):
        values, counts = np.unique(bound[np.isfinite(bound)], return_counts=True)
        for value in values[np.argsort(-counts, kind="stable")]:
            where = np.flatnonzero(bound == value)
            every = where.size == n > 1
            what = said.EVERY_HOLDING if every else said.each([names[int(i)] for i in where])
            yield Member(
                sign * np.eye(n)[where],
                np.full(where.size, sign * value),
                what,
                relation,
                float(value),
            )
    for i in reversed(range(len(rows.h))):
        signs = {"<=": [1.0], ">=": [-1.0], "=": [1.0, -1.0]}[rows.senses[i]]
        unit = float(np.abs(rows.G[i]).max()) or 1.0
        yield Member(
            np.outer(signs, rows.G[i]) / unit,
            np.array(signs) * rows.h[i] / unit,
            rows.what[i],
            rows.senses[i],
            float(rows.h[i]),
            unit,
        )


def _violation(members: list[Member]) -> tuple[float, Vector]:
    """By how much limits have to give way at once, and what each has to do with that."""
    rows = np.vstack([one.rows for one in members])
    values = np.concatenate([one.values for one in members])
    beyond, _, multipliers = _least(rows, values, np.ones(len(values)))
    starts = np.cumsum([0, *(len(one.values) for one in members)])[:-1]
    return beyond, np.add.reduceat(np.abs(multipliers), starts)


def _remedy(member: Member, members: list[Member]) -> Iterator[str]:
    """The least that a limit would have to give way, alone and with all others kept."""
    if not member.relation or (member.relation, member.value) in UNSAID:
        return
    rows = np.vstack([one.rows for one in members])
    values = np.concatenate([one.values for one in members])
    mine = np.concatenate([np.full(len(one.values), one is member) for one in members])
    beyond, x, _ = _least(rows, values, mine.astype(float))
    if not np.isfinite(beyond):
        return  # others contradict one another too
    if member.relation == "=":
        value = float(member.rows[0] @ x) * member.unit
    else:
        value = member.value + beyond * member.unit * (1.0 if member.relation == "<=" else -1.0)
    yield said.limit_sentence(member.what, member.relation, round(value, 10))


def _least(rows: Matrix, values: Vector, gives: Vector) -> tuple[float, Vector, Vector]:
    """The least t with `rows @ x <= values + t * gives`, an x for it, and the multipliers."""
    from scipy.optimize import linprog

    m, n = rows.shape
    cost = np.zeros(n + 1)
    cost[-1] = 1.0
    done = linprog(
        cost,
        A_ub=np.column_stack([rows, -gives]),
        b_ub=values,
        bounds=[*[(None, None)] * n, (0.0, None)],
        method="highs",
        options={
            "primal_feasibility_tolerance": SOLVED_TO,
            "dual_feasibility_tolerance": SOLVED_TO,
        },
    )
    if done.status != 0:
        return np.inf, np.zeros(n), np.zeros(m)
    return float(done.x[-1]), done.x[:-1], np.asarray(done.ineqlin.marginals)
