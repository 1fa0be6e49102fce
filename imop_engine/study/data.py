"""What a study starts from: moments, portfolios, and what was noticed while they were read.

Moments and portfolios are brought to one order of assets here, and every portfolio is checked once:
a bad one gets a reason and takes no part, the others go on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import InvalidInput
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

    expected_returns: pd.Series[float]
    covariance: pd.DataFrame
    portfolios: pd.DataFrame  # one row an investor, in stream order
    attributes: pd.DataFrame  # same rows; empty where nothing is known of the investors
    reasons: tuple[str, ...]  # one a row; "" where the portfolio is good
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
        """Bring moments and portfolios to one order of assets and check every portfolio."""
        table = portfolios if isinstance(portfolios, pd.DataFrame) else pd.DataFrame(portfolios)
        names = _names(expected_returns, covariance, table)
        returns = _series(expected_returns, names, "the expected returns")
        square = _square(covariance, names)
        told = list(notes)
        held = _holdings(table, names, told)
        known = _attributes(attributes, dates, held)
        return cls(
            returns,
            square,
            held,
            known,
            tuple(_reasons(held)),
            tuple(Reading.of(one) for one in reading),
            tuple(told),
            None if truth is None else _series(truth, names, "the true returns"),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The assets."""
        return tuple(self.covariance.columns)

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
        return StudyData.of(
            self.expected_returns,
            self.covariance,
            pd.concat([self.portfolios, other.portfolios]),
            attributes=pd.concat([self.attributes, other.attributes]),
            reading=(*self.reading, *other.reading),
            notes=tuple(dict.fromkeys((*self.notes, *other.notes))),
            truth=self.truth,
        )


def _names(expected_returns: Any, covariance: Any, table: pd.DataFrame) -> tuple[str, ...]:
    named = [covariance.columns] if isinstance(covariance, pd.DataFrame) else []
    named += [expected_returns.index] if isinstance(expected_returns, pd.Series) else []
    names = tuple(str(name) for name in (named or [table.columns])[0])
    _require_different(names, "the assets")
    _require_different([str(name) for name in table.columns], "the columns of the portfolios")
    return names


def _require_different(names: Sequence[str], what: str) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InvalidInput(f"{what} must have different names; {twice[0]!r} is there twice.")


def _numbers(values: Any, what: str) -> NDArray[np.float64]:
    try:
        return np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInput(f"{what} must be numbers; check what is in the table.") from None


def _series(values: Any, names: tuple[str, ...], what: str) -> pd.Series[float]:
    if isinstance(values, pd.Series):
        named = values.set_axis([str(name) for name in values.index])
        _require_different(list(named.index), f"the entries of {what}")
        missing = [name for name in names if name not in named.index]
        if missing:
            raise InvalidInput(f"{what} have no entry for {missing[0]}; every asset needs one.")
        values = named[list(names)].to_numpy()
    array: Vector = _numbers(values, what).reshape(-1)
    if array.size != len(names):
        raise InvalidInput(f"{what} have {array.size} numbers for {len(names)} assets.")
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise InvalidInput(
            f"{what} have {array[bad[0]]} for {names[bad[0]]}; give a number or leave the asset "
            "out."
        )
    return pd.Series(array, index=pd.Index(names, name="asset"))


def _square(covariance: Any, names: tuple[str, ...]) -> pd.DataFrame:
    if isinstance(covariance, pd.DataFrame):
        rows = [str(name) for name in covariance.index]
        if set(rows) == set(names) and len(rows) == len(names):
            covariance = covariance.iloc[[rows.index(name) for name in names]]
    array = _numbers(covariance, "the covariance")
    if array.shape != (len(names), len(names)):
        raise InvalidInput(
            f"the covariance has shape {array.shape} for {len(names)} assets; give a square table."
        )
    return pd.DataFrame(array, index=pd.Index(names, name="asset"), columns=list(names))


def _holdings(table: pd.DataFrame, names: tuple[str, ...], notes: list[str]) -> pd.DataFrame:
    numbered = [str(position) for position in range(len(names))]
    if list(map(str, table.columns)) == numbered and not set(numbered) & set(names):
        table = table.set_axis(list(names), axis=1)
    table = table.set_axis([str(name) for name in table.columns], axis=1)
    strange = [name for name in table.columns if name not in names]
    if strange:
        raise InvalidInput(
            f"the portfolios hold {strange[0]}, which the returns do not know; the assets are "
            f"{', '.join(names[:8])}{', …' if len(names) > 8 else ''}. Leave the column out or add "
            "the asset's returns."
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
