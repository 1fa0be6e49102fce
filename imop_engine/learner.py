"""(4) Learning over a stream of decisions: the paper's Algorithms 1 and 2, a second-order one, and
implicit updates of the return left on the table.

`OnlineLearner` only holds state; the rounds themselves run in one compiled call.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from imop_engine import gate, kernels
from imop_engine.arguments import Matrix, Vector
from imop_engine.backends import Backend, make_backend
from imop_engine.batch import batch_update
from imop_engine.capabilities import Capability
from imop_engine.conditions import GeneralArrays, forward_bounds
from imop_engine.curve import decisions as decide
from imop_engine.efficiency_gap.stream import GapMemory, run_gaps
from imop_engine.errors import ImopError, InvalidInput
from imop_engine.frontier import efficient_frontier
from imop_engine.history import History, Recorder
from imop_engine.identified_subspace import ZERO_EIGENVALUE_OF_STREAM, IdentifiedSubspace
from imop_engine.learner_options import (
    DISTANCE,
    EFFICIENCY,
    FULL,
    NATIVE,
    NEWTON,
    SUBOPTIMALITY,
    LearnerOptions,
    Rate,
)
from imop_engine.learner_state import ActiveSet, LearnerState
from imop_engine.problem import Problem
from imop_engine.rounds import Rounds, run_backend, run_curve, run_suboptimality
from imop_engine.second_order import SEARCH_WEIGHTS, SecondOrderState, flat_start, opening_rates
from imop_engine.update import CERTIFIED_ABSOLUTE, CERTIFIED_RELATIVE, NODE_LIMIT
from imop_engine.weights import lam_of, simplex_rows, weight_grid

LOG = logging.getLogger("imop")
CHUNK = 4096  # rounds a compiled call runs at most: it reports theta after each of them


@dataclass(frozen=True, eq=False)
class Assignment:
    """The weight that explains each decision best, and how far the explanation is from it."""

    weights: Vector
    distances: Vector


class OnlineLearner:
    """Learns theta from decisions that arrive one by one.

    Args:
        problem: what is decided.
        weights: K for an even grid, a list of weights, or "exact" for the whole frontier.
        algorithm: "accelerated" (Algorithm 2: assign a weight first, then update), "full"
            (Algorithm 1: the best update over all weights of the grid), or "newton" (portfolios
            with weights="exact": implicit updates first, then steps scaled by what was learned).
            For loss="efficiency" there are no weights: "accelerated" is its plain update, "newton"
            the same in the metric of the curvature so far.
        rate: eta_t = rate / sqrt(t), or a function of the round t = 1, 2, ...; for
            loss="efficiency" in units of 6 spreads of the anchored returns ("newton": of 1120).
            With a number its plain updates also begin anew, whenever there are twice as many
            rounds, where everybody so far leaves the least; with a function they only follow.
        theta0: where to start; None is the paper's zero. Projected on Theta.
        backend: "native", or "gurobi" for the paper's mixed-integer route ("cvxpy" only decides).
        node_limit: nodes an update may use before it stops with an honest gap.
        batch: decisions per update (the paper's mini-batches); a remainder waits for the next call.
        forgetting: what "newton" keeps of its information each round; below 1 it follows beliefs
            that change (0.99 looks back about a hundred decisions).
        loss: "distance" (the paper's, squared distance to the frontier), "efficiency" (for
            portfolios: return a year left on the table at the investor's own risk; convex, so it
            learns from any start and assigns no weights), or "suboptimality" (a weight is assigned
            by distance; theta then moves by what the decision leaves at that weight, which is
            convex in theta, so each update is proven without a search; `losses_` are distances).

    Learned state: `theta_`, `rounds_`, `losses_` (the loss of each decision before its update),
    `certified_` (share of updates proven optimal), `nodes_`, `weights_`, `history_` (theta over
    time); for "newton" also `covariance_`, `standard_errors_` and `noise_`; for "efficiency"
    `averaged_` instead.
    """

    @gate.method
    def __init__(
        self,
        problem: Problem,
        weights: Any = 41,
        algorithm: str = "accelerated",
        rate: Rate = 5.0,
        theta0: ArrayLike | None = None,
        backend: str = NATIVE,
        node_limit: int = NODE_LIMIT,
        batch: int = 1,
        forgetting: float = 1.0,
        loss: str = DISTANCE,
    ) -> None:
        options = LearnerOptions(
            weights, algorithm, rate, backend, node_limit, batch, forgetting, loss
        )
        self.weights_: Vector = options.grid(problem)
        self.problem = problem
        self.exact = options.exact
        self.algorithm = options.algorithm
        self.loss = options.loss
        self.rate = options.rate
        self._rate_unit = options.rate_unit(problem)
        self.backend = options.backend
        self.node_limit = int(options.node_limit)
        self.batch = options.batch
        self.forgetting = float(options.forgetting)
        self._waiting = np.empty((0, problem.n))
        start = (
            np.zeros(problem.theta_size)
            if theta0 is None
            else problem.check_theta(theta0, "theta0")
        )
        self.theta_: Vector = problem.theta.nearest(start)
        self.rounds_ = 0
        self.updates_ = 0
        self.nodes_ = 0
        self._certified = 0
        self._losses: list[Vector] = []
        self._recorder = Recorder(problem.theta_size)
        self._information = SecondOrderState.none(problem.theta_size)
        self._active_set = ActiveSet.none(3 * problem.n + 1)
        self._gap_memory = (
            GapMemory.begin(problem, self.theta_, self.algorithm == NEWTON)
            if self.loss == EFFICIENCY
            else None
        )

    @property
    def losses_(self) -> Vector:
        """The loss of each decision under the beliefs of its round: its squared distance to what
        they could explain, or for loss="efficiency" the return a year it left on the table."""
        if len(self._losses) > 1:
            self._losses = [np.concatenate(self._losses)]
        return self._losses[0].copy() if self._losses else np.empty(0)

    @property
    def certified_(self) -> float:
        """Share of the updates that were proven globally optimal."""
        return self._certified / self.updates_ if self.updates_ else 1.0

    @property
    def averaged_(self) -> Vector:
        """theta averaged over the rounds, later ones counting more (loss="efficiency" only)."""
        if self._gap_memory is None:
            raise InvalidInput(
                f"loss {self.loss!r} keeps no average; use loss='efficiency', or average "
                "history_.theta yourself."
            )
        return self._gap_memory.average.copy()

    @property
    def history_(self) -> History:
        """theta over time: after every round at first, after evenly spaced ones later."""
        return self._recorder.history()

    @property
    def noise_(self) -> float:
        """Standard deviation of one holding around the frontier ("newton" only)."""
        return self._second_order().noise

    @property
    def covariance_(self) -> Matrix:
        """Covariance of theta_ ("newton" only); infinite variance where nothing was seen."""
        information = self._second_order()
        found = IdentifiedSubspace.of(
            self.problem.theta, information.metric, ZERO_EIGENVALUE_OF_STREAM
        )
        return found.covariance(information.noise)

    @property
    def standard_errors_(self) -> Vector:
        """Of each return ("newton" only): 0 where anchored, infinite where nothing was seen."""
        result: Vector = np.sqrt(np.diag(self.covariance_))
        return result

    def _second_order(self) -> SecondOrderState:
        if self.algorithm != NEWTON or self.loss != DISTANCE:
            raise InvalidInput(
                f"algorithm {self.algorithm!r} with loss {self.loss!r} collects no information of "
                "this kind; use algorithm='newton' with loss='distance', "
                "or imop.identification(problem, theta, decisions) for any estimate."
            )
        return self._information

    @gate.method
    def partial_fit(self, decisions: Any) -> OnlineLearner:
        """Learn from more decisions, in their order. Any chunking gives the same result."""
        Y = self.problem.check_decisions(decisions)
        if self.batch > 1:
            return self._fit_batches(Y)
        if kernels.needs_compiling():
            LOG.warning("Compiling the numerical code; this happens once and takes about a minute.")
        rates = self._rates(len(Y))
        for first in range(0, len(Y), CHUNK):
            rows = slice(first, first + CHUNK)
            self._fit_chunk(Y[rows], self._rate_unit * rates[rows])
        return self

    def _fit_chunk(self, Y: Matrix, rates: Vector) -> None:
        theta = self.theta_.copy()
        information = self._information.copy()
        rounds = Rounds.empty(len(Y), theta.size)
        memory = None if self._gap_memory is None else self._gap_memory.copy()
        if memory is not None:
            out = _rounds_out(rounds, np.empty(len(Y)))
            done, memory = run_gaps(
                self.problem,
                theta,
                Y,
                rates,
                self.rounds_,
                memory,
                out,
                not callable(self.rate),
                self.forgetting,
            )
        elif self.algorithm == NEWTON:
            done = self._run_newton(theta, Y, rates, rounds, information)
        elif self.loss == SUBOPTIMALITY:
            grid = None if self.exact else simplex_rows(self.problem, self.weights_)
            done = run_suboptimality(self.problem, grid, theta, Y, rates, rounds)
        elif self.backend != NATIVE or (self.problem.program is not None and not self.exact):
            done = run_backend(self._solver, self.algorithm, self._middle, theta, Y, rates, rounds)
        elif self.problem.can(Capability.BUDGET_AND_CAPS):
            done = self._run_portfolio(theta, Y, rates, rounds)
        elif self.exact:
            done = run_curve(self.problem, self.node_limit, theta, Y, rates, rounds)
        else:
            done = self._run_general(theta, Y, rates, rounds)
        if done < len(Y):
            raise ImopError(
                f"round {self.rounds_ + done + 1} failed: at the beliefs learned so far some "
                "weight has no decision that can be computed. Check that the covariance is well "
                "conditioned and that Theta holds only parameters that allow decisions."
            )
        self.theta_ = theta
        self._information = information
        self._gap_memory = memory
        self._recorder.add(self.rounds_, rounds.thetas)
        self.rounds_ += len(Y)
        updated = rounds.nodes > 0
        self.updates_ += int(updated.sum())
        self.nodes_ += int(rounds.nodes.sum())
        proven = rounds.gaps <= CERTIFIED_RELATIVE * rounds.objectives + CERTIFIED_ABSOLUTE
        self._certified += int((updated & proven).sum())
        self._losses.append(rounds.losses)

    def _fit_batches(self, Y: Matrix) -> OnlineLearner:
        """Joint updates of `batch` decisions each, their weights assigned first."""
        Y = np.vstack([self._waiting, Y])
        full = len(Y) - len(Y) % self.batch
        for first in range(0, full, self.batch):
            group = Y[first : first + self.batch]
            found = self.assign(group)
            rate = self._rates(1, self.updates_)[0]
            self._losses.append(found.distances**2)
            self.rounds_ += len(group)
            if np.all(found.distances**2 <= kernels.ZERO_LOSS):
                self._recorder.add(self.rounds_ - 1, self.theta_[None])
                continue
            update = batch_update(
                self.problem, self.theta_, group, list(found.weights), rate, self.node_limit
            )
            self.theta_ = update.theta
            self.updates_ += 1
            self.nodes_ += update.nodes
            self._certified += int(update.certified)
            self._recorder.add(self.rounds_ - 1, self.theta_[None])
        self._waiting = Y[full:]
        return self

    def _run_portfolio(self, theta: Vector, Y: Matrix, rates: Vector, rounds: Rounds) -> int:
        settings = kernels.PortfolioSettings(
            np.ascontiguousarray(lam_of(self.weights_)), self.exact, self.algorithm == FULL,
            self.node_limit,
        )  # fmt: skip
        return int(
            kernels.portfolio_run(
                self.problem.portfolio, self.problem.theta.arrays, settings, theta, Y, rates,
                self._root(), _rounds_out(rounds, np.empty(len(Y))),
            )
        )  # fmt: skip

    def _run_newton(
        self, theta: Vector, Y: Matrix, rates: Vector, rounds: Rounds, information: SecondOrderState
    ) -> int:
        settings = kernels.SecondOrderSettings(
            flat_start(self.problem), opening_rates(self._rate_at),
            np.ascontiguousarray(lam_of(weight_grid(self.problem, SEARCH_WEIGHTS))),
            float(self.forgetting), self.node_limit,
        )  # fmt: skip
        state = kernels.SecondOrderState(
            information.metric, information.recent, information.sums, information.memory
        )
        return int(
            kernels.newton_run(
                self.problem.portfolio, self.problem.theta.arrays, settings, theta, Y, rates,
                self._root(), state, _rounds_out(rounds, np.empty(len(Y))),
            )
        )  # fmt: skip

    def _root(self) -> kernels.Root:
        """The working set that the next update starts from; a kernel writes over it."""
        active = self._active_set
        return kernels.Root(active.size, active.rows, active.sides, np.empty(active.rows.size))

    def _run_general(self, theta: Vector, Y: Matrix, rates: Vector, rounds: Rounds) -> int:
        problem, arrays = self.problem, self._general
        bounds = kernels.Bounds(*forward_bounds(problem, theta), problem.rhs0, problem.rhs)
        settings = kernels.GeneralSettings(
            rates, self._middle, self.algorithm == FULL, self.node_limit
        )
        out = kernels.GeneralOut(
            rounds.losses, np.empty(len(Y), np.int64), rounds.nodes, rounds.gaps, rounds.objectives,
            rounds.thetas,
        )  # fmt: skip
        return int(
            kernels.general_run(
                arrays.forward, arrays.rows, arrays.shared, problem.theta.arrays, bounds,
                settings, theta, Y, out,
            )
        )  # fmt: skip

    def state(self) -> LearnerState:
        """What has been learned so far, as copies: to save, to show, or to go on from."""
        return LearnerState(
            self.theta_.copy(), self.rounds_, self.updates_, self.nodes_, self._certified,
            self.losses_, self.history_, self._recorder.stride, self._waiting.copy(),
            self._information.copy(), self._active_set.copy(),
            None if self._gap_memory is None else self._gap_memory.copy(),
        )  # fmt: skip

    @gate.method
    def restore(self, state: LearnerState) -> OnlineLearner:
        """Go on from a state of a learner with the same problem and settings, to the same digits.

        Args:
            state: what `state()` of that learner gave, or `LearnerState.from_arrays`.

        Returns:
            This learner, which forgets whatever it had learned itself.
        """
        n, k = self.problem.n, self.problem.theta_size
        if state.theta.shape != (k,) or state.waiting.shape[1:] != (n,):
            raise InvalidInput(
                f"the state is of a learner with {state.theta.size} unknowns, this problem has {k} "
                f"unknowns and {n} variables; restore it with the problem it was learned on."
            )
        self.theta_ = state.theta.copy()
        self.rounds_, self.updates_, self.nodes_ = state.rounds, state.updates, state.nodes
        self._certified = state.certified
        self._losses = [state.losses.copy()] if state.losses.size else []
        self._recorder = Recorder.of(state.history, state.stride)
        self._waiting = state.waiting.copy()
        self._information = state.second_order.copy()
        self._active_set = state.active_set.copy()
        saved = state.gap_memory
        if (saved is None) != (self.loss != EFFICIENCY):
            raise InvalidInput(
                f"the state is of a learner with another loss, this one has loss={self.loss!r}; "
                "restore it with the settings it was learned with."
            )
        if saved is not None and (saved.curvature is None) != (self.algorithm != NEWTON):
            raise InvalidInput(
                "the state is of a learner with another algorithm, this one has "
                f"algorithm={self.algorithm!r}; restore it with the settings it was learned with."
            )
        self._gap_memory = None if saved is None else saved.copy()
        return self

    @cached_property
    def _solver(self) -> Backend:
        return make_backend(self.backend, self.problem, simplex_rows(self.problem, self.weights_))

    def __getstate__(self) -> dict[str, Any]:
        """Without the solver's models, which do not pickle; they are built again when needed."""
        return {name: value for name, value in self.__dict__.items() if name != "_solver"}

    @cached_property
    def _general(self) -> GeneralArrays:
        return GeneralArrays.of(self.problem, simplex_rows(self.problem, self.weights_))

    @cached_property
    def _middle(self) -> Vector:
        """How far each weight is from the even one."""
        rows = simplex_rows(self.problem, self.weights_)
        result: Vector = np.abs(rows - 1.0 / self.problem.p).max(axis=1)
        return result

    @gate.method
    def assign(self, decisions: Any) -> Assignment:
        """The weight of each decision under what has been learned so far."""
        if not (self.exact or self.problem.can(Capability.PIECEWISE_LINEAR_FRONTIER)):
            return self._assign_general(decisions)
        frontier = efficient_frontier(self.problem, self.theta_)
        if self.exact:
            found = frontier.project(decisions)
            return Assignment(found.weights, found.distances)
        Y = self.problem.check_decisions(decisions)
        grid = np.ascontiguousarray(lam_of(self.weights_))
        k, distances = np.empty(len(Y), np.int64), np.empty(len(Y))
        kernels.assign_many(frontier.path, grid, Y, k, distances)
        return Assignment(self.weights_[k], distances)

    def _assign_general(self, decisions: Any) -> Assignment:
        Y = self.problem.check_decisions(decisions)
        X = decide(self.problem, self.theta_, simplex_rows(self.problem, self.weights_))
        k, distances = np.empty(len(Y), np.int64), np.empty(len(Y))
        kernels.nearest_rows(X, Y, self._middle, k, distances)
        return Assignment(self.weights_[k], distances)

    def _rate_at(self, round_: int) -> float:
        return float(self.rate(round_)) if callable(self.rate) else self.rate / np.sqrt(round_)

    def _rates(self, count: int, done: int | None = None) -> Vector:
        done = self.rounds_ if done is None else done
        rounds = np.arange(done + 1, done + count + 1)
        if not callable(self.rate):
            result: Vector = float(self.rate) / np.sqrt(rounds)
            return result
        values = np.array([self._rate_at(int(t)) for t in rounds])
        bad = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
        if bad.size:
            raise InvalidInput(
                f"the rate for round {rounds[bad[0]]} is {values[bad[0]]}; rates must be positive."
            )
        return values


def _rounds_out(rounds: Rounds, lams: Vector) -> kernels.RoundsOut:
    """The arrays of `rounds` as the portfolio kernels fill them."""
    return kernels.RoundsOut(
        rounds.losses, lams, rounds.nodes, rounds.gaps, rounds.objectives, rounds.thetas
    )
