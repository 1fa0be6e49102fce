"""The one-pager of a client: one file that needs no network and prints on one sheet of paper."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any, Final

import numpy as np
import pandas as pd

from imop_engine.clients.book import WEALTH, ClientBook
from imop_engine.clients.sheet import ClientSheet, PortfolioFigures, client_sheet
from imop_engine.errors import InvalidInput
from imop_engine.report.facts import client_facts
from imop_engine.report.frames_client import holdings_bars, positions, score_bands, score_marks
from imop_engine.report.html_table import Column, Table, table_of
from imop_engine.report.pages import render
from imop_engine.report.printing import PAPERS
from imop_engine.report.svg import svg
from imop_engine.report.trust import verdict_values
from imop_engine.sentences import clients as say
from imop_engine.sentences.numbers import MISSING, percent_cell, points_cell

HALF: Final = 300  # pixels of a chart that takes half the width
ATTRIBUTES_SHOWN: Final = 6
# All of a client is on one sheet of paper: of more trades the small ones are added up, more than a
# few are laid out in two columns. The file of clients has them all.
MOST_TRADES: Final = 28
ROWS_IN_COLUMN: Final = 8
SHORT_NAME: Final = 30  # letters of an asset in half of the width
NAME_LENGTH: Final = 60


def client_page(book: ClientBook, client: str, made: dt.date | None = None, paper: str = "") -> str:
    """The one-pager of one client as HTML.

    Args:
        book: The clients of a study.
        client: What the client is called.
        made: The day that stands on it; None: none.
        paper: "a4" or "letter"; "" leaves it to the printer.

    Returns:
        The page as text: drawings and style are inside, nothing is fetched.
    """
    if paper and paper not in PAPERS:
        raise InvalidInput(f"there is no paper {paper!r}; choose one of {', '.join(PAPERS)}.")
    sheet = client_sheet(book, client)
    return render(
        "imop_engine.report",
        "client.html.j2",
        sheet=sheet,
        study_title=book.study.settings.title or "What these investors believe",
        made="" if made is None else made.isoformat(),
        paper=PAPERS.get(paper, ""),
        # wealth has its place above
        about=[one for one in sheet.about if one[0] != WEALTH][:ATTRIBUTES_SHOWN],
        wealth=say.money(sheet.wealth, sheet.currency) if np.isfinite(sheet.wealth) else "",
        cards=cards(sheet),
        trust=verdict_values(book.study),
        figures=figures_table(sheet),
        trades=in_columns(trades_table(sheet)),
        facts=client_facts(book.study, made),
        **_drawings(book, sheet),
    )


def cards(sheet: ClientSheet) -> list[tuple[str, str]]:
    """The key figures, each with its words; those that are withheld are not there."""
    before, wants = sheet.before, sheet.preference
    score = say.score_range(before.score, before.score_low, before.score_high)
    found = [(score, "risk score of the holdings, 1 to 99")]
    found.append((percent_cell(before.risk), "risk a year (standard deviation)"))
    if wants is not None:
        shown = say.aversion_range(wants.risk_aversion, wants.low, wants.high)
        found.append((shown, f"risk aversion{sheet.given}"))
    if np.isfinite(before.gap):
        points = points_cell(1e4 * before.gap)
        found.append((f"{points} bp", "left on the table a year, at the same risk"))
        if np.isfinite(sheet.wealth):
            money = say.money(before.money(sheet.wealth), sheet.currency)
            found.append((money, "the same in money, a year"))
    return found


def figures_table(sheet: ClientSheet) -> Table:
    """Risk, score, return and what is left on the table: held, after the trades, efficient."""
    found = [("held", sheet.before), ("after trades", sheet.after)]
    found.append(("efficient, same risk", sheet.efficient))
    shown = [(name, one) for name, one in found if one is not None]
    rows = [[name, *_cells(sheet, one)] for name, one in shown]
    titles = ["", "risk a year", "risk score"]
    titles += ["expected return a year", "left on the table", "basis points"]
    titles += [f"{sheet.currency or 'money'} a year"] if np.isfinite(sheet.wealth) else []
    columns = [Column(title, title, str, numeric=bool(title)) for title in titles]
    return Table(columns, rows)


def _cells(sheet: ClientSheet, one: PortfolioFigures) -> list[str]:
    cells = [
        percent_cell(one.risk),
        say.score_range(one.score, one.score_low, one.score_high),
        percent_cell(one.expected),
        percent_cell(one.gap, 3),
        points_cell(1e4 * one.gap),
    ]
    if np.isfinite(sheet.wealth):
        amount = one.money(sheet.wealth)
        cells.append(say.money(amount, "") if np.isfinite(amount) else MISSING)
    return cells


def trades_table(sheet: ClientSheet) -> Table | None:
    """What to sell and to buy; None where nothing is."""
    table = sheet.trade_list
    if table.empty:
        return None
    table = table.assign(what=np.where(table["change"] < 0.0, "sell", "buy"))
    if len(table) > MOST_TRADES:
        table = _largest(table)
    columns = [
        Column("what", "", str, numeric=False),
        Column("asset", "asset", str, numeric=False),
        Column("held", "held", percent_cell),
        Column("change", "trade (% of wealth)", lambda one: f"{100.0 * one:+.2f}%"),
        Column("after", "after", percent_cell),
    ]
    if np.isfinite(sheet.wealth):
        title = f"trade ({sheet.currency or 'money'})"
        columns.insert(4, Column("amount", title, lambda one: f"{round(one):+,}"))
    return table_of(table, columns)


def _largest(table: pd.DataFrame) -> pd.DataFrame:
    """The largest trades in their order; the others added up, sales and purchases apart."""
    rank = table["change"].abs().rank(ascending=False, method="first")
    shown = rank <= MOST_TRADES - 2
    rest = table[~shown].groupby("what", sort=False, as_index=False).sum(numeric_only=True)
    counts = table[~shown].groupby("what", sort=False).size()
    rest["asset"] = [f"{counts[what]:,} smaller ones" for what in rest["what"]]
    return pd.concat([table[shown], rest], ignore_index=True)


def in_columns(table: Table | None) -> list[Table]:
    """A table side by side in two where it is long, without what is held already.

    Args:
        table: Of trades; None: there are none.
    """
    if table is None or len(table.rows) <= ROWS_IN_COLUMN:
        return [] if table is None else [table]
    kept = [at for at, one in enumerate(table.columns) if one.name != "held"]
    columns = [table.columns[at] for at in kept]
    rows = [[_short(row[at]) if at == 1 else row[at] for at in kept] for row in table.rows]
    half = (len(rows) + 1) // 2
    return [Table(columns, rows[:half]), Table(columns, rows[half:])]


def _short(name: str) -> str:
    """A name that fits in half of the width: the middle goes, as names differ at their ends."""
    if len(name) <= SHORT_NAME:
        return name
    return f"{name[: SHORT_NAME // 2]} … {name[3 - SHORT_NAME // 2 :]}"


def _drawings(book: ClientBook, sheet: ClientSheet) -> dict[str, Any]:
    from imop_engine.report.charts_client import holdings_chart, position_chart, score_chart

    curves, places = positions(book, sheet)
    seen = len(places) > 0
    return {
        "score_drawing": svg(
            score_chart(score_bands(sheet), score_marks(sheet)), "score", "Risk score, 1 to 99"
        ),
        "holdings_drawing": svg(
            holdings_chart(holdings_bars(sheet)), "holdings", "Holdings by asset", HALF
        ),
        "position_drawing": svg(
            position_chart(curves, places), "place", "Risk and return before and after", HALF
        )
        if seen
        else "",
    }


def file_name(client: str, ending: str) -> str:
    """A name for the one-pager's file, whatever the client is called.

    Args:
        client: What the client is called.
        ending: Of the file, with its dot.

    >>> file_name("C 17/b", ".html"), file_name("..", ".pdf")
    ('client_C-17-b.html', 'client_.pdf')
    """
    plain = re.sub(r"[^\w.-]+", "-", client)[:NAME_LENGTH].strip(".-")
    return f"client_{plain}{ending}"
