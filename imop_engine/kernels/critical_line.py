"""The exact frontier of a portfolio problem, by the critical line method.

Letters, as in the paper where it has one:
    Q, r, u     covariance, expected returns, caps;  y  an observed decision
    lam         w / (2 (1 - w)), so that a portfolio minimises  1/2 x'Qx - lam r'x
"""

import numpy as np

from imop_engine.compiling import compiled
from imop_engine.kernels.constants import EVENT, FREE, LOWER, REFINEMENTS, TIE, UPPER


@compiled
def cholesky_solve(L, k, b):
    """Overwrite b[:k] with the solution of L L' z = b."""
    for i in range(k):
        t = b[i]
        for j in range(i):
            t -= L[i, j] * b[j]
        b[i] = t / L[i, i]
    for i in range(k - 1, -1, -1):
        b[i] /= L[i, i]
        t = b[i]
        for j in range(i):
            b[j] -= L[i, j] * t


@compiled
def free_add(Q, L, free, nf, i):
    """Let asset i into the free set: one more row of the Cholesky factor of Q_FF."""
    pivot = Q[i, i]
    for a in range(nf):
        t = Q[i, free[a]]
        for b in range(a):
            t -= L[nf, b] * L[a, b]
        t /= L[a, a]
        L[nf, a] = t
        pivot -= t * t
    L[nf, nf] = np.sqrt(max(pivot, 1e-15 * Q[i, i]))
    free[nf] = i
    return nf + 1


@compiled
def free_drop(L, free, nf, i):
    """Take asset i out of the free set, by rotations of the factor's later rows."""
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


@compiled
def gradient(Q, x, c0, out):
    """out = Q x + c0. By hand: numba's `@` loads all of scipy.linalg for it."""
    out[:] = c0
    for j in range(x.size):
        if x[j] != 0.0:
            for i in range(x.size):
                out[i] += x[j] * Q[j, i]


@compiled
def trace(Q, c0, r, u, x0, state0, lam_max, lams, xs, ds, states, nus):
    """Follow x(lam) = argmin 1/2 x'Qx + (c0 - lam r)'x, 1'x = 1, 0 <= x <= u, from lam = 0 upwards.

    x0 and state0 (LOWER, FREE or UPPER per asset, at least one FREE) are the solution at lam = 0:
    for a frontier c0 = 0, so it is the portfolio of least variance. Row k of the output says:
    from lams[k] on, x = xs[k] + (lam - lams[k]) ds[k], the assets are in states[k], and the
    budget's multiplier is nus[k] at lams[k].

    Rule for events that happen at once: one asset changes at a time, the one with the least
    number, without moving, until the direction is consistent (Murty's least-index rule, finite
    because Q is positive definite). A lone free asset never leaves, so the set is never empty.

    Returns the number of turning points, negative if it gave up.
    """
    n = r.size
    x = x0.copy()
    state = state0.copy()
    free = np.empty(n, np.int64)
    L = np.empty((n, n))
    column = np.empty(n)
    d = np.zeros(n)
    qd = np.empty(n)
    a_one = np.empty(n)
    residual = np.empty(n)
    nf = 0
    for i in range(n):
        if state[i] == FREE:
            nf = free_add(Q, L, free, nf, i)
    qx = np.empty(n)
    gradient(Q, x, c0, qx)
    lam = 0.0
    k = 0
    flips = 0
    r_size = 0.0
    for i in range(n):
        r_size = max(r_size, abs(r[i]))
    while True:
        # direction: Q_FF d = r_F - dnu 1,  1'd = 0
        sum_one = 0.0
        sum_r = 0.0
        for a in range(nf):
            a_one[a] = 1.0
            column[a] = r[free[a]]
        cholesky_solve(L, nf, a_one)
        cholesky_solve(L, nf, column)
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
        drift = 0.0  # of the budget, by rounding: taken back in proportion
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
                residual[a] = r[free[a]] - dnu - qd[free[a]]
                worst = max(worst, abs(residual[a]))
            if nf == 1 or worst <= EVENT * r_size:
                break
            sum_r = 0.0  # Q_FF is close to singular: solve for what is missing
            column[:nf] = residual[:nf]
            cholesky_solve(L, nf, column)
            for a in range(nf):
                sum_r += column[a]
            shift = sum_r / sum_one
            dnu += shift
            for a in range(nf):
                d[free[a]] += column[a] - shift * a_one[a]
        nu = 0.0
        for a in range(nf):
            i = free[a]
            nu += (lam * r[i] - qx[i]) / nf
        # next event; two are one if nothing moves visibly between them
        together = EVENT * (1.0 + lam)
        for a in range(nf):
            if abs(d[free[a]]) * together > EVENT:
                together = EVENT / abs(d[free[a]])
        step = np.inf
        who = -1
        for i in range(n):
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
        moved = step > together
        if moved or who < 0:
            if k >= lams.size:
                return -1
            lams[k] = lam
            xs[k] = x
            ds[k] = d
            states[k] = state
            nus[k] = nu
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
        if moved:
            gradient(Q, x, c0, qx)
            if k % 32 == 0:  # a factor that was changed often collects rounding: make it anew
                nf = 0
                for i in range(n):
                    if state[i] == FREE:
                        nf = free_add(Q, L, free, nf, i)


@compiled
def segment_of(lams, count, lam):
    """The number of the last turning point at or below lam."""
    k = 0
    while k + 1 < count and lams[k + 1] <= lam:
        k += 1
    return k


@compiled
def squared_distance(lams, xs, ds, seg, lam, y):
    """||y - x(lam)||^2 without the cancellation of the expanded square."""
    total = 0.0
    for i in range(y.size):
        e = y[i] - xs[seg, i] - (lam - lams[seg]) * ds[seg, i]
        total += e * e
    return total


@compiled
def multiplier_at(Q, theta, x, state, lam):
    """The budget's multiplier at a portfolio, from any free asset's stationarity."""
    for i in range(x.size):
        if state[i] == FREE:
            nu = lam * theta[i]
            for j in range(x.size):
                nu -= Q[i, j] * x[j]
            return nu
    return 0.0


@compiled
def nearest_on_grid(lams, xs, ds, count, grid, y):
    """(position in grid, segment, squared distance) of the frontier portfolio nearest to y.

    Ties go to the weight nearest 1/2 (lam nearest 1/2 on the log scale), then to the smaller one:
    at r = 0 every weight gives the same portfolio, and the ends would say the most for no reason.
    """
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
    return best_k, best_seg, squared_distance(lams, xs, ds, best_seg, grid[best_k], y)


@compiled
def nearest_on_trace(lams, xs, ds, count, y, low, high):
    """(lam, segment, squared distance) of the point of the whole frontier nearest to y.

    The paper's ideal loss: no grid. lam is kept in [low, high]; where a stretch of lam gives the
    same portfolio, the one nearest 1/2 stands for it.
    """
    n = y.size
    best = np.inf
    best_lam = low
    best_seg = 0
    for k in range(count):
        start = max(lams[k], low)
        end = high
        if k + 1 < count:
            end = min(lams[k + 1], high)
        if end < start:
            continue
        c0 = 0.0
        c1 = 0.0
        c2 = 0.0
        for i in range(n):
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
            best = distance
            best_lam = lam
            best_seg = k
    return best_lam, best_seg, squared_distance(lams, xs, ds, best_seg, best_lam, y)


@compiled
def project_many(lams, xs, ds, count, Y, low, high, lam_out, point_out, distance_out):
    """`nearest_on_trace` for every row of Y."""
    for t in range(Y.shape[0]):
        lam, seg, distance = nearest_on_trace(lams, xs, ds, count, Y[t], low, high)
        lam_out[t] = lam
        distance_out[t] = np.sqrt(distance)
        for i in range(Y.shape[1]):
            point_out[t, i] = xs[seg, i] + (lam - lams[seg]) * ds[seg, i]


@compiled
def assign_many(lams, xs, ds, count, grid, Y, k_out, distance_out):
    """`nearest_on_grid` for every row of Y."""
    for t in range(Y.shape[0]):
        k, _, distance = nearest_on_grid(lams, xs, ds, count, grid, Y[t])
        k_out[t] = k
        distance_out[t] = np.sqrt(distance)
