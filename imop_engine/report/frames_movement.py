"""Beliefs over time as a table: the returns of each stretch of portfolios."""

from __future__ import annotations

import pandas as pd

from imop_engine.inference.movement import Movement, interval


def movement_frame(found: Movement, level: float = 0.95) -> pd.DataFrame:
    """asset, first, last, middle (portfolios), estimate, low, high: a row for each stretch.

    Args:
        found: beliefs over time.
        level: confidence of the intervals.
    """
    low, high = interval(found, level)
    rows = []
    for number, (first, last) in enumerate(zip(found.edges[:-1], found.edges[1:], strict=True)):
        for j, asset in enumerate(found.problem.names):
            if found.errors[number, j] > 0.0:
                rows.append(
                    {
                        "asset": asset,
                        "first": int(first) + 1,
                        "last": int(last),
                        "middle": 0.5 * (first + 1 + last),
                        "estimate": float(found.returns[number, j]),
                        "low": float(low[number, j]),
                        "high": float(high[number, j]),
                    }
                )
    columns = ["asset", "first", "last", "middle", "estimate", "low", "high"]
    return pd.DataFrame(rows, columns=columns)
