"""All compiled code, in one file.

numba's cache does not notice a change in a called function of another file, so kernels that call
each other live together. Nothing here validates: the frozen objects that call it already did.

Letters, as in the paper where it has one:
    Q, r, u     covariance, expected returns, caps;  y  an observed decision;  eta  the rate
    lam         w / (2 (1 - w)), so that a portfolio minimises  1/2 x'Qx - lam r'x
    G           Gram matrix of the rows of a projection problem (see `project`)
    v, v0       values of the rows now, and at the unconstrained minimiser
    mu          multipliers of the rows;  W, nw  the working set and its size
    q           number of free columns: variables that cost nothing (multipliers of the decision
                problem). Each stands as one more row of G, always in the working set, with
                G = -ridge on its diagonal: the bordered system stays well scaled that way
"""

import os
import tempfile
from pathlib import Path

import numpy as np

_HERE = Path(__file__).parent
if "NUMBA_CACHE_DIR" not in os.environ and not any(
    os.access(place, os.W_OK) for place in (_HERE, Path.home())
):  # a read-only install without a home: numba would refuse to start
    os.environ["NUMBA_CACHE_DIR"] = str(Path(tempfile.gettempdir()) / "imop-numba-cache")

from numba import njit  # noqa: E402

# Divisions do not check for zero: what is divided by is positive by construction, and the checks
# cost more time to compile and to run than all the divisions.
compiled = njit(cache=True, error_model="numpy")

# -- tolerances ---------------------------------------------------------------------------------
FEASIBLE = 1e-11  # a row may miss its bound by this much of its own scale
DEPENDENT = 1e-10  # relative size of a pivot below which a row depends on the working set
SNAPSHOT_ROWS = 160  # up to this many rows a waiting node keeps its factorisation
BROKEN = 1e-8  # a leaf that misses a bound by this share is not believed
DOUBTFUL = 1e-5  # below this share a pivot is computed again, with its rounding taken out
SATISFIED = 1e-10  # a complementarity pair holds when its smaller side is below this, scaled
PRUNE = 1e-8  # a node is closed when its bound is within this share of the incumbent
MULTIPLIER_RIDGE = 1e-7  # curvature given to multipliers, relative to the rows they stand in
RIDGE_SHARE = 1e-7  # of a node's value may be the ridge's, where it is more the centre moves,
RIDGE_COST = 1e-11  # ... or this much
AGED = 1e-9  # a working set whose rows miss their bounds by this share is factored anew
PROXIMAL_STEPS = 60  # at most; a node that needs more keeps its parent's bound
EVENT = 1e-11  # two events of a trace closer than this, in lam or in any holding, are one
REFINEMENTS = 4  # at most, of a direction whose equations are nearly singular
NUDGES = (1e-9, 1e-8, 1e-7, 1e-6)  # towards the old theta, while rounding leaves no decision
FAR = 1e3  # rows that moved by more than this many times their size are computed once more
TIE = 1e-12  # two squared distances closer than this (relative) are equal
ZERO_LOSS = 1e-14  # the paper's "l_K = 0": a distance of 1e-7, below what portfolios are known to

# -- the second-order learner, see `newton_run` --------------------------------------------------
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

# -- results of `project` -----------------------------------------------------------------------
OPTIMAL, INFEASIBLE, CUT_OFF, PIVOT_LIMIT = 0, 1, 2, 3

# -- what is known of a complementarity pair: x in [l, u] with reduced gradient s ----------------
ANY, LOWER_OR_FREE, FREE_OR_UPPER, LOWER, FREE, UPPER = 0, 1, 2, 3, 4, 5


# -- an inverse that grows and shrinks by one row ------------------------------------------------
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


# -- projection on a polyhedron, in the space of its rows ----------------------------------------
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


# -- the tree over complementarity pairs ---------------------------------------------------------
@compiled
def set_case(case, i, pair_x, pair_s, base_lo, base_hi, lo, hi):
    """Write what is known of pair i into the bounds of its two rows."""
    x = pair_x[i]
    s = pair_s[i]
    lo[x] = base_lo[x]
    hi[x] = base_hi[x]
    lo[s] = -np.inf
    hi[s] = np.inf
    c = case[i]
    if c == LOWER_OR_FREE or c == LOWER:
        lo[s] = 0.0
    elif c == FREE_OR_UPPER or c == UPPER:
        hi[s] = 0.0
    elif c == FREE:
        lo[s] = 0.0
        hi[s] = 0.0
    if c == LOWER:
        hi[x] = base_lo[x]
    elif c == UPPER:
        lo[x] = base_hi[x]


@compiled
def most_violated(case, pair_x, pair_s, base_lo, base_hi, scale, v):
    """The undecided pair that is furthest from complementarity, or -1."""
    worst = SATISFIED
    best = -1
    for i in range(case.size):
        if case[i] > FREE_OR_UPPER:
            continue
        x = pair_x[i]
        s = pair_s[i]
        if scale[x] == 0.0 or scale[s] == 0.0:
            continue
        amount = 0.0
        if v[s] > 0.0 and case[i] != FREE_OR_UPPER:
            amount = min(v[s] / scale[s], (v[x] - base_lo[x]) / scale[x])
        elif v[s] < 0.0 and case[i] != LOWER_OR_FREE:
            amount = min(-v[s] / scale[s], (base_hi[x] - v[x]) / scale[x])
        if amount > worst:
            worst = amount
            best = i
    return best


@compiled
def recentre(G, q, v0, lo, hi, W, nw, side, inv, mu, v):
    """One proximal step: forget what the ridge cost, at the same working set. Changes v0."""
    m = v0.size
    for a in range(q):
        shift = mu[W[a]]
        for i in range(m - q):
            v0[i] += G[W[a], i] * shift
    mu[:] = 0.0
    v[:] = v0
    miss = np.empty(nw)
    for _ in range(3):  # and refine: at a large lam the decision magnifies the last digits of theta
        for a in range(nw):
            j = W[a]
            miss[a] = (lo[j] if side[j] > 0 else hi[j]) - v[j]
        for a in range(nw):
            j = W[a]
            t = 0.0
            for b in range(nw):
                t += inv[a, b] * miss[b]
            mu[j] += t
            for i in range(m):
                v[i] += t * G[j, i]
    value = 0.0
    for a in range(nw):
        j = W[a]
        value += 0.5 * mu[j] * ((lo[j] if side[j] > 0 else hi[j]) - v0[j])
    return value


@compiled
def within(v, lo, hi, scale):
    """Whether every row keeps its bounds, to a tolerance that only broken arithmetic exceeds."""
    for i in range(v.size):
        slack = BROKEN * (scale[i] + abs(v[i]))
        if scale[i] > 0.0 and (v[i] < lo[i] - slack or v[i] > hi[i] + slack):
            return False
    return True


@compiled
def ridge_cost(G, q, mu):
    """What the ridge on free columns adds to a node's value: nothing true is proven by that."""
    m = mu.size
    cost = 0.0
    for c in range(m - q, m):
        cost -= 0.5 * G[c, c] * mu[c] * mu[c]
    return cost


@compiled
def centred(G, q, v0, shift, out):
    """Rows at the unconstrained minimum when the ridge's centre is moved by `shift`."""
    m = v0.size
    out[:] = v0
    for c in range(q):
        if shift[c] != 0.0:
            for i in range(m - q):
                out[i] += G[m - q + c, i] * shift[c]


@compiled
def audit(G, scale, vc, lo, hi, W, nw, side, mu):
    """The dual value of the multipliers, which is a bound whatever the inverse is worth, and by how
    much the working set's rows miss their bounds, as a share of their scale."""
    value = 0.0
    worst = 0.0
    for a in range(nw):
        j = W[a]
        moved = 0.0
        for b in range(nw):
            moved += G[j, W[b]] * mu[W[b]]
        wanted = (lo[j] if side[j] > 0 else hi[j]) - vc[j]
        value += mu[j] * (wanted - 0.5 * moved)
        if scale[j] > 0.0:
            worst = max(worst, abs(wanted - moved) / scale[j])
    return value, worst


@compiled
def solve_node(
    G, q, scale, v0, lo, hi, W, nw, side, inv, mu, v, value, cutoff, max_pivots, room, vc, shift,
):  # fmt: skip
    """`project`, checked: (status, nw, value, sound). The value is a bound only if sound.

    vc and shift are the node's centre of the ridge, which `mend` may move.
    """
    status, nw, value, _ = project(
        G, q, scale, vc, lo, hi, W, nw, side, inv, mu, v, value, cutoff, max_pivots, room
    )
    if status == INFEASIBLE:
        return status, nw, value, True
    value, worst = audit(G, scale, vc, lo, hi, W, nw, side, mu)
    aged = worst > AGED and status == OPTIMAL
    if not aged and ridge_cost(G, q, mu) <= RIDGE_SHARE * value + RIDGE_COST:
        return status, nw, value, True
    return mend(
        G, q, scale, v0, lo, hi, W, nw, side, inv, mu, v, status, value, aged, cutoff, max_pivots,
        room, vc, shift,
    )  # fmt: skip


@compiled
def mend(
    G, q, scale, v0, lo, hi, W, nw, side, inv, mu, v, status, value, aged, cutoff, max_pivots,
    room, vc, shift,
):  # fmt: skip
    """Make an old inverse anew, and move the ridge's centre until it costs next to nothing.

    A multiplier that must be large (its column is small where it counts) is expensive near a
    centre far away, and the node would seem worse than it is. Moves in one direction double, since
    proximal steps are short where the ridge is stiff. Returns what `solve_node` does.
    """
    stretch = 1.0
    last = np.zeros(q)
    for _ in range(PROXIMAL_STEPS):
        if not aged:
            along = 0.0
            for c in range(q):
                along += mu[mu.size - q + c] * last[c]
            stretch = 2.0 * stretch if along > 0.0 else 1.0
            for c in range(q):
                last[c] = mu[mu.size - q + c]
                shift[c] += stretch * last[c]
            centred(G, q, v0, shift, vc)
        renewed = aged
        nw, value = restart(G, q, vc, lo, hi, W, nw, side, inv, mu, v, room)
        status, nw, value, _ = project(
            G, q, scale, vc, lo, hi, W, nw, side, inv, mu, v, value, cutoff, max_pivots, room
        )
        if status == INFEASIBLE:
            return status, nw, value, True
        value, worst = audit(G, scale, vc, lo, hi, W, nw, side, mu)
        aged = worst > AGED and status == OPTIMAL and not renewed
        if not aged and ridge_cost(G, q, mu) <= RIDGE_SHARE * value + RIDGE_COST:
            return status, nw, value, True
    return status, nw, value, False


@compiled
def first_step(G, q, even, lo, hi, W, nw, side, inv, mu, g, column, j, sign, miss, value):
    """How much the value grows, at least, when row j must move by `miss`: one dual step.

    Where columns are even no multiplier is large, and what the ridge adds is taken off again.
    """
    pivot, _ = border(G, q, W, nw, inv, j, g, column)
    if pivot <= DEPENDENT * scale_of(G, j):
        pivot = 0.0
        step = np.inf
    else:
        step = miss / pivot
    for a in range(nw):
        i = W[a]
        if lo[i] != hi[i]:
            fall = side[i] * sign * column[a]
            if fall > 0.0:
                step = min(step, max(0.0, side[i] * mu[i] / fall))
    if step == np.inf:
        return np.inf
    growth = step * miss - 0.5 * step * step * pivot
    before = ridge_cost(G, q, mu)
    after = 0.0
    for a in range(q):  # free columns come first in a working set
        after -= 0.5 * G[W[a], W[a]] * (mu[W[a]] - sign * step * column[a]) ** 2
    if even:
        return max(0.0, growth - max(0.0, after - before))
    return growth if after <= RIDGE_SHARE * (value + growth) + RIDGE_COST else 0.0


@compiled
def are_even(G, q):
    """Whether each free column has entries of one size only, as the budget's has."""
    m = G.shape[0]
    for c in range(m - q, m):
        size = 0.0
        for i in range(m - q):
            entry = abs(G[c, i])
            if entry != 0.0:
                if size != 0.0 and entry != size:
                    return False
                size = entry
    return True


@compiled
def ball(G, q, scale, v0, base_lo, base_hi, pair_x, pair_s, best, forced):
    """What every solution better than `best` has in common, pair by pair; ANY where unsure.

    Such a z lies in a ball, 1/2 ||z - z0||_H^2 < best, so no row moves further than
    sqrt(2 best G_ii) from its v0. Rows that touch a free column can move at no cost; but with one
    free column the difference of two of them cannot.
    """
    m = v0.size
    reference = -1
    margin = 0.0
    for i in range(forced.size):
        forced[i] = ANY
        x = pair_x[i]
        if scale[x] == 0.0 or pair_s[i] >= m - q:
            continue
        touches = False
        for c in range(m - q, m):
            touches |= G[x, c] != 0.0
        if touches:
            continue
        reach = np.sqrt(2.0 * best * G[x, x]) * (1.0 + PRUNE)
        room = min(v0[x] - base_lo[x], base_hi[x] - v0[x]) - reach
        if room > 0.0:
            forced[i] = FREE
            if room > margin:
                margin = room
                reference = pair_s[i]
    if q != 1 or reference < 0 or G[reference, m - 1] == 0.0:
        return
    for i in range(forced.size):
        s = pair_s[i]
        if forced[i] != ANY or G[s, m - 1] != G[reference, m - 1]:
            continue
        apart = v0[s] - v0[reference]
        size = G[s, s] + G[reference, reference] - 2.0 * G[s, reference]
        reach = np.sqrt(2.0 * best * max(size, 0.0)) * (1.0 + PRUNE)
        if apart > reach and base_lo[pair_x[i]] > -np.inf:
            forced[i] = LOWER
        elif apart < -reach and base_hi[pair_x[i]] < np.inf:
            forced[i] = UPPER


@compiled
def decide(case, forced):
    """Write what the ball forces into undecided pairs; False if a decided one contradicts it."""
    for i in range(case.size):
        f = forced[i]
        if f == ANY or case[i] == f:
            continue
        excluded = UPPER if case[i] == LOWER_OR_FREE else LOWER
        if case[i] > FREE_OR_UPPER or (case[i] != ANY and f == excluded):
            return False
        case[i] = f
    return True


@compiled
def save(store, nw, inv, mu, v):
    """Put a node's inverse, multipliers and rows side by side."""
    m = v.size
    store[:m] = v
    store[m : 2 * m] = mu
    for a in range(nw):
        store[2 * m + a * nw : 2 * m + (a + 1) * nw] = inv[a, :nw]


@compiled
def load(store, nw, inv, mu, v):
    """The inverse of `save`."""
    m = v.size
    v[:] = store[:m]
    mu[:] = store[m : 2 * m]
    for a in range(nw):
        inv[a, :nw] = store[2 * m + a * nw : 2 * m + (a + 1) * nw]


@compiled
def grown(array, capacity):
    """The array with room for more rows."""
    larger = np.empty((capacity, *array.shape[1:]), array.dtype)
    larger[: array.shape[0]] = array
    return larger


@compiled
def tree(
    G, scale, v0, base_lo, base_hi, pair_x, pair_s, case0, region, q,
    best_value, node_limit, W0, side0, nw0, mu0, best_v,
):  # fmt: skip
    """Global minimum of `project` over all ways to satisfy the complementarity pairs.

    An undecided pair keeps the weaker, one-sided condition: a convex relaxation, so a lower bound.
    The tree dives into the cheaper child, which goes on from its parent's working set, and takes
    the open node with the least bound when a dive ends. `region` (the cases at the current
    parameters; empty if unknown) gives the first incumbent, and `best_value` may hold one from
    elsewhere (inf if not). W0, side0, nw0 carry a guess of the root's working set in, and the
    root's own working set out; mu0 receives the root's multipliers. The last q rows are free
    columns.

    Returns (value, bound, nodes, nw0, improved); best_v receives the rows of the best leaf.
    """
    m = v0.size
    npairs = case0.size
    capacity = 64  # grows when needed: most trees end within ten nodes
    open_case = np.empty((capacity, npairs), np.int8)
    open_W = np.empty((capacity, m), np.int16)
    open_nw = np.empty(capacity, np.int64)
    open_bound = np.empty(capacity)
    open_value = np.empty(capacity)
    open_shift = np.empty((capacity, q))  # of the ridge's centre
    # small trees keep the inverse, the multipliers and the rows of a node that waits, so that it
    # goes on where its parent stopped; large ones save memory and factor again
    kept = m * (m + 2) if m <= SNAPSHOT_ROWS else 0
    open_state = np.empty((capacity, kept))
    lo = base_lo.copy()
    hi = base_hi.copy()
    W = np.empty(m, np.int64)
    side = np.zeros(m, np.int64)
    inv = np.empty((m, m))
    mu = np.zeros(m)
    v = np.empty(m)
    room = workspace(m)
    g, column, _, _ = room
    centre = np.empty(m)
    even = are_even(G, q)
    shift = np.zeros(q)
    vc = v0.copy()
    case = case0.copy()
    max_pivots = 50 * (m + 1)
    improved = False
    count = 0
    closed = np.inf  # least bound among the nodes closed by the incumbent
    region_tried = region.size != npairs
    forced = np.zeros(npairs, np.int8)
    forced_by = np.inf  # the incumbent that `forced` was computed from
    if best_value < np.inf:
        ball(G, q, scale, v0, base_lo, base_hi, pair_x, pair_s, best_value, forced)
        forced_by = best_value
        decide(case, forced)

    for i in range(npairs):
        set_case(case, i, pair_x, pair_s, base_lo, base_hi, lo, hi)
    nw = nw0
    for a in range(nw):
        W[a] = W0[a]
        side[W0[a]] = side0[W0[a]]
    nw, value = restart(G, q, vc, lo, hi, W, nw, side, inv, mu, v, room)
    proven = 0.0  # a bound on the live node that needs no trust in its value
    status, nw, value, sound = solve_node(
        G, q, scale, v0, lo, hi, W, nw, side, inv, mu, v, value,
        best_value * (1.0 - PRUNE), max_pivots, room, vc, shift,
    )  # fmt: skip
    nodes = 1
    nw0 = nw
    side0[:] = side
    W0[:nw] = W[:nw]
    mu0[:] = mu

    while True:
        # -- the live node has just been solved, with `status` -----------------------------------
        live = False
        if sound:
            proven = max(proven, value)
        if status == CUT_OFF:
            closed = min(closed, proven)
        elif status != INFEASIBLE:
            branch = most_violated(case, pair_x, pair_s, base_lo, base_hi, scale, v)
            if branch < 0:
                if status == OPTIMAL:
                    centre[:] = vc
                    value = recentre(G, q, centre, lo, hi, W, nw, side, inv, mu, v)
                    if not within(v, lo, hi, scale):  # rounding won: no leaf, but its bound stays
                        closed = min(closed, proven)
                    elif value < best_value:
                        best_value = value
                        best_v[:] = v
                        improved = True
                else:
                    closed = min(closed, proven)
            elif nodes >= node_limit:
                closed = min(closed, proven)
            else:
                if count + 2 > capacity:
                    capacity *= 4
                    open_case = grown(open_case, capacity)
                    open_W = grown(open_W, capacity)
                    open_nw = grown(open_nw, capacity)
                    open_bound = grown(open_bound, capacity)
                    open_state = grown(open_state, capacity)
                    open_value = grown(open_value, capacity)
                    open_shift = grown(open_shift, capacity)
                # x > lower and s > 0: either x = lower, or s <= 0; and the mirror image
                x = pair_x[branch]
                s = pair_s[branch]
                known = case[branch]
                if v[s] > 0.0:
                    sign = -1
                    at_bound = LOWER
                    other = FREE if known == LOWER_OR_FREE else FREE_OR_UPPER
                    miss_x = v[x] - base_lo[x]
                else:
                    sign = 1
                    at_bound = UPPER
                    other = FREE if known == FREE_OR_UPPER else LOWER_OR_FREE
                    miss_x = base_hi[x] - v[x]
                grow_x = first_step(
                    G, q, even, lo, hi, W, nw, side, inv, mu, g, column, x, sign, miss_x, value
                )
                grow_s = first_step(
                    G, q, even, lo, hi, W, nw, side, inv, mu, g, column, s, sign, abs(v[s]), value
                )
                later = proven + max(grow_x, grow_s)
                sooner = proven + min(grow_x, grow_s)
                if later >= best_value * (1.0 - PRUNE):
                    closed = min(closed, later)
                else:
                    open_case[count] = case
                    open_case[count, branch] = other if grow_x <= grow_s else at_bound
                    open_bound[count] = later
                    open_value[count] = value
                    open_shift[count] = shift
                    open_nw[count] = nw
                    for a in range(nw):
                        open_W[count, a] = (W[a] + 1) * side[W[a]]
                    if kept:
                        save(open_state[count], nw, inv, mu, v)
                    count += 1
                if sooner >= best_value * (1.0 - PRUNE):
                    closed = min(closed, sooner)
                elif region_tried:
                    case[branch] = at_bound if grow_x <= grow_s else other
                    set_case(case, branch, pair_x, pair_s, base_lo, base_hi, lo, hi)
                    live = True
                    proven = sooner
                    if side[x] != 0:  # x sat on its other bound, which has just been moved
                        nw, value = restart(G, q, vc, lo, hi, W, nw, side, inv, mu, v, room)
                else:  # the other child waits too: first an incumbent from the current region
                    open_case[count] = case
                    open_case[count, branch] = at_bound if grow_x <= grow_s else other
                    open_bound[count] = sooner
                    open_value[count] = value
                    open_shift[count] = shift
                    open_nw[count] = nw
                    for a in range(nw):
                        open_W[count, a] = (W[a] + 1) * side[W[a]]
                    if kept:
                        save(open_state[count], nw, inv, mu, v)
                    count += 1
        if not live:
            resumed = False
            promising = True
            if not region_tried and count > 0:
                region_tried = True
                case[:] = region
                proven = 0.0
            else:
                if count == 0:
                    break
                pick = 0
                for c in range(1, count):
                    if open_bound[c] < open_bound[pick]:
                        pick = c
                if open_bound[pick] >= best_value * (1.0 - PRUNE) or nodes >= node_limit:
                    closed = min(closed, open_bound[pick])
                    break
                if best_value < forced_by:
                    ball(G, q, scale, v0, base_lo, base_hi, pair_x, pair_s, best_value, forced)
                    forced_by = best_value
                case[:] = open_case[pick]
                promising = decide(case, forced)
                value = open_value[pick]
                proven = open_bound[pick]
                shift[:] = open_shift[pick]
                centred(G, q, v0, shift, vc)
                nw = open_nw[pick]
                side[:] = 0
                for a in range(nw):
                    code = open_W[pick, a]
                    W[a] = abs(code) - 1
                    side[W[a]] = 1 if code > 0 else -1
                if kept:
                    load(open_state[pick], nw, inv, mu, v)
                    resumed = True
                count -= 1
                if pick != count:
                    open_case[pick] = open_case[count]
                    open_nw[pick] = open_nw[count]
                    open_bound[pick] = open_bound[count]
                    open_value[pick] = open_value[count]
                    open_shift[pick] = open_shift[count]
                    open_W[pick] = open_W[count]
                    if kept:
                        size = open_nw[count] ** 2 + 2 * m
                        open_state[pick, :size] = open_state[count, :size]
            if not promising:  # nothing better than the incumbent satisfies this node's cases
                status = INFEASIBLE
                continue
            for i in range(npairs):
                set_case(case, i, pair_x, pair_s, base_lo, base_hi, lo, hi)
                x = pair_x[i]
                if (side[x] > 0 and v[x] != lo[x]) or (side[x] < 0 and v[x] != hi[x]):
                    resumed = False  # x sat on the bound that this case moves
            if not resumed:
                nw, value = restart(G, q, vc, lo, hi, W, nw, side, inv, mu, v, room)
        nodes += 1
        status, nw, value, sound = solve_node(
            G, q, scale, v0, lo, hi, W, nw, side, inv, mu, v, value,
            best_value * (1.0 - PRUNE), max_pivots, room, vc, shift,
        )  # fmt: skip
    return best_value, min(closed, best_value), nodes, nw0, improved


# -- the exact frontier of a portfolio problem (critical line method) ----------------------------
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


# -- the implicit update of a portfolio problem --------------------------------------------------
@compiled
def portfolio_update(
    Q, PQ, QPQ, Pr, r_fixed, r_lo, r_hi, u, theta, y, lam, eta, nu, region, best_value,
    node_limit, W0, side0, nw0, mu0, theta_new, x_new,
):  # fmt: skip
    """argmin over (r, x) of 1/2 ||r - theta||^2 + eta ||y - x||^2,  x = S(w, r),  r in Theta.

    z = (x, r, nu/lam). Rows: x_i, the reduced gradient s_i = ((Qx)_i + nu)/lam - r_i, and r_i.
    nu is the budget's multiplier at theta, region the state of each asset there (empty if it is
    not worth an incumbent). The budget and the anchors are not rows: z moves only in the planes
    where they hold, by the projectors P = I - 11'/n (inside PQ, QPQ) and Pr.

    Returns (value, bound, nodes, nw0, improved).
    """
    n = theta.size
    m = 3 * n + 1
    G = np.zeros((m, m))
    scale = np.zeros(m)
    v0 = np.empty(m)
    lo = np.empty(m)
    hi = np.empty(m)
    hx = 0.5 / eta
    off = 0.0
    for i in range(n):
        off += y[i]
    off = (off - 1.0) / n
    mean_s = 0.0
    for i in range(n):
        s = n + i
        for j in range(n):
            G[i, j] = -hx / n
            G[i, n + j] = hx * PQ[i, j] / lam
            G[n + j, i] = G[i, n + j]
            G[s, n + j] = hx * QPQ[i, j] / (lam * lam) + Pr[i, j]
            G[s, 2 * n + j] = -Pr[i, j]
            G[2 * n + j, s] = -Pr[i, j]
            G[2 * n + i, 2 * n + j] = Pr[i, j]
        G[i, i] += hx
        mean_s += G[s, s] / n
        scale[i] = np.sqrt(max(0.0, G[i, i]))
        scale[s] = np.sqrt(G[s, s])
        scale[2 * n + i] = np.sqrt(max(0.0, Pr[i, i]))
        if n == 1:
            scale[i] = 0.0
    G[m - 1, m - 1] = -MULTIPLIER_RIDGE / mean_s if mean_s > 0.0 else -1.0
    for i in range(n):
        G[n + i, m - 1] = 1.0
        G[m - 1, n + i] = 1.0
    v0[m - 1] = 0.0
    lo[m - 1] = 0.0
    hi[m - 1] = 0.0
    pair_x = np.arange(n)
    pair_s = np.arange(n, 2 * n)
    case = np.empty(n, np.int8)
    for i in range(n):
        v0[i] = y[i] - off
    for i in range(n):
        t = nu
        for j in range(n):
            t += Q[i, j] * v0[j]
        v0[n + i] = t / lam - theta[i]
        v0[2 * n + i] = theta[i]
        lo[i] = 0.0
        hi[i] = u[i]
        lo[n + i] = -np.inf
        hi[n + i] = np.inf
        lo[2 * n + i] = r_lo[i]
        hi[2 * n + i] = r_hi[i]
        case[i] = LOWER_OR_FREE if u[i] == np.inf else ANY
    constant = eta * off * off * n
    best_v = np.empty(m)
    value, bound, nodes, nw0, improved = tree(
        G, scale, v0, lo, hi, pair_x, pair_s, case, region, 1,
        best_value - constant, node_limit, W0, side0, nw0, mu0, best_v,
    )  # fmt: skip
    if improved:
        for i in range(n):
            x_new[i] = best_v[i]
            t = r_fixed[i]
            for j in range(n):
                t += Pr[i, j] * best_v[2 * n + j]
            theta_new[i] = min(max(t, r_lo[i]), r_hi[i])
    return value + constant, bound + constant, nodes, nw0, improved


@compiled
def cannot_beat(best, QPQ, Pr, u, theta, y, qy, off, lam, eta):
    """Whether weight lam surely gives no update better than `best`; costs next to nothing.

    A better x lies within sqrt(best / eta) of y, so assets that y holds by more than that are held
    in x too, strictly between their bounds. Any two such assets have s_i = s_j = 0: one equation
    in (x, r) that y and theta miss by `miss`, and whose least repair is a lower bound.
    """
    n = theta.size
    reach = np.sqrt(best / eta)
    first = -1
    for i in range(n):
        if y[i] > reach and y[i] < u[i] - reach and (first < 0 or y[i] > y[first]):
            first = i
    if first < 0:
        return False
    hx = 0.5 / (eta * lam * lam)
    base = eta * off * off * n
    for j in range(n):
        if j != first and y[j] > reach and y[j] < u[j] - reach:
            miss = (qy[first] - qy[j]) / lam - theta[first] + theta[j]
            size = hx * (QPQ[first, first] + QPQ[j, j] - 2.0 * QPQ[first, j])
            size += Pr[first, first] + Pr[j, j] - 2.0 * Pr[first, j]
            if base * size + 0.5 * miss * miss >= best * size:
                return True
    return False


@compiled
def proof_terms(best, Q, Pr, u, theta, r_lo, r_hi, y, qy, off, eta, mu, terms):
    """Turn one weight's multipliers into a lower bound for every other weight.

    Any multipliers with the right signs prove a bound, whatever weight they come from. Of the root
    of a neighbour they prove nearly as much as solving the root anew, and as a function of lam the
    proof is six numbers: see `proven_from`. Signs are right for every solution better than `best`
    (now or later): such an x lies within `reach` of y, which says which assets may sit on a bound.
    """
    n = theta.size
    reach = np.sqrt((best - eta * off * off * n) / eta * (1.0 - 1.0 / n)) * (1.0 + PRUNE)
    inside = -1
    margin = 0.0
    total = 0.0
    ms = np.zeros(n)
    mx = np.zeros(n)
    lin_0 = 0.0
    for i in range(n):
        x = y[i] - off
        room = min(x, u[i] - x) - reach
        if room > margin:
            margin = room
            inside = i
        ms[i] = mu[n + i]
        if x + reach >= u[i]:  # x may sit on its cap, so s may be negative
            ms[i] = min(ms[i], 0.0)
        if x - reach <= 0.0:
            ms[i] = max(ms[i], 0.0)
        total += ms[i]
        mx[i] = mu[i] if mu[i] > 0.0 or u[i] < np.inf else 0.0
        lin_0 += mx[i] * ((0.0 if mu[i] > 0.0 else u[i]) - x) if mx[i] != 0.0 else 0.0
        mr = mu[2 * n + i]
        if mr != 0.0:
            lin_0 += mr * ((r_lo[i] if mr > 0.0 else r_hi[i]) - theta[i])
    terms[0] = -np.inf
    if inside < 0:
        return
    ms[inside] -= total  # the budget's multiplier is free: what it meets must sum to zero
    lin_1 = 0.0
    mean_x = 0.0
    mean_s = 0.0
    qs = np.zeros(n)
    for i in range(n):
        lin_0 += ms[i] * theta[i]
        lin_1 -= ms[i] * qy[i]
        for j in range(n):
            qs[i] += Q[i, j] * ms[j]
        mean_x += mx[i] / n
        mean_s += qs[i] / n
    xx = 0.0
    xs = 0.0
    ss = 0.0
    rr = 0.0
    for i in range(n):
        a = mx[i] - mean_x
        b = qs[i] - mean_s
        xx += a * a
        xs += a * b
        ss += b * b
        d = mu[2 * n + i] - ms[i]
        for j in range(n):
            rr += d * Pr[i, j] * (mu[2 * n + j] - ms[j])
    terms[0] = lin_0
    terms[1] = lin_1
    terms[2] = 0.5 * xx / eta + rr
    terms[3] = xs / eta
    terms[4] = 0.5 * ss / eta
    terms[5] = eta * off * off * n


@compiled
def proven_from(terms, lam):
    """The lower bound that `proof_terms` gives for weight lam, its multipliers scaled at best."""
    gain = terms[0] + terms[1] / lam
    if not gain > 0.0:
        return 0.0
    cost = terms[2] + (terms[3] + terms[4] / lam) / lam
    return terms[5] + 0.5 * gain * gain / cost if cost > 0.0 else 0.0


@compiled
def portfolio_run(
    Q, PQ, QPQ, Pr, r_fixed, r_lo, r_hi, u, x0, state0, theta, Y, etas, grid, exact, full,
    node_limit, W, side, nw_state, losses, lam_out, nodes_out, gap_out, objective_out, theta_out,
):  # fmt: skip
    """Algorithms 1 (full) and 2 over the decisions in Y; theta is changed in place.

    gap_out[t] is objective minus proven bound of round t's update (0 where none was needed).
    W, side, nw_state are the working set that the next root starts from: it belongs to the state
    of the learner, so that a stream gives the same digits in any chunking.
    Returns the number of rounds done: fewer than there are only if a trace gave up.
    """
    n = theta.size
    size = 8 * n + 16
    lams = np.empty(size)
    xs = np.empty((size, n))
    ds = np.empty((size, n))
    states = np.empty((size, n), np.int8)
    nus = np.empty(size)
    m = 3 * n + 1
    nw = nw_state[0]
    W_k = np.empty(m, np.int64)
    side_k = np.zeros(m, np.int64)
    theta_new = np.empty(n)
    x_new = np.empty(n)
    x_now = np.empty(n)
    qy = np.empty(n)
    mu = np.empty(m)
    mu_root = np.empty(m)
    proof = np.empty(6)
    nowhere = np.empty(0, np.int8)  # no region: there is an incumbent already
    c0 = np.zeros(n)
    low = grid[0]
    high = grid[grid.size - 1]
    for t in range(Y.shape[0]):
        y = Y[t]
        count = trace(Q, c0, theta, u, x0, state0, high, lams, xs, ds, states, nus)
        if count < 0:
            return t
        k = -1
        if exact:
            lam, seg, loss = nearest_on_trace(lams, xs, ds, count, y, low, high)
        else:
            k, seg, loss = nearest_on_grid(lams, xs, ds, count, grid, y)
            lam = grid[k]
        losses[t] = loss
        lam_out[t] = lam
        nodes_out[t] = 0
        gap_out[t] = 0.0
        objective_out[t] = 0.0
        theta_out[t] = theta
        if loss <= ZERO_LOSS:
            continue
        for i in range(n):
            x_now[i] = xs[seg, i] + (lam - lams[seg]) * ds[seg, i]
        best, bound, nodes, nw, improved = portfolio_update(
            Q, PQ, QPQ, Pr, r_fixed, r_lo, r_hi, u, theta, y, lam, etas[t],
            multiplier_at(Q, theta, x_now, states[seg], lam), states[seg],
            np.inf, node_limit, W, side, nw, mu, theta_new, x_new,
        )  # fmt: skip
        found = improved
        if full:
            off = (np.sum(y) - 1.0) / n
            for i in range(n):
                qy[i] = 0.0
                for j in range(n):
                    qy[i] += Q[i, j] * (y[j] - off)
            mu_root[:] = mu
            for direction in (1, -1):
                nw_k = nw
                W_k[:] = W
                side_k[:] = side
                proof_terms(best, Q, Pr, u, theta, r_lo, r_hi, y, qy, off, etas[t], mu_root, proof)
                q = k + direction
                while 0 <= q < grid.size:
                    lam = grid[q]
                    if proven_from(proof, lam) >= best or cannot_beat(
                        best, QPQ, Pr, u, theta, y, qy, off, lam, etas[t]
                    ):
                        q += direction
                        continue
                    seg = segment_of(lams, count, lam)
                    for i in range(n):
                        x_now[i] = xs[seg, i] + (lam - lams[seg]) * ds[seg, i]
                    value, bound_k, nodes_k, nw_k, improved = portfolio_update(
                        Q, PQ, QPQ, Pr, r_fixed, r_lo, r_hi, u, theta, y, lam, etas[t],
                        multiplier_at(Q, theta, x_now, states[seg], lam),
                        nowhere, best, node_limit, W_k, side_k, nw_k, mu, theta_new, x_new,
                    )  # fmt: skip
                    proof_terms(best, Q, Pr, u, theta, r_lo, r_hi, y, qy, off, etas[t], mu, proof)
                    if improved:
                        best = value
                        lam_out[t] = lam
                        found = True
                    nodes += nodes_k
                    bound = min(bound, bound_k)
                    q += direction
        nodes_out[t] = nodes
        gap_out[t] = max(0.0, best - bound)
        objective_out[t] = best
        nw_state[0] = nw
        if found:
            theta[:] = theta_new
            theta_out[t] = theta
    return Y.shape[0]


# -- the second-order learner --------------------------------------------------------------------
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


# -- the general problem: forward solves and updates for a grid of weights -----------------------
@compiled
def forward_all(grams, solve_cost, c0, C, lo, hi, theta, X, multipliers, sides):
    """S(w_k, theta) for every weight, each started from its neighbour's working set.

    Returns the number of the first weight that has no decision, or -1.
    """
    K = grams.shape[0]
    m = lo.size
    n = X.shape[1]
    W = np.empty(m, np.int64)
    side = np.zeros(m, np.int64)
    inv = np.empty((m, m))
    mu = np.zeros(m)
    v = np.empty(m)
    v0 = np.empty(m)
    scale = np.empty(m)
    room = workspace(m)
    nw = 0
    for k in range(K):
        G = grams[k]
        for i in range(m):
            scale[i] = np.sqrt(G[i, i])
            v0[i] = 0.0
        for j in range(n):
            c = c0[k, j]
            for a in range(theta.size):
                c += C[k, j, a] * theta[a]
            for i in range(m):
                v0[i] += solve_cost[k, i, j] * c
        nw, value = restart(G, 0, v0, lo, hi, W, nw, side, inv, mu, v, room)
        warm = nw > 0
        status, nw, value, _ = project(
            G, 0, scale, v0, lo, hi, W, nw, side, inv, mu, v, value, np.inf, 50 * (m + 1), room
        )
        if status != OPTIMAL and warm:
            # Where Q is nearly singular a neighbour's working set can lead astray.
            nw, value = restart(G, 0, v0, lo, hi, W, 0, side, inv, mu, v, room)
            status, nw, value, _ = project(
                G, 0, scale, v0, lo, hi, W, nw, side, inv, mu, v, value, np.inf, 50 * (m + 1), room
            )
        if status != OPTIMAL:
            return k
        if np.max(np.abs(v0)) > FAR * np.max(np.abs(v)):
            settle(G, v0, lo, hi, W, nw, side, inv, mu, v)
        for j in range(n):
            X[k, j] = v[j]
        for i in range(m):
            multipliers[k, i] = mu[i]
            sides[k, i] = side[i]
    return -1


@compiled
def regions(sides, n, m, pair_case, out):
    """The case of each pair at a forward solution, from the sides of its rows."""
    for i in range(n + m):
        if pair_case[i] == FREE:
            out[i] = FREE
        elif sides[i] > 0:
            out[i] = LOWER
        elif sides[i] < 0:
            out[i] = UPPER
        else:
            out[i] = FREE


@compiled
def general_update(
    gram_x, gram_theta, on_x, on_theta, constant, on_free, base_lo, base_hi, pair_x, pair_s, case,
    plane, point, t_projector, t_offset, theta, y, eta, free0, region, best_value, node_limit,
    theta_new, x_new,
):  # fmt: skip
    """The implicit update of any problem of the class, from its `Conditions` at one weight.

    free0 has the multipliers (u, v) at theta, the centre of the ridge. Same answer as
    `portfolio_update`, without its shortcuts: (value, bound, nodes, improved).
    """
    rows = constant.size
    q = on_free.shape[1]
    n = y.size
    size = theta.size
    m = rows + q
    G = np.zeros((m, m))
    scale = np.zeros(m)
    v0 = np.zeros(m)
    lo = np.zeros(m)
    hi = np.zeros(m)
    hx = 0.5 / eta
    y0 = point.copy()
    off = 0.0
    for i in range(n):
        for j in range(n):
            y0[i] += plane[i, j] * y[j]
    for i in range(n):
        off += eta * (y0[i] - y[i]) ** 2
    for i in range(rows):
        for j in range(rows):
            G[i, j] = hx * gram_x[i, j] + gram_theta[i, j]
        t = constant[i]
        for j in range(n):
            t += on_x[i, j] * y0[j]
        for j in range(size):
            t += on_theta[i, j] * theta[j]
        for j in range(q):
            t += on_free[i, j] * free0[j]
            G[i, rows + j] = on_free[i, j]
            G[rows + j, i] = on_free[i, j]
        v0[i] = t
        lo[i] = base_lo[i]
        hi[i] = base_hi[i]
        scale[i] = np.sqrt(max(0.0, G[i, i]))
        if scale[i] <= 1e-13:
            scale[i] = 0.0
            G[i, :rows] = 0.0
            G[:rows, i] = 0.0
            for j in range(q):
                if on_free[i, j] != 0.0:
                    scale[i] = 1.0
    for j in range(q):
        stiff = 0.0
        touched = 0.0
        for i in range(n, 2 * n):
            if on_free[i, j] != 0.0:
                stiff += G[i, i]
                touched += on_free[i, j] ** 2
        G[rows + j, rows + j] = -MULTIPLIER_RIDGE * (touched / stiff if stiff > 0.0 else 1.0)
    W = np.empty(m, np.int64)
    side = np.zeros(m, np.int64)
    best_v = np.empty(m)
    value, bound, nodes, _, improved = tree(
        G, scale, v0, lo, hi, pair_x, pair_s, case, region, q,
        best_value - off, node_limit, W, side, np.int64(0), np.empty(m), best_v,
    )  # fmt: skip
    if improved:
        first = rows - size
        for i in range(n):
            x_new[i] = best_v[i]
        for i in range(size):
            t = t_offset[i]
            for j in range(size):
                t += t_projector[i, j] * best_v[first + j]
            theta_new[i] = min(max(t, base_lo[first + i]), base_hi[first + i])
    return value + off, bound + off, nodes, improved


@compiled
def general_cannot_beat(
    best, gram_x, gram_theta, on_x, on_theta, constant, on_free, base_lo, base_hi, n, m,
    plane, point, theta, y, eta,
):  # fmt: skip
    """`cannot_beat` for any problem: s_i = 0 where y is safely inside and no multiplier helps."""
    reach_x = np.sqrt(best / eta)
    reach_theta = np.sqrt(2.0 * best)
    off = 0.0
    y0 = point.copy()
    for i in range(n):
        for j in range(n):
            y0[i] += plane[i, j] * y[j]
        off += eta * (y0[i] - y[i]) ** 2
    unsure = np.zeros(on_free.shape[1], np.bool_)
    for a in range(on_free.shape[1]):
        unsure[a] = True  # an equality's multiplier may always help
    for a in range(m):
        r = 2 * n + a
        slack = constant[r]
        norm_x = 0.0
        norm_theta = 0.0
        for j in range(n):
            slack += on_x[r, j] * y[j]
            norm_x += on_x[r, j] ** 2
        for j in range(theta.size):
            slack += on_theta[r, j] * theta[j]
            norm_theta += on_theta[r, j] ** 2
        unsure[a] = slack <= np.sqrt(norm_x) * reach_x + np.sqrt(norm_theta) * reach_theta
    for i in range(n):
        if y[i] <= base_lo[i] + reach_x or y[i] >= base_hi[i] - reach_x:
            continue
        r = n + i
        helped = False
        for a in range(on_free.shape[1]):
            helped |= unsure[a] and on_free[r, a] != 0.0
        if helped:
            continue
        miss = constant[r]
        for j in range(n):
            miss += on_x[r, j] * y0[j]
        for j in range(theta.size):
            miss += on_theta[r, j] * theta[j]
        size = 0.5 * gram_x[r, r] / eta + gram_theta[r, r]
        if off * size + 0.5 * miss * miss >= best * size:
            return True
    return False


@compiled
def general_run(
    gram_forward, solve_cost, c0, C, gram_x, gram_theta, on_x, on_theta, constant, on_free,
    base_lo, base_hi, pair_x, pair_s, case, plane, point, t_projector, t_offset,
    f_lo, f_hi, rhs0, rhs, theta, Y, etas, middle, full, node_limit,
    losses, k_out, nodes_out, gap_out, objective_out, theta_out,
):  # fmt: skip
    """Algorithms 1 (full) and 2 over the decisions in Y; theta is changed in place.

    middle[k] says how far weight k is from the even one: ties in k* go to the least.
    Returns the number of rounds done: fewer than there are if some weight has no decision.
    """
    K = gram_forward.shape[0]
    n = Y.shape[1]
    m = rhs0.size
    X = np.empty((K, n))
    multipliers = np.empty((K, f_lo.size))
    sides = np.empty((K, f_lo.size), np.int64)
    region = np.empty(n + m, np.int8)
    nowhere = np.empty(0, np.int8)
    theta_new = np.empty(theta.size)
    x_new = np.empty(n)
    moves = np.any(rhs != 0.0)  # whether theta moves the constraints
    for t in range(Y.shape[0]):
        y = Y[t]
        set_right_hand_side(theta, rhs0, rhs, f_lo, n)
        if (
            forward_all(gram_forward, solve_cost, c0, C, f_lo, f_hi, theta, X, multipliers, sides)
            >= 0
        ):
            return t
        best_k = nearest_row(X, y, middle)
        loss = 0.0
        for i in range(n):
            loss += (y[i] - X[best_k, i]) ** 2
        losses[t] = loss
        k_out[t] = best_k
        nodes_out[t] = 0
        gap_out[t] = 0.0
        objective_out[t] = 0.0
        theta_out[t] = theta
        if loss <= ZERO_LOSS:
            continue
        best = np.inf
        bound = np.inf
        nodes = 0
        found = False
        for step in range(2 * K if full else 1):
            # k*, k* + 1, k* - 1, k* + 2, ...: near weights first, for a good incumbent early
            k = best_k + ((step + 1) // 2 if step % 2 == 1 else -(step // 2))
            if k < 0 or k >= K:
                continue
            if step > 0 and general_cannot_beat(
                best, gram_x[k], gram_theta[k], on_x[k], on_theta[k], constant[k], on_free,
                base_lo, base_hi, n, m, plane, point, theta, y, etas[t],
            ):  # fmt: skip
                continue
            if step == 0:
                regions(sides[k], n, m, case, region)
            value, bound_k, nodes_k, improved = general_update(
                gram_x[k], gram_theta[k], on_x[k], on_theta[k], constant[k], on_free, base_lo,
                base_hi, pair_x, pair_s, case, plane, point, t_projector, t_offset, theta, y,
                etas[t], multipliers[k, n:], region if step == 0 else nowhere, best, node_limit,
                theta_new, x_new,
            )  # fmt: skip
            nodes += nodes_k
            bound = min(bound, bound_k)
            if improved:
                best = value
                found = True
                k_out[t] = k
        nodes_out[t] = nodes
        gap_out[t] = max(0.0, best - bound)
        objective_out[t] = best
        if found:
            k = k_out[t]
            for nudge in NUDGES:
                if not moves or not empty_at(
                    theta_new, rhs0, rhs, gram_forward[k : k + 1], solve_cost[k : k + 1],
                    c0[k : k + 1], C[k : k + 1], f_lo, f_hi, n,
                ):  # fmt: skip
                    break
                for j in range(theta.size):
                    theta_new[j] += nudge * (theta[j] - theta_new[j])
            theta[:] = theta_new
            theta_out[t] = theta
    return Y.shape[0]


@compiled
def empty_at(theta, rhs0, rhs, gram, solve_cost, c0, C, f_lo, f_hi, n):
    """Whether theta allows no decision: on the edge of those that do, rounding decides."""
    set_right_hand_side(theta, rhs0, rhs, f_lo, n)
    X = np.empty((1, n))
    multipliers = np.empty((1, f_lo.size))
    sides = np.empty((1, f_lo.size), np.int64)
    return forward_all(gram, solve_cost, c0, C, f_lo, f_hi, theta, X, multipliers, sides) >= 0


@compiled
def set_right_hand_side(theta, rhs0, rhs, f_lo, n):
    """Write b(theta) into the bounds of the rows A x."""
    for i in range(rhs0.size):
        b = rhs0[i]
        for j in range(theta.size):
            b += rhs[i, j] * theta[j]
        f_lo[n + i] = b


@compiled
def nearest_row(X, y, middle):
    """The row of X nearest to y; ties go to the weight nearest the middle, then to the first."""
    best = np.inf
    best_k = 0
    size = 0.0
    for i in range(y.size):
        size += y[i] * y[i]
    for k in range(X.shape[0]):
        distance = 0.0
        for i in range(y.size):
            distance += (y[i] - X[k, i]) ** 2
        slack = TIE * (size + distance)
        if distance < best - slack or (
            distance <= best + slack and middle[k] < middle[best_k] - 1e-9
        ):
            best = distance
            best_k = k
    return best_k


@compiled
def nearest_rows(X, Y, middle, k_out, distance_out):
    """`nearest_row` for every row of Y."""
    for t in range(Y.shape[0]):
        k = nearest_row(X, Y[t], middle)
        k_out[t] = k
        total = 0.0
        for i in range(Y.shape[1]):
            total += (Y[t, i] - X[k, i]) ** 2
        distance_out[t] = np.sqrt(total)


def needs_compiling() -> bool:
    """Whether the next call compiles: nothing is loaded, and the cache is older than this file."""
    if getattr(portfolio_run, "signatures", True):  # loaded, or compilation is switched off
        return False
    written = Path(__file__).stat().st_mtime
    cache = Path(portfolio_run._cache.cache_path)  # type: ignore[attr-defined]
    stored = cache.glob("kernels.portfolio_run-*.nbc")
    return not any(file.stat().st_mtime >= written for file in stored)
