"""What errors in holdings add to returns that were fitted with a score, by simulation.

As `bias_simulation` for two objectives: investors are drawn who believe in the fitted returns, with
an a and b that their portfolios allow for, their portfolios get errors like those in the data,
and the returns are fitted again. Where that fit comes out is the bias. Without it intervals held
the truth about half of the time with 1,000 investors: the bias does not shrink with their number.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from imop_engine.arguments import Matrix, Vector
from imop_engine.inference.bias_simulation import rounding_step
from imop_engine.inference.fit import AT_BOUND
from imop_engine.inference.score_least_squares import LEAST_A, ScoreState, least_squares
from imop_engine.problem import Problem
from imop_engine.simulate import round_portfolios

DRAWN: Final = 1_000  # investors at least; each with its errors and with their opposites
MOST_DRAWN: Final = 4_000
OWN: Final = 3  # of an investor's residuals are the budget, a and b


def noise_in(problem: Problem, Y: Matrix, state: ScoreState) -> float:
    """The standard deviation of the error in a single holding, from residuals of what is held.

    Only assets strictly between their bounds count, less the budget and each investor's a and b.

    Args:
        problem: What is decided.
        Y: The portfolios, fractions of wealth.
        state: The fit.

    Returns:
        In fractions of wealth; 0 where nobody holds enough assets to tell.
    """
    errors, _, nuisance = state.parts(problem, Y)
    free = np.einsum("tnn->tn", state.slopes) > 0.0
    sides = np.concatenate([free[:, :, None].astype(float), nuisance], axis=2)
    inside = np.where(free, errors, 0.0)
    left = inside - np.einsum("tnk,tk->tn", sides, np.einsum(
        "tkn,tn->tk", np.linalg.pinv(sides, rcond=1e-8), inside))  # fmt: skip
    more = free.sum(axis=1) - OWN
    counted = more > 0
    degrees = int(more[counted].sum()) - (problem.n - len(problem.theta.values))
    return float(np.sqrt(np.sum(left[counted] ** 2) / degrees)) if degrees > 0 else 0.0


def simulated_bias(
    problem: Problem, Y: Matrix, state: ScoreState, noise_sd: float, seed: int = 0
) -> Vector:
    """What errors add to each return; zeros where there are none.

    Args:
        problem: With its anchors.
        Y: The portfolios, fractions of wealth.
        state: The fit to them.
        noise_sd: Standard deviation of the error in a single holding, fractions of wealth.
        seed: Of what is drawn.

    Returns:
        Return a year, to be taken off the fitted one.
    """
    if noise_sd <= AT_BOUND:
        return np.zeros(problem.n)
    rng = np.random.default_rng(seed)
    scales, drawn = _simulated(problem, Y, state, noise_sd, rng)
    begun = ScoreState.at(problem, state.theta, scales, drawn, state.prices)
    result: Vector = least_squares(problem, drawn, begun)[0].theta - state.theta
    return result


def _simulated(
    problem: Problem, Y: Matrix, state: ScoreState, noise_sd: float, rng: np.random.Generator
) -> tuple[Matrix, Matrix]:
    """The a and b of drawn investors, and their portfolios with errors."""
    some = np.arange(0, len(Y), -(-len(Y) // MOST_DRAWN))
    rows = np.tile(some, -(-DRAWN // len(some)))
    scales = _likely(problem, Y, state, noise_sd, rows, rng)
    exact = ScoreState.at(problem, state.theta, scales, Y[rows], state.prices).X
    step = rounding_step(Y, noise_sd)
    if step is not None:
        return scales, round_portfolios(exact, step)
    errors = rng.normal(0.0, noise_sd, exact.shape)
    held = np.maximum(np.concatenate([exact + errors, exact - errors]), 0.0)
    total = held.sum(axis=1, keepdims=True)
    whole = total[:, 0] > 0.0
    return np.concatenate([scales, scales])[whole], held[whole] / total[whole]


def _likely(
    problem: Problem,
    Y: Matrix,
    state: ScoreState,
    noise_sd: float,
    rows: np.ndarray,
    rng: np.random.Generator,
) -> Matrix:
    """An a and b that investors may have had, by how likely their errors then are."""
    _, _, nuisance = state.parts(problem, Y)
    spread = noise_sd * np.linalg.pinv(nuisance, rcond=1e-8)
    moves = np.einsum("tkn,tn->tk", spread[rows], rng.normal(size=(len(rows), problem.n)))
    own = state.scales[rows]
    scales = own + moves
    scales[:, 0] = np.clip(scales[:, 0], 0.3 * own[:, 0], 3.0 * own[:, 0])
    least = -np.inf if state.prices == "relative" else 0.0
    result: Matrix = np.maximum(scales, [[LEAST_A, least]])
    return result
