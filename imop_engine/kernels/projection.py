"""Projection on a polyhedron in the space of its rows: the dual active set method.

Nothing in the kernels validates: the frozen objects that call them already did.

Letters:
    G           Gram matrix of the rows of a projection problem (see `project`)
    v, v0       values of the rows now, and at the unconstrained minimiser
    mu          multipliers of the rows;  W, nw  the working set and its size
    q           number of free columns: variables that cost nothing (multipliers of the decision
                problem). Each stands as one more row of G, always in the working set, with
                G = -ridge on its diagonal: the bordered system stays well scaled that way
"""

import numpy as np

from imop_engine.compiling import compiled
from imop_engine.kernels.constants import (
    CUT_OFF,
    DEPENDENT,
    DOUBTFUL,
    FEASIBLE,
    INFEASIBLE,
    OPTIMAL,
    PIVOT_LIMIT,
    REFINEMENTS,
)


@compiled
def inverse_add(inv, k, column, pivot):
    """Border the k x k inverse by one row; column = inv @ g, pivot = g_jj - g'column > 0."""
    for i in range(k):
        ci = column[i] / pivot
        for j in range(k):
            inv[i, j] += ci * column[j]
        inv[i, k] = -ci
        inv[k, i] = -ci
    inv[k, k] = 1.0 / pivot


@compiled
def inverse_drop(inv, k, p):
    """Remove row p from the k x k inverse; the last row takes its place."""
    last = k - 1
    if p != last:
        for i in range(k):
            inv[i, p], inv[i, last] = inv[i, last], inv[i, p]
        for j in range(k):
            inv[p, j], inv[last, j] = inv[last, j], inv[p, j]
    d = inv[last, last]
    for i in range(last):
        ci = inv[i, last] / d
        for j in range(last):
            inv[i, j] -= ci * inv[last, j]


@compiled
def border(G, q, W, nw, inv, j, g, column):
    """Solve for row j against the working set: g = G[j, W], column = inv @ g, and the pivot.

    Returns (pivot, own). While the only free column touches no row of the working set its entry of
    the inverse is huge, and row j, the first to touch it, would lose its own part of the pivot to
    rounding: `own` has that part, `attach` uses it. Otherwise own is nan.
    """
    for a in range(nw):
        g[a] = G[j, W[a]]
        column[a] = 0.0
    for b in range(nw):  # column by column: sums of products in a row do not vectorise
        gb = g[b]
        if gb != 0.0:
            for a in range(nw):
                column[a] += gb * inv[b, a]
    loose = q == 1 and inv[0, 0] * G[W[0], W[0]] > 0.5
    for _ in range(3):
        pivot = G[j, j]
        for a in range(1 if loose else 0, nw):
            pivot -= column[a] * g[a]
        if pivot > DOUBTFUL * scale_of(G, j):
            break
        residual = g[:nw].copy()  # nearly dependent, or only rounding: solve for what is missing
        for b in range(nw):
            for a in range(nw):
                residual[a] -= G[W[b], W[a]] * column[b]
        for b in range(nw):
            for a in range(nw):
                column[a] += residual[b] * inv[b, a]
    if loose and g[0] != 0.0:
        return pivot - column[0] * g[0], pivot
    return pivot, np.nan


@compiled
def attach(inv, nw, column, pivot, own):
    """`inverse_add`, with the free column's own entry computed without cancellation."""
    loose = inv[0, 0]
    inverse_add(inv, nw, column, pivot)
    if not np.isnan(own):
        inv[0, 0] = loose * own / pivot


@compiled
def scale_of(G, j):
    """Size of a pivot for row j: its own curvature, or 1 where it only holds a free column."""
    return G[j, j] if G[j, j] > 0.0 else 1.0


@compiled
def workspace(m):
    """Arrays that `restart` and `project` write over, made once for many calls."""
    return np.empty(m), np.empty(m), np.empty(m, np.int64), np.empty(m, np.int64)


@compiled
def restart(G, q, v0, lo, hi, W, nw, side, inv, mu, v, room):
    """Make (W, mu, v) a dual feasible start out of a guessed working set.

    Rows that depend on others, and rows whose multiplier has the wrong sign, leave the guess.
    """
    m = v0.size
    g, column, wanted, wanted_side = room
    guessed = nw
    for i in range(nw):
        wanted[i] = W[i]
        wanted_side[i] = side[W[i]]
    for i in range(m):
        mu[i] = 0.0
        side[i] = 0
    for i in range(q):
        W[i] = m - q + i
        side[W[i]] = 1
        inv[i, :q] = 0.0
        inv[i, i] = 1.0 / G[W[i], W[i]]
    nw = q
    for c in range(guessed):
        j = wanted[c]
        s = wanted_side[c]
        if j >= m - q:
            continue
        if (s > 0 and lo[j] == -np.inf) or (s < 0 and hi[j] == np.inf) or s == 0:
            continue
        pivot, own = border(G, q, W, nw, inv, j, g, column)
        if pivot <= DEPENDENT * scale_of(G, j):
            continue
        attach(inv, nw, column, pivot, own)
        W[nw] = j
        side[j] = s
        nw += 1
    while True:
        worst = 0.0
        p = -1
        for a in range(nw):
            t = 0.0
            for b in range(nw):
                j = W[b]
                t += inv[a, b] * ((lo[j] if side[j] > 0 else hi[j]) - v0[j])
            i = W[a]
            mu[i] = t
            if lo[i] != hi[i]:
                t *= side[i]
                if t < worst:
                    worst = t
                    p = a
        if p < 0:
            break
        i = W[p]
        mu[i] = 0.0
        side[i] = 0
        inverse_drop(inv, nw, p)
        W[p] = W[nw - 1]
        nw -= 1
    value = 0.0
    v[:] = v0
    for a in range(nw):
        j = W[a]
        mj = mu[j]
        value += 0.5 * mj * ((lo[j] if side[j] > 0 else hi[j]) - v0[j])
        for i in range(m):
            v[i] += mj * G[j, i]
    return nw, value


@compiled
def settle(G, v0, lo, hi, W, nw, side, inv, mu, v):
    """Compute multipliers and rows anew for a final working set, rounding taken out.

    Where some direction is nearly flat the way from v0 is long, and what is left of v at its end
    has few digits.
    """
    missing = np.empty(nw)
    for i in range(nw):
        mu[W[i]] = 0.0
    for _ in range(REFINEMENTS):
        for a in range(nw):
            j = W[a]
            missing[a] = (lo[j] if side[j] > 0 else hi[j]) - v0[j]
            for b in range(nw):
                missing[a] -= G[j, W[b]] * mu[W[b]]
        for a in range(nw):
            for b in range(nw):
                mu[W[a]] += inv[a, b] * missing[b]
    v[:] = v0
    for a in range(nw):
        j = W[a]
        for i in range(v.size):
            v[i] += mu[j] * G[j, i]
    for a in range(nw):
        j = W[a]
        v[j] = lo[j] if side[j] > 0 else hi[j]


@compiled
def project(G, q, scale, v0, lo, hi, W, nw, side, inv, mu, v, value, cutoff, max_pivots, room):
    """Move z as little as possible so that every row lies in [lo, hi].

    The problem min 1/2 ||z - z0||_H^2 s.t. lo <= Rz <= hi needs only G = R H^-1 R' and v0 = R z0:
    with multipliers mu the rows are v = v0 + G mu. This is the dual active set method of Goldfarb
    and Idnani. It starts from a dual feasible (W, mu, v, value), so that a problem whose bounds
    were tightened goes on where its parent stopped; `value` only grows, and is at any time a lower
    bound on the minimum.
    """
    m = v0.size
    g, column, _, _ = room
    pivots = 0
    settled = False
    while True:
        worst = FEASIBLE
        j = -1
        sign = 1
        for i in range(m):
            if side[i] == 0 and scale[i] > 0.0:
                below = (lo[i] - v[i]) / scale[i]
                above = (v[i] - hi[i]) / scale[i]
                if below > worst:
                    worst = below
                    j = i
                    sign = 1
                if above > worst:
                    worst = above
                    j = i
                    sign = -1
        if j < 0:
            for a in range(nw):  # rows of the working set sit on their bounds, without rounding
                i = W[a]
                v[i] = lo[i] if side[i] > 0 else hi[i]
            return OPTIMAL, nw, value, pivots
        while True:
            pivots += 1
            if pivots > max_pivots:
                return PIVOT_LIMIT, nw, value, pivots
            pivot, own = border(G, q, W, nw, inv, j, g, column)
            miss = (lo[j] - v[j]) if sign > 0 else (v[j] - hi[j])
            step = np.inf
            if pivot > DEPENDENT * scale_of(G, j):
                step = miss / pivot
            else:
                pivot = 0.0
            blocking = -1
            for a in range(nw):
                i = W[a]
                if lo[i] == hi[i]:
                    continue
                fall = side[i] * sign * column[a]
                if fall > 0.0:
                    t = side[i] * mu[i] / fall
                    if t < step:
                        step = t
                        blocking = a
            if step == np.inf:
                if settled or mu[j] != 0.0:
                    return INFEASIBLE, nw, value, pivots
                settled = True  # perhaps only rounding contradicts: look again without it
                settle(G, v0, lo, hi, W, nw, side, inv, mu, v)
                break
            if step < 0.0:
                step = 0.0
            st = sign * step
            mu[j] += st
            for i in range(m):
                v[i] += st * G[j, i]
            for a in range(nw):
                i = W[a]
                c = st * column[a]
                mu[i] -= c
                for p in range(m):
                    v[p] -= c * G[i, p]
            value += step * miss - 0.5 * step * step * pivot
            if blocking < 0:
                attach(inv, nw, column, pivot, own)
                W[nw] = j
                nw += 1
                side[j] = sign
                v[j] = lo[j] if sign > 0 else hi[j]
                break
            i = W[blocking]
            mu[i] = 0.0
            side[i] = 0
            inverse_drop(inv, nw, blocking)
            W[blocking] = W[nw - 1]
            nw -= 1
        if value > cutoff:
            return CUT_OFF, nw, value, pivots
