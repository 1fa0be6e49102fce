"""The second-order learner of a portfolio problem: steps in the metric of the information.

Letters are those of `nouns`; H is the information matrix, g the gradient, d a step, Pr the
projector of theta's plane, M the response of the free assets to their returns.
"""

import numpy as np

from imop_engine.compiling import borrowing, compiled, inlined
from imop_engine.kernels.constants import DEPENDENT, FREE, LOWER
from imop_engine.kernels.critical_line import (
    cholesky_solve,
    factor_free,
    nearest_on_trace,
    new_trace,
    trace,
)
from imop_engine.kernels.nearest import nearest_by_posts, place_signposts
from imop_engine.kernels.nouns import PortfolioSettings, Response, RoundsOut, Start
from imop_engine.kernels.portfolio import portfolio_run
from imop_engine.kernels.products import LONG, dot
from imop_engine.kernels.tight_rows import take_rows_out

SEARCHING = 20  # rounds of Algorithm 1 at first
SETTLING = 40  # rounds of Algorithm 2 after them
MOST_OPENINGS = 3  # a frontier that explains little may be all there is: then go on with it
POOR = 0.1  # share of the spread of decisions that may stay unexplained after an opening
EARLY_TRUST = 0.25  # information collected while settling counts this much: beliefs still moved
CLEARLY_HELD = 0.01  # a holding that wakes an asset, and at least four standard deviations of noise
LONGEST_STEP = 0.5  # of one step, as a share of the spread of the returns
LEAST_INFORMATION = 1e-9  # given to directions that no decision says anything of, of the mean
ALARM = 3.0  # where it forgets: recent misses this many times their usual size open it again
WORTH_ALARM = 0.003  # unless they are as small as this
AGE, OPENINGS, HALVED, LEFT, FREEDOM, MISSED, AT_END, SQUARES, LATELY = range(9)  # its memory


@compiled
def respond(Q, state, tight, room):
    """room.M with dx_F = lam M dr_F on the region `state`; F in room.free, its size returned.

    Args:
        Q: Covariance of the yearly returns.
        state: LOWER, FREE or UPPER of each asset.
        tight: Whether each row holds; row 0, the budget, does.
        room: Scratch; receives the free assets and the response.
    """
    L = room.L
    M = room.M
    nf = factor_free(Q, L, room.free, state)
    w = np.ones(nf)
    cholesky_solve(L, nf, w)
    total = 0.0
    for a in range(nf):
        total += w[a]
    column = np.empty(nf)
    for b in range(nf):
        column[:] = 0.0
        column[b] = 1.0
        cholesky_solve(L, nf, column)
        for a in range(nf):
            M[a, b] = column[a] - w[a] * w[b] / total
    if tight.size > 1:
        take_rows_out(M, room.free, nf, room.rows, tight)
    return nf


@compiled
def information_of(Q, state, tight, s, lam, e, room, H, g):
    """What one decision says about r, her own weight projected out.

    With s = dx/dlam, J = dx/dr = lam M and Pi = I - ss'/s's: adds J' Pi J to H, puts J' Pi e in g.
    Returns the squares that are left of e, and their degrees of freedom: the held assets less one
    for the budget and one for the weight.

    Args:
        Q: Covariance of the yearly returns.
        state: LOWER, FREE or UPPER of each asset.
        tight: Whether each row holds; row 0, the budget, does.
        s: dx/dlam of the piece.
        lam: w / (2 (1 - w)) of the weight w on return.
        e: Held minus explained.
        room: Scratch, written over.
        H: The information; it is added to.
        g: Receives the score.
    """
    free = room.free
    M = room.M
    g[:] = 0.0
    nf = respond(Q, state, tight, room)
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
            if nf >= LONG:  # M is symmetric but for rounding
                t = dot(M[a], M[b], nf)
            else:
                for c in range(nf):
                    t += M[a, c] * M[c, b]
            if ss > 0.0:
                t -= ms[a] * ms[b] / ss
            H[free[a], free[b]] += lam * lam * t
            if a != b:
                H[free[b], free[a]] += lam * lam * t
    return left, nf - 2 if ss > 0.0 else nf - 1


@compiled
def information_of_all(Q, rows, path, Y, low, high, H, g):
    """`information_of` for every row of Y, summed; also the loss of them all.

    The path fills its arrays. Decisions on one piece of the frontier share their response, so each
    piece is worked out once. Returns (loss, squares left, degrees of freedom).

    Args:
        Q: Covariance of the yearly returns.
        rows: Coefficients of all rows, the budget first.
        path: The frontier piece by piece.
        Y: The decisions, one in each row.
        low: The least lam.
        high: The greatest lam.
        H: Receives the information.
        g: Receives the score.
    """
    lams = path.lams
    xs = path.xs
    ds = path.ds
    n = Q.shape[0]
    count = lams.size
    room = Response(np.empty(n, np.int64), np.zeros((n, n)), np.empty((n, n)), rows)
    one = np.empty(n)
    fresh = np.empty((n, n))
    number = np.zeros(count, np.int64)
    lam_squares = np.zeros(count)
    lam_misses = np.zeros((count, n))
    left = 0.0
    total = 0.0
    posts = place_signposts(path, high)
    for t in range(Y.shape[0]):
        lam, seg, loss = nearest_by_posts(path, posts, Y[t], low, high)
        total += loss
        number[seg] += 1
        lam_squares[seg] += lam * lam
        ss = 0.0
        se = 0.0
        ee = 0.0
        for i in range(n):
            e = Y[t, i] - xs[seg, i] - (lam - lams[seg]) * ds[seg, i]
            lam_misses[seg, i] += lam * e
            if path.states[seg, i] == FREE:
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
            _, dof = information_of(
                Q, path.states[c], path.tight[c], ds[c], 1.0, lam_misses[c], room, fresh, one
            )
            freedom += dof * number[c]
            for i in range(n):
                g[i] += one[i]
                for j in range(n):
                    H[i, j] += lam_squares[c] * fresh[i, j]
    return total, left, freedom


@borrowing
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
def metric_step(theta_set, theta, H, g, d):
    """d = argmin 1/2 d'Hd - g'd over the plane of the anchors, not leaving the box.

    An asset that sits on its box's side and wants out is held there: the plane loses a direction.
    What H does not see moves by next to nothing: LEAST_INFORMATION times the mean information
    stands in for the information there.

    Args:
        theta_set: Where theta may lie.
        theta: The parameters now.
        H: The information.
        g: The score.
        d: Receives the step.
    """
    lo = theta_set.lower
    hi = theta_set.upper
    n = g.size
    mean = 0.0
    for i in range(n):
        mean += H[i, i] / n
    d[:] = 0.0
    if not mean > 0.0:
        return
    A = np.empty((n, n))
    P = theta_set.projector.copy()
    step = np.empty(n)
    again = True
    while again:
        reduced_metric(H, P, mean, A)
        for i in range(n):
            step[i] = 0.0
            for c in range(n):
                step[i] += P[i, c] * g[c]
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
                hold(P, i)
            elif outward:
                d[i] = 0.0


@compiled
def reduced_metric(H, P, mean, A):
    """P H P in the lower triangle of A; the plane's complement gets the mean: A is regular."""
    n = H.shape[0]
    HP = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            t = 0.0
            for c in range(n):
                t += H[i, c] * P[c, j]
            HP[i, j] = t
    for i in range(n):
        for j in range(i + 1):
            t = -mean * P[i, j]
            for c in range(n):
                t += P[i, c] * HP[c, j]
            A[i, j] = t
        A[i, i] += mean * (1.0 + LEAST_INFORMATION)


@compiled
def hold(P, i):
    """Take coordinate i out of the plane of projector P."""
    n = P.shape[0]
    size = P[i, i]
    column = P[:, i].copy()
    for a in range(n):
        for b in range(n):
            P[a, b] -= column[a] * column[b] / size
    P[i, :] = 0.0
    P[:, i] = 0.0


@borrowing
def move(theta_set, theta, d):
    """Add d, in the plane of the anchors, to theta: shortened so that it stays in its box.

    Args:
        theta_set: Where theta may lie.
        theta: The parameters now; they are moved.
        d: The step; it is written over.
    """
    lo = theta_set.lower
    hi = theta_set.upper
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
        t = theta_set.offset[i]
        for j in range(n):
            t += theta_set.projector[i, j] * d[j]
        theta[i] = min(max(t, lo[i]), hi[i])


# -- the rounds ----------------------------------------------------------------------------------
@compiled
def forget_all(state):
    """Empty what was collected."""
    state.memory[:] = 0.0
    state.H[:] = 0.0
    state.recent[:] = 0.0
    state.sums[:] = 0.0


@inlined
def collect_early(state, y, fresh, loss, at_end, left, freedom):
    """What a round after the search adds: beliefs still move, so it counts for less.

    Args:
        state: What the learner carries from round to round.
        y: An observed decision.
        fresh: The information of this round alone.
        loss: Squared distance of this round's decision to the frontier.
        at_end: Whether the weight sits at an end of the scale.
        left: Squares that the weight does not explain.
        freedom: Their degrees of freedom.
    """
    memory = state.memory
    n = y.size
    for i in range(n):
        state.sums[i] += y[i]
        memory[SQUARES] += y[i] * y[i]
        for j in range(n):
            state.H[i, j] += EARLY_TRUST * fresh[i, j]
            state.recent[i, j] += fresh[i, j]
    memory[MISSED] += loss
    memory[AT_END] += 1.0 if at_end else 0.0
    memory[LEFT] = 0.9 * memory[LEFT] + left  # early misses are errors, not noise
    memory[FREEDOM] = 0.9 * memory[FREEDOM] + freedom


@compiled
def end_opening(state, theta, flat):
    """Start the opening once more, from `flat`, if the frontier explains too little.

    Args:
        state: What the learner carries from round to round.
        theta: The parameters now.
        flat: Returns as alike as the anchors allow.
    """
    memory = state.memory
    spread = memory[SQUARES]
    for i in range(theta.size):
        spread -= state.sums[i] * state.sums[i] / SETTLING
    poor = memory[MISSED] > POOR * spread or memory[AT_END] > 0.5 * SETTLING
    if poor and memory[OPENINGS] + 1.0 < MOST_OPENINGS:
        opened = memory[OPENINGS] + 1.0
        forget_all(state)
        memory[OPENINGS] = opened
        theta[:] = flat
    memory[HALVED] = memory[AGE]


@inlined
def held_but_never_efficient(path, count, y, noise, woken):
    """Mark with 1 the assets that y clearly holds and no piece of the frontier does; any?

    Args:
        path: The frontier piece by piece.
        count: How many pieces of the path are filled.
        y: An observed decision.
        noise: Standard deviation of the error in a holding.
        woken: Receives the marks.
    """
    found = False
    for i in range(y.size):
        efficient = False
        for c in range(count):
            efficient |= path.states[c, i] != LOWER
        woken[i] = 0.0 if efficient or y[i] <= max(CLEARLY_HELD, 4.0 * noise) else 1.0
        found |= woken[i] > 0.0
    return found


@compiled
def collect(state, fresh, left, freedom, forgetting, noise):
    """What a round after the opening adds. True: beliefs have changed, and all was forgotten.

    Args:
        state: What the learner carries from round to round.
        fresh: The information of this round alone.
        left: Squares that the weight does not explain.
        freedom: Their degrees of freedom.
        forgetting: What remains of the information after a round, at most 1.
        noise: Standard deviation of the error in a holding.
    """
    memory = state.memory
    H = state.H
    recent = state.recent
    n = H.shape[0]
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
        forget_all(state)
        return True
    memory[LEFT] = forgetting * memory[LEFT] + left
    memory[FREEDOM] = forgetting * memory[FREEDOM] + freedom
    return False


@compiled
def newton_run(market, theta_set, settings, theta, Y, etas, root, state, out):
    """The second-order learner over the decisions in Y; theta and its whole state change in place.

    Opening, with the rates in settings.opening: SEARCHING rounds of Algorithm 1 find the right
    regions whatever the start; SETTLING rounds of Algorithm 2 with exact weights come close, and
    collect the first information. If the frontier then explains too little, or most weights sit at
    an end (returns all alike, or far too large), the opening starts once more, from settings.flat.
    After it, steps in the metric of the information H. `recent` is its younger half and takes its
    place whenever the age doubles: what was learned at early beliefs is not kept. An asset that no
    point of the frontier holds has no information: if somebody clearly holds it, the implicit
    update says how far to raise it. With forgetting below 1, misses that suddenly grow mean that
    beliefs have changed: the opening starts again where theta is.

    Returns the number of rounds done: fewer than there are only if a trace gave up.

    Args:
        market: The portfolio problem.
        theta_set: Where theta may lie.
        settings: How a stream is learned from.
        theta: The parameters now.
        Y: The decisions, one in each row.
        etas: The rate of each round.
        root: The working set that the root starts from; receives the one it ends with.
        state: What the learner carries from round to round.
        out: Receives what each round reports.
    """
    Q = market.covariance
    grid = settings.grid
    memory = state.memory
    n = theta.size
    path = new_trace(8 * n + 16, n, market.levels.size)
    start = Start(market.least_variance, market.least_variance_state)
    room = Response(
        np.empty(n, np.int64), np.zeros((n, n)), np.empty((n, n)), market.rows
    )  # fmt: skip
    fresh = np.empty((n, n))
    g = np.empty(n)
    d = np.empty(n)
    e = np.empty(n)
    woken = np.empty(n)
    c0 = np.zeros(n)
    even = np.zeros((n, n))
    for i in range(n):
        even[i, i] = 1.0
    low = grid[0]
    high = grid[grid.size - 1]
    ends = np.empty(2)
    ends[0] = low
    ends[1] = high
    for t in range(Y.shape[0]):
        y = Y[t]
        one = slice(t, t + 1)
        out.nodes[t] = 0
        out.gaps[t] = 0.0
        out.objectives[t] = 0.0
        count = trace(Q, market.caps, c0, theta, start, high, path)
        if count < 0:
            return t
        lam, seg, loss = nearest_on_trace(path, count, y, low, high)
        age = int(memory[AGE])
        memory[AGE] += 1.0
        searching = age < SEARCHING
        opening = age < SEARCHING + SETTLING
        noise = np.sqrt(memory[LEFT] / memory[FREEDOM]) if memory[FREEDOM] > 0.0 else 0.0
        left = 0.0
        freedom = 0
        if not searching:
            for i in range(n):
                e[i] = y[i] - path.xs[seg, i] - (lam - path.lams[seg]) * path.ds[seg, i]
            fresh[:] = 0.0
            left, freedom = information_of(
                Q, path.states[seg], path.tight[seg], path.ds[seg], lam, e, room, fresh, g
            )
        if opening and not searching:
            at_end = lam <= 1.01 * low or lam >= 0.99 * high
            collect_early(state, y, fresh, loss, at_end, left, freedom)
        wakes = not opening and held_but_never_efficient(path, count, y, noise, woken)
        if opening or wakes:
            d[:] = theta
            done = portfolio_run(
                market, theta_set,
                PortfolioSettings(
                    grid if searching else ends, not searching, searching, settings.node_limit
                ),
                d, Y[one], settings.opening[age : age + 1] if opening else etas[one], root,
                RoundsOut(
                    out.losses[one], out.lams[one], out.nodes[one], out.gaps[one],
                    out.objectives[one], out.thetas[one],
                ),
            )  # fmt: skip
            if opening and done < 1:
                return t
        out.losses[t] = loss
        out.lams[t] = lam
        if opening:
            theta[:] = d
            if memory[AGE] == SEARCHING + SETTLING:
                end_opening(state, theta, settings.flat)
            out.thetas[t] = theta
            continue
        if wakes:
            for i in range(n):
                e[i] = (d[i] - theta[i]) * woken[i]
            metric_step(theta_set, theta, even, e, d)
        elif collect(state, fresh, left, freedom, settings.forgetting, noise):
            out.thetas[t] = theta
            continue
        else:
            metric_step(theta_set, theta, state.H, g, d)
        move(theta_set, theta, d)
        out.thetas[t] = theta
    return Y.shape[0]
