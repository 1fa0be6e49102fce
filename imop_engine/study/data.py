"""What a study starts from: moments, portfolios, and what was noticed while they were read.

Moments and portfolios are brought to one order of assets here, and every portfolio is checked once:
a bad one gets a reason and takes no part, the others go on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from imop_engine.arguments import Matrix
from imop_engine.investors import Investors, joined
from imop_engine.market import Market

LEARNED: Final = "learned"
REFUSED: Final = "refused"
MONTHS: Final = 12  # in a year


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
    covered: float | None = None  # share of the file's value that has a return history

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
            getattr(report, "covered", None),
        )

    def to_dict(self) -> dict[str, Any]:
        """Counts and sentences as plain values; the lines have a table of their own."""
        return {
            "name": self.name,
            "rows_read": self.rows_read,
            "rows_kept": self.rows_kept,
            "rows_changed": self.rows_changed,
            "rows_refused": self.rows_refused,
            "covered": self.covered,
            "sentences": list(self.sentences),
        }


@dataclass(frozen=True, eq=False)
class StudyData:
    """A market and investors on its assets. Make it with `StudyData.of` or `StudyData.on`."""

    market: Market
    investors: Investors
    reading: tuple[Reading, ...]
    notes: tuple[str, ...]

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
        set_aside: pd.DataFrame | None = None,
        truth: Any = None,
        history: pd.DataFrame | None = None,
        months: int | None = None,
        periods_per_year: int = MONTHS,
        mean_covariance: Any = None,
    ) -> StudyData:
        """Bring moments and portfolios to one order of assets and check every portfolio.

        Args:
            expected_returns: Yearly, by asset.
            covariance: Of the yearly returns, assets by assets.
            portfolios: One row for each investor and a column for each asset, fractions of wealth;
                investors are named by the index, or by a single column of texts.
            attributes: What else is known, one row for each investor in the same order.
            dates: The day of each portfolio.
            reading: The reports of the files that were read.
            notes: What the analyst should know of the data.
            set_aside: Investors whose portfolio takes no part: reason, then what is known of them.
            truth: The true yearly returns where the investors were simulated.
            history: The returns behind the moments, a row for each period; None: not at hand.
            months: How many months the moments come from, where the table is not at hand.
            periods_per_year: Of the history.
            mean_covariance: Covariance of the expected returns as estimates; None: by the history.

        Returns:
            The data in one order of assets, each portfolio with the reason why it is refused, if it
            is.
        """
        table = portfolios if isinstance(portfolios, pd.DataFrame) else pd.DataFrame(portfolios)
        table = _by_investor(table)
        columns = [str(name) for name in table.columns]
        about: dict[str, Any] = {"reading": tuple(reading), "notes": tuple(notes)}
        if history is not None:
            about |= {"history": history, "periods_per_year": periods_per_year}
        if mean_covariance is not None:
            about |= {"mean_covariance": mean_covariance}
        if months is not None:
            about |= {"months": months}
        market = Market.of(expected_returns, covariance, columns, **about)
        people = Investors.of(
            table,
            market.names,
            attributes=attributes,
            dates=dates,
            truth=truth,
            set_aside=pd.DataFrame() if set_aside is None else set_aside,
        )
        return cls.on(market, people)

    @classmethod
    def on(cls, market: Market, investors: Investors) -> StudyData:
        """Put together what was read or drawn before.

        Args:
            market: Its assets and moments.
            investors: Their portfolios on these assets, checked.
        """
        return cls(
            market,
            investors,
            tuple(Reading.of(one) for one in (*market.reading, *investors.reading)),
            (*market.notes, *investors.notes),
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
    def portfolios(self) -> pd.DataFrame:
        """One row per investor, in stream order; a column per asset."""
        return self.investors.holdings.rename_axis("id")

    @cached_property
    def attributes(self) -> pd.DataFrame:
        """The same rows: what else is known of the investors, the date first where there is one."""
        known = self.investors.attributes
        if self.investors.dates is not None:
            known = known.drop(columns="date", errors="ignore")
            known.insert(0, "date", pd.Series(self.investors.dates).to_numpy())
        return known.rename_axis("id")

    @cached_property
    def truth(self) -> pd.Series[float] | None:
        """The true returns by asset, where they are known."""
        if self.investors.truth is None:
            return None
        return pd.Series(self.investors.truth, index=pd.Index(self.names, name="asset"))

    @cached_property
    def reasons(self) -> tuple[str, ...]:
        """Why each portfolio takes no part; "" where it does."""
        return self.investors.reasons or ("",) * len(self.investors)

    @property
    def set_aside(self) -> pd.DataFrame:
        """Investors of the files whose portfolio takes no part: reason, then what is known."""
        return self.investors.set_aside

    @property
    def good(self) -> NDArray[np.bool_]:
        """Which portfolios take part."""
        return self.investors.good

    @property
    def decisions(self) -> Matrix:
        """The good portfolios, in stream order."""
        return self.investors.decisions

    def joined(self, other: StudyData) -> StudyData:
        """These portfolios, then those of another study on the same assets."""
        both = joined((self.investors, other.investors))
        # dates go along as an attribute: one of the two may have none
        known = pd.concat([self.attributes, other.attributes]).rename_axis("investor")
        people = replace(both, attributes=known, dates=None, truth=self.investors.truth)
        return StudyData(
            self.market,
            people,
            (*self.reading, *other.reading),
            tuple(dict.fromkeys((*self.notes, *other.notes))),
        )


def _by_investor(table: pd.DataFrame) -> pd.DataFrame:
    """Where rows are only counted and one column is text, that column names the investors."""
    texts = [n for n, kind in enumerate(table.dtypes) if not pd.api.types.is_numeric_dtype(kind)]
    if len(texts) != 1 or not isinstance(table.index, pd.RangeIndex):
        return table
    column = table.iloc[:, texts[0]]
    if not column.map(lambda cell: isinstance(cell, str)).all():
        return table
    if pd.to_numeric(column, errors="coerce").notna().any():  # holdings written as text
        return table
    return table.drop(columns=table.columns[texts[0]]).set_axis(column.to_numpy(), axis="index")
