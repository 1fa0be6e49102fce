"""The implicit update of a portfolio problem, and Algorithms 1 and 2 over a stream.

Letters are those of `nouns`; n is the number of assets, PQ, QPQ and Pr stand for
budget_covariance, covariance_budget_covariance and theta's projector.
"""

import numpy as np

from imop_engine.compiling import borrowing, compiled, inlined
from imop_engine.kernels.branch_and_bound import new_root, solve_tree
from imop_engine.kernels.constants import ANY, LOWER_OR_FREE, MULTIPLIER_RIDGE, PRUNE, ZERO_LOSS
from imop_engine.kernels.critical_line import (
    multiplier_at,
    nearest_on_grid,
    nearest_on_trace,
    new_trace,
    point_at,
    segment_of,
    trace,
)
from imop_engine.kernels.nouns import Observation, Pairs, Rows, Start, Step


@inlined
def update_gram(market, theta_set, lam, eta, G, scale):
    """Gram matrix and scales of the rows of an update: x, s, r and the budget's multiplier.

    Args:
        market: The portfolio problem.
        theta_set: Where theta may lie.
        lam: w / (2 (1 - w)) of the weight w on return.
        eta: The learning rate.
        G: Receives the Gram matrix.
        scale: Receives the scales.
    """
    PQ = market.budget_covariance
    QPQ = market.covariance_budget_covariance
    Pr = theta_set.projector
    n = market.caps.size
    m = 3 * n + 1
    hx = 0.5 / eta
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


@compiled
def portfolio_update(
    market, theta_set, step, region, best_value, node_limit, root, theta_new, x_new
):
    """argmin over (r, x) of 1/2 ||r - theta||^2 + eta ||y - x||^2,  x = S(w, r),  r in Theta.

    z = (x, r, nu/lam). Rows: x_i, the reduced gradient s_i = ((Qx)_i + nu)/lam - r_i, and r_i.
    region is the state of each asset at theta (empty if it is not worth an incumbent). The budget
    and the anchors are not rows: z moves only in the planes where they hold, by the projectors
    P = I - 11'/n (inside PQ, QPQ) and Pr.

    Returns (value, bound, nodes, improved).

    Args:
        market: The portfolio problem.
        theta_set: Where theta may lie.
        step: One update: theta, the decision, its weight and the rate.
        region: The state of each asset at theta; empty where it is not worth an incumbent.
        best_value: The value of an update found elsewhere; inf where there is none.
        node_limit: How many nodes are visited at most.
        root: The working set that the root starts from; receives the one it ends with.
        theta_new: Receives the new theta.
        x_new: Receives the decision that goes with it.
    """
    Q = market.covariance
    u = market.caps
    Pr = theta_set.projector
    theta = step.theta
    y = step.y
    n = theta.size
    m = 3 * n + 1
    G = np.zeros((m, m))
    scale = np.zeros(m)
    v0 = np.zeros(m)
    lo = np.zeros(m)
    hi = np.zeros(m)
    off = 0.0
    for i in range(n):
        off += y[i]
    off = (off - 1.0) / n
    update_gram(market, theta_set, step.lam, step.eta, G, scale)
    pairs = Pairs(np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int8))
    for i in range(n):
        v0[i] = y[i] - off
    for i in range(n):
        t = step.nu
        for j in range(n):
            t += Q[i, j] * v0[j]
        v0[n + i] = t / step.lam - theta[i]
        v0[2 * n + i] = theta[i]
        hi[i] = u[i]
        lo[n + i] = -np.inf
        hi[n + i] = np.inf
        lo[2 * n + i] = theta_set.lower[i]
        hi[2 * n + i] = theta_set.upper[i]
        pairs.x[i] = i
        pairs.s[i] = n + i
        pairs.case[i] = LOWER_OR_FREE if u[i] == np.inf else ANY
    constant = step.eta * off * off * n
    best_v = np.empty(m)
    rows = Rows(G, scale, v0, lo, hi, np.int64(1))
    value, bound, nodes, improved = solve_tree(
        rows, pairs, region, best_value - constant, node_limit, root, best_v
    )
    if improved:
        for i in range(n):
            x_new[i] = best_v[i]
            t = theta_set.offset[i]
            for j in range(n):
                t += Pr[i, j] * best_v[2 * n + j]
            theta_new[i] = min(max(t, theta_set.lower[i]), theta_set.upper[i])
    return value + constant, bound + constant, nodes, improved


@borrowing
def cannot_beat(market, theta_set, seen, best, lam):
    """Whether weight lam surely gives no update better than `best`; costs next to nothing.

    A better x lies within sqrt(best / eta) of y, so assets that y holds by more than that are held
    in x too, strictly between their bounds. Any two such assets have s_i = s_j = 0: one equation
    in (x, r) that y and theta miss by `miss`, and whose least repair is a lower bound.

    Args:
        market: The portfolio problem.
        theta_set: Where theta may lie.
        seen: What the proofs need of a decision.
        best: The value of the best update so far.
        lam: w / (2 (1 - w)) of the weight w on return.
    """
    QPQ = market.covariance_budget_covariance
    u = market.caps
    Pr = theta_set.projector
    theta = seen.theta
    y = seen.y
    qy = seen.qy
    n = theta.size
    reach = np.sqrt(best / seen.eta)
    first = -1
    for i in range(n):
        if y[i] > reach and y[i] < u[i] - reach and (first < 0 or y[i] > y[first]):
            first = i
    if first < 0:
        return False
    hx = 0.5 / (seen.eta * lam * lam)
    base = seen.eta * seen.off * seen.off * n
    for j in range(n):
        if j != first and y[j] > reach and y[j] < u[j] - reach:
            miss = (qy[first] - qy[j]) / lam - theta[first] + theta[j]
            size = hx * (QPQ[first, first] + QPQ[j, j] - 2.0 * QPQ[first, j])
            size += Pr[first, first] + Pr[j, j] - 2.0 * Pr[first, j]
            if base * size + 0.5 * miss * miss >= best * size:
                return True
    return False


@inlined
def signed_multipliers(market, theta_set, seen, best, mu, mx, ms):
    """Multipliers of x and s with signs that are right for every solution better than `best`.

    Such an x (found now or later) lies within `reach` of y: this says which assets may sit on a
    bound.
    Returns (an asset that is surely inside its bounds or -1, what the bounds on x and r add).

    Args:
        market: The portfolio problem.
        theta_set: Where theta may lie.
        seen: What the proofs need of a decision.
        best: The value of the best update so far.
        mu: Multipliers of the rows.
        mx: Receives the multipliers of x.
        ms: Receives those of s.
    """
    u = market.caps
    y = seen.y
    off = seen.off
    n = y.size
    reach = np.sqrt((best - seen.eta * off * off * n) / seen.eta * (1.0 - 1.0 / n)) * (1.0 + PRUNE)
    inside = -1
    margin = 0.0
    total = 0.0
    gain = 0.0
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
        gain += mx[i] * ((0.0 if mu[i] > 0.0 else u[i]) - x) if mx[i] != 0.0 else 0.0
        mr = mu[2 * n + i]
        if mr != 0.0:
            bound = theta_set.lower[i] if mr > 0.0 else theta_set.upper[i]
            gain += mr * (bound - seen.theta[i])
    if inside >= 0:
        ms[inside] -= total  # the budget's multiplier is free: what it meets must sum to zero
    return inside, gain


@compiled
def proof_terms(market, theta_set, seen, best, mu, terms):
    """Turn one weight's multipliers into a lower bound for every other weight.

    Any multipliers with the right signs prove a bound, whatever weight they come from. Of the root
    of a neighbour they prove nearly as much as solving the root anew, and as a function of lam the
    proof is six numbers: see `proven_from`.

    Args:
        market: The portfolio problem.
        theta_set: Where theta may lie.
        seen: What the proofs need of a decision.
        best: The value of the best update so far.
        mu: Multipliers of the rows.
        terms: Receives the six numbers.
    """
    Q = market.covariance
    Pr = theta_set.projector
    eta = seen.eta
    off = seen.off
    n = seen.theta.size
    ms = np.zeros(n)
    mx = np.zeros(n)
    inside, lin_0 = signed_multipliers(market, theta_set, seen, best, mu, mx, ms)
    terms[0] = -np.inf
    if inside < 0:
        return
    lin_1 = 0.0
    mean_x = 0.0
    mean_s = 0.0
    qs = np.zeros(n)
    for i in range(n):
        lin_0 += ms[i] * seen.theta[i]
        lin_1 -= ms[i] * seen.qy[i]
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


@borrowing
def proven_from(terms, lam):
    """The lower bound that `proof_terms` gives for weight lam, its multipliers scaled at best."""
    gain = terms[0] + terms[1] / lam
    if not gain > 0.0:
        return 0.0
    cost = terms[2] + (terms[3] + terms[4] / lam) / lam
    return terms[5] + 0.5 * gain * gain / cost if cost > 0.0 else 0.0


@compiled
def observe(Q, theta, y, eta, qy):
    """What the proofs need of a decision; qy is written over.

    Args:
        Q: Covariance of the yearly returns.
        theta: The yearly expected returns now.
        y: An observed decision.
        eta: The learning rate.
        qy: Receives Q (y - off).
    """
    n = y.size
    off = 0.0
    for i in range(n):
        off += y[i]
    off = (off - 1.0) / n
    for i in range(n):
        qy[i] = 0.0
        for j in range(n):
            qy[i] += Q[i, j] * (y[j] - off)
    return Observation(theta, y, qy, off, eta)


@compiled
def portfolio_run(market, theta_set, settings, theta, Y, etas, root, out):
    """Algorithms 1 (full) and 2 over the decisions in Y; theta is changed in place.

    `root` holds the working set that the next root starts from: it belongs to the state of the
    learner, so that a stream gives the same digits in any chunking.
    Returns the number of rounds done: fewer than there are only if a trace gave up.

    Args:
        market: The portfolio problem.
        theta_set: Where theta may lie.
        settings: How a stream is learned from.
        theta: The parameters now.
        Y: The decisions, one in each row.
        etas: The rate of each round.
        root: The working set that the root starts from; receives the one it ends with.
        out: Receives what each round reports.
    """
    Q = market.covariance
    grid = settings.grid
    n = theta.size
    path = new_trace(8 * n + 16, n, market.levels.size)
    start = Start(market.least_variance, market.least_variance_state)
    other = new_root(3 * n + 1)
    theta_new = np.empty(n)
    x_new = np.empty(n)
    x_now = np.empty(n)
    qy = np.empty(n)
    proof = np.empty(6)
    nowhere = np.empty(0, np.int8)  # no region: there is an incumbent already
    c0 = np.zeros(n)
    low = grid[0]
    high = grid[grid.size - 1]
    for t in range(Y.shape[0]):
        y = Y[t]
        count = trace(Q, market.caps, c0, theta, start, high, path)
        if count < 0:
            return t
        k = -1
        if settings.exact:
            lam, seg, loss = nearest_on_trace(path, count, y, low, high)
        else:
            k, seg, loss = nearest_on_grid(path, count, grid, y)
            lam = grid[k]
        out.losses[t] = loss
        out.lams[t] = lam
        out.nodes[t] = 0
        out.gaps[t] = 0.0
        out.objectives[t] = 0.0
        out.thetas[t] = theta
        if loss <= ZERO_LOSS:
            continue
        point_at(path, seg, lam, x_now)
        nu = multiplier_at(Q, theta, x_now, path.states[seg], lam)
        best, bound, nodes, found = portfolio_update(
            market, theta_set, Step(theta, y, lam, etas[t], nu), path.states[seg], np.inf,
            settings.node_limit, root, theta_new, x_new,
        )  # fmt: skip
        if settings.full:
            seen = observe(Q, theta, y, etas[t], qy)
            for direction in (1, -1):
                other.size[0] = root.size[0]
                other.W[:] = root.W
                other.side[:] = root.side
                proof_terms(market, theta_set, seen, best, root.mu, proof)
                q = k + direction
                while 0 <= q < grid.size:
                    lam = grid[q]
                    q += direction
                    if proven_from(proof, lam) >= best or cannot_beat(
                        market, theta_set, seen, best, lam
                    ):
                        continue
                    seg = segment_of(path.lams, count, lam)
                    point_at(path, seg, lam, x_now)
                    nu = multiplier_at(Q, theta, x_now, path.states[seg], lam)
                    value, bound_k, nodes_k, improved = portfolio_update(
                        market, theta_set, Step(theta, y, lam, etas[t], nu), nowhere, best,
                        settings.node_limit, other, theta_new, x_new,
                    )  # fmt: skip
                    proof_terms(market, theta_set, seen, best, other.mu, proof)
                    if improved:
                        best = value
                        out.lams[t] = lam
                        found = True
                    nodes += nodes_k
                    bound = min(bound, bound_k)
        out.nodes[t] = nodes
        out.gaps[t] = max(0.0, best - bound)
        out.objectives[t] = best
        if found:
            theta[:] = theta_new
            out.thetas[t] = theta
    return Y.shape[0]
