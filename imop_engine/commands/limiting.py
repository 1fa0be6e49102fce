"""Limits from the shell: caps, minima, limits as text, groups and a benchmark from files.

Imports of the engine are inside the functions: this module is loaded for every `imop --help`.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Final

from imop_engine.commands import common
from imop_engine.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imop_engine.commands.options import CapOptions, LimitOptions
    from imop_engine.limit_prices import LimitPrices
    from imop_engine.limits import Limits
    from imop_engine.market import Market

EXAMPLE_UPPER: Final = "0.2 or 20%"
EXAMPLE_CAP: Final = "AAPL=0.3"
EXAMPLE_MINIMUM: Final = "Cash=5%"
# Where assets are sold short, up to twice the whole may be held of others; caps beyond that are
# per cent without their sign.
MOST_WITH_SHORTS: Final = 2.0


def read_limits(given: LimitOptions, market: Market) -> Limits:
    """What the options say of holdings, checked in the shell's words.

    Args:
        given: The options.
        market: Its assets, and which of them belong together.
    """
    from imop_engine.limit_text import parse_limit, parse_limits
    from imop_engine.limits import LinearLimit

    names = market.names
    held = None if given.benchmark is None else benchmark(given.benchmark, names)
    floors: list[tuple[str, float]] = []
    linear: list[LinearLimit] = []
    minima = common.assignments(given.minimum, "--minimum", EXAMPLE_MINIMUM)
    for name, least in minima.items():
        if name in names:
            floors.append((name, least))
        else:
            linear += parse_limit(f"{name} >= {least!r}", names, market.groups)
    linear += parse_limits(given.limit or (), names, market.groups, held)
    shorts = any(least < 0.0 for _, least in floors)
    limits = replace(read_caps(given, names, shorts), floors=tuple(floors), linear=tuple(linear))
    limits.check(names)
    return limits


def read_caps(given: CapOptions, names: tuple[str, ...], shorts: bool = False) -> Limits:
    """The caps of --upper and --cap, checked in the shell's words.

    Args:
        given: The options.
        names: The assets.
        shorts: Whether an asset may be sold short, so that more than the whole is held of others.
    """
    from imop_engine.limits import Limits, LimitWords

    words = LimitWords(
        "--cap names {name}, which is none of the assets; they are {assets}.",
        upper="--upper",
        cap_of="--cap {name}",
    )
    caps = common.assignments(given.cap, "--cap", EXAMPLE_CAP)
    upper = common.share(given.upper, "--upper", EXAMPLE_UPPER)
    limits = Limits(upper, tuple(caps.items()))
    limits.check(names, words)
    written = {f"--cap {name}=": cap for name, cap in caps.items()}
    _require_caps({"--upper ": upper} | written, shorts)
    return limits


def _require_caps(given: dict[str, float], shorts: bool) -> None:
    """Refuse caps that cap nothing: a per cent sign is missing.

    Args:
        given: By the option as it is written, up to its number.
        shorts: Whether more than the whole may be held of an asset.
    """
    from imop_engine.sentences.limits import no_cap

    for option, cap in given.items():
        if (MOST_WITH_SHORTS if shorts else 1.0) < cap < inf:
            raise InvalidInput(no_cap(option, cap))


def benchmark(path: Path, names: Sequence[str]) -> dict[str, float]:
    """A benchmark's holdings from a file; they must be holdings of the market's assets.

    Args:
        path: A table of asset and weight, or one row with a column for each asset.
        names: The assets.
    """
    from imop_engine.limits import unknown_asset

    held = common.portfolio(path, names)
    strange = [name for name in held if name not in names]
    if strange:
        raise InvalidInput(f"--benchmark {path.name}: {unknown_asset(strange[0], names)}")
    return held


def show(prices: LimitPrices) -> None:
    """Print which limits bind where and what they cost, the dearest first.

    Args:
        prices: Along a frontier.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from imop_engine.sentences.limits import price_rows

    headings, rows = price_rows(prices.table())
    view = Table(title="What the limits cost, at the same risk", title_justify="left")
    for place, heading in enumerate(headings):
        view.add_column(heading, justify="left" if place == 0 else "right")
    for row in rows:
        view.add_row(*map(escape, row))
    Console().print(view)
