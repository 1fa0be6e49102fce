"""Which checks are right to warn in which condition, by the condition's key.

Apart from `conditions`, so that a change here does not make finished studies out of date.
"""

from __future__ import annotations

from typing import Final

_LIMITS = ("caps", "specification", "noise")
_STRANGERS = ("outliers", "strays", "noise", "explained", "specification")
_OTHER_ERRORS = ("noise", "beliefs", "explained", "specification")

RIGHT_REASONS: Final[dict[str, tuple[str, ...]]] = {
    **{f"covariance-{m}": ("history", "specification", "noise") for m in (60, 120, 240)},
    **{f"anchors-{m}": ("anchors", "history") for m in (60, 120, 240)},
    **{f"both-{m}": ("anchors", "history") for m in (60, 120, 240)},
    **{f"beliefs-{sd:g}": ("beliefs", "noise", "explained") for sd in (0.005, 0.01, 0.03)},
    "own-covariance": ("beliefs", "noise", "explained", "specification"),
    **{f"{kind}-{share}": _STRANGERS for kind in ("random", "even", "index") for share in (10, 30)},
    "lognormal-0.1": _OTHER_ERRORS,
    "lognormal-0.3": _OTHER_ERRORS,
    "dirichlet-0.05": _OTHER_ERRORS,
    "rounding-1": ("rounding", "specification"),
    "rounding-5": ("rounding", "specification", "noise"),
    "dropped-2": ("dropped", "specification"),
    "largest-4": ("largest", "specification", "outliers"),
    "caps-differ": _LIMITS,
    "half-capped": _LIMITS,
    "cash-unseen": ("specification", "noise", "explained", "identified"),
    "cash-sleeve": ("specification", "noise", "explained", "beliefs"),
    "home-tilt": ("specification", "noise", "tilt"),
    "tilt-dates": ("tilt", "noise"),
}
