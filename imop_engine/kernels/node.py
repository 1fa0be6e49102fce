"""One node of the tree: its projection solved, checked, and freed of what the ridge adds.

Letters are those of `nouns`; nw is the size of the working set, q the number of free columns.
"""

import numpy as np

from imop_engine.compiling import borrowing, compiled, inlined
from imop_engine.kernels.constants import (
    AGED,
    BROKEN,
    INFEASIBLE,
    OPTIMAL,
    PROXIMAL_STEPS,
    RIDGE_COST,
    RIDGE_SHARE,
)
from imop_engine.kernels.copying import copy_into
from imop_engine.kernels.projection import project, restart


@inlined
def ridge_cost(rows, mu):
    """What the ridge on free columns adds to a node's value: nothing true is proven by that."""
    m = mu.size
    cost = 0.0
    for c in range(m - rows.free, m):
        cost -= 0.5 * rows.G[c, c] * mu[c] * mu[c]
    return cost


@inlined
def move_centre(base, shift, out):
    """Rows at the unconstrained minimum when the ridge's centre is moved by `shift`.

    Args:
        base: The projection problem with the bounds it has before any pair is decided.
        shift: How far the ridge's centre is moved for each free column.
        out: Receives the rows.
    """
    q = base.free
    m = out.size
    copy_into(out, base.v0)
    for c in range(q):
        if shift[c] != 0.0:
            for i in range(m - q):
                out[i] += base.G[m - q + c, i] * shift[c]


@inlined
def dual_value(rows, work):
    """The dual value of the multipliers, which is a bound whatever the inverse is worth, and by how
    much the working set's rows miss their bounds, as a share of their scale."""
    G = rows.G
    W = work.W
    mu = work.mu
    nw = work.size[0]
    value = 0.0
    worst = 0.0
    for a in range(nw):
        j = W[a]
        moved = 0.0
        for b in range(nw):
            moved += G[j, W[b]] * mu[W[b]]
        wanted = (rows.lo[j] if work.side[j] > 0 else rows.hi[j]) - rows.v0[j]
        value += mu[j] * (wanted - 0.5 * moved)
        if rows.scale[j] > 0.0:
            worst = max(worst, abs(wanted - moved) / rows.scale[j])
    return value, worst


@borrowing
def solve_node(base, rows, work, value, cutoff, shift):
    """`project`, checked: (status, value, sound). The value is a bound only if sound.

    rows.v0 and shift are the node's centre of the ridge, which `solve_again` may move.

    Args:
        base: The projection problem with the bounds it has before any pair is decided.
        rows: The projection problem with the bounds of the live node.
        work: The working set of the live node.
        value: The value that is proven so far.
        cutoff: The value from which on a node is of no use.
        shift: How far the ridge's centre is moved for each free column.
    """
    status, value = project(rows, work, value, cutoff, 50 * (rows.v0.size + 1))
    if status == INFEASIBLE:
        return status, value, True
    value, worst = dual_value(rows, work)
    aged = worst > AGED and status == OPTIMAL
    if not aged and ridge_cost(rows, work.mu) <= RIDGE_SHARE * value + RIDGE_COST:
        return status, value, True
    return solve_again(base, rows, work, aged, cutoff, shift)


@compiled
def solve_again(base, rows, work, aged, cutoff, shift):
    """Factor an old inverse anew, and move the ridge's centre until it costs next to nothing.

    A multiplier that must be large (its column is small where it counts) is expensive near a
    centre far away, and the node would seem worse than it is. Moves in one direction double, since
    proximal steps are short where the ridge is stiff. Returns what `solve_node` does.

    Args:
        base: The projection problem with the bounds it has before any pair is decided.
        rows: The projection problem with the bounds of the live node.
        work: The working set of the live node.
        aged: Whether the inverse is old.
        cutoff: The value from which on a node is of no use.
        shift: How far the ridge's centre is moved for each free column.
    """
    mu = work.mu
    q = rows.free
    first = mu.size - q
    stretch = 1.0
    last = np.zeros(q)
    status = OPTIMAL
    value = 0.0
    for _ in range(PROXIMAL_STEPS):
        if not aged:
            along = 0.0
            for c in range(q):
                along += mu[first + c] * last[c]
            stretch = 2.0 * stretch if along > 0.0 else 1.0
            for c in range(q):
                last[c] = mu[first + c]
                shift[c] += stretch * last[c]
            move_centre(base, shift, rows.v0)
        renewed = aged
        value = restart(rows, work)
        status, value = project(rows, work, value, cutoff, 50 * (mu.size + 1))
        if status == INFEASIBLE:
            return status, value, True
        value, worst = dual_value(rows, work)
        aged = worst > AGED and status == OPTIMAL and not renewed
        if not aged and ridge_cost(rows, mu) <= RIDGE_SHARE * value + RIDGE_COST:
            return status, value, True
    return status, value, False


@compiled
def without_ridge(rows, work):
    """The value of a leaf without what the ridge cost: one proximal step at its working set."""
    G = rows.G
    W = work.W
    side = work.side
    mu = work.mu
    v = work.v
    q = rows.free
    m = v.size
    nw = work.size[0]
    centre = rows.v0.copy()
    for a in range(q):
        shift = mu[W[a]]
        for i in range(m - q):
            centre[i] += G[W[a], i] * shift
    mu[:] = 0.0
    v[:] = centre
    miss = np.empty(nw)
    for _ in range(3):  # and refine: at a large lam the decision magnifies the last digits of theta
        for a in range(nw):
            j = W[a]
            miss[a] = (rows.lo[j] if side[j] > 0 else rows.hi[j]) - v[j]
        for a in range(nw):
            j = W[a]
            t = 0.0
            for b in range(nw):
                t += work.inv[a, b] * miss[b]
            mu[j] += t
            for i in range(m):
                v[i] += t * G[j, i]
    value = 0.0
    for a in range(nw):
        j = W[a]
        value += 0.5 * mu[j] * ((rows.lo[j] if side[j] > 0 else rows.hi[j]) - centre[j])
    return value


@inlined
def within(rows, v):
    """Whether every row keeps its bounds, to a tolerance that only broken arithmetic exceeds."""
    for i in range(v.size):
        slack = BROKEN * (rows.scale[i] + abs(v[i]))
        if rows.scale[i] > 0.0 and (v[i] < rows.lo[i] - slack or v[i] > rows.hi[i] + slack):
            return False
    return True
