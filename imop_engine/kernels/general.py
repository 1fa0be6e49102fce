"""Any problem of the class: forward solves and implicit updates for a grid of weights.

Letters are those of `nouns`; n is the number of decision variables, m the number of rows A x, q of
free columns, K of weights.
"""

import numpy as np

from imop_engine.compiling import borrowing, compiled, inlined
from imop_engine.kernels.branch_and_bound import new_root, solve_tree
from imop_engine.kernels.constants import (
    FAR,
    FREE,
    LOWER,
    MULTIPLIER_RIDGE,
    NUDGES,
    OPTIMAL,
    TIE,
    UPPER,
    ZERO_LOSS,
)
from imop_engine.kernels.copying import copy_into
from imop_engine.kernels.nouns import Forward, ForwardOut, GeneralStep, Rows, UpdateRows
from imop_engine.kernels.projection import new_working_set, project, recompute, restart


# -- forward -------------------------------------------------------------------------------------
@inlined
def largest(v):
    """The largest size of an entry."""
    size = 0.0
    for i in range(v.size):
        size = max(size, abs(v[i]))
    return size


@inlined
def unconstrained(forward, k, theta, v0):
    """Rows at the unconstrained decision of weight k.

    Args:
        forward: What decisions at each weight need.
        k: The weight.
        theta: The parameters now.
        v0: Receives the rows.
    """
    n = forward.c0.shape[1]
    v0[:] = 0.0
    for j in range(n):
        c = forward.c0[k, j]
        for a in range(theta.size):
            c += forward.C[k, j, a] * theta[a]
        for i in range(v0.size):
            v0[i] += forward.solve_cost[k, i, j] * c


@compiled
def forward_all(forward, lo, hi, theta, out):
    """S(w_k, theta) for every weight, each started from its neighbour's working set.

    Returns the number of the first weight that has no decision, or -1.

    Args:
        forward: What decisions at each weight need.
        lo: Lower bounds of the rows.
        hi: Upper bounds of the rows.
        theta: The parameters now.
        out: Receives the decision of each weight, its multipliers and sides.
    """
    m = lo.size
    work = new_working_set(m)
    v0 = np.empty(m)
    scale = np.empty(m)
    for k in range(forward.gram.shape[0]):
        G = forward.gram[k]
        for i in range(m):
            scale[i] = np.sqrt(G[i, i])
        unconstrained(forward, k, theta, v0)
        rows = Rows(G, scale, v0, lo, hi, np.int64(0))
        status = OPTIMAL
        for _ in range(2):
            value = restart(rows, work)
            warm = work.size[0] > 0
            status, value = project(rows, work, value, np.inf, 50 * (m + 1))
            if status == OPTIMAL or not warm:
                break
            # Where Q is nearly singular a neighbour's working set can lead astray.
            work.size[0] = 0
        if status != OPTIMAL:
            return k
        if largest(v0) > FAR * largest(work.v):
            recompute(rows, work)
        for j in range(out.X.shape[1]):
            out.X[k, j] = work.v[j]
        for i in range(m):
            out.multipliers[k, i] = work.mu[i]
            out.sides[k, i] = work.side[i]
    return -1


@inlined
def set_right_hand_side(bounds, theta, n):
    """Write b(theta) into the bounds of the rows A x.

    Args:
        bounds: Bounds of the rows and how they move with theta.
        theta: The parameters now.
        n: How many variables the decision has.
    """
    for i in range(bounds.rhs0.size):
        b = bounds.rhs0[i]
        for j in range(theta.size):
            b += bounds.rhs[i, j] * theta[j]
        bounds.lo[n + i] = b


@compiled
def is_empty_at(forward, k, bounds, theta, n):
    """Whether theta allows no decision: on the edge of those that do, rounding decides.

    Args:
        forward: What decisions at each weight need.
        k: The weight.
        bounds: Bounds of the rows and how they move with theta.
        theta: The parameters now.
        n: How many variables the decision has.
    """
    set_right_hand_side(bounds, theta, n)
    size = bounds.lo.size
    out = ForwardOut(np.empty((1, n)), np.empty((1, size)), np.empty((1, size), np.int64))
    one = Forward(
        forward.gram[k : k + 1], forward.solve_cost[k : k + 1], forward.c0[k : k + 1],
        forward.C[k : k + 1],
    )  # fmt: skip
    return forward_all(one, bounds.lo, bounds.hi, theta, out) >= 0


@borrowing
def regions(sides, pair_case, out):
    """The case of each pair at a forward solution, from the sides of its rows.

    Args:
        sides: Of each row at the solution: 1 on its lower bound, -1 on its upper, 0 on none.
        pair_case: What is known of each pair before.
        out: Receives the case of each pair.
    """
    for i in range(pair_case.size):
        if pair_case[i] == FREE:
            out[i] = FREE
        elif sides[i] > 0:
            out[i] = LOWER
        elif sides[i] < 0:
            out[i] = UPPER
        else:
            out[i] = FREE


@borrowing
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


@borrowing
def nearest_rows(X, Y, middle, k_out, distance_out):
    """`nearest_row` for every row of Y.

    Args:
        X: The decision at each weight.
        Y: The decisions, one in each row.
        middle: How far each weight is from the even one; ties go to the least.
        k_out: Receives the number of the nearest weight for each row.
        distance_out: Receives the distance of each row.
    """
    for t in range(Y.shape[0]):
        k = nearest_row(X, Y[t], middle)
        k_out[t] = k
        total = 0.0
        for i in range(Y.shape[1]):
            total += (Y[t, i] - X[k, i]) ** 2
        distance_out[t] = np.sqrt(total)


# -- the implicit update -------------------------------------------------------------------------
@inlined
def on_plane(shared, y, y0):
    """y0: the point of E x = d nearest to y. Returns its squared distance.

    Args:
        shared: What the rows have in common at all weights.
        y: An observed decision.
        y0: Receives the point.
    """
    n = y.size
    copy_into(y0, shared.point)
    for i in range(n):
        for j in range(n):
            y0[i] += shared.plane[i, j] * y[j]
    total = 0.0
    for i in range(n):
        total += (y0[i] - y[i]) ** 2
    return total


@inlined
def row_value(rows, i, x, theta):
    """Row i of the optimality conditions at x and theta, without its multipliers.

    Args:
        rows: The optimality conditions at one weight.
        i: The row.
        x: A decision.
        theta: The parameters now.
    """
    t = rows.constant[i]
    for j in range(x.size):
        t += rows.on_x[i, j] * x[j]
    for j in range(theta.size):
        t += rows.on_theta[i, j] * theta[j]
    return t


@compiled
def update_problem(rows, shared, step, y0):
    """The rows of an update as a projection problem.

    Args:
        rows: The optimality conditions at one weight.
        shared: What the rows have in common at all weights.
        step: One update: theta, the decision, the rate and the multipliers at theta.
        y0: The point of E x = d nearest to the decision.
    """
    on_free = shared.on_free
    count = rows.constant.size
    q = on_free.shape[1]
    n = y0.size
    m = count + q
    G = np.zeros((m, m))
    scale = np.zeros(m)
    v0 = np.zeros(m)
    lo = np.zeros(m)
    hi = np.zeros(m)
    hx = 0.5 / step.eta
    for i in range(count):
        for j in range(count):
            G[i, j] = hx * rows.gram_x[i, j] + rows.gram_theta[i, j]
        t = row_value(rows, i, y0, step.theta)
        for j in range(q):
            t += on_free[i, j] * step.multipliers[j]
            G[i, count + j] = on_free[i, j]
            G[count + j, i] = on_free[i, j]
        v0[i] = t
        lo[i] = shared.lower[i]
        hi[i] = shared.upper[i]
        scale[i] = np.sqrt(max(0.0, G[i, i]))
        if scale[i] <= 1e-13:
            scale[i] = 0.0
            G[i, :count] = 0.0
            G[:count, i] = 0.0
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
        G[count + j, count + j] = -MULTIPLIER_RIDGE * (touched / stiff if stiff > 0.0 else 1.0)
    return Rows(G, scale, v0, lo, hi, np.int64(q))


@compiled
def general_update(rows, shared, theta_set, step, region, best_value, node_limit, theta_new, x_new):
    """The implicit update of any problem of the class, from its conditions at one weight.

    step.multipliers (u, v) at theta are the centre of the ridge. Same answer as
    `portfolio_update`, without its shortcuts: (value, bound, nodes, improved).

    Args:
        rows: The optimality conditions at one weight.
        shared: What the rows have in common at all weights.
        theta_set: Where theta may lie.
        step: One update: theta, the decision, the rate and the multipliers at theta.
        region: The case of each pair at theta; empty where it is not known.
        best_value: The value of an update found elsewhere; inf where there is none.
        node_limit: How many nodes are visited at most.
        theta_new: Receives the new theta.
        x_new: Receives the decision that goes with it.
    """
    n = step.y.size
    size = step.theta.size
    y0 = np.empty(n)
    off = step.eta * on_plane(shared, step.y, y0)
    base = update_problem(rows, shared, step, y0)
    m = base.v0.size
    best_v = np.empty(m)
    value, bound, nodes, improved = solve_tree(
        base, shared.pairs, region, best_value - off, node_limit, new_root(m), best_v
    )
    if improved:
        first = rows.constant.size - size
        for i in range(n):
            x_new[i] = best_v[i]
        for i in range(size):
            t = theta_set.offset[i]
            for j in range(size):
                t += theta_set.projector[i, j] * best_v[first + j]
            theta_new[i] = min(max(t, theta_set.lower[i]), theta_set.upper[i])
    return value + off, bound + off, nodes, improved


@inlined
def may_help(rows, theta, y, m, reach_x, reach_theta, unsure):
    """Mark the multipliers that may be positive for a solution within reach of y and theta.

    Args:
        rows: The optimality conditions at one weight.
        theta: The parameters now.
        y: An observed decision.
        m: How many inequalities there are.
        reach_x: How far a better decision lies from y at most.
        reach_theta: How far a better theta lies from this one at most.
        unsure: Receives the marks.
    """
    n = y.size
    for a in range(unsure.size):
        unsure[a] = True  # an equality's multiplier may always help
    for a in range(m):
        r = 2 * n + a
        slack = row_value(rows, r, y, theta)
        norm_x = 0.0
        norm_theta = 0.0
        for j in range(n):
            norm_x += rows.on_x[r, j] ** 2
        for j in range(theta.size):
            norm_theta += rows.on_theta[r, j] ** 2
        unsure[a] = slack <= np.sqrt(norm_x) * reach_x + np.sqrt(norm_theta) * reach_theta


@compiled
def general_cannot_beat(rows, shared, best, theta, y, eta):
    """`cannot_beat` for any problem: s_i = 0 where y is safely inside and no multiplier helps.

    Args:
        rows: The optimality conditions at one weight.
        shared: What the rows have in common at all weights.
        best: The value of the best update so far.
        theta: The parameters now.
        y: An observed decision.
        eta: The learning rate.
    """
    on_free = shared.on_free
    n = y.size
    reach_x = np.sqrt(best / eta)
    reach_theta = np.sqrt(2.0 * best)
    y0 = np.empty(n)
    off = eta * on_plane(shared, y, y0)
    unsure = np.zeros(on_free.shape[1], np.bool_)
    may_help(rows, theta, y, shared.pairs.x.size - n, reach_x, reach_theta, unsure)
    for i in range(n):
        if y[i] <= shared.lower[i] + reach_x or y[i] >= shared.upper[i] - reach_x:
            continue
        r = n + i
        helped = False
        for a in range(on_free.shape[1]):
            helped |= unsure[a] and on_free[r, a] != 0.0
        if helped:
            continue
        miss = row_value(rows, r, y0, theta)
        size = 0.5 * rows.gram_x[r, r] / eta + rows.gram_theta[r, r]
        if off * size + 0.5 * miss * miss >= best * size:
            return True
    return False


@compiled
def at_weight(rows, k):
    """The conditions of weight k, out of those of all weights."""
    return UpdateRows(
        rows.gram_x[k], rows.gram_theta[k], rows.on_x[k], rows.on_theta[k], rows.constant[k]
    )


@compiled
def general_run(forward, rows, shared, theta_set, bounds, settings, theta, Y, out):
    """Algorithms 1 (full) and 2 over the decisions in Y; theta is changed in place.

    Returns the number of rounds done: fewer than there are if some weight has no decision.

    Args:
        forward: What decisions at each weight need.
        rows: The optimality conditions at all weights.
        shared: What the rows have in common at all weights.
        theta_set: Where theta may lie.
        bounds: Bounds of the rows and how they move with theta.
        settings: How a stream is learned from.
        theta: The parameters now.
        Y: The decisions, one in each row.
        out: Receives what each round reports.
    """
    K = forward.gram.shape[0]
    n = Y.shape[1]
    size = bounds.lo.size
    found_all = ForwardOut(np.empty((K, n)), np.empty((K, size)), np.empty((K, size), np.int64))
    region = np.empty(shared.pairs.x.size, np.int8)
    nowhere = np.empty(0, np.int8)
    theta_new = np.empty(theta.size)
    x_new = np.empty(n)
    moves = False  # whether theta moves the constraints
    for i in range(bounds.rhs.shape[0]):
        for j in range(theta.size):
            moves |= bounds.rhs[i, j] != 0.0
    for t in range(Y.shape[0]):
        y = Y[t]
        eta = settings.etas[t]
        set_right_hand_side(bounds, theta, n)
        if forward_all(forward, bounds.lo, bounds.hi, theta, found_all) >= 0:
            return t
        best_k = nearest_row(found_all.X, y, settings.middle)
        loss = 0.0
        for i in range(n):
            loss += (y[i] - found_all.X[best_k, i]) ** 2
        out.losses[t] = loss
        out.weights[t] = best_k
        out.nodes[t] = 0
        out.gaps[t] = 0.0
        out.objectives[t] = 0.0
        out.thetas[t] = theta
        if loss <= ZERO_LOSS:
            continue
        best = np.inf
        bound = np.inf
        nodes = 0
        found = False
        for step in range(2 * K if settings.full else 1):
            # k*, k* + 1, k* - 1, k* + 2, ...: near weights first, for a good incumbent early
            k = best_k + ((step + 1) // 2 if step % 2 == 1 else -(step // 2))
            if k < 0 or k >= K:
                continue
            here = at_weight(rows, k)
            if step > 0 and general_cannot_beat(here, shared, best, theta, y, eta):
                continue
            if step == 0:
                regions(found_all.sides[k], shared.pairs.case, region)
            value, bound_k, nodes_k, improved = general_update(
                here, shared, theta_set,
                GeneralStep(theta, y, eta, found_all.multipliers[k, n:]),
                region if step == 0 else nowhere, best, settings.node_limit, theta_new, x_new,
            )  # fmt: skip
            nodes += nodes_k
            bound = min(bound, bound_k)
            if improved:
                best = value
                found = True
                out.weights[t] = k
        out.nodes[t] = nodes
        out.gaps[t] = max(0.0, best - bound)
        out.objectives[t] = best
        if found:
            for nudge in NUDGES:
                if not moves or not is_empty_at(forward, out.weights[t], bounds, theta_new, n):
                    break
                for j in range(theta.size):
                    theta_new[j] += nudge * (theta[j] - theta_new[j])
            theta[:] = theta_new
            out.thetas[t] = theta
    return Y.shape[0]
