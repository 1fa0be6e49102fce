"""The implicit update of the efficiency gap, and streams of them.

    gap(y, r) = max { r'x : 1'x = 1, 0 <= x <= u, x'Qx <= s } - r'y,   s = y'Qy

is convex in r. Its gradient is x - y with x the efficient portfolio at the risk of y, her twin.
Letters are those of `nouns`; P is the projector on the directions that the anchors leave open, and
the price of risk is 1 / lam: what an investor gives in return for a unit of variance / 2.
"""

from typing import Any, NamedTuple

import numpy as np

from imop_engine.compiling import compiled
from imop_engine.kernels.constants import FREE, LOWER, OPTIMAL, UPPER
from imop_engine.kernels.critical_line import cholesky_solve
from imop_engine.kernels.nouns import Cases, Floats, Integers, Rows
from imop_engine.kernels.projection import new_working_set, project
from imop_engine.kernels.twins import variance

ON_RISK = 1e-14  # the twin's variance may miss the investor's by this share
SECULAR_STEPS = 80  # at most, to find the price of risk; it takes about three
SIGN = 1e-13  # a reduced gradient this small, as a share of the returns, has no sign
INSIDE = 1e-14  # a holding may miss its bound by this much
PATIENCE = 10  # sweeps without fewer wrong assets before they change one at a time
FLOOR = 1e-15  # a pivot is at least this share of its diagonal
BOX_STEPS = 30  # at most, to find which returns sit on the sides of their box
LEAST_RISK = 1e-12  # a variance above the least by this share is the least
LEAST_PRICE = 1e-10  # of risk, times variance, as a share of the spread of returns: ties end there
ZERO_GAP = 1e-13  # a gap this small, as a share of the spread of returns, is none
AVERAGE_TAIL = 4.0  # the average of theta forgets its first half: weights grow like t^3


class Choice(NamedTuple):
    """What a portfolio minimises besides risk: 1/2 eta x'Px - lin'x."""

    P: Floats
    eta: Any  # float
    lin: Floats


class Place(NamedTuple):
    """A portfolio that is being looked for: what the last one found tells, and room to work."""

    price: Floats  # of risk, one number
    state: Cases  # LOWER, FREE or UPPER of each asset
    x: Floats
    free: Integers
    L: Floats  # factor over the free assets
    one: Floats
    solution: Floats
    gradient: Floats
    qx: Floats


def place_at(price, state):
    """A place to begin from."""
    n = state.size
    return Place(
        price, state, np.empty(n), np.empty(n, np.int64), np.zeros((n, n)), np.empty(n),
        np.empty(n), np.empty(n), np.empty(n),
    )  # fmt: skip


# -- one portfolio at a given risk, without a trace ----------------------------------------------
@compiled
def factor_choice(Q, choice, price, place):
    """Factor eta P + price Q + a 11' over the free assets; returns how many they are.

    The term with a changes nothing where the holdings add up to one; it keeps the factor regular
    where only anchored assets are free.

    Args:
        Q: covariance.
        choice: what the portfolio minimises besides risk.
        price: of risk.
        place: the portfolio so far, and room to work.
    """
    P, eta = choice.P, choice.eta
    free, L, state = place.free, place.L, place.state
    ones = eta + price * Q[0, 0]
    nf = 0
    for i in range(state.size):
        if state[i] != FREE:
            continue
        whole = ones + eta * P[i, i] + price * Q[i, i]
        pivot = whole
        for a in range(nf):
            j = free[a]
            t = ones + eta * P[i, j] + price * Q[i, j]
            for b in range(a):
                t -= L[nf, b] * L[a, b]
            t /= L[a, a]
            L[nf, a] = t
            pivot -= t * t
        L[nf, nf] = np.sqrt(max(pivot, FLOOR * whole))
        free[nf] = i
        nf += 1
    return nf


@compiled
def solve_choice(Q, u, choice, price, nf, place):
    """Holdings of the free assets when the others sit on their bounds; returns the multiplier.

    Args:
        Q: covariance.
        u: caps.
        choice: what the portfolio minimises besides risk.
        price: of risk.
        nf: number of free assets.
        place: the portfolio so far, and room to work.
    """
    P, eta, lin = choice.P, choice.eta, choice.lin
    free, L, one, solution = place.free, place.L, place.one, place.solution
    state, x = place.state, place.x
    n = x.size
    ones = eta + price * Q[0, 0]
    rest = 1.0
    for i in range(n):
        x[i] = u[i] if state[i] == UPPER else 0.0
        rest -= x[i]
    for a in range(nf):
        i = free[a]
        t = lin[i] - ones * (1.0 - rest)
        for j in range(n):
            if state[j] == UPPER:
                t -= (eta * P[i, j] + price * Q[i, j]) * u[j]
        solution[a] = t
        one[a] = 1.0
    cholesky_solve(L, nf, solution)
    cholesky_solve(L, nf, one)
    sum_one = 0.0
    sum_solution = 0.0
    for a in range(nf):
        sum_one += one[a]
        sum_solution += solution[a]
    nu = (sum_solution - rest) / sum_one
    for a in range(nf):
        x[free[a]] = solution[a] - nu * one[a]
    return nu + ones


@compiled
def choice_gradient(Q, choice, price, nu, place):
    """The reduced gradient of each holding, and the size of its terms.

    Args:
        Q: covariance.
        choice: what the portfolio minimises besides risk.
        price: of risk.
        nu: the budget's multiplier.
        place: the portfolio so far, and room to work.
    """
    P, eta, lin = choice.P, choice.eta, choice.lin
    gradient, x = place.gradient, place.x
    n = x.size
    size = 0.0
    for i in range(n):
        size = max(size, abs(lin[i]))
        gradient[i] = nu - lin[i]
    for j in range(n):
        if x[j] != 0.0:
            for i in range(n):
                gradient[i] += x[j] * (eta * P[j, i] + price * Q[j, i])
    return size


@compiled
def is_wrong(i, u, place, size):
    """Whether asset i cannot be in its state: out of its bounds, or drawn away from one.

    Args:
        i: number of the asset.
        u: caps.
        place: the portfolio so far, and room to work.
        size: of the terms of a gradient.
    """
    known = place.state[i]
    if known == FREE:
        return place.x[i] < -INSIDE or place.x[i] > u[i] + INSIDE
    slope = place.gradient[i]
    return slope < -SIGN * size if known == LOWER else slope > SIGN * size


@compiled
def exchange(i, place):
    """Put the last free asset i on the bound it is beyond; the asset that wants to most takes its
    place: one at zero where i holds too much, one at its cap where i would be short."""
    state, gradient = place.state, place.gradient
    over = place.x[i] > 0.0
    best = -1
    for j in range(state.size):
        if j == i or state[j] != (LOWER if over else UPPER):
            continue
        if best < 0 or (gradient[j] < gradient[best]) == over:
            best = j
    if best >= 0:
        state[i] = UPPER if over else LOWER
        state[best] = FREE


@compiled
def best_portfolio(Q, u, choice, price, place):
    """argmin 1/2 x'(eta P + price Q)x - lin'x over portfolios, from a guess of each asset's state.

    Assets in a wrong state change it, all at once while that makes fewer wrong, else the last one
    alone (Murty's rule, which ends). Returns the number of free assets, 0 if it did not end.

    Args:
        Q: covariance.
        u: caps.
        choice: what the portfolio minimises besides risk.
        price: of risk.
        place: its state is the guess; receives the portfolio.
    """
    state, x = place.state, place.x
    n = x.size
    fewest = n + 1
    patience = PATIENCE
    for _ in range(100 + 20 * n):
        nf = factor_choice(Q, choice, price, place)
        nu = solve_choice(Q, u, choice, price, nf, place)
        size = choice_gradient(Q, choice, price, nu, place)
        wrong = 0
        last = -1
        leaving = 0
        for i in range(n):
            if is_wrong(i, u, place, size):
                wrong += 1
                last = i
                leaving += 1 if state[i] == FREE else 0
        if wrong == 0:
            return nf
        if wrong < fewest:
            fewest = wrong
            patience = PATIENCE
        else:
            patience -= 1
        alone = patience < 0 or leaving == nf
        for i in range(n):
            if (alone and i != last) or not is_wrong(i, u, place, size):
                continue
            if state[i] != FREE:
                state[i] = FREE
                nf += 1
            elif nf > 1:
                state[i] = LOWER if x[i] < 0.0 else UPPER
                nf -= 1
            else:
                exchange(i, place)
    return 0


@compiled
def variance_slope(Q, nf, place):
    """x'Qx and its derivative in the price of risk, at a solution of `best_portfolio`.

    Args:
        Q: covariance.
        nf: number of free assets.
        place: the portfolio so far, and room to work.
    """
    free, L, one, solution = place.free, place.L, place.one, place.solution
    qx, x = place.qx, place.x
    n = x.size
    qx[:] = 0.0
    for j in range(n):
        if x[j] != 0.0:
            for i in range(n):
                qx[i] += x[j] * Q[j, i]
    total = 0.0
    for i in range(n):
        total += x[i] * qx[i]
    sum_one = 0.0
    for a in range(nf):
        solution[a] = qx[free[a]]
        sum_one += one[a]
    cholesky_solve(L, nf, solution)
    mean = 0.0
    for a in range(nf):
        mean += solution[a]
    mean /= sum_one
    slope = 0.0
    for a in range(nf):
        slope -= 2.0 * qx[free[a]] * (solution[a] - mean * one[a])
    return total, slope


@compiled
def at_risk(arrays, choice, s, least_price, place):
    """argmin 1/2 eta x'Px - lin'x over portfolios with x'Qx <= s: one price of risk to find.

    Far out the excess of x'Qx over the least variance falls like 1 / price^2, so Newton's method
    runs on its inverse root, which is nearly straight, within a bracket. The price stays at
    `least_price` or above: below it risk is free, and the least price decides between ties.
    Returns the price, or nan if no portfolio was found.

    Args:
        arrays: covariance, caps and the portfolio of least variance.
        choice: what the portfolio minimises besides risk.
        s: variance that it may have.
        least_price: of risk.
        place: its price and state are where to begin; receives the portfolio.
    """
    Q, u = arrays.covariance, arrays.caps
    v0 = variance(Q, arrays.least_variance)
    low = least_price
    high = np.inf
    price = max(place.price[0], least_price)
    target = 1.0 / np.sqrt(s - v0)
    for _ in range(SECULAR_STEPS):
        nf = best_portfolio(Q, u, choice, price, place)
        if nf == 0:
            return np.nan
        v, slope = variance_slope(Q, nf, place)
        if abs(v - s) <= ON_RISK * s or (v < s and price <= least_price):
            return price
        if v < s:
            high = price
        else:
            low = price
        trial = -1.0
        if v > v0 and slope < 0.0:
            root = 1.0 / np.sqrt(v - v0)
            trial = price + (root - target) / (0.5 * slope * root**3)
        if trial < least_price and low == least_price and high < np.inf:
            trial = least_price
        if not low <= trial <= high or trial == price:
            trial = 4.0 * price if high == np.inf else np.sqrt(low * high)
        if trial == price or (high < np.inf and high - low <= 1e-15 * high):
            return price
        price = trial
    return price


@compiled
def find_twin(arrays, theta, s, least_price, place):
    """place.x, the efficient portfolio at variance s under theta; returns its price of risk.

    At the least variance, and below it, the price is infinite; nan if no portfolio was found.

    Args:
        arrays: covariance, caps and the portfolio of least variance.
        theta: expected returns.
        s: variance.
        least_price: of risk.
        place: the portfolio so far, and room to work.
    """
    Q = arrays.covariance
    if s <= variance(Q, arrays.least_variance) * (1.0 + LEAST_RISK):
        place.x[:] = arrays.least_variance
        return np.inf
    choice = Choice(Q, 0.0, theta)
    found = at_risk(arrays, choice, s, least_price, place)
    if np.isnan(found):  # the last investor's portfolio was no good place to begin
        place.state[:] = arrays.least_variance_state
        place.price[0] = 1e6 * least_price
        found = at_risk(arrays, choice, s, least_price, place)
    return found


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
def gap_bound(arrays, r, y, s, price, x):
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
    return gap + 0.5 * price * (s - v) + largest_return(g, arrays.caps)


# -- the implicit update -------------------------------------------------------------------------
@compiled
def nearest_theta(theta_set, wish, side, r):
    """r, the point of Theta nearest to `wish`, and on which side of its box each return sits.

    Args:
        theta_set: where theta may lie.
        wish: any point.
        side: receives 1 on the lower side of the box, -1 on the upper, else 0.
        r: receives the point.
    """
    n = wish.size
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
    for i in range(n):
        scale[i] = np.sqrt(max(0.0, theta_set.projector[i, i]))
        if scale[i] <= 1e-12:
            scale[i] = 0.0
    work = new_working_set(n)
    work.v[:] = r
    rows = Rows(theta_set.projector, scale, r.copy(), theta_set.lower, theta_set.upper, 0)
    status, _ = project(rows, work, 0.0, np.inf, 100 * (n + 1))
    if status == OPTIMAL:
        side[:] = work.side
    for i in range(n):
        r[i] = min(max(work.v[i], theta_set.lower[i]), theta_set.upper[i])


@compiled
def held_plane(theta_set, theta, side, plane, centre):
    """The plane of the anchors with the returns on their box's sides held there.

    `plane` is its projector, `centre` its point nearest to theta.

    Args:
        theta_set: where theta may lie.
        theta: the centre of the step.
        side: of each return, as in `nearest_theta`.
        plane: receives the projector.
        centre: receives the point.
    """
    n = theta.size
    plane[:] = theta_set.projector
    centre[:] = theta
    column = np.empty(n)
    for i in range(n):
        if side[i] == 0 or plane[i, i] <= 1e-12:
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
    theta, y, eta = step.theta, step.y, step.eta
    n = theta.size
    wish = np.empty(n)
    for i in range(n):
        wish[i] = theta[i] - eta * (x[i] - y[i])
    nearest_theta(theta_set, wish, side, r)
    total = 0.0
    for i in range(n):
        total += 0.5 * (r[i] - theta[i]) ** 2 + eta * r[i] * (x[i] - y[i])
    return total


class GapStep(NamedTuple):
    """One update: from theta, for portfolio y of variance s, with rate eta."""

    theta: Floats
    y: Floats
    s: Any  # float
    eta: Any


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
    trial = np.empty(n)
    plane = np.empty((n, n))
    centre = np.empty(n)
    lin = np.empty(n)
    x = place.x
    bound = -np.inf
    for attempt in range(BOX_STEPS):
        held_plane(theta_set, step.theta, side, plane, centre)
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
    objective = eta * gap_bound(arrays, r, y, s, price, best_x)
    for i in range(n):
        objective += 0.5 * (r[i] - step.theta[i]) ** 2
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


@compiled
def efficiency_run(arrays, theta_set, theta, Y, etas, done, average, place, out):
    """The implicit updates of the efficiency gap over the portfolios in Y.

    theta, its average and the place (where the next search begins) change; `done` rounds came
    before. Returns the number of rounds done: fewer than there are only if no efficient portfolio
    could be found at some risk.

    Args:
        arrays: covariance, caps and the portfolio of least variance.
        theta_set: where theta may lie.
        theta: expected returns; moved in place.
        Y: portfolios, one in each row.
        etas: the rate of each round.
        done: rounds that came before.
        average: of theta; moved in place.
        place: where the next search begins.
        out: what each round reports.
    """
    n = theta.size
    r = np.empty(n)
    for t in range(Y.shape[0]):
        step = GapStep(theta, Y[t], variance(arrays.covariance, Y[t]), etas[t])
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
