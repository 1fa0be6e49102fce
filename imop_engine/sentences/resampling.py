"""What is said of a study that was estimated again from investors and months drawn anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.sentences.numbers import some

INVESTORS: Final = "investors"
MONTHS: Final = "months of the history"
ANCHORS: Final = "anchors"

NOT_REFINED: Final = (
    "the portfolios of this study were not fitted together, so there is no estimate to draw again; "
    "learn again with refine switched on."
)


def drawn(draws: int, investors: int, parts: Sequence[str]) -> str:
    """What was drawn anew.

    Args:
        draws: how many estimates there are.
        investors: how many were drawn from.
        parts: what was drawn besides, the investors first.

    >>> drawn(100, 135, ["investors", "months of the history", "anchors"])
    '100 estimates from investors (of 135), months of the history and anchors drawn anew.'
    """
    first, *others = [f"{parts[0]} (of {investors:,})", *parts[1:]]
    what = first if not others else f"{', '.join([first, *others[:-1]])} and {others[-1]}"
    kept = "" if len(parts) > 1 else "; history and anchors count as known"
    return f"{draws:,} estimates from {what} drawn anew{kept}."


def widths(ratios: NDArray[np.float64]) -> str:
    """How wide the draws scatter beside the intervals.

    Args:
        ratios: redrawn width over the study's, for each return.
    """
    middle, low, high = float(np.median(ratios)), float(ratios.min()), float(ratios.max())
    return (
        f"They scatter {middle:.2f} times as widely as the study's intervals (median of "
        f"{len(ratios)} returns; {low:.2f} to {high:.2f}). What all draws have in common, such as "
        "a wrong model of errors, does not show in that."
    )


def wider(assets: list[str]) -> str:
    """Which returns scatter more than their intervals say.

    Args:
        assets: their names.
    """
    return f"Take the redrawn interval of {some(assets, 5)}: it is the wider one."


def without(failed: int, total: int, reason: str) -> str:
    """Draws that gave no estimate.

    Args:
        failed: how many.
        total: of how many.
        reason: of the first.
    """
    return f"{failed:,} of {total:,} draws gave no estimate; the first because {reason}"


def too_few(good: int, total: int, reason: str) -> str:
    """Hardly any draw gave an estimate.

    Args:
        good: how many did.
        total: of how many.
        reason: why the first of the others did not; empty where there are none.
    """
    why = f" (the first of the others because {reason})" if reason else ""
    return (
        f"only {good:,} of {total:,} draws gave an estimate{why}; draw more often, or see what the "
        "checks of the study say."
    )
