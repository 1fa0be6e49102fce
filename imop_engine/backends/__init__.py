"""Other ways to the same answers: one signature, one module a solver, imported when asked for.

`native` is the engine's own code and needs no licence; `gurobi` is the paper's route, kept as a
check and as what the native code is measured against; `cvxpy` solves forward problems with any
solver it knows.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike

from imop_engine.arguments import Matrix
from imop_engine.errors import InvalidInput
from imop_engine.problem import Problem
from imop_engine.update import NODE_LIMIT, Update, check_update, exact_update

BACKENDS = {"native": "Native", "gurobi": "Gurobi", "cvxpy": "Cvxpy"}


class Backend(Protocol):
    """What the learning algorithms need from a solver, for a fixed problem and grid of weights."""

    def decisions(self, theta: ArrayLike) -> Matrix:
        """S(w_k, theta) for every weight of the grid, one row for each weight."""
        ...

    def update(self, theta: ArrayLike, decision: ArrayLike, k: int, rate: float) -> Update:
        """The implicit update (`update2`) for weight k of the grid.

        Args:
            theta: The unknown parameters; of a portfolio problem the yearly expected return of each
                asset.
            decision: The observed decision y; of a portfolio problem holdings, fractions of wealth.
            k: Which weight of the grid, from 0.
            rate: The learning rate eta of the update, positive: how far one decision may move
                theta.

        Returns:
            The new theta with its certificate.
        """
        ...

    def full_update(self, theta: ArrayLike, decision: ArrayLike, rate: float) -> tuple[Update, int]:
        """The best update over all weights (`update`), and the weight it belongs to.

        Args:
            theta: The unknown parameters; of a portfolio problem the yearly expected return of each
                asset.
            decision: The observed decision y; of a portfolio problem holdings, fractions of wealth.
            rate: The learning rate eta of the update, positive: how far one decision may move
                theta.

        Returns:
            The new theta with its certificate, and the weight's position in the grid.
        """
        ...


def implicit_update(
    problem: Problem,
    theta: ArrayLike,
    decision: ArrayLike,
    weight: ArrayLike,
    rate: float,
    backend: str = "native",
    node_limit: int = NODE_LIMIT,
) -> Update:
    """One exact implicit update of theta for one decision made with a known weight.

    Args:
        problem: what is decided, and the set Theta that theta stays in.
        theta: the parameters before the update.
        decision: one observed decision; a portfolio is a list of shares that add up to one.
        weight: the weight on return from 0 to 0.999, or for other problems one weight for each
            objective, adding up to one.
        rate: how much the decision counts beside the distance from theta; positive.
        backend: "native", "gurobi" or "cvxpy".
        node_limit: nodes of the native search, after which the best so far is returned.

    Returns:
        The new theta, the decision that goes with it, and its certificate.

    >>> from imop_engine import portfolio_problem
    >>> problem = portfolio_problem([[0.04, 0.0], [0.0, 0.09]], anchors={0: 0.05})
    >>> update = implicit_update(problem, [0.05, 0.05], [0.5, 0.5], weight=0.5, rate=5.0)
    >>> update.certified, round(float(update.theta[1]), 3)
    (True, 0.1)
    """
    if backend == "native":
        return exact_update(problem, theta, decision, weight, rate, node_limit)
    current, y, w = check_update(problem, theta, decision, weight, rate)
    return make_backend(backend, problem, w[None]).update(current, y, 0, float(rate))


def make_backend(name: str, problem: Problem, weights: ArrayLike, **options: Any) -> Backend:
    """A backend by its name, for a grid of weights: an array (K, p) of points of the simplex.

    Options of gurobi: `pairs` ("sos1", "bigm"), `form` ("per-weight", "single"), `tolerance`
    (None for Gurobi's own, "tight" for an oracle), `parameters` (any of Gurobi's), `cutoff`.
    Options of cvxpy: `solver`, any name in `cvxpy.installed_solvers()`.

    Args:
        name: Native, gurobi or cvxpy.
        problem: What is decided, and which theta are possible.
        weights: The grid, one point of the simplex in each row.
        **options: What only this backend knows; see above.
    """
    if name not in BACKENDS:
        raise InvalidInput(f"there is no backend {name!r}; use one of {', '.join(BACKENDS)}.")
    module = import_module(f"imop_engine.backends.{name}_")
    make = getattr(module, BACKENDS[name])
    try:
        return cast(Backend, make(problem, check_weights(problem, weights), **options))
    except TypeError as error:
        if options and "unexpected keyword" in str(error):
            raise InvalidInput(
                f"backend {name!r} does not take all of the options {', '.join(options)}."
            ) from None
        raise


def check_weights(problem: Problem, weights: ArrayLike) -> Matrix:
    """Weights as a (K, p) array of points of the simplex, or an error."""
    array = np.array(weights, dtype=float)
    if array.ndim == 1 and problem.p == 2:
        array = np.column_stack([array, 1.0 - array])
    if array.ndim != 2 or array.shape[1] != problem.p or len(array) == 0:
        raise InvalidInput(
            f"weights need one row of {problem.p} numbers each; they have shape {array.shape}."
        )
    if not np.all(array >= 0.0) or np.any(np.abs(array.sum(axis=1) - 1.0) > 1e-9):
        raise InvalidInput("every weight must be nonnegative numbers that add up to one.")
    return array
