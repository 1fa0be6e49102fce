"""The efficient portfolio at the risk of another, its twin, on a traced frontier; sums over many.

Letters are those of `nouns`; s is the variance y'Qy of a portfolio, t = lam - lams[k] the step on
stretch k, M the response of the free holdings: dx = lam M dr at a fixed price of risk 1 / lam.
"""

from typing import NamedTuple

import numpy as np

from imop_engine.compiling import compiled, inlined
from imop_engine.kernels.constants import FREE, LOWER
from imop_engine.kernels.nouns import Cases, Floats
from imop_engine.kernels.products import dot
from imop_engine.kernels.tight_rows import take_rows_out

NO_RISK = 1e-15  # a direction with less than this share of an asset's variance is no new one


class Stretches(NamedTuple):
    """A traced frontier with its variance: on stretch k it is V + 2 b t + c t^2."""

    lams: Floats
    xs: Floats
    ds: Floats
    states: Cases
    tight: Cases
    V: Floats
    b: Floats
    c: Floats


@inlined
def variance(Q, x):
    """x'Qx."""
    total = 0.0
    for i in range(x.size):
        if x[i] != 0.0:
            total += x[i] * dot(Q[i], x, x.size)
    return total


@compiled
def variances(Q, Y, out):
    """The variance of each row of Y.

    Args:
        Q: covariance.
        Y: portfolios, one in each row.
        out: receives the variances.
    """
    for t in range(Y.shape[0]):
        out[t] = variance(Q, Y[t])


@compiled
def put_inside(Y, u, moved):
    """Replace each row by the nearest portfolio within the caps, and say how far it was.

    Rows that are portfolios already, up to rounding, stay as they are to the last digit.

    Args:
        Y: portfolios, one in each row; changed in place.
        u: caps.
        moved: receives the distances.
    """
    n = Y.shape[1]
    for t in range(Y.shape[0]):
        y = Y[t]
        total = 0.0
        good = True
        for i in range(n):
            total += y[i]
            good &= y[i] >= -1e-12 and y[i] <= u[i] + 1e-12
        moved[t] = 0.0
        if good and abs(total - 1.0) <= 1e-9:
            continue
        # sum of clip(y - shift, 0, u) falls in shift: find where it is one
        low = -1.0
        high = 1.0
        for i in range(n):
            low = min(low, y[i] - 1.0)
            high = max(high, y[i])
        for _ in range(200):
            shift = 0.5 * (low + high)
            filled = 0.0
            for i in range(n):
                filled += min(max(y[i] - shift, 0.0), u[i])
            if filled > 1.0:
                low = shift
            else:
                high = shift
            if high - low <= 1e-16 * (1.0 + abs(high)):
                break
        total = 0.0
        inner = 0
        for i in range(n):
            x = min(max(y[i] - high, 0.0), u[i])
            total += x
            inner += 1 if 0.0 < x < u[i] else 0
        distance = 0.0
        for i in range(n):
            x = min(max(y[i] - high, 0.0), u[i])
            if 0.0 < x < u[i]:
                x += (1.0 - total) / inner
            distance += (x - y[i]) ** 2
            y[i] = x
        moved[t] = np.sqrt(distance)


@compiled
def measure_risk(Q, count, stretches):
    """Fill in V, b and c of the first `count` stretches.

    Args:
        Q: covariance.
        count: number of stretches.
        stretches: its V, b and c are filled.
    """
    xs, ds = stretches.xs, stretches.ds
    V, b, c = stretches.V, stretches.b, stretches.c
    n = Q.shape[0]
    qx = np.empty(n)
    qd = np.empty(n)
    for k in range(count):
        qx[:] = 0.0
        qd[:] = 0.0
        for j in range(n):
            x = xs[k, j]
            d = ds[k, j]
            if x != 0.0 or d != 0.0:
                for i in range(n):
                    qx[i] += x * Q[j, i]
                    qd[i] += d * Q[j, i]
        V[k] = dot(xs[k], qx, n)
        b[k] = dot(ds[k], qx, n)
        c[k] = dot(ds[k], qd, n)
        if k > 0:
            V[k] = max(V[k], V[k - 1])  # by rounding alone it may seem to fall


@inlined
def step_to(rest, b, c, longest):
    """t >= 0 with 2 b t + c t^2 = rest, at most `longest`."""
    if not c > 0.0:
        return 0.0
    below = b + np.sqrt(b * b + c * rest)
    return min(rest / below, longest) if below > 0.0 else 0.0


@compiled
def twins(count, stretches, most, s, lam_out, X):
    """The efficient portfolio at each variance in s.

    Below the least variance it is the portfolio of least variance, beyond the end of the frontier
    its end, with lam = inf. Where stretches share one variance the last one counts: it has the most
    return. `most` is where the trace stopped.

    Args:
        count: number of stretches.
        stretches: the traced frontier.
        most: where the trace stopped, in lam.
        s: variances.
        lam_out: receives lam of each.
        X: receives the portfolios.
    """
    lams, xs, ds = stretches.lams, stretches.xs, stretches.ds
    V, b, c = stretches.V, stretches.b, stretches.c
    for t in range(s.size):
        k = np.searchsorted(V[:count], s[t], side="right") - 1
        lam = 0.0
        step = 0.0
        if k < 0:
            k = 0
        else:
            room = (lams[k + 1] if k + 1 < count else most) - lams[k]
            step = step_to(s[t] - V[k], b[k], c[k], room)
            lam = lams[k] + step
            if k + 1 == count and not c[k] > 0.0:
                lam = np.inf
        lam_out[t] = lam
        for i in range(X.shape[1]):
            X[t, i] = xs[k, i] + step * ds[k, i]


@compiled
def add_up(count, stretches, most, s, weights, by_stretch):
    """Add what investors with variances s (ascending) sum to on each stretch.

    Row 0 of by_stretch counts them, 1 sums their steps t, 2 and 3 sum lam of those on their own
    risk and of those stopped by `most`, the inverse of the least price of risk, 4 sums variances.

    Args:
        count: number of stretches.
        stretches: the traced frontier.
        most: the largest lam.
        s: variances, ascending.
        weights: how many investors each stands for; one number where all stand for as many.
        by_stretch: the sums; added to.
    """
    lams = stretches.lams
    V, b, c = stretches.V, stretches.b, stretches.c
    first = 0
    alike = weights.size == 1
    for k in range(count):
        last = s.size
        if k + 1 < count:
            last = np.searchsorted(s, V[k + 1], side="left")
        longest = (lams[k + 1] if k + 1 < count else most) - lams[k]
        for t in range(first, last):
            rest = max(0.0, s[t] - V[k])
            step = step_to(rest, b[k], c[k], longest)
            stopped = k + 1 == count and c[k] > 0.0 and step >= longest
            many = weights[0 if alike else t]
            by_stretch[0, k] += many
            by_stretch[1, k] += many * step
            by_stretch[3 if stopped else 2, k] += many * (lams[k] + step)
            by_stretch[4, k] += many * (V[k] + step * (2.0 * b[k] + step * c[k]))
        first = max(first, last)


@compiled
def curvature(Q, rows, r, count, stretches, by_stretch, H):
    """H, the second derivative of the summed gaps: lam (M - Mr r'M / r'Mr) for each investor.

    M changes by one outer product from stretch to stretch where one asset enters or leaves, and is
    made anew where more do.

    Args:
        Q: covariance.
        rows: coefficients of all rows, the budget first.
        r: expected returns.
        count: number of stretches.
        stretches: the traced frontier.
        by_stretch: the sums of `add_up`.
        H: receives the derivative.
    """
    ds, states = stretches.ds, stretches.states
    n = r.size
    M = np.zeros((n, n))
    v = np.empty(n)
    now = np.full(n, LOWER, np.int8)
    within = M  # M but for the rows that hold
    every = np.arange(n)
    H[:] = 0.0
    for k in range(count):
        for i in range(n):
            if now[i] == FREE and states[k, i] != FREE:
                drop_free(M, i, v)
        for i in range(n):
            if now[i] != FREE and states[k, i] == FREE:
                add_free(Q, M, now, i, v)
                now[i] = FREE
            now[i] = states[k, i]
        own = by_stretch[2, k]
        total = own + by_stretch[3, k]
        along = 0.0
        for i in range(n):
            along += r[i] * ds[k, i]
        if total == 0.0:
            continue
        if rows.shape[0] > 1:
            within = M.copy()
            take_rows_out(within, every, n, rows, stretches.tight[k])
        for i in range(n):
            if states[k, i] == FREE:
                pull = own * ds[k, i] / along if along > 0.0 else 0.0
                for j in range(n):  # M and ds are zero where an asset is not free
                    H[i, j] += total * within[i, j] - pull * ds[k, j]


@compiled
def drop_free(M, i, v):
    """Take asset i out of the response M.

    Args:
        M: the response; changed in place.
        i: number of the asset.
        v: room for one row.
    """
    n = v.size
    size = M[i, i]
    if size > 0.0:
        v[:] = M[i]
        for a in range(n):
            if v[a] != 0.0:
                share = v[a] / size
                for b in range(n):
                    M[a, b] -= share * v[b]
    M[i, :] = 0.0
    M[:, i] = 0.0


@compiled
def add_free(Q, M, now, i, v):
    """Let asset i into the response M; `now` has the assets that are free before it.

    Args:
        Q: covariance.
        M: the response; changed in place.
        now: state of each asset.
        i: number of the asset.
        v: room for one row.
    """
    n = v.size
    other = -1
    for j in range(n):
        if now[j] == FREE and j != i:
            other = j
    if other < 0:
        return
    # the new direction, from `other` to i, made orthogonal to the old ones in the metric of Q
    for a in range(n):
        v[a] = 0.0
    for b in range(n):
        if now[b] == FREE:
            difference = Q[b, i] - Q[b, other]
            for a in range(n):
                v[a] -= difference * M[b, a]
    v[i] += 1.0
    v[other] -= 1.0
    size = variance(Q, v)
    if size > NO_RISK * Q[i, i]:
        for a in range(n):
            if v[a] != 0.0:
                share = v[a] / size
                for b in range(n):
                    M[a, b] += share * v[b]
