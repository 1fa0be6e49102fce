"""The exact frontier of a portfolio problem, by the critical line method.

Letters are those of `nouns`; F is the set of free assets, nf its size, L the Cholesky factor of
Q_FF, nu the budget's multiplier.
"""

from typing import NamedTuple

import numpy as np

from imop_engine.compiling import borrowing, compiled, inlined
from imop_engine.kernels.constants import EVENT, FREE, LOWER, REFINEMENTS, TIE, UPPER
from imop_engine.kernels.copying import copy_into
from imop_engine.kernels.nouns import Floats, Integers, empty_trace
from imop_engine.kernels.products import LONG, dot


class TraceScratch(NamedTuple):
    """What `trace` keeps from event to event beside the portfolio."""

    free: Integers
    L: Floats
    column: Floats
    a_one: Floats  # Q_FF^-1 1
    d: Floats  # dx/dlam
    qd: Floats  # Q d
    qx: Floats  # Q x + c0


@inlined
def cholesky_solve(L, k, b):
    """Overwrite b[:k] with the solution of L L' z = b."""
    for i in range(k):
        b[i] = (b[i] - dot(L[i], b, i)) / L[i, i]
    for i in range(k - 1, -1, -1):
        b[i] /= L[i, i]
        t = b[i]
        for j in range(i):
            b[j] -= L[i, j] * t


@inlined
def cholesky_solve_both(L, k, a, b):
    """`cholesky_solve` for a and b at once: the factor, which is long, is read half as often.

    Args:
        L: Cholesky factor.
        k: Its size.
        a: A right-hand side, overwritten by its solution.
        b: Another one.
    """
    for i in range(k):
        a[i] = (a[i] - dot(L[i], a, i)) / L[i, i]
        b[i] = (b[i] - dot(L[i], b, i)) / L[i, i]
    for i in range(k - 1, -1, -1):
        a[i] /= L[i, i]
        b[i] /= L[i, i]
        first = a[i]
        second = b[i]
        for j in range(i):
            a[j] -= L[i, j] * first
            b[j] -= L[i, j] * second


@borrowing
def free_add(Q, L, free, nf, i):
    """Let asset i into the free set: one more row of the Cholesky factor of Q_FF.

    Args:
        Q: Covariance of the yearly returns.
        L: Cholesky factor of Q over the free assets.
        free: Numbers of the free assets, in the order of the factor.
        nf: How many assets are free.
        i: The asset.

    Returns:
        How many assets are free now.
    """
    pivot = Q[i, i]
    for a in range(nf):
        t = (Q[i, free[a]] - dot(L[nf], L[a], a)) / L[a, a]
        L[nf, a] = t
        pivot -= t * t
    L[nf, nf] = np.sqrt(max(pivot, 1e-15 * Q[i, i]))
    free[nf] = i
    return nf + 1


@borrowing
def free_drop(L, free, nf, i):
    """Take asset i out of the free set, by rotations of the factor's later rows.

    Args:
        L: Cholesky factor of Q over the free assets.
        free: Numbers of the free assets, in the order of the factor.
        nf: How many assets are free.
        i: The asset.

    Returns:
        How many assets are free now.
    """
    p = 0
    while free[p] != i:
        p += 1
    for a in range(p, nf - 1):
        free[a] = free[a + 1]
        for b in range(a + 2):
            L[a, b] = L[a + 1, b]
        # row a now reaches one column too far: rotate columns a and a + 1
        h = np.hypot(L[a, a], L[a, a + 1])
        c = L[a, a] / h
        t = L[a, a + 1] / h
        L[a, a] = h
        for q in range(a + 1, nf - 1):
            first = L[q + 1, a]
            second = L[q + 1, a + 1]
            L[q + 1, a] = c * first + t * second
            L[q + 1, a + 1] = c * second - t * first
    return nf - 1


@inlined
def gradient(Q, x, c0, out):
    """out = Q x + c0. By hand: numba's `@` loads all of scipy.linalg for it."""
    copy_into(out, c0)
    for j in range(x.size):
        if x[j] != 0.0:
            for i in range(x.size):
                out[i] += x[j] * Q[j, i]


new_trace = compiled(empty_trace)


@borrowing
def factor_free(Q, L, free, state):
    """Factor Q_FF of the free assets from nothing; returns their number.

    Args:
        Q: Covariance of the yearly returns.
        L: Cholesky factor of Q over the free assets.
        free: Numbers of the free assets, in the order of the factor.
        state: LOWER, FREE or UPPER of each asset.
    """
    nf = 0
    for i in range(state.size):
        if state[i] == FREE:
            nf = free_add(Q, L, free, nf, i)
    return nf


@inlined
def direction(Q, r, r_size, x, scratch, nf):
    """Solve Q_FF d = r_F - dnu 1, 1'd = 0 into scratch.d and Q d into scratch.qd; returns dnu.

    The budget's drift by rounding is taken back in proportion, in d and in x.

    Args:
        Q: Covariance of the yearly returns.
        r: Yearly expected returns.
        r_size: The largest absolute return, for tolerances.
        x: The portfolio; its budget is put right.
        scratch: Arrays that are kept between events.
        nf: How many assets are free.
    """
    free = scratch.free
    L = scratch.L
    column = scratch.column
    a_one = scratch.a_one
    d = scratch.d
    qd = scratch.qd
    n = r.size
    sum_one = 0.0
    sum_r = 0.0
    for a in range(nf):
        a_one[a] = 1.0
        column[a] = r[free[a]]
    cholesky_solve_both(L, nf, a_one, column)
    for a in range(nf):
        sum_one += a_one[a]
        sum_r += column[a]
    dnu = sum_r / sum_one
    d[:] = 0.0
    size = 0.0
    for a in range(nf):
        t = column[a] - dnu * a_one[a]
        d[free[a]] = t
        size = max(size, abs(column[a]), abs(dnu * a_one[a]))
    drift = 0.0
    miss = -1.0
    for a in range(nf):
        if abs(d[free[a]]) <= 1e-12 * size or nf == 1:
            d[free[a]] = 0.0
        drift += d[free[a]]
    for i in range(n):
        miss += x[i]
    for a in range(nf):
        d[free[a]] -= drift * a_one[a] / sum_one
        x[free[a]] -= miss * a_one[a] / sum_one
    for _ in range(REFINEMENTS):
        qd[:] = 0.0
        for a in range(nf):
            da = d[free[a]]
            if da != 0.0:
                for i in range(n):
                    qd[i] += da * Q[free[a], i]
        worst = 0.0
        for a in range(nf):
            column[a] = r[free[a]] - dnu - qd[free[a]]
            worst = max(worst, abs(column[a]))
        if nf == 1 or worst <= EVENT * r_size:
            break
        sum_r = 0.0  # Q_FF is close to singular: solve for what is missing
        cholesky_solve(L, nf, column)
        for a in range(nf):
            sum_r += column[a]
        shift = sum_r / sum_one
        dnu += shift
        for a in range(nf):
            d[free[a]] += column[a] - shift * a_one[a]
    return dnu


@inlined
def next_event(u, r, r_size, x, state, scratch, nf, lam, dnu):
    """(step, asset, together): the next asset to change and how far off in lam; -1: none.

    Two events are one if nothing moves visibly between them: `together` is how near that is.

    Args:
        u: Caps on the holdings.
        r: Yearly expected returns.
        r_size: The largest absolute return, for tolerances.
        x: A portfolio.
        state: LOWER, FREE or UPPER of each asset.
        scratch: Arrays that are kept between events.
        nf: How many assets are free.
        lam: w / (2 (1 - w)) of the weight w on return.
        dnu: How the budget's multiplier moves with lam.
    """
    free = scratch.free
    d = scratch.d
    qd = scratch.qd
    qx = scratch.qx
    nu = 0.0
    for a in range(nf):
        i = free[a]
        nu += (lam * r[i] - qx[i]) / nf
    together = EVENT * (1.0 + lam)
    for a in range(nf):
        if abs(d[free[a]]) * together > EVENT:
            together = EVENT / abs(d[free[a]])
    step = np.inf
    who = -1
    for i in range(r.size):
        t = np.inf
        if state[i] == FREE:
            if d[i] < 0.0:
                t = max(0.0, x[i]) / -d[i]
            elif d[i] > 0.0 and u[i] < np.inf:
                t = max(0.0, u[i] - x[i]) / d[i]
        else:
            s = qx[i] + nu - lam * r[i]
            rate = qd[i] + dnu - r[i]
            noise = 1e-13 * (r_size + abs(dnu) + abs(qd[i]))
            if state[i] == LOWER and rate < -noise:
                t = max(0.0, s) / -rate
            elif state[i] == UPPER and rate > noise:
                t = max(0.0, -s) / rate
        if t < step - together:
            step = t
            who = i
    return step, who, together


@compiled
def trace(Q, u, c0, r, start, lam_max, out):
    """Follow x(lam) = argmin 1/2 x'Qx + (c0 - lam r)'x, 1'x = 1, 0 <= x <= u, from lam = 0 upwards.

    `start` (LOWER, FREE or UPPER per asset, at least one FREE) is the solution at lam = 0: for a
    frontier c0 = 0, so it is the portfolio of least variance. `out` receives the pieces.

    Rule for events that happen at once: one asset changes at a time, the one with the least
    number, without moving, until the direction is consistent (Murty's least-index rule, finite
    because Q is positive definite). A lone free asset never leaves, so the set is never empty.

    Returns the number of turning points, negative if it gave up.

    Args:
        Q: Covariance of the yearly returns.
        u: Caps on the holdings.
        c0: Linear cost at lam = 0; zero for a frontier.
        r: Yearly expected returns.
        start: The portfolio at lam = 0 and the state of each asset in it.
        lam_max: Where to stop.
        out: Receives the pieces.
    """
    n = r.size
    x = start.x.copy()
    state = start.state.copy()
    scratch = TraceScratch(
        np.empty(n, np.int64), np.empty((n, n)), np.empty(n), np.empty(n), np.zeros(n),
        np.empty(n), np.empty(n),
    )  # fmt: skip
    free = scratch.free
    L = scratch.L
    d = scratch.d
    nf = factor_free(Q, L, free, state)
    gradient(Q, x, c0, scratch.qx)
    lam = 0.0
    k = 0
    flips = 0
    r_size = 0.0
    for i in range(n):
        r_size = max(r_size, abs(r[i]))
    while True:
        dnu = direction(Q, r, r_size, x, scratch, nf)
        step, who, together = next_event(u, r, r_size, x, state, scratch, nf, lam, dnu)
        moved = step > together
        if moved or who < 0:
            if k >= out.lams.size:
                return -1
            out.lams[k] = lam
            out.xs[k] = x
            out.ds[k] = d
            out.states[k] = state
            k += 1
            flips = 0
            if who < 0 or lam + step > lam_max:
                return k
            for i in range(n):
                x[i] += step * d[i]
            lam += step
        else:
            flips += 1
            if flips > 60 * n:
                return -k - 1
        if state[who] == FREE:
            at_lower = d[who] < 0.0
            state[who] = LOWER if at_lower else UPPER
            x[who] = 0.0 if at_lower else u[who]
            nf = free_drop(L, free, nf, who)
        else:
            state[who] = FREE
            nf = free_add(Q, L, free, nf, who)
        if moved and n >= LONG and k % 32 != 0:
            for i in range(n):
                scratch.qx[i] += step * scratch.qd[i]
        elif moved:
            gradient(Q, x, c0, scratch.qx)
            if k % 32 == 0:  # what was changed often collects rounding: make it anew
                nf = factor_free(Q, L, free, state)


@borrowing
def segment_of(lams, count, lam):
    """The number of the last turning point at or below lam.

    Args:
        lams: The turning points, ascending.
        count: How many of them are filled.
        lam: w / (2 (1 - w)) of the weight w on return.
    """
    k = 0
    while k + 1 < count and lams[k + 1] <= lam:
        k += 1
    return k


@inlined
def squared_distance(path, seg, lam, y):
    """||y - x(lam)||^2 without the cancellation of the expanded square.

    Args:
        path: The frontier piece by piece.
        seg: The number of a piece.
        lam: w / (2 (1 - w)) of the weight w on return.
        y: An observed decision.
    """
    total = 0.0
    step = lam - path.lams[seg]
    for i in range(y.size):
        e = y[i] - path.xs[seg, i] - step * path.ds[seg, i]
        total += e * e
    return total


@borrowing
def multiplier_at(Q, theta, x, state, lam):
    """The budget's multiplier at a portfolio, from any free asset's stationarity.

    Args:
        Q: Covariance of the yearly returns.
        theta: Yearly expected returns.
        x: A portfolio.
        state: LOWER, FREE or UPPER of each asset.
        lam: w / (2 (1 - w)) of the weight w on return.
    """
    for i in range(x.size):
        if state[i] == FREE:
            nu = lam * theta[i]
            for j in range(x.size):
                nu -= Q[i, j] * x[j]
            return nu
    return 0.0


@borrowing
def nearest_on_grid(path, count, grid, y):
    """(position in grid, segment, squared distance) of the frontier portfolio nearest to y.

    Ties go to the weight nearest 1/2 (lam nearest 1/2 on the log scale), then to the smaller one:
    at r = 0 every weight gives the same portfolio, and the ends would say the most for no reason.

    Args:
        path: The frontier piece by piece.
        count: How many pieces of the path are filled.
        grid: Candidate weights as lam, ascending.
        y: An observed decision.
    """
    lams = path.lams
    xs = path.xs
    ds = path.ds
    n = y.size
    best = np.inf
    best_mid = np.inf
    best_k = 0
    best_seg = 0
    seg = -1
    c0 = 0.0
    c1 = 0.0
    c2 = 0.0
    for k in range(grid.size):
        while seg < 0 or (seg + 1 < count and lams[seg + 1] <= grid[k]):
            seg += 1
            if seg + 1 < count and lams[seg + 1] <= grid[k]:
                continue
            c0 = 0.0
            c1 = 0.0
            c2 = 0.0
            for i in range(n):
                e = y[i] - xs[seg, i]
                c0 += e * e
                c1 += e * ds[seg, i]
                c2 += ds[seg, i] * ds[seg, i]
        t = grid[k] - lams[seg]
        distance = max(0.0, c0 - 2.0 * t * c1 + t * t * c2)
        mid = abs(np.log(2.0 * grid[k]))
        slack = TIE * (c0 + distance)
        if distance < best - slack or (distance <= best + slack and mid < best_mid - 1e-9):
            best = distance
            best_mid = mid
            best_k = k
            best_seg = seg
    return best_k, best_seg, squared_distance(path, best_seg, grid[best_k], y)


@inlined
def nearer_of_piece(path, count, k, y, low, high, best, best_lam, best_seg):
    """The nearest point so far (squared distance, lam, segment), or that of piece k if nearer.

    Args:
        path: The frontier piece by piece.
        count: How many pieces of the path are filled.
        k: The number of a piece.
        y: An observed decision.
        low: The least lam.
        high: The greatest lam.
        best: The least squared distance so far.
        best_lam: Its lam.
        best_seg: The number of its piece.
    """
    lams = path.lams
    xs = path.xs
    ds = path.ds
    start = max(lams[k], low)
    end = high
    if k + 1 < count:
        end = min(lams[k + 1], high)
    if end < start:
        return best, best_lam, best_seg
    c0 = 0.0
    c1 = 0.0
    c2 = 0.0
    for i in range(y.size):
        e = y[i] - xs[k, i]
        c0 += e * e
        c1 += e * ds[k, i]
        c2 += ds[k, i] * ds[k, i]
    lam = min(max(0.5, start), end) if c2 == 0.0 else lams[k] + c1 / c2
    lam = min(max(lam, start), end)
    t = lam - lams[k]
    distance = max(0.0, c0 - 2.0 * t * c1 + t * t * c2)
    slack = TIE * (c0 + distance)
    nearer_half = abs(np.log(2.0 * lam)) < abs(np.log(2.0 * best_lam)) - 1e-9
    if distance < best - slack or (distance <= best + slack and nearer_half):
        return distance, lam, k
    return best, best_lam, best_seg


@borrowing
def nearest_on_trace(path, count, y, low, high):
    """(lam, segment, squared distance) of the point of the whole frontier nearest to y.

    The paper's ideal loss: no grid. lam is kept in [low, high]; where a stretch of lam gives the
    same portfolio, the one nearest 1/2 stands for it.

    Args:
        path: The frontier piece by piece.
        count: How many pieces of the path are filled.
        y: An observed decision.
        low: The least lam.
        high: The greatest lam.
    """
    best = np.inf
    best_lam = low
    best_seg = 0
    for k in range(count):
        best, best_lam, best_seg = nearer_of_piece(
            path, count, k, y, low, high, best, best_lam, best_seg
        )
    return best_lam, best_seg, squared_distance(path, best_seg, best_lam, y)


@inlined
def point_at(path, seg, lam, out):
    """Write the portfolio at lam, on piece seg, into `out`.

    Args:
        path: The frontier piece by piece.
        seg: The number of a piece.
        lam: w / (2 (1 - w)) of the weight w on return.
        out: Receives the portfolio.
    """
    step = lam - path.lams[seg]
    for i in range(out.size):
        out[i] = path.xs[seg, i] + step * path.ds[seg, i]


@borrowing
def assign_many(path, grid, Y, k_out, distance_out):
    """`nearest_on_grid` for every row of Y, on a path that fills its arrays.

    Args:
        path: The frontier piece by piece.
        grid: Candidate weights as lam, ascending.
        Y: The decisions, one in each row.
        k_out: Receives the number of the nearest weight for each row.
        distance_out: Receives the distance of each row.
    """
    for t in range(Y.shape[0]):
        k, _, distance = nearest_on_grid(path, path.lams.size, grid, Y[t])
        k_out[t] = k
        distance_out[t] = np.sqrt(distance)
