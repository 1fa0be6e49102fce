"""A market: assets, what they are expected to return in a year, and how they move together.

One noun for what is bundled, read from files or fetched, so that the shell, the app and a study
speak of the same thing. Its numbers are checked once, where it is made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from imop_engine import gate
from imop_engine.arguments import Matrix, Vector
from imop_engine.asset_groups import AssetGroups
from imop_engine.errors import InvalidInput
from imop_engine.sentences.market import cash_given

# Standard deviation a year of an asset that is given as a rate: about that of a short rate from one
# year to the next. Not zero, so that the covariance stays positive definite.
CASH_RISK: Final = 0.005
MONTHS_A_YEAR: Final = 12
ASSETS_NAMED: Final = 8  # in a sentence about a name that is none of the assets


@dataclass(frozen=True, eq=False)
class Market:
    """Yearly moments of some assets, the history behind them, and what was noticed on the way.

    Make it with `Market.of` where the numbers come from outside.

    Args:
        names: the assets; all arrays are in this order.
        expected_returns: per year, as fractions; read-only.
        covariance: per year; read-only.
        history: one row of returns per period, or None where the moments were given without one.
        periods_per_year: periods of the history to the year; 1 without a history.
        name: what the market is called where it comes from: of a bundled set, of a file.
        title: the same for people.
        description: one sentence about the data.
        notes: what the analyst should know of the moments.
        guessed: what was detected in a file, as (what, value) pairs.
        reading: the readers' reports, one per file.
        clean: whether nothing in it needs the analyst's attention.
        mean_covariance: covariance of the expected returns as estimates, per year: what their
            standard errors are made of. The covariance over the number of years where the history
            lacks nothing; None without a history. Read-only.
        months: how many months the moments come from, where that is known and the table is not.
        groups: which assets belong together, by sector say; limits may name them.
    """

    names: tuple[str, ...]
    expected_returns: Vector
    covariance: Matrix
    history: pd.DataFrame | None = None
    periods_per_year: int = 1
    name: str = ""
    title: str = ""
    description: str = ""
    notes: tuple[str, ...] = ()
    guessed: tuple[tuple[str, str], ...] = ()
    reading: tuple[Any, ...] = ()
    clean: bool = True
    mean_covariance: Matrix | None = None
    months: int | None = None
    groups: AssetGroups = field(default_factory=AssetGroups)

    @classmethod
    @gate.method
    def of(
        cls,
        expected_returns: Any,
        covariance: Any,
        names: Sequence[str] | None = None,
        **about: Any,
    ) -> Market:
        """Check moments and bring them to one order of assets.

        Args:
            expected_returns: by asset, per year; a Series, or an array in the order of `names`.
            covariance: per year; a frame, or a square array in that order.
            names: the assets, where neither of the two says them.
            **about: the other fields of a market.

        Returns:
            The market, in the order of the covariance's columns where it has names.
        """
        assets = asset_names(expected_returns, covariance, names)
        matrix = read_only(_check_covariance(covariance, assets))
        history, error = about.get("history"), about.pop("mean_covariance", None)
        if error is not None:
            error = read_only(_check_covariance(error, assets, "the covariance of the means"))
        elif history is not None and not history.isna().to_numpy().any():
            error = read_only(matrix * about.get("periods_per_year", 1) / len(history))
        elif history is None and about.get("months") is not None:
            error = read_only(matrix * MONTHS_A_YEAR / _checked_months(about["months"]))
        return cls(
            assets,
            read_only(check_returns(expected_returns, assets, "the expected returns")),
            matrix,
            mean_covariance=error,
            **about,
        )

    def resting_on(self, months: int) -> Market:
        """The same moments, known to come from so many months.

        Args:
            months: of the history behind them, which is not at hand.

        Returns:
            A market whose moments count as estimates.
        """
        if self.history is not None:
            raise InvalidInput(
                f"months is {months}, but the history itself is given and has {len(self.history)} "
                "periods; leave months out, it is for moments without a history."
            )
        error = read_only(self.covariance * MONTHS_A_YEAR / _checked_months(months))
        return replace(self, months=months, mean_covariance=error)

    @gate.method
    def with_cash(self, name: str, rate: float, risk: float = CASH_RISK) -> Market:
        """The same market with one asset more: cash, of which only a rate is known.

        Args:
            name: what it is called in the portfolios.
            rate: what it earns in a year, a fraction; taken as known exactly.
            risk: its standard deviation a year, a fraction above zero; it is unrelated to the
                other assets.

        Returns:
            A market with cash as its last asset. Where there is a history, cash earns its rate in
            every period.
        """
        gate.text("name", name)
        if name in self.names:
            raise InvalidInput(
                f"{name} is an asset of the market already, with returns of its own; a rate is for "
                "cash without a history."
            )
        if not (name and -1.0 < rate < 1.0):
            raise InvalidInput(
                f"cash {name or '(no name)'} has the rate {rate:g}; give a name and a yearly rate "
                "as a fraction, such as 0.02."
            )
        if not 0.0 < risk < 1.0:
            raise InvalidInput(
                f"risk is {risk:g}; give cash a standard deviation a year above zero, such as "
                f"{CASH_RISK:g}: without any the covariance would be singular."
            )
        history, error = self.history, self.mean_covariance
        if history is not None:
            history = history.assign(**{name: rate / self.periods_per_year})
        return replace(
            self,
            names=(*self.names, name),
            expected_returns=read_only(np.append(self.expected_returns, rate)),
            covariance=_bordered(self.covariance, risk**2),
            mean_covariance=None if error is None else _bordered(error, 0.0),
            history=history,
            notes=(*self.notes, cash_given(name, rate, risk)),
        )

    @property
    def size(self) -> int:
        """Number of assets."""
        return len(self.names)

    @cached_property
    def returns_by_asset(self) -> pd.Series[float]:
        """The expected returns with the assets' names."""
        return pd.Series(self.expected_returns, index=pd.Index(self.names, name="asset"))

    @cached_property
    def covariance_by_asset(self) -> pd.DataFrame:
        """The covariance with the assets' names."""
        index = pd.Index(self.names, name="asset")
        return pd.DataFrame(self.covariance, index=index, columns=list(self.names))

    @property
    def periods_known(self) -> NDArray[np.int64] | None:
        """How many returns of each asset the history has; None without a history."""
        if self.history is None:
            return None
        counts = dict(zip(map(str, self.history.columns), self.history.count(), strict=True))
        return np.array([counts[name] for name in self.names], np.int64)

    @property
    def periods(self) -> float | None:
        """How many periods the covariance rests on: the harmonic mean over the assets."""
        known = self.periods_known
        if known is None:
            return None if self.months is None else float(self.months)
        return float(len(known) / np.sum(1.0 / np.maximum(known, 1)))

    @property
    def standard_errors(self) -> Vector | None:
        """Of the expected returns, per year; None without a history."""
        if self.mean_covariance is None:
            return None
        result: Vector = np.sqrt(np.diag(self.mean_covariance))
        return result

    @property
    def risks(self) -> Vector:
        """Standard deviation of each asset, per year."""
        result: Vector = np.sqrt(np.diag(self.covariance))
        return result


def _bordered(matrix: Matrix, corner: float) -> Matrix:
    """A matrix with one more row and column of zeros, and a number in the new corner."""
    larger = np.pad(matrix, (0, 1))
    larger[-1, -1] = corner
    return read_only(larger)


def _checked_months(months: Any) -> int:
    if isinstance(months, bool) or int(months) != months or months < 2:
        raise InvalidInput(
            f"months is {months!r}; give the number of months that the moments come from, 120 say."
        )
    return int(months)


def asset_names(
    expected_returns: Any, covariance: Any, fallback: Sequence[str] | None
) -> tuple[str, ...]:
    """The assets by whichever names them first: covariance, returns, or the fallback.

    Args:
        expected_returns: Yearly; its index names the assets where it is a Series.
        covariance: Of the yearly returns; its columns name the assets where it is a frame.
        fallback: Names for the case that neither has any; None where there are none.
    """
    named: list[Any] = [covariance.columns] if isinstance(covariance, pd.DataFrame) else []
    named += [expected_returns.index] if isinstance(expected_returns, pd.Series) else []
    named += [fallback] if fallback is not None else []
    if not named:
        raise InvalidInput("the assets have no names; give a Series, a frame, or the names.")
    names = tuple(str(name) for name in named[0])
    require_different(names, "the assets")
    return names


def some_names(names: Sequence[str]) -> str:
    """The assets for a sentence: the first few, and a sign that there are more."""
    return f"{', '.join(names[:ASSETS_NAMED])}{', …' if len(names) > ASSETS_NAMED else ''}"


def require_different(names: Sequence[str], what: str) -> None:
    """Refuse names that come twice."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InvalidInput(f"{what} must have different names; {twice[0]!r} is there twice.")


def check_returns(values: Any, names: tuple[str, ...], what: str) -> Vector:
    """One finite number per asset, in their order; a Series is taken by its names.

    Args:
        values: Yearly returns.
        names: The assets.
        what: What the values are called in errors.
    """
    if isinstance(values, pd.Series):
        named = values.set_axis([str(name) for name in values.index])
        require_different(list(named.index), f"the entries of {what}")
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
    return array


def read_only(array: Matrix) -> Matrix:
    """The array, which from now on cannot be written to."""
    array.setflags(write=False)
    return array


def _numbers(values: Any, what: str) -> Matrix:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"{what} must be numbers; check what is in the table.") from None


def _check_covariance(
    covariance: Any, names: tuple[str, ...], what: str = "the covariance"
) -> Matrix:
    if isinstance(covariance, pd.DataFrame):
        rows = [str(name) for name in covariance.index]
        if set(rows) == set(names) and len(rows) == len(names):
            covariance = covariance.iloc[[rows.index(name) for name in names]]
    array = _numbers(covariance, what)
    if array.shape != (len(names), len(names)):
        raise InvalidInput(
            f"{what} has shape {array.shape} for {len(names)} assets; give a square table."
        )
    return array
