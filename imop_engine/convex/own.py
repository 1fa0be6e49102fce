"""What a problem asks of its compiled programs: decisions, their slopes, what a decision leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.batch import newton_point
from imop_engine.convex.answers import Answer
from imop_engine.convex.cone import ConeProgram
from imop_engine.errors import Infeasible
from imop_engine.problem import Problem

STEPS: Final = 20  # Gauss-Newton steps from one start
STOP: Final = 1e-7  # a step that gains less than this share of the objective is the last
SHORTEST: Final = 1e-3  # share of a step below which it is given up
DIFFERENCE: Final = 1e-2  # step of theta where slopes are differences of decisions
CUTS_OF_A_START: Final = 30
DRAWN: Final = 2  # starts drawn in Theta, besides the theta of before and the convex loss's


@dataclass(frozen=True, eq=False)
class ConvexProgram:
    """A multiobjective convex program, compiled: see `programs.OwnProgram`.

    Attributes:
        forward: decides; its parameters are theta and the weights.
        decided: where the decision is among its variables.
        valued: the weighted objectives at a given decision; its parameters are theta, the weights
            and the decision.
        affine: whether every objective is affine in theta and no constraint has theta in it.
        box: the least and the greatest of each parameter: beyond them there may be no decision.
    """

    forward: ConeProgram
    decided: NDArray[np.int64]
    valued: ConeProgram
    affine: bool
    box: tuple[Vector, Vector]

    def decisions(self, theta: Vector, weights: Matrix) -> Matrix:
        """S(w_k, theta) for weights on the simplex, one in each row."""
        return np.array([self._solve(theta, w).v[self.decided] for w in weights])

    def valued_decisions(self, theta: Vector, weights: Matrix) -> tuple[Matrix, Matrix]:
        """S(w_k, theta) and the objectives there: how the least value changes with each weight."""
        answers = [self._solve(theta, w) for w in weights]
        slopes = [self.forward.value_slope(one)[theta.size :] for one in answers]
        return np.array([one.v[self.decided] for one in answers]), np.array(slopes)

    def seconds(self, theta: Vector, weight: Vector) -> float:
        """What the solver itself says that one decision took."""
        return self._solve(theta, weight).seconds

    def slope(self, theta: Vector, weight: Vector) -> tuple[Vector, Matrix]:
        """S(w, theta) and how it changes with theta, a column for each parameter."""
        answer = self._solve(theta, weight)
        x = answer.v[self.decided]
        if self.forward.cones.differentiable:
            parameters = np.concatenate([theta, weight])
            return x, self.forward.slope(parameters, answer, self.decided)[:, : theta.size]
        steps = DIFFERENCE * np.maximum(0.1, np.abs(theta))
        ahead = np.maximum(theta, np.minimum(theta + steps, self.box[1]))
        behind = np.minimum(theta, np.maximum(theta - steps, self.box[0]))
        fixed = ahead == behind
        ahead[fixed], behind[fixed] = (theta + steps)[fixed], (theta - steps)[fixed]
        columns = []
        for i in range(theta.size):
            moved = np.tile(theta, (2, 1))
            moved[:, i] = ahead[i], behind[i]
            there, here = (self._solve(one, weight).v[self.decided] for one in moved)
            columns.append((there - here) / (ahead[i] - behind[i]))
        return x, np.array(columns).T

    def suboptimality(
        self, theta: Vector, decision: Vector, weight: Vector
    ) -> tuple[float, Vector]:
        """w'f(y, theta) - min_x w'f(x, theta), and its gradient in theta.

        Args:
            theta: The unknown parameters.
            decision: The decision y.
            weight: A point of the simplex.
        """
        best = self._solve(theta, weight)
        there = self.valued.solve(
            np.concatenate([theta, weight, decision]),
            f"the objectives of the decision {np.array2string(decision, precision=3)}",
        )
        k = theta.size
        slope = self.valued.value_slope(there)[:k] - self.forward.value_slope(best)[:k]
        return there.value - best.value, slope

    def _solve(self, theta: Vector, weight: Vector) -> Answer:
        shown = np.array2string(np.asarray(weight), precision=3)
        return self.forward.solve(
            np.concatenate([theta, weight]), f"the decision at weights {shown}"
        )

    # -- the paper's loss: a local step through the optimality conditions

    def update(
        self, problem: Problem, theta: Vector, Y: Matrix, weights: Matrix, rate: float
    ) -> tuple[Vector, Matrix, float]:
        """The best theta that Gauss-Newton steps find for the implicit update, from several starts.

        Args:
            problem: What is decided, and which theta are possible.
            theta: The old theta.
            Y: The observed decisions, one in each row.
            weights: The weight of each, a point of the simplex in each row.
            rate: The learning rate.

        Returns:
            theta, the decision it explains for each y, and its objective.
        """
        found = [self._descend(problem, one, theta, Y, weights, rate)
                 for one in self._starts(problem, theta, Y, weights, rate)]  # fmt: skip
        reached = [one for one in found if one is not None]
        if not reached:
            raise Infeasible(
                "no theta that was tried allows a decision at every weight; keep theta, by "
                "`bounds`, where the constraints allow one."
            )
        return min(reached, key=lambda one: one[2])

    def _starts(
        self, problem: Problem, theta: Vector, Y: Matrix, weights: Matrix, rate: float
    ) -> list[Vector]:
        starts = [theta]
        if self.affine:
            from imop_engine.convex.suboptimality import bundle, mean_suboptimality

            loss = mean_suboptimality(problem, Y, weights)
            # with a large rate: the nearest theta at which the decisions are nearly optimal
            starts += [
                bundle(problem.theta, theta, loss, times * rate, CUTS_OF_A_START).theta
                for times in (1.0, 100.0)
            ]
        low, high = problem.theta.lower, problem.theta.upper
        width = np.where(np.isfinite(high - low), high - low, 1.0 + np.abs(theta))
        rng = np.random.default_rng(0)  # the same starts in every round and every run
        drawn = theta + 0.1 * width * rng.uniform(-1.0, 1.0, (DRAWN, theta.size))
        return starts + [problem.theta.nearest(one) for one in drawn]

    def _descend(
        self,
        problem: Problem,
        start: Vector,
        theta: Vector,
        Y: Matrix,
        weights: Matrix,
        rate: float,
    ) -> tuple[Vector, Matrix, float] | None:
        share = rate / len(Y)

        def objective(at: Vector) -> tuple[float, Matrix] | None:
            try:
                X = self.decisions(at, weights)
            except Infeasible:
                return None
            return 0.5 * float(np.sum((at - theta) ** 2)) + share * float(np.sum((Y - X) ** 2)), X

        found = objective(start)
        if found is None:
            return None
        at, (value, X) = start, found
        for _ in range(STEPS):
            hessian, gradient = np.eye(theta.size), theta - at
            for y, w in zip(Y, weights, strict=True):
                x, J = self.slope(at, w)
                hessian += 2.0 * share * J.T @ J
                gradient = gradient + 2.0 * share * J.T @ (y - x)
            step = newton_point(problem, at, hessian, gradient, 0.0)
            if step is None:
                break
            length, better = 1.0, None
            while length > SHORTEST:
                moved = problem.theta.nearest(at + length * (step - at))
                trial = objective(moved)
                if trial is not None and trial[0] < value * (1.0 - STOP):
                    better = moved, trial
                    break
                length /= 2.0
            if better is None:
                break
            at, (value, X) = better
        return at, X, value
