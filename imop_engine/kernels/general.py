"""Any problem of the class: forward solves and implicit updates for a grid of weights.

Letters as in `projection`; y is an observed decision, eta the rate.
"""

import numpy as np

from imop_engine.compiling import compiled
from imop_engine.kernels.branch_and_bound import tree
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
from imop_engine.kernels.projection import project, restart, settle, workspace


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
