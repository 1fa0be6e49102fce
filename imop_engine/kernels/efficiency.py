"""The implicit update of the efficiency gap, and streams of them.

    gap(y, r) = max { r'x : 1'x = 1, 0 <= x <= u, x'Qx <= s } - r'y,   s = y'Qy

is convex in r. Its gradient is x - y with x the efficient portfolio at the risk of y, her twin.
Letters are those of `nouns`; P is the projector on the directions that the anchors leave open, and
the price of risk is 1 / lam: what an investor gives in return for a unit of variance / 2.
"""

from typing import Any, NamedTuple

import numpy as np

from imop_engine.compiling import compiled, inlined
from imop_engine.kernels.at_risk import Choice, at_risk, find_twin
from imop_engine.kernels.constants import OPTIMAL
from imop_engine.kernels.limited_choice import limited_bound
from imop_engine.kernels.nouns import Floats, Rows
from imop_engine.kernels.projection import new_working_set, project
from imop_engine.kernels.twins import variance

BOX_STEPS = 30  # at most, to find which returns sit on the sides of their box
LEAST_PRICE = 1e-10  # of risk, times variance, as a share of the spread of returns: ties end there
NO_ROOM = 1e-12  # a return that moves by less than this share of the others is fixed
ZERO_GAP = 1e-13  # a gap this small, as a share of the spread of returns, is none
AVERAGE_TAIL = 4.0  # the average of theta forgets its first half: weights grow like t^3


@compiled
def largest_return(g, u):
    """max g'x over portfolios: the budget goes to the largest entries, each up to its cap."""
    left = 1.0
    total = 0.0
    taken = np.zeros(g.size, np.bool_)
    while left > 0.0:
        best = -1
        for i in range(g.size):
            if not taken[i] and u[i] > 0.0 and (best < 0 or g[i] > g[best]):
                best = i
        if best < 0:
            break
        taken[best] = True
        part = min(left, u[best])
        total += part * g[best]
        left -= part
    return total


@compiled
def gap_bound(arrays, r, y, s, price, x, nu):
    """An upper bound on the gap of y under r that any x and price prove; exact for her twin's.

    With r'x - price/2 (x'Qx - s), concave in x, in place of r'x, no portfolio of risk s or less
    loses; its tangent at x bounds it over all portfolios.

    Args:
        arrays: covariance, caps and the portfolio of least variance.
        r: expected returns.
        y: the portfolio.
        s: its variance.
        price: of risk.
        x: any portfolio.
        nu: multipliers of the rows of limits; any prove a bound.
    """
    Q = arrays.covariance
    n = r.size
    g = np.empty(n)
    v = 0.0
    gap = 0.0
    for i in range(n):
        row = 0.0
        for j in range(n):
            row += Q[i, j] * x[j]
        v += x[i] * row
        g[i] = r[i] - price * row
        gap += r[i] * (x[i] - y[i]) - g[i] * x[i]
    top = limited_bound(arrays, g, nu) if arrays.limited else largest_return(g, arrays.caps)
    return gap + 0.5 * price * (s - v) + top


# -- the implicit update -------------------------------------------------------------------------
class Metric(NamedTuple):
    """How far returns are apart: ||d||^2 = d'Hd. The identity, or what is known of them so far."""

    matrix: Floats  # H
    inverse: Floats  # of H on the plane of the anchors, zero across it


@compiled
def nearest_theta(theta_set, metric, wish, side, r):
    """r, the point of Theta nearest to `wish`, and on which side of its box each return sits.

    Args:
        theta_set: where theta may lie.
        metric: what near means.
        wish: any point of the anchors' plane, up to rounding.
        side: receives 1 on the lower side of the box, -1 on the upper, else 0.
        r: receives the point.
    """
    n = wish.size
    P = metric.inverse
    inside = True
    for i in range(n):
        t = theta_set.offset[i]
        for j in range(n):
            t += theta_set.projector[i, j] * wish[j]
        r[i] = t
        inside &= theta_set.lower[i] <= t <= theta_set.upper[i]
        side[i] = 0
    if inside:
        return
    scale = np.empty(n)
    fixed = NO_ROOM * largest_diagonal(P)
    for i in range(n):
        scale[i] = np.sqrt(P[i, i]) if P[i, i] > fixed else 0.0
    work = new_working_set(n)
    work.v[:] = r
    rows = Rows(P, scale, r.copy(), theta_set.lower, theta_set.upper, 0)
    status, _ = project(rows, work, 0.0, np.inf, 100 * (n + 1))
    if status == OPTIMAL:
        side[:] = work.side
    for i in range(n):
        r[i] = min(max(work.v[i], theta_set.lower[i]), theta_set.upper[i])


@inlined
def largest_diagonal(P):
    """The largest entry of the diagonal."""
    top = 0.0
    for i in range(P.shape[0]):
        top = max(top, P[i, i])
    return top


@compiled
def held_plane(theta_set, step, side, plane, centre):
    """The plane of the anchors with the returns on their box's sides held there.

    `plane` is the inverse of the metric on it, `centre` its point nearest to theta.

    Args:
        theta_set: where theta may lie.
        step: the update; theta is the centre of the step.
        side: of each return, as in `nearest_theta`.
        plane: receives the inverse.
        centre: receives the point.
    """
    n = centre.size
    plane[:] = step.metric.inverse
    centre[:] = step.theta
    column = np.empty(n)
    fixed = NO_ROOM * largest_diagonal(plane)
    for i in range(n):
        if side[i] == 0 or plane[i, i] <= fixed:
            continue
        size = plane[i, i]
        missing = (theta_set.lower[i] if side[i] > 0 else theta_set.upper[i]) - centre[i]
        column[:] = plane[i]
        for a in range(n):
            centre[a] += column[a] / size * missing
            for b in range(n):
                plane[a, b] -= column[a] / size * column[b]
        plane[i, :] = 0.0
        plane[:, i] = 0.0


class GapStep(NamedTuple):
    """One update: from theta, for portfolio y of variance s, with rate eta, in a metric."""

    theta: Floats
    y: Floats
    s: Any  # float
    eta: Any
    metric: Metric


@compiled
def length(H, r, theta):
    """1/2 ||r - theta||^2 in the metric H.

    Args:
        H: the metric's matrix.
        r: returns.
        theta: other returns.
    """
    total = 0.0
    for i in range(r.size):
        row = 0.0
        for j in range(r.size):
            row += H[i, j] * (r[j] - theta[j])
        total += row * (r[i] - theta[i])
    return 0.5 * total


@compiled
def dual_value(theta_set, step, x, side, r):
    """min over r in Theta of 1/2 ||r - theta||^2 + eta r'(x - y), and the r that gives it.

    Args:
        theta_set: where theta may lie.
        step: the update.
        x: a portfolio within the risk.
        side: receives the sides of the box.
        r: receives the returns.
    """
    theta, y, eta, P = step.theta, step.y, step.eta, step.metric.inverse
    n = theta.size
    wish = np.empty(n)
    for i in range(n):
        t = 0.0
        for j in range(n):
            t += P[i, j] * (x[j] - y[j])
        wish[i] = theta[i] - eta * t
    nearest_theta(theta_set, step.metric, wish, side, r)
    total = length(step.metric.matrix, r, theta)
    for i in range(n):
        total += eta * r[i] * (x[i] - y[i])
    return total


@compiled
def efficiency_update(arrays, theta_set, step, least_price, place, r):
    """argmin over r in Theta of 1/2 ||r - theta||^2 + eta gap(y, r), solved by its dual.

    The dual is concave and piecewise quadratic over the portfolios x of risk s or less: a step goes
    to the maximum of the piece at hand, the pieces being told apart by which returns sit on the
    sides of their box, and is shortened if the dual does not rise. Without a side one step ends it.

    Returns (objective, bound): the objective at r, and what no r falls below.

    Args:
        arrays: covariance, caps and the portfolio of least variance.
        theta_set: where theta may lie.
        step: from where, for which portfolio, at which rate.
        least_price: of risk.
        place: where to begin; receives the twin under r.
        r: receives the new returns.
    """
    y, s, eta = step.y, step.s, step.eta
    n = y.size
    side = np.zeros(n, np.int64)
    sides = np.empty(n, np.int64)
    best_x = np.empty(n)
    best_nu = np.zeros(arrays.levels.size)
    trial = np.empty(n)
    plane = np.empty((n, n))
    centre = np.empty(n)
    lin = np.empty(n)
    x = place.x
    bound = -np.inf
    for attempt in range(BOX_STEPS):
        held_plane(theta_set, step, side, plane, centre)
        for i in range(n):
            lin[i] = centre[i]
            for j in range(n):
                lin[i] += eta * plane[i, j] * y[j]
        price = at_risk(arrays, Choice(plane, eta, lin), s, least_price, place)
        if np.isnan(price):
            break
        before = bound
        sides[:] = side
        value = dual_value(theta_set, step, x, side, trial)
        share = 1.0
        while attempt > 0 and value < bound and share > 1e-6:
            share *= 0.5
            for i in range(n):
                x[i] = best_x[i] + 0.5 * (x[i] - best_x[i])
            value = dual_value(theta_set, step, x, side, trial)
        if value > bound:
            bound = value
            place.price[0] = price
            best_x[:] = x
            best_nu[:] = place.desk.nu
            r[:] = trial
        if np.array_equal(side, sides) or bound - before <= 1e-15 * abs(bound):
            break
    if bound == -np.inf:
        r[:] = step.theta
        return np.inf, bound
    price = place.price[0]
    v = variance(arrays.covariance, best_x)
    if v > s:  # by rounding: what the bound gains by that is taken off again
        bound -= eta * price * (v - s)
    objective = eta * gap_bound(arrays, r, y, s, price, best_x, best_nu)
    objective += length(step.metric.matrix, r, step.theta)
    x[:] = best_x
    return objective, bound


@compiled
def least_price_of(arrays, theta):
    """The least price of risk for beliefs theta; 0 where they are all alike."""
    top = 0.0
    for i in range(theta.size):
        top = max(top, arrays.covariance[i, i])
    return LEAST_PRICE * (np.max(theta) - np.min(theta)) / top


@compiled
def efficiency_round(arrays, theta_set, step, place, r):
    """One round: (gap before it, objective and bound of its update); r receives the new theta.

    Where nothing is left on the table r is theta, and objective and bound are 0; the gap is nan if
    no efficient portfolio was found.

    Args:
        arrays: covariance, caps and the portfolio of least variance.
        theta_set: where theta may lie.
        step: the update.
        place: where to begin; receives the twin.
        r: receives the new returns.
    """
    theta, y = step.theta, step.y
    r[:] = theta
    least = least_price_of(arrays, theta)
    if least == 0.0:
        return 0.0, 0.0, 0.0
    price = find_twin(arrays, theta, step.s, least, place)
    if np.isnan(price):
        return np.nan, 0.0, 0.0
    gap = 0.0
    for i in range(y.size):
        gap += (theta[i] - theta[0]) * (place.x[i] - y[i])
    if price == np.inf or gap <= ZERO_GAP * (np.max(theta) - np.min(theta)):
        return max(0.0, gap), 0.0, 0.0
    place.price[0] = price
    objective, bound = efficiency_update(arrays, theta_set, step, least, place, r)
    return gap, objective, bound


class Beliefs(NamedTuple):
    """What a stream learns; both change."""

    theta: Floats
    average: Floats  # of theta, later rounds counting more


@compiled
def efficiency_run(arrays, theta_set, metric, beliefs, Y, etas, done, place, out):
    """The implicit updates of the efficiency gap over the portfolios in Y.

    The beliefs and the place (where the next search begins) change; `done` rounds came
    before. Returns the number of rounds done: fewer than there are only if no efficient portfolio
    could be found at some risk.

    Args:
        arrays: covariance, caps and the portfolio of least variance.
        theta_set: where theta may lie.
        metric: what near means, for all of these rounds.
        beliefs: expected returns and their average; moved in place.
        Y: portfolios, one in each row.
        etas: the rate of each round.
        done: rounds that came before.
        place: where the next search begins.
        out: what each round reports.
    """
    theta, average = beliefs.theta, beliefs.average
    n = theta.size
    r = np.empty(n)
    for t in range(Y.shape[0]):
        step = GapStep(theta, Y[t], variance(arrays.covariance, Y[t]), etas[t], metric)
        gap, objective, bound = efficiency_round(arrays, theta_set, step, place, r)
        if np.isnan(gap):
            return t
        out.losses[t] = gap
        out.nodes[t] = 1 if objective != 0.0 else 0
        out.objectives[t] = objective
        out.gaps[t] = max(0.0, objective - bound)
        theta[:] = r
        out.thetas[t] = theta
        share = AVERAGE_TAIL / (done + t + AVERAGE_TAIL)
        for i in range(n):
            average[i] += share * (theta[i] - average[i])
    return Y.shape[0]
