"""Slow, obvious twins of the moments of a history with missing returns.

Written from the objective in the head of `missing_returns`, not from its code: one period after
the other, one matrix inverse each.
"""

import numpy as np


def naive_objective(values, mean, covariance, extra, variances):
    """The penalised likelihood of a mean and a covariance, constants of the normal density out."""
    total = 0.0
    for row in values:
        seen = np.isfinite(row)
        if seen.any():
            own = covariance[np.ix_(seen, seen)]
            away = row[seen] - mean[seen]
            total -= 0.5 * (np.linalg.slogdet(own)[1] + away @ np.linalg.solve(own, away))
    size = np.linalg.slogdet(covariance)[1]
    pull = size + np.trace(np.linalg.solve(covariance, np.diag(variances)))
    return total + 0.5 * size - 0.5 * extra * pull


def naive_em(values, extra, variances, steps=20_000, tolerance=1e-12):
    """EM as a textbook has it: fill every missing return by what the others let expect."""
    values = values[np.isfinite(values).any(axis=1)]
    periods, count = values.shape
    mean, covariance = np.nanmean(values, axis=0), np.diag(variances)
    for _ in range(steps):
        filled, spread = values.copy(), np.zeros((count, count))
        for row in filled:
            gone = ~np.isfinite(row)
            if gone.any():
                seen = ~gone
                own = covariance[np.ix_(seen, seen)]
                slopes = np.linalg.solve(own, covariance[np.ix_(seen, gone)]).T
                row[gone] = mean[gone] + slopes @ (row[seen] - mean[seen])
                left = covariance[np.ix_(gone, gone)] - slopes @ covariance[np.ix_(seen, gone)]
                spread[np.ix_(gone, gone)] += left
        before = np.r_[mean, covariance.ravel()]
        mean = filled.mean(axis=0)
        scatter = (filled - mean).T @ (filled - mean) + spread
        covariance = (scatter + extra * np.diag(variances)) / (periods - 1 + extra)
        if np.abs(np.r_[mean, covariance.ravel()] - before).max() < tolerance:
            break
    return mean, covariance


def naive_chain(values, extra, variances):
    """Histories that only begin late, the longest first: each asset on all those before it."""
    count = values.shape[1]
    mean, covariance = np.zeros(count), np.zeros((count, count))
    for j in range(count):
        rows = values[np.isfinite(values[:, j])]
        x, y = rows[:, :j], rows[:, j]
        away = x - x.mean(axis=0)
        gram = away.T @ away + extra * np.diag(variances[:j])
        slope = np.linalg.solve(gram, away.T @ (y - y.mean())) if j else np.zeros(0)
        rest = y - y.mean() - away @ slope
        penalty = extra * (variances[j] + slope @ np.diag(variances[:j]) @ slope)
        own = (rest @ rest + penalty) / (len(rows) - 1 + extra)
        mean[j] = y.mean() + slope @ (mean[:j] - x.mean(axis=0))
        covariance[j, :j] = covariance[:j, j] = covariance[:j, :j] @ slope
        covariance[j, j] = own + slope @ covariance[:j, :j] @ slope
    return mean, covariance
