"""Investors: portfolios in the order they were seen, and what else is known of who holds them.

One noun for investors who were read from a file, simulated, or given from Python. Portfolios are
checked once, where they come in: a bad one gets a reason and takes no part, the others go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import InvalidInput
from imop_engine.market import check_returns, require_different, some_names
from imop_engine.sentences.run import absent_columns

# Holdings that were rounded to 0.001 one by one miss one by half a step an asset at most: 0.015
# for 30 assets. What misses it by more is not a whole portfolio.
SUM_TOLERANCE: Final = 0.02
SIMULATED: Final = "simulated"


@dataclass(frozen=True, eq=False)
class Investors:
    """Portfolios, one row per investor. Make it with `Investors.of` where they come from outside.

    Args:
        names: the assets, in the order of the columns.
        ids: what each investor is called.
        portfolios: shares of the assets, one row per investor.
        reasons: why a portfolio cannot be learned from, "" where it can; () where all can.
        attributes: what else is known, one row per investor.
        dates: when each portfolio was seen, or None.
        weights: the true weight on return of each, where they were simulated.
        truth: the yearly returns they believe in, where those are known.
        roles: what each column of the file was taken for, as (column, role) pairs.
        reading: the readers' reports, one per file.
        notes: what the analyst should know.
        origin: where they come from, for people: "simulated", "from clients.csv".
        set_aside: investors of the file whose portfolio takes no part, as too little of it has a
            return history or it cannot be read: the reason, then date and attributes.
    """

    names: tuple[str, ...]
    ids: tuple[str, ...]
    portfolios: Matrix
    reasons: tuple[str, ...] = ()
    attributes: pd.DataFrame = field(default_factory=pd.DataFrame)
    dates: Any = None
    weights: Vector | None = None
    truth: Vector | None = None
    roles: tuple[tuple[str, str], ...] = ()
    reading: tuple[Any, ...] = ()
    notes: tuple[str, ...] = ()
    origin: str = ""
    set_aside: pd.DataFrame = field(default_factory=pd.DataFrame)

    def __post_init__(self) -> None:
        if not len(self.attributes.columns):
            nothing = pd.DataFrame(index=pd.Index(self.ids, name="investor"))
            object.__setattr__(self, "attributes", nothing)

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def of(
        cls,
        portfolios: Any,
        names: tuple[str, ...],
        *,
        attributes: pd.DataFrame | None = None,
        truth: Any = None,
        **about: Any,
    ) -> Investors:
        """Check portfolios on the assets of a market.

        Args:
            portfolios: one row per investor; a frame by asset, or an array in the order of `names`.
            names: the assets.
            attributes: what else is known, one row per portfolio in the same order.
            truth: the returns they believe in, by asset.
            **about: the other fields.

        Returns:
            The investors, with a reason for every portfolio that cannot be learned from.
        """
        table = portfolios if isinstance(portfolios, pd.DataFrame) else pd.DataFrame(portfolios)
        require_different([str(name) for name in table.columns], "the columns of the portfolios")
        held, absent = _holdings(table, names)
        notes = (*about.pop("notes", ()), *([absent_columns(absent)] if absent else ()))
        return cls(
            names,
            tuple(held.index),
            held.to_numpy(),
            tuple(_reasons(held)),
            attributes=_attributes(attributes, held.index),
            truth=None if truth is None else check_returns(truth, names, "the true returns"),
            notes=notes,
            **about,
        )

    @cached_property
    def holdings(self) -> pd.DataFrame:
        """The portfolios with the names of investors and assets."""
        index = pd.Index(self.ids, name="investor")
        return pd.DataFrame(self.portfolios, index=index, columns=list(self.names))

    @cached_property
    def good(self) -> NDArray[np.bool_]:
        """Which portfolios can be learned from."""
        if not self.reasons:
            return np.ones(len(self), dtype=bool)
        return np.array([reason == "" for reason in self.reasons], dtype=bool)

    @cached_property
    def decisions(self) -> Matrix:
        """The portfolios that can be learned from, in stream order."""
        return np.ascontiguousarray(self.portfolios[self.good])

    def only(self, mask: NDArray[np.bool_]) -> Investors:
        """Some of these investors, in the same order; those whom reading set aside stay so.

        Args:
            mask: a flag for each portfolio.
        """
        rows = np.flatnonzero(mask)
        return Investors(
            self.names,
            tuple(self.ids[row] for row in rows),
            self.portfolios[rows],
            tuple(self.reasons[row] for row in rows) if self.reasons else (),
            attributes=self.attributes.iloc[rows],
            dates=None if self.dates is None else pd.Series(self.dates).iloc[rows],
            weights=None if self.weights is None else self.weights[rows],
            truth=self.truth,
            roles=self.roles,
            reading=self.reading,
            notes=self.notes,
            origin=self.origin,
            set_aside=self.set_aside,
        )

    def require_all(self) -> None:
        """Refuse them all for one bad portfolio."""
        for position, reason in enumerate(self.reasons):
            if reason:
                raise InvalidInput(
                    f"portfolio {position + 1} ({self.ids[position]}) {reason}; put it right or "
                    "leave strict mode, which sets such portfolios aside."
                )


def joined(parts: Sequence[Investors], origin: str = "") -> Investors:
    """Several lots of investors on the same assets as one stream.

    What only some of them have (dates, true weights, one truth) is left out.
    """
    first = parts[0]
    truths = [part.truth for part in parts if part.truth is not None]
    same = len(truths) == len(parts) and all(np.array_equal(truths[0], one) for one in truths)
    weights = [part.weights for part in parts if part.weights is not None]
    dates = [pd.Series(part.dates) for part in parts if part.dates is not None]
    return Investors(
        first.names,
        tuple(one for part in parts for one in part.ids),
        np.concatenate([part.portfolios for part in parts]),
        tuple(reason for part in parts for reason in part.reasons or ("",) * len(part)),
        attributes=pd.concat([part.attributes for part in parts]),
        dates=pd.concat(dates) if len(dates) == len(parts) else None,
        weights=np.concatenate(weights) if len(weights) == len(parts) else None,
        truth=truths[0] if same else None,
        roles=first.roles,
        reading=tuple(report for part in parts for report in part.reading),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        origin=origin,
        set_aside=_concatenated([part.set_aside for part in parts]),
    )


def _concatenated(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Tables below each other; those without rows have no say in the columns."""
    filled = [table for table in tables if len(table)]
    return pd.concat(filled) if filled else pd.DataFrame()


def numbered(count: int) -> tuple[str, ...]:
    """Names for investors who have none: their place in the stream, from 1."""
    return tuple(map(str, range(1, count + 1)))


def _holdings(table: pd.DataFrame, names: tuple[str, ...]) -> tuple[pd.DataFrame, list[str]]:
    """The portfolios in the order of the assets, and assets that have no column."""
    places = [str(position) for position in range(len(names))]
    if list(map(str, table.columns)) == places and not set(places) & set(names):
        table = table.set_axis(list(names), axis=1)
    table = table.set_axis([str(name) for name in table.columns], axis=1)
    strange = [name for name in table.columns if name not in names]
    if strange:
        raise InvalidInput(
            f"the portfolios hold {strange[0]}, which the returns do not know; the assets are "
            f"{some_names(names)}. Leave the column out or add the asset's returns."
        )
    absent = [name for name in names if name not in table.columns]
    if len(absent) == len(names):
        raise InvalidInput("the portfolios hold none of the assets; check the column names.")
    full = table.reindex(columns=list(names), fill_value=0.0)
    numbers: pd.DataFrame = full.apply(pd.to_numeric, errors="coerce").astype(float)
    unnamed = list(map(str, numbers.index)) == [str(i) for i in range(len(numbers))]
    ids = numbered(len(numbers)) if unnamed else [str(label) for label in numbers.index]
    numbers.index = pd.Index(ids, name="investor")
    return numbers, absent


def _attributes(given: pd.DataFrame | None, index: pd.Index[Any]) -> pd.DataFrame:
    if given is None:
        return pd.DataFrame(index=index)
    if len(given) != len(index):
        raise InvalidInput(
            f"there are attributes of {len(given)} investors and {len(index)} portfolios; give "
            "one row for each portfolio, in the same order."
        )
    known = given.copy()
    known.index = index
    return known


def _reasons(held: pd.DataFrame) -> list[str]:
    """Why each portfolio cannot be learned from; empty where it can."""
    array = held.to_numpy()
    reasons = [""] * len(array)
    missing = ~np.isfinite(array)
    totals = np.where(missing, 0.0, array).sum(axis=1)
    for row in np.flatnonzero(missing.any(axis=1)):
        name = held.columns[int(np.argmax(missing[row]))]
        reasons[row] = f"has no number for {name}"
    off = np.abs(totals - 1.0) > SUM_TOLERANCE
    for row in np.flatnonzero(off & ~missing.any(axis=1)):
        reasons[row] = f"adds up to {totals[row]:.4g} instead of 1"
    return reasons
