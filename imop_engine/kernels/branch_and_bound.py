"""Branch and bound over the complementarity pairs of a projection problem.

Letters as in `projection`.
"""

import numpy as np

from imop_engine.compiling import compiled
from imop_engine.kernels.constants import (
    AGED,
    ANY,
    BROKEN,
    CUT_OFF,
    DEPENDENT,
    FREE,
    FREE_OR_UPPER,
    INFEASIBLE,
    LOWER,
    LOWER_OR_FREE,
    OPTIMAL,
    PROXIMAL_STEPS,
    PRUNE,
    RIDGE_COST,
    RIDGE_SHARE,
    SATISFIED,
    SNAPSHOT_ROWS,
    UPPER,
)
from imop_engine.kernels.projection import border, project, restart, scale_of, workspace


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
