"""The arrays that kernels hand to one another, by name. numba passes them as it passes arrays.

Letters, as in the paper where it has one:
    Q, r, u     covariance, expected returns, caps;  y  an observed decision;  eta  the rate
    lam         w / (2 (1 - w)), so that a portfolio minimises  1/2 x'Qx - lam r'x
    G           Gram matrix of the rows of a projection problem (see `projection.project`)
    v, v0       values of the rows now, and at the unconstrained minimiser
    mu          multipliers of the rows
    W           numbers of the rows in the working set
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Cases = NDArray[np.int8]


class PortfolioArrays(NamedTuple):
    """The portfolio problem as its kernels want it."""

    covariance: Floats
    caps: Floats  # inf where the budget already keeps x below the cap
    budget_covariance: Floats  # P Q, P the projector on 1'x = 0
    covariance_budget_covariance: Floats  # Q P Q
    least_variance: Floats
    least_variance_state: Cases
    lower: Floats
    rows: Floats  # all linear rows, the budget first, then other equations, then rows >= levels
    levels: Floats
    equations: Any  # how many rows are equations
    limited: Any  # whether there is more than a budget, holdings from zero on, and caps
    least_variance_tight: Cases  # which rows hold there


class ThetaSet(NamedTuple):
    """Where theta may lie: a plane (projector and offset) and a box."""

    projector: Floats
    offset: Floats
    lower: Floats
    upper: Floats


class Start(NamedTuple):
    """The portfolio at lam = 0 and the state of each asset in it, at least one free."""

    x: Floats
    state: Cases


class Trace(NamedTuple):
    """A path of portfolios: from lams[k] on, x = xs[k] + (lam - lams[k]) ds[k]."""

    lams: Floats
    xs: Floats
    ds: Floats
    states: Cases  # LOWER, FREE or UPPER, of each asset on each piece
    tight: Cases  # whether each row holds on each piece; row 0, the budget, always does


def empty_trace(size: int, n: int, rows: int) -> Trace:
    """Room for a path of portfolios.

    Args:
        size: how many pieces it may have.
        n: how many assets there are.
        rows: how many linear rows there are, the budget included.
    """
    return Trace(
        np.empty(size), np.empty((size, n)), np.empty((size, n)), np.empty((size, n), np.int8),
        np.ones((size, rows), np.int8),
    )  # fmt: skip


class Rows(NamedTuple):
    """A projection problem: the rows of z, and between which bounds each must lie.

    free: number of free columns, variables that cost nothing (multipliers of the decision
    problem). Each stands as one more row at the end, always in the working set, with
    G = -ridge on its diagonal: the bordered system stays well scaled that way.
    """

    G: Floats
    scale: Floats  # how far a unit of cost moves each row; 0: it does not move
    v0: Floats
    lo: Floats
    hi: Floats
    free: Any  # int


class WorkingSet(NamedTuple):
    """The rows that are held on a bound, the inverse of their part of G, and what follows."""

    size: Integers  # one number
    W: Integers
    side: Integers  # of every row: 1 on its lower bound, -1 on its upper, 0 not held
    inv: Floats
    mu: Floats
    v: Floats
    g: Floats  # scratch, as all below
    column: Floats
    wanted: Integers
    wanted_side: Integers


def empty_working_set(m: int) -> WorkingSet:
    """Room for a working set of m rows, made once for many calls."""
    return WorkingSet(
        np.zeros(1, np.int64), np.empty(m, np.int64), np.zeros(m, np.int64), np.empty((m, m)),
        np.zeros(m), np.empty(m), np.empty(m), np.empty(m), np.empty(m, np.int64),
        np.empty(m, np.int64),
    )  # fmt: skip


class Root(NamedTuple):
    """The working set that a tree's root starts from, and the one it ends with."""

    size: Integers  # one number
    W: Integers
    side: Integers
    mu: Floats  # receives the root's multipliers


def empty_root(m: int) -> Root:
    """No guess of a root's working set, for m rows."""
    return Root(np.zeros(1, np.int64), np.empty(m, np.int64), np.zeros(m, np.int64), np.empty(m))


class Pairs(NamedTuple):
    """Complementarity pairs: numbers of the rows x and s, and what is known of each pair."""

    x: Integers
    s: Integers
    case: Cases


class OpenNodes(NamedTuple):
    """Nodes of a tree that wait, one row each."""

    case: Cases
    W: NDArray[np.int16]  # rows held, each as +-(number + 1)
    size: Integers
    bound: Floats
    value: Floats
    shift: Floats
    state: Floats  # inverse, multipliers and rows, in small trees


class Step(NamedTuple):
    """One update of a portfolio problem: from theta, for decision y at lam, with rate eta."""

    theta: Floats
    y: Floats
    lam: Any  # float
    eta: Any
    nu: Any  # the budget's multiplier at theta


class Observation(NamedTuple):
    """What the proofs of Algorithm 1 need of a decision."""

    theta: Floats
    y: Floats
    qy: Floats  # Q (y - off)
    off: Any  # by how much the mean holding misses 1/n
    eta: Any


class PortfolioSettings(NamedTuple):
    """How a stream of portfolios is learned from."""

    grid: Floats  # candidate weights as lam, ascending
    exact: Any  # whether a weight may lie anywhere between the grid's ends
    full: Any  # Algorithm 1: all weights are compared
    node_limit: Any


class RoundsOut(NamedTuple):
    """What each round reports."""

    losses: Floats
    lams: Floats
    nodes: Integers
    gaps: Floats  # objective minus proven bound of the update; 0 where none was needed
    objectives: Floats
    thetas: Floats  # after the round


class SecondOrderSettings(NamedTuple):
    """How the second-order learner goes about a stream."""

    flat: Floats  # where a second opening starts
    opening: Floats  # rates of the opening's rounds
    grid: Floats  # candidate weights of the search, as lam
    forgetting: Any  # float
    node_limit: Any


class SecondOrderState(NamedTuple):
    """What the second-order learner carries from round to round."""

    H: Floats  # information
    recent: Floats  # its younger half
    sums: Floats  # of the decisions after the search
    memory: Floats  # AGE .. LATELY in `second_order`


class Response(NamedTuple):
    """Scratch of `second_order.information_of`: free assets, factor, response."""

    free: Integers
    L: Floats
    M: Floats
    rows: Floats  # coefficients of all linear rows, the budget first


class Forward(NamedTuple):
    """Decisions x = S(w_k, theta): Gram matrices and costs, one slice a weight."""

    gram: Floats  # of the rows x, A x, E x
    solve_cost: Floats  # rows at the unconstrained minimiser = solve_cost @ cost
    c0: Floats  # cost = c0 + C theta
    C: Floats


class ForwardOut(NamedTuple):
    """Decisions, multipliers and sides of all rows, one row a weight."""

    X: Floats
    multipliers: Floats
    sides: Integers


class Bounds(NamedTuple):
    """Bounds of the rows x, A x, E x, and b(theta) = rhs0 + rhs theta."""

    lo: Floats
    hi: Floats
    rhs0: Floats
    rhs: Floats


class UpdateRows(NamedTuple):
    """Rows of the optimality conditions; in `general_run` with a first axis for the weight."""

    gram_x: Floats  # on_x P on_x', P the projector on E x = 0
    gram_theta: Floats
    on_x: Floats
    on_theta: Floats
    constant: Floats


class SharedRows(NamedTuple):
    """What those rows have in common at all weights."""

    on_free: Floats
    lower: Floats
    upper: Floats
    pairs: Pairs
    plane: Floats  # projector on the directions with E x = 0
    point: Floats  # the point of E x = d nearest to zero


class GeneralStep(NamedTuple):
    """One update: from theta, for decision y with rate eta; multipliers at theta."""

    theta: Floats
    y: Floats
    eta: Any
    multipliers: Floats


class GeneralSettings(NamedTuple):
    """How a stream of decisions is learned from."""

    etas: Floats
    middle: Floats  # how far each weight is from the even one: ties go to the least
    full: Any
    node_limit: Any


class GeneralOut(NamedTuple):
    """What each round reports."""

    losses: Floats
    weights: Integers  # number of the weight
    nodes: Integers
    gaps: Floats
    objectives: Floats
    thetas: Floats
