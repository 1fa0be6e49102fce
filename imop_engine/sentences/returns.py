"""What the portfolios tell of the returns, and what they do not: one by one and together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from imop_engine.sentences.numbers import between, percent, some

MOST_NAMED: Final = 4  # assets in the description of a direction or of an anchor
SMALL_PART: Final = 0.05  # a share of the largest entry that is not worth a word
NO_ENTRY: Final = 1e-9  # an entry of a direction of length 1 below this is rounding
ONE_PORTFOLIO: Final = 1e-12  # holdings that differ by no more are the same portfolio


class KnownReturn(NamedTuple):
    """What is known of the yearly return of one asset."""

    name: str
    status: str  # anchored, identified, relative, bounded (above, below), not seen
    estimate: float
    low: float  # infinite where nothing but the box of possible returns ends the interval
    high: float
    investors: int  # whose portfolios inform about it
    holders: int  # who hold it
    dead: bool  # held, but the estimate explains none of that
    # whose assets' common level is open, and moves this return; ends are infinite at the box then
    limits: tuple[str, ...] = ()
    far: bool = False  # what bounds it is too far from all known returns to be of use


def asset_sentence(known: KnownReturn, total: int, level: float, undetermined: str) -> str:
    """What is known of one asset.

    Args:
        known: Its return, yearly.
        total: How many investors there are.
        level: Confidence of the interval, between 0 and 1.
        undetermined: What the anchors leave open: "shift", "scale", both or nothing.

    Returns:
        One sentence or two.
    """
    name, status, estimate, low, high, investors, holders, dead, limits, far = known
    does = "does" if holders == 1 else "do"
    few = f" ({holders} {does}, too few or too little to go by)" if holders else ""
    without = total - holders
    sure = f"{100.0 * level:g}%"
    if status == "anchored":
        unfit = f"; {holders} of {total} investors hold it, and the estimate explains none of that"
        return f"{name} returns {percent(estimate)}, because an anchor says so{unfit * dead}."
    if status == "identified":
        return (
            f"{name} returns {percent(estimate)}, {_reach(low, high)} with "
            f"{sure} confidence; {investors} of {total} investors inform about it."
        )
    if status == "relative" and limits:
        return (
            f"{name} is known only against the other assets, because too few investors are below "
            f"a limit ({some(limits, MOST_NAMED)}) to tell how much what comes under it returns: "
            f"{_open_interval(low, high)}, with {sure} confidence, and {percent(estimate)} in this "
            f"estimate; {investors} of {total} investors inform about it."
        )
    if status == "relative":
        open_ = undetermined or "scale"
        return (
            f"{name} is known only against the other assets, because the {open_} of the returns is "
            f"open: at that of this estimate it returns {percent(estimate)}, {_reach(low, high)} "
            f"with {sure} confidence; {investors} of {total} investors inform about it."
        )
    if status == "bounded above":
        return (
            f"{name} returns at most {percent(high)}: {without} of {total} investors do not hold "
            f"it, and would if it returned more{few}. The portfolios say no more than that."
        )
    if status == "bounded below":
        return (
            f"{name} returns at least {percent(low)}: {holders} of {total} investors hold it, and "
            "all of them, or all but a few, at its cap. The portfolios say no more than that."
        )
    if status == "bounded":
        return (
            f"{name} returns between {percent(low)} and {percent(high)}: some of {total} investors "
            "hold it at its cap, the others not at all."
        )
    if dead:
        return (
            f"The portfolios say nothing of {name} yet: {holders} of {total} investors hold it, "
            f"and the estimate of {percent(estimate)} explains none of that. Where a limit fixes "
            "what is held of it, loosen that; else start from the history, or learn at a higher "
            "rate."
        )
    if far:
        why = (
            f"{without} of {total} investors do not hold it, which rules"
            if np.isinf(low)
            else ("holdings at its cap rule")
        )
        return (
            f"The portfolios say nothing of use about {name}: {why} out only returns far from all "
            "that are known."
        )
    if holders:
        return (
            f"{holders} of {total} investors hold {name}, and yet they hardly tell its return: "
            f"{_open_reach(low, high)}."
        )
    return (
        f"The portfolios say nothing of {name}: {without} of {total} investors do not hold it, and "
        f"{_open_reach(low, high)}."
    )


def _open_interval(low: float, high: float) -> str:
    """An interval whose ends may be infinite: nothing is known there."""
    if np.isinf(low):
        return "nobody can say what" if np.isinf(high) else f"at most {percent(high)}"
    return f"at least {percent(low)}" if np.isinf(high) else between(low, high)


def _reach(low: float, high: float) -> str:
    """An interval of which an end may be open."""
    if np.isfinite(low) and np.isfinite(high):
        return between(low, high)
    if np.isfinite(low):
        return f"{percent(low)} or more"
    return (
        f"{percent(high)} or less" if np.isfinite(high) else "with both ends of its interval open"
    )


def _open_reach(low: float, high: float) -> str:
    """What is left of an interval that tells next to nothing."""
    if not (np.isfinite(low) or np.isfinite(high)):
        return "they rule no return out"
    said = _reach(low, high)
    return f"it may be {'anything ' if said.startswith('between') else ''}{said}"


def direction_sentences(
    directions: NDArray[np.float64], names: tuple[str, ...], returns: NDArray[np.float64]
) -> tuple[str, ...]:
    """The directions in the space of returns that no portfolio sees, in words.

    Args:
        directions: One direction of length 1 in each row.
        names: The assets.
        returns: The estimate, yearly, by which a shift or a scale of returns is recognised.

    Returns:
        A sentence for each direction; what reads the same is said once.
    """
    return tuple(dict.fromkeys(_direction_sentence(row, names, returns) for row in directions))


def _direction_sentence(
    direction: NDArray[np.float64], names: tuple[str, ...], returns: NDArray[np.float64]
) -> str:
    held = np.abs(direction) > NO_ENTRY
    one, own = direction[held], returns[held]
    basis = np.column_stack([np.ones(len(one)), own])
    mix, *_ = np.linalg.lstsq(basis, one, rcond=None)
    if len(one) > 2 and np.linalg.norm(basis @ mix - one) <= 1e-6:
        moved = [names[i] for i in np.flatnonzero(held)]
        whole = len(moved) == len(names)
        which = "all returns" if whole else f"the returns of {some(moved, MOST_NAMED)}"
        return (
            f"Nobody can tell a shift or a scale of {which} together from these portfolios and "
            "anchors."
        )
    size = float(np.abs(direction).max())
    order = np.argsort(-np.abs(direction), kind="stable")
    parts = [i for i in order[:MOST_NAMED] if abs(direction[i]) > SMALL_PART * size]
    mixed = ", ".join(f"{direction[i] / size:+.2f} {names[i]}" for i in parts)
    return f"No portfolio would look different if these returns changed together: {mixed}."


def gauge_sentence(shift_fixed: bool, scale_fixed: bool, centre: float | None) -> str:
    """What the anchors fix of the shift and the scale of all returns.

    Args:
        shift_fixed: Whether no number can be added to all returns.
        scale_fixed: Whether the returns cannot be multiplied.
        centre: The yearly return from which distances are multiplied where only the scale is open.

    Returns:
        One sentence.
    """
    if shift_fixed and scale_fixed:
        return "The anchors fix the shift and the scale of the returns."
    if shift_fixed:
        return (
            f"The scale of the returns is not determined: their distances from {centre:.6g} may be "
            "multiplied by any positive number, and every portfolio stays as it is."
        )
    if scale_fixed:
        return (
            "The shift of the returns is not determined: any number may be added to all of them, "
            "and every portfolio stays as it is."
        )
    return (
        "Neither shift nor scale of the returns is determined: any number may be added to all of "
        "them, and all may be multiplied by any positive number, and every portfolio stays as it "
        "is."
    )


def anchor_sentence(
    names: Sequence[str],
    holdings: NDArray[np.float64],
    value: float,
    known: Sequence[tuple[str, NDArray[np.float64]]] = (),
) -> str:
    """An anchor: the known return of an asset or of a portfolio.

    Args:
        names: The assets.
        holdings: The anchored portfolio, a fraction for each asset.
        value: Its yearly return.
        known: Portfolios that have names, with their holdings.

    Returns:
        One sentence.
    """
    returns = f"returns {value:.2%} a year"
    held = np.flatnonzero(holdings)
    if len(held) == 1 and holdings[held[0]] == 1.0:
        return f"{names[held[0]]} {returns}."
    order = held[np.argsort(-np.abs(holdings[held]), kind="stable")]
    parts = some([f"{holdings[i]:.1%} {names[i]}" for i in order], MOST_NAMED)
    named = [name for name, one in known if np.allclose(one, holdings, atol=ONE_PORTFOLIO)]
    what = named[0][:1].upper() + named[0][1:] if named else "A portfolio"
    return f"{what} ({parts}) {returns}."


def idle_anchors(names: Sequence[str]) -> str:
    """Anchors on assets that too few investors hold."""
    return (
        f"The anchor on {', '.join(names)} fixes nothing that the portfolios see, because too few "
        "investors hold it. Anchor what they hold."
    )


def leaning_anchors(names: Sequence[str]) -> str:
    """Anchors on portfolios that hold assets of which only bounds are known."""
    return (
        f"The anchors rest on {', '.join(names)}, of which the portfolios give no more than "
        "bounds, and that widens every interval. Anchor what investors hold."
    )


def dead_assets(names: Sequence[str]) -> str:
    """Assets that investors hold and the estimated frontier does not."""
    return (
        f"Investors hold {', '.join(names)}, and the estimate explains none of it: where a limit "
        "fixes what is held, loosen that; else start from the history, or learn at a higher rate."
    )


def search_not_ended() -> str:
    """The joint estimate did not converge."""
    return (
        "The search for the returns that explain all portfolios best did not end: the intervals "
        "hold where it stopped, and may be too narrow. Begin from other returns."
    )


def not_settled(step: float) -> str:
    """The data still ask for a step of so many standard errors."""
    return (
        f"The estimate is not settled: by the portfolios a return should still move by up to "
        f"{step:.1f} of its standard errors, which the intervals include. Fitting all portfolios "
        "together (refine) settles it."
    )


def estimate_error(raw: float, aligned: float, digits: int) -> str:
    """Distance between estimated and true yearly returns, before and after aligning them.

    Args:
        raw: Euclidean distance of the two vectors.
        aligned: The same after the best shift and scale.
        digits: How many after the point.

    Returns:
        The sentence without its full stop, so that a remark can follow.
    """
    return (
        f"Error of the estimate: {raw:.{digits}f} raw, {aligned:.{digits}f} after the best shift "
        "and scale"
    )
