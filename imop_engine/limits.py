"""Limits: the most that anybody may hold of an asset, and where believed returns lie.

The rules are here once. What an error calls a cap differs (an argument, an option of the shell, a
field of the app), so whoever reads limits from a person passes the words of that place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from imop_engine.arguments import Vector
from imop_engine.errors import InvalidInput
from imop_engine.market import some_names

# Yearly returns outside this are believed by nobody; a history that goes beyond widens it.
WIDEST_BELIEFS: Final = (-1.0, 1.0)


@dataclass(frozen=True)
class LimitWords:
    """Sentences about limits, in the words of the place where they are read.

    `unknown_asset` is filled with `name` and `assets`; `no_cap` with `what` and `cap`, where
    `what` is `upper` or made of `cap_of` and the asset's name.
    """

    unknown_asset: str
    upper: str = "upper"
    cap_of: str = "the cap of {name}"
    no_cap: str = "{what} is {cap:g}; give a share of the portfolio, 0.3 say."


ARGUMENTS: Final = LimitWords("there is no asset {name!r} to cap; the assets are {assets}.")


@dataclass(frozen=True)
class Limits:
    """Caps on holdings, as shares of the portfolio, and the box of returns believed in, per year.

    Args:
        upper: cap of every asset that has none of its own.
        caps: caps of single assets, as (asset, cap) pairs.
        bounds: least and greatest return that anybody may believe in; None for the widest, which
            is -100 % to 100 %, and more where a market's own returns go further.
    """

    upper: float = 1.0
    caps: tuple[tuple[str, float], ...] = ()
    bounds: tuple[float, float] | None = None

    def check(self, names: tuple[str, ...], words: LimitWords = ARGUMENTS) -> None:
        """Refuse caps that are no shares, and caps of assets that are not there."""
        given = {words.upper: self.upper}
        given |= {words.cap_of.format(name=name): cap for name, cap in self.caps}
        for what, cap in given.items():
            if not cap > 0:
                raise InvalidInput(words.no_cap.format(what=what, cap=cap))
        self._require_assets(names, words)

    def upper_of(self, names: tuple[str, ...]) -> Vector:
        """The cap of each asset; the problem that is made of them says where they are none."""
        self._require_assets(names, ARGUMENTS)
        caps = np.full(len(names), float(self.upper))
        for name, cap in self.caps:
            caps[names.index(name)] = cap
        return caps

    def box(self, expected_returns: Vector) -> tuple[float, float]:
        """The bounds, by the rule where none are given."""
        if self.bounds is not None:
            return self.bounds
        low, high = WIDEST_BELIEFS
        return (
            min(low, 2.0 * float(expected_returns.min())),
            max(high, 2.0 * float(expected_returns.max())),
        )

    def _require_assets(self, names: tuple[str, ...], words: LimitWords) -> None:
        for name, _ in self.caps:
            if name not in names:
                raise InvalidInput(words.unknown_asset.format(name=name, assets=some_names(names)))
