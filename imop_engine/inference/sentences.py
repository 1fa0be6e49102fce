"""What is known of a return, as a sentence that an analyst can read and quote."""

from __future__ import annotations

from typing import Final

import numpy as np

from imop_engine.arguments import Matrix, Vector
from imop_engine.gauge import Gauge

MOST_NAMED: Final = 4  # assets in the description of a direction
SMALL_PART: Final = 0.05  # a share of the largest entry that is not worth a word


def percent(value: float) -> str:
    """A return with two digits after the point, more where it is small.

    >>> percent(0.0731), percent(0.00002)
    ('7.31 %', '0.002 %')
    """
    size = abs(100.0 * value)
    digits = 2 if size >= 0.1 or size == 0.0 else int(np.ceil(-np.log10(size)))
    return f"{100.0 * value:.{min(digits, 8)}f} %"


def between(low: float, high: float) -> str:
    """Both ends of an interval, with digits enough to tell them apart.

    >>> between(0.0731, 0.0944), between(0.179098, 0.179104)
    ('between 7.31 % and 9.44 %', 'between 17.9098 % and 17.9104 %')
    """
    width = 100.0 * (high - low)
    digits = max(2, min(8, int(np.ceil(-np.log10(width))))) if width > 0.0 else 2
    return f"between {100.0 * low:.{digits}f} % and {100.0 * high:.{digits}f} %"


def asset_sentence(
    name: str,
    status: str,
    estimate: float,
    low: float,
    high: float,
    investors: int,
    total: int,
    level: float,
    holders: int,
    dead: bool,
    gauge: Gauge,
) -> str:
    """What is known of one asset."""
    does = "does" if holders == 1 else "do"
    few = f" ({holders} {does} hold it, too few to go by)" if holders else ""
    sure = f"{100.0 * level:g} %"
    if status == "anchored":
        unfit = f"; {holders} of {total} investors hold it, and the estimate explains none of that"
        return f"{name} returns {percent(estimate)}, because an anchor says so{unfit * dead}."
    if status == "identified":
        return (
            f"{name} returns {percent(estimate)}, {between(low, high)} with "
            f"{sure} confidence; {investors} of {total} investors inform about it."
        )
    if status == "relative":
        open_ = gauge.undetermined or "scale"
        return (
            f"{name} is known only against the other assets, because the {open_} of the returns is "
            f"open: at that of this estimate it returns {percent(estimate)}, {between(low, high)} "
            f"with {sure} confidence; {investors} of {total} investors inform about it."
        )
    if status == "bounded above":
        return (
            f"{name} returns at most {percent(high)}: {investors} of {total} investors do not hold "
            f"it, and would if it returned more{few}. The portfolios say no more than that."
        )
    if status == "bounded below":
        return (
            f"{name} returns at least {percent(low)}: {investors} of {total} investors hold it at "
            f"its cap{few}. The portfolios say no more than that."
        )
    if status == "bounded":
        return (
            f"{name} returns between {percent(low)} and {percent(high)}: some of {total} investors "
            "hold it at its cap, the others not at all."
        )
    if dead:
        return (
            f"The portfolios say nothing of {name} yet: {holders} of {total} investors hold it, "
            f"and the estimate of {percent(estimate)} explains none of that. Start from the "
            "history, or learn at a higher rate."
        )
    return (
        f"The portfolios say nothing of {name}: it may return anything between {percent(low)} and "
        f"{percent(high)}."
    )


def direction_sentences(
    directions: Matrix, names: tuple[str, ...], returns: Vector
) -> tuple[str, ...]:
    """Each direction that no portfolio sees, in words; what reads the same is said once."""
    return tuple(dict.fromkeys(direction_sentence(row, names, returns) for row in directions))


def direction_sentence(direction: Vector, names: tuple[str, ...], returns: Vector) -> str:
    """A direction in the space of returns that no portfolio sees, in words."""
    held = np.abs(direction) > 1e-9
    one, own = direction[held], returns[held]
    basis = np.column_stack([np.ones(len(one)), own])
    mix, *_ = np.linalg.lstsq(basis, one, rcond=None)
    if len(one) > 2 and np.linalg.norm(basis @ mix - one) <= 1e-6:
        return (
            f"Nobody can tell a shift or a scale of {_listed(names, np.abs(direction))} from "
            "these portfolios and anchors."
        )
    size = float(np.abs(direction).max())
    order = np.argsort(-np.abs(direction), kind="stable")
    parts = [i for i in order[:MOST_NAMED] if abs(direction[i]) > SMALL_PART * size]
    told = ", ".join(f"{direction[i] / size:+.2f} {names[i]}" for i in parts)
    return f"The portfolios do not see the combination {told}: it may move without a trace."


def _listed(names: tuple[str, ...], size: Vector) -> str:
    some = [names[i] for i in np.flatnonzero(size > 1e-9)]
    if len(some) == len(names):
        return "all returns together"
    more = f" and {len(some) - MOST_NAMED} more" if len(some) > MOST_NAMED else ""
    return f"the returns of {', '.join(some[:MOST_NAMED])}{more} together"
