"""What anchors fix of the two things that portfolios cannot tell: the shift and the scale.

For any a > 0 and any c the returns a r + c give the same efficient portfolios as r, so data know r
only up to the pair (a, c). Anchors G r = v hold for a r + c as well exactly where
(a - 1) v + c G1 = 0: they leave nothing open if and only if v and G1 are linearly independent,
whatever r is. Two assets or fully invested portfolios (G1 = 1) therefore need different values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import InvalidInput
from imop_engine.sentences.returns import gauge_sentence

# Anchors are typed or computed from a history: values that agree to this share are the same.
SAME: Final = 1e-9


@dataclass(frozen=True)
class Gauge:
    """Which of shift and scale are fixed; `centre` is the one return that no scale can move."""

    shift_fixed: bool
    scale_fixed: bool
    centre: float | None = None

    @property
    def fixed(self) -> bool:
        """Whether nothing is left open."""
        return self.shift_fixed and self.scale_fixed

    @property
    def undetermined(self) -> str:
        """What is left open, in a word or two; empty where nothing is."""
        open_ = [
            name
            for name, fixed in (("shift", self.shift_fixed), ("scale", self.scale_fixed))
            if not fixed
        ]
        return " and ".join(open_)

    def sentence(self) -> str:
        """The same for an analyst to read."""
        return gauge_sentence(self.shift_fixed, self.scale_fixed, self.centre)


def gauge_of(rows: Matrix, values: Vector) -> Gauge:
    """What the anchors `rows @ r == values` fix.

    >>> gauge_of(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.03, 0.07])).fixed
    True
    >>> gauge_of(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.05, 0.05])).undetermined
    'scale'
    """
    if len(values) == 0:
        return Gauge(False, False)
    size = np.abs(rows).sum(axis=1)
    total = rows.sum(axis=1) / size
    value = values / size
    total = np.where(np.abs(total) > SAME, total, 0.0)
    both = float(total @ value)
    if not total.any():
        return Gauge(False, bool(value.any()))
    centre = both / float(total @ total)
    apart = float(np.abs(value - centre * total).max())
    if apart > SAME * float(np.abs(value).max(initial=0.0)):
        return Gauge(True, True)
    return Gauge(True, False, centre)


def require_fixed(rows: Matrix, values: Vector, given: int) -> None:
    """Refuse two or more anchors that do not do their job; one or none is the caller's choice.

    Args:
        rows: The anchored portfolios, one in each row, fractions of wealth.
        values: Their yearly returns.
        given: How many anchors were given.

    Raises:
        InvalidInput: two or more anchors leave the shift or the scale of the returns open.
    """
    gauge = gauge_of(rows, values)
    if given < 2 or gauge.fixed:
        return
    if len(values) < given:
        reason = "they say the same thing" if len(values) == 1 else "some of them repeat others"
    elif gauge.shift_fixed:
        reason = f"all of them ask for the same return, {gauge.centre:.6g}"
    else:
        reason = "all of them speak of differences between returns, none of a level"
    raise InvalidInput(
        f"these {given} anchors do not fix both shift and scale of the returns: {reason}. "
        f"{gauge.sentence()} Give two assets or portfolios with different known returns, or pass "
        "undetermined=True if that is meant."
    )
