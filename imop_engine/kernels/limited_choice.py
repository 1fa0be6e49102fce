"""The best portfolio for a given choice where limits bind sums of holdings.

min 1/2 x'Hx - lin'x with H = eta P + price Q + a 11': which bounds and rows hold is found by the
dual active set method, and the portfolio is solved once more where they do, to the last digits.
"""

from typing import NamedTuple

import numpy as np

from imop_engine.compiling import borrowing, compiled, inlined
from imop_engine.kernels.constants import FREE, LOWER, OPTIMAL, UPPER
from imop_engine.kernels.limited_line import Line, factor_rows, line_from, solve_line
from imop_engine.kernels.nouns import Floats, Rows, WorkingSet
from imop_engine.kernels.projection import new_working_set, project

FLOOR = 1e-15  # a pivot is at least this share of its diagonal
PIVOTS = 100  # per row of the working set


class Desk(NamedTuple):
    """Room for choices under limits; of no size where there are none."""

    line: Line
    H: Floats
    rows: Rows
    work: WorkingSet
    nu: Floats  # multipliers of the rows at the last choice, and at the best one


@compiled
def desk_for(arrays):
    """Room for the choices of a problem."""
    n = arrays.caps.size
    m = n + arrays.levels.size
    if not arrays.limited:
        n = 0
        m = 0
    low = np.empty(m)
    high = np.full(m, np.inf)
    for i in range(n):
        low[i] = arrays.lower[i]
        high[i] = arrays.caps[i]
    for j in range(m - n):
        low[n + j] = arrays.levels[j]
        if j < arrays.equations:
            high[n + j] = arrays.levels[j]
    return Desk(
        line_from(arrays), np.empty((n, n)),
        Rows(np.empty((m, m)), np.empty(m), np.empty(m), low, high, 0), new_working_set(m),
        np.zeros(arrays.levels.size),
    )  # fmt: skip


@inlined
def factor_some(H, L, free, nf):
    """Cholesky factor of H over some assets.

    Args:
        H: a symmetric positive definite matrix.
        L: receives the factor.
        free: numbers of the assets.
        nf: how many they are.
    """
    for a in range(nf):
        for b in range(a + 1):
            t = H[free[a], free[b]]
            for c in range(b):
                t -= L[a, c] * L[b, c]
            if b < a:
                L[a, b] = t / L[b, b]
            else:
                L[a, a] = np.sqrt(max(t, FLOOR * H[free[a], free[a]]))


@borrowing
def write_choice(arrays, choice, price, desk):
    """desk.H, and its rows: Gram matrix and values where nothing binds.

    Args:
        arrays: the portfolio problem.
        choice: what the portfolio minimises besides risk.
        price: of risk.
        desk: room to work.
    """
    Q = arrays.covariance
    H, line, rows = desk.H, desk.line, desk.rows
    n = H.shape[0]
    m = rows.lo.size
    ones = choice.eta + price * Q[0, 0]
    for i in range(n):
        line.free[i] = i
        for j in range(n):
            H[i, j] = ones + choice.eta * choice.P[i, j] + price * Q[i, j]
    factor_some(H, line.L, line.free, n)
    for a in range(m):  # column a of H^-1 R'
        for i in range(n):
            line.right[i] = (1.0 if i == a else 0.0) if a < n else arrays.rows[a - n, i]
        for i in range(n):
            t = line.right[i]
            for c in range(i):
                t -= line.L[i, c] * line.right[c]
            line.right[i] = t / line.L[i, i]
        for i in range(n - 1, -1, -1):
            line.right[i] /= line.L[i, i]
            for c in range(i):
                line.right[c] -= line.L[i, c] * line.right[i]
        rows.v0[a] = 0.0
        for i in range(n):
            rows.G[i, a] = line.right[i]
            rows.v0[a] += line.right[i] * choice.lin[i]
        for b in range(m - n):
            t = 0.0
            for i in range(n):
                t += arrays.rows[b, i] * line.right[i]
            rows.G[n + b, a] = t
    for a in range(m):
        rows.scale[a] = np.sqrt(max(rows.G[a, a], 0.0))


@borrowing
def best_limited(arrays, choice, price, place):
    """`best_portfolio` under limits: place.x and place.state, multipliers of the rows in desk.nu.

    Returns the number of free assets, 0 if none was found.

    Args:
        arrays: the portfolio problem.
        choice: what the portfolio minimises besides risk.
        price: of risk.
        place: receives the portfolio.
    """
    desk = place.desk
    line, work, H = desk.line, desk.work, desk.H
    x, state = place.x, place.state
    n = x.size
    m = desk.rows.lo.size
    write_choice(arrays, choice, price, desk)
    work.size[0] = 0
    for a in range(m):
        work.side[a] = 0
        work.mu[a] = 0.0
        work.v[a] = desk.rows.v0[a]
    status, _ = project(desk.rows, work, 0.0, np.inf, PIVOTS * (m + 1))
    if status != OPTIMAL:
        return 0
    nf = 0
    for i in range(n):
        x[i] = work.v[i]
        state[i] = FREE
        if work.side[i] != 0:
            state[i] = LOWER if work.side[i] > 0 else UPPER
        else:
            line.free[nf] = i
            nf += 1
    for j in range(m - n):
        line.tight[j] = 1 if work.side[n + j] != 0 else 0
    factor_some(H, line.L, line.free, nf)
    nw = factor_rows(arrays.rows, line, nf)
    for a in range(nf):
        i = line.free[a]
        line.right[a] = choice.lin[i]
        for j in range(n):
            line.right[a] -= H[i, j] * x[j]
    for b in range(nw):
        j = line.held[b]
        line.small[b] = -arrays.levels[j]
        for i in range(n):
            line.small[b] += arrays.rows[j, i] * x[i]
    solve_line(line, nf, nw)
    desk.nu[:] = 0.0
    for b in range(nw):
        desk.nu[line.held[b]] = line.small[b]
    for a in range(nf):
        i = line.free[a]
        x[i] = min(max(x[i] + line.right[a], arrays.lower[i]), arrays.caps[i])
    return max(nf, 1)


@borrowing
def limited_slope(arrays, place):
    """x'Qx and its derivative in the price of risk, at a solution of `best_limited`.

    Args:
        arrays: the portfolio problem.
        place: the portfolio, and room to work.
    """
    Q, line, x, qx = arrays.covariance, place.desk.line, place.x, place.qx
    n = x.size
    total = 0.0
    for i in range(n):
        qx[i] = 0.0
        for j in range(n):
            qx[i] += Q[i, j] * x[j]
        total += x[i] * qx[i]
    nf = 0
    nw = 0
    for i in range(n):
        nf += 1 if place.state[i] == FREE else 0
    for j in range(line.tight.size):
        nw += 1 if line.tight[j] != 0 else 0
    for a in range(nf):
        line.right[a] = -qx[line.free[a]]
    for b in range(nw):
        line.small[b] = 0.0
    solve_line(line, nf, nw)
    slope = 0.0
    for a in range(nf):
        slope += 2.0 * qx[line.free[a]] * line.right[a]
    return total, slope


@compiled
def limited_bound(arrays, g, nu):
    """A bound on max g'x over what is allowed, proved by multipliers of the rows but the budget.

    Args:
        arrays: the portfolio problem.
        g: what each holding brings; changed.
        nu: multipliers of the rows.
    """
    n = g.size
    total = 0.0
    left = 1.0
    for j in range(1, nu.size):
        push = -nu[j]
        if j >= arrays.equations:
            push = max(0.0, push)
        total -= push * arrays.levels[j]
        for i in range(n):
            g[i] += push * arrays.rows[j, i]
    for i in range(n):
        total += arrays.lower[i] * g[i]
        left -= arrays.lower[i]
    taken = np.zeros(n, np.bool_)
    for _ in range(n):
        best = -1
        for i in range(n):
            if not taken[i] and (best < 0 or g[i] > g[best]):
                best = i
        taken[best] = True
        part = min(max(left, 0.0), arrays.caps[best] - arrays.lower[best])
        total += part * g[best]
        left -= part
    return total
