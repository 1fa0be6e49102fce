"""What a problem with a program of its own can be asked for.

Quadratic problems are arrays that everybody reads. Any other convex problem is solved by whoever
made it (`Problem.program`); here is what the algorithms ask of it, and nothing of how it is done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from imop_engine.arguments import Matrix, Vector

if TYPE_CHECKING:
    from imop_engine.problem import Problem


class OwnProgram(Protocol):
    """Solves a problem that is not written as arrays."""

    def decisions(self, theta: Vector, weights: Matrix) -> Matrix:
        """S(w_k, theta) for weights on the simplex, one in each row."""
        ...

    def valued_decisions(self, theta: Vector, weights: Matrix) -> tuple[Matrix, Matrix]:
        """S(w_k, theta) and the objectives there, one row for each weight."""
        ...

    def slope(self, theta: Vector, weight: Vector) -> tuple[Vector, Matrix]:
        """S(w, theta) and how it changes with theta, a column for each parameter."""
        ...

    def suboptimality(
        self, theta: Vector, decision: Vector, weight: Vector
    ) -> tuple[float, Vector]:
        """w'f(y, theta) - min_x w'f(x, theta), and its gradient in theta.

        Args:
            theta: The unknown parameters.
            decision: The decision y.
            weight: A point of the simplex.
        """
        ...

    def update(
        self, problem: Problem, theta: Vector, Y: Matrix, weights: Matrix, rate: float
    ) -> tuple[Vector, Matrix, float]:
        """The best theta that is found for min 1/2 |theta - theta_t|^2 + rate mean |y_i - x_i|^2.

        Args:
            problem: What is decided, and which theta are possible.
            theta: The old theta, theta_t.
            Y: The observed decisions, one in each row.
            weights: The weight of each, a point of the simplex in each row.
            rate: The learning rate.

        Returns:
            theta, the decision it explains for each y, and its objective.
        """
        ...
