"""What a decision leaves to be had at a given weight, and updates that make it less.

The suboptimality of a decision y at weight w is  w'f(y, theta) - min_x w'f(x, theta): zero where y
is optimal. Where the objectives are affine in theta and the constraints free of it, it is a maximum
of functions that are affine in theta (one for each x), so it is convex, and

    min 1/2 |theta - theta_t|^2 + rate * suboptimality(theta)   over Theta

is solved by a proximal bundle: every evaluation gives a cut, a small quadratic program over the
cuts gives the next theta and a bound that no theta can go below. No tree, and a certificate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from imop_engine.arguments import Matrix, Vector
from imop_engine.capabilities import Capability
from imop_engine.curve import decisions
from imop_engine.errors import ImopError
from imop_engine.problem import ParameterSet, Problem
from imop_engine.update import Update, check_update, is_certified
from imop_engine.weights import require_risk

CUTS: Final = 200  # evaluations of an update at most
# Theta is within the root of twice the gap: the gap of a certificate would leave it three digits.
GAP_ABSOLUTE: Final = 1e-10
GAP_RELATIVE: Final = 1e-8
NEEDED: Final = (
    "loss='suboptimality' needs objectives that are affine in theta and constraints without it, as "
    "its updates are convex only there; use loss='distance'."
)


@dataclass(frozen=True, eq=False)
class BundleStep:
    """Where a proximal bundle ended."""

    theta: Vector
    objective: float
    bound: float
    evaluations: int


def suboptimality(
    problem: Problem, theta: ArrayLike, decision: ArrayLike, weight: ArrayLike
) -> float:
    """What a decision leaves at a weight: w'f(y, theta) - min_x w'f(x, theta).

    Args:
        problem: What is decided, and which theta are possible.
        theta: The unknown parameters; of a portfolio problem the yearly expected return of each
            asset.
        decision: The observed decision y; of a portfolio problem holdings, fractions of wealth.
        weight: On the first objective (0 to 1) where there are two, or a point of the simplex.

    Returns:
        The difference, in the units of the weighted objectives: 0 where the decision is optimal,
        below 0 only where it breaks a constraint.

    >>> from imop_engine import portfolio_problem
    >>> problem = portfolio_problem([[0.04, 0.0], [0.0, 0.09]])
    >>> at_best = suboptimality(problem, [0.05, 0.10], [0.5, 0.5], 0.5)
    >>> round(at_best, 9), round(suboptimality(problem, [0.05, 0.10], [0.7, 0.3], 0.5), 6)
    (0.0, 0.0026)
    """
    at, y, w = check_update(problem, theta, decision, weight, 1.0)
    at = problem.check_theta(theta)
    require_risk(problem, w)
    return _loss(problem, at, y, w)[0]


def suboptimality_update(
    problem: Problem, theta: ArrayLike, decision: ArrayLike, weight: ArrayLike, rate: float
) -> Update:
    """One update of theta that makes the suboptimality of a decision less, with its certificate.

    Args:
        problem: What is decided, and which theta are possible.
        theta: The old theta.
        decision: The observed decision y; of a portfolio problem holdings, fractions of wealth.
        weight: Of the investor: on the first objective (0 to 1), or a point of the simplex.
        rate: How much the suboptimality counts beside the distance from theta; positive.

    Returns:
        The new theta, the decision that goes with it, objective and bound; `nodes` is the number
        of evaluations.

    >>> from imop_engine import portfolio_problem
    >>> problem = portfolio_problem([[0.04, 0.0], [0.0, 0.09]], anchors={0: 0.05})
    >>> update = suboptimality_update(problem, [0.05, 0.05], [0.5, 0.5], weight=0.5, rate=5.0)
    >>> update.certified, round(float(update.theta[1]), 3)
    (True, 0.095)
    """
    current, y, w = check_update(problem, theta, decision, weight, rate)
    problem.require(Capability.SUBOPTIMALITY, sentence=NEEDED)
    require_risk(problem, w)
    loss = mean_suboptimality(problem, y[None], w[None])
    step = bundle(problem.theta, current, loss, float(rate))
    x = decisions(problem, step.theta, w[None])[0]
    proven = is_certified(step.objective, step.bound)
    return Update(step.theta, x, step.objective, step.bound, proven, step.evaluations)


def bundle(
    space: ParameterSet,
    theta: Vector,
    loss: Callable[[Vector], tuple[float, Vector]],
    rate: float,
    cuts: int = CUTS,
) -> BundleStep:
    """min 1/2 |theta - theta_t|^2 + rate * loss(theta), over Theta, for a convex loss.

    Args:
        space: Theta.
        theta: The old theta, theta_t.
        loss: From theta to the loss and its gradient.
        rate: The learning rate.
        cuts: Evaluations at most.
    """
    at, best, bound = theta, BundleStep(theta, np.inf, -np.inf, 0), -np.inf
    slopes, levels = [], []
    for count in range(1, cuts + 1):
        value, slope = loss(at)
        objective = 0.5 * float(np.sum((at - theta) ** 2)) + rate * value
        if objective < best.objective:
            best = BundleStep(at, objective, bound, count)
        slopes.append(slope)
        levels.append(value - float(slope @ at))
        at, level = _master(space, theta, np.array(slopes), np.array(levels), rate)
        bound = max(bound, level)
        if best.objective - bound <= GAP_ABSOLUTE + GAP_RELATIVE * abs(best.objective):
            break
    return BundleStep(best.theta, best.objective, min(bound, best.objective), count)


def mean_suboptimality(
    problem: Problem, Y: Matrix, weights: Matrix
) -> Callable[[Vector], tuple[float, Vector]]:
    """From theta to the mean suboptimality of some decisions at given weights, and its gradient.

    Args:
        problem: What is decided.
        Y: The decisions, one in each row.
        weights: The weight of each, a point of the simplex in each row.
    """

    def loss(theta: Vector) -> tuple[float, Vector]:
        parts = [_loss(problem, theta, y, w) for y, w in zip(Y, weights, strict=True)]
        return float(np.mean([part[0] for part in parts])), np.mean(
            [part[1] for part in parts], axis=0
        )

    return loss


def _loss(problem: Problem, theta: Vector, y: Vector, w: Vector) -> tuple[float, Vector]:
    if problem.program is not None:
        return problem.program.suboptimality(theta, y, w)
    x = decisions(problem, theta, w[None])[0]
    Q, c = np.einsum("l,lij->ij", w, problem.quadratic), w @ problem.costs(theta)
    value = 0.5 * (y @ Q @ y - x @ Q @ x) + c @ (y - x)
    slope = (y - x) @ np.einsum("l,lij->ij", w, problem.linear)
    return float(value), np.asarray(slope)


def _master(
    space: ParameterSet, theta: Vector, slopes: Matrix, levels: Vector, rate: float
) -> tuple[Vector, float]:
    """The proximal problem over the cuts: its minimum, and a bound from its multipliers."""
    import clarabel
    from scipy import sparse

    k = theta.size
    low, high = np.isfinite(space.lower), np.isfinite(space.upper)
    eye = np.eye(k)
    equal = space.equalities
    rows = np.vstack([equal, slopes, -eye[low], eye[high]])
    last = np.zeros((len(rows), 1))
    last[len(equal) : len(equal) + len(slopes)] = -1.0
    right = np.concatenate([space.values, -levels, -space.lower[low], space.upper[high]])
    P = sparse.diags(np.append(np.ones(k), 0.0), format="csc")
    made: list[Any] = [clarabel.ZeroConeT(len(equal))] if len(equal) else []
    made.append(clarabel.NonnegativeConeT(len(rows) - len(equal)))
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    found = clarabel.DefaultSolver(
        P,
        np.append(-theta, rate),
        sparse.csc_matrix(np.hstack([rows, last])),
        right,
        made,
        settings,
    ).solve()
    if str(found.status) not in ("Solved", "AlmostSolved"):
        raise ImopError(
            f"the update's master problem ended with {found.status}; bring the numbers of the "
            "objectives nearer to one, or take a smaller rate."
        )
    at = space.nearest(np.array(found.x)[:k])
    # By duality: cuts mixed by their multipliers are one cut, whose proximal minimum over Theta is
    # a projection. It bounds whatever the solver's tolerance.
    mix = np.maximum(np.array(found.z)[len(equal) : len(equal) + len(slopes)], 0.0)
    mix = mix / mix.sum() if mix.sum() > 0 else np.full(len(slopes), 1.0 / len(slopes))
    slope, level = mix @ slopes, float(mix @ levels)
    least = space.nearest(theta - rate * slope)
    bound = 0.5 * float(np.sum((least - theta) ** 2)) + rate * (level + float(slope @ least))
    return at, bound
