"""What a study starts from: moments, portfolios, and what was noticed while they were read.

Moments and portfolios are brought to one order of assets here, and every portfolio is checked once:
a bad one gets a reason and takes no part, the others go on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from imop_engine.arguments import Matrix
from imop_engine.errors import InvalidInput
from imop_engine.market import Market, check_returns, require_different, some_names
from imop_engine.sentences.run import absent_columns

# Holdings that were rounded to 0.001 one by one miss one by half a step an asset at most: 0.015
# for 30 assets. What misses it by more is not a whole portfolio.
SUM_TOLERANCE: Final = 0.02
LEARNED: Final = "learned"
REFUSED: Final = "refused"


@dataclass(frozen=True, eq=False)
class Reading:
    """What was noticed while a file was read: counts, sentences, and one line for each change."""

    name: str
    rows_read: int
    rows_kept: int
    rows_changed: int
    rows_refused: int
    sentences: tuple[str, ...]
    lines: pd.DataFrame

    @classmethod
    def of(cls, report: Any) -> Reading:
        """From the report of a reader."""
        if isinstance(report, cls):
            return report
        return cls(
            str(report.file),
            int(report.rows_read),
            int(report.rows_kept),
            int(report.rows_changed),
            int(report.rows_refused),
            tuple(str(sentence) for sentence in report.sentences()),
            report.to_frame(),
        )

    def to_dict(self) -> dict[str, Any]:
        """Counts and sentences as plain values; the lines have a table of their own."""
        return {
            "name": self.name,
            "rows_read": self.rows_read,
            "rows_kept": self.rows_kept,
            "rows_changed": self.rows_changed,
            "rows_refused": self.rows_refused,
            "sentences": list(self.sentences),
        }


@dataclass(frozen=True, eq=False)
class StudyData:
    """Moments and portfolios over the same assets. Make it with `StudyData.of`."""

    market: Market
    portfolios: pd.DataFrame  # one row for each investor, in stream order
    attributes: pd.DataFrame  # same rows; empty where nothing is known of the investors
    reasons: tuple[str, ...]  # one in each row; "" where the portfolio is good
    reading: tuple[Reading, ...]
    notes: tuple[str, ...]
    truth: pd.Series[float] | None

    @classmethod
    def of(
        cls,
        expected_returns: Any,
        covariance: Any,
        portfolios: Any,
        *,
        attributes: pd.DataFrame | None = None,
        dates: Any = None,
        reading: Any = (),
        notes: tuple[str, ...] = (),
        truth: Any = None,
    ) -> StudyData:
        """Bring moments and portfolios to one order of assets and check every portfolio.

        Args:
            expected_returns: Yearly, by asset.
            covariance: Of the yearly returns, assets by assets.
            portfolios: One row for each investor and a column for each asset, fractions of wealth.
            attributes: What else is known, one row for each investor in the same order.
            dates: The day of each portfolio.
            reading: The reports of the files that were read.
            notes: What the analyst should know of the data.
            truth: The true yearly returns where the investors were simulated.

        Returns:
            The data in one order of assets, each portfolio with the reason why it is refused, if it
            is.
        """
        table = portfolios if isinstance(portfolios, pd.DataFrame) else pd.DataFrame(portfolios)
        columns = [str(name) for name in table.columns]
        market = Market.of(expected_returns, covariance, columns)
        require_different(columns, "the columns of the portfolios")
        return cls.on(
            market,
            table,
            attributes=attributes,
            dates=dates,
            reading=reading,
            notes=notes,
            truth=truth,
        )

    @classmethod
    def on(
        cls,
        market: Market,
        portfolios: pd.DataFrame,
        *,
        attributes: pd.DataFrame | None = None,
        dates: Any = None,
        reading: Any = (),
        notes: tuple[str, ...] = (),
        truth: Any = None,
    ) -> StudyData:
        """Check portfolios on the assets of a market.

        Args:
            market: Its assets and moments.
            portfolios: One row for each investor and a column for each asset, fractions of wealth.
            attributes: What else is known, one row for each investor in the same order.
            dates: The day of each portfolio.
            reading: The reports of the files that were read.
            notes: What the analyst should know of the data.
            truth: The true yearly returns where the investors were simulated.

        Returns:
            Each portfolio with the reason why it is refused, if it is.
        """
        told = list(notes)
        held = _holdings(portfolios, market.names, told)
        known = _attributes(attributes, dates, held)
        return cls(
            market,
            held,
            known,
            tuple(_reasons(held)),
            tuple(Reading.of(one) for one in reading),
            tuple(told),
            None if truth is None else _true_returns(truth, market.names),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The assets."""
        return self.market.names

    @property
    def expected_returns(self) -> pd.Series[float]:
        """By asset, per year."""
        return self.market.returns_by_asset

    @property
    def covariance(self) -> pd.DataFrame:
        """Of the assets, per year."""
        return self.market.covariance_by_asset

    @cached_property
    def good(self) -> NDArray[np.bool_]:
        """Which portfolios take part."""
        return np.array([reason == "" for reason in self.reasons], dtype=bool)

    @cached_property
    def decisions(self) -> Matrix:
        """The good portfolios, in stream order."""
        return np.ascontiguousarray(self.portfolios.to_numpy(dtype=float)[self.good])

    def require_all(self) -> None:
        """Refuse the whole study for one bad portfolio."""
        for position, reason in enumerate(self.reasons):
            if reason:
                raise InvalidInput(
                    f"portfolio {position + 1} ({self.portfolios.index[position]}) {reason}; put "
                    "it right or leave strict mode, which sets such portfolios aside."
                )

    def joined(self, other: StudyData) -> StudyData:
        """These portfolios, then those of another study on the same assets."""
        return StudyData.on(
            self.market,
            pd.concat([self.portfolios, other.portfolios]),
            attributes=pd.concat([self.attributes, other.attributes]),
            reading=(*self.reading, *other.reading),
            notes=tuple(dict.fromkeys((*self.notes, *other.notes))),
            truth=self.truth,
        )


def _true_returns(values: Any, names: tuple[str, ...]) -> pd.Series[float]:
    array = check_returns(values, names, "the true returns")
    return pd.Series(array, index=pd.Index(names, name="asset"))


def _holdings(table: pd.DataFrame, names: tuple[str, ...], notes: list[str]) -> pd.DataFrame:
    numbered = [str(position) for position in range(len(names))]
    if list(map(str, table.columns)) == numbered and not set(numbered) & set(names):
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
    if absent:
        notes.append(absent_columns(absent))
    full = table.reindex(columns=list(names), fill_value=0.0)
    numbers: pd.DataFrame = full.apply(pd.to_numeric, errors="coerce").astype(float)
    unnamed = list(map(str, numbers.index)) == [str(i) for i in range(len(numbers))]
    labels = range(1, len(numbers) + 1) if unnamed else numbers.index
    numbers.index = pd.Index([str(label) for label in labels], name="id")
    return numbers


def _attributes(given: pd.DataFrame | None, dates: Any, held: pd.DataFrame) -> pd.DataFrame:
    known = pd.DataFrame(index=held.index)
    if given is not None:
        if len(given) != len(held):
            raise InvalidInput(
                f"there are attributes of {len(given)} investors and {len(held)} portfolios; give "
                "one row for each portfolio, in the same order."
            )
        known = given.copy()
        known.index = held.index
    if dates is not None:
        known = known.drop(columns="date", errors="ignore")
        known.insert(0, "date", pd.Series(dates).to_numpy())
    result: pd.DataFrame = known
    return result


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
