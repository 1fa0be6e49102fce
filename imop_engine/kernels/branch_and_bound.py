"""Projection with complementarity pairs, to the global optimum: branch and bound.

Letters are those of `nouns`; nw is the size of the working set, q the number of free columns.
"""

import numpy as np

from imop_engine.compiling import borrowing, compiled, inlined
from imop_engine.kernels.constants import (
    ANY,
    CUT_OFF,
    DEPENDENT,
    FREE,
    FREE_OR_UPPER,
    INFEASIBLE,
    LOWER,
    LOWER_OR_FREE,
    OPTIMAL,
    PRUNE,
    RIDGE_COST,
    RIDGE_SHARE,
    SATISFIED,
    UPPER,
)
from imop_engine.kernels.copying import copy_into
from imop_engine.kernels.node import move_centre, ridge_cost, solve_node, within, without_ridge
from imop_engine.kernels.nouns import Rows, empty_root
from imop_engine.kernels.open_nodes import (
    copy_node,
    grown,
    least_bound,
    load_node,
    new_open_nodes,
    store_node,
)
from imop_engine.kernels.projection import new_working_set, restart, scale_of, solve_for_row


# -- pairs and cases -----------------------------------------------------------------------------
@inlined
def set_case(base, pairs, rows, i, c):
    """Write case c of pair i into the bounds of its two rows.

    Args:
        base: The projection problem with the bounds it has before any pair is decided.
        pairs: The complementarity pairs and what is known of each at the root.
        rows: The projection problem with the bounds of the live node.
        i: The pair.
        c: Its case.
    """
    x = pairs.x[i]
    s = pairs.s[i]
    lo = rows.lo
    hi = rows.hi
    lo[x] = base.lo[x]
    hi[x] = base.hi[x]
    lo[s] = -np.inf
    hi[s] = np.inf
    if c == LOWER_OR_FREE or c == LOWER:
        lo[s] = 0.0
    elif c == FREE_OR_UPPER or c == UPPER:
        hi[s] = 0.0
    elif c == FREE:
        lo[s] = 0.0
        hi[s] = 0.0
    if c == LOWER:
        hi[x] = base.lo[x]
    elif c == UPPER:
        lo[x] = base.hi[x]


@inlined
def most_violated(base, pairs, case, v):
    """The undecided pair that is furthest from complementarity, or -1.

    Args:
        base: The projection problem with the bounds it has before any pair is decided.
        pairs: The complementarity pairs and what is known of each at the root.
        case: What is decided of each pair in the live node.
        v: Values of the rows.
    """
    scale = base.scale
    worst = SATISFIED
    best = -1
    for i in range(case.size):
        if case[i] > FREE_OR_UPPER:
            continue
        x = pairs.x[i]
        s = pairs.s[i]
        if scale[x] == 0.0 or scale[s] == 0.0:
            continue
        amount = 0.0
        if v[s] > 0.0 and case[i] != FREE_OR_UPPER:
            amount = min(v[s] / scale[s], (v[x] - base.lo[x]) / scale[x])
        elif v[s] < 0.0 and case[i] != LOWER_OR_FREE:
            amount = min(-v[s] / scale[s], (base.hi[x] - v[x]) / scale[x])
        if amount > worst:
            worst = amount
            best = i
    return best


@borrowing
def force_cases(base, pairs, best, forced):
    """What every solution better than `best` has in common, pair by pair; ANY where unsure.

    Such a z lies in a ball, 1/2 ||z - z0||_H^2 < best, so no row moves further than
    sqrt(2 best G_ii) from its v0. Rows that touch a free column can move at no cost; but with one
    free column the difference of two of them cannot.

    Args:
        base: The projection problem with the bounds it has before any pair is decided.
        pairs: The complementarity pairs and what is known of each at the root.
        best: The value of the best update so far.
        forced: Receives the case of each pair.
    """
    G = base.G
    v0 = base.v0
    q = base.free
    m = v0.size
    reference = -1
    margin = 0.0
    for i in range(forced.size):
        forced[i] = ANY
        x = pairs.x[i]
        if base.scale[x] == 0.0 or pairs.s[i] >= m - q:
            continue
        touches = False
        for c in range(m - q, m):
            touches |= G[x, c] != 0.0
        if touches:
            continue
        reach = np.sqrt(2.0 * best * G[x, x]) * (1.0 + PRUNE)
        room = min(v0[x] - base.lo[x], base.hi[x] - v0[x]) - reach
        if room > 0.0:
            forced[i] = FREE
            if room > margin:
                margin = room
                reference = pairs.s[i]
    if q != 1 or reference < 0 or G[reference, m - 1] == 0.0:
        return
    for i in range(forced.size):
        s = pairs.s[i]
        if forced[i] != ANY or G[s, m - 1] != G[reference, m - 1]:
            continue
        apart = v0[s] - v0[reference]
        size = G[s, s] + G[reference, reference] - 2.0 * G[s, reference]
        reach = np.sqrt(2.0 * best * max(size, 0.0)) * (1.0 + PRUNE)
        if apart > reach and base.lo[pairs.x[i]] > -np.inf:
            forced[i] = LOWER
        elif apart < -reach and base.hi[pairs.x[i]] < np.inf:
            forced[i] = UPPER


@inlined
def apply_forced(case, forced):
    """Write what is forced into undecided pairs; False if a decided one contradicts it."""
    for i in range(case.size):
        f = forced[i]
        if f == ANY or case[i] == f:
            continue
        excluded = UPPER if case[i] == LOWER_OR_FREE else LOWER
        if case[i] > FREE_OR_UPPER or (case[i] != ANY and f == excluded):
            return False
        case[i] = f
    return True


# -- branching -----------------------------------------------------------------------------------
@inlined
def first_step(rows, work, even, j, sign, miss, value):
    """How much the value grows, at least, when row j must move by `miss`: one dual step.

    Where columns are even no multiplier is large, and what the ridge adds is taken off again.

    Args:
        rows: The projection problem with the bounds of the live node.
        work: The working set of the live node.
        even: Whether each free column has entries of one size only.
        j: The row.
        sign: 1 where the row must rise, -1 where it must fall.
        miss: How far it must move.
        value: The value that is proven so far.
    """
    G = rows.G
    W = work.W
    side = work.side
    mu = work.mu
    column = work.column
    nw = work.size[0]
    pivot, _ = solve_for_row(rows, work, nw, j)
    if pivot <= DEPENDENT * scale_of(G, j):
        pivot = 0.0
        step = np.inf
    else:
        step = miss / pivot
    for a in range(nw):
        i = W[a]
        if rows.lo[i] != rows.hi[i]:
            fall = side[i] * sign * column[a]
            if fall > 0.0:
                step = min(step, max(0.0, side[i] * mu[i] / fall))
    if step == np.inf:
        return np.inf
    growth = step * miss - 0.5 * step * step * pivot
    before = ridge_cost(rows, mu)
    after = 0.0
    for a in range(rows.free):  # free columns come first in a working set
        after -= 0.5 * G[W[a], W[a]] * (mu[W[a]] - sign * step * column[a]) ** 2
    if even:
        return max(0.0, growth - max(0.0, after - before))
    return growth if after <= RIDGE_SHARE * (value + growth) + RIDGE_COST else 0.0


@borrowing
def are_even(base):
    """Whether each free column has entries of one size only, as the budget's has."""
    m = base.v0.size
    q = base.free
    for c in range(m - q, m):
        size = 0.0
        for i in range(m - q):
            entry = abs(base.G[c, i])
            if entry != 0.0:
                if size != 0.0 and entry != size:
                    return False
                size = entry
    return True


@inlined
def children(base, pairs, rows, work, even, branch, known, value):
    """The two ways to satisfy a pair: (cheaper case, other case, their growths of the value).

    x > lower and s > 0: either x = lower, or s <= 0; and the mirror image.

    Args:
        base: The projection problem with the bounds it has before any pair is decided.
        pairs: The complementarity pairs and what is known of each at the root.
        rows: The projection problem with the bounds of the live node.
        work: The working set of the live node.
        even: Whether each free column has entries of one size only.
        branch: The pair that is decided.
        known: What is known of it.
        value: The value that is proven so far.
    """
    v = work.v
    x = pairs.x[branch]
    s = pairs.s[branch]
    if v[s] > 0.0:
        sign = -1
        at_bound = LOWER
        other = FREE if known == LOWER_OR_FREE else FREE_OR_UPPER
        miss_x = v[x] - base.lo[x]
    else:
        sign = 1
        at_bound = UPPER
        other = FREE if known == FREE_OR_UPPER else LOWER_OR_FREE
        miss_x = base.hi[x] - v[x]
    grow_x = first_step(rows, work, even, x, sign, miss_x, value)
    grow_s = first_step(rows, work, even, s, sign, abs(v[s]), value)
    if grow_x <= grow_s:
        return at_bound, other, grow_x, grow_s
    return other, at_bound, grow_s, grow_x


@inlined
def set_cases(base, pairs, rows, work, case):
    """Write all cases into the bounds; False if a held row sat on a bound that moves by it.

    Args:
        base: The projection problem with the bounds it has before any pair is decided.
        pairs: The complementarity pairs and what is known of each at the root.
        rows: The projection problem with the bounds of the live node.
        work: The working set of the live node.
        case: What is decided of each pair in the live node.
    """
    kept = True
    for i in range(case.size):
        set_case(base, pairs, rows, i, case[i])
        x = pairs.x[i]
        side = work.side[x]
        v = work.v[x]
        if (side > 0 and v != rows.lo[x]) or (side < 0 and v != rows.hi[x]):
            kept = False
    return kept


new_root = compiled(empty_root)


# -- the tree ------------------------------------------------------------------------------------
@borrowing
def solve_root(base, pairs, rows, work, case, cutoff, shift, root):
    """Solve the root from the guess in `root`, which then holds what the root ended with.

    Args:
        base: The projection problem with the bounds it has before any pair is decided.
        pairs: The complementarity pairs and what is known of each at the root.
        rows: The projection problem with the bounds of the live node.
        work: The working set of the live node.
        case: What is decided of each pair in the live node.
        cutoff: The value from which on a node is of no use.
        shift: How far the ridge's centre is moved for each free column.
        root: The working set that the root starts from; receives the one it ends with.
    """
    for i in range(case.size):
        set_case(base, pairs, rows, i, case[i])
    work.size[0] = root.size[0]
    for a in range(root.size[0]):
        j = root.W[a]
        work.W[a] = j
        work.side[j] = root.side[j]
    value = restart(rows, work)
    status, value, sound = solve_node(base, rows, work, value, cutoff, shift)
    nw = work.size[0]
    root.size[0] = nw
    copy_into(root.side, work.side)
    copy_into(root.mu, work.mu)
    for a in range(nw):
        root.W[a] = work.W[a]
    return status, value, sound


@compiled
def solve_tree(base, pairs, region, best_value, node_limit, root, best_v):
    """Global minimum of `project` over all ways to satisfy the complementarity pairs.

    An undecided pair keeps the weaker, one-sided condition: a convex relaxation, so a lower bound.
    The tree dives into the cheaper child, which goes on from its parent's working set, and takes
    the open node with the least bound when a dive ends. `region` (the cases at the current
    parameters; empty if unknown) gives the first incumbent, and `best_value` may hold one from
    elsewhere (inf if not). `root` carries a guess of the root's working set in, and the root's own
    working set and multipliers out.

    Returns (value, bound, nodes, improved); best_v receives the rows of the best leaf.

    Args:
        base: The projection problem with the bounds it has before any pair is decided.
        pairs: The complementarity pairs and what is known of each at the root.
        region: The case of each pair at theta; empty where it is not known.
        best_value: The value of an update found elsewhere; inf where there is none.
        node_limit: How many nodes are visited at most.
        root: The working set that the root starts from; receives the one it ends with.
        best_v: Receives the rows of the best leaf.
    """
    rows = Rows(base.G, base.scale, base.v0.copy(), base.lo.copy(), base.hi.copy(), base.free)
    work = new_working_set(base.v0.size)
    # it grows when needed: most trees end within ten nodes
    waiting = new_open_nodes(np.int64(64), pairs, base)
    count = 0
    even = are_even(base)
    shift = np.zeros(base.free)
    case = pairs.case.copy()
    improved = False
    closed = np.inf  # least bound among the nodes closed by the incumbent
    region_tried = region.size != case.size
    forced = np.zeros(case.size, np.int8)
    forced_by = np.inf  # the incumbent that `forced` was computed from
    if best_value < np.inf:
        force_cases(base, pairs, best_value, forced)
        forced_by = best_value
        apply_forced(case, forced)
    cutoff = best_value * (1.0 - PRUNE)
    status, value, sound = solve_root(base, pairs, rows, work, case, cutoff, shift, root)
    nodes = 1
    proven = 0.0  # a bound on the live node that needs no trust in its value
    while True:
        # -- the live node has just been solved, with `status` -----------------------------------
        live = False
        if sound:
            proven = max(proven, value)
        branch = -1
        if status == OPTIMAL or status > CUT_OFF:
            branch = most_violated(base, pairs, case, work.v)
        if status == INFEASIBLE:
            pass
        elif branch < 0 and status == OPTIMAL:
            value = without_ridge(rows, work)
            if not within(rows, work.v):  # rounding won: no leaf, but its bound stays
                closed = min(closed, proven)
            elif value < best_value:
                best_value = value
                cutoff = best_value * (1.0 - PRUNE)
                best_v[:] = work.v
                improved = True
        elif branch < 0 or nodes >= node_limit:
            closed = min(closed, proven)
        else:
            if count + 2 > waiting.size.size:
                waiting = grown(waiting, count, pairs, base)
            cheaper, other, growth, other_growth = children(
                base, pairs, rows, work, even, branch, case[branch], value
            )
            bound = proven + other_growth
            if bound >= cutoff:
                closed = min(closed, bound)
            else:
                store_node(waiting, count, case, branch, other, shift, work, bound, value)
                count += 1
            bound = proven + growth
            if bound >= cutoff:
                closed = min(closed, bound)
            elif region_tried:
                case[branch] = cheaper
                set_case(base, pairs, rows, branch, case[branch])
                live = True
                proven = bound
                if work.side[pairs.x[branch]] != 0:  # x sat on its other bound, which has moved
                    value = restart(rows, work)
            else:  # this child waits too: first an incumbent from the current region
                store_node(waiting, count, case, branch, cheaper, shift, work, bound, value)
                count += 1
        if not live:
            resumed = False
            if not region_tried and count > 0:
                region_tried = True
                case[:] = region
                proven = 0.0
            else:
                if count == 0:
                    break
                pick = least_bound(waiting, count)
                if waiting.bound[pick] >= cutoff or nodes >= node_limit:
                    closed = min(closed, waiting.bound[pick])
                    break
                if best_value < forced_by:
                    force_cases(base, pairs, best_value, forced)
                    forced_by = best_value
                proven, value = load_node(waiting, pick, case, shift, work)
                move_centre(base, shift, rows.v0)
                resumed = waiting.state.shape[1] > 0
                count -= 1
                if pick != count:
                    copy_node(waiting, count, waiting, pick)
                if not apply_forced(case, forced):  # nothing better than the incumbent is here
                    status = INFEASIBLE
                    continue
            if not set_cases(base, pairs, rows, work, case) or not resumed:
                value = restart(rows, work)
        nodes += 1
        status, value, sound = solve_node(base, rows, work, value, cutoff, shift)
    return best_value, min(closed, best_value), nodes, improved
