"""Projection on a polyhedron in the space of its rows: the dual active set method.

Nothing in the kernels validates: the frozen objects that call them already did. Letters are those
of `nouns`; nw is the size of the working set, q the number of free columns.
"""

import numpy as np

from imop_engine.compiling import borrowing, compiled, inlined
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
from imop_engine.kernels.copying import copy_into
from imop_engine.kernels.nouns import empty_working_set

new_working_set = compiled(empty_working_set)


@inlined
def inverse_add(inv, k, column, pivot):
    """Extend the k x k inverse by one row; column = inv @ g, pivot = g_jj - g'column > 0."""
    for i in range(k):
        ci = column[i] / pivot
        for j in range(k):
            inv[i, j] += ci * column[j]
        inv[i, k] = -ci
        inv[k, i] = -ci
    inv[k, k] = 1.0 / pivot


@inlined
def inverse_drop(inv, k, p):
    """Remove row p from the k x k inverse; the last row takes its place.

    Args:
        inv: Inverse of the Gram matrix over the working set.
        k: The size of the inverse.
        p: The row.
    """
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


@inlined
def scale_of(G, j):
    """Size of a pivot for row j: its own curvature, or 1 where it only holds a free column."""
    return G[j, j] if G[j, j] > 0.0 else 1.0


@inlined
def solve_for_row(rows, work, nw, j):
    """Row j against the working set: work.g = G[j, W], work.column = inv @ g, and the pivot.

    Returns (pivot, own). While the only free column touches no row of the working set its entry of
    the inverse is huge, and row j, the first to touch it, would lose its own part of the pivot to
    rounding: `own` has that part, `add_row` uses it. Otherwise own is nan.

    Args:
        rows: The projection problem.
        work: Its working set.
        nw: How many rows are in the working set.
        j: The row.
    """
    G = rows.G
    W = work.W
    inv = work.inv
    g = work.g
    column = work.column
    for a in range(nw):
        g[a] = G[j, W[a]]
        column[a] = 0.0
    for b in range(nw):  # column by column: sums of products in a row do not vectorise
        gb = g[b]
        if gb != 0.0:
            for a in range(nw):
                column[a] += gb * inv[b, a]
    loose = rows.free == 1 and inv[0, 0] * G[W[0], W[0]] > 0.5
    for _ in range(3):
        pivot = G[j, j]
        for a in range(1 if loose else 0, nw):
            pivot -= column[a] * g[a]
        if pivot > DOUBTFUL * scale_of(G, j):
            break
        refine_column(G, W, inv, g, column, nw)
    if loose and g[0] != 0.0:
        return pivot - column[0] * g[0], pivot
    return pivot, np.nan


@compiled
def refine_column(G, W, inv, g, column, nw):
    """Solve once more for what is missing: the row nearly depends on others, or it is rounding.

    Args:
        G: Gram matrix of the rows.
        W: The rows in the working set.
        inv: Inverse of the Gram matrix over the working set.
        g: The row's part of G.
        column: The solution, improved in place.
        nw: How many rows are in the working set.
    """
    residual = g[:nw].copy()
    for b in range(nw):
        for a in range(nw):
            residual[a] -= G[W[b], W[a]] * column[b]
    for b in range(nw):
        for a in range(nw):
            column[a] += residual[b] * inv[b, a]


@inlined
def add_row(inv, nw, column, pivot, own):
    """`inverse_add`, with the free column's own entry computed without cancellation.

    Args:
        inv: Inverse of the Gram matrix over the working set.
        nw: How many rows are in the working set.
        column: The new row against the working set, solved.
        pivot: What is left of the row.
        own: The row's own part of the pivot, without the free column's; nan where it is the pivot.
    """
    loose = inv[0, 0]
    inverse_add(inv, nw, column, pivot)
    if not np.isnan(own):
        inv[0, 0] = loose * own / pivot


@inlined
def rebuild_guess(rows, work):
    """Factor the guessed working set, free columns first; rows that depend on others leave it."""
    G = rows.G
    lo = rows.lo
    hi = rows.hi
    W = work.W
    side = work.side
    inv = work.inv
    wanted = work.wanted
    wanted_side = work.wanted_side
    m = lo.size
    q = rows.free
    guessed = work.size[0]
    for i in range(guessed):
        wanted[i] = W[i]
        wanted_side[i] = side[W[i]]
    for i in range(m):
        work.mu[i] = 0.0
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
        pivot, own = solve_for_row(rows, work, nw, j)
        if pivot <= DEPENDENT * scale_of(G, j):
            continue
        add_row(inv, nw, work.column, pivot, own)
        W[nw] = j
        side[j] = s
        nw += 1
    return nw


@borrowing
def restart(rows, work):
    """Make the working set a dual feasible start out of a guessed one; returns its value.

    Rows that depend on others, and rows whose multiplier has the wrong sign, leave the guess.
    """
    nw = rebuild_guess(rows, work)
    G = rows.G
    v0 = rows.v0
    lo = rows.lo
    hi = rows.hi
    W = work.W
    side = work.side
    inv = work.inv
    mu = work.mu
    v = work.v
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
    copy_into(v, v0)
    for a in range(nw):
        j = W[a]
        mj = mu[j]
        value += 0.5 * mj * ((lo[j] if side[j] > 0 else hi[j]) - v0[j])
        for i in range(v.size):
            v[i] += mj * G[j, i]
    work.size[0] = nw
    return value


@compiled
def recompute(rows, work):
    """Compute multipliers and rows anew for a final working set, rounding taken out.

    Where some direction is nearly flat the way from v0 is long, and what is left of v at its end
    has few digits.
    """
    G = rows.G
    v0 = rows.v0
    lo = rows.lo
    hi = rows.hi
    W = work.W
    side = work.side
    mu = work.mu
    v = work.v
    nw = work.size[0]
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
                mu[W[a]] += work.inv[a, b] * missing[b]
    v[:] = v0
    for a in range(nw):
        j = W[a]
        for i in range(v.size):
            v[i] += mu[j] * G[j, i]
    for a in range(nw):
        j = W[a]
        v[j] = lo[j] if side[j] > 0 else hi[j]


@inlined
def most_outside(rows, work):
    """(row, sign) of the row furthest outside its bounds; row -1 if all keep them."""
    scale = rows.scale
    lo = rows.lo
    hi = rows.hi
    side = work.side
    v = work.v
    worst = FEASIBLE
    j = -1
    sign = 1
    for i in range(v.size):
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
    return j, sign


@inlined
def longest_step(rows, work, nw, sign, step):
    """(step, place): the step until a multiplier of the working set turns zero; place -1: none.

    Args:
        rows: The projection problem.
        work: Its working set.
        nw: How many rows are in the working set.
        sign: 1 where the row must rise, -1 where it must fall.
        step: The longest step that is wanted.
    """
    lo = rows.lo
    hi = rows.hi
    blocking = -1
    for a in range(nw):
        i = work.W[a]
        if lo[i] == hi[i]:
            continue
        fall = work.side[i] * sign * work.column[a]
        if fall > 0.0:
            t = work.side[i] * work.mu[i] / fall
            if t < step:
                step = t
                blocking = a
    return step, blocking


@borrowing
def project(rows, work, value, cutoff, max_pivots):
    """Move z as little as possible so that every row lies in [lo, hi].

    The problem min 1/2 ||z - z0||_H^2 s.t. lo <= Rz <= hi needs only G = R H^-1 R' and v0 = R z0:
    with multipliers mu the rows are v = v0 + G mu. This is the dual active set method of Goldfarb
    and Idnani. It starts from a dual feasible working set and its value, so that a problem whose
    bounds were tightened goes on where its parent stopped; `value` only grows, and is at any time
    a lower bound on the minimum. Returns (status, value).

    Args:
        rows: The projection problem.
        work: Its working set.
        value: The value of the working set it starts from.
        cutoff: The value from which on a solution is of no use.
        max_pivots: How many rows may enter or leave the working set.
    """
    G = rows.G
    lo = rows.lo
    hi = rows.hi
    W = work.W
    side = work.side
    column = work.column
    mu = work.mu
    v = work.v
    m = v.size
    nw = work.size[0]
    pivots = 0
    recomputed = False
    while True:
        j, sign = most_outside(rows, work)
        if j < 0:
            for a in range(nw):  # rows of the working set sit on their bounds, without rounding
                i = W[a]
                v[i] = lo[i] if side[i] > 0 else hi[i]
            work.size[0] = nw
            return OPTIMAL, value
        while True:
            pivots += 1
            if pivots > max_pivots:
                work.size[0] = nw
                return PIVOT_LIMIT, value
            pivot, own = solve_for_row(rows, work, nw, j)
            miss = (lo[j] - v[j]) if sign > 0 else (v[j] - hi[j])
            step = np.inf
            if pivot > DEPENDENT * scale_of(G, j):
                step = miss / pivot
            else:
                pivot = 0.0
            step, blocking = longest_step(rows, work, nw, sign, step)
            if step == np.inf:
                work.size[0] = nw
                if recomputed or mu[j] != 0.0:
                    return INFEASIBLE, value
                recomputed = True  # perhaps only rounding contradicts: look again without it
                recompute(rows, work)
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
                add_row(work.inv, nw, column, pivot, own)
                W[nw] = j
                nw += 1
                side[j] = sign
                v[j] = lo[j] if sign > 0 else hi[j]
                break
            i = W[blocking]
            mu[i] = 0.0
            side[i] = 0
            inverse_drop(work.inv, nw, blocking)
            W[blocking] = W[nw - 1]
            nw -= 1
        if value > cutoff:
            work.size[0] = nw
            return CUT_OFF, value
