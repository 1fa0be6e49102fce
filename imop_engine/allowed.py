"""Which portfolios limits allow: bounds on each holding, and rows on what is held together.

A limit on one asset alone is a bound: it costs an algorithm nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from imop_engine.arguments import Vector, broadcast, vector
from imop_engine.errors import Infeasible, InvalidInput
from imop_engine.limits import LimitRows, LinearLimit, limit_rows, linear_limits

FILL: Final = 1e-9  # caps may miss a full budget by this much and still count as filling it exactly


def allowed(
    names: tuple[str, ...], lower: ArrayLike, upper: ArrayLike, limits: Iterable[LinearLimit]
) -> tuple[tuple[Vector, Vector], LimitRows]:
    """Bounds of each holding and the limits that are left.

    Args:
        names: the assets.
        lower: the least of each holding.
        upper: the most of each holding.
        limits: on what is held together.

    Returns:
        (lower, upper), and rows on more than one asset.

    Raises:
        Infeasible: the bounds alone allow no portfolio.
    """
    n = len(names)
    low, caps = broadcast(lower, n, "lower"), broadcast(upper, n, "upper")
    if not np.all(np.isfinite(low)):
        raise InvalidInput(
            "lower must be finite numbers: without a limit on what is sold short no portfolio has "
            "the most return. Give -1 to sell short up to the whole of one's wealth."
        )
    if np.any(caps < np.minimum(low, 0.0)) or (np.any(caps < 0) and not np.any(low < 0)):
        i = int(np.argmin(caps))
        raise InvalidInput(f"the cap of {names[i]} is {caps[i]:g}; caps must not be negative.")
    several: list[LinearLimit] = []
    for limit in limits:
        row = limit.row(names)
        held = np.flatnonzero(row)
        if held.size != 1:
            several.append(limit)
            continue
        i, value, turned = int(held[0]), limit.value / row[held[0]], row[held[0]] < 0
        if limit.relation == "=" or (limit.relation == ">=") != turned:
            low[i] = max(low[i], value)
        if limit.relation == "=" or (limit.relation == "<=") != turned:
            caps[i] = min(caps[i], value)
    # what the others hold at least is no more there for one: a cap above that is none
    room = 1.0 - (low.sum() - low)
    caps = np.minimum(caps, np.maximum(room, low) if low.any() else 1.0)
    if np.any(low > caps):
        i = int(np.argmax(low - caps))
        raise Infeasible(
            f"{names[i]} must be at least {low[i]:.6g} and at most {caps[i]:.6g} of a portfolio; "
            "lower its minimum, or raise its cap."
        )
    if low.sum() > 1.0 + FILL:
        raise Infeasible(
            f"the minimum holdings add up to {low.sum():.6g}, more than a portfolio; lower them "
            "until they add up to at most 1."
        )
    if caps.sum() < 1.0 - FILL:
        raise Infeasible(
            f"the caps add up to {caps.sum():.6g}, so no portfolio can be fully invested; "
            "raise `upper` until they add up to at least 1."
        )
    if caps.sum() < 1.0 and not low.any():
        caps = caps / caps.sum()
    return (low, caps), limit_rows(several, names)


def active(
    limits: Any, benchmark: ArrayLike | None, names: tuple[str, ...]
) -> tuple[LinearLimit, ...]:
    """Limits on holdings less a benchmark's, as limits on holdings.

    Args:
        limits: what `linear_limits` takes.
        benchmark: a portfolio over the assets; None where there are no such limits.
        names: the assets.
    """
    given = linear_limits(limits)
    if not given:
        return ()
    if benchmark is None:
        raise InvalidInput(
            "active_limits compare holdings with a benchmark, and there is none; give benchmark, "
            "one holding for each asset."
        )
    held = vector(benchmark, "benchmark")
    if held.size != len(names):
        raise InvalidInput(f"benchmark has {held.size} holdings for {len(names)} assets.")
    return tuple(
        replace(one, value=one.value + float(one.row(names) @ held), name=one.name) for one in given
    )
