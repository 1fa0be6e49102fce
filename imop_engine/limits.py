"""Limits: what anybody may hold at most, at least, or together; and where believed returns lie.

The rules are here once. What an error calls a cap differs (an argument, an option of the shell, a
field of the app), so whoever reads limits from a person passes the words of that place. How limits
are written as text is in `limit_text`, how a set of them contradicts itself in `contradiction`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from imop_engine import gate
from imop_engine.arguments import LARGEST, Matrix, Vector
from imop_engine.errors import InvalidInput
from imop_engine.market import some_names
from imop_engine.sentences import limits as said

# Yearly returns outside this are believed by nobody; a history that goes beyond widens it.
WIDEST_BELIEFS: Final = (-1.0, 1.0)
RELATIONS: Final = tuple(said.RELATIONS)
# Other ways to write a relation.
SPELLINGS: Final[Mapping[str, str]] = {"==": "=", "≤": "<=", "≥": ">=", "<": "<=", ">": ">="}

Asset = str | int  # an asset's name, or its position where assets have no names


@gate.noun
@dataclass(frozen=True)
class LinearLimit:
    """A limit on what is held together: the sum of coefficient times holding is at most, at least
    or exactly a value.

    Args:
        holdings: {asset: coefficient}, (asset, coefficient) pairs, or one coefficient for each
            asset in the order of the problem. An asset is its name or its position.
        relation: "<=", ">=" or "=".
        value: a share of the portfolio: 0.3 is 30%.
        name: what people call the left side, "sector:Technology" say; "" for the sum written out.

    >>> limit = LinearLimit({"Technology": 1, "Communication": 1}, "<=", 0.3)
    >>> limit.sentence
    'Technology + Communication at most 30%'
    >>> limit.row(("Bonds", "Communication", "Technology")).tolist()
    [0.0, 1.0, 1.0]
    """

    holdings: Any  # any form comes in; inside it is tuple[tuple[Asset, float], ...]
    relation: str
    value: float
    name: str = ""

    def __post_init__(self) -> None:
        gate.text("name", self.name)
        relation = SPELLINGS.get(self.relation, self.relation)
        if relation not in RELATIONS:
            raise InvalidInput(
                f"the relation of a limit is {gate.shown(self.relation)}; give one of "
                f"{', '.join(RELATIONS)}."
            )
        object.__setattr__(self, "relation", relation)
        value = _number(self.value, "value of a limit")
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "holdings", _holdings(self.holdings))

    @property
    def what(self) -> str:
        """The left side, as people call it."""
        return self.name or said.terms((_called(asset), factor) for asset, factor in self.holdings)

    @property
    def sentence(self) -> str:
        """The limit in words: "Technology + Communication at most 30 %"."""
        return said.limit_sentence(self.what, self.relation, self.value)

    def row(self, names: Sequence[str]) -> Vector:
        """The coefficients over the assets of a problem, in their order."""
        row = np.zeros(len(names))
        places = {name: place for place, name in enumerate(names)}
        for asset, factor in self.holdings:
            place = asset if isinstance(asset, int) else places.get(asset, -1)
            if not 0 <= place < len(names):
                raise InvalidInput(unknown_asset(asset, names, self.sentence))
            row[place] += factor
        return row

    def excess(self, portfolios: Any, names: Sequence[str]) -> Vector:
        """By how much each portfolio breaks the limit; zero or below where it is kept.

        Args:
            portfolios: one in each row, over the assets of `names`.
            names: the assets.

        Returns:
            A share of the portfolio for each.
        """
        beyond: Vector = np.atleast_2d(portfolios) @ self.row(names) - self.value
        if self.relation == "=":
            return np.abs(beyond)
        return beyond if self.relation == "<=" else -beyond

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON; positions are whole numbers in a list of pairs."""
        named = all(isinstance(asset, str) for asset, _ in self.holdings)
        plain = {
            "holdings": dict(self.holdings) if named else [list(pair) for pair in self.holdings],
            "relation": self.relation,
            "value": self.value,
        }
        return plain | ({"name": self.name} if self.name else {})

    @classmethod
    def of(cls, given: Any) -> LinearLimit:
        """A limit from any form: itself, (holdings, relation, value[, name]), or `to_dict`'s.

        >>> LinearLimit.of(({"A": 1, "B": 1}, "<=", 0.3)).sentence
        'A + B at most 30%'
        """
        if isinstance(given, LinearLimit):
            return given
        if isinstance(given, Mapping) and set(given) - {"name"} == {
            "holdings",
            "relation",
            "value",
        }:
            return cls(**given)
        if isinstance(given, Sequence) and not isinstance(given, str) and len(given) in (3, 4):
            return cls(*given)
        raise InvalidInput(
            f"the limit {gate.shown(given)} cannot be read; give ({{asset: coefficient}}, "
            'relation, value), ({"A": 1, "B": 1}, "<=", 0.3) say.'
        )


class LimitRows(NamedTuple):
    """Limits as arrays over the assets of a problem: `G[i] @ x  senses[i]  h[i]`."""

    G: Matrix  # shape (limits, assets)
    h: Vector
    senses: tuple[str, ...]  # "<=", ">=" or "=" of each row
    what: tuple[str, ...]  # the left side of each, as people call it

    @property
    def sentences(self) -> tuple[str, ...]:
        """Each limit in words."""
        parts = zip(self.what, self.senses, self.h, strict=True)
        return tuple(said.limit_sentence(*one) for one in parts)

    @property
    def equal(self) -> NDArray[np.bool_]:
        """Which rows are equalities."""
        return np.array([sense == "=" for sense in self.senses], dtype=bool)

    @property
    def at_most(self) -> tuple[Matrix, Vector]:
        """The rows that are no equalities, all turned to `G x <= h`."""
        sign = np.where([sense == ">=" for sense in self.senses], -1.0, 1.0)
        kept = ~self.equal
        return (sign[:, None] * self.G)[kept], (sign * self.h)[kept]

    @property
    def exactly(self) -> tuple[Matrix, Vector]:
        """The equalities."""
        return self.G[self.equal], self.h[self.equal]


def linear_limits(given: Any) -> tuple[LinearLimit, ...]:
    """Limits from any form: None, or a list of what `LinearLimit.of` takes.

    >>> [limit.sentence for limit in linear_limits([({"A": 1}, ">=", 0.05)])]
    ['A at least 5%']
    """
    if given is None:
        return ()
    if isinstance(given, (str, Mapping, LinearLimit)) or not isinstance(given, Iterable):
        raise InvalidInput(
            f"limits is {gate.shown(given)}; give a list of limits, "
            '[({"A": 1, "B": 1}, "<=", 0.3)] say.'
        )
    return tuple(LinearLimit.of(one) for one in given)


def limit_rows(limits: Any, names: Sequence[str]) -> LimitRows:
    """Limits as arrays over given assets.

    Args:
        limits: what `linear_limits` takes.
        names: the assets, in the order of the columns.

    >>> rows = limit_rows([({"A": 1, "C": 1}, ">=", 0.2)], ("A", "B", "C"))
    >>> rows.G.tolist(), rows.h.tolist(), rows.senses
    ([[1.0, 0.0, 1.0]], [0.2], ('>=',))
    """
    listed = linear_limits(limits)
    return LimitRows(
        np.array([limit.row(names) for limit in listed]).reshape(len(listed), len(names)),
        np.array([limit.value for limit in listed], dtype=float),
        tuple(limit.relation for limit in listed),
        tuple(limit.what for limit in listed),
    )


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
    """Caps, floors and other limits on holdings, as shares of the portfolio, and the box of returns
    believed in, per year.

    Args:
        upper: cap of every asset that has none of its own.
        caps: caps of single assets, as (asset, cap) pairs.
        bounds: least and greatest return that anybody may believe in; None for the widest, which
            is -100 % to 100 %, and more where a market's own returns go further.
        lower: the least that is held of every asset without a floor of its own; below zero, assets
            may be sold short down to it.
        floors: floors of single assets, as (asset, least holding) pairs.
        linear: limits on what is held together.
    """

    upper: float = 1.0
    caps: tuple[tuple[str, float], ...] = ()
    bounds: tuple[float, float] | None = None
    lower: float = 0.0
    floors: tuple[tuple[str, float], ...] = ()
    linear: tuple[LinearLimit, ...] = ()

    def check(self, names: tuple[str, ...], words: LimitWords = ARGUMENTS) -> None:
        """Refuse caps that are no shares, and limits on assets that are not there."""
        given = {words.upper: self.upper}
        given |= {words.cap_of.format(name=name): cap for name, cap in self.caps}
        for what, cap in given.items():
            if not cap > 0:
                raise InvalidInput(words.no_cap.format(what=what, cap=cap))
        self._require_assets(names, words)
        self.lower_of(names)
        self.rows(names)

    def upper_of(self, names: tuple[str, ...]) -> Vector:
        """The cap of each asset; the problem that is made of them says where they are none."""
        self._require_assets(names, ARGUMENTS)
        caps = np.full(len(names), float(self.upper))
        for name, cap in self.caps:
            caps[names.index(name)] = cap
        return caps

    def lower_of(self, names: tuple[str, ...]) -> Vector:
        """The least that is held of each asset."""
        least = np.full(len(names), float(self.lower))
        for name, floor in self.floors:
            if name not in names:
                raise InvalidInput(unknown_asset(name, names))
            least[names.index(name)] = floor
        return least

    def rows(self, names: tuple[str, ...]) -> LimitRows:
        """The limits on what is held together, as arrays over the assets."""
        return limit_rows(self.linear, names)

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


def unknown_asset(asset: Asset, names: Sequence[str], limit: str = "") -> str:
    """The sentence about a limit on an asset that is not there, with the nearest that is.

    Args:
        asset: what was asked for.
        names: the assets.
        limit: the limit in words, where there is more to it than the asset.

    >>> unknown_asset("Gold 2", ["Bonds", "Gold"])
    "there is no asset 'Gold 2' to limit; did you mean 'Gold'? The assets are Bonds, Gold."
    """
    where = f" ({limit})" if limit else ""
    if isinstance(asset, int):
        return (
            f"there is no asset at position {asset} to limit{where}; there are {len(names)} "
            f"assets, at 0 to {len(names) - 1}."
        )
    return (
        f"there is no asset {asset!r} to limit{where}; {said.nearest(asset, names)}"
        f"he assets are {some_names(list(names))}."
    )


def _called(asset: Asset) -> str:
    return asset if isinstance(asset, str) else f"asset {asset}"


def _number(value: Any, what: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if isinstance(value, (bool, str)) or not abs(number) <= LARGEST:
        raise InvalidInput(
            f"the {what} is {gate.shown(value)}; give a share of the portfolio, 0.3 say."
        )
    return number


def _holdings(given: Any) -> tuple[tuple[Asset, float], ...]:
    """(asset, coefficient) pairs without zeros, each asset once, in the order they were given."""
    items: Any = given.items() if hasattr(given, "items") else given
    if isinstance(items, str) or not isinstance(items, Iterable):
        raise InvalidInput(
            f"the holdings of a limit are {gate.shown(given)}; give {{asset: coefficient}}, "
            '{"A": 1, "B": 1} say.'
        )
    listed: list[Any] = list(items)
    if listed and all(np.ndim(one) == 0 and not isinstance(one, str) for one in listed):
        listed = list(enumerate(listed))  # a coefficient for each asset, in their order
    found: dict[Asset, float] = {}
    for pair in listed:
        try:
            asset, factor = pair
        except (TypeError, ValueError):
            raise InvalidInput(
                f"a limit has {gate.shown(pair)} where an asset and its coefficient belong; give "
                '{asset: coefficient}, {"A": 1, "B": 1} say.'
            ) from None
        number = _number(factor, "coefficient in a limit")
        place = _asset(asset)
        found[place] = found.get(place, 0.0) + number
    kept = tuple((asset, factor) for asset, factor in found.items() if factor)
    if not kept:
        raise InvalidInput(
            "a limit has no asset with a coefficient other than zero; name at least one, "
            '{"A": 1} say.'
        )
    return kept


def _asset(given: Any) -> Asset:
    if isinstance(given, str):
        return given
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        return int(given)
    raise InvalidInput(
        f"a limit names the asset {gate.shown(given)}; give its name or its position."
    )
