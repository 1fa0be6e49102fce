"""One efficient portfolio at a given risk, without a trace: one price of risk to find.

Letters are those of `nouns`; the price of risk is 1 / lam: what an investor gives in return for a
unit of variance / 2.
"""

from typing import Any, NamedTuple

import numpy as np

from imop_engine.compiling import borrowing, compiled, inlined
from imop_engine.kernels.constants import FREE, LOWER, UPPER
from imop_engine.kernels.critical_line import cholesky_solve
from imop_engine.kernels.limited_choice import Desk, best_limited, desk_for, limited_slope
from imop_engine.kernels.nouns import Cases, Floats, Integers
from imop_engine.kernels.twins import variance

ON_RISK = 1e-14  # the twin's variance may miss the investor's by this share
SECULAR_STEPS = 80  # at most, to find the price of risk; it takes about three
SIGN = 1e-13  # a reduced gradient this small, as a share of the returns, has no sign
INSIDE = 1e-14  # a holding may miss its bound by this much
PATIENCE = 10  # sweeps without fewer wrong assets before they change one at a time
FLOOR = 1e-15  # a pivot is at least this share of its diagonal
LEAST_RISK = 1e-12  # a variance above the least by this share is the least


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
    desk: Desk  # room under limits


def place_at(arrays, price, state):
    """A place to begin from.

    Args:
        arrays: the portfolio problem.
        price: of risk, one number.
        state: LOWER, FREE or UPPER of each asset.
    """
    n = state.size
    return Place(
        price, state, np.empty(n), np.empty(n, np.int64), np.zeros((n, n)), np.empty(n),
        np.empty(n), np.empty(n), np.empty(n), desk_for(arrays),
    )  # fmt: skip


@borrowing
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


@borrowing
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


@borrowing
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


@inlined
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


@inlined
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


@borrowing
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


@borrowing
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


@borrowing
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
        if arrays.limited:
            if best_limited(arrays, choice, price, place) == 0:
                return np.nan
            v, slope = limited_slope(arrays, place)
        else:
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
