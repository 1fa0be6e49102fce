"""The implicit update of a portfolio problem, and Algorithms 1 and 2 over a stream.

Letters, as in the paper where it has one:
    Q, r, u     covariance, expected returns, caps;  y  an observed decision;  eta  the rate
    lam         w / (2 (1 - w)), so that a portfolio minimises  1/2 x'Qx - lam r'x
"""

import numpy as np

from imop_engine.compiling import compiled
from imop_engine.kernels.branch_and_bound import tree
from imop_engine.kernels.constants import ANY, LOWER_OR_FREE, MULTIPLIER_RIDGE, PRUNE, ZERO_LOSS
from imop_engine.kernels.critical_line import (
    multiplier_at,
    nearest_on_grid,
    nearest_on_trace,
    segment_of,
    trace,
)


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
