"""How the weights of investors may be distributed: one registry for drawing and for fitting them.

To add a distribution, write a file like `beta.py` that defines `FAMILY`, and name it in `DRAWN`
here: simulation, the fits to learned weights, the shell's `--weights` and the app's menu have it
then. Names come without the code behind them, so that the shell starts quickly.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from imop_engine.weight_families.base import Family

# A distribution has one name, whether it is drawn or fitted; its file is called so too.
DRAWN: Final = ("normal", "uniform", "beta", "kumaraswamy", "mixture")
# Fitted for comparison, never drawn.
FITTED_ONLY: Final = ("unbounded normal",)


@cache
def family(name: str) -> Family:
    """The distribution of that name."""
    found: Family = import_module(f"{__name__}.{name.replace(' ', '_')}").FAMILY
    return found


@cache
def fitted_families() -> dict[str, Family]:
    """All that are fitted to learned weights, by their names."""
    return {name: family(name) for name in (*DRAWN, *FITTED_ONLY)}


def drawn_by_mean_and_sd() -> tuple[str, ...]:
    """Those that a mean and a standard deviation describe, or that need nothing at all."""
    return tuple(name for name in DRAWN if not family(name).has_parts)
