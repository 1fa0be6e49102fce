"""Nodes of a tree that wait for their turn.

Letters are those of `nouns`; nw is the size of the working set.
"""

import numpy as np

from imop_engine.compiling import compiled, inlined
from imop_engine.kernels.constants import SNAPSHOT_ROWS
from imop_engine.kernels.copying import copy_into
from imop_engine.kernels.nouns import OpenNodes


@compiled
def new_open_nodes(capacity, pairs, base):
    """Room for nodes.

    Small trees keep the inverse, the multipliers and the rows of a node that waits, so that it
    goes on where its parent stopped; large ones save memory and factor again.

    Args:
        capacity: For how many nodes there is room.
        pairs: The complementarity pairs and what is known of each at the root.
        base: The projection problem with the bounds it has before any pair is decided.
    """
    m = base.v0.size
    kept = m * (m + 2) if m <= SNAPSHOT_ROWS else 0
    return OpenNodes(
        np.empty((capacity, pairs.x.size), np.int8), np.empty((capacity, m), np.int16),
        np.empty(capacity, np.int64), np.empty(capacity), np.empty(capacity),
        np.empty((capacity, base.free)), np.empty((capacity, kept)),
    )  # fmt: skip


@inlined
def copy_node(source, i, target, k):
    """Node i of `source` becomes node k of `target`."""
    target.size[k] = source.size[i]
    target.bound[k] = source.bound[i]
    target.value[k] = source.value[i]
    copy_into(target.case[k], source.case[i])
    copy_into(target.shift[k], source.shift[i])
    nw = source.size[i]
    copy_into(target.W[k, :nw], source.W[i, :nw])
    if source.state.shape[1] > 0:
        size = nw * nw + 2 * source.W.shape[1]
        copy_into(target.state[k, :size], source.state[i, :size])


@compiled
def grown(waiting, count, pairs, base):
    """The same nodes with room for four times as many.

    Args:
        waiting: The nodes that wait.
        count: How many nodes wait.
        pairs: The complementarity pairs and what is known of each at the root.
        base: The projection problem with the bounds it has before any pair is decided.
    """
    larger = new_open_nodes(4 * waiting.size.size, pairs, base)
    for i in range(count):
        copy_node(waiting, i, larger, i)
    return larger


@inlined
def store_node(waiting, k, case, branch, decided, shift, work, bound, value):
    """Let a child of the live node wait in place k: pair `branch` is decided in it.

    Args:
        waiting: The nodes that wait.
        k: The place.
        case: What is decided of each pair in the live node.
        branch: The pair that is decided in the child.
        decided: Its case there.
        shift: How far the ridge's centre is moved for each free column.
        work: The working set of the live node.
        bound: A value that the child cannot go below.
        value: The value that is proven so far.
    """
    W = work.W
    nw = work.size[0]
    copy_into(waiting.case[k], case)
    waiting.case[k, branch] = decided
    waiting.bound[k] = bound
    waiting.value[k] = value
    copy_into(waiting.shift[k], shift)
    waiting.size[k] = nw
    for a in range(nw):
        waiting.W[k, a] = (W[a] + 1) * work.side[W[a]]
    if waiting.state.shape[1] > 0:
        store = waiting.state[k]
        m = work.v.size
        copy_into(store[:m], work.v)
        copy_into(store[m : 2 * m], work.mu)
        for a in range(nw):
            copy_into(store[2 * m + a * nw : 2 * m + (a + 1) * nw], work.inv[a, :nw])


@inlined
def load_node(waiting, k, case, shift, work):
    """Make node k the live one; returns its (bound, value).

    Args:
        waiting: The nodes that wait.
        k: The place.
        case: What is decided of each pair in the live node.
        shift: How far the ridge's centre is moved for each free column.
        work: The working set of the live node.
    """
    W = work.W
    copy_into(case, waiting.case[k])
    copy_into(shift, waiting.shift[k])
    nw = waiting.size[k]
    work.size[0] = nw
    work.side[:] = 0
    for a in range(nw):
        code = waiting.W[k, a]
        W[a] = abs(code) - 1
        work.side[W[a]] = 1 if code > 0 else -1
    if waiting.state.shape[1] > 0:
        store = waiting.state[k]
        m = work.v.size
        copy_into(work.v, store[:m])
        copy_into(work.mu, store[m : 2 * m])
        for a in range(nw):
            copy_into(work.inv[a, :nw], store[2 * m + a * nw : 2 * m + (a + 1) * nw])
    return waiting.bound[k], waiting.value[k]


@inlined
def least_bound(waiting, count):
    """The node that waits with the least bound."""
    pick = 0
    for c in range(1, count):
        if waiting.bound[c] < waiting.bound[pick]:
            pick = c
    return pick
