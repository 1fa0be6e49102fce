"""The second-order learner of a portfolio problem.

Letters as in `portfolio`; H is the information matrix, g the gradient.
"""

import numpy as np

from imop_engine.compiling import compiled
from imop_engine.kernels.constants import DEPENDENT, FREE, LOWER
from imop_engine.kernels.critical_line import cholesky_solve, free_add, nearest_on_trace, trace
from imop_engine.kernels.portfolio import portfolio_run

SEARCHING = 20  # rounds of Algorithm 1 at first
SETTLING = 40  # rounds of Algorithm 2 after them
MOST_OPENINGS = 3  # a frontier that explains little may be all there is: then go on with it
POOR = 0.1  # share of the spread of decisions that may stay unexplained after an opening
EARLY_TRUST = 0.25  # information collected while settling counts this much: beliefs still moved
CLEARLY_HELD = 0.01  # a holding that wakes an asset, and at least four standard deviations of noise
LONGEST_STEP = 0.5  # of one step, as a share of the spread of the returns
UNSEEN = 1e-9  # information given to directions that nothing was seen of, relative to the mean
ALARM = 3.0  # where it forgets: recent misses this many times their usual size open it again
WORTH_ALARM = 0.003  # unless they are as small as this
AGE, OPENINGS, HALVED, LEFT, FREEDOM, MISSED, AT_END, SQUARES, LATELY = range(9)  # its memory


@compiled
def response(Q, state, free, L, M):
    """M with dx_F = lam M dr_F on the region `state`; lists F in `free`, returns its size."""
    nf = 0
    for i in range(state.size):
        if state[i] == FREE:
            nf = free_add(Q, L, free, nf, i)
    w = np.ones(nf)
    cholesky_solve(L, nf, w)
    total = np.sum(w)
    column = np.empty(nf)
    for b in range(nf):
        column[:] = 0.0
        column[b] = 1.0
        cholesky_solve(L, nf, column)
        for a in range(nf):
            M[a, b] = column[a] - w[a] * w[b] / total
    return nf


@compiled
def inform(Q, state, s, lam, e, free, L, M, H, g):
    """What one decision says about r, her own weight projected out.

    With s = dx/dlam, J = dx/dr = lam M and Pi = I - ss'/s's: adds J' Pi J to H, puts J' Pi e in g.
    Returns the squares that are left of e, and their degrees of freedom: the held assets less one
    for the budget and one for the weight.
    """
    g[:] = 0.0
    nf = response(Q, state, free, L, M)
    if nf < 2:
        return 0.0, 0
    ss = 0.0
    se = 0.0
    for a in range(nf):
        ss += s[free[a]] ** 2
        se += s[free[a]] * e[free[a]]
    tilt = se / ss if ss > 0.0 else 0.0
    left = 0.0
    ms = np.zeros(nf)
    for a in range(nf):
        rest = e[free[a]] - tilt * s[free[a]]
        left += rest * rest
        for b in range(nf):
            ms[a] += M[a, b] * s[free[b]]
            g[free[b]] += lam * M[a, b] * rest
    for a in range(nf):
        for b in range(a + 1):
            t = 0.0
            for c in range(nf):
                t += M[a, c] * M[c, b]
            if ss > 0.0:
                t -= ms[a] * ms[b] / ss
            H[free[a], free[b]] += lam * lam * t
            if a != b:
                H[free[b], free[a]] += lam * lam * t
    return left, nf - 2 if ss > 0.0 else nf - 1


@compiled
def inform_many(Q, lams, xs, ds, states, count, Y, low, high, H, g):
    """`inform` for every row of Y, summed; also the loss of them all.

    Decisions on one piece of the frontier share their response, so each piece is worked out once.
    """
    n = Q.shape[0]
    L = np.zeros((n, n))
    M = np.empty((n, n))
    free = np.empty(n, np.int64)
    one = np.empty(n)
    fresh = np.empty((n, n))
    number = np.zeros(count, np.int64)
    lam_squares = np.zeros(count)
    lam_misses = np.zeros((count, n))
    left = 0.0
    total = 0.0
    for t in range(Y.shape[0]):
        lam, seg, loss = nearest_on_trace(lams, xs, ds, count, Y[t], low, high)
        total += loss
        number[seg] += 1
        lam_squares[seg] += lam * lam
        ss = 0.0
        se = 0.0
        ee = 0.0
        for i in range(n):
            e = Y[t, i] - xs[seg, i] - (lam - lams[seg]) * ds[seg, i]
            lam_misses[seg, i] += lam * e
            if states[seg, i] == FREE:
                ss += ds[seg, i] ** 2
                se += ds[seg, i] * e
                ee += e * e
        left += ee - (se * se / ss if ss > 0.0 else 0.0)
    H[:] = 0.0
    g[:] = 0.0
    freedom = 0
    for c in range(count):
        if number[c] > 0:
            fresh[:] = 0.0
            _, dof = inform(Q, states[c], ds[c], 1.0, lam_misses[c], free, L, M, fresh, one)
            freedom += dof * number[c]
            for i in range(n):
                g[i] += one[i]
                for j in range(n):
                    H[i, j] += lam_squares[c] * fresh[i, j]
    return total, left, freedom


@compiled
def factor(A):
    """Cholesky factor of A in its lower triangle."""
    for j in range(A.shape[0]):
        t = A[j, j]
        for c in range(j):
            t -= A[j, c] * A[j, c]
        A[j, j] = np.sqrt(t)
        for i in range(j + 1, A.shape[0]):
            t = A[i, j]
            for c in range(j):
                t -= A[i, c] * A[j, c]
            A[i, j] = t / A[j, j]


@compiled
def metric_step(H, Pr, g, theta, lo, hi, d):
    """d = argmin 1/2 d'Hd - g'd over the plane of the anchors, not leaving the box.

    An asset that sits on its box's side and wants out is held there: the plane loses a direction.
    What H does not see moves by next to nothing: UNSEEN times the mean information stands in for
    the information there.
    """
    n = g.size
    mean = 0.0
    for i in range(n):
        mean += H[i, i] / n
    d[:] = 0.0
    if not mean > 0.0:
        return
    HP = np.empty((n, n))
    A = np.empty((n, n))
    P = Pr.copy()
    step = np.empty(n)
    again = True
    while again:
        for i in range(n):
            for j in range(n):
                t = 0.0
                for c in range(n):
                    t += H[i, c] * P[c, j]
                HP[i, j] = t
        for i in range(n):
            step[i] = 0.0
            for c in range(n):
                step[i] += P[i, c] * g[c]
            for j in range(i + 1):
                t = -mean * P[i, j]  # the plane's complement gets the mean, so that A is regular
                for c in range(n):
                    t += P[i, c] * HP[c, j]
                A[i, j] = t
            A[i, i] += mean * (1.0 + UNSEEN)
        factor(A)
        cholesky_solve(A, n, step)
        again = False
        for i in range(n):
            d[i] = 0.0
            for c in range(n):
                d[i] += P[i, c] * step[c]
        for i in range(n):
            outward = (d[i] < 0.0 and theta[i] <= lo[i]) or (d[i] > 0.0 and theta[i] >= hi[i])
            if outward and P[i, i] > DEPENDENT:
                again = True
                size = P[i, i]
                column = P[:, i].copy()
                for a in range(n):
                    for b in range(n):
                        P[a, b] -= column[a] * column[b] / size
                P[i, :] = 0.0
                P[:, i] = 0.0
            elif outward:
                d[i] = 0.0


@compiled
def move(theta, d, Pr, r_fixed, lo, hi):
    """Add d, in the plane of the anchors, to theta: shortened so that it stays in its box."""
    n = theta.size
    high = theta[0]
    low = theta[0]
    size = 0.0
    for i in range(n):
        high = max(high, theta[i])
        low = min(low, theta[i])
        size += d[i] * d[i]
    share = 1.0
    if size > 0.0:
        share = min(1.0, LONGEST_STEP * (high - low) / np.sqrt(size))
    for i in range(n):
        if d[i] > 0.0:
            share = min(share, (hi[i] - theta[i]) / d[i])
        elif d[i] < 0.0:
            share = min(share, (lo[i] - theta[i]) / d[i])
    for i in range(n):
        d[i] = theta[i] + share * d[i]
    for i in range(n):
        t = r_fixed[i]
        for j in range(n):
            t += Pr[i, j] * d[j]
        theta[i] = min(max(t, lo[i]), hi[i])


@compiled
def newton_run(
    Q, PQ, QPQ, Pr, r_fixed, r_lo, r_hi, u, x0, state0, theta, flat, Y, etas, opening, grid,
    forgetting, node_limit, W, side, nw_state, H, recent, sums, memory,
    losses, lam_out, nodes_out, gap_out, objective_out, theta_out,
):  # fmt: skip
    """The second-order learner over the decisions in Y; theta and its whole state change in place.

    Opening, with the rates in `opening`: SEARCHING rounds of Algorithm 1 find the right regions
    whatever the start; SETTLING rounds of Algorithm 2 with exact weights come close, and collect
    the first information. If the frontier then explains too little, or most weights sit at an end
    (returns all alike, or far too large), the opening starts once more, from `flat`.
    After it, steps in the metric of the information H. `recent` is its younger half and takes its
    place whenever the age doubles: what was learned at early beliefs is not kept. An asset that no
    point of the frontier holds has no information: if somebody clearly holds it, the implicit
    update says how far to raise it. With forgetting below 1, misses that suddenly grow mean that
    beliefs have changed: the opening starts again where theta is.

    memory: AGE .. LATELY above; sums: of the decisions while settling.
    Returns the number of rounds done: fewer than there are only if a trace gave up.
    """
    n = theta.size
    size = 8 * n + 16
    lams = np.empty(size)
    xs = np.empty((size, n))
    ds = np.empty((size, n))
    states = np.empty((size, n), np.int8)
    nus = np.empty(size)
    L = np.zeros((n, n))
    M = np.empty((n, n))
    free = np.empty(n, np.int64)
    fresh = np.empty((n, n))
    g = np.empty(n)
    d = np.empty(n)
    e = np.empty(n)
    woken = np.empty(n)
    c0 = np.zeros(n)
    low = grid[0]
    high = grid[grid.size - 1]
    ends = np.array([low, high])
    for t in range(Y.shape[0]):
        y = Y[t]
        one = slice(t, t + 1)
        nodes_out[t] = 0
        gap_out[t] = 0.0
        objective_out[t] = 0.0
        count = trace(Q, c0, theta, u, x0, state0, high, lams, xs, ds, states, nus)
        if count < 0:
            return t
        lam, seg, loss = nearest_on_trace(lams, xs, ds, count, y, low, high)
        losses[t] = loss
        lam_out[t] = lam
        age = memory[AGE]
        memory[AGE] += 1.0
        searching = age < SEARCHING
        settling = not searching and age < SEARCHING + SETTLING
        if not searching:
            for i in range(n):
                e[i] = y[i] - xs[seg, i] - (lam - lams[seg]) * ds[seg, i]
            fresh[:] = 0.0
            left, freedom = inform(Q, states[seg], ds[seg], lam, e, free, L, M, fresh, g)
        if searching or settling:
            if settling:
                for i in range(n):
                    sums[i] += y[i]
                    memory[SQUARES] += y[i] * y[i]
                    for j in range(n):
                        H[i, j] += EARLY_TRUST * fresh[i, j]
                        recent[i, j] += fresh[i, j]
                memory[MISSED] += loss
                memory[AT_END] += 1.0 if lam <= 1.01 * low or lam >= 0.99 * high else 0.0
                memory[LEFT] = 0.9 * memory[LEFT] + left  # early misses are errors, not noise
                memory[FREEDOM] = 0.9 * memory[FREEDOM] + freedom
            done = portfolio_run(
                Q, PQ, QPQ, Pr, r_fixed, r_lo, r_hi, u, x0, state0, theta, Y[one],
                opening[int(age) : int(age) + 1], grid if searching else ends, not searching,
                searching, node_limit, W, side, nw_state, losses[one], lam_out[one], nodes_out[one],
                gap_out[one], objective_out[one], theta_out[one],
            )  # fmt: skip
            if done < 1:
                return t
            losses[t] = loss
            lam_out[t] = lam
            if memory[AGE] == SEARCHING + SETTLING:
                spread = memory[SQUARES]
                for i in range(n):
                    spread -= sums[i] * sums[i] / SETTLING
                poor = memory[MISSED] > POOR * spread or memory[AT_END] > 0.5 * SETTLING
                if poor and memory[OPENINGS] + 1.0 < MOST_OPENINGS:
                    opened = memory[OPENINGS] + 1.0
                    memory[:] = 0.0
                    memory[OPENINGS] = opened
                    H[:] = 0.0
                    recent[:] = 0.0
                    sums[:] = 0.0
                    theta[:] = flat
                memory[HALVED] = memory[AGE]
            theta_out[t] = theta
            continue
        noise = np.sqrt(memory[LEFT] / memory[FREEDOM]) if memory[FREEDOM] > 0.0 else 0.0
        asleep = False
        for i in range(n):
            seen = False
            for c in range(count):
                seen |= states[c, i] != LOWER
            woken[i] = 0.0 if seen or y[i] <= max(CLEARLY_HELD, 4.0 * noise) else 1.0
            asleep |= woken[i] > 0.0
        if asleep:
            d[:] = theta
            portfolio_run(
                Q, PQ, QPQ, Pr, r_fixed, r_lo, r_hi, u, x0, state0, d, Y[one], etas[one], ends,
                not searching, searching, node_limit, W, side, nw_state, losses[one], lam_out[one],
                nodes_out[one], gap_out[one], objective_out[one], theta_out[one],
            )  # fmt: skip
            for i in range(n):
                e[i] = (d[i] - theta[i]) * woken[i]
            metric_step(np.eye(n), Pr, e, theta, r_lo, r_hi, d)
        else:
            if memory[AGE] > 2.0 * memory[HALVED]:
                H[:] = recent
                recent[:] = 0.0
                memory[HALVED] = memory[AGE]
                memory[LEFT] *= 0.1
                memory[FREEDOM] *= 0.1
            for i in range(n):
                for j in range(n):
                    H[i, j] = forgetting * H[i, j] + fresh[i, j]
                    recent[i, j] = forgetting * recent[i, j] + fresh[i, j]
            if freedom > 0:
                memory[LATELY] = 0.9 * memory[LATELY] + 0.1 * left / freedom
            if forgetting < 1.0 and memory[LATELY] > max(ALARM * noise, WORTH_ALARM) ** 2:
                memory[:] = 0.0
                H[:] = 0.0
                recent[:] = 0.0
                sums[:] = 0.0
                theta_out[t] = theta
                continue
            memory[LEFT] = forgetting * memory[LEFT] + left
            memory[FREEDOM] = forgetting * memory[FREEDOM] + freedom
            metric_step(H, Pr, g, theta, r_lo, r_hi, d)
        move(theta, d, Pr, r_fixed, r_lo, r_hi)
        theta_out[t] = theta
    return Y.shape[0]
