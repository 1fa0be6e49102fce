"""The part of the report on limits: which were given, where each binds, what each costs."""

from __future__ import annotations

from typing import Any

from imop_engine.limit_prices import LimitPrices
from imop_engine.report.html_table import Column, table_of
from imop_engine.report.svg import svg
from imop_engine.sentences.limits import binds_cell
from imop_engine.sentences.numbers import points_cell


def limit_values(prices: LimitPrices | None) -> dict[str, Any] | None:
    """What the template names; None where nothing was limited.

    Args:
        prices: of a study.
    """
    if prices is None:
        return None
    from imop_engine.report.charts_limits import (
        limit_binding_chart,
        limit_frontier_chart,
        limit_price_chart,
    )
    from imop_engine.report.frames_limits import binding_stretches, limit_curves, price_lines

    frame = prices.table()
    frame["binding"] = [
        binds_cell(low, high)
        for low, high in zip(frame["risk_from"], frame["risk_to"], strict=True)
    ]
    for name in ("mean_price", "greatest_price"):
        frame[name] = 1e4 * frame[name]
    columns = [
        Column("limit", "limit", str, numeric=False),
        Column("binding", "binds at risk", str),
        Column("mean_price", "mean cost, basis points", points_cell),
        Column("greatest_price", "greatest", points_cell),
    ]
    lines, stretches = price_lines(prices), binding_stretches(prices)
    drawings = [
        svg(
            limit_frontier_chart(limit_curves(prices)),
            "limit-frontier",
            "Efficient frontier with and without limits",
        )
    ]
    if not lines.empty:
        label = "What each limit costs along the frontier"
        drawings.append(svg(limit_price_chart(lines), "limit-prices", label))
    if not stretches.empty:
        label = "Where along the frontier each limit binds"
        drawings.append(svg(limit_binding_chart(stretches), "limit-binding", label))
    return {"table": table_of(frame, columns), "drawings": drawings}
