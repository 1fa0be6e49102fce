"""The sheet of one client: everything that the page and the one-pager show, as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from imop_engine.arguments import Vector
from imop_engine.clients.book import ClientBook
from imop_engine.clients.stated import NOT_STATED
from imop_engine.clients.trades import TradeRules, Trades, best_trades
from imop_engine.frontier import risk_of
from imop_engine.sentences import clients as say
from imop_engine.sentences.verdict import given_anchors


@dataclass(frozen=True)
class PortfolioFigures:
    """One portfolio in numbers; those that are withheld are NaN.

    Attributes:
        risk: standard deviation a year.
        score: 1 to 99, with `score_low` and `score_high`.
        expected: return a year.
        gap: return a year left on the table.
    """

    risk: float
    score: float
    score_low: float
    score_high: float
    expected: float
    gap: float

    def money(self, wealth: float) -> float:
        """What is left on the table in money a year."""
        return self.gap * wealth


@dataclass(frozen=True)
class Preference:
    """What one investor wants, as the holdings reveal it; given the anchors.

    Attributes:
        risk_aversion: with `low` and `high`.
        weight: on return.
        score: of the efficient portfolio that goes with it, with `score_low` and `score_high`.
    """

    risk_aversion: float
    low: float
    high: float
    weight: float
    score: float
    score_low: float
    score_high: float


@dataclass(frozen=True)
class StatedRisk:
    """A stated class against the risk held."""

    column: str
    stated: str
    held: str
    state: str
    band: tuple[float, float]
    sentence: str


@dataclass(frozen=True, eq=False)
class ClientSheet:
    """One client.

    Attributes:
        client: what the client is called.
        about: what else is known, as (name, text) pairs.
        wealth: in money; NaN where it is not known.
        currency: what money is counted in.
        holdings: asset, held, efficient, after, change and amount, the largest first; what is
            withheld is NaN.
        before: what is held.
        efficient: the efficient portfolio at the same risk; None where it is withheld.
        after: what is held after the trades; None where they are withheld.
        gap_interval: of what is left on the table.
        preference: None where it is withheld.
        stated: None where no class is compared.
        trades: None where they are withheld.
        rules: limits on trading.
        withheld: what is not said, and why.
        notes: what else should be known.
        verdict: on the study.
        level: of the intervals.
        given: what levels hang on, ", given the anchors".
    """

    client: str
    about: tuple[tuple[str, str], ...]
    wealth: float
    currency: str
    holdings: pd.DataFrame
    before: PortfolioFigures
    efficient: PortfolioFigures | None
    after: PortfolioFigures | None
    gap_interval: tuple[float, float]
    preference: Preference | None
    stated: StatedRisk | None
    trades: Trades | None
    rules: TradeRules
    withheld: tuple[str, ...]
    notes: tuple[str, ...]
    verdict: str
    level: float
    given: str

    @property
    def trade_list(self) -> pd.DataFrame:
        """asset, change and amount of what is sold and bought, the largest sale first."""
        table = self.holdings[["asset", "held", "change", "after", "amount"]]
        traded = table[table["change"].abs() > 0.0]
        return traded.sort_values("change", kind="stable", ignore_index=True)

    @property
    def left_said(self) -> str:
        """What is left on the table, in a sentence; "" where it is withheld."""
        if not np.isfinite(self.before.gap):
            return ""
        return say.left_sentence(self.before.gap, *self.gap_interval, self.level, self.given)

    @property
    def trades_said(self) -> str:
        """What the trades do, in a sentence; "" where they are withheld."""
        if self.trades is None:
            return ""
        count, gap = int(np.count_nonzero(self.trades.changes)), self.before.gap
        gain = self.trades.gain if np.isfinite(gap) else np.nan
        return say.trades_sentence(
            count, self.trades.turnover, gain, gap, self.rules.turnover, self.trades.left_out,
            sure=not self.gap_interval[0] <= 0.0,
        )  # fmt: skip


def client_sheet(book: ClientBook, client: str) -> ClientSheet:
    """The sheet of one client of a study.

    Args:
        book: the clients of the study.
        client: what the client is called.

    Returns:
        Everything that the page and the one-pager show.
    """
    place = book.place(client)
    study, held = book.study, book.held[place]
    withheld = _withheld(book, place)
    twin = book.twins[place] if book.twins is not None and book.compared[place] else None
    problem = book.kept[place].problem if place in book.kept else study.problem
    trades = None
    if twin is not None:
        trades = best_trades(problem, study.theta, held, book.options.trading)
    told, gap = bool(book.valued[place]), float(book.gap[place])
    nothing_left = 0.0 if np.isfinite(gap) else np.nan
    wealth = float(book.wealth[place])
    after = None if trades is None else trades.portfolio
    gained = np.nan if trades is None else trades.gain
    return ClientSheet(
        client=client,
        about=_about(book, place),
        wealth=wealth,
        currency=book.options.currency,
        holdings=_holdings(book, held, twin, trades, wealth),
        before=portfolio_figures(book, held, told, gap),
        efficient=None if twin is None else portfolio_figures(book, twin, told, nothing_left),
        after=None if after is None else portfolio_figures(book, after, told, gap - gained),
        gap_interval=(float(book.gap_interval[0][place]), float(book.gap_interval[1][place])),
        preference=_preference(book, place),
        stated=_stated(book, place),
        trades=trades,
        rules=book.options.trading,
        withheld=withheld,
        notes=_notes(book),
        verdict=study.verdict,
        level=study.settings.level,
        given=given_anchors(len(study.problem.theta.values)),
    )


def portfolio_figures(
    book: ClientBook, portfolio: Vector, told: bool, gap: float
) -> PortfolioFigures:
    """One portfolio in numbers.

    Args:
        book: the clients of the study.
        portfolio: shares of wealth.
        told: whether its expected return is said.
        gap: what it leaves on the table; NaN where that is withheld.
    """
    risk = risk_of(book.study.problem, portfolio)
    score, low, high = book.scores_of(risk)
    expected = float(portfolio @ book.study.theta) if told else np.nan
    left = max(gap, 0.0) if np.isfinite(gap) else np.nan
    return PortfolioFigures(
        float(risk[0]), float(score[0]), float(low[0]), float(high[0]), expected, left
    )


def _withheld(book: ClientBook, place: int) -> tuple[str, ...]:
    if book.poor:
        return (say.withheld_poor(),)
    said = []
    if book.twins is None:
        said.append(say.withheld_gap())
    elif not book.levels:
        said.append(say.withheld_levels())
    unknown = book.unknown_assets(place)
    if unknown:
        said.append(say.withheld_assets(unknown, kept=place in book.kept))
    if book.outlier[place]:
        said.append(say.withheld_outlier())
    return tuple(said)


def _notes(book: ClientBook) -> tuple[str, ...]:
    adjusted = book.study.complete_decisions is not book.study.decisions
    return (say.completed_sentence(),) if adjusted else ()


def _about(book: ClientBook, place: int) -> tuple[tuple[str, str], ...]:
    row = book.attributes.iloc[place]
    found = []
    for name, value in row.items():
        if pd.isna(value):
            continue
        if isinstance(value, (pd.Timestamp, np.datetime64)):
            text = str(pd.Timestamp(value).date())
        elif isinstance(value, float):
            text = f"{value:,.10g}"
        else:
            text = str(value)
        found.append((str(name), text))
    return tuple(found)


def _holdings(
    book: ClientBook, held: Vector, twin: Vector | None, trades: Trades | None, wealth: float
) -> pd.DataFrame:
    nothing = np.full(len(held), np.nan)
    change = nothing if trades is None else trades.changes
    table = pd.DataFrame(
        {
            "asset": list(book.study.problem.names),
            "held": held,
            "efficient": nothing if twin is None else twin,
            "change": change,
            "after": nothing if trades is None else trades.portfolio,
            "amount": change * wealth,
        }
    )
    return table.sort_values("held", ascending=False, kind="stable", ignore_index=True)


def _preference(book: ClientBook, place: int) -> Preference | None:
    row: Any = book.preference.iloc[place]
    if not np.isfinite(row["weight"]):
        return None
    return Preference(
        risk_aversion=float(row["risk_aversion"]),
        low=float(row["risk_aversion_low"]),
        high=float(row["risk_aversion_high"]),
        weight=float(row["weight"]),
        score=float(row["score"]),
        score_low=float(row["score_low"]),
        score_high=float(row["score_high"]),
    )


def _stated(book: ClientBook, place: int) -> StatedRisk | None:
    classes, label = book.classes, book.stated[place]
    if classes is None or label is None or book.mismatch[place] == NOT_STATED:
        return None
    score, low, high = (float(one[0]) for one in book.scores_of(book.risk[[place]]))
    held, state = str(classes.of([score])[0]), str(book.mismatch[place])
    band = classes.band(label)
    said = say.class_sentence(label, held, state, say.score_range(score, low, high), band)
    return StatedRisk(classes.column, label, held, state, band, said)
