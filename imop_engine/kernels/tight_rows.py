"""What rows that hold take out of the response of holdings to returns."""

import numpy as np

from imop_engine.compiling import borrowing, compiled

NOTHING = 1e-12  # what is left of a row by the rows before it, as a share of what it was


@compiled
def take_rows_out(M, free, m, rows, tight):
    """Keep the rows that hold where they are: M becomes M - M c c'M / c'Mc for one after another.

    M, which keeps the budget already, is the response of the first m free assets. Returns how many
    rows said something new.

    Args:
        M: response of the free assets; changed in place.
        free: their numbers.
        m: how many they are.
        rows: coefficients of all rows, the budget first.
        tight: whether each row holds.
    """
    taken = 0
    top = 0.0
    moved = np.empty(m)
    for a in range(m):
        top = max(top, M[a, a])
    for j in range(1, tight.size):
        if tight[j] == 0:
            continue
        squares = row_response(M, free, m, rows[j], moved)
        size = 0.0
        for a in range(m):
            size += moved[a] * rows[j, free[a]]
        if size <= NOTHING * top * squares:
            continue
        taken += 1
        for a in range(m):
            for b in range(m):
                M[a, b] -= moved[a] * moved[b] / size
    return taken


@borrowing
def row_response(M, free, m, row, out):
    """out = M c for a row c over the free assets; returns c'c.

    Args:
        M: response of the free assets.
        free: their numbers.
        m: how many they are.
        row: coefficients over all assets.
        out: receives the product.
    """
    squares = 0.0
    for a in range(m):
        squares += row[free[a]] ** 2
        out[a] = 0.0
        for b in range(m):
            out[a] += M[a, b] * row[free[b]]
    return squares
