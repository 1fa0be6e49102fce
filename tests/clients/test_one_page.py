"""The one-pager is one page, on A4 and on Letter, whatever stands on it."""

import datetime as dt
import io
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from pypdf import PdfReader

import imop_engine as imop
from imop_engine.clients.book import ClientBook, ClientOptions
from imop_engine.clients.sheet import client_sheet
from imop_engine.report.html_client import MOST_TRADES, client_page, in_columns, trades_table
from imop_engine.report.printing import can_print, pages_of, pdf_of_one_page
from imop_engine.study import StudySettings
from imop_engine.study.checks import Check

DAY = dt.date(2026, 11, 18)


def bank(assets: int, count: int = 40) -> ClientBook:
    """Clients with names, columns and a class as long as they come, and amounts.

    How well the returns were learned is not asked here, so they are put in place of the stream's.
    """
    rng = np.random.default_rng(assets)
    returns = np.linspace(0.015, 0.085, assets)
    sd = np.linspace(0.02, 0.25, assets)
    covariance = np.outer(sd, sd) * (0.3 + 0.7 * np.eye(assets))
    names = [f"Global diversified fund {number} (accumulating)" for number in range(assets)]
    history = pd.DataFrame(rng.multivariate_normal(returns / 12, covariance / 12, 180))
    history.columns = names
    problem = imop.portfolio_problem(covariance, names=names)
    held = imop.efficient_frontier(problem, returns).at(rng.uniform(0.05, 0.8, count))
    held = np.maximum(held + rng.normal(0.0, 0.03, held.shape), 0.0)
    held = pd.DataFrame(held / held.sum(axis=1, keepdims=True), columns=names)
    held.index = [f"Zoë Müller-Hohenstein {number:03d}" for number in range(count)]
    about = pd.DataFrame(
        {
            "risk profile": rng.choice(["conservative", "balanced", "growth"], count),
            "branch": "Lugano Piazza della Riforma",
            "adviser": "Dr. Maximiliane Oberhuber",
            "domicile": "Switzerland",
            "age": 61,
            "mandate": "advisory, annual review",
            "wealth": 1234567.89,
        }
    )
    anchors = {names[1]: returns[1], names[-2]: returns[-2]}
    study = imop.run_study(
        12 * history.mean(), 12 * history.cov(), held,
        StudySettings(anchors=anchors, title="All clients of the bank", refine=False),
        history=history, attributes=about,
    )  # fmt: skip
    study = replace(study, theta=returns)
    severe = Check("trial", "caution", "Few investors were learned from.", "Add some.")
    vars(study)["_checks"] = (severe,)
    options = ClientOptions(currency="CHF", risk_column="risk profile", wealth_column="wealth")
    return ClientBook.of(study, options)


def busiest(book: ClientBook) -> str:
    """The client with most trades and most that is withheld."""
    sheets = [client_sheet(book, client) for client in book.ids[:3]]
    return max(sheets, key=lambda one: (len(one.trade_list), len(one.withheld))).client


@pytest.mark.slow
@pytest.mark.skipif(not can_print(), reason="no browser that prints on this machine")
@pytest.mark.parametrize("assets", [8, 20])
def test_a_one_pager_is_one_page(assets):
    book = bank(assets)
    client = busiest(book)
    for paper, width in (("a4", 595), ("letter", 612)):
        content = pdf_of_one_page(client_page(book, client, DAY, paper))
        printed = PdfReader(io.BytesIO(content))
        assert pages_of(content) == len(printed.pages)
        assert round(float(printed.pages[0].mediabox.width)) == width
        last = printed.pages[-1].extract_text()
        assert len(printed.pages) == 1, last[-400:]
        assert "Estimates, no advice" in last


def test_the_foot_speaks_to_the_client():
    book = bank(8)
    page = client_page(book, book.ids[0], DAY)
    foot = page[page.index("<footer>") :]
    for engine in ("forgetting", "strict", "numpy", "as fractions", "settings"):
        assert engine not in foot
    for said in ("2026-11-18", "40 portfolios", "returns", "per year", "basis points"):
        assert said in foot


def test_wealth_is_said_once_and_rounded_once():
    book = bank(8)
    top = client_page(book, book.ids[0], DAY).split("</header>")[0]
    assert "wealth CHF 1,234,568" in top or "wealth 1,234,568 CHF" in top, top[-600:]
    assert "1,234,567.89" not in top


def test_many_trades_are_in_two_columns_and_the_small_ones_added_up():
    change = np.concatenate([-np.linspace(0.005, 0.04, 20), np.linspace(0.004, 0.041, 20)])
    change[-1] -= change.sum()
    listed = pd.DataFrame(
        {
            "asset": [f"Global diversified fund {n} (accumulating)" for n in range(40)],
            "held": 0.05,
            "change": change,
            "after": 0.05 + change,
            "amount": 1e6 * change,
        }
    )
    table = trades_table(SimpleNamespace(trade_list=listed, wealth=1e6, currency="CHF"))
    assert len(table.rows) == MOST_TRADES
    assert [row[1] for row in table.rows[-2:]] == ["7 smaller ones", "7 smaller ones"]
    both = in_columns(table)
    assert [len(part.rows) for part in both] == [MOST_TRADES // 2, MOST_TRADES // 2]
    at = [one.title for one in both[0].columns].index("trade (% of wealth)")
    shown = sum(float(row[at].rstrip("%")) for part in both for row in part.rows)
    assert shown == pytest.approx(0.0, abs=0.005 * MOST_TRADES)
    names = [row[1] for part in both for row in part.rows if "fund" in row[1]]
    assert len(set(names)) == len(names), "shortened names differ still"
    few = trades_table(SimpleNamespace(trade_list=listed[:6], wealth=np.nan, currency=""))
    assert in_columns(few) == [few]
    assert in_columns(None) == []
