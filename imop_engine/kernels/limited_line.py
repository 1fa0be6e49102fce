"""The exact frontier where limits bind sums of holdings, by the general critical line method.

Letters are those of `nouns`; F is the set of free assets, nf its size, L the Cholesky factor of
Q_FF; W are the rows that hold with equality, nw their number, C their coefficients on the free
assets, nu their multipliers. On a stretch

    Q_FF d + C' dnu = r_F,   C d = 0

is solved in the space of the rows: with B = C L^-T the multipliers solve B B' dnu = B L^-1 r_F.
The budget is row 0 of all rows, equations come first, then inequalities `rows x >= levels`.
"""

from typing import NamedTuple

import numpy as np

from imop_engine.compiling import borrowing, compiled, inlined
from imop_engine.kernels.constants import EVENT, FREE, LOWER, REFINEMENTS, UPPER
from imop_engine.kernels.critical_line import (
    cholesky_solve,
    factor_free,
    free_add,
    free_drop,
    gradient,
    trace,
)
from imop_engine.kernels.nouns import Cases, Floats, Integers, Start
from imop_engine.kernels.products import dot

STILL = 1e-12  # a holding that moves by less than this share of what it would do freely is still
LEVEL = 1e-11  # a row that moves by less than this share of the fastest holding does not move
STRAIGHT = 1e-13  # rows that hold may move by this share of the fastest holding
ROUNDING = 1e-15  # by so much a row that holds may be missed
AFRESH = 8  # turning points after which what is carried along is computed anew
PIVOT = 1e-13  # a row of which less than this share is left says what the others say already


class Line(NamedTuple):
    """A place on the frontier, and what is kept from event to event."""

    x: Floats
    state: Cases
    tight: Cases
    free: Integers
    held: Integers  # numbers of the rows that hold
    L: Floats
    B: Floats  # one row for each that holds
    S: Floats  # Cholesky factor of B B'
    d: Floats  # dx/dlam
    dnu: Floats  # of each row, zero where it does not hold
    nu: Floats
    qd: Floats  # Q d
    qx: Floats  # Q x
    pull: Floats  # C'nu over all assets
    dpull: Floats  # C'dnu
    right: Floats  # right-hand sides over the free assets
    small: Floats  # and over the rows


@compiled
def line_from(arrays):
    """The line at the portfolio of least variance."""
    n = arrays.caps.size
    m = arrays.levels.size
    return Line(
        arrays.least_variance.copy(), arrays.least_variance_state.copy(),
        arrays.least_variance_tight.copy(), np.empty(n, np.int64), np.empty(m, np.int64),
        np.empty((n, n)), np.empty((m, n)), np.empty((m, m)), np.zeros(n), np.zeros(m),
        np.zeros(m), np.zeros(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(m),
    )  # fmt: skip


@borrowing
def factor_rows(rows, line, nf):
    """List the rows that hold, and factor B B'; returns their number.

    A row that says what the others say already is let go.

    Args:
        rows: coefficients of all rows.
        line: the place on the frontier.
        nf: how many assets are free.
    """
    free, held, B, L, S = line.free, line.held, line.B, line.L, line.S
    nw = 0
    for j in range(rows.shape[0]):
        if line.tight[j] == 0:
            continue
        whole = 0.0
        for a in range(nf):
            B[nw, a] = (rows[j, free[a]] - dot(L[a], B[nw], a)) / L[a, a]
            whole += B[nw, a] * B[nw, a]
        left = whole
        for b in range(nw):
            S[nw, b] = (dot(B[nw], B[b], nf) - dot(S[nw], S[b], b)) / S[b, b]
            left -= S[nw, b] * S[nw, b]
        if left <= PIVOT * whole:
            line.tight[j] = 0
            continue
        S[nw, nw] = np.sqrt(left)
        held[nw] = j
        nw += 1
    return nw


@inlined
def solve_line(line, nf, nw):
    """Solve Q_FF v + C' w = right, C v = -small: v takes the place of right, w that of small.

    Returns how many times larger v would be without the rows, roughly; at least 1.

    Args:
        line: the place on the frontier, with both right-hand sides.
        nf: how many assets are free.
        nw: how many rows hold.
    """
    L, B, right, small = line.L, line.B, line.right, line.small
    before = 0.0
    after = 0.0
    for a in range(nf):
        right[a] = (right[a] - dot(L[a], right, a)) / L[a, a]
        before = max(before, abs(right[a]))
    for b in range(nw):
        small[b] += dot(B[b], right, nf)
    cholesky_solve(line.S, nw, small)
    for b in range(nw):
        for a in range(nf):
            right[a] -= small[b] * B[b, a]
    for a in range(nf - 1, -1, -1):
        after = max(after, abs(right[a]))
    for a in range(nf - 1, -1, -1):
        right[a] /= L[a, a]
        for i in range(a):
            right[i] -= L[a, i] * right[a]
    return max(1.0, before / after) if after > 0.0 else np.inf


@borrowing
def straighten(arrays, line, nf, nw):
    """Put the rows that hold right to the last digit: x drifts by rounding.

    Args:
        arrays: the portfolio problem.
        line: the place on the frontier.
        nf: how many assets are free.
        nw: how many rows hold.
    """
    bent = 0.0
    for b in range(nw):
        j = line.held[b]
        line.small[b] = dot(arrays.rows[j], line.x, line.x.size) - arrays.levels[j]
        bent = max(bent, abs(line.small[b]))
    if bent <= ROUNDING:
        return
    for a in range(nf):
        line.right[a] = 0.0
    solve_line(line, nf, nw)
    for a in range(nf):
        line.x[line.free[a]] += line.right[a]


@borrowing
def find_direction(arrays, r, r_size, line, nf, nw):
    """Solve for line.d, line.dnu and Q d.

    Args:
        arrays: the portfolio problem.
        r: Yearly expected returns.
        r_size: The largest absolute return, for tolerances.
        line: the place on the frontier.
        nf: how many assets are free.
        nw: how many rows hold.
    """
    Q, rows = arrays.covariance, arrays.rows
    free, held, right, small = line.free, line.held, line.right, line.small
    d, dnu, qd = line.d, line.dnu, line.qd
    n = d.size
    d[:] = 0.0
    dnu[:] = 0.0
    qd[:] = 0.0
    for b in range(nw):
        small[b] = 0.0
    for a in range(nf):
        right[a] = r[free[a]]
    still = 0.0
    for refined in range(REFINEMENTS + 1):
        shrunk = solve_line(line, nf, nw)
        fastest = 0.0
        for b in range(nw):
            dnu[held[b]] += small[b]
        for a in range(nf):
            d[free[a]] += right[a]
            fastest = max(fastest, abs(d[free[a]]))
        if refined == 0:
            still = STILL * shrunk * fastest
        for a in range(nf):
            if abs(d[free[a]]) <= still or nf == nw:
                d[free[a]] = 0.0
        qd[:] = 0.0
        for a in range(nf):
            da = d[free[a]]
            if da != 0.0:
                for i in range(n):
                    qd[i] += da * Q[free[a], i]
        worst = 0.0
        for a in range(nf):
            i = free[a]
            right[a] = r[i] - qd[i]
            for b in range(nw):
                right[a] -= dnu[held[b]] * rows[held[b], i]
            worst = max(worst, abs(right[a]))
        bent = 0.0
        for b in range(nw):
            small[b] = dot(rows[held[b]], d, n)
            bent = max(bent, abs(small[b]))
        if nf == nw or (worst <= EVENT * r_size and bent <= STRAIGHT * fastest):
            break


@borrowing
def find_multipliers(arrays, r, lam, line, nf, nw):
    """line.nu, the multipliers of the rows that hold: Q_F x + C' nu = lam r_F.

    Args:
        arrays: the portfolio problem.
        r: Yearly expected returns.
        lam: w / (2 (1 - w)) of the weight w on return.
        line: the place on the frontier.
        nf: how many assets are free.
        nw: how many rows hold.
    """
    line.nu[:] = 0.0
    for a in range(nf):
        line.right[a] = lam * r[line.free[a]] - line.qx[line.free[a]]
    for b in range(nw):
        line.small[b] = 0.0
    solve_line(line, nf, nw)
    for b in range(nw):
        line.nu[line.held[b]] = line.small[b]


@inlined
def until_asset(i, arrays, r, r_size, lam, line):
    """How far off in lam the state of asset i changes; inf: it does not.

    Args:
        i: number of the asset.
        arrays: the portfolio problem.
        r: Yearly expected returns.
        r_size: The largest absolute return, for tolerances.
        lam: w / (2 (1 - w)) of the weight w on return.
        line: the place on the frontier.
    """
    low, high = arrays.lower[i], arrays.caps[i]
    d = line.d[i]
    if line.state[i] == FREE:
        if d < 0.0:
            return max(0.0, line.x[i] - low) / -d
        if d > 0.0 and high < np.inf:
            return max(0.0, high - line.x[i]) / d
        return np.inf
    if low == high:
        return np.inf
    s = line.qx[i] + line.pull[i] - lam * r[i]
    rate = line.qd[i] + line.dpull[i] - r[i]
    noise = r_size + abs(line.qd[i]) + abs(line.dpull[i])
    if line.state[i] == LOWER and rate < -1e-13 * noise:
        return max(0.0, s) / -rate
    if line.state[i] == UPPER and rate > 1e-13 * noise:
        return max(0.0, -s) / rate
    return np.inf


@inlined
def until_row(j, arrays, r_size, fastest, line):
    """How far off in lam row j begins to hold, or no longer does; inf: never.

    Args:
        j: number of the row.
        arrays: the portfolio problem.
        r_size: The largest absolute return, for tolerances.
        fastest: How far the asset moves that moves most.
        line: the place on the frontier.
    """
    if line.tight[j] != 0:
        if j < arrays.equations or line.dnu[j] <= 1e-13 * r_size:
            return np.inf
        return max(0.0, -line.nu[j]) / line.dnu[j]
    rate = 0.0
    slack = -arrays.levels[j]
    for i in range(line.d.size):
        c = arrays.rows[j, i]
        if c != 0.0:
            rate += c * line.d[i]
            slack += c * line.x[i]
    if j < arrays.equations:
        return 0.0 if abs(rate) > LEVEL * fastest else np.inf
    return max(0.0, slack) / -rate if rate < -LEVEL * fastest else np.inf


@borrowing
def line_event(arrays, r, r_size, lam, line, nf):
    """(step, number, together): what changes next, an asset or n plus a row, and how far off.

    Two events are one if nothing moves visibly between them: `together` is how near that is.

    Args:
        arrays: the portfolio problem.
        r: Yearly expected returns.
        r_size: The largest absolute return, for tolerances.
        lam: w / (2 (1 - w)) of the weight w on return.
        line: the place on the frontier.
        nf: how many assets are free.
    """
    n = line.d.size
    together = EVENT * (1.0 + lam)
    fastest = 0.0
    for a in range(nf):
        fastest = max(fastest, abs(line.d[line.free[a]]))
    if fastest * together > EVENT:
        together = EVENT / fastest
    line.pull[:] = 0.0
    line.dpull[:] = 0.0
    for j in range(line.tight.size):
        if line.tight[j] != 0:
            for i in range(n):
                line.pull[i] += line.nu[j] * arrays.rows[j, i]
                line.dpull[i] += line.dnu[j] * arrays.rows[j, i]
    step = np.inf
    who = -1
    for i in range(n):
        t = until_asset(i, arrays, r, r_size, lam, line)
        if t < step - together:
            step = t
            who = i
    for j in range(line.tight.size):
        t = until_row(j, arrays, r_size, fastest, line)
        if t < step - together:
            step = t
            who = n + j
    return step, who, together


@borrowing
def change_asset(arrays, line, nf, i):
    """Let asset i into the free set, or out of it to the bound it moves to; returns its size.

    Args:
        arrays: the portfolio problem.
        line: the place on the frontier.
        nf: how many assets are free.
        i: number of the asset.
    """
    if line.state[i] != FREE:
        line.state[i] = FREE
        return free_add(arrays.covariance, line.L, line.free, nf, i)
    falls = line.d[i] < 0.0
    line.state[i] = LOWER if falls else UPPER
    line.x[i] = arrays.lower[i] if falls else arrays.caps[i]
    return free_drop(line.L, line.free, nf, i)


@compiled
def trace_limited(arrays, r, lam_max, out):
    """`trace` from the portfolio of least variance, where limits bind sums of holdings.

    What happens at once is settled as there: one asset or row changes at a time, the one with the
    least number, without moving, until the direction is consistent. A change never makes the rows
    that hold depend on one another: what is about to meet its bound moves, so it is no combination
    of what is held; the curvature that a change lets in is positive, as Q is positive definite.

    Returns the number of turning points, negative if it gave up.

    Args:
        arrays: the portfolio problem.
        r: Yearly expected returns.
        lam_max: Where to stop.
        out: Receives the pieces.
    """
    n = r.size
    Q = arrays.covariance
    line = line_from(arrays)
    nothing = np.zeros(n)
    nf = factor_free(Q, line.L, line.free, line.state)
    lam = 0.0
    k = 0
    flips = 0
    anew = True
    r_size = 0.0
    for i in range(n):
        r_size = max(r_size, abs(r[i]))
    while True:
        nw = factor_rows(arrays.rows, line, nf)
        straighten(arrays, line, nf, nw)
        find_direction(arrays, r, r_size, line, nf, nw)
        if anew:
            gradient(Q, line.x, nothing, line.qx)
            find_multipliers(arrays, r, lam, line, nf, nw)
        step, who, together = line_event(arrays, r, r_size, lam, line, nf)
        if step > together or who < 0:
            if k >= out.lams.size:
                return -1
            out.lams[k] = lam
            out.xs[k] = line.x
            out.ds[k] = line.d
            out.states[k] = line.state
            out.tight[k] = line.tight
            k += 1
            flips = 0
            if who < 0 or lam + step > lam_max:
                return k
            for i in range(n):
                line.x[i] += step * line.d[i]
                line.qx[i] += step * line.qd[i]
            for j in range(line.tight.size):
                line.nu[j] += step * line.dnu[j]
            lam += step
            anew = k % AFRESH == 0
        else:
            flips += 1
            if flips > 60 * (n + line.tight.size):
                return -k - 1
        if who >= n:
            line.nu[who - n] = 0.0
            line.tight[who - n] = 1 - line.tight[who - n]
        else:
            nf = change_asset(arrays, line, nf, who)
            if anew:  # what was changed often collects rounding
                nf = factor_free(Q, line.L, line.free, line.state)


@compiled
def trace_frontier(arrays, r, lam_max, out):
    """The frontier of any portfolio problem, from its portfolio of least variance on.

    Args:
        arrays: the portfolio problem.
        r: Yearly expected returns.
        lam_max: Where to stop.
        out: Receives the pieces.

    Returns:
        The number of turning points, negative if it gave up.
    """
    if arrays.limited:
        return trace_limited(arrays, r, lam_max, out)
    start = Start(arrays.least_variance, arrays.least_variance_state)
    return trace(arrays.covariance, arrays.caps, np.zeros(r.size), r, start, lam_max, out)
