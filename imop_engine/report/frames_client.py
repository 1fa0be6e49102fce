"""The tables behind the charts of one client."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np
import pandas as pd

from imop_engine.clients.book import ClientBook
from imop_engine.clients.risk_score import CLASS_EDGES, LEAST_SCORE, MOST_SCORE, risk_score
from imop_engine.clients.sheet import ClientSheet
from imop_engine.report.frames import HELD_FROM, curve
from imop_engine.report.frames_learn import OTHERS

HELD, EFFICIENT, AFTER = "held", "efficient", "after trades"
EDITED, BENCHMARK = "edited", "benchmark"
KINDS: Final = (HELD, AFTER, EDITED, BENCHMARK, EFFICIENT)
ASSETS: Final = 12  # bars of a one-pager; the others are added up
REVEALED: Final = "preference"


def holdings_bars(sheet: ClientSheet, most: int = ASSETS) -> pd.DataFrame:
    """asset, kind and share: what is held, after trades, and efficient; small ones added up.

    Args:
        sheet: of one client.
        most: assets with bars of their own.
    """
    columns = {HELD: "held", AFTER: "after", EFFICIENT: "efficient"}
    table = sheet.holdings[["asset", *columns.values()]]
    largest = table[list(columns.values())].max(axis=1)
    shown = largest >= HELD_FROM
    if int(shown.sum()) > most:
        shown &= largest.rank(ascending=False, method="first") <= most - 1
    rows = [
        (str(row["asset"]), kind, float(row[column]))
        for _, row in table[shown].iterrows()
        for kind, column in columns.items()
    ]
    rest = table.loc[~shown, list(columns.values())].sum(min_count=1)
    if float(np.nanmax([0.0, *rest.to_numpy(dtype=float)])) >= HELD_FROM:
        rows += [(OTHERS, kind, float(rest[column])) for kind, column in columns.items()]
    bars = pd.DataFrame(rows, columns=["asset", "kind", "share"])
    return bars.dropna(subset="share").reset_index(drop=True)


def positions(book: ClientBook, sheet: ClientSheet) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The estimated frontier, and kind, risk and return of the client's portfolios.

    Args:
        book: the clients of the study.
        sheet: of one of them.
    """
    from imop_engine.report.style import ESTIMATED

    rows = [
        (kind, figures.risk, figures.expected)
        for kind, figures in (
            (HELD, sheet.before),
            (AFTER, sheet.after),
            (EFFICIENT, sheet.efficient),
        )
        if figures is not None and np.isfinite(figures.expected)
    ]
    line = curve(book.study.problem, book.study.theta, ESTIMATED)
    return line, pd.DataFrame(rows, columns=["kind", "risk", "return"])


def score_marks(sheet: ClientSheet) -> pd.DataFrame:
    """what, score, low and high: of the holdings, and of the preference that they reveal."""
    before, wants = sheet.before, sheet.preference
    rows = [(HELD, before.score, before.score_low, before.score_high)]
    if wants is not None:
        rows.append((REVEALED, wants.score, wants.score_low, wants.score_high))
    return pd.DataFrame(rows, columns=["what", "score", "low", "high"])


def score_bands(sheet: ClientSheet) -> pd.DataFrame:
    """label, low, high and stated: the seven classes of volatility, and the stated class."""
    edges = [LEAST_SCORE, *risk_score(CLASS_EDGES).tolist(), MOST_SCORE]
    rows = [
        (str(place), low, high, False) for place, (low, high) in enumerate(pairwise(edges), start=1)
    ]
    if sheet.stated is not None:
        rows.append((f"stated: {sheet.stated.stated}", *sheet.stated.band, True))
    return pd.DataFrame(rows, columns=["label", "low", "high", "stated"])
