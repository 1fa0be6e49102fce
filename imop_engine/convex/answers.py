"""Nouns of compiled programs: the cone they lie in, what a solver answers, what it refuses."""

from __future__ import annotations

from dataclasses import dataclass

from imop_engine.arguments import Vector
from imop_engine.errors import ImopError, Infeasible, InvalidInput, SolverUnavailable


@dataclass(frozen=True, eq=False)
class Cones:
    """The cone K: so many rows that are equal, then not negative, then in second-order cones; then
    triangles of semidefinite matrices by their side, exponential cones and power cones."""

    zero: int
    nonnegative: int
    second_order: tuple[int, ...]
    semidefinite: tuple[int, ...]
    exponential: int
    power: tuple[float, ...]

    @property
    def differentiable(self) -> bool:
        """Whether projections on K have a derivative that is known here."""
        return not (self.semidefinite or self.exponential or self.power)

    def blocks(self) -> list[slice]:
        """The rows of each second-order cone."""
        first, found = self.zero + self.nonnegative, []
        for size in self.second_order:
            found.append(slice(first, first + size))
            first += size
        return found


@dataclass(frozen=True, eq=False)
class Answer:
    """A solution with its multipliers: A v + s = b, and z of the rows."""

    v: Vector
    s: Vector
    z: Vector
    value: float
    seconds: float  # of the solver alone


def refusal(status: str, solver: str, what: str) -> ImopError:
    """The error for a solver that did not end with a solution.

    Args:
        status: how the solver ended, in its own word.
        solver: its name.
        what: what was solved.
    """
    word = status.lower().replace("_", "").replace("almost", "")
    if "infeasible" in word and "dual" not in word:
        return Infeasible(
            f"{what}: no decision satisfies the constraints. Loosen a constraint, or keep theta, "
            "by `bounds`, where there is a decision."
        )
    if "unbounded" in word or "dualinfeasible" in word:
        return InvalidInput(
            f"{what}: the objectives have no least value, decisions can go on for ever. Add bounds "
            "on the decision to `constraints`, or keep every weight above zero."
        )
    return SolverUnavailable(
        f"{what}: {solver} ended with {status!r} and no solution. Bring the numbers of the "
        "objectives and of the constraints nearer to one, or name another solver: "
        'solver="SCS" is slower and gives in less easily.'
    )
