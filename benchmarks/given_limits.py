"""Investors under limits that the analyst knows and gives, to the study or as mandates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from imop_engine import efficient_frontier, portfolio_problem
from imop_engine.arguments import Matrix

from . import departures as d
from .drawn_markets import TrueMarket

CAP: Final = 0.4
# The sector is so much of the assets, and its limit so much of what investors without limits hold
# of it on average: it binds for most of them.
SECTOR: Final = 0.375
OF_AVERAGE: Final = 0.6
CAPS: Final = (0.2, 0.3, 0.45)  # of several levels; others have none
FREE: Final = "free"

Given = dict[str, Any]


def one_set(scene: d.Scene) -> d.Sample:
    """Everybody is under the same cap and the same limit on a sector.

    Args:
        scene: Market and weights.
    """
    return _sample(scene, {"": cap_and_sector(scene)}, np.full(scene.count, ""))


def two_mandates(scene: d.Scene) -> d.Sample:
    """Half of the investors are under a cap and a limit on a sector, the others are free.

    Args:
        scene: Market and weights.
    """
    half = scene.rng.permutation(scene.count) < scene.count // 2
    mandates = {"careful": cap_and_sector(scene), FREE: {}}
    return _sample(scene, mandates, np.where(half, "careful", FREE))


def several_caps(scene: d.Scene) -> d.Sample:
    """Caps of several levels, evenly spread over the investors; some have none.

    Args:
        scene: Market and weights.
    """
    mandates: dict[str, Given] = {f"{cap:.0%}": {"upper": cap} for cap in CAPS}
    mandates[FREE] = {}
    which = scene.rng.permutation(scene.count) % len(mandates)
    return _sample(scene, mandates, np.array(list(mandates))[which])


def cap_and_sector(scene: d.Scene) -> Given:
    """A cap on every asset, and a limit on some assets together that binds for most.

    Args:
        scene: Market and weights.
    """
    names = scene.market.names
    size = max(2, round(SECTOR * len(names)))
    held = scene.market.frontier.at(scene.weights).mean(axis=0)
    sector = scene.rng.permutation(len(names))[:size]
    most = round(OF_AVERAGE * float(held[sector].sum()), 3)
    return {"upper": CAP, "limits": [({names[i]: 1.0 for i in sector}, "<=", most)]}


def held_under(market: TrueMarket, given: Given, weights: Any) -> Matrix:
    """What investors hold under limits.

    Args:
        market: What they know.
        given: Their limits.
        weights: Theirs on return.
    """
    problem = portfolio_problem(market.covariance, names=market.names, **given)
    result: Matrix = efficient_frontier(problem, market.returns).at(weights)
    return result


def _sample(scene: d.Scene, mandates: Mapping[str, Given], labels: NDArray[np.str_]) -> d.Sample:
    held = np.empty((scene.count, scene.market.returns.size))
    for name, given in mandates.items():
        here = labels == name
        held[here] = held_under(scene.market, given, scene.weights[here])
    seen = d.with_errors(held, scene.rng)
    nobody = np.zeros(scene.count, dtype=bool)
    numbers = np.arange(scene.count)
    sample = d.Sample(scene.market, scene.weights, held, seen, nobody, numbers)
    return replace(sample, mandates=dict(mandates), labels=labels)
