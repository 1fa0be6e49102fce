"""Limits for other people's optimisers, each in the words that package has for them.

PyPortfolioOpt takes sums of holdings as sectors with a least and a greatest share; whatever has
other coefficients is added as a constraint. skfolio takes equations over assets and groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from imop_engine import gate
from imop_engine.arguments import Vector
from imop_engine.limits import LinearLimit, limit_rows
from imop_engine.problem import Problem


class SectorConstraints(NamedTuple):
    """What `EfficientFrontier.add_sector_constraints` takes, in its order."""

    sector_mapper: dict[str, str]
    sector_lower: dict[str, float]
    sector_upper: dict[str, float]


class SkfolioLimits(NamedTuple):
    """What skfolio's `MeanRisk` takes; `MeanRisk(..., **skfolio_limits(problem)._asdict())`."""

    groups: dict[str, list[str]]
    linear_constraints: list[str]
    min_weights: dict[str, float]
    max_weights: dict[str, float]


def sector_constraints(problem: Problem) -> tuple[SectorConstraints, ...]:
    """The limits on sums of holdings, for PyPortfolioOpt.

    An asset has one sector in a mapper, so limits on sums that overlap need several: call
    `add_sector_constraints` with each. `other_limits` are those with other coefficients.

    Args:
        problem: a portfolio problem with limits.
    """
    bands: dict[frozenset[str], tuple[str, float, float]] = {}
    for limit, assets, share in _sums(problem):
        name, low, high = bands.get(assets, (limit.what, -np.inf, np.inf))
        low = low if limit.relation == "<=" else max(low, share)
        high = high if limit.relation == ">=" else min(high, share)
        bands[assets] = (name, low, high)
    made: list[SectorConstraints] = []
    for assets, (name, low, high) in bands.items():
        room = next((one for one in made if assets.isdisjoint(one.sector_mapper)), None)
        if room is None:
            made.append(room := SectorConstraints({}, {}, {}))
        if name in room.sector_mapper.values():  # two sums that people call alike
            name = f"{name} ({len(room.sector_mapper)})"
        room.sector_mapper.update(dict.fromkeys(sorted(assets), name))
        if np.isfinite(low):
            room.sector_lower[name] = low
        if np.isfinite(high):
            room.sector_upper[name] = high
    return tuple(made)


def other_limits(problem: Problem) -> tuple[LinearLimit, ...]:
    """The limits that are no sum of holdings, which `sector_constraints` therefore leaves out."""
    sums = [limit for limit, _, _ in _sums(problem)]
    return tuple(limit for limit in _of_several(problem) if limit not in sums)


@gate.public("imop_engine.handover")
def add_limits(optimiser: Any, problem: Problem) -> Any:
    """Give a PyPortfolioOpt optimiser the limits of a problem.

    Args:
        optimiser: an `EfficientFrontier` over the assets of the problem, whose `weight_bounds` are
            those of `to_pypfopt`.
        problem: a portfolio problem with limits.

    Returns:
        The optimiser.
    """
    names = tuple(problem.names)
    if np.any(problem.lower < 0):  # where assets may be sold short it warns of its own sectors
        rest = _of_several(problem)
    else:
        for one in sector_constraints(problem):
            optimiser.add_sector_constraints(*one)
        rest = other_limits(problem)
    for limit in rest:
        _add_row(optimiser, limit.row(names), limit.relation, limit.value)
    return optimiser


@gate.public("imop_engine.handover")
def skfolio_limits(problem: Problem) -> SkfolioLimits:
    """The limits for skfolio: bounds of each holding, groups, and equations over them.

    Args:
        problem: a portfolio problem with limits.
    """
    names = tuple(problem.names)
    groups: dict[str, list[str]] = {name: [] for name in names}
    equations: list[str] = []
    for limit in _of_several(problem):
        held = {name: value for name, value in zip(names, limit.row(names), strict=True) if value}
        value = _written(limit.value, names)
        relation = "==" if limit.relation == "=" else limit.relation
        if set(held.values()) == {1.0}:
            level = len(equations) + 1
            for name in names:  # a level says of every asset whether it is in the group
                groups[name].append(f"limit {level}" if name in held else f"outside {level}")
            equations.append(f"limit {level} {relation} {value}")
        else:
            left = " ".join(
                f"{'-' if factor < 0 else '+'} {_written(abs(factor), names)} * {name}"
                for name, factor in held.items()
            )
            equations.append(f"{left.removeprefix('+ ')} {relation} {value}")
    bounds = (
        dict(zip(names, map(float, bound), strict=True)) for bound in (problem.lower, problem.upper)
    )
    return SkfolioLimits(groups, equations, *bounds)


def _of_several(problem: Problem) -> tuple[LinearLimit, ...]:
    """The limits on more than one asset; those on one are bounds of the problem."""
    names = tuple(problem.names)
    return tuple(one for one in problem.limits if np.count_nonzero(one.row(names)) > 1)


def _sums(problem: Problem) -> list[tuple[LinearLimit, frozenset[str], float]]:
    """Limits whose coefficients are all the same, with their assets and the share of the sum."""
    found = []
    for limit in _of_several(problem):
        row = limit_rows([limit], problem.names).G[0]
        factors = np.unique(row[row != 0])
        if factors.size == 1 and factors[0] > 0:
            assets = frozenset(
                name for name, factor in zip(problem.names, row, strict=True) if factor
            )
            found.append((limit, assets, limit.value / float(factors[0])))
    return found


def _add_row(optimiser: Any, row: Vector, relation: str, value: float) -> None:
    if relation != ">=":
        optimiser.add_constraint(lambda w: row @ w <= value)
    if relation != "<=":
        optimiser.add_constraint(lambda w: row @ w >= value)


def _written(number: float, names: Sequence[str]) -> str:
    """A number that is not taken for an asset of the same name."""
    text = repr(float(number))
    return f"{number:.17e}" if text.removeprefix("-") in names else text
