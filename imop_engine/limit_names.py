"""The names that a limit may use: assets, and groups with or without their column."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Final

from imop_engine.asset_groups import AssetGroups
from imop_engine.errors import InvalidInput
from imop_engine.market import some_names
from imop_engine.sentences import limits as said

NUMBER: Final = re.compile(r"(?:\d+(?:[.,]\d+)?|[.,]\d+)(?:[eE][+-]?\d+)?\s*%?")
NAME_GOES_ON: Final = r"(?![\w%&:/.])"
Named = tuple[str, tuple[str, ...]]  # what it is called in full, and its assets
NO_NAME: Final = re.compile(r"(?!)")
ASSET: Final = "asset"  # the column in which every asset is a group of its own


class LimitNames:
    """Assets and groups by what people call them.

    Assets come before groups of the same name, and capitals count only where they tell two apart.

    Args:
        names: the assets.
        groups: what groups can be named.

    >>> known = LimitNames(["AAPL", "KO"], AssetGroups.of({"sector": {"KO": "Staples"}}))
    >>> known.find("staples"), known.find("ko"), known.find("MSFT")
    (('sector:Staples', ('KO',)), ('KO', ('KO',)), None)
    """

    def __init__(self, names: Sequence[str], groups: AssetGroups | None = None) -> None:
        self.names = tuple(names)
        self.groups = groups or AssetGroups()
        self._unclear: dict[str, str] = {}
        self._exact = self._listed()
        self._loose: dict[str, Named] = {}
        for name, named in self._exact.items():
            self._loose.setdefault(name.casefold(), named)

    def find(self, name: str) -> Named | None:
        """What a name stands for, in full, and its assets; None where nobody is called so.

        Raises:
            InvalidInput: the name may be one of several groups.
        """
        plain = _plain(name)
        if plain in self._exact:
            return self._exact[plain]
        if plain.casefold() in self._loose:
            return self._loose[plain.casefold()]
        if plain.casefold() in self._unclear:
            raise InvalidInput(self._unclear[plain.casefold()])
        return None

    def match(self, text: str, at: int) -> str | None:
        """The longest name that stands at a place of a text; None where there is none.

        Args:
            text: the text.
            at: the place.
        """
        found = self._pattern.match(text, at)
        return None if found is None else found[0]

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        # an asset called 5 needs quotes
        all_ = [name for name in self._exact if not NUMBER.fullmatch(name)] + list(self._unclear)
        written = sorted(map(_spaced, all_), key=len, reverse=True)
        if not written:
            return NO_NAME
        return re.compile(f"(?:{'|'.join(written)}){NAME_GOES_ON}", re.IGNORECASE)

    @property
    def columns(self) -> tuple[str, ...]:
        """What "each" may be said of."""
        return (ASSET, *(column for column in self.groups.columns if column != ASSET))

    def values_of(self, column: str) -> tuple[str, ...]:
        """What "each" goes through: the groups of a column, or the assets."""
        return self.names if column == ASSET else self.groups.of_column(column)

    def named(self, column: str, value: str) -> Named:
        """One of `values_of`, in full, and its assets."""
        if column == ASSET:
            return value, (value,)
        return f"{column}:{value}", self.groups.members(column, value)

    def unknown(self, name: str) -> str:
        """The sentence about a name that nobody has, with the nearest that somebody has."""
        column, sign, value = (part.strip() for part in name.partition(":"))
        match = {one.casefold(): one for one in self.groups.columns}.get(column.casefold())
        if sign and match:
            values = self.groups.of_column(match)
            return (
                f"there is no {match} {value!r}; {said.nearest(value, values)}he groups by {match} "
                f"are {some_names(values)}"
            )
        if sign and self.groups.columns:
            return (
                f"assets are not grouped by {column!r}; the columns of groups are "
                f"{', '.join(self.groups.columns)}"
            )
        if sign:
            return (
                f"there is no asset {name!r}, and no groups are given (a table of asset and group)"
            )
        groups = [g for column in self.groups.columns for g in self.groups.of_column(column)]
        return (
            f"there is no asset {'or group ' if groups else ''}{name!r}; "
            f"{said.nearest(name, [*self.names, *groups])}he assets are {some_names(self.names)}"
        )

    def _listed(self) -> dict[str, Named]:
        exact: dict[str, Named] = {_plain(name): (name, (name,)) for name in self.names}
        bare: dict[str, list[Named]] = {}
        for column in self.groups.columns:
            for group in self.groups.of_column(column):
                named = self.named(column, group)
                exact.setdefault(_plain(named[0]), named)
                bare.setdefault(_plain(group), []).append(named)
        for group, found in bare.items():
            if len(found) == 1:
                exact.setdefault(group, found[0])
            elif group not in exact:
                several = " or ".join(one for one, _ in found)
                self._unclear[group.casefold()] = f"{group!r} may be {several}; write one of them"
        return exact


def _plain(name: str) -> str:
    """A name with single spaces, and none around colons."""
    return " ".join(name.replace(":", " : ").split()).replace(" : ", ":")


def _spaced(name: str) -> str:
    """A pattern of a name in which a space is any run of spaces, and a colon may have some."""
    parts = [r"\s+".join(map(re.escape, part.split())) for part in name.split(":")]
    return r"\s*:\s*".join(parts)
