"""The problem of one weight, written out for solvers that want matrices.

    min 1/2 x'Hx + (g + G theta)'x   s.t.   M x >= m + N theta,  E x = d

and its optimality conditions: with multipliers u >= 0 and nu,

    H x + g + G theta - M'u - E'nu = 0,   u_i (M x - m - N theta)_i = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.conditions import weighted_objective
from imop_engine.errors import InvalidInput
from imop_engine.problem import ParameterSet, Problem

ACTIVE = 1e-6  # a slack, multiplier or distance to a bound below this counts as zero in `polish`
BASES = 20_000  # sets of rows that may be looked at for the size of multipliers


@dataclass(frozen=True, eq=False)
class Weighted:
    """min 1/2 x'Hx + (g + G theta)'x over M x >= m + N theta, E x = d."""

    H: Matrix
    g: Vector
    G: Matrix
    M: Matrix
    m: Vector
    N: Matrix
    E: Matrix
    d: Vector
    variable: NDArray[np.int64]  # the variable whose value is the row's slack (x_i >= 0), or -1

    @classmethod
    def of(cls, problem: Problem, weight: Vector) -> Weighted:
        """Weigh a problem's objectives; bounds that other constraints imply make no row.

        The objective is divided by the geometric mean of the sizes of H and G: at a weight of
        0.999 one is 0.002 of the other, and a solver's tolerance is meant for numbers near 1.
        """
        n = problem.n
        (H,), (g,), (G,) = weighted_objective(problem, weight[None])
        sizes = [float(np.abs(part).max(initial=0.0)) for part in (H, G)]
        known = [size for size in sizes if size > 0]
        scale = float(np.exp(np.mean(np.log(known)))) if known else 1.0
        low = np.isfinite(problem.lower)
        high = np.isfinite(problem.upper) & ~_implied(problem)
        eye = np.eye(n)
        boxes = int(low.sum() + high.sum())
        idle = np.full(len(problem.rhs0) + boxes, -1, np.int64)
        first = len(problem.rhs0)
        idle[first : first + int(low.sum())] = np.where(problem.lower == 0.0, np.arange(n), -1)[low]
        return cls(
            H=H / scale,
            g=g / scale,
            G=G / scale,
            M=np.vstack([problem.rows, eye[low], -eye[high]]),
            m=np.concatenate([problem.rhs0, problem.lower[low], -problem.upper[high]]),
            N=np.vstack([problem.rhs, np.zeros((boxes, problem.theta_size))]),
            E=problem.equal_rows,
            d=problem.equal_rhs,
            variable=idle,
        )

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Numbers of unknowns, variables, inequalities and equations."""
        return self.G.shape[1], self.H.shape[0], len(self.m), len(self.d)

    def slack(self, theta: Vector, x: Vector) -> Vector:
        """M x - m - N theta."""
        result: Vector = self.M @ x - self.m - self.N @ theta
        return result

    def multiplier_bounds(self, box: tuple[Vector, Vector], theta: ParameterSet) -> Vector:
        """How large the multipliers of the rows need to be for x in a box and theta in its own."""
        low, high = _range(self.H, *box)
        low_theta, high_theta = _range(self.G, theta.lower, theta.upper)
        low, high = low + low_theta + self.g, high + high_theta + self.g
        rows, n = self.M.shape
        if len(self.d) == 1 and _is_box(self.M) and np.ptp(self.E) == 0 and self.E[0, 0] != 0:
            # 1'x = 1 over a box: nu lies between two entries of the gradient, so no multiplier
            # is larger than their spread.
            return np.full(rows, float(high.max() - low.min()))
        columns = np.vstack([self.M, self.E])
        count = sum(comb(len(columns), size) for size in range(1, n + 1))
        if count > BASES:
            raise InvalidInput(
                f"no bound on the multipliers of {rows} constraints is known for pairs='bigm'; "
                "use pairs='sos1', which needs none."
            )
        gradient = np.maximum(np.abs(low), np.abs(high))
        result = np.zeros(len(columns))
        sets = chain.from_iterable(combinations(range(len(columns)), s) for s in range(1, n + 1))
        for chosen in map(list, sets):  # some multipliers sit on linearly independent rows
            basis = columns[chosen].T
            if np.linalg.matrix_rank(basis) == len(chosen):
                result[chosen] = np.maximum(
                    result[chosen], np.abs(np.linalg.pinv(basis)) @ gradient
                )
        return result[:rows]


def polish(
    weighted: Weighted,
    theta_set: ParameterSet,
    wish: tuple[Vector, Vector, float],
    point: tuple[Vector, Vector, Vector],
) -> tuple[Vector, Vector]:
    """theta and x with a solver's tolerance taken out: its zeros are kept, the rest solved again.

    `wish` is (theta_t, y, rate), `point` the solver's (theta, x, u).

    Args:
        weighted: The program of one weight.
        theta_set: Which theta are possible.
        wish: The old theta, the observed decision y and the learning rate.
        point: theta, the decision x and the multipliers u as the solver found them.

    Returns:
        theta and x.
    """
    theta_t, y, rate = wish
    theta, x, u = point
    k, n, _, equations = weighted.sizes
    slack = weighted.slack(theta, x)
    on = (slack <= ACTIVE) | (slack < u)
    used = u > ACTIVE
    used &= on
    at_low, at_high = theta - theta_set.lower <= ACTIVE, theta_set.upper - theta <= ACTIVE
    size = k + n + int(used.sum()) + equations
    picks = np.eye(k)[at_low | at_high]
    held = np.where(at_low, theta_set.lower, theta_set.upper)[at_low | at_high]

    def widen(of_theta: Matrix, of_x: Matrix) -> Matrix:
        return np.hstack([of_theta, of_x, np.zeros((len(of_x), size - k - n))])

    rows = np.vstack(
        [
            np.hstack([weighted.G, weighted.H, -weighted.M[used].T, -weighted.E.T]),
            widen(-weighted.N[on], weighted.M[on]),
            widen(np.zeros((equations, k)), weighted.E),
            widen(theta_set.equalities, np.zeros((len(theta_set.values), n))),
            widen(picks, np.zeros((len(held), n))),
        ]
    )
    values = np.concatenate([-weighted.g, weighted.m[on], weighted.d, theta_set.values, held])
    curve = np.concatenate([np.ones(k), np.full(n, 2.0 * rate), np.zeros(size - k - n)])
    pull = np.concatenate([theta_t, 2.0 * rate * y, np.zeros(size - k - n)])
    system = np.block([[np.diag(curve), rows.T], [rows, np.zeros((len(rows), len(rows)))]])
    solved = np.linalg.lstsq(system, np.concatenate([pull, values]), rcond=1e-13)[0]
    return solved[:k], solved[k : k + n]


def polish_forward(weighted: Weighted, theta: Vector, x: Vector) -> Vector:
    """The decision at theta with the solver's tolerance taken out, where its active rows allow.

    Args:
        weighted: The program of one weight.
        theta: The unknown parameters; of a portfolio problem the yearly expected return of each
            asset.
        x: The decision as the solver found it.

    Returns:
        The decision; x where its active rows lead to no better one.
    """
    on = weighted.slack(theta, x) <= ACTIVE
    rows = np.vstack([weighted.M[on], weighted.E])
    values = np.concatenate([(weighted.m + weighted.N @ theta)[on], weighted.d])
    system = np.block([[weighted.H, -rows.T], [rows, np.zeros((len(rows), len(rows)))]])
    right = np.concatenate([-weighted.g - weighted.G @ theta, values])
    solved = np.linalg.lstsq(system, right, rcond=1e-13)[0]
    better, u = solved[: len(x)], solved[len(x) : len(x) + int(on.sum())]
    fits = np.all(weighted.slack(theta, better) >= -1e-9) and np.all(u >= -1e-7)
    return better if fits and np.abs(system @ solved - right).max() <= 1e-10 else x


def _range(matrix: Matrix, low: Vector, high: Vector) -> tuple[Vector, Vector]:
    """The least and the largest values of matrix @ v for v in a box."""
    plus, minus = np.maximum(matrix, 0.0), np.minimum(matrix, 0.0)
    return plus @ low + minus @ high, plus @ high + minus @ low


def _is_box(rows: Matrix) -> bool:
    return bool(np.all((rows != 0).sum(axis=1) == 1))


def _implied(problem: Problem) -> NDArray[np.bool_]:
    """Which upper bounds follow from an equation with nonnegative entries and the lower bounds."""
    implied = np.zeros(problem.n, bool)
    if not np.all(np.isfinite(problem.lower)):
        return implied
    for row, value in zip(problem.equal_rows, problem.equal_rhs, strict=True):
        if np.all(row >= 0.0):
            room = value - row @ problem.lower
            reach = np.where(row > 0, problem.lower + room / np.where(row > 0, row, 1.0), np.inf)
            implied |= reach <= problem.upper + 1e-15
    return implied
