"""All clients of a study at once: risk, score, stated class, what each leaves on the table.

A `ClientBook` is made once for a study and some options; single sheets and tables of many are read
from it. What a study cannot say is withheld here, in one place: nothing that rests on returns where
its verdict is poor, no return in numbers where anchors fix no scale, no expected return where an
asset matters whose return the portfolios do not fix (the rest is judged with that asset kept as it
is), no risk aversion of an outlier.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from imop_engine.arguments import Matrix, Vector
from imop_engine.clients.risk_score import risk_class, risk_score, volatility_interval
from imop_engine.clients.stated import (
    MISMATCHED,
    MISMATCHES_FIRST,
    NOT_STATED,
    RiskClasses,
    class_labels,
    risk_classes,
)
from imop_engine.clients.trades import TradeRules
from imop_engine.efficiency_gap.kept import MATTERS, Kept
from imop_engine.efficiency_gap.measure import efficiency
from imop_engine.errors import InvalidInput
from imop_engine.frontier import risk_of
from imop_engine.sentences import clients as say
from imop_engine.sentences.numbers import MOST_AVERSE
from imop_engine.study import Study
from imop_engine.study.outcome import OUTLIERS

WEALTH: Final = "wealth"  # the attribute that reading makes of amounts
RELATIVE: Final = "relative"
POINTS: Final = 1e4
POOR: Final = "poor"
ENDS: Final = ("", "_low", "_high")  # of a number and its interval


@dataclass(frozen=True)
class ClientOptions:
    """What the analyst says about clients.

    Args:
        trading: limits on trading.
        wealth: of every client, in money; None: by the column.
        wealth_column: the attribute that says it; None: "wealth", which reading makes of amounts.
        currency: what money is counted in, "EUR" say.
        risk_column: the attribute that states a risk class; None: none is compared.
        order: all classes, calmest first; None: by number or by usual words.
        volatilities: up to which each class but the last goes; None: equal parts of the score.
    """

    trading: TradeRules = field(default_factory=TradeRules)
    wealth: float | None = None
    wealth_column: str | None = None
    currency: str = ""
    risk_column: str | None = None
    order: tuple[str, ...] | None = None
    volatilities: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.wealth is not None and not (np.isfinite(self.wealth) and self.wealth > 0.0):
            raise InvalidInput(
                f"wealth is {self.wealth:g}; give what a client has, 100000 say, or leave it out."
            )


@dataclass(frozen=True, eq=False)
class ClientBook:
    """The clients of a study, the latest portfolio of each, in the order they came.

    Args:
        study: finished or stopped.
        options: what the analyst says about clients.
        rows: position of each client among the study's decisions.
        classes: stated classes; None where none are compared.
    """

    study: Study
    options: ClientOptions
    rows: NDArray[np.intp]
    classes: RiskClasses | None

    @classmethod
    def of(cls, study: Study, options: ClientOptions | None = None) -> ClientBook:
        """The book of a study.

        Args:
            study: finished or stopped.
            options: what the analyst says about clients; None: nothing.
        """
        chosen = options or ClientOptions()
        names = study.decisions.index.astype(str)
        latest = np.flatnonzero(~names.duplicated(keep="last"))
        known = study.data.attributes
        for column in (chosen.risk_column, chosen.wealth_column):
            if column is not None and column not in known.columns:
                raise InvalidInput(
                    f"there is no column {column!r}; the columns are "
                    f"{', '.join(map(str, known.columns)) or 'none'}."
                )
        classes = None
        if chosen.risk_column is not None:
            classes = risk_classes(
                known[chosen.risk_column], chosen.risk_column, chosen.order, chosen.volatilities
            )
        return cls(study, chosen, latest, classes)

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """What each client is called."""
        return tuple(self.study.decisions.index.astype(str)[self.rows])

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each client stands in this book."""
        return {name: place for place, name in enumerate(self.ids)}

    def place(self, client: str) -> int:
        """Where a client stands; refuses one who is not there, with the reason where it is known.

        Args:
            client: what the client is called.
        """
        if client in self.places:
            return self.places[client]
        table = self.study.frame_investors
        reasons = table.loc[table["id"].astype(str) == client, "reason"]
        if len(reasons):
            why = str(reasons.iloc[-1]) or "was not reached by the run"
            raise InvalidInput(f"the portfolio of {client} takes no part: it {why}.")
        raise InvalidInput(f"there is no investor {client!r}; the first is {self.ids[0]!r}.")

    @cached_property
    def attributes(self) -> pd.DataFrame:
        """What else is known of each client."""
        known = self.study.data.attributes[self.study.data.good].iloc[: self.study.rounds]
        return known.iloc[self.rows]

    @cached_property
    def held(self) -> Matrix:
        """What each holds, shares of wealth that add up to 1."""
        shares = np.maximum(self.study.complete_decisions.to_numpy(dtype=float)[self.rows], 0.0)
        result: Matrix = shares / shares.sum(axis=1, keepdims=True)
        return result

    @cached_property
    def wealth(self) -> Vector:
        """What each has, in money; NaN where that is not known."""
        if self.options.wealth is not None:
            return np.full(len(self), float(self.options.wealth))
        name = self.options.wealth_column or WEALTH
        if name not in self.attributes.columns:
            return np.full(len(self), np.nan)
        found = pd.to_numeric(self.attributes[name], errors="coerce").to_numpy(dtype=float)
        return np.where(found > 0.0, found, np.nan)

    # -- risk, which rests on the covariance alone -------------------------------------------------
    @cached_property
    def risk(self) -> Vector:
        """Standard deviation a year of what each holds."""
        return risk_of(self.study.problem, self.held)

    @cached_property
    def score(self) -> Vector:
        """Of what each holds."""
        return risk_score(self.risk)

    def scores_of(self, risk: Any) -> tuple[Vector, Vector, Vector]:
        """Scores of some volatilities, with the interval that the length of the history gives.

        Args:
            risk: standard deviations a year.
        """
        periods = self.study.data.market.periods
        low, high = volatility_interval(risk, periods, self.study.settings.level)
        return risk_score(risk), risk_score(low), risk_score(high)

    @cached_property
    def _score_interval(self) -> tuple[Vector, Vector]:
        return self.scores_of(self.risk)[1:]

    @cached_property
    def stated(self) -> list[str | None]:
        """The class that each states; None where none."""
        if self.classes is None:
            return [None] * len(self)
        return class_labels(self.attributes[self.classes.column])

    @cached_property
    def mismatch(self) -> NDArray[np.object_]:
        """How held risk compares with the stated class."""
        if self.classes is None:
            return np.full(len(self), NOT_STATED, dtype=object)
        low, high = self._score_interval
        return np.asarray(self.classes.compare(self.stated, self.score, low, high))

    # -- what rests on returns ---------------------------------------------------------------------
    @property
    def poor(self) -> bool:
        """Whether nothing that rests on returns is said."""
        return self.study.verdict == POOR

    @cached_property
    def levels(self) -> bool:
        """Whether returns can be said in numbers: the anchors fix level and scale."""
        return RELATIVE not in set(self.study.frame_returns["status"])

    @cached_property
    def known_assets(self) -> NDArray[np.bool_]:
        """Whose returns the portfolios fix, up to shift and scale."""
        return np.asarray(self.study.known_assets)

    @cached_property
    def twins(self) -> Matrix | None:
        """The efficient portfolio at each client's risk; None where it cannot be said."""
        return None if self.study.gaps is None else self.study.gaps.twins[self.rows]

    @cached_property
    def hidden(self) -> NDArray[np.bool_]:
        """Whose expected returns are withheld: an asset matters whose return is not known."""
        if self.study.gaps is None:
            return np.asarray((self.held[:, ~self.known_assets] >= MATTERS).any(axis=1))
        return np.asarray(self.study.gaps.unsure[self.rows])

    @cached_property
    def kept(self) -> dict[int, Kept]:
        """By place: what they can do who keep the assets whose returns are not known.

        Without those whose limits leave no choice.
        """
        if self.poor or self.study.gaps is None:
            return {}
        kept = self.study.gaps.kept
        return {place: kept[row] for place, row in enumerate(self.rows.tolist()) if row in kept}

    def unknown_assets(self, place: int) -> list[str]:
        """The assets for which the expected returns of one client's portfolios are withheld."""
        shares = self.held[place]
        if self.hidden[place]:
            # the efficient portfolio as if every return were known: the kept one says nothing new
            free = efficiency(self.study.problem, self.study.theta, shares[None])
            shares = np.maximum(shares, free.portfolios[0])
        matter = ~self.known_assets & (shares >= MATTERS)
        return [name for name, yes in zip(self.study.problem.names, matter, strict=True) if yes]

    @cached_property
    def compared(self) -> NDArray[np.bool_]:
        """Whose holdings have an efficient portfolio beside them."""
        if self.poor or self.twins is None:
            return np.zeros(len(self), dtype=bool)
        alone = self.hidden.copy()
        alone[list(self.kept)] = False
        return ~alone

    @cached_property
    def told(self) -> NDArray[np.bool_]:
        """Of whom it is said in numbers what is left on the table."""
        return self.compared & self.levels

    @cached_property
    def valued(self) -> NDArray[np.bool_]:
        """Of whom expected returns are said in numbers."""
        return self.told & ~self.hidden

    @cached_property
    def gap(self) -> Vector:
        """Return a year left on the table; NaN where it is withheld."""
        if self.study.gaps is None:
            return np.full(len(self), np.nan)
        left = self.study.gaps.investors["gap"].to_numpy(dtype=float)[self.rows]
        return np.where(self.told, left, np.nan)

    @cached_property
    def gap_interval(self) -> tuple[Vector, Vector]:
        """Where the gap lies given the errors of the returns: its slope is twin less holdings."""
        known = self.study.identification
        if known is None or self.twins is None:
            nothing = np.full(len(self), np.nan)
            return nothing, nothing
        slope = self.twins - self.held
        spread = np.einsum("ti,ij,tj->t", slope, known.covariance, slope)
        margin = float(ndtri(0.5 + known.level / 2)) * np.sqrt(np.maximum(spread, 0.0))
        return np.maximum(self.gap - margin, 0.0), self.gap + margin

    @cached_property
    def outlier(self) -> NDArray[np.bool_]:
        """Whom one frontier does not explain."""
        return np.isin(self._row("status").astype(str), OUTLIERS)

    def _row(self, column: str) -> Any:
        """A column of the study's table, for the clients of this book."""
        good = np.flatnonzero(self.study.data.good)[: self.study.rounds]
        return self.study.frame_investors[column].to_numpy()[good[self.rows]]

    @cached_property
    def preference(self) -> pd.DataFrame:
        """weight and risk_aversion with their intervals, and the score of the efficient portfolio
        that goes with them; NaN of outliers, and of all where the verdict is poor."""
        columns = [f"{name}{end}" for name in ("weight", "risk_aversion") for end in ENDS]
        table = pd.DataFrame({name: np.asarray(self._row(name), float) for name in columns})
        for end in ENDS:
            weights = np.clip(np.nan_to_num(table[f"weight{end}"].to_numpy(), nan=0.5), 0.0, 1.0)
            scores = risk_score(risk_of(self.study.problem, self.study.frontier.at(weights)))
            table[f"score{end}"] = np.where(table[f"weight{end}"].notna(), scores, np.nan)
        table = table.where(pd.Series(~self.outlier & (not self.poor)), np.nan)
        # where return hardly counts, a risk aversion is no number to compare by
        told = [f"risk_aversion{end}" for end in ENDS]
        return table.assign(**table[told].where(table[told] <= MOST_AVERSE))

    # -- tables ------------------------------------------------------------------------------------
    @cached_property
    def table(self) -> pd.DataFrame:
        """One row for each client: id, what is held and revealed, then the attributes."""
        low, high = self._score_interval
        wants = self.preference
        table = pd.DataFrame(
            {
                "id": list(self.ids),
                "wealth": self.wealth,
                "risk": self.risk,
                "score": self.score,
                "score_low": low,
                "score_high": high,
                "risk_class": risk_class(self.risk),
                "stated": self.stated,
                "held": [None] * len(self) if self.classes is None else self.classes.of(self.score),
                "mismatch": self.mismatch,
                "expected_return": np.where(self.valued, self.held @ self.study.theta, np.nan),
                "gap": self.gap,
                "gap_points": POINTS * self.gap,
                "gap_money": self.gap * self.wealth,
                "weight": wants["weight"],
                "risk_aversion": wants["risk_aversion"],
                "risk_aversion_low": wants["risk_aversion_low"],
                "risk_aversion_high": wants["risk_aversion_high"],
                "preference_score": wants["score"],
                "distance": np.asarray(self._row("distance"), float),
                "status": self._row("status"),
            }
        )
        own = {*table.columns, *((WEALTH,) if self.options.wealth_column is None else ())}
        for name in self.attributes.columns:
            if str(name) == WEALTH and self.options.wealth is None:
                continue
            label = f"{name} (attribute)" if str(name) in own else str(name)
            table[label] = self.attributes[name].to_numpy()
        if self.classes is None:
            return table.drop(columns=["stated", "held", "mismatch"])
        return table

    @cached_property
    def mismatches(self) -> pd.DataFrame:
        """The clients who hold more or less risk than they stated, the furthest first."""
        if self.classes is None:
            return self.table.iloc[:0]
        table = self.table[np.isin(self.mismatch, MISMATCHED)]
        bands = np.array([self.classes.band(str(one)) for one in table["stated"]]).reshape(-1, 2)
        score = table["score"].to_numpy(dtype=float)
        beyond = np.maximum(score - bands[:, 1], bands[:, 0] - score)
        table = table.assign(beyond=beyond)
        order = [*MISMATCHES_FIRST, "beyond"]
        order += [name for name in table.columns if name not in order]
        return table[order].sort_values("beyond", ascending=False, kind="stable")

    def mismatches_said(self) -> str:
        """How many hold another risk than they stated."""
        if self.classes is None:
            return ""
        return say.mismatches_sentence(dict(Counter(self.mismatch.tolist())), self.classes.column)

    def bands(self) -> pd.DataFrame:
        """label, score_from, score_to, volatility_from and volatility_to of each stated class."""
        from imop_engine.clients.risk_score import volatility_of

        if self.classes is None:
            return pd.DataFrame()
        ends = [self.classes.band(one) for one in self.classes.labels]
        table = pd.DataFrame(ends, columns=["score_from", "score_to"])
        table.insert(0, "label", list(self.classes.labels))
        table["volatility_from"] = volatility_of(table["score_from"])
        table["volatility_to"] = volatility_of(table["score_to"])
        table["clients"] = [self.stated.count(one) for one in self.classes.labels]
        return table
